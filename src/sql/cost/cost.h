/*
 * cost.h
 *	  Estimates of what an index scan costs and of how many rows match.
 */
#ifndef SKX_COST_H
#define SKX_COST_H

#include "format/rank/rank_score.h"
#include "index/manifest/manifest.h"
#include "index/pending/pending.h"
#include "nodes/pathnodes.h"
#include "read/condition/condition_disjunction.h"
#include "tsearch/ts_type.h"
#include "utils/relcache.h"

/* The index of an estimate, as the caller has opened it. */
typedef struct SkxCostIndex
{
	Relation	rel;			/* NULL: the index must not be read */
	SkxRankOptions options;		/* zeroes if rel is NULL */
} SkxCostIndex;

/* The estimate of the scan of a path, as amcostestimate returns it. */
typedef struct SkxCostEstimate
{
	Cost		startup;
	Cost		total;
	Selectivity selectivity;
	double		correlation;
	double		first;			/* pages that are read before the first row */
	double		pages;			/* pages that are read for all rows */
} SkxCostEstimate;

/* cost_words.c, cost_scan.c, cost_ranked.c : estimates while planning */

/*
 * Returns true if the index may be read while a query is planned.  It is
 * false for a hypothetical or empty index, without an active snapshot, and
 * while the index is rebuilt.  It is also false if index scans and bitmap
 * scans are both disabled, so that a damaged index does not keep queries
 * from being planned.
 */
extern bool skx_cost_readable(const IndexOptInfo *info);

/*
 * Estimates what a path costs that is executed loop_count times.  Keeps the
 * estimate for skx_cost_planned_pages().  It makes a path of an index-only
 * scan one of a plain index scan, which is all that the access method can
 * do.
 */
extern void skx_cost_estimate(PlannerInfo *root, IndexPath *path,
							  double loop_count, const SkxCostIndex *index,
							  SkxCostEstimate *estimate);

/*
 * Returns the share of the documents, from 0 to 1, that a clause selects.
 * For a RestrictInfo on a column (from 0), these are the documents that meet
 * it.  For an OpExpr, a distance, these are the documents with at least that
 * score and with a word of its query.  Returns a value below 0 if it is not
 * known: the query is unknown, the condition is a range, or the index is not
 * read.
 */
extern double skx_cost_selectivity(PlannerInfo *root,
								   const SkxCostIndex *index, Node *clause,
								   int column, double score);

/* Returns what the planner charges for a time in ns, all in memory. */
extern Cost skx_cost_of_ns(double ns);

/* Returns the average number of words of a document. */
extern double skx_cost_length(PlannerInfo *root, Relation index);

/*
 * Returns how many rows the first search of a ranked scan looks for, if all
 * rows are wanted and these are about `rows`.
 */
extern uint64 skx_cost_first_search_rows(double rows);

/*
 * Returns how many rows the first search of a ranked scan in that order looks
 * for, if no LIMIT tells and not all rows are wanted.
 */
extern int	skx_cost_first_rows(const PlannerInfo *root,
								const List *pathkeys);

/* cost_query.c */

/*
 * Returns the disjunction that an index clause stands for, if it is one of
 * conditions on several columns; NULL if it is another clause.  The result
 * belongs to the clause.
 */
extern const SkxDisjunction *skx_cost_disjunction(const IndexOptInfo *index,
												  const IndexClause *clause);

/* cost_rows.c */

/*
 * Returns how far a column of the index (from 0) follows the order of the
 * table's rows: 1 wholly, -1 in reverse, 0 not at all or not known.  It is
 * the correlation that ANALYZE has found.
 */
extern double skx_cost_column_correlation(PlannerInfo *root,
										  const IndexOptInfo *index,
										  int column);

/* cost_documents.c */

/*
 * Returns about how many documents match the query, live or dead ones.  Those
 * of segments are estimated from the document frequencies in each segment;
 * pending ones are counted.
 */
extern uint64 skx_cost_documents(Relation index, TSQuery query);

/* cost_prices.c : the costs of reading a page */

/*
 * The cost of reading a page, in the planner's units, by the way of reading.
 */
