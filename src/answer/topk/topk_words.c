/*
 * topk_words.c
 *	  Relates the words of the ranking query to the filter.
 */
#include "postgres.h"

#include "answer/topk/topk_words.h"
#include "miscadmin.h"

/*
 * Returns the term of a lexeme, or NULL. Searches the terms from number `low`
 * to `high` of the scorer, which ascend: its words, or its prefixes.
 */
static const SkxScoreTerm *
skx_topk_term_of(const SkxScorer *scorer, int low, int high,
				 const SkxLexeme *lexeme)
{
	CHECK_FOR_INTERRUPTS();
	while (low <= high)
	{
		int			middle = low + (high - low) / 2;
		const SkxScoreTerm *term = &scorer->terms[middle];
		SkxLexeme	word = {term->lexeme, term->len};
		int			cmp = skx_column_compare_lexeme(&word, lexeme);

		if (cmp == 0)
			return term;
		if (cmp < 0)
			low = middle + 1;
		else
			high = middle - 1;
	}
	return NULL;
}

static bool
skx_topk_is_lexeme(const SkxScoreTerm *term, const SkxLexeme *lexeme)
{
	SkxLexeme	word = {term->lexeme, term->len};

	return skx_column_compare_lexeme(&word, lexeme) == 0;
}

/*
 * Returns how many of the scored words a required lexeme is: those that have
 * any labels or exactly `labels`.  They are several if it is in groups.
 */
static int
skx_topk_nwords(const SkxTopk *topk, const SkxQueryRequired *required,
				uint8 labels)
{
	const SkxScorer *scorer = topk->scorer;
	int			nfilter;
	const SkxLexeme *lexeme = skx_query_lexemes(topk->request.filter,
												&nfilter) + required->lexeme;
	const SkxScoreTerm *term = skx_topk_term_of(scorer, 0, scorer->nplain - 1,
												lexeme);
	int			n = 0;

	if (term == NULL)
		return 0;
	while (term > scorer->terms && skx_topk_is_lexeme(term - 1, lexeme))
		term--;
	for (; term < scorer->terms + scorer->nplain &&
		 skx_topk_is_lexeme(term, lexeme); term++)
		n += term->labels == 0 || term->labels == labels;
	return n;
}

int
skx_topk_compare_prefixes(const void *a, const void *b)
{
	const SkxQueryWord *x = a;
	const SkxQueryWord *y = b;
	SkxLexeme	first = {x->lexeme, x->len};
	SkxLexeme	second = {y->lexeme, y->len};
	int			cmp = skx_column_compare_lexeme(&first, &second);

	CHECK_FOR_INTERRUPTS();
	return cmp != 0 ? cmp : (int) x->labels - (int) y->labels;
}

/* split.prefixes ascend. */
bool
skx_topk_requires_prefix(const SkxTopk *topk, const SkxScoreTerm *scored)
{
	SkxQueryWord key = {0};

	key.lexeme = scored->lexeme;
	key.len = scored->len;
	key.labels = scored->labels;
	return topk->split_filter.nprefixes > 0 &&
		bsearch(&key, topk->split_filter.prefixes,
				topk->split_filter.nprefixes, sizeof(SkxQueryWord),
				skx_topk_compare_prefixes) != NULL;
}

/*
 * Relates the words to a filter that is a disjunction.  If it has all of the
 * words, each document with a word matches.
 */
static void
skx_topk_relate_disjunction(SkxTopk *topk)
{
	const SkxScorer *scorer = topk->scorer;
	int			found = 0;
	int			scored = 0;
	int			prefixes = 0;
	int			i;

	for (i = 0; i < topk->split_filter.nrequired; i++)
	{
		int			n = skx_topk_nwords(topk, &topk->split_filter.required[i],
										0);

		found += n;
		scored += n > 0;
	}
	for (i = scorer->nplain; i < scorer->nterms; i++)
		prefixes += skx_topk_requires_prefix(topk, &scorer->terms[i]);
	topk->words_match = found + prefixes == scorer->nterms;
	topk->scored_only = scored == topk->split_filter.nrequired;
	topk->split_filter.nrequired = 0;
	topk->split_filter.nprefixes = 0;
}

/*
 * Returns the ranked words, ascending and each once.  Terms of the scorer
 * ascend, too, but repeat a word that is in several groups.
 */
static SkxLexeme *
skx_topk_ranked_words(const SkxScorer *scorer, int *nwords)
{
	SkxLexeme  *words = palloc_extended(sizeof(SkxLexeme) *
										((Size) scorer->nplain + 1),
										MCXT_ALLOC_HUGE);
	int			n = 0;
	int			i;

	for (i = 0; i < scorer->nplain; i++)
	{
		SkxLexeme	word = {scorer->terms[i].lexeme, scorer->terms[i].len};

		if (n == 0 || skx_column_compare_lexeme(&words[n - 1], &word) != 0)
			words[n++] = word;
	}
	*nwords = n;
	return words;
}

bool
skx_topk_filter_gathers(const SkxScorer *scorer, const SkxQuery *filter)
{
	const SkxQuery *rest;
	SkxLexeme  *words;
	int			n;

	if (!skx_query_begins_by_gathering(filter))
		return false;
	if (scorer->nplain < scorer->nterms)
		return true;
	words = skx_topk_ranked_words(scorer, &n);
	rest = skx_query_residual_of_words(filter, words, n);
	return rest != NULL && skx_query_begins_by_gathering(rest);
}

void
skx_topk_remove_words(SkxTopk *topk)
{
	const SkxScorer *scorer = topk->scorer;
	SkxLexeme  *words;
	int			n;

	topk->residual_filter = unconstify(SkxQuery *, topk->request.filter);
	if (scorer->nplain < scorer->nterms)
		return;
	words = skx_topk_ranked_words(scorer, &n);
	topk->residual_filter = skx_query_residual_of_words(topk->request.filter,
														words, n);
	if (topk->split_filter.residual != NULL)
		topk->split_filter.residual =
			skx_query_residual_of_words(topk->split_filter.residual, words, n);
}

void
skx_topk_relate_filter(SkxTopk *topk)
{
	int			i;

	if (skx_query_matches_all(topk->request.filter))
	{
		topk->words_match = true;
		return;
	}
	if (topk->split_filter.is_disjunction)
	{
		skx_topk_relate_disjunction(topk);
		return;
	}
	for (i = 0; i < topk->split_filter.nrequired; i++)
	{
		const SkxQueryRequired *r = &topk->split_filter.required[i];

		if (skx_topk_nwords(topk, r, r->labels) > 0)
			topk->scored_only = true;
	}
	if (topk->split_filter.nprefixes > 0)
		topk->scored_only = true;
	topk->threshold_is_exact = topk->scored_only &&
		topk->split_filter.nprefixes == 0 &&
		topk->split_filter.nrequired == 1 &&
		topk->split_filter.residual == NULL && topk->scorer->nterms == 1 &&
		topk->split_filter.required[0].labels == 0;
}

bool
skx_topk_ranks_prefix(const SkxQueryWord *prefix, void *arg)
{
	const SkxScorer *scorer = arg;
	SkxLexeme	lexeme = {prefix->lexeme, prefix->len};
	const SkxScoreTerm *term = skx_topk_term_of(scorer, scorer->nplain,
												scorer->nterms - 1, &lexeme);

	return term != NULL && term->labels == prefix->labels;
}
