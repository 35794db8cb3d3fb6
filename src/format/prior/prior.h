/*
 * prior.h
 *	  What a row's values add to its rank, whatever the query: how recent it
 *	  is, how popular, how near.
 *
 * Each function returns a number from 0 on that never falls, or never rises,
 * when its value grows, to the last bit.  So what it returns for a bound of
 * values bounds what it returns for them.  The functions are computed by
 * operations that IEEE 754 defines to the last bit, so every machine has the
 * same ones.
 */
#ifndef SKX_PRIOR_H
#define SKX_PRIOR_H

/* Least decay: what it multiplies keeps its order and never becomes zero. */
#define SKX_PRIOR_DECAY_MIN		(1.0 / (UINT64CONST(1) << 60))

/* Largest magnitude of a weight. */
#define SKX_PRIOR_WEIGHT_MAX	1e30

/*
 * Returns 2^-x, in [0, 1], within 1e-10 of its value and exact where x is a
 * whole number.  x below 0 counts as 0; x may be infinite, but not NaN.
 */
extern double skx_prior_halvings(double x);

/*
 * Returns ln(1 + x) within 1e-10 of its value.  x below 0 counts as 0, and
 * infinity as the largest finite number; x is not NaN.
 */
extern double skx_prior_log1p(double x);

/*
 * Returns x / (x + pivot), in [0, 1].  x below 0 counts as 0, and may be
 * infinite, but not NaN.  pivot is above 0 and finite.
 */
extern double skx_prior_saturation(double x, double pivot);

/*
 * Returns scale / (scale + x), in [0, 1], for a distance x: from 0 on, it may
 * be infinite, but not NaN.  scale is above 0 and finite.
 */
extern double skx_prior_nearness(double x, double scale);

/*
 * Returns minus weight times a number that one of the others returned: what it
 * adds to a distance.  It is rounded to float, and never -0.  It is finite if
 * the weight's magnitude is at most SKX_PRIOR_WEIGHT_MAX.
 */
extern float skx_prior_distance(double weight, double number);

#endif							/* SKX_PRIOR_H */
