/*
 * segment_norms.c
 *	  Reads the norms of documents from cached pages without a pin.
 *
 * Each posting that is scored needs the norm of its document.  The documents
 * of a rare term are on as many pages of norms as it has postings.  To pin
 * all these pages would cost more than scoring, and a copy of all norms would
 * take memory that grows with the segment.  So norms are read without a pin
 * (skx_blkio_optimistic_read()).  A page is pinned only if this backend has
 * not noted its address in the cache, or the page was evicted since.
 */
#include "postgres.h"

#include "format/disk/disk_page.h"
#include "index/segment/segment.h"

/*
 * The whole plane is read if a batch needs 1/SKX_NORMS_READ_ALL_FRACTION of
 * its pages.
 */
#define SKX_NORMS_READ_ALL_FRACTION		16

/*
 * A batch of at least SKX_NORMS_BATCH_DOCS documents is dense if it needs
 * 1/SKX_NORMS_DENSE_FRACTION of the pages from its first to its last.  Then
 * all of these are read, in aligned groups of SKX_NORMS_GROUP_PAGES pages,
 * since similar batches are likely to follow.
 */
#define SKX_NORMS_BATCH_DOCS		16
#define SKX_NORMS_DENSE_FRACTION		4
#define SKX_NORMS_GROUP_PAGES		16

/* Pages that are prefetched before the first of them is pinned. */
#define SKX_NORMS_PREFETCH_PAGES	1024

/* Number of documents of a batch, at most, whose pages are looked up. */
#define SKX_NORMS_SAMPLE_DOCS	16

/* Documents first to end - 1 of a batch, whose norms are on the same page. */
typedef struct SkxNormsRun
{
	uint32		page;
	int			first;
	int			end;
} SkxNormsRun;

/*
 * Makes a page that of norm_glance, and returns false if that is not possible
 * without a pin.  The caller reads norms from it, and must then check with
 * skx_blkio_optimistic_is_valid() that these were valid.
 */
static inline bool
skx_segment_norms_begin(SkxSegment *seg, uint32 page)
{
	seg->norm_count = 0;
	if (!skx_blkio_optimistic_read(seg->file, &seg->planes[SKX_SEGMENT_NORMS],
								   page, &seg->norm_page))
		return false;
	seg->norm_first = page * SKX_NORMS_PER_PAGE;
	seg->norm_count = SKX_NORMS_PER_PAGE;
	return true;
}

/* Pins a page of norms, and notes it for later glances. */
static const char *
skx_segment_norms_pin(SkxSegment *seg, uint32 page)
{
	const char *content = skx_segment_pin(seg, SKX_SEGMENT_NORMS, page,
										  &seg->norm_ref);

	skx_blkio_remember_page(seg->file, &seg->norm_ref);
	return content;
}

uint8
skx_segment_norm_pinned(SkxSegment *seg, uint32 doc)
{
	uint32		page = doc / SKX_NORMS_PER_PAGE;
	uint32		at = SKX_PAGE_START + doc % SKX_NORMS_PER_PAGE;
	uint8		norm;

	if (skx_segment_norms_begin(seg, page))
	{
		norm = (uint8) seg->norm_page.page[at];
		if (skx_blkio_optimistic_is_valid(&seg->norm_page))
			return norm;
		seg->norm_count = 0;
	}
	norm = (uint8) skx_segment_norms_pin(seg, page)[at];
	skx_blkio_unpin(seg->file, &seg->norm_ref);
	return norm;
}

/*
 * Prefetches pages [first, end), without those that this backend can read
 * without a pin.
 */
static void
skx_segment_norms_prefetch_range(SkxSegment *seg, uint32 first, uint32 end)
{
	const SkxBlkPlane *plane = &seg->planes[SKX_SEGMENT_NORMS];

	while (first < end)
	{
		uint32		pages[SKX_PREFETCH_UNITS_MAX];
		SkxBlkOptimisticRead glance;
		int			n = 0;

		for (; first < end && n < SKX_PREFETCH_UNITS_MAX; first++)
			if (!skx_blkio_optimistic_read(seg->file, plane, first, &glance))
				pages[n++] = first;
		skx_segment_prefetch_pages(seg, SKX_SEGMENT_NORMS, pages, n, 2);
	}
}

/*
 * Reads pages [first, end) into the cache, SKX_NORMS_PREFETCH_PAGES at a time.
 */
static void
skx_segment_norms_read_range(SkxSegment *seg, uint32 first, uint32 end)
{
	const SkxBlkPlane *plane = &seg->planes[SKX_SEGMENT_NORMS];

	while (first < end)
	{
		uint32		stop = Min(end, first + SKX_NORMS_PREFETCH_PAGES);
		SkxBlkOptimisticRead glance;

		skx_segment_norms_prefetch_range(seg, first, stop);
		for (; first < stop; first++)
			if (!skx_blkio_optimistic_read(seg->file, plane, first, &glance))
				(void) skx_segment_norms_pin(seg, first);
	}
}

