/*
 * topk_share.h
 *	  One ranked search by several processes.
 *
 * Each process takes parts of the segments and finds the best documents of
 * these.  As many documents as are looked for reach the shared threshold, so
 * that no process needs to look for lower sums.  The leader waits for the
 * workers, gathers the hits of all processes, adds the pending documents, and
 * returns the rows.  It makes further searches alone.  Only one process
 * returns rows, since only then they are in order.  If the leader takes no
 * part, the last worker does all this.
 */
#ifndef SKX_TOPK_SHARE_H
#define SKX_TOPK_SHARE_H

#include "answer/topk/topk.h"

/*
 * Largest number of rows for which several processes search.  One process
 * does the whole search if more rows are wanted.  It does so, too, if each
 * part of a segment would have to gather prefixes or bitmaps again.
 */
#define SKX_TOPK_SHARE_ROWS	16384

/* topk_share.c : the state that the processes of a search share */

/*
 * Returns the bytes of shared memory for a search for `rows` rows by
 * nprocesses processes, including the leader.  scorer is NULL if no row is
 * ranked.
 */
extern Size skx_topk_share_size(const SkxScorer *scorer, uint64 rows,
								int nprocesses);

/*
 * Initializes shared memory of skx_topk_share_size() bytes, for the same
 * arguments.  Copies the ranking of the scorer.
 */
extern void skx_topk_share_init(SkxTopkShare *share, const SkxScorer *scorer,
								const SkxQuery *filter, uint64 rows,
								int nprocesses);

/* Allows the same search to be repeated.  No process may be in it. */
extern void skx_topk_share_restart(SkxTopkShare *share);

/*
 * Returns the ranking by which all processes score, palloc'd, or NULL if no
 * row is ranked.
 */
extern const SkxRanking *skx_topk_share_ranking(const SkxTopkShare *share);

/*
 * Returns true if this process has to take part in the search.  If one
 * process does the whole search, it is true in the first one that calls.  To
 * be called once by each process.
 */
extern bool skx_topk_share_takes_part(SkxTopkShare *share);

/*
 * Returns the one view of all processes.  `own` is a view of this process, or
 * NULL (skx_exec_share_view()).
 */
extern const SkxView *skx_topk_share_view(SkxTopkShare *share, Relation index,
										  const SkxView *own);

#endif							/* SKX_TOPK_SHARE_H */
