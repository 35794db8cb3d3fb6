/*
 * plan_paths.c
 *	  The paths that the planner is offered for a table with skipidx indexes.
 *
 * Each ranked index path is put into a custom path of the same cost.  That
 * returns the distance instead of computing it again (plan_scan.c), and may
 * end before all rows were returned (plan_early.c).
 *
 * The planner makes no index path for monotone functions of the distance, nor
 * any with conditions that only plan_clause.c matches.  Up to version 16 it
 * makes none for ORDER BY distance, id, or for a distance beside IN.  These
 * are made here.  For several distances it makes a path that orders by all of
 * them.  That is replaced by one that orders by the first and sorts rows of
 * equal first distance.
 */
#include "postgres.h"

#include "answer/topk/topk_share.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "sql/am/am.h"
#include "sql/plan/plan.h"
#include "sql/plan/plan_custom.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "sql/plan/plan_sum.h"
#include "support/compat/compat_planner.h"
#include "utils/lsyscache.h"
#include "utils/spccache.h"

bool		skx_plan_custom = true;
static set_rel_pathlist_hook_type skx_plan_next_hook;

/* ---- paths in the order of the first sort key ---- */

/* Returns true if the path is a scan of a skipidx index by `n` distances. */
static bool
skx_plan_orders_by(Path *path, int n)
{
	return IsA(path, IndexPath) && path->pathtype == T_IndexScan &&
		skx_plan_is_skipidx(((IndexPath *) path)->indexinfo) &&
		list_length(((IndexPath *) path)->indexorderbys) == n;
}

/*
 * Returns true if the table has a scan of the index by `norders` distances
 * that takes at least as many clauses.
 */
static bool
skx_plan_has_path(RelOptInfo *rel, IndexOptInfo *index, List *clauses,
				  int norders)
{
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		IndexPath  *path = lfirst(lc);

		if (skx_plan_orders_by((Path *) path, norders) &&
			path->indexinfo == index &&
			list_length(path->indexclauses) >= list_length(clauses) &&
			bms_equal(PATH_REQ_OUTER((Path *) path), rel->lateral_relids))
			return true;
	}
	return false;
}

static void
skx_plan_add_ranked(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index,
					List *clauses, OpExpr *distance)
{
	add_path(rel, (Path *)
			 create_index_path(root, index, clauses,
							   list_make1(distance), list_make1_int(0),
							   list_make1(linitial(root->query_pathkeys)),
							   ForwardScanDirection, false,
							   rel->lateral_relids, 1.0, false));
}

/*
 * Adds paths by the first key.  One takes all conditions, unless the planner
 * has made such a path.  Another one does without disjunctions that bits would
 * be gathered for.
 */
static void
skx_plan_add_ordered(PlannerInfo *root, RelOptInfo *rel,
					 IndexOptInfo *index, OpExpr *distance)
{
	List	   *clauses = skx_plan_index_clauses(root, index);
	List	   *ungathered = skx_plan_without_gathered_disjunctions(index,
																	clauses);

	if (!skx_plan_has_path(rel, index, clauses, 1))
		skx_plan_add_ranked(root, rel, index, clauses, distance);
	if (list_length(ungathered) < list_length(clauses))
		skx_plan_add_ranked(root, rel, index, ungathered, distance);
}

/*
 * Returns the paths without those of skipidx indexes by `norders` distances,
 * or more.
 */
static List *
skx_plan_without_ranked_paths(List *paths, int norders)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		IndexPath  *path = lfirst(lc);

		if (IsA(path, IndexPath) &&
			skx_plan_is_skipidx(path->indexinfo) &&
			list_length(path->indexorderbys) >= norders)
			paths = foreach_delete_current(paths, lc);
	}
	return paths;
}

static void
skx_plan_add_each_path(PlannerInfo *root, RelOptInfo *rel,
					   void (*add) (PlannerInfo *, RelOptInfo *,
									IndexOptInfo *))
{
	ListCell   *lc;

	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);

		if (skx_plan_is_skipidx(index) &&
			(index->indpred == NIL || index->predOK))
			add(root, rel, index);
	}
}

/*
 * Adds paths in no order.  The planner makes one index path for conditions and
 * order.  So it would charge bitmaps, also as parts of others, and inner sides
 * of joins for the ranking.  Here it makes all paths once more, as if nothing
 * had to be sorted.
 */
