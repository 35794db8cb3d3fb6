/*
 * order_share.h
 *	  One search in the order of a column by several processes.
 *
 * Keys are divided into parts that follow each other; a process takes one after
 * the other, in the order of the rows, and gives the rows of each in order.  So
 * the rows of each process are in order, and what gathers them merges them.  Rows
 * without a value are a part of their own.  Each process has a view of its own:
 * a row that the snapshot sees has one key in each of them.
 */
#ifndef SKX_ORDER_SHARE_H
#define SKX_ORDER_SHARE_H

#include "answer/order/order.h"
#include "port/atomics.h"

/* Parts of the keys at most. */
#define SKX_ORDERED_PARTS	512

/* Rows of a part, about. */
#define SKX_ORDERED_PART_ROWS	1024

#define SKX_ORDERED_COUNTS	(sizeof(SkxOrderedWork) / sizeof(uint64))

/* In shared memory, aligned to 8 bytes. */
typedef struct SkxOrderedShare
{
	pg_atomic_uint64 next;		/* part that is taken next */
	pg_atomic_uint64 work[SKX_ORDERED_COUNTS];	/* of processes that are done */
	int			nbounds;
	uint64		bounds[SKX_ORDERED_PARTS - 1];	/* where parts begin but for
												 * the first, ascending */
} SkxOrderedShare;

/*
 * init: one part.  divide: into that many, about, as the keys of the largest
 * segment lie; before any process takes one.  restart lets the same search begin
 * again, when no process is in it.  take gives a process the next part of the
 * request; false: there is none left.  leave adds what a process did; work adds
 * to a sum what all did that have left.
 */
extern void skx_order_share_init(SkxOrderedShare *share);
extern void skx_order_share_divide(SkxOrderedShare *share,
								   const SkxOrderedRequest *request,
								   int parts);
extern void skx_order_share_restart(SkxOrderedShare *share);
extern bool skx_order_share_take(SkxOrderedShare *share,
								 const SkxOrderedRequest *request,
								 SkxOrderedPart *part);
extern void skx_order_share_leave(SkxOrderedShare *share,
								  const SkxOrderedWork *work);
extern void skx_order_share_work(SkxOrderedShare *share,
								 SkxOrderedWork *work);

#endif							/* SKX_ORDER_SHARE_H */
