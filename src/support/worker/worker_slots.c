/*
 * worker_slots.c
 *	  Tells which index has a worker, and which may get one.
 *
 * A slot is kept from the moment a worker is requested.  Otherwise each insert
 * would request another one until the first has started.  A worker may start
 * after its slot was given to another one; the ticket distinguishes the two.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "support/compat/compat.h"
#include "support/shm/shm.h"
#include "support/worker/worker_internal.h"
#include "utils/timestamp.h"

#define SKX_WORKER_AREA_NAME	"skipidx workers"
#define SKX_WORKER_TRANCHE_NAME	"SkipidxWorkers"

/* Longest time until a worker starts, in ms. */
#define SKX_WORKER_PATIENCE		60000

/* Time without a worker for an index whose worker has failed, in ms. */
#define SKX_WORKER_REST			10000

static SkxWorkerArea *skx_worker_found = NULL;
static bool skx_worker_hopeless = false;

/* The slot of this process if it is a worker that has one, else NULL. */
static SkxWorkerSlot *skx_worker_mine = NULL;

static void
skx_worker_format(void *area)
{
	SkxWorkerArea *a = area;

	memset(a, 0, sizeof(*a));
	a->tranche = skx_compat_tranche_new(SKX_WORKER_TRANCHE_NAME);
	LWLockInitialize(&a->lock, a->tranche);
}

static void
skx_worker_find(void *arg)
{
	skx_worker_found = skx_compat_anchor(SKX_WORKER_AREA_NAME,
										 sizeof(SkxWorkerArea),
										 skx_worker_format);
	skx_compat_tranche_name(skx_worker_found->tranche,
							SKX_WORKER_TRANCHE_NAME);
}

SkxWorkerArea *
skx_worker_area(void)
{
	char	   *why;

	if (skx_worker_found != NULL || skx_worker_hopeless || !IsUnderPostmaster)
		return skx_worker_found;
	why = skx_shm_attempt(skx_worker_find, NULL);
	if (why != NULL)
	{
		skx_worker_hopeless = true;
		skx_worker_found = NULL;
		ereport(LOG,
				(errmsg("could not use shared memory for skipidx: %s", why)));
		pfree(why);
	}
	return skx_worker_found;
}

void
skx_worker_attach(void)
{
	(void) skx_worker_area();
}

/*
 * Returns true if a slot is in use.  A slot whose time ends later than any can
 * was kept before the clock was set back, and is free.
 */
static bool
skx_worker_slot_live(const SkxWorkerSlot *slot, TimestampTz now)
{
	StaticAssertStmt(SKX_WORKER_REST <= SKX_WORKER_PATIENCE, "the longest");
	return slot->state == SKX_SLOT_TAKEN ||
		(slot->state != SKX_SLOT_FREE && slot->until > now &&
		 slot->until <= TimestampTzPlusMilliseconds(now,
													SKX_WORKER_PATIENCE));
}

/*
 * Returns the number of busy slots, of merges only or of all.  The caller
 * holds the lock of the area.
 */
static int
skx_worker_busy(const SkxWorkerArea *a, TimestampTz now, bool merges)
{
	int			n = 0;
	int			i;

	for (i = 0; i < SKX_WORKERS_MOST; i++)
	{
		const SkxWorkerSlot *slot = &a->slots[i];

		if (skx_worker_slot_live(slot, now) &&
			slot->state != SKX_SLOT_RESTING && !slot->pauses &&
			(!merges || slot->duty == SKX_WORKER_MERGE))
			n++;
	}
	return n;
}

/*
 * Returns true if one more worker may work.  A merge takes long and can wait;
 * a flush is short and should not.  So if there may be several workers, merges
 * leave one to flushes.
 */
static bool
skx_worker_allowed(const SkxWorkerArea *a, uint32 duty, TimestampTz now)
{
	int			most = Min(skx_worker_max, SKX_WORKERS_MOST);

	if (skx_worker_busy(a, now, false) >= most)
		return false;
	return duty != SKX_WORKER_MERGE || most == 1 ||
		skx_worker_busy(a, now, true) < most - 1;
}

bool
skx_worker_keep(SkxWorkerTask *task, bool shrink, bool *present)
{
	SkxWorkerArea *a = skx_worker_area();
	TimestampTz now = GetCurrentTimestamp();
	SkxWorkerSlot *place = NULL;
	bool		kept = false;
	int			i;

	*present = false;
	if (a == NULL)
		return false;
	LWLockAcquire(&a->lock, LW_EXCLUSIVE);
	for (i = 0; i < SKX_WORKERS_MOST; i++)
	{
		SkxWorkerSlot *slot = &a->slots[i];

		if (!skx_worker_slot_live(slot, now))
			place = slot;
		else if (slot->database == task->database &&
				 slot->index == task->index && slot->duty == task->duty)
			break;
	}
	if (i < SKX_WORKERS_MOST)
	{
		a->slots[i].again = true;
		a->slots[i].shrink |= shrink;
		*present = a->slots[i].state != SKX_SLOT_RESTING;
	}
	else if (place != NULL && skx_worker_allowed(a, task->duty, now))
	{
		task->slot = place - a->slots;
		task->ticket = ++a->tickets;
		place->database = task->database;
		place->index = task->index;
		place->duty = task->duty;
		place->ticket = task->ticket;
		place->pid = 0;
		place->again = false;
		place->shrink = shrink;
		place->until = TimestampTzPlusMilliseconds(now, SKX_WORKER_PATIENCE);
		place->state = SKX_SLOT_ASKED;
		kept = true;
	}
	LWLockRelease(&a->lock);
	return kept;
}

