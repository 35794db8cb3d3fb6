/*
 * blkio_method_uring.c
 *	  Reads through io_uring: many at once, and ahead of their use.
 *
 * With O_DIRECT the device works on all reads at the same time.  Through the
 * page cache, pages in it are copied at once, and the others are read while
 * the backend goes on.
 */
#include "postgres.h"

#include "storage/blkio/blkio_internal.h"

static void
skx_blkio_uring_start(SkxBlkFile *file, SkxBlkTransfer *transfers, int n)
{
	for (int i = 0; i < n; i++)
	{
		SkxBlkTransfer *transfer = &transfers[i];
		int			fd = skx_blkio_fd_wait(file->rel, transfer->block,
										   file->method->direct ?
										   SKX_BLK_FD_DIRECT : 0,
										   &transfer->handle);

		if (fd < 0)
			transfer->error = errno;
		else
		{
			transfer->load->transfers_in_flight++;
			skx_blkio_ring_add(transfer, fd);
		}
	}
}

const SkxBlkMethod skx_blkio_method_uring = {
	.number = SKX_BLK_URING,
	.direct = false,
	.prefetch = skx_blkio_prefetch_plan,
	.read = skx_blkio_pread,
	.start = skx_blkio_uring_start,
};

const SkxBlkMethod skx_blkio_method_uring_direct = {
	.number = SKX_BLK_URING_DIRECT,
	.direct = true,
	.prefetch = skx_blkio_prefetch_plan,
	.read = skx_blkio_pread,
	.start = skx_blkio_uring_start,
};
