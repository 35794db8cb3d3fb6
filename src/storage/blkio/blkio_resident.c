/*
 * blkio_resident.c
 *	  Finds out whether a page is in shared buffers: the residency protocol.
 *
 * Segments are written and read outside shared buffers.  Nevertheless replay
 * of WAL, CREATE DATABASE and tools put their pages there, and such a page may
 * be newer than the file.  So each page is first looked up in the server's
 * buffer mapping table.  A resident page is copied from its buffer, and only
 * then are the others read from the file.  The order matters: if the file were
 * read first, a page that was dirty then and evicted before the look-up would
 * be missed both times.
 */
#include "postgres.h"

#include "storage/blkio/blkio_internal.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"

bool
skx_blkio_resident(Relation rel, BlockNumber block)
{
	BufferTag	tag;
	uint32		hash;
	LWLock	   *lock;
	int			id;

	skx_compat_buffer_tag(&tag, SKX_REL_LOCATOR(rel), block);
	hash = BufTableHashCode(&tag);
	lock = BufMappingPartitionLock(hash);
	LWLockAcquire(lock, LW_SHARED);
	id = BufTableLookup(&tag, hash);
	LWLockRelease(lock);
	return id >= 0;
}

bool
skx_blkio_resident_copy(Relation rel, BlockNumber block, char *page)
{
	Buffer		buffer;

	if (!skx_blkio_resident(rel, block))
		return false;

	/*
	 * If it is evicted here, the buffer manager reads it again, which gives
	 * the same page as a read by this module.
	 */
	buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_NORMAL, NULL);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(page, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	return true;
}

bool
skx_blkio_served_copy(Relation rel, BlockNumber block, char *page)
{
	if (skx_blkio_resident_copy(rel, block, page))
		return true;
	smgrread(RelationGetSmgr(rel), MAIN_FORKNUM, block, page);
	return false;
}

void
skx_blkio_install(Relation rel, BlockNumber block, const char *page,
				  BufferAccessStrategy strategy)
{
	Buffer		buffer;

	buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_ZERO_AND_LOCK,
								strategy);
	memcpy(BufferGetPage(buffer), page, BLCKSZ);
	MarkBufferDirty(buffer);
	UnlockReleaseBuffer(buffer);
}
