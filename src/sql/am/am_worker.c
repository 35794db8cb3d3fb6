/*
 * am_worker.c
 *	  What a background worker does for an index: flushes, or merges.
 *
 * Each operation is a transaction of its own, which gets no xid (but to make
 * the file shorter, for a moment) and, but while it looks into the catalog, no
 * snapshot: so it holds nothing back.  It locks the index as an insert does, and
 * runs no function of a user.  It stops at once when another process waits for
 * the index or wants the database; the operation is lost then, and what it has
 * reserved is taken back by the next.
 * For the index it waits a while until it is free again, since no insert may
 * come that asks for another worker; and for another process that flushes or
 * merges, which may have read what there is to do before the last of it came.
 * For the database it goes away.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "sql/am/am.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/pmsignal.h"
#include "support/compat/compat.h"
#include "support/throttle/throttle.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

extern PGDLLEXPORT void skx_am_worker_main(Datum arg);

/* Looks at the database each so many times that it looks at the index. */
#define SKX_WORKER_DATABASE	5

/* Looks whether the index is free every SKX_PACE_CHECK ms, so many times. */
#define SKX_WORKER_NAPS		100

/*
 * How long others may be in the way of a shorter file, in ms: one is the VACUUM
 * that has asked for it.
 */
#define SKX_WORKER_PATIENCE	10000

/* SQLSTATE of giving way, as if by a cancel. */
#define SKX_WORKER_GIVES_WAY	ERRCODE_QUERY_CANCELED

typedef struct SkxAmWorker
{
	SkxWorkerTask task;
	Relation	index;
	int			looks;
	bool		barred;			/* the last step ended because another process
								 * wants, or has, the index for itself; or the
								 * next one because too many workers are busy */
	uint32		busy;			/* SKX_OPERATION_* of which the last step
								 * found another process in the middle; or 0 */
	bool		shrinks;		/* asked to give back the end of the file */
	bool		clear;			/* for that: no other process was in the way
								 * once, so that it pays to move segments */
	SkxMaintPatience patience;	/* that is left for it */
	int			asides;			/* ditto: segments that may be put aside */
} SkxAmWorker;

/* Made at the first use. */
static uint32 skx_am_worker_wait_event = 0;

/* Does any process want the database for itself? */
static bool
skx_am_worker_database_wanted(Oid database)
{
	LOCKTAG		tag;

	/* RowExclusiveLock is in the way of whatever waits for sessions to end */
	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, database, 0);
	if (LockAcquire(&tag, RowExclusiveLock, false, true) ==
		LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, RowExclusiveLock, false);
	return false;
}

/* Ends without a postmaster: without it there is no checkpoint either. */
static void
skx_am_worker_end_alone(void)
{
	if (!PostmasterIsAlive())
		proc_exit(1);
}

static void
skx_am_worker_reload(void)
{
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}

/* Called every SKX_PACE_CHECK ms while an operation is under way. */
static void
skx_am_worker_look(void *arg)
{
	SkxAmWorker *w = arg;

	skx_am_worker_end_alone();
	skx_am_worker_reload();
	InvalidateCatalogSnapshot();
	w->barred = skx_compat_waited_for(w->index, RowExclusiveLock);
	if (w->barred || skx_worker_max == 0 ||
		(++w->looks % SKX_WORKER_DATABASE == 0 &&
		 skx_am_worker_database_wanted(w->task.database)))
		ereport(ERROR,
				(errcode(SKX_WORKER_GIVES_WAY),
				 errmsg("a flush or merge of index \"%s\" gives way",
						RelationGetRelationName(w->index))));
}

/* The index, if it is there and nothing is in the way. */
static Relation
skx_am_worker_open(SkxAmWorker *w)
{
	Oid			oid = w->task.index;
	Relation	index;

	w->barred = !ConditionalLockRelationOid(oid, RowExclusiveLock);
	if (w->barred)
	{
		ereport(DEBUG1,
				(errmsg_internal("another process has index %u for itself",
								 oid)));
		return NULL;
	}
	index = try_relation_open(oid, NoLock);
	if (index == NULL)
	{
		UnlockRelationOid(oid, RowExclusiveLock);
		return NULL;
	}
	if (skx_am_is_ours(index) && index->rd_index->indisready &&
		RelationGetNumberOfBlocks(index) > 0)
		return index;
	relation_close(index, RowExclusiveLock);
	return NULL;
}

