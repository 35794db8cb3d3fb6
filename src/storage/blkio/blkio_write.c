/*
 * blkio_write.c
 *	  One write of consecutive blocks past the storage manager and the page
 *	  cache, waited for.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "pgstat.h"
#include "storage/blkio/blkio_internal.h"
#include "support/fault/fault.h"
#include "utils/wait_event.h"

/*
 * Sets `iov` to the pieces of a transfer that are not written yet, and returns
 * their number.
 */
static int
skx_blkio_write_remaining(const SkxBlkTransfer *transfer, struct iovec *iov)
{
	size_t		skip = transfer->done;
	int			n = 0;

	for (int i = 0; i < transfer->niov; i++)
	{
		const struct iovec *piece = &transfer->iov[i];

		if (skip >= piece->iov_len)
		{
			skip -= piece->iov_len;
			continue;
		}
		iov[n].iov_base = (char *) piece->iov_base + skip;
		iov[n++].iov_len = piece->iov_len - skip;
		skip = 0;
	}
	return n;
}

/*
 * Makes one call, from `done` bytes on.  Returns the bytes written, or -errno.
 */
static ssize_t
skx_blkio_write_some(Relation rel, const SkxBlkTransfer *transfer)
{
	off_t		offset = (off_t) (transfer->block % RELSEG_SIZE) * BLCKSZ +
		transfer->done;
	struct iovec iov[SKX_BLK_GROUP_PAGES];
	int			niov = skx_blkio_write_remaining(transfer, iov);
	ssize_t		n;
	int			handle;
	int			fd;

	fd = skx_blkio_fd_wait(rel, transfer->block,
						   SKX_BLK_FD_WRITE | SKX_BLK_FD_DIRECT, &handle);
	if (fd < 0)
		return -EINVAL;			/* the server may open the file */
	pgstat_report_wait_start(WAIT_EVENT_DATA_FILE_WRITE);
	n = pwritev(fd, iov, niov, offset);
	if (n < 0)
		n = -errno;
	pgstat_report_wait_end();
	skx_blkio_fd_put(handle);
	return skx_fault_write(n);
}

void
skx_blkio_write(Relation rel, SkxBlkTransfer *transfer)
{
	size_t		want = (size_t) transfer->npages * BLCKSZ;

	Assert(transfer->niov <= SKX_BLK_GROUP_PAGES);
	transfer->error = 0;
	while (transfer->done < want)
	{
		ssize_t		n = skx_blkio_write_some(rel, transfer);

		if (n == -EINTR)
			continue;
		if (n <= 0)
		{
			transfer->error = n < 0 ? -n : ENOSPC;
			break;
		}
		transfer->done += n;
	}
}

void
skx_blkio_write_failed(Relation rel, const SkxBlkTransfer *transfer)
{
	char	   *path = skx_compat_relation_path(SKX_REL_LOCATOR(rel));
	BlockNumber segment = transfer->block / RELSEG_SIZE;
	BlockNumber block = transfer->block + transfer->done / BLCKSZ;

	bool		full = SKX_BLK_NO_SPACE(transfer->error);

	if (segment > 0)
		path = psprintf("%s.%u", path, segment);
	errno = transfer->error;
	ereport(ERROR,
			(full ? errcode(ERRCODE_DISK_FULL) : errcode_for_file_access(),
			 errmsg("could not write block %u in file \"%s\": %m",
					block, path),
			 full ? errhint("Check free disk space.") : 0,
			 errcontext("skipidx index \"%s\"",
						RelationGetRelationName(rel))));
}
