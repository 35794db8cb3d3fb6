/*
 * plan_rivals.c
 *	  Ranked scans of partitions that give the rows of one LIMIT.
 *
 * Of the rows that they have given, the best so many tell what another row must
 * have to be among these: a scan that begins later leaves out what has less, and
 * with that most of its search, or all of it.  Rows count when they are given,
 * so that they are visible and meet all conditions; those with as much as the
 * worst of them still come, as another sort key may put them before it.
 *
 * A custom scan above what merges the scans knows when these begin anew.  It
 * returns the rows as they come.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "sql/am/am.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "support/compat/compat_planner.h"
#include "utils/memutils.h"

struct SkxRivals
{
	int64		wanted;			/* rows; 0: not known, or too many */
	int			n;				/* of these, the best ones given so far: */
	float4	   *distances;		/* ascending */
	int			scans;
	int			begun;			/* of them */
	uint64		barred;			/* of all rescans, whose search was left out */
};

typedef struct SkxRivalsScan
{
	SkxPlanNode node;			/* first */
	SkxRivals	rivals;
} SkxRivalsScan;

static Plan *skx_plan_plan_rivals(PlannerInfo *root, RelOptInfo *rel,
								  CustomPath *path, List *tlist,
								  List *clauses, List *custom_plans);
static const CustomPathMethods skx_plan_rivals_path_methods = {
	.CustomName = "Skipidx Best",
	.PlanCustomPath = skx_plan_plan_rivals
};

/* ---- rows given so far ---- */

/* More than these are not worth to be kept. */
#define SKX_RIVALS_ROWS		1024

/*
 * Rows that a scan reads ahead at most, so that those after it know what to
 * reach: a row that is not wanted takes reading a page of the table.
 */
#define SKX_RIVALS_AHEAD	128

bool
skx_plan_rivals_floor(const SkxRivals *rivals, float4 *distance)
{
	if (rivals->wanted == 0 || rivals->n < rivals->wanted)
		return false;
	*distance = rivals->distances[rivals->n - 1];
	return *distance < 0;
}

void
skx_plan_rivals_add(SkxRivals *rivals, float4 distance)
{
	int			at = rivals->n;

	if (rivals->n == rivals->wanted)
	{
		if (at == 0 || distance >= rivals->distances[at - 1])
			return;
		at--;
	}
	else
		rivals->n++;
	for (; at > 0 && rivals->distances[at - 1] > distance; at--)
		rivals->distances[at] = rivals->distances[at - 1];
	rivals->distances[at] = distance;
}

int64
skx_plan_rivals_begin(SkxRivals *rivals)
{
	rivals->begun++;
	return rivals->begun >= rivals->scans ||
		rivals->wanted > SKX_RIVALS_AHEAD ? 0 : rivals->wanted;
}

void
skx_plan_rivals_bar(SkxRivals *rivals)
{
	rivals->barred++;
}

/* ---- the path and its plan ---- */

/* Is it a merge of ranked scans, of two at least? */
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

static Path *
skx_plan_rivals_path(Path *merge)
{
	CustomPath *custom = makeNode(CustomPath);

	custom->path = *merge;
	custom->path.type = T_CustomPath;
	custom->path.pathtype = T_CustomScan;
	custom->path.parallel_safe = false;
	custom->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	custom->custom_paths = list_make1(merge);
	custom->methods = &skx_plan_rivals_path_methods;
	return (Path *) custom;
}

/*
 * Puts it above what is merged for a LIMIT.  What comes between, a projection or
 * a sort by more keys, drops no row.
 */
static void
skx_plan_limit_rivals(Path *limited)
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
		*below = skx_plan_rivals_path(*below);
}

void
skx_plan_add_rivals(PlannerInfo *root, RelOptInfo *output)
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
			skx_plan_limit_rivals(lfirst(lc));
	}
}

static Plan *
skx_plan_plan_rivals(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
					 List *tlist, List *clauses, List *custom_plans)
{
	Plan	   *child = linitial(custom_plans);
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.plan.targetlist = tlist;
	scan->flags = path->flags;
	scan->custom_plans = custom_plans;
	scan->custom_exprs = copyObject(list_make2(root->parse->limitCount,
											   root->parse->limitOffset));
	scan->custom_scan_tlist = copyObject(child->targetlist);
	scan->methods = &skx_plan_best.scan;
	return (Plan *) scan;
}

/* ---- at run time ---- */

/* The scans that are merged, below other nodes or not. */
static bool
skx_plan_meet_rivals(PlanState *node, void *context)
{
	SkxRivals  *rivals = context;

	if (IsA(node, CustomScanState))
	{
		rivals->scans += skx_plan_set_rivals((CustomScanState *) node,
											 rivals);
		return false;
	}
	if (!IsA(node, MergeAppendState) && !IsA(node, ResultState))
		return false;
	return planstate_tree_walker(node, skx_plan_meet_rivals, context);
}

static PlanState *
skx_plan_merge_of(const SkxPlanNode *node)
{
	return linitial(node->css.custom_ps);
}

/* Where EvalPlanQual looks at rows again, these are not searched for. */
static void
skx_plan_begin_rivals(SkxPlanNode *node)
{
	SkxRivals  *rivals = &((SkxRivalsScan *) node)->rivals;

	rivals->distances = palloc(sizeof(float4) * SKX_RIVALS_ROWS);
	if (node->css.ss.ps.state->es_epq_active == NULL)
		(void) skx_plan_meet_rivals(skx_plan_merge_of(node), rivals);
}

/* The next row of the merge. */
static TupleTableSlot *
skx_plan_next_rival(SkxPlanNode *node)
{
	SkxRivals  *rivals = &((SkxRivalsScan *) node)->rivals;
	uint64		asked;

	if (!node->ready)
	{
		(void) skx_plan_node_asked(node, &asked);
		rivals->n = rivals->begun = 0;
		rivals->wanted = asked <= SKX_RIVALS_ROWS ? (int64) asked : 0;
		node->ready = true;
	}
	return ExecProcNode(skx_plan_merge_of(node));
}

static bool
skx_plan_explain_rivals(SkxPlanNode *node, ExplainState *es)
{
	ExplainPropertyUInteger("Tables Not Searched", NULL,
							((SkxRivalsScan *) node)->rivals.barred, es);
	return false;
}

const SkxPlanKind skx_plan_best = {
	.scan = {"Skipidx Best", skx_plan_node_create},
	.size = sizeof(SkxRivalsScan),
	.begin = skx_plan_begin_rivals,
	.next = skx_plan_next_rival,
	.explain_work = skx_plan_explain_rivals
};