void
skx_worker_drop(const SkxWorkerTask *task)
{
	SkxWorkerArea *a = skx_worker_area();
	SkxWorkerSlot *slot = &a->slots[task->slot];

	LWLockAcquire(&a->lock, LW_EXCLUSIVE);
	if (slot->state == SKX_SLOT_ASKED && slot->ticket == task->ticket)
		slot->state = SKX_SLOT_FREE;
	LWLockRelease(&a->lock);
}

/*
 * Ends the use of this process's slot.  The caller holds the lock of the area.
 */
static void
skx_worker_free(uint32 state)
{
	SkxWorkerSlot *slot = skx_worker_mine;

	Assert(slot->state == SKX_SLOT_TAKEN && slot->pid == MyProcPid);
	skx_worker_mine = NULL;
	slot->pid = 0;
	slot->pauses = false;
	slot->state = state;
	slot->until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
											  SKX_WORKER_REST);
}

/*
 * Does the same if the process has a slot.  After a failure the index gets no
 * worker for a while, since otherwise every insert would request one that
 * fails.
 */
static void
skx_worker_leave(bool rest)
{
	SkxWorkerArea *a = skx_worker_area();

	if (skx_worker_mine == NULL)
		return;
	LWLockAcquire(&a->lock, LW_EXCLUSIVE);
	skx_worker_free(rest ? SKX_SLOT_RESTING : SKX_SLOT_FREE);
	LWLockRelease(&a->lock);
}

static void
skx_worker_exit(int code, Datum arg)
{
	skx_worker_leave(code != 0);
}

bool
skx_worker_begin(const SkxWorkerTask *task)
{
	SkxWorkerArea *a = skx_worker_area();
	SkxWorkerSlot *slot;

	if (a == NULL || task->slot >= SKX_WORKERS_MOST)
		return false;
	slot = &a->slots[task->slot];
	before_shmem_exit(skx_worker_exit, (Datum) 0);
	LWLockAcquire(&a->lock, LW_EXCLUSIVE);
	if (slot->state == SKX_SLOT_ASKED && slot->ticket == task->ticket)
	{
		slot->state = SKX_SLOT_TAKEN;
		slot->pid = MyProcPid;
		skx_worker_mine = slot;
	}
	LWLockRelease(&a->lock);
	return skx_worker_mine != NULL;
}

/*
 * The slot is freed under the lock, so that a process that requests a worker
 * after that finds none in the slot.
 */
bool
skx_worker_again(void)
{
	SkxWorkerArea *a = skx_worker_area();
	bool		again;

	LWLockAcquire(&a->lock, LW_EXCLUSIVE);
	again = skx_worker_mine->again;
	skx_worker_mine->again = false;
	if (!again)
		skx_worker_free(SKX_SLOT_FREE);
	LWLockRelease(&a->lock);
	return again;
}

bool
skx_worker_shrinks(void)
{
	SkxWorkerArea *a = skx_worker_area();
	bool		shrinks;

	LWLockAcquire(&a->lock, LW_EXCLUSIVE);
	shrinks = skx_worker_mine->shrink;
	skx_worker_mine->shrink = false;
	LWLockRelease(&a->lock);
	return shrinks;
}

bool
skx_worker_pause(void)
{
	SkxWorkerArea *a = skx_worker_area();
	int			n = 0;
	int			i;

	LWLockAcquire(&a->lock, LW_EXCLUSIVE);
	for (i = 0; i < SKX_WORKERS_MOST; i++)
		n += a->slots[i].pauses && &a->slots[i] != skx_worker_mine;
	skx_worker_mine->pauses = n < skx_worker_max;
	LWLockRelease(&a->lock);
	return skx_worker_mine->pauses;
}

/*
 * Notes that the worker works again, if it may.  With `called` it must also
 * have been requested once more, and that request is forgotten.
 */
static bool
skx_worker_go_on(bool called)
{
	SkxWorkerArea *a = skx_worker_area();
	SkxWorkerSlot *slot = skx_worker_mine;
	bool		goes;

	LWLockAcquire(&a->lock, LW_EXCLUSIVE);
	goes = (!called || slot->again) &&
		(!slot->pauses ||
		 skx_worker_allowed(a, slot->duty, GetCurrentTimestamp()));
	if (goes)
	{
		slot->pauses = false;
		if (called)
			slot->again = false;
	}
	LWLockRelease(&a->lock);
	return goes;
}

bool
skx_worker_resume(void)
{
	return skx_worker_go_on(false);
}

bool
skx_worker_called(void)
{
	return skx_worker_go_on(true);
}

bool
skx_worker_is(int pid)
{
	SkxWorkerArea *a = skx_worker_area();
	bool		is = false;
	int			i;

	if (a == NULL)
		return false;
	LWLockAcquire(&a->lock, LW_SHARED);
	for (i = 0; i < SKX_WORKERS_MOST && !is; i++)
		is = a->slots[i].state == SKX_SLOT_TAKEN && a->slots[i].pid == pid;
	LWLockRelease(&a->lock);
	return is;
}

void
skx_worker_failed(void)
{
	skx_worker_leave(true);
}
