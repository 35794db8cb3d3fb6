/*
 * topk_internal.h
 *	  A search for the best documents of one segment after the other.
 */
#ifndef SKX_TOPK_INTERNAL_H
#define SKX_TOPK_INTERNAL_H

#include "answer/exec/exec.h"
#include "answer/topk/topk_list.h"

/* Documents of a window in which parts are added up. */
#define SKX_TOPK_WINDOW		4096

/* Candidates looked at together, at most: a window, or what a filter gave. */
#define SKX_TOPK_BATCH		SKX_QUERY_DOCS

/* No segment has this number, nor have the pending documents (-1). */
#define SKX_TOPK_NO_SEGMENT	(-2)

/* A segment, open as long as the search. */
typedef struct SkxTopkSegment
{
	SkxSegment *seg;
	int			place;			/* in the view */
	SkxTerm    *terms;			/* of SkxTopk.lexemes */
} SkxTopkSegment;

/*
 * topk_hits.c : the best documents so far
 *
 * A document of a segment, or (segment -1) of the pending ones.
 */
typedef struct SkxHit
{
	int32		sum;
	int32		segment;
	uint32		doc;
} SkxHit;

/*
 * In any order while there are fewer than there is room for, whose sums are
 * `least` at least; then a heap of the best `most` with the worst hit on top,
 * and no more room than for these.
 */
typedef struct SkxHits
{
	int			n;
	int			most;
	int			room;
	int			size;			/* allocated */
	int32		least;
	SkxHit	   *heap;
} SkxHits;

/* A pending document that is a hit. */
typedef struct SkxTopkPending
{
	ItemPointerData tid;
	int			stripe;
	uint64		sequence;
} SkxTopkPending;

typedef enum SkxTopkStage
{
	SKX_TOPK_SCORED,			/* rows with some of the words */
	SKX_TOPK_OTHERS,			/* rows that match without */
	SKX_TOPK_NULLS,
	SKX_TOPK_DONE
} SkxTopkStage;

struct SkxTopk
{
	SkxCollector collector;		/* first: it takes the rows with some of the
								 * words */
	SkxTopkRequest request;
	SkxRequest	of;				/* the same, for exec/ */
	SkxExec    *exec;
	const SkxScorer *scorer;
	MemoryContext context;		/* of the search */
	MemoryContext pass;			/* of one pass over the segments */
	int			nsegments;
	SkxTopkSegment *segments;	/* largest first */
	uint64		ndocs;			/* of all segments */
	double		postings;		/* of the ranking query's words, a document */
	int			nlexemes;		/* of filter and ranking query together */
	SkxLexeme  *lexemes;
	SkxQuerySplit split;
	int		   *filter_lexemes; /* numbers of the filter's lexemes in lexemes */
	int		   *term_lexemes;	/* those of the scorer's terms; -1: prefix */
	SkxQuery   *rest_of_words;	/* what documents with one of the words have
								 * to match of the filter; NULL: nothing */
	bool		scored_only;	/* each match has a word of the ranking query */
	bool		words_match;	/* each document with such a word matches */
	bool		primes;			/* each document with the only word does */
	bool		many;			/* too many words to have all lists open:
								 * topk_many.c */
	bool		primed;			/* a search began with too high a threshold */

	bool		has_pending;	/* there may be pending documents */
	SkxScoreMarks *marks;		/* of pending documents; NULL: not known */
	SkxPendingBounds bounds;	/* by these */
	int32		pending_sum;	/* of the one that is asked about */
	int			npending;		/* those of them that are hits */
	int			max_pending;
	SkxTopkPending *pending;

