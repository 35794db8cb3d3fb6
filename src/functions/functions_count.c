/*
 * functions_count.c
 *	  skipidx_count(): how many rows match a query.
 */
#include "postgres.h"

#include "access/genam.h"
#include "am/am.h"
#include "compat/compat_planner.h"
#include "cost/cost.h"
#include "count/count.h"
#include "fmgr.h"
#include "functions/functions_internal.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(skipidx_count);

static uint64
skx_functions_count(Relation heap, Relation index, TSQuery query)
{
	SkxCountWork work = {0};
	IndexScanDesc scan;
	ScanKeyData match;
	uint64		rows;

	skx_functions_key(&match, 0, SKX_STRATEGY_MATCH, TSQueryGetDatum(query));
	scan = skx_compat_index_beginscan(heap, index, GetActiveSnapshot(), 1, 0);
	index_rescan(scan, &match, 1, NULL, 0);
	(void) skx_am_scan_count(scan, NULL, NULL, NULL, &work, &rows);
	index_endscan(scan);
	return rows;
}

Datum
skipidx_count(PG_FUNCTION_ARGS)
{
	TSQuery		query = PG_GETARG_TSQUERY(1);
	Relation	heap;
	Relation	index;
	uint64		rows;

	skx_functions_open(PG_GETARG_OID(0), false, &heap, &index);
	rows = PG_GETARG_BOOL(2) ? skx_cost_documents(index, query) :
		skx_functions_count(heap, index, query);
	skx_functions_close(heap, index);
	PG_RETURN_INT64((int64) rows);
}
