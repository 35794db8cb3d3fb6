/*
 * plan_reading.h
 *	  Charges for plans that save reading the table, since a table in memory
 *	  costs little to read.
 */
#ifndef SKX_PLAN_READING_H
#define SKX_PLAN_READING_H

#include "nodes/pathnodes.h"

/* The cost of a path, and the part of it that pays for reading the table. */
typedef struct SkxReadingCost
{
	Cost		cost;
	Cost		reading;
} SkxReadingCost;

/* plan_reading.c : charges for pages of a table that a path does not read */

/*
 * Returns the part of a fetching cost that pays for reading pages.
 * `fetching` is what a scan pays for fetching `share` (0 to 1) of the table's
 * rows.  The result is that less the CPU cost of these rows, at least 0.
 */
extern Cost skx_plan_reading_part(const RelOptInfo *rel, Cost fetching,
								  Selectivity share);

/*
 * Returns the cost of fetching `share` (0 to 1) of the rows of an index
 * scan, and how much of it pays for reading the table.  `charged` is the
 * part of the path's total cost that was added to the server's own cost.
 */
extern SkxReadingCost skx_plan_scan_reading_cost(const RelOptInfo *rel,
												 const IndexPath *scan,
												 Cost charged, double share);

/*
 * Returns the charge for a path that reads less of the table than another
 * one.  The charge is 0 unless the other path would cost less with the table
 * in memory.  It is the price of the pages that the path saves, but for
 * fetching a row from each.  It falls to 0 as the table grows from half of
 * effective_cache_size to all of it.
 */
extern Cost skx_plan_unsaved_charge(const RelOptInfo *rel,
									const SkxReadingCost *path,
									const SkxReadingCost *other);

/*
 * Returns what a bitmap scan costs beyond the server's estimate: an entry
 * for each page in each part of the bitmap, and work for each page that is
 * fetched.  Returns 0 for any other path.
 */
extern Cost skx_plan_bitmap_cost(PlannerInfo *root, const RelOptInfo *rel,
								 const Path *path);

/*
 * Returns the part that finds the fewest rows of a bitmap scan whose bitmap
 * is a BitmapAnd.  Only index scans count that need exactly the outer tables
 * `outer`, and that can also run without a bitmap.  Returns NULL if the path
 * is no such bitmap scan, or has no such part.
 */
extern IndexPath *skx_plan_fewest_rows_part(const Path *path, Relids outer);

/*
 * Returns the charge for each of `loops` runs of a bitmap scan, compared by
 * skx_plan_unsaved_charge() with one run of an index scan.  `path` must be a
 * BitmapHeapPath.  `charged` and `charged_scan` are the parts of both total
 * costs that were added to the server's own cost.
 */
extern Cost skx_plan_bitmap_unsaved_charge(const RelOptInfo *rel,
										   const Path *path, Cost charged,
										   const IndexPath *scan,
										   Cost charged_scan,
										   double loops);

#endif							/* SKX_PLAN_READING_H */
