/*
 * maint_dead.c
 *	  Documents of rows that are dead to all, before VACUUM has come to them.
 *
 * Each update leaves a version of the row behind, and queries score its document
 * until autovacuum has looked, once a minute, and found a fifth of the table
 * dead.  What a worker merges is written anew anyway: so the table is asked
 * first which rows of it no snapshot sees any more, as a B-tree asks before it
 * splits a page, and their documents are marked as VACUUM would mark them.
 *
 * A standby may have older snapshots: a record before the marks makes it cancel
 * queries that need the rows, as pruning of the table does.
 *
 * The TID of a document that is not marked is that of its row: VACUUM gives the
 * line pointer free only after it has marked all of an index.  So it is kept
 * from marking, by the lock on the metapage, from the look at the bits of some
 * documents to the table's answer.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "index/segment/segment_maint.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "support/compat/compat.h"
#include "support/throttle/throttle.h"
#include "write/maint/maint_internal.h"

/* A merge of more would read too much of the table. */
#define SKX_DEAD_BYTES		(64 * 1024 * 1024)

/* Documents that the table is asked about at once, some .1 ms. */
#define SKX_DEAD_BATCH		SKX_TID_GROUP

/* Between two looks whether the table is wanted, in batches. */
#define SKX_DEAD_LOOK		64

typedef struct SkxMaintDead
{
	Relation	index;
	Relation	heap;
	BlockNumber nblocks;		/* of the heap */
	Buffer		map;			/* page of its visibility map, pinned */
	TransactionId horizon;		/* the last that removed one of the rows */
	SkxMaintMarks marks;		/* of the segment */
	uint32		ndead;			/* ditto */
	uint32		nasked;			/* documents of all segments */

	/* asked about at once */
	int			n;
	uint32		docs[SKX_DEAD_BATCH];
	TM_IndexDelete tids[SKX_DEAD_BATCH];
	TM_IndexStatus status[SKX_DEAD_BATCH];
} SkxMaintDead;

/*
 * Takes those of documents first .. first + n - 1 whose pages may have dead
 * rows, and has these pages in memory, so that the lock is not held meanwhile.
 */
static void
skx_maint_dead_gather(SkxMaintDead *d, SkxSegment *seg, uint32 first, int n)
{
	ItemPointerData tids[SKX_DEAD_BATCH];
	BlockNumber last = InvalidBlockNumber;
	bool		visible = false;
	int			i;

	skx_segment_tids(seg, first, n, tids);
	d->n = 0;
	for (i = 0; i < n; i++)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&tids[i]);

		if (block != last)
		{
			last = block;
			visible = block >= d->nblocks ||
				VM_ALL_VISIBLE(d->heap, block, &d->map);
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

/* Leaves out those that are marked; then numbers them. */
static void
skx_maint_dead_unmarked(SkxMaintDead *d, SkxSegment *seg)
{
	uint8		bits[SKX_DELETES_BYTES];
	int			n = 0;
	int			i;

	/* groups do not cross pages of bits */
	skx_segment_read_deletes(seg, d->docs[0] / SKX_DELETES_PER_PAGE, bits);
	for (i = 0; i < d->n; i++)
	{
		uint32		bit = d->docs[i] % SKX_DELETES_PER_PAGE;

		if (bits[bit / 8] & (1 << (bit % 8)))
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
 * Asks the table about rows of one block.  Nothing is known of them, as only
 * bottom-up deletion may say; which leaves blocks out where there are several.
 */
static void
skx_maint_dead_ask_block(SkxMaintDead *d, int from, int n)
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

	/* what cannot be deleted may still be among them */
	for (i = 0; i < op.ndeltids; i++)
	{
		int			id = op.deltids[i].id;

		Assert(id >= 0 && id < d->n);
		if (!d->status[id].knowndeletable)
			continue;
		skx_maint_marks_add(&d->marks, d->docs[id]);
		d->ndead++;
	}
}

static void
skx_maint_dead_ask(SkxMaintDead *d)
{
	int			i;
	int			end;

	d->nasked += d->n;
	for (i = 0; i < d->n; i = end)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&d->tids[i].tid);

		for (end = i + 1; end < d->n; end++)
		{
			if (ItemPointerGetBlockNumber(&d->tids[end].tid) != block)
				break;
		}
		skx_maint_dead_ask_block(d, i, end - i);
	}
}

/* False: another process wants the table. */
static bool
skx_maint_dead_segment(SkxMaintDead *d, SkxSegment *seg)
{
	uint32		ndocs = seg->header.ndocs;
	uint64		first;
	int			batches = 0;

	for (first = 0; first < ndocs; first += SKX_DEAD_BATCH)
	{
		skx_maint_dead_gather(d, seg, (uint32) first,
							  Min(ndocs - first, SKX_DEAD_BATCH));
		if (d->n > 0)
		{
			LockPage(d->index, SKX_META_BLOCK, ShareLock);
			skx_maint_dead_unmarked(d, seg);
			if (d->n > 0)
				skx_maint_dead_ask(d);
			UnlockPage(d->index, SKX_META_BLOCK, ShareLock);
		}
		skx_throttle_point();
		if (++batches % SKX_DEAD_LOOK == 0 &&
			skx_compat_waited_for(d->heap, AccessShareLock))
			return false;
	}
	return true;
}

/* Marks what was found, after a record that makes standbys ready for it. */
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
	skx_maint_marks_set(&d->marks, op, ref);
	skx_manifest_unlock(d->index);
}

void
skx_maint_dead(const SkxOperation *op, const SkxView *inputs, uint64 bytes)
{
	Relation	heap = skx_compat_heap(op->rel);
	SkxMaintDead *d = palloc0(sizeof(SkxMaintDead));
	SkxSource  *source;
	uint32		ndead = 0;
	bool		more = true;

	d->index = op->rel;
	d->heap = heap;
	d->map = InvalidBuffer;
	if (bytes <= SKX_DEAD_BYTES &&
		heap->rd_tableam == GetHeapamTableAmRoutine() &&
		ConditionalLockRelation(heap, AccessShareLock))
	{
		d->nblocks = RelationGetNumberOfBlocks(heap);
		skx_compat_horizon_anew(heap);
		source = skx_snapshot_open(op->rel, inputs);
		skx_snapshot_once(source);
		for (int i = 0; more && skx_snapshot_next(source, 1) > 0; i++)
		{
			d->ndead = 0;
			memset(&d->marks, 0, sizeof(d->marks));
			more = skx_maint_dead_segment(d, source->segments[0]);
			skx_maint_dead_mark(d, op, &inputs->segments[i]);
			ndead += d->ndead;
		}
		skx_snapshot_close(source);
		if (BufferIsValid(d->map))
			ReleaseBuffer(d->map);
		UnlockRelation(heap, AccessShareLock);
		ereport(DEBUG1,
				(errmsg_internal("merge of index \"%s\": the table was asked about %u documents, %u of which are dead",
								 RelationGetRelationName(op->rel), d->nasked,
								 ndead)));
	}
	RelationClose(heap);
	pfree(d);
}
