/*
 * compat_server.c
 *	  Bodies of the shims of compat.h and compat_planner.h that are functions.
 */
#include "postgres.h"

#include "access/nbtxlog.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/catalog.h"
#include "common/relpath.h"
#include "nodes/execnodes.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "port/pg_iovec.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/dsm_impl.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/shmem.h"
#include "storage/sinvaladt.h"
#include "storage/sync.h"
#include "support/compat/compat.h"
#include "support/compat/compat_planner.h"
#include "utils/freepage.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#include "utils/wait_event.h"
#endif

char *
skx_compat_relation_path(SkxLocator locator)
{
#if PG_VERSION_NUM >= 180000
	RelPathStr	path = relpathperm(locator, MAIN_FORKNUM);

	return pstrdup(path.str);
#else
	return relpathperm(locator, MAIN_FORKNUM);
#endif
}

bool
skx_compat_lock_held(const LOCKTAG *tag, LOCKMODE mode)
{
#if PG_VERSION_NUM >= 170000
	return LockHeldByMe(tag, mode, true);
#else
	while (mode <= AccessExclusiveLock && !LockHeldByMe(tag, mode))
		mode++;
	return mode <= AccessExclusiveLock;
#endif
}

bool
skx_compat_buffer_locked(Buffer buffer)
{
#if PG_VERSION_NUM >= 190000
	return BufferIsLocal(buffer) ||
		BufferIsLockedByMeInMode(buffer, BUFFER_LOCK_EXCLUSIVE);
#elif PG_VERSION_NUM >= 170000
	return BufferIsLocal(buffer) || BufferIsExclusiveLocked(buffer);
#else
	BufferDesc *desc;

	if (BufferIsLocal(buffer))
		return true;
	desc = GetBufferDescriptor(buffer - 1);
	return LWLockHeldByMeInMode(BufferDescriptorGetContentLock(desc),
								LW_EXCLUSIVE);
#endif
}

bool
skx_compat_page_is_verified(char *page, BlockNumber block, SkxLocator locator)
{
#if PG_VERSION_NUM >= 180000
	bool		failed = false;
	bool		ok = PageIsVerified((Page) page, block,
									ignore_checksum_failure ?
									PIV_IGNORE_CHECKSUM_FAILURE : 0, &failed);

	if (failed)
	{
		pgstat_prepare_report_checksum_failure(SKX_LOCATOR_DATABASE(locator));
		pgstat_report_checksum_failures_in_db(SKX_LOCATOR_DATABASE(locator),
											  1);
	}
	return ok;
#else
	return PageIsVerifiedExtended((Page) page, block, PIV_REPORT_STAT);
#endif
}

bool
skx_compat_page_is_valid(char *page, BlockNumber block)
{
#if PG_VERSION_NUM >= 180000
	bool		failed;

	return PageIsVerified((Page) page, block, 0, &failed);
#else
	return PageIsVerifiedExtended((Page) page, block, 0);
#endif
}

void
skx_compat_write(SMgrRelation smgr, BlockNumber block, char **pages,
				 int npages, bool skip_sync)
{
#if PG_VERSION_NUM >= 170000
	while (npages > 0)
	{
		/* one call must stay within one file and one vector */
		int			n = Min(npages, PG_IOV_MAX);

		n = Min(n, RELSEG_SIZE - (int) (block % RELSEG_SIZE));
		smgrwritev(smgr, MAIN_FORKNUM, block, (const void **) pages, n,
				   skip_sync);
		block += n;
		pages += n;
		npages -= n;
	}
#else
	for (int i = 0; i < npages; i++)
		smgrwrite(smgr, MAIN_FORKNUM, block + i, pages[i], skip_sync);
#endif
}

/*
 * Makes the request that the server's storage manager makes for each page that
 * it writes.
 */
bool
skx_compat_request_sync(SkxLocator locator, BlockNumber block)
{
	FileTag		tag;

	/* requests are compared as bytes */
	memset(&tag, 0, sizeof(tag));
	tag.handler = SYNC_HANDLER_MD;
	tag.forknum = MAIN_FORKNUM;
#if PG_VERSION_NUM >= 160000
	tag.rlocator = locator;
#else
	tag.rnode = locator;
#endif
	tag.segno = block / RELSEG_SIZE;
	return RegisterSyncRequest(&tag, SYNC_REQUEST, false);
}

Relation
skx_compat_index_heap(Relation index)
{
	Oid			heapid = index->rd_index->indrelid;
	Relation	heap = RelationIdGetRelation(heapid);

	if (heap == NULL)
		elog(ERROR, "could not open relation with OID %u", heapid);
	return heap;
}

