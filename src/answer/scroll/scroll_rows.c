/*
 * scroll_rows.c
 *	  Merges what the segments and the pending list have, and fetches the rows.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "answer/scroll/scroll_internal.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/rel.h"

/* Rows that are looked for together. */
#define SKX_SCROLL_BATCH		1024

typedef struct SkxScroll
{
	const SkxScrollRequest *request;
	SkxScrollInput *inputs;
	int			ninputs;
	binaryheap *heap;			/* of those that have a match */
	IndexFetchTableData *fetch;
	TupleTableSlot *row;
	SkxHeapAhead ahead;
	ItemPointerData tids[SKX_SCROLL_BATCH];
} SkxScroll;

/* The least place comes first. */
static int
skx_scroll_before(Datum a, Datum b, void *arg)
{
	uint64		x = ((SkxScrollInput *) DatumGetPointer(a))->now;
	uint64		y = ((SkxScrollInput *) DatumGetPointer(b))->now;

	return x < y ? 1 : x > y ? -1 : 0;
}

static void
skx_scroll_begin(SkxScroll *s, SkxSource *source)
{
	const SkxScrollRequest *request = s->request;
	int			n = skx_snapshot_next(source, SKX_SOURCE_ALL);
	int			i;

	s->inputs = palloc_extended(sizeof(SkxScrollInput) * ((Size) n + 1),
								MCXT_ALLOC_HUGE);
	for (i = 0; i < n; i++)
		skx_scroll_input_segment(&s->inputs[i], request, source->segments[i]);
	skx_scroll_input_pending(&s->inputs[n], request, source);
	s->ninputs = n + 1;
	s->heap = binaryheap_allocate(s->ninputs, skx_scroll_before, NULL);
	for (i = 0; i < s->ninputs; i++)
	{
		if (s->inputs[i].now != SKX_SCROLL_END)
			binaryheap_add_unordered(s->heap, PointerGetDatum(&s->inputs[i]));
	}
	binaryheap_build(s->heap);
	s->fetch = table_index_fetch_begin(request->heap);
	s->row = table_slot_create(request->heap, NULL);
	skx_snapshot_heap_begin(&s->ahead, request->heap);
}

/* The next places, ascending; a document can be in one input only. */
static int
skx_scroll_places(SkxScroll *s, int most)
{
	int			n = 0;

	while (n < most && !binaryheap_empty(s->heap))
	{
		SkxScrollInput *input =
			(SkxScrollInput *) DatumGetPointer(binaryheap_first(s->heap));

		s->tids[n++] = input->tids[input->at];
		skx_scroll_input_next(input);
		if (input->now == SKX_SCROLL_END)
			(void) binaryheap_remove_first(s->heap);
		else
			binaryheap_replace_first(s->heap, PointerGetDatum(input));
	}
	return n;
}

/* Rows that the snapshot sees at these places. */
static uint64
skx_scroll_fetch(SkxScroll *s, int n)
{
	const SkxScrollRequest *request = s->request;
	uint64		rows = 0;
	int			i;

	skx_snapshot_heap_batch(&s->ahead, n);
	for (i = 0; i < n; i++)
	{
		ItemPointerData tid = s->tids[i];
		bool		again = false;

		CHECK_FOR_INTERRUPTS();
		skx_snapshot_heap_ask(&s->ahead, s->tids, n, i);
		if (!table_index_fetch_tuple(s->fetch, &tid, request->snapshot,
									 s->row, &again, NULL))
			continue;
		pgstat_count_heap_fetch(request->index);
		request->row(&s->tids[i], s->row, request->arg);
		rows++;
	}
	return rows;
}

uint64
skx_scroll_rows(const SkxScrollRequest *request)
{
	SkxSource  *source = skx_snapshot_open(request->index, request->view);
	SkxScroll  *s = palloc0(sizeof(SkxScroll));
	uint64		rows = 0;
	int			n;
	int			i;

	s->request = request;
	skx_scroll_begin(s, source);
	while (rows < request->size &&
		   (n = skx_scroll_places(s, (int) Min(request->size - rows,
											   SKX_SCROLL_BATCH))) > 0)
		rows += skx_scroll_fetch(s, n);
	for (i = 0; i < s->ninputs; i++)
		skx_scroll_input_close(&s->inputs[i]);
	binaryheap_free(s->heap);
	ExecDropSingleTupleTableSlot(s->row);
	table_index_fetch_end(s->fetch);
	skx_snapshot_close(source);
	pgstat_count_index_tuples(request->index, rows);
	return rows;
}
