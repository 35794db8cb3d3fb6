/*
 * column_form.c
 *	  Makes values from canonical forms, if these determine them.
 *
 * The forms of numerics without a scale and of blank-padded text do not: equal
 * values may be written differently.  Such a value must be read from a row.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "index/column/column.h"
#include "lib/stringinfo.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

extern Datum skipidx_canonical_bool(PG_FUNCTION_ARGS);
extern Datum skipidx_canonical_int2(PG_FUNCTION_ARGS);
extern Datum skipidx_canonical_int4(PG_FUNCTION_ARGS);
extern Datum skipidx_canonical_int8(PG_FUNCTION_ARGS);
extern Datum skipidx_canonical_date(PG_FUNCTION_ARGS);
extern Datum skipidx_canonical_timestamp(PG_FUNCTION_ARGS);
extern Datum skipidx_canonical_bytes(PG_FUNCTION_ARGS);
extern Datum skipidx_canonical_oid(PG_FUNCTION_ARGS);
extern Datum skipidx_canonical_float4(PG_FUNCTION_ARGS);
extern Datum skipidx_canonical_float8(PG_FUNCTION_ARGS);
extern Datum skipidx_canonical_numeric(PG_FUNCTION_ARGS);
extern Datum skipidx_canonical_uuid(PG_FUNCTION_ARGS);

/* Returns the number in a form of eight bytes, most significant first. */
static uint64
skx_column_form_integer(const char *form)
{
	uint64		bits;

	memcpy(&bits, form, sizeof(bits));
	return pg_ntoh64(bits);
}

/*
 * Sets *value to the value of a type whose forms are those of integers.
 * Returns false for other types.
 */
static bool
skx_column_integer_value(Oid type, const char *form, Datum *value)
{
	int64		integer = (int64) (skx_column_form_integer(form) ^
								   (UINT64CONST(1) << 63));

	switch (type)
	{
		case INT2OID:
			*value = Int16GetDatum((int16) integer);
			return true;
		case INT4OID:
			*value = Int32GetDatum((int32) integer);
			return true;
		case INT8OID:
		case CASHOID:
		case TIMEOID:
		case TIMESTAMPTZOID:
			*value = Int64GetDatum(integer);
			return true;
		default:
			return false;
	}
}

float8
skx_column_float_value(uint64 bits)
{
	float8		value;

	if (bits == PG_UINT64_MAX)
		return get_float8_nan();
	bits = (bits >> 63) != 0 ? bits ^ UINT64CONST(1) << 63 : ~bits;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Returns the date or timestamp of a form with day and microseconds. */
static Datum
skx_column_timestamp_value(Oid type, const char *form)
{
	uint32		bits;
	int32		day;

	memcpy(&bits, form, sizeof(bits));
	day = (int32) (pg_ntoh32(bits) ^ ((uint32) 1 << 31));
	if (type == DATEOID)
		return DateADTGetDatum(day);
	if (day == DATEVAL_NOBEGIN)
		return TimestampGetDatum(DT_NOBEGIN);
	if (day == DATEVAL_NOEND)
		return TimestampGetDatum(DT_NOEND);
	return TimestampGetDatum(day * USECS_PER_DAY +
							 (int64) skx_column_form_integer(form +
															 sizeof(bits)));
}

/*
 * Sets *value to the numeric of a form.  Returns false if it has no scale, or
 * is not finite.  numeric_in() cuts the last group of digits at the scale.
 */
static bool
skx_column_numeric_value(int32 typmod, const char *form, int len, Datum *value)
{
	StringInfoData text;
	bool		negative = form[0] == SKX_NUMERIC_NEGATIVE;
	uint16		invert = negative ? 0xFFFF : 0;
	uint16		digit;
	int			i;

	if (typmod < (int32) VARHDRSZ ||
		(form[0] != SKX_NUMERIC_NEGATIVE && form[0] != SKX_NUMERIC_POSITIVE &&
		 form[0] != SKX_NUMERIC_ZERO))
		return false;
	initStringInfo(&text);
	appendStringInfoString(&text, negative ? "-0." : "0.");
	for (i = 3; i + 1 < len; i += 2)
	{
		memcpy(&digit, form + i, sizeof(digit));
		digit = pg_ntoh16(digit);
		if (negative && digit == 0xFFFF)
			break;
		appendStringInfo(&text, "%04u", (uint16) (digit ^ invert) - 1);
	}
	if (len >= 3)
	{
		memcpy(&digit, form + 1, sizeof(digit));
		appendStringInfo(&text, "e%d",
						 4 * ((int) (pg_ntoh16(digit) ^ invert) - 0x8000 + 1));
	}
	else
		appendStringInfoChar(&text, '0');
	*value = DirectFunctionCall3(numeric_in, CStringGetDatum(text.data),
								 ObjectIdGetDatum(InvalidOid),
								 Int32GetDatum(typmod));
	return true;
}

static Datum
skx_column_uuid_value(const char *form)
{
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));

	memcpy(uuid->data, form, UUID_LEN);
	return UUIDPGetDatum(uuid);
}

/*
 * Sets *value to the value of a type whose forms have one length.  Returns
 * false for other types, and for integers.
 */
static bool
skx_column_fixed_value(PGFunction canonical, Oid type, const char *form,
					   int len, Datum *value)
{
	uint32		oid;

	if (canonical == skipidx_canonical_bool && type == BOOLOID && len == 1)
		*value = BoolGetDatum(form[0] != 0);
	else if (canonical == skipidx_canonical_oid && len == sizeof(oid))
	{
		memcpy(&oid, form, sizeof(oid));
		*value = ObjectIdGetDatum(pg_ntoh32(oid));
	}
	else if (canonical == skipidx_canonical_float4 && type == FLOAT4OID &&
			 len == sizeof(uint64))
		*value = Float4GetDatum((float4)
								skx_column_float_value(skx_column_form_integer(form)));
	else if (canonical == skipidx_canonical_float8 && type == FLOAT8OID &&
			 len == sizeof(uint64))
		*value = Float8GetDatum(skx_column_float_value(skx_column_form_integer(form)));
	else if (canonical == skipidx_canonical_uuid && type == UUIDOID &&
			 len == UUID_LEN)
		*value = skx_column_uuid_value(form);
	else if (((canonical == skipidx_canonical_date && type == DATEOID) ||
			  (canonical == skipidx_canonical_timestamp &&
			   type == TIMESTAMPOID)) && len == sizeof(oid) + sizeof(uint64))
		*value = skx_column_timestamp_value(type, form);
	else
		return false;
	return true;
}

bool
skx_column_form_value(PGFunction canonical, Oid type, int32 typmod,
					  const char *form, int len, Datum *value)
{
	if ((canonical == skipidx_canonical_int2 ||
		 canonical == skipidx_canonical_int4 ||
		 canonical == skipidx_canonical_int8) && len == sizeof(uint64))
		return skx_column_integer_value(type, form, value);
	if (canonical == skipidx_canonical_bytes &&
		(type == TEXTOID || type == VARCHAROID || type == BYTEAOID))
	{
		*value = PointerGetDatum(cstring_to_text_with_len(form, len));
		return true;
	}
	if (canonical == skipidx_canonical_numeric && type == NUMERICOID && len > 0)
		return skx_column_numeric_value(typmod, form, len, value);
	return skx_column_fixed_value(canonical, type, form, len, value);
}
