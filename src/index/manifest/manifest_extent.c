/*
 * manifest_extent.c
 *	  Takes extents for stripes: from the pool, or at the end of the file.
 *
 * meta.nblocks is where the allocated part of the file ends.  The file may be
 * longer: an extension is not logged, so a crash right after it leaves pages
 * past nblocks, and the next growth takes them.
 *
 * The pool is a part of the free extents that inserts reach without the lock
 * that protects the root: what is in it was found to be needed by no snapshot
 * when it was put there, and standbys have been told.
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

/* Not worth an extent of its own when one is cut. */
#define SKX_EXTENT_LEAST	16

Buffer
skx_manifest_fresh(Relation rel, BlockNumber block)
{
	return ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_ZERO_AND_LOCK,
							  NULL);
}

void
skx_manifest_empty(GenericXLogState *xlog, Buffer buffer, uint64 incarnation,
				   uint32 npages, BlockNumber previous)
{
	SkxPageIdentity id = {incarnation, npages, previous, SKX_PLANE_PENDING};

	Assert(skx_compat_buffer_locked(buffer));
	skx_disk_page_init((char *)
					   GenericXLogRegisterBuffer(xlog, buffer,
												 GENERIC_XLOG_FULL_IMAGE),
					   &id);
}

void
skx_manifest_check_growth(Relation rel, BlockNumber nblocks, uint64 npages)
{
	if (npages > MaxBlockNumber - nblocks)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" cannot grow beyond %u blocks",
						RelationGetRelationName(rel), MaxBlockNumber)));
}

/*
 * A page past the allocated part must be unused, except by a root that was
 * written and, after an error or a crash, never flipped to; and what the file
 * has given back can still be there after a crash.
 */
static Buffer
skx_manifest_new_page(Relation rel, const SkxDiskMeta *meta, BlockNumber block)
{
	Buffer		buffer;
	const SkxDiskTrailer *trailer;

	if (block < meta->old_end)
		return skx_manifest_fresh(rel, block);
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
 * Cuts an extent out of the pool; false when that is empty.  If none is long
 * enough, the longest will do: the owner comes back for more, while pieces too
 * short for every stripe would stay in the pool for ever and leave no place
 * for others.
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
	if (extent->npages < *npages + SKX_EXTENT_LEAST)
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
 * An extent for a stripe, from the pool, or from the root's free ones by way
 * of the pool, or from the end of the file; if there is no space for more of
 * it, even from the shortest that are free.  Returns the metapage, locked, as
 * which `meta` is then to be written.
 */
static Buffer
skx_manifest_find_extent(Relation rel, uint64 incarnation, SkxDiskMeta *meta,
						 uint32 *npages, BlockNumber *block)
{
	int			refills;

	for (refills = 0;; refills++)
	{
		Buffer		metabuf = skx_manifest_buffer(rel, incarnation,
												  SKX_META_BLOCK,
												  SKX_PLANE_META, 0,
												  BUFFER_LOCK_EXCLUSIVE);

		memcpy(meta, skx_manifest_content(metabuf), sizeof(SkxDiskMeta));
		if (skx_manifest_take_pooled(meta, block, npages))
			return metabuf;
		if (refills > 0)
		{
			skx_manifest_check_growth(rel, meta->nblocks, *npages);
			if (skx_blkio_live_extend(rel, meta->nblocks + *npages,
									  refills == 1) == 0)
			{
				*block = meta->nblocks;
				meta->nblocks += *npages;
				return metabuf;
			}
		}
		UnlockReleaseBuffer(metabuf);
		(void) skx_manifest_refill(rel, refills == 0 ? SKX_POOL_LEAST : 1);
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
	if (block < ((SkxDiskMeta *) skx_manifest_content(metabuf))->nblocks)
		first = skx_manifest_fresh(rel, block);
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
	skx_manifest_empty(xlog, first, meta.incarnation, npages, previous);
	if (BufferIsValid(last))
		skx_manifest_empty(xlog, last, meta.incarnation, 0,
						   InvalidBlockNumber);
	GenericXLogFinish(xlog);
	SKX_FAULT(SKX_FAULT_EXTENT_TAKEN);

	if (BufferIsValid(last))
		UnlockReleaseBuffer(last);
	UnlockReleaseBuffer(first);
	UnlockReleaseBuffer(metabuf);
	return block;
}
