/*
 * scroll_internal.h
 *	  Between the files of scroll/.
 */
#ifndef SKX_SCROLL_INTERNAL_H
#define SKX_SCROLL_INTERNAL_H

#include "access/relscan.h"
#include "answer/scroll/scroll.h"

/* Rows that are looked for in the table together. */
#define SKX_SCROLL_BATCH		1024

/* Above all places. */
#define SKX_SCROLL_NEVER		PG_UINT64_MAX

/* One scroll, and the places that it has come to. */
typedef struct SkxScroll
{
	SkxCollector collector;		/* first */
	const SkxScrollRequest *request;
	uint64		from;			/* places from here on are wanted, as keys; */
	int			most;			/* so many, at least 1 */
	uint64	   *keys;			/* found so far, */
	int			n;
	int			room;			/* for so many */
	uint64		beyond;			/* places from here on are not wanted any more */
	ItemPointerData *tids;		/* of a batch of matches, or of rows */

	IndexFetchTableData *fetch;
	TupleTableSlot *row;
	SkxHeapAhead ahead;
} SkxScroll;

/* Makes a collector of it, in the current memory context. */
extern void skx_scroll_collect_begin(SkxScroll *s);

/*
 * Finds the first `most` places of matches from `from` on, ascending; n is less
 * where there are no more.
 */
extern void skx_scroll_places(SkxScroll *s);

#endif							/* SKX_SCROLL_INTERNAL_H */
