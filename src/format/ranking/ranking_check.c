/*
 * ranking_check.c
 *	  Which rankings are accepted, and the order of their terms.
 *
 * Scores and bounds rely on these checks and on nothing else of where numbers
 * come from.  Weights are finite and not negative for all accepted numbers.
 * skx_rank_score_units() then makes the sum of all ceilings fit.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/ranking/ranking.h"

int
skx_ranking_compare(const SkxRankingTerm *a, const SkxRankingTerm *b)
{
	int			cmp;

	if (a->prefix != b->prefix)
		return a->prefix ? 1 : -1;
	cmp = memcmp(a->lexeme, b->lexeme, Min(a->len, b->len));
	return cmp != 0 ? cmp : a->len - b->len;
}

static int
skx_ranking_compare_terms(const void *a, const void *b)
{
	return skx_ranking_compare(a, b);
}

void
skx_ranking_name(const SkxRanking *ranking, SkxRankingNames *names)
{
	int			i;

	for (i = 0; i < ranking->npairs; i++)
	{
		const SkxRankingTerm *first = &ranking->terms[ranking->pairs[i].first];
		const SkxRankingTerm *second = &ranking->terms[ranking->pairs[i].second];

		names->lexeme[i][0] = first->lexeme;
		names->len[i][0] = first->len;
		names->lexeme[i][1] = second->lexeme;
		names->len[i][1] = second->len;
	}
}

/* Returns the number of a word; -1 if there is none. */
static int
skx_ranking_find(const SkxRanking *ranking, const char *lexeme, int len)
{
	SkxRankingTerm key;
	const SkxRankingTerm *found;

	memset(&key, 0, sizeof(key));
	key.lexeme = lexeme;
	key.len = len;
	found = bsearch(&key, ranking->terms, ranking->nterms,
					sizeof(SkxRankingTerm), skx_ranking_compare_terms);
	return found == NULL ? -1 : (int) (found - ranking->terms);
}

bool
skx_ranking_sort(SkxRanking *ranking, const SkxRankingNames *names)
{
	int			i;

	qsort(ranking->terms, ranking->nterms, sizeof(SkxRankingTerm),
		  skx_ranking_compare_terms);
	for (i = 0; i < ranking->npairs; i++)
	{
		SkxRankingPair *pair = &ranking->pairs[i];

		pair->first = skx_ranking_find(ranking, names->lexeme[i][0],
									   names->len[i][0]);
		pair->second = skx_ranking_find(ranking, names->lexeme[i][1],
										names->len[i][1]);
		if (pair->first < 0 || pair->second < 0)
			return false;
	}
	return true;
}

/* The comparisons are false for NaN, which is not accepted. */
static bool
skx_ranking_is_within(double value, double limit)
{
	return value >= 0 && value <= limit;
}

static const char *
skx_ranking_check_options(const SkxRankOptions *options)
{
	int			i;

	if (!skx_ranking_is_within(options->k1, SKX_RANKING_LIMIT))
		return "k1 must be from 0 to 100.";
	if (!skx_ranking_is_within(options->b, 1))
		return "b must be from 0 to 1.";
	if (!skx_ranking_is_within(options->proximity, SKX_RANKING_LIMIT))
		return "proximity must be from 0 to 100.";
	for (i = 0; i < lengthof(options->labels); i++)
	{
		if (!skx_ranking_is_within(options->labels[i], SKX_RANKING_LIMIT))
			return "weights must be from 0 to 100.";
	}
	return NULL;
}

/* Checks the statistics of a prefix. */
static const char *
skx_ranking_check_prefix(const SkxRankingTerm *term, uint64 ndocs)
{
	bool		is_whole;

	if (term->sum >= SKX_RANKING_SUM_END)
		return "df must be below 2^62.";
	if (term->whole > Min(term->sum, ndocs))
		return "whole must not exceed df, nor documents.";
	if (term->only == NULL)
		return term->sum == term->whole && term->sum > 0 ?
			"Of a prefix with several lexemes, df must exceed whole." : NULL;
	if (term->sum == 0 || term->sum > ndocs)
		return "df must be from 1 to documents where a prefix has only one lexeme.";
	if (term->only_len < term->len || term->only_len > SKX_RANKING_LEXEME_MAX ||
		memchr(term->only, 0, term->only_len) != NULL ||
		memcmp(term->only, term->lexeme, term->len) != 0)
		return "only must be a lexeme that begins with the prefix.";
	is_whole = term->only_len == term->len;
	return term->whole == (is_whole ? term->sum : 0) ? NULL :
		"whole must be df where only is the prefix itself, and else 0.";
}

static const char *
skx_ranking_check_term(const SkxRankingTerm *term, uint64 ndocs)
{
	if (term->len < 0 || term->len > SKX_RANKING_LEXEME_MAX ||
		memchr(term->lexeme, 0, term->len) != NULL)
		return "A word has 2047 bytes at most, and none that is zero.";
	if (term->labels > 15)
		return "Labels are A, B, C and D.";
	if (term->count < 1 || term->count > SKX_RANKING_COUNT_MAX)
		return "times must be from 1 to 255.";
	if (!skx_ranking_is_within(term->factor, SKX_RANKING_LIMIT))
		return "factor must be from 0 to 100.";
	if (term->prefix)
		return skx_ranking_check_prefix(term, ndocs);
	if (term->whole != 0 || term->only != NULL)
		return "Only prefixes have whole and only.";
	return term->sum <= ndocs ? NULL : "df must not exceed documents.";
}

static const char *
skx_ranking_check_pairs(const SkxRanking *ranking)
{
	int			i;
	int			k;

	if (ranking->npairs < 0 || ranking->npairs > SKX_RANKING_PAIRS_MAX)
		return "There are 16 pairs at most.";
	for (i = 0; i < ranking->npairs; i++)
	{
		const SkxRankingPair *pair = &ranking->pairs[i];

		if (pair->first < 0 || pair->first >= ranking->nterms ||
			pair->second < 0 || pair->second >= ranking->nterms ||
			pair->first == pair->second ||
			ranking->terms[pair->first].prefix ||
			ranking->terms[pair->second].prefix)
			return "A pair is of two different words that are no prefixes.";
		for (k = 0; k < i; k++)
		{
			if (ranking->pairs[k].first == pair->first &&
				ranking->pairs[k].second == pair->second)
				return "A pair must not come twice.";
		}
	}
	return NULL;
}

const char *
skx_ranking_check(const SkxRanking *ranking)
{
	const char *error = skx_ranking_check_options(&ranking->options);
	int			i;

	if (error != NULL)
		return error;
	if (ranking->ndocs >= SKX_RANKING_NUMBER_END ||
		ranking->length >= SKX_RANKING_NUMBER_END)
		return "documents and length must be below 2^48.";
	for (i = 0; i < ranking->nterms; i++)
	{
		error = skx_ranking_check_term(&ranking->terms[i], ranking->ndocs);
		if (error != NULL)
			return error;
		if (i > 0 && skx_ranking_compare(&ranking->terms[i - 1],
										 &ranking->terms[i]) >= 0)
			return "A word must not come twice.";
	}
	return skx_ranking_check_pairs(ranking);
}
