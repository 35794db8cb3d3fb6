/*
 * functions_text.c
 *	  SQL functions that make a tsquery from a text.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "read/score/score.h"
#include "sql/functions/functions_internal.h"
#include "tsearch/ts_cache.h"
#include "tsearch/ts_utils.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/pg_crc.h"

PG_FUNCTION_INFO_V1(skipidx_any);
PG_FUNCTION_INFO_V1(skipidx_any_default);
PG_FUNCTION_INFO_V1(skipidx_tsquery);

/* Most words in a row of operators, along which the server recurses. */
#define SKX_ANY_OPERATOR_CHAIN		1000

/* An occurrence of a word in a text, and its position. */
typedef struct SkxAnyWord
{
	const WordEntry *entry;
	int			position;
} SkxAnyWord;

static int
skx_functions_compare_words(const void *a, const void *b)
{
	const SkxAnyWord *x = a;
	const SkxAnyWord *y = b;

	CHECK_FOR_INTERRUPTS();
	if (x->position != y->position)
		return x->position < y->position ? -1 : 1;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

/* Returns the number of occurrences of a word, from 1 to `most`. */
static int
skx_functions_occurrences(TSVector text, const WordEntry *entry, int most)
{
	return entry->haspos ? Min(POSDATALEN(text, entry), most) : 1;
}

/*
 * Returns how often a word may be repeated, so that the query does not become
 * too long.
 */
static int
skx_functions_max_repeats(TSVector text)
{
	int			most = SKX_RANKING_COUNT_MAX;

	for (; most > 1; most /= 2)
	{
		Size		size = 0;
		int			i;

		for (i = 0; i < text->size; i++)
		{
			const WordEntry *entry = &ARRPTR(text)[i];

			size += (entry->len + (Size) 1) *
				skx_functions_occurrences(text, entry, most);
		}
		if (size <= MAXSTRPOS)
			break;
	}
	return most;
}

/*
 * Returns the words in the order of the text, so that neighbours in the text
 * are neighbours in the query, too.
 */
static SkxAnyWord *
skx_functions_text_words(TSVector text, int *n)
{
	int			most = skx_functions_max_repeats(text);
	Size		size = 0;
	SkxAnyWord *words;
	int			i;
	int			k;

	for (i = 0; i < text->size; i++)
		size += skx_functions_occurrences(text, &ARRPTR(text)[i], most);
	words = palloc_extended(sizeof(SkxAnyWord) * (size + 1), MCXT_ALLOC_HUGE);
	*n = 0;
	for (i = 0; i < text->size; i++)
	{
		const WordEntry *entry = &ARRPTR(text)[i];
		int			some = skx_functions_occurrences(text, entry, most);

		for (k = 0; k < some; k++)
		{
			words[*n].entry = entry;
			words[(*n)++].position = entry->haspos ?
				WEP_GETPOS(POSDATAPTR(text, entry)[k]) : 0;
		}
	}
	qsort(words, *n, sizeof(SkxAnyWord), skx_functions_compare_words);
	return words;
}

int32
skx_functions_lexeme_crc(const char *lexeme, int len)
{
	pg_crc32	crc;

	INIT_LEGACY_CRC32(crc);
	COMP_LEGACY_CRC32(crc, lexeme, len);
	FIN_LEGACY_CRC32(crc);
	return (int32) crc;
}

static void
skx_functions_put_operand(QueryItem *item, char *operands, const char *lexeme,
						  int len, int *distance)
{
	if (*distance >= MAXSTRPOS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the text has too many words for a tsquery")));
	item->type = QI_VAL;
	item->qoperand.valcrc = skx_functions_lexeme_crc(lexeme, len);
	item->qoperand.length = len;
	item->qoperand.distance = *distance;
	memcpy(operands + *distance, lexeme, len);
	*distance += len + 1;
}

/* A query that is being made, and what it is made from. */
typedef struct SkxAnyQuery
{
	TSVector	text;
	SkxAnyWord *words;
	TSQuery		query;
	int			nitems;
	int			distance;
} SkxAnyQuery;

static void
skx_functions_put_word(SkxAnyQuery *any, int i)
{
	const WordEntry *entry = any->words[i].entry;

	CHECK_FOR_INTERRUPTS();
	skx_functions_put_operand(&GETQUERY(any->query)[any->nitems++],
							  GETOPERAND(any->query),
							  STRPTR(any->text) + entry->pos, entry->len,
							  &any->distance);
}

/*
 * Puts words [from, to) into the query as a | b | c.  Each operator is before
 * its right operand, and that before its left one.  The parser builds a
 * disjunction as a row of left operands.  Much of the server recurses along
 * such a row, so a long one is split into two.
 */
static void
skx_functions_put_words(SkxAnyQuery *any, int from, int to)
{
	int			middle = to - from > SKX_ANY_OPERATOR_CHAIN ? (from + to) / 2 :
		to - 1;
	int			operator = any->nitems;
	QueryItem  *item = &GETQUERY(any->query)[operator];

	if (to - from > 1)
	{
		any->nitems++;
		item->type = QI_OPR;
		item->qoperator.oper = OP_OR;
		if (middle == to - 1)
			skx_functions_put_word(any, middle);
		else
			skx_functions_put_words(any, middle, to);
		item->qoperator.left = any->nitems - operator;
	}
	if (middle > from)
		skx_functions_put_words(any, from, middle);
	else if (to > from)
		skx_functions_put_word(any, from);
}

TSQuery
skx_functions_any_query(TSVector text)
{
	int			n;
	SkxAnyQuery any = {text, skx_functions_text_words(text, &n)};
	int			nitems = n == 0 ? 0 : 2 * n - 1;
	Size		size = HDRSIZETQ + sizeof(QueryItem) * (Size) nitems;
	int			i;

	for (i = 0; i < n; i++)
		size += any.words[i].entry->len + 1;
	any.query = palloc0(size);
	SET_VARSIZE(any.query, size);
	any.query->size = nitems;
	skx_functions_put_words(&any, 0, n);
	pfree(any.words);
	return any.query;
}

TSQuery
skx_functions_any_text(Oid config, Datum text)
{
	Datum		vector = DirectFunctionCall2(to_tsvector_byid,
											 ObjectIdGetDatum(config), text);

	return skx_functions_any_query(DatumGetTSVector(vector));
}

Datum
skipidx_any(PG_FUNCTION_ARGS)
{
	PG_RETURN_TSQUERY(skx_functions_any_text(PG_GETARG_OID(0),
											 PG_GETARG_DATUM(1)));
}

Datum
skipidx_any_default(PG_FUNCTION_ARGS)
{
	PG_RETURN_TSQUERY(skx_functions_any_text(getTSCurrentConfig(true),
											 PG_GETARG_DATUM(0)));
}

/* ---- a query written as a string ---- */

/*
 * Error context callback: adds a hint to a syntax error, since most of these
 * are words without operators between them.
 */
static void
skx_functions_tsquery_hint(void *arg)
{
	if (geterrcode() == ERRCODE_SYNTAX_ERROR)
		errhint("A query has operators between its words, as in 'a & b' or 'a | b'; skipidx_any() and websearch_to_tsquery() take words as people type them.");
}

Datum
skipidx_tsquery(PG_FUNCTION_ARGS)
{
	char	   *string = text_to_cstring(PG_GETARG_TEXT_PP(0));
	ErrorContextCallback callback;
	Datum		query;

	callback.callback = skx_functions_tsquery_hint;
	callback.arg = NULL;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	query = DirectFunctionCall1(tsqueryin, CStringGetDatum(string));
	error_context_stack = callback.previous;
	PG_RETURN_DATUM(query);
}
