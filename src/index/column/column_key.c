/*
 * column_key.c
 *	  Makes keys of values from their canonical forms, and forms from keys.
 *
 * A form of at most eight bytes is a key as it is.  The form of a date or
 * timestamp has twelve bytes: a day and microseconds in it.  Dates have no
 * microseconds.  Days of timestamps fit into 27 bits, and microseconds of a
 * day into 37.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "index/column/column_key.h"
#include "port/pg_bswap.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

/* Bytes of a form with a day and a time in it. */
#define SKX_TIMESTAMP_FORM_BYTES	12

/* Days of timestamps come after this one, some 11,000 years before 2000. */
#define SKX_TIMESTAMP_KEY_BASE_DAY		(-((int64) 1 << 22))
#define SKX_TIMESTAMP_KEY_INFINITY		(((uint64) 1 << 27) - 1)	/* infinity */
#define SKX_TIMESTAMP_KEY_SHIFT	37

/* Keys of numerics with more digits are coarse. */
#define SKX_DECIMAL_DIGITS_MAX	18

/*
 * Sets kind and width for a numeric column with a scale.  Returns false if it
 * has no scale that fits, or too many digits.
 */
static bool
skx_column_decimal_column(int32 typmod, SkxKeyColumn *column)
{
	int			precision = (typmod - VARHDRSZ) >> 16 & 0xFFFF;
	int			scale = (((typmod - VARHDRSZ) & 0x7FF) ^ 0x400) - 0x400;

	column->kind = SKX_KEY_DECIMAL;
	column->width = (uint8) scale;
	return typmod >= (int32) VARHDRSZ && precision <= SKX_DECIMAL_DIGITS_MAX &&
		scale >= 0 && scale <= SKX_DECIMAL_DIGITS_MAX;
}

/* Sets kind and width for a type.  Returns false if the type has no keys. */
static bool
skx_column_key_column(Oid type, int32 typmod, SkxKeyColumn *column)
{
	column->kind = SKX_KEY_BYTES;
	switch (type)
	{
		case BOOLOID:
			column->width = 1;
			return true;
		case OIDOID:
			column->width = 4;
			return true;
		case MACADDROID:
			column->width = 6;
			return true;
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case CASHOID:
		case TIMEOID:
		case TIMESTAMPTZOID:
			column->width = 8;
			return true;
		case DATEOID:
			column->kind = SKX_KEY_DAY;
			column->width = SKX_TIMESTAMP_FORM_BYTES;
			return true;
		case TIMESTAMPOID:
			column->kind = SKX_KEY_TIMESTAMP;
			column->width = SKX_TIMESTAMP_FORM_BYTES;
			return true;
		case NUMERICOID:
			if (skx_column_decimal_column(typmod, column))
				return true;
			column->kind = SKX_KEY_NUMERIC_COARSE;
			column->width = SKX_KEY_COARSE_WIDTH;
			return true;
		case UUIDOID:
			column->kind = SKX_KEY_LEADING_BYTES;
			column->width = SKX_KEY_COARSE_WIDTH;
			return true;
		default:
			return false;
	}
}

bool
skx_column_has_key(Oid type, int32 typmod, Oid family, SkxKeyColumn *column)
{
	return skx_column_key_column(type, typmod, column) &&
		OidIsValid(get_opfamily_member(family, type, type,
									   SKX_STRATEGY_LESS));
}

void
skx_column_key_columns(Relation index, SkxKeyColumns *columns)
{
	int			i;

	columns->n = 0;
	for (i = 1; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(index), i);
		SkxKeyColumn *column = &columns->columns[columns->n];
		int32		typmod = attribute->atttypmod;

		(void) getBaseTypeAndTypmod(attribute->atttypid, &typmod);
		column->column = i;
		if (skx_column_has_key(index->rd_opcintype[i], typmod,
							   index->rd_opfamily[i], column))
			columns->n++;
	}
}

/* Returns the day of a form, and sets *rest to the microseconds in it. */
static int64
skx_column_timestamp_split(const char *form, uint64 *rest)
{
	uint32		day;

	memcpy(&day, form, sizeof(day));
	memcpy(rest, form + sizeof(day), sizeof(*rest));
	*rest = pg_ntoh64(*rest);
	return (int32) (pg_ntoh32(day) ^ ((uint32) 1 << 31));
}

/*
 * Returns the key of a timestamp.  A day that a date can have but no timestamp
 * has the key above those of all finite timestamps.
 */
