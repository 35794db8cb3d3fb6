/*
 * am_count.c
 *	  How many rows a scan would return.
 *
 * The view is taken as a scan takes it: after the snapshot, and after the locks
 * of SERIALIZABLE.
 */
#include "postgres.h"

#include "am/am_scan.h"
#include "compat/compat.h"
#include "count/count.h"
#include "utils/memutils.h"

uint64
skx_am_scan_count(IndexScanDesc scan,
				  bool (*recheck) (TupleTableSlot *row, void *arg), void *arg,
				  SkxCountWork *work)
{
	SkxScan    *so = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(so->context);
	SkxCountRequest request;
	uint64		rows = 0;

	Assert(!so->started && scan->numberOfOrderBys == 0);
	if (skx_am_scan_begin(scan))
	{
		request.index = scan->indexRelation;
		request.heap = scan->heapRelation;
		request.snapshot = scan->xs_snapshot;
		request.view = skx_manifest_view(scan->indexRelation);
		request.query = so->query;
		request.recheck = so->lossy ? recheck : NULL;
		request.arg = arg;
		request.taker = NULL;
		rows = skx_count_rows(&request, work);
	}
	MemoryContextSwitchTo(old);
	skx_compat_check_snapshot(scan->xs_snapshot, scan->indexRelation);
	return rows;
}
