/*
 * am_policy.c
 *	  Refuses new indexes of tables with row security, where the server's
 *	  administrator says so, and tells of all others.
 *
 * The server tells of a new index by a hook, with partitioned ones, which are
 * never built.  It also says whether the index is one that ALTER TABLE makes
 * without being asked: again, after a change of a type, or for a partition
 * that is attached.  REINDEX CONCURRENTLY makes one, too.  It is no part of a
 * function or a transaction, so it is the statement that the client has sent.
 *
 * When ALTER TABLE makes the indexes of partitions again, that of the parent is
 * new as well, and the table has been a partition for longer.  When it attaches
 * a table, it notes the partition first, and the index of the parent is older.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "sql/am/am.h"
#include "tcop/pquery.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

bool		skx_am_allow_policies = true;
static object_access_hook_type skx_am_next_access_hook;

/* When a row of a catalog was written, as far as this transaction did it. */
typedef struct SkxWritten
{
	bool		here;			/* by this transaction */
	CommandId	command;		/* by which of its commands */
} SkxWritten;

/*
 * Returns the number `column` of the row with this OID in a catalog, which
 * this command may have made; InvalidOid if there is no such row.  Sets
 * *written unless it is NULL or there is no row.
 */
static Oid
skx_am_new_oid(Oid catalog, Oid index, AttrNumber key, Oid oid,
			   AttrNumber column, SkxWritten *written)
{
	Relation	rel = table_open(catalog, AccessShareLock);
	ScanKeyData skey;
	SysScanDesc scan;
	HeapTuple	tuple;
	Datum		value = ObjectIdGetDatum(InvalidOid);
	bool		isnull;

	ScanKeyInit(&skey, key, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(oid));
	scan = systable_beginscan(rel, index, true, SnapshotSelf, 1, &skey);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		value = heap_getattr(tuple, column, RelationGetDescr(rel), &isnull);
	if (HeapTupleIsValid(tuple) && written != NULL)
	{
		HeapTupleHeader header = tuple->t_data;

		written->here =
			TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(header));
		written->command = written->here ? HeapTupleHeaderGetCmin(header) : 0;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return DatumGetObjectId(value);
}

/* Returns the parent of a table or index, as skx_am_new_oid() does. */
static Oid
skx_am_parent(Oid relation, SkxWritten *written)
{
	return skx_am_new_oid(InheritsRelationId, InheritsRelidSeqnoIndexId,
						  Anum_pg_inherits_inhrelid, relation,
						  Anum_pg_inherits_inhparent, written);
}

/*
 * Returns true if the new index is made since its table, or a table above it,
 * is being attached: it became a partition after the index of its parent was
 * made.
 */
static bool
skx_am_attaches(Oid index, Oid table)
{
	while (OidIsValid(index) && OidIsValid(table))
	{
		SkxWritten	linked = {0};
		SkxWritten	made = {0};

		index = skx_am_parent(index, NULL);
		table = skx_am_parent(table, &linked);
		if (!OidIsValid(index) || !linked.here)
			continue;
		(void) skx_am_new_oid(IndexRelationId, IndexRelidIndexId,
							  Anum_pg_index_indexrelid, index,
							  Anum_pg_index_indexrelid, &made);
		if (!made.here || made.command < linked.command)
			return true;
	}
	return false;
}

/* Returns the table of a new index of this access method, else InvalidOid. */
static Oid
skx_am_new_table(Oid relation)
{
	Oid			am = skx_am_new_oid(RelationRelationId, ClassOidIndexId,
									Anum_pg_class_oid, relation,
									Anum_pg_class_relam, NULL);
	Oid			table = OidIsValid(am) ?
		skx_am_new_oid(IndexRelationId, IndexRelidIndexId,
					   Anum_pg_index_indexrelid, relation,
					   Anum_pg_index_indrelid, NULL) : InvalidOid;

	return OidIsValid(table) &&
		GetIndexAmRoutineByAmId(am, false)->ambuild == skxbuild ?
		table : InvalidOid;
}

static bool
skx_am_has_policies(Oid table)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	bool		has = HeapTupleIsValid(tuple) &&
		((Form_pg_class) GETSTRUCT(tuple))->relrowsecurity;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return has;
}

/*
 * Raises an error if the table of a new index has row security.  An index that
 * is made `unasked` is let be unless its table is being attached.
 */
static void
skx_am_check_policies(Oid index, Oid table, bool unasked)
{
	if (skx_am_has_policies(table) &&
		(!unasked || skx_am_attaches(index, table)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot create a skipidx index on table \"%s\", which has row-level security",
						get_rel_name(table)),
				 errdetail("The setting skipidx.allow_policies is off.")));
}

static void
skx_am_object_access(ObjectAccessType access, Oid class, Oid object,
					 int part, void *arg)
{
	Oid			table;

	if (skx_am_next_access_hook != NULL)
		skx_am_next_access_hook(access, class, object, part, arg);
	if (access != OAT_POST_CREATE || class != RelationRelationId || part != 0)
		return;
	table = skx_am_new_table(object);
	if (!OidIsValid(table))
		return;
	if (!skx_am_allow_policies &&
		(ActivePortal == NULL || ActivePortal->commandTag != CMDTAG_REINDEX))
		skx_am_check_policies(object, table,
							  ((ObjectAccessPostCreate *) arg)->is_internal);
	skx_am_note_defaults(object);
}

void
skx_am_policy_init(void)
{
	skx_am_next_access_hook = object_access_hook;
	object_access_hook = skx_am_object_access;
}