static uint64
skx_column_timestamp_key(int64 day, uint64 rest)
{
	uint64		most = ((uint64) 1 << SKX_TIMESTAMP_KEY_SHIFT) - 1;

	if (day == DATEVAL_NOBEGIN)
		return 0;
	if (day == DATEVAL_NOEND)
		return SKX_TIMESTAMP_KEY_INFINITY << SKX_TIMESTAMP_KEY_SHIFT;
	day -= SKX_TIMESTAMP_KEY_BASE_DAY;
	if (day >= (int64) SKX_TIMESTAMP_KEY_INFINITY)
		return (SKX_TIMESTAMP_KEY_INFINITY - 1) << SKX_TIMESTAMP_KEY_SHIFT |
			most;
	return (uint64) day << SKX_TIMESTAMP_KEY_SHIFT | rest;
}

Timestamp
skx_column_key_timestamp(uint64 key)
{
	uint64		shifted = key >> SKX_TIMESTAMP_KEY_SHIFT;
	int64		rest =
		(int64) (key & (((uint64) 1 << SKX_TIMESTAMP_KEY_SHIFT) - 1));

	if (key == 0)
		return DT_NOBEGIN;
	if (shifted == SKX_TIMESTAMP_KEY_INFINITY)
		return DT_NOEND;
	return ((int64) shifted + SKX_TIMESTAMP_KEY_BASE_DAY) * USECS_PER_DAY +
		rest;
}

/* Bytes of a numeric's form before its digits. */
#define SKX_DECIMAL_HEAD_BYTES	3
#define SKX_DECIMAL_VALUE_MAX	UINT64CONST(1000000000000000000)

static const uint32 skx_column_powers[] = {1, 10, 100, 1000, 10000};

/* Returns digit i (base 10,000) of a canonical form; 0 after its end. */
static uint32
skx_column_decimal_digit(const char *form, int ndigits, int i, bool negative)
{
	uint16		digit;

	if (i < 0 || i >= ndigits)
		return 0;
	memcpy(&digit, form + SKX_DECIMAL_HEAD_BYTES + 2 * i, sizeof(digit));
	digit = pg_ntoh16(digit);
	return (uint16) ((negative ? (uint16) ~digit : digit) - 1);
}

/*
 * Returns the magnitude of a number times ten to the scale, without the rest
 * after the point, and sets *exact to true if there is no rest.  Returns
 * PG_UINT64_MAX if it has more than SKX_DECIMAL_DIGITS_MAX digits.
 */
static uint64
skx_column_decimal_magnitude(const char *form, int ndigits, int weight,
							 bool negative, int scale, bool *exact)
{
	int			groups = (scale + 3) / 4;	/* of digits behind the point */
	uint64		value = 0;
	int			place;

	if (weight > SKX_DECIMAL_DIGITS_MAX / 4)
		return PG_UINT64_MAX;
	*exact = ndigits <= weight + groups + 1;
	for (place = weight; place >= -groups; place--)
	{
		uint32		digit = skx_column_decimal_digit(form, ndigits,
													 weight - place, negative);
		uint32		power = place == -groups && groups > 0 ?
			skx_column_powers[scale - 4 * (groups - 1)] : 10000;
		uint32		cut = 10000 / power;

		if (value > SKX_DECIMAL_VALUE_MAX / power)
			return PG_UINT64_MAX;
		value = value * power + digit / cut;
		*exact &= digit % cut == 0;
	}
	return value;
}

/*
 * Returns the key of a numeric.  If it has none, since it has digits after the
 * scale, clears *exact and returns the key before it.  A number with too many
 * digits has a key above or below those of all numbers of the column.
 */
static uint64
skx_column_decimal_key(const char *form, int len, int scale, bool *exact)
{
	const uint64 zero = UINT64CONST(1) << 63;
	bool		negative = form[0] == SKX_NUMERIC_NEGATIVE;
	int			ndigits = (len - SKX_DECIMAL_HEAD_BYTES) / 2 -
		(negative ? 1 : 0);
	uint16		weight;
	uint64		value;

	*exact = true;
	switch (form[0])
	{
		case SKX_NUMERIC_MINUS_INFINITY:
			return 0;
		case SKX_NUMERIC_INFINITY:
			return PG_UINT64_MAX - 1;
		case SKX_NUMERIC_NAN:
			return PG_UINT64_MAX;
		case SKX_NUMERIC_ZERO:
			return zero;
	}
	memcpy(&weight, form + 1, sizeof(weight));
	weight = pg_ntoh16(weight);
	value = skx_column_decimal_magnitude(form, ndigits,
										 (int) (negative ? (uint16) ~weight :
												weight) - 0x8000,
										 negative, scale, exact);
	if (value == PG_UINT64_MAX)
		return negative ? 1 : PG_UINT64_MAX - 2;
	return negative ? zero - value - (*exact ? 0 : 1) : zero + value;
}

