/*
 * plan_internal.h
 *	  Declarations that the files of plan/ share.
 */
#ifndef SKX_PLAN_INTERNAL_H
#define SKX_PLAN_INTERNAL_H

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "nodes/supportnodes.h"
#include "read/score/score.h"
#include "sql/am/am.h"
#include "sql/am/am_desc.h"
#include "sql/plan/plan.h"
#include "sql/plan/plan_condition.h"

/* plan_plain.c : scans by conditions, in no order, also by a bitmap */

/*
 * Adds scans by all conditions of the index, if skx_plan_has_own_clauses(),
 * and those for inner sides of nested loops.
 */
extern void skx_plan_add_plain_scans(PlannerInfo *root, RelOptInfo *rel,
									 IndexOptInfo *index);

/*
 * Adds scans without some conditions: without disjunctions on the text, and
 * without those that need bits of whole segments before the first row.
 */
extern void skx_plan_add_weakened_scans(PlannerInfo *root, RelOptInfo *rel,
										IndexOptInfo *index);

/* plan_policy.c : paths by conditions `@@` under a policy */

/*
 * Adds the paths that the server makes of the table's indexes, also for
 * conditions that are promotable here only.
 */
extern void skx_plan_add_index_paths(PlannerInfo *root, RelOptInfo *rel);

/* Does so if the table has such conditions. */
extern void skx_plan_add_promoted(PlannerInfo *root, RelOptInfo *rel);

/* plan_joined.c : scans by conditions that join tables */

/*
 * Adds scans by conditions that join, for inner sides of nested loops, if
 * the server does not match all of their conditions.  There is one for each
 * of the first 8 sets of tables that a condition joins with, and one for all
 * of them.
 */
extern void skx_plan_add_join_scans(PlannerInfo *root, RelOptInfo *rel,
									IndexOptInfo *index);

/*
 * Returns how often a scan is run that needs values of these tables: once for
 * each row of the smallest of them, as the server counts.
 */
extern double skx_plan_nloops(PlannerInfo *root, Relids tables);

/*
 * plan_filter.c : what testing `@@` on rows costs beyond what the server
 * charges
 */

/*
 * Returns the charge for testing `@@` on the rows of a path that is not
 * charged yet.
 */
extern Cost skx_plan_filter_cost(PlannerInfo *root, RelOptInfo *rel,
								 Path *path);

/*
 * Returns the cost of reading an average value of the index's first column.
 * `byte` and byte_away are the costs of a byte in the row and of one in
 * TOAST, in units of cpu_operator_cost.  If the column is an expression, the
 * cost is that of parsing a text of as many words.
 */
extern Cost skx_plan_value_cost(PlannerInfo *root,
								const IndexOptInfo *index, double byte,
								double byte_away);

/*
 * Returns the table's own conditions with `@@`, with the cost of each for a
 * row, as skx_plan_charge_filters() takes them.
 */
extern List *skx_plan_table_filters(PlannerInfo *root, RelOptInfo *rel);

/*
 * Adds the cost of testing the filters, and of large bitmaps, to all paths
 * of the table, and compares the paths again.  Returns true if a path that
 * was charged had the least cost of all before, so that others may have been
 * dropped for it.  Index scans that the planner dropped for a bitmap of
 * several are added again.  Without filters it does nothing and returns
 * false.
 */
extern bool skx_plan_charge_filters(PlannerInfo *root, RelOptInfo *rel,
									List *filters);

/*
 * plan_distance.c : fills in the cost of computing a distance from a row.
 * Returns false if the left operand is not the first column of a skipidx
 * index of a table that is being planned.
 */
extern bool skx_plan_distance_cost(SupportRequestCost *request);

/* plan_unknown.c : charges for uncertain estimates in ranked queries */

/*
 * Charges the paths of a table that is sorted by distance, if it is the
 * query's only one.  If not all rows will be fetched, scans in no order pay
 * for rows that an unknown query or a conjunction may find beyond the
 * estimate.  Scans and searches also pay for pages that they save, where the
 * table is in memory.
 */
extern void skx_plan_charge_unknown(PlannerInfo *root, RelOptInfo *rel);

/*
 * Charges the paths of `output`, which group the rows of a table one by one,
 * for rows that an unknown query may find beyond the estimate.
 */
