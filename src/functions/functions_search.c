/*
 * functions_search.c
 *	  skipidx_search(): the best rows of an index by a query.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "am/am.h"
#include "compat/compat_planner.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "functions/functions_internal.h"
#include "miscadmin.h"
#include "score/score.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(skipidx_search);

void
skx_functions_key(ScanKey key, int flags, StrategyNumber strategy,
				  Datum argument)
{
	MemSet(key, 0, sizeof(ScanKeyData));
	key->sk_flags = flags;
	key->sk_attno = 1;
	key->sk_strategy = strategy;
	key->sk_argument = argument;
}

static void
skx_functions_search(ReturnSetInfo *result, Relation heap, Relation index,
					 TSQuery query, TSQuery rank_by, int k)
{
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	IndexScanDesc scan;
	ScanKeyData match;
	ScanKeyData rank;
	int			n;

	skx_functions_key(&match, 0, SKX_STRATEGY_MATCH, TSQueryGetDatum(query));
	skx_functions_key(&rank, SK_ORDER_BY, SKX_STRATEGY_RANK,
					  PointerGetDatum(skx_score_ref(RelationGetRelid(index),
													rank_by)));
	scan = skx_compat_index_beginscan(heap, index, GetActiveSnapshot(), 1, 1);
	index_rescan(scan, &match, 1, &rank, 1);
	skx_am_scan_want(scan, k);
	for (n = 0; n < k; n++)
	{
		Datum		values[2];
		bool		nulls[2] = {false, false};
		float4		distance = 0;

		CHECK_FOR_INTERRUPTS();
		if (!index_getnext_slot(scan, ForwardScanDirection, slot))
			break;
		values[0] = PointerGetDatum(&slot->tts_tid);
		nulls[1] = !skx_am_scan_distance(scan, &distance);
		values[1] = Float4GetDatum(distance == 0 ? 0 : -distance);
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
}

Datum
skipidx_search(PG_FUNCTION_ARGS)
{
	TSQuery		query;
	Relation	heap;
	Relation	index;
	int			k;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return (Datum) 0;
	k = PG_GETARG_INT32(2);
	if (k < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k must not be negative")));
	query = PG_GETARG_TSQUERY(1);
	skx_functions_open(PG_GETARG_OID(0), false, &heap, &index);
	if (k > 0)
		skx_functions_search((ReturnSetInfo *) fcinfo->resultinfo, heap,
							 index, query,
							 PG_ARGISNULL(3) ? query : PG_GETARG_TSQUERY(3),
							 k);
	skx_functions_close(heap, index);
	return (Datum) 0;
}
