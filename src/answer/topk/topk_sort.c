/*
 * topk_sort.c
 *	  Numbers with what belongs to them, in their order.
 *
 * From the low bits to the high ones, some at a time: what is equal stays in
 * the order that it came in, and nothing is compared.  A few are inserted one
 * after the other.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"
#include "miscadmin.h"

/* So few are inserted. */
#define SKX_SORT_FEW		32

/* Bits of a pass: of more numbers than have an eighth of the values, more. */
#define SKX_SORT_BITS		8
#define SKX_SORT_BITS_MOST	11
#define SKX_SORT_MANY		(1 << (SKX_SORT_BITS_MOST + 3))

/* Numbers between two looks for an interrupt. */
#define SKX_SORT_SOME		65536

static void
skx_topk_sort_few(SkxTopkPairs *p)
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

/* Where the first number with each value of some bits goes. */
static void
skx_topk_sort_places(const SkxTopkPairs *p, int shift, int nvalues,
					 uint32 *places)
{
	const uint32 *keys = p->keys;
	uint32		place = 0;
	uint32		i = 0;
	int			k;

	memset(places, 0, sizeof(uint32) * nvalues);
	while (i < p->n)
	{
		uint32		end = Min(p->n - i, SKX_SORT_SOME) + i;

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
skx_topk_sort_pass(const SkxTopkPairs *p, const SkxTopkPairs *sorted,
				   int shift, int bits)
{
	uint32		places[1 << SKX_SORT_BITS_MOST];
	const uint32 *restrict keys = p->keys;
	const uint32 *restrict values = p->values;
	uint32	   *restrict sorted_keys = sorted->keys;
	uint32	   *restrict sorted_values = sorted->values;
	uint32		mask = (1 << bits) - 1;
	uint32		i = 0;

	skx_topk_sort_places(p, shift, 1 << bits, places);
	while (i < p->n)
	{
		uint32		end = Min(p->n - i, SKX_SORT_SOME) + i;

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
skx_topk_sort(SkxTopkPairs *pairs, SkxTopkPairs *spare, uint32 most)
{
	int			bits = pairs->n < SKX_SORT_MANY ? SKX_SORT_BITS :
		SKX_SORT_BITS_MOST;
	int			shift;

	if (pairs->n <= SKX_SORT_FEW)
	{
		skx_topk_sort_few(pairs);
		return;
	}
	for (shift = 0; shift < 32 && most >> shift > 0; shift += bits)
	{
		SkxTopkPairs sorted = *spare;

		sorted.n = pairs->n;
		skx_topk_sort_pass(pairs, &sorted, shift, bits);
		*spare = *pairs;
		*pairs = sorted;
	}
}
