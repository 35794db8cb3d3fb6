/*
 * condition.h
 *	  What conditions on the columns of an index ask of its documents.
 */
#ifndef SKX_CONDITION_H
#define SKX_CONDITION_H

#include "access/skey.h"
#include "index/column/column.h"

/*
 * condition.c
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
extern int	skx_condition_elements(Datum argument, Datum **elements,
								   bool **nulls);

/* Of a scan key. */
extern void skx_condition_of_key(Relation index, const ScanKeyData *key,
								 SkxCondition *condition);

/*
 * The first of a document's entries that is not below the lexeme; its size:
 * there is none.
 */
extern int	skx_condition_find(TSVector document, const SkxLexeme *lexeme);

/* Does the document meet it?  Not for QUERIES and DISJUNCTION. */
extern bool skx_condition_meets(const SkxCondition *condition,
								TSVector document);

/*
 * join_without adds what another condition says that documents must not have of
 * the same column; false: they are not such.  join_conditions makes one of these
 * and one of a column's ranges; returns how many conditions are left.
 */
extern bool skx_condition_join_without(SkxCondition *condition,
									   const SkxCondition *other);
extern int	skx_condition_join_conditions(SkxCondition *conditions, int n);

/*
 * condition_range.c : values below or above others, of a column whose canonical
 * forms ascend as its values do
 *
 * range: column (from 0) `strategy` a value of type `type`, or one of an array
 * of these, which is `array`.  join_range narrows a range by another one of its
 * column; false: they are not such.  in_range: has the document such a value?
 */
extern void skx_condition_range(Relation index, int column,
								StrategyNumber strategy, Oid type, bool array,
								Datum argument, SkxCondition *condition);
extern bool skx_condition_join_range(SkxCondition *condition,
									 const SkxCondition *other);
extern bool skx_condition_in_range(const SkxCondition *condition,
								   TSVector document);

/*
 * condition_place.c
 *
 * Support function 2 of a pair of types in a family of operators, which tells
 * where values of `right` stand among those of `left`; InvalidOid: there is none.
 */
extern Oid	skx_condition_placing(Oid family, Oid left, Oid right);

/* May a range of values of `left` that `right` bounds have others in it? */
extern bool skx_condition_may_mix(Oid family, Oid left, Oid right);

#endif							/* SKX_CONDITION_H */
