/*
 * condition.h
 *	  Conditions on the columns of an index, as conditions on its documents.
 */
#ifndef SKX_CONDITION_H
#define SKX_CONDITION_H

#include "access/skey.h"
#include "index/column/column.h"

/*
 * The kinds of conditions on a document.  The lexemes they name are those of
 * an SkxCondition; they ascend and are distinct.
 */
typedef enum SkxConditionKind
{
	SKX_CONDITION_NEVER,		/* no document meets it */
	SKX_CONDITION_ALL_OF,		/* has all of the lexemes */
	SKX_CONDITION_ANY_OF,		/* has one of the lexemes */
	SKX_CONDITION_NONE_OF,		/* has none of the lexemes */
	SKX_CONDITION_RANGE,		/* has a lexeme in the range [from, to) */
	SKX_CONDITION_QUERIES,		/* its text matches one of the queries */
	SKX_CONDITION_DISJUNCTION	/* meets all conditions of one of the arms */
} SkxConditionKind;

/* An arm of a disjunction: a conjunction of conditions. */
typedef struct SkxConditionArm
{
	int			n;				/* at least 1 */
	struct SkxCondition *conditions;	/* not NEVER or DISJUNCTION */
} SkxConditionArm;

/* A condition on the documents of an index. */
typedef struct SkxCondition
{
	SkxConditionKind kind;
	bool		lossy;			/* documents may meet it whose rows do not */
	int			n;				/* number of lexemes, or of queries */
	SkxLexeme  *lexemes;		/* ALL, ANY, WITHOUT: n of them */
	TSQuery    *queries;		/* QUERIES: n of them, none empty */
	SkxLexeme	from;			/* RANGE: lower bound, in the range; n is 0 */
	SkxLexeme	to;				/* RANGE: upper bound, not in the range; of
								 * the same column as `from` */
	int			narms;			/* DISJUNCTION: at least 1; n is 0 */
	SkxConditionArm *arms;		/* DISJUNCTION: narms of them */
} SkxCondition;

/* condition_value.c : values of arrays and of documents */

/*
 * Takes an array of any element type apart into *elements and *nulls, which
 * are allocated in the current memory context.  Returns the number of
 * elements.
 */
extern int	skx_condition_elements(Datum argument, Datum **elements,
								   bool **nulls);

/*
 * Returns the number of the document's first entry that is not below the
 * lexeme, or the document's size if all entries are below it.
 */
extern int	skx_condition_find_entry(TSVector document,
									 const SkxLexeme *lexeme);

/* condition.c : conditions from scan keys, and tests of documents */

/*
 * Sets *condition to what the scan key says of documents.  A comparison with
 * NULL becomes NEVER.  Raises an error if the strategy of a scalar column is
 * unknown.
 */
extern void skx_condition_of_key(Relation index, const ScanKeyData *key,
								 SkxCondition *condition);

/*
 * Returns true if the document, with the lexemes of its values, meets the
 * condition.  The condition must not be of kind QUERIES or DISJUNCTION.
 */
extern bool skx_condition_document_meets(const SkxCondition *condition,
										 TSVector document);

/*
 * Adds the lexemes of `other` to those of `condition`, so that it means
 * both.  Returns false and changes nothing unless both are of kind WITHOUT
 * and on the same column.
 */
extern bool skx_condition_join_excluded(SkxCondition *condition,
										const SkxCondition *other);

/*
 * Joins the conditions of a conjunction: the ranges of each column become
 * one condition, and so do each column's conditions of kind WITHOUT.
 * Returns the number of conditions left, which stand at the start of the
 * array.
 */
extern int	skx_condition_join_conditions(SkxCondition *conditions, int n);

/*
 * condition_range.c : conditions that values lie below or above others, on
 * columns whose canonical forms ascend as their values do
 */

/*
 * Sets *condition to the least range that contains all values of the column
 * (from 0) for which "column `strategy` argument" is true; it is lossy if it
 * contains others.  The argument is a value of `type`.  With `array` it is
 * an array of such values, and the comparison is to be true for one of them.
 * *condition must be zeroed and of kind NEVER.  It is left NEVER if the
 * range is empty, or all elements of the array are NULL.
 */
extern void skx_condition_range(Relation index, int column,
								StrategyNumber strategy, Oid type, bool array,
								Datum argument, SkxCondition *condition);

/*
 * Narrows a range to its intersection with `other`; an empty one becomes
 * NEVER.  Returns false and changes nothing unless both are ranges of one
 * column.
 */
extern bool skx_condition_join_range(SkxCondition *condition,
									 const SkxCondition *other);

/*
 * Returns true if the document has a lexeme in [from, to) of the condition,
 * which must be of kind RANGE.
 */
extern bool skx_condition_in_range(const SkxCondition *condition,
								   TSVector document);

/* condition_place.c : comparisons between values of two types */

/*
 * Returns support function 2 of the two types in the operator family, which
 * tells where a value of `right` stands among values of `left`.  Returns
 * InvalidOid if there is none, or if the types are equal or `right` is
 * invalid.
 */
extern Oid	skx_condition_cross_type_function(Oid family, Oid left, Oid right);

/*
 * Returns true if the range between bounds of type `right` may contain
 * values of type `left` that do not meet its condition.
 */
extern bool skx_condition_may_have_between(Oid family, Oid left, Oid right);

#endif							/* SKX_CONDITION_H */
