/*
 * compat.h
 *	  One face for PostgreSQL 15 to 19: the only place that asks for the
 *	  server's version.
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

/* Memory for direct I/O, ours or the server's, is aligned to this. */
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

/* Path of the main fork of a relation that is not temporary; palloc'd. */
extern char *skx_compat_path(SkxLocator locator);

/* ---- pages ---- */

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
 * What the buffer manager checks of a page it has read: header and, where the
 * cluster has them, checksum.  Silent; a failed checksum is counted in
 * pg_stat_database.  An all-zero page passes.
 */
extern bool skx_compat_page_verified(char *page, BlockNumber block,
									 SkxLocator locator);

/* The same, and nothing is counted. */
extern bool skx_compat_page_sound(char *page, BlockNumber block);

/*
 * Writes pages to consecutive blocks below the end of the main fork, and has
 * the checkpointer sync them, or syncs them at once when its queue is full.
 * Pages must be aligned as for SKX_COMPAT_ALIGN_WRITES.
 */
extern void skx_compat_write(SMgrRelation smgr, BlockNumber block,
							 char **pages, int npages);

/*
 * Has the checkpointer sync the file of 1 GB that has a block of the main fork,
 * which was written past the storage manager; false: its queue is full.
 */
extern bool skx_compat_request_sync(SkxLocator locator, BlockNumber block);

/* Sets the checksum of a page that no other process sees. */
#if PG_VERSION_NUM >= 190000
#define skx_compat_page_checksum(page, block)	PageSetChecksum(page, block)
#else
#define skx_compat_page_checksum(page, block) \
	PageSetChecksumInplace(page, block)
#endif

/* Must pages given to smgrwrite be aligned for direct I/O? */
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

/* ---- what assertions ask ---- */

/* Does this process hold the lock, in that mode or a stronger one? */
extern bool skx_compat_lock_held(const LOCKTAG *tag, LOCKMODE mode);

/* Has this process locked the buffer exclusively?  Local ones need no lock. */
extern bool skx_compat_buffer_locked(Buffer buffer);

/* ---- reuse of pages ---- */

/*
 * The table of an open index, as the next three want it: looked up without a
 * lock of its own, because the index's keeps it from being dropped.  For
 * RelationClose.
 */
extern Relation skx_compat_heap(Relation index);

/*
 * May VACUUM give back the end of the table's file, as far as the table and,
 * from 18, the setting vacuum_truncate say?  What the option TRUNCATE of a
 * VACUUM says, no access method is told.
 */
extern bool skx_compat_truncates(Relation heap);

/*
 * Rows of a table that are live, and versions that are dead since VACUUM, as
 * the server's statistics have them: 0 after they were reset, and late.
 */
extern void skx_compat_rows(Oid table, uint64 *live, uint64 *dead);

/*
 * Does no snapshot that may see the table need any more what was removed
 * before `safexid` was the next transaction id?  What counts is what keeps
 * VACUUM from taking away the table's dead rows: sessions of its database,
 * the xmin of replication slots and of standbys with feedback, and for a table
 * that logical decoding reads as a catalog (user_catalog_table) their
 * catalog_xmin, too.
 */
extern bool skx_compat_removable(Relation heap, uint64 safexid);

/*
 * The transaction id from which on queries of standbys may need what was removed,
 * by what is known of them here: the oldest that has not ended, prepared ones
 * too, or the oldest that a slot or a standby with feedback needs.  Sessions that
 * only read do not count.  Not in recovery.
 */
extern uint64 skx_compat_standby_horizon(void);

/*
 * What skx_compat_removable() answers with may be as old as the transaction id
 * that was the oldest at the last look; this looks at all processes again.
 */
extern void skx_compat_horizon_anew(Relation heap);

/*
 * Has another process a lock on the relation, of whatever mode?  Unless
 * `vacuums`, VACUUM does not count, nor one that `but` knows: they use nothing
 * of an index without a lock of its own.  A process that takes its lock while
 * this looks may be missed.
 */
extern bool skx_compat_others_hold(Relation rel, bool vacuums,
								   bool (*but) (int pid));

/*
 * Logs that pages whose content was removed at `safexid` will be overwritten;
 * before it replays, a standby cancels the queries in the relation's database
 * that may still need them, and from 16 on invalidates logical slots of its
 * own that may, where decoding reads the table as a catalog.  For relations
 * that need WAL; where no standby is possible (wal_level) nothing is logged.
 */
extern void skx_compat_log_reuse(Relation heap, SkxLocator locator,
								 BlockNumber block, uint64 safexid);

/*
 * The same of rows that `xid` was the last to remove, before what finds them
 * goes.
 */
extern void skx_compat_log_removed(Relation heap, SkxLocator locator,
								   TransactionId xid);

/*
 * Up to 16, old_snapshot_threshold lets VACUUM remove what an old snapshot
 * sees.  To be called after a scan with it has read something: fails if VACUUM
 * may have been there, whether or not anything is missing.
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

/* This backend's local transaction id; invalid outside of transactions. */
#if PG_VERSION_NUM >= 170000
#define SKX_COMPAT_LXID()		(MyProc->vxid.lxid)
#else
#define SKX_COMPAT_LXID()		(MyProc->lxid)
#endif

