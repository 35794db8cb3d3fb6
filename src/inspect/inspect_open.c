/*
 * inspect_open.c
 *	  From a user's regclass to an open index, or a clear refusal.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/index.h"
#include "catalog/pg_authid.h"
#include "compat/compat.h"
#include "inspect/inspect.h"
#include "maint/maint.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/rel.h"

static bool
skx_inspect_may(Oid oid, SkxInspectRight right)
{
	Oid			table;

	if (skx_compat_owns_relation(oid))
		return true;
	switch (right)
	{
		case SKX_INSPECT_OWNER:
			break;
		case SKX_INSPECT_STATS:
			return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
		case SKX_INSPECT_READ:
			table = IndexGetRelation(oid, true);
			return OidIsValid(table) &&
				pg_class_aclcheck(table, GetUserId(),
								  ACL_SELECT) == ACLCHECK_OK;
	}
	return false;
}

Relation
skx_inspect_open(Oid oid, SkxInspectRight right)
{
	Relation	rel = skx_maint_open(oid, AccessShareLock);

	skx_maint_check_index(rel);
	if (!skx_inspect_may(oid, right))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX,
					   RelationGetRelationName(rel));
	return rel;
}
