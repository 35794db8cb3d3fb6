/*
 * condition_place.h
 *	  Where a value of one type stands among those of another.
 *
 * The `=` and `<` of some pairs of types depend on the session's time zone.
 * One value may then be equal to several values of the other type, or to
 * none.  The values equal to it, below it and above it need not lie in that
 * order: where clocks are put forward, a time that they skip is later than
 * some times that come after it.
 */
#ifndef SKX_CONDITION_PLACE_H
#define SKX_CONDITION_PLACE_H

#include "read/condition/condition.h"

/*
 * Where a value stands among the canonical forms of the other type: all
 * forms below `min_form` are below the value, and those from `max_form` on are
 * above it.
 */
typedef struct SkxCrossTypeBounds
{
	bytea	   *min_form;
	bytea	   *max_form;
	bool		has_unequal;	/* true if forms between these two are not
								 * equal to the value */
	int			n;				/* number of forms equal to the value */
	bytea	  **equal;			/* these n forms, ascending */
} SkxCrossTypeBounds;

/*
 * A function that translates values of a type for comparisons with a column:
 * into their canonical form, or into an SkxCrossTypeBounds if `is_cross_type`
 * is true.
 */
typedef struct SkxComparand
{
	FmgrInfo	function;
	bool		is_cross_type;	/* the function is support function 2 */
} SkxComparand;

/* condition_place.c : the place of a value among those of another type */

/*
 * Sets *comparand to the function that translates values of `type` for
 * comparisons with the index column (from 0).
 */
extern void skx_condition_comparand(Relation index, int column, Oid type,
									SkxComparand *comparand);

/*
 * Sets *place to where the value stands among the column's values.  The
 * comparand's `is_cross_type` must be true.  The forms are allocated in the
 * current memory context.
 */
extern void skx_condition_cross_type_bounds(SkxComparand *comparand,
											Datum value,
											SkxCrossTypeBounds *place);

#endif							/* SKX_CONDITION_PLACE_H */
