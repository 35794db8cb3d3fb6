/*
 * condition_disjunction.h
 *	  A disjunction of conditions on several columns, as one value.
 *
 * A row has to meet all scan keys.  A disjunction is therefore one scan key
 * on the first column, and its argument contains the conditions.  The
 * planner makes the argument (plan_disjunction.c); skx_bind_values() puts
 * values into it that only the execution knows.  Nothing else makes one: the
 * type has no input function.
 */
#ifndef SKX_CONDITION_DISJUNCTION_H
#define SKX_CONDITION_DISJUNCTION_H

#include "read/condition/condition.h"
#include "lib/stringinfo.h"

/* The largest number of conditions in a disjunction. */
#define SKX_DISJUNCTION_CONDITIONS_MAX	64

/* A flag beside those of scan keys: the value is not known yet. */
#define SKX_PACKED_PARAM			0x40000000

/*
 * One condition of a disjunction.  The conditions of an arm follow each
 * other, and a document has to meet all of them; arms are numbered from 0.
 * The value follows the struct, aligned to MAXALIGN, unless it is NULL or
 * not known yet.  A value of a type that is passed by value is stored as a
 * Datum.
 */
typedef struct SkxPackedCondition
{
	int32		arm;			/* number of its arm */
	int32		column;			/* index column, from 1; 1 is the text */
	Oid			operator;		/* of the column's family; InvalidOid for a
								 * test for NULL, or a gate */
	int32		flags;			/* of a scan key: SK_ISNULL, SK_SEARCH...; and
								 * SKX_PACKED_PARAM */
	Oid			type;			/* type of the value */
	int32		len;			/* bytes of the value, without padding; 0 if
								 * there is none */
} SkxPackedCondition;

/*
 * Returns true if the condition is a gate: a boolean that belongs to no
 * column and is not known yet.  A gate is stored as a condition on column 1,
 * in an arm with other conditions.  Once it is known, a true one is left out
 * of the arm; if it is not true, no document meets the arm.
 */
static inline bool
skx_condition_is_gate(const SkxPackedCondition *packed)
{
	return !OidIsValid(packed->operator) &&
		packed->flags == SKX_PACKED_PARAM;
}

/*
 * The header of a disjunction, a varlena value.  Its packed conditions
 * follow, aligned to MAXALIGN.
 */
typedef struct SkxDisjunction
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int32		n;				/* number of conditions that follow */
	int16		is_exact;		/* a document meets it if and only if its row
								 * does; if 0, rows are rechecked */
	int16		has_query;		/* 1 if it contains a query, else 0 */
	float4		gather_cost;	/* the planner's cost of gathering bits for
								 * its queries; 0 if none are gathered */
} SkxDisjunction;

/* Returns the first condition of a disjunction. */
static inline const SkxPackedCondition *
skx_condition_first_packed(const SkxDisjunction *disjunction)
{
	return (const SkxPackedCondition *) ((const char *) disjunction +
										 MAXALIGN(sizeof(SkxDisjunction)));
}

/*
 * Returns the address behind a condition and its value.  The next condition
 * stands there, if there is one.
 */
static inline const SkxPackedCondition *
skx_condition_next_packed(const SkxPackedCondition *packed)
{
	return (const SkxPackedCondition *) ((const char *) packed +
										 MAXALIGN(sizeof(SkxPackedCondition)) +
										 MAXALIGN(packed->len));
}

/*
 * condition_disjunction.c : makes a disjunction
 *
 * A disjunction is made by skx_condition_pack_begin(),
 * skx_condition_pack_append() for each condition, and
 * skx_condition_pack_end().
 */

/*
 * Initializes `out` in the current memory context, and appends the header of
 * a disjunction without conditions.
 */
extern void skx_condition_pack_begin(StringInfo out);

/*
 * Appends a condition, with its value if it has an operator and the value is
 * neither NULL nor open.  The function fills in packed.len itself.
 */
extern void skx_condition_pack_append(StringInfo out,
									  SkxPackedCondition packed, Datum value);

/*
 * Completes the header with `exact` and `gather` (see SkxDisjunction), and
 * returns the disjunction, which is the data of `out`.
 */
extern SkxDisjunction *skx_condition_pack_end(StringInfo out, bool exact,
											  double gather);

/*
 * Returns the value of a packed condition that has one.  A value that is
 * passed by reference points into `packed`, and is valid as long as that is.
 */
extern Datum skx_condition_packed_value(const SkxPackedCondition *packed);

#endif							/* SKX_CONDITION_DISJUNCTION_H */
