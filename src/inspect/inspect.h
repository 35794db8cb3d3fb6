/*
 * inspect.h
 *	  Opening an index for SQL functions that inspect it.
 */
#ifndef SKX_INSPECT_H
#define SKX_INSPECT_H

#include "utils/relcache.h"

/* The roles that may call a function for an index. */
typedef enum SkxInspectRight
{
	SKX_INSPECT_OWNER,			/* the owner of the index */
	SKX_INSPECT_STATS,			/* also members of pg_read_all_stats */
	SKX_INSPECT_READ			/* the owner, and roles with SELECT on the
								 * table */
} SkxInspectRight;

/* inspect_open.c */

/*
 * Opens an index and its table under AccessShareLock.  Raises an error if
 * oid is not a valid skipidx index that can be read in this session, or if
 * the user lacks the right.  A role without it does not get the locks.
 */
extern void skx_inspect_open(Oid oid, SkxInspectRight right, Relation *heap,
							 Relation *index);

/* Closes both and releases their locks. */
extern void skx_inspect_close(Relation heap, Relation index);

/*
 * Returns true if the user may see what the server has counted for an index.
 * Members of pg_read_all_stats may for every index, and others for an index
 * of this database if they have the privileges of its owner.
 */
extern bool skx_inspect_may_show(Oid database, Oid index);

#endif							/* SKX_INSPECT_H */
