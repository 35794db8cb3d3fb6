/*
 * unit_process.h
 *	  Stands in for the processes of a server: their transactions, snapshots
 *	  and locks, and the shared memory in which they enter open views.
 *
 * Included once, after unit_file.h.  One program plays all processes: what
 * each of them has for itself is put aside while another one is played.  A
 * lock that is not free raises an error, as a lock_timeout does.
 */
#ifndef SKX_TEST_UNIT_PROCESS_H
#define SKX_TEST_UNIT_PROCESS_H

#include "access/parallel.h"
#include "access/transam.h"
#include "access/xact.h"
#include "replication/slot.h"
#include "replication/walsender_private.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "support/compat/compat.h"
#include "support/shm/shm.h"

/* for what it has for each process */
#include "index/manifest/manifest_open.c"

#define UNIT_SESSIONS		6
#define UNIT_WORKERS		3	/* parallel workers of sessions */
#define UNIT_HELPER			(UNIT_SESSIONS + UNIT_WORKERS)	/* of a merge */
#define UNIT_PROCESSES		(UNIT_HELPER + 1)

typedef struct UnitProcess
{
	PGPROC		proc;			/* has the pid */
	bool		busy;			/* in the middle of a step */
	bool		used;			/* has the lock of those that read the index */
	bool		unable;			/* cannot map shared memory */
	uint64		xid;			/* 0: none */
	uint64		xmin;			/* of its snapshot; 0: it has none */
	MemoryContext context;		/* of its transaction; NULL: it is in none */
	MemoryContext session;		/* what outlives transactions; or NULL */
	dlist_head	holds;
	SkxOpenArea *area;
	bool		hopeless;
	struct UnitProcess *leader; /* of a worker that is at work; else NULL */
} UnitProcess;

static UnitProcess unit_processes[UNIT_PROCESSES];
static UnitProcess *unit_current;
static SkxOpenArea unit_area;
static bool unit_area_made;

/* ---- transactions ---- */

static uint64 unit_next_xid;
static uint64 unit_horizon;		/* as processes have computed it last */
static uint64 unit_feedback;	/* xmin of a standby; 0: none is known */

/* Returns the oldest transaction that is under way, or the next one. */
static inline uint64
unit_oldest_xid(void)
{
	uint64		oldest = unit_next_xid;
	int			i;

	for (i = 0; i < UNIT_PROCESSES; i++)
		if (unit_processes[i].xid != 0)
			oldest = Min(oldest, unit_processes[i].xid);
	return oldest;
}

/* Computes the horizon of all snapshots. */
static inline void
unit_look(void)
{
	int			i;

	unit_horizon = unit_oldest_xid();
	for (i = 0; i < UNIT_PROCESSES; i++)
		if (unit_processes[i].xmin != 0)
			unit_horizon = Min(unit_horizon, unit_processes[i].xmin);
	if (unit_feedback != 0)
		unit_horizon = Min(unit_horizon, unit_feedback);
}

FullTransactionId
ReadNextFullTransactionId(void)
{
	return FullTransactionIdFromU64(unit_next_xid);
}

TransactionId
GetTopTransactionId(void)
{
	if (unit_current->xid == 0)
		unit_current->xid = unit_next_xid++;
	return (TransactionId) unit_current->xid;
}

bool
skx_compat_is_removable(Relation heap, uint64 safexid)
{
	return safexid < unit_horizon;
}

uint64
skx_compat_standby_horizon(void)
{
	uint64		oldest = unit_oldest_xid();

	return unit_feedback != 0 ? Min(oldest, unit_feedback) : oldest;
}

uint32
skx_manifest_installed_release(Oid am, bool committed)
{
	return SKX_RELEASE;
}

void
skx_compat_refresh_horizon(Relation heap)
{
	unit_look();
}

/* ---- locks that are not those of buffers ---- */

/* That of the metapage, of views that are not entered, and of operations. */
#define UNIT_LOCKS			6

/* How often each process has each of them: shared, exclusively. */
static uint8 unit_held[UNIT_LOCKS][UNIT_PROCESSES][2];
static UnitProcess *unit_exclusive; /* has the index for itself; or NULL */

static inline int
unit_self(void)
{
	return (int) (unit_current - unit_processes);
}