/*
 * Returns the key of a form.  If no key has the form, clears *exact and
 * returns the key before it.  *exact is true for coarse keys.  The form of a
 * numeric or uuid has len bytes, others have at least the column's width.
 */
static uint64
skx_column_key_of_form(const SkxKeyColumn *column, const char *form, int len,
					   bool *exact)
{
	uint64		value = 0;
	uint64		rest;
	int64		day;
	int			i;

	*exact = true;
	if (skx_column_key_is_coarse(column))
		return skx_column_coarse_key(column, form, len);
	if (column->kind == SKX_KEY_DECIMAL)
		return skx_column_decimal_key(form, len, column->width, exact);
	if (column->kind == SKX_KEY_BYTES)
	{
		for (i = 0; i < column->width; i++)
			value = value << 8 | (uint8) form[i];
		return value;
	}
	day = skx_column_timestamp_split(form, &rest);
	if (column->kind == SKX_KEY_TIMESTAMP)
		return skx_column_timestamp_key(day, rest);
	*exact = rest == 0;
	return (uint32) day ^ ((uint32) 1 << 31);
}

/*
 * A form of another length comes from a support function of other software.  A
 * numeric with more digits than its column was stored in a transaction that
 * gave the column more digits and was rolled back.  No row has it, so it may
 * have any key.
 */
void
skx_column_key(const SkxKeyColumn *column, const char *lexeme, int len,
			   SkxKey *key)
{
	bool		exact;

	key->is_null = lexeme[2] == SKX_VALUE_NULL;
	key->value = 0;
	if (key->is_null)
		return;
	if (column->kind != SKX_KEY_DECIMAL && !skx_column_key_is_coarse(column) &&
		len != SKX_VALUE_HEAD_BYTES + column->width)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("unexpected length of a canonical form in index column %d: %d bytes instead of %d",
						column->column + 1, len - SKX_VALUE_HEAD_BYTES,
						column->width),
				 errhint("An operator class with operators for ranges on a built-in type needs skx_canonical() as support function %d.",
						 SKX_SUPPORT_CANONICAL)));
	key->value = skx_column_key_of_form(column, lexeme + SKX_VALUE_HEAD_BYTES,
										len - SKX_VALUE_HEAD_BYTES, &exact);
}

void
skx_column_keys(const SkxKeyColumns *columns, TSVector document, SkxKey *keys)
{
	const WordEntry *entries = ARRPTR(document);
	int			at = skx_column_values_start(document);
	int			i;

	for (i = 0; i < columns->n; i++)
	{
		const SkxKeyColumn *column = &columns->columns[i];
		const char *lexeme = NULL;

		for (; at < document->size; at++)
		{
			lexeme = STRPTR(document) + entries[at].pos;
			if (!skx_column_is_value(lexeme, entries[at].len) ||
				(uint8) lexeme[1] >= column->column + 1)
				break;
		}
		if (at == document->size ||
			!skx_column_is_value(lexeme, entries[at].len) ||
			(uint8) lexeme[1] != column->column + 1)
			elog(ERROR, "a document has no value of column %d",
				 column->column + 1);
		skx_column_key(column, lexeme, entries[at].len, &keys[i]);
	}
}

/*
 * Sets *key to the first key whose form is not below that of the lexeme, or to
 * the lexeme's key if keys are coarse.  Returns false if there is none.
 */
static bool
skx_column_key_lower_bound(const SkxKeyColumn *column, const SkxLexeme *lexeme,
						   uint64 *key)
{
	int			len = lexeme->len - SKX_VALUE_HEAD_BYTES;
	bool		is_decimal = column->kind == SKX_KEY_DECIMAL;
	bool		is_coarse = skx_column_key_is_coarse(column);
	bool		exact;

	if (len == 0 || (!is_decimal && !is_coarse && len < column->width))
	{
		*key = 0;
		return lexeme->bytes[2] == SKX_VALUE_PRESENT;
	}
	*key = skx_column_key_of_form(column, lexeme->bytes + SKX_VALUE_HEAD_BYTES,
								  len, &exact);
	if (is_coarse)
		return true;
	/* the bound after a form has one byte more; numerics have odd lengths */
	if (exact && (is_decimal ? len % 2 == 1 : len == column->width))
		return true;
	*key += 1;
	return *key != 0;
}

