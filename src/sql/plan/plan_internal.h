/*
 * plan_internal.h
 *	  Between the files of plan/.
 */
#ifndef SKX_PLAN_INTERNAL_H
#define SKX_PLAN_INTERNAL_H

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "nodes/supportnodes.h"
#include "port/atomics.h"
#include "read/score/score.h"
#include "sql/am/am.h"
#include "sql/am/am_ask.h"
#include "sql/plan/plan.h"

/*
 * plan_index.c
 *
 * The index that ranks a column: its OID, and the operator `<@>` of its
 * operator class for references of type `type`.  No other index will do than
 * the one of that name, unless this is NIL.  Of a set operation `arms` has those
 * of all arms, if there is more than one, and `others` those that are counted
 * together with the first, ascending: all, if they rank alike, or none.
 */
typedef struct SkxBinding
{
	Oid			type;
	List	   *name;			/* of String */
	Oid			index;
	Oid			operator;
	List	   *arms;			/* of OIDs */
	List	   *others;			/* of OIDs */
	int		   *steps;			/* of plan_origin.c, so far */
} SkxBinding;

/*
 * Among the indexes of the table that `varno` is in `query`, those whose key
 * is `expr`: its columns are of this table and plain (skx_compat_plain_var()).
 * False when there is none.
 */
extern bool skx_plan_choose(Query *query, int varno, Node *expr,
							SkxBinding *binding);

/* Those of the arms but for `index`, if all of them rank by equal options. */
extern List *skx_plan_alike(Oid index, const List *arms);

/*
 * plan_origin.c : the same for an expression of any query level, whose
 * columns are followed to the table that they come from
 *
 * alone: but not out of the query.  below: the expression is one of `query`,
 * which is a part of the other.  False also where it takes too long: a query that
 * is written twice in each of 30 others comes from a billion places.
 */
extern bool skx_plan_find(PlannerInfo *root, bool alone, Node *expr,
						  SkxBinding *binding);
extern bool skx_plan_find_below(PlannerInfo *root, Query *query,
								Node *expr, SkxBinding *binding);

/*
 * plan_context.c : of which query an expression is
 *
 * is_open: is it an unbound right operand of `<@>`?  is_early: the queries
 * around are not known yet. defer: the replacement of `call`, to be bound
 * later.  is_of_exists: the call belongs to an EXISTS, or cannot be told from
 * one that does and would bind to another index; it is not bound now, since it
 * will be simplified again.  simplified: without a query's name, so that nothing
 * is bound or marked and parameters stay what they are; without notices, which
 * come when it is simplified for the plan.
 */
extern Node *skx_plan_simplified(Node *expr);
extern bool skx_plan_is_open(Node *right);
extern bool skx_plan_is_early(PlannerInfo *root, Oid function);
extern Node *skx_plan_defer(PlannerInfo *root, FuncExpr *call);
extern bool skx_plan_is_of_exists(PlannerInfo *root, const FuncExpr *call,
								  const SkxBinding *binding);

/*
 * plan_rows.c
 *
 * correct_rows: makes the planner expect as many rows of the table as its
 * indexes know to match; to be called before other paths are added.
 */
extern void skx_plan_correct_rows(PlannerInfo *root, RelOptInfo *rel,
								  RangeTblEntry *rte);
extern bool skx_plan_is_ours(const IndexOptInfo *index);

/*
 * plan_clause.c
 *
 * is_column: is the operand the column?  is_comparand: can it be the right side
 * of a condition on it, of constants, parameters and columns of other tables?
 * has_operator: is it one of the column's, in its collation?  array: of these
 * elements, of that array type.  null_test: whether the column is [NOT] NULL.
 *
 * first_quals: RestrictInfos, what a condition asks of the first column that it
 * is on, which is filled in; *lossy: more rows have that.
 * matching_clause: a condition as one of the index, or one that it implies, then
 * lossy; NULL when there is none.
 * matching_clauses: those of several.  by_column: in the order of the index's
 * columns.  index_clauses: all of its table, in that order.  takes_more: is
 * there one that the server does not know, in some version?  column_expr: what
 * the index has in a column (from 0).
 */
