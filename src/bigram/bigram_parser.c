/*
 * bigram_parser.c
 *	  Makes the tokens of a text: bigrams of its runs, and what the server's
 *	  default parser makes of the spans between them.
 *
 * What follows a run begins with a token of its own, of which a dictionary
 * makes no lexeme, but which has a position.  So the last bigram of a run and
 * the first of the next one are no neighbours.  It depends on the run before it
 * alone, so a query has it where the text has it.
 */
#include "postgres.h"

#include "bigram/bigram_internal.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "tsearch/ts_public.h"
#include "utils/fmgrprotos.h"

PG_FUNCTION_INFO_V1(skipidx_bigram_start);
PG_FUNCTION_INFO_V1(skipidx_bigram_token);
PG_FUNCTION_INFO_V1(skipidx_bigram_end);
PG_FUNCTION_INFO_V1(skipidx_bigram_types);

/* Where the next token begins. */
typedef enum SkxBigramPlace
{
	SKX_BIGRAM_ANYWHERE,		/* with a run, or a span, or nowhere */
	SKX_BIGRAM_IN_SPAN,			/* where the default parser says */
	SKX_BIGRAM_IN_RUN,			/* with a character that the last token has */
	SKX_BIGRAM_BEHIND_SINGLE
} SkxBigramPlace;

typedef struct SkxBigramParser
{
	const char *at;				/* behind the span, if in one */
	const char *end;			/* of the text */
	SkxBigramPlace place;
	Datum		span;			/* state of the default parser, in a span */
} SkxBigramParser;

Datum
skipidx_bigram_start(PG_FUNCTION_ARGS)
{
	const char *text = (const char *) PG_GETARG_POINTER(0);
	SkxBigramParser *p;

	if (GetDatabaseEncoding() != PG_UTF8)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("text search parser \"skipidx_bigram\" does not support encoding \"%s\"",
						GetDatabaseEncodingName()),
				 errhint("Use it in a database whose encoding is UTF8.")));
	p = palloc0(sizeof(SkxBigramParser));
	p->at = text;
	p->end = text + PG_GETARG_INT32(1);
	PG_RETURN_POINTER(p);
}

/* Begins with the span at p->at, which is not empty. */
static void
skx_bigram_begin_span(SkxBigramParser *p)
{
	const char *end = skx_bigram_find(p->at, p->end);

	p->span = DirectFunctionCall2(prsd_start, PointerGetDatum(p->at),
								  Int32GetDatum((int32) (end - p->at)));
	p->at = end;
	p->place = SKX_BIGRAM_IN_SPAN;
}

/*
 * Returns the type of the next token of a span, or 0 behind its last, and frees
 * what the default parser has then.
 */
static int
skx_bigram_span_token(SkxBigramParser *p, const char **token, int *len)
{
	int			type;

	type = DatumGetInt32(DirectFunctionCall3(prsd_nexttoken, p->span,
											 PointerGetDatum(token),
											 PointerGetDatum(len)));
	if (type > 0)
		return type;
	p->place = SKX_BIGRAM_ANYWHERE;
	(void) DirectFunctionCall1(prsd_end, p->span);
	return 0;
}

/*
 * Sets the next token of a run, which begins at p->at with a character of
 * `first` bytes, and returns its type.
 */
static int
skx_bigram_run_token(SkxBigramParser *p, int first, const char **token,
					 int *len)
{
	int			second = skx_bigram_char(p->at + first, p->end);
	bool		is_begun = p->place == SKX_BIGRAM_IN_RUN;

	*token = p->at;
	*len = first + second;
	p->at += first;
	if (second > 0)
	{
		p->place = SKX_BIGRAM_IN_RUN;
		return SKX_BIGRAM_PAIR;
	}
	p->place = is_begun ? SKX_BIGRAM_ANYWHERE : SKX_BIGRAM_BEHIND_SINGLE;
	return is_begun ? SKX_BIGRAM_RUN_END : SKX_BIGRAM_SINGLE;
}

static int
skx_bigram_next_token(SkxBigramParser *p, const char **token, int *len)
{
	for (;;)
	{
		int			type;
		int			first;

		if (p->place == SKX_BIGRAM_IN_SPAN)
		{
			type = skx_bigram_span_token(p, token, len);
			if (type > 0)
				return type;
		}
		if (p->place == SKX_BIGRAM_BEHIND_SINGLE)
		{
			p->place = SKX_BIGRAM_ANYWHERE;
			*token = p->at;
			*len = 0;
			return SKX_BIGRAM_RUN_END;
		}
		if (p->at == p->end)
			return 0;
		first = skx_bigram_char(p->at, p->end);
		if (first > 0)
			return skx_bigram_run_token(p, first, token, len);
		skx_bigram_begin_span(p);
	}
}

Datum
skipidx_bigram_token(PG_FUNCTION_ARGS)
{
	SkxBigramParser *p = (SkxBigramParser *) PG_GETARG_POINTER(0);

	CHECK_FOR_INTERRUPTS();
	PG_RETURN_INT32(skx_bigram_next_token(p,
										  (const char **) PG_GETARG_POINTER(1),
										  (int *) PG_GETARG_POINTER(2)));
}

Datum
skipidx_bigram_end(PG_FUNCTION_ARGS)
{
	SkxBigramParser *p = (SkxBigramParser *) PG_GETARG_POINTER(0);

	if (p->place == SKX_BIGRAM_IN_SPAN)
		(void) DirectFunctionCall1(prsd_end, p->span);
	pfree(p);
	PG_RETURN_VOID();
}

static void
skx_bigram_describe(LexDescr *type, int number, const char *alias,
					const char *description)
{
	type->lexid = number;
	type->alias = pstrdup(alias);
	type->descr = pstrdup(description);
}

/* Types of the default parser, and behind them those of runs. */
Datum
skipidx_bigram_types(PG_FUNCTION_ARGS)
{
	LexDescr   *types;
	int			n = 0;

	types = (LexDescr *)
		DatumGetPointer(DirectFunctionCall1(prsd_lextype, PointerGetDatum(NULL)));
	for (; types[n].lexid != 0; n++)
		if (types[n].lexid >= SKX_BIGRAM_SINGLE)
			elog(ERROR, "the default parser has token type %d",
				 types[n].lexid);
	types = repalloc(types, sizeof(LexDescr) * (n + 4));
	skx_bigram_describe(&types[n], SKX_BIGRAM_SINGLE, "single",
						"Character without neighbours, of text without spaces");
	skx_bigram_describe(&types[n + 1], SKX_BIGRAM_PAIR, "bigram",
						"Two neighbouring characters of text without spaces");
	skx_bigram_describe(&types[n + 2], SKX_BIGRAM_RUN_END, "run_end",
						"End of text without spaces: its last character, if there are several");
	types[n + 3].lexid = 0;
	PG_RETURN_POINTER(types);
}
