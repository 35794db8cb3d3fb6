/*
 * column.h
 *	  The columns of an index beside the text: their values, and conditions on
 *	  them.
 */
#ifndef SKX_COLUMN_H
#define SKX_COLUMN_H

#include "index/column/column_value.h"
#include "utils/rel.h"

/*
 * Support functions of an operator class: canonical form of a value, bytea; and,
 * of a pair of types, where a value of the second is among those of the first
 * (condition_place.h), if values of the two have no forms in common.
 */
#define SKX_SUPPORT_CANONICAL	1
#define SKX_SUPPORT_PLACE		2
#define SKX_SUPPORT_FUNCTIONS	2

/* That of the first column for what condition_disjunction.h has; others: sql/am/am.h. */
#define SKX_STRATEGY_DISJUNCTION	4

/* Strategies of columns beside the text. */
#define SKX_STRATEGY_LESS		1	/* those of a btree, */
#define SKX_STRATEGY_LESS_EQUAL	2
#define SKX_STRATEGY_EQUAL		3
#define SKX_STRATEGY_GREATER_EQUAL	4
#define SKX_STRATEGY_GREATER	5	/* to here */
#define SKX_STRATEGY_OVERLAPS	6	/* array && array */
#define SKX_STRATEGY_CONTAINS	7	/* array @> array */
#define SKX_STRATEGY_DIFFERS	8	/* <> */
#define SKX_STRATEGY_DISJOINT	9	/* array !&& array */

/* Of a scalar type: below a value, above it, or it, too? */
static inline bool
skx_column_is_range(int strategy)
{
	return strategy >= SKX_STRATEGY_LESS &&
		strategy <= SKX_STRATEGY_GREATER && strategy != SKX_STRATEGY_EQUAL;
}

/*
 * column.c
 *
 * columns: of an index, in the current memory context.  canonical: the support
 * function for values of `type` in column `column` (from 0), InvalidOid: there
 * is none; of an array, that of its elements.  canonical_of_type: the same by
 * the type's default operator class for the access method `am`.  values: the
 * lexemes of a row's values, ascending, without a text; NULL: the index has no
 * such column. lexeme: of a value of a column (from 0), by its canonical form.
 */
typedef struct SkxColumns SkxColumns;

extern SkxColumns *skx_column_all(Relation index);
extern Oid	skx_column_canonical(Relation index, int column, Oid type);
extern Oid	skx_column_canonical_of_type(Oid am, Oid type);
extern SkxLexeme skx_column_lexeme(int column, SkxValueKind kind,
								   const char *form, int len);
extern Oid	skx_column_element_type(Relation index, int column);
extern TSVector skx_column_values(const SkxColumns *columns,
								  const Datum *values, const bool *isnull);

/*
 * column_form.c : a value of `type`, with this modifier, from its canonical
 * form; false: that does not tell it, or is not one that the function gives
 */
extern bool skx_column_form_value(PGFunction canonical, Oid type, int32 typmod,
								  const char *form, int len, Datum *value);

/* The order of lexemes in dictionaries and documents, for qsort and bsearch. */
extern int	skx_column_compare_lexeme(const void *a, const void *b);

/* Sorts lexemes and drops repeats; returns how many are left. */
extern int	skx_column_distinct(SkxLexeme *lexemes, int n);

#endif							/* SKX_COLUMN_H */
