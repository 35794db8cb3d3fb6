/*
 * inspect_io.c
 *	  SQL functions that show counters of reads, the content of the block
 *	  cache, and the settings in force.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "funcapi.h"
#include "index/manifest/manifest.h"
#include "inspect/inspect.h"
#include "storage/blkio/blkio.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "support/compat/compat.h"
#include "utils/builtins.h"
#include "utils/rel.h"

PG_FUNCTION_INFO_V1(skipidx_io);
PG_FUNCTION_INFO_V1(skipidx_io_methods);
PG_FUNCTION_INFO_V1(skipidx_cache);
PG_FUNCTION_INFO_V1(skipidx_settings);
PG_FUNCTION_INFO_V1(skipidx_cache_indexes);
PG_FUNCTION_INFO_V1(skipidx_cache_reset);

#define SKX_NCOUNTERS		(sizeof(SkxBlkCounters) / sizeof(uint64))

/* ---- counters ---- */

/*
 * Adds a row: scope, method, and all counters.  A NULL method stands for the
 * sum of all methods.
 */
static void
skx_inspect_io_row(ReturnSetInfo *rsinfo, const char *scope,
				   const char *method, const SkxBlkCounters *counters)
{
	const uint64 *n = (const uint64 *) counters;
	Datum		values[SKX_NCOUNTERS + 2];
	bool		nulls[SKX_NCOUNTERS + 2] = {false};
	int			k = 0;

	values[k++] = CStringGetTextDatum(scope);
	nulls[k] = method == NULL;
	values[k++] = method == NULL ? (Datum) 0 : CStringGetTextDatum(method);
	for (int i = 0; i < SKX_NCOUNTERS; i++)
		values[k++] = Int64GetDatum((int64) n[i]);
	if (rsinfo->setDesc->natts != k)
		elog(ERROR, "function returns %d columns, not %d", k,
			 rsinfo->setDesc->natts);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Counters of reads of this session, and of all since the server started. */
Datum
skipidx_io(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	SkxBlkCounters totals[SKX_BLK_NMETHODS];
	SkxBlkCounters sum;

	InitMaterializedSRF(fcinfo, 0);
	skx_blkio_totals(totals);
	skx_blkio_sum(skx_blkio_counters(), &sum);
	skx_inspect_io_row(rsinfo, "session", NULL, &sum);
	skx_blkio_sum(totals, &sum);
	skx_inspect_io_row(rsinfo, "total", NULL, &sum);
	return (Datum) 0;
}

/* The same counters, method by method. */
Datum
skipidx_io_methods(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const SkxBlkCounters *mine = skx_blkio_counters();
	SkxBlkCounters totals[SKX_BLK_NMETHODS];

	InitMaterializedSRF(fcinfo, 0);
	skx_blkio_totals(totals);
	for (int i = 0; i < SKX_BLK_NMETHODS; i++)
		skx_inspect_io_row(rsinfo, "session", skx_blkio_method_names[i],
						   &mine[i]);
	for (int i = 0; i < SKX_BLK_NMETHODS; i++)
		skx_inspect_io_row(rsinfo, "total", skx_blkio_method_names[i],
						   &totals[i]);
	return (Datum) 0;
}

/* ---- the cache ---- */

static void
skx_inspect_io_text(const char *text, Datum *value, bool *null)
{
	*null = text == NULL;
	*value = text == NULL ? (Datum) 0 : CStringGetTextDatum(text);
}

/* Returns the state of the shared block cache. */
Datum
skipidx_cache(PG_FUNCTION_ARGS)
{
	SkxBlkCacheState state;
	SkxBlkSetting setting;
	TupleDesc	desc;
	Datum		values[11];
	bool		nulls[11] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	skx_blkio_cache_state(&state);
	values[0] = Int64GetDatum((int64) state.bytes);
	values[1] = Int64GetDatum((int64) state.frames);
	values[2] = Int64GetDatum((int64) state.frames_used);
	values[3] = Int64GetDatum((int64) state.pinned);
	values[4] = Int64GetDatum((int64) state.evictions);
	values[5] = Int64GetDatum((int64) state.reads_in_flight);
	values[6] = Int64GetDatum((int64) state.queued_backends);
	values[7] = Int64GetDatum((int64) state.configured);
	values[8] = Int64GetDatum((int64) state.bytes_allocated);
	(void) skx_blkio_setting(0, &setting);
	skx_inspect_io_text(setting.reason, &values[9], &nulls[9]);
	values[10] = Int64GetDatum((int64) state.prewarmed);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 nulls));
}

