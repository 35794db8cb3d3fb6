/*
 * topk_pending.c
 *	  Pending documents among the hits.
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

static bool
skx_topk_pending_document(const SkxPendingDoc *doc, void *arg)
{
	SkxTopk    *topk = arg;
	SkxHit		hit;

	if (skx_column_is_null(doc->value))
		return true;
	hit.sum = skx_score_document(topk->scorer, doc->value, NULL);
	hit.segment = -1;
	hit.doc = topk->npending;
	if (hit.sum < skx_topk_pending_need(topk))
		return true;
	if (!topk->words_match &&
		!skx_query_matches(topk->request.filter, doc->value))
		return true;
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

/*
 * A document without a word that counts is no hit, and documents whose words
 * were counted a moment ago are known.
 */
void
skx_topk_pending(SkxTopk *topk)
{
	const SkxTopkRequest *request = &topk->request;
	const SkxPendingBounds bounds = {skx_topk_pending_bounds,
	skx_topk_pending_need, topk};

	if (topk->marks == NULL &&
		skx_score_view(topk->scorer, request->index) == request->view)
	{
		MemoryContext old = MemoryContextSwitchTo(topk->context);

		topk->marks = skx_score_marks(topk->scorer);
		MemoryContextSwitchTo(old);
	}
	if (topk->marks != NULL)
		skx_snapshot_only(topk->source, &bounds);
	skx_snapshot_pending(topk->source, NULL, skx_topk_pending_document, topk);
	skx_snapshot_only(topk->source, NULL);
}
