/*
 * plan_count.c
 *	  Paths that count the rows of a table by an index, and their plans.
 *
 * `SELECT count(*)` of one table needs no rows if an index answers all of its
 * conditions.  It only needs to know which of them the snapshot sees, and the
 * visibility map tells that for most.  The server's own index-only scan is not
 * possible (cost/README.md).  So a custom scan that has the index do the
 * counting replaces the whole aggregation (plan_count_scan.c).
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
#include "parser/parsetree.h"
#include "sql/am/am.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_custom.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "support/compat/compat_planner.h"
#include "tsearch/ts_type.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

static Plan *skx_plan_make_count_plan(PlannerInfo *root, RelOptInfo *rel,
									  CustomPath *path, List *tlist,
									  List *clauses, List *custom_plans);

static const CustomPathMethods skx_plan_count_path_methods = {
	.CustomName = "Skipidx Count",
	.PlanCustomPath = skx_plan_make_count_plan
};

static create_upper_paths_hook_type skx_plan_next_upper_hook;

/* Returns the aggregates and the columns in the output. */
static List *
skx_plan_aggregates(const RelOptInfo *output)
{
	return pull_var_clause((Node *) output->reltarget->exprs,
						   PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
						   PVC_RECURSE_PLACEHOLDERS);
}

/*
 * Returns true if all aggregates count the same rows: those in which *column
 * is not NULL, or all rows if it becomes NULL.
 */
static bool
skx_plan_count_same_rows(PlannerInfo *root, const RelOptInfo *input,
						 List *aggregates, const Var **column)
{
	ListCell   *lc;

	*column = NULL;
	foreach(lc, aggregates)
	{
		const Var  *own = NULL;

		if (!skx_plan_counts_all(root, input, lfirst(lc)))
		{
			own = skx_plan_counted_column(input, lfirst(lc));
			if (own == NULL)
				return false;
		}
		if (lc != list_head(aggregates) && !equal(own, *column))
			return false;
		*column = own;
	}
	return aggregates != NIL;
}

/*
 * Returns true if the query returns one row with counts of one table.  Sets
 * *column as skx_plan_count_same_rows() does.
 */
static bool
skx_plan_is_count_query(PlannerInfo *root, const RelOptInfo *input,
						const RelOptInfo *output, const Var **column)
{
	const Query *query = root->parse;

	if (input->reloptkind != RELOPT_BASEREL ||
		input->rtekind != RTE_RELATION || !bms_is_empty(input->lateral_relids) ||
		!query->hasAggs || query->hasTargetSRFs ||
		query->groupClause != NIL || query->groupingSets != NIL ||
		query->havingQual != NULL)
		return false;
	if (planner_rt_fetch(input->relid, root)->tablesample != NULL)
		return false;
	return skx_plan_count_same_rows(root, input, skx_plan_aggregates(output),
									column);
}

/*
 * Returns the IndexClause `column IS NOT NULL`; NULL if the index does not
 * have the column.
 */
static IndexClause *
skx_plan_not_null(PlannerInfo *root, IndexOptInfo *index,
				  const Var *column)
{
	int			i;

	for (i = 0; i < index->nkeycolumns; i++)
	{
		if (equal(skx_plan_column_expr(index, i), column))
		{
			SkxIndexColumn key = {root, index, i};
			IndexClause *clause = makeNode(IndexClause);

			clause->rinfo = skx_plan_null_test(&key, IS_NOT_NULL);
			clause->indexquals = list_make1(clause->rinfo);
			clause->indexcol = i;
			return clause;
		}
	}
	return NULL;
}

/*
 * Returns a scan by all of the conditions and, if a column is given, by
 * `column IS NOT NULL`.  Returns NULL if the index does not answer these.
 */
static IndexPath *
skx_plan_count_path(PlannerInfo *root, RelOptInfo *rel,
					IndexOptInfo *index, const Var *column)
{
	IndexClause *not_null;
	List	   *clauses;

	if (column == NULL)
		return skx_plan_scan_by_all_clauses(root, rel, index);
	not_null = skx_plan_not_null(root, index, column);
	if (not_null == NULL || !skx_plan_all_clauses(root, index, &clauses))
		return NULL;
	clauses = skx_plan_sort_by_column(index, lappend(clauses, not_null));
	return create_index_path(root, index, clauses, NIL, NIL, NIL,
							 ForwardScanDirection, false, NULL, 1.0, false);
}

/*
 * Returns true if the dictionary tells the number.  That needs no condition or
 * one plain word, and rows that are all visible to all as far as VACUUM has
 * recorded.
 */
static bool
skx_plan_count_is_df(const IndexPath *path)
{
	const IndexClause *clause;
	TSQuery		query;

	if (path->indexinfo->rel->allvisfrac < 1)
		return false;
	if (path->indexclauses == NIL)
		return true;
	clause = linitial_node(IndexClause, path->indexclauses);
	if (list_length(path->indexclauses) != 1 || clause->indexcol != 0)
		return false;
	query = skx_plan_const_query(linitial(clause->indexquals));
	return query != NULL && query->size == 1 && !GETQUERY(query)->qoperand.prefix &&
		GETQUERY(query)->qoperand.weight == 0;
}