typedef struct SkxIndexColumn
{
	PlannerInfo *root;
	IndexOptInfo *index;
	int			column;			/* from 0 */
} SkxIndexColumn;

extern bool skx_plan_is_column(const SkxIndexColumn *key, Node *operand);
extern bool skx_plan_is_comparand(const SkxIndexColumn *key, Node *expr);
extern bool skx_plan_has_operator(const SkxIndexColumn *key, Oid operator,
								  Oid collation);
extern Node *skx_plan_array(PlannerInfo *root, List *elements, Oid type,
							Oid collation);
extern RestrictInfo *skx_plan_null_test(const SkxIndexColumn *key,
										NullTestType type);
extern List *skx_plan_first_quals(SkxIndexColumn *key, RestrictInfo *rinfo,
								  bool *lossy);
extern IndexClause *skx_plan_matching_clause(PlannerInfo *root,
											 IndexOptInfo *index,
											 RestrictInfo *rinfo);
extern List *skx_plan_matching_clauses(PlannerInfo *root,
									   IndexOptInfo *index,
									   List *conditions);
extern List *skx_plan_by_column(const IndexOptInfo *index, List *clauses);
extern List *skx_plan_index_clauses(PlannerInfo *root,
									IndexOptInfo *index);
extern bool skx_plan_takes_more(IndexOptInfo *index, List *clauses);
extern Node *skx_plan_column_expr(const IndexOptInfo *index, int column);

/*
 * plan_arrays.c
 *
 * match_element: `value = ANY (column)`, CONTAINS, or `value <> ALL (column)`,
 * DISJOINT, as that comparison of the column with ARRAY[value]; NULL: it is
 * not such.  disjoint: what the condition forbids arrays to have; *lossy: not
 * only they do not meet it.
 */
extern RestrictInfo *skx_plan_match_element(const SkxIndexColumn *key,
											ScalarArrayOpExpr *op,
											int strategy);
extern RestrictInfo *skx_plan_disjoint(const SkxIndexColumn *key,
									   const RestrictInfo *rinfo,
									   bool *lossy);

/*
 * plan_light.c
 *
 * known_query: of `document @@ query`, if it is a constant; NULL: it is not, or
 * the condition is another one.  may_gather: are bits of whole segments gathered
 * for one of them, as known values tell?  `ranked`: by a search in the order of
 * that distance; NULL: by any scan.  light_clauses: those for which none
 * are, and what the others ask for beside that.
 */
extern TSQuery skx_plan_known_query(const RestrictInfo *qual);
extern bool skx_plan_may_gather(const IndexOptInfo *index,
								const List *clauses, const OpExpr *ranked);
extern List *skx_plan_light_clauses(PlannerInfo *root,
									const IndexOptInfo *index,
									const List *clauses);

/*
 * plan_derived.c
 *
 * derive: a condition on the column that holds wherever the table's condition
 * does, and *lossy: not only there; NULL: there is none.  none_of: conditions
 * that together are the table's, NIL: there are none.  is_derived: may it be one
 * that the server does not know?
 */
extern RestrictInfo *skx_plan_derive(const SkxIndexColumn *key,
									 const RestrictInfo *rinfo,
									 bool *lossy);
extern List *skx_plan_none_of(const SkxIndexColumn *key,
							  const RestrictInfo *rinfo);
extern bool skx_plan_is_derived(const RestrictInfo *rinfo);

/*
 * plan_reworded.c
 *
 * reworded: a disjunction of conditions, or conjunctions of such, or a single
 * one, that is true where the condition is, and nowhere else; NULL: there is none
 * in other words.  may_reword: can there be one?
 */
extern RestrictInfo *skx_plan_reworded(PlannerInfo *root,
									   IndexOptInfo *index,
									   const RestrictInfo *rinfo);
