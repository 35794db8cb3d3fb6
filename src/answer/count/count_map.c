/*
 * count_map.c
 *	  Reads the visibility map of the table.
 *
 * A page that is visible to all has no dead row.  So a row that a snapshot in
 * use cannot see was removed from the page before its bit was set.  README.md
 * describes what that means for the documents of an index.
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
 * Number of pages of the table that a byte, a word and a page of the map
 * describe.  The last constant has the bits of a word whose pages are all
 * visible to all.
 */
#define SKX_MAP_BYTE		(BITS_PER_BYTE / BITS_PER_HEAPBLOCK)
#define SKX_MAP_WORD		((int) sizeof(uint64) * SKX_MAP_BYTE)
#define SKX_MAP_PAGES \
	((BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * SKX_MAP_BYTE)
#define SKX_MAP_VISIBLE		UINT64CONST(0x5555555555555555)

/*
 * Number of matches that justify reading a further page of the map.  Reading
 * it takes .4 us, and checking a single match .08.
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

/*
 * Returns true if the first n pages that a page of the map describes are
 * visible to all.
 */
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
 * Returns true if all pages of the table are visible to all.  The server's
 * visibilitymap_count() would count them, in 1.5 ns for a word of the map.
 * This function takes a tenth of that, and ends with the first page of the map
 * in which one is not.  The server's function pins the pages of the map.  No
 * lock is taken, as in that function.
 */
static bool
skx_count_map_whole(SkxCount *c, BlockNumber npages)
{
	Relation	heap = c->request->heap;
	BlockNumber block;

	/* the last page of a growing table mostly is not */
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
 * The size of the table is read last, to know that no page was added
 * meanwhile.  None can be removed, since the table is locked.
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
