/*
 * column_canonical.c
 *	  skx_canonical() makes the canonical form of a value.  It is support
 *	  function 1 of the operator classes for columns beside the text.
 *
 * Two values of types of one operator family have the same form exactly if the
 * family's `=` says that they are equal.  The forms of a type whose operator
 * class has an order ascend, as bytes, as its values do.  The form of a text
 * is its bytes.
 */
#include "postgres.h"

#include <math.h>
#include <sys/socket.h>

#include "fmgr.h"
#include "index/column/column_value.h"
#include "libpq/pqformat.h"
#include "port/pg_bswap.h"
#include "support/compat/compat.h"
#include "utils/builtins.h"
#include "utils/cash.h"
#include "utils/date.h"
#include "utils/inet.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"
#include "utils/varbit.h"

PG_FUNCTION_INFO_V1(skipidx_canonical_bool);
PG_FUNCTION_INFO_V1(skipidx_canonical_int2);
PG_FUNCTION_INFO_V1(skipidx_canonical_int4);
PG_FUNCTION_INFO_V1(skipidx_canonical_int8);
PG_FUNCTION_INFO_V1(skipidx_canonical_oid);
PG_FUNCTION_INFO_V1(skipidx_canonical_float4);
PG_FUNCTION_INFO_V1(skipidx_canonical_float8);
PG_FUNCTION_INFO_V1(skipidx_canonical_numeric);
PG_FUNCTION_INFO_V1(skipidx_canonical_date);
PG_FUNCTION_INFO_V1(skipidx_canonical_timestamp);
PG_FUNCTION_INFO_V1(skipidx_canonical_bytes);
PG_FUNCTION_INFO_V1(skipidx_canonical_bpchar);
PG_FUNCTION_INFO_V1(skipidx_canonical_name);
PG_FUNCTION_INFO_V1(skipidx_canonical_uuid);
PG_FUNCTION_INFO_V1(skipidx_canonical_inet);
PG_FUNCTION_INFO_V1(skipidx_canonical_macaddr);
PG_FUNCTION_INFO_V1(skipidx_canonical_bit);

/* Returns a number whose bytes, as stored, ascend as the values do. */
static uint64
skx_column_ordered_bits(int64 value)
{
	return pg_hton64((uint64) value ^ (UINT64CONST(1) << 63));
}

static Datum
skx_column_canonical_bytes(const void *bytes, int len)
{
	bytea	   *form = palloc(VARHDRSZ + len);

	SET_VARSIZE(form, VARHDRSZ + len);
	memcpy(VARDATA(form), bytes, len);
	return PointerGetDatum(form);
}

static Datum
skx_column_integer(int64 value)
{
	uint64		ordered = skx_column_ordered_bits(value);

	return skx_column_canonical_bytes(&ordered, sizeof(ordered));
}

Datum
skipidx_canonical_bool(PG_FUNCTION_ARGS)
{
	char		value = PG_GETARG_BOOL(0) ? 1 : 0;

	return skx_column_canonical_bytes(&value, 1);
}

Datum
skipidx_canonical_int2(PG_FUNCTION_ARGS)
{
	return skx_column_integer(PG_GETARG_INT16(0));
}

Datum
skipidx_canonical_int4(PG_FUNCTION_ARGS)
{
	return skx_column_integer(PG_GETARG_INT32(0));
}

/* Is also for money, time, and timestamp with time zone. */
Datum
skipidx_canonical_int8(PG_FUNCTION_ARGS)
{
	return skx_column_integer(PG_GETARG_INT64(0));
}

/* Is also for enums: their form is that of the label's OID. */
Datum
skipidx_canonical_oid(PG_FUNCTION_ARGS)
{
	uint32		ordered = pg_hton32(PG_GETARG_OID(0));

	return skx_column_canonical_bytes(&ordered, sizeof(ordered));
}

/*
 * -0 has the form of 0, and NaN is one value above all.  The bits of positive
 * numbers ascend with the numbers, those of negative ones descend.
 */
static Datum
skx_column_float(float8 value)
{
	uint64		bits;

	if (isnan(value))
		bits = PG_UINT64_MAX;
	else
	{
		value = value == 0 ? 0 : value;
		memcpy(&bits, &value, sizeof(bits));
		bits = (bits >> 63) != 0 ? ~bits : bits | UINT64CONST(1) << 63;
	}
	bits = pg_hton64(bits);
	return skx_column_canonical_bytes(&bits, sizeof(bits));
}

Datum
skipidx_canonical_float4(PG_FUNCTION_ARGS)
{
	return skx_column_float(PG_GETARG_FLOAT4(0));
}

Datum
skipidx_canonical_float8(PG_FUNCTION_ARGS)
{
	return skx_column_float(PG_GETARG_FLOAT8(0));
}

/* Signs as numeric_send() gives them. */
#define SKX_NUMERIC_SEND_NEGATIVE		0x4000
#define SKX_NUMERIC_SEND_NAN			0xC000
#define SKX_NUMERIC_SEND_INFINITY		0xD000
#define SKX_NUMERIC_SEND_MINUS_INFINITY	0xF000

static int
skx_column_numeric_class(uint16 sign, int ndigits)
{
	switch (sign)
	{
		case SKX_NUMERIC_SEND_NAN:
			return SKX_NUMERIC_NAN;
		case SKX_NUMERIC_SEND_INFINITY:
			return SKX_NUMERIC_INFINITY;
		case SKX_NUMERIC_SEND_MINUS_INFINITY:
			return SKX_NUMERIC_MINUS_INFINITY;
		case SKX_NUMERIC_SEND_NEGATIVE:
			return SKX_NUMERIC_NEGATIVE;
		default:
			return ndigits == 0 ? SKX_NUMERIC_ZERO : SKX_NUMERIC_POSITIVE;
	}
}

