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
#define SKX_OPEN_LOCK_BLOCK			MaxBlockNumber

/* Entries of each part that only workers of parallel scans get. */
#define SKX_OPEN_WORKER_ENTRIES			2

/* One part of the area.  Processes are spread over the parts by pid. */
typedef struct SkxOpenPartition
{
	LWLock		lock;			/* protects all that follows */
	uint32		unlisted_views; /* open views for which no entry was free */
	uint64		lost_xid;		/* a worker had such a view, which may be open
								 * while a snapshot is so old; 0: none had */
	pg_atomic_uint32 leader_entries;	/* entries that a leader frees */
	SkxOpenView views[SKX_OPEN_VIEWS];
} SkxOpenPartition;

typedef struct SkxOpenArea
{
	int			tranche;
	SkxOpenPartition partitions[SKX_OPEN_PARTITIONS];
} SkxOpenArea;

/*
 * If the library is not preloaded, the area comes from the little shared
 * memory that the server has to spare.
 */
StaticAssertDecl(sizeof(SkxOpenArea) <= 8192, "the area must be small");

/* One view of this process. */
struct SkxViewEntry
{
	dlist_node	node;
	MemoryContextCallback end_callback;
	bool		is_open;		/* the view is open */
	bool		has_entry;		/* it has an entry; else others counts it */
	bool		is_bound;
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
	for (int i = 0; i < SKX_OPEN_PARTITIONS; i++)
	{
		LWLockInitialize(&a->partitions[i].lock, a->tranche);
		pg_atomic_init_u32(&a->partitions[i].leader_entries, 0);
	}
}

