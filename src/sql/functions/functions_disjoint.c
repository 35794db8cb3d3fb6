/*
 * functions_disjoint.c
 *	  Arrays without a common element.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/fmgrprotos.h"

PG_FUNCTION_INFO_V1(skipidx_disjoint);

/* NOT (a && b), by the same call. */
Datum
skipidx_disjoint(PG_FUNCTION_ARGS)
{
	bool		overlap = DatumGetBool(arrayoverlap(fcinfo));

	PG_RETURN_BOOL(!overlap);
}
