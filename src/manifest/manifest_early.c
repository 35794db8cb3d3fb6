/*
 * manifest_early.c
 *	  Can any process still know a root older than the present one?
 *
 * A transaction locks the index before it reads a view, and may read that until
 * it ends: also between two statements, when it has no snapshot, as statistics
 * are pinned (score/README.md).  Where no other process has a lock on the
 * index, and this one has read no view in its transaction, pages that the
 * present root has free are needed by none of this server, whatever their
 * safexid.  (Workers read under locks alone, as VACUUM
 * does.)  So a load finds the pages again that its own flushes and merges have
 * freed, long before its transaction ends.
 *
 * A standby is told, as of any reuse, and would cancel all queries that it has
 * under way for each: so where there may be one this is off by default.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "compat/compat.h"
#include "manifest/manifest_internal.h"
#include "replication/slot.h"
#include "replication/walsender_private.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "worker/worker.h"

/* Indexes noted at most; with more read, none is said to be unread. */
#define SKX_EARLY_NOTED		16

typedef enum SkxReuseEarly
{
	SKX_REUSE_AUTO,
	SKX_REUSE_ON,
	SKX_REUSE_OFF
} SkxReuseEarly;

static const struct config_enum_entry skx_manifest_early_values[] = {
	{"auto", SKX_REUSE_AUTO, false},
	{"on", SKX_REUSE_ON, false},
	{"off", SKX_REUSE_OFF, false},
	{NULL, 0, false}
};

static int	skx_manifest_reuse_early = SKX_REUSE_AUTO;

/* Indexes of which this transaction has read views. */
static Oid	skx_manifest_noted[SKX_EARLY_NOTED];
static int	skx_manifest_nnoted = 0;

void
skx_manifest_init(void)
{
	DefineCustomEnumVariable("skipidx.reuse_early",
							 "Whether a skipidx index overwrites pages that no query of this server needs any more, though a standby's may.",
							 "auto does so where no standby or slot of one is connected and WAL is not archived.",
							 &skx_manifest_reuse_early,
							 SKX_REUSE_AUTO,
							 skx_manifest_early_values,
							 PGC_SUSET,
							 0,
							 NULL, NULL, NULL);
}

/* No view outlives the transaction that has read it. */
static void
skx_manifest_early_xact(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT ||
		event == XACT_EVENT_PREPARE)
		skx_manifest_nnoted = 0;
}

static bool
skx_manifest_early_noted(Oid index)
{
	int			i;

	for (i = 0; i < skx_manifest_nnoted; i++)
	{
		if (skx_manifest_noted[i] == index)
			return true;
	}
	return skx_manifest_nnoted == SKX_EARLY_NOTED;
}

void
skx_manifest_early_note(Oid index)
{
	static bool registered = false;

	if (!registered)
		RegisterXactCallback(skx_manifest_early_xact, NULL);
	registered = true;
	if (!skx_manifest_early_noted(index))
		skx_manifest_noted[skx_manifest_nnoted++] = index;
}

/* Is a standby, or a slot that waits for one, connected? */
static bool
skx_manifest_early_followed(void)
{
	bool		followed = false;
	int			i;

	for (i = 0; i < max_wal_senders && !followed; i++)
		followed = WalSndCtl->walsnds[i].pid != 0;
	if (followed || max_replication_slots <= 0)
		return followed;
	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (i = 0; i < max_replication_slots && !followed; i++)
	{
		const ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];

		followed = slot->in_use && slot->data.database == InvalidOid;
	}
	LWLockRelease(ReplicationSlotControlLock);
	return followed;
}

bool
skx_manifest_has_standby(void)
{
	return XLogStandbyInfoActive() &&
		(XLogArchivingActive() || skx_manifest_early_followed());
}

static bool
skx_manifest_early_allowed(void)
{
	if (skx_manifest_reuse_early != SKX_REUSE_AUTO)
		return skx_manifest_reuse_early == SKX_REUSE_ON;
	return !skx_manifest_has_standby();
}

bool
skx_manifest_early(Relation rel, Relation heap)
{
	/* in parallel mode only VACUUM comes here, whose leader has no view */
	return skx_manifest_early_allowed() &&
		!RelationIsAccessibleInLogicalDecoding(heap) &&
		!skx_manifest_early_noted(RelationGetRelid(rel)) &&
		!skx_compat_others_hold(rel, false, skx_worker_is);
}

bool
skx_manifest_may_reuse(Relation heap, const SkxDiskExtent *extent, bool early)
{
	return extent->safexid == 0 || early ||
		skx_compat_removable(heap, extent->safexid);
}
