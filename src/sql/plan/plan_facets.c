/*
 * plan_facets.c
 *	  Paths that count the rows of a table by the values of a column, by an
 *	  index, and their plans.
 *
 * `SELECT category, count(*) ... GROUP BY category` of one table needs no rows
 * if an index has the column and answers all conditions, as for a count
 * (plan_count.c).  Values are counted where the index has them.  What comes
 * after the grouping (HAVING, ORDER BY, LIMIT) is left to the server.  The
 * values of several tables, partitions or children, come one table after the
 * other.  A hash aggregation adds them up, as it does for several processes.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
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
#include "read/estimate/estimate.h"
#include "sql/am/am.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_custom.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "sql/plan/plan_reading.h"
#include "support/compat/compat_planner.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

/* Postings or keys on a page, approximately. */
#define SKX_FACETS_PAGE_COST		5000.0

static Plan *skx_plan_make_facets_plan(PlannerInfo *root, RelOptInfo *rel,
									   CustomPath *path, List *tlist,
									   List *clauses, List *custom_plans);

static const CustomPathMethods skx_plan_facets_path_methods = {
	.CustomName = "Skipidx Facets",
	.PlanCustomPath = skx_plan_make_facets_plan
};

/* ---- what is asked for ---- */

/* Returns the aggregates and the columns in the output and in HAVING. */
static List *
skx_plan_collect_outputs(PlannerInfo *root, const RelOptInfo *output)
{
	int			flags = PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
		PVC_RECURSE_PLACEHOLDERS;

	return list_concat(pull_var_clause((Node *) output->reltarget->exprs,
									   flags),
					   pull_var_clause(root->parse->havingQual, flags));
}

/*
 * Returns the SkxFacetOutput that an expression is when grouped by `column`;
 * -1 if it is anything else.
 */
static int
skx_plan_facet_output(PlannerInfo *root, const RelOptInfo *rel,
					  const Var *column, Node *expr)
{
	if (equal(expr, column))
		return SKX_FACET_VALUE;
	if (skx_plan_counts_all(root, rel, expr))
		return SKX_FACET_COUNT;
	if (equal(skx_plan_counted_column(rel, expr), column))
		return SKX_FACET_COUNT_VALUES;
	return -1;
}

/*
 * Returns the column of the table that is the only one of `groups`, and sets
 * *group to its clause.  Returns NULL if there is none.
 */
static const Var *
skx_plan_only_column(PlannerInfo *root, const RelOptInfo *input,
					 List *groups, const SortGroupClause **group)
{
	const RangeTblEntry *rte;
	const Var  *column;

	if (input->reloptkind != RELOPT_BASEREL ||
		input->rtekind != RTE_RELATION || !bms_is_empty(input->lateral_relids) ||
		root->parse->hasTargetSRFs || list_length(groups) != 1)
		return NULL;
	rte = planner_rt_fetch(input->relid, root);
	*group = linitial_node(SortGroupClause, groups);
	column = (const Var *) get_sortgroupclause_expr(unconstify(SortGroupClause *,
															   *group),
													root->processed_tlist);
	return rte->tablesample == NULL && IsA(column, Var) &&
		column->varno == input->relid && column->varlevelsup == 0 &&
		column->varattno > 0 ? column : NULL;
}

/*
 * Returns the column that a query groups by.  Returns NULL if it groups by
 * none or several, or asks for anything but counts.
 */
static const Var *
skx_plan_group_column(PlannerInfo *root, const RelOptInfo *input,
					  const RelOptInfo *output,
					  const SortGroupClause **group)
{
	const Query *query = root->parse;
	const Var  *column;
	ListCell   *lc;

	column = query->groupingSets != NIL ? NULL :
		skx_plan_only_column(root, input, query->groupClause, group);
	if (column == NULL)
		return NULL;
	foreach(lc, skx_plan_collect_outputs(root, output))
	{
		if (skx_plan_facet_output(root, input, column, lfirst(lc)) < 0)
			return NULL;
	}
	return column;
}

