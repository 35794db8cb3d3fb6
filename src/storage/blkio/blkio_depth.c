/*
 * blkio_depth.c
 *	  Limits the reads that all backends together have under way, with a queue
 *	  for further ones.
 *
 * If many backends together request more than a device can do, it serves all
 * of them late.  So there is one token for each read that may be under way
 * (skipidx.io_depth_total).  Tokens are counted in the memory of the cache;
 * without a cache, reads are not counted.
 *
 * A backend that has read ahead for a cursor may take an hour until it notes
 * that its reads have ended.  So each backend has a word that says how many
 * tokens it has, and when it last took or gave some.  A backend that has
 * waited for a while takes back the tokens of backends that have done neither
 * for as long.  If a device is so slow that no read of a backend ends in that
 * time, more reads than the limit can be under way.
 *
 * A backend gives back at most what its word still has, so no token is given
 * back twice.  The total is the sum of all words, apart from changes under
 * way.  A token is first taken from the total and then noted in the word; the
 * opposite order applies when it is given back.  Only the end of the server
 * can come in between.
 *
 * A backend that finds others waiting joins the queue or takes no token, so
 * that waiting backends are served in order.
 */
#include "postgres.h"

#include <time.h>

#include "storage/blkio/blkio_cache.h"
#include "storage/ipc.h"

/*
 * After a wait this long, and if unchanged for this long, tokens are taken
 * back; in ms.
 */
#define SKX_BLK_DEPTH_RECLAIM_MS	50

/* Longest sleep between two attempts, in case a wakeup is missed, in ms. */
#define SKX_BLK_DEPTH_SLEEP_MS		10

/*
 * The word of a backend: tokens in the low bits, above them the time of the
 * last take or give, in ms of a clock that all processes share.
 */
#define SKX_BLK_DEPTH_BITS		16
#define SKX_BLK_DEPTH_MASK		((UINT64CONST(1) << SKX_BLK_DEPTH_BITS) - 1)

StaticAssertDecl(SKX_BLK_DEPTH_MAX <= SKX_BLK_DEPTH_MASK,
				 "the tokens of a backend must fit its word");

/* True if the callback that gives back all tokens at exit is registered. */
static bool skx_blkio_depth_registered = false;

/* True while this backend is counted in depth_waiters. */
static bool skx_blkio_depth_queued = false;

/*
 * Returns the time in ms, of a clock that is the same for all processes.  From
 * 19 on, INSTR_TIME may use a clock of the process.
 */
