/*
 * blkio_write_new.c
 *	  Writes the pages of a new index, which no query can read yet.
 *
 * The pages bypass shared buffers, as in the server's own index builds.  They
 * are logged if the relation is, written without a request to the checkpointer
 * to sync them, and synced at the end.  This is before the commit that makes
 * the index visible to other transactions.
 *
 * A checkpoint in between cannot lose pages.  It can only move the start of
 * replay past their log records; these records matter only after the commit,
 * when the pages are on disk.  The log need not be flushed before the write
 * either.  Until the commit, which flushes it, nothing refers to this file,
 * and its blocks are new.
 *
 * With io_uring the pages also bypass the page cache, and are written while
 * the backend makes the next ones.  For this they are copied into batches of
 * consecutive blocks.  A few batches gather pages at a time, one for each
 * place where the caller writes.  A batch is logged and sent when it is full,
 * or when it is the least recently used one and another is needed.  When its
 * write has ended it is checked once more.
 *
 * A batch is logged when it is sent, not earlier.  If a record is long in the
 * log while the file lacks its pages, a base backup may begin in between and
 * miss them.  If that happens nevertheless, the batch is logged once more
 * after its write, and the backup contains that record.
 *
 * While an index is built concurrently, other processes can open its file:
 * tools such as pg_prewarm read any relation.  A page that they bring into
 * shared buffers before its write would count as its newest image afterwards.
 * Therefore such a buffer is replaced.  This is done after the write has
 * ended, since until then they may still read the old contents of the file.
 *
 * If the file does not hold pages as they are (blkio_path.c), or with the
 * method shared_buffers, the server's storage manager writes them.
 *
 * The kernel reads from a batch until its write has ended.  Therefore a batch
 * belongs to no memory context that could be deleted earlier, and a resource
 * owner that ends waits for the writes.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/blkio/blkio_cache.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "support/compat/compat_space.h"
#include "support/fault/fault.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

/* Pages of a batch, logged in one record and written together. */
#define SKX_BLK_NEW_PAGES		16

/* Number of batches (1 MB), and the most that gather pages at a time. */
#define SKX_BLK_NEW_BATCHES		8
#define SKX_BLK_NEW_GATHER		4

StaticAssertDecl(SKX_BLK_NEW_PAGES <= XLR_MAX_BLOCK_ID,
				 "a batch must fit one record");

/*
 * How batches are written.  A way that does not work is replaced by a later
 * one of this list.
 */
typedef enum SkxBlkNewWay
{
	SKX_BLK_NEW_RING,			/* O_DIRECT, while the backend goes on */
	SKX_BLK_NEW_DIRECT,			/* O_DIRECT, waited for; if other processes
								 * use rings */
	SKX_BLK_NEW_CACHED,			/* into the page cache, with a request to
								 * write it at once */
	SKX_BLK_NEW_SERVER			/* by the server's storage manager */
} SkxBlkNewWay;

typedef enum SkxBlkNewState
{
	SKX_BLK_NEW_FREE,
	SKX_BLK_NEW_GATHERING,
	SKX_BLK_NEW_SENT
} SkxBlkNewState;

typedef struct SkxBlkNewBatch
{
	SkxBlkNewState state;
	uint64		used;			/* clock of the last page, or of sending */
	XLogRecPtr	lsn;			/* of its pages; invalid: not logged */
	SkxBlkTransfer transfer;	/* block and npages count while gathering */
	struct iovec iov;
	char	   *pages[SKX_BLK_NEW_PAGES];	/* contiguous in memory */
} SkxBlkNewBatch;

/* What this backend writes of one new index. */
typedef struct SkxBlkNew
{
	struct SkxBlkNew *next;
	SkxLocator	locator;
	ResourceOwner owner;
	SkxBlkNewWay way;
	uint64		clock;
	SkxBlkNewBatch batches[SKX_BLK_NEW_BATCHES];
	char		memory[FLEXIBLE_ARRAY_MEMBER];
} SkxBlkNew;

/*
 * The writers of this backend.  Usually there is one, but an expression of an
 * index can build another index.
 */
