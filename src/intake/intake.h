/*
 * intake.h
 *	  What comes in from a table: its tsvectors, in the one form that the rest
 *	  knows, and the evaluation of an index's expressions.
 */
#ifndef SKX_INTAKE_INTAKE_H
#define SKX_INTAKE_INTAKE_H

#include "storage/itemptr.h"
#include "tsearch/ts_type.h"
#include "utils/rel.h"

/*
 * intake_vector.c
 *
 * Returns `value`, or what the index takes in its stead, in the current memory
 * context: lexemes ascend and differ, positions of a lexeme ascend and differ,
 * and are 1 to MAXNUMPOS where it has any.  What cannot be read so is an
 * error; it names the row, unless `tid` is NULL.
 */
extern TSVector skx_intake_vector(TSVector value, const ItemPointerData *tid);

/* Of a column or an argument; NULL for NULL, else as above and detoasted. */
extern TSVector skx_intake_datum(Datum value, bool isnull,
								 const ItemPointerData *tid);

/* Frees what skx_intake_datum returned, if that is not `value` itself. */
extern void skx_intake_free(TSVector vector, Datum value);

/*
 * What is wrong with `nbytes` bytes that should be the tsvector itself: words
 * to follow "tsvector ", or NULL.  Set *as_taken if skx_intake_vector would
 * return it as it is.
 */
extern const char *skx_intake_vector_wrong(const char *bytes, Size nbytes,
										   bool *as_taken);

/*
 * intake_owner.c
 *
 * Between the two, whatever code an index's expressions and predicate run is
 * run as the owner of the table, and can neither keep settings nor leave
 * anything to be run later.  An error ends it, too.
 */
typedef struct SkxOwnerState
{
	Oid			user;
	int			context;
	int			nest;
} SkxOwnerState;

extern void skx_intake_owner_begin(SkxOwnerState *state, Relation heap);
extern void skx_intake_owner_end(const SkxOwnerState *state);

/*
 * Refuses (42501) to have expressions of an index evaluated for a caller that
 * has less rights than the owner, unless all they call is compiled.  Before
 * owner_begin, by functions that a caller needs no more than SELECT for.
 */
extern void skx_intake_check_caller(Relation heap, Relation index,
									List *expressions);

/*
 * What the index has, or would have, of the row in `slot`: its one column, in
 * the current memory context; NULL: that is NULL.  As the owner.
 */
struct TupleTableSlot;
extern TSVector skx_intake_row(Relation heap, Relation index,
							   struct TupleTableSlot *slot);

#endif							/* SKX_INTAKE_INTAKE_H */
