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
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(skipidx_ranking);
PG_FUNCTION_INFO_V1(skipidx_ranking_among);

/*
 * Returns a ranking with the statistics of an index, or, with a condition,
 * those among the documents that meet it.  `schema` is that of this extension.
 */
static bytea *
skx_functions_ranking_of(Relation heap, Relation index, Oid schema,
						 TSQuery query, const SkxCondition *condition)
{
	SkxRankOptions options;
	SkxRanking	ranking;
	SkxScorer  *scorer;
	const char *problem;

	skx_am_rank_options(index, &options);
	scorer = skx_score_open(index, NULL, GetActiveSnapshot(), &options, query);
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
	bytea	   *ranking;
	Relation	heap;
	Relation	index;

	skx_functions_open(PG_GETARG_OID(0), true, &heap, &index);
	ranking = skx_functions_ranking_of(heap, index,
									   get_func_namespace(fcinfo->flinfo->fn_oid),
									   PG_GETARG_TSQUERY(1), NULL);
	skx_functions_close(heap, index);
	PG_RETURN_BYTEA_P(ranking);
}

Datum
skipidx_ranking_among(PG_FUNCTION_ARGS)
{
	SkxCondition condition;
	bytea	   *ranking;
	Relation	heap;
	Relation	index;

	skx_functions_open(PG_GETARG_OID(0), true, &heap, &index);
	skx_functions_has_value(heap, index, PG_GETARG_DATUM(2),
							get_fn_expr_argtype(fcinfo->flinfo, 3),
							PG_GETARG_DATUM(3), &condition);
	ranking = skx_functions_ranking_of(heap, index,
									   get_func_namespace(fcinfo->flinfo->fn_oid),
									   PG_GETARG_TSQUERY(1), &condition);
	skx_functions_close(heap, index);
	PG_RETURN_BYTEA_P(ranking);
}
