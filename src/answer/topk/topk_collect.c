/*
 * topk_collect.c
 *	  The collector of a search: searches the segments, largest first, each as
 *	  topk_segment.c does, and then the pending documents.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"
#include "index/column/column_value.h"
#include "support/fault/fault.h"
#include "utils/memutils.h"

static void
skx_topk_pending_add_hit(SkxTopk *topk, const SkxPendingDoc *doc)
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

/*
 * Returns the least sum, at least 1, by which a pending document becomes a
 * hit.
 */
static int32
skx_topk_pending_threshold(void *arg)
{
	SkxTopk    *topk = arg;

	return Max(skx_topk_hits_threshold(&topk->hits, SKX_TOPK_NO_SEGMENT), 1);
}

/*
 * Returns true if a pending document becomes a hit.  One without a word that
 * counts does not.  Rows whose tsvector is NULL do not either, since they come
 * last of all.
 */
static bool
skx_topk_wants_pending(SkxCollector *c, const SkxPendingDoc *doc)
{
	SkxTopk    *topk = (SkxTopk *) c;

	if (skx_column_is_null(doc->value))
		return false;
	topk->pending_sum = skx_score_document(topk->scorer, doc->value, NULL);
	Assert(topk->pending_tfs == NULL || topk->pending_sum <= doc->bound);
	if (topk->request.prior != NULL)
	{
		if (topk->pending_sum <= 0)
			return false;
		topk->pending_sum = skx_topk_prior_pending_grade(topk, doc->value,
														 topk->pending_sum);
		return topk->pending_sum >=
			skx_topk_hits_threshold(&topk->hits, SKX_TOPK_NO_SEGMENT);
	}
	return topk->pending_sum >= skx_topk_pending_threshold(topk);
}

static bool
skx_topk_collect_pending(SkxCollector *c, const SkxPendingDoc *doc)
{
	SkxTopk    *topk = (SkxTopk *) c;
	SkxTopkDoc	hit = {topk->pending_sum, -1, topk->npending};

	skx_topk_pending_add_hit(topk, doc);
	skx_topk_hits_add(topk, &hit);
	return true;
}

/* Sets bounds of the sums of n pending documents. */
static void
skx_topk_pending_bounds(void *arg, int stripe, uint64 sequence, int n,
						const uint8 *norms, int32 *bounds)
{
	const SkxTopk *topk = arg;

	skx_score_pending_bounds(topk->pending_tfs, stripe, sequence, n, norms,
							 bounds);
	if (skx_fault_breaks_contract(SKX_CONTRACT_PENDING_BOUND))
		bounds[0] = Min(bounds[0], 1);
}

/*
 * Bounds of pending documents are known only if the scorer has counted the
 * words in the same view.
 */
static bool
skx_topk_begin_pending(SkxCollector *c, const SkxPendingBounds **bounds)
{
	SkxTopk    *topk = (SkxTopk *) c;

	/* with other processes, only the one that returns the rows reads them */
	if (!topk->has_pending || topk->share != NULL)
		return false;
	/* the values of a pending document are known once it is read */
	if (topk->pending_tfs == NULL && topk->request.prior == NULL &&
		skx_score_view(topk->scorer, topk->request.index) ==
		topk->request.view)
		topk->pending_tfs = skx_score_pending_tfs(topk->scorer);
	topk->bounds.compute_bounds = skx_topk_pending_bounds;
	topk->bounds.threshold = skx_topk_pending_threshold;
	topk->bounds.arg = topk;
	if (topk->pending_tfs != NULL)
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

/*
 * Takes the terms from the scorer, if it has looked all of them up in the same
 * view.  Returns false otherwise.
 */
static bool
skx_topk_copy_scorer_terms(SkxTopk *topk)
{
	const SkxScorer *scorer = topk->scorer;
	int			nscored = 0;
	int			i;
	int			k;

	/* one that is in several groups is several terms, one after the other */
	for (k = 0; k < scorer->nplain; k++)
		nscored += k == 0 ||
			topk->term_lexemes[k] != topk->term_lexemes[k - 1];
	if (topk->has_many_words || nscored != topk->nlexemes ||
		skx_score_view(scorer, topk->request.index) != topk->request.view ||
		!skx_score_has_found(scorer))
		return false;
	for (i = 0; i < topk->nsegments; i++)
		for (k = 0; k < scorer->nplain; k++)
			topk->segments[i].terms[topk->term_lexemes[k]] =
				*skx_score_found_term(scorer, k, i);
	return true;
}

/*
 * Looks up all lexemes in all segments, and orders these by size, largest
 * first.
 */
static void
skx_topk_order_segments(SkxCollector *c, SkxSegment *const *segments, int n,
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
		s->view_index = i;
		terms[i] = s->terms = palloc_extended(sizeof(SkxTerm) *
											  ((Size) topk->nlexemes + 1),
											  MCXT_ALLOC_HUGE);
		topk->ndocs += s->seg->header.ndocs;
	}
	if (!skx_topk_copy_scorer_terms(topk))
		skx_segment_find_all_cached(segments, n, topk->lexemes, topk->nlexemes,
									terms);
	for (i = 0; i < topk->scorer->nterms; i++)
		topk->postings_per_doc += (double) topk->scorer->terms[i].df;
	topk->postings_per_doc /= Max(topk->ndocs, 1);
	qsort(topk->segments, n, sizeof(SkxTopkSegment),
		  skx_topk_compare_segments);
	for (i = 0; i < n; i++)
		order[i] = topk->segments[i].view_index;
}

/*
 * Skips ranges if the hits have been gathered from all processes, which have
 * searched the segments already.
 */
static bool
skx_topk_answer_range(SkxCollector *c, const SkxExecRange *range)
{
	SkxTopk    *topk = (SkxTopk *) c;

	if (topk->has_all_hits)
		return true;
	if (topk->budget_spent)
		skx_topk_leave_segment(topk, range->number);
	else
		skx_topk_search_stretches(topk, range->number, range->from,
								  range->to);
	return true;
}

static const SkxCollectorMethods skx_topk_methods = {
	.order_segments = skx_topk_order_segments,
	.answer_range = skx_topk_answer_range,
	.begin_pending = skx_topk_begin_pending,
	.wants_pending = skx_topk_wants_pending,
	.collect_pending = skx_topk_collect_pending
};

void
skx_topk_init_collector(SkxCollector *collector)
{
	collector->methods = &skx_topk_methods;
	collector->max_parts = SKX_TOPK_PARTS_MAX;
}
