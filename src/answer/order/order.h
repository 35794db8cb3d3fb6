/*
 * order.h
 *	  The rows of an index in the order of a column beside the text.
 */
#ifndef SKX_ORDER_H
#define SKX_ORDER_H

#include "index/segment/segment_keys.h"
#include "read/condition/condition.h"
#include "read/query/query.h"

/* The part of a parallel search that one process carries out. */
typedef struct SkxOrderedPart
{
	bool		nulls;			/* true: the rows without a value */
	SkxKeyRange range;			/* else the rows with keys in this range */
} SkxOrderedPart;

/* Counters of the work of searches, of type uint64. */
typedef struct SkxOrderedWork
{
	uint64		passes;			/* passes over the index: one, and one for
								 * each time that more rows were fetched */
	uint64		leaves;			/* ranges of documents that were visited */
	uint64		values;			/* values whose documents were read */
	uint64		documents;		/* documents whose keys were compared */
} SkxOrderedWork;

/*
 * A request for rows in the order of the keys of a column, ascending or
 * descending.  Rows with the same key come in their order in the index.
 */
typedef struct SkxOrderedRequest
{
	Relation	index;
	const SkxView *view;		/* taken after the snapshot */
	const SkxQuery *filter;		/* condition on all rows */
	const SkxCondition *range;	/* one of its conditions, which bounds the
								 * column; NULL: there is none */
	const SkxQuery *unbounded;	/* the filter without `range`; NULL if that is
								 * NULL */
	SkxKeyColumn key;			/* the column, and how its keys are made */
	bool		descending;
	bool		nulls_first;
	uint64		wanted_rows;	/* estimate of the rows that will be fetched;
								 * 0: not known */
	const SkxOrderedPart *parallel_part;	/* NULL: all rows */
	SkxOrderedWork *work;		/* the search adds to these counters */
} SkxOrderedRequest;

/* A search for rows in the order of a column. */
typedef struct SkxOrdered SkxOrdered;

/*
 * Number of rows that the first pass looks for if `wanted_rows` is 0, and the
 * factor by which each further pass looks for more.  Cost estimates of cost/
 * use them.
 */
#define SKX_ORDERED_ROWS	64
#define SKX_ORDERED_GROWTH	16

/*
 * Safety factor on the number of documents that are expected to yield enough
 * matches, in a search by values.
 */
#define SKX_ORDERED_MARGIN	1.25

/*
 * Begins a search, in the current memory context.  What the request points to
 * must stay valid until skx_order_end().
 */
extern SkxOrdered *skx_order_begin(const SkxOrderedRequest *request);

/*
 * Returns the number of the next rows, or 0 if there are no more.  Sets *tids
 * to their tids.  Sets *keys to their keys if several values may have the
 * same key, and to NULL otherwise or if the rows have no value.  Both arrays
 * are valid until the next call.
 */
extern int	skx_order_next(SkxOrdered *ordered, const ItemPointerData **tids,
						   const uint64 **keys);

/* Ends a search and frees it. */
extern void skx_order_end(SkxOrdered *ordered);

/*
 * Notes that row i of the last call of skx_order_next() is dead
 * (skx_snapshot_remember_dead()).
 */
extern void skx_order_note_dead(const SkxOrdered *ordered, int i);

/*
 * Returns how the keys of a column, counted from 0, are made.  Errors out if
 * the column has no keys.
 */
extern SkxKeyColumn skx_order_column(Relation index, int column);

/*
 * Returns true if a search in the order of a column is possible and
 * efficient.  All segments must have keys of the column as skx_order_column()
 * describes them.  No key that several values may share may be that of an
 * eighth of a segment's documents, since all rows with it are sorted for the
 * first one.
 */
extern bool skx_order_has_keys(Relation index, const SkxView *view,
							   int column);

#endif							/* SKX_ORDER_H */
