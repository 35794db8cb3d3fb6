/*
 * blkio_write_live.c
 *	  Writes the pages of a segment that is made while the index is in use.
 *
 * The pages bypass shared buffers, so what the buffer manager does for a page
 * is done here, for a batch of pages at a time:
 *
 *	1. checkpoints are held off (DELAY_CHKPT_START);
 *	2. the pages are logged, as full images, and the log is flushed;
 *	3. where shared buffers have one of the blocks, the new image replaces
 *	   what is there, marked dirty;
 *	4. the file is written, past the page cache where that is chosen, and the
 *	   checkpointer asked to sync it;
 *	5. step 3 again, for blocks that came into shared buffers meanwhile;
 *	6. checkpoints may go on.
 *
 * Why the pages are not synced here: a checkpoint fixes the point where
 * replay would start, then waits for processes that hold it off, and only then
 * collects requests and syncs.  So either replay starts at or before the log
 * records of a batch, or the checkpoint has synced the batch's file before it
 * counts.  Every page written by the buffer manager relies on the same.  It
 * covers a base backup too, which copies files after such a checkpoint;
 * syncing before the segment is published, with checkpoints going on, would
 * not: the backup might copy a file before the write, and start replay after
 * the log record.
 *
 * Why the log is flushed first: the blocks may have been another segment's.
 * The log that freed them, and the images that repair them when the write is
 * torn by a crash, must not be lost while the write is kept; and pg_rewind
 * finds an overwritten block by its log record only.  So each page of the
 * file is zero or sound at all times, in unused extents as well.  A write that
 * fails is mended at once (blkio_mend.c).
 *
 * Why buffers are replaced: replay, CREATE DATABASE and tools bring blocks
 * into shared buffers.  An old image that is dirty there would be written over
 * the new one, and a clean one read in its place (see blkio_resident.c).  Taking
 * the buffer's content lock exclusively waits out a write of the old image;
 * from then on every write of the buffer writes the new one.  A block that is
 * in no buffer at step 3 may be read from the file before it is written: hence
 * step 5.
 *
 * Why a write past the page cache is waited for, and not io_uring's: the kernel
 * writes out and drops what the page cache has of its blocks before it, and
 * drops them again after it, so that reads through the page cache find the new
 * pages, begun before or after.  A page that was made dirty between the two
 * cannot be dropped: reads find old pages, and the next sync of the file is told
 * of an I/O error, with which the server goes down.  A write of a neighbour is
 * enough, since the page cache may keep both in one piece.  A call that is
 * waited for holds off writes through the page cache from the one to the other,
 * on ext4 and XFS; io_uring's write does not to its end.  And what shared
 * buffers have, which another process may write from there at any time, is
 * written by the storage manager here too, so that on no file system two ways
 * of writing meet in one block.
 *
 * Why no page of zeros is written: it has no LSN.  Without full page images
 * (full_page_writes off) replay starts with changes of the block's former use;
 * the LSN of the new image tells it to leave them out.  On a page of zeros it
 * finds none, and notes a page that is missing, with which no standby starts.
 *
 * Unlogged indexes, and such as are logged only at commit (wal_level minimal),
 * leave out step 2; their files are synced by the checkpoint at shutdown or by
 * the commit.  Temporary ones go through the local buffers, which are private
 * to the session and need not survive.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xloginsert.h"
#include "executor/instrument.h"
#include "storage/blkio/blkio_cache.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/fd.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/smgr.h"
#include "support/compat/compat_space.h"
#include "support/fault/fault.h"

/* 1 MB: one flush of the log for so much, and so much memory. */
#define SKX_BLK_LIVE_BATCH		128

/* Blocks added to the file between two looks at interrupts. */
#define SKX_BLK_LIVE_EXTEND		1024

/* Blocks that optional work must leave free on the disk: 1 MB. */
#define SKX_BLK_LIVE_SPARE		128

/* What `auto` leaves to the page cache, which others want for what they read. */
#define SKX_BLK_LIVE_CACHED		(64 * 1024 * 1024)

typedef struct SkxBlkLivePage
{
	BlockNumber block;
	char	   *page;
} SkxBlkLivePage;

