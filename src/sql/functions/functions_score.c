/*
 * functions_score.c
 *	  SQL functions that return the score of a document, and the contributions
 *	  to it.
 *
 * They score as the index named in the call does, under the snapshot of the
 * calling query.  Statistics count all rows, so callers need the right to read
 * all rows of the indexed columns.  With a ranking they need neither index nor
 * right.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "fmgr.h"
#include "funcapi.h"
#include "index/document/document.h"
#include "index/pending/pending.h"
#include "miscadmin.h"
#include "read/score/score.h"
#include "sql/am/am.h"
#include "sql/functions/functions_internal.h"
#include "tsearch/ts_utils.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(skipidx_bm25);
PG_FUNCTION_INFO_V1(skipidx_proximity);
PG_FUNCTION_INFO_V1(skipidx_explain_score);
PG_FUNCTION_INFO_V1(skipidx_bm25_ranking);
PG_FUNCTION_INFO_V1(skipidx_proximity_ranking);
PG_FUNCTION_INFO_V1(skipidx_explain_ranking);

/* ---- contributions to a score ---- */

SkxKept *
skx_functions_get_call(FunctionCallInfo fcinfo, int argument, SkxKeptMake make)
{
	SkxKept    *kept = skx_functions_kept(fcinfo->flinfo, argument);
	Oid			oid = PG_GETARG_OID(0);
	TSQuery		query = PG_GETARG_TSQUERY(argument);
	SkxRankOptions options;
	SkxScorer  *scorer;
	MemoryContext old;
	Relation	heap;
	Relation	index;

	if (skx_functions_keeps(kept, query) && kept->index == oid &&
		kept->user == GetUserId() &&
		skx_score_is_current(kept->scorer, GetActiveSnapshot()))
		return kept;
	old = skx_functions_keep(kept, query);
	kept->index = oid;
	kept->user = GetUserId();
	skx_functions_open(oid, true, &heap, &index);
	skx_am_rank_options(index, &options);
	scorer = skx_score_open(index, NULL, GetActiveSnapshot(), &options,
							kept->value);
	if (make != NULL)
		make(kept, scorer, heap, index);
	skx_functions_close(heap, index);
	kept->scorer = scorer;
	MemoryContextSwitchTo(old);
	return kept;
}

/*
 * Returns what the words (or, if `pairs` is true, the pairs) add to the score
 * of the document that is an argument.
 */
static Datum
skx_functions_part(FunctionCallInfo fcinfo, const SkxScorer *scorer,
				   int argument, bool pairs)
{
	Datum		value = PG_GETARG_DATUM(argument);
	TSVector	document = skx_document_datum(value, false, NULL);
	int32		of_pairs;
	int32		of_words = skx_score_document_sums(scorer, document, NULL,
												   &of_pairs);

	skx_document_free(document, value);
	PG_RETURN_FLOAT4(skx_score_value(scorer, pairs ? of_pairs : of_words));
}

Datum
skipidx_bm25(PG_FUNCTION_ARGS)
{
	return skx_functions_part(fcinfo,
							  skx_functions_get_call(fcinfo, 2, NULL)->scorer, 1,
							  false);
}

Datum
skipidx_proximity(PG_FUNCTION_ARGS)
{
	return skx_functions_part(fcinfo,
							  skx_functions_get_call(fcinfo, 2, NULL)->scorer, 1,
							  true);
}

Datum
skipidx_bm25_ranking(PG_FUNCTION_ARGS)
{
	return skx_functions_part(fcinfo, skx_functions_ranked(fcinfo, 1), 0,
							  false);
}

Datum
skipidx_proximity_ranking(PG_FUNCTION_ARGS)
{
	return skx_functions_part(fcinfo, skx_functions_ranked(fcinfo, 1), 0,
							  true);
}

/* ---- one row explained ---- */

/*
 * Returns the document that the index has, or would have, for a row; NULL if
 * that is NULL.  It is allocated in the current memory context.
 */
static TSVector
skx_functions_document(Relation heap, Relation index, ItemPointer tid)
{
	Snapshot	snapshot = GetActiveSnapshot();
	TableScanDesc scan = table_beginscan_tid(heap, snapshot);
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	TSVector	document;

	if (!ItemPointerIsValid(tid) || !table_tuple_tid_valid(scan, tid) ||
		!table_tuple_fetch_row_version(heap, tid, snapshot, slot))
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND),
				 errmsg("table \"%s\" has no row (%u,%u) that is visible",
						RelationGetRelationName(heap),
						ItemPointerGetBlockNumberNoCheck(tid),
						ItemPointerGetOffsetNumberNoCheck(tid))));
	document = skx_document_read(heap, index, slot);
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	return document;
}

/*
 * A row of the result.  A `word` of NULL, and members whose has_ flag is
 * false, are shown as NULL.
 */
typedef struct SkxScoreRow
{
	const char *contribution;
	const char *word;
	bool		has_df;
	int64		df;
	float8		idf;
	bool		has_tf;
	float4		tf;
	bool		has_length;
	int32		length;
	bool		has_score;
	float4		score;
} SkxScoreRow;

