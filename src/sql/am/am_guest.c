/*
 * am_guest.c
 *	  A background process that works on an index gives way to all others.
 *
 * It takes its lock on the index without waiting.  While it works it looks
 * whether a process waits for a lock that its own is in the way of, and now
 * and then whether one wants the database.  Then the work ends by an error.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "sql/am/am.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/pmsignal.h"
#include "support/compat/compat.h"
#include "support/worker/worker.h"
#include "utils/guc.h"

/* Checks the database once in this many checks of the index. */
#define SKX_GUEST_DATABASE_CHECKS	5

/* Returns true if the index can be worked on; it is open and locked. */
static bool
skx_am_guest_is_welcome(Relation index)
{
	return skx_am_is_skipidx(index) && index->rd_index->indisready &&
		!RelationUsesLocalBuffers(index) &&
		!(RecoveryInProgress() && !RelationIsPermanent(index)) &&
		RelationGetNumberOfBlocks(index) > 0;
}

bool
skx_am_guest_open(SkxAmGuest *guest, Oid index)
{
	guest->index = NULL;
	guest->is_barred = !ConditionalLockRelationOid(index, guest->mode);
	if (guest->is_barred)
	{
		ereport(DEBUG1,
				(errmsg_internal("another process has index %u for itself",
								 index)));
		return false;
	}
	guest->index = try_relation_open(index, NoLock);
	if (guest->index == NULL)
		UnlockRelationOid(index, guest->mode);
	else if (!skx_am_guest_is_welcome(guest->index))
		skx_am_guest_close(guest);
	return guest->index != NULL;
}

void
skx_am_guest_close(SkxAmGuest *guest)
{
	relation_close(guest->index, guest->mode);
	guest->index = NULL;
}

void
skx_am_guest_look(void)
{
	if (!PostmasterIsAlive())
		proc_exit(1);
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}

bool
skx_am_guest_must_leave(SkxAmGuest *guest)
{
	if (++guest->nchecks % SKX_GUEST_DATABASE_CHECKS == 0)
		guest->is_evicted = skx_worker_database_wanted(guest->database);
	return guest->is_evicted;
}

void
skx_am_guest_check(SkxAmGuest *guest, bool is_off)
{
	guest->is_barred = skx_compat_others_wait_for_lock(guest->index,
													   guest->mode);
	if (is_off || guest->is_barred || skx_am_guest_must_leave(guest))
		ereport(ERROR,
				(errcode(SKX_AM_GUEST_SQLSTATE),
				 errmsg("work on index \"%s\" gives way",
						RelationGetRelationName(guest->index))));
}
