/*
 * plan_custom.h
 *	  Paths and plans of the custom scan, whatever its kind.
 */
#ifndef SKX_PLAN_CUSTOM_H
#define SKX_PLAN_CUSTOM_H

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* A scan of one table by one index. */
typedef struct SkxTableScan
{
	IndexPath  *path;
	int			column;			/* of the index, if the kind needs one */
	Cost		cost;			/* of what the kind does with it */
	double		rows;			/* that the kind makes of it */
	double		pages;			/* of the index that processes divide */
} SkxTableScan;

/* What a kind wants of an index. */
typedef struct SkxTableScanChooser
{
	/*
	 * Fills in the scan of a table by an index.  `column` is a column of the
	 * table that the query names, or NULL.  Returns false if the index cannot
	 * do it.
	 */
	bool		(*scan) (PlannerInfo *root, RelOptInfo *rel,
						 IndexOptInfo *index, const Var *column,
						 const void *arg, SkxTableScan *scan);
	const void *arg;
} SkxTableScanChooser;

/* The scans of all tables of a query, one each. */
typedef struct SkxTableScans
{
	List	   *paths;			/* of IndexPath */
	List	   *columns;		/* integers: the column of each path's index */
	Cost		cost;			/* sums of all scans */
	double		rows;
	double		pages;
} SkxTableScans;

/*
 * Returns true if the index is one of skipidx that exists, and has all rows
 * that the query needs.
 */
extern bool skx_plan_is_usable(const IndexOptInfo *index);

/*
 * Adds the cheapest scan of a table, or of each member if it has partitions or
 * children.  `column` is a column of the table, or NULL.  Returns false if one
 * of the tables has no scan.
 */
extern bool skx_plan_scan_tables(PlannerInfo *root, RelOptInfo *rel,
								 const Var *column,
								 const SkxTableScanChooser *want,
								 SkxTableScans *all);

/*
 * Returns a custom path above index paths.  It has rows, costs, order and
 * target of `rows`, and is for one process.
 */
extern CustomPath *skx_plan_custom_path(const Path *rows, List *scans,
										List *private,
										const CustomPathMethods * methods);

/*
 * Returns the Index Scan in the plan of an index path, also below a Result.
 */
extern IndexScan *skx_plan_index_scan_child(Plan *plan);

/*
 * Returns the Index Scans of these plans, which return no columns and must
 * have no conditions left.
 */
extern List *skx_plan_make_count_children(List *plans);

/*
 * Returns skx_plan_expected_pages() of the pages that all scans of a path
 * read.
 */
extern Node *skx_plan_estimate_path_pages(PlannerInfo *root,
										  const CustomPath *path);

/*
 * Returns the plan of a custom path, for a table or, with a relid of 0, for
 * something above tables.  Its scan tuple has one column for each
 * of `exprs`.  Where one of these is the very expression of the output, the
 * server replaces the latter by the column.
 */
extern CustomScan *skx_plan_custom_scan(const CustomPath *path, Index relid,
										List *tlist, List *children,
										List *exprs,
										const CustomScanMethods *methods);

#endif							/* SKX_PLAN_CUSTOM_H */