/* After the last attribute of a descriptor; needed from 19 on. */
#if PG_VERSION_NUM >= 190000
#define SKX_COMPAT_FINISH_DESC(desc)	TupleDescFinalize(desc)
#else
#define SKX_COMPAT_FINISH_DESC(desc)	((void) (desc))
#endif

/* A setting and its value, for a list of them; from 17 on. */
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

/* A wait event of this name; before 17 just "Extension". */
extern uint32 skx_compat_wait_event(const char *name);

/*
 * A small area of main shared memory, or as good, under this name, without
 * preloading.  `size` must be the same for every caller.  The backend that
 * creates it runs init before any other sees it.  May raise errors with
 * LWLocks held, like the functions behind it.
 */
extern void *skx_compat_anchor(const char *name, Size size,
							   void (*init) (void *area));

/*
 * A new tranche of LWLocks for all processes.  Its name has to be made known
 * to each of them, up to 18.
 */
#if PG_VERSION_NUM >= 190000
#define skx_compat_tranche_new(name)		LWLockNewTrancheId(name)
#define skx_compat_tranche_name(id, name)	((void) (id))
#else
#define skx_compat_tranche_new(name)		LWLockNewTrancheId()
#define skx_compat_tranche_name(id, name)	LWLockRegisterTranche(id, name)
#endif

/*
 * What min_dynamic_shared_memory has set aside in main shared memory for
 * dynamic segments; false: nothing.  *largest is the largest piece that is
 * free, in bytes.
 */
extern bool skx_compat_dsm_aside(const char **start, Size *size,
								 Size *largest);

/* Where EXPLAIN (BUFFERS) finds the time spent reading blocks. */
#if PG_VERSION_NUM >= 170000
#define SKX_COMPAT_READ_TIME	(pgBufferUsage.shared_blk_read_time)
#else
#define SKX_COMPAT_READ_TIME	(pgBufferUsage.blk_read_time)
#endif

/* ---- privileges ---- */

#if PG_VERSION_NUM >= 160000
#define skx_compat_owns_relation(oid) \
	object_ownercheck(RelationRelationId, (oid), GetUserId())
#else
#define skx_compat_owns_relation(oid) \
	pg_class_ownercheck((oid), GetUserId())
#endif

/* May the user have the index of that table maintained? */
#if PG_VERSION_NUM >= 170000
#define skx_compat_may_maintain(index, table) \
	pg_class_aclcheck((table), GetUserId(), ACL_MAINTAIN)
#else
#define skx_compat_may_maintain(index, table) \
	(skx_compat_owns_relation(index) ? ACLCHECK_OK : ACLCHECK_NOT_OWNER)
#endif

/*
 * Before functions of users run with the rights of another: only objects of
 * the system are found without a schema.  Up to 16 the server did nothing, since
 * it ran them for their owner or a superuser only; may_run: the caller has these
 * rights anyway.
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

/* Memory that a setting's check hook hands to its assign hook. */
#if PG_VERSION_NUM >= 160000
#define skx_compat_guc_malloc(size)	guc_malloc(LOG, size)
#define skx_compat_guc_free(p)		guc_free(p)
#else
#define skx_compat_guc_malloc(size)	malloc(size)
#define skx_compat_guc_free(p)		free(p)
#endif

/* Is this backend a worker of autovacuum? */
#if PG_VERSION_NUM >= 170000
#define skx_compat_autovacuum()	AmAutoVacuumWorkerProcess()
#else
#define skx_compat_autovacuum()	IsAutoVacuumWorkerProcess()
#endif

/* Can a subtransaction be begun?  Up to 16 not in parallel mode. */
#if PG_VERSION_NUM >= 170000
#define SKX_COMPAT_SUBTRANSACTIONS()	true
#else
#define SKX_COMPAT_SUBTRANSACTIONS()	(!IsInParallelMode())
#endif

/*
 * Is the VACUUM that this process takes part in for the table's age alone: one
 * of autovacuum against wraparound, or past the failsafe age?
 */
extern bool skx_compat_vacuum_urgent(Relation index);

/* ---- background workers ---- */

/* Flags of a worker that can be ended at any time. */
#if PG_VERSION_NUM >= 190000
#define SKX_COMPAT_WORKER_FLAGS		BGWORKER_INTERRUPTIBLE
#else
#define SKX_COMPAT_WORKER_FLAGS		0
#endif

/* Does this transaction alone see the file of the relation, or the relation? */
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
 * Does another process wait for the relation, whose lock in that mode this
 * process holds?  The server's own LockHasWaiters() is not for locks that can
 * be taken by the fast path.
 */
extern bool skx_compat_waited_for(Relation rel, LOCKMODE held);

/* A point where VACUUM may sleep and be cancelled. */
#if PG_VERSION_NUM >= 180000
#define skx_compat_vacuum_delay()	vacuum_delay_point(false)
#else
#define skx_compat_vacuum_delay()	vacuum_delay_point()
#endif

#endif							/* SKX_COMPAT_H */
