/*
 * rank_score.c
 *	  Weights, saturation by length, and bounds of contributions to a score.
 *
 * These are the factors of BM25: idf, and k1 (1 - b + b length / average).
 * They are computed here in double precision, once per query.
 * skx_rank_contribution() in rank_score.h makes units of them and of a tf,
 * once per posting.
 *
 * Logarithm and exponential function are computed here, by + - * / alone.
 * Those of C libraries differ in their last bit.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/rank/rank_score.h"
#include "support/bitset/bitset.h"

/*
 * Least saturation, below that of any document; needed since k1 may be zero.
 */
#define SKX_RANK_SATURATION_MIN		1e-9

/*
 * Largest saturation.  With the default k1 and b it is that of a document with
 * 18,000 times the average length. skx_rank_ceiling() needs a limit.
 */
#define SKX_RANK_SATURATION_MAX		16384.0

/* Relative slack of a ceiling for the rounding of what it bounds. */
#define SKX_RANK_CEILING_SLACK		(1.0 / 256)

/* The tf that tf code 255 stands for in bounds, above any possible one. */
#define SKX_RANK_TF_UNBOUNDED		65535.0f

/*
 * ln 2 in two parts.  The first has 21 trailing zero bits, so that its product
 * with an exponent is exact.
 */
#define SKX_RANK_LN2_HIGH	6.93147180369123816490e-01
#define SKX_RANK_LN2_LOW	1.90821492927058770002e-10

#define SKX_RANK_SQRT2		1.41421356237309504880

/*
 * x is 2^e (1 + f), where 1 + f is between the roots of 1/2 and 2.  With s = f
 * / (2 + f), ln(1 + f) is 2 (s + s^3 / 3 + s^5 / 5 + ...).  The part f - f^2 /
 * 2 of it is taken out, since f is exact.
 */
double
skx_rank_log(double x)
{
	uint64		bits;
	double		f;
	double		s;
	double		z;
	double		rest = 0;
	double		square;
	double		e;
	int			i;

	memcpy(&bits, &x, sizeof(bits));
	e = (double) (int) (bits >> 52) - 1023;
	bits = (bits & ((UINT64CONST(1) << 52) - 1)) | (UINT64CONST(1023) << 52);
	memcpy(&f, &bits, sizeof(f));
	if (f > SKX_RANK_SQRT2)
	{
		f /= 2;
		e += 1;
	}
	f -= 1;
	s = f / (2 + f);
	z = s * s;
	for (i = 21; i >= 3; i -= 2)
		rest = z * (2.0 / i + rest);
	square = f * f / 2;
	return e * SKX_RANK_LN2_HIGH -
		((square - (s * (square + rest) + e * SKX_RANK_LN2_LOW)) - f);
}

double
skx_rank_idf(uint64 df, uint64 ndocs)
{
	double		with = (double) Min(df, ndocs) + 0.5;

	return skx_rank_log(1.0 + ((double) ndocs - (double) Min(df, ndocs) +
							   0.5) / with);
}

/*
 * skx_rank_growth() computes its series for x divided by 2 to this power, and
 * then doubles the exponent so many times.
 */
#define SKX_RANK_EXP_DOUBLINGS	6

/*
 * Returns e^x - 1 for x from 0 to 64.  The series is that for x / 64, without
 * the 1, so that nothing cancels out where x is small.  If g is its value for
 * some x, g (g + 2) is that for 2 x.  No step subtracts, and each is correctly
 * rounded, so that the result never falls when x grows.
 */
static double
skx_rank_growth(double x)
{
	double		growth = 0;
	int			i;

	x /= 1 << SKX_RANK_EXP_DOUBLINGS;
	for (i = 20; i > 0; i--)
		growth = (1 + growth) * x / i;
	for (i = 0; i < SKX_RANK_EXP_DOUBLINGS; i++)
		growth = growth * (growth + 2);
	return growth;
}

/*
 * Let `rest` be the number of documents without the lexeme that is counted
 * exactly.  If the other lexemes are spread over these at random, one of them
 * has none with a probability of exp(-x), x = (sum - whole) / rest.  1 -
 * exp(-x) is 1 / (1 + 1 / growth), whose steps never fall either.
 */
uint64
skx_rank_union_df(uint64 whole, uint64 sum, uint64 ndocs)
{
	uint64		most;
	double		rest;
	double		x;

	if (whole >= ndocs)
		return ndocs;
	if (sum <= whole)
		return whole;
	most = Min(sum - whole, ndocs - whole);
	rest = (double) (ndocs - whole);
	x = (double) (sum - whole) / rest;
	if (x >= 1 << SKX_RANK_EXP_DOUBLINGS)
		return ndocs;
	rest = rest / (1 + 1 / skx_rank_growth(x)) + 0.5;
	return whole + Min((uint64) rest, most);
}

