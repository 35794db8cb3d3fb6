/*
 * column_key.h
 *	  Keys: values of columns beside the text as 64 bits that ascend as they do.
 *
 * Of a column whose operator family has the strategies of a btree.  Where its
 * canonical forms have one length and fit, or it is numeric with a scale and 18
 * digits at most, two values have one key exactly where they have one canonical
 * form.  Else keys are coarse (column_key_coarse.c): several values may have
 * one, which is still not above that of any greater value.
 */
#ifndef SKX_COLUMN_KEY_H
#define SKX_COLUMN_KEY_H

#include "index/column/column.h"
#include "datatype/timestamp.h"
#include "pg_config_manual.h"

/* How a canonical form becomes a key. */
typedef enum SkxKeyKind
{
	SKX_KEY_BYTES = 1,			/* its bytes, most significant first */
	SKX_KEY_DAY,				/* of a day and the time in it, the day */
	SKX_KEY_MOMENT,				/* both: 27 bits and 37, of timestamps */
	SKX_KEY_DECIMAL,			/* of a numeric: times ten to the scale */
	SKX_KEY_LEADING,			/* coarse: the first eight bytes */
	SKX_KEY_NUMBER				/* coarse, of a numeric: its first digits */
} SkxKeyKind;

/* Bytes of a coarse key. */
#define SKX_KEY_COARSE_WIDTH	8

typedef struct SkxKeyColumn
{
	uint8		column;			/* of the index, from 0 */
	uint8		kind;			/* SkxKeyKind */
	uint8		width;			/* bytes of a canonical form; DECIMAL: the
								 * scale; coarse: SKX_KEY_COARSE_WIDTH */
} SkxKeyColumn;

/* The columns of an index that have keys, ascending. */
typedef struct SkxKeyColumns
{
	int			n;
	SkxKeyColumn columns[INDEX_MAX_KEYS];
} SkxKeyColumns;

typedef struct SkxKey
{
	uint64		value;			/* 0 of a NULL */
	uint64		is_null;		/* or 0; 64 bits, so that none are unset */
} SkxKey;

static inline bool
skx_column_key_is_coarse(const SkxKeyColumn *column)
{
	return column->kind == SKX_KEY_LEADING || column->kind == SKX_KEY_NUMBER;
}

/* May values that are not equal have that key? */
static inline bool
skx_column_key_is_shared(const SkxKeyColumn *column, uint64 key)
{
	return column->kind == SKX_KEY_LEADING ||
		(column->kind == SKX_KEY_NUMBER && (key & 0xFF) != 0);
}

/*
 * column_key.c
 *
 * has_key: a column of that type, with this modifier, and operator family; how
 * its keys are made.  keys: of a document, one a column; key: of a lexeme of the
 * column.  key_bounds: the least and the most key in the range of a condition;
 * false: none is.  Values with either may be outside where keys are coarse.
 * key_form: the form of a key, SKX_KEY_FORM_MOST bytes at most; returns how many.
 * Of a coarse key that below which all forms have lesser keys, and from which on
 * none has.
 */
#define SKX_KEY_FORM_MOST	17	/* of a numeric with six groups of digits */

extern bool skx_column_has_key(Oid type, int32 typmod, Oid family,
							   SkxKeyColumn *column);
extern void skx_column_keyed(Relation index, SkxKeyColumns *columns);
extern void skx_column_keys(const SkxKeyColumns *columns, TSVector document,
							SkxKey *keys);
extern void skx_column_key(const SkxKeyColumn *column, const char *lexeme,
						   int len, SkxKey *key);
extern bool skx_column_key_bounds(const SkxKeyColumn *column,
								  const SkxLexeme *from, const SkxLexeme *to,
								  uint64 *least, uint64 *most);

extern int	skx_column_key_form(const SkxKeyColumn *column, uint64 key,
								char *form);

/* The timestamp of a key of kind MOMENT. */
extern Timestamp skx_column_key_timestamp(uint64 key);

/* column_key_coarse.c : of coarse columns, for those above */
extern uint64 skx_column_coarse_key(const SkxKeyColumn *column,
									const char *form, int len);
extern int	skx_column_coarse_form(const SkxKeyColumn *column, uint64 key,
								   char *form);

/*
 * column_key_value.c : the value, of *type, that a key of a column of the index
 * is of, which is not coarse; false: the function of the column's operator class
 * is not ours
 */
extern bool skx_column_key_value(Relation index, const SkxKeyColumn *column,
								 uint64 key, Oid *type, Datum *value);

/*
 * The same for many keys of one column.  decodes: of a value of `type`, a base
 * type, whose canonical function is ours; false: keys of that column are coarse,
 * or tell values only as they compare (-0 is 0).  decode: may palloc.
 */
extern bool skx_column_key_decodes(const SkxKeyColumn *column, Oid type);
extern Datum skx_column_key_decode(const SkxKeyColumn *column, Oid type,
								   uint64 key);

#endif							/* SKX_COLUMN_KEY_H */
