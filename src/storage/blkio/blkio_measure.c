/*
 * blkio_measure.c
 *	  Measures how long reads of a file take, by pattern, cache and depth.
 *
 * Pages are read as scans read them.  Through the page cache they are read one
 * by one, and the kernel is told which ones follow (snapshot_heap.c).  Past
 * the page cache several reads are under way in a ring.  The measurement has a
 * ring of its own, so it neither waits for other reads of the backend nor
 * counts among them.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/blkio/blkio.h"
#include "storage/fd.h"
#include "support/compat/compat.h"

#ifdef SKX_WITH_LIBURING
#include <liburing.h>
#endif

/*
 * Most blocks skipped before each read of SKX_MEASURE_SKIPPING; the average is
 * half of it.
 */
#define SKX_MEASURE_SKIP_MAX			14

typedef struct SkxMeasure
{
	const SkxBlkMeasure *request;
	int			fd;
	char	   *pages;			/* one for each read under way, aligned */
	uint32		next;			/* number of the next read of the pass */
	instr_time	start;
	uint64		reads;
} SkxMeasure;

/*
 * Returns the image of a number under a permutation of the numbers below
 * `nblocks`, a power of two.  It is a permutation since each step can be
 * inverted: products with odd factors and sums modulo that power, and a number
 * xor its shift.
 */
static uint32
skx_measure_shuffle(uint32 number, uint32 nblocks)
{
	uint32		mask = nblocks - 1;
	int			half = 1;

	while ((UINT64CONST(1) << (2 * half)) < nblocks)
		half++;
	number = (number * 0x9E3779B1U + 0x7F4A7C15U) & mask;
	number ^= number >> half;
	number = (number * 0x85EBCA6BU) & mask;
	return number ^ (number >> half);
}

/* Sets *block to the block of a read; returns false at the end of the pass. */
static bool
skx_measure_block(SkxMeasure *m, uint32 number, uint32 *block)
{
	uint32		nblocks = m->request->nblocks;

	if (number >= nblocks)
		return false;
	*block = number;
	if (m->request->pattern == SKX_MEASURE_BACKWARD)
		*block = nblocks - 1 - number;
	if (m->request->pattern == SKX_MEASURE_RANDOM)
		*block = skx_measure_shuffle(number, nblocks);
	if (m->request->pattern == SKX_MEASURE_SKIPPING)
	{
		/* skips 7 blocks on average, as a function of the read's number */
		*block = number * (SKX_MEASURE_SKIP_MAX / 2 + 1) +
			skx_measure_shuffle(number,
								nblocks) % (SKX_MEASURE_SKIP_MAX / 2 + 1);
		return *block < nblocks;
	}
	return true;
}

static double
skx_measure_seconds(const SkxMeasure *m)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, m->start);
	return INSTR_TIME_GET_DOUBLE(now);
}

static void
skx_measure_failed(const SkxMeasure *m, int64 result, int error)
{
	if (result == BLCKSZ)
		return;
	errno = error;
	if (result < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read file \"%s\": %m", m->request->path)));
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("could not read file \"%s\": read %lld of %d bytes",
					m->request->path, (long long) result, BLCKSZ)));
}

/*
 * Tells the kernel of the reads from number `from` on, as snapshot_heap.c
 * does: nothing of a forward pass, runs of a backward one.  Returns the number
 * of the first read that it was not told of, or `nblocks` at the end of the
 * pass.
 */
static uint32
skx_measure_advise(SkxMeasure *m, uint32 from)
{
	uint32		n = 1;
	uint32		block;

	if (!skx_measure_block(m, from, &block))
		return m->request->nblocks;
	if (m->request->pattern == SKX_MEASURE_BACKWARD)
		n = Min(SKX_BLK_HINT_RUN_BLOCKS, block + 1);
	if (m->request->pattern != SKX_MEASURE_FORWARD)
		(void) posix_fadvise(m->fd, (off_t) (block - (n - 1)) * BLCKSZ,
							 (off_t) n * BLCKSZ, POSIX_FADV_WILLNEED);
	return from + n;
}

/* Reads one block at a time; the kernel is told of `depth - 1` more. */
static void
skx_measure_one_by_one(SkxMeasure *m)
{
	uint32		ahead = m->request->direct ? 0 : m->request->depth - 1;
	uint32		told = 1;
	uint32		block;

	while (skx_measure_seconds(m) < m->request->seconds &&
		   skx_measure_block(m, m->next, &block))
	{
		ssize_t		result;

		told = Max(told, m->next + 1);
		while (told <= m->next + ahead && told < m->request->nblocks)
			told = skx_measure_advise(m, told);
		result = pread(m->fd, m->pages, BLCKSZ, (off_t) block * BLCKSZ);
		skx_measure_failed(m, result, errno);
		m->next++;
		m->reads++;
		CHECK_FOR_INTERRUPTS();
	}
}

