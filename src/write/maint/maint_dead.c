/*
 * maint_dead.c
 *	  Finds documents of rows that are dead to all snapshots before VACUUM
 *	  does.
 *
 * Each update leaves an old version of the row, whose document queries score
 * until autovacuum removes it.  Autovacuum looks once a minute, and waits
 * until a fifth of the table is dead.  But a merge by a worker writes its
 * segments anew in any case.  So the table is first asked which rows no
 * snapshot sees any more, as a B-tree asks before it splits a page.  The
 * deleted bits of their documents are set as VACUUM would set them.
 *
 * A standby may have older snapshots.  A record before the bits makes it
 * cancel queries that need the rows, as pruning of the table does.
 *
 * The TID of a document whose deleted bit is not set is that of its row:
 * VACUUM frees a line pointer only after it has set all bits of an index.  So
 * the lock on the metapage keeps VACUUM from setting bits, from the time that
 * some documents' bits are read until the table answers.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "index/segment/segment_maint.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "support/bitset/bitset.h"
#include "support/compat/compat.h"
#include "support/throttle/throttle.h"
#include "write/maint/maint_internal.h"

/* A merge of more bytes would read too much of the table. */
#define SKX_DEAD_MERGE_BYTES_MAX		(64 * 1024 * 1024)

/* Documents in one question to the table, which takes some .1 ms. */
#define SKX_DEAD_BATCH_ROWS		SKX_TID_GROUP_DOCS

/* Batches between two looks for a process that waits for the table. */
#define SKX_DEAD_LOCK_CHECK_EVERY		64

typedef struct SkxMaintDead
{
	Relation	index;
	Relation	heap;
	BlockNumber nblocks;		/* of the heap */
	Buffer		vm_buffer;		/* page of its visibility map, pinned */
	TransactionId horizon;		/* newest that removed one of the rows */
	SkxMaintDeletes deletes;	/* of one segment */
	uint32		ndead;			/* of one segment */
	uint32		nchecked;		/* of all segments */

	/* the batch */
	int			n;
	uint32		docs[SKX_DEAD_BATCH_ROWS];
	TM_IndexDelete tids[SKX_DEAD_BATCH_ROWS];
	TM_IndexStatus status[SKX_DEAD_BATCH_ROWS];
} SkxMaintDead;

/*
 * Makes a batch of those of documents first to first + n - 1 whose heap pages
 * may have dead rows.  Reads these pages, so that the lock is not held during
 * reads.
 */
static void
skx_maint_dead_gather_batch(SkxMaintDead *d, SkxSegment *seg, uint32 first,
							int n)
{
	ItemPointerData tids[SKX_DEAD_BATCH_ROWS];
	BlockNumber last = InvalidBlockNumber;
	bool		visible = false;
	int			i;

	skx_segment_read_tids(seg, first, n, tids);
	d->n = 0;
	for (i = 0; i < n; i++)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&tids[i]);

		if (block != last)
		{
			last = block;
			visible = block >= d->nblocks ||
				VM_ALL_VISIBLE(d->heap, block, &d->vm_buffer);
			if (!visible)
				ReleaseBuffer(ReadBuffer(d->heap, block));
		}
		if (visible)
			continue;
		d->docs[d->n] = first + i;
		d->tids[d->n].tid = tids[i];
		d->n++;
	}
}

/*
 * Removes deleted documents from the batch, and numbers those that are left.
 */
static void
skx_maint_dead_drop_deleted(SkxMaintDead *d, SkxSegment *seg)
{
	uint8		bits[SKX_DELETES_BYTES];
	int			n = 0;
	int			i;

	/* a batch does not cross pages of deleted bits */
	skx_segment_read_deletes(seg, d->docs[0] / SKX_DELETES_PER_PAGE, bits);
	for (i = 0; i < d->n; i++)
	{
		if (skx_bitset_bytes_test(bits, d->docs[i] % SKX_DELETES_PER_PAGE))
			continue;
		d->docs[n] = d->docs[i];
		d->tids[n].tid = d->tids[i].tid;
		d->tids[n].id = n;
		memset(&d->status[n], 0, sizeof(TM_IndexStatus));
		d->status[n].idxoffnum = FirstOffsetNumber;
		d->status[n].freespace = 1;
		n++;
	}
	d->n = n;
}

/*
 * Asks the table about n rows of one block.  The index does not know whether
 * any of them is dead, which only bottom-up deletion allows.  Given several
 * blocks, that leaves some of them out.
 */
