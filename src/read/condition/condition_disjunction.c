/*
 * condition_disjunction.c
 *	  Makes disjunctions of conditions on several columns.
 */
#include "postgres.h"

#include "fmgr.h"
#include "read/condition/condition_disjunction.h"
#include "support/compat/compat.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

static void
skx_condition_append_aligned(StringInfo out, const char *bytes, int len)
{
	static const char zeros[MAXIMUM_ALIGNOF];

	appendBinaryStringInfo(out, bytes, len);
	appendBinaryStringInfo(out, zeros, MAXALIGN(len) - len);
}

void
skx_condition_pack_begin(StringInfo out)
{
	SkxDisjunction head = {0};

	initStringInfo(out);
	skx_condition_append_aligned(out, (const char *) &head, sizeof(head));
}

void
skx_condition_pack_append(StringInfo out, SkxPackedCondition packed,
						  Datum value)
{
	SkxDisjunction *disjunction;
	const char *bytes = NULL;
	int16		len;
	bool		byval;

	packed.len = 0;
	if (OidIsValid(packed.operator) &&
		(packed.flags & (SK_ISNULL | SKX_PACKED_PARAM)) == 0)
	{
		get_typlenbyval(packed.type, &len, &byval);
		if (len == -1)
			value = PointerGetDatum(PG_DETOAST_DATUM(value));
		packed.len = byval ? (int32) sizeof(Datum) :
			(int32) datumGetSize(value, byval, len);
		bytes = byval ? (const char *) &value : DatumGetPointer(value);
	}
	skx_condition_append_aligned(out, (const char *) &packed, sizeof(packed));
	if (bytes != NULL)
		skx_condition_append_aligned(out, bytes, packed.len);
	disjunction = (SkxDisjunction *) out->data;
	disjunction->n++;
	disjunction->has_query |= packed.column == 1 &&
		OidIsValid(packed.operator);
}

SkxDisjunction *
skx_condition_pack_end(StringInfo out, bool exact, double gather)
{
	SkxDisjunction *disjunction = (SkxDisjunction *) out->data;

	SET_VARSIZE(disjunction, out->len);
	disjunction->is_exact = exact;
	disjunction->gather_cost = (float4) gather;
	return disjunction;
}

Datum
skx_condition_packed_value(const SkxPackedCondition *packed)
{
	const char *value = (const char *) packed +
		MAXALIGN(sizeof(SkxPackedCondition));

	if (!get_typbyval(packed->type))
		return PointerGetDatum(value);
	return *(const Datum *) value;
}
