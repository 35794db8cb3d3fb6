/*
 * plan_divided.c
 *	  Scans by several processes, each of which returns rows.
 *
 * The server offers them where the scan reads enough pages of the index, but a
 * scan of a skipidx index reads few.  The server divides the work on rows, but
 * not the reading of the table's pages.  Processes wait for these, or copy
 * them, at the same time.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "sql/plan/plan_internal.h"

/*
 * Cost from which scans are divided, as a multiple of parallel_setup_cost.  A
 * millisecond of one process did work that costs 850, where the table's pages
 * must be read, to 3,600.
 */
#define SKX_PARALLEL_ROWS_COST_MIN	100

/*
 * Work of all processes together, as a multiple of the work of one.  Each
 * process maps the shared buffers that it reads, and unmaps them at its end,
 * where these are not huge pages.  Two processes took .79 of the time of one.
 */
#define SKX_PARALLEL_WORK_FACTOR		1.25

/*
 * The same where rows are in order: the merge waits for each process in turn.
 * With ten million rows, two processes took .66 of the time of one to find the
 * 20 of 558,020 that a condition leaves.  For all of these rows they took 1.2
 * times as long as a sort.
 */
#define SKX_PARALLEL_MERGE_FACTOR		1.45

/*
 * Returns true if fetching `share` (0 to 1) of a path's rows is worth several
 * processes.
 */
static bool
skx_plan_is_worth_partial(const Path *path, double share,
						  const IndexPath *index)
{
	return index->path.param_info == NULL &&
		skx_plan_is_skipidx(index->indexinfo) &&
		skx_plan_exceeds_setup_cost((path->total_cost - path->startup_cost) *
									share, SKX_PARALLEL_ROWS_COST_MIN) &&
		!skx_plan_clauses_may_gather(index->indexinfo, index->indexclauses,
									 NULL);
}

/*
 * Returns a copy of the path, whose struct has `size` bytes, for each of
 * several processes.  Together they take `times` the work of one.  Returns
 * NULL if there are no workers for it.
 */
static Path *
skx_plan_copy_partial(RelOptInfo *rel, const Path *whole, Size size,
					  double times)
{
	Path	   *path;
	double		processes;
	int			workers =
		compute_parallel_worker(rel, Min(rel->pages, whole->rows), -1,
								max_parallel_workers_per_gather);

	if (workers <= 0)
		return NULL;
	processes = Max(skx_plan_process_count(workers), 1);
	path = palloc(size);
	memcpy(path, whole, size);
	path->parallel_aware = true;
	path->parallel_safe = true;
	path->parallel_workers = workers;
	path->rows = clamp_row_est(path->rows / processes);
	path->total_cost = path->startup_cost +
		(path->total_cost - path->startup_cost) *
		Min(times / processes, 1);
	return path;
}

static bool
skx_plan_has_exec_param(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		return true;
	return expression_tree_walker(node, skx_plan_has_exec_param, context);
}

/*
 * Workers do not know parameters that other plans set, or know only their
 * values for the first scan.  The server, too, tells them only once how many
 * rows a LIMIT above them wants.
 */
bool
skx_plan_workers_know_limit(PlannerInfo *root)
{
	List	   *limits = list_make2(root->parse->limitCount,
									root->parse->limitOffset);

	return is_parallel_safe(root, (Node *) limits) &&
		!skx_plan_has_exec_param((Node *) limits, NULL);
}

static bool
skx_plan_may_be_partial(PlannerInfo *root, const RelOptInfo *rel)
{
	return rel->consider_parallel && bms_is_empty(rel->lateral_relids) &&
		skx_plan_workers_know_limit(root);
}

Path *
skx_plan_partial_path(PlannerInfo *root, RelOptInfo *rel, const Path *whole,
					  Size size, const IndexPath *index)
{
	double		share = root->limit_tuples > 0 ?
		Min(root->limit_tuples / Max(whole->rows, 1), 1) : 1;

	if (!skx_plan_may_be_partial(root, rel) ||
		!skx_plan_is_worth_partial(whole, share, index))
		return NULL;
	return skx_plan_copy_partial(rel, whole, size, SKX_PARALLEL_MERGE_FACTOR);
}

void
skx_plan_add_partial_paths(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell   *lc;

	if (!skx_plan_may_be_partial(root, rel))
		return;
	foreach(lc, rel->pathlist)
	{
		const IndexPath *index = lfirst(lc);
		Path	   *path;

		if (!IsA(index, IndexPath) || index->indexorderbys != NIL ||
			!skx_plan_is_worth_partial(&index->path, 1, index))
			continue;
		path = skx_plan_copy_partial(rel, &index->path, sizeof(IndexPath),
									 SKX_PARALLEL_WORK_FACTOR);
		if (path != NULL)
			add_partial_path(rel, path);
	}
}

/* Returns true if a ranked scan costs less than starting workers. */
static bool
skx_plan_is_below_setup_cost(const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		const CustomPath *path = lfirst(lc);

		if (IsA(path, CustomPath) &&
			path->methods == &skx_plan_path_methods &&
			path->path.param_info == NULL &&
			path->path.total_cost < parallel_setup_cost)
			return true;
	}
	return false;
}

/*
 * Where workers cannot compute the distance that ranks rows, nothing above a
 * partition is parallel.  The server then gathers the partial paths of each
 * partition, and tries that for every sort key.
 */
void
skx_plan_drop_partial_paths(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell   *lc;

	if (root->query_pathkeys == NIL || !skx_plan_is_only_table(root, rel))
		return;
	foreach(lc, root->append_rel_list)
	{
		const AppendRelInfo *part = lfirst(lc);
		RelOptInfo *child = root->simple_rel_array[part->child_relid];

		if (part->parent_relid == rel->relid && child != NULL &&
			skx_plan_is_below_setup_cost(child))
			child->partial_pathlist = NIL;
	}
}
