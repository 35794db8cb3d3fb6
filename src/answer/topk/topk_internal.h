/*
 * topk_internal.h
 *	  Declarations that the files of topk/ share: a search for the best
 *	  documents, in one segment after the other.
 */
#ifndef SKX_TOPK_INTERNAL_H
#define SKX_TOPK_INTERNAL_H

#include "answer/exec/exec.h"
#include "answer/topk/topk_list.h"
#include "answer/topk/topk_prior.h"

/* Number of documents of a window in which contributions are added up. */
#define SKX_TOPK_WINDOW		4096

/*
 * Largest number of candidates that are examined together: a window, or a
 * batch of matches of a filter.
 */
#define SKX_TOPK_BATCH		SKX_QUERY_BATCH_DOCS

/* A segment number that is neither a segment's nor -1 (pending documents). */
#define SKX_TOPK_NO_SEGMENT	(-2)

/* A segment, open as long as the search. */
typedef struct SkxTopkSegment
{
	SkxSegment *seg;
	int			view_index;		/* index of the segment in the view */
	SkxTerm    *terms;			/* its term for each of SkxTopk.lexemes */
} SkxTopkSegment;

/* topk_hits.c : the best documents so far */

/* A document with its score. */
typedef struct SkxTopkDoc
{
	int32		sum;			/* with a prior: the grade (topk_prior.h) */
	int32		segment;		/* index in SkxTopk.segments; -1: pending */
	uint32		doc;			/* of the segment, or index in SkxTopk.pending */
} SkxTopkDoc;

/*
 * The best documents so far.  While there are fewer than `max_hits`, they are
 * the documents found whose sums are at least `min_sum`, in no order.  Once
 * there are `max_hits`, the best `wanted_hits` of them become a heap with the
 * worst hit on top, and `max_hits` becomes their number.
 */
typedef struct SkxTopkHeap
{
	int			n;
	int			wanted_hits;	/* number of hits wanted */
	int			max_hits;		/* capacity, at least `wanted_hits` at first */
	int			hits_size;		/* allocated */
	int32		min_sum;
	int32		checked_min;	/* with assertions: least sum of a hit when
								 * the threshold was asked for last */
	SkxTopkDoc *heap;
} SkxTopkHeap;

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
	SKX_TOPK_UNSCORED,			/* rows that match without any word */
	SKX_TOPK_NULLS,				/* rows whose tsvector is NULL */
	SKX_TOPK_END
} SkxTopkStage;

/* A search, and the collector that it passes over the index. */
struct SkxTopk
{
	SkxCollector collector;		/* first: it takes the rows with some of the
								 * words */
	SkxTopkRequest request;
	SkxRequest	rows_request;	/* the same request for exec/ */
	SkxExec    *exec;
	const SkxScorer *scorer;
	MemoryContext context;		/* of the search */
	MemoryContext pass_context; /* of one pass over a segment */
	int			nsegments;
	SkxTopkSegment *segments;	/* largest first */
	uint64		ndocs;			/* documents of all segments */
	double		postings_per_doc;	/* postings of the ranking query's words
									 * per document */
	int			nlexemes;		/* lexemes of filter and ranking query */
	SkxLexeme  *lexemes;		/* ascending, each once */
	SkxQuerySplit split_filter; /* the filter by required words and the rest */
	int		   *filter_lexemes; /* index in `lexemes` of each lexeme of the
								 * filter */
	int		   *term_lexemes;	/* the same of each term of the scorer; -1:
								 * prefix */
	SkxQuery   *residual_filter;	/* condition of the filter on documents
									 * with a ranked word; NULL: none */
	bool		scored_only;	/* each match has a word of the ranking query */
	bool		words_match;	/* each document with such a word matches */
	bool		threshold_is_exact; /* the query has one word, and each
									 * document with it matches */
	bool		has_many_words; /* too many words to have all lists open:
								 * topk_many.c */
	bool		began_too_high; /* a search began with too high a threshold */

	bool		has_pending;	/* there may be pending documents */
	SkxPendingTfs *pending_tfs; /* scores of pending documents; NULL: not
								 * known */
	SkxPendingBounds bounds;	/* bounds of pending documents by
								 * `pending_tfs` */
	int32		pending_sum;	/* of the pending document that is tested, as
								 * in SkxTopkDoc */
	int			npending;		/* pending documents that were hits */
	int			max_pending;	/* capacity of `pending` */
	SkxTopkPending *pending;

