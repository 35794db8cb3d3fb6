/*
 * am_facets.c
 *	  The values of columns among the rows that a scan would return.
 *
 * The view is taken as a scan takes it: after the snapshot, and after the locks
 * of SERIALIZABLE.
 */
#include "postgres.h"

#include "answer/count/count_share.h"
#include "answer/facets/facets.h"
#include "sql/am/am_scan.h"
#include "support/compat/compat.h"

/* As skx_am_scan_request(), of conditions that the index answers exactly. */
static bool
skx_am_scan_exact(IndexScanDesc scan, SkxCountShare *share,
				  SkxRequest *request)
{
	if (!skx_am_scan_request(scan, share == NULL ? NULL : &share->parts,
							 request))
		return false;
	if (((SkxScan *) scan->opaque)->lossy)
		elog(ERROR, "a condition on the rows of facets is not exact");
	return true;
}

SkxFacets *
skx_am_scan_facets(IndexScanDesc scan, SkxFacetsRequest *request,
				   SkxCountShare *share, SkxCountWork *work)
{
	SkxScan    *so = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(so->context);
	SkxFacets  *facets = NULL;
	SkxScanReads before;

	skx_am_reads_now(&before);
	request->share = share;
	if (skx_am_scan_exact(scan, share, &request->rows))
		facets = skx_facets_begin(request, work);
	MemoryContextSwitchTo(old);
	skx_am_scan_since(scan, &before);
	skx_compat_check_snapshot(scan->xs_snapshot, scan->indexRelation);
	return facets;
}

void
skx_am_scan_ranges(IndexScanDesc scan, int column, int n,
				   const SkxLexeme *bounds, uint64 *counts,
				   SkxCountWork *work)
{
	SkxScan    *so = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(so->context);
	SkxRequest	rows;
	SkxScanReads before;

	skx_am_reads_now(&before);
	if (skx_am_scan_exact(scan, NULL, &rows))
		skx_facets_ranges(&rows, column, n, bounds, counts, work);
	MemoryContextSwitchTo(old);
	skx_am_scan_since(scan, &before);
	skx_compat_check_snapshot(scan->xs_snapshot, scan->indexRelation);
}
