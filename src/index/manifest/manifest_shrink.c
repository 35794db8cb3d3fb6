/*
 * manifest_shrink.c
 *	  Gives free pages at the end of the file back to the file system.
 *
 * The caller has locked the index AccessExclusive, so no scan is under way and
 * no view is in use.  A standby that replays the lock has ended its scans.  So
 * no process needs a page that is free in the root, whatever its safexid.  The
 * flip that takes pages out of the allocated part comes before the file
 * becomes shorter.  After a crash in between, the file has pages past the
 * allocated part.  Unlike those of a growth that a crash has ended, they have
 * content (meta.old_end).
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/storage.h"
#include "index/manifest/manifest_internal.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "support/compat/compat.h"
#include "support/fault/fault.h"
#include "utils/inval.h"
#include "utils/rel.h"

/* Returns how many pages a flip may need for its root, and some more. */
static uint64
skx_manifest_shrink_root_pages(const SkxDraft *draft)
{
	return 2 * (uint64) draft->view->nroot + 8;
}

BlockNumber
skx_manifest_used_end(const SkxView *view, const SkxDiskExtent *also,
					  int nalso)
{
	int			most = view->nextents + view->meta.npool + view->nroot + nalso;
	SkxDiskExtent *free = palloc0((most + 1) * sizeof(SkxDiskExtent));
	BlockNumber end = view->meta.nblocks;
	int			n = 0;
	int			i;

	for (i = 0; i < view->nextents; i++)
	{
		if (view->extents[i].operation == 0)
			free[n++] = view->extents[i];
	}
	for (i = 0; i < view->meta.npool; i++, n++)
	{
		free[n].block = view->meta.pool[i].block;
		free[n].npages = view->meta.pool[i].npages;
	}
	for (i = 0; i < view->nroot; i++, n++)
	{
		free[n].block = view->root[i];
		free[n].npages = 1;
	}
	for (i = 0; i < nalso; i++)
		free[n++] = also[i];
	Assert(n <= most);
	qsort(free, n, sizeof(SkxDiskExtent), skx_manifest_compare_extents);
	while (n > 0 && free[n - 1].block + free[n - 1].npages == end)
		end = free[--n].block;
	pfree(free);
	return end;
}

/*
 * Returns where the lowest `room` pages of the extents end.  The extents have
 * at least as many.
 */
static BlockNumber
skx_manifest_lowest_end(SkxDiskExtent *extents, int n, uint64 room)
{
	int			i = 0;

	qsort(extents, n, sizeof(SkxDiskExtent), skx_manifest_compare_extents);
	while (room > extents[i].npages)
	{
		room -= extents[i++].npages;
		Assert(i < n);
	}
	return extents[i].block + room;
}

uint64
skx_manifest_reusable_below(Relation rel, const SkxView *view,
							BlockNumber below, uint32 operation, uint64 room,
							BlockNumber *reach)
{
	uint32		block_pages = view->meta.block_size / BLCKSZ;
	Relation	heap = skx_compat_index_heap(rel);
	SkxOpenViews *open = skx_manifest_reuse_limits(rel, heap, view);
	SkxDiskExtent *found = palloc((view->nextents + 1) *
								  sizeof(SkxDiskExtent));
	uint64		npages = 0;
	int			n = 0;
	int			i;

	for (i = 0; i < view->nextents; i++)
	{
		const SkxDiskExtent *e = &view->extents[i];
		BlockNumber from = TYPEALIGN(block_pages, e->block);
		BlockNumber end = TYPEALIGN_DOWN(block_pages,
										 Min(e->block + e->npages, below));

		if ((e->operation == 0 || e->operation == operation) && from < end &&
			skx_manifest_extent_wait(heap, view, e, open) == SKX_WAIT_NONE)
		{
			found[n].block = from;
			found[n].npages = end - from;
			npages += found[n++].npages;
		}
	}
	RelationClose(heap);
	pfree(open);
	*reach = npages < room ? below : skx_manifest_lowest_end(found, n, room);
	pfree(found);
	return npages;
}

/*
 * Returns how many free pages may not be overwritten yet, and the largest
 * transaction id that they wait for.
 */
static uint64
skx_manifest_count_waiting(Relation rel, Relation heap, const SkxView *view,
						   uint64 *newest)
{
	SkxOpenViews *open = skx_manifest_reuse_limits(rel, heap, view);
	uint64		npages = 0;
	int			i;

	*newest = 0;
	for (i = 0; i < view->nextents; i++)
	{
		const SkxDiskExtent *e = &view->extents[i];
		uint64		wait = skx_manifest_extent_wait(heap, view, e, open);

		if (e->operation != 0 || wait == SKX_WAIT_NONE)
			continue;
		npages += e->npages;
		if (wait != SKX_WAIT_VIEWS)
			*newest = Max(*newest, wait);
	}
	pfree(open);
	return npages;
}

void
skx_manifest_waiting_free(Relation rel, const SkxView *view,
						  SkxManifestWaiting *awaited)
{
	Relation	heap = skx_compat_index_heap(rel);

	memset(awaited, 0, sizeof(*awaited));
	awaited->npages = skx_manifest_count_waiting(rel, heap, view,
												 &awaited->newest_xid);
	if (awaited->npages > 0)
		skx_compat_refresh_horizon(heap);
	awaited->by_horizon = skx_manifest_count_waiting(rel, heap, view,
													 &awaited->newest_xid);
	RelationClose(heap);
}

