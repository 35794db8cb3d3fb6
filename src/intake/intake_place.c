/*
 * intake_place.c
 *	  Support function 2 of the operator classes for columns beside the text:
 *	  the place of a value among those of another type.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "compat/compat.h"
#include "fmgr.h"
#include "intake/intake_place.h"
#include "utils/lsyscache.h"

Oid
skx_intake_placing(Oid family, Oid left, Oid right)
{
	if (!OidIsValid(right) || left == right)
		return InvalidOid;
	return get_opfamily_proc(family, left, right, SKX_SUPPORT_PLACE);
}

/* Moments with a time zone ascend as those do that others are taken for. */
bool
skx_intake_may_mix(Oid family, Oid left, Oid right)
{
	return left != TIMESTAMPTZOID &&
		OidIsValid(skx_intake_placing(family, left, right));
}

void
skx_intake_comparand(Relation index, int column, Oid type,
					 SkxComparand *comparand)
{
	Oid			function = skx_intake_placing(index->rd_opfamily[column],
											  index->rd_opcintype[column],
											  type);

	comparand->places = OidIsValid(function);
	if (!comparand->places)
		function = skx_intake_canonical(index, column, type);
	fmgr_info(function, &comparand->function);
}

void
skx_intake_place(SkxComparand *comparand, Datum value, SkxPlace *place)
{
	memset(place, 0, sizeof(*place));
	(void) FunctionCall2(&comparand->function, value, PointerGetDatum(place));
}