typedef struct SkxPageReadCosts
{
	double		forward;		/* in ascending order of blocks */
	double		backward;		/* in descending order of blocks */
	double		random;			/* anywhere */
} SkxPageReadCosts;

/*
 * Fills in the prices of a tablespace; 0 is that of the database.  Forward and
 * random ones are seq_page_cost and random_page_cost of the tablespace.  The
 * backward one follows from them, or from the setting below.
 */
extern void skx_cost_page_read_costs(Oid tablespace, SkxPageReadCosts *prices);

/*
 * Returns the cost of reading `pages` of `all` pages in the order of blocks.
 * If all are read, each costs `ordered`; the fewer are read, the closer the
 * price of each comes to `random`.
 */
extern double skx_cost_read_pages(double pages, double all, double ordered,
								  double random);

/*
 * Value of the setting below with which the backward price lies between the
 * two others.  It is the random one where nothing reads ahead.
 */
#define SKX_READ_COST_UNSET		(-1.0)

/*
 * Setting skipidx.backward_read_cost: the backward price, as a multiple of the
 * forward one.
 */
extern double skx_cost_prices_backward;

/* cost_planned.c : facts that are found once while a statement is planned */

/* Sizes of an index. */
typedef struct SkxIndexSizes
{
	SkxView    *view;
	SkxPendingTotals pending;
} SkxIndexSizes;

/*
 * Releases the views of indexes that were read for the statement.  Called
 * when its paths have been made; if sizes are requested later, they are read
 * again.
 */
extern void skx_cost_planned_close(PlannerInfo *root);

/*
 * Keeps how many pages the scan of a path reads, by its estimate, which an
 * IndexPath has no member for.
 */
extern void skx_cost_planned_keep_pages(PlannerInfo *root,
										const IndexPath *path,
										const SkxCostEstimate *estimate);

/*
 * Returns how many pages the scan of a path reads, before its first row if
 * `first`, else for all rows; 0 if that was not kept.
 */
extern double skx_cost_planned_pages(PlannerInfo *root, const IndexPath *path,
									 bool first);

/*
 * Returns the value of an expression without columns; NULL if it cannot be
 * known while planning.  The value is kept while the statement is planned.
 */
extern Const *skx_cost_planned_value(PlannerInfo *root, Node *expr);

/*
 * Returns the sizes of an index, which are read once and kept until
 * skx_cost_planned_close().  The caller must have an active snapshot.
 */
extern const SkxIndexSizes *skx_cost_planned_sizes(PlannerInfo *root,
												   Relation index);

/*
 * Returns the average number of words of a document that was kept by the
 * function below; a value below 0 if none was.  The index need not be open.
 */
extern double skx_cost_planned_length(const PlannerInfo *root, Oid index);

/*
 * Keeps the average number of words of a document while the statement is
 * planned.
 */
extern void skx_cost_planned_keep_length(PlannerInfo *root, Relation index,
										 double length);

/* No column: the index does not know the condition. */
#define SKX_COST_NO_COLUMN	(-1)

/*
 * Returns true if the function below has kept what a condition of a table asks
 * of an index, and sets *column.
 */
extern bool skx_cost_planned_match(const PlannerInfo *root,
								   const IndexOptInfo *index,
								   const RestrictInfo *condition,
								   int *column);

/*
 * Keeps, while the statement is planned, which column of an index (from 0) a
 * condition is one of as it stands, or SKX_COST_NO_COLUMN.
 */
extern void skx_cost_planned_keep_match(const PlannerInfo *root,
										const IndexOptInfo *index,
										const RestrictInfo *condition,
										int column);

/*
 * Keeps messages below a warning from the client, until
 * skx_cost_silence_end().  An expression that is evaluated in addition to the
 * server's own evaluation thus does not repeat its notices, such as those of
 * stop words.  Returns the level for skx_cost_silence_end(); 0 if the client
 * gets no such messages anyway.
 */
extern int	skx_cost_silence_begin(void);

/* Ends what skx_cost_silence_begin() began; an error ends it, too. */
extern void skx_cost_silence_end(int level);

#endif							/* SKX_COST_H */
