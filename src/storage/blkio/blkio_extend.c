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
#include "storage/blkio/blkio_internal.h"
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
 * Extends the file from `from` to `nblocks` blocks and returns 0, or errno.
 * If there is no space for all blocks the file gets none, since other files
 * may need the rest of the disk.
 */
static int
skx_blkio_extend_by(Relation rel, BlockNumber from, BlockNumber nblocks)
{
	BlockNumber now = from;
	int			error = 0;

	while (now < nblocks && error == 0)
	{
		BlockNumber n = Min(nblocks - now, SKX_BLK_EXTEND_STEP);
		SMgrRelation smgr = RelationGetSmgr(rel);

		error = skx_compat_allocate_space(smgr, now, now + n);
		error = -(int) skx_fault_grow(-error);
		now += n;
		if (error != 0)
			skx_compat_truncate_tail(smgr, from, now);
		else
			skx_compat_write_zeros(smgr, now - n, now);
		CHECK_FOR_INTERRUPTS();
	}
	return error;
}

int
skx_blkio_extend(Relation rel, BlockNumber nblocks, bool spare)
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
		error = skx_blkio_extend_by(rel, now, nblocks);
	if (lock)
		UnlockRelationForExtension(rel, ExclusiveLock);
	if (error != 0 && !spare)
		skx_blkio_no_space(rel, error, ERROR);
	return error;
}

void
skx_blkio_extend_new(Relation rel, BlockNumber nblocks)
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
			skx_compat_write_zeros(RelationGetSmgr(rel), now, nblocks);
		else
			skx_compat_extend(RelationGetSmgr(rel), now, nblocks);
	}
	if (lock)
		UnlockRelationForExtension(rel, ExclusiveLock);
}
