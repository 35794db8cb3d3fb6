/*
 * blkio_write_live.c
 *	  Writes the pages of a segment that is made while the index is in use.
 *
 * The pages bypass shared buffers, so this file does what the buffer manager
 * does for a page.  It works on a batch of pages at a time:
 *
 *	1. It holds off checkpoints (DELAY_CHKPT_START).
 *	2. It logs the pages as full images and flushes the log.
 *	3. If shared buffers have one of the blocks, the new image replaces the
 *	   old one there and is marked dirty.
 *	4. It writes the file, past the page cache if that is chosen, and asks
 *	   the checkpointer to sync it.
 *	5. It repeats step 3 for blocks that came into shared buffers meanwhile.
 *	6. It lets checkpoints go on.
 *
 * Why the pages are not synced here: a checkpoint first fixes the point where
 * replay would start.  Then it waits for processes that hold it off, and only
 * then collects requests and syncs.  So either replay starts at or before the
 * log records of a batch, or the checkpoint has synced the file of the batch
 * before it is complete.  Every page written by the buffer manager relies on
 * the same order.  It also covers a base backup, which copies files after such
 * a checkpoint.  A sync before the segment is published, without holding off
 * checkpoints, would not cover it.  The backup might copy a file before the
 * write, and start replay after the log record.
 *
 * Why the log is flushed first: the blocks may have belonged to another
 * segment.  The log has the record that freed them, and the images that repair
 * them if a crash tears the write.  It must not be lost if the write is kept.
 * Besides, pg_rewind finds an overwritten block only by its log record.  So
 * each page of the file is zero or sound at all times, also in unused extents.
 * A write that fails is repaired at once (blkio_mend.c).
 *
 * Why buffers are replaced: replay, CREATE DATABASE and tools bring blocks
 * into shared buffers.  A dirty old image there would be written over the new
 * one, and a clean one would be read instead of it (blkio_resident.c).
 * Locking the buffer's content exclusively waits for the end of a write of the
 * old image.  From then on every write of the buffer writes the new one.  A
 * block that is in no buffer at step 3 may still be read from the file before
 * it is written; that is the reason for step 5.
 *
 * Why a write past the page cache is waited for, and not done by io_uring: the
 * kernel writes out and drops the blocks in the page cache before the write,
 * and drops them again after it.  So reads through the page cache find the new
 * pages, whenever they begin.  A page that is made dirty between the two
 * cannot be dropped.  Then reads find old pages, and the next sync of the file
 * reports an I/O error, which stops the server.  A write of a neighbouring
 * block is enough for that, since the page cache may keep both in one piece.
 * On ext4 and XFS, a call that is waited for holds off writes through the page
 * cache from the first drop to the last; a write of io_uring does not until
 * its end.  Blocks that shared buffers have are written by the storage manager
 * here, too, since another process may write them from there at any time.  So
 * on no file system do two ways of writing meet in one block.
 *
 * Why no page of zeros is written: it has no LSN.  Without full page images
 * (full_page_writes off) replay may start with changes of the block's former
 * use.  The LSN of the new image makes replay skip them.  On a page of zeros
 * replay finds no LSN, and notes a missing page, with which no standby starts.
 *
 * Step 2 is left out for unlogged indexes, and for those that are logged only
 * at commit (wal_level minimal).  Their files are synced by the checkpoint at
 * shutdown or by the commit.  Temporary indexes go through the local buffers,
 * which are private to the session and need not survive.
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

/*
 * Pages of a batch: 1 MB is the memory of a batch and shares one flush of the
 * log.
 */
#define SKX_BLK_LIVE_BATCH		128

/* Blocks added to the file between two checks for interrupts. */
#define SKX_BLK_LIVE_EXTEND		1024

/* Blocks that optional work must leave free on the disk: 1 MB. */
#define SKX_BLK_LIVE_SPARE		128

/*
 * Most bytes that `auto` writes through the page cache.  Larger segments
 * bypass it, so that it keeps what other processes read.
 */
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
	/* the batch that is being written, in the order of the file */
	BlockNumber blocks[SKX_BLK_LIVE_BATCH];
	char	   *pages[SKX_BLK_LIVE_BATCH];
	bool		resident[SKX_BLK_LIVE_BATCH];	/* in shared buffers at the
												 * last check */
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

/*
 * Sorts the batch by block and checks that its blocks are distinct and below
 * the end of the file.
 */
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
 * Replaces the pages of the batch in shared buffers.  If a buffer found here
 * is reused for another block before the install, the buffer manager takes a
 * new one, which serves as well.
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

/*
 * Has a file that was written directly synced by the next checkpoint.  If the
 * checkpointer's queue is full, syncs it at once.
 */
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
 * Writes n pages of the batch, to consecutive blocks of one segment file, past
 * the page cache.  Returns false if the file system refuses that.  A write
 * that fails in the middle may have left data to sync, so the sync is
 * requested before the error is raised.
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

/* Returns true if page i of the batch may be written past the page cache. */
static inline bool
skx_blkio_live_past(const SkxBlkLive *live, int i)
{
	return live->direct && !live->resident[i];
}

/*
 * Returns how many pages of the batch, from this one on, can be written at
 * once.
 */
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

/*
 * Writes a run of pages, past the page cache or else by the storage manager,
 * and repairs it after an error.
 */
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
 * Does steps 1 to 6.  The flag is cleared here since the server clears it only
 * when the whole transaction ends, not for an error caught inside of it.  The
 * server heeds the flag only in a transaction.
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
		/* evaluated each time, since it may depend on more than wal_level */
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

	/* an error has already set the count of holds to zero */
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
 * Extends the file from `from` to `nblocks` blocks and returns 0, or errno.
 * If there is no space for all blocks the file gets none, since other files
 * may need the rest of the disk.
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

	/*
	 * without the lock, another process may be about to cut off the last
	 * blocks
	 */
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
