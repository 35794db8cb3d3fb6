/*
 * maint_shrink.c
 *	  Gives free pages at the end of an index back to the file system.
 *
 * What is in the way moves first: segments by merges (maint_merge.c), and
 * stripes without pending documents here.  All of it takes some ms, under a
 * lock that keeps all other processes out.  So it is done only while no other
 * process uses the index, and only for an amount that is worth it.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "executor/instrument.h"
#include "index/pending/pending.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "support/compat/compat.h"
#include "support/throttle/throttle.h"
#include "write/maint/maint_internal.h"
#include "write/maint/maint_policy.h"

/*
 * Least number of pages by which the file must become shorter to be worth it,
 * and least part of the file.
 */
#define SKX_SHRINK_PAGES_MIN	128
#define SKX_SHRINK_FILE_FRACTION		16

/*
 * Segments move if at least SKX_MOVE_PAGES_MIN pages are free, besides those
 * of the pool, and more than a third of the file is free
 * (SKX_MOVE_FILE_FRACTION).  To write a small file anew costs little, so there
 * more than a fifth suffices (SKX_MOVE_SMALL_FRACTION).
 *
 * If a small file has several segments, more than an eighth and
 * SKX_MOVE_MANY_PAGES_MIN pages suffice, because several segments take more
 * space than one with the same documents.
 */
#define SKX_MOVE_PAGES_MIN		192
#define SKX_MOVE_FILE_FRACTION		3
#define SKX_MOVE_SMALL_FRACTION	5
#define SKX_MOVE_MANY_PAGES_MIN	128
#define SKX_MOVE_MANY_FRACTION	8

/* Time between two looks for other processes, in ms. */
#define SKX_SHRINK_SLEEP_MS		5

/*
 * Looks in turn at which no other process may use the index before something
 * that takes long.  Searches one after the other leave gaps, but not as many
 * as these.
 */
#define SKX_SHRINK_CHECKS	8

/*
 * Wait for VACUUM, as a multiple of that for other processes.  A VACUUM that
 * has asked for the work holds the index until all other indexes of the table
 * are done.
 */
#define SKX_SHRINK_VACUUM_FACTOR	60

/*
 * Returns where the file could end if stripes moved.  Sets newest[i] to the
 * first block of the newest extent of stripe i if that stripe must move: its
 * new extent has to start before this block.  Sets it to 0 if it need not
 * move.
 */
static BlockNumber
skx_maint_shrink_end(Relation index, const SkxView *view, BlockNumber *newest)
{
	SkxDiskExtent *also = palloc(sizeof(SkxDiskExtent));
	BlockNumber end;
	int			nalso = 0;
	int			i;

	for (i = 0; i < view->nstripes; i++)
	{
		SkxDiskExtent *extents;
		int			n = skx_pending_extents(index, view, i, &extents);

		newest[i] = n > 0 ? extents[0].block : 0;
		if (n == 0)
			continue;
		also = repalloc(also, (nalso + n) * sizeof(SkxDiskExtent));
		memcpy(also + nalso, extents, n * sizeof(SkxDiskExtent));
		nalso += n;
		pfree(extents);
	}
	end = skx_manifest_used_end(view, also, nalso);
	for (i = 0; i < view->nstripes; i++)
	{
		if (newest[i] < end)
			newest[i] = 0;
	}
	pfree(also);
	return end;
}

static BlockNumber
skx_maint_shrink_min_pages(BlockNumber nblocks)
{
	return Max(SKX_SHRINK_PAGES_MIN, nblocks / SKX_SHRINK_FILE_FRACTION);
}

/*
 * Returns true if it is worth it to cut the file off at block `end`.  Pages
 * that the pool keeps do not count.  Pages behind the allocated part do: a
 * shrink that was cut short has left them.
 */
static bool
skx_maint_shrink_is_worthwhile(Relation index, const SkxView *view,
							   BlockNumber end)
{
	BlockNumber nblocks = Max(RelationGetNumberOfBlocks(index),
							  view->meta.nblocks);

	return nblocks - end >= skx_maint_shrink_min_pages(nblocks) +
		skx_manifest_pool_pages(view, end);
}

