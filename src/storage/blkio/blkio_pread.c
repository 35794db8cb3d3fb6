/*
 * blkio_pread.c
 *	  Reads with preadv, one transfer after the other.
 */
#include "postgres.h"

#include <unistd.h>

#include "pgstat.h"
#include "port/pg_iovec.h"
#include "storage/blkio/blkio_internal.h"
#include "support/fault/fault.h"
#include "utils/wait_event.h"

/* Makes one call, from `done` bytes on.  Returns the bytes read, or -errno. */
static ssize_t
skx_blkio_pread_some(SkxBlkFile *file, const SkxBlkTransfer *transfer,
					 const struct iovec *iov, int niov, bool fresh)
{
	off_t		offset = (off_t) (transfer->block % RELSEG_SIZE) * BLCKSZ;
	ssize_t		n;
	int			handle;
	int			fd;

	fd = skx_blkio_fd_wait(file->rel, transfer->block,
						   (file->method->direct ? SKX_BLK_FD_DIRECT : 0) |
						   (fresh ? SKX_BLK_FD_FRESH : 0), &handle);
	if (fd < 0)
		return -errno;
	pgstat_report_wait_start(WAIT_EVENT_DATA_FILE_READ);
	n = preadv(fd, iov, Min(niov, IOV_MAX), offset + transfer->done);
	if (n < 0)
		n = -errno;
	pgstat_report_wait_end();
	skx_blkio_fd_put(handle);
	return skx_fault_read(n);
}

/*
 * Reads a transfer from its start up to the end of the file.  `fresh` demands
 * a new descriptor.
 */
static void
skx_blkio_pread_one(SkxBlkFile *file, SkxBlkTransfer *transfer, bool fresh)
{
	size_t		want = (size_t) transfer->npages * BLCKSZ;
	struct iovec iov[SKX_BLK_GROUP_PAGES];
	struct iovec *at = iov;
	int			left = transfer->niov;

	transfer->done = 0;
	transfer->error = 0;
	memcpy(iov, transfer->iov, left * sizeof(struct iovec));
	while (transfer->done < want)
	{
		ssize_t		n = skx_blkio_pread_some(file, transfer, at, left, fresh);

		fresh = false;
		if (n == -EINTR)
			continue;
		if (n < 0)
			transfer->error = -n;
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
}

void
skx_blkio_pread(SkxBlkFile *file, SkxBlkTransfer *transfers, int n)
{
	for (int i = 0; i < n; i++)
	{
		skx_blkio_pread_one(file, &transfers[i], false);

		/* the end may be that of a file that has been replaced */
		if (transfers[i].error == 0 &&
			transfers[i].done < (size_t) transfers[i].npages * BLCKSZ)
			skx_blkio_pread_one(file, &transfers[i], true);
	}
}
