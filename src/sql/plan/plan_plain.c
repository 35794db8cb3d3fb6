/*
 * plan_plain.c
 *	  Scans in no order by conditions that the server does not take, or not
 *	  alone.
 *
 * The server makes scans by all of the conditions that it matches with an
 * index.  This file makes those by conditions that only plan_clause.c matches.
 * It also makes those by fewer conditions, where testing the rest on rows
 * costs less.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "sql/plan/plan_internal.h"

/* Adds partial paths that take these conditions, by a bitmap, too. */
static void
skx_plan_add_plain_partial(PlannerInfo *root, RelOptInfo *rel,
						   IndexOptInfo *index, List *clauses,
						   IndexPath *path)
{
	IndexPath  *partial;

	if (!rel->consider_parallel || !bms_is_empty(rel->lateral_relids))
		return;
	partial = create_index_path(root, index, clauses, NIL, NIL, NIL,
								ForwardScanDirection, false, NULL, 1.0, true);
	if (partial->path.parallel_workers > 0)
		add_partial_path(rel, (Path *) partial);
	create_partial_bitmap_paths(root, rel, (Path *) path);
}

/* Adds paths in no order that take these conditions, by a bitmap, too. */
static void
skx_plan_add_paths_taking(PlannerInfo *root, RelOptInfo *rel,
						  IndexOptInfo *index, List *clauses)
{
	IndexPath  *path;

	path = create_index_path(root, index, clauses, NIL, NIL, NIL,
							 ForwardScanDirection, false,
							 rel->lateral_relids, 1.0, false);
	add_path(rel, (Path *) path);
	add_path(rel, (Path *)
			 create_bitmap_heap_path(root, rel, (Path *) path,
									 rel->lateral_relids, 1.0, 0));
	skx_plan_add_plain_partial(root, rel, index, clauses, path);
}

void
skx_plan_add_plain_scans(PlannerInfo *root, RelOptInfo *rel,
						 IndexOptInfo *index)
{
	List	   *clauses = skx_plan_index_clauses(root, index);

	if (clauses != NIL && skx_plan_has_own_clauses(index, clauses))
		skx_plan_add_paths_taking(root, rel, index, clauses);
	if (index->nkeycolumns > 1)
		skx_plan_add_join_scans(root, rel, index);
}

void
skx_plan_add_weakened_scans(PlannerInfo *root, RelOptInfo *rel,
							IndexOptInfo *index)
{
	List	   *clauses = skx_plan_index_clauses(root, index);
	List	   *untested = skx_plan_without_text_disjunctions(index, clauses);
	List	   *light;

	/* the server's bitmaps of the arms know rows that need no test */
	if (list_length(untested) < list_length(clauses) && untested != NIL &&
		skx_plan_has_own_clauses(index, untested))
		skx_plan_add_paths_taking(root, rel, index, untested);
	if (!skx_plan_clauses_may_gather(index, clauses, NULL))
		return;
	light = skx_plan_weakened_clauses(root, index, clauses);
	if (light != NIL)
		skx_plan_add_paths_taking(root, rel, index, light);
}
