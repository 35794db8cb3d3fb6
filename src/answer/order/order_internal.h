/*
 * order_internal.h
 *	  Between the files of order/.
 */
#ifndef SKX_ORDER_INTERNAL_H
#define SKX_ORDER_INTERNAL_H

#include "answer/exec/exec.h"
#include "answer/order/order.h"
#include "index/segment/segment_keys.h"

/*
 * A row, by what it is ordered by.  rank: the key, or of a descending order its
 * complement, so that ranks always ascend.  place: number of the document, of a
 * pending one in its stripe.
 */
typedef struct SkxOrderedRow
{
	uint64		rank;
	uint64		place;
	int			source;			/* segment, or SKX_ORDERED_PENDING + stripe */
	ItemPointerData tid;		/* when rows are handed out */
} SkxOrderedRow;

#define SKX_ORDERED_PENDING		(1 << 30)

/*
 * order_rows.c : the first rows found so far
 *
 * In any order while there are fewer than `most`; then a heap with the last one
 * on top.
 */
typedef struct SkxOrderedRows
{
	int			n;
	int			most;
	int			size;			/* allocated */
	SkxOrderedRow *rows;
} SkxOrderedRows;

extern void skx_order_rows_add(SkxOrderedRows *rows,
							   const SkxOrderedRow *row);

/* Is there room for the row, or a later one to give way to it? */
extern bool skx_order_rows_want(const SkxOrderedRows *rows,
								const SkxOrderedRow *row);
extern int	skx_order_compare(const SkxOrderedRow *a,
							  const SkxOrderedRow *b);
extern void skx_order_sort(SkxOrderedRow *rows, int n);
extern void skx_order_sort_places(SkxOrderedRow *rows, int n);

/* A segment, open as long as the search. */
typedef struct SkxOrderedSegment
{
	SkxSegment *seg;
	int			number;
	SkxKeyReader *keys;
	SkxQueryVisit *visit;		/* NULL: not begun */
	const SkxQuery *asked;		/* its query */
	bool		scattered;		/* the column does not follow the documents */
	uint64		taken_rank;		/* of its rows with this rank, documents */
	uint32		taken_to;		/* before this one were looked at */
	SkxKeyRange range;			/* of keys that are wanted */
	bool		empty;			/* none is */
	uint64		reads;			/* for skx_segment_cold */
	uint64		first;			/* rank that none of its documents is before */
} SkxOrderedSegment;

typedef enum SkxOrderedStage
{
	SKX_ORDERED_NULLS_FIRST,
	SKX_ORDERED_VALUES,
	SKX_ORDERED_NULLS_LAST,
	SKX_ORDERED_DONE
} SkxOrderedStage;

struct SkxOrdered
{
	SkxCollector collector;		/* first: it takes the rows with a value */
	SkxOrderedRequest request;
	SkxRequest	rows_of;		/* the same, for exec/ */
	SkxExec    *exec;
	MemoryContext context;
	SkxSegment *const *all;		/* of the view, open up to the end */
	int			nsegments;
	SkxOrderedSegment *segments;	/* in the order of their first ranks */
	SkxKeyColumns columns;		/* the one column */
	bool		coarse;			/* several of its values may have one key */
	uint64	   *last;			/* pending documents that count, by stripe;
								 * NULL: all, in the first pass */
	uint64		flip;			/* a key, and this, is its rank */
	SkxOrderedStage stage;
	bool		nulls_before;	/* no NULL comes after the values */
	SkxOrderedRows rows;
	SkxOrderedRow pending;		/* of the pending document that is asked about */
	bool		any;			/* rows were handed out, */
	SkxOrderedRow after;		/* the last of them */
	uint32	   *docs;			/* SKX_QUERY_DOCS */
	SkxKey	   *keys;			/* of them; NULL: none was asked for yet */
	struct SkxOrderedNulls *nulls;
	ItemPointerData *tids;		/* handed out last */
	bool		from_rows;		/* they are those of `rows` */
	uint64	   *tid_keys;		/* their keys; NULL: not coarse */
	int			max_tids;
	SkxOrderedWork work;
};

/*
 * order_segment.c : adds what a segment has to the rows; open_visit: has its
 * documents visited by this query
 */
extern void skx_order_segment(SkxOrdered *o, SkxOrderedSegment *s);
extern void skx_order_open_visit(SkxOrderedSegment *s,
								 const SkxQuery *query);

/*
 * order_values.c : the same by the lists of values, where that is less; false:
 * what is left of the segment's range was not looked at
 */
extern bool skx_order_by_values(SkxOrdered *o, SkxOrderedSegment *s);

/*
 * order_nulls.c : rows without a value
 *
 * Puts the next ones into o->tids, SKX_QUERY_DOCS at most; returns how many,
 * 0 at the end.
 */
extern int	skx_order_nulls_next(SkxOrdered *o);

/* The document of row i of these. */
extern void skx_order_nulls_place(const SkxOrdered *o, int i,
								  SkxSourcePlace *place);
extern void skx_order_nulls_close(SkxOrdered *o);

/*
 * order_scan.c
 *
 * keys: of the column in a segment.  range: of those that are asked for there,
 * whatever the part; false: there are none.  make_tids: room for so many.
 */
extern SkxKeyReader *skx_order_keys(const SkxOrderedRequest *request,
									SkxSegment *seg);
extern bool skx_order_range(const SkxOrderedRequest *request,
							const SkxKeyReader *keys, SkxKeyRange *range);
extern void skx_order_make_tids(SkxOrdered *o, int n);

#endif							/* SKX_ORDER_INTERNAL_H */