struct SkxBlkLive
{
	Relation	rel;
	bool		direct;			/* past the page cache */
	int			npages;
	SkxBlkLivePage put[SKX_BLK_LIVE_BATCH];
	/* a batch on its way, in the order of the file */
	BlockNumber blocks[SKX_BLK_LIVE_BATCH];
	char	   *pages[SKX_BLK_LIVE_BATCH];
	bool		resident[SKX_BLK_LIVE_BATCH];	/* at the last look */
	struct iovec iov[SKX_BLK_LIVE_BATCH];
	char	   *memory;			/* of the batch, aligned for direct I/O */
	char	   *allocated;
};

static bool
skx_blkio_live_choose(Relation rel, uint64 incarnation, uint64 bytes)
{
	if (RelationUsesLocalBuffers(rel) ||
		skx_blkio_io_method == SKX_BLK_SHARED_BUFFERS)
		return false;
	if (!skx_blkio_method_in_force()->direct &&
		(skx_blkio_io_method != SKX_BLK_AUTO || bytes <= SKX_BLK_LIVE_CACHED))
		return false;
	return skx_blkio_path(rel, incarnation) == SKX_BLK_PATH_PROVEN;
}

SkxBlkLive *
skx_blkio_live_begin(Relation rel, uint64 incarnation, uint64 bytes)
{
	SkxBlkLive *live = palloc(sizeof(SkxBlkLive));

	if (RecoveryInProgress())
		elog(ERROR, "cannot write segments during recovery");
	live->rel = rel;
	live->direct = skx_blkio_live_choose(rel, incarnation, bytes);
	if (live->direct)
		skx_blkio_fd_recheck();
	live->npages = 0;
	live->allocated = palloc(SKX_BLK_LIVE_BATCH * BLCKSZ + SKX_IO_ALIGN);
	live->memory = (char *) TYPEALIGN(SKX_IO_ALIGN, live->allocated);
	return live;
}

static int
skx_blkio_live_compare(const void *a, const void *b)
{
	BlockNumber x = ((const SkxBlkLivePage *) a)->block;
	BlockNumber y = ((const SkxBlkLivePage *) b)->block;

	return x < y ? -1 : x > y;
}

/* Puts the batch in the order of the file, and makes sure that it fits. */
static void
skx_blkio_live_sort(SkxBlkLive *live)
{
	Relation	rel = live->rel;

	qsort(live->put, live->npages, sizeof(SkxBlkLivePage),
		  skx_blkio_live_compare);
	for (int i = 0; i < live->npages; i++)
	{
		live->blocks[i] = live->put[i].block;
		live->pages[i] = live->put[i].page;
		if (i > 0 && live->blocks[i] == live->blocks[i - 1])
			elog(ERROR, "block %u of index \"%s\" written twice at once",
				 live->blocks[i], RelationGetRelationName(rel));
	}
	if (live->blocks[live->npages - 1] >=
		smgrnblocks(RelationGetSmgr(rel), MAIN_FORKNUM))
		elog(ERROR, "block %u is past the end of index \"%s\"",
			 live->blocks[live->npages - 1], RelationGetRelationName(rel));
}

/*
 * If a buffer found here is given to another block before it is installed,
 * the buffer manager takes a new one: as good.
 */
static void
skx_blkio_live_refresh(SkxBlkLive *live)
{
	for (int i = 0; i < live->npages; i++)
	{
		live->resident[i] = skx_blkio_resident(live->rel, live->blocks[i]);
		if (live->resident[i])
			skx_blkio_install(live->rel, live->blocks[i], live->pages[i],
							  true);
	}
}

/* Logs the batch and flushes the log; sets the pages' LSN. */
static void
skx_blkio_live_log(SkxBlkLive *live)
{
	log_newpages(&SKX_REL_LOCATOR(live->rel), MAIN_FORKNUM, live->npages,
				 live->blocks, (Page *) live->pages, true);
	SKX_FAULT(SKX_FAULT_LIVE_LOGGED);

	XLogFlush(XactLastRecEnd);
}

