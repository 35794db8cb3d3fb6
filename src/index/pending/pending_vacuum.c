/*
 * pending_vacuum.c
 *	  Flags pending documents whose rows are gone, and adds up the stripes.
 *
 * The caller holds the heavyweight lock on the metapage during a call.  So no
 * other process flags records, and no page leaves the list.  A record that was
 * found in the copy of a page is still at its offset when the page is locked
 * to flag it.  Between two calls a flush may take documents up to some number
 * out of the list, and pages before that of the next document.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "support/damage/damage.h"
#include "index/manifest/manifest_publish.h"
#include "index/pending/pending_internal.h"
#include "storage/bufmgr.h"
#include "support/compat/compat.h"
#include "support/fault/fault.h"

/* Most records that fit on a page. */
#define SKX_PENDING_RECORDS_MAX	(BLCKSZ / sizeof(SkxDiskPendingDoc))

/* Flags n records of the walk's page as dead, in one WAL record. */
static void
skx_pending_flag_dead(SkxPendingWalk *walk, const uint16 *offsets, int n)
{
	Buffer		stripe = skx_pending_lock_page(walk->rel, &walk->meta,
											   walk->stripe, SKX_PLANE_STRIPE,
											   BUFFER_LOCK_EXCLUSIVE);
	Buffer		buffer = skx_pending_lock_page(walk->rel, &walk->meta,
											   walk->block, SKX_PLANE_PENDING,
											   BUFFER_LOCK_EXCLUSIVE);
	GenericXLogState *xlog = GenericXLogStart(walk->rel);
	char	   *stripe_page = (char *) GenericXLogRegisterBuffer(xlog, stripe, 0);
	char	   *page = (char *) GenericXLogRegisterBuffer(xlog, buffer, 0);
	int			i;

	Assert(skx_manifest_holds_lock(walk->rel, ExclusiveLock));
	for (i = 0; i < n; i++)
	{
		SkxDiskPendingDoc *doc = (SkxDiskPendingDoc *) (page + offsets[i]);
		SkxDiskPendingDoc *seen =
			(SkxDiskPendingDoc *) (walk->page.data + offsets[i]);

		if (doc->nbytes != seen->nbytes || doc->flags != seen->flags ||
			!ItemPointerEquals(&doc->tid, &seen->tid))
			skx_damage_report(walk->rel, walk->block,
							  "a pending record changed under VACUUM");
		Assert((doc->flags & SKX_PENDING_DEAD) == 0);
		doc->flags |= SKX_PENDING_DEAD;
	}
	((SkxDiskStripe *) (stripe_page + SKX_PAGE_START))->ndead += n;
	Assert(skx_pending_stripe_is_successor(stripe, stripe_page));
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(buffer);
	UnlockReleaseBuffer(stripe);
}

static void
skx_pending_vacuum_page(SkxPendingWalk *walk,
						bool (*callback) (ItemPointer tid, void *arg),
						void *arg, SkxPendingVacuum *v)
{
	uint16		offsets[SKX_PENDING_RECORDS_MAX];
	SkxDiskPendingDoc *doc;
	int			n = 0;

	while ((doc = skx_pending_walk_record(walk)) != NULL)
	{
		if (doc->flags & SKX_PENDING_DEAD)
			continue;
		Assert(n < SKX_PENDING_RECORDS_MAX);
		if (callback(&doc->tid, arg))
			offsets[n++] = (char *) doc - walk->page.data;
	}
	if (n > 0)
	{
		skx_pending_flag_dead(walk, offsets, n);
		SKX_FAULT(SKX_FAULT_VACUUM_PENDING_MARKED);
	}
	v->nremoved += n;
}

bool
skx_pending_vacuum(Relation rel, const SkxView *view, int which, int npages,
				   bool (*callback) (ItemPointer tid, void *arg), void *arg,
				   SkxPendingVacuum *v)
{
	SkxPendingWalk *walk = palloc(sizeof(SkxPendingWalk));
	bool		more;

	Assert(npages > 0);
	skx_pending_walk_begin(walk, rel, view, which);
	if (v->limit == 0)
		v->limit = walk->limit;
	walk->limit = v->limit;
	skx_pending_walk_resume(walk, v->sequence, v->block);
	while ((more = skx_pending_walk_page(walk)) && npages-- > 0)
		skx_pending_vacuum_page(walk, callback, arg, v);
	if (more)
	{
		v->sequence = walk->sequence;
		v->block = walk->block;
	}
	pfree(walk);
	return more;
}

void
skx_pending_totals(Relation rel, const SkxView *view,
				   SkxPendingTotals *totals, uint64 *last)
{
	SkxDiskMeta meta = view->meta;
	int			i;

	memset(totals, 0, sizeof(*totals));
	for (i = 0; i < view->nstripes; i++)
	{
		const SkxDiskStripeRef *ref = &view->stripes[i];
		Buffer		buffer = skx_pending_lock_page(rel, &meta, ref->stripe,
												   SKX_PLANE_STRIPE,
												   BUFFER_LOCK_SHARE);
		const SkxDiskStripe *stripe =
			(const SkxDiskStripe *) skx_manifest_page_content(buffer);

		totals->ndocs += stripe->next_sequence - 1 - ref->flushed_through;
		totals->ndead += stripe->ndead - ref->ndead;
		totals->nnull += stripe->nnull - ref->nnull;
		totals->total_length += stripe->total_length - ref->total_length;
		totals->nbytes += stripe->nbytes - ref->nbytes;
		totals->npages += stripe->npages - ref->npages;
		totals->nunused += stripe->extent_end - stripe->extent_next;
		if (last != NULL)
			last[i] = stripe->next_sequence - 1;
		UnlockReleaseBuffer(buffer);
	}
}

void
skx_pending_bind_view(SkxView *view, const uint64 *last)
{
	uint64	   *ends = palloc(sizeof(uint64) * (view->nstripes + 1));
	int			i;

	for (i = 0; i < view->nstripes; i++)
		ends[i] = last[i] + 1;
	skx_manifest_view_bind(view, ends);
	pfree(ends);
}

uint64
skx_pending_bytes(Relation rel, const SkxView *view)
{
	SkxPendingTotals totals;

	skx_pending_totals(rel, view, &totals, NULL);
	return totals.nbytes;
}
