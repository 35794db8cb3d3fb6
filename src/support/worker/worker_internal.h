/*
 * worker_internal.h
 *	  The area where workers, and processes that ask for them, meet.
 */
#ifndef SKX_WORKER_INTERNAL_H
#define SKX_WORKER_INTERNAL_H

#include "storage/lwlock.h"
#include "support/worker/worker.h"

typedef enum SkxWorkerSlotState
{
	SKX_SLOT_FREE,
	SKX_SLOT_ASKED,				/* the server was asked for a process */
	SKX_SLOT_TAKEN,				/* by `pid` */
	SKX_SLOT_RESTING			/* no worker for the index until `until` */
} SkxWorkerSlotState;

typedef struct SkxWorkerSlot
{
	Oid			database;
	Oid			index;
	uint8		duty;
	uint8		state;
	bool		again;			/* asked for since the worker looked last */
	bool		shrink;			/* .. to give back the end of the file, too */
	bool		pauses;			/* TAKEN: does nothing, and does not count */
	uint32		ticket;			/* of this use of the slot */
	int			pid;
	TimestampTz until;			/* RESTING; ASKED: given up then */
} SkxWorkerSlot;

typedef struct SkxWorkerArea
{
	LWLock		lock;			/* of all that follows */
	int			tranche;
	uint32		tickets;
	uint64		records_made;	/* record i is records[(i - 1) % ...] */
	SkxWorkerSlot slots[SKX_WORKERS_MOST];
	SkxWorkerRecord records[SKX_WORKER_RECORDS];
} SkxWorkerArea;

/* Not preloaded, it comes out of the little that the server has to spare. */
StaticAssertDecl(sizeof(SkxWorkerArea) <= 4096, "the area must be small");

/* worker_slots.c : NULL where the server has no room for it */
extern SkxWorkerArea *skx_worker_area(void);

/*
 * Keeps a slot for a worker; false with *present: there is one already, which
 * will look again.
 */
extern bool skx_worker_keep(SkxWorkerTask *task, bool shrink, bool *present);
extern void skx_worker_drop(const SkxWorkerTask *task);

#endif							/* SKX_WORKER_INTERNAL_H */