static SkxBlkNew *skx_blkio_news = NULL;
static bool skx_blkio_new_registered = false;

/*
 * The file for which skx_blkio_new_agreed_on has set a way, and that way; -1
 * if none is set.
 */
static SkxLocator skx_blkio_new_agreed;
static int	skx_blkio_new_agreed_way = -1;

void
skx_blkio_new_extend(Relation rel, BlockNumber nblocks)
{
	bool		lock = !RelationUsesLocalBuffers(rel);
	BlockNumber now;

	if (lock)
		LockRelationForExtension(rel, ExclusiveLock);
	now = smgrnblocks(RelationGetSmgr(rel), MAIN_FORKNUM);
	if (now < nblocks)
	{
		int			error = -(int) skx_fault_grow(0);

		if (error != 0)
			skx_blkio_no_space(rel, error, ERROR);
		/* With its own storage manager the server reads holes as zeros. */
		if (skx_blkio_io_method == SKX_BLK_SHARED_BUFFERS)
			skx_compat_reserve(RelationGetSmgr(rel), now, nblocks);
		else
			skx_compat_extend(RelationGetSmgr(rel), now, nblocks);
	}
	if (lock)
		UnlockRelationForExtension(rel, ExclusiveLock);
}


/*
 * One write
 */

/*
 * Returns how this process writes if no way has been agreed on.  O_DIRECT
 * without io_uring is not chosen: it has to be waited for, which takes three
 * times as long as writes into the page cache that begin at once.
 */
static SkxBlkNewWay
skx_blkio_new_choose(Relation rel, BlockNumber block)
{
	if (skx_blkio_io_method == SKX_BLK_SHARED_BUFFERS ||
		skx_blkio_path_new(rel, block) != SKX_BLK_PATH_PROVEN)
		return SKX_BLK_NEW_SERVER;
	switch (skx_blkio_io_method)
	{
		case SKX_BLK_AUTO:
		case SKX_BLK_URING:
		case SKX_BLK_URING_DIRECT:
			return sysconf(_SC_PAGESIZE) <= BLCKSZ && skx_blkio_ring_ready() ?
				SKX_BLK_NEW_RING : SKX_BLK_NEW_CACHED;
		default:
			return SKX_BLK_NEW_CACHED;
	}
}

/*
 * The page cache may keep a block in one piece with a block that another
 * process writes directly.  A write into the page cache then makes the next
 * sync fail, which is fatal.  Therefore one process decides for all, and none
 * writes through the page cache while another one writes directly.  The same
 * holds if pages of the kernel are larger than blocks (skx_blkio_new_choose).
 */
int
skx_blkio_new_agree(Relation rel)
{
	skx_blkio_new_extend(rel, 1);
	return (int) skx_blkio_new_choose(rel, 0);
}

void
skx_blkio_new_agreed_on(Relation rel, int way)
{
	skx_blkio_new_agreed = SKX_REL_LOCATOR(rel);
	skx_blkio_new_agreed_way = way;
}

static SkxBlkNewWay
skx_blkio_new_way(Relation rel, BlockNumber block)
{
	if (skx_blkio_new_agreed_way < 0 ||
		!SKX_LOCATOR_EQUALS(skx_blkio_new_agreed, SKX_REL_LOCATOR(rel)))
		return skx_blkio_new_choose(rel, block);
	if (skx_blkio_new_agreed_way == SKX_BLK_NEW_RING && !skx_blkio_ring_ready())
		return SKX_BLK_NEW_DIRECT;
	return (SkxBlkNewWay) skx_blkio_new_agreed_way;
}

/* Writes a page by the server's storage manager. */
static void
skx_blkio_new_page(SMgrRelation smgr, BlockNumber block, char *page)
{
	char		memory[BLCKSZ + SKX_IO_ALIGN];

	if (SKX_COMPAT_ALIGN_WRITES() &&
		page != (char *) TYPEALIGN(SKX_IO_ALIGN, page))
	{
		char	   *aligned = (char *) TYPEALIGN(SKX_IO_ALIGN, memory);

		memcpy(aligned, page, BLCKSZ);
		page = aligned;
	}
	smgrwrite(smgr, MAIN_FORKNUM, block, page, true);
}

