/*
 * blkio_method_buffered.c
 *	  Reads through the operating system's page cache.
 *
 * The descriptors have POSIX_FADV_RANDOM: the units are as large as is worth
 * reading at once, and the kernel's own read-ahead would only add to them.
 */
#include "postgres.h"

#include <fcntl.h>

#include "storage/blkio/blkio_cache.h"

static void
skx_blkio_buffered_prefetch(SkxBlkFile *file, const SkxBlkPlane *plane,
							const uint32 *ordinals, int n)
{
	uint32		unit = Min(plane->unit, SKX_BLK_GROUP_PAGES);
	uint32		previous = InvalidBlockNumber;

	for (int i = 0; i < n; i++)
	{
		uint32		first = ordinals[i] & ~(unit - 1);
		BlockNumber block;
		int			handle;
		int			fd;

		if (first == previous || ordinals[i] >= plane->npages ||
			skx_blkio_claim_present(file, plane, ordinals[i]))
			continue;
		previous = first;
		block = skx_blkio_block(file->rel, plane, first);
		fd = skx_blkio_fd_get(file->rel, block, 0, &handle);
		if (fd < 0)
			continue;
		(void) posix_fadvise(fd, (off_t) (block % RELSEG_SIZE) * BLCKSZ,
							 (off_t) Min(unit, plane->npages - first) *
							 BLCKSZ,
							 POSIX_FADV_WILLNEED);
		skx_blkio_fd_put(handle);
	}
}

const SkxBlkMethod skx_blkio_method_buffered = {
	.number = SKX_BLK_BUFFERED,
	.direct = false,
	.prefetch = skx_blkio_buffered_prefetch,
	.read = skx_blkio_pread,
};
