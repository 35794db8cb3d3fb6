/*
 * maint_open.c
 *	  Is a relation that a user has named an index of ours, and readable?
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
#include "commands/defrem.h"
#include "maint/maint.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/*
 * Was it a valid index when the query took its snapshot?  Names are looked up
 * before that, and the index opened after it: REINDEX CONCURRENTLY may put
 * another in its place meanwhile.
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

Relation
skx_maint_open(Oid oid, LOCKMODE mode)
{
	Relation	rel = try_relation_open(oid, mode);

	if (rel != NULL)
		return rel;
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

static void
skx_maint_check_kind(Relation rel)
{
	bool		ours = (rel->rd_rel->relkind == RELKIND_INDEX ||
						rel->rd_rel->relkind == RELKIND_PARTITIONED_INDEX) &&
		rel->rd_rel->relam == get_index_am_oid("skipidx", true);

	if (!ours)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a skipidx index",
						RelationGetRelationName(rel))));
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a partitioned index, which holds nothing itself",
						RelationGetRelationName(rel)),
				 errhint("Name the indexes of its partitions, which pg_partition_tree() lists.")));
}

void
skx_maint_check_index(Relation rel)
{
	skx_maint_check_kind(rel);
	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary indexes of other sessions")));
	if (RecoveryInProgress() && !RelationIsPermanent(rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot access unlogged indexes during recovery")));
	if (RelationGetNumberOfBlocks(rel) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" has not been built",
						RelationGetRelationName(rel)),
				 errhint("Rebuild it with REINDEX.")));
}

/* Which table it is could change until both are locked. */
void
skx_maint_check_table(Relation heap, Relation index)
{
	if (heap == NULL || RelationGetRelid(heap) !=
		IndexGetRelation(RelationGetRelid(index), false))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("could not open parent table of index \"%s\"",
						RelationGetRelationName(index))));
}

void
skx_maint_check_valid(Relation index)
{
	if (index->rd_index->indisvalid)
		return;
	if (skx_maint_was_valid(RelationGetRelid(index)))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("index \"%s\" is not valid any more",
						RelationGetRelationName(index)),
				 errdetail("It was replaced, or is being dropped, after this query's snapshot was taken."),
				 errhint("Retry it.")));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("index \"%s\" is not valid",
					RelationGetRelationName(index)),
			 errhint("Rebuild it with REINDEX, or drop it; if REINDEX CONCURRENTLY has just replaced it, try again.")));
}
