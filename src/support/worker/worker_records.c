/*
 * worker_records.c
 *	  Records of the last operations on this server.
 *
 * A record is written by the process that carries out the operation.  A newer
 * operation may take the record before that one ends; then it has another
 * number.
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "miscadmin.h"
#include "support/compat/compat.h"
#include "support/worker/worker_internal.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

/* Number of the record of this process's operation; 0: none is under way. */
static uint64 skx_worker_record = 0;

/*
 * Bytes of WAL of this process when the operation began; the last progress
 * that was noted.
 */
static uint64 skx_worker_logged = 0;
static SkxWorkerPhase skx_worker_phase;
static uint64 skx_worker_done;

/* Steps of a phase in which progress is noted. */
#define SKX_WORKER_PROGRESS_STEPS	64

/*
 * Locks the area and returns the record of this process's operation.  Returns
 * NULL, without the lock, if there is none or a newer operation has taken it.
 */
static SkxWorkerRecord *
skx_worker_record_lock(void)
{
	SkxWorkerArea *a = skx_worker_area();
	SkxWorkerRecord *record;

	if (a == NULL || skx_worker_record == 0)
		return NULL;
	LWLockAcquire(&a->lock, LW_EXCLUSIVE);
	record = &a->records[(skx_worker_record - 1) % SKX_WORKER_RECORDS];
	if (record->number == skx_worker_record)
	{
		record->nlogged = pgWalUsage.wal_bytes - skx_worker_logged;
		return record;
	}
	LWLockRelease(&a->lock);
	return NULL;
}

void
skx_worker_record_begin(Relation index, uint8 operation,
						SkxWorkerRequester asker)
{
	SkxWorkerArea *a = skx_worker_area();
	SkxWorkerRecord *record;

	skx_worker_record = 0;
	skx_worker_logged = pgWalUsage.wal_bytes;
	skx_worker_phase = SKX_PHASE_DOCUMENTS;
	skx_worker_done = 0;
	if (a == NULL)
		return;
	LWLockAcquire(&a->lock, LW_EXCLUSIVE);
	skx_worker_record = ++a->nrecords;
	record = &a->records[(skx_worker_record - 1) % SKX_WORKER_RECORDS];
	memset(record, 0, sizeof(*record));
	record->number = skx_worker_record;
	record->database = MyDatabaseId;
	record->index = RelationGetRelid(index);
	record->pid = MyProcPid;
	record->operation = operation;
	record->requester = asker;
	record->state = SKX_RECORD_RUNNING;
	record->started = GetCurrentTimestamp();
	LWLockRelease(&a->lock);
}

void
skx_worker_record_input(int segments, uint64 documents, uint64 nbytes)
{
	SkxWorkerRecord *record = skx_worker_record_lock();

	if (record == NULL)
		return;
	record->segments = segments;
	record->documents = documents;
	record->nread = nbytes;
	LWLockRelease(&skx_worker_area()->lock);
}

void
skx_worker_record_written(int npages)
{
	SkxWorkerRecord *record = skx_worker_record_lock();

	if (record == NULL)
		return;
	record->nwritten += (uint64) npages * BLCKSZ;
	LWLockRelease(&skx_worker_area()->lock);
}

void
skx_worker_record_helpers(uint64 npages, uint64 nlogged)
{
	SkxWorkerRecord *record;

	skx_worker_logged -= nlogged;
	record = skx_worker_record_lock();
	if (record == NULL)
		return;
	record->nwritten += npages * BLCKSZ;
	LWLockRelease(&skx_worker_area()->lock);
}

void
skx_worker_record_progress(SkxWorkerPhase phase, uint64 done, uint64 total)
{
	SkxWorkerRecord *record;

	if (phase == skx_worker_phase && done >= skx_worker_done &&
		done - skx_worker_done < total / SKX_WORKER_PROGRESS_STEPS &&
		done < total)
		return;
	skx_worker_phase = phase;
	skx_worker_done = done;
	record = skx_worker_record_lock();
	if (record == NULL)
		return;
	record->phase = phase;
	record->progress = done;
	record->progress_total = total;
	LWLockRelease(&skx_worker_area()->lock);
}

/* Logs an operation that took long. */
static void
skx_worker_log(Relation index, const SkxWorkerRecord *record)
{
	double		seconds = (record->ended - record->started) / 1e6;

	if (skx_worker_log_min < 0 || seconds * 1000 < skx_worker_log_min)
		return;
	ereport(LOG_SERVER_ONLY,
			(errmsg("%s of skipidx index \"%s\" took %.3f s",
					record->segments > 0 ? "merge" : "flush",
					RelationGetRelationName(index), seconds),
			 errdetail_internal("Segments: %d, documents: " UINT64_FORMAT
								", read: " UINT64_FORMAT " kB, written: "
								UINT64_FORMAT " kB, logged: " UINT64_FORMAT
								" kB.",
								record->segments, record->documents,
								record->nread / 1024,
								record->nwritten / 1024,
								record->nlogged / 1024)));
}

void
skx_worker_record_end(Relation index, SkxWorkerState state)
{
	SkxWorkerRecord *record = skx_worker_record_lock();
	SkxWorkerRecord copy;

	skx_worker_record = 0;
	if (record == NULL)
		return;
	record->state = state;
	record->ended = GetCurrentTimestamp();
	copy = *record;
	LWLockRelease(&skx_worker_area()->lock);
	if (state == SKX_RECORD_DONE)
		skx_worker_log(index, &copy);
}

int
skx_worker_records(SkxWorkerRecord *records)
{
	SkxWorkerArea *a = skx_worker_area();
	uint64		first;
	uint64		i;
	int			n = 0;

	if (a == NULL)
		return 0;
	LWLockAcquire(&a->lock, LW_SHARED);
	first = a->nrecords - Min(a->nrecords, SKX_WORKER_RECORDS);
	for (i = first; i < a->nrecords; i++)
		records[n++] = a->records[i % SKX_WORKER_RECORDS];
	LWLockRelease(&a->lock);
	return n;
}