static uint64
skx_blkio_depth_now(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline pg_atomic_uint64 *
skx_blkio_depth_own_word(void)
{
	return &skx_blkio_cache.depths[SKX_COMPAT_BACKEND_SLOT()];
}

/* Puts tokens back into the total and wakes a waiting backend. */
static void
skx_blkio_depth_return_tokens(SkxBlkCacheHeader *header, uint32 n)
{
	pg_atomic_fetch_sub_u32(&header->depth_in_use, n);
	if (pg_atomic_read_u32(&header->depth_waiters) > 0)
		ConditionVariableSignal(&header->depth_cv);
}

/* Takes up to n free tokens, and returns how many.  Does not wait. */
static uint32
skx_blkio_depth_take_tokens(SkxBlkCacheHeader *header, uint32 n)
{
	uint32		cap = skx_blkio_io_depth_total;
	uint32		old = pg_atomic_read_u32(&header->depth_in_use);
	uint32		got;

	do
	{
		if (old >= cap)
			return 0;
		got = Min(n, cap - old);
	} while (!pg_atomic_compare_exchange_u32(&header->depth_in_use, &old,
											 old + got));
	return got;
}

/* Notes tokens that this backend has taken from the total. */
static void
skx_blkio_depth_note_tokens(uint32 n)
{
	pg_atomic_uint64 *mine = skx_blkio_depth_own_word();
	uint64		time = skx_blkio_depth_now() << SKX_BLK_DEPTH_BITS;
	uint64		old = pg_atomic_read_u64(mine);

	while (!pg_atomic_compare_exchange_u64(mine, &old, time |
										   ((old & SKX_BLK_DEPTH_MASK) + n)))
		;
}

/* Takes back the tokens that backends have had unchanged for too long. */
static void
skx_blkio_depth_reclaim_tokens(SkxBlkCacheHeader *header)
{
	uint64		now = skx_blkio_depth_now();

	for (uint32 i = 0; i < header->ndepths; i++)
	{
		pg_atomic_uint64 *word = &skx_blkio_cache.depths[i];
		uint64		old = pg_atomic_read_u64(word);

		if ((old & SKX_BLK_DEPTH_MASK) != 0 &&
			now >= (old >> SKX_BLK_DEPTH_BITS) + SKX_BLK_DEPTH_RECLAIM_MS &&
			pg_atomic_compare_exchange_u64(word, &old,
										   old & ~SKX_BLK_DEPTH_MASK))
			skx_blkio_depth_return_tokens(header, old & SKX_BLK_DEPTH_MASK);
	}
}

/*
 * Leaves the queue, after success or an error.  If tokens are free, wakes the
 * next backend, since a wakeup may have come too late for this one, or for
 * more tokens than it took.
 */
static void
skx_blkio_depth_leave_queue(SkxBlkCacheHeader *header)
{
	ConditionVariableCancelSleep();
	skx_blkio_depth_queued = false;
	if (pg_atomic_sub_fetch_u32(&header->depth_waiters, 1) > 0 &&
		pg_atomic_read_u32(&header->depth_in_use) < skx_blkio_io_depth_total)
		ConditionVariableSignal(&header->depth_cv);
}

/* Waits for at least one token and takes up to n; returns how many. */
static uint32
skx_blkio_depth_wait(SkxBlkCacheHeader *header, uint32 n)
{
	static uint32 wait_event = 0;
	uint64		start = skx_blkio_depth_now();
	volatile uint32 got = 0;

	if (wait_event == 0)
		wait_event = skx_compat_wait_event("SkipidxReadQueue");
	pg_atomic_fetch_add_u32(&header->depth_waiters, 1);
	skx_blkio_depth_queued = true;
	PG_TRY();
	{
		ConditionVariablePrepareToSleep(&header->depth_cv);
		while ((got = skx_blkio_depth_take_tokens(header, n)) == 0)
		{
			if (skx_blkio_depth_now() >= start + SKX_BLK_DEPTH_RECLAIM_MS)
				skx_blkio_depth_reclaim_tokens(header);
			(void) ConditionVariableTimedSleep(&header->depth_cv,
											   SKX_BLK_DEPTH_SLEEP_MS,
											   wait_event);
		}
	}
	PG_CATCH();
	{
		skx_blkio_depth_leave_queue(header);
		PG_RE_THROW();
	}
	PG_END_TRY();
	skx_blkio_depth_leave_queue(header);
	return got;
}

/* Gives back all tokens when the process ends. */
static void
skx_blkio_depth_process_ends(int code, Datum arg)
{
	if (skx_blkio_cache.header == NULL)
		return;
	if (skx_blkio_depth_queued)
		skx_blkio_depth_leave_queue(skx_blkio_cache.header);
	skx_blkio_depth_release(SKX_BLK_DEPTH_MAX);
}

int
skx_blkio_depth_acquire(int n, bool wait)
{
	SkxBlkCacheHeader *header = skx_blkio_cache.header;
	uint32		got = 0;

	Assert(n > 0 && n <= SKX_BLK_DEPTH_MAX);
	if (header == NULL)
		return n;
	if (!skx_blkio_depth_registered)
	{
		before_shmem_exit(skx_blkio_depth_process_ends, (Datum) 0);
		skx_blkio_depth_registered = true;
	}
	if (pg_atomic_read_u32(&header->depth_waiters) == 0)
		got = skx_blkio_depth_take_tokens(header, n);
	if (got == 0 && wait)
		got = skx_blkio_depth_wait(header, n);
	if (got > 0)
		skx_blkio_depth_note_tokens(got);
	return got;
}

void
skx_blkio_depth_release(int n)
{
	SkxBlkCacheHeader *header = skx_blkio_cache.header;
	pg_atomic_uint64 *mine;
	uint64		time;
	uint64		old;
	uint64		has;
	uint64		given;

	if (header == NULL)
		return;
	mine = skx_blkio_depth_own_word();
	time = skx_blkio_depth_now() << SKX_BLK_DEPTH_BITS;
	old = pg_atomic_read_u64(mine);
	do
	{
		has = old & SKX_BLK_DEPTH_MASK;
		given = Min(has, (uint64) n);
	} while (given > 0 &&
			 !pg_atomic_compare_exchange_u64(mine, &old,
											 time | (has - given)));
	if (given > 0)
		skx_blkio_depth_return_tokens(header, given);
}
