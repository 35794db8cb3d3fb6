/*
 * am_rank_search.c
 *	  SQL functions that search an index and make a query of a text.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "am/am.h"
#include "compat/compat.h"
#include "compat/compat_planner.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "score/score.h"
#include "tsearch/ts_cache.h"
#include "tsearch/ts_utils.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/pg_crc.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(skipidx_search);
PG_FUNCTION_INFO_V1(skipidx_any);
PG_FUNCTION_INFO_V1(skipidx_any_default);
PG_FUNCTION_INFO_V1(skipidx_tsquery);

/* ---- search ---- */

static SkxRef *
skx_am_rank_ref(Relation index, TSQuery query)
{
	Size		size = offsetof(SkxRef, query) + VARSIZE(query);
	SkxRef	   *ref = palloc0(size);

	SET_VARSIZE(ref, size);
	ref->index = RelationGetRelid(index);
	memcpy(ref->query, query, VARSIZE(query));
	return ref;
}

/* A scan looks at strategies, and calls no function of an operator. */
static void
skx_am_rank_key(ScanKey key, int flags, StrategyNumber strategy,
				Datum argument)
{
	MemSet(key, 0, sizeof(ScanKeyData));
	key->sk_flags = flags;
	key->sk_attno = 1;
	key->sk_strategy = strategy;
	key->sk_argument = argument;
}

static void
skx_am_rank_search(ReturnSetInfo *result, Relation heap, Relation index,
				   TSQuery query, TSQuery rank_by, int k)
{
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	IndexScanDesc scan;
	ScanKeyData match;
	ScanKeyData rank;
	int			n;

	skx_am_rank_key(&match, 0, SKX_STRATEGY_MATCH, TSQueryGetDatum(query));
	skx_am_rank_key(&rank, SK_ORDER_BY, SKX_STRATEGY_RANK,
					PointerGetDatum(skx_am_rank_ref(index, rank_by)));
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
	skx_am_rank_open(PG_GETARG_OID(0), false, &heap, &index);
	if (k > 0)
		skx_am_rank_search((ReturnSetInfo *) fcinfo->resultinfo, heap, index,
						   query,
						   PG_ARGISNULL(3) ? query : PG_GETARG_TSQUERY(3), k);
	skx_am_rank_close(heap, index);
	return (Datum) 0;
}

/* ---- a text as a query ---- */

/* Words in a row of an operator, at most. */
#define SKX_ANY_ROW		1000

/* An occurrence of a word in a text, and where it stands. */
typedef struct SkxRankWord
{
	const WordEntry *entry;
	int			position;
} SkxRankWord;

