/*
 * blkio_method_direct.c
 *	  Reads past the page cache, one after the other.
 *
 * Pages are kept once, in the module's own cache, and a cold read moves only
 * what was asked for.  Nothing is read ahead: preadv waits for what it reads.
 */
#include "postgres.h"

#include "storage/blkio/blkio_internal.h"

const SkxBlkMethod skx_blkio_method_direct = {
	.number = SKX_BLK_DIRECT,
	.direct = true,
	.read = skx_blkio_pread,
};
