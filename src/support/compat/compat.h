/*
 * compat.h
 *	  The same interface to the server for PostgreSQL 15 to 19.  Only the files
 *	  of compat/ test the server's version.
 *
 * What differs in name or signature only is a macro or an inline function
 * here; what needs a body is in compat_server.c.  Only files built into the
 * server module include this; pure code needs no shim.
 */
#ifndef SKX_COMPAT_H
#define SKX_COMPAT_H

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "postmaster/autovacuum.h"
#include "storage/buf_internals.h"
#include "storage/bufpage.h"
#include "storage/fd.h"
#include "storage/proc.h"
#include "storage/smgr.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 200000
#error "skipidx supports PostgreSQL 15 to 19"
#endif

/* Alignment of memory for direct I/O of this module and of the server. */
#define SKX_IO_ALIGN		4096

/* ---- what moved between headers, or changed its spelling ---- */

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* Begins the declaration of a function that does not return. */
#if PG_VERSION_NUM >= 180000
#define SKX_NORETURN				pg_noreturn
#else
#define SKX_NORETURN				pg_attribute_noreturn()
#endif

/* ---- the physical address of a relation ---- */

/* The address, access to its parts, and a test of two for equality. */
#if PG_VERSION_NUM >= 160000
typedef RelFileLocator SkxLocator;
#define SKX_REL_LOCATOR(rel)		((rel)->rd_locator)
#define SKX_LOCATOR_DATABASE(l)		((l).dbOid)
#define SKX_LOCATOR_NUMBER(l)		((l).relNumber)
#define SKX_LOCATOR_EQUALS(a, b)	RelFileLocatorEquals(a, b)
#else
typedef RelFileNode SkxLocator;
#define SKX_REL_LOCATOR(rel)		((rel)->rd_node)
#define SKX_LOCATOR_DATABASE(l)		((l).dbNode)
#define SKX_LOCATOR_NUMBER(l)		((l).relNode)
#define SKX_LOCATOR_EQUALS(a, b)	RelFileNodeEquals(a, b)
#endif

/*
 * Returns the path of the main fork of a relation that is not temporary,
 * palloc'd.
 */
extern char *skx_compat_relation_path(SkxLocator locator);

/* ---- pages ---- */

/* Sets the tag of the buffer of a block of the main fork. */
static inline void
skx_compat_buffer_tag(BufferTag *tag, SkxLocator locator, BlockNumber block)
{
#if PG_VERSION_NUM >= 160000
	InitBufferTag(tag, &locator, MAIN_FORKNUM, block);
#else
	INIT_BUFFERTAG(*tag, locator, MAIN_FORKNUM, block);
#endif
}

/*
 * Returns true if a page passes the check that the buffer manager makes of
 * each page it has read: of its header and, if the cluster has checksums, of
 * its checksum.  An all-zero page passes.  A failed checksum is counted in
 * pg_stat_database; no error is raised.
 */
extern bool skx_compat_page_is_verified(char *page, BlockNumber block,
										SkxLocator locator);

/* A setting of the server, which has no declaration in headers of all versions. */
extern PGDLLIMPORT bool ignore_checksum_failure;

/*
 * Makes the same check as skx_compat_page_is_verified() without counting
 * failed checksums.  From 18 on the setting ignore_checksum_failure has no
 * effect on it.
 */
extern bool skx_compat_page_is_valid(char *page, BlockNumber block);

/*
 * Writes pages to consecutive blocks below the end of the main fork.  Unless
 * `skip_sync` is set, it has the checkpointer sync them, or syncs them at once
 * when its queue is full.  Pages must be aligned as for
 * SKX_COMPAT_ALIGN_WRITES.
 */
extern void skx_compat_write(SMgrRelation smgr, BlockNumber block,
							 char **pages, int npages, bool skip_sync);

/*
 * Has the checkpointer sync the file of 1 GB that has a block of the main
 * fork.  It is needed for a block that was written past the storage manager.
 * Returns false, and does nothing, if the checkpointer's queue is full.
 */
extern bool skx_compat_request_sync(SkxLocator locator, BlockNumber block);

/* Sets the checksum of a page that no other process sees. */
#if PG_VERSION_NUM >= 190000
#define skx_compat_page_checksum(page, block)	PageSetChecksum(page, block)
#else
#define skx_compat_page_checksum(page, block) \
	PageSetChecksumInplace(page, block)
