/*
 * worker_internal.h
 *	  The shared memory of workers and of processes that request them.
 */
#ifndef SKX_WORKER_INTERNAL_H
#define SKX_WORKER_INTERNAL_H

#include "storage/lwlock.h"
#include "support/worker/worker.h"

/* State of a slot. */
typedef enum SkxWorkerSlotState
{
	SKX_SLOT_FREE,
	SKX_SLOT_REQUESTED,			/* kept for a worker that was requested */
	SKX_SLOT_RUNNING,			/* the process `pid` is the worker */
	SKX_SLOT_BACKOFF			/* no worker for the index until `valid_until` */
} SkxWorkerSlotState;

/* A slot: a worker for an index, or the wait for one. */
typedef struct SkxWorkerSlot
{
	Oid			database;
	Oid			index;
	uint8		duty;			/* SkxWorkerDuty, without SHRINK */
	uint8		state;			/* SkxWorkerSlotState */
	bool		requested_again;	/* requested since the worker looked last */
	bool		shrink_requested;	/* requested to give back the end of the
									 * file, too */
	bool		is_paused;		/* TAKEN: the worker waits, and does not count
								 * as busy */
	uint32		ticket;			/* number of this use of the slot */
	int			pid;
	TimestampTz valid_until;	/* ASKED or RESTING: the slot is free from
								 * then on */
} SkxWorkerSlot;

/* All that processes share. */
typedef struct SkxWorkerArea
{
	LWLock		lock;			/* protects all that follows */
	int			tranche;
	uint32		last_ticket;	/* the ticket given out last */
	uint64		nrecords;		/* record i is records[(i - 1) % ...] */
	SkxWorkerSlot slots[SKX_WORKERS_MAX];
	SkxWorkerRecord records[SKX_WORKER_RECORDS];
} SkxWorkerArea;

/* Not preloaded, it comes out of the little that the server has to spare. */
StaticAssertDecl(sizeof(SkxWorkerArea) <= 4096, "the area must be small");

/*
 * Returns the shared memory, mapped at the first call (worker_slots.c).
 * Returns NULL if it cannot be had; the reason is logged.
 */
extern SkxWorkerArea *skx_worker_area(void);

/*
 * Keeps a slot for a worker of the task's database, index and duty, and sets
 * the task's slot and ticket (worker_slots.c).  `shrink`: the worker gives
 * back the end of the file, too.  Returns false if no slot may be had.
 * *present is true then if the index has a worker of the duty, which looks
 * once more.
 */
extern bool skx_worker_reserve_slot(SkxWorkerTask *task, bool shrink,
									bool *present);

/* Frees a slot that was kept for a worker that the server did not start. */
extern void skx_worker_free_reserved(const SkxWorkerTask *task);

#endif							/* SKX_WORKER_INTERNAL_H */
