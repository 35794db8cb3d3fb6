/*
 * manifest_extent.c
 *	  Takes extents at the end of the file.
 *
 * meta.nblocks is where the allocated part of the file ends.  The file may be
 * longer: an extension is not logged, so a crash right after it leaves pages
 * past nblocks, and they are simply taken by whoever comes next.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "compat/compat.h"
#include "format/format.h"
#include "manifest/manifest.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/rel.h"

/*
 * Makes the file at least `nblocks` long.  Every page is written, not only
 * the last one, so that a full disk shows here and not when a buffer is
 * evicted or a checkpoint runs.
 */
static void
skx_manifest_extend(Relation rel, BlockNumber nblocks)
{
	SkxAlignedBlock zero;
	BlockNumber block;

	memset(zero.data, 0, BLCKSZ);
	LockRelationForExtension(rel, ExclusiveLock);
	for (block = RelationGetNumberOfBlocks(rel); block < nblocks; block++)
		smgrextend(RelationGetSmgr(rel), MAIN_FORKNUM, block, zero.data,
				   false);
	UnlockRelationForExtension(rel, ExclusiveLock);
}

/* Pins and locks a page of an extent that nobody refers to yet. */
static Buffer
skx_manifest_fresh(Relation rel, BlockNumber block)
{
	Buffer		buffer = ReadBuffer(rel, block);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (!PageIsNew(BufferGetPage(buffer)))
		skx_format_report(rel, block,
						  "a page past the allocated part is in use");
	return buffer;
}

static void
skx_manifest_empty(GenericXLogState *xlog, Buffer buffer, uint64 incarnation,
				   uint32 ordinal)
{
	SkxPageIdentity id = {incarnation, 0, ordinal, SKX_PLANE_PENDING};

	skx_format_page_init((char *)
						 GenericXLogRegisterBuffer(xlog, buffer,
												   GENERIC_XLOG_FULL_IMAGE),
						 &id);
}

BlockNumber
skx_manifest_take_extent(Relation rel, uint32 npages, BlockNumber previous,
						 Buffer owner, SkxExtentApply apply, void *arg)
{
	SkxDiskMeta meta;
	Buffer		metabuf;
	Buffer		first;
	Buffer		last = InvalidBuffer;
	BlockNumber block;
	GenericXLogState *xlog;

	metabuf = skx_manifest_buffer(rel, skx_format_trailer(BufferGetPage(owner))
								  ->incarnation, SKX_META_BLOCK,
								  SKX_PLANE_META, 0, BUFFER_LOCK_EXCLUSIVE);
	memcpy(&meta, skx_manifest_content(metabuf), sizeof(meta));
	block = meta.nblocks;
	if (npages > MaxBlockNumber - block)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" cannot grow beyond %u blocks",
						RelationGetRelationName(rel), MaxBlockNumber)));
	skx_manifest_extend(rel, block + npages);
	first = skx_manifest_fresh(rel, block);
	if (npages > 1)
		last = skx_manifest_fresh(rel, block + npages - 1);

	xlog = GenericXLogStart(rel);
	meta.nblocks = block + npages;
	memcpy((char *) GenericXLogRegisterBuffer(xlog, metabuf, 0) +
		   SKX_PAGE_START, &meta, sizeof(meta));
	apply((char *) GenericXLogRegisterBuffer(xlog, owner, 0), block, npages,
		  arg);
	skx_manifest_empty(xlog, first, meta.incarnation, previous);
	if (BufferIsValid(last))
		skx_manifest_empty(xlog, last, meta.incarnation, InvalidBlockNumber);
	GenericXLogFinish(xlog);

	if (BufferIsValid(last))
		UnlockReleaseBuffer(last);
	UnlockReleaseBuffer(first);
	UnlockReleaseBuffer(metabuf);
	return block;
}
