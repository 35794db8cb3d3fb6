/*
 * manifest_extent.c
 *	  Takes extents for stripes: from the pool, or at the end of the file.
 *
 * meta.nblocks is where the allocated part of the file ends.  The file may be
 * longer: an extension is not logged, so a crash right after it leaves pages
 * past nblocks, and the next growth takes them.
 *
 * The pool has the free extents that inserts take without the lock that
 * protects the root.  An extent enters the pool only when it may be
 * overwritten and its reuse has been logged for standbys.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "support/damage/damage.h"
#include "index/manifest/manifest_internal.h"
#include "storage/blkio/blkio.h"
#include "storage/bufmgr.h"
#include "support/compat/compat.h"
#include "support/fault/fault.h"
#include "utils/rel.h"

/* A cut of an extent leaves no remainder with fewer pages. */
#define SKX_EXTENT_REMAINDER_MIN	16

/*
 * Returns a page past the allocated part of the file, pinned and locked
 * exclusively.  It must be unused, or be of a root that was written and never
 * flipped to, because of an error or a crash.  Pages below old_end may have
 * any content: the file has given them back, but a crash can have kept them.
 */
static Buffer
skx_manifest_new_page(Relation rel, const SkxDiskMeta *meta, BlockNumber block)
{
	Buffer		buffer;
	const SkxDiskTrailer *trailer;

	if (block < meta->old_end)
		return skx_manifest_unused_page(rel, block);
	buffer = ReadBuffer(rel, block);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	trailer = skx_disk_trailer(BufferGetPage(buffer));
	if (!PageIsNew(BufferGetPage(buffer)) &&
		(trailer->plane != SKX_PLANE_ROOT ||
		 trailer->incarnation != meta->incarnation))
		skx_damage_report(rel, block,
						  "a page past the allocated part is in use");
	return buffer;
}

/*
 * Takes an extent of about *npages pages out of the pool.  Returns false if
 * the pool is empty.  If no extent is long enough, takes the longest.  The
 * stripe can take another one later, whereas extents that are too short for
 * every stripe would stay in the pool and take the entries of longer ones.
 */
static bool
skx_manifest_take_pooled(SkxDiskMeta *meta, BlockNumber *block,
						 uint32 *npages)
{
	SkxDiskPoolExtent *extent = NULL;
	int			i;

	for (i = 0; i < meta->npool; i++)
	{
		if (extent == NULL || meta->pool[i].npages > extent->npages)
			extent = &meta->pool[i];
		if (extent->npages >= *npages)
			break;
	}
	if (extent == NULL)
		return false;
	if (extent->npages < *npages + SKX_EXTENT_REMAINDER_MIN)
		*npages = extent->npages;
	*block = extent->block;
	extent->block += *npages;
	extent->npages -= *npages;
	if (extent->npages == 0)
	{
		*extent = meta->pool[--meta->npool];
		memset(&meta->pool[meta->npool], 0, sizeof(SkxDiskPoolExtent));
	}
	return true;
}

/*
 * Finds an extent for a stripe.  Sources are, in this order: the pool, the
 * pool after a refill from the root, and the end of the file.  If the file
 * cannot grow, the pool is refilled with free extents of any length.  Returns
 * the metapage, locked exclusively; the caller writes *meta to it.
 */
static Buffer
skx_manifest_find_extent(Relation rel, uint64 incarnation, SkxDiskMeta *meta,
						 uint32 *npages, BlockNumber *block)
{
	int			refills;

	for (refills = 0;; refills++)
	{
		Buffer		metabuf = skx_manifest_lock_page(rel, incarnation,
													 SKX_META_BLOCK,
													 SKX_PLANE_META, 0,
													 BUFFER_LOCK_EXCLUSIVE);

		memcpy(meta, skx_manifest_page_content(metabuf), sizeof(SkxDiskMeta));
		if (skx_manifest_take_pooled(meta, block, npages))
			return metabuf;
		if (refills > 0)
		{
			skx_manifest_check_growth(rel, meta->nblocks, *npages);
			if (skx_blkio_extend(rel, incarnation, meta->nblocks + *npages,
								 refills == 1) == 0)
			{
				*block = meta->nblocks;
				meta->nblocks += *npages;
				return metabuf;
			}
		}
		UnlockReleaseBuffer(metabuf);
		(void) skx_manifest_refill_pool(rel, refills == 0 ?
										SKX_POOL_EXTENT_MIN : 1);
	}
}

BlockNumber
skx_manifest_take_extent(Relation rel, uint32 npages, BlockNumber previous,
						 Buffer owner, SkxExtentApply apply, void *arg)
{
	uint64		incarnation = skx_disk_trailer(BufferGetPage(owner))
		->incarnation;
	SkxDiskMeta meta;
	Buffer		metabuf;
	Buffer		first;
	Buffer		last = InvalidBuffer;
	BlockNumber block;
	GenericXLogState *xlog;
	char	   *page;

	Assert(skx_compat_buffer_locked(owner));
	metabuf = skx_manifest_find_extent(rel, incarnation, &meta, &npages,
									   &block);
	Assert(skx_compat_buffer_locked(metabuf));
	Assert(npages > 0 && block != previous);
	Assert((uint64) block + npages <= meta.nblocks);
	if (block < ((SkxDiskMeta *) skx_manifest_page_content(metabuf))->nblocks)
		first = skx_manifest_unused_page(rel, block);
	else
	{
		SKX_FAULT(SKX_FAULT_EXTENT_GROWN);
		first = skx_manifest_new_page(rel, &meta, block);
		if (npages > 1)
			last = skx_manifest_new_page(rel, &meta, block + npages - 1);
	}

	/* Replay locks pages in the order in which they are registered. */
	xlog = GenericXLogStart(rel);
	page = (char *) GenericXLogRegisterBuffer(xlog, owner, 0);
	apply(page, block, npages, arg);
	page = (char *) GenericXLogRegisterBuffer(xlog, metabuf, 0);
	memcpy(page + SKX_PAGE_START, &meta, sizeof(meta));
	skx_manifest_init_page(xlog, first, meta.incarnation, npages, previous);
	if (BufferIsValid(last))
		skx_manifest_init_page(xlog, last, meta.incarnation, 0,
							   InvalidBlockNumber);
	GenericXLogFinish(xlog);
	SKX_FAULT(SKX_FAULT_EXTENT_TAKEN);

	if (BufferIsValid(last))
		UnlockReleaseBuffer(last);
	UnlockReleaseBuffer(first);
	UnlockReleaseBuffer(metabuf);
	return block;
}