uint64
skx_manifest_excess_free(const SkxView *view)
{
	uint64		npages = 0;
	uint64		wanted;
	int			i;

	for (i = 0; i < view->nextents; i++)
		npages += view->extents[i].npages;
	wanted = skx_manifest_free_target(view, npages);
	for (i = 0; i < view->meta.npool; i++)
		npages += view->meta.pool[i].npages;
	return npages - Min(npages, wanted);
}

/*
 * Returns a draft that has the pool's extents among the free ones.  All free
 * extents may be overwritten from the flip on.
 */
static SkxDraft *
skx_manifest_shrink_draft(Relation rel)
{
	SkxDraft   *draft = skx_manifest_draft(rel);
	const SkxDiskMeta *meta = &draft->view->meta;
	int			i;

	Assert(skx_manifest_holds_lock(rel, ExclusiveLock));
	draft->prefers_low = draft->is_optional = true;
	draft->pool_target =
		skx_manifest_pool_pages(draft->view,
								skx_manifest_used_end(draft->view, NULL, 0));
	for (i = 0; i < draft->nextents; i++)
	{
		if (draft->extents[i].extent.operation != 0)
			continue;
		draft->extents[i].extent.safexid = 0;
		draft->extents[i].extent.waits = 0;
		draft->extents[i].is_reusable = true;
	}
	for (i = 0; i < meta->npool; i++)
		skx_manifest_free_add(draft, meta->pool[i].block,
							  meta->pool[i].npages, 0);
	skx_manifest_free_join(draft);
	return draft;
}

/*
 * Takes the lowest npages free pages in a row out of the draft.  Returns the
 * first one, or 0 if there are none.
 */
static BlockNumber
skx_manifest_take_lowest(SkxDraft *draft, uint32 npages)
{
	int			i;

	for (i = 0; i < draft->nextents; i++)
	{
		SkxDraftExtent *extent = &draft->extents[i];
		BlockNumber block = extent->extent.block;

		if (!extent->is_reusable || extent->extent.npages < npages)
			continue;
		draft->reuse_safexid = Max(draft->reuse_safexid,
								   extent->extent.safexid);
		extent->extent.block += npages;
		extent->extent.npages -= npages;
		return block;
	}
	return 0;
}

/*
 * Edits the draft so that the stripe has another extent.  Returns its first
 * page, or 0 if the move is not possible.
 */
static BlockNumber
skx_manifest_move_draft(SkxDraft *draft, const SkxManifestMove *move)
{
	SkxDiskStripeRef *stripes =
		palloc(draft->view->nstripes * sizeof(SkxDiskStripeRef));
	BlockNumber block;
	int			i;

	if (skx_manifest_free_reusable(draft, 1) <
		skx_manifest_shrink_root_pages(draft) + move->npages)
		return 0;
	block = skx_manifest_take_lowest(draft, move->npages);
	if (block == 0 || block >= move->below_block)
		return 0;
	memcpy(stripes, draft->view->stripes,
		   draft->view->nstripes * sizeof(SkxDiskStripeRef));
	stripes[move->stripe].first = block;
	stripes[move->stripe].extent = block;
	stripes[move->stripe].npages = move->given_up_pages;
	draft->stripes = stripes;
	for (i = 0; i < move->nfreed; i++)
		skx_manifest_free_add(draft, move->freed[i].block,
							  move->freed[i].npages, SKX_SAFEXID_FLIP);
	return block;
}

bool
skx_manifest_move_stripe(Relation rel, SkxManifestMove *move)
{
	SkxDraft   *draft = skx_manifest_shrink_draft(rel);
	bool		done;

	move->block = skx_manifest_move_draft(draft, move);
	draft->extra_record = move->apply_extent;
	draft->extra_record_arg = move;
	done = move->block != 0 && skx_manifest_draft_flip(draft) == 0;
	skx_manifest_draft_free(draft);
	if (done)
		SKX_FAULT(SKX_FAULT_SHRINK_MOVED);
	return done;
}

/* Returns false if there is no space for a root. */
static bool
skx_manifest_shrink_flip(Relation rel, bool shorten)
{
	SkxDraft   *draft = skx_manifest_shrink_draft(rel);
	bool		done;

	draft->cuts_file = shorten;
	done = skx_manifest_free_reusable(draft, 1) >=
		skx_manifest_shrink_root_pages(draft) &&
		skx_manifest_draft_flip(draft) == 0;
	skx_manifest_draft_free(draft);
	return done;
}

bool
skx_manifest_release_free(Relation rel)
{
	return skx_manifest_shrink_flip(rel, false);
}

bool
skx_manifest_shrink(Relation rel)
{
	SkxDiskMeta meta;
	bool		done;

	if (skx_manifest_shrink_flip(rel, true))
		SKX_FAULT(SKX_FAULT_SHRINK_FLIPPED);

	/* the file may also be too long after a crash in an earlier shrink */
	skx_manifest_meta(rel, &meta);
	done = meta.nblocks < RelationGetNumberOfBlocks(rel);
	if (done)
	{
		/*
		 * An index is lost if its file is shorter than the root says, so the
		 * flip must be durable first.  Older minor releases of the server
		 * flush only for relations with a free space or visibility map.
		 */
		if (RelationNeedsWAL(rel))
			XLogFlush(XactLastRecEnd);
		RelationTruncate(rel, meta.nblocks);
		CacheInvalidateRelcache(rel);
	}
	SKX_FAULT(SKX_FAULT_SHRINK_DONE);
	return done;
}
