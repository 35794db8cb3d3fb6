/*
 * rank_parts.c
 *	  Contributions of a word in many documents, four at once.
 *
 * This uses GCC's vector extensions, which every target has; on x86-64 they
 * become SSE2.  Every operation is the one of skx_rank_part(), so the results
 * are the same to the last bit.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/rank/rank_score.h"

typedef float SkxRankFloats __attribute__((vector_size(16)));
typedef int32 SkxRankInts __attribute__((vector_size(16)));

#define SKX_RANK_VECTOR		4

void
skx_rank_parts(float weight, const float *tfs, const float *inverses, int n,
			   int32 *parts)
{
	const SkxRankFloats weights = {weight, weight, weight, weight};
	const SkxRankFloats one = {1.0f, 1.0f, 1.0f, 1.0f};
	const SkxRankInts unit = {1, 1, 1, 1};
	int			i;

	for (i = 0; i + SKX_RANK_VECTOR <= n; i += SKX_RANK_VECTOR)
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
		parts[i] = skx_rank_part(weight, tfs[i], inverses[i]);
}
