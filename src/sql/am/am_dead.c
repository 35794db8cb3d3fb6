/*
 * am_dead.c
 *	  Notes rows that a scan has handed out and that turned out to be dead to
 *	  all snapshots.
 */
#include "postgres.h"

#include "sql/am/am_scan.h"

/*
 * The server tells that a row is dead with the call for the next row, and only
 * in transactions that did not begin in recovery.
 */
void
skx_am_remember_dead(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	SkxDocAddress place = {0};
	int			i = so->next_tid - 1;

	so->ndead++;
	if (so->hits != NULL)
		skx_topk_remember_dead(so->topk, &so->hits[i]);
	else if (so->ordered != NULL)
		skx_order_note_dead(so->ordered, i);
	else if (so->rows != NULL)
	{
		skx_rows_document(so->rows, i, &place);
		skx_snapshot_remember_dead(scan->indexRelation, so->desc.request.view,
								   &place);
	}
}