static void
skx_blkio_new_server(Relation rel, SkxBlkTransfer *transfer)
{
	for (int i = 0; i < transfer->npages; i++)
		skx_blkio_new_page(RelationGetSmgr(rel), transfer->block + i,
						   (char *) transfer->iov->iov_base +
						   (Size) i * BLCKSZ);
	transfer->done = transfer->iov->iov_len;
}

/*
 * Completes the write of a transfer of which nothing is under way.  What
 * io_uring did not write, for lack of resources at that moment, is written
 * here.  If the file system refuses direct writes, the page cache is used from
 * here on.  This is not done after a failure of the device: the page cache
 * would notice the failure only at the sync, where it is fatal.
 */
static void
skx_blkio_new_settle(Relation rel, SkxBlkNew *new, SkxBlkTransfer *transfer)
{
	size_t		want = transfer->iov->iov_len;

	if (transfer->error == EINTR || transfer->error == EAGAIN ||
		transfer->error == ENOMEM || transfer->error == ECANCELED)
		transfer->error = 0;
	while (transfer->done < want)
	{
		if (transfer->error == EINVAL || transfer->error == EOPNOTSUPP)
			new->way = new->way < SKX_BLK_NEW_CACHED ? SKX_BLK_NEW_CACHED :
				SKX_BLK_NEW_SERVER;
		else if (transfer->error != 0)
			skx_blkio_write_failed(rel, transfer);
		if (new->way == SKX_BLK_NEW_SERVER)
			skx_blkio_new_server(rel, transfer);
		else
			skx_blkio_write(rel, transfer,
							new->way < SKX_BLK_NEW_CACHED);
	}
}

/* Hands a transfer to the kernel if io_uring is used. */
static void
skx_blkio_new_start(Relation rel, SkxBlkNew *new, SkxBlkTransfer *transfer)
{
	int			fd;

	transfer->load = NULL;
	transfer->ended = NULL;
	transfer->done = 0;
	transfer->error = 0;
	if (new->way != SKX_BLK_NEW_RING)
		return;
	fd = skx_blkio_fd_wait(rel, transfer->block,
						   SKX_BLK_FD_WRITE | SKX_BLK_FD_DIRECT,
						   &transfer->handle);
	if (fd < 0)
	{
		/*
		 * a process of a group must not change its way for lack of
		 * descriptors
		 */
		transfer->error = skx_blkio_new_agreed_way < 0 ? EINVAL : errno;
		return;
	}
	skx_blkio_ring_add(transfer, fd);
	skx_blkio_ring_submit();
}

/*
 * Batches
 */

/*
 * Replaces the block in shared buffers if it is there.  A process that read
 * the block before its write has a buffer for it, even if the read is still
 * under way; skx_blkio_install waits for that read.  The buffer stays clean,
 * since the file has the same contents.
 */
static void
skx_blkio_new_refresh(Relation rel, BlockNumber block, const char *page)
{
	if (skx_blkio_resident(rel, block))
		skx_blkio_install(rel, block, page, false);
}

static void
skx_blkio_new_log(Relation rel, SkxBlkNewBatch *batch)
{
	BlockNumber blocks[SKX_BLK_NEW_PAGES];
	int			npages = batch->transfer.npages;

	for (int i = 0; i < npages; i++)
		blocks[i] = batch->transfer.block + i;
	log_newpages(&SKX_REL_LOCATOR(rel), MAIN_FORKNUM, npages, blocks,
				 (Page *) batch->pages, true);
	batch->lsn = PageGetLSN((Page) batch->pages[0]);
	SKX_FAULT(SKX_FAULT_NEW_LOGGED);
}

/*
 * Completes a batch of which nothing is under way.  It is logged again if a
 * checkpoint has begun since it was logged.  Replay of that checkpoint skips
 * the first record, and a base backup that begins with it may have copied the
 * file before the write.
 */
