/*
 * manifest_draft.c
 *	  A new root: the present one, edited in memory.
 *
 * The heavyweight lock on the metapage keeps others from making a new root at
 * the same time.  Inserts go on meanwhile: what they change in the metapage,
 * the end of the file and the pool, is not in the root.
 */
#include "postgres.h"

#include "compat/compat.h"
#include "manifest/manifest_internal.h"

SkxDraft *
skx_manifest_draft(Relation rel)
{
	SkxDraft   *draft = palloc0(sizeof(SkxDraft));
	SkxView    *view = skx_manifest_view(rel);
	int			i;

	draft->rel = rel;
	draft->heap = skx_compat_heap(rel);
	draft->view = view;
	draft->block_pages = view->meta.block_size / BLCKSZ;
	draft->next_segment = view->meta.next_segment;
	draft->nsegments = view->nsegments;
	draft->segments = palloc((view->nsegments + 1) *
							 sizeof(SkxDiskSegmentRef));
	memcpy(draft->segments, view->segments,
		   view->nsegments * sizeof(SkxDiskSegmentRef));
	draft->stripes = view->stripes;
	draft->noperations = view->noperations;
	memcpy(draft->operations, view->operations,
		   view->noperations * sizeof(SkxDiskOperation));
	draft->pool_target = SKX_POOL_PAGES;
	draft->pool_least = SKX_POOL_LEAST;
	draft->nextents = view->nextents;
	draft->extents_size = view->nextents + 64;
	draft->extents = palloc(draft->extents_size * sizeof(SkxDraftExtent));
	for (i = 0; i < view->nextents; i++)
	{
		const SkxDiskExtent *e = &view->extents[i];

		draft->extents[i].e = *e;
		draft->extents[i].reusable = e->operation == 0 &&
			(e->safexid == 0 ||
			 skx_compat_removable(draft->heap, e->safexid));
	}
	return draft;
}

static SkxDraftExtent *
skx_manifest_draft_extent(SkxDraft *draft)
{
	SkxDraftExtent *extent;

	if (draft->nextents == draft->extents_size)
	{
		draft->extents_size *= 2;
		draft->extents = repalloc_huge(draft->extents,
									   draft->extents_size *
									   sizeof(SkxDraftExtent));
	}
	extent = &draft->extents[draft->nextents++];
	memset(extent, 0, sizeof(*extent));
	return extent;
}

/* Free pages: now (safexid 0), or from the flip on (SKX_SAFEXID_FLIP). */
void
skx_manifest_draft_add(SkxDraft *draft, BlockNumber block, uint32 npages,
					   uint64 safexid)
{
	SkxDraftExtent *extent = skx_manifest_draft_extent(draft);

	extent->e.block = block;
	extent->e.npages = npages;
	extent->e.safexid = safexid;
	extent->reusable = safexid == 0;
}

/*
 * Gives the aligned part of a free extent, at most `most` pages of it, to an
 * operation; what is left of it before and behind stays free.
 */
static uint32
skx_manifest_draft_cut(SkxDraft *draft, int which, uint32 operation,
					   uint32 most)
{
	SkxDiskExtent whole = draft->extents[which].e;
	BlockNumber end = whole.block + whole.npages;
	BlockNumber from = TYPEALIGN(draft->block_pages, whole.block);
	uint32		npages = Min(most, TYPEALIGN_DOWN(draft->block_pages,
												  end - from));
	SkxDiskExtent *taken = &draft->extents[which].e;

	draft->reuse = Max(draft->reuse, whole.safexid);
	taken->block = from;
	taken->npages = npages;
	taken->safexid = 0;
	taken->operation = operation;
	draft->extents[which].reusable = false;
	if (from > whole.block)
	{
		skx_manifest_draft_add(draft, whole.block, from - whole.block,
							   whole.safexid);
		draft->extents[draft->nextents - 1].reusable = true;
	}
	if (from + npages < end)
	{
		skx_manifest_draft_add(draft, from + npages, end - from - npages,
							   whole.safexid);
		draft->extents[draft->nextents - 1].reusable = true;
	}
	return npages;
}

/* Whole blocks, in pages, in a free extent. */
static uint32
skx_manifest_draft_whole(const SkxDraft *draft, const SkxDraftExtent *extent)
{
	BlockNumber from = TYPEALIGN(draft->block_pages, extent->e.block);
	BlockNumber end = TYPEALIGN_DOWN(draft->block_pages,
									 extent->e.block + extent->e.npages);

	return extent->reusable && end > from ? end - from : 0;
}

uint64
skx_manifest_draft_reusable(const SkxDraft *draft, uint32 least)
{
	uint64		npages = 0;
	int			i;

	for (i = 0; i < draft->nextents; i++)
	{
		if (draft->extents[i].reusable &&
			draft->extents[i].e.npages >= least)
			npages += draft->extents[i].e.npages;
	}
	return npages;
}

void
skx_manifest_draft_reserve(SkxDraft *draft, uint32 operation, uint32 nblocks,
						   uint32 least)
{
	uint64		wanted = (uint64) nblocks * draft->block_pages;
	uint32		shortest = least * draft->block_pages;
	int			n = draft->nextents;
	int			i;

	/* extents added by cuts have no whole block of use here */
	for (i = 0; i < n && wanted > 0; i++)
	{
		uint32		whole = skx_manifest_draft_whole(draft,
													 &draft->extents[i]);

		if (whole >= shortest && whole > 0)
			wanted -= skx_manifest_draft_cut(draft, i, operation,
											 (uint32) Min(wanted, whole));
	}
	if (wanted == 0)
		return;
	wanted = Max(wanted, shortest);
	skx_manifest_check_growth(draft->rel, draft->view->meta.nblocks,
							  (uint32) Min(wanted, PG_UINT32_MAX));
	draft->grow = (uint32) wanted;
	draft->grow_operation = operation;
}

void
skx_manifest_draft_drop(SkxDraft *draft, uint32 operation)
{
	int			n = 0;
	int			i;

	for (i = 0; i < draft->nextents; i++)
	{
		if (draft->extents[i].e.operation != operation)
			continue;
		draft->extents[i].e.operation = 0;
		draft->extents[i].e.safexid = 0;
		draft->extents[i].reusable = true;
	}
	for (i = 0; i < draft->noperations; i++)
	{
		if (draft->operations[i].segment != operation)
			draft->operations[n++] = draft->operations[i];
	}
	draft->noperations = n;
}

void
skx_manifest_draft_free(SkxDraft *draft)
{
	RelationClose(draft->heap);
	pfree(draft->extents);
	pfree(draft->segments);
	pfree(draft->view);
	pfree(draft);
}
