/*
 * prior.c
 *	  Numbers by which values of a row add to its rank.
 *
 * A sum or a product of several rounded operations could fall by a last bit
 * where it should grow.  So arguments are made coarser first: by a step that
 * changes the result by more than all rounding errors.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include <float.h>
#include <math.h>

#include "format/prior/prior.h"
#include "format/rank/rank_score.h"

/*
 * A step of x in 2^-x.  Its relative change is 1e-11; that of rounding errors
 * is below 1e-15.
 */
#define SKX_PRIOR_STEP			(1.0 / (UINT64CONST(1) << 36))

/* Below 2^-1000 nothing is left of a float. */
#define SKX_PRIOR_HALVINGS_MAX	1000.0

/* Low bits of a fraction of 52 that ln(1 + x) does not look at. */
#define SKX_PRIOR_LOG_BITS		16

#define SKX_PRIOR_LN2			0.69314718055994530942

/* Terms of the series for 2^-f, f <= 1: the next one is below 2^-60. */
#define SKX_PRIOR_EXP_TERMS		20

/* Largest odd power of the series for ln(1 + x), x < 1. */
#define SKX_PRIOR_LOG_POWER		33

/* Returns 2^-n for n up to 1000. */
static double
skx_prior_power(int n)
{
	uint64		bits = (uint64) (1023 - n) << 52;
	double		power;

	memcpy(&power, &bits, sizeof(power));
	return power;
}

double
skx_prior_halvings(double x)
{
	double		whole;
	double		t;
	double		sum = 1;
	int			i;

	if (!(x > 0))
		return 1;
	if (x >= SKX_PRIOR_HALVINGS_MAX)
		return 0;
	whole = floor(x);
	t = -floor((x - whole) / SKX_PRIOR_STEP) * SKX_PRIOR_STEP * SKX_PRIOR_LN2;
	for (i = SKX_PRIOR_EXP_TERMS; i > 0; i--)
		sum = 1 + sum * t / i;
	return sum * skx_prior_power((int) whole);
}

/* Returns x, not negative and finite, rounded down to 36 bits of fraction. */
static double
skx_prior_coarse(double x)
{
	uint64		bits;

	memcpy(&bits, &x, sizeof(bits));
	bits &= ~((UINT64CONST(1) << SKX_PRIOR_LOG_BITS) - 1);
	memcpy(&x, &bits, sizeof(bits));
	return x;
}

/*
 * For x below 1, with s = x / (2 + x), ln(1 + x) is 2 (s + s^3 / 3 + s^5 / 5 +
 * ...).  For others 1 + x is exact enough.
 */
double
skx_prior_log1p(double x)
{
	double		s;
	double		z;
	double		rest = 0;
	int			i;

	if (!(x > 0))
		return 0;
	x = skx_prior_coarse(Min(x, DBL_MAX));
	if (x >= 1)
		return skx_rank_log(1 + x);
	s = x / (2 + x);
	z = s * s;
	for (i = SKX_PRIOR_LOG_POWER; i >= 3; i -= 2)
		rest = z * (1.0 / i + rest);
	return 2 * s * (1 + rest);
}

/* Each operation is monotone by itself, as x stands in one place only. */
double
skx_prior_saturation(double x, double pivot)
{
	return x > 0 ? 1 / (1 + pivot / x) : 0;
}

double
skx_prior_nearness(double x, double scale)
{
	return 1 / (1 + x / scale);
}

float
skx_prior_distance(double weight, double number)
{
	float		distance = (float) -(weight * number);

	return distance == 0 ? 0 : distance;
}
