/*
 * bitset_list.c
 *	  Lists the bits that are set.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "support/bitset/bitset.h"

/*
 * If few bits are set, most words have one bit or none.  The first bit of a
 * word is therefore taken without a branch.
 */
int
skx_bitset_list(const uint64 *words, uint32 nwords, uint32 *w, uint32 first,
				uint32 *docs, int most)
{
	int			n = 0;
	uint32		i = *w;

	for (; i < nwords && n <= most - SKX_BITSET_BITS; i++)
	{
		uint32		base = first + i * SKX_BITSET_BITS;
		uint64		word = words[i];
		uint64		some = word | skx_bitset_mask_bit(SKX_BITSET_BITS - 1);

		docs[n] = base + skx_bitset_pop_lowest(&some);
		n += word != 0;
		for (word &= word - 1; word != 0;)
			docs[n++] = base + skx_bitset_pop_lowest(&word);
	}
	*w = i;
	return n;
}
