/*
 * worker.h
 *	  Background workers of the server's indexes: asking for one, and what
 *	  operations they and others have carried out.
 */
#ifndef SKX_WORKER_H
#define SKX_WORKER_H

#include "datatype/timestamp.h"
#include "postmaster/bgworker.h"
#include "utils/relcache.h"

/* What skipidx.max_workers may be at most. */
#define SKX_WORKERS_MOST	16

/* Operations that the server remembers. */
#define SKX_WORKER_RECORDS	24

/* worker_settings.c */
extern int	skx_worker_max;		/* skipidx.max_workers */
extern int	skx_worker_rate;	/* skipidx.merge_rate_limit, kB/s */
extern int	skx_worker_log_min; /* skipidx.log_min_duration, ms */

/* In a process of ours: not what is set for users' statements. */
extern void skx_worker_settings(void);

/* The name of the C function that a worker runs; am/ has it. */
#define SKX_WORKER_MAIN		"skx_am_worker_main"

/*
 * What a worker is for; an index has at most one that flushes, and one of the
 * others.
 */
typedef enum SkxWorkerDuty
{
	SKX_WORKER_FLUSH,
	SKX_WORKER_MERGE,
	SKX_WORKER_SHRINK			/* merges, and then gives back the end of the
								 * file; only to be asked for */
} SkxWorkerDuty;

/*
 * worker_ask.c
 *
 * Has a worker look after the index, unless one is at it: then that looks once
 * more before it ends.  False: there can be none now, because all workers are
 * busy elsewhere or the server has no process for one, the last one has failed
 * a moment ago, or no other process can see the index as this one does (it is
 * temporary, or made by this transaction).  Costs one LWLock.
 */
extern bool skx_worker_ask(Relation index, SkxWorkerDuty duty);

/* Could another process open the index, and would it see the same file? */
extern bool skx_worker_may_see(Relation index);

/* Asks the server for a process of ours; false: it has none to give. */
extern bool skx_worker_launch(const char *function, Datum arg,
							  const void *extra, Size size,
							  BackgroundWorkerHandle **handle);

/* What a worker was started for.  Fits into bgw_extra. */
typedef struct SkxWorkerTask
{
	Oid			database;
	Oid			index;
	uint32		duty;
	uint32		slot;
	uint32		ticket;
} SkxWorkerTask;

/*
 * worker_slots.c, for the worker itself
 *
 * begin takes the place that was kept for it; false: it has come too late.  It
 * is given up when the process ends.  again: was it asked for once more since
 * it last called this?  If not, the place is free at once.  shrinks: has a
 * request since then been for the end of the file, too?  pause: from now on it
 * only waits, and another may work in its place; false: too many do.  resume:
 * it works again; false: as many as may be do.  called: that, if it was asked
 * for once more, which is noted.  failed: the index gets no worker for a while.
 * is: is that process a worker with a place?  attach: has the first use of what
 * processes share be now, since it must not be while a page is locked.
 */
extern bool skx_worker_begin(const SkxWorkerTask *task);
extern bool skx_worker_again(void);
extern bool skx_worker_shrinks(void);
extern bool skx_worker_pause(void);
extern bool skx_worker_resume(void);
extern bool skx_worker_called(void);
extern void skx_worker_failed(void);
extern bool skx_worker_is(int pid);
extern void skx_worker_attach(void);

/*
 * worker_records.c : operations, running and finished, of any process
 *
 * A process has one under way at most.  started notes its begin, wrote how
 * many pages it has written since, progress how far its phase is (total 0: not
 * known); ended, or failed, its end.
 */
typedef enum SkxWorkerAsker
{
	SKX_ASKER_FUNCTION,
	SKX_ASKER_INSERT,
	SKX_ASKER_VACUUM,
	SKX_ASKER_WORKER
} SkxWorkerAsker;

typedef enum SkxWorkerState
{
	SKX_RECORD_RUNNING,
	SKX_RECORD_DONE,
	SKX_RECORD_FAILED
} SkxWorkerState;

typedef enum SkxWorkerPhase
{
	SKX_PHASE_DOCUMENTS,		/* in the order of the table */
	SKX_PHASE_TERMS,			/* written, with their postings */
	SKX_PHASE_PUBLISH
} SkxWorkerPhase;

typedef struct SkxWorkerRecord
{
	uint64		number;			/* from 1 on; 0: nothing here */
	Oid			database;
	Oid			index;
	int			pid;
	uint8		operation;		/* SKX_OPERATION_* */
	uint8		asker;
	uint8		state;
	uint8		phase;
	int32		segments;		/* merged ones */
	uint64		documents;		/* of them; of a flush, those that moved */
	uint64		nread;			/* bytes of them, or of the pending list */
	uint64		nwritten;		/* bytes so far */
	uint64		nlogged;		/* bytes of WAL so far */
	uint64		done;			/* of the phase: documents, postings or bytes */
	uint64		total;
	TimestampTz started;
	TimestampTz ended;
} SkxWorkerRecord;

extern void skx_worker_started(Relation index, uint8 operation,
							   SkxWorkerAsker asker);
extern void skx_worker_input(int segments, uint64 documents, uint64 nbytes);
extern void skx_worker_wrote(int npages);
extern void skx_worker_helped(uint64 npages, uint64 nlogged);
extern void skx_worker_progress(SkxWorkerPhase phase, uint64 done,
								uint64 total);
extern void skx_worker_ended(Relation index, SkxWorkerState state);

/* All of them, oldest first; room for SKX_WORKER_RECORDS. */
extern int	skx_worker_records(SkxWorkerRecord *records);

#endif							/* SKX_WORKER_H */
