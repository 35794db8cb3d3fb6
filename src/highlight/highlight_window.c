/*
 * highlight_window.c
 *	  Finds the best window of matches.
 */
#include "postgres.h"

#include "highlight/highlight_internal.h"
#include "miscadmin.h"
#include "tsearch/ts_utils.h"

/* Matches `first` to `last`, in which a phrase is searched. */
typedef struct SkxHighlightRange
{
	SkxHighlightText *text;
	int			first;
	int			last;
} SkxHighlightRange;

/*
 * Adds `by` to the counts of the words of a match, and updates t->ndistinct.
 */
static void
skx_highlight_count_match(SkxHighlightText *t, int match, int by)
{
	const SkxHighlightMatch *m = &t->matches[match];
	int			i;

	for (i = 0; i < m->nids; i++)
	{
		int		   *count = &t->counts[m->ids[i]];

		t->ndistinct -= *count > 0;
		*count += by;
		t->ndistinct += *count > 0;
	}
}

/*
 * Returns true if other matches of the window have all words of the query that
 * this one has.
 */
static bool
skx_highlight_match_is_redundant(const SkxHighlightText *t, int match)
{
	const SkxHighlightMatch *m = &t->matches[match];
	int			i;

	for (i = 0; i < m->nids; i++)
		if (t->counts[m->ids[i]] == 1)
			return false;
	return true;
}

/*
 * Callback of TS_execute(): finds the positions of an operand in the range.
 * They are counted from the first match of the range.
 */
static TSTernaryValue
skx_highlight_operand(void *arg, QueryOperand *operand, ExecPhraseData *data)
{
	SkxHighlightRange *r = arg;
	SkxHighlightText *t = r->text;
	const SkxHighlightQuery *q = t->highlight->query;
	int			id = q->ids[(QueryItem *) operand - GETQUERY(q->query)];
	WordEntryPos *positions;
	int			n = 0;
	int			i;
	int			k;

	t->work += r->last - r->first + 1;
	if (id < 0)
		return TS_NO;
	positions = palloc(sizeof(WordEntryPos) * (r->last - r->first + 1));
	for (i = r->first; i <= r->last; i++)
	{
		const SkxHighlightMatch *m = &t->matches[i];
		uint32		position = m->position -
			t->matches[r->first].position + 1;

		for (k = 0; k < m->nids && m->ids[k] != id; k++)
			;
		if (k == m->nids || position >= MAXENTRYPOS ||
			(n > 0 && positions[n - 1] == position))
			continue;
		positions[n++] = position;
	}
	if (data == NULL || n == 0)
	{
		pfree(positions);
		return n > 0 ? TS_YES : TS_NO;
	}
	data->npos = n;
	data->pos = positions;
	data->allocated = true;
	return TS_YES;
}

/* Returns how many phrases of the query a range of matches has. */
static int
skx_highlight_phrases(SkxHighlightText *t, int first, int last)
{
	const SkxHighlightQuery *q = t->highlight->query;
	SkxHighlightRange r = {t, first, last};
	MemoryContext old;
	int			n = 0;
	int			i;

	if (q->nphrases == 0)
		return 0;
	old = MemoryContextSwitchTo(t->highlight->scratch);
	for (i = 0; i < q->nphrases && t->work < SKX_HIGHLIGHT_WORK_MAX; i++)
		n += TS_execute(&GETQUERY(q->query)[q->phrases[i]], &r, TS_EXEC_EMPTY,
						skx_highlight_operand);
	MemoryContextSwitchTo(old);
	MemoryContextReset(t->highlight->scratch);
	return n;
}

/* Drops the first matches of a window, as long as it stays as good. */
static void
skx_highlight_shorten_window(SkxHighlightText *t, SkxHighlightWindow *w)
{
	int			from = w->first;

	while (w->first < w->last &&
		   skx_highlight_match_is_redundant(t, w->first) &&
		   skx_highlight_phrases(t, w->first + 1, w->last) == w->nphrases)
		skx_highlight_count_match(t, w->first++, -1);
	while (from < w->first)
		skx_highlight_count_match(t, from++, 1);
}

/* Returns true if window a is better than window b. */
static bool
skx_highlight_is_better(const SkxHighlightWindow *a,
						const SkxHighlightWindow *b)
{
	if (b->last < 0)
		return true;
	if (a->nphrases != b->nphrases)
		return a->nphrases > b->nphrases;
	if (a->nwords != b->nwords)
		return a->nwords > b->nwords;
	return a->nphrases == 0 && a->span < b->span;
}

void
skx_highlight_window_add(SkxHighlightText *t, int match)
{
	const SkxHighlightQuery *q = t->highlight->query;
	uint32		word = t->matches[match].word;
	SkxHighlightWindow w;

	skx_highlight_count_match(t, match, 1);
	while (word - t->matches[t->first].word >= t->passage_words)
		skx_highlight_count_match(t, t->first++, -1);
	while (q->nphrases == 0 && t->first < match &&
		   skx_highlight_match_is_redundant(t, t->first))
		skx_highlight_count_match(t, t->first++, -1);
	w.first = t->first;
	w.last = match;
	w.nwords = t->ndistinct;
	w.nphrases = q->nphrases == 0 ? 0 :
		skx_highlight_phrases(t, w.first, match);
	w.span = word - t->matches[w.first].word;
	if (skx_highlight_is_better(&w, &t->best))
	{
		if (q->nphrases > 0)
			skx_highlight_shorten_window(t, &w);
		t->best = w;
	}

	/* reads on for the passage's words, where a shorter window may follow */
	if (t->stops_early && t->max_words == 0 && w.nwords == q->nwords &&
		w.nphrases == q->nphrases)
		t->max_words = word + 2 * t->passage_words;
}

void
skx_highlight_window_clear(SkxHighlightText *t, int next)
{
	while (t->ndistinct > 0)
		skx_highlight_count_match(t, t->first++, -1);
	t->first = next;
}
