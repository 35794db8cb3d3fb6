/*
 * blkio_depth.c
 *	  How many reads all backends together have under way, and the queue for
 *	  more.
 *
 * A device that is asked by many backends at once for more than it can do
 * serves all of them late.  So there is one token for each of the reads that
 * may be under way (skipidx.io_depth_total), counted in the cache's memory;
 * where there is no cache, reads are not counted either.
 *
 * A backend that has read ahead for a cursor may not come back for an hour to
 * see that its reads have ended.  So each backend has a word that says how
 * many tokens it has and when it took or gave the last ones, and a backend
 * that has waited for a while takes back those of backends that have done
 * neither for as long.  On a device so slow that a backend sees none of its
 * reads end in that time, more reads than the limit can be under way.  What a
 * backend gives is what its word still has, so tokens are never given back
 * twice: the total is the sum of all words, but for changes under way.  A
 * token is taken from the total first and noted then, and given back the other
 * way round; only the end of the server can come in between.
 *
 * A backend that finds others waiting joins the queue, or goes without, so
 * that waiters are served in order.
 */
#include "postgres.h"

#include <time.h>

#include "storage/blkio/blkio_cache.h"
#include "storage/ipc.h"

/* A wait this long means that tokens may have been forgotten, in ms. */
#define SKX_BLK_DEPTH_PATIENCE	50

/* Between two looks, should a wakeup have been missed, in ms. */
#define SKX_BLK_DEPTH_NAP		10

/*
 * The word of a backend: tokens in the low bits, above them the time of the
 * last take or give, in ms of a clock that all processes share.
 */
#define SKX_BLK_DEPTH_BITS		16
#define SKX_BLK_DEPTH_MASK		((UINT64CONST(1) << SKX_BLK_DEPTH_BITS) - 1)

StaticAssertDecl(SKX_BLK_DEPTH_MOST <= SKX_BLK_DEPTH_MASK,
				 "the tokens of a backend must fit its word");

/* The callback that gives everything back at exit is in place. */
static bool skx_blkio_depth_registered = false;

/* This backend is counted among those that wait. */
static bool skx_blkio_depth_queued = false;

/* Not INSTR_TIME: from 19 on a process may have a clock of its own for that. */
static uint64
skx_blkio_depth_now(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline pg_atomic_uint64 *
skx_blkio_depth_mine(void)
{
	return &skx_blkio_cache.depths[SKX_COMPAT_BACKEND_SLOT()];
}

/* Puts tokens back into the total, and wakes waiters. */
static void
skx_blkio_depth_return(SkxBlkCacheHeader *header, uint32 n)
{
	pg_atomic_fetch_sub_u32(&header->depth, n);
	if (pg_atomic_read_u32(&header->depth_waiters) > 0)
		ConditionVariableSignal(&header->depth_free);
}

/* Takes up to n tokens that are free now. */
static uint32
skx_blkio_depth_try(SkxBlkCacheHeader *header, uint32 n)
{
	uint32		cap = skx_blkio_io_depth_total;
	uint32		old = pg_atomic_read_u32(&header->depth);
	uint32		got;

	do
	{
		if (old >= cap)
			return 0;
		got = Min(n, cap - old);
	} while (!pg_atomic_compare_exchange_u32(&header->depth, &old,
											 old + got));
	return got;
}

/* Notes tokens that this backend has taken from the total. */
static void
skx_blkio_depth_note(uint32 n)
{
	pg_atomic_uint64 *mine = skx_blkio_depth_mine();
	uint64		time = skx_blkio_depth_now() << SKX_BLK_DEPTH_BITS;
	uint64		old = pg_atomic_read_u64(mine);

	while (!pg_atomic_compare_exchange_u64(mine, &old, time |
										   ((old & SKX_BLK_DEPTH_MASK) + n)))
		;
}

/* Takes from all backends the tokens that they have had for too long. */
static void
skx_blkio_depth_reclaim(SkxBlkCacheHeader *header)
{
	uint64		now = skx_blkio_depth_now();

	for (uint32 i = 0; i < header->ndepths; i++)
	{
		pg_atomic_uint64 *word = &skx_blkio_cache.depths[i];
		uint64		old = pg_atomic_read_u64(word);

		if ((old & SKX_BLK_DEPTH_MASK) != 0 &&
			now >= (old >> SKX_BLK_DEPTH_BITS) + SKX_BLK_DEPTH_PATIENCE &&
			pg_atomic_compare_exchange_u64(word, &old,
										   old & ~SKX_BLK_DEPTH_MASK))
			skx_blkio_depth_return(header, old & SKX_BLK_DEPTH_MASK);
	}
}

/*
 * Leaves the queue, for whatever reason.  A wakeup that came too late for this
 * backend, or for more tokens than it took, is the next one's.
 */
static void
skx_blkio_depth_leave(SkxBlkCacheHeader *header)
{
	ConditionVariableCancelSleep();
	skx_blkio_depth_queued = false;
	if (pg_atomic_sub_fetch_u32(&header->depth_waiters, 1) > 0 &&
		pg_atomic_read_u32(&header->depth) < skx_blkio_io_depth_total)
		ConditionVariableSignal(&header->depth_free);
}

/* Waits until there is a token at least; takes up to n. */
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
		ConditionVariablePrepareToSleep(&header->depth_free);
		while ((got = skx_blkio_depth_try(header, n)) == 0)
		{
			if (skx_blkio_depth_now() >= start + SKX_BLK_DEPTH_PATIENCE)
				skx_blkio_depth_reclaim(header);
			(void) ConditionVariableTimedSleep(&header->depth_free,
											   SKX_BLK_DEPTH_NAP, wait_event);
		}
	}
	PG_CATCH();
	{
		skx_blkio_depth_leave(header);
		PG_RE_THROW();
	}
	PG_END_TRY();
	skx_blkio_depth_leave(header);
	return got;
}

/* The process ends: its tokens go back at once. */
static void
skx_blkio_depth_process_ends(int code, Datum arg)
{
	if (skx_blkio_cache.header == NULL)
		return;
	if (skx_blkio_depth_queued)
		skx_blkio_depth_leave(skx_blkio_cache.header);
	skx_blkio_depth_give(SKX_BLK_DEPTH_MOST);
}

int
skx_blkio_depth_take(int n, bool wait)
{
	SkxBlkCacheHeader *header = skx_blkio_cache.header;
	uint32		got = 0;

	Assert(n > 0 && n <= SKX_BLK_DEPTH_MOST);
	if (header == NULL)
		return n;
	if (!skx_blkio_depth_registered)
	{
		before_shmem_exit(skx_blkio_depth_process_ends, (Datum) 0);
		skx_blkio_depth_registered = true;
	}
	if (pg_atomic_read_u32(&header->depth_waiters) == 0)
		got = skx_blkio_depth_try(header, n);
	if (got == 0 && wait)
		got = skx_blkio_depth_wait(header, n);
	if (got > 0)
		skx_blkio_depth_note(got);
	return got;
}

void
skx_blkio_depth_give(int n)
{
	SkxBlkCacheHeader *header = skx_blkio_cache.header;
	pg_atomic_uint64 *mine;
	uint64		time;
	uint64		old;
	uint64		has;
	uint64		given;

	if (header == NULL)
		return;
	mine = skx_blkio_depth_mine();
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
		skx_blkio_depth_return(header, given);
}
