/*
 * column_key_coarse.c
 *	  Coarse keys, of values whose forms are too long for a key: several values
 *	  may have the same key.
 *
 * The key of a uuid is its first eight bytes.  The key of a numeric is a byte
 * for its sign and weight, and then its first digits: three groups of four and
 * half of another one.  The last byte is 0 if the form has no further digits.
 * Then no other value has the key.
 */
#include "postgres.h"

#include "index/column/column_key.h"

/* Bytes of a numeric's form before its digits, and of digits in a key. */
#define SKX_NUMERIC_KEY_HEAD_BITS		3
#define SKX_NUMERIC_KEY_DIGITS	7

/*
 * Keys distinguish weights, in groups of four digits, that are less than so
 * far from the weight of 1.  All numbers of one sign with greater weights have
 * one key, and all with lesser weights have one.
 */
#define SKX_NUMERIC_WEIGHT_RANGE		20
#define SKX_NUMERIC_KEY_HEADS	(2 * SKX_NUMERIC_WEIGHT_RANGE + 1)

/*
 * The first byte of a key, by the first byte of the form.  If the form has a
 * weight, it is the least such byte.
 */
static const uint8 skx_column_heads[] = {
	[SKX_NUMERIC_MINUS_INFINITY] = 0,
	[SKX_NUMERIC_NEGATIVE] = 1,
	[SKX_NUMERIC_ZERO] = 1 + SKX_NUMERIC_KEY_HEADS,
	[SKX_NUMERIC_POSITIVE] = 2 + SKX_NUMERIC_KEY_HEADS,
	[SKX_NUMERIC_INFINITY] = 2 + 2 * SKX_NUMERIC_KEY_HEADS,
	[SKX_NUMERIC_NAN] = 3 + 2 * SKX_NUMERIC_KEY_HEADS
};

/*
 * Returns bytes [from, from + n) of a form as a number, most significant
 * first.  Bytes after the end of the form are 0.
 */
static uint64
skx_column_read_bytes(const char *form, int len, int from, int n)
{
	uint64		value = 0;
	int			i;

	for (i = from; i < from + n; i++)
		value = value << 8 | (i < len ? (uint8) form[i] : 0);
	return value;
}

static bool
skx_column_has_weight(int sign)
{
	return sign == SKX_NUMERIC_NEGATIVE || sign == SKX_NUMERIC_POSITIVE;
}

/* Returns the weight of 1 or -1, as a form has it. */
static int
skx_column_weight_of_one(int sign)
{
	return sign == SKX_NUMERIC_NEGATIVE ? 0x7FFF : 0x8000;
}

static uint64
skx_column_numeric_coarse_key(const char *form, int len)
{
	int			sign = (int) Min(skx_column_read_bytes(form, len, 0, 1),
								 SKX_NUMERIC_NAN);
	uint64		head = skx_column_heads[sign];
	uint64		digits;
	int			away;

	if (!skx_column_has_weight(sign))
		return head << 56;
	away = (int) skx_column_read_bytes(form, len, 1, 2) -
		skx_column_weight_of_one(sign);
	if (away <= -SKX_NUMERIC_WEIGHT_RANGE)
		return head << 56 | 1;
	if (away >= SKX_NUMERIC_WEIGHT_RANGE)
		return (head + 2 * SKX_NUMERIC_WEIGHT_RANGE) << 56 | 1;
	digits = skx_column_read_bytes(form, len, SKX_NUMERIC_KEY_HEAD_BITS,
								   SKX_NUMERIC_KEY_DIGITS);
	if (len >= SKX_NUMERIC_KEY_HEAD_BITS + SKX_NUMERIC_KEY_DIGITS &&
		(digits & 0xFF) == 0)
		digits |= 1;
	return (head + away + SKX_NUMERIC_WEIGHT_RANGE) << 56 | digits;
}

/* Writes n bytes of a value, most significant first. */
static void
skx_column_put_bytes(char *form, uint64 value, int n)
{
	while (n-- > 0)
	{
		form[n] = (char) value;
		value >>= 8;
	}
}

/* Returns the length without zero bytes at the end, but at least `least`. */
static int
skx_column_trim_zeros(const char *form, int len, int least)
{
	while (len > least && form[len - 1] == '\0')
		len--;
	return len;
}

/* Writes the digits of a key after the weight; returns the form's length. */
static int
skx_column_numeric_key_digits(uint64 digits, char *form)
{
	const int	len = SKX_NUMERIC_KEY_HEAD_BITS + SKX_NUMERIC_KEY_DIGITS;

	skx_column_put_bytes(form + SKX_NUMERIC_KEY_HEAD_BITS, digits,
						 SKX_NUMERIC_KEY_DIGITS);
	if ((digits & 0xFF) != 1)
		return skx_column_trim_zeros(form, len, SKX_NUMERIC_KEY_HEAD_BITS);
	/* a form that ends before this byte has a key that ends with 0 */
	form[len - 1] = '\0';
	return len;
}

/*
 * Writes the form for a numeric's key; returns its length.  After the only
 * value of a class the next class begins.
 */
static int
skx_column_numeric_key_form(uint64 key, char *form)
{
	const uint64 digits = key & ((UINT64CONST(1) << 56) - 1);
	int			sign = SKX_NUMERIC_NAN;
	int			len = SKX_NUMERIC_KEY_HEAD_BITS;
	int			away;

	while (skx_column_heads[sign] > key >> 56)
		sign--;
	form[0] = (char) sign;
	away = (int) (key >> 56) - skx_column_heads[sign] -
		SKX_NUMERIC_WEIGHT_RANGE;
	if (!skx_column_has_weight(sign))
	{
		form[0] += key != (uint64) skx_column_heads[sign] << 56;
		return 1;
	}
	if (away == -SKX_NUMERIC_WEIGHT_RANGE && digits <= 1)
		return 1;
	if (away == SKX_NUMERIC_WEIGHT_RANGE && digits > 1)
	{
		form[0]++;
		return 1;
	}
	/* after all numbers whose weights are too far below */
	if (away == -SKX_NUMERIC_WEIGHT_RANGE)
		away++;
	else if (away < SKX_NUMERIC_WEIGHT_RANGE)
		len = skx_column_numeric_key_digits(digits, form);
	skx_column_put_bytes(form + 1, skx_column_weight_of_one(sign) + away, 2);
	return len;
}

uint64
skx_column_coarse_key(const SkxKeyColumn *column, const char *form, int len)
{
	if (column->kind == SKX_KEY_NUMERIC_COARSE)
		return skx_column_numeric_coarse_key(form, len);
	return skx_column_read_bytes(form, len, 0, SKX_KEY_COARSE_WIDTH);
}

int
skx_column_coarse_form(const SkxKeyColumn *column, uint64 key, char *form)
{
	if (column->kind == SKX_KEY_NUMERIC_COARSE)
		return skx_column_numeric_key_form(key, form);
	skx_column_put_bytes(form, key, SKX_KEY_COARSE_WIDTH);
	return skx_column_trim_zeros(form, SKX_KEY_COARSE_WIDTH, 0);
}
