/*
 * topk_internal.h
 *	  Declarations that the files of topk/ share: a search for the best
 *	  documents, in one segment after the other.
 */
#ifndef SKX_TOPK_INTERNAL_H
#define SKX_TOPK_INTERNAL_H

#include "answer/exec/exec.h"
#include "answer/topk/topk_list.h"

/* Number of documents of a window in which contributions are added up. */
#define SKX_TOPK_WINDOW		4096

/*
 * Largest number of candidates that are examined together: a window, or a
 * batch of matches of a filter.
 */
#define SKX_TOPK_BATCH		SKX_QUERY_DOCS

/* A segment number that is neither a segment's nor -1 (pending documents). */
#define SKX_TOPK_NO_SEGMENT	(-2)

/* A segment, open as long as the search. */
typedef struct SkxTopkSegment
{
	SkxSegment *seg;
	int			place;			/* index of the segment in the view */
	SkxTerm    *terms;			/* its term for each of SkxTopk.lexemes */
} SkxTopkSegment;

/* topk_hits.c : the best documents so far */

/* A document with its score. */
typedef struct SkxHit
{
	int32		sum;
	int32		segment;		/* index in SkxTopk.segments; -1: pending */
	uint32		doc;			/* of the segment, or index in SkxTopk.pending */
} SkxHit;

/*
 * The best documents so far.  While there are fewer than `room`, they are the
 * documents found whose sums are at least `least`, in no order.  Once there
 * are `room`, the best `most` of them become a heap with the worst hit on
 * top, and `room` becomes their number.
 */
typedef struct SkxHits
{
	int			n;
	int			most;			/* number of hits wanted */
	int			room;			/* capacity, at least `most` at first */
	int			size;			/* allocated */
	int32		least;
	int32		told;			/* with assertions: least sum of a hit when
								 * the threshold was asked for; 0: not yet */
	SkxHit	   *heap;
} SkxHits;

/* The document of a pending hit. */
typedef struct SkxTopkPending
{
	ItemPointerData tid;
	int			stripe;
	uint64		sequence;		/* number in the stripe */
} SkxTopkPending;

/* Stages of a search, in their order. */
typedef enum SkxTopkStage
{
	SKX_TOPK_SCORED,			/* rows with some of the words */
	SKX_TOPK_OTHERS,			/* rows that match without any word */
	SKX_TOPK_NULLS,				/* rows whose tsvector is NULL */
	SKX_TOPK_DONE
} SkxTopkStage;

/* A search, and the collector that it passes over the index. */
struct SkxTopk
{
	SkxCollector collector;		/* first: it takes the rows with some of the
								 * words */
	SkxTopkRequest request;
	SkxRequest	of;				/* the same request for exec/ */
	SkxExec    *exec;
	const SkxScorer *scorer;
	MemoryContext context;		/* of the search */
	MemoryContext pass;			/* of one pass over a segment */
	int			nsegments;
	SkxTopkSegment *segments;	/* largest first */
	uint64		ndocs;			/* documents of all segments */
	double		postings;		/* postings of the ranking query's words per
								 * document */
	int			nlexemes;		/* lexemes of filter and ranking query */
	SkxLexeme  *lexemes;		/* ascending, each once */
	SkxQuerySplit split;		/* the filter by required words and the rest */
	int		   *filter_lexemes; /* index in `lexemes` of each lexeme of the
								 * filter */
	int		   *term_lexemes;	/* the same of each term of the scorer; -1:
								 * prefix */
	SkxQuery   *rest_of_words;	/* condition of the filter on documents with a
								 * ranked word; NULL: none */
	bool		scored_only;	/* each match has a word of the ranking query */
	bool		words_match;	/* each document with such a word matches */
	bool		primes;			/* the query has one word, and each document
								 * with it matches */
	bool		many;			/* too many words to have all lists open:
								 * topk_many.c */
	bool		primed;			/* a search began with too high a threshold */

	bool		has_pending;	/* there may be pending documents */
	SkxScoreMarks *marks;		/* scores of pending documents; NULL: not
								 * known */
	SkxPendingBounds bounds;	/* bounds of pending documents by `marks` */
	int32		pending_sum;	/* of the pending document that is tested */
	int			npending;		/* pending documents that were hits */
	int			max_pending;	/* capacity of `pending` */
	SkxTopkPending *pending;

