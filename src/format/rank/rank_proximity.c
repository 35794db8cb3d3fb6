/*
 * rank_proximity.c
 *	  Counts how often two words of a document are adjacent or near.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/rank/rank_score.h"

/*
 * Returns the largest number of disjoint pairs whose gap, position of b minus
 * position of a, is in [low, high].  Matching greedily is optimal: in two
 * ascending lists, the first two positions that form a pair are part of some
 * largest matching.
 */
static int
skx_rank_count_pairs_within(const uint16 *a, int na, const uint16 *b, int nb,
							int low, int high)
{
	int			n = 0;
	int			i = 0;
	int			j = 0;

	while (i < na && j < nb)
	{
		int			gap = (int) b[j] - (int) a[i];

		if (gap > high)
			i++;
		else if (gap < low)
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
skx_rank_count_pairs(const uint16 *a, int na, const uint16 *b, int nb,
					 int *ordered, int *near)
{
	*ordered = skx_rank_count_pairs_within(a, na, b, nb, 1, 1);
	*near = skx_rank_count_pairs_within(a, na, b, nb, -SKX_RANK_NEAR_DISTANCE,
										SKX_RANK_NEAR_DISTANCE);
}
