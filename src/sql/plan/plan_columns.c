/*
 * plan_columns.c
 *	  Paths that return rows of a table from its index alone, and their plans.
 *
 * A statement may need only columns whose keys tell their values, while the
 * index answers all conditions exactly.  Then it needs no rows of the table,
 * only which of them the snapshot sees, as for a count (plan_count.c).  The
 * server does the rest with the values: sums, groups, sorts, joins.
 */
#include "postgres.h"

#include "answer/columns/columns.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_custom.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "sql/plan/plan_reading.h"
#include "support/compat/compat_planner.h"
#include "utils/lsyscache.h"

/*
 * Times in ns of a row, and of a key with the value made of it.  A page has
 * about SKX_COLUMNS_PAGE_COST keys.
 */
#define SKX_COLUMNS_ROW_COST		25.0
#define SKX_COLUMNS_KEY_COST		20.0
#define SKX_COLUMNS_PAGE_COST	5000.0

static Plan *skx_plan_make_columns_plan(PlannerInfo *root, RelOptInfo *rel,
										CustomPath *path, List *tlist,
										List *clauses, List *custom_plans);

static const CustomPathMethods skx_plan_columns_path_methods = {
	.CustomName = "Skipidx Columns",
	.PlanCustomPath = skx_plan_make_columns_plan
};

/*
 * Returns the number (from 0) of the index's column that is the expression, if
 * its keys tell its values.  Returns 0 if there is none; column 0 is the text.
 */
static int
skx_plan_find_index_column(const IndexOptInfo *index, const Node *expr)
{
	int			i;

	if (!IsA(expr, Var))
		return 0;
	for (i = 1; i < index->nkeycolumns; i++)
	{
		SkxKeyColumn keys;

		if (equal(skx_plan_column_expr(index, i), expr))
			return skx_plan_fill_key_column(index, i, &keys) &&
				skx_column_key_decodes(&keys, getBaseType(exprType(expr))) ?
				i : 0;
	}
	return 0;
}

/*
 * Returns the columns of the index that the query needs of the table, as
 * ascending integers.  Returns NIL if it needs others as well, or none.
 */
static List *
skx_plan_needed_columns(const RelOptInfo *rel, const IndexOptInfo *index)
{
	Bitmapset  *needed = NULL;
	List	   *columns = NIL;
	ListCell   *lc;
	int			i;

	foreach(lc, rel->reltarget->exprs)
	{
		i = skx_plan_find_index_column(index, lfirst(lc));
		if (i == 0)
			return NIL;
		needed = bms_add_member(needed, i);
	}
	for (i = -1; (i = bms_next_member(needed, i)) >= 0;)
		columns = lappend(columns, makeInteger(i));
	return columns;
}

static bool
skx_plan_columns_have_keys(PlannerInfo *root, const IndexOptInfo *index,
						   const List *columns)
{
	SkxKeyColumn keys;
	ListCell   *lc;

	foreach(lc, columns)
	{
		if (!skx_plan_has_order(root, index, intVal(lfirst(lc)), &keys))
			return false;
	}
	return true;
}

/*
 * Returns the cost of a count and of looking up the keys.  It includes the
 * charge by skx_plan_unsaved_charge(), as against fetching the rows.
 */
static Cost
skx_plan_cost_columns(PlannerInfo *root, RelOptInfo *rel, IndexPath *path,
					  int ncolumns)
{
	double		rows = path->path.rows;
	double		npages = rel->tuples / SKX_COLUMNS_PAGE_COST;
	Cost		fetch = Max(path->path.total_cost - path->indextotalcost, 0);
	SkxReadingCost fetched = {path->path.total_cost, 0};
	SkxReadingCost counted = {0, 0};

	fetched.reading = skx_plan_reading_part(rel, fetch,
											path->indexselectivity);
	counted.cost = skx_plan_cost_count(root, rel, path) +
		ncolumns * Min(rows, npages) * seq_page_cost +
		skx_plan_time(rows * (SKX_COLUMNS_ROW_COST +
							  ncolumns * SKX_COLUMNS_KEY_COST));
	return counted.cost + skx_plan_unsaved_charge(rel, &counted, &fetched);
}

/*
 * Adds a partial path for several processes, each of which returns some of the
 * rows.
 */
static void
skx_plan_add_shared_columns(RelOptInfo *rel, const CustomPath *whole)
{
	const Path *path = &whole->path;
	const IndexPath *index = linitial_node(IndexPath, whole->custom_paths);
	CustomPath *partial;
	double		processes;

	if (!rel->consider_parallel ||
		!skx_plan_exceeds_setup_cost(path->total_cost - path->startup_cost,
									 SKX_PARALLEL_COUNT_COST_MIN) ||
		(partial = skx_plan_copy_parallel(rel, whole, 0,
										  index->indexinfo->pages)) == NULL)
		return;
	processes = skx_plan_process_count(partial->path.parallel_workers);
	partial->path.rows = clamp_row_est(path->rows / processes);
	partial->path.total_cost = path->startup_cost +
		(path->total_cost - path->startup_cost) / processes;
	add_partial_path(rel, (Path *) partial);
}

static void
skx_plan_add_column_scan(PlannerInfo *root, RelOptInfo *rel,
						 IndexOptInfo *index)
{
	List	   *columns = skx_plan_needed_columns(rel, index);
	IndexPath  *scan;
	CustomPath *custom;
	Cost		cost;
	Path		rows = {0};

	if (columns == NIL ||
		(scan = skx_plan_scan_by_all_clauses(root, rel, index)) == NULL ||
		!skx_plan_is_exact(scan) ||
		!skx_plan_columns_have_keys(root, index, columns))
		return;
	rows.parent = rel;
	rows.pathtarget = rel->reltarget;
	rows.rows = scan->path.rows;
	rows.startup_cost = scan->path.startup_cost;
	cost = skx_plan_cost_columns(root, rel, scan, list_length(columns));
	rows.total_cost = Max(cost, scan->path.startup_cost);
	custom = skx_plan_custom_path(&rows, list_make1(scan), NIL,
								  &skx_plan_columns_path_methods);
	custom->custom_private =
		list_make3(skx_plan_estimate_path_pages(root, custom), columns,
				   makeInteger(root->tuple_fraction == 0));
	skx_plan_add_shared_columns(rel, custom);
	add_path(rel, (Path *) custom);
}

void
skx_plan_add_column_scans(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell   *lc;

	if (!bms_is_empty(rel->lateral_relids) ||
		!enable_indexscan || !enable_indexonlyscan || !enable_bitmapscan)
		return;
	foreach(lc, rel->indexlist)
	{
		if (skx_plan_is_usable(lfirst(lc)))
			skx_plan_add_column_scan(root, rel, lfirst(lc));
	}
}

static Plan *
skx_plan_make_columns_plan(PlannerInfo *root, RelOptInfo *rel,
						   CustomPath *path, List *tlist, List *clauses,
						   List *custom_plans)
{
	const IndexOptInfo *index =
		linitial_node(IndexPath, path->custom_paths)->indexinfo;
	CustomScan *scan;
	List	   *exprs = NIL;
	ListCell   *lc;

	foreach(lc, lsecond_node(List, path->custom_private))
	{
		exprs = lappend(exprs, skx_plan_column_expr(index, intVal(lfirst(lc))));
	}
	scan = skx_plan_custom_scan(path, rel->relid, tlist,
								skx_plan_make_count_children(custom_plans),
								exprs, &skx_plan_columned.scan);
	scan->custom_private = path->custom_private;
	return (Plan *) scan;
}
