/*
 * count_map.c
 *	  Asks the visibility map of the table.
 *
 * A page that is visible to all has no dead row, so a row of it that a snapshot
 * in use cannot see has been removed before the bit was set.  What that means for
 * the documents of an index is in README.md.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "answer/count/count_internal.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "support/fault/fault.h"
#include "utils/rel.h"

/*
 * Of how many pages of the table a byte of the map tells, a word of it, and a
 * page; and the bits of a word of which all are visible to all.
 */
#define SKX_MAP_BYTE		(BITS_PER_BYTE / BITS_PER_HEAPBLOCK)
#define SKX_MAP_WORD		((int) sizeof(uint64) * SKX_MAP_BYTE)
#define SKX_MAP_PAGES \
	((BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * SKX_MAP_BYTE)
#define SKX_MAP_VISIBLE		UINT64CONST(0x5555555555555555)

/*
 * Matches that are worth a look at a further page of the map: it takes .4 us, and
 * to ask about a match alone .08.
 */
#define SKX_MAP_WORTH	16

/* Only the map of the server's own kind of table is known. */
void
skx_count_map_begin(SkxCount *c)
{
	const SkxRequest *request = c->request;

	c->has_map = request->recheck == NULL &&
		IsMVCCSnapshot(request->snapshot) &&
		request->heap->rd_tableam == GetHeapamTableAmRoutine();
	c->has_whole = c->has_map && !IsolationIsSerializable();
	c->map = InvalidBuffer;
	c->block = InvalidBlockNumber;
}

/* Are the first n pages that a page of the map tells of visible to all? */
static bool
skx_count_map_page(const uint8 *map, BlockNumber n)
{
	const uint64 *words = (const uint64 *) map;
	uint64		all = SKX_MAP_VISIBLE;
	BlockNumber i;

	for (i = 0; i < n / SKX_MAP_WORD; i++)
		all &= words[i];
	for (i = i * SKX_MAP_WORD; i < n; i++)
		if ((map[i / SKX_MAP_BYTE] >> (i % SKX_MAP_BYTE * BITS_PER_HEAPBLOCK) &
			 VISIBILITYMAP_ALL_VISIBLE) == 0)
			return false;
	return all == SKX_MAP_VISIBLE;
}

/*
 * The server's visibilitymap_count() would count them all, a word of the map in
 * 1.5 ns; this takes a tenth, and ends with the first page of the map where one
 * is not.  The server's function pins that page; no lock is taken, as there.
 */
static bool
skx_count_map_whole(SkxCount *c, BlockNumber npages)
{
	Relation	heap = c->request->heap;
	BlockNumber block;

	/* of a table that grows the last one is not, mostly */
	if (npages > 0 && !VM_ALL_VISIBLE(heap, npages - 1, &c->map))
		return false;
	for (block = 0; block < npages; block += SKX_MAP_PAGES)
	{
		CHECK_FOR_INTERRUPTS();
		if (!VM_ALL_VISIBLE(heap, block, &c->map) ||
			!skx_count_map_page((uint8 *) PageGetContents(BufferGetPage(c->map)),
								Min(npages - block, SKX_MAP_PAGES)))
			return false;
	}
	return true;
}

/*
 * The size of the table comes last: no page was added since.  None can be taken
 * off, since the table is locked.
 */
bool
skx_count_is_whole(SkxCount *c, double matches)
{
	Relation	heap = c->request->heap;
	BlockNumber npages;

	if (!c->has_whole || c->asked_whole)
		return c->is_whole;
	npages = RelationGetNumberOfBlocks(heap);
	if (npages / SKX_MAP_PAGES > matches / SKX_MAP_WORTH)
		return false;
	c->asked_whole = true;
	SKX_FAULT(SKX_FAULT_COUNT_WHOLE);
	c->is_whole = skx_count_map_whole(c, npages) &&
		RelationGetNumberOfBlocks(heap) == npages;
	return c->is_whole;
}

bool
skx_count_is_visible(SkxCount *c, BlockNumber block)
{
	if (!c->has_map || c->retired)
		return false;
	if (block == c->block)
		return c->visible;
	c->block = block;
	c->visible = VM_ALL_VISIBLE(c->request->heap, block, &c->map);
	if (c->visible)
		PredicateLockPage(c->request->heap, block, c->request->snapshot);
	return c->visible;
}

void
skx_count_map_end(SkxCount *c)
{
	if (BufferIsValid(c->map))
		ReleaseBuffer(c->map);
}
