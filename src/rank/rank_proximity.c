/*
 * rank_proximity.c
 *	  How often two words of a document stand side by side, or near.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "rank/rank_score.h"

/* Positions of a whose successor is one of b. */
static int
skx_rank_pairs_ordered(const uint16 *a, int na, const uint16 *b, int nb)
{
	int			n = 0;
	int			i = 0;
	int			j = 0;

	while (i < na && j < nb)
	{
		if (a[i] + 1 < b[j])
			i++;
		else if (a[i] + 1 > b[j])
			j++;
		else
		{
			n++;
			i++;
			j++;
		}
	}
	return n;
}

/*
 * The most pairs that can be made of near positions, each used once: of two
 * ascending lists, the first positions that are near each other are always
 * part of such a matching.
 */
static int
skx_rank_pairs_near(const uint16 *a, int na, const uint16 *b, int nb)
{
	int			n = 0;
	int			i = 0;
	int			j = 0;

	while (i < na && j < nb)
	{
		int			gap = (int) b[j] - (int) a[i];

		if (gap > SKX_RANK_NEAR)
			i++;
		else if (gap < -SKX_RANK_NEAR)
			j++;
		else
		{
			n++;
			i++;
			j++;
		}
	}
	return n;
}

void
skx_rank_pairs(const uint16 *a, int na, const uint16 *b, int nb,
			   int *ordered, int *near)
{
	*ordered = skx_rank_pairs_ordered(a, na, b, nb);
	*near = skx_rank_pairs_near(a, na, b, nb);
}
