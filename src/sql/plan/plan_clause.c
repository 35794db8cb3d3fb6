/*
 * plan_clause.c
 *	  Matches conditions of a table with an index.
 *
 * A condition is matched with the first column that it applies to
 * (plan_quals.c), or as a disjunction on several columns (plan_disjunction.c).
 * If neither is possible, this is tried in other words (plan_reworded.c).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "optimizer/clauses.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_condition.h"
#include "utils/lsyscache.h"

/*
 * Does the same as skx_plan_first_quals(), and also matches a disjunction.
 * That becomes one condition on the first column, which is lossy because it
 * cannot test rows.
 */
static List *
skx_plan_all_quals(SkxIndexColumn *key, RestrictInfo *rinfo, bool *lossy)
{
	List	   *quals = skx_plan_first_quals(key, rinfo, lossy);
	RestrictInfo *any;

	if (quals != NIL)
		return quals;
	any = skx_plan_disjunction(key->root, key->index, rinfo);
	if (any == NULL)
		return NIL;
	*lossy = true;
	key->column = 0;
	return list_make1(any);
}

/*
 * Does the same, and matches the condition in other words if it must.  Keeps
 * that the index has the condition as it stands, or not at all.  Others are
 * made anew each time: the selectivity that they have from the condition
 * changes (plan_rows.c).
 */
static List *
skx_plan_find_quals(SkxIndexColumn *key, RestrictInfo *rinfo, bool *lossy)
{
	List	   *quals = skx_plan_all_quals(key, rinfo, lossy);

	if (quals == NIL)
	{
		RestrictInfo *other = skx_plan_rewrite_condition(key->root, key->index,
														 rinfo);

		if (other != NULL)
			quals = skx_plan_all_quals(key, other, lossy);
	}
	if (quals == NIL)
		skx_cost_planned_keep_match(key->root, key->index, rinfo,
									SKX_COST_NO_COLUMN);
	else if (linitial(quals) == rinfo && list_length(quals) == 1 && !*lossy)
		skx_cost_planned_keep_match(key->root, key->index, rinfo, key->column);
	return quals;
}

IndexClause *
skx_plan_matching_clause(PlannerInfo *root, IndexOptInfo *index,
						 RestrictInfo *rinfo)
{
	SkxIndexColumn key = {root, index, 0};
	List	   *quals;
	IndexClause *clause;
	bool		lossy = false;

	if (rinfo->pseudoconstant ||
		!skx_plan_is_promotable(rinfo, index->rel))
		return NULL;
	if (!skx_cost_planned_match(root, index, rinfo, &key.column))
		quals = skx_plan_find_quals(&key, rinfo, &lossy);
	else
		quals = key.column == SKX_COST_NO_COLUMN ? NIL : list_make1(rinfo);
	if (quals == NIL)
		return NULL;
	clause = makeNode(IndexClause);
	clause->rinfo = rinfo;
	clause->indexquals = quals;
	clause->indexcol = key.column;
	clause->lossy = lossy;
	return clause;
}

List *
skx_plan_sort_by_column(const IndexOptInfo *index, List *clauses)
{
	List	   *columns[INDEX_MAX_KEYS] = {NIL};
	List	   *sorted = NIL;
	int			i;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		columns[clause->indexcol] = lappend(columns[clause->indexcol], clause);
	}
	for (i = 0; i < index->nkeycolumns; i++)
		sorted = list_concat(sorted, columns[i]);
	return sorted;
}

List *
skx_plan_matching_clauses(PlannerInfo *root, IndexOptInfo *index,
						  List *conditions)
{
	List	   *clauses = NIL;
	ListCell   *lc;

	foreach(lc, conditions)
	{
		IndexClause *clause = skx_plan_matching_clause(root, index,
													   lfirst(lc));

		if (clause != NULL)
			clauses = lappend(clauses, clause);
	}
	return clauses;
}

List *
skx_plan_index_clauses(PlannerInfo *root, IndexOptInfo *index)
{
	List	   *clauses = skx_plan_matching_clauses(root, index,
													index->indrestrictinfo);

	return skx_plan_sort_by_column(index, clauses);
}

bool
skx_plan_has_own_clauses(IndexOptInfo *index, List *clauses)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);
		RestrictInfo *qual = linitial_node(RestrictInfo, clause->indexquals);

		if (index->opcintype[clause->indexcol] == BOOLOID ||
			skx_plan_is_derived(clause->rinfo) ||
			(IsA(clause->rinfo->clause, ScalarArrayOpExpr) &&
			 IsA(qual->clause, OpExpr)))
			return true;
	}
	return false;
}
