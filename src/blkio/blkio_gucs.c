/*
 * blkio_gucs.c
 *	  Settings of this module.
 */
#include "postgres.h"

#include "blkio/blkio_cache.h"
#include "utils/guc.h"

int			skx_blkio_io_method = SKX_BLK_METHOD_AUTO;
int			skx_blkio_cache_size = 128 * 1024;

static const struct config_enum_entry skx_blkio_io_methods[] = {
	{"auto", SKX_BLK_METHOD_AUTO, false},
	{"shared_buffers", SKX_BLK_METHOD_SHARED_BUFFERS, false},
	{"buffered", SKX_BLK_METHOD_BUFFERED, false},
	{NULL, 0, false}
};

void
skx_blkio_init(void)
{
	DefineCustomEnumVariable("skipidx.io_method",
							 "How skipidx reads the blocks of its segments.",
							 "auto reads through the operating system into skipidx's own cache, or through shared buffers where there is no such cache. Temporary indexes always use the session's temporary buffers.",
							 &skx_blkio_io_method,
							 SKX_BLK_METHOD_AUTO,
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
	skx_blkio_anchor_init();
}
