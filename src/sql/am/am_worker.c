/*
 * am_worker.c
 *	  The work of a background worker: it flushes or merges an index.
 *
 * An insert that finds the pending list too long asks for a worker
 * (am_insert.c), and the server starts it (support/worker/worker_ask.c).
 *
 * Each operation is a transaction of its own.  It gets no xid, except for a
 * moment to make the file shorter.  It has no snapshot, except while it reads
 * the catalog.  So it does not hold back VACUUM.  It locks the index as an
 * insert does, and runs no function of a user.  It stops at once if another
 * process waits for the index or wants the database.  Then the operation is
 * lost, and the next one takes back the pages that it has reserved.
 *
 * If another process has the index, the worker waits a while until it is free
 * again, since there may be no further insert that asks for a worker.  It also
 * waits for another process that flushes or merges.  That process may have
 * read what there is to do before the last of it was added.  If a process
 * wants the database, the worker ends.
 */
#include "postgres.h"

#include "access/xact.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "sql/am/am.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "support/compat/compat.h"
#include "support/throttle/throttle.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

extern PGDLLEXPORT void skx_am_worker_main(Datum arg);

/*
 * How many times to check whether the index is free, every
 * SKX_THROTTLE_CHECK_MS ms.
 */
#define SKX_WORKER_IDLE_CHECKS		100

/*
 * How long to wait for processes that keep the file from getting shorter, in
 * ms.  One of them is the VACUUM that has asked for it.
 */
#define SKX_WORKER_SHRINK_WAIT_MS	10000

typedef struct SkxAmWorker
{
	SkxWorkerTask task;
	SkxAmGuest	guest;
	bool		is_blocked;		/* another process has or wants the index for
								 * itself, so the last step ended; or too many
								 * workers are busy for a next one */
	uint32		blocked_operation;	/* SKX_OPERATION_* that another process
									 * was doing at the last step; or 0 */
	bool		must_shrink;	/* asked to give back the end of the file */
	bool		was_clear;		/* for `must_shrink`: no other process was in
								 * the way once, so it pays to move segments */
	SkxMaintWaitBudget wait_budget; /* for `must_shrink`: what is left of it */
	int			asides_left;	/* for `must_shrink`: merges with
								 * SKX_MOVES_PAST_END that are left */
} SkxAmWorker;

/* Registered at the first use. */
static uint32 skx_am_worker_wait_event = 0;

/* Called every SKX_THROTTLE_CHECK_MS ms while an operation is under way. */
static void
skx_am_worker_check(void *arg)
{
	SkxAmWorker *w = arg;

	skx_am_guest_look();
	InvalidateCatalogSnapshot();
	skx_am_guest_check(&w->guest, skx_worker_max == 0);
}

/*
 * Flushes all pending documents, if the list is too long.  Returns true if
 * there may be more to do.
 */
static bool
skx_am_worker_flush(SkxAmWorker *w, const SkxMaintOptions *options)
{
	if (skx_maint_pending_bytes(w->guest.index) <= options->pending_limit)
	{
		ereport(DEBUG1,
				(errmsg_internal("nothing to flush in index \"%s\": its list is not too long",
								 RelationGetRelationName(w->guest.index))));
		return false;
	}
	if (skx_maint_flush_all(w->guest.index, options, SKX_WAIT_PAGE) > 0)
		return true;
	if (skx_maint_pending_bytes(w->guest.index) > options->pending_limit)
		w->blocked_operation = SKX_OPERATION_FLUSH;
	return false;
}

/* Does one merge if it is due.  Returns true if there may be more to do. */
static bool
skx_am_worker_merge(SkxAmWorker *w, const SkxMaintOptions *options)
{
	SkxMaintStep step = skx_maint_merge_step(w->guest.index, options, 0,
											 SKX_WAIT_PAGE);

	if (step == SKX_STEP_BUSY)
		w->blocked_operation = SKX_OPERATION_MERGE;
	return step == SKX_STEP_DONE;
}

/*
 * Prepares to make the file shorter, if another process has asked for that
 * meanwhile.
 */
static void
skx_am_worker_prepare_shrink(SkxAmWorker *w)
{
	if (!skx_worker_must_shrink())
		return;
	w->must_shrink = true;
	w->was_clear = false;
	skx_maint_wait_budget(&w->wait_budget, SKX_WORKER_SHRINK_WAIT_MS);
	w->wait_budget.wakeup = skx_worker_resume_if_requested;
	w->wait_budget.caller_merges = true;
	w->asides_left = SKX_MOVES_PAST_END_MAX;
}

