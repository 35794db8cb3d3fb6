/*
 * rows.h
 *	  The rows that match, in no order: a collector that holds them a batch at
 *	  a time.
 */
#ifndef SKX_ROWS_H
#define SKX_ROWS_H

#include "answer/exec/exec.h"

typedef struct SkxRows
{
	SkxCollector collector;		/* first */
	int			n;				/* rows of the batch */
	ItemPointerData *tids;		/* their places in the table */
	const SkxSegment *segment;	/* the one that they are of; NULL: pending */
	const uint32 *docs;			/* their documents in that segment */
	SkxSourcePlace *pending;	/* those of pending rows; NULL: no batch had
								 * any yet */
} SkxRows;

/* A collector, in the current memory context; wants_all: see SkxCollector. */
extern SkxRows *skx_rows_make(bool wants_all);

/*
 * Puts the next batch in the place of the last one, whose documents are gone
 * then; false: there are no more rows.
 */
extern bool skx_rows_next(SkxRows *rows, SkxExec *exec);

/* The document of row i of the batch. */
extern void skx_rows_place(const SkxRows *rows, int i, SkxSourcePlace *place);

#endif							/* SKX_ROWS_H */
