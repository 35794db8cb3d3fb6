/*
 * plan_early.c
 *	  Scans that end before all rows were returned.
 *
 * A ranked scan whose filter is `document @@ query` with its own ranking query
 * can end after the last row with a score.  One with a filter that bounds the
 * distance can end at that bound. plan_scan.c ends it at run time, when the
 * query is known.  This file recognises such conditions at planning, and
 * estimates how much of the index will be read.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "sql/plan/plan_internal.h"
#include "tsearch/ts_utils.h"
#include "utils/lsyscache.h"

/*
 * Returns a clause that all rows with a score meet, since each has one of the
 * words.  Negated words give no score, but cannot be left out of the query.  A
 * clause that has them is returned as it is; fewer rows meet it.
 */
static Node *
skx_plan_any_word_clause(Node *clause, Node *query)
{
	OpExpr	   *any;
	Const	   *words;
	TSQuery		copy;
	QueryItem  *items;
	int			i;

	if (!IsA(query, Const))
		return clause;
	copy = DatumGetTSQueryCopy(((Const *) query)->constvalue);
	items = GETQUERY(copy);
	for (i = 0; i < copy->size; i++)
	{
		if (items[i].type != QI_OPR)
			continue;
		if (items[i].qoperator.oper == OP_NOT)
			return clause;
		items[i].qoperator.oper = OP_OR;
	}
	words = makeConst(TSQUERYOID, -1, InvalidOid, -1, TSQueryGetDatum(copy),
					  false, false);
	any = (OpExpr *) copyObject(clause);
	any->args = IsA(lsecond(any->args), Const) &&
		exprType(lsecond(any->args)) == TSQUERYOID ?
		list_make2(linitial(any->args), words) :
		list_make2(words, lsecond(any->args));
	return (Node *) any;
}

/*
 * Returns the share of the rows that have a score, if a condition excludes the
 * others; else 1.
 */
static double
skx_plan_scored_fraction(PlannerInfo *root, RelOptInfo *rel, IndexPath *path)
{
	Oid			family = path->indexinfo->opfamily[0];
	OpExpr	   *distance = linitial(path->indexorderbys);
	ListCell   *lc;

	/* Conditions of the index leave few rows without a score anyway. */
	if (path->indexclauses != NIL)
		return 1.0;
	foreach(lc, rel->baserestrictinfo)
	{
		Node	   *clause = (Node *) ((RestrictInfo *) lfirst(lc))->clause;
		Node	   *query = skx_plan_matched_query(clause,
												   linitial(distance->args),
												   family);
		Node	   *any;

		if (query == NULL ||
			!skx_plan_ref_ranks_by(query, distance, family))
			continue;
		any = skx_plan_any_word_clause(clause, query);
		/* the RestrictInfo of the clause itself has its selectivity cached */
		return clause_selectivity(root, any == clause ? lfirst(lc) : any,
								  rel->relid, JOIN_INNER, NULL);
	}
	return 1.0;
}

double
skx_plan_early_end_fraction(PlannerInfo *root, RelOptInfo *rel,
							IndexPath *path)
{
	double		share = skx_plan_scored_fraction(root, rel, path);
	List	   *bounds = NIL;
	double		bounded;
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		if (skx_plan_is_bound((Node *) lfirst_node(RestrictInfo, lc)->clause,
							  linitial(path->indexorderbys)))
			bounds = lappend(bounds, lfirst(lc));
	}
	bounded = clauselist_selectivity(root, bounds, rel->relid, JOIN_INNER,
									 NULL);
	return Min(share, bounded);
}
