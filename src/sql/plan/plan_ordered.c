/*
 * plan_ordered.c
 *	  Paths in the order of a column beside the text, and their plans.
 *
 * The server takes no order from an access method whose first column has none
 * (amcanorder).  So a path of the index gets the order in a custom scan that
 * asks the index for it (plan_ordered_scan.c).  It serves the first sort key,
 * in either direction, with NULLs at either end.
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "answer/order/order.h"
#include "answer/order/order_share.h"
#include "index/column/column_key.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "sql/am/am.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_custom.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "sql/plan/plan_reading.h"
#include "support/compat/compat_planner.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

static Plan *skx_plan_make_ordered_plan(PlannerInfo *root, RelOptInfo *rel,
										CustomPath *path, List *tlist,
										List *clauses, List *custom_plans);

static const CustomPathMethods skx_plan_ordered_path_methods = {
	.CustomName = "Skipidx Ordered Scan",
	.PlanCustomPath = skx_plan_make_ordered_plan
};

/*
 * Costs in units of cpu_operator_cost: of comparing a key, and of beginning a
 * scan.  The latter is for the tree of keys, its heap of ranges of documents,
 * and the custom scan.  It is 40 us more than for a scan without order that
 * finds as few rows.
 */
#define SKX_ORDERED_COMPARE		2
#define SKX_ORDERED_BEGIN		6000

/*
 * Number of documents that are read to find a few rows, if the column follows
 * the order of documents.
 */
#define SKX_ORDERED_FIRST_DOCS		2048

/*
 * Costs if the column does not follow that order: 50 ns for a document that is
 * found by its value, and 120 ns for testing a condition on it.
 */
#define SKX_ORDERED_COST_DOCUMENT		8
#define SKX_ORDERED_COST_LOOKUP			18

bool
skx_plan_fill_key_column(const IndexOptInfo *index, int column,
						 SkxKeyColumn *keys)
{
	Node	   *expr = skx_plan_column_expr(index, column);
	int32		typmod = exprTypmod(expr);

	(void) getBaseTypeAndTypmod(exprType(expr), &typmod);
	return skx_column_has_key(index->opcintype[column], typmod,
							  index->opfamily[column], keys);
}

bool
skx_plan_has_keys(const IndexOptInfo *index, int column)
{
	SkxKeyColumn keys;

	return skx_plan_fill_key_column(index, column, &keys) &&
		!skx_column_key_is_coarse(&keys);
}

static bool
skx_plan_is_coarse(const IndexOptInfo *index, int column)
{
	SkxKeyColumn keys;

	return skx_plan_fill_key_column(index, column, &keys) &&
		skx_column_key_is_coarse(&keys);
}

/*
 * Keys of a numeric column may differ in segments that were made when it had
 * another scale, even if that was rolled back.  Coarse keys may be missing in
 * segments of an earlier version.
 */
bool
skx_plan_has_order(PlannerInfo *root, const IndexOptInfo *info, int column,
				   SkxKeyColumn *keys)
{
	Relation	index;
	bool		all;

	if (!skx_plan_fill_key_column(info, column, keys))
		return false;
	if (keys->kind != SKX_KEY_DECIMAL && !skx_column_key_is_coarse(keys))
		return true;
	if (!skx_cost_readable(info))
		return false;
	index = index_open(info->indexoid, NoLock);
	all = skx_order_has_keys(index, skx_cost_planned_sizes(root, index)->view,
							 column);
	index_close(index, NoLock);
	return all;
}

/*
 * Returns the btree operator family by which the type is sorted by default;
 * InvalidOid if there is none.  The server's own look-up of it reads pg_opclass
 * each time, so this asks what the session keeps of types.
 */
static Oid
skx_plan_default_order(Oid type)
{
	return lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
}

/*
 * Returns the column of the index (from 0) that a sort key is; 0 if there is
 * none.  The key must sort as the type does by default, since keys are in that
 * order.
 */
static int
skx_plan_key_column(PlannerInfo *root, const IndexOptInfo *index,
					const PathKey *key)
{
	EquivalenceClass *class = key->pk_eclass;
	SkxKeyColumn keys;
	int			column;
	ListCell   *lc;

	if (class->ec_has_volatile || index->nkeycolumns == 1)
		return 0;
	foreach(lc, skx_compat_class_members(class, index->rel))
	{
		EquivalenceMember *member = lfirst(lc);

		for (column = 1; column < index->nkeycolumns; column++)
		{
			if (match_index_to_operand((Node *) member->em_expr, column,
									   unconstify(IndexOptInfo *, index)) &&
				skx_plan_default_order(index->opcintype[column]) ==
				key->pk_opfamily &&
				skx_plan_has_order(root, index, column, &keys))
				return column;
		}
	}
	return 0;
}

