/*
 * condition_place.h
 *	  Where a value of one type stands among those of another.
 *
 * Of types whose `=` and `<` depend on the session's time zone one value may be
 * equal to several of the other type, or to none, and what is equal to, below
 * and above it need not lie in that order: where clocks are put forward, a time
 * that they pass over is later than some that come after it.
 */
#ifndef SKX_CONDITION_PLACE_H
#define SKX_CONDITION_PLACE_H

#include "read/condition/condition.h"

/*
 * Of canonical forms of the other type: those below `least` are below the value,
 * those from `most` on above it.
 */
typedef struct SkxPlace
{
	bytea	   *least;
	bytea	   *most;
	bool		mixed;			/* between these are others than equal ones */
	int			n;				/* how many are equal, */
	bytea	  **equal;			/* ascending */
} SkxPlace;

/*
 * condition_place.c
 *
 * A comparand gives the forms of a column's values (from 0) that values of
 * `type` are compared with; where that is one each, the value's own.
 */
typedef struct SkxComparand
{
	FmgrInfo	function;
	bool		places;			/* it is support function 2 */
} SkxComparand;

extern void skx_condition_comparand(Relation index, int column, Oid type,
									SkxComparand *comparand);
extern void skx_condition_place(SkxComparand *comparand, Datum value,
								SkxPlace *place);

#endif							/* SKX_CONDITION_PLACE_H */
