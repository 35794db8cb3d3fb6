/*
 * test_column_key.c
 *	  Keys of values, and of ranges: a value is in a range of lexemes exactly
 *	  where its key is in that of keys.
 *
 * Holds: column 3
 */
#include "unit.h"
#include "server.h"
#include "unit_error.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "index/column/column_key.h"
#include "port/pg_bswap.h"
#include "utils/date.h"
#include "utils/lsyscache.h"

#define COLUMN	3
#define DIGITS	18			/* of numerics that have keys */
#define MICROSECONDS	INT64CONST(86400000000)

/* Days of the first and the last timestamps, and of the last date. */
#define FIRST_DAY	(-2451545)
#define LAST_DAY	106751991
#define LAST_DATE	2145031948

MemoryContext CurrentMemoryContext;

Oid
get_opfamily_member(Oid opfamily, Oid lefttype, Oid righttype, int16 strategy)
{
	return 1;
}

Oid
getBaseTypeAndTypmod(Oid typid, int32 *typmod)
{
	return typid;
}

/* A canonical form, or what comes right after one. */
typedef struct UnitForm
{
	int			len;
	char		bytes[24];
} UnitForm;

static UnitForm
unit_lexeme(int kind)
{
	UnitForm	form = {SKX_VALUE_HEAD_BYTES};

	form.bytes[1] = COLUMN + 1;
	form.bytes[2] = kind;
	return form;
}

static UnitForm
unit_moment(int32 day, int64 rest)
{
	UnitForm	form = unit_lexeme(SKX_VALUE_PRESENT);
	uint32		first = pg_hton32((uint32) day ^ ((uint32) 1 << 31));
	uint64		second = pg_hton64((uint64) rest);

	memcpy(form.bytes + form.len, &first, 4);
	memcpy(form.bytes + form.len + 4, &second, 8);
	form.len += 12;
	return form;
}

static UnitForm
unit_bytes_of(uint64 value, int width)
{
	UnitForm	form = unit_lexeme(SKX_VALUE_PRESENT);

	for (; width > 0; width--)
		form.bytes[form.len++] = (char) (value >> (8 * (width - 1)));
	return form;
}

static UnitForm
unit_after(UnitForm form)
{
	form.bytes[form.len++] = '\0';
	return form;
}

static int
unit_compare(const UnitForm *a, const UnitForm *b)
{
	int			order = memcmp(a->bytes, b->bytes, Min(a->len, b->len));

	return order != 0 ? order : a->len - b->len;
}

/* The key of a document that has this value, and others around it. */
static SkxKey
unit_key(const SkxKeyColumn *column, const UnitForm *form)
{
	static const char others[] = "\0\2\1x\0\7\1yword";
	SkxKeyColumns columns = {1, {*column}};
	union
	{
		TSVectorData vector;
		char		room[200];
	}			document;
	WordEntry  *entries = document.vector.entries;
	SkxKey		key;
	char	   *words;

	memset(&document, 0, sizeof(document));
	document.vector.size = 4;
	words = STRPTR(&document.vector);
	memcpy(words, others, 12);
	memcpy(words + 12, form->bytes, form->len);
	entries[0].len = 4;
	entries[1].pos = 12;
	entries[1].len = form->len;
	entries[2].pos = 4;
	entries[2].len = 4;
	entries[3].pos = 8;
	entries[3].len = 4;
	skx_column_keys(&columns, &document.vector, &key);
	return key;
}

static bool
unit_key_bounds(const SkxKeyColumn *column, const UnitForm *from,
				const UnitForm *to, uint64 *least, uint64 *most)
{
	SkxLexeme	first = {from->bytes, from->len};
	SkxLexeme	end = {to->bytes, to->len};

	return skx_column_key_bounds(column, &first, &end, least, most);
}

/* One range against all values. */
static void
test_range(const SkxKeyColumn *column, const UnitForm *from,
		   const UnitForm *to, const UnitForm *values, int n)
{
	uint64		least = 0;
	uint64		most = 0;
	bool		any = unit_key_bounds(column, from, to, &least, &most);
	int			i;

	CHECK(!any || least <= most);
	for (i = 0; i < n; i++)
	{
		SkxKey		key = unit_key(column, &values[i]);
		bool		in = unit_compare(from, &values[i]) <= 0 &&
			unit_compare(&values[i], to) < 0;

		CHECK(in == (any && key.value >= least && key.value <= most));
	}
}

