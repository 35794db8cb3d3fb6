/*
 * am_insert.c
 *	  Adds the index entry of a new row.
 *
 * Every row is a document, one with a NULL or empty tsvector too: a query
 * that is a pure negation, and a ranking without a filter, need them all.
 *
 * The insert that finds the pending list too long flushes as much of it as the
 * limit allows.  It waits for no other process: during another flush, or
 * VACUUM's bulkdelete, the list grows, and a later insert flushes more.  It
 * never merges.  The row is stored before the flush and does not depend on it:
 * if the flush finds no space, the statement goes on with a warning.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "am/am_scan.h"
#include "intake/intake_column.h"
#include "pending/pending.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

/* How long a session lets a flush be that has found no space, in ms. */
#define SKX_INSERT_RETRY	10000

/* The last of these. */
static Oid	skx_am_insert_full = InvalidOid;
static TimestampTz skx_am_insert_full_at;

static void
skx_am_insert_flush_one(Relation index, void *arg)
{
	SkxMaintOptions *options = arg;
	uint64		ndocs = 0;

	skx_maint_flush(index, options, options->pending_limit, SKX_WAIT_NEVER,
					&ndocs);
}

static void
skx_am_insert_tidy(Relation index, void *arg)
{
	skx_manifest_tidy(index, false);
}

static bool
skx_am_insert_due(Relation index, const SkxMaintOptions *options)
{
	if (skx_pending_bytes(index, skx_manifest_view(index)) <=
		options->pending_limit)
		return false;
	return skx_am_insert_full != RelationGetRelid(index) ||
		TimestampDifferenceExceeds(skx_am_insert_full_at,
								   GetCurrentTimestamp(), SKX_INSERT_RETRY);
}

static void
skx_am_insert_flush(Relation index)
{
	MemoryContext context;
	MemoryContext old;
	SkxMaintOptions options;

	if (RecoveryInProgress() || IsInParallelMode())
		return;
	context = AllocSetContextCreate(CurrentMemoryContext, "skipidx insert",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	skx_am_maint_options(index, &options);
	if (skx_am_insert_due(index, &options) &&
		!skx_maint_optional(index, skx_am_insert_flush_one, &options,
							SKX_SPARE_SPACE))
	{
		skx_am_insert_full = RelationGetRelid(index);
		skx_am_insert_full_at = GetCurrentTimestamp();
		skx_maint_optional(index, skx_am_insert_tidy, NULL, SKX_SPARE_SPACE);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Found once a statement. */
static const SkxColumns *
skx_am_insert_columns(Relation index, IndexInfo *info)
{
	MemoryContext old;

	if (info->ii_AmCache != NULL)
		return info->ii_AmCache;
	old = MemoryContextSwitchTo(info->ii_Context);
	info->ii_AmCache = skx_intake_columns(index);
	MemoryContextSwitchTo(old);
	return info->ii_AmCache;
}

bool
skxinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid,
		  Relation heap, IndexUniqueCheck unique, bool unchanged,
		  struct IndexInfo *info)
{
	const SkxColumns *columns = skx_am_insert_columns(index, info);
	TSVector	value = skx_intake_row_document(columns, values, isnull, tid);
	bool		full;

	full = skx_pending_append(index, tid, value);
	skx_am_predicate_insert(index, value);
	skx_intake_free_document(value, values, isnull);
	if (full)
		skx_am_insert_flush(index);
	return false;
}
