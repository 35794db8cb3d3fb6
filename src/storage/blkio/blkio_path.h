/*
 * blkio_path.h
 *	  Which files can be read and written past the server (blkio_path.c).
 */
#ifndef SKX_BLKIO_PATH_H
#define SKX_BLKIO_PATH_H

#include "port/atomics.h"
#include "storage/block.h"
#include "utils/relcache.h"

/*
 * Whether a file holds pages as the storage manager was given them.  Only a
 * file for which this is proven is read or written past the server.
 */
typedef enum SkxBlkPath
{
	SKX_BLK_PATH_UNKNOWN,		/* the file could not be compared */
	SKX_BLK_PATH_PROVEN,		/* the file holds pages as they are */
	SKX_BLK_PATH_REFUSED		/* the file has other contents */
} SkxBlkPath;

/* What is known of a file. */
typedef struct SkxBlkPathEntry
{
	pg_atomic_uint64 answer;	/* hash of the file, and the answer; or 0 */
	pg_atomic_uint64 incarnation;	/* of its index */
	pg_atomic_uint64 index;		/* OIDs of database (high half) and index */
} SkxBlkPathEntry;

/* Makes an empty table of n entries. */
extern void skx_blkio_paths_format(SkxBlkPathEntry *table, int n);

/*
 * Returns whether the file of an index in use holds pages as they are, by a
 * comparison of the metapage with the file.  The result, if known, is kept
 * for later calls.  To compare, it locks the metapage's buffer shared and
 * writes it out.  Compares nothing, and does not know, while the caller holds a
 * buffer lock.
 */
extern SkxBlkPath skx_blkio_path_is_readable(Relation rel, uint64 incarnation);

/*
 * Returns true if skx_blkio_path_is_readable or skx_blkio_path_begin_file has
 * found that the file holds pages as they are.  Compares nothing.
 */
extern bool skx_blkio_path_is_proven(Relation rel, uint64 incarnation);

/*
 * Has the storage manager write the first block of a new index, an empty page,
 * and compares it with the file, for later calls of skx_blkio_path_is_readable
 * and skx_blkio_path_is_proven.  The caller holds the lock on the extension of
 * the relation, whose main fork is empty.
 */
extern void skx_blkio_path_begin_file(Relation rel, uint64 incarnation);

/*
 * Takes note that a page of this file, at `block`, is sound only if the server
 * reads it.  The file counts as one with other contents then.  The first call
 * warns.
 */
extern void skx_blkio_path_refuse(Relation rel, uint64 incarnation,
								  BlockNumber block);

#endif							/* SKX_BLKIO_PATH_H */
