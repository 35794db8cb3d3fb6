/*
 * am_dead.c
 *	  Rows that a scan has given out and the executor found dead to all.
 */
#include "postgres.h"

#include "sql/am/am_scan.h"

/* Of a scan in no order: its segment is open, as it has given out no more. */
static void
skx_am_dead_place(const SkxScan *so, int i, SkxSourcePlace *place)
{
	if (so->is_pending)
		*place = so->pending[i];
	else
	{
		place->segment = so->source->segments[so->at];
		place->number = so->docs[i];
	}
}

/*
 * The server says so with the call for the next row, and only in transactions
 * that did not begin in recovery.
 */
void
skx_am_dead_note(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	SkxSourcePlace place = {0};
	int			i = so->next - 1;

	so->ndead++;
	if (so->ranked != NULL)
		skx_am_ranked_note_dead(so, i);
	else if (so->ordered != NULL)
		skx_order_note_dead(so->ordered, i);
	else if (!so->has_order)
	{
		skx_am_dead_place(so, i, &place);
		skx_snapshot_note_dead(scan->indexRelation, so->view, &place);
	}
}
