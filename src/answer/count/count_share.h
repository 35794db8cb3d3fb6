/*
 * count_share.h
 *	  One count by several processes.
 */
#ifndef SKX_COUNT_SHARE_H
#define SKX_COUNT_SHARE_H

#include "answer/count/count.h"
#include "answer/exec/exec_share.h"

/* Numbers of SkxCountWork. */
#define SKX_COUNT_COUNTERS	4

/* In dynamic shared memory, aligned to 8 bytes. */
struct SkxCountShare
{
	SkxShare	parts;
	pg_atomic_uint64 rows;		/* of the processes that have ended */
	pg_atomic_uint64 work[SKX_COUNT_COUNTERS];	/* of those but the leader */
};

/* Prepares the memory. */
extern void skx_count_share_init(SkxCountShare *share);

/* Lets the same count begin again, when no process is in it. */
extern void skx_count_share_restart(SkxCountShare *share);

/* Adds what this process has counted, and what that took. */
extern void skx_count_share_add(SkxCountShare *share, uint64 rows,
								const SkxCountWork *work);

/*
 * In place of skx_count_rows() for a query that no row matches; true: this is
 * the last process.
 */
extern bool skx_count_share_none(SkxCountShare *share);

/* The number of all processes, when all are done. */
extern uint64 skx_count_share_total(SkxCountShare *share);

/* Adds to `work` what processes other than the leader have done. */
extern void skx_count_share_work(SkxCountShare *share, SkxCountWork *work);

#endif							/* SKX_COUNT_SHARE_H */
