/*
 * am_count.c
 *	  How many rows a scan would return.
 *
 * The view is taken as a scan takes it: after the snapshot, and after the locks
 * of SERIALIZABLE.
 */
#include "postgres.h"

#include "answer/count/count_share.h"
#include "sql/am/am_scan.h"
#include "support/compat/compat.h"
#include "utils/memutils.h"

/* But for the view. */
static void
skx_am_count_request(IndexScanDesc scan,
					 bool (*recheck) (TupleTableSlot *row, void *arg),
					 void *arg, SkxCountRequest *request)
{
	const SkxScan *so = scan->opaque;

	memset(request, 0, sizeof(*request));
	request->index = scan->indexRelation;
	request->heap = scan->heapRelation;
	request->snapshot = scan->xs_snapshot;
	request->query = so->query;
	request->recheck = so->lossy ? recheck : NULL;
	request->arg = arg;
}

const SkxView *
skx_am_count_view(IndexScanDesc scan, SkxCountShare *share)
{
	if (share != NULL)
		return skx_share_view(&share->parts, scan->indexRelation, NULL);
	return skx_manifest_view_bound(scan->indexRelation);
}

/* The compiled query's rows. */
static bool
skx_am_count_matching(const SkxCountRequest *request, SkxCountWork *work,
					  uint64 *rows)
{
	if (request->share != NULL)
		return skx_count_share_rows(request, work, rows);
	*rows = skx_count_rows(request, work);
	return true;
}

bool
skx_am_scan_count(IndexScanDesc scan,
				  bool (*recheck) (TupleTableSlot *row, void *arg), void *arg,
				  SkxCountShare *share, SkxCountWork *work, uint64 *rows)
{
	SkxScan    *so = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(so->context);
	SkxCountRequest request;
	SkxScanReads before;
	bool		last = true;

	skx_am_reads_now(&before);
	*rows = 0;
	Assert(!so->started && scan->numberOfOrderBys == 0);
	if (skx_am_scan_begin(scan))
	{
		skx_am_count_request(scan, recheck, arg, &request);
		request.share = share;
		request.view = skx_am_count_view(scan, share);
		last = skx_am_count_matching(&request, work, rows);
	}
	else if (share != NULL)
		last = skx_count_share_none(share);
	MemoryContextSwitchTo(old);
	skx_am_scan_since(scan, &before);
	skx_compat_check_snapshot(scan->xs_snapshot, scan->indexRelation);
	return last;
}
