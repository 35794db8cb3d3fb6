/*
 * ranking_weigh.c
 *	  The weights of words and pairs.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/ranking/ranking.h"

/*
 * Returns the df of a term among ndocs documents.  A prefix without lexemes
 * has a sum of 0.
 */
static uint64
skx_ranking_df(const SkxRankingTerm *term, uint64 ndocs)
{
	uint64		df = term->sum;

	if (term->prefix && term->only == NULL)
		df = skx_rank_union_df(term->whole, term->sum, ndocs);
	return Min(df, ndocs);
}

/*
 * What one occurrence of a word or group weighs.  It is not in units yet, and
 * neither are the weights below.
 */
static double
skx_ranking_once_weight(const SkxRanking *ranking, int side)
{
	if (side < 0)
		return ranking->groups[-side - 1].factor *
			ranking->groups[-side - 1].idf;
	return ranking->terms[side].factor * ranking->terms[side].idf;
}

static double
skx_ranking_group_weight(const SkxRanking *ranking, int group)
{
	return ranking->groups[group - 1].count *
		skx_ranking_once_weight(ranking, -group);
}

static double
skx_ranking_word_weight(const SkxRanking *ranking, int term)
{
	const SkxRankingTerm *t = &ranking->terms[term];

	if (t->group != 0)
		return t->factor * skx_ranking_group_weight(ranking, t->group);
	return t->count * skx_ranking_once_weight(ranking, term);
}

static double
skx_ranking_pair_weight(const SkxRanking *ranking, const SkxRankingPair *pair)
{
	double		first = skx_ranking_once_weight(ranking, pair->first);
	double		second = skx_ranking_once_weight(ranking, pair->second);

	return ranking->options.proximity * Min(first, second);
}

static double
skx_ranking_side_idf(const SkxRanking *ranking, int side)
{
	return side < 0 ? ranking->groups[-side - 1].idf :
		ranking->terms[side].idf;
}

/*
 * Returns the side of a pair whose ceiling bounds the pair's contribution,
 * too: the rarer one, or the later of two that are equally rare.  Most
 * documents with the other word do not have the pair.  Compared with the
 * weight of the rarer word, the pair adds little.
 *
 * Of a group, each word has that ceiling.  The frequency of a group in a pair
 * is at most the sum of those of its words, and what a sum contributes is not
 * above the sum of what its parts do.
 */
static int
skx_ranking_rarer(const SkxRanking *ranking, const SkxRankingPair *pair)
{
	double		first = skx_ranking_side_idf(ranking, pair->first);
	double		second = skx_ranking_side_idf(ranking, pair->second);

	if (first != second)
		return first > second ? pair->first : pair->second;
	return Max(pair->first, pair->second);
}

/*
 * Sets the idf of groups and of their words: that of the most frequent of the
 * words that were asked for; of a group without such ones, of all of its words.
 * If no document has one that was asked for, it is that of the most frequent of
 * all, but `as_asked` keeps the idf of a word that no document has.
 */
static void
skx_ranking_weigh_groups(SkxRanking *ranking, bool as_asked)
{
	uint64		asked[SKX_RANKING_GROUPS_MAX] = {0};
	uint64		all[SKX_RANKING_GROUPS_MAX] = {0};
	bool		is_asked[SKX_RANKING_GROUPS_MAX] = {false};
	int			i;

	for (i = 0; i < ranking->nterms; i++)
	{
		const SkxRankingTerm *term = &ranking->terms[i];
		int			at = term->group - 1;

		if (at < 0)
			continue;
		all[at] = Max(all[at], term->df);
		if (term->is_exact)
		{
			asked[at] = Max(asked[at], term->df);
			is_asked[at] = as_asked || term->df > 0 || is_asked[at];
		}
	}
	for (i = 0; i < ranking->ngroups; i++)
		ranking->groups[i].idf =
			skx_rank_idf(is_asked[i] ? asked[i] : all[i], ranking->ndocs);
	for (i = 0; i < ranking->nterms; i++)
	{
		SkxRankingTerm *term = &ranking->terms[i];

		if (term->group != 0)
			term->idf = ranking->groups[term->group - 1].idf;
	}
}

/*
 * Returns the sum of the weights that the words have which were asked for, and
 * sets df and idf.  It is not below the sum of all weights, and the same with
 * groups as for the query without them.  So a score does not change by its last
 * bit where a group has nothing to add.
 */
static double
skx_ranking_total(SkxRanking *ranking)
{
	double		total = 0;
	int			i;

	for (i = 0; i < ranking->nterms; i++)
	{
		SkxRankingTerm *term = &ranking->terms[i];

		term->df = skx_ranking_df(term, ranking->ndocs);
		if (term->group == 0)
		{
			term->idf = skx_rank_idf(term->df, ranking->ndocs);
			total += skx_ranking_word_weight(ranking, i);
		}
	}
	if (ranking->ngroups > 0)
		skx_ranking_weigh_groups(ranking, true);
	for (i = 1; i <= ranking->ngroups; i++)
		total += skx_ranking_group_weight(ranking, i);
	for (i = 0; i < ranking->npairs; i++)
		total += skx_ranking_pair_weight(ranking, &ranking->pairs[i]) *
			(1 + SKX_RANK_NEAR_FRACTION);
	if (ranking->ngroups > 0)
		skx_ranking_weigh_groups(ranking, false);
	return total;
}

/* Adds the weight of a pair to the ceilings that bound it. */
static void
skx_ranking_raise_ceilings(SkxRanking *ranking, const SkxRankingPair *pair)
{
	int			side = skx_ranking_rarer(ranking, pair);
	int			i;

	if (side >= 0)
	{
		ranking->terms[side].ceiling += pair->weight;
		return;
	}
	for (i = 0; i < ranking->nterms; i++)
	{
		if (ranking->terms[i].group == -side)
			ranking->terms[i].ceiling += pair->weight;
	}
}

double
skx_ranking_weigh(SkxRanking *ranking)
{
	double		unit = skx_rank_score_units(skx_ranking_total(ranking));
	int			i;

	for (i = 0; i < ranking->nterms; i++)
	{
		SkxRankingTerm *term = &ranking->terms[i];

		term->weight = (float) (skx_ranking_word_weight(ranking, i) * unit);
		term->ceiling = 0;
	}
	for (i = 0; i < ranking->npairs; i++)
	{
		SkxRankingPair *pair = &ranking->pairs[i];

		pair->weight = (float) (skx_ranking_pair_weight(ranking, pair) * unit);
		skx_ranking_raise_ceilings(ranking, pair);
	}
	for (i = 0; i < ranking->nterms; i++)
	{
		SkxRankingTerm *term = &ranking->terms[i];

		term->ceiling = skx_rank_ceiling(term->weight, term->ceiling);
	}
	return unit;
}
