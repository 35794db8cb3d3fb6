/*
 * plan_light.c
 *	  Conditions without the parts for which an index gathers bits of a whole
 *	  segment.
 *
 * A prefix is such a part: its lists are read before the first row comes out.
 * Testing it on rows costs less if few rows meet the other conditions, or if
 * rows are wanted in the order of a column.  The index is still asked for what
 * else follows from the condition: `war` for `war & c:*`, or for `war <->
 * c:*`.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "optimizer/restrictinfo.h"
#include "read/query/query.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_internal.h"

TSQuery
skx_plan_const_query(const RestrictInfo *qual)
{
	const OpExpr *op = (const OpExpr *) qual->clause;
	const Const *value;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2)
		return NULL;
	value = lsecond(op->args);
	if (!IsA(value, Const) || value->consttype != TSQUERYOID ||
		value->constisnull)
		return NULL;
	return DatumGetTSQuery(value->constvalue);
}

/*
 * Returns true if the index gathers bits for the condition.  A search by
 * `ranked` gathers none for a disjunction of the words that it ranks by, since
 * its documents have one of them.
 */
static bool
skx_plan_clause_gathers(const IndexOptInfo *index, const IndexClause *clause,
						const OpExpr *ranked)
{
	const SkxDisjunction *any = skx_cost_disjunction(index, clause);
	ListCell   *lc;

	if (any != NULL)
		return any->gather_cost > 0;

	foreach(lc, clause->indexquals)
	{
		const RestrictInfo *qual = lfirst_node(RestrictInfo, lc);
		TSQuery		query = skx_plan_const_query(qual);

		if (query == NULL || !skx_query_may_gather(query))
			continue;
		if (ranked == NULL || !skx_query_is_word_disjunction(query) ||
			!skx_plan_ref_ranks_by(lsecond(((OpExpr *) qual->clause)->args),
								   ranked, index->opfamily[0]))
			return true;
	}
	return false;
}

bool
skx_plan_clauses_may_gather(const IndexOptInfo *index, const List *clauses,
							const OpExpr *ranked)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		if (skx_plan_clause_gathers(index, lfirst_node(IndexClause, lc),
									ranked))
			return true;
	}
	return false;
}

/*
 * Returns the condition with what skx_query_weaken() leaves of its query; NULL
 * if it leaves nothing.
 */
static IndexClause *
skx_plan_weaken_clause(PlannerInfo *root, const IndexClause *whole)
{
	RestrictInfo *qual = linitial_node(RestrictInfo, whole->indexquals);
	OpExpr	   *op = (OpExpr *) qual->clause;
	TSQuery		query = skx_plan_const_query(qual);
	IndexClause *clause;
	Const	   *value;
	Expr	   *expr;

	if (list_length(whole->indexquals) > 1 || query == NULL)
		return NULL;
	query = skx_query_weaken(query);
	if (query == NULL)
		return NULL;
	value = makeConst(TSQUERYOID, -1, InvalidOid, -1,
					  TSQueryGetDatum(query), false, false);
	expr = make_opclause(op->opno, op->opresulttype, false, linitial(op->args),
						 (Expr *) value, op->opcollid, op->inputcollid);
	clause = makeNode(IndexClause);
	*clause = *whole;
	clause->indexquals = list_make1(make_simple_restrictinfo(root, expr));
	clause->lossy = true;
	return clause;
}

List *
skx_plan_weakened_clauses(PlannerInfo *root, const IndexOptInfo *index,
						  const List *clauses)
{
	List	   *light = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		if (skx_plan_clause_gathers(index, clause, NULL))
			clause = skx_plan_weaken_clause(root, clause);
		if (clause != NULL)
			light = lappend(light, clause);
	}
	return light;
}
