/*
 * count_share.h
 *	  One count by several processes.
 */
#ifndef SKX_COUNT_SHARE_H
#define SKX_COUNT_SHARE_H

#include "answer/count/count.h"
#include "answer/exec/exec_share.h"

/*
 * The state that the processes of a count share.  It lies in dynamic shared
 * memory, aligned to 8 bytes.
 */
struct SkxCountShared
{
	SkxExecShared exec_share;
	pg_atomic_uint64 rows;		/* counted by processes that have ended */
};

/* Initializes the shared memory. */
extern void skx_count_share_init(SkxCountShared *share);

/*
 * Resets the shared memory to repeat the same count.  No process may be using
 * it.
 */
extern void skx_count_share_restart(SkxCountShared *share);

/* Adds the number of rows that this process has counted. */
extern void skx_count_share_add(SkxCountShared *share, uint64 rows);

/*
 * Replaces skx_count_rows() for a query that no row matches.  Returns true in
 * exactly one process.
 */
extern bool skx_count_share_claim_empty(SkxCountShared *share);

/* Returns the sum over all processes, provided that all of them are done. */
extern uint64 skx_count_share_total(SkxCountShared *share);

#endif							/* SKX_COUNT_SHARE_H */
