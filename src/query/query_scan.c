/*
 * query_scan.c
 *	  Runs a query on one segment, or on one pending document.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "query/query_internal.h"
#include "tsearch/ts_utils.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

struct SkxQueryScan
{
	SkxSegment *seg;
	const SkxQuery *query;
	SkxIter    *it;
	uint32		next;			/* documents below are done */
	MemoryContext context;		/* of the iterators */
};

SkxQueryScan *
skx_query_scan_open(SkxSegment *seg, const SkxQuery *query)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx query",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxQueryScan *scan = palloc0(sizeof(SkxQueryScan));

	scan->seg = seg;
	scan->query = query;
	scan->context = context;
	scan->it = skx_query_open(seg, query);
	MemoryContextSwitchTo(old);
	return scan;
}

int
skx_query_scan_next(SkxQueryScan *scan, uint32 *docs)
{
	MemoryContext old = MemoryContextSwitchTo(scan->context);
	uint32		ndocs = scan->seg->header.ndocs;
	int			n = 0;

	while (n == 0 && scan->next < ndocs)
	{
		CHECK_FOR_INTERRUPTS();
		scan->next = skx_query_generate(scan->it, scan->next, ndocs, docs,
										&n);
		if (n > 0 && scan->query->may_match_null)
			n = skx_segment_drop_null(scan->seg, docs, n);
		if (n > 0)
			n = skx_segment_drop_deleted(scan->seg, docs, n);
	}
	MemoryContextSwitchTo(old);
	return n;
}

void
skx_query_scan_close(SkxQueryScan *scan)
{
	skx_query_close(scan->it);
	MemoryContextDelete(scan->context);
}

bool
skx_query_matches(const SkxQuery *query, TSVector value)
{
	int			i;

	if (query->root->kind == SKX_NODE_NONE)
		return false;
	if (query->nqueries == 0)
		return true;
	if (value == NULL)
		return false;
	for (i = 0; i < query->nqueries; i++)
		if (!DatumGetBool(DirectFunctionCall2(ts_match_vq,
											  TSVectorGetDatum(value),
											  TSQueryGetDatum(query->queries[i]))))
			return false;
	return true;
}
