/*
 * columns.h
 *	  The values of columns in the rows that match, from the index alone.
 */
#ifndef SKX_COLUMNS_H
#define SKX_COLUMNS_H

#include "answer/count/count_share.h"
#include "index/column/column_key.h"

/* Rows whose keys are looked up together, at most. */
#define SKX_COLUMNS_BATCH	SKX_QUERY_BATCH

/* What the request points to stays as long as the answer. */
typedef struct SkxColumnsRequest
{
	SkxRequest	rows;			/* which looks rows up; its conditions are
								 * exact */
	SkxCountShare *share;		/* with other processes; NULL: alone */
	bool		all;			/* every row will be asked for */
	SkxKeyColumns columns;		/* whose keys tell their values; at least one */
} SkxColumnsRequest;

typedef struct SkxColumnsScan SkxColumnsScan;

/* In the current memory context.  Adds to `work` at the end. */
extern SkxColumnsScan *skx_columns_begin(const SkxColumnsRequest *request,
										 SkxCountWork *work);

/*
 * The next rows that the snapshot sees, in no order, SKX_COLUMNS_BATCH at most;
 * 0: there are no more.
 */
extern int	skx_columns_next(SkxColumnsScan *scan);

/* The keys of column i in these rows; valid until then. */
extern const SkxKey *skx_columns_keys(const SkxColumnsScan *scan, int i);

/* At any time. */
extern void skx_columns_end(SkxColumnsScan *scan);

#endif							/* SKX_COLUMNS_H */