/* One flush of all that is pending; true: there may be more to do. */
static bool
skx_am_worker_flush(SkxAmWorker *w, const SkxMaintOptions *options)
{
	if (skx_maint_pending_bytes(w->index) <= options->pending_limit)
	{
		ereport(DEBUG1,
				(errmsg_internal("nothing to flush in index \"%s\": its list is not too long",
								 RelationGetRelationName(w->index))));
		return false;
	}
	if (skx_maint_flush_all(w->index, options, SKX_WAIT_PAGE) > 0)
		return true;
	if (skx_maint_pending_bytes(w->index) > options->pending_limit)
		w->busy = SKX_OPERATION_FLUSH;
	return false;
}

/* One merge; as above. */
static bool
skx_am_worker_merge(SkxAmWorker *w, const SkxMaintOptions *options)
{
	SkxMaintStep step = skx_maint_merge_step(w->index, options, 0,
											 SKX_WAIT_PAGE);

	if (step == SKX_STEP_BUSY)
		w->busy = SKX_OPERATION_MERGE;
	return step == SKX_STEP_DONE;
}

/* Has another process asked for a shorter file meanwhile? */
static void
skx_am_worker_asked(SkxAmWorker *w)
{
	if (!skx_worker_shrinks())
		return;
	w->shrinks = true;
	w->clear = false;
	skx_maint_patience(&w->patience, SKX_WORKER_PATIENCE);
	w->patience.called = skx_worker_called;
	w->patience.merges = true;
	w->asides = SKX_MOVES_ASIDE_MOST;
}

/*
 * No more can be given back as the segments lie, and nothing is waited for:
 * puts one aside, if that is worth it; as above.
 */
static bool
skx_am_worker_aside(SkxAmWorker *w, const SkxMaintOptions *options)
{
	SkxMaintOptions aside = *options;

	aside.moves = SKX_MOVES_ASIDE;
	return w->asides-- > 0 && skx_am_worker_merge(w, &aside);
}

/*
 * Waits, before any segment moves, until no other process is in the way; true:
 * it is to merge again, also since it was called for that.
 */
static bool
skx_am_worker_clear(SkxAmWorker *w)
{
	w->clear = skx_maint_clear_wait(w->index, &w->patience);
	if (w->clear || (w->patience.others > 0 && w->patience.vacuum > 0))
		return true;
	ereport(DEBUG1,
			(errmsg_internal("index \"%s\" stays as long as it is: other processes use it all the time",
							 RelationGetRelationName(w->index))));
	w->shrinks = false;
	return false;
}

/*
 * The end of the file, once nothing is to be merged.  As long as it has to
 * wait, others may work in its place; true: it is to merge again before that,
 * or since a shorter file may leave another segment to move.
 */
static bool
skx_am_worker_shrink(SkxAmWorker *w, const SkxMaintOptions *options)
{
	BlockNumber nblocks;
	SkxMaintStep step;

	if (!w->shrinks)
		return false;
	/* what was put aside makes the file longer until it has come back */
	if (!skx_worker_pause() && w->asides == SKX_MOVES_ASIDE_MOST)
		skx_maint_patience(&w->patience, 0);
	if (!w->clear)
		return skx_am_worker_clear(w);
	nblocks = RelationGetNumberOfBlocks(w->index);
	step = skx_maint_shrink(w->index, &w->patience);
	w->shrinks = w->patience.others > 0 && w->patience.vacuum > 0 &&
		(step == SKX_STEP_BUSY ||
		 (step == SKX_STEP_DONE &&
		  RelationGetNumberOfBlocks(w->index) < nblocks) ||
		 skx_am_worker_aside(w, options));
	return w->shrinks;
}

/*
 * One transaction.  After its flush a worker asks for another that merges, so
 * that flushes do not wait for merges; where there may be one only, it merges
 * itself.
 */