extern bool skx_plan_may_reword(const Node *clause);

/*
 * plan_disjunction.c
 *
 * disjunction: what a condition with OR asks of the columns of an index, as one
 * key on the first one; NULL: it is none, or the index does not answer it.  Rows
 * are to be tested all the same.
 * is_answered: does the index alone answer the condition?  untested: conditions
 * but for disjunctions with a query, by which rows are tested at length;
 * ungathered: but for those that bits are gathered for.
 */
extern RestrictInfo *skx_plan_disjunction(PlannerInfo *root,
										  IndexOptInfo *index,
										  RestrictInfo *rinfo);
extern bool skx_plan_is_answered(const IndexOptInfo *index,
								 const IndexClause *clause);
extern List *skx_plan_ungathered(const IndexOptInfo *index,
								 List *clauses);
extern List *skx_plan_untested(const IndexOptInfo *index,
							   List *clauses);

/*
 * plan_plain.c : scans by conditions, in no order, also by a bitmap
 *
 * add_plain: by all, if the server does not take one of them and has made no scan
 * that takes as many; and those for inner sides of nested loops.  add_light:
 * without conditions for which something is gathered before the first row.
 */
extern void skx_plan_add_plain(PlannerInfo *root, RelOptInfo *rel,
							   IndexOptInfo *index);
extern void skx_plan_add_light(PlannerInfo *root, RelOptInfo *rel,
							   IndexOptInfo *index);

/*
 * plan_joined.c
 *
 * add_joined: scans by conditions that join, of which the server does not know
 * one, for inner sides of nested loops.  loops: how often such a scan is run that
 * needs these tables, as the server counts: for each row of the smallest.
 */
extern void skx_plan_add_joined(PlannerInfo *root, RelOptInfo *rel,
								IndexOptInfo *index);
extern double skx_plan_loops(PlannerInfo *root, Relids tables);

/*
 * plan_filter.c : what testing `@@` on rows costs beyond what the server
 * charges
 *
 * value_cost: to look at a value of the index's first column, for each byte in
 * the row and each that is kept elsewhere, in units of cpu_operator_cost; what is
 * computed is taken for kept elsewhere, the least that it is.
 * filter_cost: of a path that is new.  own_filters: conditions with `@@`, for
 * charge_filters, which adds it to the cost of
 * all paths of the table, and compares them; true: one that is charged had
 * seemed to cost less than each of the others, so that some may have been
 * dropped.
 */
extern Cost skx_plan_filter_cost(PlannerInfo *root, RelOptInfo *rel,
								 Path *path);
extern Cost skx_plan_value_cost(PlannerInfo *root,
								const IndexOptInfo *index, double byte,
								double byte_away);
extern List *skx_plan_own_filters(PlannerInfo *root, RelOptInfo *rel);
extern bool skx_plan_charge_filters(PlannerInfo *root, RelOptInfo *rel,
									List *filters);

/*
 * plan_distance.c : what computing a distance from a row costs; false: its
 * left operand is no column of a table that is planned
 */
extern bool skx_plan_distance_cost(SupportRequestCost *request);

/*
 * plan_unknown.c
 *
 * charge_unknown: charges scans in no order of a table that is ranked, and has a
 * limit, for the rows that a query which is not known may find; and for what
 * they save of reading rows that are in memory.
 * is_alone: is it the only table of the query, or a partition of that?
 */
extern void skx_plan_charge_unknown(PlannerInfo *root, RelOptInfo *rel);
extern bool skx_plan_is_alone(const PlannerInfo *root,
							  const RelOptInfo *rel);

/*
 * plan_order.c
 *
 * ordering: the distance that rows have to come by, ascending, to be in the
 * order of the sort key; NULL if there is none, or the index cannot order by
 * it.  is_bound: once the condition is not true for a row, it is true for none
 * with the same distance or a larger one, or with none.  bounded: the distance,
 * by that index, that the condition bounds so; NULL if there is none.
 * needs_score: it is known not to be true for rows without a score.
 * least_score: that of the rows for which such a condition is true, of those with
 * a score; 0: not known.
 */