/*
 * Returns the number of matches that the first search is for: those of a
 * limit, or of SKX_ORDERED_ROWS rows.
 */
static double
skx_plan_first_rows(PlannerInfo *root, const RelOptInfo *rel,
					double matches)
{
	double		rows = root->limit_tuples > 0 ? root->limit_tuples :
		SKX_ORDERED_ROWS;

	return Min(rows * matches / Max(rel->rows, 1), matches);
}

/*
 * Returns the share of the table in the range to which conditions bound the
 * column.
 */
static double
skx_plan_range_fraction(PlannerInfo *root, const IndexPath *index, int column)
{
	List	   *quals = NIL;
	ListCell   *lc;

	foreach(lc, index->indexclauses)
	{
		const IndexClause *clause = lfirst_node(IndexClause, lc);

		if (clause->indexcol == column)
			quals = list_concat(quals, clause->indexquals);
	}
	return quals == NIL ? 1 :
		clauselist_selectivity(root, quals, 0, JOIN_INNER, NULL);
}

/*
 * Returns the cost of reading the rows.  If the column follows the table, each
 * page of the part that it is bound to comes once and in order, forward or
 * backward, unless none of its rows match.  If it does not, pages come in any
 * order.
 */
static Cost
skx_plan_cost_rows(PlannerInfo *root, const RelOptInfo *rel,
				   const IndexPath *index, double matches, double part,
				   double correlation, bool descending)
{
	SkxPageReadCosts prices;
	double		follows = correlation * correlation;
	double		anywhere = index_pages_fetched(matches, rel->pages,
											   index->indexinfo->pages, root);
	double		missed = 1 - Min(matches / Max(rel->tuples * part, 1), 1);
	double		pages = ceil(rel->pages * part);
	double		once = pages *
		(1 - pow(missed, Max(rel->tuples / Max(rel->pages, 1), 1)));

	skx_cost_page_read_costs(rel->reltablespace, &prices);
	return (1 - follows) * anywhere * prices.random +
		follows * skx_cost_read_pages(once, pages,
									  (correlation < 0) == descending ?
									  prices.forward : prices.backward,
									  prices.random);
}

/*
 * Returns the cost of finding the first rows of a column that does not follow
 * the order of the table.  Either the documents with the first values are
 * tested, each on a page of its own as long as there are any.  Or all matches
 * are looked at.
 */
static Cost
skx_plan_cost_scattered(const RelOptInfo *rel, const IndexPath *index,
						double first, double matches, double pages,
						Cost each)
{
	double		docs = SKX_ORDERED_MARGIN * first * rel->tuples / matches;
	double		read = Max(pages, 1);
	SkxPageReadCosts prices;

	skx_cost_page_read_costs(rel->reltablespace, &prices);
	read *= 1 - pow(1 - 1 / read, docs);
	return Min(matches * each, read * prices.random + docs * cpu_operator_cost *
			   (SKX_ORDERED_COST_DOCUMENT +
				SKX_ORDERED_COST_LOOKUP * list_length(index->indexclauses)));
}

/*
 * Returns the charge for a scan for the first rows, if it costs less to fetch
 * all rows that the index finds from memory, and to sort them.  `charged` is
 * what was added to the server's cost of the index scan.
 */
static Cost
skx_plan_cost_unsorted(PlannerInfo *root, const RelOptInfo *rel,
					   const IndexPath *index, Cost charged,
					   const SkxReadingCost *ordered, double first,
					   double matches)
{
	SkxReadingCost sorted = skx_plan_scan_reading_cost(rel, index, charged,
													   1);

	if (root->limit_tuples <= 0 || !skx_plan_is_only_table(root, rel))
		return 0;
	sorted.cost += 2 * cpu_operator_cost * matches * log2(Max(first, 2));
	return skx_plan_unsaved_charge(rel, ordered, &sorted);
}

/*
 * Fills in the costs of an ordered path.  Returns the share of the matches
 * that the first search looks at.  `pages` is the number of pages of the index
 * that are read if all are looked at.
 *
 * If the column follows the order of the table, a search looks at a few
 * neighbouring ranges of documents, which may have the first rows.  There is
 * one search for the first rows.  For all rows there are as many as it takes
 * to reach them, each for more rows than the one before.
 */