static int
unit_lock_of_page(BlockNumber block)
{
	return block == 0 ? 0 : 1;
}

static int
unit_lock_of(const LOCKTAG *tag)
{
	return tag->locktag_type == LOCKTAG_PAGE ?
		unit_lock_of_page(tag->locktag_field3) : 1 + tag->locktag_field4;
}

static bool
unit_lock_free(int lock, LOCKMODE mode)
{
	int			i;

	for (i = 0; i < UNIT_PROCESSES; i++)
	{
		if (i != unit_self() &&
			(unit_held[lock][i][1] > 0 ||
			 (mode == ExclusiveLock && unit_held[lock][i][0] > 0)))
			return false;
	}
	return true;
}

static bool
unit_lock(int lock, LOCKMODE mode, bool wait)
{
	if (!unit_lock_free(lock, mode))
	{
		if (wait)
			ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
							errmsg("a lock is not free")));
		return false;
	}
	unit_held[lock][unit_self()][mode == ExclusiveLock]++;
	return true;
}

static void
unit_unlock(int lock, LOCKMODE mode)
{
	uint8	   *held = &unit_held[lock][unit_self()][mode == ExclusiveLock];

	if (*held == 0)
		unit_wrong("a lock is released that is not held: %d", lock);
	--*held;
}

bool
skx_compat_lock_held(const LOCKTAG *tag, LOCKMODE mode)
{
	const uint8 *held = unit_held[unit_lock_of(tag)][unit_self()];

	return held[1] > 0 || (mode < ExclusiveLock && held[0] > 0);
}

void
LockPage(Relation rel, BlockNumber block, LOCKMODE mode)
{
	unit_lock(unit_lock_of_page(block), mode, true);
}

bool
ConditionalLockPage(Relation rel, BlockNumber block, LOCKMODE mode)
{
	return unit_lock(unit_lock_of_page(block), mode, false);
}

void
UnlockPage(Relation rel, BlockNumber block, LOCKMODE mode)
{
	unit_unlock(unit_lock_of_page(block), mode);
}

LockAcquireResult
LockAcquire(const LOCKTAG *tag, LOCKMODE mode, bool session, bool at_once)
{
	int			lock = unit_lock_of(tag);
	bool		had = unit_held[lock][unit_self()][mode == ExclusiveLock] > 0;

	if (!unit_lock(lock, mode, !at_once))
		return LOCKACQUIRE_NOT_AVAIL;
	return had ? LOCKACQUIRE_ALREADY_HELD : LOCKACQUIRE_OK;
}

bool
LockRelease(const LOCKTAG *tag, LOCKMODE mode, bool session)
{
	unit_unlock(unit_lock_of(tag), mode);
	return true;
}

bool
skx_compat_others_hold_lock(Relation rel, bool vacuums, bool (*but) (int pid))
{
	int			i;

	for (i = 0; i < UNIT_PROCESSES; i++)
		if (i != unit_self() && unit_processes[i].used)
			return true;
	return false;
}

/* Standbys replay the lock. */
static void unit_process_exclusive(void);

bool
ConditionalLockRelation(Relation rel, LOCKMODE mode)
{
	if (skx_compat_others_hold_lock(rel, true, NULL))
		return false;
	(void) GetTopTransactionId();
	unit_exclusive = unit_current;
	unit_process_exclusive();
	return true;
}

void
UnlockRelation(Relation rel, LOCKMODE mode)
{
	unit_exclusive = NULL;
}

bool
LWLockAcquire(LWLock *lock, LWLockMode mode)
{
	return true;
}

void
LWLockRelease(LWLock *lock)
{
}

void
LWLockInitialize(LWLock *lock, int tranche)
{
}

int
LWLockNewTrancheId(void)
{
	return 1;
}

void
LWLockRegisterTranche(int tranche, const char *name)
{
}

/* ---- shared memory, and what a process has for itself ---- */

PGPROC	   *MyProc;
int			MyProcPid;
Oid			MyDatabaseId = 5;
int			ParallelWorkerNumber;
bool		IsUnderPostmaster = true;

static XactCallback unit_xact_callback;
static pg_on_exit_callback unit_exit_callback;

void
RegisterXactCallback(XactCallback callback, void *arg)
{
	unit_xact_callback = callback;
}

