/*
 * bitset_range.c
 *	  Sets and clears ranges of bits.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "support/bitset/bitset.h"

void
skx_bitset_set_range(uint64 *words, uint32 from, uint32 to)
{
	uint32		first = from / SKX_BITSET_BITS;
	uint32		last = to / SKX_BITSET_BITS;

	if (from >= to)
		return;
	if (first == last)
	{
		words[first] |= skx_bitset_mask_below(to) &
			~skx_bitset_mask_below(from);
		return;
	}
	words[first] |= ~skx_bitset_mask_below(from);
	memset(words + first + 1, 0xFF, sizeof(uint64) * (last - first - 1));
	if (to % SKX_BITSET_BITS != 0)
		words[last] |= skx_bitset_mask_below(to);
}

void
skx_bitset_clear_range(uint64 *words, uint32 from, uint32 to)
{
	uint32		first = from / SKX_BITSET_BITS;
	uint32		last = to / SKX_BITSET_BITS;

	if (from >= to)
		return;
	if (first == last)
	{
		words[first] &= ~skx_bitset_mask_below(to) |
			skx_bitset_mask_below(from);
		return;
	}
	words[first] &= skx_bitset_mask_below(from);
	memset(words + first + 1, 0, sizeof(uint64) * (last - first - 1));
	if (to % SKX_BITSET_BITS != 0)
		words[last] &= ~skx_bitset_mask_below(to);
}
