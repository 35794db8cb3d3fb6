/*
 * worker.h
 *	  Background workers for indexes, and records of operations that workers
 *	  and other processes have carried out.
 */
#ifndef SKX_WORKER_H
#define SKX_WORKER_H

#include "datatype/timestamp.h"
#include "postmaster/bgworker.h"
#include "utils/relcache.h"

/* Largest value of skipidx.max_workers. */
#define SKX_WORKERS_MAX	16

/* Number of operations of which the server has records. */
#define SKX_WORKER_RECORDS	24

/* worker_settings.c */
extern int	skx_worker_max;		/* skipidx.max_workers */
extern int	skx_worker_rate;	/* skipidx.merge_rate_limit, kB/s */
extern int	skx_worker_log_min; /* skipidx.log_min_duration, ms */

/*
 * Sets settings of the server that must not have their configured values in a
 * background worker, such as timeouts of statements.
 */
extern void skx_worker_set_settings(void);

/* Name of the C function that a worker runs, which is in am/. */
#define SKX_WORKER_MAIN		"skx_am_worker_main"

/*
 * The work of a worker.  An index has at most one worker that flushes, and one
 * that does other work.
 */
typedef enum SkxWorkerDuty
{
	SKX_WORKER_FLUSH,
	SKX_WORKER_MERGE,
	SKX_WORKER_SHRINK			/* merges, then gives back the end of the
								 * file; for skx_worker_request() only */
} SkxWorkerDuty;

/* worker_ask.c : requests for workers */

/*
 * Requests a worker for the index.  If the index has one, that looks for work
 * once more before it ends.  Returns false if no worker can come: all are
 * busy, the server has no process, or the last worker has failed a moment ago.
 * Also returns false if no other process can see the index as this one does:
 * it is temporary, or made by this transaction.  Costs one LWLock.
 */
extern bool skx_worker_request(Relation index, SkxWorkerDuty duty);

/*
 * Returns true if another process could open the index, and would see the same
 * file.
 */
extern bool skx_worker_can_see_index(Relation index);

/*
 * Requests a background worker from the server, which runs `function` of this
 * library with `arg`.  `extra` is `size` bytes for its bgw_extra.  *handle is
 * set unless `handle` is NULL.  Returns false if the server has no free
 * process.
 */
extern bool skx_worker_launch(const char *function, Datum arg,
							  const void *extra, Size size,
							  BackgroundWorkerHandle **handle);

/*
 * The same for a worker that may begin before recovery has ended, on a standby
 * too.  This process is told of its end if `handle` is not NULL.
 */
extern bool skx_worker_launch_early(const char *function, Datum arg,
									BackgroundWorkerHandle **handle);

/* Pause before the server starts a registered worker again, in s. */
#define SKX_WORKER_RESTART_S	60

/*
 * Has the server start such a worker with it, when it preloads the library.
 * It is started again if it fails.
 */
extern void skx_worker_register(const char *function);

/*
 * Returns true if a process wants the database for itself.  Called by a worker
 * in a transaction.
 */
extern bool skx_worker_database_wanted(Oid database);

/* The task of a worker, which it gets in bgw_extra. */
typedef struct SkxWorkerTask
{
	Oid			database;
	Oid			index;
	uint32		duty;			/* SkxWorkerDuty, without SHRINK */
	uint32		slot;			/* number of the slot kept for it */
	uint32		ticket;			/* which use of the slot */
} SkxWorkerTask;

/*
 * worker_slots.c : slots of workers in shared memory
 *
 * Functions up to skx_worker_failed() are called by the worker itself, all but
 * the first while it has a slot.
 */

/*
 * Takes the slot that was kept for the worker.  Returns false if it has come
 * too late.  The slot is given up when the process ends.
 */
extern bool skx_worker_take_slot(const SkxWorkerTask *task);

/*
 * Returns true if the worker was requested once more since it last called
 * this.  If not, gives up its slot at once.
 */
extern bool skx_worker_was_requested(void);

/* Returns true if a request since the last call was SKX_WORKER_SHRINK. */
extern bool skx_worker_must_shrink(void);

/*
 * Notes that the worker only waits from then on, so that another may work.
 * Returns false, with nothing noted, if too many others wait.
 */
extern bool skx_worker_pause(void);

