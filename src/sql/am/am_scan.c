/*
 * am_scan.c
 *	  Index scans by one process or several.
 *
 * A scan takes its view of the index when it fetches its first row, after its
 * snapshot was taken.  It uses only this view until it is rescanned, since
 * every row that the snapshot can see is in the view exactly once.  Several
 * processes share one view, and take its documents part by part.  They do not
 * do that for scans with an order, for which plan/ has custom scans instead of
 * the planner's partial paths.  With `<@>` in ORDER BY, rows come from
 * am_ranked.c.  Answers are exact, so the executor need not recheck rows.  The
 * exception is equality of arrays, which depends on the order of elements.
 */
#include "postgres.h"

#include "access/relscan.h"
#include "index/cursor/cursor.h"
#include "index/skiplist/skiplist.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "sql/am/am_scan.h"
#include "support/compat/compat.h"
#include "support/compat/compat_planner.h"
#include "utils/memutils.h"

IndexScanDesc
skxbeginscan(Relation index, int nkeys, int norderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, nkeys, norderbys);
	SkxScan    *so = palloc0(sizeof(SkxScan));

	so->context = AllocSetContextCreate(CurrentMemoryContext,
										"skipidx scan",
										ALLOCSET_DEFAULT_SIZES);
	scan->opaque = so;
	return scan;
}

/* What the caller has asked for stays, but for the floor. */
static void
skx_am_scan_stop(SkxScan *so)
{
	SkxScanDesc *desc = &so->desc;

	if (so->exec != NULL)
		skx_exec_end(so->exec);
	skx_am_ranked_end(so);
	skx_am_ordered_end(so);
	memset(&desc->request, 0, sizeof(desc->request));
	desc->floor = 0;
	desc->lossy = false;
	desc->scorer = NULL;
	desc->ordered = NULL;
	desc->hit = NULL;
	desc->key = NULL;
	desc->rows = desc->given = so->ndead = 0;
	so->conditions = NULL;
	so->nconditions = 0;
	so->has_begun = so->idle_is_known = so->is_idle = false;
	so->n = so->next_tid = 0;
	so->tids = NULL;
	so->hits = NULL;
	so->keys = NULL;
	so->rows = NULL;
	so->exec = NULL;
	MemoryContextReset(so->context);
}

void
skxrescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys,
		  int norderbys)
{
	skx_am_scan_stop(scan->opaque);
	if (keys != NULL && scan->numberOfKeys > 0)
		memmove(scan->keyData, keys, scan->numberOfKeys * sizeof(ScanKeyData));
	if (orderbys != NULL && scan->numberOfOrderBys > 0)
		memmove(scan->orderByData, orderbys,
				scan->numberOfOrderBys * sizeof(ScanKeyData));
}

void
skxendscan(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;

	skx_am_scan_stop(so);
	MemoryContextDelete(so->context);
	pfree(so);
}

/*
 * Compiles the scan keys.  Returns NULL if one of them is NULL, since no row
 * matches then.
 */
static SkxQuery *
skx_am_scan_compile(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	int			nqueries = 0;
	TSQuery    *queries = palloc(sizeof(TSQuery) *
								 Max(scan->numberOfKeys, 1));
	int			i;

	so->nconditions = 0;
	so->conditions = palloc(sizeof(SkxCondition) * Max(scan->numberOfKeys, 1));
	for (i = 0; i < scan->numberOfKeys; i++)
	{
		ScanKey		key = &scan->keyData[i];
		SkxCondition *condition = &so->conditions[so->nconditions];

		if (!skx_am_scan_is_match(key))
		{
			skx_condition_of_key(scan->indexRelation, key, condition);
			so->desc.lossy |= condition->lossy;
			so->nconditions++;
			continue;
		}
		if (key->sk_flags & SK_ISNULL)
			return NULL;
		if (key->sk_strategy != SKX_STRATEGY_MATCH &&
			key->sk_strategy != SKX_STRATEGY_MATCH_OLD)
			elog(ERROR, "unrecognized skipidx strategy: %d",
				 key->sk_strategy);
		queries[nqueries++] = DatumGetTSQuery(key->sk_argument);
	}
	so->nconditions = skx_condition_join_conditions(so->conditions,
													so->nconditions);
	so->nqueries = nqueries;
	so->queries = queries;
	return skx_query_compile(queries, nqueries, so->conditions,
							 so->nconditions);
}

/*
 * Compiles the keys and takes the predicate locks of SERIALIZABLE.  The caller
 * takes the view after that.  Returns false if no row matches, because a key
 * is NULL or the query is empty.
 */
static bool
skx_am_scan_begin(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	SkxQuery   *query;

	so->has_begun = true;
	skx_snapshot_heap_restart(&so->heap_prefetch);
	pgstat_count_index_scan(scan->indexRelation);
	skx_compat_count_search(scan);
	query = skx_am_scan_compile(scan);
	if (query == NULL || skx_query_is_empty(query))
		return false;
	so->desc.request.query = query;
	skx_am_predicate_read(scan);
	return true;
}

/* Does all that comes before the first row of a scan. */
static void
skx_am_scan_start(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	SkxRequest *request = &so->desc.request;

	if (!skx_am_scan_begin(scan) ||
		skx_am_ranked_begin(scan) || skx_am_ordered_prepare(scan))
		return;
	request->index = scan->indexRelation;
	request->heap = scan->heapRelation;
	request->snapshot = scan->xs_snapshot;
	request->share = scan->parallel_scan == NULL ? so->desc.share :
		skx_compat_parallel_part(scan->parallel_scan);
	request->view = skx_exec_view(scan->indexRelation, request->share);
}

/* ---- what callers use, too ---- */