#ifdef SKX_WITH_LIBURING

/* Queues a read; returns false if the pass or its time has ended. */
static bool
skx_measure_queue(SkxMeasure *m, struct io_uring *ring, char *page)
{
	struct io_uring_sqe *sqe;
	uint32		block;

	if (skx_measure_seconds(m) >= m->request->seconds ||
		!skx_measure_block(m, m->next, &block))
		return false;
	sqe = io_uring_get_sqe(ring);
	if (sqe == NULL)
		return false;
	io_uring_prep_read(sqe, m->fd, page, BLCKSZ, (uint64) block * BLCKSZ);
	io_uring_sqe_set_data(sqe, page);
	m->next++;
	return true;
}

/*
 * Waits for one read.  Returns its page, and its result in *result.  A signal
 * ends the kernel's wait early, also if the call has submitted reads.
 */
static char *
skx_measure_wait(struct io_uring *ring, int *result)
{
	struct io_uring_cqe *cqe = NULL;
	char	   *page;

	do
	{
		int			error = io_uring_submit_and_wait(ring, 1);

		if (error < 0 && error != -EINTR && error != -EAGAIN)
			elog(PANIC, "io_uring_enter failed: %s", strerror(-error));
	} while (io_uring_peek_cqe(ring, &cqe) != 0);
	page = io_uring_cqe_get_data(cqe);
	*result = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return page;
}

/*
 * Keeps `depth` reads under way. *under_way is their number, also after an
 * error.
 */
static void
skx_measure_loop(SkxMeasure *m, struct io_uring *ring, volatile int *under_way)
{
	while (*under_way < m->request->depth &&
		   skx_measure_queue(m, ring, m->pages + (Size) *under_way * BLCKSZ))
		(*under_way)++;
	while (*under_way > 0)
	{
		int			result;
		char	   *page = skx_measure_wait(ring, &result);

		(*under_way)--;
		skx_measure_failed(m, result, -result);
		m->reads++;
		if (skx_measure_queue(m, ring, page))
			(*under_way)++;
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Waits for all reads, since the kernel writes into their memory until they
 * end, and closes the ring.
 */
static void
skx_measure_drain(struct io_uring *ring, int under_way)
{
	int			result;

	for (; under_way > 0; under_way--)
		(void) skx_measure_wait(ring, &result);
	io_uring_queue_exit(ring);
	ReleaseExternalFD();
}

/* Makes the pass with a ring; returns false if the kernel refuses one. */
static bool
skx_measure_in_ring(SkxMeasure *m)
{
	struct io_uring ring;
	volatile int under_way = 0;

	if (!AcquireExternalFD())
		return false;
	if (io_uring_queue_init(m->request->depth, &ring, 0) < 0)
	{
		ReleaseExternalFD();
		return false;
	}
	PG_TRY();
	{
		skx_measure_loop(m, &ring, &under_way);
	}
	PG_CATCH();
	{
		skx_measure_drain(&ring, under_way);
		PG_RE_THROW();
	}
	PG_END_TRY();
	skx_measure_drain(&ring, under_way);
	return true;
}

#else

static bool
skx_measure_in_ring(SkxMeasure *m)
{
	return false;
}

#endif

double
skx_blkio_measure(const SkxBlkMeasure *what)
{
	SkxMeasure	m = {0};
	char	   *room;
	double		seconds;
	bool		done = true;

	Assert((what->nblocks & (what->nblocks - 1)) == 0 && what->depth > 0);
	m.request = what;
	m.fd = OpenTransientFile(what->path, O_RDONLY | PG_BINARY |
							 (what->direct ? PG_O_DIRECT : 0));
	if (m.fd < 0 && what->direct && errno == EINVAL)
		return 0;
	if (m.fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", what->path)));
	room = palloc((Size) what->depth * BLCKSZ + SKX_IO_ALIGN);
	m.pages = (char *) TYPEALIGN(SKX_IO_ALIGN, room);
	if (!what->cached)
		(void) posix_fadvise(m.fd, 0, 0, POSIX_FADV_DONTNEED);
	INSTR_TIME_SET_CURRENT(m.start);
	if (what->direct && what->depth > 1)
		done = skx_measure_in_ring(&m);
	else
		skx_measure_one_by_one(&m);
	seconds = skx_measure_seconds(&m);
	CloseTransientFile(m.fd);
	pfree(room);
	return done && m.reads > 0 ? seconds / m.reads : 0;
}