static double
skx_plan_cost_ordered(PlannerInfo *root, const RelOptInfo *rel,
					  const IndexPath *index, double part, double pages,
					  double correlation, bool descending, Path *path)
{
	double		matches = Max(index->indexselectivity * rel->tuples, 1);
	double		first = skx_plan_first_rows(root, rel, matches);
	double		follows = correlation * correlation;
	double		most = work_mem * 1024.0 / (4 * sizeof(uint64));
	double		share = Min(Max(matches / Max(rel->tuples, 1), 1e-9), 1);
	double		near = Min(first + SKX_ORDERED_FIRST_DOCS * share, matches);
	double		far = Min(SKX_ORDERED_MARGIN * first, matches);
	double		searches = 1 + log(Max(Min(matches, most) / Max(first, 1), 1)) /
		log(SKX_ORDERED_GROWTH) + matches / most;
	Cost		reading = skx_plan_cost_rows(root, rel, index, matches, part,
											 correlation, descending);
	SkxReadingCost ordered;
	Cost		unsorted;
	Cost		each;

	each = (index->indextotalcost - index->path.startup_cost) / matches +
		SKX_ORDERED_COMPARE * cpu_operator_cost;
	each = Max(each, SKX_ORDERED_COMPARE * cpu_operator_cost);
	path->startup_cost = index->path.startup_cost +
		SKX_ORDERED_BEGIN * cpu_operator_cost + follows * near * each +
		(1 - follows) * skx_plan_cost_scattered(rel, index, first, matches,
												pages, each);
	path->total_cost = path->startup_cost +
		(follows * matches + (1 - follows) * matches * (searches - 1)) * each +
		reading + matches * (cpu_tuple_cost + cpu_index_tuple_cost +
							 rel->baserestrictcost.per_tuple) +
		path->rows * path->pathtarget->cost.per_tuple +
		skx_plan_filter_cost(root, unconstify(RelOptInfo *, rel),
							 (Path *) unconstify(IndexPath *, index));
	ordered.cost = path->startup_cost +
		first / matches * (path->total_cost - path->startup_cost);
	ordered.reading = first / matches * reading;
	unsorted = skx_plan_cost_unsorted(root, rel, index, 0, &ordered, first,
									  matches);
	path->startup_cost += unsorted;
	path->total_cost += unsorted;
	return (follows * near + (1 - follows) * far) / matches;
}

/*
 * Share of the variance of the rows that the order of documents must explain
 * for several processes.  Otherwise each part of the keys is spread over all
 * documents.
 */
#define SKX_ORDERED_FOLLOWS_FRACTION		.9

/*
 * Returns the number of parts for several processes, by the number of matches.
 */
static int
skx_plan_nparts(const RelOptInfo *rel, const IndexPath *index)
{
	double		parts = index->indexselectivity * rel->tuples /
		SKX_ORDERED_PART_ROWS;

	return (int) Max(Min(parts, SKX_ORDERED_PARTS), 1);
}

/*
 * Adds an ordered path for one process and, if that is worth it, one for
 * several.  The node that gathers these merges their rows.
 */
static void
skx_plan_add_ordered_path(PlannerInfo *root, RelOptInfo *rel,
						  IndexOptInfo *index, List *clauses, int column,
						  PathKey *key)
{
	CustomPath *custom;
	IndexPath  *path;
	Path		rows;
	Path	   *partial = NULL;
	bool		descends = !skx_compat_pathkey_ascends(key);
	double		follows = skx_cost_column_correlation(root, index, column);
	double		pages;

	path = create_index_path(root, index, clauses, NIL, NIL, NIL,
							 ForwardScanDirection, false, rel->lateral_relids,
							 1.0, false);
	rows = path->path;
	rows.pathkeys = list_make1(key);
	pages = skx_cost_planned_pages(root, path, false);
	pages *= skx_plan_cost_ordered(root, rel, path,
								   skx_plan_range_fraction(root, path, column),
								   pages, follows, descends, &rows);
	custom = skx_plan_custom_path(&rows, list_make1(path),
								  list_make5(skx_plan_expected_pages(pages),
											 makeInteger(column),
											 makeInteger(descends),
											 makeInteger(key->pk_nulls_first), makeInteger(skx_plan_nparts(rel, path))), &skx_plan_ordered_path_methods);
	if (follows * follows >= SKX_ORDERED_FOLLOWS_FRACTION)
		partial = skx_plan_partial_path(root, rel, &custom->path,
										sizeof(CustomPath), path);
	add_path(rel, (Path *) custom);
	if (partial != NULL)
		add_partial_path(rel, partial);
}

/*
 * Adds paths with all conditions, and paths without those for which bits are
 * gathered before the first row.
 */
static void
skx_plan_add_column_paths(PlannerInfo *root, RelOptInfo *rel,
						  IndexOptInfo *index, int column, PathKey *key)
{
	List	   *clauses = skx_plan_index_clauses(root, index);

	skx_plan_add_ordered_path(root, rel, index, clauses, column, key);
	if (skx_plan_clauses_may_gather(index, clauses, NULL))
		skx_plan_add_ordered_path(root, rel, index,
								  skx_plan_weakened_clauses(root, index,
															clauses),
								  column, key);
}

