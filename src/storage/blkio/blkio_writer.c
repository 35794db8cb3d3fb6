/*
 * blkio_writer.c
 *	  Writes the pages of segments: those of a new index, and those that are
 *	  made while an index is in use.
 *
 * The pages bypass shared buffers, so this file does what the buffer manager
 * does for a page.  It collects a batch of pages, sorts them, and writes
 * neighbours together.  What surrounds the write makes the pages survive a
 * crash.  There are two ways, since an index in use has a former state to
 * return to, and a new one has not.
 *
 * An index in use, if its file may be read past the server:
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
 * A write that fails is repaired at once (blkio_repair.c).
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
 * An index in use, if the server reads it:
 *
 *	1. It holds off checkpoints.
 *	2. It logs the pages as full images.
 *	3. It puts the pages into shared buffers, into a ring of few of them, and
 *	   marks them dirty.
 *	4. It lets checkpoints go on.
 *
 * The buffer manager does the rest as for any page: it flushes the log before
 * it writes one, and requests the sync.  Searches that follow find the last
 * pages in shared buffers.  Checkpoints are held off since a page is dirty
 * only after its log record: one in between would neither replay nor write it.
 *
 * A new index:
 *
 *	1. It logs the pages as full images.
 *	2. The storage manager writes them, without a request to sync them, and
 *	   the kernel is asked to begin at once.
 *	3. If shared buffers have one of the blocks, the new image replaces it.
 *	4. If a checkpoint has begun since step 1, it logs the pages again.
 *
 * The file is synced at the end, before the commit that makes the index
 * visible to other transactions (skx_blkio_new_sync).
 *
 * Why checkpoints go on: a checkpoint in between cannot lose pages.  It can
 * only move the start of replay past their log records; these matter only
 * after the commit, when the pages are on disk.  Many processes can write one
 * new index for hours.  If each of them held off checkpoints most of the time,
 * none would ever begin.  A base backup that starts with such a checkpoint may
 * have copied the file before the write; that is the reason for step 4.
 *
 * Why the log is not flushed: until the commit, which flushes it, nothing
 * refers to this file, and its blocks are new.
 *
 * Why buffers are replaced only after the write: while an index is built
 * concurrently, tools such as pg_prewarm can read its file.  Nothing writes
 * the blocks of zeros that they find, and until the write has ended they may
 * still find them.
 *
 * Logging is left out for unlogged indexes, and for those that are logged only
 * at commit (wal_level minimal).  Their files are synced by the checkpoint at
 * shutdown or by the commit.  Temporary indexes go through the local buffers,
 * which are private to the session and need not survive.
 */
#include "postgres.h"

#include <fcntl.h>

#include "access/xlog.h"
#include "access/xloginsert.h"
#include "executor/instrument.h"
#include "storage/blkio/blkio_cache.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/fd.h"
#include "storage/proc.h"
#include "storage/smgr.h"
#include "support/compat/compat_space.h"
#include "support/fault/fault.h"

/*
 * Pages of a batch: 1 MB is the memory of a batch and shares one flush of the
 * log.
 */
#define SKX_BLK_WRITER_BATCH	128

/*
 * Most bytes that `auto` writes through the page cache.  Larger segments
 * bypass it, so that it keeps what other processes read.
 */
#define SKX_BLK_WRITER_CACHED	(64 * 1024 * 1024)

typedef struct SkxBlkWriterPage
{
	BlockNumber block;
	char	   *page;
} SkxBlkWriterPage;

struct SkxBlkWriter
{
	Relation	rel;
	bool		in_use;			/* the index; else it is new */
	bool		direct;			/* past the page cache */
	bool		buffered;		/* by the buffer manager */
	BufferAccessStrategy ring;	/* of buffers for that; NULL: any */
	int			npages;
	SkxBlkWriterPage put[SKX_BLK_WRITER_BATCH];
	/* the batch that is being written, in the order of the file */
	BlockNumber blocks[SKX_BLK_WRITER_BATCH];
	char	   *pages[SKX_BLK_WRITER_BATCH];
	bool		resident[SKX_BLK_WRITER_BATCH]; /* in shared buffers at the
												 * last check */
	struct iovec iov[SKX_BLK_WRITER_BATCH];
	char	   *memory;			/* of the batch, aligned for direct I/O */
	char	   *allocated;
};