static bool
skx_plan_fill_count_scan(PlannerInfo *root, RelOptInfo *rel,
						 IndexOptInfo *index, const Var *column,
						 const void *arg, SkxTableScan *scan)
{
	scan->path = skx_plan_count_path(root, rel, index, column);
	if (scan->path == NULL)
		return false;
	scan->cost = skx_plan_cost_count(root, rel, scan->path);
	scan->pages = skx_plan_count_is_df(scan->path) ? 0 : index->pages;
	return true;
}

/*
 * Adds the count by several processes, below a Gather.  One of them returns
 * the row.
 */
static void
skx_plan_add_shared_count(PlannerInfo *root, RelOptInfo *input,
						  RelOptInfo *output, const CustomPath *count,
						  const SkxTableScans *all)
{
	CustomPath *partial;
	double		rows = 1;

	if (!input->consider_parallel || !output->consider_parallel ||
		!is_parallel_safe(root, (Node *) output->reltarget->exprs) ||
		!skx_plan_exceeds_setup_cost(all->cost, SKX_PARALLEL_COUNT_COST_MIN) ||
		all->pages == 0 ||
		(partial = skx_plan_copy_parallel(input, count, all->cost,
										  all->pages)) == NULL)
		return;
	add_path(output, (Path *) create_gather_path(root, output,
												 (Path *) partial,
												 output->reltarget, NULL,
												 &rows));
}

static void
skx_plan_add_count(PlannerInfo *root, RelOptInfo *input,
				   RelOptInfo *output, const Var *column)
{
	const SkxTableScanChooser want = {skx_plan_fill_count_scan};
	SkxTableScans all = {NIL};
	CustomPath *custom;
	Path		row = {0};

	if (!skx_plan_scan_tables(root, input, column, &want, &all) ||
		all.paths == NIL)
		return;
	row.parent = output;
	row.pathtarget = output->reltarget;
	row.rows = 1;
	row.startup_cost = all.cost + row.pathtarget->cost.startup +
		row.pathtarget->cost.per_tuple;
	row.total_cost = row.startup_cost + cpu_tuple_cost;
	custom = skx_plan_custom_path(&row, all.paths, NIL,
								  &skx_plan_count_path_methods);
	skx_plan_add_shared_count(root, input, output, custom, &all);
	add_path(output, (Path *) custom);
}

/*
 * Adds the paths of custom scans that replace an aggregation or DISTINCT, and
 * those above a LIMIT.  Where one way to read an index is switched off, these
 * are not offered instead.
 */
static void
skx_plan_upper_paths(PlannerInfo *root, UpperRelationKind stage,
					 RelOptInfo *input, RelOptInfo *output, void *extra)
{
	const Var  *column;

	if (skx_plan_next_upper_hook != NULL)
		skx_plan_next_upper_hook(root, stage, input, output, extra);
	if (stage == UPPERREL_FINAL)
		skx_plan_add_siblings_scan(root, output);
	if (stage == UPPERREL_FINAL && root->parent_root == NULL)
		skx_cost_planned_close(root);
	/* `input` is NULL for a set operation, so the stage is tested first */
	if ((stage != UPPERREL_GROUP_AGG && stage != UPPERREL_DISTINCT) ||
		!skx_plan_custom ||
		!enable_indexscan || !enable_indexonlyscan || !enable_bitmapscan ||
		IS_DUMMY_REL(input))
		return;
	if (stage == UPPERREL_DISTINCT)
	{
		skx_plan_add_distinct(root, input, output);
		return;
	}
	if (skx_plan_is_count_query(root, input, output, &column))
		skx_plan_add_count(root, input, output, column);
	skx_plan_add_facets(root, input, output);
}

/* The scan tuple has one column for each aggregate. */
static Plan *
skx_plan_make_count_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
						 List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *scan;
	List	   *counts = NIL;
	ListCell   *lc;

	foreach(lc, skx_plan_aggregates(rel))
		counts = list_append_unique(counts, lfirst(lc));
	scan = skx_plan_custom_scan(path, 0, tlist,
								skx_plan_make_count_children(custom_plans),
								counts, &skx_plan_counted.scan);
	scan->custom_private = list_make1(skx_plan_estimate_path_pages(root,
																   path));
	return (Plan *) scan;
}

void
skx_plan_count_init(void)
{
	RegisterCustomScanMethods(&skx_plan_counted.scan);
	RegisterCustomScanMethods(&skx_plan_faceted.scan);
	skx_plan_next_upper_hook = create_upper_paths_hook;
	create_upper_paths_hook = skx_plan_upper_paths;
}
