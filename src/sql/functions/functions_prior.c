/*
 * functions_prior.c
 *	  SQL functions of a row's values that are added to the distance of its
 *	  words, or multiplied with it: recency, popularity, nearness, boosts.
 */
#include "postgres.h"

#include <math.h>

#include "datatype/timestamp.h"
#include "fmgr.h"
#include "format/prior/prior.h"
#include "sql/functions/functions_internal.h"
#include "support/compat/compat.h"
#include "utils/date.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(skipidx_recency);
PG_FUNCTION_INFO_V1(skipidx_recency_date);
PG_FUNCTION_INFO_V1(skipidx_decay);
PG_FUNCTION_INFO_V1(skipidx_decay_date);
PG_FUNCTION_INFO_V1(skipidx_near);
PG_FUNCTION_INFO_V1(skipidx_near_time);
PG_FUNCTION_INFO_V1(skipidx_near_date);
PG_FUNCTION_INFO_V1(skipidx_saturation);
PG_FUNCTION_INFO_V1(skipidx_log1p);
PG_FUNCTION_INFO_V1(skipidx_boost);

/* Returns seconds since the server's epoch; infinity for an infinite one. */
typedef double (*SkxPriorSeconds) (Datum instant);

static double
skx_prior_seconds(Datum instant)
{
	Timestamp	t = DatumGetTimestamp(instant);

	if (TIMESTAMP_IS_NOBEGIN(t))
		return -INFINITY;
	return TIMESTAMP_IS_NOEND(t) ? INFINITY : (double) t / USECS_PER_SEC;
}

static double
skx_prior_date_seconds(Datum instant)
{
	DateADT		d = DatumGetDateADT(instant);

	if (DATE_IS_NOBEGIN(d))
		return -INFINITY;
	return DATE_IS_NOEND(d) ? INFINITY : (double) d * SECS_PER_DAY;
}

/* Returns a number that must be above zero and finite. */
static double
skx_prior_positive(double number, const char *name)
{
	if (!(number > 0) || isinf(number))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be above zero and finite", name)));
	return number;
}

static double
skx_prior_positive_arg(FunctionCallInfo fcinfo, int argument, const char *name)
{
	return skx_prior_positive(DatumGetFloat8(skx_functions_required_arg(fcinfo,
																		argument,
																		name)),
							  name);
}

/*
 * Returns the seconds of an interval as extract(epoch) has them.  The parts of
 * an infinite one are the largest numbers that there are.
 */
static double
skx_prior_interval_arg(FunctionCallInfo fcinfo, int argument, const char *name)
{
	Interval   *span = DatumGetIntervalP(skx_functions_required_arg(fcinfo,
																	argument,
																	name));
	double		seconds = (double) span->time / USECS_PER_SEC;

	seconds += (double) span->day * SECS_PER_DAY;
	seconds += span->month / MONTHS_PER_YEAR * (DAYS_PER_YEAR * SECS_PER_DAY);
	seconds += (double) (span->month % MONTHS_PER_YEAR) *
		(DAYS_PER_MONTH * SECS_PER_DAY);
	if (skx_compat_interval_is_infinite(span))
		seconds = INFINITY;
	return skx_prior_positive(seconds, name);
}

static double
skx_prior_weight_arg(FunctionCallInfo fcinfo, int argument)
{
	double		weight = DatumGetFloat8(skx_functions_required_arg(fcinfo,
																   argument,
																   "weight"));

	if (!(fabs(weight) <= SKX_PRIOR_WEIGHT_MAX))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("weight must be between %g and %g",
						-SKX_PRIOR_WEIGHT_MAX, SKX_PRIOR_WEIGHT_MAX)));
	return weight;
}

/*
 * Returns by how much an instant is before the one of the last argument, which
 * must be finite, in half-lives: 0 if it is not before.  The half-life is the
 * second argument.
 */
static double
skx_prior_half_lives(FunctionCallInfo fcinfo, SkxPriorSeconds seconds)
{
	double		half_life = skx_prior_interval_arg(fcinfo, 1, "half_life");
	double		as_of = seconds(skx_functions_required_arg(fcinfo, 3, "as_of"));

	if (isinf(as_of))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("as_of must be finite")));
	return PG_ARGISNULL(0) ? 0 :
		Max(as_of - seconds(PG_GETARG_DATUM(0)), 0) / half_life;
}

