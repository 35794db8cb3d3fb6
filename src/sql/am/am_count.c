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

bool
skx_am_scan_count(IndexScanDesc scan,
				  bool (*recheck) (TupleTableSlot *row, void *arg), void *arg,
				  SkxCountShare *share, SkxCountWork *work, uint64 *rows)
{
	SkxScan    *so = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(so->context);
	SkxRequest	request;
	SkxScanReads before;
	bool		last = true;

	skx_am_reads_now(&before);
	*rows = 0;
	if (skx_am_scan_request(scan, share == NULL ? NULL : &share->parts,
							&request))
	{
		request.recheck = so->lossy ? recheck : NULL;
		request.arg = arg;
		last = skx_count_rows(&request, NULL, share, work, rows);
	}
	else if (share != NULL)
		last = skx_count_share_none(share);
	MemoryContextSwitchTo(old);
	skx_am_scan_since(scan, &before);
	skx_compat_check_snapshot(scan->xs_snapshot, scan->indexRelation);
	return last;
}
