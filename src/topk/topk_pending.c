/*
 * topk_pending.c
 *	  Pending documents among the hits.
 */
#include "postgres.h"

#include "intake/intake_value.h"
#include "topk/topk_internal.h"
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

static bool
skx_topk_pending_document(const SkxPendingDoc *doc, void *arg)
{
	SkxTopk    *topk = arg;
	SkxHit		hit;

	if (skx_intake_is_null(doc->value))
		return true;
	hit.sum = skx_score_document(topk->scorer, doc->value, NULL);
	hit.segment = -1;
	hit.doc = topk->npending;
	if (hit.sum < Max(skx_topk_hits_need(&topk->hits, -2), 1))
		return true;
	if (!topk->words_match &&
		!skx_query_matches(topk->request.filter, doc->value))
		return true;
	skx_topk_pending_keep(topk, doc);
	skx_topk_hits_add(topk, &hit);
	return true;
}

/* Can the document become a hit? */
static bool
skx_topk_pending_wanted(const SkxPendingDoc *doc, void *arg)
{
	SkxTopk    *topk = arg;

	return skx_score_marked(topk->marks, doc) >=
		Max(skx_topk_hits_need(&topk->hits, -2), 1);
}

/*
 * A document without a word that counts is no hit, and documents whose words
 * were counted a moment ago are known.
 */
void
skx_topk_pending(SkxTopk *topk)
{
	const SkxTopkRequest *request = &topk->request;

	if (topk->marks == NULL &&
		skx_score_view(topk->scorer, request->index) == request->view)
	{
		MemoryContext old = MemoryContextSwitchTo(topk->context);

		topk->marks = skx_score_marks(topk->scorer);
		MemoryContextSwitchTo(old);
	}
	if (topk->marks != NULL)
		skx_source_only(topk->source, skx_topk_pending_wanted, topk);
	skx_source_pending(topk->source, NULL, skx_topk_pending_document, topk);
	skx_source_only(topk->source, NULL, NULL);
}
