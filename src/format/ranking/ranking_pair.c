/*
 * ranking_pair.c
 *	  Which words of groups count in a pair.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/ranking/ranking.h"

/*
 * A word that is in no group was asked for.  One that was goes before any
 * factor, which is 1 at most.
 */
static double
skx_ranking_standing(const SkxRankingTerm *term)
{
	return term->group == 0 || term->is_exact ? 2 : term->factor;
}

/*
 * Returns the standing of a lexeme on a side of a pair, or 0 if it is not
 * there.
 */
static double
skx_ranking_side_standing(const SkxRanking *ranking, int side,
						  const SkxRankingTerm *lexeme)
{
	int			i = side < 0 ? 0 : side;
	int			end = side < 0 ? ranking->nterms : side + 1;

	for (; i < end; i++)
	{
		const SkxRankingTerm *term = &ranking->terms[i];

		if (term->group == (side < 0 ? -side : 0) && !term->prefix &&
			term->len == lexeme->len &&
			memcmp(term->lexeme, lexeme->lexeme, term->len) == 0)
			return skx_ranking_standing(term);
	}
	return 0;
}

/*
 * So a pair of the groups {cat, cats} and {cats, cat}, with the first words
 * asked for, is the pair of cat and cats.
 */
bool
skx_ranking_pair_counts(const SkxRanking *ranking, const SkxRankingPair *pair,
						int term, bool is_second)
{
	const SkxRankingTerm *lexeme = &ranking->terms[term];
	int			other = is_second ? pair->first : pair->second;

	return skx_ranking_side_standing(ranking, other, lexeme) <
		skx_ranking_standing(lexeme);
}