static SkxBlkWriter *
skx_blkio_writer_make(Relation rel, bool in_use)
{
	SkxBlkWriter *w = palloc(sizeof(SkxBlkWriter));

	w->rel = rel;
	w->in_use = in_use;
	w->direct = false;
	w->buffered = RelationUsesLocalBuffers(rel);
	w->ring = NULL;
	w->npages = 0;
	w->allocated = palloc(SKX_BLK_WRITER_BATCH * BLCKSZ + SKX_IO_ALIGN);
	w->memory = (char *) TYPEALIGN(SKX_IO_ALIGN, w->allocated);
	return w;
}

SkxBlkWriter *
skx_blkio_writer_begin(Relation rel, uint64 incarnation, uint64 bytes)
{
	const SkxBlkMethod *method;
	SkxBlkWriter *w;

	if (RecoveryInProgress())
		elog(ERROR, "cannot write segments during recovery");
	method = skx_blkio_choose(rel, incarnation);
	w = skx_blkio_writer_make(rel, true);
	w->buffered = method == &skx_blkio_method_bufmgr;
	if (w->buffered && !RelationUsesLocalBuffers(rel))
		w->ring = GetAccessStrategy(BAS_BULKWRITE);
	w->direct = !w->buffered &&
		(method->direct || (skx_blkio_io_method == SKX_BLK_METHOD_AUTO &&
							bytes > SKX_BLK_WRITER_CACHED));
	if (w->direct)
		skx_blkio_fd_recheck();
	return w;
}

SkxBlkWriter *
skx_blkio_writer_begin_new(Relation rel)
{
	return skx_blkio_writer_make(rel, false);
}

static int
skx_blkio_writer_compare(const void *a, const void *b)
{
	BlockNumber x = ((const SkxBlkWriterPage *) a)->block;
	BlockNumber y = ((const SkxBlkWriterPage *) b)->block;

	return x < y ? -1 : x > y;
}

/*
 * Sorts the batch by block and checks that its blocks are distinct and below
 * the end of the file.
 */
static void
skx_blkio_writer_sort(SkxBlkWriter *w)
{
	Relation	rel = w->rel;

	qsort(w->put, w->npages, sizeof(SkxBlkWriterPage),
		  skx_blkio_writer_compare);
	for (int i = 0; i < w->npages; i++)
	{
		w->blocks[i] = w->put[i].block;
		w->pages[i] = w->put[i].page;
		if (i > 0 && w->blocks[i] == w->blocks[i - 1])
			elog(ERROR, "block %u of index \"%s\" written twice at once",
				 w->blocks[i], RelationGetRelationName(rel));
	}
	if (w->blocks[w->npages - 1] >=
		smgrnblocks(RelationGetSmgr(rel), MAIN_FORKNUM))
		elog(ERROR, "block %u is past the end of index \"%s\"",
			 w->blocks[w->npages - 1], RelationGetRelationName(rel));
}

/*
 * Replaces the pages of the batch in shared buffers.  If a buffer found here
 * is reused for another block before the install, the buffer manager takes a
 * new one, which serves as well.
 */
static void
skx_blkio_writer_refresh(SkxBlkWriter *w)
{
	for (int i = 0; i < w->npages; i++)
	{
		w->resident[i] = skx_blkio_resident(w->rel, w->blocks[i]);
		if (w->resident[i])
			skx_blkio_install(w->rel, w->blocks[i], w->pages[i], NULL);
	}
}

/* Leaves the pages of the batch to the buffer manager. */
static void
skx_blkio_writer_install(SkxBlkWriter *w)
{
	for (int i = 0; i < w->npages; i++)
		skx_blkio_install(w->rel, w->blocks[i], w->pages[i], w->ring);
}

/*
 * Logs the batch and sets the pages' LSN.  Returns false, with nothing done,
 * if the relation is not logged.  That is evaluated each time, since it may
 * depend on more than wal_level.
 */
static bool
skx_blkio_writer_log(SkxBlkWriter *w)
{
	if (!RelationNeedsWAL(w->rel))
		return false;
	log_newpages(&SKX_REL_LOCATOR(w->rel), MAIN_FORKNUM, w->npages,
				 w->blocks, (Page *) w->pages, true);
	return true;
}

/*
 * Has a file that was written directly synced by the next checkpoint.  If the
 * checkpointer's queue is full, syncs it at once.
 */
