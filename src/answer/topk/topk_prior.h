/*
 * topk_prior.h
 *	  Documents graded by more than their words: by a distance to which values
 *	  of columns add.
 *
 * With a prior, hits are ordered by their grades (format/prior/prior_sum.h)
 * instead of the sums of their words.  Lists, bounds and the threshold of a
 * pass stay in units of these sums.
 */
#ifndef SKX_TOPK_PRIOR_H
#define SKX_TOPK_PRIOR_H

#include "answer/topk/topk_list.h"
#include "index/document/document.h"

/* Documents of a segment that are searched by themselves. */
typedef struct SkxTopkStretch
{
	uint32		from;
	uint32		to;
	float		best;			/* result of skx_topk_prior_best_of() */
	uint64		least[SKX_PRIOR_TERMS_MAX]; /* least and most key of each
											 * term's column; if all are NULL,
											 * least is above most */
	uint64		most[SKX_PRIOR_TERMS_MAX];
} SkxTopkStretch;

/* The prior in one segment, or in a stretch of it. */
typedef struct SkxTopkPriorRun SkxTopkPriorRun;

/*
 * Opens the keys of the columns in a segment, in the current memory context.
 * The documents are those of topk->stretch, or all if that is NULL.  Returns
 * NULL if the search has no prior.
 */
extern SkxTopkPriorRun *skx_topk_prior_open(const SkxTopk *topk,
											SkxSegment *seg);

/* Closes the keys; `prior` may be NULL. */
extern void skx_topk_prior_close(SkxTopkPriorRun *prior);

/*
 * Returns the least sum of words, at least 1, by which a document of the
 * segment may have the grade or a higher one.
 */
extern int32 skx_topk_prior_least_sum(SkxTopkPriorRun *prior, int32 grade);

/* Returns the grade of a document whose words have this sum. */
extern int32 skx_topk_prior_grade(SkxTopkPriorRun *prior, uint32 doc,
								  int32 sum);

/*
 * Returns true if a document whose words have this sum at most can be a hit,
 * given its own values.
 */
extern bool skx_topk_prior_may_hit(SkxTopkPriorRun *prior, uint32 doc,
								   int32 most);

/*
 * Drops candidates that cannot be hits, given their own values; their sums may
 * be bounds.  Does nothing before enough hits were found.  The run has a prior.
 */
extern void skx_topk_prior_drop(SkxTopkRun *run);

/*
 * Returns the best value of the expression in a stretch, for the largest
 * score that words may have.
 */
extern float skx_topk_prior_best_of(const SkxTopk *topk,
									const SkxTopkStretch *stretch);

/* Returns that score. */
extern float skx_topk_prior_words_bound(const SkxTopk *topk);

/* Returns the grade of a pending document whose words have this sum. */
extern int32 skx_topk_prior_pending_grade(const SkxTopk *topk,
										  TSVector document, int32 sum);

/*
 * topk_stretch.c : searches documents [from, to) of a segment, as
 * skx_topk_search_range() does, in stretches if that saves work
 */
extern void skx_topk_search_stretches(SkxTopk *topk, int segment, uint32 from,
									  uint32 to);

#endif							/* SKX_TOPK_PRIOR_H */
