/*
 * manifest_open.c
 *	  Keeps a list, in shared memory, of the views that processes have open.
 *
 * A freed page may be overwritten when no view is open that was taken while
 * the page was in use.  So each view is entered here under its generation,
 * while the metapage is locked.  A flip that frees pages of the view comes
 * after that, and a process that wants to overwrite them finds the view.
 * Views of an older root than the present one are not entered later, with one
 * exception.  A worker of a parallel scan may do that, since the views of its
 * leader stay until the transaction ends.
 *
 * A bound view needs the pending documents before the ends to which it is
 * bound.  Other views may need all of them.
 *
 * A process that cannot map the area holds a lock on a page that no index has,
 * until its transaction ends.  As long as any process holds it, it is not
 * known which views are open.
 *
 * A view is open as long as its memory context lives, within its transaction.
 * Counts in shared memory are as reliable as those of pinned buffers.  A
 * process that ends takes its own back, and after a kill the server begins
 * anew.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "index/manifest/manifest_internal.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "support/compat/compat.h"
#include "support/fault/fault.h"
#include "support/shm/shm.h"
#include "utils/memutils.h"

#define SKX_OPEN_AREA_NAME		"skipidx views"
#define SKX_OPEN_TRANCHE_NAME	"SkipidxViews"

/* The page that a process locks if it cannot map the area. */
#define SKX_OPEN_BLOCK			MaxBlockNumber

/* Entries of each part that only workers of parallel scans get. */
#define SKX_OPEN_SPARE			2

/* One part of the area.  Processes are spread over the parts by pid. */
typedef struct SkxOpenPart
{
	LWLock		lock;			/* protects all that follows */
	uint32		others;			/* open views for which no entry was free */
	uint64		lost;			/* a worker had such a view, which may be open
								 * while a snapshot is so old; 0: none had */
	pg_atomic_uint32 owned;		/* entries that a leader frees */
	SkxOpenView views[SKX_OPEN_VIEWS];
} SkxOpenPart;

typedef struct SkxOpenArea
{
	int			tranche;
	SkxOpenPart parts[SKX_OPEN_PARTS];
} SkxOpenArea;

/*
 * If the library is not preloaded, the area comes from the little shared
 * memory that the server has to spare.
 */
StaticAssertDecl(sizeof(SkxOpenArea) <= 8192, "the area must be small");

/* One view of this process. */
struct SkxHold
{
	dlist_node	node;
	MemoryContextCallback end;
	bool		listed;			/* the view is open */
	bool		placed;			/* it has an entry; else others counts it */
	bool		bound;
	uint64		incarnation;
	uint64		generation;
};

static SkxOpenArea *skx_manifest_open_found = NULL;
static bool skx_manifest_open_hopeless = false;
static dlist_head skx_manifest_holds = DLIST_STATIC_INIT(skx_manifest_holds);

static void
skx_manifest_open_format(void *area)
{
	SkxOpenArea *a = area;

	memset(a, 0, sizeof(*a));
	a->tranche = skx_compat_tranche_new(SKX_OPEN_TRANCHE_NAME);
	for (int i = 0; i < SKX_OPEN_PARTS; i++)
	{
		LWLockInitialize(&a->parts[i].lock, a->tranche);
		pg_atomic_init_u32(&a->parts[i].owned, 0);
	}
}

static void
skx_manifest_open_find(void *arg)
{
	SKX_FAULT(SKX_FAULT_VIEWS_MAP);
	skx_manifest_open_found = skx_compat_anchor(SKX_OPEN_AREA_NAME,
												sizeof(SkxOpenArea),
												skx_manifest_open_format);
	skx_compat_tranche_name(skx_manifest_open_found->tranche,
							SKX_OPEN_TRANCHE_NAME);
}

/*
 * Returns the area.  Returns NULL if the server has no memory for it, or this
 * process cannot map it.
 */
static SkxOpenArea *
skx_manifest_open_area(void)
{
	char	   *why;

	if (skx_manifest_open_found != NULL || skx_manifest_open_hopeless ||
		!IsUnderPostmaster)
		return skx_manifest_open_found;
	why = skx_shm_attempt(skx_manifest_open_find, NULL);
	if (why != NULL)
	{
		skx_manifest_open_hopeless = true;
		skx_manifest_open_found = NULL;
		ereport(LOG,
				(errmsg("could not use shared memory for skipidx: %s", why)));
		pfree(why);
	}
	return skx_manifest_open_found;
}

/* Returns the pid of this process's leader, which frees its entries, or 0. */
static int
skx_manifest_open_leader(void)
{
	return IsParallelWorker() && MyProc->lockGroupLeader != NULL ?
		MyProc->lockGroupLeader->pid : 0;
}

static SkxOpenPart *
skx_manifest_open_part(int leader)
{
	uint32		pid = leader != 0 ? leader : MyProcPid;

	return &skx_manifest_open_area()->parts[pid % SKX_OPEN_PARTS];
}

/* The database counts because a copy of it has indexes of one incarnation. */
static uint64
skx_manifest_open_key(uint64 incarnation)
{
	return hash_combine64(incarnation,
						  hash_bytes_uint32_extended(MyDatabaseId, 0));
}

