/*
 * manifest_free.c
 *	  Free pages of a draft: adds, reserves and joins them, and moves them to
 *	  the pool.
 *
 * A freed page may still be read under older snapshots.  The flip that frees
 * it gives it a safexid (manifest_flip.c), and skx_manifest_extent_wait()
 * tells whether it is reusable.  Extents for stripes come from the pool,
 * without the lock that protects the root (manifest_extent.c).
 */
#include "postgres.h"

#include "index/manifest/manifest_internal.h"

/*
 * If a root has more extents, also those are joined that wait for different
 * times.  So many extents fill two or three pages of a root.
 */
#define SKX_FREE_EXTENTS_MANY		512

static SkxDraftExtent *
skx_manifest_free_extent(SkxDraft *draft)
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

void
skx_manifest_free_add(SkxDraft *draft, BlockNumber block, uint32 npages,
					  uint64 safexid)
{
	SkxDraftExtent *extent = skx_manifest_free_extent(draft);

	Assert(block != SKX_META_BLOCK);
	Assert(npages <= MaxBlockNumber - block);
	extent->extent.block = block;
	extent->extent.npages = npages;
	extent->extent.safexid = safexid;
	extent->is_reusable = safexid == 0;
}

/*
 * Gives whole blocks of a free extent, at most `most` pages, to an operation.
 * Returns their number of pages.  Pages before and after them stay free.
 */
static uint32
skx_manifest_free_cut_blocks(SkxDraft *draft, int which, uint32 operation,
							 uint32 most)
{
	SkxDiskExtent whole = draft->extents[which].extent;
	BlockNumber end = whole.block + whole.npages;
	BlockNumber from = TYPEALIGN(draft->block_pages, whole.block);
	uint32		npages = Min(most, TYPEALIGN_DOWN(draft->block_pages,
												  end - from));
	SkxDiskExtent *taken = &draft->extents[which].extent;

	Assert(draft->extents[which].is_reusable && whole.operation == 0);
	Assert(operation != 0);
	Assert(npages > 0 && npages % draft->block_pages == 0);
	draft->reuse_safexid = Max(draft->reuse_safexid, whole.safexid);
	taken->block = from;
	taken->npages = npages;
	taken->safexid = 0;
	taken->operation = operation;
	draft->extents[which].is_reusable = false;
	if (from > whole.block)
	{
		skx_manifest_free_add(draft, whole.block, from - whole.block,
							  whole.safexid);
		draft->extents[draft->nextents - 1].is_reusable = true;
	}
	if (from + npages < end)
	{
		skx_manifest_free_add(draft, from + npages, end - from - npages,
							  whole.safexid);
		draft->extents[draft->nextents - 1].is_reusable = true;
	}
	return npages;
}

/* Returns the number of pages of an extent that lie in whole blocks of it. */
static uint32
skx_manifest_extent_whole_blocks(const SkxDraft *draft,
								 const SkxDraftExtent *extent)
{
	BlockNumber from = TYPEALIGN(draft->block_pages, extent->extent.block);
	BlockNumber end = TYPEALIGN_DOWN(draft->block_pages,
									 extent->extent.block +
									 extent->extent.npages);

	return end > from ? end - from : 0;
}

/* Does the same for a reusable extent; returns 0 for others. */
static uint32
skx_manifest_reusable_whole_blocks(const SkxDraft *draft,
								   const SkxDraftExtent *extent)
{
	return extent->is_reusable ? skx_manifest_extent_whole_blocks(draft,
																  extent) : 0;
}

uint64
skx_manifest_free_reusable(const SkxDraft *draft, uint32 least)
{
	uint64		npages = 0;
	int			i;

	for (i = 0; i < draft->nextents; i++)
	{
		if (draft->extents[i].is_reusable &&
			draft->extents[i].extent.npages >= least)
			npages += draft->extents[i].extent.npages;
	}
	return npages;
}

uint32
skx_manifest_free_blocks(const SkxDraft *draft, uint32 least)
{
	uint32		nblocks = 0;
	int			i;

	for (i = 0; i < draft->nextents; i++)
	{
		uint32		n =
			skx_manifest_reusable_whole_blocks(draft, &draft->extents[i]) /
			draft->block_pages;

		if (n >= least)
			nblocks += n;
	}
	return nblocks;
}

