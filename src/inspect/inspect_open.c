/*
 * inspect_open.c
 *	  From a user's regclass to an open index, or a clear refusal.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "compat/compat.h"
#include "commands/defrem.h"
#include "inspect/inspect.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/rel.h"

static void
skx_inspect_check_kind(Relation rel)
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

static void
skx_inspect_check_readable(Relation rel)
{
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

Relation
skx_inspect_open(Oid oid, SkxInspectRight right)
{
	Relation	rel = relation_open(oid, AccessShareLock);

	skx_inspect_check_kind(rel);
	if (!skx_compat_owns_relation(oid) &&
		!(right == SKX_INSPECT_STATS &&
		  has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS)))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX,
					   RelationGetRelationName(rel));
	skx_inspect_check_readable(rel);
	return rel;
}
