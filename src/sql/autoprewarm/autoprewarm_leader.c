/*
 * autoprewarm_leader.c
 *	  The process that keeps the cache over a restart.
 *
 * At its start it has workers read back what the file names, one database
 * after the other.  Then it writes the file from time to time, and when the
 * server stops.  It is connected to no database, holds no lock and no
 * snapshot, and logs nothing in the WAL, so a standby has one of its own.
 *
 * Before all has been read back it writes nothing, so that a server that stops
 * in between finds the same file again.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "sql/autoprewarm/autoprewarm_internal.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/procsignal.h"
#include "support/compat/compat.h"
#include "support/worker/worker.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

extern PGDLLEXPORT void skx_autoprewarm_leader_main(Datum arg);

/*
 * How often a worker is requested for a database while the server has no
 * process for it, every second.
 */
#define SKX_AUTOPREWARM_TRIES		30
#define SKX_AUTOPREWARM_TRY_MS		1000

void
skx_autoprewarm_init(void)
{
	if (process_shared_preload_libraries_in_progress &&
		skx_blkio_warmer_interval > 0 && skx_blkio_cache_size > 0)
		skx_worker_register(SKX_BLK_WARMER_MAIN);
}

/*
 * Waits up to `ms` for the latch, and reads the configuration if that has
 * changed.  Returns false if the process is to end.
 */
static bool
skx_autoprewarm_wait(long ms)
{
	static uint32 wait_event = 0;

	if (wait_event == 0)
		wait_event = skx_compat_wait_event("SkipidxAutoprewarm");
	(void) WaitLatch(MyLatch,
					 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 ms, wait_event);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
	return !ShutdownRequestPending && skx_blkio_warmer_interval > 0;
}

/*
 * Returns true if the database exists, was not left half dropped, and is not
 * being dropped.  A worker would wait for that, and then fail.
 */
static bool
skx_autoprewarm_is_usable(Oid database)
{
	MemoryContext context = CurrentMemoryContext;
	HeapTuple	tuple;
	bool		usable = false;

	StartTransactionCommand();
	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
	if (HeapTupleIsValid(tuple))
	{
		/* what DROP DATABASE has begun and not ended has -2 */
		usable = ((Form_pg_database) GETSTRUCT(tuple))->datconnlimit >= -1 &&
			!skx_worker_database_wanted(database);
		ReleaseSysCache(tuple);
	}
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	return usable;
}

/*
 * Has a worker read pages of one database back, and waits for its end.
 * Returns false if this process is to end.
 */
static bool
skx_autoprewarm_database(Oid database)
{
	BackgroundWorkerHandle *handle;
	pid_t		pid;
	int			tries = 0;

	while (!skx_worker_launch_early(SKX_AUTOPREWARM_DATABASE_MAIN,
									ObjectIdGetDatum(database), &handle))
	{
		if (++tries == SKX_AUTOPREWARM_TRIES)
		{
			ereport(LOG,
					(errmsg("skipidx could not read its block cache of database %u back",
							database),
					 errdetail("The server has no free background worker."),
					 errhint("You may need to increase max_worker_processes.")));
			return true;
		}
		if (!skx_autoprewarm_wait(SKX_AUTOPREWARM_TRY_MS))
			return false;
	}
	while (GetBackgroundWorkerPid(handle, &pid) != BGWH_STOPPED)
	{
		if (!skx_autoprewarm_wait(SKX_AUTOPREWARM_TRY_MS))
		{
			TerminateBackgroundWorker(handle);
			return false;
		}
	}
	pfree(handle);
	return true;
}

/*
 * Returns true if number `i` is the first index of its database in the notes.
 */
static bool
skx_autoprewarm_is_first(const SkxAutoprewarmNotes *notes, uint32 i)
{
	uint32		k;

	for (k = 0; k < i; k++)
	{
		if (notes->indexes[k].database == notes->indexes[i].database)
			return false;
	}
	return true;
}

/*
 * Reads back what the file names: `first` first, if it is the OID of a
 * database.  Returns false if this process is to end before that is done.
 */
static bool
skx_autoprewarm_read_back(Oid first)
{
	SkxAutoprewarmNotes notes;
	bool		done = true;
	int			round;
	uint32		i;

	if (!skx_autoprewarm_read(&notes))
		return true;
	for (round = 0; round < 2; round++)
	{
		for (i = 0; done && i < notes.nindexes; i++)
		{
			Oid			database = notes.indexes[i].database;

			if ((database == first) == (round == 0) &&
				skx_autoprewarm_is_first(&notes, i) &&
				skx_blkio_warmer_has_room() &&
				skx_autoprewarm_is_usable(database))
				done = skx_autoprewarm_database(database);
		}
	}
	if (done)
		ereport(LOG,
				(errmsg("skipidx has read " UINT64_FORMAT " pages back into its block cache",
						skx_blkio_warmer_pages())));
	return done;
}

/* Notes in the file what is in the cache. */
static void
skx_autoprewarm_note(void)
{
	uint64		claims = skx_blkio_warmer_claims();
	SkxBlkKnownIndex *indexes;
	SkxBlkContent *frames;
	uint8	   *bytes;
	Size		size;
	int			nindexes;
	int			nframes;

	indexes = skx_blkio_known_indexes(&nindexes);
	frames = skx_blkio_contents(SKX_AUTOPREWARM_MAX_FRAMES, &nframes);
	bytes = skx_autoprewarm_encode(indexes, nindexes, frames, nframes, &size);
	if (skx_autoprewarm_write(bytes, size))
		skx_blkio_warmer_set_noted(claims);
}

/*
 * Writes the file whenever the interval is over and the cache has changed.
 * Returns when the process is to end.  Unless it was preloaded, that is also
 * the case when the cache has not changed.
 */
static void
skx_autoprewarm_keep(MemoryContext context)
{
	TimestampTz last = GetCurrentTimestamp();
	bool		is_preloaded =
		MyBgworkerEntry->bgw_restart_time != BGW_NEVER_RESTART;

	for (;;)
	{
		long		interval = (long) skx_blkio_warmer_interval * 1000;
		long		passed =
			TimestampDifferenceMilliseconds(last, GetCurrentTimestamp());

		if (passed < interval)
		{
			if (!skx_autoprewarm_wait(interval - passed))
				return;
			continue;
		}
		if (!skx_blkio_warmer_is_changed() && !is_preloaded)
			return;
		if (skx_blkio_warmer_is_changed())
			skx_autoprewarm_note();
		MemoryContextReset(context);
		last = GetCurrentTimestamp();
	}
}

void
skx_autoprewarm_leader_main(Datum arg)
{
	MemoryContext context;

	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	if (skx_blkio_warmer_interval == 0 || !skx_blkio_warmer_begin())
		return;
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	skx_worker_set_settings();
	pgstat_report_appname("skipidx autoprewarm");
	context = AllocSetContextCreate(TopMemoryContext, "skipidx autoprewarm",
									ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(context);
	if (!skx_blkio_warmer_is_done())
	{
		if (!skx_autoprewarm_read_back(DatumGetObjectId(arg)))
			return;
		skx_blkio_warmer_set_done();
		MemoryContextReset(context);
	}
	skx_autoprewarm_keep(context);
	if (skx_blkio_warmer_interval > 0)
		skx_autoprewarm_note();
}
