/*
 * unit_model.h
 *	  The model's views, of processes and of a standby, with the pages that
 *	  each has; and what must be right at any moment.
 *
 * Included once, after unit_owners.h and unit_idle.h.
 */
#ifndef SKX_TEST_UNIT_MODEL_H
#define SKX_TEST_UNIT_MODEL_H

static RelationData unit_index;

/* ---- views ---- */

#define UNIT_SLOTS			64
#define UNIT_STANDBY_SLOTS	8	/* the first ones */
#define UNIT_BIT(slot)		(UINT64CONST(1) << (slot))

/* A view of the model. */
typedef struct UnitSlot
{
	bool		open;
	bool		feedback;		/* of a standby: this server knows of it */
	uint64		xmin;			/* of a query of the standby */
	UnitProcess *process;		/* NULL: the standby's */
	SkxView    *view;			/* of a process; stays if it can be opened
								 * again */
	MemoryContext context;		/* of a view that outlives its transaction */
} UnitSlot;

static UnitSlot unit_slots[UNIT_SLOTS];
static uint64 unit_known[UNIT_FILE_MOST];	/* of each page: the open views
											 * that have it */
static uint64 unit_unbound;		/* open views that are not bound */
static bool unit_standby_allowed;
static bool unit_standby_tells; /* the standby tells what it needs */

static void
unit_know(int slot, BlockNumber block, uint32 npages)
{
	while (npages-- > 0)
		unit_known[block++] |= UNIT_BIT(slot);
}

static void
unit_know_chain(int slot, const SkxDiskPendingDoc *doc)
{
	SkxDiskPendingChain chain;
	BlockNumber block;
	uint32		left;

	memcpy(&chain, doc + 1, sizeof(chain));
	block = chain.first;
	for (left = chain.nbytes; left > 0;)
	{
		const SkxDiskChainPage *head = (const SkxDiskChainPage *)
			unit_content(block, SKX_PLANE_CHAIN);

		MUST(head->nbytes > 0 && head->nbytes <= left,
			 "page %u has no part of its document", block);
		unit_know(slot, block, 1);
		left -= head->nbytes;
		block = head->next;
	}
}

/* The documents of a page after `through`, and before `limit`. */
static void
unit_know_records(int slot, const SkxDiskPendingPage *head, uint64 through,
				  uint64 limit)
{
	const char *at = (const char *) (head + 1);
	uint64		sequence = head->first_sequence;
	uint64		end = Min(sequence + head->nrecords, limit);

	for (; sequence < end; sequence++)
	{
		const SkxDiskPendingDoc *doc = (const SkxDiskPendingDoc *) at;

		if (sequence > through && (doc->flags & SKX_PENDING_CHAIN))
			unit_know_chain(slot, doc);
		at += SKX_PENDING_RECORD_SIZE(doc->nbytes);
	}
}

/* The pages that a scan of a stripe would read now. */
static void
unit_know_stripe(int slot, const SkxView *view, int which)
{
	const SkxDiskStripeRef *ref = &view->stripes[which];
	const SkxDiskStripe *stripe = unit_stripe_of(view, which);
	uint64		through = ref->flushed_through;
	uint64		limit = stripe->next_sequence;
	uint64		sequence = 0;
	BlockNumber block = ref->first;

	if (view->is_bound)
		limit = Min(limit, view->pending_ends[which]);
	if (block == InvalidBlockNumber)
		block = stripe->first;
	while (Max(sequence, through + 1) < limit)
	{
		const SkxDiskPendingPage *head = (const SkxDiskPendingPage *)
			unit_content(block, SKX_PLANE_PENDING);

		MUST(sequence == 0 ? head->first_sequence <= through + 1 :
			 head->first_sequence == sequence,
			 "page %u is not the next of stripe %d", block, which);
		unit_know(slot, block, 1);
		unit_know_records(slot, head, through, limit);
		sequence = head->first_sequence + head->nrecords;
		block = head->next;
	}
}

/* All pages that a view has, by its own root. */
static void
unit_know_view(int slot, const SkxView *view)
{
	int			i;
	int			k;

	for (i = 0; i < view->nroot; i++)
		unit_know(slot, view->root[i], 1);
	for (i = 0; i < view->nsegments; i++)
	{
		const UnitSegment *s = &unit_segments[view->segments[i].segment];
		const UnitRun *run = &unit_runs[s->first];

		for (k = 0; k < s->nruns; k++)
			unit_know(slot, run[k].block, run[k].npages);
	}
	for (i = 0; i < view->nstripes; i++)
		unit_know_stripe(slot, view, i);
}

/* The view is closed: it has no pages. */
static void
unit_forget(int slot)
{
	BlockNumber i;

	for (i = 0; i < unit_file_longest; i++)
		unit_known[i] &= ~UNIT_BIT(slot);
	unit_unbound &= ~UNIT_BIT(slot);
	unit_slots[slot].open = false;
}

