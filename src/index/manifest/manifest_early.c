/*
 * manifest_early.c
 *	  Decides which free pages may be overwritten although old snapshots exist.
 *
 * A freed page is needed by the open views that were taken while it was in use
 * (manifest_open.c), and by no other process, whatever its snapshot.  (VACUUM
 * and workers read under locks alone.)  So a load reuses the pages that its
 * own flushes and merges have freed, long before its transaction ends.  A
 * cursor that stays open keeps the pages of its view, and none that came
 * later.
 *
 * The generation that began to use a page is not stored.  When a page is
 * freed, it is known for every open view whether it has the page, and later
 * views do not have it.  So the extent is noted as if it were as old as the
 * oldest open view that has it.
 *
 * Each reuse of pages is logged, and makes a standby cancel its queries with
 * old snapshots.  So if there may be a standby, pages that no view has wait
 * longer.  All transactions that had an id when the pages were freed must have
 * ended, and slots and standbys with feedback must need nothing so old.  By
 * then new queries of the standby have later snapshots.  A session that only
 * reads holds nothing back.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "index/manifest/manifest_internal.h"
#include "replication/slot.h"
#include "replication/walsender_private.h"
#include "support/compat/compat.h"
#include "utils/rel.h"

int			skx_manifest_reuse_early = SKX_REUSE_AUTO;

/* Returns true if a WAL sender is at work, or a physical slot exists. */
static bool
skx_manifest_has_replication(void)
{
	bool		followed = false;
	int			i;

	for (i = 0; i < max_wal_senders && !followed; i++)
		followed = WalSndCtl->walsnds[i].pid != 0;
	if (followed || max_replication_slots <= 0)
		return followed;
	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (i = 0; i < max_replication_slots && !followed; i++)
	{
		const ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];

		followed = slot->in_use && slot->data.database == InvalidOid;
	}
	LWLockRelease(ReplicationSlotControlLock);
	return followed;
}

bool
skx_manifest_has_standby(void)
{
	return XLogStandbyInfoActive() &&
		(XLogArchivingActive() || skx_manifest_has_replication());
}

/*
 * Returns the transaction id from which on a standby may need pages that no
 * view has (SkxOpenViews.standby_horizon).  Returns 0 also if pages must wait
 * for snapshots, whatever views are open.
 */
static uint64
skx_manifest_standby_horizon(Relation rel, Relation heap)
{
	if (skx_manifest_reuse_early == SKX_REUSE_OFF ||
		RelationIsAccessibleInLogicalDecoding(heap))
		return 0;
	if (skx_manifest_reuse_early == SKX_REUSE_ON || !RelationNeedsWAL(rel) ||
		!skx_manifest_has_standby())
		return PG_UINT64_MAX;
	return RecoveryInProgress() ? 0 : skx_compat_standby_horizon();
}

SkxOpenViews *
skx_manifest_reuse_limits(Relation rel, Relation heap, const SkxView *view)
{
	SkxOpenViews *open = skx_manifest_open_views(rel, heap,
												 view->meta.incarnation);

	open->standby_horizon = skx_manifest_standby_horizon(rel, heap);
	open->is_complete = open->is_complete && open->standby_horizon > 0;
	return open;
}

/*
 * Returns true if an open view has pages that were in use from generation
 * `born` to generation `freed`, without the latter.
 */
static bool
skx_manifest_view_needs(const SkxOpenViews *open, uint64 born, uint64 freed)
{
	int			i;

	for (i = 0; i < open->n; i++)
	{
		if (open->views[i].generation >= born &&
			open->views[i].generation < freed)
			return true;
	}
	return false;
}

uint64
skx_manifest_safexid(const SkxView *view, const SkxDiskExtent *extent)
{
	if (extent->waits != SKX_WAITS_VIEWS)
		return extent->safexid;
	/* the extent was freed by the flip to the present root, or before */
	if (view->meta.freed_xid != 0)
		return view->meta.freed_xid;
	return U64FromFullTransactionId(ReadNextFullTransactionId());
}

