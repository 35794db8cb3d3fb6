/*
 * topk_collect.c
 *	  The collector of a search: segments, the largest first, each gone through
 *	  as topk_segment.c does it, and pending documents.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"
#include "index/column/column_value.h"
#include "utils/memutils.h"

static void
skx_topk_pending_keep(SkxTopk *topk, const SkxPendingDoc *doc)
{
	SkxTopkPending *kept;

	if (topk->npending == topk->max_pending)
	{
		topk->max_pending = Max(64, topk->max_pending * 2);
		if (topk->pending == NULL)
			topk->pending = MemoryContextAlloc(topk->context,
											   sizeof(SkxTopkPending) *
											   topk->max_pending);
		else
			topk->pending = repalloc_huge(topk->pending,
										  sizeof(SkxTopkPending) *
										  topk->max_pending);
	}
	kept = &topk->pending[topk->npending++];
	kept->tid = doc->tid;
	kept->stripe = doc->stripe;
	kept->sequence = doc->sequence;
}

/* What one must have to become a hit. */
static int32
skx_topk_pending_need(void *arg)
{
	const SkxTopk *topk = arg;

	return Max(skx_topk_hits_need(&topk->hits, -2), 1);
}

/*
 * A document without a word that counts is no hit; nor are NULLs, which come
 * last of all.
 */
static bool
skx_topk_pending_wants(SkxCollector *c, const SkxPendingDoc *doc)
{
	SkxTopk    *topk = (SkxTopk *) c;

	if (skx_column_is_null(doc->value))
		return false;
	topk->pending_sum = skx_score_document(topk->scorer, doc->value, NULL);
	return topk->pending_sum >= skx_topk_pending_need(topk);
}

static bool
skx_topk_pending(SkxCollector *c, const SkxPendingDoc *doc)
{
	SkxTopk    *topk = (SkxTopk *) c;
	SkxHit		hit = {topk->pending_sum, -1, topk->npending};

	skx_topk_pending_keep(topk, doc);
	skx_topk_hits_add(topk, &hit);
	return true;
}

/* What they can have at most. */
static void
skx_topk_pending_bounds(void *arg, int stripe, uint64 sequence, int n,
						const uint8 *norms, int32 *bounds)
{
	const SkxTopk *topk = arg;

	skx_score_marked(topk->marks, stripe, sequence, n, norms, bounds);
}

/* Documents whose words were counted a moment ago are known. */
static bool
skx_topk_enter(SkxCollector *c, const SkxPendingBounds **bounds)
{
	SkxTopk    *topk = (SkxTopk *) c;

	/* with other processes that is for the one that gives the rows */
	if (!topk->has_pending || topk->share != NULL)
		return false;
	if (topk->marks == NULL &&
		skx_score_view(topk->scorer, topk->request.index) ==
		topk->request.view)
		topk->marks = skx_score_marks(topk->scorer);
	topk->bounds.find = skx_topk_pending_bounds;
	topk->bounds.need = skx_topk_pending_need;
	topk->bounds.arg = topk;
	if (topk->marks != NULL)
		*bounds = &topk->bounds;
	return true;
}

static int
skx_topk_compare_segments(const void *a, const void *b)
{
	uint32		x = ((const SkxTopkSegment *) a)->seg->header.ndocs;
	uint32		y = ((const SkxTopkSegment *) b)->seg->header.ndocs;

	if (x != y)
		return x > y ? -1 : 1;
	x = ((const SkxTopkSegment *) a)->seg->header.segment;
	y = ((const SkxTopkSegment *) b)->seg->header.segment;
	return x < y ? -1 : x > y;
}

/* Statistics of the same view have looked the words up already. */
static bool
skx_topk_known_terms(SkxTopk *topk)
{
	const SkxScorer *scorer = topk->scorer;
	int			i;
	int			k;

	if (topk->many || scorer->nplain != topk->nlexemes ||
		skx_score_view(scorer, topk->request.index) != topk->request.view ||
		!skx_score_has_found(scorer))
		return false;
	for (i = 0; i < topk->nsegments; i++)
		for (k = 0; k < scorer->nplain; k++)
			topk->segments[i].terms[topk->term_lexemes[k]] =
				*skx_score_found(scorer, k, i);
	return true;
}

/* Looks all lexemes up in all segments, of which the largest comes first. */
static void
skx_topk_segments(SkxCollector *c, SkxSegment *const *segments, int n,
				  int *order)
{
	SkxTopk    *topk = (SkxTopk *) c;
	SkxTerm   **terms = palloc(sizeof(SkxTerm *) * ((Size) n + 1));
	int			i;

	topk->nsegments = n;
	topk->segments = palloc0(sizeof(SkxTopkSegment) * ((Size) n + 1));
	for (i = 0; i < n; i++)
	{
		SkxTopkSegment *s = &topk->segments[i];

		s->seg = segments[i];
		s->place = i;
		terms[i] = s->terms = palloc_extended(sizeof(SkxTerm) *
											  ((Size) topk->nlexemes + 1),
											  MCXT_ALLOC_HUGE);
		topk->ndocs += s->seg->header.ndocs;
	}
	if (!skx_topk_known_terms(topk))
		skx_segment_find_all(segments, n, topk->lexemes, topk->nlexemes,
							 terms);
	for (i = 0; i < topk->scorer->nterms; i++)
		topk->postings += (double) topk->scorer->terms[i].df;
	topk->postings /= Max(topk->ndocs, 1);
	qsort(topk->segments, n, sizeof(SkxTopkSegment),
		  skx_topk_compare_segments);
	for (i = 0; i < n; i++)
		order[i] = topk->segments[i].place;
}

/* Hits of all processes have been through the segments already. */
static bool
skx_topk_answer(SkxCollector *c, const SkxExecRange *range)
{
	SkxTopk    *topk = (SkxTopk *) c;

	if (!topk->stopped && !topk->gathered)
		skx_topk_part(topk, range->number, range->from, range->to);
	return true;
}

static const SkxCollectorMethods skx_topk_methods = {
	.order = skx_topk_segments,
	.answer = skx_topk_answer,
	.enter = skx_topk_enter,
	.wants = skx_topk_pending_wants,
	.pending = skx_topk_pending
};

void
skx_topk_collector(SkxCollector *collector)
{
	collector->methods = &skx_topk_methods;
	collector->parts = SKX_TOPK_PARTS;
}
