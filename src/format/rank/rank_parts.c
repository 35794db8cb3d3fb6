/*
 * rank_parts.c
 *	  Contributions of a word in many documents, four at once.
 *
 * This uses GCC's vector extensions, which every target has; on x86-64 they
 * become SSE2.  Every operation is the one of skx_rank_contribution(), so the
 * results are the same to the last bit.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/rank/rank_score.h"

typedef float SkxRankFloats __attribute__((vector_size(16)));
typedef int32 SkxRankInts __attribute__((vector_size(16)));

#define SKX_RANK_VECTOR_LANES		4

void
skx_rank_contributions(float weight, const float *tfs, const float *inverses,
					   int n, int32 *parts)
{
	const SkxRankFloats weights = {weight, weight, weight, weight};
	const SkxRankFloats one = {1.0f, 1.0f, 1.0f, 1.0f};
	const SkxRankInts unit = {1, 1, 1, 1};
	int			i;

	for (i = 0; i + SKX_RANK_VECTOR_LANES <= n; i += SKX_RANK_VECTOR_LANES)
	{
		SkxRankFloats tf;
		SkxRankFloats inverse;
		SkxRankInts part;

		memcpy(&tf, tfs + i, sizeof(tf));
		memcpy(&inverse, inverses + i, sizeof(inverse));
		part = __builtin_convertvector(weights - weights /
									   (one + tf * inverse), SkxRankInts);
		part += unit;
		memcpy(parts + i, &part, sizeof(part));
	}
	for (; i < n; i++)
		parts[i] = skx_rank_contribution(weight, tfs[i], inverses[i]);
}