/*
 * Reads the aligned groups with the pages from `first` to `last`.  While
 * requests are sequential, also reads pages after them: twice as many at each
 * request, up to SKX_PREFETCH_UNITS_MAX.
 */
static void
skx_segment_norms_read_groups(SkxSegment *seg, uint32 first, uint32 last)
{
	uint32		npages = seg->planes[SKX_SEGMENT_NORMS].npages;
	uint32		end;

	if (first > 0 && first <= seg->norm_prefetched_to)
		seg->norm_prefetch_pages = Min(seg->norm_prefetch_pages * 2,
									   SKX_PREFETCH_UNITS_MAX);
	else
		seg->norm_prefetch_pages = SKX_NORMS_GROUP_PAGES;
	first -= first % SKX_NORMS_GROUP_PAGES;
	end = Max(first + seg->norm_prefetch_pages,
			  last - last % SKX_NORMS_GROUP_PAGES + SKX_NORMS_GROUP_PAGES);
	seg->norm_prefetched_to = Min(end, npages);
	skx_segment_norms_read_range(seg, first, seg->norm_prefetched_to);
}

/*
 * Prefetches the pages of a batch.  While each batch begins soon after the
 * pages that were read for the one before, also reads the pages that are
 * likely to be needed next: 1, 2, 4, ... pages from the last one on.
 */
static void
skx_segment_norms_prefetch_batch(SkxSegment *seg, const SkxNormsRun *runs,
								 int nruns)
{
	uint32		last = runs[nruns - 1].page;
	uint32		pages[SKX_SUBBLOCK];
	int			i;

	for (i = 0; i < nruns; i++)
		pages[i] = runs[i].page;
	skx_segment_prefetch_pages(seg, SKX_SEGMENT_NORMS, pages, nruns, 2);
	if (runs[0].page >= seg->norm_prefetched_to &&
		runs[0].page - seg->norm_prefetched_to < seg->norm_prefetch_pages)
		seg->norm_prefetch_pages = Min(seg->norm_prefetch_pages * 2,
									   SKX_PREFETCH_UNITS_MAX);
	else
		seg->norm_prefetch_pages = 1;
	seg->norm_prefetched_to = Min(last + seg->norm_prefetch_pages,
								  seg->planes[SKX_SEGMENT_NORMS].npages);
	if (seg->norm_prefetch_pages > 1)
		skx_segment_norms_read_range(seg, last, seg->norm_prefetched_to);
}

/* Returns true if the page of at least one of n runs is not cached. */
static bool
skx_segment_norms_are_uncached(SkxSegment *seg, const SkxNormsRun *runs, int n)
{
	int			i;

	for (i = 0; i < n; i++)
		if (!skx_blkio_page_is_cached(seg->file,
									  &seg->planes[SKX_SEGMENT_NORMS],
									  runs[i].page))
			return true;
	return false;
}

/*
 * Prefetches the pages of the runs of a batch of n documents, unless all are
 * cached.  Reads the whole plane once, in a few large reads, if the batch
 * needs a large part of it, or loads so far add up to half of its pages.
 * Later batches then need no reads.
 */
static void
skx_segment_norms_prefetch_runs(SkxSegment *seg, const SkxNormsRun *runs,
								int nruns, int n)
{
	const SkxBlkPlane *plane = &seg->planes[SKX_SEGMENT_NORMS];
	uint32		first = runs[0].page;
	uint32		last = runs[nruns - 1].page;
	uint32		room = skx_blkio_warmable_pages(seg->file, plane);

	if (!skx_segment_norms_are_uncached(seg, runs, nruns))
		return;
	seg->norm_page_loads += nruns;
	if (plane->npages <= room && !seg->norms_read_all &&
		(seg->norm_page_loads * 2 > plane->npages ||
		 nruns * SKX_NORMS_READ_ALL_FRACTION > plane->npages))
	{
		seg->norms_read_all = true;
		skx_segment_norms_read_range(seg, 0, plane->npages);
	}
	else if (n >= SKX_NORMS_BATCH_DOCS &&
			 nruns * SKX_NORMS_DENSE_FRACTION > last - first &&
			 last - first + SKX_PREFETCH_UNITS_MAX <= room)
		skx_segment_norms_read_groups(seg, first, last);
	else
		skx_segment_norms_prefetch_batch(seg, runs, nruns);
}

/*
 * Reads the norms of those documents of a batch that are in the runs, whose
 * pages must be pinned.
 */
