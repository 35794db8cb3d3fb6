/*
 * plan_plan.c
 *	  The plan of the custom scan of ranked rows.
 *
 * Its child is the Index Scan, reduced to plain columns.  The scan tuple is
 * these columns and the distance.  The distance stands in custom_scan_tlist as
 * the very expression that the query has.  So the server replaces that
 * expression by a column, wherever it is in the output.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "sql/am/am.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_custom.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "sql/plan/plan_sum.h"
#include "support/compat/compat_planner.h"
#include "utils/lsyscache.h"

static Plan *skx_plan_make_ranked_plan(PlannerInfo *root, RelOptInfo *rel,
									   CustomPath *path, List *tlist,
									   List *clauses,
									   List *custom_plans);

const		CustomPathMethods skx_plan_path_methods = {
	.CustomName = "Skipidx Scan",
	.PlanCustomPath = skx_plan_make_ranked_plan
};

static Plan *skx_plan_make_sum_plan(PlannerInfo *root, RelOptInfo *rel,
									CustomPath *path, List *tlist,
									List *clauses, List *custom_plans);

const		CustomPathMethods skx_plan_sum_path_methods = {
	.CustomName = "Skipidx Scan",
	.PlanCustomPath = skx_plan_make_sum_plan
};

static OpExpr *
skx_plan_distance_of(const IndexScan *child)
{
	return castNode(OpExpr, linitial(child->indexorderbyorig));
}

/*
 * Returns the condition whose query the scan is told; NULL if there is none.
 * One with the ranking query is preferred, since the scan can then end with
 * the last row that has a score.  Of a ranking as a value no query is known.
 */
static Node *
skx_plan_scan_filter(List *quals, OpExpr *distance, Oid family)
{
	Node	   *told = NULL;
	ListCell   *lc;

	if (skx_score_is_by_value(distance->opno, family))
		return NULL;
	foreach(lc, quals)
	{
		Node	   *query = skx_plan_matched_query(lfirst(lc),
												   linitial(distance->args),
												   family);

		if (query == NULL)
			continue;
		if (skx_plan_ref_ranks_by(query, distance, family))
			return lfirst(lc);
		if (told == NULL)
			told = lfirst(lc);
	}
	return told;
}

/*
 * Takes all conditions from the child and returns them, in their order, for
 * the custom scan, if one of them can end it.  That is a condition that bounds
 * the distance, or `document @@ query`.  The latter is left to rows if other
 * conditions have to be tested before it.
 */
static List *
skx_plan_take_quals(IndexScan *child, Oid family, SkxRankedPlanParts *planned)
{
	OpExpr	   *distance = skx_plan_distance_of(child);
	List	   *quals = child->scan.plan.qual;
	Node	   *told = skx_plan_scan_filter(quals, distance, family);
	ListCell   *lc;

	foreach(lc, quals)
	{
		Node	   *clause = lfirst(lc);

		if (clause == told)
			planned->query = skx_plan_matched_query(clause,
													linitial(distance->args),
													family);
		else if (skx_plan_is_bound(clause, distance))
			planned->bounds = lappend(planned->bounds, clause);
		else
			planned->other_conditions = lappend(planned->other_conditions,
												clause);
	}
	if (planned->query == NULL && planned->bounds == NIL)
		return NIL;
	child->scan.plan.qual = NIL;
	return quals;
}

void
skx_plan_reduce_target(IndexScan *child, List *exprs)
{
	List	   *columns = NIL;
	List	   *targets = NIL;
	ListCell   *lc;

	exprs = list_concat_copy(child->scan.plan.targetlist, exprs);
	foreach(lc, pull_var_clause((Node *) exprs, PVC_RECURSE_PLACEHOLDERS))
	{
		Var		   *var = lfirst(lc);

		if (var->varno == child->scan.scanrelid && var->varlevelsup == 0)
			columns = list_append_unique(columns, var);
	}
	foreach(lc, columns)
	{
		targets = lappend(targets,
						  makeTargetEntry(lfirst(lc),
										  foreach_current_index(lc) + 1,
										  NULL, false));
	}
	child->scan.plan.targetlist = targets;
}