static void
skx_blkio_new_written(Relation rel, SkxBlkNew *new, SkxBlkNewBatch *batch)
{
	SkxBlkTransfer *transfer = &batch->transfer;

	skx_blkio_new_settle(rel, new, transfer);
	for (int i = 0; i < transfer->npages; i++)
		skx_blkio_new_refresh(rel, transfer->block + i, batch->pages[i]);
	if (!XLogRecPtrIsInvalid(batch->lsn) && GetRedoRecPtr() >= batch->lsn)
		skx_blkio_new_log(rel, batch);
	batch->state = SKX_BLK_NEW_FREE;
}

static void
skx_blkio_new_send(Relation rel, SkxBlkNew *new, SkxBlkNewBatch *batch)
{
	SkxBlkTransfer *transfer = &batch->transfer;

	CHECK_FOR_INTERRUPTS();

	/* evaluated each time, since it may depend on more than wal_level */
	batch->lsn = InvalidXLogRecPtr;
	if (RelationNeedsWAL(rel))
		skx_blkio_new_log(rel, batch);

	/* The checksum covers the LSN, which logging has set. */
	for (int i = 0; i < transfer->npages; i++)
		skx_compat_page_checksum((Page) batch->pages[i], transfer->block + i);
	batch->iov.iov_base = batch->pages[0];
	batch->iov.iov_len = (size_t) transfer->npages * BLCKSZ;
	transfer->iov = &batch->iov;
	transfer->niov = 1;
	batch->state = SKX_BLK_NEW_SENT;
	batch->used = ++new->clock;
	skx_blkio_new_start(rel, new, transfer);
	SKX_FAULT(SKX_FAULT_NEW_SENT);
	if (!transfer->writing)
		skx_blkio_new_written(rel, new, batch);
}

/*
 * Completes the batches whose writes have ended.  With `wait` it waits until
 * there is one, if any batch has been sent.
 */
static void
skx_blkio_new_reap(Relation rel, SkxBlkNew *new, bool wait)
{
	bool		any = false;

	(void) skx_blkio_ring_reap(false);
	for (;;)
	{
		bool		sent = false;

		for (int i = 0; i < SKX_BLK_NEW_BATCHES; i++)
		{
			SkxBlkNewBatch *batch = &new->batches[i];

			if (batch->state != SKX_BLK_NEW_SENT)
				continue;
			sent = true;
			if (batch->transfer.writing)
				continue;
			skx_blkio_new_written(rel, new, batch);
			any = true;
		}
		if (any || !wait || !sent)
			return;
		CHECK_FOR_INTERRUPTS();
		(void) skx_blkio_ring_reap(true);
	}
}

/*
 * Sends the batch whose last page is the oldest, if more than `most` batches
 * gather pages; else returns false.
 */
static bool
skx_blkio_new_send_oldest(Relation rel, SkxBlkNew *new, int most)
{
	SkxBlkNewBatch *oldest = NULL;
	int			n = 0;

	for (int i = 0; i < SKX_BLK_NEW_BATCHES; i++)
	{
		SkxBlkNewBatch *batch = &new->batches[i];

		if (batch->state != SKX_BLK_NEW_GATHERING)
			continue;
		n++;
		if (oldest == NULL || batch->used < oldest->used)
			oldest = batch;
	}
	if (n <= most)
		return false;
	skx_blkio_new_send(rel, new, oldest);
	return true;
}

/* Sends all batches and waits until they are written. */
static void
skx_blkio_new_drain(Relation rel, SkxBlkNew *new)
{
	while (skx_blkio_new_send_oldest(rel, new, 0))
		skx_blkio_new_reap(rel, new, false);
	for (int i = 0; i < SKX_BLK_NEW_BATCHES; i++)
	{
		while (new->batches[i].state == SKX_BLK_NEW_SENT)
			skx_blkio_new_reap(rel, new, true);
	}
}

/*
 * Returns the batch for a page of this block: one that ends just before it, or
 * an empty one.  No batch continues in another segment file, since
 * skx_blkio_new_write sends it at the end of a file.
 */
