/*
 * am_scan.c
 *	  Index scans: segments one after the other, then pending documents.
 *
 * A scan takes its view of the index when it fetches its first row, which is
 * after its snapshot was taken, and uses nothing else until it is rescanned:
 * every row that the snapshot can see is in exactly one place of that view.
 * With `<@>` in ORDER BY rows come by am_ranked.c.  Answers are exact, so the
 * executor is never asked to recheck.
 */
#include "postgres.h"

#include "access/relscan.h"
#include "am/am_scan.h"
#include "compat/compat.h"
#include "compat/compat_planner.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "pending/pending.h"
#include "pgstat.h"
#include "query/query.h"
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
skx_am_scan_close_segment(SkxScan *so)
{
	if (so->answers[so->at] != NULL)
		skx_query_scan_close(so->answers[so->at]);
	if (so->segs[so->at] != NULL)
		skx_segment_close(so->segs[so->at]);
	so->answers[so->at] = NULL;
	so->segs[so->at] = NULL;
}

/*
 * Opens the next segments: one, or several when all will be read, so that one
 * does not wait for what could be read with what another waits for.
 */
static void
skx_am_scan_open_segments(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	int			n = so->fetches_all ? SKX_SCAN_SEGMENTS : 1;
	int			i;

	n = Min(n, so->view->nsegments - so->segment);
	skx_segment_ask_headers(so->file, so->view, so->segment, n);
	so->at = 0;
	so->nopen = n;
	for (i = 0; i < n; i++)
	{
		so->segs[i] = skx_segment_open(so->file, scan->indexRelation,
									   so->view, so->segment++);
		so->answers[i] = skx_query_scan_open(so->segs[i], so->query,
											 so->fetches_all);
	}
	skx_query_scan_plan(so->answers, n);
}

static void
skx_am_scan_stop(SkxScan *so)
{
	for (; so->at < so->nopen; so->at++)
		skx_am_scan_close_segment(so);
	if (so->pending != NULL)
		skx_pending_end(so->pending);
	if (so->file != NULL)
		skx_blkio_close(so->file);
	so->pending = NULL;
	so->file = NULL;
	so->view = NULL;
	so->query = NULL;
	skx_am_ranked_stop(so);
	so->started = false;
	so->pending_done = false;
	so->segment = so->nopen = so->at = so->n = so->next = 0;
	so->docs = NULL;
	so->tids = NULL;
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
 * Compiles the scan keys; NULL when one of them is NULL, which no row
 * matches.
 */
static SkxQuery *
skx_am_scan_compile(IndexScanDesc scan)
{
	TSQuery    *queries = palloc(sizeof(TSQuery) *
								 Max(scan->numberOfKeys, 1));
	int			i;

	for (i = 0; i < scan->numberOfKeys; i++)
	{
		ScanKey		key = &scan->keyData[i];

		if (key->sk_flags & SK_ISNULL)
			return NULL;
		if (key->sk_strategy != SKX_STRATEGY_MATCH &&
			key->sk_strategy != SKX_STRATEGY_MATCH_OLD)
			elog(ERROR, "unrecognized skipidx strategy: %d",
				 key->sk_strategy);
		queries[i] = DatumGetTSQuery(key->sk_argument);
	}
	return skx_query_compile(queries, scan->numberOfKeys);
}

static void
skx_am_scan_start(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;

	so->started = true;
	pgstat_count_index_scan(scan->indexRelation);
	skx_compat_count_search(scan);
	so->query = skx_am_scan_compile(scan);
	if (so->query == NULL || skx_query_is_empty(so->query))
	{
		so->query = NULL;
		so->pending_done = true;
		return;
	}
	skx_am_predicate_read(scan);
	if (skx_am_ranked_start(scan))
		return;
	so->view = skx_manifest_view(scan->indexRelation);
	so->docs = palloc(sizeof(uint32) * SKX_QUERY_DOCS);
	so->tids = palloc(sizeof(ItemPointerData) * SKX_QUERY_DOCS);
	if (so->view->nsegments > 0)
		so->file = skx_segment_file(scan->indexRelation,
									so->view->meta.incarnation);
}

/*
 * The next batch of TIDs from segments; false when they are done.
 */
static bool
skx_am_scan_segments(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;

	for (;;)
	{
		if (so->at >= so->nopen)
		{
			if (so->query == NULL || so->segment >= so->view->nsegments)
				return false;
			skx_am_scan_open_segments(scan);
		}
		so->n = skx_query_scan_next(so->answers[so->at], so->docs);
		if (so->n > 0)
		{
			skx_segment_tids_of(so->segs[so->at], so->docs, so->n, so->tids);
			return true;
		}
		skx_am_scan_close_segment(so);
		so->at++;
	}
}

/* The server's own functions, which match it, leave memory behind. */
static bool
skx_am_scan_matches(SkxScan *so, const SkxPendingDoc *doc)
{
	MemoryContext old = MemoryContextSwitchTo(so->document);
	bool		matches = skx_query_matches(so->query, doc->value);

	MemoryContextSwitchTo(old);
	MemoryContextReset(so->document);
	return matches;
}

static bool
skx_am_scan_pending(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	SkxPendingDoc doc;

	if (so->pending_done)
		return false;
	if (so->pending == NULL)
	{
		so->pending = skx_pending_begin(scan->indexRelation, so->view, false);
		so->document = AllocSetContextCreate(so->context,
											 "skipidx pending document",
											 ALLOCSET_DEFAULT_SIZES);
	}
	while (so->n < SKX_QUERY_BATCH)
	{
		CHECK_FOR_INTERRUPTS();
		if (!skx_pending_next(so->pending, &doc))
		{
			skx_pending_end(so->pending);
			so->pending = NULL;
			so->pending_done = true;
			break;
		}
		if (skx_am_scan_matches(so, &doc))
			so->tids[so->n++] = doc.tid;
	}
	return so->n > 0;
}

/*
 * Fetches the next batch of TIDs into so->tids; false at the end.
 */
static bool
skx_am_scan_fetch(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(so->context);
	bool		any;

	so->n = so->next = 0;
	if (!so->started)
		skx_am_scan_start(scan);
	if (so->ranked != NULL)
		any = skx_am_ranked_fetch(scan);
	else
		any = skx_am_scan_segments(scan) || skx_am_scan_pending(scan);
	MemoryContextSwitchTo(old);
	skx_compat_check_snapshot(scan->xs_snapshot, scan->indexRelation);
	return any;
}

bool
skxgettuple(IndexScanDesc scan, ScanDirection dir)
{
	SkxScan    *so = scan->opaque;

	Assert(!ScanDirectionIsBackward(dir));
	if (scan->xs_want_itup)
		elog(ERROR, "skipidx does not support index-only scans");
	if (so->next >= so->n && !skx_am_scan_fetch(scan))
		return false;
	scan->xs_heaptid = so->tids[so->next++];
	scan->xs_recheck = scan->xs_recheckorderby = false;
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
		tbm_add_tuples(tbm, so->tids, so->n, false);
		total += so->n;
	}
	return total;
}
