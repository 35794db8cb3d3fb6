/*
 * order_internal.h
 *	  Declarations that the files of order/ share.
 */
#ifndef SKX_ORDER_INTERNAL_H
#define SKX_ORDER_INTERNAL_H

#include "answer/exec/exec.h"
#include "answer/order/order.h"
#include "index/segment/segment_keys.h"

/*
 * A row with the numbers that determine its order: rank, then source, then
 * place.
 */
typedef struct SkxOrderedRow
{
	uint64		rank;			/* the key, or its complement in a descending
								 * order: ranks always ascend */
	uint64		doc;			/* number of the document in its source */
	int			source;			/* segment, or SKX_ORDERED_PENDING + stripe */
	ItemPointerData tid;		/* of a segment's row: set when it is handed
								 * out */
} SkxOrderedRow;

/* The source of pending documents of stripe 0. */
#define SKX_ORDERED_PENDING		(1 << 30)

/* order_rows.c : the first rows found so far */

/*
 * The first rows found so far, `max_rows` at most.  They are in no order while
 * there are fewer than that; then they are a heap with the last row on top.
 */
typedef struct SkxOrderedRows
{
	int			n;
	int			max_rows;
	int			size;			/* allocated */
	SkxOrderedRow *rows;
} SkxOrderedRows;

/*
 * Adds a row, for which skx_order_rows_accept() returns true.  It replaces the
 * last row if there are `max_rows` already.
 */
extern void skx_order_rows_add(SkxOrderedRows *rows,
							   const SkxOrderedRow *row);

/*
 * Returns true if there are fewer than `max_rows` rows, or if the row comes
 * before the last one of them.
 */
extern bool skx_order_rows_accept(const SkxOrderedRows *rows,
								  const SkxOrderedRow *row);

/*
 * Compares two rows by rank, source and place: a number below, at or above 0.
 */
extern int	skx_order_compare(const SkxOrderedRow *a,
							  const SkxOrderedRow *b);

/* Sorts rows as skx_order_compare() does. */
extern void skx_order_sort(SkxOrderedRow *rows, int n);

/* Sorts rows by source and place, whatever their ranks. */
extern void skx_order_sort_documents(SkxOrderedRow *rows, int n);

/* A segment, open as long as the search. */
typedef struct SkxOrderedSegment
{
	SkxSegment *seg;
	int			number;			/* of the segment in the view */
	SkxKeyReader *keys;
	SkxDocs    *matches;		/* NULL: not open */
	const SkxQuery *visit_query;	/* query of `visit` */
	bool		is_scattered;	/* the order of the column differs from that
								 * of the documents */
	uint64		visited_rank;	/* rows with this rank whose documents are */
	uint32		visited_to;		/* before this one have been looked at */
	SkxKeyRange wanted_keys;	/* keys that are wanted */
	bool		is_empty;		/* no key is wanted */
	uint64		page_reads;		/* state of skx_segment_has_read() */
	uint64		first_rank;		/* no document has a rank below */
} SkxOrderedSegment;

/* Stages of a search, in their order. */
typedef enum SkxOrderedStage
{
	SKX_ORDERED_NULLS_FIRST,	/* rows without a value */
	SKX_ORDERED_VALUES,			/* rows with a value */
	SKX_ORDERED_NULLS_LAST,		/* rows without a value */
	SKX_ORDERED_DONE
} SkxOrderedStage;

/* A search, and the collector that it passes over the index. */
struct SkxOrdered
{
	SkxCollector collector;		/* first: it takes the rows with a value */
	SkxOrderedRequest request;
	SkxRequest	rows_of;		/* the same request for exec/ */
	SkxExec    *exec;
	MemoryContext context;
	SkxSegment *const *segment_source;	/* segments of the view, open until
										 * the end */
	int			nsegments;
	SkxOrderedSegment *segments;	/* in the order of their first ranks */
	SkxKeyColumns columns;		/* only the column of the order */
	bool		is_coarse;		/* several of its values may have one key */
	uint64	   *pending_ends;	/* end of the pending documents that count, by
								 * stripe; NULL in the first pass: all count */
	uint64		rank_mask;		/* the rank of a key is its XOR with this */
	SkxOrderedStage stage;
	bool		nulls_before;	/* no rows without a value come after those
								 * with one */
	SkxOrderedRows rows;
	SkxOrderedRow pending;		/* row of the pending document that exec/ is
								 * testing */
	bool		has_after;		/* rows with a value were handed out */
	SkxOrderedRow after;		/* the last of them, if `has_after` */
	uint32	   *docs;			/* SKX_QUERY_BATCH_DOCS documents */
	SkxKey	   *keys;			/* keys of `docs`; NULL: not allocated yet */
	struct SkxOrderedNulls *nulls;	/* NULL: not open */
	ItemPointerData *tids;		/* tids of the rows handed out last */
	bool		tids_from_rows; /* they are those of `rows` */
	uint64	   *tid_keys;		/* keys of `tids`; NULL: not coarse */
	int			max_tids;		/* capacity of `tids` and `tid_keys` */
	SkxOrderedWork *work;		/* of the request */
};

/* Enlarges o->tids, and o->tid_keys if coarse, to a capacity of n rows. */
extern void skx_order_reserve_tids(SkxOrdered *o, int n);

/* order_segment.c : the first rows of a segment */

/*
 * Adds to o->rows the rows of a segment that are among the first ones after
 * o->after.
 */
extern void skx_order_search_segment(SkxOrdered *o, SkxOrderedSegment *s);

/* order_values.c : the same by the posting lists of the column's values */

/*
 * Does as skx_order_search_segment(), by posting lists of values, if that is
 * estimated to be less work.  Returns true if nothing is left to do.  After
 * false, s->wanted_keys and s->taken_* describe the keys and documents that
 * are still to be visited.
 */
extern bool skx_order_search_by_values(SkxOrdered *o, SkxOrderedSegment *s);

/*
 * Opens s->matches for a query, in place of one for another query.  The query
 * must stay valid.
 */
extern void skx_order_open_matches(SkxOrderedSegment *s,
								   const SkxQuery *query);

/* order_nulls.c : rows without a value */

/*
 * Puts the tids of the next rows without a value into o->tids.  Returns their
 * number, at most SKX_QUERY_BATCH_DOCS, or 0 if there are no more.
 */
extern int	skx_order_nulls_next(SkxOrdered *o);

/* Sets *place to the document of row i of the last skx_order_nulls_next(). */
extern void skx_order_nulls_document(const SkxOrdered *o, int i,
									 SkxDocAddress *place);

/* Frees o->nulls, unless that is NULL. */
extern void skx_order_nulls_close(SkxOrdered *o);

/* order_scan.c : a search as a whole */

/*
 * Opens the keys of the request's column in a segment.  Errors out if the
 * segment has none.
 */
extern SkxKeyReader *skx_order_keys(const SkxOrderedRequest *request,
									SkxSegment *seg);

/*
 * Sets *range to the keys of a segment that request->range admits; this does
 * not depend on request->parallel_part.  Returns false if it admits none.
 */
extern bool skx_order_range(const SkxOrderedRequest *request,
							const SkxKeyReader *keys, SkxKeyRange *range);

#endif							/* SKX_ORDER_INTERNAL_H */
