/*
 * blkio_gucs.c
 *	  Settings of this module.
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"
#include "utils/guc.h"

int			skx_blkio_io_method = SKX_BLK_AUTO;
int			skx_blkio_io_depth = 16;
int			skx_blkio_io_depth_total = 64;
int			skx_blkio_cache_size = 128 * 1024;

static const struct config_enum_entry skx_blkio_io_methods[] = {
	{"auto", SKX_BLK_AUTO, false},
	{"shared_buffers", SKX_BLK_SHARED_BUFFERS, false},
	{"buffered", SKX_BLK_BUFFERED, false},
	{"direct", SKX_BLK_DIRECT, false},
	{"uring", SKX_BLK_URING, false},
	{"uring_direct", SKX_BLK_URING_DIRECT, false},
	{NULL, 0, false}
};

void
skx_blkio_init(void)
{
	DefineCustomEnumVariable("skipidx.io_method",
							 "How skipidx reads the blocks of its segments.",
							 "auto chooses by what the machine has: io_uring, direct I/O, skipidx's own cache. Temporary indexes always use the session's temporary buffers.",
							 &skx_blkio_io_method,
							 SKX_BLK_AUTO,
							 skx_blkio_io_methods,
							 PGC_USERSET,
							 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("skipidx.cache_size",
							"Size of skipidx's block cache in shared memory.",
							"Takes effect when the cache is made: at the first use after the server's start, or at its start when skipidx is preloaded. 0 makes none.",
							&skx_blkio_cache_size,
							128 * 1024,
							0, MAX_KILOBYTES,
							PGC_SIGHUP,
							GUC_UNIT_KB,
							NULL, NULL, NULL);
	DefineCustomIntVariable("skipidx.io_depth",
							"Most blocks that a session reads ahead at a time.",
							"For methods that can; 0 reads nothing ahead.",
							&skx_blkio_io_depth,
							16,
							0, SKX_BLK_MAX_AHEAD,
							PGC_USERSET,
							0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("skipidx.io_depth_total",
							"Most reads that skipidx has under way in all sessions together.",
							"A session that would pass this waits for its turn.",
							&skx_blkio_io_depth_total,
							64,
							1, SKX_BLK_DEPTH_MOST,
							PGC_SIGHUP,
							0,
							NULL, NULL, NULL);
	skx_blkio_anchor_init();
}
