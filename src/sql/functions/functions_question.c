/*
 * functions_question.c
 *	  skipidx_any_of(): the query for any of the words of a question, without
 *	  those that hardly matter since too many rows have them.
 *	  skipidx_any_of_words(): which words these are.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteHandler.h"
#include "sql/am/am.h"
#include "sql/functions/functions_internal.h"
#include "tsearch/ts_cache.h"
#include "tsearch/ts_utils.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(skipidx_any_of);
PG_FUNCTION_INFO_V1(skipidx_any_of_words);

/* The words of a question. */
typedef struct SkxQuestion
{
	TSVector	words;			/* each once */
	uint64	   *dfs;			/* of each word */
	bool	   *is_common;		/* words that are left out */
	uint64		ndocs;			/* rows of the index with a tsvector */
} SkxQuestion;

/* ---- the configuration by which an index has its words ---- */

/*
 * Sets *arg, an Oid, to the text search configuration that an expression
 * names.  Errors out if it names several.
 */
static bool
skx_functions_config_walker(Node *node, void *arg)
{
	Oid		   *config = arg;
	const Const *value = (const Const *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Const) || value->consttype != REGCONFIGOID ||
		value->constisnull)
		return expression_tree_walker(node, skx_functions_config_walker, arg);
	if (OidIsValid(*config) && *config != DatumGetObjectId(value->constvalue))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the index has words by several text search configurations"),
				 errhint("Name one of them as the argument config.")));
	*config = DatumGetObjectId(value->constvalue);
	return false;
}

/*
 * Returns the configuration in the index's expression, or in that of its
 * generated column; where there is none, that of the session.
 */
static Oid
skx_functions_index_config(Relation heap, Relation index)
{
	int			column = index->rd_index->indkey.values[0];
	Oid			config = InvalidOid;
	Node	   *document = NULL;

	if (column == 0)
		document = linitial(RelationGetIndexExpressions(index));
	else if (column > 0 &&
			 TupleDescAttr(RelationGetDescr(heap), column - 1)->attgenerated)
		document = build_column_default(heap, column);
	(void) skx_functions_config_walker(document, &config);
	return OidIsValid(config) ? config : getTSCurrentConfig(true);
}

/* ---- which words are left out ---- */

static double
skx_functions_most_rows_arg(FunctionCallInfo fcinfo, int argument)
{
	double		most = DatumGetFloat8(skx_functions_required_arg(fcinfo,
																 argument,
																 "most_rows"));

	if (!(most >= 0 && most <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("most_rows must be between 0 and 1")));
	return most;
}

/* Returns the df of a word by the terms of a scorer, which ascend. */
static uint64
skx_functions_word_df(const SkxScorer *scorer, const char *bytes, int len)
{
	SkxLexeme	word = {bytes, len};
	int			low = 0;
	int			high = scorer->nplain - 1;

	CHECK_FOR_INTERRUPTS();
	while (low <= high)
	{
		int			middle = low + (high - low) / 2;
		SkxLexeme	term = {scorer->terms[middle].lexeme,
		scorer->terms[middle].len};
		int			order = skx_column_compare_lexeme(&term, &word);

		if (order == 0)
			return scorer->terms[middle].df;
		if (order < 0)
			low = middle + 1;
		else
			high = middle - 1;
	}
	return 0;
}

/*
 * Sets q->is_common for the words that more than a share of the rows have.  If
 * no row has any of the others, the rarest of these is kept.
 */
static void
skx_functions_find_common(SkxQuestion *q, double most)
{
	int			rarest = -1;
	int			i;

	for (i = 0; i < q->words->size; i++)
	{
		q->is_common[i] = (double) q->dfs[i] > most * (double) q->ndocs;
		if (q->dfs[i] > 0 && (rarest < 0 || q->dfs[i] < q->dfs[rarest]))
			rarest = i;
	}
	if (rarest >= 0)
		q->is_common[rarest] = false;
}

/*
 * Fills in the question of a call of one of the functions.  Errors out as
 * skx_functions_open() does.
 */
static void
skx_functions_ask(FunctionCallInfo fcinfo, SkxQuestion *q)
{
	double		most = skx_functions_most_rows_arg(fcinfo, 2);
	SkxRankOptions options;
	Relation	heap;
	Relation	index;
	Oid			config;
	int			i;

	skx_functions_open(PG_GETARG_OID(0), true, &heap, &index);
	config = PG_ARGISNULL(3) ? skx_functions_index_config(heap, index) :
		PG_GETARG_OID(3);
	q->words = DatumGetTSVector(DirectFunctionCall2(to_tsvector_byid,
													ObjectIdGetDatum(config),
													PG_GETARG_DATUM(1)));
	q->dfs = palloc0(sizeof(uint64) * ((Size) q->words->size + 1));
	q->is_common = palloc0((Size) q->words->size + 1);
	q->ndocs = 0;
	if (q->words->size > 0)
	{
		SkxScorer  *scorer;

		skx_am_rank_options(index, &options);
		scorer = skx_score_open(index, NULL, GetActiveSnapshot(), &options,
								skx_functions_any_query(q->words));
		q->ndocs = scorer->ndocs;
		for (i = 0; i < q->words->size; i++)
			q->dfs[i] = skx_functions_word_df(scorer, STRPTR(q->words) +
											  ARRPTR(q->words)[i].pos,
											  ARRPTR(q->words)[i].len);
	}
	skx_functions_close(heap, index);
	skx_functions_find_common(q, most);
}

static Datum
skx_functions_word_text(const SkxQuestion *q, int i)
{
	const WordEntry *word = &ARRPTR(q->words)[i];

	return PointerGetDatum(cstring_to_text_with_len(STRPTR(q->words) +
													word->pos, word->len));
}

/* Returns the words that are left out, as an array of text. */
static Datum
skx_functions_common_words(const SkxQuestion *q)
{
	Datum	   *words = palloc(sizeof(Datum) * ((Size) q->words->size + 1));
	int			n = 0;
	int			i;

	for (i = 0; i < q->words->size; i++)
		if (q->is_common[i])
			words[n++] = skx_functions_word_text(q, i);
	return PointerGetDatum(construct_array(words, n, TEXTOID, -1, false,
										   TYPALIGN_INT));
}

Datum
skipidx_any_of(PG_FUNCTION_ARGS)
{
	SkxQuestion q;
	Datum		rest;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	skx_functions_ask(fcinfo, &q);
	rest = DirectFunctionCall2(tsvector_delete_arr, TSVectorGetDatum(q.words),
							   skx_functions_common_words(&q));
	PG_RETURN_TSQUERY(skx_functions_any_query(DatumGetTSVector(rest)));
}

Datum
skipidx_any_of_words(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	SkxQuestion q;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return (Datum) 0;
	skx_functions_ask(fcinfo, &q);
	for (i = 0; i < q.words->size; i++)
	{
		bool		nulls[3] = {false, false, false};
		Datum		values[3];

		CHECK_FOR_INTERRUPTS();
		values[0] = skx_functions_word_text(&q, i);
		values[1] = Int64GetDatum((int64) q.dfs[i]);
		values[2] = BoolGetDatum(q.is_common[i]);
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
	}
	return (Datum) 0;
}