/*
 * Makes the plan of a scan that returns `ordered_by`, a distance or an
 * expression of one, as its last column.  `quals` are conditions that it tests
 * itself.
 */
static CustomScan *
skx_plan_make_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
				   List *tlist, IndexScan *child, Node *ordered_by,
				   List *quals, const SkxRankedPlanParts *planned)
{
	const IndexPath *index = castNode(IndexPath, linitial(path->custom_paths));
	OpExpr	   *distance = skx_plan_distance_of(child);
	List	   *exprs = lappend(get_tlist_exprs(child->scan.plan.targetlist,
												true), ordered_by);
	CustomScan *scan = skx_plan_custom_scan(path, rel->relid, tlist,
											list_make1(child), exprs,
											&skx_plan_ranked.scan);
	double		pages = skx_cost_planned_pages(root, index,
											   planned->count != NULL);

	scan->scan.plan.qual = quals;
	scan->custom_exprs = list_make5(planned->count, planned->offset,
									linitial(distance->args),
									lsecond(distance->args), planned->query);
	scan->custom_exprs = lappend(scan->custom_exprs, planned->bounds);
	scan->custom_exprs = copyObject(scan->custom_exprs);
	scan->custom_private =
		list_make5(skx_plan_expected_pages(pages),
				   list_make1_oid(get_opcode(distance->opno)),
				   makeInteger(planned->extra),
				   makeInteger(skx_plan_percent(root, rel, index, planned)),
				   makeInteger(skx_plan_is_unlimited(root, rel)));
	scan->custom_private = lappend(scan->custom_private,
								   makeInteger(skx_cost_first_rows(root,
																   path->path.pathkeys)));
	return scan;
}

static Plan *
skx_plan_make_ranked_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
						  List *tlist, List *clauses, List *custom_plans)
{
	IndexPath  *index = castNode(IndexPath, linitial(path->custom_paths));
	IndexScan  *child = skx_plan_index_scan_child(linitial(custom_plans));
	OpExpr	   *distance = skx_plan_distance_of(child);
	SkxRankedPlanParts planned = {0};
	List	   *quals;

	skx_plan_fill_limit(root, rel, path, &planned);
	quals = skx_plan_take_quals(child, index->indexinfo->opfamily[0],
								&planned);
	skx_plan_reduce_target(child, list_concat_copy(distance->args, quals));
	return (Plan *) skx_plan_make_scan(root, rel, path, tlist, child,
									   (Node *) distance, quals, &planned);
}

/* The child tests the conditions; none of them ends the scan. */
static Plan *
skx_plan_make_sum_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
					   List *tlist, List *clauses, List *custom_plans)
{
	IndexScan  *child = skx_plan_index_scan_child(linitial(custom_plans));
	const List *sum = path->custom_private;
	SkxRankedPlanParts planned = {0};
	CustomScan *scan;

	skx_plan_fill_limit(root, rel, path, &planned);
	planned.other_conditions = child->scan.plan.qual;
	skx_plan_reduce_target(child, NIL);
	scan = skx_plan_make_scan(root, rel, path, tlist, child,
							  list_nth(sum, SKX_SUM_EXPR), NIL, &planned);
	scan->custom_exprs =
		list_concat(scan->custom_exprs,
					copyObject(list_make2(list_nth(sum, SKX_SUM_TERMS),
										  list_nth(sum, SKX_SUM_PEAKS))));
	scan->custom_private =
		list_concat(scan->custom_private,
					list_make2(list_nth(sum, SKX_SUM_STEPS),
							   list_nth(sum, SKX_SUM_COLUMNS)));
	return (Plan *) scan;
}
