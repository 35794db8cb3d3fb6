/*
 * topk.h
 *	  The rows of an index in the order of their scores, best first.
 */
#ifndef SKX_TOPK_H
#define SKX_TOPK_H

#include "format/prior/prior_sum.h"
#include "index/column/column_key.h"
#include "read/query/query.h"
#include "read/score/score.h"

/*
 * A row with its score, the sum of the contributions of the words.  Rows come
 * by descending sum, and those with the same sum by ascending tid.  Rows
 * whose tsvector is NULL come last.
 */
typedef struct SkxTopkHit
{
	ItemPointerData tid;
	bool		is_null;		/* its tsvector is NULL */
	bool		is_final;		/* no document that was not looked at can come
								 * before it */
	int32		sum;			/* in units; 0: no word.  With a prior, the
								 * grade (skx_prior_grade()) */
	int			hit_index;		/* index of its document in the hits of the
								 * search; -1: not known */
} SkxTopkHit;

/* The row after which a search continues. */
typedef struct SkxTopkAfter
{
	int32		sum;
	ItemPointerData tid;
	uint64		rows_before;	/* estimate of the rows up to this one */
} SkxTopkAfter;

typedef struct SkxTopkShare SkxTopkShare;

/*
 * What values of columns add to the distance of the words.  Rows come in the
 * order of the sum then, and those with none of the words do not come.
 */
typedef struct SkxTopkPrior SkxTopkPrior;

struct SkxTopkPrior
{
	SkxPriorSum sum;
	SkxKeyColumns columns;		/* of each term of the sum; they ascend, and
								 * one may stand twice */

	/* Returns term i of a row, given the key of its column. */
	float		(*term) (const SkxTopkPrior *prior, int i, const SkxKey *key);

	/*
	 * Sets *range to bounds of term i over all rows whose column has a key
	 * from `least` to `most`, or is NULL.  If least is above most, all are
	 * NULL.
	 */
	void		(*bound_term) (const SkxTopkPrior *prior, int i, uint64 least,
							   uint64 most, SkxPriorRange *range);
	void	   *arg;			/* of these functions */
};

/* Counters of the work of searches. */
typedef struct SkxTopkWork
{
	uint64		passes;			/* passes over the index: one, and one for
								 * each time that more rows were fetched */
	uint64		skipped_segments;	/* segments skipped by the bounds of their
									 * lists */
	uint64		entered_segments;	/* segments that were not skipped */
	uint64		windows;		/* windows of documents */
	uint64		scored_postings;	/* postings whose contribution was
									 * computed */
	uint64		candidates;		/* documents examined beyond their first words */
	uint64		position_reads; /* documents whose positions were read for
								 * pairs of words */
	double		unreached_fraction; /* share of the documents not reached when
									 * the budget was last spent */
	uint64		ended_by_budget;	/* searches that the budget ended */
	uint64		final_rows;		/* final rows that were returned: set by plan/ */
	uint64		rounds;			/* of reads (SkxBlkCounters): set by am/ */
} SkxTopkWork;

/* A request for the best rows. */
typedef struct SkxTopkRequest
{
	Relation	index;
	const SkxView *view;		/* taken after the snapshot */
	const SkxQuery *filter;		/* condition on rows; without queries it
								 * admits all */
	const SkxScorer *scorer;
	uint64		wanted_rows;	/* estimate of the rows that will be fetched;
								 * 0: not known */
	uint64		spare_rows;		/* estimate of the invisible rows among the
								 * best wanted + spare; 0 with `wanted_rows` */
	uint64		first_rows;		/* rows that the first search looks for, if
								 * `wanted_rows` is 0; at least SKX_TOPK_ROWS
								 * are */
	bool		wants_all;		/* if more rows than that are fetched, all
								 * will be */
	const SkxTopkAfter *after;	/* only rows after this one; NULL: all */
	const SkxTopkPrior *prior;	/* NULL: rows are ordered by their words
								 * alone.  With one there is no share, and no
								 * row to continue after */
	SkxTopkShare *share;		/* with other processes (topk_share.h), whose
								 * view `view` is; NULL: alone */
	SkxTopkWork *work;			/* the search adds to these counters */
} SkxTopkRequest;

/*
 * SKX_TOPK_ROWS is the least number of rows that the first search looks for if
 * `wanted_rows` is 0.  Each further search looks for SKX_TOPK_GROWTH times as
 * many.  Cost estimates of cost/ use them.  SKX_TOPK_TIES is an estimate of
 * the rows that share one sum.
 */
#define SKX_TOPK_ROWS		64
#define SKX_TOPK_GROWTH		16
#define SKX_TOPK_TIES		256

/* A ranked search. */
typedef struct SkxTopk SkxTopk;

/*
 * Number of words, scored or required, above which posting lists are read one
 * at a time.  With so many words bounds save nothing: their sum is far above
 * any score.
 */
#define SKX_TOPK_MANY_WORDS		64

/*
 * Begins a search, in the current memory context.  What the request points to
 * must stay valid until skx_topk_end().
 */
extern SkxTopk *skx_topk_begin(const SkxTopkRequest *request);

/*
 * Sets *hits to the next rows, valid until the next call, and returns their
 * number.  Returns 0 if there are no more.
 */
extern int	skx_topk_next(SkxTopk *topk, const SkxTopkHit **hits);

/* Ends a search and frees it. */
extern void skx_topk_end(SkxTopk *topk);

/*
 * Allows the search to leave out rows with a smaller sum from the next call
 * on.  sum must be above 0 and not below that of an earlier call.  Has no
 * effect while other processes take part.
 */
extern void skx_topk_set_min_sum(SkxTopk *topk, int32 sum);

/*
 * Notes that the row of a hit of the last skx_topk_next() is dead
 * (skx_snapshot_remember_dead()).  Does nothing if its document is not known.
 */
extern void skx_topk_remember_dead(const SkxTopk *topk, const SkxTopkHit *hit);

extern int	skx_topk_budget;	/* skipidx.search_budget, ms; 0: none */

#endif							/* SKX_TOPK_H */