/* Moves stripes and makes the file shorter.  The caller holds all locks. */
static void
skx_maint_shrink_locked(Relation index)
{
	SkxView    *view = skx_manifest_view_unlisted(index);
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);
	uint64		logged = pgWalUsage.wal_bytes;
	int			nstripes = view->nstripes;
	BlockNumber *newest = palloc(nstripes * sizeof(BlockNumber));
	int			i;

	skx_maint_shrink_end(index, view, newest);
	for (i = 0; i < nstripes; i++)
	{
		if (newest[i] == 0 || !skx_pending_move(index, view, i, newest[i]))
			continue;
		pfree(view);
		view = skx_manifest_view_unlisted(index);
	}
	if (skx_maint_shrink_is_worthwhile(index, view,
									   skx_manifest_used_end(view, NULL, 0)))
		(void) skx_manifest_shrink(index);
	ereport(DEBUG1,
			(errmsg_internal("index \"%s\" has given back %u of %u pages, with " UINT64_FORMAT " bytes of WAL",
							 RelationGetRelationName(index),
							 nblocks - RelationGetNumberOfBlocks(index),
							 nblocks,
							 pgWalUsage.wal_bytes - logged)));
	pfree(view);
	pfree(newest);
}

bool
skx_maint_may_truncate(Relation index)
{
	Relation	heap = skx_compat_index_heap(index);
	bool		truncates = skx_compat_may_truncate(heap);

	RelationClose(heap);
	return truncates;
}

bool
skx_maint_segments_should_move(Relation index, const SkxView *view)
{
	BlockNumber nblocks = view->meta.nblocks;
	uint64		free = skx_manifest_excess_free(view);
	uint64		pooled = skx_manifest_pool_pages(view, nblocks);
	uint64		least = SKX_MOVE_PAGES_MIN;
	int			part = SKX_MOVE_FILE_FRACTION;

	if (nblocks <= SKX_MOVE_SMALL_FILE_PAGES && view->nsegments > 1)
	{
		least = SKX_MOVE_MANY_PAGES_MIN;
		part = SKX_MOVE_MANY_FRACTION;
	}
	else if (nblocks <= SKX_MOVE_SMALL_FILE_PAGES)
		part = SKX_MOVE_SMALL_FRACTION;
	return free >= least + pooled && (free - pooled) * part > nblocks &&
		skx_maint_may_truncate(index);
}

bool
skx_maint_shrink_wanted(Relation index)
{
	SkxView    *view;
	BlockNumber *newest;
	BlockNumber end;
	bool		wanted;

	if (!skx_maint_may_truncate(index))
		return false;
	view = skx_maint_view(index, SKX_WAIT_ALL);
	newest = palloc(view->nstripes * sizeof(BlockNumber));
	/* the pages of the stripes' lists are read under the lock only */
	LockPage(index, SKX_META_BLOCK, ShareLock);
	pfree(view);
	view = skx_manifest_view_unlisted(index);
	end = skx_maint_shrink_end(index, view, newest);
	UnlockPage(index, SKX_META_BLOCK, ShareLock);
	wanted = skx_maint_shrink_is_worthwhile(index, view, end);
	pfree(newest);
	pfree(view);
	return wanted;
}

bool
skx_maint_shrink_is_due(Relation index)
{
	SkxView    *view;
	bool		due;

	if (!skx_maint_may_truncate(index))
		return false;
	view = skx_maint_view(index, SKX_WAIT_ALL);
	due = view->noperations > 0 || skx_maint_segments_should_move(index, view);
	pfree(view);
	return due || skx_maint_shrink_wanted(index);
}

static bool
skx_maint_shrink_only_vacuum(int pid)
{
	return false;
}

/*
 * Takes the exclusive lock on the index if it is free.  The attempt itself
 * assigns a transaction id, which holds VACUUM back while the process waits.
 * So it is made only if no other process is in the way.
 */
static bool
skx_maint_shrink_lock(Relation index)
{
	return !skx_compat_others_hold_lock(index, true,
										skx_maint_shrink_only_vacuum) &&
		ConditionalLockRelation(index, AccessExclusiveLock);
}

void
skx_maint_wait_budget(SkxMaintWaitBudget *patience, int ms)
{
	patience->others_ms = ms;
	patience->vacuum_ms = ms * SKX_SHRINK_VACUUM_FACTOR;
}

/*
 * Waits between two looks, and takes the time off the patience.  Returns false
 * if the patience has ended.
 */
