/*
 * topk_hits.c
 *	  The best documents so far, and their rows in order.
 *
 * Hits are ordered by sum, then by tid.  Within a segment, tids have the order
 * of documents, so they are looked up only if two segments have the same sum.
 * Once the capacity is reached, the best hits are a heap with the worst one on
 * top.  Two radix sorts make rows of them.  The first one, by segment and
 * document, mostly has nothing to do.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"
#include "answer/topk/topk_sort.h"
#include "miscadmin.h"
#include "support/fault/fault.h"

ItemPointerData
skx_topk_hit_tid(SkxTopk *topk, const SkxTopkDoc *hit)
{
	ItemPointerData tid;

	if (hit->segment < 0)
		return topk->pending[hit->doc].tid;
	skx_segment_read_tids_of(topk->segments[hit->segment].seg, &hit->doc, 1,
							 &tid);
	return tid;
}

/* Returns true if a comes before b. */
static inline bool
skx_topk_hit_before(SkxTopk *topk, const SkxTopkDoc *a, const SkxTopkDoc *b)
{
	ItemPointerData x;
	ItemPointerData y;

	if (a->sum != b->sum)
		return a->sum > b->sum;
	if (a->segment == b->segment && a->segment >= 0)
		return a->doc < b->doc;
	x = skx_topk_hit_tid(topk, a);
	y = skx_topk_hit_tid(topk, b);
	return ItemPointerCompare(&x, &y) < 0;
}

/* Checks that the threshold, the least sum of a hit, never falls. */
static void
skx_topk_hits_check(SkxTopkHeap *hits, int32 least)
{
#ifdef USE_ASSERT_CHECKING
	if (skx_fault_breaks_contract(SKX_CONTRACT_THRESHOLD))
		least = 0;
	Assert(least >= hits->checked_min);
	hits->checked_min = least;
#endif
}

int32
skx_topk_hits_threshold(SkxTopkHeap *hits, int segment)
{
	bool		full = hits->n == hits->max_hits;
	int32		least = full ? hits->heap[0].sum : hits->min_sum;

	skx_topk_hits_check(hits, least);
	return least + (full && hits->heap[0].segment == segment);
}

void
skx_topk_hits_raise_min(SkxTopkHeap *hits, int32 least)
{
	int			kept = 0;
	int			i;

	if (hits->n == hits->max_hits || least <= hits->min_sum)
		return;
	hits->min_sum = least;
	for (i = 0; i < hits->n; i++)
	{
		hits->heap[kept] = hits->heap[i];
		kept += hits->heap[i].sum >= least;
	}
	hits->n = kept;
}

