/*
 * source_heap.c
 *	  Asks for the table's blocks of rows that will be handed out next.
 *
 * The executor looks at a row's block when it has got the row's TID: without
 * this, rows in no order of the table wait for one block after the other.
 * Looking for a block that is in shared buffers costs a search of their table,
 * so as long as blocks are found there fewer and fewer are looked for.
 */
#include "postgres.h"

#include "blkio/blkio.h"
#include "source/source.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/spccache.h"

/* Blocks found in shared buffers in a row before some are passed over. */
#define SKX_HEAP_FOUND		8

/* Blocks passed over at a time, at most. */
#define SKX_HEAP_PASSED		64

uint64		skx_source_heap_asked;

/*
 * The server's setting is 1 by default up to 17, which says little of a device:
 * it is taken for a permission, and skipidx.io_depth for what to do with it.
 * (150,000 pages backward, one row each, from a cold page cache: one ahead
 * 17.5 s, 16 ahead 6.7 s; by a btree, which asks for none ahead, 28.6 s.)
 */
int
skx_source_heap_depth(Oid tablespace)
{
	int			depth = get_tablespace_io_concurrency(tablespace);

	return depth > 0 ? Max(depth, skx_blkio_io_depth) : 0;
}

void
skx_source_heap_begin(SkxHeapAhead *a, Relation heap)
{
	if (a->heap == heap)
		return;
	memset(a, 0, sizeof(*a));
	a->heap = heap;
	if (heap != NULL)
		a->depth = skx_source_heap_depth(heap->rd_rel->reltablespace);
}

void
skx_source_heap_batch(SkxHeapAhead *a, int sure)
{
	int			i;

	a->next = a->rows = 0;
	a->sure = sure;
	for (i = 0; i < SKX_HEAP_LATELY; i++)
		a->lately[i] = InvalidBlockNumber;
}

/* Was the block asked for just now?  Notes it. */
static bool
skx_source_heap_lately(SkxHeapAhead *a, BlockNumber block)
{
	int			i;

	for (i = 0; i < SKX_HEAP_LATELY; i++)
		if (a->lately[i] == block)
			return true;
	a->lately[a->rows++ % SKX_HEAP_LATELY] = block;
	return false;
}

static void
skx_source_heap_look(SkxHeapAhead *a, BlockNumber block)
{
	PrefetchBufferResult result;

	if (a->pass > 0)
	{
		a->pass--;
		return;
	}
	result = PrefetchBuffer(a->heap, MAIN_FORKNUM, block);
	skx_source_heap_asked += result.initiated_io;
	if (!BufferIsValid(result.recent_buffer))
		a->found = 0;
	else if (++a->found >= SKX_HEAP_FOUND)
		a->pass = Min(a->found - SKX_HEAP_FOUND + 1, SKX_HEAP_PASSED);
}

void
skx_source_heap_ask_slow(SkxHeapAhead *a, const ItemPointerData *tids, int n,
						 int at)
{
	int			end;

	if (a->next == 0)			/* it will be read before any other */
		(void) skx_source_heap_lately(a, ItemPointerGetBlockNumber(&tids[at]));
	/* one that ends early has asked for no more rows than it has got */
	a->reach = at < a->sure ? a->depth : Min(a->reach + 1, a->depth);
	end = Min(at + 1 + a->reach, n);
	if (at < a->sure)
		end = Min(end, a->sure);
	for (a->next = Max(a->next, at + 1); a->next < end; a->next++)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&tids[a->next]);

		if (!skx_source_heap_lately(a, block))
			skx_source_heap_look(a, block);
	}
}