static void
skx_plan_add_unordered(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *pathkeys = root->query_pathkeys;

	if (rel->baserestrictinfo == NIL && rel->joininfo == NIL &&
		!rel->has_eclass_joins)
		return;
	root->query_pathkeys = NIL;
	skx_plan_add_index_paths(root, rel);
	root->query_pathkeys = pathkeys;
}

/* ---- costs that change ---- */

/* Returns true if one of the conditions is a disjunction. */
static bool
skx_plan_has_or(const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		if (lfirst_node(RestrictInfo, lc)->orclause != NULL)
			return true;
	}
	return false;
}

/*
 * Adds paths of skipidx indexes in no order, as if there were no others: their
 * paths would be compared before they are charged.  If a condition is a
 * disjunction, other indexes are left in, since its arms may need them.
 */
static void
skx_plan_add_own_paths(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *all = rel->indexlist;
	ListCell   *lc;

	if (!skx_plan_has_or(rel))
	{
		rel->indexlist = NIL;
		foreach(lc, all)
		{
			if (skx_plan_is_skipidx(lfirst(lc)))
				rel->indexlist = lappend(rel->indexlist, lfirst(lc));
		}
	}
	skx_plan_add_unordered(root, rel);
	skx_plan_add_each_path(root, rel, skx_plan_add_plain_scans);
	rel->indexlist = all;
}

/*
 * Charges paths for `@@` on rows.  Scans of indexes that had seemed to cost
 * more were dropped, and are made again.  They are made apart from existing
 * paths, so that these are not charged again.  Those with many rows to test
 * are made apart from others.
 */
static void
skx_plan_charge_paths(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *filters = skx_plan_table_filters(root, rel);
	List	   *paths;
	List	   *partial;

	if (!skx_plan_charge_filters(root, rel, filters))
		return;
	skx_plan_detach_paths(rel, &paths, &partial);
	skx_plan_add_each_path(root, rel, skx_plan_add_weakened_scans);
	(void) skx_plan_charge_filters(root, rel, filters);
	skx_plan_offer_paths(rel, paths, partial);
	skx_plan_detach_paths(rel, &paths, &partial);
	skx_plan_add_own_paths(root, rel);
	(void) skx_plan_charge_filters(root, rel, filters);
	skx_plan_offer_paths(rel, paths, partial);
}

/*
 * Adds ranked paths.  Returns true if the query is sorted by a distance that a
 * skipidx index knows.  Sets *summed if it is sorted by one to which values
 * add.
 */
static bool
skx_plan_add_paths(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte,
				   bool *summed)
{
	bool		ranked = false;
	ListCell   *lc;

	*summed = false;
	if (root->query_pathkeys == NIL)
		return false;

	/*
	 * paths by several distances go first: they would win against those that
	 * are added, as they cost no more and claim to sort by more
	 */
	rel->pathlist = skx_plan_without_ranked_paths(rel->pathlist, 2);
	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);
		OpExpr	   *distance;

		if (!skx_plan_is_skipidx(index) ||
			(index->indpred != NIL && !index->predOK))
			continue;
		distance = skx_plan_key_distance(root, index,
										 linitial(root->query_pathkeys));
		if (distance == NULL)
		{
			*summed |= skx_plan_is_sum_key(root, index,
										   linitial(root->query_pathkeys));
			continue;
		}
		skx_plan_add_ordered(root, rel, index, distance);
		ranked = true;
	}
	if (ranked || *summed)
		skx_plan_add_ctid_key(root, rel, rte);
	if (!ranked)
		return false;
	skx_plan_add_unordered(root, rel);
	return true;
}

/* ---- custom paths ---- */

/*
 * Returns what the planner adds to the path for computing distances, which the
 * scan returns instead.  In a query with joins that is 0: distances are
 * computed for joined rows there, however many these are.
 */
static QualCost
skx_plan_distance_target_cost(PlannerInfo *root, const Path *path)
{
	QualCost	distance = {0, 0};

	if (bms_membership(root->all_baserels) == BMS_SINGLETON)
		cost_qual_eval_node(&distance,
							linitial(((const IndexPath *) path)->indexorderbys),
							root);
	return distance;
}

