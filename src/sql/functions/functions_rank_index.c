/*
 * functions_rank_index.c
 *	  Makes a ranking of an index, by the statistics of its tables.
 */
#include "postgres.h"

#include "fmgr.h"
#include "read/score/score.h"
#include "sql/am/am.h"
#include "sql/functions/functions_internal.h"
#include "tsearch/ts_utils.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(skipidx_ranking);
PG_FUNCTION_INFO_V1(skipidx_ranking_among);

/*
 * Returns a ranking with the statistics of an index, those of the scorer, or,
 * with a condition, those among the documents that meet it.  `schema` is that
 * of this extension.
 */
static bytea *
skx_functions_ranking_of(Relation heap, Relation index, Oid schema,
						 SkxScorer *scorer, TSQuery query,
						 const SkxCondition *condition)
{
	SkxRanking	ranking;
	const char *problem;

	if (condition != NULL)
		skx_score_among(scorer, index, condition);
	skx_score_ranking(scorer, &ranking);
	skx_functions_add_remote(heap, index, schema, query, condition, &ranking);
	problem = skx_ranking_check(&ranking);
	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("no ranking can be made of this query and index"),
				 errdetail_internal("%s", problem)));
	return skx_functions_ranking_value(&ranking);
}

Datum
skipidx_ranking(PG_FUNCTION_ARGS)
{
	SkxRankCall *call = skx_functions_get_call(fcinfo, 1);

	if (call->ranking == NULL)
	{
		MemoryContext old;
		bytea	   *ranking;
		Relation	heap;
		Relation	index;

		skx_functions_open(call->index, true, &heap, &index);
		ranking = skx_functions_ranking_of(heap, index,
										   get_func_namespace(fcinfo->flinfo->fn_oid),
										   call->scorer, call->query, NULL);
		skx_functions_close(heap, index);
		old = MemoryContextSwitchTo(call->context);
		call->ranking = (bytea *) PG_DETOAST_DATUM_COPY(PointerGetDatum(ranking));
		MemoryContextSwitchTo(old);
	}
	PG_RETURN_DATUM(datumCopy(PointerGetDatum(call->ranking), false, -1));
}

Datum
skipidx_ranking_among(PG_FUNCTION_ARGS)
{
	SkxRankOptions options;
	SkxCondition condition;
	SkxScorer  *scorer;
	bytea	   *ranking;
	Relation	heap;
	Relation	index;

	skx_functions_open(PG_GETARG_OID(0), true, &heap, &index);
	skx_functions_has_value(heap, index, PG_GETARG_DATUM(2),
							get_fn_expr_argtype(fcinfo->flinfo, 3),
							PG_GETARG_DATUM(3), &condition);
	skx_am_rank_options(index, &options);
	scorer = skx_score_open(index, NULL, GetActiveSnapshot(), &options,
							PG_GETARG_TSQUERY(1));
	ranking = skx_functions_ranking_of(heap, index,
									   get_func_namespace(fcinfo->flinfo->fn_oid),
									   scorer, PG_GETARG_TSQUERY(1),
									   &condition);
	skx_functions_close(heap, index);
	PG_RETURN_BYTEA_P(ranking);
}