void
skx_plan_add_by_columns(PlannerInfo *root, RelOptInfo *rel)
{
	PathKey    *key;
	ListCell   *lc;

	if (root->query_pathkeys == NIL)
		return;
	key = linitial(root->query_pathkeys);
	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);
		int			column;

		if (!skx_plan_is_usable(index))
			continue;
		column = skx_plan_key_column(root, index, key);
		if (column > 0)
			skx_plan_add_column_paths(root, rel, index, column, key);
	}
}

/* ---- the order of other indexes ---- */

/*
 * Returns the cheapest scan of a skipidx index in no order; NULL if there is
 * none.
 */
static IndexPath *
skx_plan_cheapest_unordered(const RelOptInfo *rel)
{
	IndexPath  *least = NULL;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		IndexPath  *path = lfirst(lc);

		if (IsA(path, IndexPath) && skx_plan_is_skipidx(path->indexinfo) &&
			path->indexorderbys == NIL && path->path.param_info == NULL &&
			(least == NULL ||
			 path->path.total_cost < least->path.total_cost))
			least = path;
	}
	return least;
}

void
skx_plan_charge_order(PlannerInfo *root, RelOptInfo *rel)
{
	IndexPath  *found = skx_plan_cheapest_unordered(rel);
	Cost		charged;
	List	   *paths;
	List	   *partial;
	ListCell   *lc;

	if (root->limit_tuples <= 0 || root->query_pathkeys == NIL ||
		found == NULL || !skx_plan_is_only_table(root, rel))
		return;
	charged = skx_plan_filter_cost(root, rel, &found->path);
	skx_plan_detach_paths(rel, &paths, &partial);
	foreach(lc, paths)
	{
		IndexPath  *path = lfirst(lc);
		double		matches = Max(path->path.rows, 1);
		double		first = Min(root->limit_tuples, matches);
		SkxReadingCost ordered;

		if (!IsA(path, IndexPath) || skx_plan_is_skipidx(path->indexinfo) ||
			path->path.param_info != NULL ||
			!pathkeys_contained_in(root->query_pathkeys, path->path.pathkeys))
			continue;
		ordered = skx_plan_scan_reading_cost(rel, path,
											 skx_plan_filter_cost(root, rel,
																  &path->path),
											 first / matches);
		path->path.total_cost += matches / first *
			skx_plan_cost_unsorted(root, rel, found, charged, &ordered,
								   first, matches);
	}
	skx_plan_offer_paths(rel, paths, partial);
}

/* ---- plans ---- */

/*
 * If keys are coarse, makes the child return the column, which may be an
 * expression.  Returns its number in the child's output, else 0.
 */
static int
skx_plan_add_tie_column(IndexScan *child, const CustomPath *path)
{
	const IndexOptInfo *index =
		castNode(IndexPath, linitial(path->custom_paths))->indexinfo;
	int			column = intVal(list_nth(path->custom_private,
										 SKX_ORDERED_COLUMN));
	List	   *targets = child->scan.plan.targetlist;
	int			number = list_length(targets) + 1;
	Node	   *expr = skx_plan_column_expr(index, column);

	if (!skx_plan_is_coarse(index, column))
		return 0;
	child->scan.plan.targetlist =
		lappend(targets, makeTargetEntry((Expr *) copyObject(expr), number,
										 NULL, false));
	return number;
}

static Plan *
skx_plan_make_ordered_plan(PlannerInfo *root, RelOptInfo *rel,
						   CustomPath *path, List *tlist, List *clauses,
						   List *custom_plans)
{
	IndexScan  *child = skx_plan_index_scan_child(linitial(custom_plans));
	SkxRankedPlanParts planned = {0};
	CustomScan *scan;
	int			tied;

	skx_plan_fill_limit(root, rel, path, &planned);
	planned.other_conditions = child->scan.plan.qual;
	skx_plan_reduce_target(child, NIL);
	tied = skx_plan_add_tie_column(child, path);
	scan = skx_plan_custom_scan(path, rel->relid, tlist, list_make1(child),
								get_tlist_exprs(child->scan.plan.targetlist,
												true),
								&skx_plan_ordered.scan);
	scan->custom_exprs = copyObject(list_make2(planned.count, planned.offset));
	scan->custom_private =
		list_concat_copy(path->custom_private,
						 list_make3(makeInteger(planned.extra),
									makeInteger(skx_plan_percent(root, rel,
																 linitial(path->custom_paths),
																 &planned)),
									makeInteger(tied)));
	return (Plan *) scan;
}
