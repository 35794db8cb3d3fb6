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
#define SKX_WORKER_START_TIMEOUT_MS		60000

/* Time without a worker for an index whose worker has failed, in ms. */
#define SKX_WORKER_BACKOFF_MS			10000

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
skx_worker_find_slot(void *arg)
{
	skx_worker_found = skx_compat_shmem_area(SKX_WORKER_AREA_NAME,
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
	why = skx_shm_attempt(skx_worker_find_slot, NULL);
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
skx_worker_slot_is_used(const SkxWorkerSlot *slot, TimestampTz now)
{
	StaticAssertStmt(SKX_WORKER_BACKOFF_MS <= SKX_WORKER_START_TIMEOUT_MS,
					 "the longest");
	return slot->state == SKX_SLOT_RUNNING ||
		(slot->state != SKX_SLOT_FREE &&
		 slot->valid_until > now && slot->valid_until <=
		 TimestampTzPlusMilliseconds(now, SKX_WORKER_START_TIMEOUT_MS));
}

/*
 * Returns the number of busy slots, of merges only or of all.  The caller
 * holds the lock of the area.
 */
static int
skx_worker_count_busy(const SkxWorkerArea *a, TimestampTz now, bool merges)
{
	int			n = 0;
	int			i;

	for (i = 0; i < SKX_WORKERS_MAX; i++)
	{
		const SkxWorkerSlot *slot = &a->slots[i];

		if (skx_worker_slot_is_used(slot, now) &&
			slot->state != SKX_SLOT_BACKOFF && !slot->is_paused &&
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
skx_worker_may_run(const SkxWorkerArea *a, uint32 duty, TimestampTz now)
{
	int			most = Min(skx_worker_max, SKX_WORKERS_MAX);

	if (skx_worker_count_busy(a, now, false) >= most)
		return false;
	return duty != SKX_WORKER_MERGE || most == 1 ||
		skx_worker_count_busy(a, now, true) < most - 1;
}

bool
skx_worker_reserve_slot(SkxWorkerTask *task, bool shrink, bool *present)
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
	for (i = 0; i < SKX_WORKERS_MAX; i++)
	{
		SkxWorkerSlot *slot = &a->slots[i];

		if (!skx_worker_slot_is_used(slot, now))
			place = slot;
		else if (slot->database == task->database &&
				 slot->index == task->index && slot->duty == task->duty)
			break;
	}
	if (i < SKX_WORKERS_MAX)
	{
		a->slots[i].requested_again = true;
		a->slots[i].shrink_requested |= shrink;
		*present = a->slots[i].state != SKX_SLOT_BACKOFF;
	}
	else if (place != NULL && skx_worker_may_run(a, task->duty, now))
	{
		task->slot = place - a->slots;
		task->ticket = ++a->last_ticket;
		place->database = task->database;
		place->index = task->index;
		place->duty = task->duty;
		place->ticket = task->ticket;
		place->pid = 0;
		place->requested_again = false;
		place->shrink_requested = shrink;
		place->valid_until =
			TimestampTzPlusMilliseconds(now, SKX_WORKER_START_TIMEOUT_MS);
		place->state = SKX_SLOT_REQUESTED;
		kept = true;
	}
	LWLockRelease(&a->lock);
	return kept;
}

void
skx_worker_free_reserved(const SkxWorkerTask *task)
{
	SkxWorkerArea *a = skx_worker_area();
	SkxWorkerSlot *slot = &a->slots[task->slot];

	LWLockAcquire(&a->lock, LW_EXCLUSIVE);
	if (slot->state == SKX_SLOT_REQUESTED && slot->ticket == task->ticket)
		slot->state = SKX_SLOT_FREE;
	LWLockRelease(&a->lock);
}

/*
 * Ends the use of this process's slot.  The caller holds the lock of the area.
 */
static void
skx_worker_free_slot(uint32 state)
{
	SkxWorkerSlot *slot = skx_worker_mine;

	Assert(slot->state == SKX_SLOT_RUNNING && slot->pid == MyProcPid);
	skx_worker_mine = NULL;
	slot->pid = 0;
	slot->is_paused = false;
	slot->state = state;
	slot->valid_until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													SKX_WORKER_BACKOFF_MS);
}

/*
 * Does the same if the process has a slot.  After a failure the index gets no
 * worker for a while, since otherwise every insert would request one that
 * fails.
 */
static void
skx_worker_leave_slot(bool rest)
{
	SkxWorkerArea *a = skx_worker_area();

	if (skx_worker_mine == NULL)
		return;
	LWLockAcquire(&a->lock, LW_EXCLUSIVE);
	skx_worker_free_slot(rest ? SKX_SLOT_BACKOFF : SKX_SLOT_FREE);
	LWLockRelease(&a->lock);
}

static void
skx_worker_exit(int code, Datum arg)
{
	skx_worker_leave_slot(code != 0);
}

bool
skx_worker_take_slot(const SkxWorkerTask *task)
{
	SkxWorkerArea *a = skx_worker_area();
	SkxWorkerSlot *slot;

	if (a == NULL || task->slot >= SKX_WORKERS_MAX)
		return false;
	slot = &a->slots[task->slot];
	before_shmem_exit(skx_worker_exit, (Datum) 0);
	LWLockAcquire(&a->lock, LW_EXCLUSIVE);
	if (slot->state == SKX_SLOT_REQUESTED && slot->ticket == task->ticket)
	{
		slot->state = SKX_SLOT_RUNNING;
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
skx_worker_was_requested(void)
{
	SkxWorkerArea *a = skx_worker_area();
	bool		again;

	LWLockAcquire(&a->lock, LW_EXCLUSIVE);
	again = skx_worker_mine->requested_again;
	skx_worker_mine->requested_again = false;
	if (!again)
		skx_worker_free_slot(SKX_SLOT_FREE);
	LWLockRelease(&a->lock);
	return again;
}

bool
skx_worker_must_shrink(void)
{
	SkxWorkerArea *a = skx_worker_area();
	bool		shrinks;

	LWLockAcquire(&a->lock, LW_EXCLUSIVE);
	shrinks = skx_worker_mine->shrink_requested;
	skx_worker_mine->shrink_requested = false;
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
	for (i = 0; i < SKX_WORKERS_MAX; i++)
		n += a->slots[i].is_paused && &a->slots[i] != skx_worker_mine;
	skx_worker_mine->is_paused = n < skx_worker_max;
	LWLockRelease(&a->lock);
	return skx_worker_mine->is_paused;
}

/*
 * Notes that the worker works again, if it may.  With `called` it must also
 * have been requested once more, and that request is forgotten.
 */
static bool
skx_worker_try_resume(bool called)
{
	SkxWorkerArea *a = skx_worker_area();
	SkxWorkerSlot *slot = skx_worker_mine;
	bool		goes;

	LWLockAcquire(&a->lock, LW_EXCLUSIVE);
	goes = (!called || slot->requested_again) &&
		(!slot->is_paused ||
		 skx_worker_may_run(a, slot->duty, GetCurrentTimestamp()));
	if (goes)
	{
		slot->is_paused = false;
		if (called)
			slot->requested_again = false;
	}
	LWLockRelease(&a->lock);
	return goes;
}

bool
skx_worker_resume(void)
{
	return skx_worker_try_resume(false);
}

bool
skx_worker_resume_if_requested(void)
{
	return skx_worker_try_resume(true);
}

bool
skx_worker_is_running(int pid)
{
	SkxWorkerArea *a = skx_worker_area();
	bool		is = false;
	int			i;

	if (a == NULL)
		return false;
	LWLockAcquire(&a->lock, LW_SHARED);
	for (i = 0; i < SKX_WORKERS_MAX && !is; i++)
		is = a->slots[i].state == SKX_SLOT_RUNNING && a->slots[i].pid == pid;
	LWLockRelease(&a->lock);
	return is;
}

void
skx_worker_failed(void)
{
	skx_worker_leave_slot(true);
}
