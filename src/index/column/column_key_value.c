/*
 * column_key_value.c
 *	  Makes values from keys that are not coarse: each determines one value.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "index/column/column_key.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/inet.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

static Datum
skx_column_decimal_value(int scale, uint64 key)
{
	int64		value = (int64) (key ^ UINT64CONST(1) << 63);

	if (key == PG_UINT64_MAX)
		return DirectFunctionCall3(numeric_in, CStringGetDatum("NaN"),
								   ObjectIdGetDatum(InvalidOid),
								   Int32GetDatum(-1));
	return NumericGetDatum(int64_div_fast_to_numeric(value, scale));
}

bool
skx_column_key_value(Relation index, const SkxKeyColumn *column, uint64 key,
					 Oid *type, Datum *value)
{
	FmgrInfo	canonical;
	int32		typmod = -1;
	char		form[SKX_KEY_FORM_BYTES_MAX];
	int			len;
	macaddr    *address;

	*type = getBaseTypeAndTypmod(TupleDescAttr(RelationGetDescr(index),
											   column->column)->atttypid,
								 &typmod);
	if (column->kind == SKX_KEY_DECIMAL)
	{
		*value = skx_column_decimal_value(column->width, key);
		return true;
	}
	len = skx_column_key_form(column, key, form);
	if (*type == MACADDROID)
	{
		address = palloc(sizeof(macaddr));
		memcpy(address, form, sizeof(macaddr));
		*value = MacaddrPGetDatum(address);
		return true;
	}
	fmgr_info(skx_column_canonical(index, column->column, InvalidOid),
			  &canonical);
	return skx_column_form_value(canonical.fn_addr, *type, typmod, form, len,
								 value);
}

bool
skx_column_key_decodes(const SkxKeyColumn *column, Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case CASHOID:
		case TIMEOID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return true;
		case NUMERICOID:
			return column->kind == SKX_KEY_DECIMAL;
		default:
			return false;
	}
}

bool
skx_column_key_decodes_equal(const SkxKeyColumn *column, Oid type)
{
	return type == FLOAT4OID || type == FLOAT8OID ?
		column->kind == SKX_KEY_BYTES :
		skx_column_key_decodes(column, type);
}

Datum
skx_column_key_decode(const SkxKeyColumn *column, Oid type, uint64 key)
{
	int64		integer = (int64) (key ^ UINT64CONST(1) << 63);

	switch (type)
	{
		case BOOLOID:
			return BoolGetDatum(key != 0);
		case INT2OID:
			return Int16GetDatum((int16) integer);
		case INT4OID:
			return Int32GetDatum((int32) integer);
		case OIDOID:
			return ObjectIdGetDatum((Oid) key);
		case DATEOID:
			return DateADTGetDatum((DateADT) ((uint32) key ^ (uint32) 1 << 31));
		case TIMESTAMPOID:
			return TimestampGetDatum(skx_column_key_timestamp(key));
		case FLOAT4OID:
			return Float4GetDatum((float4) skx_column_float_value(key));
		case FLOAT8OID:
			return Float8GetDatum(skx_column_float_value(key));
		case NUMERICOID:
			return skx_column_decimal_value(column->width, key);
		default:
			return Int64GetDatum(integer);
	}
}