/* Returns the column of SELECT DISTINCT if that has no other; else NULL. */
static const Var *
skx_plan_distinct_column(PlannerInfo *root, const RelOptInfo *input,
						 const PathTarget *target,
						 const SortGroupClause **group)
{
	const Query *query = root->parse;
	const Var  *column;

	column = query->hasDistinctOn || query->groupClause != NIL ||
		query->hasAggs || query->hasWindowFuncs || query->havingQual != NULL ?
		NULL : skx_plan_only_column(root, input, query->distinctClause,
									group);
	return column != NULL && list_length(target->exprs) == 1 &&
		equal(linitial(target->exprs), column) ? column : NULL;
}

/*
 * Returns the number (from 0) of the index's column that is `column`, if it
 * tells values apart as the grouping does; 0 if there is none.  The index may
 * have another collation than the column that is grouped.  With a
 * deterministic collation, values are equal only if their bytes are, which
 * does not depend on the collation.
 */
static int
skx_plan_facet_column(const IndexOptInfo *index, const Var *column,
					  const SortGroupClause *group)
{
	int			i;

	if (OidIsValid(column->varcollid) &&
		!get_collation_isdeterministic(column->varcollid))
		return 0;
	for (i = 1; i < index->nkeycolumns; i++)
	{
		if (equal(skx_plan_column_expr(index, i), column) &&
			index->opcintype[i] != ANYARRAYOID &&
			get_op_opfamily_strategy(group->eqop, index->opfamily[i]) ==
			SKX_STRATEGY_EQUAL)
			return i;
	}
	return 0;
}

/* ---- the path ---- */

/*
 * Returns the cost of counting the rows of a path by the values of a column
 * (from 0) of the index.  It assumes the cheapest source of values: the lists
 * of the column, the keys of the rows, or the rows themselves.  It includes
 * the charge by skx_plan_unsaved_charge(), as against fetching the rows.
 */
static Cost
skx_plan_cost_facets(PlannerInfo *root, RelOptInfo *rel, IndexPath *path,
					 int column, double values)
{
	double		rows = path->path.rows;
	double		npages = rel->tuples / SKX_FACETS_PAGE_COST;
	Cost		lists = npages * seq_page_cost +
		skx_plan_time(skx_estimate_values_listed(values, rel->tuples));
	Cost		keys = Min(rows, npages) * seq_page_cost +
		skx_plan_time(skx_estimate_values_keyed(rows, values,
												work_mem * 1024.0));
	Cost		values_cost = Max(path->path.total_cost - path->indextotalcost, 0);
	SkxReadingCost counted = {0, 0};
	SkxReadingCost fetched = {path->path.total_cost, 0};

	fetched.reading = skx_plan_reading_part(rel, values_cost,
											path->indexselectivity);
	values_cost = Min(values_cost, lists);
	if (skx_plan_has_keys(path->indexinfo, column))
		values_cost = Min(values_cost, keys);
	counted.cost = skx_plan_cost_count(root, rel, path) + values_cost;
	return counted.cost + skx_plan_unsaved_charge(rel, &counted, &fetched);
}

/* Fills in a scan that counts by a column; arg is the query's grouping. */
static bool
skx_plan_scan_facets(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index,
					 const Var *column, const void *arg, SkxTableScan *scan)
{
	List	   *exprs = list_make1(unconstify(Var *, column));

	scan->column = skx_plan_facet_column(index, column, arg);
	if (scan->column == 0 ||
		(scan->path = skx_plan_scan_by_all_clauses(root, rel, index)) ==
		NULL ||
		!skx_plan_is_exact(scan->path))
		return false;
	scan->cost =
		skx_plan_cost_facets(root, rel, scan->path, scan->column,
							 estimate_num_groups(root, exprs, rel->tuples,
												 NULL, NULL));
	scan->rows = estimate_num_groups(root, exprs, rel->rows, NULL, NULL);
	scan->pages = index->pages;
	return true;
}

/*
 * Adds the scans by which the tables of a grouping are counted.  Returns false
 * if there are none.
 */