	SkxTopkShare *share;		/* NULL: no other process takes part */
	bool		gathered;		/* `hits` has those of all processes and
								 * segments */
	int32		reached;		/* sum that enough documents of all processes
								 * reach */
	int			news;			/* hits counted in the share since it was read
								 * last */
	int32		floor;			/* no smaller sums are wanted; 0: all are */
	SkxHits		hits;
	int			rows;			/* number of rows the next pass looks for */
	uint64		before;			/* estimate of the hits of earlier searches */
	uint64		given;			/* number of hits handed out */
	bool		has_after;		/* only rows after `after` are looked for */
	int32		after;			/* sum of the row to continue after */
	ItemPointerData after_tid;	/* tid of that row */
	bool		tied;			/* the last two rows handed out have one sum */
	SkxTopkStage stage;
	struct SkxTopkRows *tail;	/* rows without score */
	SkxTopkHit *out;			/* rows handed out last */
	int			max_out;		/* capacity of `out` */
	uint32	   *docs;			/* arrays for SkxTopkRun */
	int32	   *sums;
	int32	   *bits_sums;
	uint64	   *bits;
	bool		stopped;		/* the budget is spent */
	int64		deadline;		/* in microseconds, 0: none */
	SkxTopkWork *work;			/* of the request */
};

/*
 * Returns the least sum by which a further document of a segment becomes a
 * hit.  Documents of the segment must have come in ascending order.
 * Otherwise segment is SKX_TOPK_NO_SEGMENT.
 */
extern int32 skx_topk_hits_need(SkxHits *hits, int segment);

/*
 * Raises hits->least, unless it is higher or the capacity is reached.  Drops
 * the hits below it: if it is too high, the number of hits tells.
 */
extern void skx_topk_hits_raise(SkxHits *hits, int32 least);

/*
 * Adds a document to the hits.  Drops it if it is not after the row at which
 * the search continues, or if the hits are full of better ones.
 */
extern void skx_topk_hits_add(SkxTopk *topk, const SkxHit *hit);

/*
 * Adds the first of n ascending documents, as many as fit without comparing
 * them with other hits; drops those whose sums are below hits->least.
 * Returns how many it has dealt with.
 */
extern int	skx_topk_hits_take(SkxTopk *topk, int segment, const uint32 *docs,
							   const int32 *sums, int n);

/* Returns the tid of a hit. */
extern ItemPointerData skx_topk_hit_tid(SkxTopk *topk, const SkxHit *hit);

/*
 * Removes all hits and puts the best of them into rows, best first.  rows has
 * the capacity of all hits.  Returns the number of rows, at most hits->most.
 */
extern int	skx_topk_hits_rows(SkxTopk *topk, SkxTopkHit *rows);

/* Bytes of temporary memory for each hit while hits are made into rows. */
#define SKX_TOPK_ROW_SCRATCH	(5 * sizeof(uint32) + sizeof(ItemPointerData))

/* topk_sort.c : a sort of pairs of numbers */

/* Arrays of n keys, and of a value for each key. */
typedef struct SkxTopkPairs
{
	uint32		n;
	uint32	   *keys;
	uint32	   *values;
} SkxTopkPairs;

/*
 * Sorts pairs by their keys, none of which may be above `most`.  The sort is
 * stable.  The arrays of *spare must be as long as those of *pairs.  The two
 * may have exchanged their arrays afterwards.
 */
extern void skx_topk_sort(SkxTopkPairs *pairs, SkxTopkPairs *spare,
						  uint32 most);

/* topk_wanted.c : how many rows a search looks for */

/*
 * Limits a number of rows to that whose memory fits into work_mem.  Returns
 * at least 1.
 */
extern int	skx_topk_most(uint64 rows);

/* Enlarges topk->out to a capacity of n rows.  Does not keep its content. */
extern void skx_topk_make_out(SkxTopk *topk, int n);

/*
 * Returns the number of rows that the next search has to find, if so many
 * match.
 */
extern int	skx_topk_least_rows(const SkxTopk *topk);