/* A flush takes up to two blocks more than its pages fill. */
uint32
skx_manifest_free_reserve_pages(const SkxView *view)
{
	uint32		block_pages = view->meta.block_size / BLCKSZ;
	uint32		most = TYPEALIGN(block_pages,
								 SKX_RESERVED_FREE_PAGES) + 2 * block_pages;

	most = Min(most, view->meta.nblocks / SKX_RESERVED_FREE_FRACTION);
	return most - most % block_pages;
}

/*
 * Returns how many pages in reusable whole blocks there are beyond those that
 * inserts leave to flushes and merges.
 */
static uint64
skx_manifest_free_excess(const SkxDraft *draft)
{
	uint64		whole = (uint64) skx_manifest_free_blocks(draft, 1) *
		draft->block_pages;

	return whole - Min(whole, skx_manifest_free_reserve_pages(draft->view));
}

/*
 * Returns how many pages from the start of an extent inserts may have, if they
 * may have `spare` pages in whole blocks.
 */
static uint32
skx_manifest_free_for_inserts(const SkxDraft *draft,
							  const SkxDraftExtent *extent, uint64 spare)
{
	BlockNumber from = TYPEALIGN(draft->block_pages, extent->extent.block);

	if (!extent->is_reusable || extent->extent.npages < draft->pool_least)
		return 0;
	if (skx_manifest_reusable_whole_blocks(draft, extent) <= spare)
		return extent->extent.npages;
	return from - extent->extent.block + (uint32) spare;
}

uint64
skx_manifest_free_for_pool(const SkxDraft *draft)
{
	uint64		spare = skx_manifest_free_excess(draft);
	uint64		npages = 0;
	int			i;

	for (i = 0; i < draft->nextents; i++)
	{
		const SkxDraftExtent *extent = &draft->extents[i];
		uint32		part = skx_manifest_free_for_inserts(draft, extent, spare);

		if (part < draft->pool_least)
			continue;
		npages += part;
		spare -= Min(spare, skx_manifest_reusable_whole_blocks(draft, extent));
	}
	return npages;
}

/*
 * More than half of what pending lists have would not be worth its space.  One
 * block is wanted, for a root, as soon as they have some pages.
 */
uint64
skx_manifest_free_target(const SkxView *view, uint64 extents)
{
	uint64		others = 1 + view->nroot + view->nstripes + extents;
	uint64		pending;
	uint64		wanted;
	int			i;

	for (i = 0; i < view->meta.npool; i++)
		others += view->meta.pool[i].npages;
	for (i = 0; i < view->nsegments; i++)
		others += view->segments[i].npages;
	pending = view->meta.nblocks - Min(view->meta.nblocks, others);
	wanted = Min(skx_manifest_free_reserve_pages(view), pending / 2);
	if (pending >= SKX_RESERVED_FREE_PAGES / 2)
		wanted = Max(wanted, view->meta.block_size / BLCKSZ);
	return wanted;
}

/* Pages count also if they still wait, or are reserved: they become usable. */
uint32
skx_manifest_free_shortage(const SkxDraft *draft)
{
	uint64		extents = 0;
	uint64		whole = 0;
	uint64		wanted;
	int			i;

	for (i = 0; i < draft->nextents; i++)
	{
		extents += draft->extents[i].extent.npages;
		whole += skx_manifest_extent_whole_blocks(draft, &draft->extents[i]);
	}
	wanted = skx_manifest_free_target(draft->view, extents);
	wanted -= Min(wanted, whole);
	/* a segment needs some blocks in a row, which a small growth is not */
	if (whole > 0 && wanted < skx_manifest_free_reserve_pages(draft->view) / 2)
		return 0;
	return (uint32) (wanted - wanted % draft->block_pages);
}

void
skx_manifest_free_reserve(SkxDraft *draft, uint32 operation, uint32 nblocks,
						  uint32 least)
{
	uint64		wanted = (uint64) nblocks * draft->block_pages;
	uint64		shortest = (uint64) least * draft->block_pages;
	int			n = draft->nextents;
	int			i;

	Assert(operation != 0 && draft->grow_pages == 0);
	/* extents that a cut adds have no whole block, or none is wanted then */
	for (i = 0; i < n && wanted > 0; i++)
	{
		uint32		whole =
			skx_manifest_reusable_whole_blocks(draft, &draft->extents[i]);

		if (whole >= shortest && whole > 0)
			wanted -= skx_manifest_free_cut_blocks(draft, i, operation,
												   (uint32) Min(wanted,
																whole));
	}
	if (wanted == 0)
		return;
	wanted = Max(wanted, shortest);
	Assert(wanted % draft->block_pages == 0);
	skx_manifest_check_growth(draft->rel, draft->view->meta.nblocks, wanted);
	draft->grow_pages = (uint32) wanted;
	draft->grow_operation = operation;
}

