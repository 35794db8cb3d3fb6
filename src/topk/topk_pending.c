/*
 * topk_pending.c
 *	  Pending documents among the hits.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pending/pending.h"
#include "topk/topk_internal.h"
#include "utils/memutils.h"

static void
skx_topk_pending_keep(SkxTopk *topk, ItemPointer tid)
{
	if (topk->npending == topk->max_pending)
	{
		topk->max_pending = Max(64, topk->max_pending * 2);
		if (topk->pending == NULL)
			topk->pending = MemoryContextAlloc(topk->context,
											   sizeof(ItemPointerData) *
											   topk->max_pending);
		else
			topk->pending = repalloc_huge(topk->pending,
										  sizeof(ItemPointerData) *
										  topk->max_pending);
	}
	topk->pending[topk->npending++] = *tid;
}

static void
skx_topk_pending_document(SkxTopk *topk, const SkxPendingDoc *doc)
{
	SkxHit		hit;

	if (doc->value == NULL)
		return;
	hit.sum = skx_score_document(topk->scorer, doc->value, NULL);
	hit.segment = -1;
	hit.doc = topk->npending;
	if (hit.sum < Max(skx_topk_hits_need(&topk->hits, -2), 1))
		return;
	if (!topk->words_match &&
		!skx_query_matches(topk->request.filter, doc->value))
		return;
	skx_topk_pending_keep(topk, &unconstify(SkxPendingDoc *, doc)->tid);
	skx_topk_hits_add(topk, &hit);
}

/*
 * The server's functions, which match documents, leave memory behind.
 */
void
skx_topk_pending(SkxTopk *topk)
{
	SkxPendingScan *scan = skx_pending_begin(topk->request.index,
											 topk->request.view, false);
	MemoryContext document = AllocSetContextCreate(CurrentMemoryContext,
												   "skipidx pending document",
												   ALLOCSET_DEFAULT_SIZES);
	SkxPendingDoc doc;

	while (skx_pending_next(scan, &doc))
	{
		MemoryContext old = MemoryContextSwitchTo(document);

		CHECK_FOR_INTERRUPTS();
		skx_topk_pending_document(topk, &doc);
		MemoryContextSwitchTo(old);
		MemoryContextReset(document);
	}
	skx_pending_end(scan);
	MemoryContextDelete(document);
}
