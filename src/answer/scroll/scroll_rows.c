/*
 * scroll_rows.c
 *	  Fetches the rows of a page: looks for the tids of matches, and reads
 *	  their rows, until there are enough.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "answer/scroll/scroll.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "support/compat/compat_planner.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/*
 * Least number of tids that are looked for at a time.  If most rows are dead,
 * looking for a few more than are wanted saves a search.  The largest number
 * follows from work_mem, as each tid takes 16 bytes.
 */
#define SKX_SCROLL_TIDS_MIN	256

/* Number of rows that are looked up in the table together. */
#define SKX_SCROLL_BATCH	1024

/* A scroll, and the tids that it has found. */
typedef struct SkxScroll
{
	const SkxScrollRequest *request;
	SkxTidCollector collector;
	ItemPointerData *tids;		/* SKX_SCROLL_BATCH */
	IndexFetchTableData *fetch;
	TupleTableSlot *row;
	SkxHeapPrefetch heap_prefetch;
} SkxScroll;

static int
skx_scroll_max_tids(uint64 rows)
{
	uint64		room = (uint64) work_mem * 1024 / (2 * sizeof(uint64));

	return (int) Max(Min(rows, Min(room, PG_INT32_MAX / 4)),
					 SKX_SCROLL_TIDS_MIN);
}

/*
 * Passes the rows at n tids that the snapshot sees to the caller, but at most
 * `most`.  Returns their number.
 */
static uint64
skx_scroll_fetch(SkxScroll *s, const uint64 *keys, int n, uint64 most)
{
	const SkxScrollRequest *request = s->request;
	uint64		rows = 0;
	int			i;

	for (i = 0; i < n; i++)
		skx_rows_key_tid(keys[i], &s->tids[i]);
	skx_snapshot_heap_batch(&s->heap_prefetch, (int) Min((uint64) n, most));
	for (i = 0; i < n && rows < most; i++)
	{
		ItemPointerData tid = s->tids[i];
		bool		again = false;

		CHECK_FOR_INTERRUPTS();
		skx_snapshot_heap_prefetch(&s->heap_prefetch, s->tids, n, i);
		if (!table_index_fetch_tuple(s->fetch, &tid,
									 request->rows_request.snapshot, s->row,
									 &again, NULL))
			continue;
		pgstat_count_heap_fetch(request->rows_request.index);
		request->receive_row(&s->tids[i], s->row, request->arg);
		rows++;
	}
	return rows;
}

/* Does as skx_scroll_fetch() for all tids that were found. */
static uint64
skx_scroll_fetch_all(SkxScroll *s, uint64 most)
{
	const SkxTidCollector *places = &s->collector;
	uint64		rows = 0;
	int			at;

	for (at = 0; at < places->n && rows < most; at += SKX_SCROLL_BATCH)
		rows += skx_scroll_fetch(s, &places->keys[at],
								 Min(places->n - at, SKX_SCROLL_BATCH),
								 most - rows);
	return rows;
}

uint64
skx_scroll_rows(const SkxScrollRequest *request)
{
	SkxScroll	s = {request};
	SkxTidCollector *places = &s.collector;
	uint64		rows = 0;

	places->slice = request->slice;
	places->from_key = request->from_key;
	skx_rows_tids_begin(places);
	s.tids = palloc(sizeof(ItemPointerData) * SKX_SCROLL_BATCH);
	s.fetch = skx_compat_fetch_begin(request->rows_request.heap);
	s.row = table_slot_create(request->rows_request.heap, NULL);
	skx_snapshot_heap_begin(&s.heap_prefetch, request->rows_request.heap);
	do
	{
		places->max_rows = skx_scroll_max_tids(request->max_rows - rows);
		skx_rows_first_tids(places, &request->rows_request);
		rows += skx_scroll_fetch_all(&s, request->max_rows - rows);
		if (places->n > 0)
			places->from_key = places->keys[places->n - 1] + 1;
	} while (rows < request->max_rows && places->n == places->max_rows);
	ExecDropSingleTupleTableSlot(s.row);
	table_index_fetch_end(s.fetch);
	pgstat_count_index_tuples(request->rows_request.index, rows);
	return rows;
}
