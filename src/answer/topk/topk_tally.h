/*
 * topk_tally.h
 *	  A window of a disjunction of many words, by bounds first.
 */
#ifndef SKX_TOPK_TALLY_H
#define SKX_TOPK_TALLY_H

#include "answer/topk/topk_internal.h"

/* A window of at most SKX_TOPK_WINDOW documents. */
typedef struct SkxTopkTallyWindow
{
	uint32		from;			/* documents [from, to) */
	uint32		to;
	int			low;			/* index of the first optional list that is
								 * added up */
	int32		limit;			/* least sum of interest, above 0 */
	uint64		npostings;		/* set: postings of the lists in the window */
	uint64		ntested;		/* set: documents whose bounds reach `limit` */
} SkxTopkTallyWindow;

/*
 * Returns true if the optional lists may be searched so: none is in memory,
 * and labels do not matter.
 */
extern bool skx_topk_tally_is_possible(const SkxTopkRun *run);

/* Opens a second cursor of each optional list, in the current context. */
extern struct SkxTopkTally *skx_topk_tally_open(SkxTopkRun *run);

/* Closes these cursors. */
extern void skx_topk_tally_close(SkxTopkRun *run);

/*
 * Makes candidates of the documents of the window to which its lists contribute
 * `limit` or more.  Their sums are those contributions.  Moves these lists, but
 * never beyond a candidate.
 */
extern void skx_topk_tally_window(SkxTopkRun *run, struct SkxTopkTally *tally,
								  SkxTopkTallyWindow *window);

#endif							/* SKX_TOPK_TALLY_H */