static bool
skx_maint_shrink_wait(Relation index, SkxMaintWaitBudget *patience, int ms)
{
	skx_throttle_point();
	if (patience->others_ms <= 0 || patience->vacuum_ms <= 0 ||
		(patience->wakeup != NULL && patience->wakeup()))
		return false;
	pg_usleep(ms * 1000);
	if (skx_compat_others_hold_lock(index, false,
									skx_maint_shrink_only_vacuum) ||
		!skx_compat_others_hold_lock(index, true,
									 skx_maint_shrink_only_vacuum))
		patience->others_ms -= ms;
	else
		patience->vacuum_ms -= ms;
	return true;
}

bool
skx_maint_index_is_unused(Relation index)
{
	return !skx_compat_others_hold_lock(index, false,
										skx_maint_shrink_only_vacuum);
}

bool
skx_maint_index_stays_unused(Relation index)
{
	int			looks = SKX_SHRINK_CHECKS;

	while (skx_maint_index_is_unused(index) && --looks > 0)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(SKX_SHRINK_SLEEP_MS * 1000);
	}
	return looks == 0;
}

bool
skx_maint_wait_unused(Relation index, SkxMaintWaitBudget *patience)
{
	while (!skx_maint_index_is_unused(index))
	{
		if (!skx_maint_shrink_wait(index, patience, SKX_SHRINK_SLEEP_MS))
			return false;
	}
	return true;
}

/*
 * Lets all free pages be overwritten, if no other process uses the index.
 * Returns false if another process does, or nothing has changed.
 */
static bool
skx_maint_shrink_release(Relation index)
{
	bool		done = false;

	if (!skx_maint_shrink_lock(index))
		return false;
	if (skx_manifest_lock(index, false))
	{
		done = skx_manifest_release_free(index);
		skx_manifest_unlock(index);
	}
	UnlockRelation(index, AccessExclusiveLock);
	return done;
}

/*
 * Called if too little is free at the end of the file.  Segments from there
 * may have to move into free pages that may not be overwritten yet.  Then the
 * caller merges again after a while, and the result is SKX_STEP_BUSY.
 *
 * If no transaction has begun since the pages were freed, this process begins
 * one.  If an old transaction holds the pages back that does not use the
 * index, they need not wait for it.
 */
static SkxMaintStep
skx_maint_shrink_try_moves(Relation index, SkxMaintWaitBudget *patience)
{
	SkxView    *view = skx_maint_view(index, SKX_WAIT_ALL);
	uint64		worth = skx_maint_shrink_min_pages(view->meta.nblocks);
	SkxManifestWaiting awaited = {0};

	if (skx_maint_segments_should_move(index, view))
		skx_manifest_waiting_free(index, view, &awaited);
	if (awaited.npages < worth)
		ereport(DEBUG1,
				(errmsg_internal("index \"%s\" has %u pages, " UINT64_FORMAT " of them free: too few at its end, and no segment moves",
								 RelationGetRelationName(index),
								 view->meta.nblocks,
								 skx_manifest_excess_free(view))));
	pfree(view);
	if (awaited.npages < worth)
		return SKX_STEP_NONE;
	if (awaited.by_horizon < awaited.npages)
		return SKX_STEP_BUSY;
	if (awaited.newest_xid >=
		U64FromFullTransactionId(ReadNextFullTransactionId()))
		(void) GetTopTransactionId();
	else if (!skx_maint_shrink_release(index) &&
			 !skx_maint_shrink_wait(index, patience, SKX_THROTTLE_CHECK_MS))
		return SKX_STEP_NONE;
	return SKX_STEP_BUSY;
}

SkxMaintStep
skx_maint_shrink(Relation index, SkxMaintWaitBudget *patience)
{
	Assert(!IsInParallelMode());
	if (!skx_maint_shrink_wanted(index))
		return patience->caller_merges ? skx_maint_shrink_try_moves(index,
																	patience) :
			SKX_STEP_NONE;
	while (!skx_maint_shrink_lock(index))
	{
		if (!skx_maint_shrink_wait(index, patience, SKX_SHRINK_SLEEP_MS))
			return SKX_STEP_BUSY;
	}
	if (skx_manifest_lock(index, false))
	{
		skx_maint_shrink_locked(index);
		skx_manifest_unlock(index);
	}
	UnlockRelation(index, AccessExclusiveLock);
	return SKX_STEP_DONE;
}
