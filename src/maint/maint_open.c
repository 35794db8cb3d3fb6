/*
 * maint_open.c
 *	  Is a relation that a user has named an index of ours, and readable?
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "maint/maint.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

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
	if (!index->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid",
						RelationGetRelationName(index)),
				 errhint("Rebuild it with REINDEX, or drop it.")));
}