/* All ranges that one or two of the bounds make; keys ascend with values. */
static void
test_ranges(const SkxKeyColumn *column, const UnitForm *values, int n,
			const UnitForm *bounds, int nbounds)
{
	UnitForm	ends[100];
	UnitForm	null = unit_lexeme(SKX_VALUE_NULL);
	int			nends = 0;
	int			i;
	int			k;

	ends[nends++] = unit_lexeme(SKX_VALUE_PRESENT);
	ends[nends++] = unit_lexeme(SKX_VALUE_PRESENT + 1);
	for (i = 0; i < nbounds; i++)
	{
		ends[nends++] = bounds[i];
		ends[nends++] = unit_after(bounds[i]);
	}
	CHECK(nends <= lengthof(ends));
	for (i = 0; i < nends; i++)
		for (k = 0; k < nends; k++)
			if (i != 1 && k != 0 && unit_compare(&ends[i], &ends[k]) < 0)
				test_range(column, &ends[i], &ends[k], values, n);
	for (i = 0; i < n; i++)
	{
		SkxKey		key = unit_key(column, &values[i]);
		char		form[SKX_KEY_FORM_BYTES_MAX];
		int			len = skx_column_key_form(column, key.value, form);

		CHECK(!key.is_null);
		CHECK(len == values[i].len - SKX_VALUE_HEAD_BYTES);
		CHECK(memcmp(form, values[i].bytes + SKX_VALUE_HEAD_BYTES, len) == 0);
		if (i == 0)
			continue;
		CHECK(unit_compare(&values[i - 1], &values[i]) < 0);
		CHECK(unit_key(column, &values[i - 1]).value < key.value);
	}
	CHECK(unit_key(column, &null).is_null);
	CHECK(unit_key(column, &null).value == 0);
}

/* Bounds of a column of dates may be timestamps, and the other way round. */
static void
test_moments(void)
{
	static const SkxKeyColumn date = {COLUMN, SKX_KEY_DAY, 12};
	static const SkxKeyColumn moment = {COLUMN, SKX_KEY_TIMESTAMP, 12};
	const UnitForm dates[] = {
		unit_moment(DATEVAL_NOBEGIN, 0), unit_moment(FIRST_DAY, 0),
		unit_moment(-1, 0), unit_moment(0, 0), unit_moment(1, 0),
		unit_moment(7000, 0), unit_moment(LAST_DAY, 0),
		unit_moment(LAST_DAY + 1, 0), unit_moment(1 << 27, 0),
		unit_moment(LAST_DATE, 0), unit_moment(DATEVAL_NOEND, 0)
	};
	const UnitForm moments[] = {
		unit_moment(DATEVAL_NOBEGIN, 0), unit_moment(FIRST_DAY, 0),
		unit_moment(FIRST_DAY, 1), unit_moment(-1, MICROSECONDS - 1),
		unit_moment(0, 0), unit_moment(0, 1),
		unit_moment(0, MICROSECONDS - 1), unit_moment(1, 0),
		unit_moment(7000, 5), unit_moment(LAST_DAY, 0),
		unit_moment(LAST_DAY, MICROSECONDS - 1),
		unit_moment(DATEVAL_NOEND, 0)
	};
	UnitForm	bounds[lengthof(dates) + lengthof(moments)];

	memcpy(bounds, dates, sizeof(dates));
	memcpy(bounds + lengthof(dates), moments, sizeof(moments));
	test_ranges(&date, dates, lengthof(dates), bounds, lengthof(bounds));
	test_ranges(&moment, moments, lengthof(moments), bounds,
				lengthof(bounds));
}

static void
test_bytes(int width)
{
	const SkxKeyColumn column = {COLUMN, SKX_KEY_BYTES, width};
	uint64		most = PG_UINT64_MAX >> (64 - 8 * width);
	uint64		sign = (uint64) 1 << (8 * width - 1);
	UnitForm	values[] = {
		unit_bytes_of(0, width), unit_bytes_of(1, width),
		unit_bytes_of(sign - 1, width), unit_bytes_of(sign, width),
		unit_bytes_of(sign + 1, width), unit_bytes_of(most, width)
	};

	test_ranges(&column, values, lengthof(values), values, lengthof(values));
}

