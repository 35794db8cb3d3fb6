/*
 * count_fetch.c
 *	  Looks up rows in the table, if the visibility map does not tell that they
 *	  are visible.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "answer/count/count_internal.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "pgstat.h"

static void
skx_count_fetch_begin(SkxCount *c)
{
	Relation	heap = c->request->heap;

	if (c->fetch != NULL)
		return;
	c->fetch = table_index_fetch_begin(heap);
	c->seen = MemoryContextAlloc(c->context, sizeof(bool) * SKX_QUERY_DOCS);
	c->row = table_slot_create(heap, NULL);
	skx_snapshot_heap_begin(&c->ahead, heap);
}

static void
skx_count_note_dead(const SkxCount *c, const SkxSegment *seg, uint32 doc)
{
	SkxSourcePlace place = {seg, 0, doc};

	if (!c->request->snapshot->takenDuringRecovery)
		skx_snapshot_note_dead(c->request->index, c->request->view, &place);
}

void
skx_count_fetch(SkxCount *c, const ItemPointerData *tids, int n,
				const SkxSegment *seg, const uint32 *docs)
{
	const SkxRequest *request = c->request;
	int			i;

	if (n == 0)
		return;
	skx_count_fetch_begin(c);
	skx_snapshot_heap_batch(&c->ahead, n);
	for (i = 0; i < n; i++)
	{
		ItemPointerData tid = tids[i];
		bool		again = false;
		bool		dead = false;

		CHECK_FOR_INTERRUPTS();
		skx_snapshot_heap_ask(&c->ahead, tids, n, i);
		c->seen[i] = false;
		if (!table_index_fetch_tuple(c->fetch, &tid, request->snapshot,
									 c->row, &again, &dead))
		{
			if (dead && docs != NULL)
				skx_count_note_dead(c, seg, docs[i]);
			continue;
		}
		pgstat_count_heap_fetch(request->index);
		c->seen[i] = request->recheck == NULL ||
			request->recheck(c->row, request->arg);
		c->rows += c->seen[i];
	}
	c->work.fetched += n;
}

void
skx_count_fetch_end(SkxCount *c)
{
	if (c->fetch == NULL)
		return;
	ExecDropSingleTupleTableSlot(c->row);
	table_index_fetch_end(c->fetch);
}