extern OpExpr *skx_plan_ordering(PlannerInfo *root,
								 const IndexOptInfo *index,
								 const PathKey *key);
extern bool skx_plan_is_bound(Node *clause, const OpExpr *distance);
extern OpExpr *skx_plan_bounded(const IndexOptInfo *index, Node *clause);
extern double skx_plan_least_score(PlannerInfo *root, Node *clause,
								   const OpExpr *distance);
extern bool skx_plan_needs_score(PlannerInfo *root, Node *clause,
								 OpExpr *distance);

/*
 * plan_ties.c
 *
 * sort_ties: what is sorted by a distance of the table alone is sorted by ctid
 * then, where that is possible.  ranked_order: the order of a ranked scan that
 * is known to be in the order of `pathkeys`.
 */
extern void skx_plan_sort_ties(PlannerInfo *root, RelOptInfo *rel,
							   RangeTblEntry *rte);
extern List *skx_plan_ranked_order(PlannerInfo *root,
								   const RelOptInfo *rel, List *pathkeys);

/*
 * plan_early.c
 *
 * is_matching: is the operator, of `family`, that of `document @@ query`?
 * matched: the query of such a condition; NULL if it is none.  is_ranking: is
 * it what the reference ranks by, as far as can be known now?  early_share:
 * how much of its rows a ranked scan returns until it ends with the last one
 * that has a score.
 */
extern bool skx_plan_is_simple(Node *expr);
extern bool skx_plan_is_matching(Oid operator, Oid family);
extern Node *skx_plan_matched(Node *clause, Node *document, Oid family);
extern bool skx_plan_is_ranking(Node *query, Node *ref);
extern double skx_plan_early_share(PlannerInfo *root, RelOptInfo *rel,
								   IndexPath *path);

/* What a custom scan has to know beyond its child. */
typedef struct SkxPlanned
{
	Node	   *count;			/* LIMIT and OFFSET, where they apply */
	Node	   *offset;
	int			extra;			/* rows fetched beyond them */
	Node	   *query;			/* all rows have to match it */
	List	   *bounds;			/* conditions that end the scan */
	List	   *rest;			/* what else discards rows */
} SkxPlanned;

/*
 * plan_plan.c : from a path to a plan
 *
 * child: the Index Scan in the plan of a path.  reduce makes it return the
 * columns that it returned, and those in the expressions, as they are.  limit
 * fills count, offset and extra.  percent: of the limit that is to be fetched.
 */
extern IndexScan *skx_plan_child(Plan *plan);
extern void skx_plan_reduce(IndexScan *child, List *exprs);
extern void skx_plan_limit(PlannerInfo *root, RelOptInfo *rel,
						   CustomPath *path, SkxPlanned *planned);
extern int	skx_plan_percent(PlannerInfo *root, RelOptInfo *rel,
							 const IndexPath *path,
							 const SkxPlanned *planned);

/*
 * plan_rivals.c : ranked scans of partitions that give the rows of a LIMIT,
 * below a custom scan that adds nothing
 *
 * add_rivals: puts it into paths with a LIMIT.  floor: rows with a larger
 * distance are not wanted of any of the scans; false: all are.  add: such a row
 * was given.  begin: a scan does; how many rows it may read ahead at most.
 * bar: nothing was searched for it.
 * set_rivals (plan_scan.c): 1 if it is a ranked scan, which is told, else 0.
 */
typedef struct SkxRivals SkxRivals;

extern void skx_plan_add_rivals(PlannerInfo *root, RelOptInfo *output);
extern bool skx_plan_rivals_floor(const SkxRivals *rivals,
								  float4 *distance);
