/*
 * planner_facets.c
 *	  Paths that count the rows of a table by the values of a column, by an
 *	  index, and their plans.
 *
 * `SELECT category, count(*) ... GROUP BY category` of one table, whose
 * conditions an index answers all and which has the column, needs no rows, as a
 * count needs none (planner_count.c): values are counted where the index has
 * them.  What comes after the grouping (HAVING, ORDER BY, LIMIT) is the
 * server's.
 */
#include "postgres.h"

#include "am/am.h"
#include "catalog/pg_type_d.h"
#include "compat/compat_planner.h"
#include "cost/cost.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "planner/planner_internal.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

/*
 * Work of a posting and of a list, in units of cpu_operator_cost: 3 ns and
 * 100 ns where that is 25 ns; and postings that a page has, about.
 */
#define SKX_FACETS_PER_POSTING	0.12
#define SKX_FACETS_PER_LIST		4.0
#define SKX_FACETS_PER_PAGE		5000.0

static Plan *skx_planner_plan_facets(PlannerInfo *root, RelOptInfo *rel,
									 CustomPath *path, List *tlist,
									 List *clauses, List *custom_plans);

static const CustomPathMethods skx_planner_facets_path_methods = {
	.CustomName = "Skipidx Facets",
	.PlanCustomPath = skx_planner_plan_facets
};

/* ---- what is asked for ---- */

/* All that is left of the table behind the grouping. */
static List *
skx_planner_outputs(PlannerInfo *root, const RelOptInfo *output)
{
	int			flags = PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
		PVC_RECURSE_PLACEHOLDERS;

	return list_concat(pull_var_clause((Node *) output->reltarget->exprs,
									   flags),
					   pull_var_clause(root->parse->havingQual, flags));
}

/* What an expression is, beside the grouping by `column`; -1: something else. */
static int
skx_planner_facet_output(PlannerInfo *root, const RelOptInfo *rel,
						 const Var *column, Node *expr)
{
	const Aggref *count = (const Aggref *) expr;

	if (equal(expr, column))
		return SKX_FACET_VALUE;
	if (skx_planner_counts_all(root, rel, expr))
		return SKX_FACET_COUNT;
	if (IsA(expr, Aggref) && count->aggfnoid == F_COUNT_ANY &&
		count->agglevelsup == 0 && count->aggfilter == NULL &&
		count->aggdistinct == NIL && count->aggorder == NIL &&
		!DO_AGGSPLIT_COMBINE(count->aggsplit) &&
		equal(linitial_node(TargetEntry, count->args)->expr, column))
		return SKX_FACET_COUNT_VALUES;
	return -1;
}

/*
 * The column of the table that a query groups by, and *group as it does so; NULL
 * if it does not, or by more, or asks for something else than counts.
 */
static const Var *
skx_planner_group_column(PlannerInfo *root, const RelOptInfo *input,
						 const RelOptInfo *output,
						 const SortGroupClause **group)
{
	const Query *query = root->parse;
	const RangeTblEntry *rte;
	const Var  *column;
	ListCell   *lc;

	if (input->reloptkind != RELOPT_BASEREL ||
		input->rtekind != RTE_RELATION || !bms_is_empty(input->lateral_relids) ||
		query->hasTargetSRFs || query->groupingSets != NIL ||
		list_length(query->groupClause) != 1)
		return NULL;
	rte = planner_rt_fetch(input->relid, root);
	*group = linitial_node(SortGroupClause, query->groupClause);
	column = (const Var *) get_sortgroupclause_expr(unconstify(SortGroupClause *,
															   *group),
													root->processed_tlist);
	if (rte->tablesample != NULL || rte->inh || !IsA(column, Var) ||
		column->varno != input->relid || column->varlevelsup != 0)
		return NULL;
	foreach(lc, skx_planner_outputs(root, output))
	{
		if (skx_planner_facet_output(root, input, column, lfirst(lc)) < 0)
			return NULL;
	}
	return column;
}

/*
 * Which column of the index it is, if that tells values apart as the grouping
 * does; 0: none.
 */
