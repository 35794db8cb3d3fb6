/*
 * inspect_open.c
 *	  Opens an index by its OID for SQL functions, and checks the user's right
 *	  to it.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/index.h"
#include "catalog/pg_authid.h"
#include "inspect/inspect.h"
#include "miscadmin.h"
#include "support/compat/compat.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "write/maint/maint.h"

static bool
skx_inspect_has_right(Oid oid, Oid table, SkxInspectRight right)
{
	if (skx_compat_owns_relation(oid))
		return true;
	switch (right)
	{
		case SKX_INSPECT_OWNER:
			break;
		case SKX_INSPECT_STATS:
			return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
		case SKX_INSPECT_READ:
			return pg_class_aclcheck(table, GetUserId(),
									 ACL_SELECT) == ACLCHECK_OK;
	}
	return false;
}

static void
skx_inspect_check_right(Oid oid, Oid table, SkxInspectRight right)
{
	const char *name = get_rel_name(oid);

	if (name != NULL && !skx_inspect_has_right(oid, table, right))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, name);
}

/*
 * The right is checked twice: before the locks are taken, so that a role
 * without the right gets none, and after, since the owner may have changed
 * meanwhile.
 */
void
skx_inspect_open(Oid oid, SkxInspectRight right, Relation *heap,
				 Relation *index)
{
	Oid			table = IndexGetRelation(oid, true);

	if (OidIsValid(table))
		skx_inspect_check_right(oid, table, right);
	skx_maint_open(oid, AccessShareLock, false, heap, index);
	skx_inspect_check_right(oid, RelationGetRelid(*heap), right);
}

void
skx_inspect_close(Relation heap, Relation index)
{
	relation_close(index, AccessShareLock);
	relation_close(heap, AccessShareLock);
}

bool
skx_inspect_may_show(Oid database, Oid index)
{
	HeapTuple	tuple;
	Oid			owner;

	if (has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS))
		return true;
	if (database != MyDatabaseId)
		return false;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(index));
	if (!HeapTupleIsValid(tuple))
		return false;
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return has_privs_of_role(GetUserId(), owner);
}
