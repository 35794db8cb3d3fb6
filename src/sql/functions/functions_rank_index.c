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
#include "utils/memutils.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(skipidx_ranking);
PG_FUNCTION_INFO_V1(skipidx_ranking_here);
PG_FUNCTION_INFO_V1(skipidx_ranking_among);

bytea *
skx_functions_ranking_of(Relation heap, Relation index, SkxScorer *scorer,
						 TSQuery query, const SkxCondition *condition,
						 SkxRemoteRule rule)
{
	SkxRanking	ranking;
	const char *problem;

	if (condition != NULL)
		skx_score_among(scorer, index, condition);
	skx_score_ranking(scorer, &ranking);
	skx_functions_add_remote(heap, index, query, rule, &ranking);
	problem = skx_ranking_check(&ranking);
	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("no ranking can be made of this query and index"),
				 errdetail_internal("%s", problem)));
	return skx_functions_ranking_value(&ranking);
}

/* Keeps a ranking of the scorer. */
static void
skx_functions_keep_ranking(SkxKept *kept, SkxScorer *scorer, Relation heap,
						   Relation index, SkxRemoteRule rule)
{
	MemoryContext temp = AllocSetContextCreate(kept->context,
											   "skipidx ranking",
											   ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(temp);
	bytea	   *ranking = skx_functions_ranking_of(heap, index, scorer,
												   kept->value, NULL, rule);

	MemoryContextSwitchTo(kept->context);
	kept->ranking = DatumGetByteaPCopy(PointerGetDatum(ranking));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(temp);
}

static void
skx_functions_make_ranking(SkxKept *kept, SkxScorer *scorer, Relation heap,
						   Relation index)
{
	skx_functions_keep_ranking(kept, scorer, heap, index, SKX_REMOTE_ASK);
}

static void
skx_functions_make_ranking_here(SkxKept *kept, SkxScorer *scorer,
								Relation heap, Relation index)
{
	skx_functions_keep_ranking(kept, scorer, heap, index,
							   SKX_REMOTE_REFUSE_ASKED);
}

/* Returns the ranking that is kept for this call. */
static Datum
skx_functions_kept_ranking(FunctionCallInfo fcinfo, SkxKeptMake make)
{
	SkxKept    *kept = skx_functions_get_call(fcinfo, 1, make);

	return datumCopy(PointerGetDatum(kept->ranking), false, -1);
}

Datum
skipidx_ranking(PG_FUNCTION_ARGS)
{
	return skx_functions_kept_ranking(fcinfo, skx_functions_make_ranking);
}

/*
 * What a server is asked for another one.  It asks no further ones: they could
 * be asking each other in a circle.
 */
Datum
skipidx_ranking_here(PG_FUNCTION_ARGS)
{
	return skx_functions_kept_ranking(fcinfo, skx_functions_make_ranking_here);
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
	ranking = skx_functions_ranking_of(heap, index, scorer,
									   PG_GETARG_TSQUERY(1), &condition,
									   SKX_REMOTE_REFUSE_VALUE);
	skx_functions_close(heap, index);
	PG_RETURN_BYTEA_P(ranking);
}
