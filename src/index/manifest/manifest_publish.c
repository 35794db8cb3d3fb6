/*
 * manifest_publish.c
 *	  Publishes the output of an operation: it becomes part of the index.
 */
#include "postgres.h"

#include "index/manifest/manifest_internal.h"
#include "support/fault/fault.h"
#include "utils/rel.h"

static void
skx_manifest_remove_segments(SkxDraft *draft, const SkxPublish *change)
{
	int			n = 0;
	int			removed = 0;
	int			i;

	for (i = 0; i < draft->nsegments; i++)
	{
		int			k;

		for (k = 0; k < change->nremove; k++)
		{
			if (draft->segments[i].segment == change->remove[k])
				break;
		}
		if (k < change->nremove)
			removed++;
		else
			draft->segments[n++] = draft->segments[i];
	}
	draft->nsegments = n;
	if (removed != change->nremove)
		elog(ERROR, "index \"%s\" has %d of %d segments to remove",
			 RelationGetRelationName(draft->rel), removed, change->nremove);
}

/*
 * Adds the new segment, if any, and drops the operation from the draft.  The
 * segment gets the pages that were allocated; the other reserved ones are
 * free.
 */
static void
skx_manifest_publish_segment(SkxDraft *draft, const SkxOperation *op,
							 const SkxDiskSegmentRef *add)
{
	int			i;

	Assert(add == NULL || (add->segment == op->segment &&
						   add->salt == op->salt && add->ndocs > 0));
	if (add != NULL)
	{
		for (i = 0; i < draft->nextents; i++)
		{
			if (draft->extents[i].extent.operation == op->segment)
				draft->extents[i].extent.npages = 0;
		}
		for (i = 0; i < op->nreserved_extents; i++)
			skx_manifest_free_add(draft, op->reserved[i].block,
								  op->reserved[i].npages, 0);
		Assert(draft->nsegments <= draft->view->nsegments);
		draft->segments[draft->nsegments++] = *add;
	}
	skx_manifest_draft_drop(draft, op->segment);
}

#ifdef USE_ASSERT_CHECKING
/*
 * Returns true if these are the stripes of the view, and no flushed document
 * becomes pending again.
 */
static bool
skx_manifest_stripes_advance(const SkxView *view,
							 const SkxDiskStripeRef *stripes)
{
	for (int i = 0; stripes != NULL && i < view->nstripes; i++)
	{
		const SkxDiskStripeRef *old = &view->stripes[i];

		if (stripes[i].stripe != old->stripe ||
			stripes[i].flushed_through < old->flushed_through ||
			stripes[i].ndead < old->ndead || stripes[i].nnull < old->nnull ||
			stripes[i].nbytes < old->nbytes ||
			stripes[i].npages - old->npages > PG_INT32_MAX)
			return false;
	}
	return true;
}
#endif

void
skx_manifest_publish(SkxOperation *op, const SkxPublish *change)
{
	SkxDraft   *draft = skx_manifest_draft(op->rel);
	uint64		npages = 0;
	int			i;

	Assert(!op->is_published &&
		   skx_manifest_holds_operation(op->rel, op->kind));
	Assert(skx_manifest_stripes_advance(draft->view, change->stripes));
	skx_manifest_remove_segments(draft, change);
	skx_manifest_publish_segment(draft, op, change->add);
	draft->format = &op->format;
	if (change->stripes != NULL)
		draft->stripes = change->stripes;
	for (i = 0; i < change->nfreed; i++)
	{
		skx_manifest_free_from_flip(draft, &change->freed[i]);
		npages += change->freed[i].npages;
	}

	/* inserts will need about as many pages again */
	if (change->stripes != NULL)
		draft->pool_target = Max(draft->pool_target,
								 (uint32) Min(npages, SKX_POOL_REFILL_MAX));
	skx_manifest_draft_flip(draft);
	skx_manifest_draft_free(draft);
	op->is_published = true;
	SKX_FAULT(SKX_FAULT_PUBLISH_FLIPPED);
}
