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

static void
skx_am_scan_stop(SkxScan *so)
{
	if (so->exec != NULL)
		skx_exec_end(so->exec);
	skx_am_ranked_stop(so);
	skx_am_ordered_stop(so);
	so->query = NULL;
	so->conditions = NULL;
	so->nconditions = 0;
	so->lossy = false;
	so->started = so->asked = so->idle = false;
	so->wish.floor = 0;
	so->n = so->next = 0;
	so->tids = NULL;
	so->rows = NULL;
	so->request = NULL;
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
			so->lossy |= condition->lossy;
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

bool
skx_am_scan_begin(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;

	so->started = true;
	skx_snapshot_heap_restart(&so->heap);
	pgstat_count_index_scan(scan->indexRelation);
	skx_compat_count_search(scan);
	so->query = skx_am_scan_compile(scan);
	if (so->query == NULL || skx_query_is_empty(so->query))
		return false;
	skx_am_predicate_read(scan);
	return true;
}

/* Begins a scan of rows in no order. */
static void
skx_am_scan_start_rows(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	SkxRequest *request = palloc0(sizeof(SkxRequest));

	request->index = scan->indexRelation;
	request->share = scan->parallel_scan == NULL ? NULL :
		skx_compat_parallel_part(scan->parallel_scan);
	request->view = so->view = skx_exec_view(scan->indexRelation,
											 request->share);
	request->query = so->query;
	so->rows = skx_rows_make(so->fetches_all);
	so->exec = skx_exec_begin(request, &so->rows->collector);
}

void
skx_am_scan_start(IndexScanDesc scan)
{
	if (!skx_am_scan_begin(scan))
		return;
	if (skx_am_ranked_start(scan) || skx_am_ordered_start(scan))
		return;
	skx_am_scan_start_rows(scan);
}

/* Fetches the next rows in no order.  Returns false if there are none. */
static bool
skx_am_scan_rows(SkxScan *so)
{
	if (so->exec == NULL || !skx_rows_next(so->rows, so->exec))
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
	MemoryContext old = MemoryContextSwitchTo(so->context);
	bool		any;
	SkxScanReads before;

	skx_am_reads_now(&before);
	so->n = so->next = 0;
	if (!so->started)
		skx_am_scan_start(scan);
	if (skx_am_ranked_idle(so))
		any = false;
	else if (so->ranked != NULL)
		any = skx_am_ranked_fetch(scan);
	else if (so->request != NULL)
		any = skx_am_ordered_fetch(so);
	else
		any = skx_am_scan_rows(so);
	MemoryContextSwitchTo(old);
	skx_am_reads_since(scan, &before);
	skx_compat_check_snapshot(scan->xs_snapshot, scan->indexRelation);
	return any;
}

/*
 * Returns how many rows of a batch are certain to be handed out, as far as
 * that is known.
 */
static int
skx_am_scan_sure(const SkxScan *so)
{
	if (so->ordered != NULL)
		return (int) Min((uint64) so->n, so->wish.order->wanted);
	if (so->ranked == NULL || so->wish.wants_all)
		return 0;
	return (int) Min((uint64) so->n, so->wish.wanted);
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
	skx_snapshot_heap_begin(&so->heap, scan->heapRelation);
	skx_snapshot_heap_batch(&so->heap, skx_am_scan_sure(so));
	return true;
}

bool
skxgettuple(IndexScanDesc scan, ScanDirection dir)
{
	SkxScan    *so = scan->opaque;

	Assert(!ScanDirectionIsBackward(dir));
	if (scan->xs_want_itup)
		elog(ERROR, "skipidx does not support index-only scans");
	if (scan->kill_prior_tuple && so->next > 0)
		skx_am_dead_note(scan);
	if (so->next >= so->n && !skx_am_scan_fetch_rows(scan))
		return false;
	so->ngiven++;
	skx_snapshot_heap_ask(&so->heap, so->tids, so->n, so->next);
	scan->xs_heaptid = so->tids[so->next++];
	scan->xs_recheck = so->lossy;
	scan->xs_recheckorderby = false;
	return true;
}

int64
skxgetbitmap(IndexScanDesc scan, TIDBitmap *tbm)
{
	SkxScan    *so = scan->opaque;
	int64		total = 0;

	so->fetches_all = true;
	while (skx_am_scan_fetch(scan))
	{
		tbm_add_tuples(tbm, so->tids, so->n, so->lossy);
		total += so->n;
	}
	return total;
}

Size
skxestimateparallelscan(SKX_COMPAT_ESTIMATE_PARALLEL)
{
	return sizeof(SkxShare);
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

/* ---- requests to the scan, and its results ---- */

SkxScanWish *
skx_am_scan_wish(IndexScanDesc scan)
{
	return &((SkxScan *) scan->opaque)->wish;
}

void
skx_am_scan_begun(IndexScanDesc scan, SkxScanBegun *begun)
{
	SkxScan    *so = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(so->context);

	if (!so->started)
		skx_am_scan_start(scan);
	MemoryContextSwitchTo(old);
	begun->query = so->query;
	begun->scorer = skx_am_ranked_by(so);
	begun->rows = skx_am_ranked_rows(so, scan->indexRelation);
	begun->order = so->request;
}

void
skx_am_scan_row(IndexScanDesc scan, SkxScanRow *row)
{
	const SkxScan *so = scan->opaque;

	row->scorer = NULL;
	row->has_distance = row->shared_key = false;
	if (so->next == 0)
		return;
	if (so->ranked != NULL)
		skx_am_ranked_row(so, row);
	else if (so->ordered != NULL)
		skx_am_ordered_row(so, row);
}

const SkxScanWork *
skx_am_scan_work(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;

	so->total = so->work;
	skx_am_ranked_work(so, &so->total.ranked);
	skx_am_ordered_work(so, &so->total.ordered);
	return &so->total;
}