extern void skx_plan_charge_grouping(PlannerInfo *root, const RelOptInfo *rel,
									 RelOptInfo *output);

/*
 * Returns true if the table is the only one of the query, or a partition of
 * the only one.
 */
extern bool skx_plan_is_only_table(const PlannerInfo *root,
								   const RelOptInfo *rel);

/*
 * plan_order.c : expressions that are ordered like a distance, and conditions
 * that bound it
 */

/*
 * Returns true if the expression is `column <@> reference`, by an operator
 * that sorts by the family.
 */
extern bool skx_plan_is_distance(const IndexOptInfo *index, Node *expr,
								 Oid family);

/*
 * Returns the distance whose ascending order is the order of the sort key;
 * NULL if there is none, or if the index cannot order by it.
 */
extern OpExpr *skx_plan_key_distance(PlannerInfo *root,
									 const IndexOptInfo *index,
									 const PathKey *key);

/*
 * Returns true if the condition bounds the distance: once it is not true for
 * a row, it is true for none with the same, a larger or a NULL distance.
 */
extern bool skx_plan_is_bound(Node *clause, const OpExpr *distance);

/*
 * Returns the distance, by that index, that the condition bounds as
 * skx_plan_is_bound() says; NULL if there is none.
 */
extern OpExpr *skx_plan_bounded_distance(const IndexOptInfo *index,
										 Node *clause);

/*
 * Returns the lowest score of a row with a score that meets the condition,
 * which bounds the distance; 0 if it is not known at planning.
 */
extern double skx_plan_least_score(PlannerInfo *root, Node *clause,
								   const OpExpr *distance);

/*
 * Returns true if the condition is known not to be true for rows without a
 * score, whose distance is 0.
 */
extern bool skx_plan_needs_score(PlannerInfo *root, Node *clause,
								 OpExpr *distance);

/* plan_ties.c : the order of rows with equal distance */

/*
 * Makes ctid the second sort key of a query that sorts one table by its
 * distance alone, if all paths of the table can return ctid.
 */
extern void skx_plan_add_ctid_key(PlannerInfo *root, RelOptInfo *rel,
								  RangeTblEntry *rte);

/*
 * Returns the order of a ranked scan that is known to be in the order of
 * `pathkeys`: these and ctid, if skx_plan_add_ctid_key() has added that.
 */
extern List *skx_plan_ranked_order(PlannerInfo *root,
								   const RelOptInfo *rel, List *pathkeys);

/* plan_match.c : conditions `document @@ query` */

/*
 * Returns true if the expression is NULL, or can be evaluated at any time: it
 * has no columns, subplans or volatile functions.
 */
extern bool skx_plan_is_simple(Node *expr);

/*
 * Returns true if the operator is `document @@ query` of the operator
 * family.
 */
extern bool skx_plan_is_match_operator(Oid operator, Oid family);

/*
 * Returns the query of a condition `document @@ query`, in either order of
 * the operands.  Returns NULL if it is none, or if the query is not simple.
 */
extern Node *skx_plan_matched_query(Node *clause, Node *document, Oid family);

/*
 * Returns true if the distance ranks by `query`, as far as is known at
 * planning.  A ranking as a value does not tell.
 */
extern bool skx_plan_ref_ranks_by(Node *query, const OpExpr *distance,
								  Oid family);

/* plan_early.c : ranked scans that end before all rows were returned */

/*
 * Returns the share (0 to 1) of its rows that a ranked scan returns before it
 * ends: with the last row that has a score, or at a bound of the distance.
 */
extern double skx_plan_early_end_fraction(PlannerInfo *root, RelOptInfo *rel,
										  IndexPath *path);

/* What the plan of a custom scan needs beyond its child. */
typedef struct SkxRankedPlanParts
{
	Node	   *count;			/* LIMIT; NULL: none that applies */
	Node	   *offset;			/* OFFSET; NULL: none that applies */
	int			extra;			/* rows fetched beyond them */
	Node	   *query;			/* all rows have to match it */
	List	   *bounds;			/* conditions that end the scan */
	List	   *other_conditions;	/* other conditions that discard rows */
} SkxRankedPlanParts;

/* plan_plan.c : from a path to a plan */

/*
 * Reduces the output of the Index Scan to plain columns: those in its target
 * list and those of its table in `exprs`.
 */
