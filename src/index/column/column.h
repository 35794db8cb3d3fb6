/*
 * column.h
 *	  The columns of an index beside the text: their values as lexemes, and the
 *	  strategies of conditions on them.
 */
#ifndef SKX_COLUMN_H
#define SKX_COLUMN_H

#include "index/column/column_value.h"
#include "utils/hsearch.h"
#include "utils/rel.h"

/*
 * Support functions of an operator class.  SKX_SUPPORT_CANONICAL returns the
 * canonical form of a value, as bytea.  SKX_SUPPORT_CROSS_TYPE is for a pair
 * of types whose values have no canonical forms in common: it tells which
 * forms of the first type a value of the second compares with (read/condition/
 * condition_place.h).
 */
#define SKX_SUPPORT_CANONICAL	1
#define SKX_SUPPORT_CROSS_TYPE		2
#define SKX_SUPPORT_FUNCTIONS	2

/*
 * Strategy of the text column's operator for disjunctions
 * (condition_disjunction.h).  Its other strategies are in sql/am/am.h.
 */
#define SKX_STRATEGY_DISJUNCTION	4

/* Strategies of columns beside the text. */
#define SKX_STRATEGY_LESS		1	/* the first five are those of a btree */
#define SKX_STRATEGY_LESS_EQUAL	2
#define SKX_STRATEGY_EQUAL		3
#define SKX_STRATEGY_GREATER_EQUAL	4
#define SKX_STRATEGY_GREATER	5
#define SKX_STRATEGY_OVERLAPS	6	/* array && array */
#define SKX_STRATEGY_CONTAINS	7	/* array @> array */
#define SKX_STRATEGY_DIFFERS	8	/* <> */
#define SKX_STRATEGY_DISJOINT	9	/* array !&& array */

/* Returns true if the strategy is one of <, <=, >=, > on a scalar type. */
static inline bool
skx_column_is_range(int strategy)
{
	return strategy >= SKX_STRATEGY_LESS &&
		strategy <= SKX_STRATEGY_GREATER && strategy != SKX_STRATEGY_EQUAL;
}

/*
 * column.c : columns of an index, and values as lexemes
 *
 * Columns are numbered from 0, the text column.
 */

/*
 * All columns of an index beside the text, ready to make lexemes of their
 * values.
 */
typedef struct SkxColumns SkxColumns;

/*
 * Returns the columns of an index beside the text, in the current memory
 * context.  Raises an error if one has no canonical form.
 */
extern SkxColumns *skx_column_all(Relation index);

/*
 * Returns the OID of the support function that makes canonical forms of values
 * of `type` in a column, InvalidOid if there is none.  In an array column
 * these are the elements.  If `type` is InvalidOid or polymorphic, the
 * column's own type counts.
 */
extern Oid	skx_column_canonical(Relation index, int column, Oid type);

/*
 * Does the same for a type without an index, by the type's default operator
 * class for the access method `am`.
 */
extern Oid	skx_column_canonical_of_type(Oid am, Oid type);

/*
 * Returns the lexeme of a value, given its canonical form of len bytes.  The
 * bytes of the lexeme are palloc'd.
 */
extern SkxLexeme skx_column_lexeme(int column, SkxValueKind kind,
								   const char *form, int len);

/*
 * Returns the element type of an array column, InvalidOid if the column is of
 * another kind.
 */
extern Oid	skx_column_element_type(Relation index, int column);

/*
 * Returns the lexemes of a row's values beside the text, ascending, as a
 * tsvector in the current memory context.  values[0] is that of the text and
 * not used.  Returns NULL if the index has no column beside the text.  Raises
 * an error if a value, or all of them together, are too long.
 */
extern TSVector skx_column_values(const SkxColumns *columns,
								  const Datum *values, const bool *isnull);

/*
 * column_form.c : sets *value to the value of `type`, with this typmod, that
 * has a canonical form of len bytes.  `canonical` is the function that makes
 * such forms.  Returns false if it is no function of this extension, or if the
 * form does not determine the value.
 */
extern bool skx_column_form_value(PGFunction canonical, Oid type, int32 typmod,
								  const char *form, int len, Datum *value);

/*
 * Returns the floating-point number of a form of eight bytes, which are given
 * as an integer.
 */
extern float8 skx_column_float_value(uint64 bits);

/*
 * Compares two SkxLexeme in the order of dictionaries and documents, for qsort
 * and bsearch.
 */
extern int	skx_column_compare_lexeme(const void *a, const void *b);

/*
 * Creates a hash table in the context.  Its entries, of `entry_size` bytes,
 * begin with their key, an SkxLexeme, whose bytes are the caller's.
 */
extern HTAB *skx_column_create_table(const char *name, Size entry_size,
									 MemoryContext context);

/* Sorts lexemes and drops repeated ones.  Returns how many are left. */
extern int	skx_column_distinct(SkxLexeme *lexemes, int n);

#endif							/* SKX_COLUMN_H */
