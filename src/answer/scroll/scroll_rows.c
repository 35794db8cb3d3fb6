/*
 * scroll_rows.c
 *	  Fetches the rows at the places that match, until there are enough.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "answer/scroll/scroll.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/*
 * Places that are looked for at a time: each has twice eight bytes, which are to
 * stay within work_mem; and where most rows at them are dead, a few more than
 * are wanted save a search.
 */
#define SKX_SCROLL_LEAST	256

/* Rows that are looked for in the table together. */
#define SKX_SCROLL_BATCH	1024

/* One scroll, and the places that it has come to. */
typedef struct SkxScroll
{
	const SkxScrollRequest *request;
	SkxRowPlaces places;
	ItemPointerData *tids;		/* SKX_SCROLL_BATCH */
	IndexFetchTableData *fetch;
	TupleTableSlot *row;
	SkxHeapAhead ahead;
} SkxScroll;

static int
skx_scroll_most(uint64 rows)
{
	uint64		room = (uint64) work_mem * 1024 / (2 * sizeof(uint64));

	return (int) Max(Min(rows, Min(room, PG_INT32_MAX / 4)),
					 SKX_SCROLL_LEAST);
}

/* Rows that the snapshot sees at n places, the first `most` of them. */
static uint64
skx_scroll_fetch(SkxScroll *s, const uint64 *keys, int n, uint64 most)
{
	const SkxScrollRequest *request = s->request;
	uint64		rows = 0;
	int			i;

	for (i = 0; i < n; i++)
		skx_rows_key_place(keys[i], &s->tids[i]);
	skx_snapshot_heap_batch(&s->ahead, (int) Min((uint64) n, most));
	for (i = 0; i < n && rows < most; i++)
	{
		ItemPointerData tid = s->tids[i];
		bool		again = false;

		CHECK_FOR_INTERRUPTS();
		skx_snapshot_heap_ask(&s->ahead, s->tids, n, i);
		if (!table_index_fetch_tuple(s->fetch, &tid, request->of.snapshot,
									 s->row, &again, NULL))
			continue;
		pgstat_count_heap_fetch(request->of.index);
		request->row(&s->tids[i], s->row, request->arg);
		rows++;
	}
	return rows;
}

/* Rows at the places that were found. */
static uint64
skx_scroll_fetch_all(SkxScroll *s, uint64 most)
{
	const SkxRowPlaces *places = &s->places;
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
	SkxRowPlaces *places = &s.places;
	uint64		rows = 0;

	places->slice = request->slice;
	places->from = request->from;
	skx_rows_places_begin(places);
	s.tids = palloc(sizeof(ItemPointerData) * SKX_SCROLL_BATCH);
	s.fetch = table_index_fetch_begin(request->of.heap);
	s.row = table_slot_create(request->of.heap, NULL);
	skx_snapshot_heap_begin(&s.ahead, request->of.heap);
	do
	{
		places->most = skx_scroll_most(request->size - rows);
		skx_rows_places(places, &request->of);
		rows += skx_scroll_fetch_all(&s, request->size - rows);
		if (places->n > 0)
			places->from = places->keys[places->n - 1] + 1;
	} while (rows < request->size && places->n == places->most);
	ExecDropSingleTupleTableSlot(s.row);
	table_index_fetch_end(s.fetch);
	pgstat_count_index_tuples(request->of.index, rows);
	return rows;
}
