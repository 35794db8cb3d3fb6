/*
 * maint_open.c
 *	  Opens an index that a user has named, and checks that it can be read.
 *
 * All functions that take an index use this file, so all refuse the same.
 * These are relations that are not a skipidx index, indexes that are not
 * valid, and indexes that have none of their table's rows.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lock.h"
#include "support/compat/compat.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "write/maint/maint.h"

/*
 * Returns true if the index was valid when the query took its snapshot.  Names
 * are looked up before that, and the index is opened after it; REINDEX
 * CONCURRENTLY may replace it meanwhile.
 */
static bool
skx_maint_was_valid(Oid index)
{
	Relation	catalog;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;
	bool		valid;

	if (!ActiveSnapshotSet())
		return false;
	ScanKeyInit(&key, Anum_pg_index_indexrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(index));
	catalog = table_open(IndexRelationId, AccessShareLock);
	scan = systable_beginscan(catalog, IndexRelidIndexId, true,
							  GetActiveSnapshot(), 1, &key);
	tuple = systable_getnext(scan);
	valid = HeapTupleIsValid(tuple) &&
		((Form_pg_index) GETSTRUCT(tuple))->indisvalid;
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return valid;
}

/*
 * Returns true if another process is replacing or dropping the index.  REINDEX
 * and DROP INDEX CONCURRENTLY keep it locked from one transaction to the next.
 * On a standby only the name shows it, which REINDEX gives to the old index.
 */
static bool
skx_maint_is_replaced(Relation index)
{
	const LockRelId *id = &index->rd_lockInfo.lockRelId;
	LockData   *all;
	LOCKTAG		tag;
	int			i;

	if (RecoveryInProgress())
		return strstr(RelationGetRelationName(index), "_ccold") != NULL;
	SET_LOCKTAG_RELATION(tag, id->dbId, id->relId);
	all = GetLockStatusData();
	for (i = 0; i < all->nelements; i++)
	{
		const LockInstanceData *lock = &all->locks[i];

		if (memcmp(&lock->locktag, &tag, sizeof(tag)) == 0 &&
			(lock->holdMask & LOCKBIT_ON(ShareUpdateExclusiveLock)) != 0 &&
			lock->pid != MyProcPid)
			return true;
	}
	return false;
}

/* Raises the error that there is no relation with the OID. */
SKX_NORETURN static void
skx_maint_raise_no_relation(Oid oid)
{
	if (skx_maint_was_valid(oid))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("index with OID %u was dropped or replaced after this query's snapshot was taken",
						oid),
				 errhint("Retry it.")));
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("relation with OID %u does not exist", oid),
			 errhint("An index may have been dropped, or replaced by REINDEX CONCURRENTLY, after its name was looked up: try again.")));
}

/* ---- kind, validity and file of the index ---- */

static void
skx_maint_check_kind(Relation rel)
{
	if (rel->rd_index == NULL ||
		rel->rd_rel->relam != get_index_am_oid("skipidx", true))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a skipidx index",
						RelationGetRelationName(rel))));
}

static void
skx_maint_check_valid(Relation index)
{
	const char *name = RelationGetRelationName(index);

	if (index->rd_index->indisvalid)
		return;
	if (index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid", name),
				 errdetail("Some partition of the table has no valid index that is attached to it."),
				 errhint("Attach one of each partition with ALTER INDEX ... ATTACH PARTITION.")));
	if (skx_maint_was_valid(RelationGetRelid(index)) ||
		skx_maint_is_replaced(index))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("index \"%s\" is not valid any more", name),
				 errdetail("It was replaced, or is being dropped, after its name was looked up."),
				 errhint("Retry it.")));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("index \"%s\" is not valid", name),
			 errdetail("CREATE INDEX CONCURRENTLY has not come to its end, or REINDEX CONCURRENTLY was interrupted."),
			 errhint("If it is not being built, rebuild it with REINDEX, or drop it.")));
}