bool
skx_compat_may_truncate(Relation heap)
{
	const StdRdOptions *options = (const StdRdOptions *) heap->rd_options;

#if PG_VERSION_NUM >= 190000
	/* it has three states; below 0 means not set */
	if (options == NULL || (int) options->vacuum_truncate < 0)
		return vacuum_truncate;
	return (int) options->vacuum_truncate > 0;
#elif PG_VERSION_NUM >= 180000
	if (options == NULL || !options->vacuum_truncate_set)
		return vacuum_truncate;
	return options->vacuum_truncate;
#else
	return options == NULL || options->vacuum_truncate;
#endif
}

void
skx_compat_live_and_dead_rows(Oid table, uint64 *live, uint64 *dead)
{
	PgStat_StatTabEntry *entry = pgstat_fetch_stat_tabentry(table);

	*live = *dead = 0;
	if (entry == NULL)
		return;
#if PG_VERSION_NUM >= 160000
	*live = Max(entry->live_tuples, 0);
	*dead = Max(entry->dead_tuples, 0);
#else
	*live = Max(entry->n_live_tuples, 0);
	*dead = Max(entry->n_dead_tuples, 0);
#endif
}

/*
 * The horizon of a temporary table, or of a table made in this transaction,
 * ignores this session's own snapshots, since the server cannot vacuum the
 * rows while they are held.  But pages of an index can be freed under an open
 * cursor.  Therefore the widest horizon is used for such a table: it takes all
 * snapshots into account.
 */
bool
skx_compat_is_removable(Relation heap, uint64 safexid)
{
	return GlobalVisCheckRemovableFullXid(RELATION_IS_LOCAL(heap) ? NULL : heap,
										  FullTransactionIdFromU64(safexid));
}

/*
 * Returns the 64-bit id of a transaction id that is no older than any in use.
 */
static uint64
skx_compat_full_xid(TransactionId xid)
{
	FullTransactionId next = ReadNextFullTransactionId();

	return U64FromFullTransactionId(next) -
		(uint32) (XidFromFullTransactionId(next) - xid);
}

uint64
skx_compat_standby_horizon(void)
{
#if PG_VERSION_NUM >= 190000
	TransactionId xid = GetOldestActiveTransactionId(false, true);
#else
	TransactionId xid = GetOldestActiveTransactionId();
#endif
	TransactionId slots;
	TransactionId catalogs;
	int			i;

	ProcArrayGetReplicationSlotXmin(&slots, &catalogs);
	if (TransactionIdIsValid(slots) && TransactionIdPrecedes(slots, xid))
		xid = slots;
	for (i = 0; i < max_wal_senders; i++)
	{
		pid_t		pid = WalSndCtl->walsnds[i].pid;
		PGPROC	   *proc = pid != 0 ? BackendPidGetProc(pid) : NULL;
		TransactionId xmin = proc != NULL ? proc->xmin : InvalidTransactionId;

		if (TransactionIdIsValid(xmin) && TransactionIdPrecedes(xmin, xid))
			xid = xmin;
	}
	return skx_compat_full_xid(xid);
}

void
skx_compat_refresh_horizon(Relation heap)
{
	(void) GetOldestNonRemovableTransactionId(RELATION_IS_LOCAL(heap) ? NULL :
											  heap);
}

#if PG_VERSION_NUM >= 170000
#define SKX_COMPAT_PROC(vxid)	ProcNumberGetProc((vxid).procNumber)
#else
#define SKX_COMPAT_PROC(vxid)	BackendIdGetProc((vxid).backendId)
#endif

bool
skx_compat_others_hold_lock(Relation rel, bool vacuums, bool (*but) (int pid))
{
	VirtualTransactionId *holders;
	LOCKTAG		tag;
	bool		found = false;
	int			n;
	int			i;

	SET_LOCKTAG_RELATION(tag, rel->rd_lockInfo.lockRelId.dbId,
						 rel->rd_lockInfo.lockRelId.relId);
	holders = GetLockConflicts(&tag, AccessExclusiveLock, &n);
	for (i = 0; i < n && !found; i++)
	{
		/*
		 * NULL: it has ended, or it is a prepared transaction, which has no
		 * scan
		 */
		PGPROC	   *proc = SKX_COMPAT_PROC(holders[i]);

		found = proc != NULL &&
			(vacuums || (proc->statusFlags & PROC_IN_VACUUM) == 0) &&
			!but(proc->pid);
	}
	pfree(holders);
	return found;
}

/*
 * Writes the record that B-tree has for this.  Its replay touches no page, and
 * works on every server.
 */
void
skx_compat_log_reuse(Relation heap, SkxLocator locator, BlockNumber block,
					 uint64 safexid)
{
	xl_btree_reuse_page record;

	if (!XLogStandbyInfoActive())
		return;
	memset(&record, 0, sizeof(record));
	record.block = block;
#if PG_VERSION_NUM >= 160000
	record.locator = locator;
	record.snapshotConflictHorizon = FullTransactionIdFromU64(safexid);
	record.isCatalogRel = RelationIsAccessibleInLogicalDecoding(heap);
#else
	record.node = locator;
	record.latestRemovedFullXid = FullTransactionIdFromU64(safexid);
#endif
	XLogBeginInsert();
	XLogRegisterData((char *) &record, SizeOfBtreeReusePage);
	XLogInsert(RM_BTREE_ID, XLOG_BTREE_REUSE_PAGE);
}