/*
 * Puts a ranked path into a custom path.  The cost that the scan saves by
 * ending early is subtracted, and so is that of computing distances.  Workers
 * cannot run it, since statistics are frozen in the leader.
 */
static CustomPath *
skx_plan_wrap_ranked(PlannerInfo *root, RelOptInfo *rel, Path *path)
{
	QualCost	distance = skx_plan_distance_target_cost(root, path);
	Cost		run = (path->total_cost - path->startup_cost) *
		skx_plan_early_end_fraction(root, rel, (IndexPath *) path) -
		distance.per_tuple * path->rows;
	Path		rows = *path;

	rows.pathkeys = skx_plan_ranked_order(root, rel, path->pathkeys);
	rows.startup_cost = Max(path->startup_cost - distance.startup, 0);
	rows.total_cost = rows.startup_cost + Max(run, 0);
	return skx_plan_custom_path(&rows, list_make1(path), NIL,
								&skx_plan_path_methods);
}

/*
 * Adds a partial path for several processes.  They divide the search, but not
 * what it begins with, and one of them fetches the rows.  A limit must be
 * known, since the cost is that of the first search.  Parameters of other
 * plans are excluded, since workers are told once what the search goes by.
 */
static void
skx_plan_add_shared(PlannerInfo *root, RelOptInfo *rel, CustomPath *ranked)
{
	IndexPath  *scan = linitial_node(IndexPath, ranked->custom_paths);
	CustomPath *partial;

	if (!skx_plan_exceeds_setup_cost(ranked->path.startup_cost,
									 SKX_PARALLEL_SEARCH_COST_MIN) ||
		!rel->consider_parallel || ranked->path.param_info != NULL ||
		root->limit_tuples <= 0 || root->limit_tuples > SKX_TOPK_SHARE_ROWS ||
		root->glob->paramExecTypes != NIL ||
		!skx_plan_workers_know_limit(root) ||
		!is_parallel_safe(root, (Node *) ((OpExpr *) linitial(scan->indexorderbys))->args))
		return;
	partial = skx_plan_copy_parallel(rel, ranked, ranked->path.startup_cost,
									 scan->indexinfo->pages);
	if (partial == NULL)
		return;
	partial->path.rows =
		clamp_row_est(ranked->path.rows /
					  skx_plan_process_count(partial->path.parallel_workers));
	add_partial_path(rel, (Path *) partial);
}

/*
 * Returns the cost of reading the rows of a bounded scan.  A share of the cost
 * for all rows is not enough: rows that have scores come from anywhere in the
 * table.
 */
static Cost
skx_plan_bounded_run_cost(PlannerInfo *root, RelOptInfo *rel, IndexPath *path)
{
	double		random;
	double		rows;

	get_tablespace_page_costs(rel->reltablespace, &random, NULL);
	rows = rel->tuples * skx_plan_early_end_fraction(root, rel, path);
	return random * index_pages_fetched(rows, rel->pages,
										path->indexinfo->pages, root) +
		rows * (cpu_tuple_cost + rel->baserestrictcost.per_tuple);
}

/*
 * Adds a scan by the distance that a condition bounds, for no order or another
 * one.  There is none if rows without a score meet the condition, since then
 * it does not end early.  The child is given a sort key, as its plan needs
 * one.
 */
static void
skx_plan_add_bounded(PlannerInfo *root, RelOptInfo *rel,
					 IndexOptInfo *index)
{
	OpExpr	   *distance = NULL;
	IndexPath  *path;
	CustomPath *wrapped;
	Oid			family;
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		Node	   *clause = (Node *) lfirst_node(RestrictInfo, lc)->clause;

		distance = skx_plan_bounded_distance(index, clause);
		if (distance != NULL && skx_plan_needs_score(root, clause, distance))
			break;
		distance = NULL;
	}
	/* where that is the order, there is such a scan already */
	if (distance == NULL ||
		(root->query_pathkeys != NIL &&
		 skx_plan_key_distance(root, index,
							   linitial(root->query_pathkeys)) != NULL))
		return;
	family = get_op_opfamily_sortfamily(distance->opno, index->opfamily[0]);
	path = create_index_path(root, index, skx_plan_index_clauses(root, index),
							 list_make1(distance), list_make1_int(0),
							 list_make1(skx_compat_ascending_key(family)),
							 ForwardScanDirection, false, rel->lateral_relids,
							 1.0, false);
	path->path.total_cost += skx_plan_filter_cost(root, rel, (Path *) path);
	wrapped = skx_plan_wrap_ranked(root, rel, (Path *) path);
	wrapped->path.total_cost =
		Max(wrapped->path.total_cost, wrapped->path.startup_cost +
			skx_plan_bounded_run_cost(root, rel, path));
	wrapped->path.pathkeys = NIL;
	add_path(rel, (Path *) wrapped);
}

