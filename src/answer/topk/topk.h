/*
 * topk.h
 *	  The rows of an index in the order of their scores, best first.
 */
#ifndef SKX_TOPK_H
#define SKX_TOPK_H

#include "read/query/query.h"
#include "read/score/score.h"

/*
 * A row: its place, and the sum of the parts of its score.  Rows come by
 * descending sum, those with the same by ascending TID; after them those whose
 * tsvector is NULL.
 */
typedef struct SkxTopkHit
{
	ItemPointerData tid;
	bool		is_null;
	int32		sum;
	int			at;				/* where its document is told; -1: nowhere */
} SkxTopkHit;

/* A row that others come behind, and how many came up to it, about. */
typedef struct SkxTopkAfter
{
	int32		sum;
	ItemPointerData tid;
	uint64		given;
} SkxTopkAfter;

typedef struct SkxTopkShare SkxTopkShare;

typedef struct SkxTopkRequest
{
	Relation	index;
	const SkxView *view;		/* taken after the snapshot */
	const SkxQuery *filter;		/* what rows have to match; without queries:
								 * nothing */
	const SkxScorer *scorer;
	uint64		wanted;			/* rows that will be fetched, about; 0: not
								 * known */
	uint64		spare;			/* rows that will not be seen among so many
								 * and those, most often; 0 with `wanted` */
	bool		wants_all;		/* if more are, all will be */
	const SkxTopkAfter *after;	/* only rows behind this one; NULL: all */
	SkxTopkShare *share;		/* with other processes (topk_share.h), whose
								 * view it is; NULL: alone */
} SkxTopkRequest;

/*
 * Rows that the first search is for where `wanted` is 0, and how many times as
 * many each further one is for.  Estimates of cost/ go by them.  Those that may
 * have one sum are fewer, most often.
 */
#define SKX_TOPK_ROWS		64
#define SKX_TOPK_GROWTH		16
#define SKX_TOPK_TIES		256

typedef struct SkxTopk SkxTopk;

/*
 * Words, scored or required, above which lists are gone through one at a time.
 * With so many, bounds save nothing: what they add up to is far above any
 * score.
 */
#define SKX_TOPK_MANY		64

/* In the current memory context.  What the request points to must stay. */
extern SkxTopk *skx_topk_begin(const SkxTopkRequest *request);

/* The next rows, at least one; 0 at the end.  Valid until the next call. */
extern int	skx_topk_next(SkxTopk *topk, const SkxTopkHit **hits);
extern void skx_topk_end(SkxTopk *topk);

/*
 * From now on only rows of that sum or a larger one are wanted, which is above 0
 * and no smaller than before: others may be left out.  Not with other processes.
 */
extern void skx_topk_want_from(SkxTopk *topk, int32 sum);

/* The row of a hit of the last call is dead (skx_snapshot_note_dead()). */
extern void skx_topk_note_dead(const SkxTopk *topk, const SkxTopkHit *hit);

/* What it did so far. */
typedef struct SkxTopkWork
{
	uint64		passes;			/* searches: one, and one for each time that
								 * more rows were asked for than found */
	uint64		barred;			/* segments that were left at once, by what
								 * their lists can give, */
	uint64		entered;		/* and those that were gone through */
	uint64		windows;
	uint64		scored;			/* postings given a part */
	uint64		candidates;		/* documents that were looked at beyond their
								 * first words */
	uint64		proximity;		/* documents whose positions were read for
								 * pairs */
	double		left;			/* share of the documents that were not
								 * reached when the budget was spent */
	uint64		rounds;			/* of reads (SkxBlkCounters): told by am/ */
} SkxTopkWork;

extern int	skx_topk_budget;	/* skipidx.search_budget, ms; 0: none */

extern const SkxTopkWork *skx_topk_work(const SkxTopk *topk);

#endif							/* SKX_TOPK_H */