static void
skx_segment_norms_load(SkxSegment *seg, const SkxNormsRun *runs, int nruns,
					   const uint32 *docs, int n, uint8 *norms)
{
	int			i;
	int			k;

	skx_segment_norms_prefetch_runs(seg, runs, nruns, n);
	for (k = 0; k < nruns; k++)
	{
		const char *content = skx_segment_norms_pin(seg, runs[k].page);

		for (i = runs[k].first; i < runs[k].end; i++)
			norms[i] = (uint8) content[SKX_PAGE_START +
									   docs[i] % SKX_NORMS_PER_PAGE];
	}
	skx_blkio_unpin(seg->file, &seg->norm_ref);
}

/*
 * Copies the norms of documents docs[i], docs[i + 1], ..., as long as they
 * are on the page of norm_glance.  That of docs[i] must be.  Returns the
 * number of the first document that is on another page, or n.
 */
static inline int
skx_segment_norms_copy(const SkxSegment *seg, const uint32 *docs, int i, int n,
					   uint8 *restrict norms)
{
	const uint8 *content = (const uint8 *) seg->norm_page.page +
		SKX_PAGE_START;
	uint32		first = seg->norm_first;

	if (docs[n - 1] - first < SKX_NORMS_PER_PAGE)
		for (; i < n; i++)
			norms[i] = content[docs[i] - first];
	else
		for (; docs[i] - first < SKX_NORMS_PER_PAGE; i++)
			norms[i] = content[docs[i] - first];
	return i;
}

void
skx_segment_norms(SkxSegment *seg, const uint32 *docs, int n, uint8 *norms)
{
	SkxNormsRun missed[SKX_SUBBLOCK];
	int			nmissed = 0;
	int			i = 0;

	Assert(n <= SKX_SUBBLOCK);
	while (i < n)
	{
		int			first = i;
		uint32		page;
		uint32		limit;

		if (docs[i] - seg->norm_first < seg->norm_count ||
			skx_segment_norms_begin(seg, docs[i] / SKX_NORMS_PER_PAGE))
		{
			i = skx_segment_norms_copy(seg, docs, i, n, norms);
			if (skx_blkio_optimistic_is_valid(&seg->norm_page))
				continue;
			seg->norm_count = 0;
			i = first;
		}
		page = docs[i] / SKX_NORMS_PER_PAGE;
		limit = (page + 1) * SKX_NORMS_PER_PAGE;
		while (i < n && docs[i] < limit)
			i++;
		missed[nmissed].page = page;
		missed[nmissed].first = first;
		missed[nmissed++].end = i;
	}
	if (nmissed > 0)
		skx_segment_norms_load(seg, missed, nmissed, docs, n, norms);
}

void
skx_segment_load_norms(SkxSegment *seg, const uint32 *docs, int n)
{
	uint8		norms[SKX_SUBBLOCK];

	if (!skx_segment_is_warm(seg))
		skx_segment_norms(seg, docs, n, norms);
}

/*
 * Returns true if the pages with the norms of n documents are cached, judged
 * by at most SKX_NORMS_SAMPLE_DOCS of the documents.
 */
static bool
skx_segment_norms_are_cached(SkxSegment *seg, const uint32 *docs, int n)
{
	const SkxBlkPlane *plane = &seg->planes[SKX_SEGMENT_NORMS];
	int			step = (n - 1) / SKX_NORMS_SAMPLE_DOCS + 1;
	SkxBlkOptimisticRead glance;
	int			i;

	for (i = 0; i < n; i += step)
	{
		uint32		page = docs[i] / SKX_NORMS_PER_PAGE;

		if (!skx_blkio_optimistic_read(seg->file, plane, page, &glance) &&
			!skx_blkio_page_is_cached(seg->file, plane, page))
			return false;
	}
	return true;
}

void
skx_segment_read_all_norms(SkxSegment *seg)
{
	if (seg->norms_read_all ||
		!skx_segment_should_read_all(seg, SKX_SEGMENT_NORMS))
		return;
	seg->norms_read_all = true;
	skx_segment_norms_read_range(seg, 0,
								 seg->planes[SKX_SEGMENT_NORMS].npages);
}

bool
skx_segment_has_norms(SkxSegment *seg, const uint32 *docs, int n)
{
	const SkxBlkPlane *plane = &seg->planes[SKX_SEGMENT_NORMS];

	if (skx_segment_is_warm(seg) || skx_segment_norms_are_cached(seg, docs, n))
		return true;
	if (++seg->session->norms_refused < plane->npages ||
		plane->npages > skx_blkio_warmable_pages(seg->file, plane))
	{
		seg->norms_refused = true;
		return false;
	}
	seg->session->norms_refused = 0;
	seg->norms_read_all = true;
	skx_segment_norms_read_range(seg, 0, plane->npages);
	return true;
}
