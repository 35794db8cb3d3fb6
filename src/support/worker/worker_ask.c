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
#include "miscadmin.h"
#include "postmaster/bgworker.h"
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

bool
skx_worker_launch(const char *function, Datum arg, const void *extra,
				  Size size, BackgroundWorkerHandle **handle)
{
	BackgroundWorker worker;

	Assert(size <= BGW_EXTRALEN);

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION | SKX_COMPAT_WORKER_FLAGS;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_name, "skipidx worker", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "skipidx worker", BGW_MAXLEN);
	strlcpy(worker.bgw_library_name, "skipidx",
			sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, function,
			sizeof(worker.bgw_function_name));
	worker.bgw_main_arg = arg;
	memcpy(worker.bgw_extra, extra, size);
	return RegisterDynamicBackgroundWorker(&worker, handle);
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
