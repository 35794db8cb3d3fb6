/*
 * topk_sort.c
 *	  A stable radix sort of pairs of numbers.
 *
 * It sorts by some bits of the keys at a time, from the low bits to the high
 * ones.  Pairs with equal keys keep their order, and keys are not compared.  A
 * few pairs are sorted by insertion.
 */
#include "postgres.h"

#include "answer/topk/topk_sort.h"
#include "miscadmin.h"

/* Largest number of pairs that are sorted by insertion. */
#define SKX_SORT_INSERTION_MAX		32

/*
 * Number of bits of a pass: the larger one for at least SKX_SORT_MANY_PAIRS
 * pairs, which are eight for each value of these bits.
 */
#define SKX_SORT_RADIX_BITS		8
#define SKX_SORT_RADIX_BITS_MAX	11
#define SKX_SORT_MANY_PAIRS		(1 << (SKX_SORT_RADIX_BITS_MAX + 3))

/* Number of pairs between two checks for interrupts. */
#define SKX_SORT_INTERRUPT_PAIRS		65536

static void
skx_topk_sort_insertion(SkxTopkSortPairs *p)
{
	uint32		i;

	for (i = 1; i < p->n; i++)
	{
		uint32		key = p->keys[i];
		uint32		value = p->values[i];
		uint32		k = i;

		for (; k > 0 && p->keys[k - 1] > key; k--)
		{
			p->keys[k] = p->keys[k - 1];
			p->values[k] = p->values[k - 1];
		}
		p->keys[k] = key;
		p->values[k] = value;
	}
}

/*
 * Sets places to the index at which the first pair with each value of the bits
 * goes.
 */
static void
skx_topk_sort_offsets(const SkxTopkSortPairs *p, int shift, int nvalues,
					  uint32 *places)
{
	const uint32 *keys = p->keys;
	uint32		place = 0;
	uint32		i = 0;
	int			k;

	memset(places, 0, sizeof(uint32) * nvalues);
	while (i < p->n)
	{
		uint32		end = Min(p->n - i, SKX_SORT_INTERRUPT_PAIRS) + i;

		CHECK_FOR_INTERRUPTS();
		for (; i < end; i++)
			places[(keys[i] >> shift) & (nvalues - 1)]++;
	}
	for (k = 0; k < nvalues; k++)
	{
		uint32		n = places[k];

		places[k] = place;
		place += n;
	}
}

static void
skx_topk_sort_pass(const SkxTopkSortPairs *p, const SkxTopkSortPairs *sorted,
				   int shift, int bits)
{
	uint32		places[1 << SKX_SORT_RADIX_BITS_MAX];
	const uint32 *restrict keys = p->keys;
	const uint32 *restrict values = p->values;
	uint32	   *restrict sorted_keys = sorted->keys;
	uint32	   *restrict sorted_values = sorted->values;
	uint32		mask = (1 << bits) - 1;
	uint32		i = 0;

	skx_topk_sort_offsets(p, shift, 1 << bits, places);
	while (i < p->n)
	{
		uint32		end = Min(p->n - i, SKX_SORT_INTERRUPT_PAIRS) + i;

		CHECK_FOR_INTERRUPTS();
		for (; i < end; i++)
		{
			uint32		place = places[(keys[i] >> shift) & mask]++;

			sorted_keys[place] = keys[i];
			sorted_values[place] = values[i];
		}
	}
}

void
skx_topk_sort(SkxTopkSortPairs *pairs, SkxTopkSortPairs *spare, uint32 most)
{
	int			bits = pairs->n < SKX_SORT_MANY_PAIRS ? SKX_SORT_RADIX_BITS :
		SKX_SORT_RADIX_BITS_MAX;
	int			shift;

	if (pairs->n <= SKX_SORT_INSERTION_MAX)
	{
		skx_topk_sort_insertion(pairs);
		return;
	}
	for (shift = 0; shift < 32 && most >> shift > 0; shift += bits)
	{
		SkxTopkSortPairs sorted = *spare;

		sorted.n = pairs->n;
		skx_topk_sort_pass(pairs, &sorted, shift, bits);
		*spare = *pairs;
		*pairs = sorted;
	}
}
