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

/* A part of the file, lest a small one be mostly pool. */
uint32
skx_manifest_pool_pages(const SkxView *view, BlockNumber nblocks)
{
	uint32		wanted = Max(nblocks / SKX_POOL_PART,
							 SKX_POOL_LEAST * (uint32) view->nstripes);

	return Min(wanted, SKX_POOL_PAGES);
}

SkxDraft *
skx_manifest_draft(Relation rel)
{
	SkxDraft   *draft = palloc0(sizeof(SkxDraft));
	SkxView    *view = skx_manifest_view_brief(rel);
	bool		early;
	int			i;

	Assert(skx_manifest_locked(rel, ExclusiveLock));
	draft->rel = rel;
	draft->heap = skx_compat_heap(rel);
	draft->view = view;
	early = skx_manifest_early(rel, draft->heap);
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
	draft->pool_least = SKX_POOL_LEAST;
	draft->nextents = view->nextents;
	draft->extents_size = view->nextents + 64;
	draft->extents = palloc(draft->extents_size * sizeof(SkxDraftExtent));
	for (i = 0; i < view->nextents; i++)
	{
		const SkxDiskExtent *e = &view->extents[i];

		draft->extents[i].e = *e;
		draft->extents[i].reusable = e->operation == 0 &&
			skx_manifest_may_reuse(draft->heap, e, early);
		if (early && e->operation == 0)
		{
			/* for good: one that finds readers can use them, too */
			draft->reuse = Max(draft->reuse, e->safexid);
			draft->extents[i].e.safexid = 0;
		}
	}
	return draft;
}

void
skx_manifest_draft_drop(SkxDraft *draft, uint32 operation)
{
	int			n = 0;
	int			i;

	/* 0 stands for pages that are free */
	Assert(operation != 0);
	for (i = 0; i < draft->nextents; i++)
	{
		if (draft->extents[i].e.operation != operation)
			continue;
		Assert(draft->extents[i].e.safexid == 0);
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
