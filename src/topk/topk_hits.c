/*
 * topk_hits.c
 *	  The best documents so far, and their rows in order.
 *
 * Hits order by sum, then by TID.  Within a segment that is the order of
 * documents, so TIDs are looked up only where two segments have the same sum.
 * As soon as there are enough, they are a heap with the worst one on top.
 */
#include "postgres.h"

#include "topk/topk_internal.h"

ItemPointerData
skx_topk_hit_tid(SkxTopk *topk, const SkxHit *hit)
{
	ItemPointerData tid;

	if (hit->segment < 0)
		return topk->pending[hit->doc].tid;
	skx_segment_tids_of(topk->segments[hit->segment].seg, &hit->doc, 1, &tid);
	return tid;
}

/* Does a come before b? */
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

/*
 * The least sum of a further document of a segment, all of whose documents so
 * far have been seen, that can become a hit.
 */
int32
skx_topk_hits_need(const SkxHits *hits, int segment)
{
	if (hits->n < hits->most)
		return hits->least;
	return hits->heap[0].sum + (hits->heap[0].segment == segment ? 1 : 0);
}

/* Puts a hit at i, from where on down its place is empty. */
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

/* There are enough: makes a heap of them. */
static void
skx_topk_hits_fill(SkxTopk *topk)
{
	int			i;

	for (i = topk->hits.n / 2 - 1; i >= 0; i--)
		skx_topk_hits_down(topk, i, topk->hits.heap[i]);
}

/* Does the document come before the row to go on from, or is it that one? */
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

static void
skx_topk_hits_grow(SkxTopk *topk)
{
	SkxHits    *hits = &topk->hits;

	Assert(hits->n == hits->size && hits->size < hits->most);
	hits->size = (int) Min(Max((int64) hits->size * 2, 64), hits->most);
	if (hits->heap == NULL)
		hits->heap = MemoryContextAllocHuge(topk->context,
											sizeof(SkxHit) * (Size) hits->size);
	else
		hits->heap = repalloc_huge(hits->heap,
								   sizeof(SkxHit) * (Size) hits->size);
}

void
skx_topk_hits_add(SkxTopk *topk, const SkxHit *hit)
{
	SkxHits    *hits = &topk->hits;

	if (skx_topk_hit_is_past(topk, hit))
		return;
	if (hits->n < hits->most)
	{
		if (hits->n == hits->size)
			skx_topk_hits_grow(topk);
		hits->heap[hits->n++] = *hit;
		if (hits->n == hits->most)
			skx_topk_hits_fill(topk);
	}
	else if (skx_topk_hit_before(topk, hit, &hits->heap[0]))
		skx_topk_hits_down(topk, 0, *hit);
}

static inline int
skx_topk_compare_places(const SkxHit *a, const SkxHit *b)
{
	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return a->doc < b->doc ? -1 : a->doc > b->doc;
}

static inline int
skx_topk_compare_rows(const SkxTopkHit *a, const SkxTopkHit *b)
{
	if (a->sum != b->sum)
		return a->sum > b->sum ? -1 : 1;
	return ItemPointerCompare(unconstify(ItemPointerData *, &a->tid),
							  unconstify(ItemPointerData *, &b->tid));
}

#define ST_SORT skx_topk_sort_places
#define ST_ELEMENT_TYPE SkxHit
#define ST_COMPARE(a, b) skx_topk_compare_places(a, b)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

#define ST_SORT skx_topk_sort_rows
#define ST_ELEMENT_TYPE SkxTopkHit
#define ST_COMPARE(a, b) skx_topk_compare_rows(a, b)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

int
skx_topk_hits_rows(SkxTopk *topk, SkxTopkHit *rows)
{
	const SkxHit *hits = topk->hits.heap;
	int			n = topk->hits.n;
	uint32		docs[SKX_SUBBLOCK];
	ItemPointerData tids[SKX_SUBBLOCK];
	int			some;
	int			i;
	int			k;

	/* there may be no room for any yet */
	if (n == 0)
		return 0;
	skx_topk_sort_places(topk->hits.heap, n);
	for (i = 0; i < n; i += some)
	{
		int			segment = hits[i].segment;

		for (some = 0; some < SKX_SUBBLOCK && i + some < n &&
			 hits[i + some].segment == segment; some++)
		{
			docs[some] = hits[i + some].doc;
			if (segment < 0)
				tids[some] = topk->pending[docs[some]].tid;
		}
		if (segment >= 0)
			skx_segment_tids_of(topk->segments[segment].seg, docs, some, tids);
		for (k = 0; k < some; k++)
		{
			rows[i + k].tid = tids[k];
			rows[i + k].sum = hits[i + k].sum;
			rows[i + k].is_null = false;
			rows[i + k].at = i + k;
		}
	}
	skx_topk_sort_rows(rows, n);
	topk->hits.n = 0;
	return n;
}

/* Hits stay where they were until the next search. */
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
	skx_source_note_dead(topk->request.index, topk->request.view, &place);
}
