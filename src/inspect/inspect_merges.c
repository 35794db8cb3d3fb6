/*
 * inspect_merges.c
 *	  skx_merges(): shows the flushes and merges of this server, those that
 *	  run and those that have ended.
 */
#include "postgres.h"

#include "fmgr.h"
#include "format/disk/disk_meta.h"
#include "funcapi.h"
#include "inspect/inspect.h"
#include "miscadmin.h"
#include "storage/procarray.h"
#include "support/compat/compat.h"
#include "support/worker/worker.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(skipidx_merges);

#define SKX_MERGES_COLUMNS	16

static const char *
skx_inspect_merges_requester(uint8 asker)
{
	switch (asker)
	{
		case SKX_REQUESTER_INSERT:
			return "insert";
		case SKX_REQUESTER_VACUUM:
			return "vacuum";
		case SKX_REQUESTER_WORKER:
			return "worker";
		default:
			return "function";
	}
}

/*
 * Returns the state of an operation.  A process that was killed could not
 * record it: an operation without its process has failed.
 */
static const char *
skx_inspect_merges_state(const SkxWorkerRecord *record)
{
	if (record->state == SKX_RECORD_DONE)
		return "done";
	if (record->state == SKX_RECORD_RUNNING &&
		BackendPidGetProc(record->pid) != NULL)
		return "running";
	return "failed";
}

static const char *
skx_inspect_merges_phase(uint8 phase)
{
	switch (phase)
	{
		case SKX_PHASE_DOCUMENTS:
			return "documents";
		case SKX_PHASE_TERMS:
			return "terms";
		default:
			return "publish";
	}
}

static void
skx_inspect_merges_row(ReturnSetInfo *rsinfo, const SkxWorkerRecord *record)
{
	Datum		values[SKX_MERGES_COLUMNS];
	bool		nulls[SKX_MERGES_COLUMNS] = {false};
	const char *state = skx_inspect_merges_state(record);
	TimestampTz end = record->state == SKX_RECORD_RUNNING ?
		GetCurrentTimestamp() : record->ended;

	values[0] = ObjectIdGetDatum(record->database);
	values[1] = ObjectIdGetDatum(record->index);
	nulls[1] = record->database != MyDatabaseId;
	values[2] = CStringGetTextDatum(record->operation == SKX_OPERATION_MERGE ?
									"merge" : "flush");
	values[3] =
		CStringGetTextDatum(skx_inspect_merges_requester(record->requester));
	values[4] = CStringGetTextDatum(state);
	values[5] = Int32GetDatum(record->pid);
	values[6] = TimestampTzGetDatum(record->started);
	values[7] = Float8GetDatum((end - record->started) / 1e6);
	values[8] = Int32GetDatum(record->segments);
	values[9] = Int64GetDatum((int64) record->documents);
	values[10] = Int64GetDatum((int64) record->nread);
	values[11] = Int64GetDatum((int64) record->nwritten);
	values[12] = Int64GetDatum((int64) record->nlogged);
	nulls[13] = strcmp(state, "running") != 0;
	nulls[14] = nulls[15] = nulls[13] || record->progress_total == 0;
	values[13] = CStringGetTextDatum(skx_inspect_merges_phase(record->phase));
	values[14] = Int64GetDatum((int64) record->progress);
	values[15] = Int64GetDatum((int64) record->progress_total);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * Adds a row for an operation that the user may not see.  It has only what the
 * server shows to all users: the process and its database.
 */
static void
skx_inspect_merges_hidden_row(ReturnSetInfo *rsinfo,
							  const SkxWorkerRecord *record)
{
	Datum		values[SKX_MERGES_COLUMNS] = {0};
	bool		nulls[SKX_MERGES_COLUMNS];

	memset(nulls, true, sizeof(nulls));
	values[0] = ObjectIdGetDatum(record->database);
	values[5] = Int32GetDatum(record->pid);
	nulls[0] = nulls[5] = false;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
skipidx_merges(PG_FUNCTION_ARGS)
{
	SkxWorkerRecord records[SKX_WORKER_RECORDS];
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	int			n = skx_worker_records(records);
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	for (i = 0; i < n; i++)
	{
		const SkxWorkerRecord *record = &records[i];

		if (skx_inspect_may_show(record->database, record->index))
			skx_inspect_merges_row(rsinfo, record);
		else if (strcmp(skx_inspect_merges_state(record), "running") == 0)
			skx_inspect_merges_hidden_row(rsinfo, record);
	}
	return (Datum) 0;
}