#endif

/* True if pages given to smgrwrite() must be aligned for direct I/O. */
#if PG_VERSION_NUM >= 160000
#define SKX_COMPAT_ALIGN_WRITES()	((io_direct_flags & IO_DIRECT_DATA) != 0)
#else
#define SKX_COMPAT_ALIGN_WRITES()	false
#endif

/* A page in memory that can be handed to the storage manager. */
#if PG_VERSION_NUM >= 160000
typedef PGIOAlignedBlock SkxAlignedBlock;
#else
typedef PGAlignedBlock SkxAlignedBlock;
#endif

/* ---- for assertions ---- */

/*
 * Returns true if this process holds the lock in that mode or a stronger one.
 */
extern bool skx_compat_lock_held(const LOCKTAG *tag, LOCKMODE mode);

/*
 * Returns true if this process has locked the buffer exclusively, or if it is
 * a local one, which needs no lock.
 */
extern bool skx_compat_buffer_locked(Buffer buffer);

/* ---- reuse of pages ---- */

/*
 * Returns the table of an open index, without locking it, because the lock on
 * the index keeps it from being dropped.  The caller releases it with
 * RelationClose().  Raises an error if there is no such table.
 */
extern Relation skx_compat_index_heap(Relation index);

/*
 * Returns true if VACUUM may truncate the table's file, by the table's storage
 * parameter and, from 18 on, the setting vacuum_truncate.  The option TRUNCATE
 * of a VACUUM command does not count, since access methods do not get it.
 */
extern bool skx_compat_may_truncate(Relation heap);

/*
 * Sets *live to the number of live rows of a table, and *dead to the number of
 * its dead row versions since VACUUM.  Both come from the server's statistics:
 * they lag behind, and are 0 if there are none.
 */
extern void skx_compat_live_and_dead_rows(Oid table, uint64 *live,
										  uint64 *dead);

/*
 * Returns true if no snapshot that may see the table needs what was removed
 * before `safexid` was the next transaction id.  What counts is what keeps
 * VACUUM from removing the table's dead rows: sessions of its database, and
 * the xmin of replication slots and of standbys with feedback.  For a table
 * that logical decoding reads as a catalog (user_catalog_table), their
 * catalog_xmin counts, too.
 */
extern bool skx_compat_is_removable(Relation heap, uint64 safexid);

/*
 * Returns the first transaction id from which on queries of standbys may need
 * what was removed, as far as this server knows.  It is the oldest
 * transaction that has not ended, prepared ones included, or an older one
 * that a slot or a standby with feedback needs.  Sessions that only read do
 * not count.  Must not be called in recovery.
 */
extern uint64 skx_compat_standby_horizon(void);

/*
 * Looks at the snapshots of all processes, so that skx_compat_is_removable()
 * has a recent horizon.  Without it the horizon can be that of an earlier
 * look.
 */
extern void skx_compat_refresh_horizon(Relation heap);

/*
 * Returns true if another process has a lock on the relation, of any mode.
 * Processes for which `but` returns true do not count; without `vacuums` those
 * of VACUUM do not either.  These use nothing of an index without a lock of
 * its own.  May miss a process that takes its lock during the call.
 */
extern bool skx_compat_others_hold_lock(Relation rel, bool vacuums,
										bool (*but) (int pid));

/*
 * Logs that pages whose content was removed at `safexid` will be overwritten.
 * When a standby replays that, it first cancels the queries in the relation's
 * database that may still need them.  From 16 on it also invalidates its own
 * logical slots that may need them, if decoding reads the table as a catalog.
 * The relation must need WAL.  Logs nothing if wal_level allows no standby.
 */
extern void skx_compat_log_reuse(Relation heap, SkxLocator locator,
								 BlockNumber block, uint64 safexid);

/*
 * Logs the same for rows of which `xid` was the last transaction to remove
 * one.  Must be called before the documents that lead to these rows are
 * removed.
 */
extern void skx_compat_log_removed(Relation heap, SkxLocator locator,
								   TransactionId xid);

/*
 * Raises "snapshot too old" if VACUUM may have removed what the snapshot sees,
 * which old_snapshot_threshold allows up to 16.  Must be called after a scan
 * has read something.  May raise it although nothing is missing.
 */