	SkxTopkShare *share;		/* as long as there are other processes */
	bool		gathered;		/* their hits are here, of all segments */
	int32		reached;		/* a sum of enough documents in all of them */
	int			news;			/* hits that were counted since it was asked
								 * for */
	int32		floor;			/* no smaller sums are wanted; 0: all are */
	SkxHits		hits;
	int			rows;			/* that the next pass looks for */
	uint64		before;			/* hits of earlier searches, about */
	uint64		given;			/* hits handed out */
	bool		has_after;		/* only what comes behind this sum */
	int32		after;			/* and this TID is looked for */
	ItemPointerData after_tid;
	bool		tied;			/* the row before that has the same sum */
	SkxTopkStage stage;
	struct SkxTopkRows *tail;	/* rows without score */
	SkxTopkHit *out;			/* what was handed out last */
	int			max_out;
	uint32	   *docs;			/* for the runs */
	int32	   *sums;
	int32	   *bits_sums;
	uint64	   *bits;
	bool		stopped;		/* the budget is spent */
	int64		deadline;		/* in microseconds, 0: none */
	SkxTopkWork work;
};

extern int32 skx_topk_hits_need(const SkxHits *hits, int segment);
extern void skx_topk_hits_add(SkxTopk *topk, const SkxHit *hit);

/*
 * Adds the first of n documents that ascend, as many as there is room for
 * without a look at each; returns how many.
 */
extern int	skx_topk_hits_take(SkxTopk *topk, int segment, const uint32 *docs,
							   const int32 *sums, int n);
extern ItemPointerData skx_topk_hit_tid(SkxTopk *topk, const SkxHit *hit);

/* Takes all hits out, as rows, best first; returns how many there are. */
extern int	skx_topk_hits_rows(SkxTopk *topk, SkxTopkHit *rows);

/* What of the memory for a hit is needed while rows are made of them. */
#define SKX_TOPK_ROW_SCRATCH	(5 * sizeof(uint32) + sizeof(ItemPointerData))

/*
 * topk_sort.c : numbers and what belongs to each of them
 *
 * sort puts them in the order of the keys, none of which is above `most`; equal
 * ones stay in the order that they have.  The arrays of `spare` are as long, and
 * the two may have exchanged theirs.
 */
typedef struct SkxTopkPairs
{
	uint32		n;
	uint32	   *keys;
	uint32	   *values;
} SkxTopkPairs;

extern void skx_topk_sort(SkxTopkPairs *pairs, SkxTopkPairs *spare,
						  uint32 most);

/*
 * topk_scan.c
 *
 * requires_prefix: is the prefix of a scored word among those that the filter
 * requires, or, of a disjunction, has?  least_rows: so many the next search has
 * to find, if there are as many.  most: so many of them at most, for what they
 * take of work_mem.  make_out: room in topk->out for so many.
 */
extern int	skx_topk_most(uint64 rows);
extern void skx_topk_make_out(SkxTopk *topk, int n);
extern bool skx_topk_requires_prefix(const SkxTopk *topk,
									 const SkxScoreTerm *scored);
extern int	skx_topk_least_rows(const SkxTopk *topk);

/* One pass over one segment. */
struct SkxTopkRun
{
	SkxTopk    *topk;
	const SkxScorer *scorer;
	int			segment;
	SkxSegment *seg;
	uint32		from;			/* documents that it goes through */
	uint32		to;
	int32		need;			/* sums below cannot become hits */
	bool		paired;			/* pairs of words may add to sums */
	int			nrequired;		/* by df, ascending */
	SkxTopkList **required;
	int			noptional;
	SkxTopkList **optional;
	SkxQueryRest *rest;
	bool		sieved;			/* candidates have been asked about it */
	uint32		asked;			/* of the last ones, */
	uint32		passed;			/* and how many met it */
	SkxChain   *chain;			/* or a phrase of required words, */
	SkxPositionPlace **places;	/* whose places are known, by link, */
	uint32	   *placed;			/* in these documents of the lead's sub-block */
	bool		parts_last;		/* sums get bounds of parts: what candidates
								 * count in the lists `noted` is noted for the
								 * same documents */
	int			nnoted;			/* the required ones, or all */
	SkxTopkList **noted;
	struct SkxTopkCold *cold;	/* NULL: nothing has been gathered */
	int			nexcluded;		/* lists whose documents gathered ones are
								 * dropped for */
	SkxTopkList **excluded;
	bool		unordered;		/* candidates do not ascend from batch to
								 * batch */
	struct SkxTopkExact *exact; /* NULL: sums are exact */
	int			n;				/* candidates */
	uint32	   *docs;			/* SKX_TOPK_BATCH */
	int32	   *sums;
	int32	   *bits_sums;		/* SKX_TOPK_WINDOW, zero between uses */
	uint64	   *bits;
	struct SkxTopkCounts *counts;	/* for gathering prefixes */
	bool		ranged;			/* some are gathered a range at a time */
};

