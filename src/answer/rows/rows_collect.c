/*
 * rows_collect.c
 *	  Holds the rows of one batch of matches, or of some pending documents.
 */
#include "postgres.h"

#include "answer/rows/rows.h"

/*
 * Number of ranges of a segment with other processes.  Each range is looked up
 * once in every list.
 */
#define SKX_ROWS_RANGES	128

static SkxCollected
skx_rows_collect_matches(SkxCollector *c, const SkxExecRange *range,
						 uint32 *docs, int n)
{
	SkxRows    *rows = (SkxRows *) c;

	rows->segment = range->segment;
	rows->docs = docs;
	rows->n = n;
	skx_segment_read_tids_of(range->segment, docs, n, rows->tids);
	return SKX_COLLECT_FULL;
}

static bool
skx_rows_collect_pending(SkxCollector *c, const SkxPendingDoc *doc)
{
	SkxRows    *rows = (SkxRows *) c;

	rows->segment = NULL;
	if (rows->pending == NULL)
		rows->pending = MemoryContextAllocZero(GetMemoryChunkContext(rows),
											   sizeof(SkxDocAddress) *
											   SKX_WINDOW_DOCS);
	rows->pending[rows->n].stripe = doc->stripe;
	rows->pending[rows->n].number = doc->sequence;
	rows->tids[rows->n++] = doc->tid;
	return rows->n < SKX_WINDOW_DOCS;
}

static const SkxCollectorMethods skx_rows_methods = {
	.collect_matches = skx_rows_collect_matches,
	.collect_pending = skx_rows_collect_pending
};

SkxRows *
skx_rows_collector_create(bool wants_all)
{
	SkxRows    *rows = palloc0(sizeof(SkxRows));

	rows->collector.methods = &skx_rows_methods;
	rows->collector.wants_all = wants_all;
	rows->collector.max_parts = SKX_ROWS_RANGES;
	rows->tids = palloc(sizeof(ItemPointerData) * SKX_QUERY_BATCH_DOCS);
	return rows;
}

bool
skx_rows_next_batch(SkxRows *rows, SkxExec *exec)
{
	rows->n = 0;
	return skx_exec_next(exec) || rows->n > 0;
}

void
skx_rows_document(const SkxRows *rows, int i, SkxDocAddress *place)
{
	if (rows->segment == NULL)
		*place = rows->pending[i];
	else
	{
		place->segment = rows->segment;
		place->stripe = 0;
		place->number = rows->docs[i];
	}
}
