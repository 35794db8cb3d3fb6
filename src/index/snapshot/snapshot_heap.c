/*
 * snapshot_heap.c
 *	  Asks for the table's blocks of rows that will be handed out next.
 *
 * The executor looks at a row's block when it has got the row's TID: without
 * this, rows in no order of the table wait for one block after the other.
 * Looking for a block that is in shared buffers costs a search of their table,
 * so as long as blocks are found there fewer and fewer are looked for.
 *
 * A block that follows the one before is not asked for: the kernel sees that
 * files are read forward, and reads ahead in larger pieces than it is asked
 * for.  That it does not do backward, so there a run of neighbours is asked for
 * at once, as one piece.
 */
#include "postgres.h"

#include "index/snapshot/snapshot.h"
#include "storage/blkio/blkio.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/spccache.h"

/* Blocks found in shared buffers in a row before some are passed over. */
#define SKX_HEAP_FOUND		8

/* Blocks passed over at a time, at most. */
#define SKX_HEAP_PASSED		64

uint64		skx_snapshot_heap_asked;

/*
 * The server's setting is 1 by default up to 17, which says little of a device:
 * it is taken for a permission, and skipidx.io_depth for what to do with it.
 * (150,000 pages backward, one row each, from a cold page cache: one ahead
 * 17.5 s, 16 ahead 6.7 s; by a btree, which asks for none ahead, 28.6 s.)
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

/* Was the block asked for just now?  Notes it. */
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

/* Begins to read a block, unless it is there; true: it was not. */
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
 * Rows from `from` on whose blocks descend one by one from `block`: how many
 * blocks that are, of which the last is in row *last.
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
 * Asks for the block of row `i`, and with it for the rest of a run backward;
 * returns the last row that has been asked for.
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

	if (a->next == 0)			/* it will be read before any other */
	{
		a->before = ItemPointerGetBlockNumber(&tids[at]);
		(void) skx_snapshot_heap_lately(a, a->before);
	}
	/* one that ends early has asked for no more rows than it has got */
	a->reach = at < a->sure ? a->depth : Min(a->reach + 1, a->depth);
	end = Min(at + 1 + a->reach, known);
	/* a run is one only where the scan has come as far as it reaches */
	if (a->reach < a->depth)
		known = end;
	for (a->next = Max(a->next, at + 1); a->next < end; a->next++)
		a->next = skx_snapshot_heap_ask_row(a, tids, a->next, known);
}
