/*
 * functions_internal.h
 *	  Between the files of functions/.
 */
#ifndef SKX_FUNCTIONS_INTERNAL_H
#define SKX_FUNCTIONS_INTERNAL_H

#include "access/relscan.h"
#include "fmgr.h"
#include "read/score/score.h"
#include "support/compat/compat.h"
#include "utils/relcache.h"

/*
 * functions_open.c : what functions share that tell rows or scores through an
 * index
 *
 * open errors out unless it is a valid index of ours (with `parts` also a
 * partitioned one), and unless the user may read every row of the columns that
 * it is made of: SELECT on them, and no policy that applies.  close leaves
 * table and index locked until the transaction ends.  check_age errors out if
 * the active snapshot may see rows that were updated before the index was made,
 * and that it has only as they were then.
 */
extern void skx_functions_open(Oid oid, bool parts, Relation *heap,
							   Relation *index);
extern void skx_functions_close(Relation heap, Relation index);
extern void skx_functions_check_age(Relation index);

/*
 * functions_arguments.c
 *
 * rows: so many rows, or values, are asked for; NULL is all, as of LIMIT.  Errors
 * out below 0.  given: the argument, which must not be NULL.
 */
#define SKX_FUNCTIONS_ALL	PG_UINT64_MAX

extern uint64 skx_functions_rows(FunctionCallInfo fcinfo, int argument,
								 const char *name);
extern Datum skx_functions_given(FunctionCallInfo fcinfo, int argument,
								 const char *name);

/*
 * functions_parts.c
 *
 * open_parts is open for functions that go through the tables of an index one
 * by one: of a partitioned one those of its partitions, which all need a valid
 * index of it, and whose rights are not asked for, as a query on the table does
 * not.  Columns of their indexes are numbered as those of the named one.
 */
typedef struct SkxPart
{
	Relation	heap;
	Relation	index;
} SkxPart;

typedef struct SkxParts
{
	Relation	heap;			/* that the named index is of */
	Relation	index;			/* this one */
	int			n;
	SkxPart    *parts;
} SkxParts;

extern void skx_functions_open_parts(Oid oid, SkxParts *parts);
extern void skx_functions_close_parts(SkxParts *parts);
extern void skx_functions_check_ages(const SkxParts *parts);

/*
 * functions_facets.c : the column of the index, from 0, that is not the text,
 * by a name of type text
 */
extern int	skx_functions_find_column(Relation heap, Relation index,
									  Datum name);

/* functions_histogram.c : errors out, since the column has no keys */
SKX_NORETURN extern void skx_functions_no_order(Relation index,
												const char *name);

/*
 * functions_search.c : a scan of the rows that match a query, under the active
 * snapshot, ranked by a reference unless that is NULL; a scan looks at strategies,
 * and calls no function of an operator
 */
extern IndexScanDesc skx_functions_scan(Relation heap, Relation index,
										TSQuery query, const SkxRef *rank_by);

#endif							/* SKX_FUNCTIONS_INTERNAL_H */
