/*
 * blkio_extend.c
 *	  Makes the file of an index longer.
 *
 * The file of an index in use gets space on disk for all new blocks, or none
 * of them.  That of a new index may have holes until it is complete
 * (skx_blkio_new_sync), since it is removed if the build fails.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/blkio/blkio_cache.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "support/compat/compat_space.h"
#include "support/fault/fault.h"

/* Blocks added to the file between two checks for interrupts. */
#define SKX_BLK_EXTEND_STEP		1024

/* Blocks that optional work must leave free on the disk: 1 MB. */
#define SKX_BLK_EXTEND_SPARE	128

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

/*
 * Allocates space for blocks at the end of the file, past the storage manager,
 * which writes zeros to them then.  Returns 0, or errno, with the file as it
 * was at `start`.
 */
static int
skx_blkio_extend_file(Relation rel, BlockNumber start, BlockNumber from,
					  BlockNumber to)
{
	SMgrRelation smgr = RelationGetSmgr(rel);
	int			error = skx_compat_allocate_space(smgr, from, to);

	error = -(int) skx_fault_grow(-error);
	if (error != 0)
		skx_compat_truncate_tail(smgr, start, to);
	else
		skx_compat_write_zeros(smgr, from, to);
	return error;
}

/*
 * Has the storage manager write blocks of zeros at the end of the file.
 * Returns 0, or errno if there is no space for all of them; those that it has
 * written until then are used when the file grows again.
 */
static int
skx_blkio_extend_served(Relation rel, BlockNumber from, BlockNumber to)
{
	MemoryContext context = CurrentMemoryContext;
	uint32		holds = InterruptHoldoffCount;
	volatile int error = -(int) skx_fault_grow(0);

	if (error != 0)
		return error;
	PG_TRY();
	{
		skx_compat_write_zeros(RelationGetSmgr(rel), from, to);
	}
	PG_CATCH();
	{
		ErrorData  *caught = skx_blkio_repair_begin(context);

		error = caught->saved_errno == EDQUOT ? EDQUOT : ENOSPC;
		if (caught->sqlerrcode != ERRCODE_DISK_FULL && error != EDQUOT)
			skx_blkio_repair_end(caught);
		FreeErrorData(caught);
		/* the error has ended those of the caller's locks */
		InterruptHoldoffCount = holds;
	}
	PG_END_TRY();
	return error;
}

/*
 * Extends the file from `from` to `nblocks` blocks and returns 0, or errno.
 * If there is no space for all blocks the file gets none, since other files
 * may need the rest of the disk.  That cannot be kept by a storage manager.
 */
static int
skx_blkio_extend_by(Relation rel, uint64 incarnation, BlockNumber from,
					BlockNumber nblocks)
{
	bool		past = skx_blkio_may_pass(rel, incarnation);
	BlockNumber now = from;
	int			error = 0;

	while (now < nblocks && error == 0)
	{
		BlockNumber n = Min(nblocks - now, SKX_BLK_EXTEND_STEP);

		error = past ? skx_blkio_extend_file(rel, from, now, now + n) :
			skx_blkio_extend_served(rel, now, now + n);
		now += n;
		CHECK_FOR_INTERRUPTS();
	}
	return error;
}

void
skx_blkio_extend_prepare(Relation rel, uint64 incarnation)
{
	(void) skx_blkio_choose(rel, incarnation);
}

int
skx_blkio_extend(Relation rel, uint64 incarnation, BlockNumber nblocks,
				 bool spare)
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
							  (uint64) nblocks - now + SKX_BLK_EXTEND_SPARE))
		error = ENOSPC;
	else if (now < nblocks)
		error = skx_blkio_extend_by(rel, incarnation, now, nblocks);
	if (lock)
		UnlockRelationForExtension(rel, ExclusiveLock);
	if (error != 0 && !spare)
		skx_blkio_no_space(rel, error, ERROR);
	return error;
}

/*
 * Extends the file of a new index by blocks that are not written yet.  Only in
 * a file that holds pages as they are a hole is known to read as zeros.
 */
static void
skx_blkio_extend_new_by(Relation rel, uint64 incarnation, BlockNumber now,
						BlockNumber nblocks)
{
	SMgrRelation smgr = RelationGetSmgr(rel);
	int			error = -(int) skx_fault_grow(0);

	if (error != 0)
		skx_blkio_no_space(rel, error, ERROR);
	if (now == 0 && !RelationUsesLocalBuffers(rel) &&
		skx_blkio_method_in_force() != &skx_blkio_method_bufmgr)
	{
		skx_blkio_path_begin_file(rel, incarnation);
		now = 1;
	}
	if (skx_blkio_may_pass(rel, incarnation))
		skx_compat_extend(smgr, now, nblocks);
	else
		skx_compat_write_zeros(smgr, now, nblocks);
}

void
skx_blkio_extend_new(Relation rel, uint64 incarnation, BlockNumber nblocks)
{
	bool		lock = !RelationUsesLocalBuffers(rel);
	BlockNumber now;

	if (lock)
		LockRelationForExtension(rel, ExclusiveLock);
	now = smgrnblocks(RelationGetSmgr(rel), MAIN_FORKNUM);
	if (now < nblocks)
		skx_blkio_extend_new_by(rel, incarnation, now, nblocks);
	if (lock)
		UnlockRelationForExtension(rel, ExclusiveLock);
}
