/*
 * condition_disjunction.h
 *	  A disjunction of conditions on several columns, as one value.
 *
 * Scan keys are all to be met.  That rows meet one of several conditions is asked
 * for by one key on the first column, whose argument has these.  The planner
 * makes it (plan_disjunction.c); values that only the execution knows are put
 * in by skx_bind_values().  Nothing else makes one: the type has no input.
 */
#ifndef SKX_CONDITION_DISJUNCTION_H
#define SKX_CONDITION_DISJUNCTION_H

#include "read/condition/condition.h"
#include "lib/stringinfo.h"

/* Conditions of one at most. */
#define SKX_DISJUNCTION_MOST	64

/* Beside the flags of scan keys: the value is not known yet. */
#define SKX_PACKED_OPEN			0x40000000

/*
 * One condition.  Those of an arm follow each other, and have to be met
 * together; arms ascend from 0.  The value follows, unless it is NULL or open,
 * aligned to MAXALIGN; of a type that is passed by value as a Datum.
 */
typedef struct SkxPackedCondition
{
	int32		arm;
	int32		column;			/* of the index, from 1: the text */
	Oid			operator;		/* of the column's family; InvalidOid: whether
								 * it is NULL, or a gate */
	int32		flags;			/* of a scan key: SK_ISNULL, SK_SEARCH...; and
								 * SKX_PACKED_OPEN */
	Oid			type;			/* of the value */
	int32		len;			/* its bytes, without what aligns the next one */
} SkxPackedCondition;

/*
 * A gate, of column 1, is a value that is not known yet and no column's: once it
 * is, it is left out if it is true, else the arm, which has other conditions, is
 * met by nothing.
 */
static inline bool
skx_condition_is_gate(const SkxPackedCondition *packed)
{
	return !OidIsValid(packed->operator) &&
		packed->flags == SKX_PACKED_OPEN;
}

typedef struct SkxDisjunction
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int32		n;				/* conditions, from here on */
	int16		exact;			/* do all documents meet it whose rows do, and
								 * no others?  Else rows have to be looked at. */
	int16		on_text;		/* does it have a query? */
	float4		gather;			/* what it costs, as the planner counts, to
								 * gather bits for its queries; 0: none are */
} SkxDisjunction;

static inline const SkxPackedCondition *
skx_condition_first_packed(const SkxDisjunction *disjunction)
{
	return (const SkxPackedCondition *) ((const char *) disjunction +
										 MAXALIGN(sizeof(SkxDisjunction)));
}

static inline const SkxPackedCondition *
skx_condition_next_packed(const SkxPackedCondition *packed)
{
	return (const SkxPackedCondition *) ((const char *) packed +
										 MAXALIGN(sizeof(SkxPackedCondition)) +
										 MAXALIGN(packed->len));
}

/*
 * pack_begin, then pack for each condition, with its value where it has one (len
 * is filled in), then pack_end.  packed_value: valid as long as it is.
 */
extern void skx_condition_pack_begin(StringInfo out);
extern void skx_condition_pack(StringInfo out, SkxPackedCondition packed,
							   Datum value);
extern SkxDisjunction *skx_condition_pack_end(StringInfo out, bool exact,
											  double gather);
extern Datum skx_condition_packed_value(const SkxPackedCondition *packed);

/* What documents have to have of it in the index that it was made for. */
extern void skx_condition_disjunction(Relation index, Datum argument,
									  SkxCondition *condition);

#endif							/* SKX_CONDITION_DISJUNCTION_H */
