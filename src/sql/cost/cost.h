/*
 * cost.h
 *	  What an index scan costs, and how many rows match.
 */
#ifndef SKX_COST_H
#define SKX_COST_H

#include "format/rank/rank_score.h"
#include "index/manifest/manifest.h"
#include "index/pending/pending.h"
#include "nodes/pathnodes.h"
#include "read/condition/condition_disjunction.h"
#include "tsearch/ts_type.h"
#include "utils/guc.h"
#include "utils/relcache.h"

/* The index, as the planner's caller has opened it. */
typedef struct SkxCostIndex
{
	Relation	rel;			/* NULL: it is not read */
	SkxRankOptions options;		/* zeroes: it is not read */
} SkxCostIndex;

/* What amcostestimate tells. */
typedef struct SkxCostEstimate
{
	Cost		startup;
	Cost		total;
	Selectivity selectivity;
	double		correlation;
	double		first;			/* pages that are read before the first row */
	double		pages;			/* all of them */
} SkxCostEstimate;

/*
 * cost_words.c, cost_scan.c, cost_ranked.c
 *
 * readable: may the index be read while a query is planned?  Not where there
 * is none yet; and where neither kind of scan is allowed anyway, one that is
 * damaged should not be in the way.
 * share: how much of the table a condition (RestrictInfo) on a column (from 0)
 * of a whole index is met by, if the index knows its words better than ANALYZE
 * does; or how much of it has a score above that by a distance (OpExpr), and a
 * word of its query.  Below 0: not known.
 * length: words of a document, on average.
 * first: where all rows are wanted, about so many, how many of them the first
 * search is for.
 */
extern bool skx_cost_readable(const IndexOptInfo *info);
extern void skx_cost_estimate(PlannerInfo *root, IndexPath *path,
							  double loop_count, const SkxCostIndex *index,
							  SkxCostEstimate *estimate);
extern double skx_cost_share(PlannerInfo *root, const SkxCostIndex *index,
							 Node *clause, int column, double score);
extern double skx_cost_length(PlannerInfo *root, Relation index);
extern uint64 skx_cost_first(double rows);

/* cost_query.c : what a key for conditions on several columns asks; NULL: other */
extern const SkxDisjunction *skx_cost_disjunction(const IndexOptInfo *index,
												  const IndexClause *clause);

/*
 * cost_rows.c : how far a column of the index (from 0) follows the order of the
 * table: 1 wholly, -1 against it, 0 not at all, or it is not known
 */
extern double skx_cost_follows(PlannerInfo *root,
							   const IndexOptInfo *index, int column);

/*
 * cost_documents.c : about how many documents match, live or dead, by what all
 * segments know of the words; of pending ones, how many do
 */
extern uint64 skx_cost_documents(Relation index, TSQuery query);

/*
 * cost_prices.c : what reading a page costs, by tablespace (0: the database's);
 * its settings, for _PG_init
 *
 * with: skipidx.tablespace_costs with such an entry.
 * reading: so many pages of all there are, where neighbours come in an order.
 */
typedef struct SkxCostPrices
{
	double		forward;
	double		backward;
	double		random;
} SkxCostPrices;

extern void skx_cost_prices(Oid tablespace, SkxCostPrices *prices);
extern char *skx_cost_prices_with(Oid tablespace, const SkxCostPrices *prices);
extern double skx_cost_reading(double pages, double all, double ordered,
							   double random);

/* Settings: prices, those of tablespaces as text, and its hooks. */
#define SKX_COST_PRICE_NONE		(-1.0)

extern double skx_cost_prices_forward;
extern double skx_cost_prices_backward;
extern double skx_cost_prices_random;
extern char *skx_cost_prices_setting;
extern bool skx_cost_prices_check(char **value, void **extra,
								  GucSource source);
extern void skx_cost_prices_assign(const char *value, void *extra);

/* Sizes of an index, found once while a statement is planned. */
typedef struct SkxPlannedSizes
{
	SkxView    *view;
	SkxPendingTotals pending;
} SkxPlannedSizes;

/*
 * cost_planned.c : found once while a statement is planned
 *
 * keep: what a path was estimated to read, which it has no room for; pages:
 * that, of all rows, or before the first one.  value: of an expression without
 * columns; NULL if it cannot be known.  sizes: the caller has an active
 * snapshot.  close: the statement's paths have been made, and no index is read
 * any more for it; what is asked for later is read anew.
 */
extern void skx_cost_planned_close(PlannerInfo *root);
extern void skx_cost_planned_keep(PlannerInfo *root, const IndexPath *path,
								  const SkxCostEstimate *estimate);
extern double skx_cost_planned_pages(PlannerInfo *root, const IndexPath *path,
									 bool first);
extern Const *skx_cost_planned_value(PlannerInfo *root, Node *expr);
extern const SkxPlannedSizes *skx_cost_planned_sizes(PlannerInfo *root,
													 Relation index);

/*
 * Between these the client gets no message below a warning: what is evaluated
 * in addition to the server's own evaluation does not repeat its notices (of
 * stop words, for one).  begin returns what end is given.
 */
extern int	skx_cost_quiet_begin(void);
extern void skx_cost_quiet_end(int level);

#endif							/* SKX_COST_H */