	SkxTopkShare *share;		/* NULL: no other process takes part */
	bool		has_all_hits;	/* `hits` has those of all processes and
								 * segments */
	int32		shared_threshold;	/* sum that enough documents of all
									 * processes reach */
	int			unshared_hits;	/* hits counted in the share since it was read
								 * last */
	int32		min_wanted_sum; /* no smaller sums are wanted; 0: all are */
	SkxTopkHeap hits;
	int			search_rows;	/* number of rows the next pass looks for */
	uint64		hits_before;	/* estimate of the hits of earlier searches */
	uint64		returned_hits;	/* number of hits handed out */
	bool		has_after;		/* only rows after `after_sum` are looked for */
	int32		after_sum;		/* sum of the row to continue after */
	ItemPointerData after_tid;	/* tid of that row */
	const SkxTopkStretch *stretch;	/* that is searched; NULL: a segment as a
									 * whole */
	bool		ends_in_tie;	/* the last two rows handed out have one sum */
	SkxTopkStage stage;
	struct SkxTopkRows *unscored_rows;	/* rows without score */
	SkxTopkHit *rows_out;		/* rows handed out last */
	int			returned_size;	/* capacity of `rows_out` */
	uint32	   *docs;			/* arrays for SkxTopkRun */
	int32	   *sums;
	int32	   *bits_sums;
	uint64	   *bits;
	bool		budget_spent;	/* the budget is spent */
	int32		unvisited_bound;	/* bound of the sums of the documents that
									 * were not looked at then */
	int64		deadline;		/* in microseconds, 0: none */
	SkxTopkWork *work;			/* of the request */
};

/*
 * Returns the least sum by which a further document of a segment becomes a
 * hit.  Documents of the segment must have come in ascending order.
 * Otherwise segment is SKX_TOPK_NO_SEGMENT.
 */
extern int32 skx_topk_hits_threshold(SkxTopkHeap *hits, int segment);

/*
 * Raises hits->min_sum, unless it is higher or the capacity is reached.  Drops
 * the hits below it: if it is too high, the number of hits tells.
 */
extern void skx_topk_hits_raise_min(SkxTopkHeap *hits, int32 least);

/*
 * Adds a document to the hits.  Drops it if it is not after the row at which
 * the search continues, or if the hits are full of better ones.
 */
extern void skx_topk_hits_add(SkxTopk *topk, const SkxTopkDoc *hit);

/*
 * Adds the first of n ascending documents, as many as fit without comparing
 * them with other hits; drops those whose sums are below hits->min_sum.
 * Returns how many it has dealt with.
 */
extern int	skx_topk_hits_add_n(SkxTopk *topk, int segment, const uint32 *docs,
								const int32 *sums, int n);

/* Returns the tid of a hit. */
extern ItemPointerData skx_topk_hit_tid(SkxTopk *topk, const SkxTopkDoc *hit);

/*
 * Removes all hits and puts the best of them into rows, best first.  rows has
 * the capacity of all hits.  Returns the number of rows, at most
 * hits->wanted_hits.
 */
extern int	skx_topk_hits_rows(SkxTopk *topk, SkxTopkHit *rows);

/* Bytes of temporary memory for each hit while hits are made into rows. */
#define SKX_TOPK_ROW_TEMP_BYTES	(5 * sizeof(uint32) + sizeof(ItemPointerData))

/* topk_wanted.c : how many rows a search looks for */

/*
 * Limits a number of rows to that whose memory fits into work_mem.  Returns
 * at least 1.
 */
extern int	skx_topk_limit_rows(uint64 rows);

/*
 * Enlarges topk->rows_out to a capacity of n rows.  Does not keep its content.
 */
extern void skx_topk_reserve_rows(SkxTopk *topk, int n);

/*
 * Returns the number of rows that the next search has to find, if so many
 * match.
 */
extern int	skx_topk_min_rows(const SkxTopk *topk);