/*
 * Returns the entry of the hold's views, or else a free entry, cleared.
 * Returns NULL if there is none.
 */
static SkxOpenView *
skx_manifest_open_place(SkxOpenPart *part, const SkxHold *hold, int leader)
{
	SkxOpenView *place = NULL;
	int			n = SKX_OPEN_VIEWS - (leader != 0 ? 0 : SKX_OPEN_SPARE);

	for (int i = 0; i < SKX_OPEN_VIEWS; i++)
	{
		SkxOpenView *v = &part->views[i];

		if (v->count > 0 && v->incarnation == hold->incarnation &&
			v->generation == hold->generation && v->leader == leader)
			return v;
		if (v->count == 0 && i < n && place == NULL)
			place = v;
	}
	if (place == NULL)
		return NULL;
	memset(place, 0, sizeof(*place));
	place->incarnation = hold->incarnation;
	place->generation = hold->generation;
	place->leader = leader;
	return place;
}

/*
 * Notes a worker's view for which no entry is free.  An entry that its leader
 * frees stands for views of any index then.  Without such an entry it is not
 * known when the view is closed, so `lost` is set.
 */
static void
skx_manifest_open_widen(SkxOpenPart *part, int leader, uint64 next_xid)
{
	for (int i = 0; i < SKX_OPEN_VIEWS; i++)
	{
		SkxOpenView *v = &part->views[i];

		if (v->count == 0 || v->leader != leader)
			continue;
		v->incarnation = 0;
		v->generation = 0;
		return;
	}
	part->lost = next_xid;
}

static void
skx_manifest_open_ends(SkxOpenView *v, const uint64 *ends)
{
	for (int i = 0; i < SKX_STRIPES; i++)
		v->ends[i] = Max(v->ends[i], ends[i]);
}

/* Enters a view; ends NULL: it is not bound. */
static void
skx_manifest_open_enter(SkxHold *hold, uint32 next_segment,
						const uint64 *ends)
{
	int			leader = skx_manifest_open_leader();
	SkxOpenPart *part = skx_manifest_open_part(leader);
	uint64		next_xid = 0;
	SkxOpenView *v;

	/* this takes a lock, which is forbidden under that of the part */
	if (leader != 0)
		next_xid = U64FromFullTransactionId(ReadNextFullTransactionId());
	LWLockAcquire(&part->lock, LW_EXCLUSIVE);
	v = skx_manifest_open_place(part, hold, leader);
	hold->placed = v != NULL;
	hold->bound = ends != NULL;
	if (v != NULL)
	{
		if (leader != 0 && v->count == 0)
			pg_atomic_fetch_add_u32(&part->owned, 1);
		v->next_segment = Max(v->next_segment, next_segment);
		v->count++;
		if (ends != NULL)
			skx_manifest_open_ends(v, ends);
		else
			v->unbound++;
	}
	else if (leader != 0)
		skx_manifest_open_widen(part, leader, next_xid);
	else
		part->others++;
	LWLockRelease(&part->lock);
	hold->listed = true;
	dlist_push_head(&skx_manifest_holds, &hold->node);
}

/*
 * Closes a view.  The entry of a worker's view stays, because another worker
 * may read the view next.
 */
static void
skx_manifest_open_leave(SkxHold *hold)
{
	SkxOpenPart *part;
	SkxOpenView *v;

	dlist_delete(&hold->node);
	hold->listed = false;
	if (skx_manifest_open_leader() != 0)
		return;
	part = skx_manifest_open_part(0);
	LWLockAcquire(&part->lock, LW_EXCLUSIVE);
	if (hold->placed)
	{
		v = skx_manifest_open_place(part, hold, 0);
		Assert(v != NULL && v->count > 0);
		v->count--;
		if (!hold->bound)
			v->unbound--;
	}
	else
		part->others--;
	LWLockRelease(&part->lock);
}

/* Frees the entries of a leader's workers, all of which have ended. */
static void
skx_manifest_open_free(SkxOpenPart *part, int leader)
{
	LWLockAcquire(&part->lock, LW_EXCLUSIVE);
	for (int i = 0; i < SKX_OPEN_VIEWS; i++)
	{
		if (part->views[i].count == 0 || part->views[i].leader != leader)
			continue;
		part->views[i].count = 0;
		pg_atomic_fetch_sub_u32(&part->owned, 1);
	}
	LWLockRelease(&part->lock);
}

static void
skx_manifest_open_free_owned(void)
{
	SkxOpenPart *part;

	if (skx_manifest_open_found == NULL)
		return;
	part = skx_manifest_open_part(0);
	if (pg_atomic_read_u32(&part->owned) > 0)
		skx_manifest_open_free(part, MyProcPid);
}

static void
skx_manifest_open_end(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &skx_manifest_holds)
		skx_manifest_open_leave(dlist_container(SkxHold, node, iter.cur));
}

/*
 * Leaves the entries of workers, which may still run: the end of the
 * transaction waits for them, and frees these.
 */
static void
skx_manifest_open_exit(int code, Datum arg)
{
	skx_manifest_open_end();
}

