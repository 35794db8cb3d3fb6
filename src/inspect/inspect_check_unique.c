/*
 * inspect_check_unique.c
 *	  Checks that no row is a live document twice.
 *
 * A row's document moves from the pending list to a segment, and from segment
 * to segment, each time in one flip of the root.  Its TID is not used for
 * another row before VACUUM has set the document's deleted bit.  So at any
 * moment no TID belongs to two documents that are not deleted, whatever rows
 * the table has.
 *
 * The documents of a segment are in the order of their TIDs, so those of all
 * segments are merged.  Then each pending document is looked up in every
 * segment, since there are few of them.
 */
#include "postgres.h"

#include "inspect/inspect_internal.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "support/bitset/bitset.h"

/* The next live document of a segment. */
typedef struct SkxCheckNextLive
{
	SkxCheckSegment *cs;
	uint32		doc;
	ItemPointerData tid;
} SkxCheckNextLive;

/* Reads the TIDs of a group into cs->tids. */
static void
skx_inspect_read_tid_group(SkxCheckSegment *cs, uint32 group)
{
	uint32		first = group * SKX_TID_GROUP_DOCS;

	if (cs->group == group + 1)
		return;
	CHECK_FOR_INTERRUPTS();
	cs->group = group + 1;
	cs->ntids = Min(cs->ndocs - first, SKX_TID_GROUP_DOCS);
	skx_segment_read_tids(cs->seg, first, cs->ntids, cs->tids);
}

uint32
skx_inspect_find_live(SkxCheckSegment *cs, ItemPointer tid, bool *deleted)
{
	uint32		low = 0;
	uint32		high = cs->ngroups - 1;
	uint32		doc;
	int			i;

	if (ItemPointerCompare(&cs->groups[0], tid) > 0)
		return SKX_NO_DOC;
	while (low < high)
	{
		uint32		mid = low + (high - low + 1) / 2;

		if (ItemPointerCompare(&cs->groups[mid], tid) <= 0)
			low = mid;
		else
			high = mid - 1;
	}
	skx_inspect_read_tid_group(cs, low);
	for (i = 0; i < cs->ntids && !ItemPointerEquals(&cs->tids[i], tid); i++)
		 /* keep looking */ ;
	if (i == cs->ntids)
		return SKX_NO_DOC;
	doc = low * SKX_TID_GROUP_DOCS + i;
	if (!skx_bitset_test(cs->deleted, doc))
		return doc;
	if (deleted != NULL)
		*deleted = true;
	return SKX_NO_DOC;
}

/*
 * Moves to the first live document from `doc` on.  Returns false if there is
 * none.
 */
static bool
skx_inspect_next_live(SkxCheckNextLive *next, uint32 doc)
{
	SkxCheckSegment *cs = next->cs;

	while (doc < cs->ndocs && skx_bitset_test(cs->deleted, doc))
		doc++;
	if (doc >= cs->ndocs)
		return false;
	skx_inspect_read_tid_group(cs, doc / SKX_TID_GROUP_DOCS);
	next->doc = doc;
	next->tid = cs->tids[doc % SKX_TID_GROUP_DOCS];
	return true;
}

static int
skx_inspect_compare_live(Datum a, Datum b, void *arg)
{
	SkxCheckNextLive *x = (SkxCheckNextLive *) DatumGetPointer(a);
	SkxCheckNextLive *y = (SkxCheckNextLive *) DatumGetPointer(b);

	return ItemPointerCompare(&y->tid, &x->tid);	/* least TID first */
}

/*
 * Merges the live documents of all segments.  Two documents of one row come
 * one after the other, and are damage.
 */
static void
skx_inspect_merge_segments(SkxCheck *check)
{
	int			n = check->view->nsegments;
	SkxCheckNextLive *nexts = palloc(n * sizeof(SkxCheckNextLive));
	binaryheap *heap = binaryheap_allocate(n, skx_inspect_compare_live, NULL);
	SkxCheckNextLive last = {0};
	int			i;

	for (i = 0; i < n; i++)
	{
		nexts[i].cs = check->segments[i];
		if (skx_inspect_next_live(&nexts[i], 0))
			binaryheap_add_unordered(heap, PointerGetDatum(&nexts[i]));
	}
	binaryheap_build(heap);
	while (!binaryheap_empty(heap))
	{
		SkxCheckNextLive *next =
			(SkxCheckNextLive *) DatumGetPointer(binaryheap_first(heap));

		if (last.cs != NULL && ItemPointerEquals(&last.tid, &next->tid))
			skx_damage_report_detail(check->index, InvalidBlockNumber,
									 "row (%u,%u) is both document %u of segment %u and document %u of segment %u",
									 ItemPointerGetBlockNumber(&next->tid),
									 ItemPointerGetOffsetNumber(&next->tid),
									 last.doc, last.cs->seg->header.segment,
									 next->doc,
									 next->cs->seg->header.segment);
		last = *next;
		if (skx_inspect_next_live(next, next->doc + 1))
			binaryheap_replace_first(heap, PointerGetDatum(next));
		else
			binaryheap_remove_first(heap);
	}
	binaryheap_free(heap);
	pfree(nexts);
}

/* Checks that no pending document is live in a segment, too. */
static void
skx_inspect_look_up_pending(SkxCheck *check)
{
	HASH_SEQ_STATUS status;
	SkxCheckEntry *entry;

	hash_seq_init(&status, check->pending);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		int			i;

		for (i = 0; i < check->view->nsegments; i++)
		{
			SkxCheckSegment *cs = check->segments[i];
			uint32		doc = skx_inspect_find_live(cs, &entry->tid, NULL);

			if (doc != SKX_NO_DOC)
				skx_damage_report_detail(check->index, InvalidBlockNumber,
										 "row (%u,%u) is in the pending list and document %u of segment %u",
										 ItemPointerGetBlockNumber(&entry->tid),
										 ItemPointerGetOffsetNumber(&entry->tid),
										 doc, cs->seg->header.segment);
		}
	}
}

void
skx_inspect_check_unique(SkxCheck *check)
{
	if (check->view->nsegments > 1)
		skx_inspect_merge_segments(check);
	skx_inspect_look_up_pending(check);
}
