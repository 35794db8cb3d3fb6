/*
 * functions_words.c
 *	  Queries by words as people type them, with the labels of the part of a
 *	  document in which they are looked for.
 *
 * The planner writes these calls in place of words beside columns of text.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "sql/cost/cost.h"
#include "sql/functions/functions_internal.h"
#include "tsearch/ts_type.h"
#include "tsearch/ts_utils.h"
#include "utils/fmgrprotos.h"

PG_FUNCTION_INFO_V1(skipidx_any_words);
PG_FUNCTION_INFO_V1(skipidx_web_words);

/* Asks for all words of the query with these labels only; 0: with any. */
static TSQuery
skx_functions_with_labels(TSQuery query, int labels)
{
	QueryItem  *items = GETQUERY(query);
	int			i;

	for (i = 0; i < query->size; i++)
	{
		if (items[i].type == QI_VAL)
			items[i].qoperand.weight = (uint8) (labels & 0xF);
	}
	return query;
}

/* Returns the query for any of the words. */
Datum
skipidx_any_words(PG_FUNCTION_ARGS)
{
	TSQuery		query = skx_functions_any_text(PG_GETARG_OID(0),
											   PG_GETARG_DATUM(1));

	PG_RETURN_TSQUERY(skx_functions_with_labels(query, PG_GETARG_INT32(2)));
}

/*
 * Returns the query in the syntax of web searches.  Words that the
 * configuration leaves out give no notice: it would come at each keystroke.
 */
Datum
skipidx_web_words(PG_FUNCTION_ARGS)
{
	int			level = skx_cost_silence_begin();
	Datum		query = DirectFunctionCall2(websearch_to_tsquery_byid,
											PG_GETARG_DATUM(0),
											PG_GETARG_DATUM(1));

	skx_cost_silence_end(level);
	PG_RETURN_TSQUERY(skx_functions_with_labels(DatumGetTSQuery(query),
												PG_GETARG_INT32(2)));
}