static void
skx_functions_put_score_row(ReturnSetInfo *result, const SkxScoreRow *row)
{
	Datum		values[7] = {0};
	bool		nulls[7];

	nulls[0] = false;
	values[0] = CStringGetTextDatum(row->contribution);
	nulls[1] = row->word == NULL;
	if (row->word != NULL)
		values[1] = CStringGetTextDatum(row->word);
	nulls[2] = nulls[3] = !row->has_df;
	values[2] = Int64GetDatum(row->df);
	values[3] = Float8GetDatum(row->idf);
	nulls[4] = !row->has_tf;
	values[4] = Float4GetDatum(row->tf);
	nulls[5] = !row->has_length;
	values[5] = Int32GetDatum(row->length);
	nulls[6] = !row->has_score;
	values[6] = Float4GetDatum(row->score);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* Returns the word as it is written in a tsquery, but without quotes. */
static char *
skx_functions_word(const SkxScoreTerm *term)
{
	StringInfoData text;
	int			label;

	initStringInfo(&text);
	appendBinaryStringInfo(&text, term->lexeme, term->len);
	if (term->prefix || term->labels != 0)
		appendStringInfoChar(&text, ':');
	if (term->prefix)
		appendStringInfoChar(&text, '*');
	for (label = 3; label >= 0; label--)
	{
		if (term->labels & (1 << label))
			appendStringInfoChar(&text, "DCBA"[label]);
	}
	return text.data;
}

/*
 * Returns the same, and how often the word counts, or in which group it is,
 * with its share.
 */
static char *
skx_functions_counted_word(const SkxScorer *scorer, const SkxScoreTerm *term)
{
	char	   *word = skx_functions_word(term);
	int			count = term->group == 0 ? term->count :
		scorer->groups[term->group - 1].count;

	if (term->group != 0)
		word = term->factor == 1 ?
			psprintf("%s (group %d)", word, term->group) :
			psprintf("%s (group %d, factor %g)", word, term->group, term->factor);
	return count == 1 ? word : psprintf("%s (%d times)", word, count);
}

/* Returns the words of a side of a pair. */
static char *
skx_functions_side(const SkxScorer *scorer, int side)
{
	return side < 0 ? psprintf("(group %d)", -side) :
		skx_functions_word(&scorer->terms[side]);
}

static void
skx_functions_put_contributions(ReturnSetInfo *result, const SkxScorer *scorer,
								TSVector document, const int32 *parts)
{
	MemoryContext temp = AllocSetContextCreate(CurrentMemoryContext,
											   "skipidx score row",
											   ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(temp);
	int			i;

	for (i = 0; i < scorer->nterms; i++)
	{
		const SkxScoreTerm *term = &scorer->terms[i];
		SkxScoreRow row = {"word", skx_functions_counted_word(scorer, term)};

		row.has_df = row.has_tf = row.has_score = true;
		row.df = (int64) term->df;
		row.idf = term->idf;
		row.tf = Max(skx_score_count(scorer, i, document), 0);
		row.score = skx_score_value(scorer, parts[i]);
		skx_functions_put_score_row(result, &row);
		MemoryContextReset(temp);
		CHECK_FOR_INTERRUPTS();
	}
	for (i = 0; i < scorer->npairs; i++)
	{
		const SkxScorePair *pair = &scorer->pairs[i];
		SkxScoreRow row = {"pair"};

		row.word = psprintf("%s %s", skx_functions_side(scorer, pair->first),
							skx_functions_side(scorer, pair->second));
		row.has_score = true;
		row.score = skx_score_value(scorer, parts[scorer->nterms + i]);
		skx_functions_put_score_row(result, &row);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(temp);
}

/* Returns the rows of a document, which may be NULL. */
static void
skx_functions_explain(ReturnSetInfo *result, const SkxScorer *scorer,
					  TSVector document)
{
	SkxScoreRow length = {"length"};
	SkxScoreRow total = {"total"};
	int32	   *parts;

	if (document != NULL)
	{
		parts = palloc_extended(sizeof(int32) * ((Size) scorer->nterms +
												 scorer->npairs + 1),
								MCXT_ALLOC_HUGE);
		total.score = skx_score_value(scorer,
									  skx_score_document(scorer, document,
														 parts));
		total.has_score = true;
		length.length = (int32) skx_pending_length(document);
		length.has_length = true;
		skx_functions_put_contributions(result, scorer, document, parts);
	}
	skx_functions_put_score_row(result, &length);
	skx_functions_put_score_row(result, &total);
}

Datum
skipidx_explain_score(PG_FUNCTION_ARGS)
{
	ItemPointer tid = (ItemPointer) PG_GETARG_POINTER(1);
	TSQuery		query = PG_GETARG_TSQUERY(2);
	SkxRankOptions options;
	SkxScorer  *scorer;
	TSVector	document;
	Relation	heap;
	Relation	index;

	InitMaterializedSRF(fcinfo, 0);
	skx_functions_open(PG_GETARG_OID(0), false, &heap, &index);
	skx_am_rank_options(index, &options);
	document = skx_functions_document(heap, index, tid);
	scorer = skx_score_open(index, NULL, GetActiveSnapshot(), &options, query);
	skx_functions_explain((ReturnSetInfo *) fcinfo->resultinfo, scorer,
						  document);
	skx_functions_close(heap, index);
	return (Datum) 0;
}

Datum
skipidx_explain_ranking(PG_FUNCTION_ARGS)
{
	TSVector	document = skx_document_datum(PG_GETARG_DATUM(0), false, NULL);
	const SkxRanking *ranking = skx_score_ranking_of(PG_GETARG_DATUM(1));

	InitMaterializedSRF(fcinfo, 0);
	skx_functions_explain((ReturnSetInfo *) fcinfo->resultinfo,
						  skx_score_open_ranking(NULL, NULL, ranking),
						  document);
	return (Datum) 0;
}
