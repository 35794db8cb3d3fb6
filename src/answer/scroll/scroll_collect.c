/*
 * scroll_collect.c
 *	  The collector of a scroll: the matches with the first places behind one.
 *
 * Documents of a segment have the order of their places.  Once as many are held
 * as are wanted, a segment is done with the first document that comes behind
 * all of these.
 *
 * A slice is every n-th chunk of blocks of the table.  Of a segment that is
 * ranges of documents: where a chunk begins is found among the places of the
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

/* The next documents in a chunk of the slice, behind the place to go on from. */
static bool
skx_scroll_range(SkxCollector *collector, SkxSegment *seg, uint32 *from,
				 uint32 *to)
{
	const SkxScroll *s = (const SkxScroll *) collector;
	const SkxScrollSlice *slice = &s->request->slice;
	uint32		ndocs = seg->header.ndocs;
	uint32		doc = *to;

	/* nothing lies before a first page */
	if (doc == 0 && s->from > 0)
		doc = skx_scroll_find(seg, 0, s->from);
	while (doc < ndocs)
	{
		uint64		key = skx_scroll_key_of(seg, doc);
		uint64		chunk = key / SKX_SCROLL_CHUNK_KEYS;
		uint64		own = skx_scroll_chunk(slice, chunk);

		CHECK_FOR_INTERRUPTS();
		if (key >= s->beyond)
			return false;
		*from = doc;
		*to = ndocs;
		if (slice->slices == 1)
			return true;
		if (own == chunk)
		{
			*to = skx_scroll_find(seg, doc, (chunk + 1) *
								  SKX_SCROLL_CHUNK_KEYS);
			return true;
		}
		doc = skx_scroll_find(seg, doc, own * SKX_SCROLL_CHUNK_KEYS);
	}
	return false;
}

static int
skx_scroll_compare(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	CHECK_FOR_INTERRUPTS();
	return x < y ? -1 : x > y;
}

/* Leaves the first ones of those held, in their order. */
static void
skx_scroll_cut(SkxScroll *s)
{
	qsort(s->keys, s->n, sizeof(uint64), skx_scroll_compare);
	if (s->n < s->most)
		return;
	s->n = s->most;
	s->beyond = s->keys[s->n - 1];
}

/* False: neither this place nor one behind it is wanted. */
static bool
skx_scroll_add(SkxScroll *s, uint64 key)
{
	if (key >= s->beyond)
		return false;
	if (s->n == s->room)
	{
		s->room = Min(2 * s->room, 2 * s->most);
		s->keys = repalloc_huge(s->keys, sizeof(uint64) * (Size) s->room);
	}
	s->keys[s->n++] = key;
	if (s->n == 2 * s->most ||
		(s->n == s->most && s->beyond == SKX_SCROLL_NEVER))
		skx_scroll_cut(s);
	return true;
}

static SkxCollected
skx_scroll_collect(SkxCollector *collector, const SkxExecRange *range,
				   uint32 *docs, int n)
{
	SkxScroll  *s = (SkxScroll *) collector;
	int			i;

	skx_segment_tids_of(range->segment, docs, n, s->tids);
	for (i = 0; i < n; i++)
		if (!skx_scroll_add(s, skx_scroll_key(&s->tids[i])))
			return SKX_COLLECT_ENOUGH;
	return SKX_COLLECT_MORE;
}

static bool
skx_scroll_pending(SkxCollector *collector, const SkxPendingDoc *doc)
{
	SkxScroll  *s = (SkxScroll *) collector;
	uint64		key = skx_scroll_key(&doc->tid);
	uint64		chunk = key / SKX_SCROLL_CHUNK_KEYS;

	if (key >= s->from && skx_scroll_chunk(&s->request->slice, chunk) == chunk)
		(void) skx_scroll_add(s, key);
	return true;
}

static const SkxCollectorMethods skx_scroll_methods = {
	.range = skx_scroll_range,
	.collect = skx_scroll_collect,
	.pending = skx_scroll_pending
};

void
skx_scroll_collect_begin(SkxScroll *s)
{
	s->collector.methods = &skx_scroll_methods;
	s->room = SKX_SCROLL_BATCH;
	s->keys = palloc(sizeof(uint64) * s->room);
	s->tids = palloc(sizeof(ItemPointerData) * SKX_QUERY_DOCS);
}

void
skx_scroll_places(SkxScroll *s)
{
	SkxExec    *exec = skx_exec_begin(&s->request->of, &s->collector);

	s->n = 0;
	s->beyond = SKX_SCROLL_NEVER;
	(void) skx_exec_next(exec);
	skx_exec_end(exec);
	skx_scroll_cut(s);
}