static void
skx_plan_add_all_bounded(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);

		if (skx_plan_is_skipidx(index) &&
			(index->indpred == NIL || index->predOK))
			skx_plan_add_bounded(root, rel, index);
	}
}

static void
skx_plan_add_wrapped(PlannerInfo *root, RelOptInfo *rel, Path *path)
{
	CustomPath *wrapped = skx_plan_wrap_ranked(root, rel, path);

	skx_plan_add_shared(root, rel, wrapped);
	add_path(rel, (Path *) wrapped);
}

/*
 * Puts all ranked paths into custom paths.  They are compared again, since
 * that may make them cheaper.
 */
static void
skx_plan_wrap_all(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *paths = rel->pathlist;
	ListCell   *lc;

	rel->pathlist = NIL;
	foreach(lc, paths)
	{
		if (!skx_plan_orders_by(lfirst(lc), 1))
			rel->pathlist = lappend(rel->pathlist, lfirst(lc));
	}
	foreach(lc, paths)
	{
		if (skx_plan_orders_by(lfirst(lc), 1))
			skx_plan_add_wrapped(root, rel, lfirst(lc));
	}
}

/*
 * Returns true if the paths of a table without children may change here.
 * Those of a table that has no skipidx index do not, unless the server makes
 * some again for conditions that only the setting promotes.
 */
static bool
skx_plan_is_concerned(const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->indexlist)
	{
		if (skx_plan_is_skipidx(lfirst(lc)))
			return true;
	}
	return skx_plan_under_policy;
}

static void
skx_plan_set_rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti,
						  RangeTblEntry *rte)
{
	bool		ranked;
	bool		summed;

	if (skx_plan_next_hook != NULL)
		skx_plan_next_hook(root, rel, rti, rte);
	if (rte->rtekind != RTE_RELATION || IS_DUMMY_REL(rel) ||
		(!rte->inh && !skx_plan_is_concerned(rel)))
		return;
	skx_plan_correct_rows(root, rel, rte);
	if (rte->inh)
	{
		skx_plan_drop_partial_paths(root, rel);
		return;
	}

	/* no index knows the rows of a sample, though rel has indexes */
	if (rte->tablesample != NULL)
		return;

	/*
	 * The server makes ranked partial paths without asking whether workers
	 * may compute the distance.  They have no frozen statistics.
	 */
	skx_plan_add_promoted(root, rel);
	rel->partial_pathlist =
		skx_plan_without_ranked_paths(rel->partial_pathlist, 1);
	skx_plan_add_each_path(root, rel, skx_plan_add_plain_scans);
	skx_plan_add_each_path(root, rel, skx_plan_add_weakened_scans);
	ranked = skx_plan_add_paths(root, rel, rte, &summed);
	skx_plan_charge_paths(root, rel);
	if (ranked)
		skx_plan_charge_unknown(root, rel);
	else
		skx_plan_charge_order(root, rel);
	skx_plan_add_partial_paths(root, rel);
	if (!skx_plan_custom)
		return;
	skx_plan_add_by_columns(root, rel);
	if (summed)
		skx_plan_add_by_sum(root, rel);
	skx_plan_add_column_scans(root, rel);
	skx_plan_wrap_all(root, rel);
	skx_plan_add_all_bounded(root, rel);
}

void
skx_plan_init(void)
{
	RegisterCustomScanMethods(&skx_plan_ranked.scan);
	RegisterCustomScanMethods(&skx_plan_ordered.scan);
	RegisterCustomScanMethods(&skx_plan_best.scan);
	RegisterCustomScanMethods(&skx_plan_columned.scan);
	skx_plan_next_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = skx_plan_set_rel_pathlist;
	skx_plan_count_init();
	skx_plan_explain_init();
}
