/*
 * topk_norms.c
 *	  Norms of a segment as one array.
 *
 * Each posting that gets a score needs the norm of its document, and the
 * documents of a rare word lie on as many pages as it has postings: pinning
 * these would cost more than scoring.  A segment never changes, so a backend
 * keeps what it has read of the norms, one byte a document, for the next
 * search, up to an allowance of work_mem.
 */
#include "postgres.h"

#include "topk/topk_internal.h"

/* A batch that needs this part of a plane brings all of it. */
#define SKX_NORMS_SHARE		16

/*
 * A batch of so many documents that needs this part of the pages it spans
 * brings all of these, in aligned groups: others like it will follow.
 */
#define SKX_NORMS_BATCH		16
#define SKX_NORMS_DENSE		4
#define SKX_NORMS_GROUP		16

void
skx_topk_norms_open(SkxTopkNorms *norms, SkxSegment *seg)
{
	skx_segment_keep_norms(seg);
	norms->seg = seg;
	norms->bytes = seg->kept->norms;
	norms->loaded = norms->bytes + seg->header.ndocs;
	norms->npages = seg->planes[SKX_SEGMENT_NORMS].npages;
	norms->nloaded = &seg->kept->norm_pages;
	norms->run = 0;
}

static void
skx_topk_norms_page(SkxTopkNorms *norms, uint32 page)
{
	SkxSegment *seg = norms->seg;
	uint32		first = page * SKX_NORMS_PER_PAGE;
	const char *content;

	if (norms->loaded[page])
		return;
	content = skx_segment_pin(seg, SKX_SEGMENT_NORMS, page, &seg->norm_ref);
	memcpy(norms->bytes + first, content + SKX_PAGE_START,
		   Min(SKX_NORMS_PER_PAGE, seg->header.ndocs - first));
	norms->loaded[page] = 1;
	(*norms->nloaded)++;
}

/* Reads pages [first, end) that are not there yet, adjacent ones together. */
static void
skx_topk_norms_range(SkxTopkNorms *norms, uint32 first, uint32 end)
{
	uint32		pages[SKX_AHEAD_MAX];

	while (first < end)
	{
		uint32		some = Min(end - first, SKX_AHEAD_MAX);
		int			n = 0;
		uint32		i;

		for (i = first; i < first + some; i++)
			if (!norms->loaded[i])
				pages[n++] = i;
		skx_segment_ask(norms->seg, SKX_SEGMENT_NORMS, pages, n, 2);
		for (i = first; i < first + some; i++)
			skx_topk_norms_page(norms, i);
		first += some;
	}
}

/*
 * Reads the groups of pages [first, last], and the more after them the longer
 * they have been wanted one after the other.
 */
static void
skx_topk_norms_groups(SkxTopkNorms *norms, uint32 first, uint32 last)
{
	uint32		end;

	if (first > 0 && norms->loaded[first - 1])
		norms->run = Min(norms->run * 2, SKX_AHEAD_MAX);
	else
		norms->run = SKX_NORMS_GROUP;
	first -= first % SKX_NORMS_GROUP;
	end = Max(first + norms->run,
			  last - last % SKX_NORMS_GROUP + SKX_NORMS_GROUP);
	skx_topk_norms_range(norms, first, Min(end, norms->npages));
}

/*
 * Reads the pages of ascending documents that are not there yet: all that the
 * batch needs together.  Where that is a good part of the plane, or most of it
 * is there, the rest comes with it, in a few large reads: so that later
 * batches need not ask.
 */
void
skx_topk_norms_load(SkxTopkNorms *norms, const uint32 *docs, int n)
{
	uint32		pages[SKX_SUBBLOCK];
	uint32		limit = 0;
	int			npages = 0;
	int			i;

	Assert(n <= SKX_SUBBLOCK);
	for (i = 0; i < n; i++)
	{
		uint32		page = docs[i] / SKX_NORMS_PER_PAGE;

		if (docs[i] < limit)
			continue;
		limit = (page + 1) * SKX_NORMS_PER_PAGE;
		if (!norms->loaded[page])
			pages[npages++] = page;
	}
	if (npages == 0)
		return;
	if ((*norms->nloaded + npages) * 2 > norms->npages ||
		npages * SKX_NORMS_SHARE > norms->npages)
		skx_topk_norms_range(norms, 0, norms->npages);
	else if (n >= SKX_NORMS_BATCH &&
			 npages * SKX_NORMS_DENSE > pages[npages - 1] - pages[0])
		skx_topk_norms_groups(norms, pages[0], pages[npages - 1]);
	else
	{
		skx_segment_ask(norms->seg, SKX_SEGMENT_NORMS, pages, npages, 2);
		for (i = 0; i < npages; i++)
			skx_topk_norms_page(norms, pages[i]);
	}
	skx_blkio_unpin(norms->seg->file, &norms->seg->norm_ref);
}