static bool
skx_plan_facet_tables(PlannerInfo *root, RelOptInfo *rel, const Var *column,
					  const SortGroupClause *group, SkxTableScans *all)
{
	const SkxTableScanChooser want = {skx_plan_scan_facets, group};

	return skx_plan_scan_tables(root, rel, column, &want, all) &&
		all->paths != NIL;
}

/* ---- of several tables, or by several processes ---- */

/*
 * Returns the target that is added up: the column, and the counts of one table
 * or process.
 */
static PathTarget *
skx_plan_partial_target(PlannerInfo *root, const RelOptInfo *output)
{
	const PathTarget *whole = output->reltarget;
	PathTarget *target = create_empty_pathtarget();
	ListCell   *lc;

	foreach(lc, whole->exprs)
	{
		Index		group = get_pathtarget_sortgroupref(whole,
														foreach_current_index(lc));

		/* other references belong to ORDER BY: expressions of these columns */
		if (get_sortgroupref_clause_noerr(group,
										  root->parse->groupClause) != NULL)
			add_column_to_pathtarget(target, lfirst(lc), group);
	}
	add_new_columns_to_pathtarget(target,
								  skx_plan_collect_outputs(root, output));
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

/* Adds a path that adds up the groups of all tables and processes. */
static void
skx_plan_add_final(PlannerInfo *root, RelOptInfo *output, Path *partial,
				   double groups)
{
	AggClauseCosts costs = {0};

	get_agg_clause_costs(root, AGGSPLIT_FINAL_DESERIAL, &costs);
	add_path(output, (Path *)
			 create_agg_path(root, output, partial, output->reltarget,
							 AGG_HASHED, AGGSPLIT_FINAL_DESERIAL,
							 root->parse->groupClause,
							 (List *) root->parse->havingQual, &costs,
							 groups));
}

/*
 * Returns true if several processes may do the count, and if it is worth them.
 */
static bool
skx_plan_facets_are_parallel(PlannerInfo *root, const RelOptInfo *input,
							 const RelOptInfo *output,
							 const SkxTableScans *all)
{
	return input->consider_parallel && output->consider_parallel &&
		skx_plan_exceeds_setup_cost(all->cost, SKX_PARALLEL_COUNT_COST_MIN) &&
		is_parallel_safe(root, (Node *) output->reltarget->exprs) &&
		is_parallel_safe(root, root->parse->havingQual);
}

/* Adds a path that gathers and adds up the values of all processes. */
static void
skx_plan_add_shared_facet(PlannerInfo *root, RelOptInfo *input,
						  RelOptInfo *output, const CustomPath *facets,
						  const SkxTableScans *all, double groups)
{
	CustomPath *partial;
	double		rows;

	partial = skx_plan_copy_parallel(input, facets, all->cost, all->pages);
	if (partial == NULL)
		return;
	rows = partial->path.rows * (partial->path.parallel_workers + 1);
	skx_plan_add_final(root, output, (Path *)
					   create_gather_path(root, output, (Path *) partial,
										  partial->path.pathtarget, NULL,
										  &rows), groups);
}

/*
 * Returns a path of the tables; `var` is the column of the table that the
 * query names.  `partial` means that its groups are to be added up, or that
 * only their values are asked for.
 */
static CustomPath *
skx_plan_facet_path(RelOptInfo *output, PathTarget *target,
					const SkxTableScans *all, const Var *var,
					bool partial)
{
	Path		rows = {0};

	rows.parent = output;
	rows.pathtarget = target;
	rows.rows = all->rows;
	rows.startup_cost = all->cost + target->cost.startup;
	rows.total_cost = rows.startup_cost + rows.rows *
		(cpu_tuple_cost + target->cost.per_tuple);
	return skx_plan_custom_path(&rows, all->paths,
								list_make3(makeInteger(partial), all->columns,
										   unconstify(Var *, var)),
								&skx_plan_facets_path_methods);
}

/*
 * Adds a path of one table by one process, in which the scan itself tests
 * HAVING.
 */
static void
skx_plan_add_facet(PlannerInfo *root, RelOptInfo *output,
				   const SkxTableScans *all, const Var *var)
{
	CustomPath *custom = skx_plan_facet_path(output, output->reltarget,
											 all, var, false);
	Path	   *path = &custom->path;
	QualCost	having = {0, 0};

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
	add_path(output, path);
}

void
skx_plan_add_facets(PlannerInfo *root, RelOptInfo *input,
					RelOptInfo *output)
{
	const SortGroupClause *group;
	const Var  *var = skx_plan_group_column(root, input, output, &group);
	SkxTableScans all = {NIL};
	CustomPath *partial;
	double		groups;
	bool		several;
	bool		shares;

	if (var == NULL ||
		!skx_plan_facet_tables(root, input, var, group, &all))
		return;
	several = list_length(all.paths) > 1;
	shares = skx_plan_facets_are_parallel(root, input, output, &all);
	if (!several)
		skx_plan_charge_grouping(root, input, output);
	if (!several)
		skx_plan_add_facet(root, output, &all, var);
	if ((!several && !shares) ||
		!grouping_is_hashable(root->parse->groupClause))
		return;
	groups = estimate_num_groups(root, list_make1(unconstify(Var *, var)),
								 input->rows, NULL, NULL);
	partial = skx_plan_facet_path(output,
								  skx_plan_partial_target(root, output),
								  &all, var, true);
	if (shares)
		skx_plan_add_shared_facet(root, input, output, partial, &all,
								  groups);
	if (several)
		skx_plan_add_final(root, output, (Path *) partial, groups);
}

void
skx_plan_add_distinct(PlannerInfo *root, RelOptInfo *input,
					  RelOptInfo *output)
{
	PathTarget *target = root->upper_targets[UPPERREL_DISTINCT];
	List	   *distinct = root->parse->distinctClause;
	const SortGroupClause *group;
	const Var  *var = skx_plan_distinct_column(root, input, target, &group);
	SkxTableScans all = {NIL};
	Path	   *path;

	if (var == NULL ||
		!skx_plan_facet_tables(root, input, var, group, &all))
		return;
	path = (Path *) skx_plan_facet_path(output, target, &all, var, true);
	if (list_length(all.paths) == 1)
	{
		skx_plan_charge_grouping(root, input, output);
		add_path(output, path);
	}
	else if (grouping_is_hashable(distinct))
		add_path(output, (Path *)
				 create_agg_path(root, output, path, target, AGG_HASHED,
								 AGGSPLIT_SIMPLE, distinct, NIL, NULL,
								 estimate_num_groups(root,
													 list_make1(unconstify(Var *, var)),
													 input->rows, NULL,
													 NULL)));
}

/* ---- the plan ---- */

/* The scan tuple has one column for each output. */
static Plan *
skx_plan_make_facets_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
						  List *tlist, List *clauses, List *custom_plans)
{
	bool		partial = intVal(linitial(path->custom_private)) != 0;
	const Var  *var = lthird(path->custom_private);
	const RelOptInfo *input = find_base_rel(root, var->varno);
	CustomScan *scan;
	List	   *outputs = NIL;
	List	   *whats = NIL;
	ListCell   *lc;

	foreach(lc, partial ? path->path.pathtarget->exprs :
			skx_plan_collect_outputs(root, rel))
		outputs = list_append_unique(outputs, lfirst(lc));
	foreach(lc, outputs)
	{
		whats = lappend(whats,
						makeInteger(skx_plan_facet_output(root, input, var,
														  lfirst(lc))));
	}
	scan = skx_plan_custom_scan(path, 0, tlist,
								skx_plan_make_count_children(custom_plans),
								outputs, &skx_plan_faceted.scan);
	scan->custom_private = list_make3(skx_plan_estimate_path_pages(root, path),
									  lsecond(path->custom_private), whats);
	if (!partial)
		scan->scan.plan.qual = (List *) copyObject(root->parse->havingQual);
	return (Plan *) scan;
}
