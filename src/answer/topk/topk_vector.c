/*
 * topk_vector.c
 *	  Loops in which a search spends its time, on four numbers at once.
 *
 * They use GCC's vector extensions, which every target has.  On x86-64 these
 * become SSE2.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"

typedef int32 SkxVectorInt __attribute__((vector_size(16)));

#define SKX_VECTOR			4

int
skx_topk_keep_above(uint32 *docs, int32 *sums, int n, int32 limit)
{
	const SkxVectorInt below = {limit - 1, limit - 1, limit - 1, limit - 1};
	int			kept = 0;
	int			i;
	int			k;

	for (i = 0; i < n; i = k)
	{
		if (i + SKX_VECTOR <= n)
		{
			SkxVectorInt sum;
			uint64		any[2];

			memcpy(&sum, sums + i, sizeof(sum));
			sum = sum > below;
			memcpy(any, &sum, sizeof(any));
			if ((any[0] | any[1]) == 0)
			{
				k = i + SKX_VECTOR;
				continue;
			}
		}
		for (k = i; k < Min(i + SKX_VECTOR, n); k++)
		{
			docs[kept] = docs[k];
			sums[kept] = sums[k];
			kept += sums[k] >= limit;
		}
	}
	return kept;
}

void
skx_topk_copy_tfs(const uint16 *tf, int n, float *tfs)
{
	typedef uint16 SkxVectorShort __attribute__((vector_size(8)));
	typedef float SkxVectorFloat __attribute__((vector_size(16)));
	int			i;

	for (i = 0; i + SKX_VECTOR <= n; i += SKX_VECTOR)
	{
		SkxVectorShort some;
		SkxVectorInt wide;
		SkxVectorFloat counts;

		memcpy(&some, tf + i, sizeof(some));
		wide = __builtin_convertvector(some, SkxVectorInt);
		wide -= wide == 0;
		counts = __builtin_convertvector(wide, SkxVectorFloat);
		memcpy(tfs + i, &counts, sizeof(counts));
	}
	for (; i < n; i++)
		tfs[i] = (float) (tf[i] + (tf[i] == 0));
}

/* Number of sums that are tested together for one that is large enough. */
#define SKX_VECTOR_SUMS		16

int
skx_topk_collect_above(const int32 *from_sums, int n, uint32 from, int32 limit,
					   uint32 *docs, int32 *sums)
{
	const SkxVectorInt below = {limit - 1, limit - 1, limit - 1, limit - 1};
	int			kept = 0;
	int			i;
	int			k;

	for (i = 0; i < n; i = k)
	{
		k = Min(i + SKX_VECTOR_SUMS, n);
		if (k == i + SKX_VECTOR_SUMS)
		{
			SkxVectorInt any = {0, 0, 0, 0};
			uint64		bits[2];

			for (; i < k; i += SKX_VECTOR)
			{
				SkxVectorInt sum;

				memcpy(&sum, from_sums + i, sizeof(sum));
				any |= sum > below;
			}
			memcpy(bits, &any, sizeof(bits));
			if ((bits[0] | bits[1]) == 0)
				continue;
			i -= SKX_VECTOR_SUMS;
		}
		for (; i < k; i++)
		{
			docs[kept] = from + i;
			sums[kept] = from_sums[i];
			kept += from_sums[i] >= limit;
		}
	}
	return kept;
}

static inline SkxVectorInt
skx_vector_load(const void *from)
{
	SkxVectorInt lanes;

	memcpy(&lanes, from, sizeof(lanes));
	return lanes;
}

/* Returns true if a lane of a comparison is true. */
static inline bool
skx_vector_has_any(SkxVectorInt lanes)
{
	uint64		bits[2];

	memcpy(bits, &lanes, sizeof(bits));
	return (bits[0] | bits[1]) != 0;
}

/* Number of slots that are tested together for one that is large enough. */
#define SKX_VECTOR_SLOTS	32

int
skx_topk_collect_slots(uint32 *slots, int n, uint32 from, int32 limit,
					   uint32 *docs, uint32 *found)
{
	const int32 least = limit << SKX_TOPK_SLOT_SUM_SHIFT;
	const SkxVectorInt below = {least - 1, least - 1, least - 1, least - 1};
	int			kept = 0;
	int			i;
	int			k;

	for (i = 0; i < n; i += SKX_VECTOR_SLOTS)
	{
		const uint32 *some = slots + i;

		if (skx_vector_has_any((skx_vector_load(some) > below) |
							   (skx_vector_load(some + 4) > below) |
							   (skx_vector_load(some + 8) > below) |
							   (skx_vector_load(some + 12) > below) |
							   (skx_vector_load(some + 16) > below) |
							   (skx_vector_load(some + 20) > below) |
							   (skx_vector_load(some + 24) > below) |
							   (skx_vector_load(some + 28) > below)))
			for (k = 0; k < SKX_VECTOR_SLOTS; k++)
				if ((int32) some[k] >= least)
				{
					docs[kept] = from + i + k;
					found[kept++] = some[k];
				}
		memset(slots + i, 0, sizeof(uint32) * SKX_VECTOR_SLOTS);
	}
	return kept;
}
