/*
 * pending_walk.c
 *	  Walks through the records of one stripe, page by page.
 *
 * Each page is copied under share lock, so that no lock is held while a query
 * looks at its records.  Every page has the sequence number of its first
 * record.  A page that does not continue the one before is reported as damage,
 * which also ends a list that runs in a circle.
 */
#include "postgres.h"

#include "support/damage/damage.h"
#include "index/pending/pending_internal.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

void
skx_pending_walk_begin(SkxPendingWalk *walk, Relation rel,
					   const SkxView *view, int which)
{
	const SkxDiskStripeRef *ref = &view->stripes[which];
	const SkxDiskStripe *stripe;
	Buffer		buffer;

	Assert(which >= 0 && which < view->nstripes);
	walk->rel = rel;
	walk->meta = view->meta;
	walk->stripe = ref->stripe;
	walk->flushed_through = ref->flushed_through;
	walk->sequence = 0;
	walk->block = ref->stripe;
	walk->nleft = 0;
	buffer = skx_pending_lock_page(rel, &walk->meta, ref->stripe,
								   SKX_PLANE_STRIPE, BUFFER_LOCK_SHARE);
	stripe = (const SkxDiskStripe *) skx_manifest_page_content(buffer);
	walk->limit = stripe->next_sequence;
	if (view->is_bound)
		walk->limit = Min(walk->limit, view->pending_ends[which]);
	walk->ndead = stripe->ndead;
	walk->next = BlockNumberIsValid(ref->first) ? ref->first : stripe->first;
	UnlockReleaseBuffer(buffer);
}

void
skx_pending_walk_resume(SkxPendingWalk *walk, uint64 sequence,
						BlockNumber block)
{
	Assert(walk->sequence == 0);
	if (sequence <= walk->flushed_through)
		return;
	walk->sequence = sequence;
	walk->next = block;
}

/* Checks that the page that was just copied continues the walk. */
static void
skx_pending_walk_check(SkxPendingWalk *walk)
{
	const PageHeaderData *header = (const PageHeaderData *) walk->page.data;
	const SkxDiskPendingPage *head =
		(const SkxDiskPendingPage *) (walk->page.data + SKX_PAGE_START);

	if (walk->sequence == 0 ?
		(head->first_sequence == 0 ||
		 head->first_sequence > walk->flushed_through + 1) :
		head->first_sequence != walk->sequence)
		skx_damage_report(walk->rel, walk->block,
						  "the pending page is not the next one of its list");
	if (head->nrecords == 0 ||
		head->nrecords > (header->pd_lower - SKX_PAGE_START) /
		sizeof(SkxDiskPendingDoc))
		skx_damage_report(walk->rel, walk->block,
						  "the pending page has an impossible number of records");
}

bool
skx_pending_walk_page(SkxPendingWalk *walk)
{
	const SkxDiskPendingPage *head;
	Buffer		buffer;

	CHECK_FOR_INTERRUPTS();
	if (Max(walk->sequence, walk->flushed_through + 1) >= walk->limit)
		return false;
	if (!BlockNumberIsValid(walk->next))
		skx_damage_report(walk->rel, walk->block,
						  "the pending list ends too early");
	walk->block = walk->next;
	buffer = skx_pending_lock_page(walk->rel, &walk->meta, walk->block,
								   SKX_PLANE_PENDING, BUFFER_LOCK_SHARE);
	memcpy(walk->page.data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	skx_pending_walk_check(walk);
	head = (const SkxDiskPendingPage *) (walk->page.data + SKX_PAGE_START);
	walk->sequence = head->first_sequence;
	walk->next = head->next;
	walk->nleft = head->nrecords;
	walk->verified_is_known = false;
	walk->offset = SKX_PAGE_START + sizeof(SkxDiskPendingPage);
	return true;
}

const char *
skx_pending_record_check(const SkxDiskPendingDoc *doc, uint32 room)
{
	if (room < sizeof(SkxDiskPendingDoc) ||
		doc->nbytes > room - sizeof(SkxDiskPendingDoc))
		return "a pending record does not end on its page";
	if (!ItemPointerIsValid(&doc->tid))
		return "a pending record has no row";
	switch (doc->flags & ~(SKX_PENDING_DEAD | SKX_PENDING_NULL))
	{
		case 0:
			return NULL;
		case SKX_PENDING_CHAIN:
			return doc->nbytes == sizeof(SkxDiskPendingChain) ? NULL :
				"a pending record has an impossible chain";
		default:
			return "a pending record has unknown flags";
	}
}

SkxDiskPendingDoc *
skx_pending_walk_record(SkxPendingWalk *walk)
{
	uint32		lower = ((PageHeader) walk->page.data)->pd_lower;

	while (walk->nleft > 0 && walk->sequence < walk->limit)
	{
		SkxDiskPendingDoc *doc =
			(SkxDiskPendingDoc *) (walk->page.data + walk->offset);
		const char *wrong;

		wrong = walk->offset > lower ? "the pending page is too short" :
			skx_pending_record_check(doc, lower - walk->offset);
		if (wrong != NULL)
			skx_damage_report(walk->rel, walk->block, wrong);
		walk->offset += SKX_PENDING_RECORD_SIZE(doc->nbytes);
		walk->nleft--;
		Assert(walk->offset <= MAXALIGN(lower));
		if (walk->sequence++ > walk->flushed_through)
			return doc;
	}
	return NULL;
}