extern void skx_plan_reduce_target(IndexScan *child, List *exprs);

/* plan_limit.c : how many rows a scan is asked for */

/*
 * Fills in count, offset and extra, if LIMIT counts the rows of this scan, or
 * of it and its sibling partitions; else leaves them as they are.
 */
extern void skx_plan_fill_limit(PlannerInfo *root, RelOptInfo *rel,
								CustomPath *path, SkxRankedPlanParts *planned);

/*
 * Returns how many rows are to be fetched, in percent of the limit, so that
 * enough of them meet planned->other_conditions; 100 if there are no such
 * conditions.
 */
extern int	skx_plan_percent(PlannerInfo *root, RelOptInfo *rel,
							 const IndexPath *path,
							 const SkxRankedPlanParts *planned);

/*
 * Returns true if nothing tells that fewer than all rows will be fetched.
 * Signs of that are LIMIT, of any query around, a cursor, a search for one
 * row, and window functions, which may end when they have counted enough.
 */
extern bool skx_plan_is_unlimited(PlannerInfo *root, RelOptInfo *rel);

/*
 * plan_rivals.c : ranked scans of partitions that together give the rows of a
 * LIMIT
 */

/* The least distances that these scans have returned so far. */
typedef struct SkxSiblingScans
{
	int64		wanted_rows;	/* number of wanted rows; 0: not known, or too
								 * many */
	int			n;				/* number of distances that are kept */
	float4	   *distances;		/* the least ones returned so far, ascending */
	int			nscans;
	int			nbegun;			/* number of scans that have begun */
	uint64		nskipped;		/* scans whose search was left out, of all
								 * rescans */
} SkxSiblingScans;

/*
 * Sets *distance to the largest distance that a further row may have to be
 * wanted.  Returns false if rows of any distance are still wanted.
 */
extern bool skx_plan_siblings_max_distance(const SkxSiblingScans *rivals,
										   float4 *distance);

/* Records the distance of a row that a scan has returned. */
extern void skx_plan_siblings_add(SkxSiblingScans *rivals, float4 distance);

/*
 * Records that a scan begins.  Returns the maximum number of rows that it may
 * read ahead for the sake of later scans; 0 if it need not.
 */
extern int64 skx_plan_siblings_begin(SkxSiblingScans *rivals);

/* Counts a scan that did not have to search, for EXPLAIN. */
extern void skx_plan_siblings_count_skipped(SkxSiblingScans *rivals);

/*
 * plan_scan.c : connects a ranked scan with the others.  Returns 1, or 0 if
 * the node is no ranked scan.
 */
extern int	skx_plan_set_siblings(CustomScanState *node,
								  SkxSiblingScans *rivals);

/*
 * plan_rivals_scan.c : puts a custom scan above such scans, which returns the
 * merged rows unchanged, into all paths with a LIMIT.
 */
extern void skx_plan_add_siblings_scan(PlannerInfo *root, RelOptInfo *output);

/*
 * plan_count.c : installs the hook that offers counts of a table's rows, as
 * a custom scan (plan_count_scan.c) in place of the aggregation.  Also
 * registers this custom scan and that of facets.
 */
extern void skx_plan_count_init(void);

/*
 * plan_exact.c : scans that find exactly the rows that meet all conditions,
 * and counts of these rows
 */

/*
 * Returns the column if `expr` is `count` of a column of the table, else
 * NULL.
 */
extern const Var *skx_plan_counted_column(const RelOptInfo *rel,
										  Node *expr);

/*
 * Returns true if `expr` is `count(*)`, or `count` of something that is not
 * NULL in any row of the table.
 */
extern bool skx_plan_counts_all(PlannerInfo *root, const RelOptInfo *rel,
								Node *expr);

/*
 * Returns a scan of the index by all conditions of the table; NULL if the
 * index does not answer all of them.
 */
extern IndexPath *skx_plan_scan_by_all_clauses(PlannerInfo *root,
											   const RelOptInfo *rel,
											   IndexOptInfo *index);

/*
 * Fills in the IndexClauses of the table's conditions.  Returns false if the
 * index does not answer all of them.  Those that it answers alone become
 * exact, so that no row is tested.
 */
