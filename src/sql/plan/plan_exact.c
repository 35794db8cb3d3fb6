/*
 * plan_exact.c
 *	  Scans that find exactly the rows that meet all conditions, and counts of
 *	  these rows.
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "sql/cost/cost.h"
#include "sql/cost/cost_model.h"
#include "sql/plan/plan_internal.h"
#include "support/compat/compat_planner.h"
#include "utils/fmgroids.h"

/*
 * Returns true if it is `count` of all rows of a group, or of those in which
 * its argument is not NULL.
 */
static bool
skx_plan_is_plain_count(const Aggref *count)
{
	return IsA(count, Aggref) && count->agglevelsup == 0 &&
		count->aggfilter == NULL && count->aggdistinct == NIL &&
		count->aggorder == NIL && !DO_AGGSPLIT_COMBINE(count->aggsplit) &&
		(count->aggfnoid == F_COUNT_ || count->aggfnoid == F_COUNT_ANY);
}

const Var  *
skx_plan_counted_column(const RelOptInfo *rel, Node *expr)
{
	const Aggref *count = (const Aggref *) expr;
	const Var  *what;

	if (!skx_plan_is_plain_count(count) || count->aggfnoid == F_COUNT_)
		return NULL;
	what = (const Var *) linitial_node(TargetEntry, count->args)->expr;
	return IsA(what, Var) && what->varno == rel->relid &&
		what->varlevelsup == 0 && what->varattno > 0 ? what : NULL;
}

bool
skx_plan_counts_all(PlannerInfo *root, const RelOptInfo *rel, Node *expr)
{
	const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	const Aggref *count = (const Aggref *) expr;
	const Var  *column;
	Node	   *what;

	if (!skx_plan_is_plain_count(count))
		return false;
	if (count->aggfnoid == F_COUNT_)
		return true;
	what = (Node *) linitial_node(TargetEntry, count->args)->expr;
	if (IsA(what, Const))
		return !((Const *) what)->constisnull;
	column = skx_plan_counted_column(rel, expr);
	return column != NULL && !rte->inh &&
		skx_compat_is_not_null(rel, rte->relid, column->varattno);
}

bool
skx_plan_is_exact(const IndexPath *index)
{
	ListCell   *lc;

	foreach(lc, index->indexclauses)
	{
		const IndexClause *clause = lfirst_node(IndexClause, lc);
		const RestrictInfo *qual = linitial_node(RestrictInfo,
												 clause->indexquals);

		if (skx_plan_may_recheck(index->indexinfo, clause->indexcol,
								 qual->clause))
			return false;
	}
	return true;
}

/*
 * The index is asked as for a scan or a bitmap, but returns no rows.  Without
 * conditions it only looks at rows that the visibility map does not cover.  Of
 * the server's cost of fetching, the share of these rows is left, since they
 * are fetched in the order of the table here, too.
 */
Cost
skx_plan_cost_count(PlannerInfo *root, RelOptInfo *rel, IndexPath *index)
{
	Path	   *bitmap = (Path *)
		create_bitmap_heap_path(root, rel, (Path *) index, NULL, 1.0, 0);
	Cost		find = index->indextotalcost;
	Cost		fetch = Min(bitmap->total_cost, index->path.total_cost) - find;

	fetch = Max(fetch, 0);
	find = Max(find - index->path.rows *
			   (cpu_index_tuple_cost + skx_cost_of_ns(SKX_COST_ROW_NS)), 0);
	if (index->indexclauses == NIL)
		find = find * (1 - rel->allvisfrac) + rel->pages * cpu_operator_cost;
	if (skx_plan_is_exact(index))
		fetch *= 1 - rel->allvisfrac;
	return find + fetch;
}

/* Time in ns that a cpu_operator_cost stands for, of an aggregation. */
#define SKX_PLANNER_OPERATOR	25.0

Cost
skx_plan_time(double ns)
{
	return ns / SKX_PLANNER_OPERATOR * cpu_operator_cost;
}

/*
 * Returns true if the path is a scan of the index by all of the conditions,
 * and by nothing else.
 */
static bool
skx_plan_uses_all_clauses(Path *path, const IndexOptInfo *index)
{
	IndexPath  *scan = (IndexPath *) path;
	ListCell   *lc;

	if (!IsA(path, IndexPath) || path->pathtype != T_IndexScan ||
		path->param_info != NULL || scan->indexinfo != index ||
		scan->indexorderbys != NIL ||
		list_length(scan->indexclauses) != list_length(index->indrestrictinfo))
		return false;
	foreach(lc, scan->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		if (clause->lossy || list_length(clause->indexquals) != 1 ||
			!list_member_ptr(index->indrestrictinfo, clause->rinfo))
			return false;
	}
	return true;
}

bool
skx_plan_all_clauses(PlannerInfo *root, IndexOptInfo *index,
					 List **clauses)
{
	ListCell   *lc;

	*clauses = skx_plan_index_clauses(root, index);
	foreach(lc, *clauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		if (!skx_plan_needs_no_recheck(index, clause))
			return false;
		clause->lossy = false;
	}
	return list_length(*clauses) == list_length(index->indrestrictinfo);
}

/*
 * To cost a new scan reads the index, so one that the planner has kept is
 * preferred.
 */
IndexPath *
skx_plan_scan_by_all_clauses(PlannerInfo *root, const RelOptInfo *rel,
							 IndexOptInfo *index)
{
	List	   *clauses;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (IsA(path, BitmapHeapPath))
			path = ((BitmapHeapPath *) path)->bitmapqual;
		if (skx_plan_uses_all_clauses(path, index))
			return (IndexPath *) path;
	}
	if (!skx_plan_all_clauses(root, index, &clauses))
		return NULL;
	return create_index_path(root, index, clauses, NIL, NIL, NIL,
							 ForwardScanDirection, false, NULL, 1.0, false);
}
