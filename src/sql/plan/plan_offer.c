/*
 * plan_offer.c
 *	  Compares paths again, and offers them to several processes.
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "sql/plan/plan_internal.h"

void
skx_plan_detach_paths(RelOptInfo *rel, List **paths, List **partial)
{
	*paths = rel->pathlist;
	*partial = rel->partial_pathlist;
	rel->pathlist = NIL;
	rel->partial_pathlist = NIL;
}

void
skx_plan_offer_paths(RelOptInfo *rel, List *paths, List *partial)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		add_path(rel, lfirst(lc));
	}
	foreach(lc, partial)
	{
		add_partial_path(rel, lfirst(lc));
	}
}

/* The formula is that of costsize.c: the leader also has to gather rows. */
double
skx_plan_process_count(int workers)
{
	return workers + (parallel_leader_participation ?
					  Max(1 - 0.3 * workers, 0) : 0);
}

bool
skx_plan_exceeds_setup_cost(Cost cost, double times)
{
	return cost >= times * parallel_setup_cost;
}

CustomPath *
skx_plan_copy_parallel(RelOptInfo *rel, const CustomPath *whole, Cost divided,
					   double pages)
{
	int			workers = compute_parallel_worker(rel, -1, pages,
												  max_parallel_workers_per_gather);
	CustomPath *partial;
	ListCell   *lc;

	foreach(lc, whole->custom_paths)
	{
		const IndexPath *path = lfirst_node(IndexPath, lc);

		/* each process would gather the bits for itself */
		if (skx_plan_clauses_may_gather(path->indexinfo, path->indexclauses,
										path->indexorderbys == NIL ? NULL :
										linitial_node(OpExpr,
													  path->indexorderbys)))
			return NULL;
	}
	if (workers <= 0)
		return NULL;
	partial = makeNode(CustomPath);
	*partial = *whole;
	divided -= divided / skx_plan_process_count(workers);
	partial->path.parallel_aware = true;
	partial->path.parallel_safe = true;
	partial->path.parallel_workers = workers;
	partial->path.startup_cost -= divided;
	partial->path.total_cost -= divided;
	return partial;
}
