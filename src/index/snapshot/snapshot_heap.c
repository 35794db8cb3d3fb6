/*
 * snapshot_heap.c
 *	  Prefetches the table's blocks of rows that a scan will return.
 *
 * The executor reads a row's block when it has got the row's tid.  Without a
 * prefetch, rows that are in no order of the table wait for one block after
 * the other.  A look-up of a block in shared buffers has costs, too.  So as
 * long as blocks are found there, fewer and fewer are looked up.
 *
 * A block that follows the one before is not prefetched: the kernel notices
 * that a file is read forward, and reads ahead in larger pieces.  It does not
 * do that backward, so a descending run of neighbours is prefetched as one
 * piece.
 */
#include "postgres.h"

#include "index/snapshot/snapshot.h"
#include "storage/blkio/blkio.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/spccache.h"

/* Blocks found in shared buffers in a row after which some are skipped. */
#define SKX_HEAP_FOUND		8

/* Most blocks that are skipped at a time. */
#define SKX_HEAP_PASSED		64

uint64		skx_snapshot_heap_asked;

/*
 * The server's setting is 1 by default up to version 17, which says little
 * about the device.  So it only permits prefetches, and skipidx.io_depth gives
 * their number.  (150,000 pages backward, one row each, from a cold page
 * cache: one ahead 17.5 s, 16 ahead 6.7 s; by a btree, which does not
 * prefetch, 28.6 s.)
 */
int
skx_snapshot_heap_depth(Oid tablespace)
{
	int			depth = get_tablespace_io_concurrency(tablespace);

	return depth > 0 ? Max(depth, skx_blkio_io_depth) : 0;
}

void
skx_snapshot_heap_begin(SkxHeapAhead *a, Relation heap)
{
	if (a->heap == heap)
		return;
	memset(a, 0, sizeof(*a));
	a->heap = heap;
	if (heap != NULL)
		a->depth = skx_snapshot_heap_depth(heap->rd_rel->reltablespace);
}

void
skx_snapshot_heap_batch(SkxHeapAhead *a, int sure)
{
	int			i;

	a->next = a->rows = 0;
	a->sure = sure;
	for (i = 0; i < SKX_HEAP_LATELY; i++)
		a->lately[i] = InvalidBlockNumber;
}

/* Returns true if the block is among the recent ones; else notes it. */
static bool
skx_snapshot_heap_lately(SkxHeapAhead *a, BlockNumber block)
{
	int			i;

	for (i = 0; i < SKX_HEAP_LATELY; i++)
		if (a->lately[i] == block)
			return true;
	a->lately[a->rows++ % SKX_HEAP_LATELY] = block;
	return false;
}

/*
 * Begins to read a block, unless it is in shared buffers.  Returns true if a
 * read was begun.
 */
static bool
skx_snapshot_heap_look(SkxHeapAhead *a, BlockNumber block)
{
	PrefetchBufferResult result;

	if (a->pass > 0)
	{
		a->pass--;
		return false;
	}
	result = PrefetchBuffer(a->heap, MAIN_FORKNUM, block);
	skx_snapshot_heap_asked += result.initiated_io;
	if (!BufferIsValid(result.recent_buffer))
		a->found = 0;
	else if (++a->found >= SKX_HEAP_FOUND)
		a->pass = Min(a->found - SKX_HEAP_FOUND + 1, SKX_HEAP_PASSED);
	return result.initiated_io;
}

/*
 * Returns the length, in blocks, of the run that descends one by one from
 * `block`, that of row `from`.  Sets *last to the last row of the run.
 */
static int
skx_snapshot_heap_run(const ItemPointerData *tids, int from, int n,
					  BlockNumber block, int *last)
{
	int			nblocks = 1;
	int			i;

	*last = from;
	for (i = from + 1; i < n && nblocks < SKX_BLK_RUN; i++)
	{
		BlockNumber next = ItemPointerGetBlockNumber(&tids[i]);

		if (next + 1 == block)
			nblocks++;
		else if (next != block)
			break;
		block = next;
		*last = i;
	}
	return nblocks;
}

/*
 * Prefetches the block of row `i`, and the rest of a descending run that it
 * belongs to.  Returns the last row whose block this was.
 */
static int
skx_snapshot_heap_ask_row(SkxHeapAhead *a, const ItemPointerData *tids, int i,
						  int n)
{
	BlockNumber block = ItemPointerGetBlockNumber(&tids[i]);
	BlockNumber before = a->before;
	int			last;
	int			nblocks;

	a->before = block;
	if (block == before || skx_snapshot_heap_lately(a, block) ||
		block == before + 1 || !skx_snapshot_heap_look(a, block) ||
		block + 1 != before)
		return i;
	nblocks = skx_snapshot_heap_run(tids, i, n, block, &last);
	if (nblocks == 1)
		return i;
	a->before = block - (nblocks - 1);
	skx_blkio_hint(a->heap, a->before, nblocks - 1);
	skx_snapshot_heap_asked += nblocks - 1;
	return last;
}

void
skx_snapshot_heap_ask_slow(SkxHeapAhead *a, const ItemPointerData *tids, int n,
						   int at)
{
	int			end;
	int			known = at < a->sure ? Min(a->sure, n) : n;

	if (a->next == 0)			/* the block of row `at` is read first */
	{
		a->before = ItemPointerGetBlockNumber(&tids[at]);
		(void) skx_snapshot_heap_lately(a, a->before);
	}
	/* a scan that ends early has prefetched no more rows than it returned */
	a->reach = at < a->sure ? a->depth : Min(a->reach + 1, a->depth);
	end = Min(at + 1 + a->reach, known);
	/* until the reach is full, runs end where it ends */
	if (a->reach < a->depth)
		known = end;
	for (a->next = Max(a->next, at + 1); a->next < end; a->next++)
		a->next = skx_snapshot_heap_ask_row(a, tids, a->next, known);
}
