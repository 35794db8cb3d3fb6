/*
 * blkio_method_buffered.c
 *	  Reads through the operating system's page cache with preadv.
 *
 * The descriptors carry POSIX_FADV_RANDOM: the units asked for are as large
 * as is worth reading, and the kernel's own read-ahead would only add to them.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "blkio/blkio_internal.h"
#include "pgstat.h"
#include "port/pg_iovec.h"
#include "utils/wait_event.h"

/*
 * Reads a transfer from its start as far as the file goes.  `fresh` asks for
 * a newly opened descriptor.
 */
static void
skx_blkio_buffered_read(SkxBlkFile *file, SkxBlkTransfer *transfer, bool fresh)
{
	size_t		want = (size_t) transfer->npages * BLCKSZ;
	off_t		offset = (off_t) (transfer->block % RELSEG_SIZE) * BLCKSZ;
	struct iovec iov[SKX_BLK_GROUP_PAGES];
	struct iovec *at = iov;
	int			left = transfer->niov;
	int			handle;
	int			fd;

	transfer->done = 0;
	transfer->error = 0;
	fd = skx_blkio_fd_get(file->rel, transfer->block, file->method->direct,
						  fresh, &handle);
	if (fd < 0)
	{
		transfer->error = errno;
		return;
	}
	memcpy(iov, transfer->iov, left * sizeof(struct iovec));
	pgstat_report_wait_start(WAIT_EVENT_DATA_FILE_READ);
	while (transfer->done < want)
	{
		ssize_t		n = preadv(fd, at, Min(left, IOV_MAX),
							   offset + transfer->done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			transfer->error = errno;
		if (n <= 0)
			break;
		transfer->done += n;
		while (left > 0 && n >= at->iov_len)
		{
			n -= at->iov_len;
			at++;
			left--;
		}
		if (left > 0)
		{
			at->iov_base = (char *) at->iov_base + n;
			at->iov_len -= n;
		}
	}
	pgstat_report_wait_end();
	skx_blkio_fd_put(handle);
}

static void
skx_blkio_buffered_submit(SkxBlkFile *file, SkxBlkTransfer *transfers, int n)
{
	for (int i = 0; i < n; i++)
	{
		skx_blkio_buffered_read(file, &transfers[i], false);

		/* An end of file may be that of a file that exists no more. */
		if (transfers[i].error == 0 &&
			transfers[i].done < (size_t) transfers[i].npages * BLCKSZ)
			skx_blkio_buffered_read(file, &transfers[i], true);
	}
}

static void
skx_blkio_buffered_complete(SkxBlkFile *file, SkxBlkTransfer *transfers,
							int n)
{
	/* Nothing is under way: submit has done the reads. */
}

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
			skx_blkio_cached_present(file, plane, ordinals[i]))
			continue;
		previous = first;
		block = skx_blkio_block(file->rel, plane, first);
		fd = skx_blkio_fd_get(file->rel, block, false, false, &handle);
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
	.name = "buffered",
	.direct = false,
	.prefetch = skx_blkio_buffered_prefetch,
	.submit = skx_blkio_buffered_submit,
	.complete = skx_blkio_buffered_complete,
};
