/*
 * worker_ask.c
 *	  Requests a background worker from the server.
 *
 * Dynamic workers need no preloading.  The process that requests one does not
 * wait for it, and does not learn how it ends.  The worker itself finds out
 * what there is to do, and an insert that finds too much left requests another
 * one.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "support/compat/compat.h"
#include "support/worker/worker_internal.h"
#include "utils/rel.h"

StaticAssertDecl(sizeof(SkxWorkerTask) <= BGW_EXTRALEN,
				 "a task is handed over in bgw_extra");

bool
skx_worker_can_see_index(Relation index)
{
	return index->rd_rel->relpersistence != RELPERSISTENCE_TEMP &&
		!SKX_COMPAT_NEW_FILE(index);
}

/* Describes to the server a worker that runs `function` of this library. */
static void
skx_worker_describe(BackgroundWorker *worker, const char *name,
					const char *function, Datum arg)
{
	memset(worker, 0, sizeof(*worker));
	worker->bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION | SKX_COMPAT_WORKER_FLAGS;
	worker->bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker->bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker->bgw_name, name, BGW_MAXLEN);
	strlcpy(worker->bgw_type, name, BGW_MAXLEN);
	strlcpy(worker->bgw_library_name, "skipidx",
			sizeof(worker->bgw_library_name));
	strlcpy(worker->bgw_function_name, function,
			sizeof(worker->bgw_function_name));
	worker->bgw_main_arg = arg;
}

bool
skx_worker_launch(const char *function, Datum arg, const void *extra,
				  Size size, BackgroundWorkerHandle **handle)
{
	BackgroundWorker worker;

	Assert(size <= BGW_EXTRALEN);
	skx_worker_describe(&worker, "skipidx worker", function, arg);
	memcpy(worker.bgw_extra, extra, size);
	return RegisterDynamicBackgroundWorker(&worker, handle);
}

bool
skx_worker_launch_early(const char *function, Datum arg,
						BackgroundWorkerHandle **handle)
{
	BackgroundWorker worker;

	skx_worker_describe(&worker, "skipidx autoprewarm", function, arg);
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	if (handle != NULL)
		worker.bgw_notify_pid = MyProcPid;
	return RegisterDynamicBackgroundWorker(&worker, handle);
}

void
skx_worker_register(const char *function)
{
	BackgroundWorker worker;

	skx_worker_describe(&worker, "skipidx autoprewarm", function, (Datum) 0);
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = SKX_WORKER_RESTART_S;
	RegisterBackgroundWorker(&worker);
}

bool
skx_worker_database_wanted(Oid database)
{
	LOCKTAG		tag;

	/* It conflicts with the lock of each command that waits for sessions. */
	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, database, 0);
	if (LockAcquire(&tag, RowExclusiveLock, false, true) ==
		LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, RowExclusiveLock, false);
	return false;
}

bool
skx_worker_request(Relation index, SkxWorkerDuty duty)
{
	SkxWorkerTask task = {0};
	bool		present;

	if (skx_worker_max == 0 || !IsUnderPostmaster || RecoveryInProgress() ||
		!skx_worker_can_see_index(index))
		return false;
	task.database = MyDatabaseId;
	task.index = RelationGetRelid(index);
	task.duty = duty == SKX_WORKER_FLUSH ? SKX_WORKER_FLUSH : SKX_WORKER_MERGE;
	if (!skx_worker_reserve_slot(&task, duty == SKX_WORKER_SHRINK, &present))
		return present;
	if (skx_worker_launch(SKX_WORKER_MAIN, (Datum) 0, &task, sizeof(task),
						  NULL))
		return true;
	skx_worker_free_reserved(&task);
	return false;
}