void
skx_compat_log_removed(Relation heap, SkxLocator locator, TransactionId xid)
{
	uint64		next = U64FromFullTransactionId(ReadNextFullTransactionId());

	/* it is in the past, by less than 2^32 */
	skx_compat_log_reuse(heap, locator, InvalidBlockNumber,
						 next - (uint32) ((uint32) next - xid));
}

/*
 * The lock that a process waits for changes only under the partition lock of
 * that lock.  For processes that wait for other locks, a stale value does no
 * harm.
 */
bool
skx_compat_others_wait_for_lock(Relation rel, LOCKMODE held)
{
	LockRelId	id = rel->rd_lockInfo.lockRelId;
	LOCKTAG		tag;
	LWLock	   *partition;
	bool		waits = false;
	uint32		i;

	SET_LOCKTAG_RELATION(tag, id.dbId, id.relId);
	partition = LockHashPartitionLock(LockTagHashCode(&tag));
	LWLockAcquire(partition, LW_SHARED);
	for (i = 0; i < ProcGlobal->allProcCount && !waits; i++)
	{
		PGPROC	   *proc = &ProcGlobal->allProcs[i];
		LOCK	   *lock = *(LOCK *volatile *) &proc->waitLock;

		waits = lock != NULL &&
			memcmp(&lock->tag, &tag, sizeof(tag)) == 0 &&
			DoLockModesConflict(proc->waitLockMode, held);
	}
	LWLockRelease(partition);
	return waits;
}

uint32
skx_compat_wait_event(const char *name)
{
#if PG_VERSION_NUM >= 170000
	return WaitEventExtensionNew(name);
#else
	return PG_WAIT_EXTENSION;
#endif
}

#if PG_VERSION_NUM >= 190000
/* Calls init; the server's callback has one more argument. */
static void
skx_compat_shmem_init(void *area, void *arg)
{
	void		(**init) (void *area) = arg;

	(*init) (area);
}
#endif

void *
skx_compat_shmem_area(const char *name, Size size, void (*init) (void *area))
{
	bool		found;
	void	   *area;

#if PG_VERSION_NUM >= 190000
	area = GetNamedDSMSegment(name, size, skx_compat_shmem_init, &found,
							  &init);
#elif PG_VERSION_NUM >= 170000
	area = GetNamedDSMSegment(name, size, init, &found);
#else
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	area = ShmemInitStruct(name, size, &found);
	if (!found)
		init(area);
	LWLockRelease(AddinShmemInitLock);
#endif
	return area;
}

bool
skx_compat_dsm_reserved(const char **start, Size *size, Size *largest)
{
	bool		found;
	FreePageManager *fpm;

	*size = (Size) min_dynamic_shared_memory * 1024 * 1024;
	if (*size == 0)
		return false;
	fpm = ShmemInitStruct("Preallocated DSM", *size, &found);
	if (!found)
		return false;
	LWLockAcquire(DynamicSharedMemoryControlLock, LW_SHARED);
	*largest = fpm_largest(fpm) * FPM_PAGE_SIZE;
	LWLockRelease(DynamicSharedMemoryControlLock);
	*start = (const char *) fpm;
	return true;
}

bool
skx_compat_vacuum_urgent(Relation index)
{
	Relation	heap;
	bool		urgent;

	if (MyProc->statusFlags & PROC_VACUUM_FOR_WRAPAROUND)
		return true;
	heap = table_open(index->rd_index->indrelid, NoLock);
#if PG_VERSION_NUM >= 160000
	{
		struct VacuumCutoffs cutoffs = {0};

		cutoffs.relfrozenxid = heap->rd_rel->relfrozenxid;
		cutoffs.relminmxid = heap->rd_rel->relminmxid;
		urgent = vacuum_xid_failsafe_check(&cutoffs);
	}
#else
	urgent = vacuum_xid_failsafe_check(heap->rd_rel->relfrozenxid,
									   heap->rd_rel->relminmxid);
#endif
	table_close(heap, NoLock);
	return urgent;
}

int
skx_compat_build_workers(Relation heap, Relation index, IndexInfo *info)
{
#if PG_VERSION_NUM >= 170000
	return info->ii_ParallelWorkers;
#else
	/* an empty table needs none; TRUNCATE builds the index of one */
	if (!IsNormalProcessingMode() || IsInParallelMode() ||
		RelationGetNumberOfBlocks(heap) == 0)
		return 0;
	return plan_create_index_workers(RelationGetRelid(heap),
									 RelationGetRelid(index));
#endif
}
