/*
 * plan_reading.h
 *	  What reading the table is charged for, where it is not read.
 */
#ifndef SKX_PLAN_READING_H
#define SKX_PLAN_READING_H

#include "nodes/pathnodes.h"

/* What a path costs, and how much of that for reading the table. */
typedef struct SkxReading
{
	Cost		cost;
	Cost		reading;
} SkxReading;

/*
 * plan_reading.c
 *
 * reading: what a scan that fetches such a share of the rows pays for reading,
 * of what it pays for fetching.  scan_reading: such a share of an index scan,
 * whose cost has `charged` beyond the server's.  unsaved: what a path is
 * charged that reads less than another one, where that costs less if the table
 * is in memory. bitmap_cost: what a bitmap scan costs beyond what the server
 * charges.  fewest: of a scan by a bitmap that several have to agree on, the
 * one that finds the fewest rows, needs these other tables and can do without
 * a bitmap; NULL: there is none.  bitmap_unsaved: what such a scan that is run
 * so often is charged each time, as against one run of a scan; charged: what
 * the costs of both have beyond the server's.
 */
extern Cost skx_plan_reading(const RelOptInfo *rel, Cost fetching,
							 Selectivity share);
extern SkxReading skx_plan_scan_reading(const RelOptInfo *rel,
										const IndexPath *scan,
										Cost charged, double share);
extern Cost skx_plan_unsaved(const RelOptInfo *rel, const SkxReading *path,
							 const SkxReading *other);
extern Cost skx_plan_bitmap_cost(PlannerInfo *root, const RelOptInfo *rel,
								 const Path *path);
extern IndexPath *skx_plan_fewest(const Path *path, Relids outer);
extern Cost skx_plan_bitmap_unsaved(const RelOptInfo *rel, const Path *path,
									Cost charged, const IndexPath *scan,
									Cost charged_scan, double loops);

#endif							/* SKX_PLAN_READING_H */
