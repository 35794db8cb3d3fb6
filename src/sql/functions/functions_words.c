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
#include "parser/scansup.h"
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
 * Most `-` before a word.  Each is a negation, of which the server's parser
 * keeps 32 until it has the word, and fails beyond: a pasted line of dashes
 * was an error.
 */
#define SKX_WORDS_DASHES_MAX	16

/*
 * Puts blanks in place of pairs of negations, until no word has more than
 * SKX_WORDS_DASHES_MAX.  Dashes between quotes stay, and so do those in a word.
 */
static void
skx_functions_blank_dashes(char *words, int len)
{
	int			places[SKX_WORDS_DASHES_MAX];	/* of those that wait */
	int			n = 0;
	bool		is_quoted = false;
	bool		is_word = false;
	int			i;

	for (i = 0; i < len; i++)
	{
		if (words[i] == '"')
		{
			is_quoted = !is_quoted;
			is_word = false;
			n = 0;
		}
		else if (is_quoted)
			continue;
		else if (words[i] == '-' && !is_word)
		{
			if (n < SKX_WORDS_DASHES_MAX)
				places[n++] = i;
			else
				words[i] = words[places[--n]] = ' ';
		}
		else if (IS_HIGHBIT_SET(words[i]))
			n = 0;				/* perhaps a blank */
		else
		{
			is_word = !scanner_isspace(words[i]) && !ISOPERATOR(words + i);
			n = is_word ? 0 : n;
		}
	}
}

/*
 * Returns the query in the syntax of web searches.  Words that the
 * configuration leaves out give no notice: it would come at each keystroke.
 */
Datum
skipidx_web_words(PG_FUNCTION_ARGS)
{
	int			level = skx_cost_silence_begin();
	text	   *words = PG_GETARG_TEXT_P_COPY(1);
	Datum		query;

	skx_functions_blank_dashes(VARDATA(words), VARSIZE(words) - VARHDRSZ);
	query = DirectFunctionCall2(websearch_to_tsquery_byid,
								PG_GETARG_DATUM(0), PointerGetDatum(words));
	skx_cost_silence_end(level);
	PG_RETURN_TSQUERY(skx_functions_with_labels(DatumGetTSQuery(query),
												PG_GETARG_INT32(2)));
}