/*
 * Writes a segment past the end of the file if that is worth it, so that more
 * of the file can be given back later.  Called if nothing more can be given
 * back with the segments where they are.  Returns true if there may be more to
 * do.
 */
static bool
skx_am_worker_merge_past_end(SkxAmWorker *w, const SkxMaintOptions *options)
{
	SkxMaintOptions aside = *options;

	aside.moves = SKX_MOVES_PAST_END;
	return w->asides_left-- > 0 && skx_am_worker_merge(w, &aside);
}

/*
 * Waits until no other process is in the way, before any segment moves.
 * Returns true if the worker has to merge again.  That is also the case if it
 * was called for a merge while it waited.
 */
static bool
skx_am_worker_wait_clear(SkxAmWorker *w)
{
	w->was_clear = skx_maint_wait_unused(w->guest.index, &w->wait_budget);
	if (w->was_clear ||
		(w->wait_budget.others_ms > 0 && w->wait_budget.vacuum_ms > 0))
		return true;
	ereport(DEBUG1,
			(errmsg_internal("index \"%s\" stays as long as it is: other processes use it all the time",
							 RelationGetRelationName(w->guest.index))));
	w->must_shrink = false;
	return false;
}

/*
 * Gives back the end of the file, if that was asked for and no merge is due.
 * While it waits, other workers may work in its place.  Returns true if the
 * worker has to merge again: before it can give back the end, or because a
 * shorter file may have another segment to move.
 */
static bool
skx_am_worker_shrink(SkxAmWorker *w, const SkxMaintOptions *options)
{
	BlockNumber nblocks;
	SkxMaintStep step;

	if (w->must_shrink && !w->was_clear)
		w->must_shrink = skx_maint_shrink_is_due(w->guest.index);
	if (!w->must_shrink)
		return false;
	/* A segment that was put aside makes the file longer until it returns. */
	if (!skx_worker_pause() && w->asides_left == SKX_MOVES_PAST_END_MAX)
		skx_maint_wait_budget(&w->wait_budget, 0);
	if (!w->was_clear)
		return skx_am_worker_wait_clear(w);
	nblocks = RelationGetNumberOfBlocks(w->guest.index);
	step = skx_maint_shrink(w->guest.index, &w->wait_budget);
	w->must_shrink = w->wait_budget.others_ms > 0 &&
		w->wait_budget.vacuum_ms > 0 &&
		(step == SKX_STEP_BUSY ||
		 (step == SKX_STEP_DONE &&
		  RelationGetNumberOfBlocks(w->guest.index) < nblocks) ||
		 skx_am_worker_merge_past_end(w, options));
	return w->must_shrink;
}

/*
 * Does one operation, in a transaction, and returns true if there may be more
 * to do.  After its flush, the worker asks for another one that merges, so
 * that flushes do not wait for merges.  If only one worker is allowed, it
 * merges itself.
 */
static bool
skx_am_worker_do_step(SkxAmWorker *w)
{
	SkxMaintOptions options;
	bool		merge = w->task.duty == SKX_WORKER_MERGE;
	bool		more = false;

	w->blocked_operation = 0;
	StartTransactionCommand();
	if (skx_am_guest_open(&w->guest, w->task.index))
	{
		skx_am_maint_options(w->guest.index, SKX_REQUESTER_WORKER, &options);
		InvalidateCatalogSnapshot();
		skx_throttle_begin(skx_am_worker_check, w, &skx_worker_rate);
		skx_manifest_free_orphaned(w->guest.index, true);
		if (w->task.duty == SKX_WORKER_FLUSH)
		{
			pgstat_report_activity(STATE_RUNNING, "skipidx: flush");
			more = skx_am_worker_flush(w, &options);
			merge = !more && w->blocked_operation == 0 &&
				skx_maint_merge_is_due(w->guest.index, &options, SKX_WAIT_PAGE) &&
				!skx_worker_request(w->guest.index, SKX_WORKER_MERGE) &&
				skx_worker_max == 1;
		}
		if (w->task.duty == SKX_WORKER_MERGE)
			skx_am_worker_prepare_shrink(w);
		options.moves = w->must_shrink && w->was_clear ? SKX_MOVES_ALL :
			SKX_MOVES_NONE;
		if (merge)
		{
			pgstat_report_activity(STATE_RUNNING, "skipidx: merge");
			more = skx_am_worker_merge(w, &options);
		}
		if (w->task.duty == SKX_WORKER_MERGE && !more &&
			w->blocked_operation == 0)
			more = skx_am_worker_shrink(w, &options);
		skx_throttle_end();
		skx_am_guest_close(&w->guest);
	}
	w->is_blocked = w->guest.is_barred;
	CommitTransactionCommand();
	pgstat_report_activity(STATE_IDLE, NULL);
	return more;
}