/* Returns a slot that is not in use, or -1. */
static int
unit_find_slot(bool standby)
{
	int			i = standby ? 0 : UNIT_STANDBY_SLOTS;
	int			end = standby ? UNIT_STANDBY_SLOTS : UNIT_SLOTS;

	for (; i < end; i++)
		if (!unit_slots[i].open && unit_slots[i].view == NULL)
			return i;
	return -1;
}

/* ---- a standby ---- */

/* The standby tells what it needs. */
static void
unit_standby_look(void)
{
	int			i;

	unit_feedback = 0;
	for (i = 0; i < UNIT_STANDBY_SLOTS; i++)
		if (unit_slots[i].open && unit_slots[i].feedback)
			unit_feedback = unit_feedback == 0 ? unit_slots[i].xmin :
				Min(unit_feedback, unit_slots[i].xmin);
}

/* A query of the standby, which has replayed all that is flushed. */
static void
unit_standby_query(void)
{
	int			slot = unit_find_slot(true);

	if (!unit_standby_allowed || slot < 0 || unit_exclusive != NULL)
		return;
	unit_file_flush();
	memset(&unit_slots[slot], 0, sizeof(UnitSlot));
	unit_slots[slot].open = true;
	unit_slots[slot].xmin = unit_oldest_xid();
	unit_slots[slot].feedback = unit_standby_tells;
	unit_know_view(slot, &unit_present);
	unit_standby_look();
}

/* Queries of the standby end: all, or those with no later snapshot. */
static void
unit_standby_cancel(uint64 xid, bool all)
{
	int			i;

	for (i = 0; i < UNIT_STANDBY_SLOTS; i++)
	{
		if (!unit_slots[i].open || (!all && unit_slots[i].xmin > xid))
			continue;
		MUST(all || !unit_slots[i].feedback ||
			 skx_manifest_reuse_early == SKX_REUSE_ON,
			 "a query of the standby is cancelled though it is known");
		unit_forget(i);
	}
	unit_standby_look();
}

void
skx_compat_log_reuse(Relation table, SkxLocator locator, BlockNumber block,
					 uint64 safexid)
{
	unit_standby_cancel(safexid, false);
}

static void
unit_process_exclusive(void)
{
	unit_standby_cancel(0, true);
}

/* ---- what is right at any moment ---- */

static uint64 unit_disturbed;	/* last generation beside which something kept
								 * pages from being reused */
static uint64 unit_freed_at[UNIT_FILE_MOST];	/* of a page that waits: the
												 * next transaction then */

/* Returns true if something keeps free pages from being reused. */
static bool
unit_is_disturbed(void)
{
	int			i;

	for (i = UNIT_STANDBY_SLOTS; i < UNIT_SLOTS; i++)
		if (unit_slots[i].open)
			return true;
	for (i = 0; i < UNIT_PROCESSES; i++)
		if (unit_processes[i].leader != NULL || unit_held[1][i][0] > 0)
			return true;
	for (i = 0; unit_area_made && i < SKX_OPEN_PARTITIONS; i++)
	{
		const SkxOpenPartition *part = &unit_area.partitions[i];
		int			k;

		if (part->unlisted_views > 0 || part->lost_xid != 0)
			return true;
		for (k = 0; k < SKX_OPEN_VIEWS; k++)
			if (part->views[k].count > 0)
				return true;
	}
	return (unit_current != NULL && unit_current->unable) || unit_decoded ||
		skx_manifest_reuse_early == SKX_REUSE_OFF ||
		(skx_manifest_reuse_early == SKX_REUSE_AUTO &&
		 skx_manifest_has_standby());
}

/* Only pages that the last flip has freed wait, if nothing needs them. */
static void
unit_check_reuse(void)
{
	uint64		now = unit_present.meta.generation;
	int			i;

	if (unit_is_disturbed())
		unit_disturbed = now;
	if (now < unit_disturbed + 2)
		return;
	for (i = 0; i < unit_present.nextents; i++)
	{
		const SkxDiskExtent *e = &unit_present.extents[i];

		MUST(e->safexid == 0 || e->safexid == SKX_SAFEXID_FLIP ||
			 (e->waits == SKX_WAITS_VIEWS &&
			  SKX_VIEW_SPAN_FREED(e->safexid, now) == now),
			 "page %u waits for nothing", e->block);
	}
}

/*
 * Each document that has left the lists is in one segment, or was left out by
 * a merge, unless it was dead before.
 */
static void
unit_check_documents(void)
{
	uint64		flushed = unit_segments[0].total;
	uint64		found = 0;
	uint32		id;
	int			i;

	for (i = 0; i < unit_present.nstripes; i++)
		flushed += unit_present.stripes[i].flushed_through -
			unit_present.stripes[i].ndead;
	for (i = 0; i < unit_present.nsegments; i++)
	{
		id = unit_present.segments[i].segment;
		if (unit_segments[id].emptied == 0)
			found += unit_segments[id].total;
	}
	for (id = 1; id < unit_present.meta.next_segment; id++)
		if (unit_segments[id].emptied > 0)
			found += unit_segments[id].total;
	MUST(found == flushed, "%llu of %llu documents are there",
		 (unsigned long long) found, (unsigned long long) flushed);
}

