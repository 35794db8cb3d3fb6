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

Datum
skipidx_ranking(PG_FUNCTION_ARGS)
{
	TSQuery		query = PG_GETARG_TSQUERY(1);
	SkxRankOptions options;
	SkxRanking	ranking;
	Relation	heap;
	Relation	index;
	const char *problem;

	skx_functions_open(PG_GETARG_OID(0), true, &heap, &index);
	skx_am_rank_options(index, &options);
	skx_score_ranking(skx_score_open(index, NULL, GetActiveSnapshot(),
									 &options, query), &ranking);
	skx_functions_add_remote(heap, index,
							 get_func_namespace(fcinfo->flinfo->fn_oid), query,
							 &ranking);
	skx_functions_close(heap, index);
	problem = skx_ranking_check(&ranking);
	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("no ranking can be made of this query and index"),
				 errdetail_internal("%s", problem)));
	PG_RETURN_BYTEA_P(skx_functions_ranking_value(&ranking));
}
