/*
 * scroll_internal.h
 *	  Between the files of scroll/.
 */
#ifndef SKX_SCROLL_INTERNAL_H
#define SKX_SCROLL_INTERNAL_H

#include "answer/scroll/scroll.h"
#include "index/snapshot/snapshot.h"

/*
 * scroll_input.c : the matches of a segment, or those that are pending, in a
 * slice and behind a place
 *
 * next moves to the next one; false: there is none.  now is its place.
 */
typedef struct SkxScrollInput
{
	const SkxScrollRequest *request;
	SkxSegment *seg;			/* NULL: pending ones */
	SkxQueryVisit *visit;
	uint32		from;			/* documents that are to be visited next */
	uint32		to;
	uint32	   *docs;
	ItemPointerData *tids;
	int			n;
	int			at;
	int			size;			/* of tids, where they are pending ones */
	uint64		now;			/* a key; SKX_SCROLL_END: there is none */
} SkxScrollInput;

#define SKX_SCROLL_END			PG_UINT64_MAX

extern void skx_scroll_input_segment(SkxScrollInput *input,
									 const SkxScrollRequest *request,
									 SkxSegment *seg);
extern void skx_scroll_input_pending(SkxScrollInput *input,
									 const SkxScrollRequest *request,
									 SkxSource *source);
extern void skx_scroll_input_next(SkxScrollInput *input);
extern void skx_scroll_input_close(SkxScrollInput *input);

#endif							/* SKX_SCROLL_INTERNAL_H */