/*
 * Returns the first transaction id such that pages freed then or later are not
 * given out yet, whatever views are open.
 */
static uint64
unit_first_awaited(void)
{
	Relation	rel = &unit_index;

	if (skx_manifest_reuse_early == SKX_REUSE_OFF || unit_decoded)
		return unit_horizon;
	if (skx_manifest_reuse_early == SKX_REUSE_ON || !RelationNeedsWAL(rel) ||
		!skx_manifest_has_standby())
		return PG_UINT64_MAX;
	return Max(unit_horizon, skx_compat_standby_horizon());
}

/*
 * A flip makes no page ready that was in use, or that is awaited, unless no
 * process uses the index.
 */
static void
unit_check_ready(BlockNumber nblocks)
{
	uint64		awaited = unit_first_awaited();
	BlockNumber i;

	for (i = 0; i < Min(nblocks, unit_present.meta.nblocks); i++)
	{
		UnitOwner	now = unit_owners[i];
		UnitOwner	before = unit_owners_before[i];
		bool		used = before == OWNER_ROOT || before == OWNER_STRIPE ||
			before == OWNER_SEGMENT;

		/* a page that is ready may be joined to others that were awaited */
		if (now == OWNER_WAITING && used)
			unit_freed_at[i] = unit_next_xid;
		if (unit_exclusive != NULL ||
			(now != OWNER_FREE && now != OWNER_POOL && now != OWNER_RESERVED))
			continue;
		MUST(!used, "page %u of %s is free at once", i,
			 unit_owner_names[before]);
		MUST(before != OWNER_WAITING || unit_freed_at[i] < awaited,
			 "page %u is free too early", i);
	}
}

/*
 * A flip fills the pool to a 16th of the file, within bounds, or with as many
 * pages as stripes give up.  Neighbours that wait are one extent where there
 * are very many.
 */
static void
unit_check_bounds(const SkxDiskMeta *before)
{
	uint32		target = Max(before->nblocks / 16, 16 * SKX_STRIPES_DEFAULT);
	uint32		given_up = 0;
	uint64		had = 0;
	uint64		has = 0;
	BlockNumber i;

	for (i = 0; i < before->npool; i++)
		had += before->pool[i].npages;
	for (i = 0; i < unit_present.meta.npool; i++)
		has += unit_present.meta.pool[i].npages;
	for (i = 0; i < before->nblocks; i++)
		given_up += unit_owners_before[i] == OWNER_STRIPE &&
			(i >= unit_present.meta.nblocks || unit_owners[i] != OWNER_STRIPE);
	target = Max(Min(target, 640), given_up);
	MUST(has <= Max(had, target + Max(unit_block_pages(), 16) - 1),
		 "the pool has %llu pages", (unsigned long long) has);

	/* a flip adds a few to the 512 */
	for (i = 1; i < unit_present.nextents && unit_present.nextents > 528; i++)
	{
		const SkxDiskExtent *e = &unit_present.extents[i];

		MUST(e->waits != SKX_WAITS_VIEWS || e[-1].waits != e->waits ||
			 e[-1].block + e[-1].npages < e->block,
			 "there are %d extents", unit_present.nextents);
	}
}

/* Checks the index as it is: a crash may leave it so. */
static void
unit_check(void)
{
	SkxDiskMeta before = unit_present.meta;
	const SkxDiskMeta *meta = &unit_present.meta;
	const SkxDiskOperation *op;
	BlockNumber i;

	unit_read();
	MUST(meta->nblocks <= unit_file_length &&
		 meta->nblocks <= unit_file_replayed &&
		 meta->nblocks % unit_block_pages() == 0,
		 "a file of %u pages, %u of them logged, should have %u",
		 unit_file_length, unit_file_replayed, meta->nblocks);
	op = unit_present.operations;
	MUST(meta->npool <= SKX_META_POOL_EXTENTS &&
		 unit_present.noperations <= 2 &&
		 (unit_present.noperations < 2 || op[0].kind != op[1].kind),
		 "there are %d operations", unit_present.noperations);
	unit_own_all();
	for (i = 0; i < meta->nblocks; i++)
	{
		UnitOwner	owner = unit_owners[i];

		MUST(owner != OWNER_NONE, "page %u is lost", i);
		MUST(unit_known[i] == 0 ||
			 (owner != OWNER_FREE && owner != OWNER_RESERVED &&
			  owner != OWNER_POOL),
			 "page %u belongs to %s, and views %llx have it", i,
			 unit_owner_names[owner], (unsigned long long) unit_known[i]);
	}
	unit_check_documents();
	unit_check_reuse();
	if (meta->generation == before.generation + 1 &&
		meta->incarnation == before.incarnation)
	{
		unit_check_bounds(&before);
		unit_check_ready(before.nblocks);
	}
}

#endif							/* SKX_TEST_UNIT_MODEL_H */
