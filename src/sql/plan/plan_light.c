/*
 * plan_light.c
 *	  Conditions without what an index gathers bits of a whole segment for.
 *
 * Such is a prefix: its lists are gone through before the first row comes out.
 * Where few rows meet the other conditions, or rows are wanted in the order of a
 * column, testing it on rows takes less.  What else follows from the condition
 * is asked for all the same: `war` where it is `war & c:*`, or `war <-> c:*`.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "optimizer/restrictinfo.h"
#include "read/query/query.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_internal.h"

TSQuery
skx_plan_known_query(const RestrictInfo *qual)
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
 * A search by `ranked` asks documents with its words nothing more if the
 * condition is that any of the same words is there.
 */
static bool
skx_plan_gathers(const IndexOptInfo *index, const IndexClause *clause,
				 const OpExpr *ranked)
{
	const SkxDisjunction *any = skx_cost_disjunction(index, clause);
	ListCell   *lc;

	if (any != NULL)
		return any->gather > 0;

	foreach(lc, clause->indexquals)
	{
		const RestrictInfo *qual = lfirst_node(RestrictInfo, lc);
		TSQuery		query = skx_plan_known_query(qual);

		if (query == NULL || !skx_query_may_gather(query))
			continue;
		if (ranked == NULL || !skx_query_is_any(query) ||
			!skx_plan_is_ranking(lsecond(((OpExpr *) qual->clause)->args),
								 lsecond(ranked->args)))
			return true;
	}
	return false;
}

bool
skx_plan_may_gather(const IndexOptInfo *index, const List *clauses,
					const OpExpr *ranked)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		if (skx_plan_gathers(index, lfirst_node(IndexClause, lc), ranked))
			return true;
	}
	return false;
}

/* With what is left of its query; NULL: nothing is. */
static IndexClause *
skx_plan_lighter(PlannerInfo *root, const IndexClause *whole)
{
	RestrictInfo *qual = linitial_node(RestrictInfo, whole->indexquals);
	OpExpr	   *op = (OpExpr *) qual->clause;
	TSQuery		query = skx_plan_known_query(qual);
	IndexClause *clause;
	Const	   *value;
	Expr	   *expr;

	if (list_length(whole->indexquals) > 1 || query == NULL)
		return NULL;
	query = skx_query_light(query);
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
skx_plan_light_clauses(PlannerInfo *root, const IndexOptInfo *index,
					   const List *clauses)
{
	List	   *light = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		if (skx_plan_gathers(index, clause, NULL))
			clause = skx_plan_lighter(root, clause);
		if (clause != NULL)
			light = lappend(light, clause);
	}
	return light;
}