extern void skx_plan_rivals_add(SkxRivals *rivals, float4 distance);
extern int64 skx_plan_rivals_begin(SkxRivals *rivals);
extern void skx_plan_rivals_bar(SkxRivals *rivals);
extern int	skx_plan_set_rivals(CustomScanState *node, SkxRivals *rivals);

/*
 * plan_count.c : counts of a table's rows, as a custom scan
 * (plan_count_scan.c) in place of the aggregation
 */
extern void skx_plan_count_init(void);

/*
 * Between plan_count.c and plan_facets.c
 *
 * counted_column: what it is `count` of, if that is a
 * column of the table; else NULL.  counts_all: is it `count` of something
 * that no row of the table has NULL in?  by_all: a scan by all of the table's
 * conditions; NULL: the index does not answer them all.  may_recheck: may the
 * index return rows that do not meet a condition?  is_exact: without
 * looking at a row? cost_count: to know which rows of such a scan there are.
 */
extern const Var *skx_plan_counted_column(const RelOptInfo *rel,
										  Node *expr);
extern bool skx_plan_counts_all(PlannerInfo *root, const RelOptInfo *rel,
								Node *expr);
extern IndexPath *skx_plan_by_all(PlannerInfo *root,
								  const RelOptInfo *rel,
								  IndexOptInfo *index);
extern bool skx_plan_may_recheck(const IndexOptInfo *index, int column,
								 const Expr *qual);
extern bool skx_plan_is_exact(const IndexPath *index);
extern Cost skx_plan_cost_count(PlannerInfo *root, RelOptInfo *rel,
								IndexPath *index);

/*
 * plan_facets.c : counts by the values of a column beside the text, or the
 * values alone (SELECT DISTINCT), as a custom scan (plan_facets_scan.c) in
 * place of the aggregation
 *
 * What a column is that the scan returns.
 */
typedef enum SkxFacetOutput
{
	SKX_FACET_VALUE,
	SKX_FACET_COUNT,			/* of rows */
	SKX_FACET_COUNT_VALUES		/* that are not NULL */
} SkxFacetOutput;

extern void skx_plan_add_facets(PlannerInfo *root, RelOptInfo *input,
								RelOptInfo *output);
extern void skx_plan_add_distinct(PlannerInfo *root, RelOptInfo *input,
								  RelOptInfo *output);

/*
 * plan_paths.c
 *
 * take_paths: all of the table's, and partial ones, so that others can be made;
 * offer_paths compares and adds them.  processes: what a leader with so many
 * workers is worth, alone 1.  is_worth: is so much work of an index worth
 * several of them at all?  shared: the same path for each of them, whose work is
 * divided but for what does not cost `divided`; NULL: there are none for an
 * index of so many pages.
 *
 * To start them and to gather takes 5 to 7 ms, and the server's price for it,
 * parallel_setup_cost, is for work on tables.  In a millisecond of one process,
 * of ten million rows, searches did what costs 100 to 300, and counts, which go
 * by bits, mostly 200 to 3,000; less than 30 ms are worth none.
 */
#define SKX_PLANNER_WORTH_SEARCH	10
#define SKX_PLANNER_WORTH_COUNT		25

extern void skx_plan_take_paths(RelOptInfo *rel, List **paths,
								List **partial);
extern void skx_plan_offer_paths(RelOptInfo *rel, List *paths,
								 List *partial);
extern double skx_plan_processes(int workers);
extern bool skx_plan_is_worth(Cost cost, double times);
extern CustomPath *skx_plan_shared(RelOptInfo *rel, const CustomPath *whole,
								   Cost divided, double pages);

/*
 * plan_divided.c : partial paths that are worth it
 *
 * add_divided: of scans in no order.  drop_divided: those of partitions, once
 * the table has its paths, where none of them can be of use.  divided: the
 * same path, of `size` bytes, with an order, for a scan by that index; NULL:
 * what is fetched of it is not worth it, or it cannot be.  shares_limit: can
 * LIMIT and OFFSET be evaluated in workers, and are they the same for each
 * scan?
 */
