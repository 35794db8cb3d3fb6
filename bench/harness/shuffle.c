/*
 * shuffle.c
 *	  Numbers in an order that looks random, without a table of them.
 */
#include "shuffle.h"

void
shuffle_start(Shuffle *shuffle, uint64_t count, uint64_t seed)
{
	int			bits = 1;

	while (((uint64_t) 1 << bits) < count)
		bits++;
	shuffle->count = count;
	shuffle->mask = ((uint64_t) 1 << bits) - 1;
	shuffle->shift = (bits + 1) / 2;
	shuffle->state = (seed * UINT64_C(0x9E3779B97F4A7C15)) & shuffle->mask;
	shuffle->left = shuffle->mask + 1;
}

bool
shuffle_next(Shuffle *shuffle, uint64_t *number)
{
	while (shuffle->left > 0)
	{
		shuffle->left--;
		/* Full period: the factor is 1 modulo 4, the summand odd. */
		shuffle->state = (shuffle->state * UINT64_C(6364136223846793005) +
						  UINT64_C(1442695040888963407)) & shuffle->mask;
		*number = shuffle->state ^ (shuffle->state >> shuffle->shift);
		if (*number < shuffle->count)
			return true;
	}
	return false;
}