static void
skx_manifest_open_find(void *arg)
{
	SKX_FAULT(SKX_FAULT_VIEWS_MAP);
	skx_manifest_open_found = skx_compat_shmem_area(SKX_OPEN_AREA_NAME,
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
skx_manifest_open_leader_pid(void)
{
	return IsParallelWorker() && MyProc->lockGroupLeader != NULL ?
		MyProc->lockGroupLeader->pid : 0;
}

static SkxOpenPartition *
skx_manifest_open_partition(int leader)
{
	uint32		pid = leader != 0 ? leader : MyProcPid;

	return &skx_manifest_open_area()->partitions[pid % SKX_OPEN_PARTITIONS];
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
skx_manifest_open_find_entry(SkxOpenPartition *part, const SkxViewEntry *hold,
							 int leader)
{
	SkxOpenView *place = NULL;
	int			n = SKX_OPEN_VIEWS -
		(leader != 0 ? 0 : SKX_OPEN_WORKER_ENTRIES);

	for (int i = 0; i < SKX_OPEN_VIEWS; i++)
	{
		SkxOpenView *v = &part->views[i];

		if (v->count > 0 && v->incarnation == hold->incarnation &&
			v->generation == hold->generation && v->leader_pid == leader)
			return v;
		if (v->count == 0 && i < n && place == NULL)
			place = v;
	}
	if (place == NULL)
		return NULL;
	memset(place, 0, sizeof(*place));
	place->incarnation = hold->incarnation;
	place->generation = hold->generation;
	place->leader_pid = leader;
	return place;
}

/*
 * Notes a worker's view for which no entry is free.  An entry that its leader
 * frees stands for views of any index then.  Without such an entry it is not
 * known when the view is closed, so `lost_xid` is set.
 */
static void
skx_manifest_open_note_unlisted(SkxOpenPartition *part, int leader,
								uint64 next_xid)
{
	for (int i = 0; i < SKX_OPEN_VIEWS; i++)
	{
		SkxOpenView *v = &part->views[i];

		if (v->count == 0 || v->leader_pid != leader)
			continue;
		v->incarnation = 0;
		v->generation = 0;
		return;
	}
	part->lost_xid = next_xid;
}

static void
skx_manifest_open_set_ends(SkxOpenView *v, const uint64 *ends)
{
	for (int i = 0; i < SKX_STRIPES_DEFAULT; i++)
		v->pending_ends[i] = Max(v->pending_ends[i], ends[i]);
}

/* Enters a view; ends NULL: it is not bound. */
static void
skx_manifest_open_add_view(SkxViewEntry *hold, uint32 next_segment,
						   const uint64 *ends)
{
	int			leader = skx_manifest_open_leader_pid();
	SkxOpenPartition *part = skx_manifest_open_partition(leader);
	uint64		next_xid = 0;
	SkxOpenView *v;

	/* this takes a lock, which is forbidden under that of the part */
	if (leader != 0)
		next_xid = U64FromFullTransactionId(ReadNextFullTransactionId());
	LWLockAcquire(&part->lock, LW_EXCLUSIVE);
	v = skx_manifest_open_find_entry(part, hold, leader);
	hold->has_entry = v != NULL;
	hold->is_bound = ends != NULL;
	if (v != NULL)
	{
		if (leader != 0 && v->count == 0)
			pg_atomic_fetch_add_u32(&part->leader_entries, 1);
		v->next_segment = Max(v->next_segment, next_segment);
		v->count++;
		if (ends != NULL)
			skx_manifest_open_set_ends(v, ends);
		else
			v->nunbound++;
	}
	else if (leader != 0)
		skx_manifest_open_note_unlisted(part, leader, next_xid);
	else
		part->unlisted_views++;
	LWLockRelease(&part->lock);
	hold->is_open = true;
	dlist_push_head(&skx_manifest_holds, &hold->node);
}

/*
 * Closes a view.  The entry of a worker's view stays, because another worker
 * may read the view next.
 */
static void
skx_manifest_open_remove_view(SkxViewEntry *hold)
{
	SkxOpenPartition *part;
	SkxOpenView *v;

	dlist_delete(&hold->node);
	hold->is_open = false;
	if (skx_manifest_open_leader_pid() != 0)
		return;
	part = skx_manifest_open_partition(0);
	LWLockAcquire(&part->lock, LW_EXCLUSIVE);
	if (hold->has_entry)
	{
		v = skx_manifest_open_find_entry(part, hold, 0);
		Assert(v != NULL && v->count > 0);
		v->count--;
		if (!hold->is_bound)
			v->nunbound--;
	}
	else
		part->unlisted_views--;
	LWLockRelease(&part->lock);
}

/* Frees the entries of a leader's workers, all of which have ended. */
static void
skx_manifest_open_free_workers(SkxOpenPartition *part, int leader)
{
	LWLockAcquire(&part->lock, LW_EXCLUSIVE);
	for (int i = 0; i < SKX_OPEN_VIEWS; i++)
	{
		if (part->views[i].count == 0 || part->views[i].leader_pid != leader)
			continue;
		part->views[i].count = 0;
		pg_atomic_fetch_sub_u32(&part->leader_entries, 1);
	}
	LWLockRelease(&part->lock);
}

static void
skx_manifest_open_free_owned(void)
{
	SkxOpenPartition *part;

	if (skx_manifest_open_found == NULL)
		return;
	part = skx_manifest_open_partition(0);
	if (pg_atomic_read_u32(&part->leader_entries) > 0)
		skx_manifest_open_free_workers(part, MyProcPid);
}

static void
skx_manifest_open_end(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &skx_manifest_holds)
		skx_manifest_open_remove_view(dlist_container(SkxViewEntry, node,
													  iter.cur));
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
skx_manifest_entry_reset(void *arg)
{
	SkxViewEntry *hold = arg;

	if (hold->is_open)
		skx_manifest_open_remove_view(hold);
}

void
skx_manifest_entry_lock(Relation rel)
{
	if (skx_manifest_open_area() == NULL && IsUnderPostmaster)
		LockPage(rel, SKX_OPEN_LOCK_BLOCK, ShareLock);
}

SkxViewEntry *
skx_manifest_entry_create(Relation rel)
{
	static bool registered = false;
	SkxViewEntry *hold = palloc0(sizeof(SkxViewEntry));

	skx_manifest_entry_lock(rel);
	if (skx_manifest_open_area() == NULL)
		return hold;
	if (!registered)
		before_shmem_exit(skx_manifest_open_exit, (Datum) 0);
	registered = true;
	hold->end_callback.func = skx_manifest_entry_reset;
	hold->end_callback.arg = hold;
	MemoryContextRegisterResetCallback(CurrentMemoryContext,
									   &hold->end_callback);
	return hold;
}

void
skx_manifest_entry_open(SkxViewEntry *hold, const SkxDiskMeta *meta,
						const uint64 *ends)
{
	if (skx_manifest_open_found == NULL || hold->is_open)
		return;
	hold->incarnation = skx_manifest_open_key(meta->incarnation);
	hold->generation = meta->generation;
	skx_manifest_open_add_view(hold, meta->next_segment, ends);
}

void
skx_manifest_entry_bind(SkxViewEntry *hold, const uint64 *ends)
{
	int			leader = skx_manifest_open_leader_pid();
	SkxOpenPartition *part;
	SkxOpenView *v;

	if (!hold->is_open || !hold->has_entry || hold->is_bound)
		return;
	part = skx_manifest_open_partition(leader);
	LWLockAcquire(&part->lock, LW_EXCLUSIVE);
	v = skx_manifest_open_find_entry(part, hold, leader);
	if (v != NULL && v->count > 0)
	{
		skx_manifest_open_set_ends(v, ends);
		v->nunbound--;
		hold->is_bound = true;
	}
	LWLockRelease(&part->lock);
}

void
skx_manifest_entry_close(SkxViewEntry *hold)
{
	if (hold->is_open)
		skx_manifest_open_remove_view(hold);
}

/*
 * Returns true if no process has views of the index which it cannot enter
 * because it could not map the area.
 */
static bool
skx_manifest_open_is_complete(Relation rel)
{
	if (!ConditionalLockPage(rel, SKX_OPEN_LOCK_BLOCK, ExclusiveLock))
		return false;
	UnlockPage(rel, SKX_OPEN_LOCK_BLOCK, ExclusiveLock);
	return true;
}

/*
 * Frees the entries of leaders that have ended without doing so, because they
 * could not map the area.
 */
static void
skx_manifest_open_free_orphans(SkxOpenPartition *part)
{
	int			leaders[SKX_OPEN_VIEWS];

	if (pg_atomic_read_u32(&part->leader_entries) == 0)
		return;
	LWLockAcquire(&part->lock, LW_SHARED);
	for (int i = 0; i < SKX_OPEN_VIEWS; i++)
		leaders[i] = part->views[i].count > 0 ? part->views[i].leader_pid : 0;
	LWLockRelease(&part->lock);
	for (int i = 0; i < SKX_OPEN_VIEWS; i++)
	{
		if (leaders[i] != 0 && BackendPidGetProc(leaders[i]) == NULL)
			skx_manifest_open_free_workers(part, leaders[i]);
	}
}

/*
 * Adds the views of an index that are in a part.  Returns true if the part has
 * all views of its processes.
 */
static bool
skx_manifest_open_read_partition(SkxOpenPartition *part, Relation heap,
								 uint64 key, SkxOpenViews *open)
{
	bool		all;
	uint64		lost;

	LWLockAcquire(&part->lock, LW_SHARED);
	all = part->unlisted_views == 0;
	lost = part->lost_xid;
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
	return all && (lost == 0 || skx_compat_is_removable(heap, lost));
}

SkxOpenViews *
skx_manifest_open_views(Relation rel, Relation heap, uint64 incarnation)
{
	SkxOpenArea *a = skx_manifest_open_area();
	SkxOpenViews *open = palloc(sizeof(SkxOpenViews));
	uint64		key = skx_manifest_open_key(incarnation);

	open->is_complete = a != NULL && skx_manifest_open_is_complete(rel);
	open->n = 0;
	for (int k = 0; k < SKX_OPEN_PARTITIONS && open->is_complete; k++)
	{
		skx_manifest_open_free_orphans(&a->partitions[k]);
		open->is_complete = skx_manifest_open_read_partition(&a->partitions[k],
															 heap, key, open);
	}
	return open;
}