/*
 * Does steps until there is nothing left, or another process is in the way.
 * Returns false if a step has failed or given way.  The log has no message if
 * it gave way.
 */
static bool
skx_am_worker_do_steps(SkxAmWorker *w)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool done = false;

	PG_TRY();
	{
		do
		{
			w->guest.is_barred = false;
			w->is_blocked = !skx_worker_resume();
			while (!w->is_blocked && skx_am_worker_do_step(w))
			{
				CHECK_FOR_INTERRUPTS();
				skx_am_guest_look();
			}
		} while (!w->is_blocked && w->blocked_operation == 0 &&
				 skx_worker_was_requested());
		done = true;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		HOLD_INTERRUPTS();
		w->is_blocked = w->guest.is_barred;
		w->blocked_operation = 0;
		skx_throttle_end();
		if (error->sqlerrcode != SKX_AM_GUEST_SQLSTATE)
			EmitErrorReport();
		FlushErrorState();
		AbortOutOfAnyTransaction();
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	return done;
}

/*
 * Waits until the index is free again, and one more worker may be busy.
 * Returns false if the former takes too long, if a process wants the database,
 * or if workers have been disabled.
 */
static bool
skx_am_worker_wait(SkxAmWorker *w)
{
	Oid			index = w->task.index;
	bool		wanted = false;
	bool		free = false;
	int			i = 0;

	if (skx_am_worker_wait_event == 0)
		skx_am_worker_wait_event = skx_compat_wait_event("SkipidxWorkerBarred");
	while (i < SKX_WORKER_IDLE_CHECKS && !free && !wanted)
	{
		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 SKX_THROTTLE_CHECK_MS, skx_am_worker_wait_event);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		skx_am_guest_look();
		StartTransactionCommand();
		free = ConditionalLockRelationOid(index, RowExclusiveLock);
		if (free)
		{
			UnlockRelationOid(index, RowExclusiveLock);
			free = skx_worker_resume();
		}
		else
			i++;
		wanted = skx_worker_max == 0 || skx_am_guest_must_leave(&w->guest);
		CommitTransactionCommand();
	}
	return free && !wanted;
}

/*
 * Returns true if waiting for another process is worth it.  Its flush is
 * short, and no other flush may follow.  Its merge can last for hours.  Merges
 * that are due after it are found by that process, or after the next flush.
 */
static bool
skx_am_worker_should_wait(const SkxAmWorker *w, int naps)
{
	return w->is_blocked || w->blocked_operation == SKX_OPERATION_FLUSH ||
		(w->blocked_operation == SKX_OPERATION_MERGE &&
		 naps < SKX_WORKER_IDLE_CHECKS);
}

/*
 * Does all steps, and waits as often as another process is in the way.
 * Returns false if it has failed, or has given up waiting.
 */
static bool
skx_am_worker_run(SkxAmWorker *w)
{
	bool		done;
	int			naps = 0;

	for (;;)
	{
		w->is_blocked = false;
		done = skx_am_worker_do_steps(w);
		if (!skx_am_worker_should_wait(w, naps))
			return done;
		naps = w->blocked_operation == 0 ? 0 : naps + 1;
		if (!skx_am_worker_wait(w))
			return false;
	}
}

void
skx_am_worker_main(Datum arg)
{
	SkxAmWorker w = {0};

	memcpy(&w.task, MyBgworkerEntry->bgw_extra, sizeof(w.task));
	w.guest.database = w.task.database;
	w.guest.mode = RowExclusiveLock;
	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	if (!skx_worker_take_slot(&w.task))
		return;
	BackgroundWorkerInitializeConnectionByOid(w.task.database, InvalidOid, 0);
	skx_worker_set_settings();
	pgstat_report_appname("skipidx worker");
	if (!skx_am_worker_run(&w))
		skx_worker_failed();
}