/*
 * The form is a byte for the class, then the weight, then the digits (base
 * 10,000), each plus one.  The last digit is not 0, since zeros at the end do
 * not distinguish numbers.  Weight and digits of a negative number are
 * inverted, and followed by a value that is above any digit.
 */
Datum
skipidx_canonical_numeric(PG_FUNCTION_ARGS)
{
	bytea	   *sent = DatumGetByteaPP(DirectFunctionCall1(numeric_send,
														   PG_GETARG_DATUM(0)));
	StringInfoData in;
	StringInfoData out;
	int			ndigits;
	int			weight;
	int			class;
	uint16		invert;

	initStringInfo(&in);
	appendBinaryStringInfo(&in, VARDATA_ANY(sent), VARSIZE_ANY_EXHDR(sent));
	ndigits = pq_getmsgint(&in, 2);
	weight = (int16) pq_getmsgint(&in, 2);
	class = skx_column_numeric_class(pq_getmsgint(&in, 2), ndigits);
	(void) pq_getmsgint(&in, 2);
	pq_begintypsend(&out);
	pq_sendint8(&out, class);
	if (class == SKX_NUMERIC_NEGATIVE || class == SKX_NUMERIC_POSITIVE)
	{
		invert = class == SKX_NUMERIC_NEGATIVE ? 0xFFFF : 0;
		pq_sendint16(&out, (uint16) (weight + 0x8000) ^ invert);
		while (ndigits-- > 0)
			pq_sendint16(&out, (uint16) (pq_getmsgint(&in, 2) + 1) ^ invert);
		if (invert != 0)
			pq_sendint16(&out, invert);
	}
	return PointerGetDatum(pq_endtypsend(&out));
}

/*
 * Returns the form of a day and microseconds in it.  It is one for dates and
 * timestamps, since they are compared with each other.
 */
static Datum
skx_column_timestamp(int32 day, int64 rest)
{
	struct
	{
		uint32		day;
		uint32		rest[2];
	}			form;
	uint64		ordered = pg_hton64((uint64) rest);

	form.day = pg_hton32((uint32) day ^ ((uint32) 1 << 31));
	memcpy(form.rest, &ordered, sizeof(ordered));
	return skx_column_canonical_bytes(&form, sizeof(form));
}

Datum
skipidx_canonical_date(PG_FUNCTION_ARGS)
{
	return skx_column_timestamp(PG_GETARG_DATEADT(0), 0);
}

Datum
skipidx_canonical_timestamp(PG_FUNCTION_ARGS)
{
	Timestamp	value = PG_GETARG_TIMESTAMP(0);
	int64		day = value / USECS_PER_DAY;

	if (TIMESTAMP_IS_NOBEGIN(value))
		return skx_column_timestamp(DATEVAL_NOBEGIN, 0);
	if (TIMESTAMP_IS_NOEND(value))
		return skx_column_timestamp(DATEVAL_NOEND, 0);
	if (value < day * USECS_PER_DAY)
		day--;
	return skx_column_timestamp((int32) day, value - day * USECS_PER_DAY);
}

/* Is for text and bytea. */
Datum
skipidx_canonical_bytes(PG_FUNCTION_ARGS)
{
	bytea	   *value = PG_GETARG_BYTEA_PP(0);

	return skx_column_canonical_bytes(VARDATA_ANY(value),
									  VARSIZE_ANY_EXHDR(value));
}

Datum
skipidx_canonical_bpchar(PG_FUNCTION_ARGS)
{
	BpChar	   *value = PG_GETARG_BPCHAR_PP(0);

	return skx_column_canonical_bytes(VARDATA_ANY(value),
									  bpchartruelen(VARDATA_ANY(value),
													VARSIZE_ANY_EXHDR(value)));
}

Datum
skipidx_canonical_name(PG_FUNCTION_ARGS)
{
	Name		value = PG_GETARG_NAME(0);

	return skx_column_canonical_bytes(NameStr(*value), strnlen(NameStr(*value),
															   NAMEDATALEN));
}

Datum
skipidx_canonical_uuid(PG_FUNCTION_ARGS)
{
	return skx_column_canonical_bytes(PG_GETARG_UUID_P(0)->data, UUID_LEN);
}

/* Is also for cidr, whose values may be equal to an inet. */
Datum
skipidx_canonical_inet(PG_FUNCTION_ARGS)
{
	inet	   *value = PG_GETARG_INET_PP(0);
	char		form[2 + sizeof(ip_addr(value))];

	form[0] = ip_family(value);
	form[1] = ip_bits(value);
	memcpy(form + 2, ip_addr(value), ip_addrsize(value));
	return skx_column_canonical_bytes(form, 2 + ip_addrsize(value));
}

Datum
skipidx_canonical_macaddr(PG_FUNCTION_ARGS)
{
	return skx_column_canonical_bytes(PG_GETARG_MACADDR_P(0), sizeof(macaddr));
}

/*
 * The form is the bits, then their number: of two values with equal bytes the
 * shorter is less.
 */
Datum
skipidx_canonical_bit(PG_FUNCTION_ARGS)
{
	VarBit	   *value = PG_GETARG_VARBIT_P(0);
	int			nbytes = VARBITBYTES(value);
	bytea	   *form = palloc(VARHDRSZ + nbytes + sizeof(uint32));
	uint32		nbits = pg_hton32((uint32) VARBITLEN(value));

	SET_VARSIZE(form, VARHDRSZ + nbytes + sizeof(uint32));
	memcpy(VARDATA(form), VARBITS(value), nbytes);
	memcpy(VARDATA(form) + nbytes, &nbits, sizeof(nbits));
	PG_RETURN_BYTEA_P(form);
}
