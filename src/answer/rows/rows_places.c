/*
 * rows_places.c
 *	  A collector of the first matches, from a key on, in the order of their
 *	  tids.
 *
 * Documents of a segment have the order of their tids.  Once as many rows are
 * held as are wanted, a segment is done at the first document that comes after
 * all of these.
 *
 * A slice is every n-th chunk of blocks of the table.  In a segment that is a
 * number of ranges of documents.  The first document of a chunk is found by
 * its tid, in steps that double and then halve.  The posting lists skip the
 * documents between two chunks of the slice.
 */
#include "postgres.h"

#include "answer/rows/rows.h"
#include "miscadmin.h"

#define SKX_ROWS_CHUNK_KEYS	((uint64) SKX_ROWS_CHUNK << 16)

/* A key above those of all tids. */
#define SKX_ROWS_NEVER			PG_UINT64_MAX

/* Capacity for keys at first. */
#define SKX_ROWS_ROOM			1024

static uint64
skx_places_key_of(SkxSegment *seg, uint32 doc)
{
	ItemPointerData tid;

	skx_segment_tids(seg, doc, 1, &tid);
	return skx_rows_key(&tid);
}

/* Returns the first document from `from` on whose key is not below `key`. */
static uint32
skx_places_find(SkxSegment *seg, uint32 from, uint64 key)
{
	uint32		ndocs = seg->header.ndocs;
	uint32		low = from;		/* the result is not before `low` */
	uint64		step = 1;
	uint32		high;

	while (low + step - 1 < ndocs &&
		   skx_places_key_of(seg, (uint32) (low + step - 1)) < key)
	{
		low += (uint32) step;
		step *= 2;
	}
	high = (uint32) Min((uint64) low + step - 1, ndocs);
	while (low < high)
	{
		uint32		mid = low + (high - low) / 2;

		if (skx_places_key_of(seg, mid) < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Returns the first chunk of the slice from `chunk` on. */
static uint64
skx_places_chunk(const SkxRowsSlice *slice, uint64 chunk)
{
	uint64		past = (chunk + slice->shift) % slice->slices;

	return past <= slice->slice ? chunk + (slice->slice - past) :
		chunk + (slice->slices - past) + slice->slice;
}

/*
 * Sets [*from, *to) to the next wanted documents of a segment, which are in
 * one chunk of the slice.  Returns false if there are none.
 */
static bool
skx_places_range(SkxCollector *collector, SkxSegment *seg, uint32 *from,
				 uint32 *to)
{
	const SkxRowPlaces *p = (const SkxRowPlaces *) collector;
	const SkxRowsSlice *slice = &p->slice;
	uint32		ndocs = seg->header.ndocs;
	uint32		doc = *to;

	/* if `from` is 0, no document comes before it */
	if (doc == 0 && p->from > 0)
		doc = skx_places_find(seg, 0, p->from);
	while (doc < ndocs)
	{
		uint64		key = skx_places_key_of(seg, doc);
		uint64		chunk = key / SKX_ROWS_CHUNK_KEYS;
		uint64		own = skx_places_chunk(slice, chunk);

		CHECK_FOR_INTERRUPTS();
		if (key >= p->beyond)
			return false;
		*from = doc;
		*to = ndocs;
		if (slice->slices == 1)
			return true;
		if (own == chunk)
		{
			*to = skx_places_find(seg, doc, (chunk + 1) *
								  SKX_ROWS_CHUNK_KEYS);
			return true;
		}
		doc = skx_places_find(seg, doc, own * SKX_ROWS_CHUNK_KEYS);
	}
	return false;
}

static int
skx_places_compare(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	CHECK_FOR_INTERRUPTS();
	return x < y ? -1 : x > y;
}

/* Sorts the keys, and keeps the first `most` of them. */
static void
skx_places_cut(SkxRowPlaces *p)
{
	qsort(p->keys, p->n, sizeof(uint64), skx_places_compare);
	if (p->n < p->most)
		return;
	p->n = p->most;
	p->beyond = p->keys[p->n - 1];
}

/*
 * Adds a key.  Returns false if neither this key nor a larger one is wanted.
 */
static bool
skx_places_add(SkxRowPlaces *p, uint64 key)
{
	if (key >= p->beyond)
		return false;
	if (p->n == p->room)
	{
		p->room = Min(2 * p->room, 2 * p->most);
		p->keys = repalloc_huge(p->keys, sizeof(uint64) * (Size) p->room);
	}
	p->keys[p->n++] = key;
	if (p->n == 2 * p->most ||
		(p->n == p->most && p->beyond == SKX_ROWS_NEVER))
		skx_places_cut(p);
	return true;
}

static SkxCollected
skx_places_collect(SkxCollector *collector, const SkxExecRange *range,
				   uint32 *docs, int n)
{
	SkxRowPlaces *p = (SkxRowPlaces *) collector;
	int			i;

	if (p->nulls)
		n = skx_segment_keep_null(range->segment, docs, n, true);
	skx_segment_tids_of(range->segment, docs, n, p->tids);
	for (i = 0; i < n; i++)
		if (!skx_places_add(p, skx_rows_key(&p->tids[i])))
			return SKX_COLLECT_ENOUGH;
	return SKX_COLLECT_MORE;
}

static bool
skx_places_wants(SkxCollector *collector, const SkxPendingDoc *doc)
{
	const SkxRowPlaces *p = (const SkxRowPlaces *) collector;
	uint64		key = skx_rows_key(&doc->tid);
	uint64		chunk = key / SKX_ROWS_CHUNK_KEYS;

	return key >= p->from && key < p->beyond &&
		skx_places_chunk(&p->slice, chunk) == chunk &&
		(p->wants == NULL || p->wants(doc, p->arg));
}

static bool
skx_places_pending(SkxCollector *collector, const SkxPendingDoc *doc)
{
	(void) skx_places_add((SkxRowPlaces *) collector, skx_rows_key(&doc->tid));
	return true;
}

static const SkxCollectorMethods skx_places_methods = {
	.range = skx_places_range,
	.collect = skx_places_collect,
	.wants = skx_places_wants,
	.pending = skx_places_pending
};

void
skx_rows_places_begin(SkxRowPlaces *p)
{
	p->collector.methods = &skx_places_methods;
	p->room = SKX_ROWS_ROOM;
	p->keys = palloc(sizeof(uint64) * p->room);
	p->tids = palloc(sizeof(ItemPointerData) * SKX_QUERY_DOCS);
}

void
skx_rows_places(SkxRowPlaces *p, const SkxRequest *request)
{
	SkxExec    *exec = skx_exec_begin(request, &p->collector);

	p->n = 0;
	p->beyond = SKX_ROWS_NEVER;
	(void) skx_exec_next(exec);
	skx_exec_end(exec);
	skx_places_cut(p);
}