static Datum
skx_prior_recency(FunctionCallInfo fcinfo, SkxPriorSeconds seconds)
{
	double		half_lives = skx_prior_half_lives(fcinfo, seconds);
	double		weight = skx_prior_weight_arg(fcinfo, 2);

	if (PG_ARGISNULL(0))
		PG_RETURN_FLOAT4(0);
	PG_RETURN_FLOAT4(skx_prior_distance(weight,
										skx_prior_halvings(half_lives)));
}

Datum
skipidx_recency(PG_FUNCTION_ARGS)
{
	return skx_prior_recency(fcinfo, skx_prior_seconds);
}

Datum
skipidx_recency_date(PG_FUNCTION_ARGS)
{
	return skx_prior_recency(fcinfo, skx_prior_date_seconds);
}

static Datum
skx_prior_decay(FunctionCallInfo fcinfo, SkxPriorSeconds seconds)
{
	double		half_lives = skx_prior_half_lives(fcinfo, seconds);
	double		least = DatumGetFloat8(skx_functions_required_arg(fcinfo, 2,
																  "floor"));

	if (!(least >= 0 && least <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("floor must be between 0 and 1")));
	least = Max(least, SKX_PRIOR_DECAY_MIN);
	PG_RETURN_FLOAT4((float) Max(skx_prior_halvings(half_lives), least));
}

Datum
skipidx_decay(PG_FUNCTION_ARGS)
{
	return skx_prior_decay(fcinfo, skx_prior_seconds);
}

Datum
skipidx_decay_date(PG_FUNCTION_ARGS)
{
	return skx_prior_decay(fcinfo, skx_prior_date_seconds);
}

/*
 * Returns what nearness adds.  `value` is NULL or NaN for a row without one;
 * `origin` must be finite.
 */
static Datum
skx_prior_near(FunctionCallInfo fcinfo, double value, double origin,
			   double scale)
{
	double		weight = skx_prior_weight_arg(fcinfo, 3);

	if (!isfinite(origin))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("origin must be finite")));
	if (PG_ARGISNULL(0) || isnan(value))
		PG_RETURN_FLOAT4(0);
	PG_RETURN_FLOAT4(skx_prior_distance(weight,
										skx_prior_nearness(fabs(value - origin),
														   scale)));
}

Datum
skipidx_near(PG_FUNCTION_ARGS)
{
	return skx_prior_near(fcinfo,
						  PG_ARGISNULL(0) ? 0 : PG_GETARG_FLOAT8(0),
						  DatumGetFloat8(skx_functions_required_arg(fcinfo, 1,
																	"origin")),
						  skx_prior_positive_arg(fcinfo, 2, "scale"));
}

static Datum
skx_prior_near_instant(FunctionCallInfo fcinfo, SkxPriorSeconds seconds)
{
	return skx_prior_near(fcinfo,
						  PG_ARGISNULL(0) ? 0 : seconds(PG_GETARG_DATUM(0)),
						  seconds(skx_functions_required_arg(fcinfo, 1,
															 "origin")),
						  skx_prior_interval_arg(fcinfo, 2, "scale"));
}

Datum
skipidx_near_time(PG_FUNCTION_ARGS)
{
	return skx_prior_near_instant(fcinfo, skx_prior_seconds);
}

Datum
skipidx_near_date(PG_FUNCTION_ARGS)
{
	return skx_prior_near_instant(fcinfo, skx_prior_date_seconds);
}

Datum
skipidx_saturation(PG_FUNCTION_ARGS)
{
	double		pivot = skx_prior_positive_arg(fcinfo, 1, "pivot");
	double		weight = skx_prior_weight_arg(fcinfo, 2);

	if (PG_ARGISNULL(0) || isnan(PG_GETARG_FLOAT8(0)))
		PG_RETURN_FLOAT4(0);
	PG_RETURN_FLOAT4(skx_prior_distance(weight,
										skx_prior_saturation(PG_GETARG_FLOAT8(0),
															 pivot)));
}

Datum
skipidx_log1p(PG_FUNCTION_ARGS)
{
	double		weight = skx_prior_weight_arg(fcinfo, 1);

	if (PG_ARGISNULL(0) || isnan(PG_GETARG_FLOAT8(0)))
		PG_RETURN_FLOAT4(0);
	PG_RETURN_FLOAT4(skx_prior_distance(weight,
										skx_prior_log1p(PG_GETARG_FLOAT8(0))));
}

Datum
skipidx_boost(PG_FUNCTION_ARGS)
{
	double		weight = skx_prior_weight_arg(fcinfo, 1);
	bool		boosted = !PG_ARGISNULL(0) && PG_GETARG_BOOL(0);

	PG_RETURN_FLOAT4(skx_prior_distance(weight, boosted ? 1 : 0));
}