static void
skx_blkio_writer_sync(Relation rel, BlockNumber block)
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
						skx_compat_relation_path(SKX_REL_LOCATOR(rel)))));
}

/*
 * Writes n pages of the batch, to consecutive blocks of one segment file, past
 * the page cache.  Returns false if the file system refuses that.  A write
 * that fails in the middle may have left data to sync, so the sync is
 * requested before the error is raised.
 */
static bool
skx_blkio_writer_direct(SkxBlkWriter *w, int first, int n)
{
	SkxBlkTransfer transfer = {0};

	for (int i = 0; i < n; i++)
	{
		w->iov[i].iov_base = w->pages[first + i];
		w->iov[i].iov_len = BLCKSZ;
	}
	transfer.block = w->blocks[first];
	transfer.npages = n;
	transfer.iov = w->iov;
	transfer.niov = n;
	skx_blkio_write(w->rel, &transfer);
	if (transfer.error == EINVAL || transfer.error == EOPNOTSUPP)
		return false;
	skx_blkio_writer_sync(w->rel, transfer.block);
	if (transfer.error != 0)
		skx_blkio_write_failed(w->rel, &transfer);
	return true;
}

/* Returns true if page i of the batch may be written past the page cache. */
static inline bool
skx_blkio_writer_past(const SkxBlkWriter *w, int i)
{
	return w->direct && !w->resident[i];
}

/*
 * Returns how many pages of the batch, from this one on, can be written at
 * once.
 */
static int
skx_blkio_writer_run(const SkxBlkWriter *w, int first)
{
	int			n = 1;

	while (first + n < w->npages &&
		   w->blocks[first + n] == w->blocks[first] + n &&
		   w->blocks[first + n] % RELSEG_SIZE != 0 &&
		   skx_blkio_writer_past(w, first + n) ==
		   skx_blkio_writer_past(w, first))
		n++;
	return n;
}

/*
 * Has the storage manager write n pages of the batch, to consecutive blocks of
 * one segment file.  For a new index, which will be synced soon, the kernel
 * begins to write them to the disk.
 */
static void
skx_blkio_writer_serve(SkxBlkWriter *w, int first, int n)
{
	SMgrRelation smgr = RelationGetSmgr(w->rel);

	skx_compat_write(smgr, w->blocks[first], &w->pages[first], n, !w->in_use);
	if (!w->in_use)
		smgrwriteback(smgr, MAIN_FORKNUM, w->blocks[first], n);
}

/*
 * Writes a run of pages, past the page cache or else by the storage manager,
 * and repairs it after an error.
 */
static void
skx_blkio_writer_write_run(SkxBlkWriter *w, int first, int n)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		if (skx_blkio_writer_past(w, first) &&
			!skx_blkio_writer_direct(w, first, n))
			w->direct = false;
		if (!skx_blkio_writer_past(w, first))
			skx_blkio_writer_serve(w, first, n);
	}
	PG_CATCH();
	{
		ErrorData  *error = skx_blkio_repair_begin(context);

		(void) skx_blkio_repair_pages(w->rel, w->blocks[first],
									  &w->pages[first], n,
									  skx_blkio_writer_past(w, first),
									  w->in_use);
		skx_blkio_repair_end(error);
	}
	PG_END_TRY();
}

static void
skx_blkio_writer_write(SkxBlkWriter *w)
{
	int			done = 0;

	/* The checksum covers the LSN. */
	for (int i = 0; i < w->npages; i++)
		skx_compat_page_checksum((Page) w->pages[i], w->blocks[i]);
	while (done < w->npages)
	{
		int			n = skx_blkio_writer_run(w, done);

		skx_blkio_writer_write_run(w, done, n);
		done += n;
	}
	pgBufferUsage.shared_blks_written += w->npages;
}

/*
 * Does the steps for an index in use.  The flag is cleared here since the
 * server clears it only when the whole transaction ends, not for an error
 * caught inside of it.  The server heeds the flag only in a transaction.
 */