extern bool skx_plan_shares_limit(PlannerInfo *root);
extern void skx_plan_add_divided(PlannerInfo *root, RelOptInfo *rel);
extern void skx_plan_drop_divided(PlannerInfo *root, RelOptInfo *rel);
extern Path *skx_plan_divided(PlannerInfo *root, RelOptInfo *rel,
							  const Path *whole, Size size,
							  const IndexPath *index);

/* What processes other than the leader have read, in shared memory. */
typedef struct SkxSharedReads
{
	pg_atomic_uint64 counts[SKX_SCAN_READS];
} SkxSharedReads;

/*
 * plan_explain.c : what EXPLAIN (VERBOSE) tells of a scan beyond the server,
 * and with ANALYZE of what it has read
 *
 * estimate: pages of an index that it is expected to read, as a member of
 * custom_private.  blocks tells it, and asked how many rows are asked for (0: it
 * is not known).  is_told_limit: can that be told though the scan was not run,
 * as LIMIT, the member of custom_exprs of that number, and OFFSET, the next one,
 * are constants?  reads tells what the Index Scans below a custom scan have
 * read, and `others` beside them.
 *
 * reads_init prepares the shared memory; reads_leave adds what a worker's Index
 * Scan has read, reads_take what all workers have to the leader's sum.
 */
extern void skx_plan_explain_init(void);
extern Node *skx_plan_estimate(double pages);
extern void skx_plan_explain_blocks(Node *estimate, ExplainState *es);
extern void skx_plan_explain_asked(uint64 rows, ExplainState *es);
extern bool skx_plan_is_told_limit(const List *exprs, int limit,
								   const ExplainState *es);
extern void skx_plan_explain_reads(List *children,
								   const SkxScanReads *others,
								   ExplainState *es);
extern void skx_plan_reads_init(SkxSharedReads *shared);
extern void skx_plan_reads_leave(SkxSharedReads *shared,
								 const IndexScanState *child);
extern void skx_plan_reads_take(SkxSharedReads *shared, SkxScanReads *sum);

/*
 * plan_ordered.c : paths in the order of a column beside the text, put into
 * a custom scan (plan_ordered_scan.c)
 *
 * keys: how those of the column, from 0, are made; false: it has none.  has_keys:
 * has it some that tell its values?  has_order: has it some in all segments, made
 * as *keys tells?  That may read the index.  charge_order:
 * charges scans of other indexes in the order that is asked for, up to a limit,
 * where sorting what an index of ours finds costs less in memory.
 */
extern bool skx_plan_keys(const IndexOptInfo *index, int column,
						  struct SkxKeyColumn *keys);
extern bool skx_plan_has_keys(const IndexOptInfo *index, int column);
extern bool skx_plan_has_order(PlannerInfo *root, const IndexOptInfo *info,
							   int column, struct SkxKeyColumn *keys);
extern void skx_plan_add_by_columns(PlannerInfo *root, RelOptInfo *rel);
extern void skx_plan_charge_order(PlannerInfo *root, RelOptInfo *rel);

/*
 * plan_columns.c : rows of columns that an index has the values of, from that
 * alone, as a custom scan (plan_columns_scan.c)
 */
extern void skx_plan_add_column_scans(PlannerInfo *root, RelOptInfo *rel);

/*
 * plan_ordered_ties.c : rows of one key, sorted by the column
 *
 * next is the next row, with its place behind the child's columns; NULL: there
 * is none.  reset when the child is scanned again, and at the end.
 */
typedef struct SkxOrderedTies SkxOrderedTies;

extern SkxOrderedTies *skx_plan_ties_begin(IndexScanState *child,
										   int column, bool descending);
extern TupleTableSlot *skx_plan_ties_next(SkxOrderedTies *ties,
										  ItemPointer place);
extern void skx_plan_ties_reset(SkxOrderedTies *ties);

extern const CustomPathMethods skx_plan_path_methods;

#endif							/* SKX_PLAN_INTERNAL_H */