static int
skx_planner_facet_column(const IndexOptInfo *index, const Var *column,
						 const SortGroupClause *group)
{
	int			i;

	for (i = 1; i < index->nkeycolumns; i++)
	{
		if (equal(skx_planner_column_expr(index, i), column) &&
			index->opcintype[i] != ANYARRAYOID &&
			get_op_opfamily_strategy(group->eqop, index->opfamily[i]) ==
			SKX_STRATEGY_EQUAL)
			return i;
	}
	return 0;
}

/* ---- the path ---- */

/* Lists are gone through, or rows fetched where they are few. */
static Cost
skx_planner_cost_facets(PlannerInfo *root, RelOptInfo *rel, IndexPath *path,
						double values)
{
	Cost		lists = rel->tuples * SKX_FACETS_PER_POSTING *
		cpu_operator_cost + rel->tuples / SKX_FACETS_PER_PAGE * seq_page_cost +
		values * SKX_FACETS_PER_LIST * cpu_operator_cost;
	Cost		fetch = path->path.total_cost - path->indextotalcost;

	return skx_planner_cost_count(root, rel, path) + Min(lists, Max(fetch, 0));
}

/* ---- by several processes ---- */

/* What each of them returns: the column, and counts of its own rows. */
static PathTarget *
skx_planner_partial_target(PlannerInfo *root, const RelOptInfo *output)
{
	const PathTarget *whole = output->reltarget;
	PathTarget *target = create_empty_pathtarget();
	ListCell   *lc;

	foreach(lc, whole->exprs)
	{
		Index		group = get_pathtarget_sortgroupref(whole,
														foreach_current_index(lc));

		/* others are refs of ORDER BY, to expressions of these columns */
		if (get_sortgroupref_clause_noerr(group,
										  root->parse->groupClause) != NULL)
			add_column_to_pathtarget(target, lfirst(lc), group);
	}
	add_new_columns_to_pathtarget(target, skx_planner_outputs(root, output));
	foreach(lc, target->exprs)
	{
		if (IsA(lfirst(lc), Aggref))
		{
			lfirst(lc) = copyObject(lfirst(lc));
			mark_partial_aggref(lfirst(lc), AGGSPLIT_INITIAL_SERIAL);
		}
	}
	return set_pathtarget_cost_width(root, target);
}

/* Values of all processes are gathered, and their counts added up. */
static void
skx_planner_add_shared_facet(PlannerInfo *root, RelOptInfo *input,
							 RelOptInfo *output, const CustomPath *facets)
{
	const IndexPath *scan = linitial_node(IndexPath, facets->custom_paths);
	List	   *group = root->parse->groupClause;
	CustomPath *partial;
	Path	   *gather;
	AggClauseCosts costs = {0};
	double		rows;

	if (!input->consider_parallel || !output->consider_parallel ||
		!skx_planner_is_worth(facets->path.startup_cost,
							  SKX_PLANNER_WORTH_COUNT) ||
		!grouping_is_hashable(group) ||
		!is_parallel_safe(root, (Node *) output->reltarget->exprs) ||
		!is_parallel_safe(root, root->parse->havingQual))
		return;
	partial = skx_planner_shared(input, facets, facets->path.startup_cost,
								 scan->indexinfo->pages);
	if (partial == NULL)
		return;
	partial->path.pathtarget = skx_planner_partial_target(root, output);
	rows = partial->path.rows * (partial->path.parallel_workers + 1);
	gather = (Path *) create_gather_path(root, output, (Path *) partial,
										 partial->path.pathtarget, NULL,
										 &rows);
	get_agg_clause_costs(root, AGGSPLIT_FINAL_DESERIAL, &costs);
	add_path(output, (Path *)
			 create_agg_path(root, output, gather, output->reltarget,
							 AGG_HASHED, AGGSPLIT_FINAL_DESERIAL, group,
							 (List *) root->parse->havingQual, &costs,
							 facets->path.rows));
}

