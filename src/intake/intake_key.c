/*
 * intake_key.c
 *	  Keys of values, from their canonical forms.
 *
 * A form of at most eight bytes is a key as it is.  That of a date or timestamp
 * has twelve, a day and microseconds in it.  Dates have no microseconds; days of
 * timestamps fit into 27 bits, and microseconds of a day into 37.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "intake/intake_key.h"
#include "port/pg_bswap.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

/* Bytes of the forms of days and times in them. */
#define SKX_MOMENT_WIDTH	12

/* Days of timestamps are above this one, some 11,000 years before 2000. */
#define SKX_MOMENT_BASE		(-((int64) 1 << 22))
#define SKX_MOMENT_LAST		(((uint64) 1 << 27) - 1)	/* infinity */
#define SKX_MOMENT_SHIFT	37

static void
skx_intake_key_column(Oid type, SkxKeyColumn *column)
{
	column->kind = SKX_KEY_BYTES;
	switch (type)
	{
		case BOOLOID:
			column->width = 1;
			break;
		case OIDOID:
			column->width = 4;
			break;
		case MACADDROID:
			column->width = 6;
			break;
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case CASHOID:
		case TIMEOID:
		case TIMESTAMPTZOID:
			column->width = 8;
			break;
		case DATEOID:
			column->kind = SKX_KEY_DAY;
			column->width = SKX_MOMENT_WIDTH;
			break;
		case TIMESTAMPOID:
			column->kind = SKX_KEY_MOMENT;
			column->width = SKX_MOMENT_WIDTH;
			break;
		default:
			column->width = 0;
			break;
	}
}

bool
skx_intake_has_key(Oid type, Oid family)
{
	SkxKeyColumn column;

	skx_intake_key_column(type, &column);
	return column.width > 0 &&
		OidIsValid(get_opfamily_member(family, type, type,
									   SKX_STRATEGY_LESS));
}

void
skx_intake_key_columns(Relation index, SkxKeyColumns *columns)
{
	int			i;

	columns->n = 0;
	for (i = 1; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		SkxKeyColumn *column = &columns->columns[columns->n];

		skx_intake_key_column(index->rd_opcintype[i], column);
		column->column = i;
		if (skx_intake_has_key(index->rd_opcintype[i], index->rd_opfamily[i]))
			columns->n++;
	}
}

/* A day and microseconds of it, as the form has them. */
static int64
skx_intake_moment_parts(const char *form, uint64 *rest)
{
	uint32		day;

	memcpy(&day, form, sizeof(day));
	memcpy(rest, form + sizeof(day), sizeof(*rest));
	*rest = pg_ntoh64(*rest);
	return (int32) (pg_ntoh32(day) ^ ((uint32) 1 << 31));
}

/*
 * A day that no timestamp has, but a date with which it is compared, is above
 * all that are finite.
 */
static uint64
skx_intake_moment_key(int64 day, uint64 rest)
{
	uint64		most = ((uint64) 1 << SKX_MOMENT_SHIFT) - 1;

	if (day == DATEVAL_NOBEGIN)
		return 0;
	if (day == DATEVAL_NOEND)
		return SKX_MOMENT_LAST << SKX_MOMENT_SHIFT;
	day -= SKX_MOMENT_BASE;
	if (day >= (int64) SKX_MOMENT_LAST)
		return (SKX_MOMENT_LAST - 1) << SKX_MOMENT_SHIFT | most;
	return (uint64) day << SKX_MOMENT_SHIFT | rest;
}

/*
 * The key of a form of the column's width.  *exact: there is none of that day
 * but of a later moment.
 */
static uint64
skx_intake_key_of(const SkxKeyColumn *column, const char *form, bool *exact)
{
	uint64		value = 0;
	uint64		rest;
	int64		day;
	int			i;

	*exact = true;
	if (column->kind == SKX_KEY_BYTES)
	{
		for (i = 0; i < column->width; i++)
			value = value << 8 | (uint8) form[i];
		return value;
	}
	day = skx_intake_moment_parts(form, &rest);
	if (column->kind == SKX_KEY_MOMENT)
		return skx_intake_moment_key(day, rest);
	*exact = rest == 0;
	return (uint32) day ^ ((uint32) 1 << 31);
}

/* A form of another length is that of a function that is not ours. */
static void
skx_intake_key(const SkxKeyColumn *column, const char *lexeme, int len,
			   SkxKey *key)
{
	bool		exact;

	key->is_null = lexeme[2] == SKX_VALUE_NULL;
	key->value = 0;
	if (key->is_null)
		return;
	if (len != SKX_VALUE_HEAD + column->width)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("canonical form of column %d has %d bytes, not %d",
						column->column + 1, len - SKX_VALUE_HEAD,
						column->width),
				 errhint("An operator class with operators for ranges on a built-in type needs skipidx_canonical() as support function %d.",
						 SKX_SUPPORT_CANONICAL)));
	key->value = skx_intake_key_of(column, lexeme + SKX_VALUE_HEAD, &exact);
}

void
skx_intake_keys(const SkxKeyColumns *columns, TSVector document, SkxKey *keys)
{
	const WordEntry *entries = ARRPTR(document);
	int			at = skx_intake_values_at(document);
	int			i;

	for (i = 0; i < columns->n; i++)
	{
		const SkxKeyColumn *column = &columns->columns[i];
		const char *lexeme = NULL;

		for (; at < document->size; at++)
		{
			lexeme = STRPTR(document) + entries[at].pos;
			if (!skx_intake_is_value(lexeme, entries[at].len) ||
				(uint8) lexeme[1] >= column->column + 1)
				break;
		}
		if (at == document->size ||
			!skx_intake_is_value(lexeme, entries[at].len) ||
			(uint8) lexeme[1] != column->column + 1)
			elog(ERROR, "a document has no value of column %d",
				 column->column + 1);
		skx_intake_key(column, lexeme, entries[at].len, &keys[i]);
	}
}

/* The first key whose form is not below that of the lexeme; false: none. */
static bool
skx_intake_key_from(const SkxKeyColumn *column, const SkxLexeme *lexeme,
					uint64 *key)
{
	int			len = lexeme->len - SKX_VALUE_HEAD;
	bool		exact;

	if (len < column->width)
	{
		*key = 0;
		return lexeme->bytes[2] == SKX_VALUE_PRESENT;
	}
	*key = skx_intake_key_of(column, lexeme->bytes + SKX_VALUE_HEAD, &exact);
	if (len == column->width && exact)
		return true;
	*key += 1;
	return *key != 0;
}

bool
skx_intake_key_bounds(const SkxKeyColumn *column, const SkxLexeme *from,
					  const SkxLexeme *to, uint64 *least, uint64 *most)
{
	uint64		end;

	if (!skx_intake_key_from(column, from, least))
		return false;
	*most = PG_UINT64_MAX;
	if (!skx_intake_key_from(column, to, &end))
		return true;
	*most = end - 1;
	return end > *least;
}
