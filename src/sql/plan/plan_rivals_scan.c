/*
 * plan_rivals_scan.c
 *	  A custom scan above ranked scans of partitions that together give the
 *	  rows of a LIMIT.
 *
 * The scans below tell it the distances that they return (plan_rivals.c).  It
 * passes their rows on.  After a rescan it forgets those distances before the
 * scans begin again.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "sql/am/am.h"
#include "sql/plan/plan_custom.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "support/compat/compat_planner.h"
#include "utils/memutils.h"

typedef struct SkxSiblingsScanState
{
	SkxPlanNode node;			/* first */
	SkxSiblingScans siblings;
} SkxSiblingsScanState;

static Plan *skx_plan_make_siblings_plan(PlannerInfo *root, RelOptInfo *rel,
										 CustomPath *path, List *tlist,
										 List *clauses, List *custom_plans);
static const CustomPathMethods skx_plan_rivals_path_methods = {
	.CustomName = "Skipidx Best",
	.PlanCustomPath = skx_plan_make_siblings_plan
};

/* Maximum number of distances that are kept; more are not worth it. */
#define SKX_SIBLINGS_ROWS_MAX		1024

/* ---- the path and its plan ---- */

/* Returns true if the path is a merge of at least two ranked scans. */
static bool
skx_plan_merges_ranked(const Path *path)
{
	const MergeAppendPath *merge = (const MergeAppendPath *) path;
	ListCell   *lc;

	if (!IsA(path, MergeAppendPath) || path->param_info != NULL ||
		list_length(merge->subpaths) < 2)
		return false;
	foreach(lc, merge->subpaths)
	{
		const Path *sub = lfirst(lc);

		if (IsA(sub, ProjectionPath))
			sub = ((const ProjectionPath *) sub)->subpath;
		if (!IsA(sub, CustomPath) || sub->parallel_aware ||
			((const CustomPath *) sub)->methods != &skx_plan_path_methods)
			return false;
	}
	return true;
}

/*
 * Puts the custom scan above a merge for a LIMIT.  What comes between, a
 * projection or a sort by more keys, drops no row.
 */
static void
skx_plan_add_siblings_path(Path *limited)
{
	Path	  **below = &((LimitPath *) limited)->subpath;

	while (IsA(*below, ProjectionPath) || IsA(*below, IncrementalSortPath))
	{
		if (IsA(*below, ProjectionPath))
			below = &((ProjectionPath *) *below)->subpath;
		else
			below = &((SortPath *) *below)->subpath;
	}
	if (skx_plan_merges_ranked(*below))
		*below = (Path *)
			skx_plan_custom_path(*below, list_make1(*below), NIL,
								 &skx_plan_rivals_path_methods);
}

void
skx_plan_add_siblings_scan(PlannerInfo *root, RelOptInfo *output)
{
	const Query *query = root->parse;
	ListCell   *lc;

	if (query->commandType != CMD_SELECT || query->limitCount == NULL ||
		query->rowMarks != NIL || query->hasTargetSRFs ||
		query->groupClause != NIL || query->groupingSets != NIL ||
		query->distinctClause != NIL || query->setOperations != NULL ||
		query->hasAggs || query->hasWindowFuncs || root->hasHavingQual ||
		!skx_plan_is_simple(query->limitCount) ||
		!skx_plan_is_simple(query->limitOffset))
		return;
	foreach(lc, output->pathlist)
	{
		if (IsA(lfirst(lc), LimitPath))
			skx_plan_add_siblings_path(lfirst(lc));
	}
}

static Plan *
skx_plan_make_siblings_plan(PlannerInfo *root, RelOptInfo *rel,
							CustomPath *path, List *tlist, List *clauses,
							List *custom_plans)
{
	Plan	   *child = linitial(custom_plans);
	CustomScan *scan = skx_plan_custom_scan(path, 0, tlist, custom_plans,
											get_tlist_exprs(child->targetlist,
															true),
											&skx_plan_best.scan);

	scan->custom_exprs = copyObject(list_make2(root->parse->limitCount,
											   root->parse->limitOffset));
	return (Plan *) scan;
}

/* ---- at run time ---- */

/*
 * Connects the merged scans with each other.  They may be below other nodes.
 */
static bool
skx_plan_connect_siblings(PlanState *node, void *context)
{
	SkxSiblingScans *rivals = context;

	if (IsA(node, CustomScanState))
	{
		rivals->nscans += skx_plan_set_siblings((CustomScanState *) node,
												rivals);
		return false;
	}
	if (!IsA(node, MergeAppendState) && !IsA(node, ResultState))
		return false;
	return planstate_tree_walker(node, skx_plan_connect_siblings, context);
}

static PlanState *
skx_plan_merge_of(const SkxPlanNode *node)
{
	return linitial(node->css.custom_ps);
}

/*
 * EvalPlanQual rechecks rows instead of searching for them, so its scans are
 * not connected.
 */
static void
skx_plan_begin_siblings(SkxPlanNode *node)
{
	SkxSiblingScans *rivals = &((SkxSiblingsScanState *) node)->siblings;

	rivals->distances = palloc(sizeof(float4) * SKX_SIBLINGS_ROWS_MAX);
	if (node->css.ss.ps.state->es_epq_active == NULL)
		(void) skx_plan_connect_siblings(skx_plan_merge_of(node), rivals);
}

/* Returns the next row of the merge. */
static TupleTableSlot *
skx_plan_next_sibling(SkxPlanNode *node)
{
	SkxSiblingScans *rivals = &((SkxSiblingsScanState *) node)->siblings;
	uint64		asked;

	if (!node->is_ready)
	{
		(void) skx_plan_node_limit(node, &asked);
		rivals->n = rivals->nbegun = 0;
		rivals->wanted_rows = asked <= SKX_SIBLINGS_ROWS_MAX ? (int64) asked :
			0;
		node->is_ready = true;
	}
	return ExecProcNode(skx_plan_merge_of(node));
}

static const SkxPlanCount skx_plan_rivals_counts[] = {
	{"Tables Not Searched", offsetof(SkxSiblingsScanState, siblings.nskipped)},
	{NULL}
};

const SkxPlanKind skx_plan_best = {
	.scan = {"Skipidx Best", skx_plan_node_create},
	.size = sizeof(SkxSiblingsScanState),
	.begin = skx_plan_begin_siblings,
	.next = skx_plan_next_sibling,
	.counts = skx_plan_rivals_counts
};