/* Path of a scan of the index; column: of the index. */
static void
skx_planner_add_facet(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
					  IndexPath *scan, int column, const Var *var)
{
	double		values = estimate_num_groups(root, list_make1(unconstify(Var *, var)),
											 input->tuples, NULL, NULL);
	CustomPath *custom = makeNode(CustomPath);
	Path	   *path = &custom->path;
	QualCost	having = {0, 0};

	path->pathtype = T_CustomScan;
	path->parent = output;
	path->pathtarget = output->reltarget;
	path->rows = estimate_num_groups(root, list_make1(unconstify(Var *, var)),
									 input->rows, NULL, NULL);
	path->startup_cost = skx_planner_cost_facets(root, input, scan, values) +
		path->pathtarget->cost.startup;
	path->total_cost = path->startup_cost + path->rows *
		(cpu_tuple_cost + path->pathtarget->cost.per_tuple);
	if (root->parse->havingQual != NULL)
	{
		List	   *quals = (List *) root->parse->havingQual;

		cost_qual_eval(&having, quals, root);
		path->startup_cost += having.startup;
		path->total_cost += having.startup + path->rows * having.per_tuple;
		path->rows = clamp_row_est(path->rows *
								   clauselist_selectivity(root, quals, 0,
														  JOIN_INNER, NULL));
	}
	custom->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	custom->custom_paths = list_make1(scan);
	custom->custom_private = list_make1(makeInteger(column));
	custom->methods = &skx_planner_facets_path_methods;
	skx_planner_add_shared_facet(root, input, output, custom);
	add_path(output, path);
}

void
skx_planner_add_facets(PlannerInfo *root, RelOptInfo *input,
					   RelOptInfo *output)
{
	const SortGroupClause *group;
	const Var  *column = skx_planner_group_column(root, input, output, &group);
	ListCell   *lc;

	if (column == NULL)
		return;
	foreach(lc, input->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);
		IndexPath  *path;
		int			which;

		if (!skx_planner_is_ours(index) || index->hypothetical ||
			(index->indpred != NIL && !index->predOK) ||
			index->indrestrictinfo == NIL ||
			(which = skx_planner_facet_column(index, column, group)) == 0 ||
			(path = skx_planner_by_all(root, input, index)) == NULL ||
			!skx_planner_is_exact(path))
			continue;
		skx_planner_add_facet(root, input, output, path, which, column);
	}
}

/* ---- the plan ---- */

/*
 * The scan tuple has one column for each of the outputs, as the very expression
 * that these have, so that the server replaces the latter by a column.
 */
static Plan *
skx_planner_plan_facets(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
						List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	IndexPath  *index = linitial(path->custom_paths);
	IndexScan  *child = skx_planner_child(linitial(custom_plans));
	int			column = intVal(linitial(path->custom_private));
	const Var  *var = (const Var *) skx_planner_column_expr(index->indexinfo,
															column);
	List	   *outputs = NIL;
	ListCell   *lc;

	if (child->scan.plan.qual != NIL)
		elog(ERROR, "conditions are left that the index does not answer");
	child->scan.plan.targetlist = NIL;
	scan->custom_plans = list_make1(child);
	scan->custom_private = list_make1(makeInteger(column));
	foreach(lc, path->path.parallel_aware ? path->path.pathtarget->exprs :
			skx_planner_outputs(root, rel))
		outputs = list_append_unique(outputs, lfirst(lc));
	foreach(lc, outputs)
	{
		scan->custom_scan_tlist =
			lappend(scan->custom_scan_tlist,
					makeTargetEntry(copyObject(lfirst(lc)),
									foreach_current_index(lc) + 1, NULL,
									false));
		scan->custom_private =
			lappend(scan->custom_private,
					makeInteger(skx_planner_facet_output(root,
														 index->indexinfo->rel,
														 var, lfirst(lc))));
	}
	scan->custom_private =
		lappend(scan->custom_private,
				skx_planner_estimate(skx_cost_planned_pages(root, index,
															false)));
	scan->scan.plan.targetlist = tlist;
	if (!path->path.parallel_aware)
		scan->scan.plan.qual = (List *) copyObject(root->parse->havingQual);
	scan->flags = path->flags;
	scan->methods = &skx_planner_facets_methods;
	return (Plan *) scan;
}
