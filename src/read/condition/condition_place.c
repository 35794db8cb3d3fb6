/*
 * condition_place.c
 *	  Support function 2 of the operator classes for columns beside the text:
 *	  the place of a value among those of another type (condition_place.h).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "read/condition/condition_place.h"
#include "support/compat/compat.h"
#include "utils/lsyscache.h"

Oid
skx_condition_cross_type_function(Oid family, Oid left, Oid right)
{
	if (!OidIsValid(right) || left == right)
		return InvalidOid;
	return get_opfamily_proc(family, left, right, SKX_SUPPORT_CROSS_TYPE);
}

/*
 * A column of timestamptz has no such values.  Each date or timestamp stands
 * for one moment, and moments ascend.
 */
bool
skx_condition_may_have_between(Oid family, Oid left, Oid right)
{
	return left != TIMESTAMPTZOID &&
		OidIsValid(skx_condition_cross_type_function(family, left, right));
}

void
skx_condition_comparand(Relation index, int column, Oid type,
						SkxComparand *comparand)
{
	Oid			function =
		skx_condition_cross_type_function(index->rd_opfamily[column],
										  index->rd_opcintype[column], type);

	comparand->is_cross_type = OidIsValid(function);
	if (!comparand->is_cross_type)
		function = skx_column_canonical(index, column, type);
	fmgr_info(function, &comparand->function);
}

void
skx_condition_cross_type_bounds(SkxComparand *comparand, Datum value,
								SkxCrossTypeBounds *place)
{
	memset(place, 0, sizeof(*place));
	(void) FunctionCall2(&comparand->function, value, PointerGetDatum(place));
}
