/*
 * blkio_choose.c
 *	  Chooses the method that reads a file, by skipidx.io_method, and for
 *	  `auto` by the machine.
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"

int			skx_blkio_io_method = SKX_BLK_METHOD_AUTO;
int			skx_blkio_io_depth = 16;
int			skx_blkio_io_depth_total = 64;
int			skx_blkio_cache_size = 128 * 1024;

/* Least size of the cache with which `auto` reads past the page cache. */
#define SKX_BLK_DIRECT_CACHE_MIN	((Size) 1024 * 1024 * 1024)

/*
 * Chooses the method for `auto`.  With a large cache, the page cache would
 * only hold the pages a second time.
 */
static const SkxBlkMethod *
skx_blkio_choose_auto(void)
{
	bool		ring = skx_blkio_ring_ready();

	/* the actual size counts, with a tolerance for rounding */
	if (skx_blkio_cache_bytes() + 1024 * 1024 > SKX_BLK_DIRECT_CACHE_MIN)
		return ring ? &skx_blkio_method_uring_direct :
			&skx_blkio_method_direct;
	return ring ? &skx_blkio_method_uring : &skx_blkio_method_buffered;
}

const SkxBlkMethod *
skx_blkio_method_in_force(void)
{
	bool		cache;

	if (skx_blkio_io_method == SKX_BLK_SHARED_BUFFERS)
		return &skx_blkio_method_bufmgr;
	cache = skx_blkio_anchor_attach();
	switch (skx_blkio_io_method)
	{
		case SKX_BLK_METHOD_AUTO:
			return cache ? skx_blkio_choose_auto() : &skx_blkio_method_bufmgr;
		case SKX_BLK_DIRECT:
			return &skx_blkio_method_direct;
		case SKX_BLK_URING:
			return skx_blkio_ring_ready() ? &skx_blkio_method_uring :
				&skx_blkio_method_buffered;
		case SKX_BLK_URING_DIRECT:
			return skx_blkio_ring_ready() ? &skx_blkio_method_uring_direct :
				&skx_blkio_method_direct;
		default:
			return &skx_blkio_method_buffered;
	}
}

const SkxBlkMethod *
skx_blkio_choose(Relation rel, uint64 incarnation)
{
	const SkxBlkMethod *method;

	if (RelationUsesLocalBuffers(rel))
		return &skx_blkio_method_bufmgr;
	method = skx_blkio_method_in_force();
	if (method != &skx_blkio_method_bufmgr &&
		skx_blkio_path_is_readable(rel, incarnation) != SKX_BLK_PATH_PROVEN)
		return &skx_blkio_method_bufmgr;
	return method;
}

bool
skx_blkio_may_pass(Relation rel, uint64 incarnation)
{
	return !RelationUsesLocalBuffers(rel) &&
		skx_blkio_method_in_force() != &skx_blkio_method_bufmgr &&
		skx_blkio_path_is_proven(rel, incarnation);
}

int
skx_blkio_depth_in_force(const SkxBlkMethod *method)
{
	if (method->prefetch == NULL ||
		(method->pin == NULL && skx_blkio_cache.header == NULL))
		return 0;
	return skx_blkio_io_depth;
}