bool
skx_manifest_has_no_view(const SkxDiskExtent *extent, const SkxOpenViews *open)
{
	return extent->waits == SKX_WAITS_STANDBYS ||
		(open->is_complete &&
		 (extent->waits == SKX_WAITS_VIEWS || open->n == 0));
}

uint64
skx_manifest_extent_wait(Relation heap, const SkxView *view,
						 const SkxDiskExtent *extent, const SkxOpenViews *open)
{
	uint64		now = view->meta.generation;
	uint64		xid;

	if (extent->safexid == 0)
		return SKX_WAIT_NONE;
	if (open->is_complete && extent->waits == SKX_WAITS_VIEWS &&
		skx_manifest_view_needs(open, SKX_VIEW_SPAN_BORN(extent->safexid, now),
								SKX_VIEW_SPAN_FREED(extent->safexid, now)))
		return SKX_WAIT_VIEWS;
	xid = skx_manifest_safexid(view, extent);
	if (skx_manifest_has_no_view(extent, open) && xid < open->standby_horizon)
		return SKX_WAIT_NONE;
	return skx_compat_is_removable(heap, xid) ? SKX_WAIT_NONE : xid;
}

uint64 *
skx_manifest_extent_waits(Relation rel, const SkxView *view)
{
	uint64	   *waits = palloc_extended((view->nextents + 1) * sizeof(uint64),
										MCXT_ALLOC_HUGE);
	Relation	heap = skx_compat_index_heap(rel);
	SkxOpenViews *open = skx_manifest_reuse_limits(rel, heap, view);
	int			i;

	for (i = 0; i < view->nextents; i++)
		waits[i] = view->extents[i].operation != 0 ? SKX_WAIT_NONE :
			skx_manifest_extent_wait(heap, view, &view->extents[i], open);
	pfree(open);
	RelationClose(heap);
	return waits;
}

uint64
skx_manifest_waiting_pages(Relation rel, const SkxView *view)
{
	uint64	   *waits = skx_manifest_extent_waits(rel, view);
	uint64		npages = 0;
	int			i;

	for (i = 0; i < view->nextents; i++)
	{
		if (waits[i] != SKX_WAIT_NONE && waits[i] != SKX_WAIT_VIEWS)
			npages += view->extents[i].npages;
	}
	pfree(waits);
	return npages;
}

/*
 * Returns the generation of the oldest view that may have the freed pages, of
 * those that are open or may be opened before the flip.  Older views do not
 * have the pages.
 */
static uint64
skx_manifest_oldest_view_of(const SkxOpenViews *open, uint64 now,
							const SkxFreedExtent *freed)
{
	uint64		born = now;
	int			i;

	for (i = 0; i < open->n; i++)
	{
		const SkxOpenView *v = &open->views[i];
		bool		has;

		if (freed->segment != 0)
			has = v->next_segment > freed->segment;
		else
			has = v->nunbound > 0 || freed->stripe >= SKX_STRIPES_DEFAULT ||
				v->pending_ends[freed->stripe] > freed->first_sequence;
		if (has)
			born = Min(born, v->generation);
	}
	return born;
}

void
skx_manifest_free_from_flip(SkxDraft *draft, const SkxFreedExtent *freed)
{
	uint64		now = draft->view->meta.generation;
	uint64		born;

	if (!draft->open_views->is_complete)
	{
		skx_manifest_free_add(draft, freed->block, freed->npages,
							  SKX_SAFEXID_FLIP);
		return;
	}
	born = skx_manifest_oldest_view_of(draft->open_views, now, freed);
	skx_manifest_free_add(draft, freed->block, freed->npages,
						  SKX_VIEW_SPAN(born, now + 1));
	draft->extents[draft->nextents - 1].extent.waits = SKX_WAITS_VIEWS;
}
