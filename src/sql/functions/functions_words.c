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
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "parser/scansup.h"
#include "sql/cost/cost.h"
#include "sql/functions/functions_internal.h"
#include "tsearch/ts_type.h"
#include "tsearch/ts_utils.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

PG_FUNCTION_INFO_V1(skipidx_any_words);
PG_FUNCTION_INFO_V1(skipidx_web_words);

/* Bytes that are looked at between two tests for a cancel. */
#define SKX_WORDS_CHECK_BYTES	(64 * 1024)

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
		if (i % SKX_WORDS_CHECK_BYTES == 0)
			CHECK_FOR_INTERRUPTS();
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

/* ---- many words, in pieces ---- */

/*
 * The server's parser of web searches takes a time that grows with the square
 * of the words, and makes a tree as deep as there are words, for which the
 * stack is too small in the end.  So it gets many words in pieces.  Their
 * queries are put together as it puts together those of words: first all that
 * have to match, then all of which one has to.  Words are cut only where no
 * operator can be meant but AND or OR: at blanks, or an `or`, between phrases,
 * and words that begin and end with a letter or digit.  A piece without such a
 * place is parsed as it is.
 */
#define SKX_WORDS_PIECE_BYTES		1024

/* Words that are cut. */
typedef struct SkxWords
{
	Oid			config;
	const char *text;
	int			len;
	Size		operand_bytes;	/* of the queries so far */
} SkxWords;

/* A place between two words of them. */
typedef struct SkxWordsBorder
{
	int			end;			/* of the words before it */
	int			next;			/* where the words after it begin */
	bool		is_or;			/* else all have to match */
} SkxWordsBorder;

static inline bool
skx_functions_is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c >= '0' && c <= '9');
}

/*
 * Returns true if the byte begins a letter, a digit or some other character
 * that is no blank.  In UTF-8 blanks begin with 0xC2 or 0xE1 to 0xE3.
 */
static inline bool
skx_functions_begins_word(char c)
{
	unsigned char byte = (unsigned char) c;

	return skx_functions_is_alnum(c) ||
		(byte >= 0xC3 && (byte < 0xE1 || byte > 0xE3) &&
		 GetDatabaseEncoding() == PG_UTF8);
}

/* Returns true if the word that begins here is `or`, or might be. */
static bool
skx_functions_is_or(const SkxWords *words, int at)
{
	return at + 2 <= words->len &&
		pg_strncasecmp(words->text + at, "or", 2) == 0 &&
		(at + 2 == words->len ||
		 !skx_functions_is_alnum(words->text[at + 2]));
}