/* One pass over one segment. */
struct SkxTopkRun
{
	SkxTopk    *topk;
	const SkxScorer *scorer;
	int			segment;		/* index in SkxTopk.segments */
	SkxSegment *seg;
	uint32		from;			/* range of documents of the pass */
	uint32		to;
	int32		need;			/* threshold: documents with smaller sums are
								 * no hits */
	bool		paired;			/* pairs of words may add to sums */
	int			nrequired;		/* lists of required words */
	SkxTopkList **required;		/* ascending by df */
	int			noptional;		/* lists of other words */
	SkxTopkList **optional;
	SkxDocs    *filter;			/* further conditions; NULL: none */
	bool		sieved;			/* candidates have been tested by `rest` */
	uint32		asked;			/* recent candidates tested by `rest` */
	uint32		passed;			/* those of them that passed */
	SkxChain   *chain;			/* instead of `rest`: a phrase of required
								 * words; NULL: none */
	SkxPositionPlace **places;	/* for each link of `chain`, where the
								 * positions are in the documents `placed` */
	uint32	   *placed;			/* documents of the lead's sub-block, or
								 * gathered candidates */
	bool		parts_last;		/* sums are bounds; tfs of the lists `noted`
								 * have frequencies in documents `placed` */
	int			nnoted;
	SkxTopkList **noted;		/* required lists, or all */
	struct SkxTopkCold *cold;	/* NULL: nothing has been gathered */
	int			nexcluded;
	SkxTopkList **excluded;		/* gathered documents in these lists are
								 * dropped */
	bool		unordered;		/* candidates do not ascend from batch to
								 * batch */
	struct SkxTopkExact *exact; /* NULL: sums are exact */
	int			n;				/* number of candidates */
	uint32	   *docs;			/* candidates: SKX_TOPK_BATCH documents */
	int32	   *sums;			/* their sums */
	int32	   *bits_sums;		/* SKX_TOPK_WINDOW sums, zero between uses */
	uint64	   *bits;			/* bitmap of their documents, likewise */
	struct SkxTopkCounts *counts;	/* for gathering prefixes */
	bool		ranged;			/* a prefix is gathered in ranges */
};

/* topk_segment.c : one pass over a segment */

/*
 * Searches documents [from, to) of a segment by the cheapest method, and adds
 * those that are good enough to topk->hits.
 */
extern void skx_topk_part(SkxTopk *topk, int segment, uint32 from, uint32 to);

/* topk_prime.c : a threshold to begin with, before there are hits */

/*
 * Returns a sum that skx_topk_least_rows() + topk->before documents reach,
 * unless some of them are deleted.  Returns 0 if none is known.  Every
 * document with a word must match.
 */
extern int32 skx_topk_prime(SkxTopk *topk);

/*
 * Raises the threshold of a first search to a sum that enough documents are
 * likely to reach.  docs is an estimate of the documents of the segment that
 * match the filter; words and filter are assumed to be independent.  If too
 * few reach the threshold, the search is repeated without it.  Does nothing
 * in further searches, or with other processes.
 */
extern void skx_topk_expect(SkxTopkRun *run, double docs);

/* topk_batch.c : the candidates in run->docs and run->sums, which ascend */

/* Drops candidates whose sum is below `floor`. */
extern void skx_topk_batch_floor(SkxTopkRun *run, int64 floor);

/*
 * Drops candidates that do not match run->filter, if testing them is less work
 * than reading further lists.  Then skx_topk_batch_finish() does not test
 * them again.
 */
extern void skx_topk_batch_sieve(SkxTopkRun *run);

/*
 * Looks candidates up in a list and adds its contributions to their sums.
 * May drop those that cannot reach the threshold, where further lists
 * contribute at most `rest`.  With `required`, drops those that are not in
 * the list.
 */
extern void skx_topk_batch_probe(SkxTopkRun *run, SkxTopkList *l, int64 rest,
								 bool required);

/*
 * Adds the contributions of a list whose current sub-block has all
 * candidates.  Drops those without the labels that count.
 */
extern void skx_topk_batch_add(SkxTopkRun *run, SkxTopkList *l);

/*
 * Looks candidates up in n lists, the last one first, as
 * skx_topk_batch_probe() does.  Lists ascend by their bounds, whose sums are
 * in SkxTopkList.before.  Candidates must be in those from index `required`
 * on.
 */
