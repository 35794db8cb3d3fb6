/*
 * maint.h
 *	  What VACUUM does to an index: it joins segments and pending lists.
 */
#ifndef SKX_MAINT_MAINT_H
#define SKX_MAINT_MAINT_H

#include "access/genam.h"
#include "utils/relcache.h"

/* maint_vacuum.c */

/*
 * Marks every document for which the callback says so; asks it once for every
 * live one.  Adds to stats->tuples_removed and sets the other counts.
 */
extern void skx_maint_bulkdelete(Relation index, IndexBulkDeleteResult *stats,
								 IndexBulkDeleteCallback callback,
								 void *state);

/* Sets the counts of pages and of live documents. */
extern void skx_maint_count(Relation index, IndexBulkDeleteResult *stats);

#endif							/* SKX_MAINT_MAINT_H */
