/*
 * plan_custom.c
 *	  Paths and plans of the custom scan, whatever its kind.
 *
 * A kind says what it wants of an index; here the cheapest index of each table
 * of the query is chosen for it, and the nodes are made.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_custom.h"
#include "sql/plan/plan_internal.h"

bool
skx_plan_is_usable(const IndexOptInfo *index)
{
	return skx_plan_is_skipidx(index) && !index->hypothetical &&
		(index->indpred == NIL || index->predOK);
}

/* Adds the cheapest scan of one table.  Returns false if there is none. */
static bool
skx_plan_scan_table(PlannerInfo *root, RelOptInfo *rel, const Var *column,
					const SkxTableScanChooser *want, SkxTableScans *all)
{
	SkxTableScan best = {NULL};
	ListCell   *lc;

	foreach(lc, rel->indexlist)
	{
		SkxTableScan scan = {NULL};

		if (skx_plan_is_usable(lfirst(lc)) &&
			want->scan(root, rel, lfirst(lc), column, want->arg, &scan) &&
			(best.path == NULL || scan.cost < best.cost))
			best = scan;
	}
	if (best.path == NULL)
		return false;
	all->paths = lappend(all->paths, best.path);
	all->columns = lappend(all->columns, makeInteger(best.column));
	all->cost += best.cost;
	all->rows += best.rows;
	all->pages += best.pages;
	return true;
}

bool
skx_plan_scan_tables(PlannerInfo *root, RelOptInfo *rel, const Var *column,
					 const SkxTableScanChooser *want, SkxTableScans *all)
{
	ListCell   *lc;

	check_stack_depth();
	if (IS_DUMMY_REL(rel))
		return true;
	if (!planner_rt_fetch(rel->relid, root)->inh)
		return skx_plan_scan_table(root, rel, column, want, all);
	foreach(lc, root->append_rel_list)
	{
		AppendRelInfo *member = lfirst(lc);
		const Var  *own = NULL;

		if (member->parent_relid != rel->relid)
			continue;
		if (column != NULL)
		{
			own = list_nth(member->translated_vars, column->varattno - 1);
			if (own == NULL || !IsA(own, Var))
				return false;
		}
		if (!skx_plan_scan_tables(root, find_base_rel(root,
													  member->child_relid),
								  own, want, all))
			return false;
	}
	return true;
}

CustomPath *
skx_plan_custom_path(const Path *rows, List *scans, List *private,
					 const CustomPathMethods * methods)
{
	CustomPath *custom = makeNode(CustomPath);

	custom->path = *rows;
	custom->path.type = T_CustomPath;
	custom->path.pathtype = T_CustomScan;
	custom->path.parallel_safe = false;
	custom->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	custom->custom_paths = scans;
	custom->custom_private = private;
	custom->methods = methods;
	return custom;
}

/*
 * If there are conditions without columns, the Index Scan is below a Result
 * that evaluates them.  The custom scan gets the same conditions.
 */
IndexScan *
skx_plan_index_scan_child(Plan *plan)
{
	if (IsA(plan, Result) && outerPlan(plan) != NULL)
		plan = outerPlan(plan);
	return castNode(IndexScan, plan);
}

List *
skx_plan_make_count_children(List *plans)
{
	List	   *children = NIL;
	ListCell   *lc;

	foreach(lc, plans)
	{
		IndexScan  *child = skx_plan_index_scan_child(lfirst(lc));

		if (child->scan.plan.qual != NIL)
			elog(ERROR, "conditions are left that the index does not answer");
		child->scan.plan.targetlist = NIL;
		children = lappend(children, child);
	}
	return children;
}

Node *
skx_plan_estimate_path_pages(PlannerInfo *root, const CustomPath *path)
{
	double		pages = 0;
	ListCell   *lc;

	foreach(lc, path->custom_paths)
	{
		pages += skx_cost_planned_pages(root, lfirst(lc), false);
	}
	return skx_plan_expected_pages(pages);
}

CustomScan *
skx_plan_custom_scan(const CustomPath *path, Index relid, List *tlist,
					 List *children, List *exprs,
					 const CustomScanMethods *methods)
{
	CustomScan *scan = makeNode(CustomScan);
	ListCell   *lc;

	foreach(lc, exprs)
	{
		scan->custom_scan_tlist =
			lappend(scan->custom_scan_tlist,
					makeTargetEntry(copyObject(lfirst(lc)),
									foreach_current_index(lc) + 1, NULL,
									false));
	}
	scan->scan.plan.targetlist = tlist;
	scan->scan.scanrelid = relid;
	scan->flags = path->flags;
	scan->custom_plans = children;
	scan->methods = methods;
	return scan;
}
