/*
 * inspect_open.c
 *	  From a user's regclass to an open index, or a clear refusal.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_authid.h"
#include "compat/compat.h"
#include "inspect/inspect.h"
#include "maint/maint.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/rel.h"

Relation
skx_inspect_open(Oid oid, SkxInspectRight right)
{
	Relation	rel = relation_open(oid, AccessShareLock);

	skx_maint_check_index(rel);
	if (!skx_compat_owns_relation(oid) &&
		!(right == SKX_INSPECT_STATS &&
		  has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS)))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX,
					   RelationGetRelationName(rel));
	return rel;
}
