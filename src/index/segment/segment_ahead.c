/*
 * segment_ahead.c
 *	  Prefetches pages of a segment before they are pinned.
 */
#include "postgres.h"

#include "index/segment/segment.h"

/*
 * A plane that takes at most 1/SKX_READ_ALL_FRACTION of
 * skx_blkio_warmable_pages() is read as a whole by the first ranked search
 * that has to read anything.
 */
#define SKX_READ_ALL_FRACTION		4

/* Number of pages of a plane, approximately, that are tested for the cache. */
#define SKX_READ_ALL_SAMPLE	16

/*
 * A plane lacks pages if more than 1/SKX_UNCACHED_FRACTION of it is not
 * cached.
 */
#define SKX_UNCACHED_FRACTION		8

uint64		skx_segment_asked;

void
skx_segment_prefetch(SkxBlkFile *file, const SkxBlkPlane *plane,
					 const uint32 *ordinals, int n)
{
	if (n == 0)
		return;
	skx_segment_asked += n;
	skx_blkio_prefetch(file, plane, ordinals, n);
}

uint64
skx_segment_nloads(void)
{
	const SkxBlkCounters *counters = skx_blkio_counters();
	uint64		reads = 0;

	for (int i = 0; i < SKX_BLK_NMETHODS; i++)
		reads += counters[i].loads + counters[i].prefetches;
	return reads;
}

bool
skx_segment_has_read(uint64 *seen)
{
	uint64		now = skx_segment_nloads();
	bool		cold = now != *seen;

	*seen = now;
	return cold;
}

/* Returns the estimated number of pages of a plane that are not cached. */
static uint32
skx_segment_uncached_pages(SkxSegment *seg, SkxSegmentPlane which)
{
	const SkxBlkPlane *plane = &seg->planes[which];
	uint32		step = plane->npages / SKX_READ_ALL_SAMPLE + 1;
	uint32		missing = 0;
	uint32		page;

	for (page = step / 2; page < plane->npages; page += step)
		if (!skx_blkio_page_is_cached(seg->file, plane, page))
			missing += step;
	return missing;
}

bool
skx_segment_should_read_all(SkxSegment *seg, SkxSegmentPlane which)
{
	const SkxBlkPlane *plane = &seg->planes[which];

	return seg->prefetch_units > 0 &&
		plane->npages <= skx_blkio_warmable_pages(seg->file, plane) /
		SKX_READ_ALL_FRACTION &&
		skx_segment_uncached_pages(seg, which) > 0;
}

bool
skx_segment_is_mostly_uncached(SkxSegment *seg, SkxSegmentPlane which)
{
	return skx_segment_uncached_pages(seg, which) >
		seg->planes[which].npages / SKX_UNCACHED_FRACTION;
}

static int
skx_segment_page_order(const void *a, const void *b)
{
	uint32		x = *(const uint32 *) a;
	uint32		y = *(const uint32 *) b;

	return (x > y) - (x < y);
}

void
skx_segment_prefetch_pages(SkxSegment *seg, SkxSegmentPlane plane,
						   uint32 *pages, int n, int least)
{
	uint32		unit = seg->planes[plane].unit;
	int			kept = 0;
	int			i;

	if (seg->prefetch_units == 0)
		return;
	qsort(pages, n, sizeof(uint32), skx_segment_page_order);
	for (i = 0; i < n; i++)
	{
		if (kept == 0 || pages[i] / unit != pages[kept - 1] / unit)
			pages[kept++] = pages[i];
	}
	if (kept >= least)
		skx_segment_prefetch(seg->file, &seg->planes[plane], pages, kept);
}

void
skx_segment_prefetch_next(SkxSegment *seg, SkxSegmentPlane plane, uint32 at,
						  uint32 end, uint32 *asked)
{
	uint32		pages[2 * SKX_PREFETCH_UNITS_MAX];
	uint32		unit = seg->planes[plane].unit;
	uint32		here = at / unit;
	uint32		next = Max(*asked, here + 1);
	uint32		ahead = Max(seg->prefetch_units / unit, 2);
	uint32		stop = Min(here + 1 + 2 * ahead, (end - 1) / unit + 1);
	int			n = 0;

	/*
	 * Several such readers read at the same time, so each has few large units
	 * in flight, or many small ones.
	 */
	if (seg->prefetch_units == 0 || next > here + ahead || next >= stop)
		return;
	while (next < stop)
		pages[n++] = next++ * unit;
	*asked = next;
	skx_segment_prefetch(seg->file, &seg->planes[plane], pages, n);
}