float
skx_rank_norm_inverse(const SkxRankOptions *options, double average,
					  uint8 norm)
{
	double		length = skx_rank_norm_decode(norm);
	double		saturation;

	if (average <= 0)
		average = 1;
	saturation = options->k1 *
		(1.0 - options->b + options->b * length / average);
	saturation = Max(saturation, SKX_RANK_SATURATION_MIN);
	saturation = Min(saturation, SKX_RANK_SATURATION_MAX);
	return (float) (1.0 / saturation);
}

void
skx_rank_norm_inverses(const SkxRankOptions *options, double average,
					   float *inverse)
{
	int			norm;

	for (norm = 0; norm <= SKX_NORM_NULL; norm++)
		inverse[norm] = skx_rank_norm_inverse(options, average, (uint8) norm);
}

/*
 * The sum stays below SKX_RANK_SUM_MAX by 1/128.  Half of that is for the
 * slack of ceilings, so that bounds can be added like scores.  The other half,
 * 65,536 units, is for the rounding of weights and the unit that each word is
 * given.  A query of more words may have larger sums; then different sums may
 * have the same float4.
 */
double
skx_rank_score_units(double total)
{
	double		most = SKX_RANK_SUM_MAX - SKX_RANK_SUM_MAX / 128;
	double		unit = 1 << 24;

	while (total * unit > most)
		unit /= 2;
	return unit;
}

/*
 * Let x = tf * inverse, s = x / (1 + x), and u = 2^-24, the largest relative
 * error of a rounding to single precision.  All contributions of a document
 * are computed from the same rounded 1 + x, or from a smaller one.  So before
 * it is cut off to units, the contribution for a weight W is between W s (1 -
 * u) (1 - u / s) and W s (1 + u) (1 + u / s): the error of the quotient is at
 * most W u, and the difference has its own rounding.
 *
 * An inverse is at least 2^-14 and tf at least 1, so u / s is at most 2^-10 (1
 * + 2^-14).  Therefore (1 + u) (1 + u / s) / (1 - u) / (1 - u / s) is below 1
 * + 2^-8.  It follows that before the cut the contribution of the ceiling is
 * no smaller than the sum of the others.  After the cut it is no smaller than
 * the sum of the others, each cut off by itself.
 */
float
skx_rank_ceiling(float weight, float pairs)
{
	double		total;

	if (pairs <= 0)
		return weight;
	total = (double) weight + (double) pairs * (1 + SKX_RANK_NEAR_FRACTION);
	return (float) (total * (1 + SKX_RANK_CEILING_SLACK));
}

/*
 * A contribution grows with tf * inverse whatever the weight, so only the
 * largest of the four products needs a division.
 */
int32
skx_rank_bound(SkxImpacts impacts, float weight, float most,
			   const float *inverse)
{
	float		x = 0;
	int			i;

	if (impacts == SKX_IMPACTS_NONE)
		return 0;
	for (i = 0; i < SKX_IMPACT_PAIRS; i++)
	{
		uint8		code = (uint8) (impacts >> (16 * i));
		uint8		norm = skx_rank_impact_norm(impacts, i);
		float		tf = code == 255 ? SKX_RANK_TF_UNBOUNDED : code + 1.0f;
		float		product = tf * most * inverse[norm];

		x = Max(x, product);
	}
	return skx_rank_contribution(weight, x, 1.0f);
}

/*
 * Returns the first of the codes [low, high) whose contribution with such a
 * norm is at least `floor`, or high if there is none.
 */
static int
skx_rank_min_tf_code(int low, int high, float weight, float inverse,
					 int32 floor)
{
	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (skx_rank_contribution(weight, middle + 1.0f, inverse) < floor)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * A tf code above that of one pair, up to that of the next, has at least the
 * norm of the next pair.
 */
uint64
skx_rank_competing_codes(SkxImpacts impacts, float weight,
						 const float *inverse, int32 floor)
{
	uint64		none = 0;
	int			first = 0;
	int			i;

	if (impacts == SKX_IMPACTS_NONE)
		return ~none;
	for (i = 0; i < 4 && first < SKX_RANK_TF_CODE_LAST; i++)
	{
		int			end = (uint8) (impacts >> (16 * i)) + 1;
		uint8		norm = (uint8) (impacts >> (16 * i + 8));
		int			least;

		end = Min(end, SKX_RANK_TF_CODE_LAST);
		least = skx_rank_min_tf_code(first, end, weight, inverse[norm], floor);
		none |= skx_bitset_mask_bit(least) - skx_bitset_mask_bit(first);
		first = Max(first, end);
	}
	return ~none;
}