void
before_shmem_exit(pg_on_exit_callback callback, Datum arg)
{
	unit_exit_callback = callback;
}

bool
IsInParallelMode(void)
{
	return ParallelWorkerNumber >= 0;
}

PGPROC *
BackendPidGetProc(int pid)
{
	int			i;

	for (i = 0; i < UNIT_PROCESSES; i++)
		if (unit_processes[i].proc.pid == pid)
			return &unit_processes[i].proc;
	return NULL;
}

char *
skx_shm_attempt(void (*action) (void *arg), void *arg)
{
	if (unit_current->unable)
		return memcpy(palloc(8), "refused", 8);
	action(arg);
	return NULL;
}

void *
skx_compat_shmem_area(const char *name, Size size, void (*init) (void *area))
{
	if (!unit_area_made)
		init(&unit_area);
	unit_area_made = true;
	return &unit_area;
}

/* Moves a list to another head. */
static void
unit_holds_move(dlist_head *from, dlist_head *to)
{
	dlist_init(to);
	if (dlist_is_empty(from))
		return;
	to->head = from->head;
	to->head.next->prev = &to->head;
	to->head.prev->next = &to->head;
	dlist_init(from);
}

/* Plays this process from now on; returns the one before. */
static inline UnitProcess *
unit_play(UnitProcess *process)
{
	UnitProcess *before = unit_current;

	if (before == process)
		return before;
	if (before != NULL)
	{
		unit_holds_move(&skx_manifest_holds, &before->holds);
		before->area = skx_manifest_open_found;
		before->hopeless = skx_manifest_open_hopeless;
	}
	unit_current = process;
	if (process == NULL)
		return before;
	unit_holds_move(&process->holds, &skx_manifest_holds);
	skx_manifest_open_found = process->area;
	skx_manifest_open_hopeless = process->hopeless;
	MyProc = &process->proc;
	MyProcPid = process->proc.pid;
	ParallelWorkerNumber = process->leader != NULL ? 0 : -1;
	process->proc.lockGroupLeader = process->leader != NULL ?
		&process->leader->proc : NULL;
	return before;
}

/*
 * Begins or goes on with the transaction of the process that is played, under
 * a snapshot.
 */
static inline void
unit_begin(void)
{
	UnitProcess *process = unit_current;

	if (process->context == NULL)
		process->context = unit_context(NULL);
	if (process->xmin == 0)
		process->xmin = unit_oldest_xid();
	process->used = true;
}

/* Ends the transaction of the process that is played. */
static inline void
unit_end(bool commit)
{
	UnitProcess *process = unit_current;
	int			i;

	if (process->leader != NULL)
		unit_xact_callback(commit ? XACT_EVENT_PARALLEL_COMMIT :
						   XACT_EVENT_PARALLEL_ABORT, NULL);
	else
		unit_xact_callback(commit ? XACT_EVENT_COMMIT : XACT_EVENT_ABORT,
						   NULL);
	for (i = 0; i < UNIT_LOCKS; i++)
		memset(unit_held[i][unit_self()], 0, 2);
	if (unit_exclusive == process)
		unit_exclusive = NULL;
	if (process->context != NULL)
		MemoryContextDelete(process->context);
	process->context = NULL;
	process->used = false;
	process->xid = 0;
	process->xmin = 0;
	process->leader = NULL;
	ParallelWorkerNumber = -1;
}

/* Begins a server whose sessions have new pids. */
static inline void
unit_server_begin(void)
{
	int			i;

	for (i = 0; i < UNIT_PROCESSES; i++)
	{
		unit_play(&unit_processes[i]);
		if (unit_exit_callback != NULL)
			unit_exit_callback(0, (Datum) 0);
	}
	unit_play(NULL);
	for (i = 0; i < UNIT_PROCESSES; i++)
	{
		UnitProcess *process = &unit_processes[i];

		if (process->context != NULL)
			MemoryContextDelete(process->context);
		if (process->session != NULL)
			MemoryContextDelete(process->session);
		memset(process, 0, sizeof(*process));
		dlist_init(&process->holds);
	}
	unit_area_made = false;
	unit_exclusive = NULL;
	memset(unit_held, 0, sizeof(unit_held));
	unit_look();
}

#endif							/* SKX_TEST_UNIT_PROCESS_H */
