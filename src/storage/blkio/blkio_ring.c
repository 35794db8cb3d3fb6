/*
 * blkio_ring.c
 *	  The io_uring of this process.
 *
 * A backend has one ring for all indexes and scans, which it makes at first
 * use.  The kernel can refuse it: it is too old, the sysctl
 * kernel.io_uring_disabled or a seccomp filter forbids it, or RLIMIT_MEMLOCK
 * does before 5.12.  Then every method that would have used it reads with
 * preadv.
 *
 * A transfer that fails is not tried again here, and a short one is not
 * continued.  The code that waits for it does that with preadv, which suffices
 * for a rare case.
 */
#include "postgres.h"

#include <unistd.h>

#include "pgstat.h"
#include "storage/blkio/blkio_cache.h"
#include "support/fault/fault.h"
#include "utils/wait_event.h"

#ifdef SKX_WITH_LIBURING

#include <liburing.h>

/* Most transfers that are queued before they go to the kernel. */
#define SKX_BLK_RING_ENTRIES	64

/*
 * Most transfers under way: the kernel has space for as many results.  A
 * result without space can be lost if memory is short, and then a wait for it
 * would never end.
 */
#define SKX_BLK_RING_TRANSFERS_MAX		(2 * SKX_BLK_RING_ENTRIES)

typedef enum SkxBlkRingState
{
	SKX_BLK_RING_UNTRIED,
	SKX_BLK_RING_OPEN,
	SKX_BLK_RING_REFUSED
} SkxBlkRingState;

static SkxBlkRingState skx_blkio_ring_state = SKX_BLK_RING_UNTRIED;
static int	skx_blkio_ring_error = 0;	/* errno of the refusal */
static struct io_uring skx_blkio_ring;
static int	skx_blkio_ring_under_way = 0;

static void
skx_blkio_ring_refused(int error)
{
	skx_blkio_ring_state = SKX_BLK_RING_REFUSED;
	skx_blkio_ring_error = error;
	if (!skx_blkio_note_limit(SKX_BLK_REFUSAL_RING))
		return;
	errno = error;
	ereport(LOG,
			(errmsg("io_uring cannot be used, skipidx reads with preadv: %m"),
			 error == EPERM || error == EACCES || error == ENOSYS ?
			 errhint("The kernel, its setting kernel.io_uring_disabled, or a container's seccomp profile does not allow it.") :
			 error == ENOMEM ?
			 errhint("The limit of locked memory (ulimit -l) is too low.") : 0));
}

bool
skx_blkio_ring_ready(void)
{
	int			result;

	if (skx_blkio_ring_state != SKX_BLK_RING_UNTRIED)
		return skx_blkio_ring_state == SKX_BLK_RING_OPEN;
	if (!AcquireExternalFD())
		return false;			/* a later call may get one */
	result = io_uring_queue_init(SKX_BLK_RING_ENTRIES, &skx_blkio_ring, 0);
	if (result < 0)
	{
		ReleaseExternalFD();
		if (result == -EMFILE || result == -ENFILE)
			return false;
		skx_blkio_ring_refused(-result);
		return false;
	}
	skx_blkio_ring_state = SKX_BLK_RING_OPEN;
	return true;
}

const char *
skx_blkio_ring_refusal(void)
{
	return skx_blkio_ring_state != SKX_BLK_RING_REFUSED ?
		"the process has no descriptor to spare for io_uring" :
		psprintf("io_uring is refused: %s", strerror(skx_blkio_ring_error));
}

void
skx_blkio_ring_add(SkxBlkTransfer *transfer, int fd)
{
	off_t		offset = (off_t) (transfer->block % RELSEG_SIZE) * BLCKSZ;
	struct io_uring_sqe *sqe;

	while (skx_blkio_ring_under_way >= SKX_BLK_RING_TRANSFERS_MAX)
		(void) skx_blkio_ring_reap(true);
	sqe = io_uring_get_sqe(&skx_blkio_ring);
	while (sqe == NULL)
	{
		skx_blkio_ring_submit();
		sqe = io_uring_get_sqe(&skx_blkio_ring);
	}
	io_uring_prep_readv(sqe, fd, transfer->iov, transfer->niov, offset);
	io_uring_sqe_set_data(sqe, transfer);
	skx_blkio_ring_under_way++;
}

void
skx_blkio_ring_submit(void)
{
	while (io_uring_sq_ready(&skx_blkio_ring) > 0)
	{
		int			result = io_uring_submit(&skx_blkio_ring);

		/* the kernel is short of memory, or wants results fetched first */
		if (result == -EAGAIN || result == -EBUSY)
			(void) skx_blkio_ring_reap(false);
		else if (result < 0 && result != -EINTR)
			elog(PANIC, "io_uring_enter failed: %s", strerror(-result));
	}
}

/* Takes the result of a transfer that has ended. */
static void
skx_blkio_ring_ended(SkxBlkTransfer *transfer, ssize_t result)
{
	skx_blkio_fd_put(transfer->handle);
	skx_blkio_ring_under_way--;
	if (transfer->in_ring_result != NULL)
		transfer->in_ring_result(transfer);

	/* a test can have an error raised from here on */
	result = skx_fault_read(result);
	if (result < 0)
		transfer->error = -result;
	else
		transfer->done = result;
}

int
skx_blkio_ring_reap(bool wait)
{
	struct io_uring_cqe *cqe;
	int			n = 0;

	if (skx_blkio_ring_under_way == 0)
		return 0;
	if (wait)
		skx_blkio_ring_submit();
	if (wait && io_uring_peek_cqe(&skx_blkio_ring, &cqe) != 0)
	{
		pgstat_report_wait_start(WAIT_EVENT_DATA_FILE_READ);
		(void) io_uring_wait_cqe(&skx_blkio_ring, &cqe);
		pgstat_report_wait_end();
	}
	while (io_uring_peek_cqe(&skx_blkio_ring, &cqe) == 0)
	{
		SkxBlkTransfer *transfer = io_uring_cqe_get_data(cqe);
		ssize_t		result = cqe->res;

		io_uring_cqe_seen(&skx_blkio_ring, cqe);
		n++;
		skx_blkio_ring_ended(transfer, result);
	}
	return n;
}

int
skx_blkio_ring_depth(void)
{
	return skx_blkio_ring_under_way;
}

#else							/* !SKX_WITH_LIBURING */

bool
skx_blkio_ring_ready(void)
{
	return false;
}

const char *
skx_blkio_ring_refusal(void)
{
	return "skipidx was built without liburing";
}

void
skx_blkio_ring_add(SkxBlkTransfer *transfer, int fd)
{
	elog(ERROR, "skipidx was built without liburing");
}

void
skx_blkio_ring_submit(void)
{
}

int
skx_blkio_ring_reap(bool wait)
{
	return 0;
}

int
skx_blkio_ring_depth(void)
{
	return 0;
}

#endif