#if PG_VERSION_NUM >= 170000
#define skx_compat_check_snapshot(snapshot, rel)	((void) (rel))
#else
static inline void
skx_compat_check_snapshot(Snapshot snapshot, Relation rel)
{
	if (old_snapshot_threshold >= 0 && snapshot != NULL &&
		snapshot->snapshot_type == SNAPSHOT_MVCC &&
		!XLogRecPtrIsInvalid(snapshot->lsn))
		TestForOldSnapshot_impl(snapshot, rel);
}
#endif

/*
 * The local transaction id of this backend; invalid outside of transactions.
 */
#if PG_VERSION_NUM >= 170000
#define SKX_COMPAT_LXID()		(MyProc->vxid.lxid)
#else
#define SKX_COMPAT_LXID()		(MyProc->lxid)
#endif

/* Completes a tuple descriptor after its last attribute; needed from 19 on. */
#if PG_VERSION_NUM >= 190000
#define SKX_COMPAT_FINISH_DESC(desc)	TupleDescFinalize(desc)
#else
#define SKX_COMPAT_FINISH_DESC(desc)	((void) (desc))
#endif

/*
 * An initializer that switches off transaction_timeout, for an array of
 * settings with their values; empty before 17, which has no such setting.
 */
#if PG_VERSION_NUM >= 170000
#define SKX_COMPAT_NO_TRANSACTION_TIMEOUT	{"transaction_timeout", "0"},
#else
#define SKX_COMPAT_NO_TRANSACTION_TIMEOUT
#endif

/* ---- waiting, shared memory, accounting ---- */

/*
 * A number that no other process attached to shared memory has: below
 * SKX_COMPAT_BACKEND_SLOTS, which is known before shared memory is made.
 */
#if PG_VERSION_NUM >= 170000
#define SKX_COMPAT_BACKEND_SLOT()	(MyProcNumber)
#else
#define SKX_COMPAT_BACKEND_SLOT()	(MyProc->pgprocno)
#endif
#define SKX_COMPAT_BACKEND_SLOTS()	(MaxBackends + NUM_AUXILIARY_PROCS)

/* Returns a wait event of this name; before 17 it is just "Extension". */
extern uint32 skx_compat_wait_event(const char *name);

/*
 * Returns a small area of shared memory of this name, the same for all
 * processes; the module need not be preloaded.  `size` must be the same for
 * every caller.  The backend that creates the area runs init before any other
 * sees it.  May raise errors with LWLocks held, like the server's functions
 * that it calls.
 */
extern void *skx_compat_shmem_area(const char *name, Size size,
								   void (*init) (void *area));

/*
 * Returns the number of a new tranche of LWLocks for all processes.  Up to 18
 * each process has to register its name with skx_compat_tranche_name().
 */
#if PG_VERSION_NUM >= 190000
#define skx_compat_tranche_new(name)		LWLockNewTrancheId(name)
#define skx_compat_tranche_name(id, name)	((void) (id))
#else
#define skx_compat_tranche_new(name)		LWLockNewTrancheId()
#define skx_compat_tranche_name(id, name)	LWLockRegisterTranche(id, name)
#endif

/*
 * Finds what min_dynamic_shared_memory has set aside in main shared memory
 * for dynamic segments.  Sets *start, *size in bytes, and *largest, the bytes
 * of its largest free piece.  Returns false if nothing is set aside.
 */
extern bool skx_compat_dsm_reserved(const char **start, Size *size,
									Size *largest);

/* The time spent reading blocks, which EXPLAIN (BUFFERS) shows. */
#if PG_VERSION_NUM >= 170000
#define SKX_COMPAT_READ_TIME	(pgBufferUsage.shared_blk_read_time)
#else
#define SKX_COMPAT_READ_TIME	(pgBufferUsage.blk_read_time)
#endif

/* ---- privileges ---- */

/* True if the user has the privileges of the relation's owner. */
#if PG_VERSION_NUM >= 160000
#define skx_compat_owns_relation(oid) \
	object_ownercheck(RelationRelationId, (oid), GetUserId())
#else
#define skx_compat_owns_relation(oid) \
	pg_class_ownercheck((oid), GetUserId())
#endif