/* One pass over one segment. */
struct SkxTopkRun
{
	SkxTopk    *topk;
	const SkxScorer *scorer;
	int			segment;		/* index in SkxTopk.segments */
	SkxSegment *seg;
	uint32		from;			/* range of documents of the pass */
	uint32		to;
	uint32		stopped_at;		/* where the budget was spent: next document */
	bool		leaves_candidates;	/* there were candidates then */
	int32		threshold;		/* threshold: documents with smaller sums are
								 * no hits */
	bool		has_ceilings;	/* sums are bounds: pairs may add to them, or
								 * of several words of a group one counts */
	int			nrequired;		/* lists of required words */
	SkxTopkList **required;		/* ascending by df */
	int			noptional;		/* lists of other words */
	SkxTopkList **optional;
	SkxDocs    *residual_filter;	/* further conditions; NULL: none */
	bool		filter_tested;	/* candidates have been tested by `rest` */
	uint32		filter_ntested; /* recent candidates tested by `rest` */
	uint32		filter_npassed; /* those of them that passed */
	SkxPhraseChain *phrase;		/* instead of `rest`: a phrase of required
								 * words; NULL: none */
	SkxPositionsRef **link_refs;	/* for each link of `phrase`, where the
									 * positions are in the documents
									 * `position_docs` */
	uint32	   *position_docs;	/* documents of the lead's sub-block, or
								 * gathered candidates */
	bool		defer_sums;		/* sums are bounds; tfs of the lists
								 * `tf_lists` have frequencies in documents
								 * `position_docs` */
	int			ntf_lists;
	SkxTopkList **tf_lists;		/* required lists, or all */
	struct SkxTopkCold *cold;	/* NULL: nothing has been gathered */
	int			nled_lists;
	SkxTopkList **led_lists;	/* gathered documents in these lists are
								 * dropped */
	bool		unordered;		/* candidates do not ascend from batch to
								 * batch */
	struct SkxTopkExact *exact; /* NULL: sums are exact */
	SkxTopkPriorRun *prior;		/* NULL: hits have the sums of the words */
	int			n;				/* number of candidates */
	uint32	   *docs;			/* candidates: SKX_TOPK_BATCH documents */
	int32	   *sums;			/* their sums */
	int32	   *bits_sums;		/* SKX_TOPK_WINDOW sums, zero between uses */
	uint64	   *bits;			/* bitmap of their documents, likewise */
	struct SkxTopkPrefixCounts *prefix_counts;	/* for gathering prefixes */
	bool		gathers_ranges; /* a prefix is gathered in ranges */
};

/* topk_segment.c : one pass over a segment */

/*
 * Searches documents [from, to) of a segment by the cheapest method, and adds
 * those that are good enough to topk->hits.
 */
extern void skx_topk_search_range(SkxTopk *topk, int segment, uint32 from,
								  uint32 to);

/*
 * Raises topk->unvisited_bound to a bound of the sums in a segment, of which
 * nothing is read.
 */
extern void skx_topk_leave_segment(SkxTopk *topk, int segment);

/* topk_prime.c : a threshold to begin with, before there are hits */

/*
 * Returns a sum that skx_topk_min_rows() + topk->hits_before documents reach,
 * unless some of them are deleted.  Returns 0 if none is known.  Every
 * document with a word must match.
 */
extern int32 skx_topk_initial_threshold(SkxTopk *topk);

/*
 * Raises the threshold of a first search to a sum that enough documents are
 * likely to reach.  docs is an estimate of the documents of the segment that
 * match the filter; words and filter are assumed to be independent.  If too
 * few reach the threshold, the search is repeated without it.  Does nothing
 * in further searches, or with other processes.
 */
extern void skx_topk_expected_threshold(SkxTopkRun *run, double docs);

/* topk_batch.c : the candidates in run->docs and run->sums, which ascend */

/* Drops candidates whose sum is below `floor`. */
extern void skx_topk_batch_drop_below(SkxTopkRun *run, int64 floor);

/*
 * Drops candidates that do not match run->residual_filter, if testing them is
 * less work than reading further lists.  Then skx_topk_batch_finish() does not
 * test them again.
 */
extern void skx_topk_batch_filter_early(SkxTopkRun *run);

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
extern void skx_topk_batch_add_list(SkxTopkRun *run, SkxTopkList *l);

