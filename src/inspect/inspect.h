/*
 * inspect.h
 *	  Opening an index for a look at it.
 */
#ifndef SKX_INSPECT_H
#define SKX_INSPECT_H

#include "utils/relcache.h"

/* The right that a function needs. */
typedef enum SkxInspectRight
{
	SKX_INSPECT_OWNER,			/* the owner of the index */
	SKX_INSPECT_STATS,			/* also members of pg_read_all_stats */
	SKX_INSPECT_READ			/* the owner, and roles with SELECT on the
								 * table */
} SkxInspectRight;

/*
 * inspect_open.c
 *
 * open opens table and index under AccessShareLock; errors out for what is not
 * a valid skipidx index that can be read here and now, or that the user may not
 * look at.  close gives the locks up.
 */
extern void skx_inspect_open(Oid oid, SkxInspectRight right, Relation *heap,
							 Relation *index);
extern void skx_inspect_close(Relation heap, Relation index);

/*
 * May the user see what the server has counted for an index?  Of one of this
 * database the owner may; of any, members of pg_read_all_stats.
 */
extern bool skx_inspect_shows(Oid database, Oid index);

#endif							/* SKX_INSPECT_H */