/* From the digits as they would be printed, aligned at the point. */
static UnitForm
unit_decimal(int64 value, int scale)
{
	UnitForm	form = unit_lexeme(SKX_VALUE_PRESENT);
	char		digits[32];
	int			before = (DIGITS - scale + 3) / 4 * 4;
	int			after = (scale + 3) / 4 * 4;
	uint16		invert = value < 0 ? 0xFFFF : 0;
	int			from = 0;
	int			end = before + after;
	int			i;

	memset(digits, '0', sizeof(digits));
	snprintf(digits + before + scale - DIGITS, DIGITS + 1, "%0*llu", DIGITS,
			 (unsigned long long) (value < 0 ? -value : value));
	digits[before + scale] = '0';
	while (from < end && memcmp(digits + from, "0000", 4) == 0)
		from += 4;
	while (from < end && memcmp(digits + end - 4, "0000", 4) == 0)
		end -= 4;
	form.bytes[form.len++] = value == 0 ? SKX_NUMERIC_ZERO :
		value < 0 ? SKX_NUMERIC_NEGATIVE : SKX_NUMERIC_POSITIVE;
	for (i = from - 4; i < end && value != 0; i += 4)
	{
		/* the weight comes first */
		int			part = i < from ? before / 4 - 1 - from / 4 + 0x8000 :
			(digits[i] - '0') * 1000 + (digits[i + 1] - '0') * 100 +
			(digits[i + 2] - '0') * 10 + (digits[i + 3] - '0') + 1;

		form.bytes[form.len++] = (char) ((part ^ invert) >> 8);
		form.bytes[form.len++] = (char) (part ^ invert);
	}
	if (value < 0)
	{
		form.bytes[form.len++] = '\xFF';
		form.bytes[form.len++] = '\xFF';
	}
	return form;
}

static UnitForm
unit_no_number(int class)
{
	UnitForm	form = unit_lexeme(SKX_VALUE_PRESENT);

	form.bytes[form.len++] = (char) class;
	return form;
}

static void
test_decimals(int scale)
{
	static const int64 sizes[] = {1, 7, 9999, 10000, 10001, 100000000,
		123456789, INT64CONST(1020000000000),
	INT64CONST(987654321987654321), INT64CONST(999999999999999999)};
	const SkxKeyColumn column = {COLUMN, SKX_KEY_DECIMAL, scale};
	UnitForm	values[2 * lengthof(sizes) + 4];
	int			n = 0;
	int			i;

	values[n++] = unit_no_number(SKX_NUMERIC_MINUS_INFINITY);
	for (i = lengthof(sizes) - 1; i >= 0; i--)
		values[n++] = unit_decimal(-sizes[i], scale);
	values[n++] = unit_decimal(0, scale);
	for (i = 0; i < lengthof(sizes); i++)
		values[n++] = unit_decimal(sizes[i], scale);
	values[n++] = unit_no_number(SKX_NUMERIC_INFINITY);
	values[n++] = unit_no_number(SKX_NUMERIC_NAN);
	test_ranges(&column, values, n, values, n);
}

/* ---- coarse keys ---- */

#define COARSE	600

/* Of up to six groups of digits, some of them small, and weights of all sizes. */
static UnitForm
unit_number(void)
{
	static const int weights[] = {0, 1, 2, -1, 18, 19, 20, 21, -18, -19, -20,
	-21, 1000, -1000};
	static const int parts[] = {1, 2, 255, 256, 257, 5000, 9999, 10000};
	UnitForm	form = unit_lexeme(SKX_VALUE_PRESENT);
	bool		negative = unit_below(2) == 0;
	uint16		invert = negative ? 0xFFFF : 0;
	int			n = 1 + unit_below(6);
	int			i;

	form.bytes[form.len++] = negative ? SKX_NUMERIC_NEGATIVE :
		SKX_NUMERIC_POSITIVE;
	for (i = 0; i <= n; i++)
	{
		int			part = i == 0 ?
			weights[unit_below(lengthof(weights))] + 0x8000 :
			parts[unit_below(i > 3 ? 3 : lengthof(parts))];

		form.bytes[form.len++] = (char) ((part ^ invert) >> 8);
		form.bytes[form.len++] = (char) (part ^ invert);
	}
	if (negative)
	{
		form.bytes[form.len++] = '\xFF';
		form.bytes[form.len++] = '\xFF';
	}
	return form;
}