/* Returns where the next character is that is no blank. */
static int
skx_functions_skip_blanks(const SkxWords *words, int at)
{
	for (; at < words->len && scanner_isspace(words->text[at]); at++)
	{
		if (at % SKX_WORDS_CHECK_BYTES == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return at;
}

/*
 * Returns true if a phrase begins here, or a word that is not `or`; dashes may
 * be before it.
 */
static bool
skx_functions_is_operand(const SkxWords *words, int at)
{
	while (at < words->len && words->text[at] == '-')
		at++;
	return at < words->len &&
		(words->text[at] == '"' ||
		 (skx_functions_begins_word(words->text[at]) &&
		  !skx_functions_is_or(words, at)));
}

/*
 * Fills in the border at a blank after a word.  Returns false if there is none,
 * and sets border->next to what is after the blanks.
 */
static bool
skx_functions_border_at(const SkxWords *words, int at, SkxWordsBorder *border)
{
	border->end = at;
	border->next = skx_functions_skip_blanks(words, at);
	border->is_or = false;
	if (skx_functions_is_operand(words, border->next))
		return true;
	if (skx_functions_is_or(words, border->next))
	{
		int			behind = border->next + 2;
		int			next = skx_functions_skip_blanks(words, behind);

		if (next > behind && skx_functions_is_operand(words, next))
		{
			border->next = next;
			border->is_or = true;
		}
	}
	return border->is_or;
}

/*
 * Finds the first border from here on, where a word begins or the text.
 * Returns false if there is none.  Sets *unclear if it comes across an `or`
 * that may be an operator or a word.
 */
static bool
skx_functions_next_border(const SkxWords *words, int from,
						  SkxWordsBorder *border, bool *unclear)
{
	const char *text = words->text;
	bool		is_word = false;
	int			i;

	for (i = from; i < words->len; i++)
	{
		const char *quote;

		if (i % SKX_WORDS_CHECK_BYTES == 0)
			CHECK_FOR_INTERRUPTS();
		if (skx_functions_is_alnum(text[i]))
		{
			is_word = (i > from && skx_functions_is_alnum(text[i - 1])) ||
				!skx_functions_is_or(words, i);
			if (is_word)
				continue;
			*unclear = true;
			i++;
		}
		else if (IS_HIGHBIT_SET(text[i]))
			is_word = (text[i] & 0x40) == 0 ? is_word :
				skx_functions_begins_word(text[i]);
		else if (text[i] == '"')
		{
			quote = memchr(text + i + 1, '"', words->len - i - 1);
			if (quote == NULL)
				return false;
			i = quote - text;
			is_word = true;
		}
		else if (is_word && scanner_isspace(text[i]))
		{
			if (skx_functions_border_at(words, i, border))
				return true;
			i = border->next - 1;
			is_word = false;
		}
		else
			is_word = false;
	}
	return false;
}

/* Appends the query by a piece, if anything is left of it. */
static void
skx_functions_add_piece(SkxWords *words, int from, int to, List **queries)
{
	Datum		piece;
	TSQuery		query;

	CHECK_FOR_INTERRUPTS();
	piece = PointerGetDatum(cstring_to_text_with_len(words->text + from,
													 to - from));
	query = DatumGetTSQuery(DirectFunctionCall2(websearch_to_tsquery_byid,
												ObjectIdGetDatum(words->config),
												piece));
	pfree(DatumGetPointer(piece));
	words->operand_bytes += VARSIZE(query) - HDRSIZETQ -
		sizeof(QueryItem) * query->size;
	if (words->operand_bytes >= MAXSTRPOS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the text has too many words for a tsquery")));
	if (query->size > 0)
		*queries = lappend(*queries, query);
	else
		pfree(query);
}

/*
 * Returns one query of all, which `join` makes of two; NULL if there are none.
 * The tree is not deep: the server recurses along it.
 */
static TSQuery
skx_functions_join(List *queries, PGFunction join)
{
	while (list_length(queries) > 1)
	{
		List	   *fewer = NIL;
		int			i;

		for (i = 0; i < list_length(queries); i += 2)
		{
			Datum		one = TSQueryGetDatum(list_nth(queries, i));

			CHECK_FOR_INTERRUPTS();
			if (i + 1 < list_length(queries))
				one = DirectFunctionCall2(join, one,
										  TSQueryGetDatum(list_nth(queries, i + 1)));
			fewer = lappend(fewer, DatumGetTSQuery(one));
		}
		queries = fewer;
	}
	return queries == NIL ? NULL : linitial(queries);
}

/* Appends the query by words of which all have to match. */
static void
skx_functions_add_group(SkxWords *words, int from, int to, List **queries)
{
	SkxWordsBorder border;
	TSQuery		query;
	List	   *all = NIL;
	bool		unclear = false;
	int			at = from;

	while (at < to &&
		   skx_functions_next_border(words, at, &border, &unclear) &&
		   border.end < to)
	{
		at = border.next;
		if (border.end - from < SKX_WORDS_PIECE_BYTES)
			continue;
		skx_functions_add_piece(words, from, border.end, &all);
		from = at;
	}
	skx_functions_add_piece(words, from, to, &all);
	query = skx_functions_join(all, tsquery_and);
	if (query != NULL)
		*queries = lappend(*queries, query);
}

/*
 * Fills in the border before the next group of words; without one it is the
 * end.  Returns true if words in the group may be operators.
 */
static bool
skx_functions_group_end(const SkxWords *words, int from,
						SkxWordsBorder *border)
{
	bool		unclear = false;

	border->next = from;
	while (skx_functions_next_border(words, border->next, border, &unclear))
	{
		if (border->is_or)
			return unclear;
	}
	border->end = border->next = words->len;
	return unclear;
}

/*
 * Returns the query that websearch_to_tsquery() makes of the words, or one
 * that matches the same documents; NULL if nothing is left of them.  Small
 * groups are one piece together.
 */
static TSQuery
skx_functions_web_query(SkxWords *words)
{
	SkxWordsBorder border = {0};
	List	   *any = NIL;
	int			from = 0;		/* groups that are no piece yet */
	int			to = 0;

	while (border.next < words->len)
	{
		int			at = border.next;
		bool		unclear = skx_functions_group_end(words, at, &border);

		if (border.end - from > SKX_WORDS_PIECE_BYTES)
		{
			if (to > from)
				skx_functions_add_piece(words, from, to, &any);
			from = at;
		}
		to = border.end;
		if (to - from > SKX_WORDS_PIECE_BYTES && !unclear)
		{
			skx_functions_add_group(words, from, to, &any);
			from = to = border.next;
		}
	}
	if (to > from)
		skx_functions_add_piece(words, from, to, &any);
	return skx_functions_join(any, tsquery_or);
}

/*
 * Returns the query in the syntax of web searches.  Words that the
 * configuration leaves out give no notice: it would come at each keystroke.
 */
Datum
skipidx_web_words(PG_FUNCTION_ARGS)
{
	int			level = skx_cost_silence_begin();
	text	   *content = PG_GETARG_TEXT_P_COPY(1);
	SkxWords	words = {PG_GETARG_OID(0), VARDATA(content),
	VARSIZE(content) - VARHDRSZ};
	TSQuery		query;

	skx_functions_blank_dashes(VARDATA(content), words.len);
	query = skx_functions_web_query(&words);
	skx_cost_silence_end(level);
	if (query == NULL)
	{
		query = palloc0(HDRSIZETQ);
		SET_VARSIZE(query, HDRSIZETQ);
	}
	PG_RETURN_TSQUERY(skx_functions_with_labels(query, PG_GETARG_INT32(2)));
}
