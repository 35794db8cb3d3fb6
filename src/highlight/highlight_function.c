/*
 * highlight_function.c
 *	  skipidx_highlight(): the best passages of a text.
 */
#include "postgres.h"

#include "fmgr.h"
#include "highlight/highlight_internal.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "support/compat/compat.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(skipidx_highlight);

/* A passage: words `first` to `last` of a text. */
typedef struct SkxHighlightPassage
{
	uint32		first;
	uint32		last;
} SkxHighlightPassage;

/* Arguments of skipidx_highlight(). */
typedef struct SkxHighlightOptions
{
	text	   *start_mark;
	text	   *stop_mark;
	text	   *separator;
	int			max_words;
	int			max_passages;
} SkxHighlightOptions;

/* ---- the choice of passages ---- */

/*
 * Adds the passage around the window from word `first` to word `last` to n
 * passages, which are in the order of the text.  It has up to t->passage_words
 * words, as many before the window as after it if possible, and does not
 * overlap other passages.  Returns the index of the new passage.
 */
static int
skx_highlight_add_passage(const SkxHighlightText *t,
						  SkxHighlightPassage *passages, int n, uint32 first,
						  uint32 last)
{
	uint32		from = 0;
	uint32		to = t->nwords - 1;
	uint32		spare = t->passage_words - (last - first + 1);
	uint32		before;
	int			place = 0;

	while (place < n && passages[place].last < first)
		from = passages[place++].last + 1;
	if (place < n)
		to = passages[place].first - 1;
	before = Min(spare / 2, first - from);
	if (to - last < spare - before)
		before = Min(spare - (to - last), first - from);
	memmove(&passages[place + 1], &passages[place],
			sizeof(SkxHighlightPassage) * (n - place));
	passages[place].first = first - before;
	passages[place].last = last + Min(spare - before, to - last);
	return place;
}

/*
 * Sets t->best to the best window outside of the n passages.  Returns false if
 * there is none.
 */
static bool
skx_highlight_next_window(SkxHighlightText *t,
						  const SkxHighlightPassage *passages, int n)
{
	int			place = 0;
	int			i;

	t->best.last = -1;
	skx_highlight_window_clear(t, 0);
	for (i = 0; i < t->nmatches; i++)
	{
		uint32		word = t->matches[i].word;

		CHECK_FOR_INTERRUPTS();
		if (place < n && word >= passages[place].first)
		{
			skx_highlight_window_clear(t, i + 1);
			if (word <= passages[place].last)
				continue;
			t->first = i;
			while (place < n && word > passages[place].last)
				place++;
			if (place < n && word >= passages[place].first)
			{
				t->first = i + 1;
				continue;
			}
		}
		skx_highlight_window_add(t, i);
	}
	return t->best.last >= 0;
}

/*
 * Finds the best passages, `most` at most, in the order of the text, and
 * returns how many.  If no window has a match, the only passage is the start
 * of the text.
 */
static int
skx_highlight_passages(SkxHighlightText *t, SkxHighlightPassage *passages,
					   int most)
{
	int			n = 0;

	if (t->nwords == 0)
		return 0;
	if (t->best.last < 0)
	{
		passages[0].first = 0;
		passages[0].last = Min(t->passage_words, t->nwords) - 1;
		return 1;
	}
	do
	{
		(void) skx_highlight_add_passage(t, passages, n,
										 t->matches[t->best.first].word,
										 t->matches[t->best.last].word);
		n++;
	} while (n < most && skx_highlight_next_window(t, passages, n));
	return n;
}

/* ---- output of passages ---- */

/* Returns true if the next match is a part of match number i. */
static bool
skx_highlight_has_next(const SkxHighlightText *t, int i)
{
	const SkxHighlightMatch *m = &t->matches[i];

	return i + 1 < t->nmatches && m[1].start < m->end && m[1].end <= m->end;
}

/*
 * Returns true if the next match begins in match number i, and ends behind it,
 * but not behind `to`.
 */
static bool
skx_highlight_overlaps_next(const SkxHighlightText *t, int i, uint32 to)
{
	const SkxHighlightMatch *m = &t->matches[i];

	return i + 1 < t->nmatches && m[1].start < m->end && m[1].end > m->end &&
		m[1].end <= to;
}

/*
 * Appends the bytes of the text from `from` to `to`, with marks around the
 * matches.  If a match has other matches in it, as a compound word has its
 * parts, only these are marked.  Matches that overlap, as bigrams do, are
 * marked as one.
 */
