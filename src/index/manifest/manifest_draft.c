/*
 * manifest_draft.c
 *	  Makes the draft of a new root: a copy of the present one in memory.
 *
 * The heavyweight lock on the metapage keeps other processes from making a new
 * root at the same time.  Inserts go on meanwhile.  They change the end of the
 * file and the pool, which are in the metapage and not in the root.
 */
#include "postgres.h"

#include "index/manifest/manifest_internal.h"
#include "support/compat/compat.h"

/* A small file would be mostly pool if this were not a part of the file. */
uint32
skx_manifest_pool_pages(const SkxView *view, BlockNumber nblocks)
{
	uint32		wanted = Max(nblocks / SKX_POOL_FILE_FRACTION,
							 SKX_POOL_EXTENT_MIN * (uint32) view->nstripes);

	return Min(wanted, SKX_POOL_PAGES_MAX);
}

/*
 * Copies extent `which` of the view to the draft, with what it waits for.  If
 * no open view has the extent, no later view has it either.  Then it is free
 * for good, or waits for standbys alone.  If it is not known which views are
 * open, it waits for snapshots.
 */
static void
skx_manifest_draft_extent(SkxDraft *draft, int which)
{
	const SkxView *view = draft->view;
	const SkxDiskExtent *from = &view->extents[which];
	SkxDraftExtent *extent = &draft->extents[which];
	uint64		wait = skx_manifest_extent_wait(draft->heap, view, from,
												draft->open_views);

	extent->extent = *from;
	extent->is_reusable = from->operation == 0 && wait == SKX_WAIT_NONE;
	if (from->operation != 0 || wait == SKX_WAIT_VIEWS)
		return;
	extent->extent.safexid = skx_manifest_safexid(view, from);
	extent->extent.waits = skx_manifest_has_no_view(from, draft->open_views) ?
		SKX_WAITS_STANDBYS : SKX_WAITS_SNAPSHOTS;
	if (draft->open_views->is_complete && extent->is_reusable)
	{
		draft->reuse_safexid = Max(draft->reuse_safexid,
								   extent->extent.safexid);
		extent->extent.safexid = 0;
	}
	if (extent->extent.safexid == 0)
		extent->extent.waits = 0;
}

SkxDraft *
skx_manifest_draft(Relation rel)
{
	SkxDraft   *draft = palloc0(sizeof(SkxDraft));
	SkxView    *view = skx_manifest_view_unlisted(rel);
	int			i;

	Assert(skx_manifest_holds_lock(rel, ExclusiveLock));
	draft->rel = rel;
	draft->heap = skx_compat_index_heap(rel);
	draft->view = view;
	draft->open_views = skx_manifest_reuse_limits(rel, draft->heap, view);
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
	draft->pool_target = skx_manifest_pool_pages(view,
												 view->meta.nblocks);
	draft->pool_least = SKX_POOL_EXTENT_MIN;
	draft->nextents = view->nextents;
	draft->extents_size = view->nextents + 64;
	draft->extents = palloc(draft->extents_size * sizeof(SkxDraftExtent));
	for (i = 0; i < view->nextents; i++)
		skx_manifest_draft_extent(draft, i);
	/* a block can lie in extents that have become reusable together */
	skx_manifest_free_join(draft);
	return draft;
}

void
skx_manifest_draft_drop(SkxDraft *draft, uint32 operation)
{
	int			n = 0;
	int			i;

	/* 0 is the operation of free extents */
	Assert(operation != 0);
	for (i = 0; i < draft->nextents; i++)
	{
		if (draft->extents[i].extent.operation != operation)
			continue;
		Assert(draft->extents[i].extent.safexid == 0);
		draft->extents[i].extent.operation = 0;
		draft->extents[i].extent.safexid = 0;
		draft->extents[i].is_reusable = true;
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
	pfree(draft->open_views);
	pfree(draft->view);
	pfree(draft);
}
