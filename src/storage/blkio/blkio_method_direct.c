/*
 * blkio_method_direct.c
 *	  Reads past the page cache, one transfer after the other.
 *
 * Pages are kept only once, in the module's own cache, and a cold read
 * transfers only the requested pages.  Nothing is read ahead, since preadv
 * waits for its read.
 */
#include "postgres.h"

#include "storage/blkio/blkio_internal.h"

const SkxBlkMethod skx_blkio_method_direct = {
	.number = SKX_BLK_DIRECT,
	.direct = true,
	.read = skx_blkio_pread,
};