/* topk_segment.c : one pass over documents [from, to) of a segment */
extern void skx_topk_part(SkxTopk *topk, int segment, uint32 from, uint32 to);

/*
 * topk_prime.c : what hits have to reach, before there is any
 *
 * prime returns a sum that as many documents as must be found reach, unless some
 * of them are deleted; 0: not known.  expect begins with one that as many
 * are likely to reach, if those with any of the words match, and `docs` of the
 * segment have what else is asked for; hits are then all that reach it.
 */
extern int32 skx_topk_prime(SkxTopk *topk);
extern void skx_topk_expect(SkxTopkRun *run, double docs);

/*
 * topk_batch.c : candidates, in run->docs and run->sums
 *
 * floor drops those whose sum is below; sieve asks the rest of the query, and
 * drops those that do not match, where that is less work than other lists, and
 * finish does not ask it again; probe adds the parts of a list, and
 * drops candidates that can no longer be hits when lists after it give `rest`
 * at most, and with `required` those that are not in it; add adds the parts of
 * a list whose current sub-block they all are in, and drops those that do not
 * count; parts ends parts_last: sums are of the parts of the lists noted,
 * for norms that are read together, those of SKX_SUBBLOCK candidates; finish
 * makes hits of those that are live and match.  place notes where the
 * positions of posting `at` are, which is that of a candidate.  need computes
 * run->need anew.
 */
extern void skx_topk_batch_floor(SkxTopkRun *run, int64 floor);
extern void skx_topk_batch_sieve(SkxTopkRun *run);
extern void skx_topk_batch_probe(SkxTopkRun *run, SkxTopkList *l, int64 rest,
								 bool required);
extern void skx_topk_batch_add(SkxTopkRun *run, SkxTopkList *l);
extern void skx_topk_batch_optional(SkxTopkRun *run, SkxTopkList **lists,
									int n, int required);
extern void skx_topk_batch_parts(SkxTopkRun *run);
extern void skx_topk_batch_finish(SkxTopkRun *run);
extern void skx_topk_batch_place(const SkxTopkRun *run, SkxTopkList *l,
								 int at);
extern void skx_topk_batch_hit(SkxTopkRun *run, uint32 doc, int32 sum);
extern void skx_topk_batch_need(SkxTopkRun *run);

/* The budget was spent when a document of a segment was reached. */
extern void skx_topk_left(SkxTopk *topk, int segment, uint32 doc);

/*
 * Serve interrupts; true when the budget is spent.  tick counts a window, too.
 */
extern bool skx_topk_tick(SkxTopkRun *run, uint32 doc);
extern bool skx_topk_is_spent(SkxTopkRun *run, uint32 doc);

/*
 * The ways through a segment: topk_or.c, all documents with one of the
 * optional lists; topk_and.c, those in all required ones.
 */
extern void skx_topk_or(SkxTopkRun *run);
extern void skx_topk_and(SkxTopkRun *run);

/*
 * topk_cold.c : while lists have to be read, documents of the lead of a
 * conjunction are gathered and looked at together
 *
 * is_cold: enough would have to be read for that.  begin is needed where the
 * lead is another one than before.  gather adds those of [from, to) of the
 * lead's current sub-block to the candidates, which are looked at when there
 * are enough: then it returns true; finish looks at what is left.  passes: none
 * of the current sub-block can become a hit.  is_late: there are lists of which
 * as little as possible is read.
 */
