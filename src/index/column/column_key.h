/*
 * column_key.h
 *	  Keys: values of columns beside the text as 64-bit integers, in the order
 *	  of the values.
 *
 * A column has keys if its operator family has the strategies of a btree, and
 * its type is one that skx_column_has_key() knows.
 *
 * Keys are exact if canonical forms have one length and fit into 64 bits, or
 * if the column is numeric with a scale and 18 digits at most.  Then two
 * values have the same key exactly if they have the same canonical form.  Else
 * keys are coarse (column_key_coarse.c): several values may have the same key,
 * which is still not above that of any greater value.
 */
#ifndef SKX_COLUMN_KEY_H
#define SKX_COLUMN_KEY_H

#include "index/column/column.h"
#include "datatype/timestamp.h"
#include "pg_config_manual.h"

/* Ways to make a key of a canonical form. */
typedef enum SkxKeyKind
{
	SKX_KEY_BYTES = 1,			/* the bytes of the form, most significant
								 * first */
	SKX_KEY_DAY,				/* the day, of a form with day and time */
	SKX_KEY_TIMESTAMP,			/* day in 27 bits, time in 37, of a timestamp */
	SKX_KEY_DECIMAL,			/* of a numeric: value times ten to the scale */
	SKX_KEY_LEADING_BYTES,		/* coarse: the first eight bytes of the form */
	SKX_KEY_NUMERIC_COARSE		/* coarse, of a numeric: its first digits */
} SkxKeyKind;

/* Number of bytes of a coarse key. */
#define SKX_KEY_COARSE_WIDTH	8

/* A column with keys, and how these are made. */
typedef struct SkxKeyColumn
{
	uint8		column;			/* number in the index, from 0 */
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

/* Key of a value. */
typedef struct SkxKey
{
	uint64		value;			/* 0 if the value is NULL */
	uint64		is_null;		/* 1 or 0; 64 bits, so that no byte is unset */
} SkxKey;

/* Returns true if several values of the column may have the same key. */
static inline bool
skx_column_key_is_coarse(const SkxKeyColumn *column)
{
	return column->kind == SKX_KEY_LEADING_BYTES ||
		column->kind == SKX_KEY_NUMERIC_COARSE;
}

/* Returns true if several values may have this key. */
static inline bool
skx_column_key_is_shared(const SkxKeyColumn *column, uint64 key)
{
	return column->kind == SKX_KEY_LEADING_BYTES ||
		(column->kind == SKX_KEY_NUMERIC_COARSE && (key & 0xFF) != 0);
}

/* column_key.c : keys of values */

/* Most bytes of a form of a key: a numeric with six groups of digits. */
#define SKX_KEY_FORM_BYTES_MAX	17

/*
 * Returns true if a column with this type, typmod and operator family has
 * keys, and sets kind and width of *column then.  Does not set column->column.
 */
extern bool skx_column_has_key(Oid type, int32 typmod, Oid family,
							   SkxKeyColumn *column);

/* Fills *columns with the columns of an index that have keys, ascending. */
extern void skx_column_key_columns(Relation index, SkxKeyColumns *columns);

/*
 * Sets keys[i] to the key of column columns->columns[i] in the document.
 * Raises an error if the document has no value of one of them.
 */
extern void skx_column_keys(const SkxKeyColumns *columns, TSVector document,
							SkxKey *keys);

/*
 * Sets *key to the key of a value, given its lexeme of len bytes in a
 * document.  Raises an error if the canonical form does not have the column's
 * width.
 */
extern void skx_column_key(const SkxKeyColumn *column, const char *lexeme,
						   int len, SkxKey *key);

/*
 * Sets *least and *most to the least and the most key of the values whose
 * lexemes are in [from, to).  Returns false if there is no such key.  If keys
 * are coarse, values with one of these two keys may be outside of the range.
 */
extern bool skx_column_key_bounds(const SkxKeyColumn *column,
								  const SkxLexeme *from, const SkxLexeme *to,
								  uint64 *least, uint64 *most);

/*
 * Writes the canonical form of a key, at most SKX_KEY_FORM_BYTES_MAX bytes,
 * and returns its length.  The form of a coarse key is the bound below which
 * all forms have lesser keys, and from which on no form has.
 */
extern int	skx_column_key_form(const SkxKeyColumn *column, uint64 key,
								char *form);

/* Returns the timestamp of a key of kind SKX_KEY_TIMESTAMP. */
extern Timestamp skx_column_key_timestamp(uint64 key);

/* column_key_coarse.c : coarse keys, for the functions above */

/* Returns the coarse key of a canonical form of len bytes. */
extern uint64 skx_column_coarse_key(const SkxKeyColumn *column,
									const char *form, int len);

/*
 * Writes the form that skx_column_key_form() gives for a coarse key, and
 * returns its length.
 */
extern int	skx_column_coarse_form(const SkxKeyColumn *column, uint64 key,
								   char *form);

/*
 * column_key_value.c : sets *value to the value that has this key, which must
 * not be coarse, and *type to its base type.  Returns false if the support
 * function of the column's operator class is none of this extension.
 */
extern bool skx_column_key_value(Relation index, const SkxKeyColumn *column,
								 uint64 key, Oid *type, Datum *value);

/*
 * Returns true if skx_column_key_decode() can make values of `type`, a base
 * type, from keys of the column.  The column's canonical function must be one
 * of this extension.  Returns false if keys are coarse, or determine values
 * only as far as `=` distinguishes them (-0 equals 0).
 */
extern bool skx_column_key_decodes(const SkxKeyColumn *column, Oid type);

/*
 * Does the same, but returns true also for floating-point numbers, of which a
 * key determines a value that is `=`.
 */
extern bool skx_column_key_decodes_equal(const SkxKeyColumn *column, Oid type);

/*
 * Returns the value of `type` that has this key.
 * skx_column_key_decodes_equal() must be true.  May palloc.
 */
extern Datum skx_column_key_decode(const SkxKeyColumn *column, Oid type,
								   uint64 key);

#endif							/* SKX_COLUMN_KEY_H */