/*
 * Looks candidates up in n lists, the last one first, as
 * skx_topk_batch_probe() does.  Lists ascend by their bounds, whose sums are
 * in SkxTopkList.prefix_bound.  Candidates must be in those from index
 * `required` on.
 */
extern void skx_topk_batch_optional(SkxTopkRun *run, SkxTopkList **lists,
									int n, int required);

/*
 * Ends run->defer_sums: replaces the sums of candidates by those of the
 * contributions of the lists run->tf_lists.  Reads the norms of SKX_SUBBLOCK
 * candidates together.
 */
extern void skx_topk_batch_exact_sums(SkxTopkRun *run);

/*
 * Makes hits of the candidates.  Drops those that are below the threshold,
 * that do not match, or that have their deleted bit set.  Candidates are
 * undefined after that.
 */
extern void skx_topk_batch_finish(SkxTopkRun *run);

/*
 * Notes in l->position_refs where the positions of posting `at` of the decoded
 * sub-block are.  Its document must be one of run->position_docs.
 */
extern void skx_topk_batch_save_refs(const SkxTopkRun *run, SkxTopkList *l,
									 int at);

/*
 * Counts a window, exchanges the threshold with other processes if there are
 * any, and then does as skx_topk_budget_is_spent().
 */
extern bool skx_topk_count_window(SkxTopkRun *run, uint32 doc);

/* topk_budget.c : the time that a search may take */

/* Returns true if skipidx.search_budget limits searches. */
extern bool skx_topk_has_budget(void);

/*
 * Serves interrupts.  Returns true if the budget is spent, which ends the
 * search.  doc is the first document not searched yet.
 */
extern bool skx_topk_budget_is_spent(SkxTopkRun *run, uint32 doc);

/* Raises topk->unvisited_bound to `bound`. */
extern void skx_topk_budget_raise_bound(SkxTopk *topk, int64 bound);

/*
 * Raises topk->unvisited_bound to a bound of the sums that the pass has not
 * looked at, if the budget was spent in it.  Moves its lists.
 */
extern void skx_topk_budget_leave(SkxTopkRun *run);

/* topk_or.c : searches a disjunction, by block-max MAXSCORE */

/*
 * Searches all documents with one of the optional lists.  There must be no
 * required lists.
 */
extern void skx_topk_search_or(SkxTopkRun *run);

/* topk_and.c : searches a conjunction */

/*
 * Searches the documents in all required lists, of which the first one leads.
 */
extern void skx_topk_search_and(SkxTopkRun *run);

/*
 * topk_cold.c : a conjunction whose lists are not cached
 *
 * Documents of the lead, the first required list, are gathered and then
 * looked up together, so that pages of other lists are read together.
 */

/* Returns true if enough pages would have to be read for gathering. */
extern bool skx_topk_cold_is_worthwhile(SkxTopkRun *run);

/*
 * Begins to gather.  Must be called when another list than before leads;
 * skx_topk_cold_gather() calls it for the first one.
 */
extern void skx_topk_cold_begin(SkxTopkRun *run);

/*
 * Returns true if documents are being gathered, and none of the lead's
 * current sub-block can become a hit.
 */
extern bool skx_topk_cold_skips_subblock(SkxTopkRun *run);

/*
 * Returns true if there are long lists that are read only for the best
 * candidates.  run->cold must not be NULL.
 */
extern bool skx_topk_cold_has_deferred(const SkxTopkRun *run);

/*
 * Adds documents [from, to) of the lead's current sub-block to the
 * candidates.  If there are enough then, examines them and returns true.
 */
extern bool skx_topk_cold_gather(SkxTopkRun *run, uint32 from, uint32 to);

/* Examines the candidates that are left, if any. */
extern void skx_topk_cold_finish(SkxTopkRun *run);

/* topk_cold_any.c : a disjunction whose lists are not cached */

/*
 * Searches as skx_topk_search_or() does, by gathering.  Returns false if that
 * is not possible or not worthwhile; then it has searched nothing.
 */
extern bool skx_topk_cold_any(SkxTopkRun *run);

/* topk_many.c : searches by very many words, with one list open at a time */

