/*
 * blkio_fd_wait.c
 *	  Gets a descriptor, and waits if transfers are under way on all of them.
 */
#include "postgres.h"

#include "storage/blkio/blkio_internal.h"

/* The wait ends, since the transfers are this backend's own. */
int
skx_blkio_fd_wait(Relation rel, BlockNumber block, int how, int *handle)
{
	int			fd = skx_blkio_fd_get(rel, block, how, handle);

	while (fd < 0 && errno == EBUSY && skx_blkio_ring_depth() > 0)
	{
		(void) skx_blkio_ring_reap(true);
		fd = skx_blkio_fd_get(rel, block, how, handle);
	}
	if (fd < 0 && errno == EBUSY)
		errno = EMFILE;
	return fd;
}
