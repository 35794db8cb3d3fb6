/*
 * functions_scroll.c
 *	  skipidx_scroll(): returns all rows that match, in the order of their
 *	  tables and TIDs, in slices and pages.
 */
#include "postgres.h"

#include "access/genam.h"
#include "answer/scroll/scroll.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "sql/am/am.h"
#include "sql/am/am_desc.h"
#include "sql/functions/functions_internal.h"
#include "support/compat/compat_planner.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(skipidx_scroll);

typedef struct SkxScrollCall
{
	ReturnSetInfo *result;
	SkxPartitions parts;
	Oid			table;			/* of the rows being returned */
	SkxScrollToken token;
	SkxScrollStart from;
} SkxScrollCall;

static void
skx_functions_scroll_row(const ItemPointerData *place, TupleTableSlot *row,
						 void *arg)
{
	SkxScrollCall *call = arg;
	bytea	   *token = skx_scroll_token_make(&call->token, place);
	Datum		values[3];
	bool		nulls[3] = {false, false, false};

	values[0] = ObjectIdGetDatum(call->table);
	values[1] = PointerGetDatum(&row->tts_tid);
	values[2] = PointerGetDatum(token);
	tuplestore_putvalues(call->result->setResult, call->result->setDesc,
						 values, nulls);
	pfree(token);
}

/* Checks the numeric arguments and puts them into the request. */
static void
skx_functions_scroll_check(FunctionCallInfo fcinfo, SkxScrollRequest *request)
{
	int32		slice =
		DatumGetInt32(skx_functions_required_arg(fcinfo, 2, "slice"));
	int32		slices =
		DatumGetInt32(skx_functions_required_arg(fcinfo, 3, "slices"));

	if (slices < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there must be at least one slice")));
	if (slice < 0 || slice >= slices)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("slice must be between 0 and %d", slices - 1)));
	request->slice.number = slice;
	request->slice.nslices = slices;
	request->max_rows = skx_functions_limit_arg(fcinfo, 5, "max_rows");
}

/*
 * Returns rows of a part, and subtracts their number from request->max_rows.
 */
static void
skx_functions_scroll_partition(SkxScrollCall *call, const SkxPartition *part,
							   TSQuery query, SkxScrollRequest *request)
{
	IndexScanDesc scan = skx_functions_begin_scan(part->heap, part->index,
												  query, 0, NULL);

	call->table = RelationGetRelid(part->heap);
	request->slice.shift = part->index == call->parts.index ? 0 : call->table;
	skx_scroll_token_set_table(&call->token, part->heap);
	if (skx_am_scan_enter(scan))
	{
		request->rows_request = skx_am_scan_desc(scan)->request;
		request->max_rows -= skx_scroll_rows(request);
	}
	skx_am_scan_leave(scan);
	index_endscan(scan);
}

static int
skx_functions_compare_partitions(const void *a, const void *b)
{
	Oid			x = RelationGetRelid(((const SkxPartition *) a)->heap);
	Oid			y = RelationGetRelid(((const SkxPartition *) b)->heap);

	return x < y ? -1 : x > y;
}

/* Goes through the parts by their OIDs, an order that tokens rely on. */
static void
skx_functions_scroll(SkxScrollCall *call, TSQuery query,
					 SkxScrollRequest *request)
{
	SkxPartitions *parts = &call->parts;
	int			i;

	qsort(parts->partitions, parts->n, sizeof(SkxPartition),
		  skx_functions_compare_partitions);
	for (i = 0; i < parts->n && request->max_rows > 0; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (skx_scroll_token_start_key(&call->from, parts->partitions[i].heap,
									   &request->from_key))
			skx_functions_scroll_partition(call, &parts->partitions[i], query,
										   request);
	}
}

Datum
skipidx_scroll(PG_FUNCTION_ARGS)
{
	SkxScrollRequest request = {0};
	SkxScrollCall call = {0};
	TSQuery		query;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return (Datum) 0;
	skx_functions_scroll_check(fcinfo, &request);
	query = PG_GETARG_TSQUERY(1);
	skx_functions_open_partitions(PG_GETARG_OID(0), &call.parts);
	skx_functions_check_index_ages(&call.parts);
	call.result = (ReturnSetInfo *) fcinfo->resultinfo;
	skx_scroll_token_begin(&call.token, call.parts.heap, call.parts.index,
						   query, &request.slice);
	if (!PG_ARGISNULL(4))
		skx_scroll_token_read(&call.token, PG_GETARG_BYTEA_PP(4), &call.from);
	request.receive_row = skx_functions_scroll_row;
	request.arg = &call;
	skx_functions_scroll(&call, query, &request);
	skx_functions_close_partitions(&call.parts);
	return (Datum) 0;
}
