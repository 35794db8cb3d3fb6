/*
 * score_internal.h
 *	  What the files of this folder share.
 */
#ifndef SKX_SCORE_SCORE_INTERNAL_H
#define SKX_SCORE_SCORE_INTERNAL_H

#include "score/score.h"

/*
 * Label weights are multiples of 1 / SKX_SCORE_LABEL_STEPS, and a word counts
 * SKX_SCORE_TF_MAX times at most: the product of both is below 2^24, so that a
 * sum below the limit is exact in single precision.
 */
#define SKX_SCORE_LABEL_STEPS	256

/* A lexeme or prefix as the statistics know it. */
typedef struct SkxScoreWord
{
	const char *bytes;			/* the first three are the key */
	int			len;
	bool		prefix;
	uint64		df;
	const SkxTerm **found;		/* by segment of a plain index; NULL for a
								 * prefix */
} SkxScoreWord;

/*
 * Looks up `n` terms (lexeme, len and prefix are set; those that are no prefix
 * first, in the order of a dictionary) and sets words[i] of each.  `index` is
 * the one that the statistics are of.  The words stay as long as somebody holds
 * the statistics.
 */
extern void skx_score_stats_find(SkxStats *stats, Relation index,
								 const SkxScoreTerm *terms, int n,
								 const SkxScoreWord **words);

/* Keeps the statistics until the current memory context is reset. */
extern void skx_score_stats_hold(SkxStats *stats);

/*
 * Statistics that were pinned when epoch() gave that number: are they alive,
 * and of a snapshot of that content?
 */
extern uint64 skx_score_stats_epoch(void);
extern bool skx_score_stats_current(const SkxStats *stats, uint64 epoch,
									Snapshot snapshot);

/* The view, where the statistics are of `index` alone; else NULL. */
extern const SkxView *skx_score_stats_view(const SkxStats *stats,
										   Relation index);

#endif							/* SKX_SCORE_SCORE_INTERNAL_H */