static SkxBlkNewBatch *
skx_blkio_new_batch(Relation rel, SkxBlkNew *new, BlockNumber block)
{
	for (int i = 0; i < SKX_BLK_NEW_BATCHES; i++)
	{
		SkxBlkNewBatch *batch = &new->batches[i];

		if (batch->state == SKX_BLK_NEW_GATHERING &&
			batch->transfer.block + batch->transfer.npages == block)
			return batch;
	}
	(void) skx_blkio_new_send_oldest(rel, new, SKX_BLK_NEW_GATHER - 1);
	skx_blkio_new_reap(rel, new, false);
	for (;;)
	{
		for (int i = 0; i < SKX_BLK_NEW_BATCHES; i++)
		{
			SkxBlkNewBatch *batch = &new->batches[i];

			if (batch->state != SKX_BLK_NEW_FREE)
				continue;
			batch->state = SKX_BLK_NEW_GATHERING;
			batch->transfer.block = block;
			batch->transfer.npages = 0;
			return batch;
		}
		skx_blkio_new_reap(rel, new, true);
	}
}

/* Returns true if one of these blocks is in a batch. */
static bool
skx_blkio_new_has(const SkxBlkNew *new, BlockNumber block, int npages)
{
	for (int i = 0; i < SKX_BLK_NEW_BATCHES; i++)
	{
		const SkxBlkNewBatch *batch = &new->batches[i];
		const SkxBlkTransfer *transfer = &batch->transfer;

		if (batch->state != SKX_BLK_NEW_FREE &&
			block < transfer->block + transfer->npages &&
			transfer->block < block + npages)
			return true;
	}
	return false;
}

/*
 * Life of a writer
 */

/* Waits for writes under way and frees the writer with all its pages. */
static void
skx_blkio_new_abandon(SkxBlkNew *new)
{
	SkxBlkNew **link = &skx_blkio_news;

	for (int i = 0; i < SKX_BLK_NEW_BATCHES; i++)
	{
		while (new->batches[i].transfer.writing)
			(void) skx_blkio_ring_reap(true);
	}
	while (*link != new)
		link = &(*link)->next;
	*link = new->next;
	pfree(new);
}

/*
 * Frees the writers of an owner that ends.  At the commit of a subtransaction
 * its writers go to the parent.
 */
static void
skx_blkio_new_owner_ends(ResourceReleasePhase phase, bool commit,
						 bool top_level, void *arg)
{
	SkxBlkNew  *next;

	if (phase != RESOURCE_RELEASE_BEFORE_LOCKS)
		return;
	for (SkxBlkNew *new = skx_blkio_news; new != NULL; new = next)
	{
		ResourceOwner parent;

		next = new->next;
		if (new->owner != CurrentResourceOwner)
			continue;
		parent = ResourceOwnerGetParent(new->owner);
		if (commit && parent != NULL)
			new->owner = parent;
		else
			skx_blkio_new_abandon(new);
	}
}

static void
skx_blkio_new_commits(XactEvent event, void *arg)
{
	if (skx_blkio_news != NULL &&
		(event == XACT_EVENT_PRE_COMMIT ||
		 event == XACT_EVENT_PARALLEL_PRE_COMMIT ||
		 event == XACT_EVENT_PRE_PREPARE))
		elog(ERROR, "pages of a new skipidx index have not been written");
}

static SkxBlkNew *
skx_blkio_new_find(Relation rel)
{
	SkxBlkNew  *new = skx_blkio_news;

	while (new != NULL &&
		   !SKX_LOCATOR_EQUALS(new->locator, SKX_REL_LOCATOR(rel)))
		new = new->next;
	return new;
}

/* Makes a writer; `block` is the first block that it writes. */
static SkxBlkNew *
skx_blkio_new_begin(Relation rel, BlockNumber block)
{
	SkxBlkNewWay way = skx_blkio_new_way(rel, block);
	Size		bytes = SKX_BLK_NEW_BATCHES * SKX_BLK_NEW_PAGES * BLCKSZ;
	SkxBlkNew  *new;
	char	   *page;

	if (!skx_blkio_new_registered)
	{
		RegisterResourceReleaseCallback(skx_blkio_new_owner_ends, NULL);
		RegisterXactCallback(skx_blkio_new_commits, NULL);
		skx_blkio_new_registered = true;
	}
	new = MemoryContextAlloc(TopMemoryContext,
							 offsetof(SkxBlkNew, memory) + bytes +
							 SKX_IO_ALIGN);
	memset(new, 0, offsetof(SkxBlkNew, memory));
	new->locator = SKX_REL_LOCATOR(rel);
	new->owner = CurrentResourceOwner;
	new->way = way;
	page = (char *) TYPEALIGN(SKX_IO_ALIGN, new->memory);
	for (int i = 0; i < SKX_BLK_NEW_BATCHES; i++)
	{
		for (int k = 0; k < SKX_BLK_NEW_PAGES; k++, page += BLCKSZ)
			new->batches[i].pages[k] = page;
	}
	new->next = skx_blkio_news;
	skx_blkio_news = new;
	skx_blkio_fd_recheck();
	return new;
}

