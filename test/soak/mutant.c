/*
 * mutant.c
 *	  Steps of the write protocols left out, to show that `make soak` sees it.
 *
 * Linked with the objects of skipidx, whose calls of these functions the linker
 * leads here (--wrap).  So nothing of this is in the library that is installed,
 * and the code under test is otherwise the same.  $SKX_MUTANT says which step:
 *
 *	nolog		pages of segments made while the index is in use are not logged
 *	noflush		their log is not flushed before they are written
 *	nosync		the checkpointer is not asked to sync them
 *	nodelay		checkpoints are not held off meanwhile
 *	late		they are logged when the segment has been published
 *	nosyncnew	the file of a new index is not synced before the commit
 *	none		nothing is left out
 *
 * Where a mutant opens a window of time, it stays open for a while.  A checkpoint
 * that writes another page of the file, or that comes after its creation, syncs
 * all of it: so the mutants that leave out a sync give time for one before they
 * write, and for the one that does harm after.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "storage/blkio/blkio.h"
#include "support/compat/compat.h"
#include "index/manifest/manifest.h"
#include "index/manifest/manifest_publish.h"
#include "storage/proc.h"
#include "storage/smgr.h"
#include "utils/memutils.h"

#define MUTANT_WINDOW	400000	/* us */

extern __typeof__(log_newpages) __real_log_newpages;
extern __typeof__(log_newpages) __wrap_log_newpages;
extern __typeof__(XLogFlush) __real_XLogFlush;
extern __typeof__(XLogFlush) __wrap_XLogFlush;
extern __typeof__(smgrimmedsync) __real_smgrimmedsync;
extern __typeof__(smgrimmedsync) __wrap_smgrimmedsync;
extern __typeof__(skx_blkio_writer_begin) __real_skx_blkio_writer_begin;
extern __typeof__(skx_blkio_writer_begin) __wrap_skx_blkio_writer_begin;
extern __typeof__(skx_compat_request_sync) __wrap_skx_compat_request_sync;
extern __typeof__(skx_compat_request_sync) __real_skx_compat_request_sync;
extern __typeof__(skx_manifest_publish) __real_skx_manifest_publish;
extern __typeof__(skx_manifest_publish) __wrap_skx_manifest_publish;

/* What `late` has not logged yet. */
typedef struct MutantBatch
{
	struct MutantBatch *next;
	SkxLocator	locator;
	int			npages;
	BlockNumber blocks[XLR_MAX_BLOCK_ID * 8];
	Page		pages[XLR_MAX_BLOCK_ID * 8];
} MutantBatch;

static MutantBatch *mutant_batches;

/* nosyncnew: a new index has been begun. */
static bool mutant_building;

static bool
mutant_is(const char *name)
{
	const char *mutant = getenv("SKX_MUTANT");

	return mutant != NULL && strcmp(mutant, name) == 0;
}

/* In the middle of a batch of an index in use? */
static bool
mutant_live(void)
{
	return (MyProc->delayChkptFlags & DELAY_CHKPT_START) != 0;
}

static void
mutant_keep(SkxLocator locator, int npages, BlockNumber *blocks, Page *pages)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	MutantBatch *batch = palloc(sizeof(MutantBatch));

	batch->next = mutant_batches;
	batch->locator = locator;
	batch->npages = npages;
	for (int i = 0; i < npages; i++)
	{
		batch->blocks[i] = blocks[i];
		batch->pages[i] = palloc(BLCKSZ);
		memcpy(batch->pages[i], pages[i], BLCKSZ);
	}
	mutant_batches = batch;
	MemoryContextSwitchTo(old);
}

void
__wrap_log_newpages(SkxLocator *locator, ForkNumber fork, int npages,
					BlockNumber *blocks, Page *pages, bool page_std)
{
	if (mutant_live() && mutant_is("nolog"))
		return;
	if (mutant_live() && mutant_is("late"))
	{
		mutant_keep(*locator, npages, blocks, pages);
		return;
	}
	if (!mutant_live() && mutant_is("nosyncnew") && !mutant_building)
	{
		mutant_building = true;
		pg_usleep(MUTANT_WINDOW);
	}
	__real_log_newpages(locator, fork, npages, blocks, pages, page_std);
	if (mutant_live() && mutant_is("nodelay"))
	{
		MyProc->delayChkptFlags &= ~DELAY_CHKPT_START;
		pg_usleep(MUTANT_WINDOW);
	}
}

void
__wrap_XLogFlush(XLogRecPtr lsn)
{
	if (!(mutant_live() && mutant_is("noflush")))
		__real_XLogFlush(lsn);
}

#if PG_VERSION_NUM >= 170000
extern __typeof__(smgrwritev) __real_smgrwritev;
extern __typeof__(smgrwritev) __wrap_smgrwritev;

void
__wrap_smgrwritev(SMgrRelation smgr, ForkNumber fork, BlockNumber block,
				  const void **pages, BlockNumber npages, bool skip_sync)
{
	__real_smgrwritev(smgr, fork, block, pages, npages,
					  skip_sync || mutant_is("nosync"));
}
#else
extern __typeof__(smgrwrite) __real_smgrwrite;
extern __typeof__(smgrwrite) __wrap_smgrwrite;

#if PG_VERSION_NUM >= 160000
#define MUTANT_PAGE const void *
#else
#define MUTANT_PAGE char *
#endif

void
__wrap_smgrwrite(SMgrRelation smgr, ForkNumber fork, BlockNumber block,
				 MUTANT_PAGE page, bool skip_sync)
{
	__real_smgrwrite(smgr, fork, block, page,
					 skip_sync || mutant_is("nosync"));
}
#endif

void
__wrap_smgrimmedsync(SMgrRelation smgr, ForkNumber fork)
{
	if (!mutant_is("nosyncnew"))
		__real_smgrimmedsync(smgr, fork);
	else
	{
		mutant_building = false;
		pg_usleep(MUTANT_WINDOW);
	}
}

SkxBlkWriter *
__wrap_skx_blkio_writer_begin(Relation rel, uint64 incarnation, uint64 bytes)
{
	if (mutant_is("nosync"))
		pg_usleep(MUTANT_WINDOW);
	return __real_skx_blkio_writer_begin(rel, incarnation, bytes);
}

bool
__wrap_skx_compat_request_sync(SkxLocator locator, BlockNumber block)
{
	return mutant_is("nosync") ||
		__real_skx_compat_request_sync(locator, block);
}

void
__wrap_skx_manifest_publish(SkxOperation *op, const SkxPublish *change)
{
	if (mutant_is("nosync"))
		pg_usleep(MUTANT_WINDOW);
	__real_skx_manifest_publish(op, change);
	if (mutant_batches == NULL)
		return;
	__real_XLogFlush(GetXLogInsertRecPtr());
	pg_usleep(MUTANT_WINDOW);
	while (mutant_batches != NULL)
	{
		MutantBatch *batch = mutant_batches;

		__real_log_newpages(&batch->locator, MAIN_FORKNUM, batch->npages,
							batch->blocks, batch->pages, true);
		mutant_batches = batch->next;
		for (int i = 0; i < batch->npages; i++)
			pfree(batch->pages[i]);
		pfree(batch);
	}
}
