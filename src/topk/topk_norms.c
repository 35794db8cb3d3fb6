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

/*
 * Reads the pages of ascending documents that are not there yet; once half of
 * all are, the others, too, so that nobody has to ask any more.
 */
void
skx_topk_norms_load(SkxTopkNorms *norms, const uint32 *docs, int n)
{
	uint32		limit = 0;
	uint32		page;
	int			i;

	for (i = 0; i < n; i++)
	{
		if (docs[i] < limit)
			continue;
		page = docs[i] / SKX_NORMS_PER_PAGE;
		limit = (page + 1) * SKX_NORMS_PER_PAGE;
		skx_topk_norms_page(norms, page);
	}
	if (*norms->nloaded > norms->npages / 2)
		for (page = 0; page < norms->npages; page++)
			skx_topk_norms_page(norms, page);
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
