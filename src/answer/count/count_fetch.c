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
#include "support/compat/compat_planner.h"

static void
skx_count_fetch_begin(SkxCount *c)
{
	Relation	heap = c->request->heap;

	if (c->fetch != NULL)
		return;
	c->fetch = skx_compat_fetch_begin(heap);
	c->is_counted = MemoryContextAlloc(c->context,
									   sizeof(bool) * SKX_QUERY_BATCH_DOCS);
	c->row = table_slot_create(heap, NULL);
	skx_snapshot_heap_begin(&c->heap_prefetch, heap);
}

static void
skx_count_remember_dead(const SkxCount *c, const SkxSegment *seg, uint32 doc)
{
	SkxDocAddress place = {seg, 0, doc};

	if (!c->request->snapshot->takenDuringRecovery)
		skx_snapshot_remember_dead(c->request->index, c->request->view,
								   &place);
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
	skx_snapshot_heap_batch(&c->heap_prefetch, n);
	for (i = 0; i < n; i++)
	{
		ItemPointerData tid = tids[i];
		bool		again = false;
		bool		dead = false;

		CHECK_FOR_INTERRUPTS();
		skx_snapshot_heap_prefetch(&c->heap_prefetch, tids, n, i);
		c->is_counted[i] = false;
		if (!table_index_fetch_tuple(c->fetch, &tid, request->snapshot,
									 c->row, &again, &dead))
		{
			if (dead && docs != NULL)
				skx_count_remember_dead(c, seg, docs[i]);
			continue;
		}
		pgstat_count_heap_fetch(request->index);
		c->is_counted[i] = request->recheck == NULL ||
			request->recheck(c->row, request->arg);
		c->rows += c->is_counted[i];
	}
	c->work.fetched_rows += n;
}

void
skx_count_fetch_end(SkxCount *c)
{
	if (c->fetch == NULL)
		return;
	ExecDropSingleTupleTableSlot(c->row);
	table_index_fetch_end(c->fetch);
}