extern bool skx_plan_all_clauses(PlannerInfo *root, IndexOptInfo *index,
								 List **clauses);

/*
 * Returns true if the scan finds exactly the rows that meet its conditions,
 * without testing rows.
 */
extern bool skx_plan_is_exact(const IndexPath *index);

/*
 * Returns the cost of counting the rows of a scan: of finding them, and of
 * fetching those whose visibility the visibility map does not tell.
 */
extern Cost skx_plan_cost_count(PlannerInfo *root, RelOptInfo *rel,
								IndexPath *index);

/*
 * Returns the cost of work of so many ns that the server's aggregation would
 * do otherwise.
 */
extern Cost skx_plan_time(double ns);

/*
 * plan_facets.c : counts by the values of a column beside the text, or the
 * values alone (SELECT DISTINCT), as a custom scan (plan_facets_scan.c) in
 * place of the aggregation
 */

/* The meaning of a column that this custom scan returns. */
typedef enum SkxFacetOutput
{
	SKX_FACET_VALUE,			/* the value */
	SKX_FACET_COUNT,			/* number of rows with the value */
	SKX_FACET_COUNT_VALUES		/* the same, but 0 for NULL */
} SkxFacetOutput;

/*
 * Adds paths to `output` if the query groups the table `input` by one column
 * and asks only for counts.
 */
extern void skx_plan_add_facets(PlannerInfo *root, RelOptInfo *input,
								RelOptInfo *output);

/* Adds paths to `output` if the query is SELECT DISTINCT of one column. */
extern void skx_plan_add_distinct(PlannerInfo *root, RelOptInfo *input,
								  RelOptInfo *output);

/* plan_offer.c : paths that are compared again, and parallel ones */

/*
 * Cost from which searches and counts are divided among several processes,
 * as a multiple of parallel_setup_cost.
 *
 * Starting processes and gathering takes 5 to 7 ms, and the server's price
 * for it, parallel_setup_cost, is for work on tables.  With ten million rows,
 * a millisecond of one process does work of a search that costs 100 to 300.
 * Of a count, which goes by bits, it does what mostly costs 200 to 3,000.
 * Work of less than 30 ms is not worth several processes.
 */
#define SKX_PARALLEL_SEARCH_COST_MIN	10
#define SKX_PARALLEL_COUNT_COST_MIN		25

/*
 * Moves all paths of the table, and its partial ones, into lists, so that
 * others can be made without being compared with them.
 */
extern void skx_plan_detach_paths(RelOptInfo *rel, List **paths,
								  List **partial);

/* Offers the paths to the table again, compared by their present costs. */
extern void skx_plan_offer_paths(RelOptInfo *rel, List *paths,
								 List *partial);

/*
 * Returns how many processes the workers and the leader are worth, as the
 * server counts the leader.
 */
extern double skx_plan_process_count(int workers);

/* Returns true if the cost is at least `times` parallel_setup_cost. */
extern bool skx_plan_exceeds_setup_cost(Cost cost, double times);

/*
 * Returns a partial copy of a custom path, for each of several processes.
 * They share `divided` of its cost; each pays all of the rest.  `pages` of
 * the index determine the number of workers.  Returns NULL if there are
 * none, or if each process would gather bits for itself.
 */
extern CustomPath *skx_plan_copy_parallel(RelOptInfo *rel,
										  const CustomPath *whole,
										  Cost divided, double pages);

/* plan_divided.c : scans by several processes, each of which returns rows */

/*
 * Returns true if workers can evaluate LIMIT and OFFSET, and these are the
 * same for each scan.
 */
extern bool skx_plan_workers_know_limit(PlannerInfo *root);

/*
 * Adds partial paths for scans in no order that are worth several processes.
 */
extern void skx_plan_add_partial_paths(PlannerInfo *root, RelOptInfo *rel);

/*
 * Drops the partial paths of partitions that have a ranked scan which costs
 * less than starting workers.  Must be called for the partitioned table,
 * once it has its paths.  Does nothing if the query has no order or another
 * table.
 */
extern void skx_plan_drop_partial_paths(PlannerInfo *root, RelOptInfo *rel);

/*
 * Returns a partial copy of a path that has an order and scans by `index`.
 * `size` is the size of the path's struct in bytes.  Returns NULL if it
 * cannot be divided, or if the rows that are fetched of it are not worth
 * several processes.
 */