/* What has been written directly is synced with the next checkpoint, or now. */
static void
skx_blkio_live_sync(Relation rel, BlockNumber block)
{
	int			error = 0;
	int			handle;
	int			fd;

	if (skx_compat_request_sync(SKX_REL_LOCATOR(rel), block))
		return;
	fd = skx_blkio_fd_wait(rel, block, SKX_BLK_FD_WRITE | SKX_BLK_FD_DIRECT,
						   &handle);
	if (fd < 0)
		error = errno;
	else
	{
		if (pg_fdatasync(fd) != 0)
			error = errno;
		skx_blkio_fd_put(handle);
	}
	errno = error;
	if (error != 0)
		ereport(data_sync_elevel(ERROR),
				(errcode_for_file_access(),
				 errmsg("could not fsync file \"%s\": %m",
						skx_compat_path(SKX_REL_LOCATOR(rel)))));
}

/*
 * Consecutive blocks of one file past the page cache; false: the file system
 * will not.  A write that fails in its middle may have left something to sync
 * as well.
 */
static bool
skx_blkio_live_direct(SkxBlkLive *live, int first, int n)
{
	SkxBlkTransfer transfer = {0};

	for (int i = 0; i < n; i++)
	{
		live->iov[i].iov_base = live->pages[first + i];
		live->iov[i].iov_len = BLCKSZ;
	}
	transfer.block = live->blocks[first];
	transfer.npages = n;
	transfer.iov = live->iov;
	transfer.niov = n;
	skx_blkio_write(live->rel, &transfer, true);
	if (transfer.error == EINVAL || transfer.error == EOPNOTSUPP)
		return false;
	skx_blkio_live_sync(live->rel, transfer.block);
	if (transfer.error != 0)
		skx_blkio_write_failed(live->rel, &transfer);
	return true;
}

/* May this page be written past the page cache? */
static inline bool
skx_blkio_live_past(const SkxBlkLive *live, int i)
{
	return live->direct && !live->resident[i];
}

/* Pages of the batch from this one on that can be written at once. */
static int
skx_blkio_live_run(const SkxBlkLive *live, int first)
{
	int			n = 1;

	while (first + n < live->npages &&
		   live->blocks[first + n] == live->blocks[first] + n &&
		   live->blocks[first + n] % RELSEG_SIZE != 0 &&
		   skx_blkio_live_past(live, first + n) ==
		   skx_blkio_live_past(live, first))
		n++;
	return n;
}

/* A run: past the page cache, or if not, as the server writes. */
static void
skx_blkio_live_write_run(SkxBlkLive *live, int first, int n)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		if (skx_blkio_live_past(live, first) &&
			!skx_blkio_live_direct(live, first, n))
			live->direct = false;
		if (!skx_blkio_live_past(live, first))
			skx_compat_write(RelationGetSmgr(live->rel), live->blocks[first],
							 &live->pages[first], n);
	}
	PG_CATCH();
	{
		ErrorData  *error = skx_blkio_mend_begin(context);

		(void) skx_blkio_mend(live->rel, live->blocks[first],
							  &live->pages[first], n,
							  skx_blkio_live_past(live, first));
		skx_blkio_mend_end(error);
	}
	PG_END_TRY();
}

static void
skx_blkio_live_write(SkxBlkLive *live)
{
	int			done = 0;

	/* The checksum covers the LSN. */
	for (int i = 0; i < live->npages; i++)
		skx_compat_page_checksum((Page) live->pages[i], live->blocks[i]);
	while (done < live->npages)
	{
		int			n = skx_blkio_live_run(live, done);

		skx_blkio_live_write_run(live, done, n);
		done += n;
	}
	pgBufferUsage.shared_blks_written += live->npages;
}

/*
 * Steps 1 to 6.  The server itself takes back the hold on checkpoints only
 * when the whole transaction ends, not for an error caught inside of it, and
 * it heeds the hold of a transaction only.
 */
