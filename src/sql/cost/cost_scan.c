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
#define SKX_COST_SEGMENT_PAGES	1
#define SKX_COST_WORD_PAGES	2

Cost
skx_cost_of_ns(double ns)
{
	return ns / SKX_COST_OPERATOR_NS * cpu_operator_cost;
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
skx_cost_list_pages(const SkxCostState *c)
{
	double		postings = c->nskipped_words * c->average_df;
	int			i;

	for (i = 0; i < c->nlexemes && c->was_read; i++)
		postings += c->terms[i].df * c->df_scale;
	return postings / SKX_ESTIMATE_PAGE_POSTINGS;
}

/*
 * Fills in what the scan does, from what can be known of its queries and of
 * the index.
 */
static void
skx_cost_scan(SkxCostState *c, SkxCostScan *scan)
{
	SkxEstimate match;
	int			i;

	skx_cost_add_queries(c);
	skx_cost_begin(c);
	scan->lookups = c->nlexemes + c->nskipped_words +
		list_length(c->unknown);
	match = skx_cost_all_conditions(c);
	if (c->is_empty ||
		(c->was_read && (c->filters != NIL || c->conditions != NIL ||
						 c->ranges != NIL)))
		scan->likely_rows = Max(match.likely_docs, 1);
	if (c->path->indexorderbys != NIL)
		skx_cost_ranked(c, &match, scan);
	else
	{
		scan->work[1] = match.find_time;
		scan->pages[1] = match.pages;
	}
	for (i = 0; i < 2; i++)
	{
		scan->work[i] += c->gather_ns;
		scan->pages[i] += c->gather_pages;
	}
	scan->list_pages = Max(skx_cost_list_pages(c) + c->gather_pages,
						   Max(scan->pages[0], scan->pages[1]));
	scan->segments = c->nsegments;
	scan->pending = c->npending;
	scan->pending_pages = c->pending_pages;
	scan->table_fraction = skx_cost_table_fraction(c);
	scan->disjunction_cost = c->disjunction_cost;
	skx_cost_end(c);
}

/*
 * Sets the costs of what the scan does.  Pages that are read to look words up
 * lie anywhere in the file.  Pages of lists are read in order, with gaps where
 * the scan skips.
 */
static void
skx_cost_set_costs(const SkxCostState *c, const SkxCostScan *scan,
				   double loop_count, SkxCostEstimate *estimate)
{
	const IndexOptInfo *info = c->path->indexinfo;
	bool		ranked = c->path->indexorderbys != NIL;
	double		most = Max(info->pages, 1);
	double		lookups;
	double		pages[2];
	double		lists[2];
	double		work;
	double		random;
	double		forward;
	int			i;

	get_tablespace_page_costs(info->reltablespace, &random, &forward);
	lookups = Min(Max(scan->segments, 1) *
				  (SKX_COST_SEGMENT_PAGES + SKX_COST_WORD_PAGES *
				   scan->lookups), most);
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
		lists[i] = skx_cost_read_pages(pages[i],
									   scan->list_pages + scan->pending_pages,
									   forward, random);
	work = SKX_COST_SEGMENT_NS * scan->segments + SKX_COST_LOOKUP_NS *
		scan->lookups +
		(ranked ? SKX_COST_RANKING_NS : 0);
	estimate->startup = lookups * random + lists[0] +
		skx_cost_of_ns(work + scan->work[0] +
					   (ranked ? scan->pending * SKX_COST_PENDING_NS : 0));
	estimate->total = lookups * random + lists[1] +
		skx_cost_of_ns(work + scan->work[1] +
					   scan->pending * SKX_COST_PENDING_NS) +
		c->rows * (cpu_index_tuple_cost + skx_cost_of_ns(SKX_COST_ROW_NS));
	estimate->pages = lookups + pages[1];
	estimate->first = lookups + pages[0];
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
skx_cost_correlation(const SkxCostState *c, const SkxCostScan *scan,
					 Selectivity selectivity)
{
	RelOptInfo *rel = c->path->indexinfo->rel;
	double		rows = clamp_row_est(selectivity * rel->tuples);
	double		pages = c->path->indexinfo->pages;
	double		part = ceil(Max(scan->table_fraction * rel->pages, 1));
	double		scored = Min(scan->scored_fraction, 1);
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
		(1 - scored) * skx_cost_read_pages(fetched, part, sequential, random);
	return sqrt(Max(Min((most - fetched) / (most - least), 1), 0));
}

/* Initializes an estimate for which nothing is known yet. */
static void
skx_cost_init(SkxCostState *c, PlannerInfo *root, const SkxCostIndex *index)
{
	memset(c, 0, offsetof(SkxCostState, lexemes));
	c->root = root;
	c->index = index;
}

/*
 * Returns true if what the scan does depends on what the planner expects.
 */
static bool
skx_cost_follows_planner(const SkxCostState *c)
{
	return !c->was_read || c->unknown != NIL || c->ranges != NIL ||
		c->path->indexorderbys != NIL;
}

/*
 * Fills in what the scan of a path does, which is computed once for paths
 * that are equal.
 */
static void
skx_cost_scan_of_path(SkxCostState *c, Selectivity selectivity,
					  SkxCostScan *scan)
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

/*
 * Returns the share of the table's rows that the planner expects the scan to
 * find, as genericcostestimate() does.
 */
static Selectivity
skx_cost_planner_selectivity(PlannerInfo *root, IndexOptInfo *info,
							 List *quals)
{
	return clauselist_selectivity(root, add_predicate_to_index_quals(info,
																	 quals),
								  info->rel->relid, JOIN_INNER, NULL);
}

void
skx_cost_estimate(PlannerInfo *root, IndexPath *path, double loop_count,
				  const SkxCostIndex *index, SkxCostEstimate *estimate)
{
	List	   *quals = get_quals_from_indexclauses(path->indexclauses);
	Selectivity selectivity =
		skx_cost_planner_selectivity(root, path->indexinfo, quals);
	Cost		arguments =
		index_other_operands_eval_cost(root, path->indexorderbys) +
		index_other_operands_eval_cost(root, quals);
	SkxCostState c;
	SkxCostScan scan;
	Cost		total;

	skx_cost_init(&c, root, index);
	c.path = path;
	/* The server's number of index tuples is for one element of an array. */
	c.rows = clamp_row_est(selectivity * path->indexinfo->rel->tuples);
	c.ndocs = Max(path->indexinfo->tuples, 1);
	c.nsegments = 1;
	c.average_df = c.ndocs * SKX_COST_UNKNOWN_FRACTION;
	skx_cost_scan_of_path(&c, selectivity, &scan);
	if (scan.likely_rows > 0)
	{
		selectivity =
			Min(scan.likely_rows / Max(path->indexinfo->rel->tuples, 1), 1);
		c.rows = scan.likely_rows;
	}
	skx_cost_set_costs(&c, &scan, loop_count, estimate);
	arguments += scan.disjunction_cost;
	total = estimate->total + skx_cost_refuse_index_only(path);
	estimate->total = arguments + Max(total, estimate->startup);
	estimate->startup += arguments;
	estimate->selectivity = selectivity;
	estimate->correlation = skx_cost_correlation(&c, &scan, selectivity);
	skx_cost_planned_keep_pages(root, path, estimate);
}

/*
 * Adds the condition or the ranking query that a clause is.  Returns false if
 * it is not known.
 */
static bool
skx_cost_take_clause(SkxCostState *c, Node *clause, int column)
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
skx_cost_selectivity(PlannerInfo *root, const SkxCostIndex *index,
					 Node *clause, int column, double score)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx cost",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxCostState c;
	double		docs;
	double		share = -1;

	skx_cost_init(&c, root, index);
	if (skx_cost_take_clause(&c, clause, column))
	{
		skx_cost_begin(&c);
		if (c.was_read)
		{
			docs = c.ranking != NULL ? skx_cost_docs_above(&c, score) :
				skx_cost_all_conditions(&c).likely_docs;
			share = Min(docs / c.ndocs, 1);
		}
		skx_cost_end(&c);
	}
	else if (c.is_empty)
		share = 0;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return share;
}