/* Searches all documents with one of the words. */
extern void skx_topk_search_many(SkxTopkRun *run);

/* Searches the documents that a scan returns. */
extern void skx_topk_search_many_filtered(SkxTopkRun *run, SkxDocs *scan);

/* topk_exact.c : sums with groups, and pairs of words from positions */

/*
 * Opens the lists of the words for exact sums, in the current memory context.
 * With `summed`, the sums of candidates have the contributions of all words,
 * and only the words of pairs and groups are opened.
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

/* Returns by how much a sum may exceed the exact one at most. */
extern int32 skx_topk_exact_error_bound(const SkxScorer *scorer);

/*
 * Computes the exact sums of the candidates of the run, and makes hits of
 * them.
 */
extern void skx_topk_exact_make_hits(SkxTopkRun *run);

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
extern SkxExecShared *skx_topk_share_exec(SkxTopkShare *share);

/*
 * Searches the parts that this process takes, and leaves its hits in the
 * share.  Returns true if this process returns the rows; then topk->hits has
 * the hits of all processes.  Other processes do not take part in what
 * follows: topk->share becomes NULL.
 */
extern bool skx_topk_share_search(SkxTopk *topk);

/*
 * Returns true if documents of a segment can be searched apart: no prefix is
 * ranked, which would be gathered for each part.
 */
extern bool skx_topk_is_divisible(const SkxScorer *scorer);

/*
 * Returns the number of rows that the processes look for, or 0 if no other
 * process takes part.
 */
extern int	skx_topk_share_search_rows(const SkxTopk *topk);

/* Counts a hit in the share by its sum. */
extern void skx_topk_share_count_hit(SkxTopk *topk, int32 sum);

/*
 * Exchanges the threshold with other processes: raises the shared one by the
 * hits so far, and raises run->threshold to it.
 */
extern void skx_topk_share_exchange(SkxTopkRun *run);

/* hits of a run, and the threshold that they raise */

/*
 * Sets the threshold run->threshold from the hits and topk->shared_threshold.
 *
 * If candidates do not ascend, a document with the sum of the worst hit may
 * still come before that hit.  So the threshold is not above that sum then.
 */
static inline void
skx_topk_batch_set_threshold(SkxTopkRun *run)
{
	int			segment = run->unordered ? SKX_TOPK_NO_SEGMENT : run->segment;

	int32		least = skx_topk_hits_threshold(&run->topk->hits, segment);

	if (run->prior != NULL)
		least = skx_topk_prior_least_sum(run->prior, least);
	run->threshold = Max(least, run->topk->shared_threshold);
}

/*
 * Makes a hit of a document, unless its sum is below the threshold, and
 * raises the threshold.
 */
static inline void
skx_topk_batch_hit(SkxTopkRun *run, uint32 doc, int32 sum)
{
	SkxTopkDoc	hit = {sum, run->segment, doc};

	if (sum < run->threshold)
		return;
	if (run->prior != NULL)
		hit.sum = skx_topk_prior_grade(run->prior, doc, sum);
	skx_topk_hits_add(run->topk, &hit);
	if (run->topk->share != NULL && !run->topk->has_after)
		skx_topk_share_count_hit(run->topk, sum);
	skx_topk_batch_set_threshold(run);
}

/* topk_collect.c : the collector of a search */

/* Sets the methods of topk->collector, and its number of parts. */
extern void skx_topk_init_collector(SkxCollector *collector);

/*
 * Number of parts of a segment at most, with other processes.  Each part
 * opens the lists again.
 */
#define SKX_TOPK_PARTS_MAX		16

/* topk_rows.c : rows without a score, in the order of tids */

/*
 * Begins to search rows that match without any of the words, or with `nulls`,
 * rows whose tsvector is NULL.
 */
extern struct SkxTopkRows *skx_topk_unscored_open(SkxTopk *topk, bool nulls);

/*
 * Puts the next rows into topk->rows_out.  Returns their number, or 0 if there
 * are no more.
 */
extern int	skx_topk_unscored_next(SkxTopk *topk, struct SkxTopkRows *rows);

/* Frees the search for rows without a score. */
extern void skx_topk_unscored_close(struct SkxTopkRows *rows);

#endif							/* SKX_TOPK_INTERNAL_H */
