/*
 * count_share.h
 *	  One count by several processes.
 */
#ifndef SKX_COUNT_SHARE_H
#define SKX_COUNT_SHARE_H

#include "answer/count/count.h"
#include "answer/exec/exec_share.h"

/* Number of counters in SkxCountWork. */
#define SKX_COUNT_COUNTERS	4

/*
 * The state that the processes of a count share.  It lies in dynamic shared
 * memory, aligned to 8 bytes.
 */
struct SkxCountShare
{
	SkxShare	parts;
	pg_atomic_uint64 rows;		/* counted by processes that have ended */
	pg_atomic_uint64 work[SKX_COUNT_COUNTERS];	/* SkxCountWork of workers */
};

/* Initializes the shared memory. */
extern void skx_count_share_init(SkxCountShare *share);

/*
 * Resets the shared memory to repeat the same count, except for the counters
 * of work.  No process may be using it.
 */
extern void skx_count_share_restart(SkxCountShare *share);

/*
 * Adds the number of rows that this process has counted.  Adds its work, too,
 * if the process is a worker.
 */
extern void skx_count_share_add(SkxCountShare *share, uint64 rows,
								const SkxCountWork *work);

/*
 * Replaces skx_count_rows() for a query that no row matches.  Returns true in
 * exactly one process.
 */
extern bool skx_count_share_none(SkxCountShare *share);

/* Returns the sum over all processes, provided that all of them are done. */
extern uint64 skx_count_share_total(SkxCountShare *share);

/* Adds the work of the workers to *work. */
extern void skx_count_share_work(SkxCountShare *share, SkxCountWork *work);

#endif							/* SKX_COUNT_SHARE_H */
