/*
 * blkio_warmer.c
 *	  Sees to it that one process keeps the cache over a restart.
 *
 * If the library is preloaded, the server starts that process.  Otherwise the
 * first search requests it.  Then it ends when the cache does not change for a
 * while, so that it takes one of max_worker_processes no longer than that.  The
 * next search after a change requests it again.
 *
 * The word `warmer` in the cache's header has a state in its low bits, and a
 * time above them.
 */
#include "postgres.h"

#include "postmaster/postmaster.h"
#include "storage/blkio/blkio_cache.h"
#include "storage/blkio/blkio_warmer.h"
#include "storage/ipc.h"
#include "support/worker/worker.h"
#include "utils/timestamp.h"

/* There is none, and none is to be requested before the time. */
#define SKX_BLK_WARMER_NONE			0
/* One was requested, which must have come by the time. */
#define SKX_BLK_WARMER_REQUESTED	1
/* One is there. */
#define SKX_BLK_WARMER_RUNNING		2

#define SKX_BLK_WARMER_WORD(state, time)	((uint64) (time) << 2 | (state))
#define SKX_BLK_WARMER_STATE(word)			((word) & 3)
#define SKX_BLK_WARMER_TIME(word)			((TimestampTz) ((word) >> 2))

/* Time for a process to come, and pause after one could not, in ms. */
#define SKX_BLK_WARMER_COME_MS		60000
#define SKX_BLK_WARMER_PAUSE_MS		10000

/*
 * With fewer max_worker_processes than this no search requests the process,
 * since flushes, merges and parallel queries need them more.
 */
#define SKX_BLK_WARMER_LEAST_PROCESSES	4

int			skx_blkio_warmer_interval = 300;

bool
skx_blkio_warmer_is_done(void)
{
	return pg_atomic_read_u32(&skx_blkio_cache.header->warmed) != 0;
}

void
skx_blkio_warmer_set_done(void)
{
	pg_atomic_write_u32(&skx_blkio_cache.header->warmed, 1);
}

bool
skx_blkio_warmer_has_room(void)
{
	return skx_blkio_cache_has_spare(SKX_BLK_CLASS_BLOCK) ||
		skx_blkio_cache_has_spare(SKX_BLK_CLASS_PAGE);
}

uint64
skx_blkio_warmer_most_pages(void)
{
	return skx_blkio_anchor_attach() ? skx_blkio_cache_bytes() / BLCKSZ : 0;
}

uint64
skx_blkio_warmer_pages(void)
{
	return pg_atomic_read_u64(&skx_blkio_cache.header->prewarmed);
}

/* Each claim of a frame moves a hand of the clock. */
uint64
skx_blkio_warmer_claims(void)
{
	uint64		claims = 0;

	for (int i = 0; i < SKX_BLK_NCLASSES; i++)
		claims +=
			pg_atomic_read_u32(&skx_blkio_cache.header->clock_hands[i]);
	return claims;
}

bool
skx_blkio_warmer_is_changed(void)
{
	return skx_blkio_warmer_claims() !=
		pg_atomic_read_u64(&skx_blkio_cache.header->claims_saved);
}

void
skx_blkio_warmer_set_noted(uint64 claims)
{
	pg_atomic_write_u64(&skx_blkio_cache.header->claims_saved, claims);
}

static TimestampTz
skx_blkio_warmer_after(int ms)
{
	return GetCurrentTimestamp() + (TimestampTz) ms * 1000;
}

/* Returns true if the process has something to do. */
static bool
skx_blkio_warmer_is_needed(void)
{
	return !skx_blkio_warmer_is_done() || skx_blkio_warmer_is_changed();
}

/* Does the rest of skx_blkio_warmer_request; `word` has the state. */
static void
skx_blkio_warmer_launch(uint64 word)
{
	pg_atomic_uint64 *warmer = &skx_blkio_cache.header->warmer;
	uint64		requested;

	if (GetCurrentTimestamp() < SKX_BLK_WARMER_TIME(word))
		return;
	requested = SKX_BLK_WARMER_WORD(SKX_BLK_WARMER_REQUESTED,
									skx_blkio_warmer_after(SKX_BLK_WARMER_COME_MS));
	if (!pg_atomic_compare_exchange_u64(warmer, &word, requested))
		return;
	if (!skx_worker_launch_early(SKX_BLK_WARMER_MAIN,
								 ObjectIdGetDatum(MyDatabaseId), NULL))
		pg_atomic_compare_exchange_u64(warmer, &requested,
									   SKX_BLK_WARMER_WORD(SKX_BLK_WARMER_NONE,
														   skx_blkio_warmer_after(SKX_BLK_WARMER_PAUSE_MS)));
}

void
skx_blkio_warmer_request(void)
{
	uint64		word;

	if (skx_blkio_cache.header == NULL)
		return;
	word = pg_atomic_read_u64(&skx_blkio_cache.header->warmer);
	if (likely(SKX_BLK_WARMER_STATE(word) == SKX_BLK_WARMER_RUNNING) ||
		skx_blkio_warmer_interval == 0 ||
		max_worker_processes < SKX_BLK_WARMER_LEAST_PROCESSES ||
		InterruptHoldoffCount > 0 || CritSectionCount > 0 ||
		!skx_blkio_warmer_is_needed())
		return;
	skx_blkio_warmer_launch(word);
}

/* Called when the process that keeps the cache exits. */
static void
skx_blkio_warmer_end(int code, Datum arg)
{
	TimestampTz next = code == 0 ? 0 :
		skx_blkio_warmer_after(SKX_BLK_WARMER_COME_MS);

	pg_atomic_write_u64(&skx_blkio_cache.header->warmer,
						SKX_BLK_WARMER_WORD(SKX_BLK_WARMER_NONE, next));
}

bool
skx_blkio_warmer_begin(void)
{
	pg_atomic_uint64 *warmer;
	uint64		word;

	if (!skx_blkio_anchor_attach())
		return false;
	warmer = &skx_blkio_cache.header->warmer;
	word = pg_atomic_read_u64(warmer);
	do
	{
		if (SKX_BLK_WARMER_STATE(word) == SKX_BLK_WARMER_RUNNING)
			return false;
	} while (!pg_atomic_compare_exchange_u64(warmer, &word,
											 SKX_BLK_WARMER_RUNNING));
	before_shmem_exit(skx_blkio_warmer_end, (Datum) 0);
	return true;
}