/*
 * ACLCHECK_OK if the user may have the index of that table maintained, else
 * the AclResult of the refusal.
 */
#if PG_VERSION_NUM >= 170000
#define skx_compat_may_maintain(index, table) \
	pg_class_aclcheck((table), GetUserId(), ACL_MAINTAIN)
#else
#define skx_compat_may_maintain(index, table) \
	(skx_compat_owns_relation(index) ? ACLCHECK_OK : ACLCHECK_NOT_OWNER)
#endif

/* True if the user may execute the function. */
#if PG_VERSION_NUM >= 160000
#define skx_compat_may_execute(oid) \
	(object_aclcheck(ProcedureRelationId, (oid), GetUserId(), \
					 ACL_EXECUTE) == ACLCHECK_OK)
#else
#define skx_compat_may_execute(oid) \
	(pg_proc_aclcheck((oid), GetUserId(), ACL_EXECUTE) == ACLCHECK_OK)
#endif

/* True of an interval that is infinite, as there are from 17 on. */
#if PG_VERSION_NUM >= 170000
#define skx_compat_interval_is_infinite(span)	INTERVAL_NOT_FINITE(span)
#else
#define skx_compat_interval_is_infinite(span)	((void) (span), false)
#endif

/*
 * Sets search_path so that only objects of the system are found without a
 * schema.  Must be called before functions of users run with the rights of
 * another role.  Up to 16 it does nothing if may_run is true, which means that
 * the caller has these rights anyway.  Servers of these versions do nothing
 * themselves, since they run such functions for their owner or a superuser.
 */
#if PG_VERSION_NUM >= 170000
#define skx_compat_restrict_search_path(may_run)	RestrictSearchPath()
#else
#define skx_compat_restrict_search_path(may_run) \
	((void) ((may_run) ? 0 : \
			 set_config_option("search_path", "pg_catalog, pg_temp", \
							   PGC_USERSET, PGC_S_SESSION, \
							   GUC_ACTION_SAVE, true, 0, false)))
#endif

/* True if this process is a worker of autovacuum. */
#if PG_VERSION_NUM >= 170000
#define skx_compat_autovacuum()	AmAutoVacuumWorkerProcess()
#else
#define skx_compat_autovacuum()	IsAutoVacuumWorkerProcess()
#endif

/* True if a subtransaction can begin; up to 16 not in parallel mode. */
#if PG_VERSION_NUM >= 170000
#define SKX_COMPAT_SUBTRANSACTIONS()	true
#else
#define SKX_COMPAT_SUBTRANSACTIONS()	(!IsInParallelMode())
#endif

/*
 * Returns true if the VACUUM that this process takes part in is urgent because
 * of the table's age: one of autovacuum against wraparound, or one of a table
 * past the failsafe age.
 */
extern bool skx_compat_vacuum_urgent(Relation index);

/* ---- background workers ---- */

/* Flags of a background worker that can be ended at any time. */
#if PG_VERSION_NUM >= 190000
#define SKX_COMPAT_WORKER_FLAGS		BGWORKER_INTERRUPTIBLE
#else
#define SKX_COMPAT_WORKER_FLAGS		0
#endif

/* True if only this transaction sees the relation, or its present file. */
#if PG_VERSION_NUM >= 160000
#define SKX_COMPAT_NEW_FILE(rel) \
	((rel)->rd_createSubid != InvalidSubTransactionId || \
	 (rel)->rd_firstRelfilelocatorSubid != InvalidSubTransactionId)
#else
#define SKX_COMPAT_NEW_FILE(rel) \
	((rel)->rd_createSubid != InvalidSubTransactionId || \
	 (rel)->rd_firstRelfilenodeSubid != InvalidSubTransactionId)
#endif

/*
 * Returns true if another process waits for a lock on the relation that
 * conflicts with mode `held`, in which this process has locked it.  The
 * server's LockHasWaiters() cannot be used for locks of the fast path.
 */
extern bool skx_compat_others_wait_for_lock(Relation rel, LOCKMODE held);

/* A point where VACUUM may sleep and be cancelled. */
#if PG_VERSION_NUM >= 180000
#define skx_compat_vacuum_delay()	vacuum_delay_point(false)
#else
#define skx_compat_vacuum_delay()	vacuum_delay_point()
#endif

#endif							/* SKX_COMPAT_H */
