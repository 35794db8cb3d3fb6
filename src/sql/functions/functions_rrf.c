/*
 * functions_rrf.c
 *	  skipidx_rrf(): an aggregate that adds up the reciprocals of a row's
 *	  places in several rankings.
 *
 * The state is the sum in units of 2^-44.  Sums of integers are the same in
 * any order, so rows with the same places come out alike in every plan.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "common/int.h"
#include "sql/functions/functions_internal.h"

PG_FUNCTION_INFO_V1(skipidx_rrf_add);
PG_FUNCTION_INFO_V1(skipidx_rrf_combine);
PG_FUNCTION_INFO_V1(skipidx_rrf_sum);

#define SKX_RRF_BITS		44
#define SKX_RRF_DEFAULT_K	60.0

static int64
skx_functions_add_parts(int64 a, int64 b)
{
	int64		sum;

	if (pg_add_s64_overflow(a, b, &sum))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("sum of places is out of range")));
	return sum;
}

Datum
skipidx_rrf_add(PG_FUNCTION_ARGS)
{
	int64		sum = PG_GETARG_INT64(0);
	double		k = PG_NARGS() < 3 ? SKX_RRF_DEFAULT_K :
		DatumGetFloat8(skx_functions_required_arg(fcinfo, 2, "k"));
	int64		place;

	if (!(k > 0) || isinf(k))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k must be positive")));
	if (PG_ARGISNULL(1))
		PG_RETURN_INT64(sum);
	place = PG_GETARG_INT64(1);
	if (place < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("places in a ranking begin at 1")));
	PG_RETURN_INT64(skx_functions_add_parts(sum, (int64)
											rint(ldexp(1.0 / (k + place),
													   SKX_RRF_BITS))));
}

Datum
skipidx_rrf_combine(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(skx_functions_add_parts(PG_GETARG_INT64(0),
											PG_GETARG_INT64(1)));
}

Datum
skipidx_rrf_sum(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(ldexp((double) PG_GETARG_INT64(0), -SKX_RRF_BITS));
}
