/*
 * functions_search.c
 *	  skipidx_search(): returns the best rows of an index for a query.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "answer/topk/topk_token.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "read/score/score.h"
#include "sql/am/am.h"
#include "sql/am/am_desc.h"
#include "sql/functions/functions_internal.h"
#include "support/compat/compat_planner.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(skipidx_search);

static void
skx_functions_make_key(ScanKey key, int flags, StrategyNumber strategy,
					   Datum argument)
{
	MemSet(key, 0, sizeof(ScanKeyData));
	key->sk_flags = flags;
	key->sk_attno = 1;
	key->sk_strategy = strategy;
	key->sk_argument = argument;
}

IndexScanDesc
skx_functions_begin_scan(Relation heap, Relation index, TSQuery query,
						 StrategyNumber strategy, const void *rank_by)
{
	int			norderbys = strategy == 0 ? 0 : 1;
	ScanKeyData match;
	ScanKeyData rank;
	IndexScanDesc scan;

	skx_functions_make_key(&match, 0, SKX_STRATEGY_MATCH,
						   TSQueryGetDatum(query));
	skx_functions_make_key(&rank, SK_ORDER_BY, strategy,
						   PointerGetDatum(rank_by));
	scan = skx_compat_index_beginscan(heap, index, GetActiveSnapshot(), 1,
									  norderbys);
	index_rescan(scan, &match, 1, norderbys == 0 ? NULL : &rank, norderbys);
	return scan;
}

/* The arguments of a call, and where its result goes. */
typedef struct SkxSearchCall
{
	ReturnSetInfo *result;
	Relation	heap;
	Relation	index;
	TSQuery		query;
	StrategyNumber strategy;	/* of rank_by */
	const void *rank_by;		/* SkxRef, or a value of a ranking */
	uint64		k;
	SkxTopkToken *token;
	SkxTopkPage *page;			/* NULL: the first one */
} SkxSearchCall;

static void
skx_functions_search_row(SkxSearchCall *call, const SkxScanDesc *desc,
						 TupleTableSlot *row)
{
	const SkxTopkHit *hit = desc->hit;
	SkxTopkAfter place = {hit->sum, hit->tid, desc->given};
	float4		distance = skx_score_distance(desc->scorer, hit->sum);
	Datum		values[4];
	bool		nulls[4] = {false, hit->is_null, false, false};

	if (call->page != NULL)
		place.rows_before += call->page->after.rows_before;
	values[0] = PointerGetDatum(&row->tts_tid);
	values[1] = Float4GetDatum(distance == 0 ? 0 : -distance);
	values[2] = PointerGetDatum(skx_topk_token_make(call->token, desc->scorer,
													&place));
	values[3] = BoolGetDatum(hit->is_final);
	tuplestore_putvalues(call->result->setResult, call->result->setDesc,
						 values, nulls);
}

static void
skx_functions_search(SkxSearchCall *call)
{
	TupleTableSlot *slot = table_slot_create(call->heap, NULL);
	IndexScanDesc scan = skx_functions_begin_scan(call->heap, call->index,
												  call->query, call->strategy,
												  call->rank_by);
	SkxScanDesc *desc = skx_am_scan_desc(scan);
	uint64		n;

	desc->wanted = call->k;
	desc->page = call->page;
	for (n = 0; n < call->k; n++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!index_getnext_slot(scan, ForwardScanDirection, slot))
			break;
		skx_functions_search_row(call, desc, slot);
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
}

/* Sets what the search ranks by, and its tokens. */
static void
skx_functions_rank(FunctionCallInfo fcinfo, SkxSearchCall *call)
{
	TSQuery		rank_by = NULL;
	bytea	   *ranking = NULL;

	if (!PG_ARGISNULL(5))
	{
		if (!PG_ARGISNULL(3))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s and %s cannot both be given", "rank_by",
							"ranking")));
		ranking = PG_GETARG_BYTEA_P(5);
		call->strategy = SKX_STRATEGY_RANKING;
		call->rank_by = ranking;
	}
	else
	{
		rank_by = PG_ARGISNULL(3) ? call->query : PG_GETARG_TSQUERY(3);
		call->strategy = SKX_STRATEGY_RANK;
		call->rank_by = skx_score_ref(RelationGetRelid(call->index), NIL,
									  rank_by, SKX_REF_PLAN);
	}
	call->token = skx_topk_token_begin(call->heap, call->index, call->query,
									   rank_by, ranking);
}

Datum
skipidx_search(PG_FUNCTION_ARGS)
{
	SkxSearchCall call = {0};

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return (Datum) 0;
	call.result = (ReturnSetInfo *) fcinfo->resultinfo;
	call.k = skx_functions_limit_arg(fcinfo, 2, "max_rows");
	call.query = PG_GETARG_TSQUERY(1);
	skx_functions_open(PG_GETARG_OID(0), false, &call.heap, &call.index);
	skx_functions_check_index_age(call.index);
	skx_functions_rank(fcinfo, &call);
	if (!PG_ARGISNULL(4))
		call.page = skx_topk_token_read(call.token, PG_GETARG_BYTEA_PP(4));
	if (call.k > 0)
		skx_functions_search(&call);
	skx_functions_close(call.heap, call.index);
	return (Datum) 0;
}