/* Raises an error if this session cannot read the file of the index. */
static void
skx_maint_check_file(Relation index)
{
	if (RELATION_IS_OTHER_TEMP(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary indexes of other sessions")));
	if (RecoveryInProgress() && !RelationIsPermanent(index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot access unlogged indexes during recovery")));
	if (RelationGetNumberOfBlocks(index) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" has not been built",
						RelationGetRelationName(index)),
				 errhint("Rebuild it with REINDEX.")));
}

/* ---- rows of the table ---- */

/*
 * Returns the catalog in which Citus, and software derived from it, lists
 * tables whose rows are in other tables.  Returns InvalidOid if there is none,
 * which costs one look-up in a cache.  Only superusers create relations in
 * pg_catalog.
 */
static Oid
skx_maint_shards_catalog(AttrNumber *column)
{
	Oid			catalog = get_relname_relid("pg_dist_partition",
											PG_CATALOG_NAMESPACE);

	if (!OidIsValid(catalog) || get_rel_relkind(catalog) != RELKIND_RELATION)
		return InvalidOid;
	*column = get_attnum(catalog, "logicalrelid");
	if (*column == InvalidAttrNumber ||
		get_atttype(catalog, *column) != REGCLASSOID)
		return InvalidOid;
	return catalog;
}

/* Returns the method in a row of that catalog. */
static char
skx_maint_method(Relation catalog, HeapTuple row)
{
	AttrNumber	column = get_attnum(RelationGetRelid(catalog), "partmethod");
	bool		isnull = true;
	char		method = SKX_MAINT_METHOD_UNKNOWN;

	if (column != InvalidAttrNumber &&
		get_atttype(RelationGetRelid(catalog), column) == CHAROID)
	{
		Datum		value = heap_getattr(row, column,
										 RelationGetDescr(catalog), &isnull);

		if (!isnull && DatumGetChar(value) != SKX_MAINT_NOT_DISTRIBUTED)
			method = DatumGetChar(value);
	}
	return method;
}

char
skx_maint_distribution(Oid table)
{
	AttrNumber	column;
	Oid			oid = skx_maint_shards_catalog(&column);
	Oid			unique;
	Relation	catalog;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	row;
	char		method = SKX_MAINT_NOT_DISTRIBUTED;

	if (!OidIsValid(oid))
		return SKX_MAINT_NOT_DISTRIBUTED;
	unique = get_relname_relid("pg_dist_partition_logical_relid_index",
							   PG_CATALOG_NAMESPACE);
	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(table));
	catalog = table_open(oid, AccessShareLock);
	scan = systable_beginscan(catalog, unique, OidIsValid(unique) &&
							  IndexGetRelation(unique, true) == oid, NULL, 1,
							  &key);
	row = systable_getnext(scan);
	if (HeapTupleIsValid(row))
		method = skx_maint_method(catalog, row);
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return method;
}

static void
skx_maint_check_rows(Relation heap, Relation index)
{
	if (skx_maint_distribution(RelationGetRelid(heap)) !=
		SKX_MAINT_NOT_DISTRIBUTED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" has no rows of the distributed table \"%s\"",
						RelationGetRelationName(index),
						RelationGetRelationName(heap)),
				 errdetail("pg_dist_partition lists the table: its rows are in shards, which have indexes of their own."),
				 errhint("Use a query with @@ on the table, or call the function for the index of each shard, as with run_command_on_shards().")));
}

/* ---- the interface ---- */

void
skx_maint_check(Relation heap, Relation index)
{
	Assert(IndexGetRelation(RelationGetRelid(index), true) ==
		   RelationGetRelid(heap));
	skx_maint_check_valid(index);
	if (index->rd_rel->relkind != RELKIND_PARTITIONED_INDEX)
		skx_maint_check_file(index);
	skx_maint_check_rows(heap, index);
}

/* Opens the index and its table, and locks them, the table first. */
static void
skx_maint_open_relations(Oid oid, LOCKMODE mode, Relation *heap,
						 Relation *index)
{
	Oid			table = IndexGetRelation(oid, true);

	*heap = OidIsValid(table) ? try_relation_open(table, mode) : NULL;
	*index = try_relation_open(oid, mode);
	if (*index == NULL)
		skx_maint_raise_no_relation(oid);
	skx_maint_check_kind(*index);
	/* the table of the index could change until both were locked */
	if (*heap == NULL || (*index)->rd_index->indrelid != table)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("could not open parent table of index \"%s\"",
						RelationGetRelationName(*index))));
}

void
skx_maint_open(Oid oid, LOCKMODE mode, bool parts, Relation *heap,
			   Relation *index)
{
	skx_maint_open_relations(oid, mode, heap, index);
	if (!parts &&
		(*index)->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a partitioned index",
						RelationGetRelationName(*index)),
				 errdetail("Only the indexes of its partitions hold documents."),
				 errhint("Name the indexes of its partitions, which pg_partition_tree() lists.")));
	skx_maint_check(*heap, *index);
}

void
skx_maint_open_distributed(Oid oid, Relation *heap, Relation *index)
{
	skx_maint_open_relations(oid, AccessShareLock, heap, index);
	skx_maint_check_valid(*index);
	if (skx_maint_distribution(RelationGetRelid(*heap)) ==
		SKX_MAINT_NOT_DISTRIBUTED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" is not distributed",
						RelationGetRelationName(*heap)),
				 errdetail("There is no Citus in this database, or it does not list the table in pg_dist_partition."),
				 errhint("Use skipidx_ranking() for the index of a table that has its rows itself.")));
}
