/*
 * columns.h
 *	  The values of columns in the rows that match, from the index alone.
 */
#ifndef SKX_COLUMNS_H
#define SKX_COLUMNS_H

#include "answer/count/count_share.h"
#include "index/column/column_key.h"

/* Number of rows in a batch at most. */
#define SKX_COLUMNS_BATCH	SKX_WINDOW_DOCS

/*
 * A request for the keys of columns.  What it points to must stay valid until
 * skx_columns_end().
 */
typedef struct SkxColumnsRequest
{
	SkxRequest	rows;			/* with heap and snapshot; no recheck */
	SkxCountShared *share;		/* with other processes; NULL: alone */
	bool		wants_all;		/* every row will be asked for */
	SkxKeyColumns columns;		/* at least one; each key tells the value */
} SkxColumnsRequest;

typedef struct SkxColumnsScan SkxColumnsScan;

/*
 * Begins a scan in the current memory context.  Its work is added to *work by
 * skx_columns_end().
 */
extern SkxColumnsScan *skx_columns_begin(const SkxColumnsRequest *request,
										 SkxCountWork *work);

/*
 * Reads the next batch of rows that the snapshot sees, in no order.  Returns
 * their number, at most SKX_COLUMNS_BATCH, or 0 if there are no more.
 */
extern int	skx_columns_next(SkxColumnsScan *scan);

/*
 * Returns the keys in column i of the request, one for each row of the batch.
 * They are valid until the next call of skx_columns_next().
 */
extern const SkxKey *skx_columns_keys(const SkxColumnsScan *scan, int i);

/* Ends a scan and frees it.  May be called at any time. */
extern void skx_columns_end(SkxColumnsScan *scan);

#endif							/* SKX_COLUMNS_H */
