/*
 * cost_scan.c
 *	  Estimates what an index scan costs.
 *
 * If the planner knows the queries, the document frequencies of their words
 * are looked up in the largest segment.  That costs no more than the scan will
 * spend on its first pages.  cost_model.c computes the work and the number of
 * rows that match from them.  For queries that are not known, the estimate
 * follows from the statistics of ANALYZE.
 *
 * A ranked scan searches for as many of the best rows as the LIMIT wants
 * before it hands out a row.  This search is its startup cost.  Its total cost
 * is that of all rows in order.  The planner interpolates between both
 * linearly, which comes close for the rows in between.
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "sql/cost/cost_internal.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

/*
 * Pages that are read in each segment before words are looked up, and for each
 * word.
 */
#define SKX_COST_PAGES_OPEN	1
#define SKX_COST_PAGES_WORD	2

Cost
skx_cost_time(double ns)
{
	return ns / SKX_COST_OPERATOR * cpu_operator_cost;
}

/*
 * Makes a path of an index-only scan one of a plain index scan.  The planner
 * considers the former if a query needs no column of the table.  It is not
 * possible: nothing pins what VACUUM removes while a TID is handed out, so the
 * visibility map cannot be trusted.  Returns the cost of reading the heap that
 * the planner left out.
 */
static Cost
skx_cost_refuse_index_only(IndexPath *path)
{
	RelOptInfo *rel = path->indexinfo->rel;

	if (path->path.pathtype != T_IndexOnlyScan)
		return 0;
	path->path.pathtype = T_IndexScan;
	return rel->pages * rel->allvisfrac * random_page_cost;
}

/* Returns the pages of the lists of all words, as far as these are known. */
static double
skx_cost_listed(const SkxCosting *c)
{
	double		postings = c->left * c->average;
	int			i;

	for (i = 0; i < c->nlexemes && c->read; i++)
		postings += c->terms[i].df * c->scale;
	return postings / SKX_ESTIMATE_PAGE_POSTINGS;
}

/*
 * Fills in what the scan does, from what can be known of its queries and of
 * the index.
 */
static void
skx_cost_scan(SkxCosting *c, SkxCostScan *scan)
{
	SkxEstimate match;
	int			i;

	skx_cost_queries(c);
	skx_cost_begin(c);
	scan->lookups = c->nlexemes + c->left +
		list_length(c->unknown);
	match = skx_cost_filters(c);
	if (c->nothing || (c->read && (c->filters != NIL || c->conditions != NIL ||
								   c->ranges != NIL)))
		scan->likely = Max(match.likely, 1);
	if (c->path->indexorderbys != NIL)
		skx_cost_ranked(c, &match, scan);
	else
	{
		scan->work[1] = match.work;
		scan->pages[1] = match.pages;
	}
	for (i = 0; i < 2; i++)
	{
		scan->work[i] += c->gathered;
		scan->pages[i] += c->gathered_pages;
	}
	scan->listed = Max(skx_cost_listed(c) + c->gathered_pages,
					   Max(scan->pages[0], scan->pages[1]));
	scan->segments = c->nsegments;
	scan->pending = c->npending;
	scan->pending_pages = c->pending_pages;
	scan->near = skx_cost_near(c);
	scan->charged = c->charged;
	skx_cost_end(c);
}

/*
 * Sets the costs of what the scan does.  Pages that are read to look words up
 * lie anywhere in the file.  Pages of lists are read in order, with gaps where
 * the scan skips.  Returns the number of pages that are read before the first
 * row.
 */
static double
skx_cost_price(const SkxCosting *c, const SkxCostScan *scan,
			   double loop_count, GenericCosts *costs)
{
	const IndexOptInfo *info = c->path->indexinfo;
	bool		ranked = c->path->indexorderbys != NIL;
	double		most = Max(info->pages, 1);
	double		lookups;
	double		pages[2];
	double		lists[2];
	double		work;
	SkxCostPrices prices;
	int			i;

	skx_cost_prices(info->reltablespace, &prices);
	lookups = Min(Max(scan->segments, 1) *
				  (SKX_COST_PAGES_OPEN + SKX_COST_PAGES_WORD * scan->lookups),
				  most);
	for (i = 0; i < 2; i++)
	{
		pages[i] = scan->pages[i];
		if (ranked || i == 1)
			pages[i] += scan->pending_pages;
		pages[i] = Min(pages[i], most - lookups);
		if (loop_count > 1)
			pages[i] = index_pages_fetched(pages[i] * loop_count, info->pages,
										   most, c->root) / loop_count;
	}
	if (loop_count > 1)
		lookups = index_pages_fetched(lookups * loop_count, info->pages,
									  most, c->root) / loop_count;
	for (i = 0; i < 2; i++)
		lists[i] = skx_cost_reading(pages[i],
									scan->listed + scan->pending_pages,
									prices.forward, prices.random);
	work = SKX_COST_SEGMENT * scan->segments + SKX_COST_OPEN * scan->lookups +
		(ranked ? SKX_COST_RANKING : 0);
	costs->indexStartupCost = lookups * prices.random + lists[0] +
		skx_cost_time(work + scan->work[0] +
					  (ranked ? scan->pending * SKX_COST_PENDING : 0));
	costs->indexTotalCost = lookups * prices.random + lists[1] +
		skx_cost_time(work + scan->work[1] +
					  scan->pending * SKX_COST_PENDING) +
		c->rows * (cpu_index_tuple_cost + skx_cost_time(SKX_COST_ROW));
	costs->numIndexPages = lookups + pages[1];
	return lookups + pages[0];
}