static void
skx_maint_dead_check_block(SkxMaintDead *d, int from, int n)
{
	TM_IndexDeleteOp op = {0};
	TransactionId horizon;
	int			i;

	op.irel = d->index;
	op.iblknum = SKX_META_BLOCK;
	op.bottomup = true;
	op.ndeltids = n;
	op.deltids = d->tids + from;
	op.status = d->status;
	horizon = table_index_delete_tuples(d->heap, &op);
	if (TransactionIdIsValid(horizon) &&
		(!TransactionIdIsValid(d->horizon) ||
		 TransactionIdFollows(horizon, d->horizon)))
		d->horizon = horizon;

	/* the array may still have rows that cannot be deleted */
	for (i = 0; i < op.ndeltids; i++)
	{
		int			id = op.deltids[i].id;

		Assert(id >= 0 && id < d->n);
		if (!d->status[id].knowndeletable)
			continue;
		skx_maint_deletes_add(&d->deletes, d->docs[id]);
		d->ndead++;
	}
}

static void
skx_maint_dead_check(SkxMaintDead *d)
{
	int			i;
	int			end;

	d->nchecked += d->n;
	for (i = 0; i < d->n; i = end)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&d->tids[i].tid);

		for (end = i + 1; end < d->n; end++)
		{
			if (ItemPointerGetBlockNumber(&d->tids[end].tid) != block)
				break;
		}
		skx_maint_dead_check_block(d, i, end - i);
	}
}

/*
 * Asks about all documents of a segment.  Returns false, before the end, if
 * another process waits for the table.
 */
static bool
skx_maint_dead_segment(SkxMaintDead *d, SkxSegment *seg)
{
	uint32		ndocs = seg->header.ndocs;
	uint64		first;
	int			batches = 0;

	for (first = 0; first < ndocs; first += SKX_DEAD_BATCH_ROWS)
	{
		skx_maint_dead_gather_batch(d, seg, (uint32) first,
									Min(ndocs - first, SKX_DEAD_BATCH_ROWS));
		if (d->n > 0)
		{
			LockPage(d->index, SKX_META_BLOCK, ShareLock);
			skx_maint_dead_drop_deleted(d, seg);
			if (d->n > 0)
				skx_maint_dead_check(d);
			UnlockPage(d->index, SKX_META_BLOCK, ShareLock);
		}
		skx_throttle_point();
		if (++batches % SKX_DEAD_LOCK_CHECK_EVERY == 0 &&
			skx_compat_others_wait_for_lock(d->heap, AccessShareLock))
			return false;
	}
	return true;
}

/*
 * Sets the deleted bits of dead documents, after a record that makes standbys
 * cancel queries.
 */
static void
skx_maint_dead_mark(SkxMaintDead *d, const SkxOperation *op,
					const SkxDiskSegmentRef *ref)
{
	if (d->ndead == 0)
		return;
	if (RelationNeedsWAL(d->index) && TransactionIdIsValid(d->horizon))
		skx_compat_log_removed(d->heap, SKX_REL_LOCATOR(d->index),
							   d->horizon);
	skx_manifest_lock(d->index, true);
	skx_maint_deletes_set(&d->deletes, op, ref);
	skx_manifest_unlock(d->index);
}

void
skx_maint_delete_dead(const SkxOperation *op, const SkxView *inputs,
					  uint64 bytes)
{
	Relation	heap = skx_compat_index_heap(op->rel);
	SkxMaintDead *d = palloc0(sizeof(SkxMaintDead));
	SkxSnapshotReader *source;
	uint32		ndead = 0;
	bool		more = true;

	d->index = op->rel;
	d->heap = heap;
	d->vm_buffer = InvalidBuffer;
	if (bytes <= SKX_DEAD_MERGE_BYTES_MAX &&
		heap->rd_tableam == GetHeapamTableAmRoutine() &&
		ConditionalLockRelation(heap, AccessShareLock))
	{
		d->nblocks = RelationGetNumberOfBlocks(heap);
		skx_compat_refresh_horizon(heap);
		source = skx_snapshot_open(op->rel, inputs);
		skx_snapshot_read_once(source);
		for (int i = 0; more && skx_snapshot_next_segments(source, 1) > 0; i++)
		{
			d->ndead = 0;
			memset(&d->deletes, 0, sizeof(d->deletes));
			more = skx_maint_dead_segment(d, source->segments[0]);
			skx_maint_dead_mark(d, op, &inputs->segments[i]);
			ndead += d->ndead;
		}
		skx_snapshot_close(source);
		if (BufferIsValid(d->vm_buffer))
			ReleaseBuffer(d->vm_buffer);
		UnlockRelation(heap, AccessShareLock);
		ereport(DEBUG1,
				(errmsg_internal("merge of index \"%s\": the table was asked about %u documents, %u of which are dead",
								 RelationGetRelationName(op->rel), d->nchecked,
								 ndead)));
	}
	RelationClose(heap);
	pfree(d);
}
