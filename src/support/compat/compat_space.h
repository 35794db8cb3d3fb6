/*
 * compat_space.h
 *	  Extends files and allocates space on disk for their blocks, on servers of
 *	  all versions (see compat.h).
 */
#ifndef SKX_COMPAT_SPACE_H
#define SKX_COMPAT_SPACE_H

#include "storage/block.h"
#include "storage/smgr.h"

/*
 * Makes the main fork `to` blocks long; `from` is its present length.  The
 * new blocks read as zeros.  Before 16 they have no space on disk yet: a full
 * disk shows when they are written, or in skx_compat_allocate_holes().  Raises
 * an error if the file cannot be extended.
 */
extern void skx_compat_extend(SMgrRelation smgr, BlockNumber from,
							  BlockNumber to);

/*
 * Allocates space on disk for the blocks below nblocks of a file that
 * skx_compat_extend() has made, and leaves their contents as they are.
 * Returns 0, or the errno of a failure.
 */
extern int	skx_compat_allocate_holes(SMgrRelation smgr, BlockNumber nblocks);

/*
 * Allocates space on disk for blocks from the end of the file, `from`, up to
 * `to`, which makes it longer.  Returns 0, or the errno of a failure.  Returns
 * 0, too, if the storage manager has no such file.  The caller holds the lock
 * on the extension of the relation.
 */
extern int	skx_compat_allocate_space(SMgrRelation smgr, BlockNumber from,
									  BlockNumber to);

/*
 * Has the storage manager write zeros to all blocks from the end of the file,
 * `from`, up to `to`, whether they are allocated or not.  The checkpointer
 * will sync the files.  Raises an error on failure.
 */
extern void skx_compat_write_zeros(SMgrRelation smgr, BlockNumber from,
								   BlockNumber to);

/*
 * Cuts off blocks at the end of the file that have just been allocated, and
 * that nothing refers to.  Blocks that cannot be cut off stay, without an
 * error.
 */
extern void skx_compat_truncate_tail(SMgrRelation smgr, BlockNumber from,
									 BlockNumber to);

/*
 * Returns false if the file system has less free space than nblocks blocks.
 * Returns true, too, if its free space is not known.
 */
extern bool skx_compat_has_space(SMgrRelation smgr, uint64 nblocks);

#endif							/* SKX_COMPAT_SPACE_H */
