/*
 * planner_divided.c
 *	  Scans in no order by several processes.
 *
 * The server offers them where the scan reads enough pages of the index, of
 * which ours reads few, and divides the work on rows, but not the reading of
 * the table's pages.  Processes wait for these, or copy them, at the same time.
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "planner/planner_internal.h"

/*
 * Times parallel_setup_cost.  A millisecond of one process did what costs 850,
 * where the table's pages are to be read, to 3,600.
 */
#define SKX_PLANNER_WORTH_ROWS	100

/*
 * What it takes all of them together, by what it takes one: each maps the shared
 * buffers that it looks at, and unmaps them at its end, where these are not huge
 * pages.  Two took .79 of the time of one.
 */
#define SKX_PLANNER_DIVIDED		1.25

static bool
skx_planner_is_divisible(const Path *path)
{
	const IndexPath *index = (const IndexPath *) path;

	return IsA(path, IndexPath) && path->param_info == NULL &&
		index->indexorderbys == NIL && skx_planner_is_ours(index->indexinfo) &&
		skx_planner_is_worth(path->total_cost - path->startup_cost,
							 SKX_PLANNER_WORTH_ROWS) &&
		!skx_planner_may_gather(index->indexclauses, NULL);
}

static void
skx_planner_divide(RelOptInfo *rel, const IndexPath *whole)
{
	Path	   *path;
	double		processes;
	int			workers =
		compute_parallel_worker(rel, Min(rel->pages, whole->path.rows), -1,
								max_parallel_workers_per_gather);

	if (workers <= 0)
		return;
	processes = Max(skx_planner_processes(workers), 1);
	path = (Path *) makeNode(IndexPath);
	*(IndexPath *) path = *whole;
	path->parallel_aware = true;
	path->parallel_safe = true;
	path->parallel_workers = workers;
	path->rows = clamp_row_est(path->rows / processes);
	path->total_cost = path->startup_cost +
		(path->total_cost - path->startup_cost) *
		Min(SKX_PLANNER_DIVIDED / processes, 1);
	add_partial_path(rel, path);
}

void
skx_planner_add_divided(RelOptInfo *rel)
{
	ListCell   *lc;

	if (!rel->consider_parallel || !bms_is_empty(rel->lateral_relids))
		return;
	foreach(lc, rel->pathlist)
	{
		if (skx_planner_is_divisible(lfirst(lc)))
			skx_planner_divide(rel, lfirst(lc));
	}
}
