/*
 * planner_count.c
 *	  Paths that count the rows of a table by an index, and their plans.
 *
 * `SELECT count(*)` of one table, whose conditions an index answers all, needs
 * no row: only whether the snapshot sees each one, which the visibility map
 * knows of most.  The server's own index-only scan is not possible
 * (cost/README.md), so the aggregation as a whole is replaced by a custom scan
 * that has the index do the counting (planner_count_scan.c).
 */
#include "postgres.h"

#include "am/am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "compat/compat_planner.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "planner/planner_internal.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

static Plan *skx_planner_plan_count(PlannerInfo *root, RelOptInfo *rel,
									CustomPath *path, List *tlist,
									List *clauses, List *custom_plans);

static const CustomPathMethods skx_planner_count_path_methods = {
	.CustomName = "Skipidx Count",
	.PlanCustomPath = skx_planner_plan_count
};

static bool skx_planner_counts = true;
static create_upper_paths_hook_type skx_planner_next_upper_hook;

/* Is it `count` of something that no row of the table has NULL in? */
static bool
skx_planner_counts_all(PlannerInfo *root, const RelOptInfo *rel, Node *expr)
{
	Aggref	   *count = (Aggref *) expr;
	Node	   *what;

	if (!IsA(expr, Aggref) || count->agglevelsup != 0 ||
		count->aggfilter != NULL || count->aggdistinct != NIL ||
		count->aggorder != NIL || count->aggsplit != AGGSPLIT_SIMPLE)
		return false;
	if (count->aggfnoid == F_COUNT_)
		return true;
	if (count->aggfnoid != F_COUNT_ANY)
		return false;
	what = (Node *) linitial_node(TargetEntry, count->args)->expr;
	if (IsA(what, Const))
		return !((Const *) what)->constisnull;
	return IsA(what, Var) && ((Var *) what)->varno == rel->relid &&
		((Var *) what)->varattno > 0 &&
		skx_compat_is_not_null(rel, planner_rt_fetch(rel->relid, root)->relid,
							   ((Var *) what)->varattno);
}

/* All that the output has of the table. */
static List *
skx_planner_aggregates(const RelOptInfo *output)
{
	return pull_var_clause((Node *) output->reltarget->exprs,
						   PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
						   PVC_RECURSE_PLACEHOLDERS);
}

/* One table, one row of counts. */
static bool
skx_planner_is_count(PlannerInfo *root, const RelOptInfo *input,
					 const RelOptInfo *output)
{
	const Query *query = root->parse;
	const RangeTblEntry *rte;
	List	   *aggregates;
	ListCell   *lc;

	if (input->reloptkind != RELOPT_BASEREL ||
		input->rtekind != RTE_RELATION || !bms_is_empty(input->lateral_relids) ||
		!query->hasAggs || query->hasTargetSRFs ||
		query->groupClause != NIL || query->groupingSets != NIL ||
		query->havingQual != NULL)
		return false;
	rte = planner_rt_fetch(input->relid, root);
	if (rte->inh || rte->tablesample != NULL ||
		(rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_MATVIEW))
		return false;
	aggregates = skx_planner_aggregates(output);
	foreach(lc, aggregates)
	{
		if (!skx_planner_counts_all(root, input, lfirst(lc)))
			return false;
	}
	return aggregates != NIL;
}

/* Does the index answer all of them itself, but for equality of arrays? */
static bool
skx_planner_is_exact(const IndexPath *index)
{
	ListCell   *lc;

	foreach(lc, index->indexclauses)
	{
		const IndexClause *clause = lfirst_node(IndexClause, lc);
		const RestrictInfo *qual = linitial_node(RestrictInfo,
												 clause->indexquals);
		int			column = clause->indexcol;

		if (index->indexinfo->opcintype[column] == ANYARRAYOID &&
			IsA(qual->clause, OpExpr) &&
			get_op_opfamily_strategy(((OpExpr *) qual->clause)->opno,
									 index->indexinfo->opfamily[column]) ==
			SKX_STRATEGY_EQUAL)
			return false;
	}
	return true;
}

/*
 * The index is asked as for a scan or a bitmap.  Of what the rows then cost, the
 * share that the map does not know is left: they are fetched in the order of the
 * table here, too.
 */
