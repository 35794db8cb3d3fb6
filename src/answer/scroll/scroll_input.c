/*
 * scroll_input.c
 *	  Matches in the order of their places: of a segment, whose documents have
 *	  that order, and of the pending documents, which are sorted.
 *
 * A slice is every n-th chunk of blocks of the table.  Of a segment that is
 * stretches of documents: where a chunk begins is found among the places of the
 * documents, by steps that double and then halve, and what lies between two
 * chunks of the slice is passed over by the lists' own skips.
 */
#include "postgres.h"

#include "answer/scroll/scroll_internal.h"
#include "miscadmin.h"

#define SKX_SCROLL_CHUNK_KEYS	((uint64) SKX_SCROLL_CHUNK << 16)

static uint64
skx_scroll_key_of(SkxSegment *seg, uint32 doc)
{
	ItemPointerData tid;

	skx_segment_tids(seg, doc, 1, &tid);
	return skx_scroll_key(&tid);
}

/* The first document from `from` on whose key is not below `key`. */
static uint32
skx_scroll_find(SkxSegment *seg, uint32 from, uint64 key)
{
	uint32		ndocs = seg->header.ndocs;
	uint32		low = from;		/* none before it is the one */
	uint64		step = 1;
	uint32		high;

	while (low + step - 1 < ndocs &&
		   skx_scroll_key_of(seg, (uint32) (low + step - 1)) < key)
	{
		low += (uint32) step;
		step *= 2;
	}
	high = (uint32) Min((uint64) low + step - 1, ndocs);
	while (low < high)
	{
		uint32		mid = low + (high - low) / 2;

		if (skx_scroll_key_of(seg, mid) < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Chunks from this one on: the first of the slice. */
static uint64
skx_scroll_chunk(const SkxScrollSlice *slice, uint64 chunk)
{
	uint64		past = (chunk + slice->shift) % slice->slices;

	return past <= slice->slice ? chunk + (slice->slice - past) :
		chunk + (slice->slices - past) + slice->slice;
}

/* The next stretch of documents in a chunk of the slice; false: none. */
static bool
skx_scroll_stretch(SkxScrollInput *input)
{
	const SkxScrollSlice *slice = &input->request->slice;
	uint32		ndocs = input->seg->header.ndocs;
	uint32		from = input->to;

	while (from < ndocs)
	{
		uint64		chunk;
		uint64		own;

		CHECK_FOR_INTERRUPTS();
		input->from = from;
		input->to = ndocs;
		if (slice->slices == 1)
			return true;
		chunk = skx_scroll_key_of(input->seg, from) / SKX_SCROLL_CHUNK_KEYS;
		own = skx_scroll_chunk(slice, chunk);
		if (own == chunk)
		{
			input->to = skx_scroll_find(input->seg, from, (chunk + 1) *
										SKX_SCROLL_CHUNK_KEYS);
			return true;
		}
		from = skx_scroll_find(input->seg, from, own * SKX_SCROLL_CHUNK_KEYS);
	}
	return false;
}

/* The next matches of a segment; false: there are none. */
static bool
skx_scroll_fill(SkxScrollInput *input)
{
	input->at = 0;
	for (;;)
	{
		input->n = input->from < input->to ?
			skx_query_visit(input->visit, input->from, input->to,
							input->docs) : 0;
		if (input->n > 0)
		{
			input->from = input->docs[input->n - 1] + 1;
			skx_segment_tids_of(input->seg, input->docs, input->n,
								input->tids);
			return true;
		}
		if (!skx_scroll_stretch(input))
			return false;
	}
}

void
skx_scroll_input_next(SkxScrollInput *input)
{
	input->at++;
	if (input->at >= input->n &&
		(input->seg == NULL || !skx_scroll_fill(input)))
		input->now = SKX_SCROLL_END;
	else
		input->now = skx_scroll_key(&input->tids[input->at]);
}

void
skx_scroll_input_segment(SkxScrollInput *input,
						 const SkxScrollRequest *request, SkxSegment *seg)
{
	memset(input, 0, sizeof(*input));
	input->request = request;
	input->seg = seg;
	input->visit = skx_query_visit_open(seg, request->query);
	input->docs = palloc(sizeof(uint32) * SKX_QUERY_DOCS);
	input->tids = palloc(sizeof(ItemPointerData) * SKX_QUERY_DOCS);
	/* nothing lies before a first page */
	input->from = input->to = request->from == 0 ? 0 :
		skx_scroll_find(seg, 0, request->from);
	input->at = -1;
	skx_scroll_input_next(input);
}

static bool
skx_scroll_document(const SkxPendingDoc *doc, void *arg)
{
	SkxScrollInput *input = arg;
	const SkxScrollRequest *request = input->request;
	uint64		key = skx_scroll_key(&doc->tid);
	uint64		chunk = key / SKX_SCROLL_CHUNK_KEYS;

	if (key < request->from ||
		skx_scroll_chunk(&request->slice, chunk) != chunk ||
		!skx_query_matches(request->query, doc->value))
		return true;
	if (input->n == input->size)
	{
		input->size *= 2;
		input->tids = repalloc_huge(input->tids, sizeof(ItemPointerData) *
									(Size) input->size);
	}
	input->tids[input->n++] = doc->tid;
	return true;
}

static int
skx_scroll_compare(const void *a, const void *b)
{
	uint64		x = skx_scroll_key(a);
	uint64		y = skx_scroll_key(b);

	CHECK_FOR_INTERRUPTS();
	return x < y ? -1 : x > y;
}

void
skx_scroll_input_pending(SkxScrollInput *input,
						 const SkxScrollRequest *request, SkxSource *source)
{
	memset(input, 0, sizeof(*input));
	input->request = request;
	input->size = SKX_QUERY_BATCH;
	input->tids = palloc(sizeof(ItemPointerData) * input->size);
	(void) skx_snapshot_pending(source, NULL, skx_scroll_document, input);
	qsort(input->tids, input->n, sizeof(ItemPointerData), skx_scroll_compare);
	input->at = -1;
	skx_scroll_input_next(input);
}

void
skx_scroll_input_close(SkxScrollInput *input)
{
	if (input->visit != NULL)
		skx_query_visit_close(input->visit);
}