/*
 * Returns the correlation from which the planner derives the cost of fetching
 * the rows that is computed here.  Rows without a score come in heap order and
 * cost what those of a bitmap scan do.  Rows with a score are scattered.  Both
 * lie in the share `near` of the table.  The planner has two heap costs, one
 * for rows scattered over the whole table and one for rows next to each other.
 * It interpolates between these by the square of the correlation.
 */
static double
skx_cost_correlation(const SkxCosting *c, const SkxCostScan *scan,
					 Selectivity selectivity)
{
	RelOptInfo *rel = c->path->indexinfo->rel;
	double		rows = clamp_row_est(selectivity * rel->tuples);
	double		pages = c->path->indexinfo->pages;
	double		part = ceil(Max(scan->near * rel->pages, 1));
	double		scored = Min(scan->scored, 1);
	double		random;
	double		sequential;
	double		fetched;
	double		least;
	double		most;

	get_tablespace_page_costs(rel->reltablespace, &random, &sequential);
	most = random *
		index_pages_fetched(rows, rel->pages, pages, c->root);
	least = random + (ceil(selectivity * rel->pages) - 1) * sequential;
	if (most <= least)
		return 1;
	fetched = index_pages_fetched(rows, part, pages, c->root);
	fetched = scored * fetched * random +
		(1 - scored) * skx_cost_reading(fetched, part, sequential, random);
	return sqrt(Max(Min((most - fetched) / (most - least), 1), 0));
}

/* Initializes an estimate for which nothing is known yet. */
static void
skx_cost_clear(SkxCosting *c, PlannerInfo *root, const SkxCostIndex *index)
{
	memset(c, 0, offsetof(SkxCosting, lexemes));
	c->root = root;
	c->index = index;
}

/*
 * Returns true if what the scan does depends on what the planner expects.
 */
static bool
skx_cost_follows_planner(const SkxCosting *c)
{
	return !c->read || c->unknown != NIL || c->ranges != NIL ||
		c->path->indexorderbys != NIL;
}

/*
 * Fills in what the scan of a path does, which is computed once for paths
 * that are equal.
 */
static void
skx_cost_path(SkxCosting *c, Selectivity selectivity, SkxCostScan *scan)
{
	const SkxCostScan *known = skx_cost_planned_scan(c->root, c->path,
													 selectivity);
	MemoryContext context;
	MemoryContext old;

	if (known != NULL)
	{
		*scan = *known;
		return;
	}
	memset(scan, 0, sizeof(SkxCostScan));
	context = AllocSetContextCreate(CurrentMemoryContext, "skipidx cost",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	skx_cost_scan(c, scan);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	skx_cost_planned_keep_scan(c->root, c->path,
							   skx_cost_follows_planner(c) ? selectivity : -1,
							   scan);
}

void
skx_cost_estimate(PlannerInfo *root, IndexPath *path, double loop_count,
				  const SkxCostIndex *index, SkxCostEstimate *estimate)
{
	GenericCosts costs;
	SkxCosting	c;
	SkxCostScan scan;
	Cost		arguments;
	Cost		total;

	memset(&costs, 0, sizeof(costs));
	genericcostestimate(root, path, loop_count, &costs);
	arguments = index_other_operands_eval_cost(root, path->indexorderbys) +
		index_other_operands_eval_cost(root,
									   get_quals_from_indexclauses(path->indexclauses));
	skx_cost_clear(&c, root, index);
	c.path = path;
	/* The server's number of index tuples is for one element of an array. */
	c.rows = clamp_row_est(costs.indexSelectivity *
						   path->indexinfo->rel->tuples);
	c.ndocs = Max(path->indexinfo->tuples, 1);
	c.nsegments = 1;
	c.average = c.ndocs * SKX_COST_UNKNOWN;
	skx_cost_path(&c, costs.indexSelectivity, &scan);
	if (scan.likely > 0)
	{
		costs.indexSelectivity =
			Min(scan.likely / Max(path->indexinfo->rel->tuples, 1), 1);
		c.rows = scan.likely;
	}
	estimate->first = skx_cost_price(&c, &scan, loop_count, &costs);
	arguments += scan.charged;
	estimate->startup = arguments + costs.indexStartupCost;
	total = costs.indexTotalCost + skx_cost_refuse_index_only(path);
	estimate->total = arguments + Max(total, costs.indexStartupCost);
	estimate->selectivity = costs.indexSelectivity;
	estimate->correlation = skx_cost_correlation(&c, &scan,
												 costs.indexSelectivity);
	estimate->pages = costs.numIndexPages;
	skx_cost_planned_keep(root, path, estimate);
}

/*
 * Adds the condition or the ranking query that a clause is.  Returns false if
 * it is not known.
 */
static bool
skx_cost_take(SkxCosting *c, Node *clause, int column)
{
	if (!IsA(clause, RestrictInfo))
	{
		c->ranking = skx_cost_ranking(c, clause);
		return c->ranking != NULL;
	}
	skx_cost_conditions(c, list_make1(clause), column);
	return c->conditions != NIL || c->filters != NIL;
}

double
skx_cost_share(PlannerInfo *root, const SkxCostIndex *index, Node *clause,
			   int column, double score)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx cost",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxCosting	c;
	double		share = -1;

	skx_cost_clear(&c, root, index);
	if (skx_cost_take(&c, clause, column))
	{
		skx_cost_begin(&c);
		if (c.read)
			share = Min((c.ranking != NULL ? skx_cost_above(&c, score) :
						 skx_cost_filters(&c).likely) / c.ndocs, 1);
		skx_cost_end(&c);
	}
	else if (c.nothing)
		share = 0;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return share;
}
