/*
 * functions_disjoint.c
 *	  Operator of arrays that have no common element.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/fmgrprotos.h"

PG_FUNCTION_INFO_V1(skipidx_disjoint);

/* Returns NOT (a && b), with the arguments of the same call. */
Datum
skipidx_disjoint(PG_FUNCTION_ARGS)
{
	bool		overlap = DatumGetBool(arrayoverlap(fcinfo));

	PG_RETURN_BOOL(!overlap);
}
