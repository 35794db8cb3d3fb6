/*
 * functions_scroll.c
 *	  skipidx_scroll(): all rows that match, by place, in slices and pages.
 */
#include "postgres.h"

#include "access/genam.h"
#include "am/am.h"
#include "compat/compat_planner.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "functions/functions_internal.h"
#include "scroll/scroll.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(skipidx_scroll);

typedef struct SkxScrollCall
{
	ReturnSetInfo *result;
	Oid			table;
	SkxScrollToken token;
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

/* Checks numbers that the caller has given. */
static void
skx_functions_scroll_check(FunctionCallInfo fcinfo, SkxScrollRequest *request)
{
	int32		slice = PG_GETARG_INT32(2);
	int32		slices = PG_GETARG_INT32(3);
	int32		size = PG_GETARG_INT32(5);

	if (slices < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there must be at least one slice")));
	if (slice < 0 || slice >= slices)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("slice must be between 0 and %d", slices - 1)));
	if (size < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("size must not be negative")));
	request->slice.slice = slice;
	request->slice.slices = slices;
	request->size = size;
}

static void
skx_functions_scroll(Relation heap, Relation index, TSQuery query,
					 SkxScrollRequest *request)
{
	IndexScanDesc scan;
	ScanKeyData match;

	skx_functions_key(&match, 0, SKX_STRATEGY_MATCH, TSQueryGetDatum(query));
	scan = skx_compat_index_beginscan(heap, index, GetActiveSnapshot(), 1, 0);
	index_rescan(scan, &match, 1, NULL, 0);
	(void) skx_am_scan_scroll(scan, request);
	index_endscan(scan);
}

Datum
skipidx_scroll(PG_FUNCTION_ARGS)
{
	SkxScrollRequest request = {0};
	SkxScrollCall call;
	TSQuery		query;
	Relation	heap;
	Relation	index;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	for (i = 0; i < PG_NARGS(); i++)
	{
		if (i != 4 && PG_ARGISNULL(i))
			return (Datum) 0;
	}
	skx_functions_scroll_check(fcinfo, &request);
	query = PG_GETARG_TSQUERY(1);
	skx_functions_open(PG_GETARG_OID(0), false, &heap, &index);
	call.result = (ReturnSetInfo *) fcinfo->resultinfo;
	call.table = RelationGetRelid(heap);
	skx_scroll_token_begin(&call.token, heap, index, query, &request.slice);
	if (!PG_ARGISNULL(4))
		request.from = skx_scroll_token_read(&call.token,
											 PG_GETARG_BYTEA_PP(4));
	request.row = skx_functions_scroll_row;
	request.arg = &call;
	if (request.size > 0)
		skx_functions_scroll(heap, index, query, &request);
	skx_functions_close(heap, index);
	return (Datum) 0;
}
