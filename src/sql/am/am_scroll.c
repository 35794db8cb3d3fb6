/*
 * am_scroll.c
 *	  Rows of a scan by their place in the table, page by page.
 *
 * The view is taken as a scan takes it: after the snapshot, and after the locks
 * of SERIALIZABLE.
 */
#include "postgres.h"

#include "answer/scroll/scroll.h"
#include "sql/am/am_scan.h"
#include "support/compat/compat.h"
#include "utils/memutils.h"

uint64
skx_am_scan_scroll(IndexScanDesc scan, SkxScrollRequest *request)
{
	SkxScan    *so = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(so->context);
	uint64		rows = 0;

	if (skx_am_scan_request(scan, NULL, &request->of))
	{
		Assert(!so->lossy);
		rows = skx_scroll_rows(request);
	}
	MemoryContextSwitchTo(old);
	skx_compat_check_snapshot(scan->xs_snapshot, scan->indexRelation);
	return rows;
}