SkxScanDesc *
skx_am_scan_desc(IndexScanDesc scan)
{
	return &((SkxScan *) scan->opaque)->desc;
}

/* Fills in all that this process has read so far, in scans of all indexes. */
static void
skx_am_scan_reads(SkxScanReads *now)
{
	const SkxBlkCounters *counters = skx_blkio_counters();
	int			i;

	now->blocks = now->hits = now->rounds = 0;
	for (i = 0; i < SKX_BLK_NMETHODS; i++)
	{
		now->blocks += counters[i].pages_read;
		now->hits += counters[i].hits;
		now->rounds += counters[i].rounds;
	}
	now->nodes = skx_skiplist_work.read_nodes;
	now->skipped_nodes = skx_skiplist_work.skipped_nodes;
	now->subblocks = skx_cursor_work.subblocks + skx_cursor_work.window_fills;
	now->positions = skx_cursor_work.positions;
}

bool
skx_am_scan_enter(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;

	so->outer = MemoryContextSwitchTo(so->context);
	skx_am_scan_reads(&so->before);
	if (!so->has_begun)
		skx_am_scan_start(scan);
	return so->desc.request.view != NULL;
}

void
skx_am_scan_leave(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	uint64	   *counts = (uint64 *) &so->desc.work.reads;
	SkxScanReads now;
	int			i;

	MemoryContextSwitchTo(so->outer);
	skx_am_scan_reads(&now);
	for (i = 0; i < SKX_SCAN_NREADS; i++)
		counts[i] += ((uint64 *) &now)[i] - ((uint64 *) &so->before)[i];
	skx_compat_check_snapshot(scan->xs_snapshot, scan->indexRelation);
}

/* ---- rows ---- */

/* Fetches the next rows in no order.  Returns false if there are none. */
static bool
skx_am_scan_rows(SkxScan *so)
{
	if (so->exec == NULL)
	{
		so->rows = skx_rows_collector_create(so->fetches_all_rows);
		so->exec = skx_exec_begin(&so->desc.request, &so->rows->collector);
	}
	if (!skx_rows_next_batch(so->rows, so->exec))
		return false;
	so->n = so->rows->n;
	so->tids = so->rows->tids;
	return true;
}

/*
 * Fetches the next batch of TIDs into so->tids.  Returns false at the end.
 */
static bool
skx_am_scan_fetch(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	bool		any;

	(void) skx_am_scan_enter(scan);
	so->n = so->next_tid = 0;
	so->desc.hit = NULL;
	so->desc.key = NULL;
	if (skx_am_ranked_is_idle(so))
		any = false;
	else if (so->desc.scorer != NULL)
		any = skx_am_ranked_fetch(scan);
	else if (so->desc.ordered != NULL)
		any = skx_am_ordered_fetch(so);
	else
		any = so->desc.request.view != NULL && skx_am_scan_rows(so);
	skx_am_scan_leave(scan);
	return any;
}

/*
 * Returns how many rows of a batch are certain to be handed out, as far as
 * that is known.
 */
static int
skx_am_scan_certain_rows(const SkxScan *so)
{
	if ((so->topk == NULL && so->ordered == NULL) || so->desc.wants_all)
		return 0;
	return (int) Min((uint64) so->n, so->desc.wanted);
}

/*
 * Fetches the next batch of TIDs, and begins to prefetch their blocks of the
 * table.  Returns false at the end.
 */
static bool
skx_am_scan_fetch_rows(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;

	if (!skx_am_scan_fetch(scan))
		return false;
	skx_snapshot_heap_begin(&so->heap_prefetch, scan->heapRelation);
	skx_snapshot_heap_batch(&so->heap_prefetch, skx_am_scan_certain_rows(so));
	return true;
}

/* Tells the caller of the next row. */
static void
skx_am_scan_tell(SkxScan *so)
{
	const uint64 *key = so->keys == NULL ? NULL : &so->keys[so->next_tid];

	so->desc.hit = so->hits == NULL ? NULL : &so->hits[so->next_tid];
	so->desc.key = key != NULL &&
		skx_column_key_is_shared(&so->desc.ordered->key, *key) ? key : NULL;
}

bool
skxgettuple(IndexScanDesc scan, ScanDirection dir)
{
	SkxScan    *so = scan->opaque;

	Assert(!ScanDirectionIsBackward(dir));
	if (scan->xs_want_itup)
		elog(ERROR, "skipidx does not support index-only scans");
	if (scan->kill_prior_tuple && so->next_tid > 0)
		skx_am_remember_dead(scan);
	if (so->next_tid >= so->n && !skx_am_scan_fetch_rows(scan))
		return false;
	so->desc.given++;
	skx_snapshot_heap_prefetch(&so->heap_prefetch, so->tids, so->n,
							   so->next_tid);
	skx_am_scan_tell(so);
	scan->xs_heaptid = so->tids[so->next_tid++];
	scan->xs_recheck = so->desc.lossy;
	scan->xs_recheckorderby = false;
	return true;
}

int64
skxgetbitmap(IndexScanDesc scan, TIDBitmap *tbm)
{
	SkxScan    *so = scan->opaque;
	int64		total = 0;

	so->fetches_all_rows = true;
	while (skx_am_scan_fetch(scan))
	{
		tbm_add_tuples(tbm, so->tids, so->n, so->desc.lossy);
		total += so->n;
	}
	return total;
}

Size
skxestimateparallelscan(SKX_COMPAT_ESTIMATE_PARALLEL)
{
	return sizeof(SkxExecShared);
}

void
skxinitparallelscan(void *target)
{
	skx_exec_share_init(target);
}

void
skxparallelrescan(IndexScanDesc scan)
{
	skx_exec_share_restart(skx_compat_parallel_part(scan->parallel_scan));
}
