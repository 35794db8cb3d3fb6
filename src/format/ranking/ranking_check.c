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
	if (cmp == 0)
		cmp = a->len - b->len;
	return cmp != 0 ? cmp : a->group - b->group;
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

	int			k;

	for (i = 0; i < ranking->npairs; i++)
	{
		int			sides[2] = {ranking->pairs[i].first, ranking->pairs[i].second};

		for (k = 0; k < 2; k++)
		{
			const SkxRankingTerm *term = sides[k] < 0 ? NULL :
				&ranking->terms[sides[k]];

			names->lexeme[i][k] = term == NULL ? NULL : term->lexeme;
			names->len[i][k] = term == NULL ? 0 : term->len;
		}
	}
}

/* Returns the number of a word in no group; -1 if there is none. */
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
	int			k;

	qsort(ranking->terms, ranking->nterms, sizeof(SkxRankingTerm),
		  skx_ranking_compare_terms);
	for (i = 0; i < ranking->npairs; i++)
	{
		int		   *sides[2] = {&ranking->pairs[i].first, &ranking->pairs[i].second};

		for (k = 0; k < 2; k++)
		{
			if (names->lexeme[i][k] == NULL)
				continue;
			*sides[k] = skx_ranking_find(ranking, names->lexeme[i][k],
										 names->len[i][k]);
			if (*sides[k] < 0)
				return false;
		}
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
	if (term->group != 0 &&
		(term->prefix || term->count != 1 || term->factor <= 0 ||
		 term->factor > 1))
		return "In a group, a word is no prefix, has no times, and a factor above 0 up to 1.";
	if (term->is_exact && (term->group == 0 || term->factor != 1))
		return "An exact word is in a group, and has no factor.";
	if (term->prefix)
		return skx_ranking_check_prefix(term, ndocs);
	if (term->whole != 0 || term->only != NULL)
		return "Only prefixes have whole and only.";
	return term->sum <= ndocs ? NULL : "df must not exceed documents.";
}

/* Checks that groups have words, not too many. */
static const char *
skx_ranking_check_groups(const SkxRanking *ranking)
{
	int			words[SKX_RANKING_GROUPS_MAX] = {0};
	int			total = 0;
	int			i;

	if (ranking->ngroups < 0 || ranking->ngroups > SKX_RANKING_GROUPS_MAX)
		return "There are 256 groups at most.";
	for (i = 0; i < ranking->nterms; i++)
	{
		int			group = ranking->terms[i].group;

		if (group < 0 || group > ranking->ngroups)
			return "There is no such group.";
		if (group == 0)
			continue;
		total++;
		if (++words[group - 1] > SKX_RANKING_GROUP_WORDS_MAX)
			return "A group has 64 words at most.";
	}
	if (total > SKX_RANKING_GROUPED_WORDS_MAX)
		return "Groups have 1024 words at most in all.";
	for (i = 0; i < ranking->ngroups; i++)
	{
		const SkxRankingGroup *group = &ranking->groups[i];

		if (words[i] == 0)
			return "A group has at least one word.";
		if (group->count < 1 || group->count > SKX_RANKING_COUNT_MAX)
			return "times must be from 1 to 255.";
		if (!skx_ranking_is_within(group->factor, SKX_RANKING_LIMIT))
			return "factor must be from 0 to 100.";
	}
	return NULL;
}

/* Returns true if there is such a group, or word that is no prefix. */
static bool
skx_ranking_is_side(const SkxRanking *ranking, int side)
{
	if (side < 0)
		return side >= -ranking->ngroups;
	return side < ranking->nterms && !ranking->terms[side].prefix &&
		ranking->terms[side].group == 0;
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

		if (!skx_ranking_is_side(ranking, pair->first) ||
			!skx_ranking_is_side(ranking, pair->second) ||
			pair->first == pair->second)
			return "A pair is of two different words that are no prefixes, or groups.";
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
	error = skx_ranking_check_groups(ranking);
	if (error != NULL)
		return error;
	return skx_ranking_check_pairs(ranking);
}