static void
skx_blkio_live_batch(SkxBlkLive *live)
{
	if (!LocalTransactionIdIsValid(SKX_COMPAT_LXID()))
		elog(ERROR, "cannot write segments outside of a transaction");
	HOLD_INTERRUPTS();
	Assert((MyProc->delayChkptFlags & DELAY_CHKPT_START) == 0);
	MyProc->delayChkptFlags |= DELAY_CHKPT_START;
	PG_TRY();
	{
		/* Asked each time: it may not depend on wal_level alone. */
		if (RelationNeedsWAL(live->rel))
			skx_blkio_live_log(live);
		SKX_FAULT(SKX_FAULT_LIVE_FLUSHED);
		skx_blkio_live_refresh(live);
		skx_blkio_live_write(live);
		SKX_FAULT(SKX_FAULT_LIVE_WRITTEN);
		skx_blkio_live_refresh(live);
	}
	PG_FINALLY();
	{
		MyProc->delayChkptFlags &= ~DELAY_CHKPT_START;
	}
	PG_END_TRY();

	/* An error has set the count to zero by itself. */
	RESUME_INTERRUPTS();
}

static void
skx_blkio_live_send(SkxBlkLive *live)
{
	if (live->npages == 0)
		return;
	CHECK_FOR_INTERRUPTS();
	skx_blkio_live_sort(live);
	if (!RelationUsesLocalBuffers(live->rel))
		skx_blkio_live_batch(live);
	else
	{
		for (int i = 0; i < live->npages; i++)
			skx_blkio_install(live->rel, live->blocks[i], live->pages[i],
							  true);
	}
	live->npages = 0;
}

void
skx_blkio_live_put(SkxBlkLive *live, BlockNumber block, const char *page)
{
	char	   *copy = live->memory + (Size) live->npages * BLCKSZ;

	if (PageIsNew((Page) page))
		elog(ERROR, "block %u of index \"%s\" would be written without LSN",
			 block, RelationGetRelationName(live->rel));
	memcpy(copy, page, BLCKSZ);
	live->put[live->npages].block = block;
	live->put[live->npages].page = copy;
	if (++live->npages == SKX_BLK_LIVE_BATCH)
		skx_blkio_live_send(live);
}

void
skx_blkio_live_end(SkxBlkLive *live)
{
	skx_blkio_live_send(live);
	pfree(live->allocated);
	pfree(live);
}

/*
 * errno, or 0.  Where the file cannot have all, it gets nothing: others may
 * need the little that is left on the disk.
 */
static int
skx_blkio_live_grow(Relation rel, BlockNumber from, BlockNumber nblocks)
{
	BlockNumber now = from;
	int			error = 0;

	while (now < nblocks && error == 0)
	{
		BlockNumber n = Min(nblocks - now, SKX_BLK_LIVE_EXTEND);
		SMgrRelation smgr = RelationGetSmgr(rel);

		error = skx_compat_allocate(smgr, now, now + n);
		error = -(int) skx_fault_grow(-error);
		now += n;
		if (error != 0)
			skx_compat_cut(smgr, from, now);
		else
			skx_compat_reserve(smgr, now - n, now);
		CHECK_FOR_INTERRUPTS();
	}
	return error;
}

int
skx_blkio_live_extend(Relation rel, BlockNumber nblocks, bool spare)
{
	bool		lock = !RelationUsesLocalBuffers(rel);
	BlockNumber now;
	int			error = 0;

	/* without the lock it may be one that a process is about to cut again */
	if (lock)
		LockRelationForExtension(rel, ExclusiveLock);
	now = smgrnblocks(RelationGetSmgr(rel), MAIN_FORKNUM);
	if (spare && now < nblocks &&
		!skx_compat_has_space(RelationGetSmgr(rel),
							  (uint64) nblocks - now + SKX_BLK_LIVE_SPARE))
		error = ENOSPC;
	else if (now < nblocks)
		error = skx_blkio_live_grow(rel, now, nblocks);
	if (lock)
		UnlockRelationForExtension(rel, ExclusiveLock);
	if (error != 0 && !spare)
		skx_blkio_no_space(rel, error, ERROR);
	return error;
}

void
skx_blkio_no_space(Relation rel, int error, int elevel)
{
	bool		full = SKX_BLK_NO_SPACE(error);

	errno = error;
	ereport(elevel,
			(full ? errcode(ERRCODE_DISK_FULL) : errcode_for_file_access(),
			 errmsg("could not extend index \"%s\": %m",
					RelationGetRelationName(rel)),
			 full ? errhint("Check free disk space.") : 0));
}