extern void skx_topk_batch_optional(SkxTopkRun *run, SkxTopkList **lists,
									int n, int required);

/*
 * Ends run->parts_last: replaces the sums of candidates by those of the
 * contributions of the lists run->noted.  Reads the norms of SKX_SUBBLOCK
 * candidates together.
 */
extern void skx_topk_batch_parts(SkxTopkRun *run);

/*
 * Makes hits of the candidates.  Drops those that are below the threshold,
 * that do not match, or that have their deleted bit set.  Candidates are
 * undefined after that.
 */
extern void skx_topk_batch_finish(SkxTopkRun *run);

/*
 * Notes in l->places where the positions of posting `at` of the decoded
 * sub-block are.  Its document must be one of run->placed.
 */
extern void skx_topk_batch_place(const SkxTopkRun *run, SkxTopkList *l,
								 int at);

/*
 * Counts a window, exchanges the threshold with other processes if there are
 * any, and then does as skx_topk_is_spent().
 */
extern bool skx_topk_tick(SkxTopkRun *run, uint32 doc);

/* topk_budget.c : the time that a search may take */

/* Returns true if skipidx.search_budget limits searches. */
extern bool skx_topk_is_budgeted(void);

/*
 * Serves interrupts.  Returns true if the budget is spent, which ends the
 * search.  doc is the first document not searched yet.
 */
extern bool skx_topk_is_spent(SkxTopkRun *run, uint32 doc);

/* topk_or.c : searches a disjunction, by block-max MAXSCORE */

/*
 * Searches all documents with one of the optional lists.  There must be no
 * required lists.
 */
extern void skx_topk_or(SkxTopkRun *run);

/* topk_and.c : searches a conjunction */

/*
 * Searches the documents in all required lists, of which the first one leads.
 */
extern void skx_topk_and(SkxTopkRun *run);

/*
 * topk_cold.c : a conjunction whose lists are not cached
 *
 * Documents of the lead, the first required list, are gathered and then
 * looked up together, so that pages of other lists are read together.
 */

/* Returns true if enough pages would have to be read for gathering. */
extern bool skx_topk_is_cold(SkxTopkRun *run);

/*
 * Begins to gather.  Must be called when another list than before leads;
 * skx_topk_cold_gather() calls it for the first one.
 */
extern void skx_topk_cold_begin(SkxTopkRun *run);

/*
 * Returns true if documents are being gathered, and none of the lead's
 * current sub-block can become a hit.
 */
extern bool skx_topk_cold_passes(SkxTopkRun *run);

/*
 * Returns true if there are long lists that are read only for the best
 * candidates.  run->cold must not be NULL.
 */
extern bool skx_topk_cold_is_late(const SkxTopkRun *run);

/*
 * Adds documents [from, to) of the lead's current sub-block to the
 * candidates.  If there are enough then, examines them and returns true.
 */
extern bool skx_topk_cold_gather(SkxTopkRun *run, uint32 from, uint32 to);

/* Examines the candidates that are left, if any. */
extern void skx_topk_cold_finish(SkxTopkRun *run);

/* topk_cold_any.c : a disjunction whose lists are not cached */

/*
 * Searches as skx_topk_or() does, by gathering.  Returns false if that is not
 * possible or not worthwhile; then it has searched nothing.
 */
extern bool skx_topk_cold_any(SkxTopkRun *run);

/* topk_many.c : searches by very many words, with one list open at a time */

/* Searches all documents with one of the words. */
extern void skx_topk_many(SkxTopkRun *run);

/* Searches the documents that a scan returns. */
extern void skx_topk_many_filter(SkxTopkRun *run, SkxDocs *scan);

/* topk_exact.c : sums with pairs of words, from positions */

/*
 * Opens the lists of the words for exact sums, in the current memory
 * context.  With `summed`, the sums of candidates include the contributions
 * of all words, and only the words of pairs are opened.
 */
extern struct SkxTopkExact *skx_topk_exact_open(SkxTopkRun *run, bool summed);

/*
 * Returns true if skx_topk_exact_rewind() is possible: no list is in memory.
 */