/* Closes all views at the end of the transaction that has read them. */
static void
skx_manifest_open_xact(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			skx_manifest_open_end();
			if (!IsParallelWorker())
				skx_manifest_open_free_owned();
			break;
		default:
			break;
	}
}

void
skx_manifest_open_init(void)
{
	RegisterXactCallback(skx_manifest_open_xact, NULL);
}

static void
skx_manifest_hold_reset(void *arg)
{
	SkxHold    *hold = arg;

	if (hold->listed)
		skx_manifest_open_leave(hold);
}

void
skx_manifest_hold_lock(Relation rel)
{
	if (skx_manifest_open_area() == NULL && IsUnderPostmaster)
		LockPage(rel, SKX_OPEN_BLOCK, ShareLock);
}

SkxHold *
skx_manifest_hold_make(Relation rel)
{
	static bool registered = false;
	SkxHold    *hold = palloc0(sizeof(SkxHold));

	skx_manifest_hold_lock(rel);
	if (skx_manifest_open_area() == NULL)
		return hold;
	if (!registered)
		before_shmem_exit(skx_manifest_open_exit, (Datum) 0);
	registered = true;
	hold->end.func = skx_manifest_hold_reset;
	hold->end.arg = hold;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &hold->end);
	return hold;
}

void
skx_manifest_hold_open(SkxHold *hold, const SkxDiskMeta *meta,
					   const uint64 *ends)
{
	if (skx_manifest_open_found == NULL || hold->listed)
		return;
	hold->incarnation = skx_manifest_open_key(meta->incarnation);
	hold->generation = meta->generation;
	skx_manifest_open_enter(hold, meta->next_segment, ends);
}

void
skx_manifest_hold_bind(SkxHold *hold, const uint64 *ends)
{
	int			leader = skx_manifest_open_leader();
	SkxOpenPart *part;
	SkxOpenView *v;

	if (!hold->listed || !hold->placed || hold->bound)
		return;
	part = skx_manifest_open_part(leader);
	LWLockAcquire(&part->lock, LW_EXCLUSIVE);
	v = skx_manifest_open_place(part, hold, leader);
	if (v != NULL && v->count > 0)
	{
		skx_manifest_open_ends(v, ends);
		v->unbound--;
		hold->bound = true;
	}
	LWLockRelease(&part->lock);
}

void
skx_manifest_hold_close(SkxHold *hold)
{
	if (hold->listed)
		skx_manifest_open_leave(hold);
}

/*
 * Returns true if no process has views of the index which it cannot enter
 * because it could not map the area.
 */
static bool
skx_manifest_open_all(Relation rel)
{
	if (!ConditionalLockPage(rel, SKX_OPEN_BLOCK, ExclusiveLock))
		return false;
	UnlockPage(rel, SKX_OPEN_BLOCK, ExclusiveLock);
	return true;
}

/*
 * Frees the entries of leaders that have ended without doing so, because they
 * could not map the area.
 */
static void
skx_manifest_open_tidy(SkxOpenPart *part)
{
	int			leaders[SKX_OPEN_VIEWS];

	if (pg_atomic_read_u32(&part->owned) == 0)
		return;
	LWLockAcquire(&part->lock, LW_SHARED);
	for (int i = 0; i < SKX_OPEN_VIEWS; i++)
		leaders[i] = part->views[i].count > 0 ? part->views[i].leader : 0;
	LWLockRelease(&part->lock);
	for (int i = 0; i < SKX_OPEN_VIEWS; i++)
	{
		if (leaders[i] != 0 && BackendPidGetProc(leaders[i]) == NULL)
			skx_manifest_open_free(part, leaders[i]);
	}
}

/*
 * Adds the views of an index that are in a part.  Returns true if the part has
 * all views of its processes.
 */
static bool
skx_manifest_open_read(SkxOpenPart *part, Relation heap, uint64 key,
					   SkxOpenViews *open)
{
	bool		all;
	uint64		lost;

	LWLockAcquire(&part->lock, LW_SHARED);
	all = part->others == 0;
	lost = part->lost;
	for (int i = 0; i < SKX_OPEN_VIEWS; i++)
	{
		const SkxOpenView *v = &part->views[i];

		if (v->count == 0)
			continue;
		if (v->incarnation == key)
			open->views[open->n++] = *v;
		all = all && v->generation > 0;
	}
	LWLockRelease(&part->lock);
	return all && (lost == 0 || skx_compat_removable(heap, lost));
}

SkxOpenViews *
skx_manifest_open_views(Relation rel, Relation heap, uint64 incarnation)
{
	SkxOpenArea *a = skx_manifest_open_area();
	SkxOpenViews *open = palloc(sizeof(SkxOpenViews));
	uint64		key = skx_manifest_open_key(incarnation);

	open->known = a != NULL && skx_manifest_open_all(rel);
	open->n = 0;
	for (int k = 0; k < SKX_OPEN_PARTS && open->known; k++)
	{
		skx_manifest_open_tidy(&a->parts[k]);
		open->known = skx_manifest_open_read(&a->parts[k], heap, key, open);
	}
	return open;
}
