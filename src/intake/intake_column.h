/*
 * intake_column.h
 *	  The columns of an index beside the text: their values, and conditions on
 *	  them.
 */
#ifndef SKX_INTAKE_COLUMN_H
#define SKX_INTAKE_COLUMN_H

#include "access/skey.h"
#include "intake/intake_value.h"
#include "utils/rel.h"

/*
 * Support functions of an operator class: canonical form of a value, bytea; and,
 * of a pair of types, where a value of the second is among those of the first
 * (intake_place.h), if values of the two have no forms in common.
 */
#define SKX_SUPPORT_CANONICAL	1
#define SKX_SUPPORT_PLACE		2
#define SKX_SUPPORT_FUNCTIONS	2

/* That of the first column for what intake_disjunction.h has; others: am/am.h. */
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
skx_intake_is_range(int strategy)
{
	return strategy >= SKX_STRATEGY_LESS &&
		strategy <= SKX_STRATEGY_GREATER && strategy != SKX_STRATEGY_EQUAL;
}

/*
 * intake_column.c
 *
 * columns: of an index, in the current memory context.  canonical: the support
 * function for values of `type` in column `column` (from 0), InvalidOid: there
 * is none; of an array, that of its elements.  canonical_of_type: the same by
 * the type's default operator class for the access method `am`.  values: the lexemes of a row's
 * values, ascending, without a text; NULL: the index has no such column.
 * lexeme: of a value of a column (from 0), by its canonical form.  placing
 * (intake_place.c): support function 2 of a pair of types, InvalidOid: there is
 * none.  may_mix: between them a range may be lossy.
 */
typedef struct SkxColumns SkxColumns;

extern SkxColumns *skx_intake_columns(Relation index);
extern Oid	skx_intake_canonical(Relation index, int column, Oid type);
extern Oid	skx_intake_canonical_of_type(Oid am, Oid type);
extern SkxLexeme skx_intake_lexeme(int column, SkxValueKind kind,
								   const char *form, int len);
extern Oid	skx_intake_element_type(Relation index, int column);
extern Oid	skx_intake_placing(Oid family, Oid left, Oid right);
extern bool skx_intake_may_mix(Oid family, Oid left, Oid right);
extern TSVector skx_intake_values(const SkxColumns *columns,
								  const Datum *values, const bool *isnull);

/*
 * intake_form.c : a value of `type`, with this modifier, from its canonical
 * form; false: that does not tell it, or is not one that the function gives
 */
extern bool skx_intake_form_value(PGFunction canonical, Oid type, int32 typmod,
								  const char *form, int len, Datum *value);

/*
 * intake_document.c
 *
 * document: of a row's values (NULL: none) and its text (NULL: that is NULL);
 * the text itself if there is nothing to add.  row_document: of what the index
 * has of a row; free returns what it took.  without_values: the text alone; the
 * document itself if it has no value.
 */
extern TSVector skx_intake_document(TSVector values, TSVector text);
extern TSVector skx_intake_row_document(const SkxColumns *columns,
										const Datum *values,
										const bool *isnull,
										const ItemPointerData *tid);
extern void skx_intake_free_document(TSVector document, const Datum *values,
									 const bool *isnull);
extern TSVector skx_intake_without_values(TSVector document);

/*
 * intake_condition.c
 *
 * What a document has to have.  Lexemes ascend and differ.
 */
typedef enum SkxConditionKind
{
	SKX_CONDITION_NEVER,		/* no document meets it */
	SKX_CONDITION_ALL,			/* has all of the lexemes */
	SKX_CONDITION_ANY,			/* has one of them */
	SKX_CONDITION_WITHOUT,		/* has none of them */
	SKX_CONDITION_RANGE,		/* has one of a range of them */
	SKX_CONDITION_QUERIES,		/* its text matches one of the queries */
	SKX_CONDITION_DISJUNCTION	/* meets all conditions of one of the arms */
} SkxConditionKind;

/* Conditions that are to be met together. */
typedef struct SkxArm
{
	int			n;				/* at least 1 */
	struct SkxCondition *conditions;	/* not NEVER or DISJUNCTION */
} SkxArm;

typedef struct SkxCondition
{
	SkxConditionKind kind;
	bool		lossy;			/* more documents than rows meet it */
	int			n;
	SkxLexeme  *lexemes;
	TSQuery    *queries;		/* QUERIES: n of them, none empty */
	SkxLexeme	from;			/* RANGE, of one column: from this one on, */
	SkxLexeme	to;				/* and below this one; n is 0 */
	int			narms;			/* DISJUNCTION: at least 1; n is 0 */
	SkxArm	   *arms;
} SkxCondition;

/* Takes an array apart, of whatever type; returns how many elements it has. */
extern int	skx_intake_elements(Datum argument, Datum **elements,
								bool **nulls);

/* Of a scan key. */
extern void skx_intake_condition(Relation index, const ScanKeyData *key,
								 SkxCondition *condition);

/*
 * The first of a document's entries that is not below the lexeme; its size:
 * there is none.
 */
extern int	skx_intake_find(TSVector document, const SkxLexeme *lexeme);

/* Does the document meet it?  Not for QUERIES and DISJUNCTION. */
extern bool skx_intake_meets(const SkxCondition *condition,
							 TSVector document);

/*
 * join_without adds what another condition says that documents must not have of
 * the same column; false: they are not such.  join_conditions makes one of these
 * and one of a column's ranges; returns how many conditions are left.
 */
extern bool skx_intake_join_without(SkxCondition *condition,
									const SkxCondition *other);
extern int	skx_intake_join_conditions(SkxCondition *conditions, int n);

/*
 * intake_range.c : values below or above others, of a column whose canonical
 * forms ascend as its values do
 *
 * range: column (from 0) `strategy` a value of type `type`, or one of an array
 * of these, which is `array`.  join_range narrows a range by another one of its
 * column; false: they are not such.  in_range: has the document such a value?
 */
extern void skx_intake_range(Relation index, int column,
							 StrategyNumber strategy, Oid type, bool array,
							 Datum argument, SkxCondition *condition);
extern bool skx_intake_join_range(SkxCondition *condition,
								  const SkxCondition *other);
extern bool skx_intake_in_range(const SkxCondition *condition,
								TSVector document);

/* The order of lexemes in dictionaries and documents, for qsort and bsearch. */
extern int	skx_intake_compare_lexeme(const void *a, const void *b);

/* Sorts lexemes and drops repeats; returns how many are left. */
extern int	skx_intake_distinct(SkxLexeme *lexemes, int n);

#endif							/* SKX_INTAKE_COLUMN_H */