/*
 * Notes that the worker works again after a pause.  Returns false, with
 * nothing noted, if as many workers as allowed are working.
 */
extern bool skx_worker_resume(void);

/*
 * Like skx_worker_resume(), but only if the worker was requested once more
 * since its last skx_worker_was_requested().  The request is forgotten then.
 * Returns false, with nothing noted, otherwise.
 */
extern bool skx_worker_resume_if_requested(void);

/*
 * Gives up the slot of a worker that has failed, if it has one.  The index
 * gets no worker for a while.
 */
extern void skx_worker_failed(void);

/* Returns true if the process is a worker that has a slot. */
extern bool skx_worker_is_running(int pid);

/*
 * Maps the shared memory of workers into this process.  Called before a page
 * is locked, since the first use of that memory must not come later.
 */
extern void skx_worker_attach(void);

/*
 * worker_records.c : records of operations, running and finished
 *
 * A process has one operation under way at most.  Functions that note
 * something do nothing if the process has none, or if a newer operation has
 * taken its record.
 */

/* What has begun an operation. */
typedef enum SkxWorkerRequester
{
	SKX_REQUESTER_FUNCTION,		/* an SQL function */
	SKX_REQUESTER_INSERT,
	SKX_REQUESTER_VACUUM,
	SKX_REQUESTER_WORKER		/* a background worker */
} SkxWorkerRequester;

/* State of an operation. */
typedef enum SkxWorkerState
{
	SKX_RECORD_RUNNING,
	SKX_RECORD_DONE,
	SKX_RECORD_FAILED
} SkxWorkerState;

/* Phase of an operation. */
typedef enum SkxWorkerPhase
{
	SKX_PHASE_DOCUMENTS,		/* reads documents, in table order */
	SKX_PHASE_TERMS,			/* writes terms with their postings */
	SKX_PHASE_PUBLISH			/* makes the result part of the index */
} SkxWorkerPhase;

/* The record of an operation. */
typedef struct SkxWorkerRecord
{
	uint64		number;			/* from 1 on; 0: the record is empty */
	Oid			database;
	Oid			index;
	int			pid;
	uint8		operation;		/* SKX_OPERATION_* */
	uint8		requester;		/* SkxWorkerRequester */
	uint8		state;			/* SkxWorkerState */
	uint8		phase;			/* SkxWorkerPhase */
	int32		segments;		/* inputs of a merge; 0: a flush */
	uint64		documents;		/* of these segments, or moved by the flush */
	uint64		nread;			/* bytes of the segments, or of the pending
								 * documents */
	uint64		nwritten;		/* bytes written so far */
	uint64		nlogged;		/* bytes of WAL so far */
	uint64		progress;		/* progress of the phase: documents, postings
								 * or bytes */
	uint64		progress_total; /* `progress` at its end; 0: not known */
	TimestampTz started;
	TimestampTz ended;
} SkxWorkerRecord;

/* Begins a record, of an operation (SKX_OPERATION_*) of this process. */
extern void skx_worker_record_begin(Relation index, uint8 operation,
									SkxWorkerRequester asker);

/*
 * Notes what the operation reads: the number of segments (0 for a flush),
 * documents and bytes.
 */
extern void skx_worker_record_input(int segments, uint64 documents,
									uint64 nbytes);

/* Adds pages that this process has written. */
extern void skx_worker_record_written(int npages);

/*
 * Adds pages that helpers of the operation have written, and the bytes of WAL
 * of these helpers.
 */
extern void skx_worker_record_helpers(uint64 npages, uint64 nlogged);

/*
 * Notes how far a phase is; total 0: its end is not known.  Calls that tell
 * little new may be left out.
 */
extern void skx_worker_record_progress(SkxWorkerPhase phase, uint64 done,
									   uint64 total);

/*
 * Notes that the operation has ended, SKX_RECORD_DONE or SKX_RECORD_FAILED.
 * Logs one that was done and took skipidx.log_min_duration or longer.
 */
extern void skx_worker_record_end(Relation index, SkxWorkerState state);

/*
 * Copies all records to `records`, oldest first, and returns their number.
 * `records` has capacity for SKX_WORKER_RECORDS.
 */
extern int	skx_worker_records(SkxWorkerRecord *records);

#endif							/* SKX_WORKER_H */