/*
 * Writes pages of a temporary relation, which is private to its session and
 * not logged.
 */
static void
skx_blkio_new_local(Relation rel, BlockNumber block, char **pages, int npages)
{
	for (int i = 0; i < npages; i++)
	{
		CHECK_FOR_INTERRUPTS();
		skx_compat_page_checksum((Page) pages[i], block + i);
		skx_blkio_new_page(RelationGetSmgr(rel), block + i, pages[i]);
	}
}

void
skx_blkio_new_write(Relation rel, BlockNumber block, char **pages, int npages)
{
	SkxBlkNew  *new;

	if (RelationUsesLocalBuffers(rel))
	{
		skx_blkio_new_local(rel, block, pages, npages);
		return;
	}
	new = skx_blkio_new_find(rel);
	if (new == NULL)
		new = skx_blkio_new_begin(rel, block);

	/* two writes of one block must not be under way at the same time */
	if (skx_blkio_new_has(new, block, npages))
		skx_blkio_new_drain(rel, new);
	for (int i = 0; i < npages; i++, block++)
	{
		SkxBlkNewBatch *batch = skx_blkio_new_batch(rel, new, block);

		memcpy(batch->pages[batch->transfer.npages], pages[i], BLCKSZ);
		batch->transfer.npages++;
		batch->used = ++new->clock;
		if (batch->transfer.npages == SKX_BLK_NEW_PAGES ||
			(block + 1) % RELSEG_SIZE == 0)
			skx_blkio_new_send(rel, new, batch);
	}
}

void
skx_blkio_new_finish(Relation rel)
{
	SkxBlkNew  *new = skx_blkio_new_find(rel);

	if (new == NULL)
		return;
	skx_blkio_new_drain(rel, new);
	skx_blkio_new_abandon(new);
}

/*
 * A write that was under way may have stopped in the middle of a page as well
 * as one that has failed, so both are repaired.
 */
void
skx_blkio_new_failed(Relation rel, MemoryContext context)
{
	ErrorData  *error = skx_blkio_mend_begin(context);
	SkxBlkNew  *new = skx_blkio_new_find(rel);
	bool		goes_on = true;

	for (int i = 0; new != NULL && i < SKX_BLK_NEW_BATCHES; i++)
	{
		SkxBlkNewBatch *batch = &new->batches[i];
		SkxBlkTransfer *transfer = &batch->transfer;

		while (transfer->writing)
			(void) skx_blkio_ring_reap(true);
		if (goes_on && batch->state == SKX_BLK_NEW_SENT &&
			transfer->done < transfer->iov->iov_len)
			goes_on = skx_blkio_mend(rel, transfer->block, batch->pages,
									 transfer->npages,
									 new->way < SKX_BLK_NEW_CACHED);
	}
	skx_blkio_mend_end(error);
}

void
skx_blkio_new_sync(Relation rel)
{
	SMgrRelation smgr;
	int			error;

	skx_blkio_new_finish(rel);
	skx_blkio_new_agreed_way = -1;
	smgr = RelationGetSmgr(rel);
	error = skx_compat_fill(smgr, smgrnblocks(smgr, MAIN_FORKNUM));
	if (error != 0)
		skx_blkio_no_space(rel, error, ERROR);

	/* temporary files need not survive a crash */
	if (RelationUsesLocalBuffers(rel))
		return;
	smgrimmedsync(RelationGetSmgr(rel), MAIN_FORKNUM);
}
