/*
 * topk_hits.c
 *	  The best documents so far, worst on top.
 *
 * Hits order by sum, then by TID.  Within a segment that is the order of
 * documents, so TIDs are looked up only where two segments have the same sum.
 */
#include "postgres.h"

#include "topk/topk_internal.h"

ItemPointerData
skx_topk_hit_tid(SkxTopk *topk, const SkxHit *hit)
{
	ItemPointerData tid;

	if (hit->segment < 0)
		return topk->pending[hit->doc];
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

static void
skx_topk_hits_up(SkxTopk *topk, int i, SkxHit hit)
{
	SkxHit	   *heap = topk->hits.heap;

	while (i > 0 && skx_topk_hit_before(topk, &heap[(i - 1) / 2], &hit))
	{
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = hit;
}

static void
skx_topk_hits_down(SkxTopk *topk, int n, SkxHit hit)
{
	SkxHit	   *heap = topk->hits.heap;
	int			i = 0;

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

/* Was the document handed out before, or is it the last one that was? */
static bool
skx_topk_hit_is_past(SkxTopk *topk, const SkxHit *hit)
{
	ItemPointerData tid;

	if (topk->given == 0 || hit->sum < topk->after.sum)
		return false;
	if (hit->sum > topk->after.sum)
		return true;
	tid = skx_topk_hit_tid(topk, hit);
	return ItemPointerCompare(&tid, &topk->after_tid) <= 0;
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
		{
			hits->size = Max(64, hits->size * 2);
			if (hits->heap == NULL)
				hits->heap = MemoryContextAlloc(topk->context,
												sizeof(SkxHit) * hits->size);
			else
				hits->heap = repalloc_huge(hits->heap,
										   sizeof(SkxHit) * hits->size);
		}
		skx_topk_hits_up(topk, hits->n++, *hit);
	}
	else if (skx_topk_hit_before(topk, hit, &hits->heap[0]))
		skx_topk_hits_down(topk, hits->n, *hit);
}

int
skx_topk_hits_sort(SkxTopk *topk)
{
	SkxHits    *hits = &topk->hits;
	int			total = hits->n;
	int			n;

	for (n = total - 1; n > 0; n--)
	{
		SkxHit		worst = hits->heap[0];

		skx_topk_hits_down(topk, n, hits->heap[n]);
		hits->heap[n] = worst;
	}
	hits->n = 0;
	return total;
}
