/*
 * manifest_open.c
 *	  Which views processes have open.
 *
 * A page that was freed may be overwritten when no view is open that was
 * taken between its birth and its end.  So each view is entered here under its
 * generation, while the metapage is locked: the flip that frees what the view
 * has comes after that, and a process that overwrites it finds the view.  None
 * of an older generation than the present is entered later, but by a worker of
 * a parallel scan, whose leader's views stay until its transaction ends.
 *
 * What a view needs of the pending lists is told by where they ended when it
 * was bound; until then it may need all of them.
 *
 * A process that cannot have the area holds a lock on a page that no index has,
 * until its transaction ends: as long as any does, it is not known which views
 * are open.
 *
 * A view is open as long as its memory context lives, within its transaction.
 * Counts in shared memory are as reliable as those of pinned buffers: a process
 * that ends takes its own back, and where one is killed the server begins anew.
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

/* Locked by processes whose views are not entered. */
#define SKX_OPEN_BLOCK			MaxBlockNumber

/* Places that only workers of parallel scans get, of each part. */
#define SKX_OPEN_SPARE			2

/* Processes are spread over the parts. */
typedef struct SkxOpenPart
{
	LWLock		lock;			/* of all that follows */
	uint32		others;			/* views for which there was no place */
	uint64		lost;			/* the same, of a worker: as long as there is
								 * a snapshot this old; 0: none */
	pg_atomic_uint32 owned;		/* places that a leader frees */
	SkxOpenView views[SKX_OPEN_VIEWS];
} SkxOpenPart;

typedef struct SkxOpenArea
{
	int			tranche;
	SkxOpenPart parts[SKX_OPEN_PARTS];
} SkxOpenArea;

/* Not preloaded, it comes out of the little that the server has to spare. */
StaticAssertDecl(sizeof(SkxOpenArea) <= 8192, "the area must be small");

/* One view of this process. */
struct SkxHold
{
	dlist_node	node;
	MemoryContextCallback end;
	bool		listed;			/* else it is open no more */
	bool		placed;			/* else it is one of `others` */
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

/* NULL: the server has no room for it, or this process cannot map it. */
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

/* The process that ends the views of this one: its leader, or 0. */
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

/* A database that is copied has the incarnations of the other. */
static uint64
skx_manifest_open_key(uint64 incarnation)
{
	return hash_combine64(incarnation,
						  hash_bytes_uint32_extended(MyDatabaseId, 0));
}

/* The place of these views, or a free one, cleared; NULL: there is none. */
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
 * A worker's view has no place.  One that its leader frees stands for views of
 * any index then; without such a one it would not be known when it is over.
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

/* Enters a view that is in no place yet; ends NULL: it is not bound. */
static void
skx_manifest_open_enter(SkxHold *hold, uint32 next_segment,
						const uint64 *ends)
{
	int			leader = skx_manifest_open_leader();
	SkxOpenPart *part = skx_manifest_open_part(leader);
	uint64		next_xid = 0;
	SkxOpenView *v;

	/* which takes a lock, as may not be done under that of the part */
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

/* Those of a worker stay where they are: another one may read them next. */
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

/* The places of a leader's workers, all of which have ended. */
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

/* Workers may still run: the end of the transaction waits for them. */
static void
skx_manifest_open_exit(int code, Datum arg)
{
	skx_manifest_open_end();
}

/* No view is open for longer than the transaction that has read it. */
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

/* Has no process a view that it could not enter? */
static bool
skx_manifest_open_all(Relation rel)
{
	if (!ConditionalLockPage(rel, SKX_OPEN_BLOCK, ExclusiveLock))
		return false;
	UnlockPage(rel, SKX_OPEN_BLOCK, ExclusiveLock);
	return true;
}

/*
 * Frees the places of leaders that have ended without doing so, as those have
 * that could not map the area.
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

/* Adds the views of an index that are in a part; are all of them there? */
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