extern Path *skx_plan_partial_path(PlannerInfo *root, RelOptInfo *rel,
								   const Path *whole, Size size,
								   const IndexPath *index);

/* plan_explain.c : what EXPLAIN (VERBOSE) shows of scans of an index */

/* Shows the settings of reading, and these counts. */
extern void skx_plan_explain_counts(const SkxScanReads *reads,
									struct ExplainState *es);

/*
 * Returns the number of index pages that a scan is expected to read as an
 * Integer, a member of custom_private.
 */
extern Node *skx_plan_expected_pages(double pages);

/* Shows a result of skx_plan_expected_pages(), if EXPLAIN is VERBOSE. */
extern void skx_plan_explain_blocks(Node *estimate, ExplainState *es);

/*
 * Shows how many rows a scan is asked for, if EXPLAIN is VERBOSE; nothing if
 * rows is 0, which means that it is not known.
 */
extern void skx_plan_explain_limit(uint64 rows, ExplainState *es);

/*
 * Returns true if LIMIT and OFFSET are known although the scan was not run:
 * EXPLAIN is without ANALYZE, and both are constants, or OFFSET is missing.
 * They are the members `limit` and `limit` + 1 of custom_exprs.
 */
extern bool skx_plan_limit_is_known(const List *exprs, int limit,
									const ExplainState *es);

/*
 * plan_explain_server.c : installs a hook that shows the reads of the server's
 * own index scans, from PostgreSQL 18 on.
 */
extern void skx_plan_explain_init(void);

/*
 * plan_ordered.c : paths in the order of a column beside the text, put into
 * a custom scan (plan_ordered_scan.c)
 */

/*
 * Fills in how the keys of a column (from 0) are made.  Returns false if it
 * has no keys.
 */
extern bool skx_plan_fill_key_column(const IndexOptInfo *index, int column,
									 struct SkxKeyColumn *keys);

/*
 * Returns true if the column (from 0) has keys, each of which tells its
 * value.
 */
extern bool skx_plan_has_keys(const IndexOptInfo *index, int column);

/*
 * Returns true if the column (from 0) has keys in all segments, made as it
 * then fills in *keys.  May read the index.
 */
extern bool skx_plan_has_order(PlannerInfo *root, const IndexOptInfo *info,
							   int column, struct SkxKeyColumn *keys);

/*
 * Adds custom paths in the order of the query's first sort key, if that is a
 * column of one of the table's skipidx indexes.
 */
extern void skx_plan_add_by_columns(PlannerInfo *root, RelOptInfo *rel);

/*
 * Charges scans of other indexes in the order that the query has, up to a
 * limit, if sorting what a skipidx index finds costs less in memory.
 */
extern void skx_plan_charge_order(PlannerInfo *root, RelOptInfo *rel);

/*
 * plan_columns.c : adds paths that take all columns that the query needs
 * from an index alone, as a custom scan (plan_columns_scan.c)
 */
extern void skx_plan_add_column_scans(PlannerInfo *root, RelOptInfo *rel);

/* plan_ordered_ties.c : rows with equal keys, sorted by the column */

/* The state of an ordered scan whose keys several values may share. */
typedef struct SkxOrderedTies SkxOrderedTies;

/*
 * Creates the state for the rows of `child`.  Rows with equal keys are
 * sorted by column `column` of the child (from 1).
 */
extern SkxOrderedTies *skx_plan_ordered_ties_create(IndexScanState *child,
													int column, bool descending);

/*
 * Returns the next row, with the child's columns and its tid as a further
 * one, and sets *place to the tid.  Returns NULL at the end.
 */
extern TupleTableSlot *skx_plan_ordered_ties_next(SkxOrderedTies *ties,
												  ItemPointer place);

/* Frees what is sorted, when the child is scanned again and at the end. */
extern void skx_plan_ordered_ties_reset(SkxOrderedTies *ties);

/*
 * plan_plan.c : methods of the path of a ranked scan, and of one in the order
 * of a distance to which values add (plan_sum.h)
 */
extern const CustomPathMethods skx_plan_path_methods;
extern const CustomPathMethods skx_plan_sum_path_methods;

#endif							/* SKX_PLAN_INTERNAL_H */
