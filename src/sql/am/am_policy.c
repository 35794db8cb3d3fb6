/*
 * am_policy.c
 *	  Refuses new indexes of tables with row security, where the server's
 *	  administrator says so.
 *
 * The server tells of a new index by a hook, with partitioned ones, which are
 * never built.  It also says whether the index is one that ALTER TABLE makes
 * again.  REINDEX CONCURRENTLY makes one, too.  It is no part of a function or
 * a transaction, so it is the statement that the client has sent.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "sql/am/am.h"
#include "tcop/pquery.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

bool		skx_am_allow_policies = true;
static object_access_hook_type skx_am_next_access_hook;

/*
 * Returns the number `column` of the row with this OID in a catalog, which
 * this command may have made; InvalidOid if there is no such row.
 */
static Oid
skx_am_new_oid(Oid catalog, Oid index, AttrNumber key, Oid oid,
			   AttrNumber column)
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
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return DatumGetObjectId(value);
}

/* Returns the table of a new index of this access method, else InvalidOid. */
static Oid
skx_am_new_table(Oid relation)
{
	Oid			am = skx_am_new_oid(RelationRelationId, ClassOidIndexId,
									Anum_pg_class_oid, relation,
									Anum_pg_class_relam);
	Oid			table = OidIsValid(am) ?
		skx_am_new_oid(IndexRelationId, IndexRelidIndexId,
					   Anum_pg_index_indexrelid, relation,
					   Anum_pg_index_indrelid) : InvalidOid;

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

static void
skx_am_check_policies(Oid relation)
{
	Oid			table = skx_am_new_table(relation);

	if (OidIsValid(table) && skx_am_has_policies(table))
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
	if (skx_am_next_access_hook != NULL)
		skx_am_next_access_hook(access, class, object, part, arg);
	if (skx_am_allow_policies || access != OAT_POST_CREATE ||
		class != RelationRelationId || part != 0 ||
		((ObjectAccessPostCreate *) arg)->is_internal ||
		(ActivePortal != NULL && ActivePortal->commandTag == CMDTAG_REINDEX))
		return;
	skx_am_check_policies(object);
}

void
skx_am_policy_init(void)
{
	skx_am_next_access_hook = object_access_hook;
	object_access_hook = skx_am_object_access;
}
