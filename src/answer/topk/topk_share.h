/*
 * topk_share.h
 *	  One search by several processes.
 *
 * Each takes parts of the segments, and finds the best documents of these; what
 * as many documents as are looked for reach in all of them, none needs to go
 * below.  The leader waits for the others, has the hits of all then, adds
 * the pending documents, and gives the rows, further ones by further searches
 * of its own: in that order they are one process's, and so no other gives any.
 * Where the leader takes no part, the last process does all this.
 */
#ifndef SKX_TOPK_SHARE_H
#define SKX_TOPK_SHARE_H

#include "answer/topk/topk.h"

/*
 * Rows that are looked for so at most; of more, and where taking a segment
 * apart would gather prefixes or bitmaps again for each part, one process does
 * the whole search.
 */
#define SKX_TOPK_SHARE_ROWS	16384

/*
 * topk_share.c
 *
 * size: bytes of shared memory for so many processes, this one with them;
 * `scorer` NULL: no row is ranked.  init makes it; restart lets the same search
 * begin again, when no process is in it.  pins, options: what all of them score
 * by; NULL: no row is ranked.  joins: has this process anything to do?  Asked
 * once by each process.  work: what the processes other than the leader have
 * done.
 */
extern Size skx_topk_share_size(const SkxScorer *scorer, uint64 rows,
								int nprocesses);
extern void skx_topk_share_init(SkxTopkShare *share, const SkxScorer *scorer,
								const SkxQuery *filter, uint64 rows,
								int nprocesses);
extern void skx_topk_share_restart(SkxTopkShare *share);
extern const SkxScorePins *skx_topk_share_pins(const SkxTopkShare *share);
extern const SkxRankOptions *skx_topk_share_options(const SkxTopkShare *share);
extern bool skx_topk_share_joins(SkxTopkShare *share);
extern void skx_topk_share_work(SkxTopkShare *share, SkxTopkWork *work);

/* The one view of all of them; `own` NULL, or this process's. */
extern const SkxView *skx_topk_share_view(SkxTopkShare *share, Relation index,
										  const SkxView *own);

#endif							/* SKX_TOPK_SHARE_H */
