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
#include "miscadmin.h"
#include "support/fault/fault.h"

ItemPointerData
skx_topk_hit_tid(SkxTopk *topk, const SkxHit *hit)
{
	ItemPointerData tid;

	if (hit->segment < 0)
		return topk->pending[hit->doc].tid;
	skx_segment_tids_of(topk->segments[hit->segment].seg, &hit->doc, 1, &tid);
	return tid;
}

/* Returns true if a comes before b. */
static inline bool
skx_topk_hit_before(SkxTopk *topk, const SkxHit *a, const SkxHit *b)
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
skx_topk_hits_check(SkxHits *hits, int32 least)
{
#ifdef USE_ASSERT_CHECKING
	if (skx_fault_breaks(SKX_CONTRACT_THRESHOLD))
		least = 0;
	Assert(least >= hits->told);
	hits->told = least;
#endif
}

int32
skx_topk_hits_need(SkxHits *hits, int segment)
{
	bool		full = hits->n == hits->room;
	int32		least = full ? hits->heap[0].sum : hits->least;

	skx_topk_hits_check(hits, least);
	return least + (full && hits->heap[0].segment == segment);
}

void
skx_topk_hits_raise(SkxHits *hits, int32 least)
{
	int			kept = 0;
	int			i;

	if (hits->n == hits->room || least <= hits->least)
		return;
	hits->least = least;
	for (i = 0; i < hits->n; i++)
	{
		hits->heap[kept] = hits->heap[i];
		kept += hits->heap[i].sum >= least;
	}
	hits->n = kept;
}

