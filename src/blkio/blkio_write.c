/*
 * blkio_write.c
 *	  Writes the pages of a new index, which no query can read yet.
 *
 * The pages bypass shared buffers, as in the server's own index builds: logged
 * where the relation is, written without asking the checkpointer to sync them,
 * and synced at the end, before the commit that shows the index to others.  A
 * checkpoint in between cannot lose them: it can only move replay past their
 * log records, and by the time that matters they are on disk.
 *
 * While an index is built concurrently, its file can be opened by others all
 * the same: tools such as pg_prewarm read any relation.  What they bring into
 * shared buffers before a page is written would be taken for its newest image
 * afterwards, so it is replaced.
 */
#include "postgres.h"

#include "access/xlog_internal.h"
#include "access/xloginsert.h"
#include "blkio/blkio_internal.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"

/* Pages logged in one record, and the step at which a build is cancellable. */
#define SKX_BLK_WRITE_BATCH		XLR_MAX_BLOCK_ID

void
skx_blkio_new_extend(Relation rel, BlockNumber nblocks)
{
	bool		lock = !RelationUsesLocalBuffers(rel);
	BlockNumber now;

	if (lock)
		LockRelationForExtension(rel, ExclusiveLock);
	now = smgrnblocks(RelationGetSmgr(rel), MAIN_FORKNUM);
	if (now < nblocks)
		skx_compat_extend(RelationGetSmgr(rel), now, nblocks);
	if (lock)
		UnlockRelationForExtension(rel, ExclusiveLock);
}

static void
skx_blkio_new_write_page(SMgrRelation smgr, BlockNumber block, char *page)
{
	char		memory[BLCKSZ + SKX_BLK_ALIGN];

	PageSetChecksumInplace((Page) page, block);
	if (SKX_COMPAT_ALIGN_WRITES() &&
		page != (char *) TYPEALIGN(SKX_BLK_ALIGN, page))
	{
		char	   *aligned = (char *) TYPEALIGN(SKX_BLK_ALIGN, memory);

		memcpy(aligned, page, BLCKSZ);
		page = aligned;
	}
	smgrwrite(smgr, MAIN_FORKNUM, block, page, true);
}

/*
 * Whoever read the block before it was written has a buffer for it by now,
 * if only one that the read is under way into; the mode waits for that.  The
 * buffer stays clean, since the file has the same.
 */
static void
skx_blkio_new_refresh(Relation rel, BlockNumber block, const char *page)
{
	Buffer		buffer;

	if (RelationUsesLocalBuffers(rel) || !skx_blkio_resident(rel, block))
		return;
	buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_ZERO_AND_LOCK,
								NULL);
	memcpy(BufferGetPage(buffer), page, BLCKSZ);
	UnlockReleaseBuffer(buffer);
}

void
skx_blkio_new_write(Relation rel, BlockNumber block, char **pages, int npages)
{
	while (npages > 0)
	{
		int			n = Min(npages, SKX_BLK_WRITE_BATCH);

		CHECK_FOR_INTERRUPTS();

		/* Asked each time: it may not depend on wal_level alone. */
		if (RelationNeedsWAL(rel))
		{
			BlockNumber blocks[SKX_BLK_WRITE_BATCH];

			for (int i = 0; i < n; i++)
				blocks[i] = block + i;
			log_newpages(&SKX_REL_LOCATOR(rel), MAIN_FORKNUM, n, blocks,
						 (Page *) pages, true);
		}

		/* The checksum covers the LSN, which logging has set. */
		for (int i = 0; i < n; i++)
			skx_blkio_new_write_page(RelationGetSmgr(rel), block + i,
									 pages[i]);
		for (int i = 0; i < n; i++)
			skx_blkio_new_refresh(rel, block + i, pages[i]);
		block += n;
		pages += n;
		npages -= n;
	}
}

void
skx_blkio_new_sync(Relation rel)
{
	/* Temporary files do not outlive a crash. */
	if (RelationUsesLocalBuffers(rel))
		return;
	smgrimmedsync(RelationGetSmgr(rel), MAIN_FORKNUM);
}