static void
skx_highlight_put_text(StringInfo out, const SkxHighlightText *t,
					   const SkxHighlightOptions *o, uint32 from, uint32 to)
{
	int			low = 0;
	int			high = t->nmatches;
	uint32		at = from;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (t->matches[middle].start < from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < t->nmatches && t->matches[low].end <= to; low++)
	{
		uint32		start = t->matches[low].start;

		CHECK_FOR_INTERRUPTS();
		if (start < at || skx_highlight_has_next(t, low))
			continue;
		while (skx_highlight_overlaps_next(t, low, to))
			low++;
		appendBinaryStringInfo(out, t->bytes + at, start - at);
		appendBinaryStringInfo(out, VARDATA_ANY(o->start_mark),
							   VARSIZE_ANY_EXHDR(o->start_mark));
		at = t->matches[low].end;
		appendBinaryStringInfo(out, t->bytes + start, at - start);
		appendBinaryStringInfo(out, VARDATA_ANY(o->stop_mark),
							   VARSIZE_ANY_EXHDR(o->stop_mark));
	}
	appendBinaryStringInfo(out, t->bytes + at, to - at);
}

static bool
skx_highlight_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/*
 * Appends a passage.  It begins and ends with the punctuation that touches its
 * first and last word, but has no part of a tag there.
 */
static void
skx_highlight_put_passage(StringInfo out, const SkxHighlightText *t,
						  const SkxHighlightOptions *o,
						  const SkxHighlightPassage *p)
{
	uint32		from = t->words[p->first].start;
	uint32		to = t->words[p->last].end;
	uint32		least = p->first == 0 ? 0 : t->words[p->first - 1].end;
	uint32		most = p->last + 1 == t->nwords ? t->len :
		t->words[p->last + 1].start;

	while (from > least && !skx_highlight_is_space(t->bytes[from - 1]) &&
		   t->bytes[from - 1] != '>')
		from--;
	while (to < most && !skx_highlight_is_space(t->bytes[to]) &&
		   t->bytes[to] != '<')
		to++;
	skx_highlight_put_text(out, t, o, from, to);
}

static void
skx_highlight_result(StringInfo out, SkxHighlightText *t,
					 const SkxHighlightOptions *o)
{
	SkxHighlightPassage *passages;
	int			n;
	int			i;

	if (t->passage_words == 0)
	{
		skx_highlight_put_text(out, t, o, 0, t->len);
		return;
	}
	passages = palloc(sizeof(SkxHighlightPassage) * (o->max_passages + 1));
	n = skx_highlight_passages(t, passages, o->max_passages);
	for (i = 0; i < n; i++)
	{
		SkxHighlightPassage p = passages[i];

		/* passages without words between them become one */
		while (i + 1 < n && passages[i + 1].first == p.last + 1)
			p.last = passages[++i].last;
		skx_highlight_put_passage(out, t, o, &p);
		if (i + 1 < n)
			appendBinaryStringInfo(out, VARDATA_ANY(o->separator),
								   VARSIZE_ANY_EXHDR(o->separator));
	}
}

/* ---- the function ---- */

static void
skx_highlight_check_arguments(const char *name, int value, int least, int most)
{
	if (value < least || value > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between %d and %d", name, least, most)));
}

Datum
skipidx_highlight(PG_FUNCTION_ARGS)
{
	text	   *document = PG_GETARG_TEXT_PP(1);
	TSQuery		query = PG_GETARG_TSQUERY(2);
	SkxHighlightOptions o;
	SkxHighlightText t = {0};
	SkxHighlight *kept;
	StringInfoData out;

	o.start_mark = PG_GETARG_TEXT_PP(3);
	o.stop_mark = PG_GETARG_TEXT_PP(4);
	o.max_words = PG_GETARG_INT32(5);
	o.max_passages = PG_GETARG_INT32(6);
	o.separator = PG_GETARG_TEXT_PP(7);
	skx_highlight_check_arguments("max_words", o.max_words, 0,
								  SKX_HIGHLIGHT_WORDS_MAX);
	skx_highlight_check_arguments("max_passages", o.max_passages, 1,
								  SKX_HIGHLIGHT_PASSAGES_MAX);
	/* after an error, no incomplete state must be in fn_extra */
	kept = fcinfo->flinfo->fn_extra;
	fcinfo->flinfo->fn_extra = NULL;
	t.highlight = skx_highlight_get_state(kept, fcinfo->flinfo->fn_mcxt,
										  PG_GETARG_OID(0), query);
	fcinfo->flinfo->fn_extra = t.highlight;
	t.bytes = VARDATA_ANY(document);
	t.len = VARSIZE_ANY_EXHDR(document);
	t.passage_words = o.max_words;
	t.highlight->marks_only = t.passage_words == 0;
	t.stops_early = o.max_passages == 1;
	if (t.passage_words > 0 && t.len > SKX_HIGHLIGHT_BYTES_MAX)
		t.len = pg_mbcliplen(t.bytes, t.len, SKX_HIGHLIGHT_BYTES_MAX);
	t.best.last = -1;
	t.counts =
		palloc_extended(sizeof(int) * ((Size) t.highlight->query->nwords + 1),
						MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	skx_highlight_read_text(&t);
	initStringInfo(&out);
	skx_highlight_result(&out, &t, &o);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}