/* Puts a hit into the empty place i of the heap, or further down. */
static void
skx_topk_hits_down(SkxTopk *topk, int i, SkxHit hit)
{
	SkxHit	   *heap = topk->hits.heap;
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
skx_topk_hits_turn(int i)
{
	if (i % SKX_TOPK_BATCH == 0)
		CHECK_FOR_INTERRUPTS();
}

/* Makes a heap of the best hits when the capacity is reached. */
static void
skx_topk_hits_fill(SkxTopk *topk)
{
	SkxHits    *hits = &topk->hits;
	int			n = hits->n;
	int			i;

	hits->n = hits->room = Min(n, hits->most);
	for (i = hits->n / 2 - 1; i >= 0; i--)
	{
		skx_topk_hits_turn(i);
		skx_topk_hits_down(topk, i, hits->heap[i]);
	}
	for (i = hits->n; i < n; i++)
	{
		skx_topk_hits_turn(i);
		if (skx_topk_hit_before(topk, &hits->heap[i], &hits->heap[0]))
			skx_topk_hits_down(topk, 0, hits->heap[i]);
	}
}

/*
 * Returns true if a hit comes before the row to continue after, or is that
 * row.
 */
static bool
skx_topk_hit_is_past(SkxTopk *topk, const SkxHit *hit)
{
	ItemPointerData tid;

	if (!topk->has_after || hit->sum < topk->after)
		return false;
	if (hit->sum > topk->after)
		return true;
	tid = skx_topk_hit_tid(topk, hit);
	return ItemPointerCompare(&tid, &topk->after_tid) <= 0;
}

/* Allocates memory for n more hits, for which there must be capacity. */
static void
skx_topk_hits_grow(SkxTopk *topk, int n)
{
	SkxHits    *hits = &topk->hits;
	int64		size = Max((int64) hits->n + n, 64);

	Assert(n <= hits->room - hits->n);
	if (hits->n + n <= hits->size)
		return;
	size = Min(Max(size, (int64) hits->size * 2), hits->room);
	hits->size = (int) size;
	if (hits->heap == NULL)
		hits->heap = MemoryContextAllocHuge(topk->context,
											sizeof(SkxHit) * (Size) size);
	else
		hits->heap = repalloc_huge(hits->heap, sizeof(SkxHit) * (Size) size);
}

void
skx_topk_hits_add(SkxTopk *topk, const SkxHit *hit)
{
	SkxHits    *hits = &topk->hits;

	if (skx_topk_hit_is_past(topk, hit))
		return;
	if (hits->n < hits->room)
	{
		skx_topk_hits_grow(topk, 1);
		hits->heap[hits->n++] = *hit;
		if (hits->n == hits->room)
			skx_topk_hits_fill(topk);
	}
	else if (skx_topk_hit_before(topk, hit, &hits->heap[0]))
		skx_topk_hits_down(topk, 0, *hit);
}

int
skx_topk_hits_take(SkxTopk *topk, int segment, const uint32 *docs,
				   const int32 *sums, int n)
{
	SkxHits    *hits = &topk->hits;
	SkxHit	   *hit;
	int			i;

	if (topk->has_after || topk->share != NULL || hits->n == hits->room)
		return 0;
	n = Min(n, hits->room - hits->n);
	skx_topk_hits_grow(topk, n);
	hit = hits->heap + hits->n;
	for (i = 0; i < n; i++)
	{
		hit->sum = sums[i];
		hit->segment = segment;
		hit->doc = docs[i];
		hit += sums[i] >= hits->least;
	}
	hits->n = hit - hits->heap;
	if (hits->n == hits->room)
		skx_topk_hits_fill(topk);
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
typedef struct SkxHitRows
{
	const SkxHit *hits;
	uint32	   *order;			/* indexes of the hits, by segment and
								 * document */
	bool		several;		/* hits of several segments, or pending:
								 * `order` is not that of tids */
	int			n;				/* number of hits whose sum is at least
								 * `floor` */
	int32		floor;			/* worst sum of the best `most` hits */
	SkxTopkPairs pairs;			/* its values are indexes of hits */
	SkxTopkPairs spare;
	ItemPointerData *tids;		/* tid of each hit */
} SkxHitRows;

static void *
skx_topk_rows_alloc(int n, Size size)
{
	return palloc_extended(size * n, MCXT_ALLOC_HUGE);
}

static void
skx_topk_rows_begin(SkxHitRows *r, const SkxHits *hits)
{
	int			n = hits->n;

	r->hits = hits->heap;
	r->several = hits->heap[0].segment < 0;
	r->n = r->pairs.n = r->spare.n = n;
	r->order = skx_topk_rows_alloc(n, sizeof(uint32));
	r->pairs.keys = skx_topk_rows_alloc(n, sizeof(uint32));
	r->pairs.values = skx_topk_rows_alloc(n, sizeof(uint32));
	r->spare.keys = skx_topk_rows_alloc(n, sizeof(uint32));
	r->spare.values = skx_topk_rows_alloc(n, sizeof(uint32));
	r->tids = skx_topk_rows_alloc(n, sizeof(ItemPointerData));
}

/*
 * Sets r->order to the hits by segment and document, in which order most were
 * found.
 */
static void
skx_topk_rows_by_place(SkxHitRows *r, int n)
{
	const SkxHit *hits = r->hits;
	uint32		most = hits[0].doc;
	int			last = hits[0].segment;
	bool		descends = false;
	int			i;

	r->pairs.keys[0] = hits[0].doc;
	r->pairs.values[0] = 0;
	for (i = 1; i < n; i++)
	{
		skx_topk_hits_turn(i);
		r->pairs.keys[i] = hits[i].doc;
		r->pairs.values[i] = i;
		descends |= hits[i].doc < hits[i - 1].doc;
		r->several |= hits[i].segment != hits[0].segment;
		most = Max(most, hits[i].doc);
		last = Max(last, hits[i].segment);
	}
	if (descends)
		skx_topk_sort(&r->pairs, &r->spare, most);
	if (r->several)
	{
		for (i = 0; i < n; i++)
		{
			skx_topk_hits_turn(i);
			r->pairs.keys[i] = hits[r->pairs.values[i]].segment + 1;
		}
		skx_topk_sort(&r->pairs, &r->spare, last + 1);
	}
	memcpy(r->order, r->pairs.values, sizeof(uint32) * n);
}

/*
 * Sorts hits by descending sum; those with equal sums keep their order.  If
 * there are more than `most`, keeps the best ones and all with the sum of the
 * last of these.
 */
static void
skx_topk_rows_by_sum(SkxHitRows *r, int n, int most)
{
	const SkxHit *hits = r->hits;
	const uint32 *values;
	int32		best = hits[0].sum;
	int32		worst = best;
	int			i;

	for (i = 1; i < n; i++)
	{
		skx_topk_hits_turn(i);
		best = Max(best, hits[i].sum);
		worst = Min(worst, hits[i].sum);
	}
	for (i = 0; i < n; i++)
	{
		skx_topk_hits_turn(i);
		r->pairs.keys[i] = best - hits[r->order[i]].sum;
	}
	skx_topk_sort(&r->pairs, &r->spare, best - worst);
	values = r->pairs.values;
	r->n = Min(n, most);
	r->floor = hits[values[r->n - 1]].sum;
	while (r->n < n && hits[values[r->n]].sum == r->floor)
		r->n++;
}

/*
 * Looks up the tids of the hits from index `from` of r->order on that are of
 * one segment.  Returns the index of the next hit.
 */
static int
skx_topk_rows_tids(SkxTopk *topk, SkxHitRows *r, int from, int n)
{
	int			segment = r->hits[r->order[from]].segment;
	uint32		numbers[SKX_SUBBLOCK];
	uint32		docs[SKX_SUBBLOCK];
	ItemPointerData tids[SKX_SUBBLOCK];
	int			some = 0;
	int			i;

	for (i = from; i < n && some < SKX_SUBBLOCK; i++)
	{
		const SkxHit *hit = &r->hits[r->order[i]];

		if (hit->segment != segment)
			break;
		numbers[some] = r->order[i];
		docs[some] = hit->doc;
		some += hit->sum >= r->floor;
	}
	from = i;
	if (segment >= 0 && some > 0)
		skx_segment_tids_of(topk->segments[segment].seg, docs, some, tids);
	for (i = 0; i < some; i++)
		r->tids[numbers[i]] = segment < 0 ? topk->pending[docs[i]].tid :
			tids[i];
	return from;
}

/* Sorts rows with the same sum by their tids. */
static void
skx_topk_rows_settle(SkxTopkHit *rows, int n)
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
skx_topk_rows_fill(const SkxHitRows *r, SkxTopkHit *rows)
{
	int			i;

	for (i = 0; i < r->n; i++)
	{
		uint32		number = r->pairs.values[i];

		skx_topk_hits_turn(i);
		rows[i].tid = r->tids[number];
		rows[i].sum = r->hits[number].sum;
		rows[i].is_null = false;
		rows[i].at = number;
	}
	if (r->several)
		skx_topk_rows_settle(rows, r->n);
}

int
skx_topk_hits_rows(SkxTopk *topk, SkxTopkHit *rows)
{
	SkxHits    *hits = &topk->hits;
	int			n = hits->n;
	MemoryContext old;
	SkxHitRows	r;
	int			i;

	/* there may be no memory for hits yet */
	if (n == 0)
		return 0;
	old = MemoryContextSwitchTo(topk->pass);
	skx_topk_rows_begin(&r, hits);
	skx_topk_rows_by_place(&r, n);
	skx_topk_rows_by_sum(&r, n, hits->most);
	for (i = 0; i < n; i = skx_topk_rows_tids(topk, &r, i, n))
		CHECK_FOR_INTERRUPTS();
	skx_topk_rows_fill(&r, rows);
	MemoryContextSwitchTo(old);
	MemoryContextReset(topk->pass);
	hits->n = 0;
	return Min(r.n, hits->most);
}

/* The hits of the last search stay where they were until the next one. */
void
skx_topk_note_dead(const SkxTopk *topk, const SkxTopkHit *row)
{
	const SkxHit *hit;
	SkxSourcePlace place = {0};

	if (row->at < 0)
		return;
	hit = &topk->hits.heap[row->at];
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
	skx_snapshot_note_dead(topk->request.index, topk->request.view, &place);
}
