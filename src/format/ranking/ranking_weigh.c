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

/* What a word, and one occurrence of it, weigh.  They are not in units yet. */
static double
skx_ranking_once_weight(const SkxRankingTerm *term)
{
	return term->factor * term->idf;
}

static double
skx_ranking_word_weight(const SkxRankingTerm *term)
{
	return term->count * skx_ranking_once_weight(term);
}

static double
skx_ranking_pair_weight(const SkxRanking *ranking, const SkxRankingPair *pair)
{
	double		first = skx_ranking_once_weight(&ranking->terms[pair->first]);
	double		second = skx_ranking_once_weight(&ranking->terms[pair->second]);

	return ranking->options.proximity * Min(first, second);
}

/*
 * Returns the word of a pair whose ceiling bounds the pair's contribution,
 * too: the rarer one, or the later of two that are equally rare.  Most
 * documents with the other word do not have the pair.  Compared with the
 * weight of the rarer word, the pair adds little.
 */
static int
skx_ranking_rarer(const SkxRanking *ranking, const SkxRankingPair *pair)
{
	double		first = ranking->terms[pair->first].idf;
	double		second = ranking->terms[pair->second].idf;

	if (first != second)
		return first > second ? pair->first : pair->second;
	return Max(pair->first, pair->second);
}

/* Returns the sum of all weights, and sets df and idf. */
static double
skx_ranking_total(SkxRanking *ranking)
{
	double		total = 0;
	int			i;

	for (i = 0; i < ranking->nterms; i++)
	{
		SkxRankingTerm *term = &ranking->terms[i];

		term->df = skx_ranking_df(term, ranking->ndocs);
		term->idf = skx_rank_idf(term->df, ranking->ndocs);
		total += skx_ranking_word_weight(term);
	}
	for (i = 0; i < ranking->npairs; i++)
		total += skx_ranking_pair_weight(ranking, &ranking->pairs[i]) *
			(1 + SKX_RANK_NEAR_FRACTION);
	return total;
}

double
skx_ranking_weigh(SkxRanking *ranking)
{
	double		unit = skx_rank_score_units(skx_ranking_total(ranking));
	int			i;

	for (i = 0; i < ranking->nterms; i++)
	{
		SkxRankingTerm *term = &ranking->terms[i];

		term->weight = (float) (skx_ranking_word_weight(term) * unit);
		term->ceiling = 0;
	}
	for (i = 0; i < ranking->npairs; i++)
	{
		SkxRankingPair *pair = &ranking->pairs[i];

		pair->weight = (float) (skx_ranking_pair_weight(ranking, pair) * unit);
		ranking->terms[skx_ranking_rarer(ranking, pair)].ceiling +=
			pair->weight;
	}
	for (i = 0; i < ranking->nterms; i++)
	{
		SkxRankingTerm *term = &ranking->terms[i];

		term->ceiling = skx_rank_ceiling(term->weight, term->ceiling);
	}
	return unit;
}
