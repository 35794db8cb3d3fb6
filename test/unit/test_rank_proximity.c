/*
 * test_rank_proximity.c
 *	  Counts of neighbouring occurrences against a brute force.
 *
 * Holds: rank 1, 10
 */
#include "unit.h"
#include "format/rank/rank_score.h"

#define MOST	12

static int
draw(uint16 *positions, int most, int spread)
{
	int			n = unit_below(most + 1);
	int			at = unit_below(20);
	int			i;

	for (i = 0; i < n; i++)
	{
		positions[i] = at;
		at += 1 + unit_below(spread);
	}
	return n;
}

static int
count_ordered(const uint16 *a, int na, const uint16 *b, int nb)
{
	int			n = 0;
	int			i;
	int			j;

	for (i = 0; i < na; i++)
		for (j = 0; j < nb; j++)
			n += a[i] + 1 == b[j];
	return n;
}

/* The largest number of disjoint near pairs, by trying all. */
static int
match(const uint16 *a, int na, const uint16 *b, int nb, int i, int used)
{
	int			best;
	int			j;

	if (i == na)
		return 0;
	best = match(a, na, b, nb, i + 1, used);
	for (j = 0; j < nb; j++)
	{
		int			with;

		if ((used & (1 << j)) != 0 || abs((int) a[i] - (int) b[j]) > 8)
			continue;
		with = 1 + match(a, na, b, nb, i + 1, used | (1 << j));
		best = Max(best, with);
	}
	return best;
}

static void
check(const uint16 *a, int na, const uint16 *b, int nb)
{
	int			ordered = -1;
	int			near = -1;
	int			back_ordered;
	int			back_near;

	skx_rank_count_pairs(a, na, b, nb, &ordered, &near);
	CHECK(ordered == count_ordered(a, na, b, nb));
	CHECK(near == match(a, na, b, nb, 0, 0));
	CHECK(ordered <= near && near <= Min(na, nb));
	skx_rank_count_pairs(b, nb, a, na, &back_ordered, &back_near);
	CHECK(back_near == near);
}

static void
golden(void)
{
	static const uint16 a[] = {1, 5, 20, 16382};
	static const uint16 b[] = {2, 4, 28, 16383};
	static const uint16 c[] = {29};
	int			ordered;
	int			near;

	skx_rank_count_pairs(a, 4, b, 4, &ordered, &near);
	CHECK(ordered == 2 && near == 4);
	skx_rank_count_pairs(a + 2, 1, c, 1, &ordered, &near);
	CHECK(ordered == 0 && near == 0);
	skx_rank_count_pairs(a, 0, b, 4, &ordered, &near);
	CHECK(ordered == 0 && near == 0);
	/* side by side only in the order asked for */
	skx_rank_count_pairs(b, 1, a, 1, &ordered, &near);
	CHECK(ordered == 0 && near == 1);
}

int
main(void)
{
	uint16		a[MOST];
	uint16		b[MOST];
	int			round;

	unit_seed(12);
	golden();
	for (round = 0; round < 20000; round++)
	{
		int			spread = 1 + unit_below(20);
		int			most = round % 100 == 0 ? 7 : 5;
		int			na = draw(a, most, spread);
		int			nb = draw(b, round % 100 == 0 ? 7 : 5,
							  1 + unit_below(spread));

		check(a, na, b, nb);
	}
	return unit_done("test_rank_proximity");
}
