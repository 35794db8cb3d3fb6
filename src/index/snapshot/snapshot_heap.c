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
#define SKX_HEAP_RESIDENT_RUN		8

/* Most blocks that are skipped at a time. */
#define SKX_HEAP_SKIP_MAX		64

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
skx_snapshot_heap_begin(SkxHeapPrefetch *a, Relation heap)
{
	if (a->heap == heap)
		return;
	memset(a, 0, sizeof(*a));
	a->heap = heap;
	if (heap != NULL)
		a->max_rows_ahead =
			skx_snapshot_heap_depth(heap->rd_rel->reltablespace);
}

void
skx_snapshot_heap_batch(SkxHeapPrefetch *a, int sure)
{
	int			i;

	a->next_row = a->noted_rows = 0;
	a->certain_rows = sure;
	for (i = 0; i < SKX_HEAP_RECENT_BLOCKS; i++)
		a->recent_blocks[i] = InvalidBlockNumber;
}

/* Returns true if the block is among the recent ones; else notes it. */
static bool
skx_snapshot_heap_is_recent(SkxHeapPrefetch *a, BlockNumber block)
{
	int			i;

	for (i = 0; i < SKX_HEAP_RECENT_BLOCKS; i++)
		if (a->recent_blocks[i] == block)
			return true;
	a->recent_blocks[a->noted_rows++ % SKX_HEAP_RECENT_BLOCKS] = block;
	return false;
}

/*
 * Begins to read a block, unless it is in shared buffers.  Returns true if a
 * read was begun.
 */
static bool
skx_snapshot_heap_prefetch_block(SkxHeapPrefetch *a, BlockNumber block)
{
	PrefetchBufferResult result;

	if (a->nskip > 0)
	{
		a->nskip--;
		return false;
	}
	result = PrefetchBuffer(a->heap, MAIN_FORKNUM, block);
	skx_snapshot_heap_asked += result.initiated_io;
	if (!BufferIsValid(result.recent_buffer))
		a->nresident = 0;
	else if (++a->nresident >= SKX_HEAP_RESIDENT_RUN)
		a->nskip = Min(a->nresident - SKX_HEAP_RESIDENT_RUN + 1,
					   SKX_HEAP_SKIP_MAX);
	return result.initiated_io;
}

/*
 * Returns the length, in blocks, of the run that descends one by one from
 * `block`, that of row `from`.  Sets *last to the last row of the run.
 */
static int
skx_snapshot_heap_descending_run(const ItemPointerData *tids, int from, int n,
								 BlockNumber block, int *last)
{
	int			nblocks = 1;
	int			i;

	*last = from;
	for (i = from + 1; i < n && nblocks < SKX_BLK_HINT_RUN_BLOCKS; i++)
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
skx_snapshot_heap_prefetch_row(SkxHeapPrefetch *a, const ItemPointerData *tids,
							   int i, int n)
{
	BlockNumber block = ItemPointerGetBlockNumber(&tids[i]);
	BlockNumber before = a->last_block;
	int			last;
	int			nblocks;

	a->last_block = block;
	if (block == before || skx_snapshot_heap_is_recent(a, block) ||
		block == before + 1 || !skx_snapshot_heap_prefetch_block(a, block) ||
		block + 1 != before)
		return i;
	nblocks = skx_snapshot_heap_descending_run(tids, i, n, block, &last);
	if (nblocks == 1)
		return i;
	a->last_block = block - (nblocks - 1);
	skx_blkio_hint(a->heap, a->last_block, nblocks - 1);
	skx_snapshot_heap_asked += nblocks - 1;
	return last;
}

void
skx_snapshot_heap_prefetch_more(SkxHeapPrefetch *a,
								const ItemPointerData *tids, int n, int at)
{
	int			end;
	int			known = at < a->certain_rows ? Min(a->certain_rows, n) : n;

	if (a->next_row == 0)		/* the block of row `at` is read first */
	{
		a->last_block = ItemPointerGetBlockNumber(&tids[at]);
		(void) skx_snapshot_heap_is_recent(a, a->last_block);
	}
	/* a scan that ends early has prefetched no more rows than it returned */
	a->rows_ahead = at < a->certain_rows ? a->max_rows_ahead :
		Min(a->rows_ahead + 1, a->max_rows_ahead);
	end = Min(at + 1 + a->rows_ahead, known);
	/* until the reach is full, runs end where it ends */
	if (a->rows_ahead < a->max_rows_ahead)
		known = end;
	for (a->next_row = Max(a->next_row,
						   at + 1); a->next_row < end; a->next_row++)
		a->next_row = skx_snapshot_heap_prefetch_row(a, tids, a->next_row,
													 known);
}
