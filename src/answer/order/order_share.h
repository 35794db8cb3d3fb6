/*
 * order_share.h
 *	  One search in the order of a column by several processes.
 *
 * The keys are divided into consecutive parts.  Each process takes one part
 * after the other, in the order of the rows, and returns the rows of each part
 * in order.  So the rows of each process are in order, and a merge of them is
 * the result.  Rows without a value are a part of their own.
 */
#ifndef SKX_ORDER_SHARE_H
#define SKX_ORDER_SHARE_H

#include "answer/exec/exec_share.h"
#include "answer/order/order.h"

/* Number of parts of the keys at most. */
#define SKX_ORDERED_PARTS	512

/* Approximate number of rows of a part. */
#define SKX_ORDERED_PART_ROWS	1024

/*
 * The state that the processes of a search share.  It lies in shared memory,
 * aligned to 8 bytes.
 */
typedef struct SkxOrderedShared
{
	SkxExecShared parts;		/* restarted by skx_exec_share_restart() */
	int			nbounds;
	uint64		bounds[SKX_ORDERED_PARTS - 1];	/* first key of each part but
												 * the first, ascending */
} SkxOrderedShared;

/* Initializes the shared memory, with one part of all keys. */
extern void skx_order_share_init(SkxOrderedShared *share);

/*
 * Divides the keys into about `parts` parts, by the quantiles of the keys in
 * the largest segment.  Makes fewer if there are many pending documents,
 * since each part reads all of these.  To be called before any process takes
 * a part.
 */
extern void skx_order_share_split(SkxOrderedShared *share,
								  const SkxOrderedRequest *request,
								  int parts);

/*
 * Takes the next part, in the order of the rows of the request.  Returns
 * false if none is left.
 */
extern bool skx_order_share_next_part(SkxOrderedShared *share,
									  const SkxOrderedRequest *request,
									  SkxOrderedPart *part);

#endif							/* SKX_ORDER_SHARE_H */
