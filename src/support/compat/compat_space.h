/*
 * compat_space.h
 *	  How files get longer, and their blocks space on disk; see compat.h.
 */
#ifndef SKX_COMPAT_SPACE_H
#define SKX_COMPAT_SPACE_H

#include "storage/block.h"
#include "storage/smgr.h"

/*
 * Makes the main fork `to` blocks long; blocks from `from`, its present
 * length, read as zeros.  Before 16 the new blocks have no space yet, so that
 * a full disk shows when they are written, or when skx_compat_fill() gives it
 * to all blocks of the file that are not written.
 */
extern void skx_compat_extend(SMgrRelation smgr, BlockNumber from,
							  BlockNumber to);

/* Space for all blocks of a file that skx_compat_extend() made; errno or 0. */
extern int	skx_compat_fill(SMgrRelation smgr, BlockNumber nblocks);

/*
 * Space for blocks from the end of the file on; errno or 0, also where the
 * storage manager has no file.  The caller has the lock on the extension of the
 * relation.
 */
extern int	skx_compat_allocate(SMgrRelation smgr, BlockNumber from,
								BlockNumber to);

/*
 * Has the storage manager write zeros to all blocks from the end of the file
 * on, allocated before or not, and the checkpointer sync the files.
 */
extern void skx_compat_reserve(SMgrRelation smgr, BlockNumber from,
							   BlockNumber to);

/*
 * Takes blocks that have just been allocated, and which nothing refers to,
 * from the file again, as far as that can be had.
 */
extern void skx_compat_cut(SMgrRelation smgr, BlockNumber from,
						   BlockNumber to);

/* Is there space for so many blocks more, as far as the file system tells? */
extern bool skx_compat_has_space(SMgrRelation smgr, uint64 nblocks);

#endif							/* SKX_COMPAT_SPACE_H */
