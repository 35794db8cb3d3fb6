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
#include "count/count_internal.h"
#include "fault/fault.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"

/* Pages of a table that a page of its map is for: two bits each. */
#define SKX_MAP_PAGES \
	((BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * (BITS_PER_BYTE / 2))

/*
 * Matches that are worth a further page of the map: to count its bits takes as
 * long as to look at so many rows, about.
 */
#define SKX_MAP_WORTH	256

/* Only the map of the server's own kind of table is known. */
void
skx_count_map_begin(SkxCount *c)
{
	const SkxCountRequest *request = c->request;

	c->has_map = request->recheck == NULL &&
		IsMVCCSnapshot(request->snapshot) &&
		request->heap->rd_tableam == GetHeapamTableAmRoutine();
	c->has_whole = c->has_map && !IsolationIsSerializable();
	c->map = InvalidBuffer;
	c->block = InvalidBlockNumber;
}

/*
 * The size of the table comes last: pages that were added since have no bit, or
 * one that was counted.  None can be taken off, since the table is locked.
 */
bool
skx_count_is_whole(SkxCount *c, double matches)
{
	Relation	heap = c->request->heap;
	BlockNumber visible;

	if (!c->has_whole || c->asked_whole)
		return c->is_whole;
	if (RelationGetNumberOfBlocks(heap) / SKX_MAP_PAGES >
		matches / SKX_MAP_WORTH)
		return false;
	c->asked_whole = true;
	SKX_FAULT(SKX_FAULT_COUNT_WHOLE);
	visibilitymap_count(heap, &visible, NULL);
	c->is_whole = visible == RelationGetNumberOfBlocks(heap);
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
