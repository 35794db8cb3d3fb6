/*
 * rank_score.c
 *	  Weights, saturation by length, and bounds of parts of a score.
 *
 * What the parts of a score are made of is computed here in double precision,
 * once a query; rank_score.h turns it into units, once a posting.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include <math.h>

#include "format/rank/rank_score.h"

/* Shorter than any document: k1 may be zero. */
#define SKX_RANK_SATURATION_MIN		1e-9

/*
 * Longer than any document of sense: with the default k1 and b, one of 18,000
 * times the average length.  skx_rank_ceiling needs it.
 */
#define SKX_RANK_SATURATION_MAX		16384.0

/* By so much more a ceiling bounds what is computed with rounding. */
#define SKX_RANK_CEILING_SLACK		(1.0 / 256)

/* Above any tf: what the tf code 255 stands for. */
#define SKX_RANK_TF_UNBOUNDED		65535.0f

double
skx_rank_idf(uint64 df, uint64 ndocs)
{
	double		with = (double) Min(df, ndocs) + 0.5;

	return log(1.0 + ((double) ndocs - (double) Min(df, ndocs) + 0.5) / with);
}

/*
 * Of the documents without the first lexeme, `rest`, one has none of the others
 * with a probability of exp(-sum / rest), if these are spread at random.
 */
uint64
skx_rank_union(uint64 whole, uint64 sum, uint64 ndocs)
{
	double		rest;

	if (whole >= ndocs)
		return ndocs;
	rest = (double) (ndocs - whole);
	return whole +
		(uint64) rint(-expm1(-(double) (sum - whole) / rest) * rest);
}

void
skx_rank_inverse(const SkxRankOptions *options, double average,
				 float *inverse)
{
	int			norm;

	if (average <= 0)
		average = 1;
	for (norm = 0; norm <= SKX_NORM_NULL; norm++)
	{
		double		length = skx_rank_norm_decode((uint8) norm);
		double		saturation;

		saturation = options->k1 *
			(1.0 - options->b + options->b * length / average);
		saturation = Max(saturation, SKX_RANK_SATURATION_MIN);
		saturation = Min(saturation, SKX_RANK_SATURATION_MAX);
		inverse[norm] = (float) (1.0 / saturation);
	}
}

/*
 * Below SKX_RANK_SUM_MAX by 1/128: half of it is for the slack of ceilings,
 * so that bounds add up like scores; the other half, 65,536 units, for the
 * rounding of weights and the unit that each word is given.  A query of more
 * words than that may have sums above, which only share a float4.
 */
double
skx_rank_unit(double total)
{
	double		most = SKX_RANK_SUM_MAX - SKX_RANK_SUM_MAX / 128;
	double		unit = 1 << 24;

	while (total * unit > most)
		unit /= 2;
	return unit;
}

/*
 * Let x = tf * inverse, s = x / (1 + x), and u = 2^-24, by which a rounding
 * to single precision is off at most.  All parts of a document are made from
 * the same rounded 1 + x, or from a smaller one.  So what a weight W gives
 * before it is cut off to units is between W s (1 - u) (1 - u / s) and
 * W s (1 + u) (1 + u / s): the quotient is off by W u at most, the difference
 * by its own rounding.  An inverse is at least 2^-14 and tf at least 1, so that
 * u / s is at most 2^-10 (1 + 2^-14), and (1 + u) (1 + u / s) / (1 - u) /
 * (1 - u / s) below 1 + 2^-8.  Therefore the ceiling's part before the cut is
 * no smaller than the sum of the others', and after it than the sum of theirs
 * cut off one by one.
 */
float
skx_rank_ceiling(float weight, float pairs)
{
	double		total;

	if (pairs <= 0)
		return weight;
	total = (double) weight + (double) pairs * (1 + SKX_RANK_NEAR_SHARE);
	return (float) (total * (1 + SKX_RANK_CEILING_SLACK));
}

/*
 * A part grows with tf * inverse whatever the weight, so that only the largest
 * product of the four needs a division.
 */
int32
skx_rank_bound(SkxImpacts impacts, float weight, float most,
			   const float *inverse)
{
	float		x = 0;
	int			i;

	if (impacts == SKX_IMPACTS_NONE)
		return 0;
	for (i = 0; i < 4; i++)
	{
		uint8		code = (uint8) (impacts >> (16 * i));
		uint8		norm = (uint8) (impacts >> (16 * i + 8));
		float		tf = code == 255 ? SKX_RANK_TF_UNBOUNDED : code + 1.0f;
		float		product = tf * most * inverse[norm];

		x = Max(x, product);
	}
	return skx_rank_part(weight, x, 1.0f);
}

/*
 * The first of the codes [low, high) whose part with such a norm is `floor` at
 * least; high when there is none.
 */
static int
skx_rank_least_code(int low, int high, float weight, float inverse,
					int32 floor)
{
	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (skx_rank_part(weight, middle + 1.0f, inverse) < floor)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Codes past those of one pair, up to that of the next, have the norm of the
 * next one at least.
 */
uint64
skx_rank_competing(SkxImpacts impacts, float weight, const float *inverse,
				   int32 floor)
{
	uint64		none = 0;
	int			first = 0;
	int			i;

	if (impacts == SKX_IMPACTS_NONE)
		return ~none;
	for (i = 0; i < 4 && first < SKX_RANK_CODE_LAST; i++)
	{
		int			end = (uint8) (impacts >> (16 * i)) + 1;
		uint8		norm = (uint8) (impacts >> (16 * i + 8));
		int			least;

		end = Min(end, SKX_RANK_CODE_LAST);
		least = skx_rank_least_code(first, end, weight, inverse[norm], floor);
		none |= (UINT64CONST(1) << least) - (UINT64CONST(1) << first);
		first = Max(first, end);
	}
	return ~none;
}