extern bool skx_topk_exact_can_rewind(const struct SkxTopkExact *exact);

/*
 * Moves all lists back to their beginning.  Candidates that follow may then
 * be before those of the last batch.
 */
extern void skx_topk_exact_rewind(struct SkxTopkExact *exact);

/*
 * Returns a bound of the error of sums by ceilings: an exact sum is not
 * smaller than the sum by ceilings by more than that.
 */
extern int32 skx_topk_exact_slack(const SkxScorer *scorer);

/*
 * Computes the exact sums of the candidates of the run, and makes hits of
 * them.
 */
extern void skx_topk_exact_finish(SkxTopkRun *run);

/* Closes the lists. */
extern void skx_topk_exact_close(struct SkxTopkExact *exact);

/*
 * Returns the frequency of posting i for a contribution by the ceiling, given
 * its frequency by labels, tf.  A ceiling above the weight bounds pairs,
 * too.  These are counted by positions, whatever the weights of the labels
 * are.
 */
static inline float
skx_topk_ceiling_tf(const SkxScoreTerm *term, const SkxCursor *c, int i,
					float tf)
{
	return term->ceiling > term->weight ? Max(tf, (float) c->tfs[i]) : tf;
}

/* topk_share.c : a search by several processes */

/* Returns the parts of the segments, as the processes share them. */
extern SkxShare *skx_topk_share_parts(SkxTopkShare *share);

/*
 * Searches the parts that this process takes, and leaves its hits in the
 * share.  Returns true if this process returns the rows; then topk->hits has
 * the hits of all processes.  Other processes do not take part in what
 * follows: topk->share becomes NULL.
 */
extern bool skx_topk_share_search(SkxTopk *topk);

/*
 * Returns the number of rows that the processes look for, or 0 if no other
 * process takes part.
 */
extern int	skx_topk_share_rows(const SkxTopk *topk);

/* Counts a hit in the share by its sum. */
extern void skx_topk_share_hit(SkxTopk *topk, int32 sum);

/*
 * Exchanges the threshold with other processes: raises the shared one by the
 * hits so far, and raises run->need to it.
 */
extern void skx_topk_share_meet(SkxTopkRun *run);

/* hits of a run, and the threshold that they raise */

/*
 * Sets the threshold run->need from the hits and topk->reached.
 *
 * If candidates do not ascend, a document with the sum of the worst hit may
 * still come before that hit.  So the threshold is not above that sum then.
 */
static inline void
skx_topk_batch_need(SkxTopkRun *run)
{
	int			segment = run->unordered ? SKX_TOPK_NO_SEGMENT : run->segment;

	run->need = Max(skx_topk_hits_need(&run->topk->hits, segment),
					run->topk->reached);
}

/*
 * Makes a hit of a document, unless its sum is below the threshold, and
 * raises the threshold.
 */
static inline void
skx_topk_batch_hit(SkxTopkRun *run, uint32 doc, int32 sum)
{
	SkxHit		hit = {sum, run->segment, doc};

	if (sum < run->need)
		return;
	skx_topk_hits_add(run->topk, &hit);
	if (run->topk->share != NULL && !run->topk->has_after)
		skx_topk_share_hit(run->topk, sum);
	skx_topk_batch_need(run);
}

/* topk_collect.c : the collector of a search */

/* Sets the methods of topk->collector, and its number of parts. */
extern void skx_topk_collector(SkxCollector *collector);

/*
 * Number of parts of a segment at most, with other processes.  Each part
 * opens the lists again.
 */
#define SKX_TOPK_PARTS		16

/* topk_rows.c : rows without a score, in the order of tids */

/*
 * Begins to search rows that match without any of the words, or with `nulls`,
 * rows whose tsvector is NULL.
 */
extern struct SkxTopkRows *skx_topk_rows_open(SkxTopk *topk, bool nulls);

/*
 * Puts the next rows into topk->out.  Returns their number, or 0 if there are
 * no more.
 */
extern int	skx_topk_rows_next(SkxTopk *topk, struct SkxTopkRows *rows);

/* Frees the search for rows without a score. */
extern void skx_topk_rows_close(struct SkxTopkRows *rows);

#endif							/* SKX_TOPK_INTERNAL_H */