static UnitForm
unit_uuid(void)
{
	UnitForm	form = unit_bytes_of(unit_below(3) * PG_UINT64_MAX / 2 +
									 unit_below(5) - 2, 8);
	int			i;

	for (i = 0; i < 8; i++)
		form.bytes[form.len++] = unit_below(3) == 0 ? '\xFF' :
			(char) unit_below(2);
	return form;
}

static int
unit_compare_void(const void *a, const void *b)
{
	return unit_compare(a, b);
}

/* A form is behind that of a key exactly where its key is not less. */
static void
test_coarse_forms(const SkxKeyColumn *column, uint64 key,
				  const UnitForm *values, int n)
{
	UnitForm	least = unit_lexeme(SKX_VALUE_PRESENT);
	int			i;

	least.len += skx_column_key_form(column, key, least.bytes + least.len);
	for (i = 0; i < n; i++)
		CHECK((unit_compare(&values[i], &least) < 0) ==
			  (unit_key(column, &values[i]).value < key));
}

/* A value in the range is not beyond the keys, one between them is in it. */
static void
test_coarse_range(const SkxKeyColumn *column, const UnitForm *from,
				  const UnitForm *to, const UnitForm *values, int n)
{
	uint64		least = 0;
	uint64		most = 0;
	bool		any = unit_key_bounds(column, from, to, &least, &most);
	int			i;

	for (i = 0; i < n; i++)
	{
		uint64		key = unit_key(column, &values[i]).value;
		bool		in = unit_compare(from, &values[i]) <= 0 &&
			unit_compare(&values[i], to) < 0;

		CHECK(!in || (any && key >= least && key <= most));
		CHECK(in || !any || key <= least || key >= most);
	}
}

static void
test_coarse(const SkxKeyColumn *column, UnitForm *values, int n)
{
	UnitForm	none = unit_lexeme(SKX_VALUE_PRESENT);
	UnitForm	all = unit_lexeme(SKX_VALUE_PRESENT + 1);
	int			shared = 0;
	int			i;

	qsort(values, n, sizeof(UnitForm), unit_compare_void);
	for (i = 1; i < n; i++)
	{
		uint64		before = unit_key(column, &values[i - 1]).value;
		uint64		key = unit_key(column, &values[i]).value;
		UnitForm	after = unit_after(values[unit_below(n)]);
		int			k = unit_below(n);

		CHECK(before <= key);
		if (before == key && unit_compare(&values[i - 1], &values[i]) < 0)
		{
			CHECK(skx_column_key_is_shared(column, key));
			shared++;
		}
		test_coarse_forms(column, key, values, n);
		if (key < PG_UINT64_MAX)
			test_coarse_forms(column, key + 1, values, n);
		test_coarse_range(column, &values[Min(i, k)], &values[Max(i, k)],
						  values, n);
		if (unit_compare(&values[i], &after) < 0)
			test_coarse_range(column, &values[i], &after, values, n);
		test_coarse_range(column, &none, &values[i], values, n);
		test_coarse_range(column, &values[i], &all, values, n);
	}
	CHECK(shared > n / 20);
}

static void
test_coarse_columns(void)
{
	const SkxKeyColumn number = {COLUMN, SKX_KEY_NUMERIC_COARSE,
		SKX_KEY_COARSE_WIDTH};
	const SkxKeyColumn leading = {COLUMN, SKX_KEY_LEADING_BYTES,
	SKX_KEY_COARSE_WIDTH};
	UnitForm	values[COARSE];
	int			n = 0;

	values[n++] = unit_no_number(SKX_NUMERIC_MINUS_INFINITY);
	values[n++] = unit_no_number(SKX_NUMERIC_ZERO);
	values[n++] = unit_no_number(SKX_NUMERIC_INFINITY);
	values[n++] = unit_no_number(SKX_NUMERIC_NAN);
	while (n < COARSE)
		values[n++] = unit_number();
	test_coarse(&number, values, n);
	for (n = 0; n < COARSE; n++)
		values[n] = unit_uuid();
	test_coarse(&leading, values, n);
}

int
main(void)
{
	int			scale;

	unit_seed(7);
	test_coarse_columns();
	test_moments();
	for (scale = 0; scale <= DIGITS; scale++)
		test_decimals(scale);
	test_bytes(1);
	test_bytes(4);
	test_bytes(6);
	test_bytes(8);
	return unit_done("column_key");
}
