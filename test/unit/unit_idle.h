/*
 * unit_idle.h
 *	  Stands in for what does little or nothing here: helpers and workers,
 *	  waits, temporary files, the block cache, the table.
 *
 * Included once, after unit_segments.h.
 */
#ifndef SKX_TEST_UNIT_IDLE_H
#define SKX_TEST_UNIT_IDLE_H

#include "catalog/catalog.h"
#include "executor/instrument.h"
#include "storage/buffile.h"
#include "utils/inval.h"

/* Told to the test: some time passes. */
static void unit_idle_waits(void);

static RelationData unit_heap;
static bool unit_decoded;		/* logical decoding reads the table */

/* ---- merges ---- */

SkxMaintHelpers *
skx_maint_help_begin(SkxMaintOutput *out, const SkxMaintOptions *options,
					 const SkxSnapshotReader *source, bool past,
						 SkxMerge *merge, uint64 bytes)
{
	return NULL;
}

void
skx_maint_help_run(SkxMaintHelpers *h, SkxDiskSegmentRef *ref)
{
}

void
skx_maint_help_end(SkxMaintHelpers *h)
{
}

void
skx_maint_warm_begin(SkxMaintOutput *out, const SkxSnapshotReader *inputs)
{
}

void
skx_maint_warm_read_pages(SkxMaintOutput *out, const SkxDiskSegmentRef *ref)
{
}

void
skx_maint_warm_evict_inputs(SkxMaintOutput *out)
{
}

void
skx_maint_delete_dead(const SkxOperation *op, const SkxView *inputs,
					  uint64 bytes)
{
}

void
skx_compat_live_and_dead_rows(Oid table, uint64 *live, uint64 *dead)
{
	*live = 0;
	*dead = unit_below(1000);
}

/* ---- workers and waits ---- */

WalUsage	pgWalUsage;
volatile sig_atomic_t InterruptPending;

int
errcode_for_file_access(void)
{
	return 0;
}

int32
ItemPointerCompare(ItemPointer a, ItemPointer b)
{
	uint64		x = (uint64) ItemPointerGetBlockNumber(a) << 16 |
		ItemPointerGetOffsetNumber(a);
	uint64		y = (uint64) ItemPointerGetBlockNumber(b) << 16 |
		ItemPointerGetOffsetNumber(b);

	return x < y ? -1 : x > y;
}

bool
ItemPointerEquals(ItemPointer a, ItemPointer b)
{
	return ItemPointerCompare(a, b) == 0;
}

void
ProcessInterrupts(void)
{
}

void
pg_usleep(long microseconds)
{
	unit_idle_waits();
}

void
skx_throttle_point(void)
{
	unit_idle_waits();
}

void
skx_throttle_count_pages(int npages)
{
	unit_idle_waits();
}

void
skx_worker_attach(void)
{
}

void
skx_worker_record_begin(Relation index, uint8 operation,
						SkxWorkerRequester asker)
{
}

void
skx_worker_record_input(int nsegments, uint64 documents, uint64 nbytes)
{
}

void
skx_worker_record_written(int npages)
{
}

void
skx_worker_record_progress(SkxWorkerPhase phase, uint64 done, uint64 total)
{
}

void
skx_worker_record_end(Relation index, SkxWorkerState state)
{
}

/* Documents stay in memory. */
BufFile *
BufFileCreateTemp(bool across)
{
	unit_wrong("a temporary file is made");
}

void
BufFileClose(BufFile *file)
{
}

void
BufFileTell(BufFile *file, int *number, off_t *offset)
{
}

int
BufFileSeek(BufFile *file, int number, off_t offset, int whence)
{
	return -1;
}

#if PG_VERSION_NUM >= 160000
void
BufFileWrite(BufFile *file, const void *bytes, size_t size)
#else
void
BufFileWrite(BufFile *file, void *bytes, size_t size)
#endif
{
}

size_t
BufFileRead(BufFile *file, void *bytes, size_t size)
{
	return 0;
}

/* ---- standbys, and what a table is like ---- */

int			wal_level;
int			XLogArchiveMode;
int			max_wal_senders = 1;
int			max_replication_slots = 1;
WalSndCtlData *WalSndCtl;
ReplicationSlotCtlData *ReplicationSlotCtl;

LWLockPadded *MainLWLockArray;

bool
pg_strong_random(void *bytes, size_t size)
{
	uint64		number = unit_random();

	memcpy(bytes, &number, Min(size, sizeof(number)));
	return true;
}

bool
RecoveryInProgress(void)
{
	return false;
}

bool
IsCatalogRelation(Relation rel)
{
	return unit_decoded;
}

Relation
skx_compat_index_heap(Relation index)
{
	return &unit_heap;
}

bool
skx_compat_may_truncate(Relation table)
{
	return true;
}

void
RelationClose(Relation rel)
{
}

void
CacheInvalidateRelcache(Relation rel)
{
}

#endif							/* SKX_TEST_UNIT_IDLE_H */
