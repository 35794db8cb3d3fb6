/*
 * plan_reading.c
 *	  Charges for pages of the table that a path does not read.
 *
 * The server has one price for a page of the table, whether it is in memory or
 * not.  So whatever saves pages seems to be worth much work.  Examples are a
 * bitmap of very many rows, counting values in lists, and sorting rows in
 * place of a search that knows their order.  A table that fits into memory is
 * taken to be there, and pages save little.  Such plans are charged for what
 * they do not save.
 *
 * The server also charges only a tenth of an operator for a row that goes into
 * a bitmap.  Mostly the bitmap does not have its page yet.  Then it takes an
 * entry of a hash table, which grows, and is sorted in the end.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_reading.h"
#include "utils/spccache.h"

/*
 * Costs in units of cpu_operator_cost (6.5 ns), of 100,000 rows on 10,000
 * pages in memory.
 *
 * SKX_BITMAP_ENTRY_COST is an entry for a page.  40,319 rows on 10,321 pages
 * took 1.72 ms, 9,979 on 6,581 .58 ms, 1,000 on 880 .08 ms, and 9,999 on 1,042
 * .24 ms.
 *
 * SKX_BITMAP_PAGE_COST is what a page of the table takes more than in a plain
 * scan. 1,835 pages took .94 ms and 880 .39 ms, where the same rows took .48
 * and .23 ms.
 *
 * SKX_BITMAP_FETCH_COST is fetching a row from its page.
 */
#define SKX_BITMAP_ENTRY_COST	10
#define SKX_BITMAP_PAGE_COST		25
#define SKX_BITMAP_FETCH_COST	46

/* Number of pages that are mostly in the processor's caches. */
#define SKX_BITMAP_CACHED_PAGES	16384.0

/* Returns the number of entries that all parts of a bitmap make. */
static double
skx_plan_bitmap_entries(PlannerInfo *root, const RelOptInfo *rel, Path *bitmap)
{
	List	   *parts;
	double		entries = 0;
	ListCell   *lc;

	check_stack_depth();
	if (IsA(bitmap, IndexPath))
	{
		const IndexPath *path = (const IndexPath *) bitmap;

		return index_pages_fetched(clamp_row_est(path->indexselectivity *
												 rel->tuples), rel->pages,
								   path->indexinfo->pages, root);
	}
	parts = IsA(bitmap, BitmapOrPath) ? ((BitmapOrPath *) bitmap)->bitmapquals :
		((BitmapAndPath *) bitmap)->bitmapquals;
	foreach(lc, parts)
		entries += skx_plan_bitmap_entries(root, rel, lfirst(lc));
	return entries;
}

Cost
skx_plan_reading_part(const RelOptInfo *rel, Cost fetching, Selectivity share)
{
	return Max(fetching - share * rel->tuples *
			   (cpu_tuple_cost + rel->baserestrictcost.per_tuple), 0);
}

SkxReadingCost
skx_plan_scan_reading_cost(const RelOptInfo *rel, const IndexPath *scan,
						   Cost charged, double share)
{
	const Path *path = &scan->path;
	SkxReadingCost reading;

	reading.cost = path->startup_cost +
		share * (path->total_cost - path->startup_cost);
	reading.reading = share *
		skx_plan_reading_part(rel, path->total_cost - charged -
							  scan->indextotalcost, scan->indexselectivity);
	return reading;
}

IndexPath *
skx_plan_fewest_rows_part(const Path *path, Relids outer)
{
	const BitmapAndPath *both;
	IndexPath  *fewest = NULL;
	ListCell   *lc;

	if (!IsA(path, BitmapHeapPath) ||
		!IsA(((const BitmapHeapPath *) path)->bitmapqual, BitmapAndPath))
		return NULL;
	both = (const BitmapAndPath *) ((const BitmapHeapPath *) path)->bitmapqual;
	foreach(lc, both->bitmapquals)
	{
		IndexPath  *part = lfirst(lc);

		if (IsA(part, IndexPath) && part->indexinfo->amhasgettuple &&
			part->indexorderbys == NIL &&
			bms_equal(PATH_REQ_OUTER(&part->path), outer) &&
			(fewest == NULL ||
			 part->indexselectivity < fewest->indexselectivity))
			fewest = part;
	}
	return fewest;
}

/*
 * Returns the cost of fetching a row from a page in memory.  Pages that a
 * processor's caches do not hold take longer: .3 us in a table of 10,000
 * pages, 1.3 us in one of 128,000.
 */
static double
skx_plan_row_fetch_cost(const RelOptInfo *rel)
{
	return SKX_BITMAP_FETCH_COST * cpu_operator_cost *
		(1 + log2(Max(rel->pages / SKX_BITMAP_CACHED_PAGES, 1)));
}

/*
 * Returns the share (0 to 1) of the price of a page that is not due if the
 * table is in memory.  It is all but the cost of fetching a row if the table
 * takes up to half of the cache, and falls with larger tables.
 */
static double
skx_plan_cached_fraction(const RelOptInfo *rel)
{
	double		random;
	double		fetch = skx_plan_row_fetch_cost(rel);
	double		cached = 2 - 2.0 * rel->pages / Max(effective_cache_size, 1);

	get_tablespace_page_costs(rel->reltablespace, &random, NULL);
	return random <= fetch ? 0 :
		(1 - fetch / random) * Max(Min(cached, 1), 0);
}

Cost
skx_plan_unsaved_charge(const RelOptInfo *rel, const SkxReadingCost *path,
						const SkxReadingCost *other)
{
	double		share = skx_plan_cached_fraction(rel);

	if (other->cost - share * other->reading >=
		path->cost - share * path->reading)
		return 0;
	return Max(other->reading - path->reading, 0) * share;
}

Cost
skx_plan_bitmap_cost(PlannerInfo *root, const RelOptInfo *rel,
					 const Path *path)
{
	Path	   *bitmap;
	Selectivity share;
	Cost		entering;

	if (!IsA(path, BitmapHeapPath))
		return 0;
	bitmap = ((const BitmapHeapPath *) path)->bitmapqual;
	cost_bitmap_tree_node(bitmap, &entering, &share);
	return cpu_operator_cost *
		(SKX_BITMAP_ENTRY_COST * skx_plan_bitmap_entries(root, rel, bitmap) +
		 SKX_BITMAP_PAGE_COST * index_pages_fetched(clamp_row_est(share *
																  rel->tuples),
													rel->pages, 0, root));
}

Cost
skx_plan_bitmap_unsaved_charge(const RelOptInfo *rel, const Path *path,
							   Cost charged, const IndexPath *scan,
							   Cost charged_scan, double loops)
{
	SkxReadingCost both = {path->total_cost * loops, 0};
	SkxReadingCost one = skx_plan_scan_reading_cost(rel, scan, charged_scan,
													1);
	Selectivity share;
	Cost		entering;

	Assert(IsA(path, BitmapHeapPath));
	cost_bitmap_tree_node(((const BitmapHeapPath *) path)->bitmapqual,
						  &entering, &share);
	both.reading = loops *
		skx_plan_reading_part(rel, path->total_cost - charged - entering,
							  share);
	return skx_plan_unsaved_charge(rel, &both, &one) / loops;
}