bool
skx_column_key_bounds(const SkxKeyColumn *column, const SkxLexeme *from,
					  const SkxLexeme *to, uint64 *least, uint64 *most)
{
	uint64		end;

	if (!skx_column_key_lower_bound(column, from, least))
		return false;
	*most = PG_UINT64_MAX;
	if (!skx_column_key_lower_bound(column, to, &end))
		return true;
	if (skx_column_key_is_coarse(column))
	{
		*most = end;
		return to->len > SKX_VALUE_HEAD_BYTES && end >= *least;
	}
	*most = end - 1;
	return end > *least;
}

/*
 * From keys to forms
 */

/* Most groups of four, counted from the point, to which 18 digits belong. */
#define SKX_DECIMAL_GROUPS_MAX	6

static int
skx_column_put_digit(char *form, uint16 digit, bool negative)
{
	digit = pg_hton16(negative ? (uint16) ~digit : digit);
	memcpy(form, &digit, sizeof(digit));
	return sizeof(digit);
}

/*
 * Writes the form of the numeric value / 10^scale, or its negative.  The value
 * is not 0.  Returns the length of the form.
 */
static int
skx_column_decimal_digits(int scale, uint64 value, bool negative, char *form)
{
	uint32		part = scale % 4 == 0 ? 10000 : skx_column_powers[scale % 4];
	uint16		digits[SKX_DECIMAL_GROUPS_MAX];
	int			len = 1;
	int			low = 0;
	int			n;

	for (n = 0; value > 0; n++)
	{
		digits[n] = (uint16) (value % part * (10000 / part));
		value /= part;
		part = 10000;
	}
	while (digits[low] == 0)
		low++;
	form[0] = negative ? SKX_NUMERIC_NEGATIVE : SKX_NUMERIC_POSITIVE;
	len += skx_column_put_digit(form + len,
								(uint16) (n - 1 - (scale + 3) / 4 + 0x8000),
								negative);
	while (n > low)
		len += skx_column_put_digit(form + len, digits[--n] + 1, negative);
	if (negative)
		len += skx_column_put_digit(form + len, 0, negative);
	return len;
}

static int
skx_column_decimal_form(int scale, uint64 key, char *form)
{
	const uint64 zero = UINT64CONST(1) << 63;

	if (key > 0 && key != zero && key < PG_UINT64_MAX - 1)
		return skx_column_decimal_digits(scale,
										 key < zero ? zero - key : key - zero,
										 key < zero, form);
	if (key == 0)
		form[0] = SKX_NUMERIC_MINUS_INFINITY;
	else if (key == zero)
		form[0] = SKX_NUMERIC_ZERO;
	else
		form[0] = key == PG_UINT64_MAX ? SKX_NUMERIC_NAN : SKX_NUMERIC_INFINITY;
	return 1;
}

int
skx_column_key_form(const SkxKeyColumn *column, uint64 key, char *form)
{
	uint64		shifted = key >> SKX_TIMESTAMP_KEY_SHIFT;
	uint64		rest = 0;
	uint32		day = (uint32) key;
	int			i;

	if (skx_column_key_is_coarse(column))
		return skx_column_coarse_form(column, key, form);
	if (column->kind == SKX_KEY_DECIMAL)
		return skx_column_decimal_form(column->width, key, form);
	if (column->kind == SKX_KEY_BYTES)
	{
		for (i = column->width - 1; i >= 0; i--, key >>= 8)
			form[i] = (char) key;
		return column->width;
	}
	if (column->kind == SKX_KEY_TIMESTAMP)
	{
		int32		of =
			(int32) ((int64) shifted + SKX_TIMESTAMP_KEY_BASE_DAY);

		if (shifted == 0)
			of = DATEVAL_NOBEGIN;
		else if (shifted == SKX_TIMESTAMP_KEY_INFINITY)
			of = DATEVAL_NOEND;
		day = (uint32) of ^ ((uint32) 1 << 31);
		rest = pg_hton64(key - (shifted << SKX_TIMESTAMP_KEY_SHIFT));
	}
	day = pg_hton32(day);
	memcpy(form, &day, sizeof(day));
	memcpy(form + sizeof(day), &rest, sizeof(rest));
	return SKX_TIMESTAMP_FORM_BYTES;
}
