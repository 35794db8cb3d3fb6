/*
 * intake_key.h
 *	  Keys: values of columns beside the text as 64 bits that ascend as they do.
 *
 * Of a column whose canonical forms have one length and fit, or which is numeric
 * with a scale and 18 digits at most, and whose operator family has the
 * strategies of a btree.  Two values have one key exactly where
 * they have one canonical form.
 */
#ifndef SKX_INTAKE_KEY_H
#define SKX_INTAKE_KEY_H

#include "intake/intake_column.h"
#include "pg_config_manual.h"

/* How a canonical form becomes a key. */
typedef enum SkxKeyKind
{
	SKX_KEY_BYTES = 1,			/* its bytes, most significant first */
	SKX_KEY_DAY,				/* of a day and the time in it, the day */
	SKX_KEY_MOMENT,				/* both: 27 bits and 37, of timestamps */
	SKX_KEY_DECIMAL				/* of a numeric: times ten to the scale */
} SkxKeyKind;

typedef struct SkxKeyColumn
{
	uint8		column;			/* of the index, from 0 */
	uint8		kind;			/* SkxKeyKind */
	uint8		width;			/* bytes of a canonical form; DECIMAL: the
								 * scale */
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

/*
 * intake_key.c
 *
 * has_key: a column of that type, with this modifier, and operator family.
 * keys: of a document, one a column; key: of a lexeme of the column.
 * key_bounds: the least and the most key in the range of a condition; false:
 * none is.  key_form: the form of a key, SKX_KEY_FORM_MOST bytes at most;
 * returns how many.
 */
#define SKX_KEY_FORM_MOST	17	/* of a numeric with six groups of digits */

extern bool skx_intake_has_key(Oid type, int32 typmod, Oid family);
extern void skx_intake_key_columns(Relation index, SkxKeyColumns *columns);
extern void skx_intake_keys(const SkxKeyColumns *columns, TSVector document,
							SkxKey *keys);
extern void skx_intake_key(const SkxKeyColumn *column, const char *lexeme,
						   int len, SkxKey *key);
extern bool skx_intake_key_bounds(const SkxKeyColumn *column,
								  const SkxLexeme *from, const SkxLexeme *to,
								  uint64 *least, uint64 *most);

extern int	skx_intake_key_form(const SkxKeyColumn *column, uint64 key,
								char *form);

/*
 * intake_key_value.c : the value, of *type, that a key of a column of the index
 * is of; false: the function of the column's operator class is not ours
 */
extern bool skx_intake_key_value(Relation index, const SkxKeyColumn *column,
								 uint64 key, Oid *type, Datum *value);

#endif							/* SKX_INTAKE_KEY_H */