static void
skx_planner_cost_count(PlannerInfo *root, RelOptInfo *rel,
					   const IndexPath *index, Path *path)
{
	Path	   *bitmap = (Path *)
		create_bitmap_heap_path(root, rel, (Path *) unconstify(IndexPath *, index),
								NULL, 1.0, 0);
	Cost		fetch = Min(bitmap->total_cost, index->path.total_cost) -
		index->indextotalcost;

	fetch = Max(fetch, 0);
	path->rows = 1;
	if (skx_planner_is_exact(index))
		fetch *= 1 - rel->allvisfrac;
	path->total_cost = index->indextotalcost + fetch + cpu_tuple_cost;
	path->total_cost += path->pathtarget->cost.startup +
		path->pathtarget->cost.per_tuple;
	path->startup_cost = path->total_cost - cpu_tuple_cost;
}

static void
skx_planner_add_count(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
					  IndexOptInfo *index)
{
	List	   *clauses = skx_planner_index_clauses(root, index);
	CustomPath *custom;
	IndexPath  *path;

	if (clauses == NIL ||
		list_length(clauses) != list_length(index->indrestrictinfo))
		return;
	path = create_index_path(root, index, clauses, NIL, NIL, NIL,
							 ForwardScanDirection, false, NULL, 1.0, false);
	custom = makeNode(CustomPath);
	custom->path.pathtype = T_CustomScan;
	custom->path.parent = output;
	custom->path.pathtarget = output->reltarget;
	skx_planner_cost_count(root, input, path, &custom->path);
	custom->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	custom->custom_paths = list_make1(path);
	custom->methods = &skx_planner_count_path_methods;
	add_path(output, (Path *) custom);
}

/*
 * Where one way to read an index is switched off another one is wanted, or none:
 * this one is not offered instead.
 */
static void
skx_planner_upper_paths(PlannerInfo *root, UpperRelationKind stage,
						RelOptInfo *input, RelOptInfo *output, void *extra)
{
	ListCell   *lc;

	if (skx_planner_next_upper_hook != NULL)
		skx_planner_next_upper_hook(root, stage, input, output, extra);
	if (stage != UPPERREL_GROUP_AGG || !skx_planner_counts ||
		!enable_indexscan || !enable_indexonlyscan || !enable_bitmapscan ||
		IS_DUMMY_REL(input) || !skx_planner_is_count(root, input, output))
		return;
	foreach(lc, input->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);

		if (skx_planner_is_ours(index) && !index->hypothetical &&
			(index->indpred == NIL || index->predOK))
			skx_planner_add_count(root, input, output, index);
	}
}

/*
 * The scan tuple has one column for each aggregate, as the very expression that
 * the output has, so that the server replaces the latter by a column.
 */
static Plan *
skx_planner_plan_count(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
					   List *tlist, List *clauses, List *custom_plans)
{
	IndexScan  *child = skx_planner_child(linitial(custom_plans));
	CustomScan *scan = makeNode(CustomScan);
	List	   *counts = NIL;
	ListCell   *lc;

	child->scan.plan.targetlist = NIL;
	foreach(lc, skx_planner_aggregates(rel))
		counts = list_append_unique(counts, lfirst(lc));
	foreach(lc, counts)
	{
		scan->custom_scan_tlist =
			lappend(scan->custom_scan_tlist,
					makeTargetEntry(copyObject(lfirst(lc)),
									foreach_current_index(lc) + 1, NULL,
									false));
	}
	scan->scan.plan.targetlist = tlist;
	scan->flags = path->flags;
	scan->custom_plans = list_make1(child);
	scan->methods = &skx_planner_count_methods;
	return (Plan *) scan;
}

void
skx_planner_count_init(void)
{
	DefineCustomBoolVariable("skipidx.enable_count",
							 "Lets indexes count rows without fetching those that are visible to all.",
							 NULL, &skx_planner_counts, true, PGC_USERSET, 0,
							 NULL, NULL, NULL);
	RegisterCustomScanMethods(&skx_planner_count_methods);
	skx_planner_next_upper_hook = create_upper_paths_hook;
	create_upper_paths_hook = skx_planner_upper_paths;
}