static bool
skx_am_worker_step(SkxAmWorker *w)
{
	SkxMaintOptions options;
	bool		merge = w->task.duty == SKX_WORKER_MERGE;
	bool		more = false;

	w->busy = 0;
	StartTransactionCommand();
	w->index = skx_am_worker_open(w);
	if (w->index != NULL)
	{
		skx_am_maint_options(w->index, SKX_ASKER_WORKER, &options);
		InvalidateCatalogSnapshot();
		skx_throttle_begin(skx_am_worker_look, w, &skx_worker_rate);
		skx_manifest_tidy(w->index, true);
		if (w->task.duty == SKX_WORKER_FLUSH)
		{
			pgstat_report_activity(STATE_RUNNING, "skipidx: flush");
			more = skx_am_worker_flush(w, &options);
			merge = !more && w->busy == 0 &&
				skx_maint_merge_due(w->index, &options, SKX_WAIT_PAGE) &&
				!skx_worker_ask(w->index, SKX_WORKER_MERGE) &&
				skx_worker_max == 1;
		}
		if (w->task.duty == SKX_WORKER_MERGE)
			skx_am_worker_asked(w);
		options.moves = w->shrinks && w->clear ? SKX_MOVES_ALL :
			SKX_MOVES_NONE;
		if (merge)
		{
			pgstat_report_activity(STATE_RUNNING, "skipidx: merge");
			more = skx_am_worker_merge(w, &options);
		}
		if (w->task.duty == SKX_WORKER_MERGE && !more && w->busy == 0)
			more = skx_am_worker_shrink(w, &options);
		skx_throttle_end();
		relation_close(w->index, RowExclusiveLock);
		w->index = NULL;
	}
	CommitTransactionCommand();
	pgstat_report_activity(STATE_IDLE, NULL);
	return more;
}

/*
 * Steps until there is nothing left, or another process is in the way; false:
 * one has failed.  The log is not told of one that gives way.
 */
static bool
skx_am_worker_steps(SkxAmWorker *w)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool done = false;

	PG_TRY();
	{
		do
		{
			w->barred = !skx_worker_resume();
			while (!w->barred && skx_am_worker_step(w))
			{
				CHECK_FOR_INTERRUPTS();
				skx_am_worker_end_alone();
			}
		} while (!w->barred && w->busy == 0 && skx_worker_again());
		done = true;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		HOLD_INTERRUPTS();
		w->busy = 0;
		skx_throttle_end();
		if (error->sqlerrcode != SKX_WORKER_GIVES_WAY)
			EmitErrorReport();
		FlushErrorState();
		AbortOutOfAnyTransaction();
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	return done;
}

/*
 * Waits until the index is free again, and one more worker may be busy; false:
 * the former takes too long.
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
	while (i < SKX_WORKER_NAPS && !free && !wanted)
	{
		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 SKX_PACE_CHECK, skx_am_worker_wait_event);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		skx_am_worker_reload();
		StartTransactionCommand();
		free = ConditionalLockRelationOid(index, RowExclusiveLock);
		if (free)
		{
			UnlockRelationOid(index, RowExclusiveLock);
			free = skx_worker_resume();
		}
		else
			i++;
		wanted = skx_worker_max == 0 ||
			(++w->looks % SKX_WORKER_DATABASE == 0 &&
			 skx_am_worker_database_wanted(w->task.database));
		CommitTransactionCommand();
	}
	return free && !wanted;
}

/*
 * Is it worth the wait?  A flush of another process is short, and none may come
 * after it.  A merge can last for hours; what is left then is due when that
 * process looks, or after the next flush.
 */
static bool
skx_am_worker_stays(const SkxAmWorker *w, int naps)
{
	return w->barred || w->busy == SKX_OPERATION_FLUSH ||
		(w->busy == SKX_OPERATION_MERGE && naps < SKX_WORKER_NAPS);
}

/* The same, as often as another process is in the way in between. */
static bool
skx_am_worker_work(SkxAmWorker *w)
{
	bool		done;
	int			naps = 0;

	for (;;)
	{
		w->barred = false;
		done = skx_am_worker_steps(w);
		if (!skx_am_worker_stays(w, naps))
			return done;
		naps = w->busy == 0 ? 0 : naps + 1;
		if (!skx_am_worker_wait(w))
			return false;
	}
}

void
skx_am_worker_main(Datum arg)
{
	SkxAmWorker w = {0};

	memcpy(&w.task, MyBgworkerEntry->bgw_extra, sizeof(w.task));
	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	if (!skx_worker_begin(&w.task))
		return;
	BackgroundWorkerInitializeConnectionByOid(w.task.database, InvalidOid, 0);
	skx_worker_settings();
	pgstat_report_appname("skipidx worker");
	if (!skx_am_worker_work(&w))
		skx_worker_failed();
}
