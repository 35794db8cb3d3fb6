/*
 * order.h
 *	  The rows of an index in the order of a column beside the text.
 */
#ifndef SKX_ORDER_H
#define SKX_ORDER_H

#include "index/segment/segment_keys.h"
#include "read/condition/condition.h"
#include "read/query/query.h"

/* What a process has of a search that several carry out. */
typedef struct SkxOrderedPart
{
	bool		nulls;			/* the rows without a value; else those */
	SkxKeyRange range;			/* with a key in it */
} SkxOrderedPart;

/*
 * Rows come by the keys of the column's values, ascending or descending, and of
 * one key by their places in the index.
 */
typedef struct SkxOrderedRequest
{
	Relation	index;
	const SkxView *view;		/* taken after the snapshot */
	const SkxQuery *filter;		/* what rows have to match, */
	const SkxCondition *range;	/* and which values, by one of its conditions;
								 * NULL: there is none */
	const SkxQuery *unbounded;	/* the filter without that; NULL: likewise */
	SkxKeyColumn key;			/* the column, and how its keys are made */
	bool		descending;
	bool		nulls_first;
	uint64		wanted;			/* rows that will be fetched, about; 0: not
								 * known */
	const SkxOrderedPart *part; /* NULL: all */
} SkxOrderedRequest;

typedef struct SkxOrdered SkxOrdered;

/* What it did so far. */
typedef struct SkxOrderedWork
{
	uint64		passes;			/* searches: one, and one for each time that
								 * more rows were asked for than found */
	uint64		leaves;			/* stretches of documents that were visited */
	uint64		values;			/* by which documents were found */
	uint64		documents;		/* whose keys were compared */
} SkxOrderedWork;

/*
 * Rows that the first search is for where `wanted` is 0, and how many times as
 * many each further one is for.  Estimates of cost/ go by them.
 */
#define SKX_ORDERED_ROWS	64
#define SKX_ORDERED_GROWTH	16

/* By values, so many times as many documents as expected are taken at first. */
#define SKX_ORDERED_MARGIN	1.25

/* In the current memory context.  What the request points to must stay. */
extern SkxOrdered *skx_order_begin(const SkxOrderedRequest *request);

/*
 * The next rows, at least one; 0 at the end.  *keys: theirs, where several
 * values may have one; else NULL.  Both are valid until the next call.
 */
extern int	skx_order_next(SkxOrdered *ordered, const ItemPointerData **tids,
						   const uint64 **keys);
extern void skx_order_end(SkxOrdered *ordered);

/* Row i of the last call is dead (skx_snapshot_note_dead()). */
extern void skx_order_note_dead(const SkxOrdered *ordered, int i);
extern const SkxOrderedWork *skx_order_work(const SkxOrdered *ordered);

/* How keys of a column are made that has some. */
extern SkxKeyColumn skx_order_column(Relation index, int column);

/*
 * Have all segments keys of the column that are made so?  And does no key that
 * several values may have stand for an eighth of the documents: all rows with it
 * would be sorted for the first one.
 */
extern bool skx_order_has_keys(Relation index, const SkxView *view,
							   int column);

#endif							/* SKX_ORDER_H */