/* Puts a hit into the empty place i of the heap, or further down. */
static void
skx_topk_hits_sift_down(SkxTopk *topk, int i, SkxTopkDoc hit)
{
	SkxTopkDoc *heap = topk->hits.heap;
	int			n = topk->hits.n;

	for (;;)
	{
		int			child = 2 * i + 1;

		if (child >= n)
			break;
		if (child + 1 < n &&
			skx_topk_hit_before(topk, &heap[child], &heap[child + 1]))
			child++;
		if (!skx_topk_hit_before(topk, &hit, &heap[child]))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = hit;
}

/* Serves interrupts now and then in a loop over very many hits. */
static inline void
skx_topk_hits_interrupts(int i)
{
	if (i % SKX_TOPK_BATCH == 0)
		CHECK_FOR_INTERRUPTS();
}

/* Makes a heap of the best hits when the capacity is reached. */
static void
skx_topk_hits_make_heap(SkxTopk *topk)
{
	SkxTopkHeap *hits = &topk->hits;
	int			n = hits->n;
	int			i;

	hits->n = hits->max_hits = Min(n, hits->wanted_hits);
	for (i = hits->n / 2 - 1; i >= 0; i--)
	{
		skx_topk_hits_interrupts(i);
		skx_topk_hits_sift_down(topk, i, hits->heap[i]);
	}
	for (i = hits->n; i < n; i++)
	{
		skx_topk_hits_interrupts(i);
		if (skx_topk_hit_before(topk, &hits->heap[i], &hits->heap[0]))
			skx_topk_hits_sift_down(topk, 0, hits->heap[i]);
	}
}

/*
 * Returns true if a hit comes before the row to continue after, or is that
 * row.
 */
static bool
skx_topk_hit_was_returned(SkxTopk *topk, const SkxTopkDoc *hit)
{
	ItemPointerData tid;

	if (!topk->has_after || hit->sum < topk->after_sum)
		return false;
	if (hit->sum > topk->after_sum)
		return true;
	tid = skx_topk_hit_tid(topk, hit);
	return ItemPointerCompare(&tid, &topk->after_tid) <= 0;
}

/* Allocates memory for n more hits, for which there must be capacity. */
static void
skx_topk_hits_grow(SkxTopk *topk, int n)
{
	SkxTopkHeap *hits = &topk->hits;
	int64		size = Max((int64) hits->n + n, 64);

	Assert(n <= hits->max_hits - hits->n);
	if (hits->n + n <= hits->hits_size)
		return;
	size = Min(Max(size, (int64) hits->hits_size * 2), hits->max_hits);
	hits->hits_size = (int) size;
	if (hits->heap == NULL)
		hits->heap = MemoryContextAllocHuge(topk->context,
											sizeof(SkxTopkDoc) * (Size) size);
	else
		hits->heap = repalloc_huge(hits->heap,
								   sizeof(SkxTopkDoc) * (Size) size);
}

void
skx_topk_hits_add(SkxTopk *topk, const SkxTopkDoc *hit)
{
	SkxTopkHeap *hits = &topk->hits;

	if (skx_topk_hit_was_returned(topk, hit))
		return;
	if (hits->n < hits->max_hits)
	{
		skx_topk_hits_grow(topk, 1);
		hits->heap[hits->n++] = *hit;
		if (hits->n == hits->max_hits)
			skx_topk_hits_make_heap(topk);
	}
	else if (skx_topk_hit_before(topk, hit, &hits->heap[0]))
		skx_topk_hits_sift_down(topk, 0, *hit);
}

int
skx_topk_hits_add_n(SkxTopk *topk, int segment, const uint32 *docs,
					const int32 *sums, int n)
{
	SkxTopkHeap *hits = &topk->hits;
	SkxTopkDoc *hit;
	int			i;

	if (topk->has_after || topk->share != NULL ||
		topk->request.prior != NULL || hits->n == hits->max_hits)
		return 0;
	n = Min(n, hits->max_hits - hits->n);
	skx_topk_hits_grow(topk, n);
	hit = hits->heap + hits->n;
	for (i = 0; i < n; i++)
	{
		hit->sum = sums[i];
		hit->segment = segment;
		hit->doc = docs[i];
		hit += sums[i] >= hits->min_sum;
	}
	hits->n = hit - hits->heap;
	if (hits->n == hits->max_hits)
		skx_topk_hits_make_heap(topk);
	return n;
}

static inline int
skx_topk_compare_rows(const SkxTopkHit *a, const SkxTopkHit *b)
{
	return ItemPointerCompare(unconstify(ItemPointerData *, &a->tid),
							  unconstify(ItemPointerData *, &b->tid));
}

#define ST_SORT skx_topk_sort_rows
#define ST_ELEMENT_TYPE SkxTopkHit
#define ST_COMPARE(a, b) skx_topk_compare_rows(a, b)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Rows that are made of hits. */
typedef struct SkxTopkHitRows
{
	const SkxTopkDoc *hits;
	uint32	   *order;			/* indexes of the hits, by segment and
								 * document */
	bool		needs_tid_order;	/* hits of several segments, or pending:
									 * `order` is not that of tids */
	int			n;				/* number of hits whose sum is at least
								 * `min_sum` */
	int32		min_sum;		/* worst sum of the best `most` hits */
	SkxTopkSortPairs pairs;		/* its values are indexes of hits */
	SkxTopkSortPairs sort_space;
	ItemPointerData *row_tids;	/* tid of each hit */
} SkxTopkHitRows;

static void *
skx_topk_rows_alloc(int n, Size size)
{
	return palloc_extended(size * n, MCXT_ALLOC_HUGE);
}

static void
skx_topk_rows_begin(SkxTopkHitRows *r, const SkxTopkHeap *hits)
{
	int			n = hits->n;

	r->hits = hits->heap;
	r->needs_tid_order = hits->heap[0].segment < 0;
	r->n = r->pairs.n = r->sort_space.n = n;
	r->order = skx_topk_rows_alloc(n, sizeof(uint32));
	r->pairs.keys = skx_topk_rows_alloc(n, sizeof(uint32));
	r->pairs.values = skx_topk_rows_alloc(n, sizeof(uint32));
	r->sort_space.keys = skx_topk_rows_alloc(n, sizeof(uint32));
	r->sort_space.values = skx_topk_rows_alloc(n, sizeof(uint32));
	r->row_tids = skx_topk_rows_alloc(n, sizeof(ItemPointerData));
}

/*
 * Sets r->order to the hits by segment and document, in which order most were
 * found.
 */
static void
skx_topk_rows_by_document(SkxTopkHitRows *r, int n)
{
	const SkxTopkDoc *hits = r->hits;
	uint32		most = hits[0].doc;
	int			last = hits[0].segment;
	bool		descends = false;
	int			i;

	r->pairs.keys[0] = hits[0].doc;
	r->pairs.values[0] = 0;
	for (i = 1; i < n; i++)
	{
		skx_topk_hits_interrupts(i);
		r->pairs.keys[i] = hits[i].doc;
		r->pairs.values[i] = i;
		descends |= hits[i].doc < hits[i - 1].doc;
		r->needs_tid_order |= hits[i].segment != hits[0].segment;
		most = Max(most, hits[i].doc);
		last = Max(last, hits[i].segment);
	}
	if (descends)
		skx_topk_sort(&r->pairs, &r->sort_space, most);
	if (r->needs_tid_order)
	{
		for (i = 0; i < n; i++)
		{
			skx_topk_hits_interrupts(i);
			r->pairs.keys[i] = hits[r->pairs.values[i]].segment + 1;
		}
		skx_topk_sort(&r->pairs, &r->sort_space, last + 1);
	}
	memcpy(r->order, r->pairs.values, sizeof(uint32) * n);
}

/*
 * Sorts hits by descending sum; those with equal sums keep their order.  If
 * there are more than `most`, keeps the best ones and all with the sum of the
 * last of these.
 */
static void
skx_topk_rows_by_sum(SkxTopkHitRows *r, int n, int most)
{
	const SkxTopkDoc *hits = r->hits;
	const uint32 *values;
	int32		best = hits[0].sum;
	int32		worst = best;
	int			i;

	for (i = 1; i < n; i++)
	{
		skx_topk_hits_interrupts(i);
		best = Max(best, hits[i].sum);
		worst = Min(worst, hits[i].sum);
	}
	for (i = 0; i < n; i++)
	{
		skx_topk_hits_interrupts(i);
		r->pairs.keys[i] = (uint32) best - (uint32) hits[r->order[i]].sum;
	}
	skx_topk_sort(&r->pairs, &r->sort_space, (uint32) best - (uint32) worst);
	values = r->pairs.values;
	r->n = Min(n, most);
	r->min_sum = hits[values[r->n - 1]].sum;
	while (r->n < n && hits[values[r->n]].sum == r->min_sum)
		r->n++;
}

/*
 * Looks up the tids of the hits from index `from` of r->order on that are of
 * one segment.  Returns the index of the next hit.
 */
static int
skx_topk_rows_tids(SkxTopk *topk, SkxTopkHitRows *r, int from, int n)
{
	int			segment = r->hits[r->order[from]].segment;
	uint32		numbers[SKX_SUBBLOCK];
	uint32		docs[SKX_SUBBLOCK];
	ItemPointerData tids[SKX_SUBBLOCK];
	int			some = 0;
	int			i;

	for (i = from; i < n && some < SKX_SUBBLOCK; i++)
	{
		const SkxTopkDoc *hit = &r->hits[r->order[i]];

		if (hit->segment != segment)
			break;
		numbers[some] = r->order[i];
		docs[some] = hit->doc;
		some += hit->sum >= r->min_sum;
	}
	from = i;
	if (segment >= 0 && some > 0)
		skx_segment_read_tids_of(topk->segments[segment].seg, docs, some,
								 tids);
	for (i = 0; i < some; i++)
		r->row_tids[numbers[i]] = segment < 0 ? topk->pending[docs[i]].tid :
			tids[i];
	return from;
}

/* Sorts rows with the same sum by their tids. */
static void
skx_topk_rows_sort_ties(SkxTopkHit *rows, int n)
{
	int			i;
	int			end;

	for (i = 0; i < n; i = end)
	{
		CHECK_FOR_INTERRUPTS();
		for (end = i + 1; end < n && rows[end].sum == rows[i].sum; end++)
			;
		if (end - i > 1)
			skx_topk_sort_rows(rows + i, end - i);
	}
}

static void
skx_topk_rows_fill(const SkxTopkHitRows *r, SkxTopkHit *rows)
{
	int			i;

	for (i = 0; i < r->n; i++)
	{
		uint32		number = r->pairs.values[i];

		skx_topk_hits_interrupts(i);
		rows[i].tid = r->row_tids[number];
		rows[i].sum = r->hits[number].sum;
		rows[i].is_null = false;
		rows[i].hit_index = number;
	}
	if (r->needs_tid_order)
		skx_topk_rows_sort_ties(rows, r->n);
}

int
skx_topk_hits_rows(SkxTopk *topk, SkxTopkHit *rows)
{
	SkxTopkHeap *hits = &topk->hits;
	int			n = hits->n;
	MemoryContext old;
	SkxTopkHitRows r;
	int			i;

	/* there may be no memory for hits yet */
	if (n == 0)
		return 0;
	old = MemoryContextSwitchTo(topk->pass_context);
	skx_topk_rows_begin(&r, hits);
	skx_topk_rows_by_document(&r, n);
	skx_topk_rows_by_sum(&r, n, hits->wanted_hits);
	for (i = 0; i < n; i = skx_topk_rows_tids(topk, &r, i, n))
		CHECK_FOR_INTERRUPTS();
	skx_topk_rows_fill(&r, rows);
	MemoryContextSwitchTo(old);
	MemoryContextReset(topk->pass_context);
	hits->n = 0;
	return Min(r.n, hits->wanted_hits);
}

/* The hits of the last search stay where they were until the next one. */
void
skx_topk_remember_dead(const SkxTopk *topk, const SkxTopkHit *row)
{
	const SkxTopkDoc *hit;
	SkxDocAddress place = {0};

	if (row->hit_index < 0)
		return;
	hit = &topk->hits.heap[row->hit_index];
	if (hit->segment >= 0)
	{
		place.segment = topk->segments[hit->segment].seg;
		place.number = hit->doc;
	}
	else
	{
		place.stripe = topk->pending[hit->doc].stripe;
		place.number = topk->pending[hit->doc].sequence;
	}
	skx_snapshot_remember_dead(topk->request.index, topk->request.view,
							   &place);
}
