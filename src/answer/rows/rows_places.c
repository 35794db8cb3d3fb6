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

#define SKX_ROWS_CHUNK_KEYS	((uint64) SKX_ROWS_CHUNK_BLOCKS << 16)

/* A key above those of all tids. */
#define SKX_ROWS_KEY_END			PG_UINT64_MAX

/* Capacity for keys at first. */
#define SKX_ROWS_KEYS_INIT			1024

static uint64
skx_tids_document_key(SkxSegment *seg, uint32 doc)
{
	ItemPointerData tid;

	skx_segment_read_tids(seg, doc, 1, &tid);
	return skx_rows_tid_key(&tid);
}

/* Returns the first document from `from` on whose key is not below `key`. */
static uint32
skx_tids_find_document(SkxSegment *seg, uint32 from, uint64 key)
{
	uint32		ndocs = seg->header.ndocs;
	uint32		low = from;		/* the result is not before `low` */
	uint64		step = 1;
	uint32		high;

	while (low + step - 1 < ndocs &&
		   skx_tids_document_key(seg, (uint32) (low + step - 1)) < key)
	{
		low += (uint32) step;
		step *= 2;
	}
	high = (uint32) Min((uint64) low + step - 1, ndocs);
	while (low < high)
	{
		uint32		mid = low + (high - low) / 2;

		if (skx_tids_document_key(seg, mid) < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Returns the first chunk of the slice from `chunk` on. */
static uint64
skx_tids_next_chunk(const SkxRowsSlice *slice, uint64 chunk)
{
	uint64		past = (chunk + slice->shift) % slice->nslices;

	return past <= slice->number ? chunk + (slice->number - past) :
		chunk + (slice->nslices - past) + slice->number;
}

/*
 * Sets [*from, *to) to the next wanted documents of a segment, which are in
 * one chunk of the slice.  Returns false if there are none.
 */
static bool
skx_tids_choose_range(SkxCollector *collector, SkxSegment *seg, uint32 *from,
					  uint32 *to)
{
	const SkxTidCollector *p = (const SkxTidCollector *) collector;
	const SkxRowsSlice *slice = &p->slice;
	uint32		ndocs = seg->header.ndocs;
	uint32		doc = *to;

	/* if `from` is 0, no document comes before it */
	if (doc == 0 && p->from_key > 0)
		doc = skx_tids_find_document(seg, 0, p->from_key);
	while (doc < ndocs)
	{
		uint64		key = skx_tids_document_key(seg, doc);
		uint64		chunk = key / SKX_ROWS_CHUNK_KEYS;
		uint64		own = skx_tids_next_chunk(slice, chunk);

		CHECK_FOR_INTERRUPTS();
		if (key >= p->end_key)
			return false;
		*from = doc;
		*to = ndocs;
		if (slice->nslices == 1)
			return true;
		if (own == chunk)
		{
			*to = skx_tids_find_document(seg, doc, (chunk + 1) *
										 SKX_ROWS_CHUNK_KEYS);
			return true;
		}
		doc = skx_tids_find_document(seg, doc, own * SKX_ROWS_CHUNK_KEYS);
	}
	return false;
}

static int
skx_tids_compare_keys(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	CHECK_FOR_INTERRUPTS();
	return x < y ? -1 : x > y;
}

/* Sorts the keys, and keeps the first `most` of them. */
static void
skx_tids_drop_excess(SkxTidCollector *p)
{
	qsort(p->keys, p->n, sizeof(uint64), skx_tids_compare_keys);
	if (p->n < p->max_rows)
		return;
	p->n = p->max_rows;
	p->end_key = p->keys[p->n - 1];
}

/*
 * Adds a key.  Returns false if neither this key nor a larger one is wanted.
 */
static bool
skx_tids_add_key(SkxTidCollector *p, uint64 key)
{
	if (key >= p->end_key)
		return false;
	if (p->n == p->keys_size)
	{
		p->keys_size = Min(2 * p->keys_size, 2 * p->max_rows);
		p->keys = repalloc_huge(p->keys, sizeof(uint64) * (Size) p->keys_size);
	}
	p->keys[p->n++] = key;
	if (p->n == 2 * p->max_rows ||
		(p->n == p->max_rows && p->end_key == SKX_ROWS_KEY_END))
		skx_tids_drop_excess(p);
	return true;
}

static SkxCollected
skx_tids_collect_matches(SkxCollector *collector, const SkxExecRange *range,
						 uint32 *docs, int n)
{
	SkxTidCollector *p = (SkxTidCollector *) collector;
	int			i;

	if (p->only_nulls)
		n = skx_segment_filter_null(range->segment, docs, n, true);
	skx_segment_read_tids_of(range->segment, docs, n, p->tids);
	for (i = 0; i < n; i++)
		if (!skx_tids_add_key(p, skx_rows_tid_key(&p->tids[i])))
			return SKX_COLLECT_ENOUGH;
	return SKX_COLLECT_MORE;
}

static bool
skx_tids_wants_pending(SkxCollector *collector, const SkxPendingDoc *doc)
{
	const SkxTidCollector *p = (const SkxTidCollector *) collector;
	uint64		key = skx_rows_tid_key(&doc->tid);
	uint64		chunk = key / SKX_ROWS_CHUNK_KEYS;

	return key >= p->from_key && key < p->end_key &&
		skx_tids_next_chunk(&p->slice, chunk) == chunk &&
		(p->wants_pending == NULL || p->wants_pending(doc, p->arg));
}

static bool
skx_tids_collect_pending(SkxCollector *collector, const SkxPendingDoc *doc)
{
	(void) skx_tids_add_key((SkxTidCollector *) collector,
							skx_rows_tid_key(&doc->tid));
	return true;
}

static const SkxCollectorMethods skx_places_methods = {
	.choose_range = skx_tids_choose_range,
	.collect_matches = skx_tids_collect_matches,
	.wants_pending = skx_tids_wants_pending,
	.collect_pending = skx_tids_collect_pending
};

void
skx_rows_tids_begin(SkxTidCollector *p)
{
	p->collector.methods = &skx_places_methods;
	p->keys_size = SKX_ROWS_KEYS_INIT;
	p->keys = palloc(sizeof(uint64) * p->keys_size);
	p->tids = palloc(sizeof(ItemPointerData) * SKX_QUERY_BATCH_DOCS);
}

void
skx_rows_first_tids(SkxTidCollector *p, const SkxRequest *request)
{
	SkxExec    *exec = skx_exec_begin(request, &p->collector);

	p->n = 0;
	p->end_key = SKX_ROWS_KEY_END;
	(void) skx_exec_next(exec);
	skx_exec_end(exec);
	skx_tids_drop_excess(p);
}
