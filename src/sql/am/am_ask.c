/*
 * am_ask.c
 *	  Begins and ends scans that are answered by a collector instead of row by
 *	  row: counts, values of columns, pages of rows in the order of TIDs.
 */
#include "postgres.h"

#include "sql/am/am_scan.h"
#include "support/compat/compat.h"
#include "utils/memutils.h"

bool
skx_am_ask(IndexScanDesc scan, SkxShare *share, SkxAsk *ask)
{
	SkxScan    *so = scan->opaque;

	Assert(!so->started && scan->numberOfOrderBys == 0);
	memset(ask, 0, sizeof(*ask));
	ask->scan = scan;
	ask->old = MemoryContextSwitchTo(so->context);
	skx_am_reads_now(&ask->before);
	ask->request.index = scan->indexRelation;
	ask->request.heap = scan->heapRelation;
	ask->request.snapshot = scan->xs_snapshot;
	if (!skx_am_scan_begin(scan))
		return false;
	ask->request.share = share;
	ask->request.view = skx_exec_view(scan->indexRelation, share);
	ask->request.query = so->query;
	ask->lossy = so->lossy;
	return true;
}

void
skx_am_ask_more(SkxAsk *ask)
{
	ask->old = MemoryContextSwitchTo(((SkxScan *) ask->scan->opaque)->context);
	skx_am_reads_now(&ask->before);
}

void
skx_am_ask_end(SkxAsk *ask)
{
	MemoryContextSwitchTo(ask->old);
	skx_am_reads_since(ask->scan, &ask->before);
	skx_compat_check_snapshot(ask->scan->xs_snapshot,
							  ask->scan->indexRelation);
}
