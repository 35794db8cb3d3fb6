/*
 * test_topk_sort.c
 *	  Sorting numbers with what belongs to them: the order, and that what is
 *	  equal stays in the order that it had, for few and for many.
 *
 * Holds: topk 1
 */
#include "unit.h"
#include "server.h"

#include "miscadmin.h"
#include "answer/topk/topk_sort.h"

#define SORT_MOST	40000

volatile sig_atomic_t InterruptPending;

void
ProcessInterrupts(void)
{
}

static uint32 arrays[4][SORT_MOST];

/* As qsort has it, of keys with the places that they had. */
static int
compare(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	return x < y ? -1 : x > y;
}

static void
sort(int n, uint32 most)
{
	static uint64 wanted[SORT_MOST];
	SkxTopkSortPairs pairs = {n, arrays[0], arrays[1]};
	SkxTopkSortPairs spare = {n, arrays[2], arrays[3]};
	bool		same = true;
	int			i;

	for (i = 0; i < n; i++)
	{
		uint32		key = most == 0 ? 0 : unit_random() % ((uint64) most + 1);

		pairs.keys[i] = key;
		pairs.values[i] = i;
		wanted[i] = (uint64) key << 32 | i;
	}
	qsort(wanted, n, sizeof(uint64), compare);
	skx_topk_sort(&pairs, &spare, most);
	CHECK(pairs.n == n);
	CHECK(pairs.keys != spare.keys && pairs.values != spare.values);
	for (i = 0; i < n; i++)
		same &= wanted[i] == ((uint64) pairs.keys[i] << 32 | pairs.values[i]);
	CHECK(same);
}

int
main(void)
{
	static const int sizes[] = {0, 1, 2, 31, 32, 33, 34, 1000, 16383, 16384,
	SORT_MOST};
	static const uint32 mosts[] = {0, 1, 2, 255, 256, 2047, 2048, 65535,
	1000000, PG_INT32_MAX, PG_UINT32_MAX};
	int			i;
	int			k;

	for (i = 0; i < lengthof(sizes); i++)
		for (k = 0; k < lengthof(mosts); k++)
			sort(sizes[i], mosts[k]);
	for (i = 0; i < UNIT_CASES(2000); i++)
		sort(unit_below(300), unit_random() >> (32 + unit_below(32)));
	return unit_done("test_topk_sort");
}