/* Returns the values in force of settings that depend on the machine. */
Datum
skipidx_settings(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	SkxBlkSetting setting;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; skx_blkio_setting(i, &setting); i++)
	{
		Datum		values[4];
		bool		nulls[4];

		skx_inspect_io_text(setting.name, &values[0], &nulls[0]);
		skx_inspect_io_text(setting.configured, &values[1], &nulls[1]);
		skx_inspect_io_text(setting.in_force, &values[2], &nulls[2]);
		skx_inspect_io_text(setting.reason, &values[3], &nulls[3]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
							 nulls);
	}
	return (Datum) 0;
}

Datum
skipidx_cache_reset(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64((int64) skx_blkio_cache_forget(0));
}

/*
 * Returns the incarnation of an index, or 0 if it cannot be read without
 * waiting for a lock.  Damage raises no error here, only when the index is
 * used.
 */
static uint64
skx_inspect_io_incarnation(Oid oid)
{
	uint64		incarnation = 0;
	Relation	rel;

	if (!ConditionalLockRelationOid(oid, AccessShareLock))
		return 0;
	rel = try_relation_open(oid, NoLock);
	if (rel == NULL)
	{
		UnlockRelationOid(oid, AccessShareLock);
		return 0;
	}
	if (rel->rd_index != NULL && rel->rd_index->indisready &&
		!RelationUsesLocalBuffers(rel) &&
		!(RecoveryInProgress() && !RelationIsPermanent(rel)) &&
		RelationGetNumberOfBlocks(rel) > 0)
	{
		Buffer		buffer = ReadBuffer(rel, SKX_META_BLOCK);
		const SkxDiskMeta *meta =
			(const SkxDiskMeta *) skx_manifest_page_content(buffer);

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		if (skx_disk_format_use(&meta->format) <= SKX_FORMAT_READ)
			incarnation = meta->incarnation;
		UnlockReleaseBuffer(buffer);
	}
	relation_close(rel, AccessShareLock);
	return incarnation;
}

/*
 * Adds a row of skipidx_cache_indexes().  An invalid oid stands for all
 * indexes that have no row of their own.
 */
static void
skx_inspect_io_index(ReturnSetInfo *rsinfo, Oid oid,
					 const SkxBlkIndexFrames *cached)
{
	Datum		values[4];
	bool		nulls[4] = {false};

	values[0] = ObjectIdGetDatum(oid);
	nulls[0] = !OidIsValid(oid);
	values[1] = Int64GetDatum((int64) cached->block_frames);
	values[2] = Int64GetDatum((int64) cached->page_frames);
	values[3] = Int64GetDatum((int64) cached->bytes);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Returns the indexes of this database that the user may see. */
static List *
skx_inspect_io_list(void)
{
	Oid			am = get_index_am_oid("skipidx", true);
	Relation	catalog = table_open(RelationRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL,
										  0, NULL);
	List	   *oids = NIL;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class class = (Form_pg_class) GETSTRUCT(tuple);

		if (class->relkind == RELKIND_INDEX && class->relam == am &&
			skx_inspect_may_show(MyDatabaseId, class->oid))
			oids = lappend_oid(oids, class->oid);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return oids;
}

/*
 * Returns the number of cached frames and bytes of each index.  Does not wait
 * for an index that is locked exclusively.  Such an index is counted in the
 * last row, with those of other databases, dropped indexes, and indexes that
 * the user may not see.
 */
Datum
skipidx_cache_indexes(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	SkxBlkIndexFrames rest = {0};
	SkxBlkIndexFrames *cached;
	int			n;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	cached = skx_blkio_cache_indexes(&n);
	foreach(cell, n > 0 ? skx_inspect_io_list() : NIL)
	{
		uint64		incarnation = skx_inspect_io_incarnation(lfirst_oid(cell));
		int			i = 0;

		CHECK_FOR_INTERRUPTS();
		while (i < n && cached[i].incarnation != incarnation)
			i++;
		if (i == n || incarnation == 0)
			continue;
		skx_inspect_io_index(rsinfo, lfirst_oid(cell), &cached[i]);
		cached[i] = cached[--n];
	}
	for (int i = 0; i < n; i++)
	{
		rest.block_frames += cached[i].block_frames;
		rest.page_frames += cached[i].page_frames;
		rest.bytes += cached[i].bytes;
	}
	if (n > 0)
		skx_inspect_io_index(rsinfo, InvalidOid, &rest);
	return (Datum) 0;
}
