/*
 * blkio_counters.c
 *	  What this backend has read, by method.
 *
 * The counters are plain variables of the process.  When a file is closed, the
 * difference since the last time is added to the totals in shared memory, so
 * that counting costs a scan no atomic operation.
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"

#define SKX_BLK_NCOUNTERS	(sizeof(SkxBlkCounters) / sizeof(uint64))

const char *const skx_blkio_method_names[SKX_BLK_NMETHODS] = {
	[SKX_BLK_SHARED_BUFFERS] = "shared_buffers",
	[SKX_BLK_BUFFERED] = "buffered",
	[SKX_BLK_DIRECT] = "direct",
	[SKX_BLK_URING] = "uring",
	[SKX_BLK_URING_DIRECT] = "uring_direct"
};

SkxBlkCounters skx_blkio_mine[SKX_BLK_NMETHODS];

/* The part of the counts that is in the totals already. */
static SkxBlkCounters skx_blkio_published[SKX_BLK_NMETHODS];

const SkxBlkCounters *
skx_blkio_counters(void)
{
	return skx_blkio_mine;
}

void
skx_blkio_sum(const SkxBlkCounters *counters, SkxBlkCounters *sum)
{
	uint64	   *total = (uint64 *) sum;

	memset(sum, 0, sizeof(*sum));
	for (int m = 0; m < SKX_BLK_NMETHODS; m++)
	{
		const uint64 *n = (const uint64 *) &counters[m];

		for (int i = 0; i < SKX_BLK_NCOUNTERS; i++)
			total[i] += n[i];
	}
}

uint64
skx_blkio_rounds(void)
{
	uint64		rounds = 0;

	for (int m = 0; m < SKX_BLK_NMETHODS; m++)
		rounds += skx_blkio_mine[m].rounds;
	return rounds;
}

void
skx_blkio_counters_publish(void)
{
	const uint64 *now = (const uint64 *) skx_blkio_mine;
	const uint64 *then = (const uint64 *) skx_blkio_published;
	SkxBlkCounters delta[SKX_BLK_NMETHODS];
	uint64	   *n = (uint64 *) delta;

	for (int i = 0; i < SKX_BLK_NMETHODS * SKX_BLK_NCOUNTERS; i++)
		n[i] = now[i] - then[i];
	if (skx_blkio_anchor_add_counters(delta))
		memcpy(skx_blkio_published, skx_blkio_mine, sizeof(skx_blkio_mine));
}

void
skx_blkio_totals(SkxBlkCounters *totals)
{
	(void) skx_blkio_anchor_attach();
	skx_blkio_counters_publish();
	skx_blkio_anchor_read_totals(totals);
}