extern bool skx_topk_is_cold(SkxTopkRun *run);
extern void skx_topk_cold_begin(SkxTopkRun *run);
extern bool skx_topk_cold_passes(SkxTopkRun *run);
extern bool skx_topk_cold_is_late(const SkxTopkRun *run);
extern bool skx_topk_cold_gather(SkxTopkRun *run, uint32 from, uint32 to);
extern void skx_topk_cold_finish(SkxTopkRun *run);

/*
 * topk_cold_any.c : a disjunction in the same way; false: it has to be gone
 * through otherwise, and nothing was done
 */
extern bool skx_topk_cold_any(SkxTopkRun *run);

/*
 * topk_many.c : the same with one list open at a time; with `scan` those that
 * this gives
 */
extern void skx_topk_many(SkxTopkRun *run);
extern void skx_topk_many_filter(SkxTopkRun *run, SkxQueryScan *scan);

/*
 * topk_exact.c : pairs of words, from positions
 *
 * summed: candidates' sums have the parts of all words, so that only words of
 * pairs are looked at.  slack: no sum of true parts is below one of ceilings by
 * more.  rewind: candidates that come next may be before those that came last;
 * not if a word's list is one in memory.
 */
extern struct SkxTopkExact *skx_topk_exact_open(SkxTopkRun *run, bool summed);
extern bool skx_topk_exact_can_rewind(const struct SkxTopkExact *exact);
extern void skx_topk_exact_rewind(struct SkxTopkExact *exact);
extern int32 skx_topk_exact_slack(const SkxScorer *scorer);
extern void skx_topk_exact_finish(SkxTopkRun *run);
extern void skx_topk_exact_close(struct SkxTopkExact *exact);

/*
 * How often posting i counts for a ceiling that has pairs: these are counted by
 * positions, whatever the labels of a posting count.
 */
static inline float
skx_topk_ceiling_tf(const SkxScoreTerm *term, const SkxCursor *c, int i,
					float tf)
{
	return term->ceiling > term->weight ? Max(tf, (float) c->tfs[i]) : tf;
}

/*
 * topk_share.c : with other processes
 *
 * search goes through what this one takes, and leaves the hits; true: it is the
 * one that has the hits of all segments.  parts: of the segments.  rows: that
 * it is for, 0 where
 * other processes do not take part.  hit counts one.  meet tells the others what
 * is reached here, and learns what is there.
 */
extern SkxShare *skx_topk_share_parts(SkxTopkShare *share);
extern bool skx_topk_share_search(SkxTopk *topk);
extern int	skx_topk_share_rows(const SkxTopk *topk);
extern void skx_topk_share_hit(SkxTopk *topk, int32 sum);
extern void skx_topk_share_meet(SkxTopkRun *run);

/*
 * topk_scan.c
 *
 * is_budgeted: does skipidx.search_budget end searches?  gathers: does a search
 * by these words begin on a segment with a pass over many lists of the filter?
 */
extern bool skx_topk_is_budgeted(void);
extern bool skx_topk_gathers(const SkxScorer *scorer, const SkxQuery *filter);

/* topk_memory.c : contexts of a search and of its passes, from an earlier one */
extern void skx_topk_memory_take(MemoryContext *search, MemoryContext *pass);
extern void skx_topk_memory_give(MemoryContext search, MemoryContext pass);

/* topk_collect.c : the methods of a search */
extern void skx_topk_collector(SkxCollector *collector);

/* Parts of a segment with other processes: lists are opened again for each. */
#define SKX_TOPK_PARTS		16

/* topk_rows.c : rows without any of the words, then those without tsvector */
extern struct SkxTopkRows *skx_topk_rows_open(SkxTopk *topk, bool nulls);
extern int	skx_topk_rows_next(SkxTopk *topk, struct SkxTopkRows *rows);
extern void skx_topk_rows_close(struct SkxTopkRows *rows);

#endif							/* SKX_TOPK_INTERNAL_H */
