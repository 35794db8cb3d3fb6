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

#include "miscadmin.h"
#include "topk/topk_internal.h"
#include "utils/memutils.h"

/* A batch that needs this part of a plane brings all of it. */
#define SKX_NORMS_SHARE		16

/*
 * A batch of so many documents that needs this part of the pages it spans
 * brings all of these, in aligned groups: others like it will follow.
 */
#define SKX_NORMS_BATCH		16
#define SKX_NORMS_DENSE		4
#define SKX_NORMS_GROUP		16

typedef struct SkxKeptNorms
{
	uint64		incarnation;
	uint64		salt;
	uint32		segment;
	uint32		npages;
	uint32		nloaded;
	uint64		used;			/* the larger, the later */
	int			users;			/* searches that have it open */
	Size		size;
	MemoryContext context;		/* of all of it */
	struct SkxKeptNorms *next;
	uint8	   *bytes;
	uint8	   *loaded;
} SkxKeptNorms;

static SkxKeptNorms *skx_topk_kept = NULL;
static uint64 skx_topk_kept_clock = 0;

static SkxKeptNorms *
skx_topk_norms_new(SkxSegment *seg, uint64 incarnation)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext,
												  "skipidx norms",
												  ALLOCSET_SMALL_SIZES);
	uint32		npages = seg->planes[SKX_SEGMENT_NORMS].npages;
	SkxKeptNorms *kept;

	PG_TRY();
	{
		kept = MemoryContextAllocZero(context, sizeof(SkxKeptNorms));
		kept->loaded = MemoryContextAllocZero(context, npages + 1);
		kept->bytes = MemoryContextAllocHuge(context,
											 (Size) seg->header.ndocs + 1);
	}
	PG_CATCH();
	{
		MemoryContextDelete(context);
		PG_RE_THROW();
	}
	PG_END_TRY();
	kept->context = context;
	kept->incarnation = incarnation;
	kept->salt = seg->header.salt;
	kept->segment = seg->header.segment;
	kept->npages = npages;
	kept->size = (Size) seg->header.ndocs + npages;
	kept->next = skx_topk_kept;
	skx_topk_kept = kept;
	return kept;
}

/* The memory of a search goes, after an error too. */
static void
skx_topk_norms_release(void *arg)
{
	SkxKeptNorms *kept = arg;

	kept->users--;
}

void
skx_topk_norms_open(SkxTopkNorms *norms, SkxSegment *seg, uint64 incarnation)
{
	SkxKeptNorms *kept = skx_topk_kept;
	MemoryContextCallback *callback;

	while (kept != NULL &&
		   (kept->incarnation != incarnation ||
			kept->salt != seg->header.salt ||
			kept->segment != seg->header.segment))
		kept = kept->next;
	if (kept == NULL)
		kept = skx_topk_norms_new(seg, incarnation);
	callback = palloc(sizeof(MemoryContextCallback));
	callback->func = skx_topk_norms_release;
	callback->arg = kept;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	kept->users++;
	kept->used = ++skx_topk_kept_clock;
	norms->seg = seg;
	norms->bytes = kept->bytes;
	norms->loaded = kept->loaded;
	norms->npages = kept->npages;
	norms->nloaded = &kept->nloaded;
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
 * is there, the rest comes with it, in a few large reads: so that nobody has to
 * ask any more.
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

/*
 * The segments used last stay, and those that a search has open.
 */
void
skx_topk_norms_trim(void)
{
	Size		allowance = (Size) work_mem * 1024;

	for (;;)
	{
		SkxKeptNorms **oldest = NULL;
		SkxKeptNorms **link;
		SkxKeptNorms *kept;
		Size		total = 0;

		for (link = &skx_topk_kept; *link != NULL; link = &(*link)->next)
		{
			total += (*link)->size;
			if ((*link)->users == 0 &&
				(oldest == NULL || (*link)->used < (*oldest)->used))
				oldest = link;
		}
		if (total <= allowance || oldest == NULL)
			break;
		kept = *oldest;
		*oldest = kept->next;
		MemoryContextDelete(kept->context);
	}
}
