/*
 * functions_count.c
 *	  skipidx_count(): counts the rows that match a query.
 */
#include "postgres.h"

#include "access/genam.h"
#include "answer/count/count.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "sql/am/am_desc.h"
#include "sql/cost/cost.h"
#include "sql/functions/functions_internal.h"
#include "support/compat/compat_planner.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(skipidx_count);

uint64
skx_functions_count(Relation heap, Relation index, TSQuery query)
{
	IndexScanDesc scan = skx_functions_begin_scan(heap, index, query, 0,
												  NULL);
	SkxCountWork work = {0};
	uint64		rows = 0;

	if (skx_am_scan_enter(scan))
		(void) skx_count_rows(&skx_am_scan_desc(scan)->request, NULL, NULL,
							  &work, &rows);
	skx_am_scan_leave(scan);
	index_endscan(scan);
	return rows;
}

Datum
skipidx_count(PG_FUNCTION_ARGS)
{
	TSQuery		query;
	bool		approx;
	SkxPartitions parts;
	uint64		rows = 0;
	int			i;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	query = PG_GETARG_TSQUERY(1);
	approx = DatumGetBool(skx_functions_required_arg(fcinfo, 2, "approx"));
	skx_functions_open_partitions(PG_GETARG_OID(0), &parts);
	if (!approx)
		skx_functions_check_index_ages(&parts);
	for (i = 0; i < parts.n; i++)
	{
		const SkxPartition *part = &parts.partitions[i];

		CHECK_FOR_INTERRUPTS();
		rows += approx ? skx_cost_documents(part->index, query) :
			skx_functions_count(part->heap, part->index, query);
	}
	skx_functions_close_partitions(&parts);
	PG_RETURN_INT64((int64) rows);
}