static int
skx_am_rank_compare_words(const void *a, const void *b)
{
	const SkxRankWord *x = a;
	const SkxRankWord *y = b;

	CHECK_FOR_INTERRUPTS();
	if (x->position != y->position)
		return x->position < y->position ? -1 : 1;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

/* Occurrences of the word, at least one and at most so many. */
static int
skx_am_rank_occurrences(TSVector text, const WordEntry *entry, int most)
{
	return entry->haspos ? Min(POSDATALEN(text, entry), most) : 1;
}

/*
 * How often a word may be repeated, so that the query is not too long: the whole
 * text if it is short.
 */
static int
skx_am_rank_repeats(TSVector text)
{
	int			most = SKX_SCORE_COUNT_MAX;

	for (; most > 1; most /= 2)
	{
		Size		size = 0;
		int			i;

		for (i = 0; i < text->size; i++)
		{
			const WordEntry *entry = &ARRPTR(text)[i];

			size += (entry->len + (Size) 1) *
				skx_am_rank_occurrences(text, entry, most);
		}
		if (size <= MAXSTRPOS)
			break;
	}
	return most;
}

/* The words in the order of the text, in which neighbours are neighbours. */
static SkxRankWord *
skx_am_rank_text_words(TSVector text, int *n)
{
	int			most = skx_am_rank_repeats(text);
	Size		size = 0;
	SkxRankWord *words;
	int			i;
	int			k;

	for (i = 0; i < text->size; i++)
		size += skx_am_rank_occurrences(text, &ARRPTR(text)[i], most);
	words = palloc_extended(sizeof(SkxRankWord) * (size + 1), MCXT_ALLOC_HUGE);
	*n = 0;
	for (i = 0; i < text->size; i++)
	{
		const WordEntry *entry = &ARRPTR(text)[i];
		int			some = skx_am_rank_occurrences(text, entry, most);

		for (k = 0; k < some; k++)
		{
			words[*n].entry = entry;
			words[(*n)++].position = entry->haspos ?
				WEP_GETPOS(POSDATAPTR(text, entry)[k]) : 0;
		}
	}
	qsort(words, *n, sizeof(SkxRankWord), skx_am_rank_compare_words);
	return words;
}

static void
skx_am_rank_put_operand(QueryItem *item, char *operands, const char *lexeme,
						int len, int *distance)
{
	pg_crc32	crc;

	if (*distance >= MAXSTRPOS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the text has too many words for a tsquery")));
	INIT_LEGACY_CRC32(crc);
	COMP_LEGACY_CRC32(crc, lexeme, len);
	FIN_LEGACY_CRC32(crc);
	item->type = QI_VAL;
	item->qoperand.valcrc = (int32) crc;
	item->qoperand.length = len;
	item->qoperand.distance = *distance;
	memcpy(operands + *distance, lexeme, len);
	*distance += len + 1;
}

/* What a query is made of, and how much of it there is already. */
typedef struct SkxRankAny
{
	TSVector	text;
	SkxRankWord *words;
	TSQuery		query;
	int			nitems;
	int			distance;
} SkxRankAny;

static void
skx_am_rank_put_word(SkxRankAny *any, int i)
{
	const WordEntry *entry = any->words[i].entry;

	CHECK_FOR_INTERRUPTS();
	skx_am_rank_put_operand(&GETQUERY(any->query)[any->nitems++],
							GETOPERAND(any->query),
							STRPTR(any->text) + entry->pos, entry->len,
							&any->distance);
}

/*
 * Words [from, to) as a | b | c, each operator before its right operand and
 * that before its left one: as the parser builds it, in a row to the left.
 * Much of the server recurses along such a row, so a long one is made of two.
 */
static void
skx_am_rank_put_words(SkxRankAny *any, int from, int to)
{
	int			middle = to - from > SKX_ANY_ROW ? (from + to) / 2 : to - 1;
	int			operator = any->nitems;
	QueryItem  *item = &GETQUERY(any->query)[operator];

	if (to - from > 1)
	{
		any->nitems++;
		item->type = QI_OPR;
		item->qoperator.oper = OP_OR;
		if (middle == to - 1)
			skx_am_rank_put_word(any, middle);
		else
			skx_am_rank_put_words(any, middle, to);
		item->qoperator.left = any->nitems - operator;
	}
	if (middle > from)
		skx_am_rank_put_words(any, from, middle);
	else if (to > from)
		skx_am_rank_put_word(any, from);
}

static TSQuery
skx_am_rank_any(TSVector text)
{
	int			n;
	SkxRankAny	any = {text, skx_am_rank_text_words(text, &n)};
	int			nitems = n == 0 ? 0 : 2 * n - 1;
	Size		size = HDRSIZETQ + sizeof(QueryItem) * (Size) nitems;
	int			i;

	for (i = 0; i < n; i++)
		size += any.words[i].entry->len + 1;
	any.query = palloc0(size);
	SET_VARSIZE(any.query, size);
	any.query->size = nitems;
	skx_am_rank_put_words(&any, 0, n);
	pfree(any.words);
	return any.query;
}

static TSQuery
skx_am_rank_any_text(Oid config, Datum text)
{
	Datum		vector = DirectFunctionCall2(to_tsvector_byid,
											 ObjectIdGetDatum(config), text);

	return skx_am_rank_any(DatumGetTSVector(vector));
}

Datum
skipidx_any(PG_FUNCTION_ARGS)
{
	PG_RETURN_TSQUERY(skx_am_rank_any_text(PG_GETARG_OID(0),
										   PG_GETARG_DATUM(1)));
}

Datum
skipidx_any_default(PG_FUNCTION_ARGS)
{
	PG_RETURN_TSQUERY(skx_am_rank_any_text(getTSCurrentConfig(true),
										   PG_GETARG_DATUM(0)));
}

/* ---- a query written as a string ---- */

/* While an error is reported; the usual one is words without operators. */
static void
skx_am_rank_tsquery_hint(void *arg)
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

	callback.callback = skx_am_rank_tsquery_hint;
	callback.arg = NULL;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	query = DirectFunctionCall1(tsqueryin, CStringGetDatum(string));
	error_context_stack = callback.previous;
	PG_RETURN_DATUM(query);
}