static void
skx_blkio_writer_commit_in_use(SkxBlkWriter *w)
{
	if (!LocalTransactionIdIsValid(SKX_COMPAT_LXID()))
		elog(ERROR, "cannot write segments outside of a transaction");
	HOLD_INTERRUPTS();
	Assert((MyProc->delayChkptFlags & DELAY_CHKPT_START) == 0);
	MyProc->delayChkptFlags |= DELAY_CHKPT_START;
	PG_TRY();
	{
		bool		logged = skx_blkio_writer_log(w);

		if (logged)
			SKX_FAULT(SKX_FAULT_LIVE_LOGGED);
		if (logged && !w->buffered)
			XLogFlush(XactLastRecEnd);
		SKX_FAULT(SKX_FAULT_LIVE_FLUSHED);
		if (w->buffered)
			skx_blkio_writer_install(w);
		else
		{
			skx_blkio_writer_refresh(w);
			skx_blkio_writer_write(w);
		}
		SKX_FAULT(SKX_FAULT_LIVE_WRITTEN);
		if (!w->buffered)
			skx_blkio_writer_refresh(w);
	}
	PG_FINALLY();
	{
		MyProc->delayChkptFlags &= ~DELAY_CHKPT_START;
	}
	PG_END_TRY();

	/* an error has already set the count of holds to zero */
	RESUME_INTERRUPTS();
}

/* Does the steps for a new index. */
static void
skx_blkio_writer_commit_new(SkxBlkWriter *w)
{
	XLogRecPtr	redo = GetRedoRecPtr();

	(void) skx_blkio_writer_log(w);
	SKX_FAULT(SKX_FAULT_NEW_LOGGED);
	skx_blkio_writer_write(w);
	SKX_FAULT(SKX_FAULT_NEW_WRITTEN);
	skx_blkio_writer_refresh(w);
	if (GetRedoRecPtr() != redo)
		(void) skx_blkio_writer_log(w);
}

static void
skx_blkio_writer_send(SkxBlkWriter *w)
{
	if (w->npages == 0)
		return;
	CHECK_FOR_INTERRUPTS();
	skx_blkio_writer_sort(w);
	if (RelationUsesLocalBuffers(w->rel))
		skx_blkio_writer_install(w);
	else if (w->in_use)
		skx_blkio_writer_commit_in_use(w);
	else
		skx_blkio_writer_commit_new(w);
	w->npages = 0;
}

void
skx_blkio_writer_put(SkxBlkWriter *w, BlockNumber block, const char *page)
{
	char	   *copy = w->memory + (Size) w->npages * BLCKSZ;

	if (w->in_use && PageIsNew((Page) page))
		elog(ERROR, "block %u of index \"%s\" would be written without LSN",
			 block, RelationGetRelationName(w->rel));
	memcpy(copy, page, BLCKSZ);
	w->put[w->npages].block = block;
	w->put[w->npages].page = copy;
	if (++w->npages == SKX_BLK_WRITER_BATCH)
		skx_blkio_writer_send(w);
}

void
skx_blkio_writer_flush(SkxBlkWriter *w)
{
	skx_blkio_writer_send(w);
}

void
skx_blkio_writer_end(SkxBlkWriter *w)
{
	skx_blkio_writer_send(w);
	if (w->ring != NULL)
		FreeAccessStrategy(w->ring);
	pfree(w->allocated);
	pfree(w);
}

/*
 * Has the page cache drop the file, for methods that do not read through it.
 * The file has been synced, so nothing is lost.
 */
static void
skx_blkio_new_drop(Relation rel, BlockNumber nblocks)
{
#ifdef POSIX_FADV_DONTNEED
	for (uint64 block = 0; block < nblocks; block += RELSEG_SIZE)
	{
		int			handle;
		int			fd = skx_blkio_fd_wait(rel, (BlockNumber) block,
										   SKX_BLK_FD_FRESH, &handle);

		if (fd < 0)
			return;
		(void) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		skx_blkio_fd_put(handle);
	}
#endif
}

void
skx_blkio_new_sync(Relation rel, uint64 incarnation)
{
	SMgrRelation smgr = RelationGetSmgr(rel);
	BlockNumber nblocks = smgrnblocks(smgr, MAIN_FORKNUM);

	/* its metapage tells what this process may not have seen */
	bool		past = skx_blkio_choose(rel, incarnation) !=
		&skx_blkio_method_bufmgr;
	int			error = past ? skx_compat_allocate_holes(smgr, nblocks) : 0;

	if (error != 0)
		skx_blkio_no_space(rel, error, ERROR);

	/* temporary files need not survive a crash */
	if (RelationUsesLocalBuffers(rel))
		return;
	smgrimmedsync(RelationGetSmgr(rel), MAIN_FORKNUM);
	if (past && skx_blkio_method_in_force()->direct)
		skx_blkio_new_drop(rel, nblocks);
}
