/*
 * count_share.h
 *	  One count by several processes.
 */
#ifndef SKX_COUNT_SHARE_H
#define SKX_COUNT_SHARE_H

#include "answer/count/count.h"
#include "answer/share/share.h"

/* Numbers of SkxCountWork. */
#define SKX_COUNT_COUNTERS	4

/* In dynamic shared memory, aligned to 8 bytes. */
struct SkxCountShare
{
	SkxShare	parts;
	pg_atomic_uint64 rows;		/* of the processes that have ended */
	pg_atomic_uint64 work[SKX_COUNT_COUNTERS];	/* of those but the leader */
};

/*
 * count_share.c
 *
 * init prepares the memory; restart lets the same count begin again, when no
 * process is in it.  rows counts what this process takes; true: it was the last
 * one, and total is the number.  none is the same for a query that no row
 * matches.  work adds what processes other than the leader have done.
 */
extern void skx_count_share_init(SkxCountShare *share);
extern void skx_count_share_restart(SkxCountShare *share);
extern bool skx_count_share_rows(const SkxCountRequest *request,
								 SkxCountWork *work, uint64 *rows);
extern bool skx_count_share_none(SkxCountShare *share);
extern uint64 skx_count_share_total(SkxCountShare *share);
extern void skx_count_share_work(SkxCountShare *share, SkxCountWork *work);

#endif							/* SKX_COUNT_SHARE_H */
