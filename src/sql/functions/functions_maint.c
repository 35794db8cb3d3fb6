/*
 * functions_maint.c
 *	  SQL functions that flush and merge an index.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "sql/am/am.h"
#include "sql/functions/functions_internal.h"
#include "support/compat/compat.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(skipidx_flush);
PG_FUNCTION_INFO_V1(skipidx_merge);

typedef struct SkxMaintIndex
{
	Relation	heap;
	Relation	index;
	SkxMaintOptions options;
} SkxMaintIndex;

static void
skx_functions_maint_refuse(const char *name)
{
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("recovery is in progress"),
				 errhint("A skipidx index can be flushed and merged on the primary only.")));
	PreventCommandIfReadOnly(name);
	PreventCommandIfParallelMode(name);
}

static void
skx_functions_maint_check(Oid index, Oid heap)
{
	AclResult	right = skx_compat_may_maintain(index, heap);
	const char *name = get_rel_name(index);

	if (right != ACLCHECK_OK && name != NULL)
		aclcheck_error(right, OBJECT_INDEX, name);
}

/*
 * Opens index and table as an insert does, the table first.  Rights are
 * checked before, too, since even a request for such a lock makes other
 * processes wait.
 */
static void
skx_functions_maint_open(SkxMaintIndex *m, Oid oid, const char *name)
{
	Oid			heap = IndexGetRelation(oid, true);

	skx_functions_maint_refuse(name);
	if (OidIsValid(heap))
		skx_functions_maint_check(oid, heap);
	skx_maint_open(oid, RowExclusiveLock, false, &m->heap, &m->index);
	skx_functions_maint_check(oid, RelationGetRelid(m->heap));
	skx_am_maint_options(m->index, SKX_REQUESTER_FUNCTION, &m->options);
}

static void
skx_functions_maint_close(SkxMaintIndex *m)
{
	relation_close(m->index, RowExclusiveLock);
	table_close(m->heap, RowExclusiveLock);
}

Datum
skipidx_flush(PG_FUNCTION_ARGS)
{
	SkxMaintIndex m;
	uint64		ndocs;

	skx_functions_maint_open(&m, PG_GETARG_OID(0), "skipidx_flush()");
	skx_manifest_free_orphaned(m.index, true);
	ndocs = skx_maint_flush_all(m.index, &m.options, SKX_WAIT_ALL);
	skx_functions_maint_close(&m);
	PG_RETURN_INT64((int64) ndocs);
}

Datum
skipidx_merge(PG_FUNCTION_ARGS)
{
	SkxMaintIndex m;
	int			most;
	int			left;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	most = DatumGetInt32(skx_functions_required_arg(fcinfo, 1,
													"max_segments"));
	if (most < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_segments must be greater than zero")));
	skx_functions_maint_open(&m, PG_GETARG_OID(0), "skipidx_merge()");
	skx_manifest_free_orphaned(m.index, true);
	left = skx_maint_merge(m.index, &m.options, most, SKX_WAIT_ALL);
	skx_functions_maint_close(&m);
	PG_RETURN_INT32(left);
}
