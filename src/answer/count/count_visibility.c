/*
 * count_visibility.c
 *	  Tells by the visibility map which rows are visible without being read.
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
#define SKX_VM_BYTE_PAGES		(BITS_PER_BYTE / BITS_PER_HEAPBLOCK)
#define SKX_VM_WORD_PAGES		((int) sizeof(uint64) * SKX_VM_BYTE_PAGES)
#define SKX_VM_PAGE_PAGES \
	((BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * SKX_VM_BYTE_PAGES)
#define SKX_VM_VISIBLE_MASK		UINT64CONST(0x5555555555555555)

/*
 * Number of matches that justify reading a further page of the map.  Reading
 * it takes .4 us, and checking a single match .08.
 */
#define SKX_VM_MATCHES_MIN	16

/* Only the map of the server's own kind of table is known. */
void
skx_count_vm_begin(SkxCount *c)
{
	const SkxRequest *request = c->request;

	c->can_use_vm = request->recheck == NULL &&
		IsMVCCSnapshot(request->snapshot) &&
		request->heap->rd_tableam == GetHeapamTableAmRoutine();
	c->can_use_whole_vm = c->can_use_vm && !IsolationIsSerializable();
	c->vm_buffer = InvalidBuffer;
	c->block = InvalidBlockNumber;
}

/*
 * Returns true if the first n pages that a page of the map describes are
 * visible to all.
 */
static bool
skx_count_vm_page(const uint8 *map, BlockNumber n)
{
	const uint64 *words = (const uint64 *) map;
	uint64		all = SKX_VM_VISIBLE_MASK;
	BlockNumber i;

	for (i = 0; i < n / SKX_VM_WORD_PAGES; i++)
		all &= words[i];
	for (i = i * SKX_VM_WORD_PAGES; i < n; i++)
		if ((map[i / SKX_VM_BYTE_PAGES] >> (i % SKX_VM_BYTE_PAGES *
											BITS_PER_HEAPBLOCK) &
			 VISIBILITYMAP_ALL_VISIBLE) == 0)
			return false;
	return all == SKX_VM_VISIBLE_MASK;
}

/*
 * Returns true if all pages of the table are visible to all.  The server's
 * visibilitymap_count() would count them, in 1.5 ns for a word of the map.
 * This function takes a tenth of that, and ends with the first page of the map
 * in which one is not.  The server's function pins the pages of the map.  No
 * lock is taken, as in that function.
 */
static bool
skx_count_vm_all_visible(SkxCount *c, BlockNumber npages)
{
	Relation	heap = c->request->heap;
	BlockNumber block;

	/* the last page of a growing table mostly is not */
	if (npages > 0 && !VM_ALL_VISIBLE(heap, npages - 1, &c->vm_buffer))
		return false;
	for (block = 0; block < npages; block += SKX_VM_PAGE_PAGES)
	{
		CHECK_FOR_INTERRUPTS();
		if (!VM_ALL_VISIBLE(heap, block, &c->vm_buffer) ||
			!skx_count_vm_page((uint8 *) PageGetContents(BufferGetPage(c->vm_buffer)), Min(npages - block, SKX_VM_PAGE_PAGES)))
			return false;
	}
	return true;
}

/*
 * The size of the table is read last, to know that no page was added
 * meanwhile.  None can be removed, since the table is locked.
 */
bool
skx_count_table_is_visible(SkxCount *c, double matches)
{
	Relation	heap = c->request->heap;
	BlockNumber npages;

	if (!c->can_use_whole_vm || c->whole_vm_checked)
		return c->is_all_visible;
	npages = RelationGetNumberOfBlocks(heap);
	if (npages / SKX_VM_PAGE_PAGES > matches / SKX_VM_MATCHES_MIN)
		return false;
	c->whole_vm_checked = true;
	SKX_FAULT(SKX_FAULT_COUNT_WHOLE);
	c->is_all_visible = skx_count_vm_all_visible(c, npages) &&
		RelationGetNumberOfBlocks(heap) == npages;
	return c->is_all_visible;
}

bool
skx_count_block_is_visible(SkxCount *c, BlockNumber block)
{
	if (!c->can_use_vm || c->is_replaced)
		return false;
	if (block == c->block)
		return c->page_is_visible;
	c->block = block;
	c->page_is_visible = VM_ALL_VISIBLE(c->request->heap, block,
										&c->vm_buffer);
	if (c->page_is_visible)
		PredicateLockPage(c->request->heap, block, c->request->snapshot);
	return c->page_is_visible;
}

void
skx_count_vm_end(SkxCount *c)
{
	if (BufferIsValid(c->vm_buffer))
		ReleaseBuffer(c->vm_buffer);
}