/*
 * Lets `extent` wait for everything that it or `other` waits for.  Both have
 * the same `waits`.
 */
static void
skx_manifest_free_merge_waits(SkxDraft *draft, SkxDiskExtent *extent,
							  const SkxDiskExtent *other)
{
	uint64		next = draft->view->meta.generation + 1;
	uint64		x = extent->safexid;
	uint64		y = other->safexid;

	if (extent->waits == SKX_WAITS_VIEWS)
		extent->safexid = SKX_VIEW_SPAN(Min(SKX_VIEW_SPAN_BORN(x, next),
											SKX_VIEW_SPAN_BORN(y, next)),
										Max(SKX_VIEW_SPAN_FREED(x, next),
											SKX_VIEW_SPAN_FREED(y, next)));
	else
		extent->safexid = Max(x, y);
}

/*
 * Joins neighbours; `any`: also those that wait for different times.  A
 * reusable extent is never joined to one that waits.
 */
static void
skx_manifest_free_join_some(SkxDraft *draft, bool any)
{
	int			n = 0;
	int			i;

	for (i = 0; i < draft->nextents; i++)
	{
		SkxDraftExtent *next = &draft->extents[i];
		SkxDraftExtent *last = n > 0 ? &draft->extents[n - 1] : NULL;

		if (next->extent.npages == 0)
			continue;
		if (last != NULL &&
			last->extent.block + last->extent.npages == next->extent.block &&
			last->extent.operation == next->extent.operation &&
			last->extent.waits == next->extent.waits &&
			(last->extent.safexid == next->extent.safexid ||
			 (last->is_reusable && next->is_reusable) ||
			 (any && last->is_reusable == next->is_reusable)))
		{
			last->extent.npages += next->extent.npages;
			skx_manifest_free_merge_waits(draft, &last->extent, &next->extent);
		}
		else
			draft->extents[n++] = *next;
	}
	draft->nextents = n;
}

void
skx_manifest_free_join(SkxDraft *draft)
{
	StaticAssertStmt(offsetof(SkxDraftExtent, extent) == 0,
					 "compared as extents");
	qsort(draft->extents, draft->nextents, sizeof(SkxDraftExtent),
		  skx_manifest_compare_extents);
	skx_manifest_free_join_some(draft, false);
}

/*
 * While something old holds the horizon back, each flip frees pages with
 * another transaction id, and every further flip writes all these extents.  So
 * if they are many, neighbours that wait for different times are joined, too.
 */
void
skx_manifest_free_join_many(SkxDraft *draft)
{
	skx_manifest_free_join(draft);
	if (draft->nextents > SKX_FREE_EXTENTS_MANY)
		skx_manifest_free_join_some(draft, true);
}

void
skx_manifest_free_to_pool(SkxDraft *draft, SkxDiskMeta *meta, uint32 keep)
{
	uint64		reusable = skx_manifest_free_reusable(draft, 1);
	uint64		spare = skx_manifest_free_excess(draft);
	uint64		npages = 0;
	int			i;

	for (i = 0; i < meta->npool; i++)
		npages += meta->pool[i].npages;
	for (i = 0; i < draft->nextents; i++)
	{
		SkxDraftExtent *extent = &draft->extents[i];
		uint32		whole = skx_manifest_reusable_whole_blocks(draft, extent);
		uint32		part = skx_manifest_free_for_inserts(draft, extent, spare);

		if (npages >= draft->pool_target ||
			meta->npool == SKX_META_POOL_EXTENTS ||
			reusable <= keep)
			break;
		if (part == 0 || part < draft->pool_least)
			continue;
		part = Min(part,
				   TYPEALIGN(Max(draft->block_pages, SKX_POOL_EXTENT_MIN),
							 draft->pool_target - npages));
		part = (uint32) Min(part, reusable - keep);
		reusable -= part;
		Assert(part > 0 && extent->extent.operation == 0);
		draft->reuse_safexid = Max(draft->reuse_safexid,
								   extent->extent.safexid);
		meta->pool[meta->npool].block = extent->extent.block;
		meta->pool[meta->npool].npages = part;
		meta->npool++;
		extent->extent.block += part;
		extent->extent.npages -= part;
		spare -= Min(spare, whole -
					 skx_manifest_reusable_whole_blocks(draft, extent));
		npages += part;
	}
}
