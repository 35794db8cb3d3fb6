/*
 * topk_internal.h
 *	  A search for the best documents of one segment after the other, and the
 *	  lists that it goes through.
 */
#ifndef SKX_TOPK_TOPK_INTERNAL_H
#define SKX_TOPK_TOPK_INTERNAL_H

#include "topk/topk.h"

/* Documents of a window in which parts are added up. */
#define SKX_TOPK_WINDOW		4096

/* Candidates looked at together, at most: a window, or what a filter gave. */
#define SKX_TOPK_BATCH		SKX_QUERY_DOCS

/*
 * topk_norms.c : norms of a segment as one array, filled page by page as they
 * are needed and kept by the backend
 *
 * Norms of documents are valid once want was called for these documents, and
 * as long as the memory context in which they were opened.
 */
typedef struct SkxTopkNorms
{
	SkxSegment *seg;
	uint8	   *bytes;			/* one a document */
	uint8	   *loaded;			/* one a page */
	uint32		npages;
	uint32	   *nloaded;
} SkxTopkNorms;

extern void skx_topk_norms_open(SkxTopkNorms *norms, SkxSegment *seg,
								uint64 incarnation);
extern void skx_topk_norms_load(SkxTopkNorms *norms, const uint32 *docs,
								int n);

static inline void
skx_topk_norms_want(SkxTopkNorms *norms, const uint32 *docs, int n)
{
	if (*norms->nloaded < norms->npages)
		skx_topk_norms_load(norms, docs, n);
}

/* Forgets what is kept past the allowance and not open. */
extern void skx_topk_norms_trim(void);

/* A segment, open as long as the search. */
typedef struct SkxTopkSegment
{
	SkxSegment *seg;
	SkxTerm    *terms;			/* of SkxTopk.lexemes */
	SkxTopkNorms norms;
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
 * A heap with the worst hit on top; `least` is what a sum must reach while
 * there are fewer than `most`.
 */
typedef struct SkxHits
{
	int			n;
	int			most;
	int			size;			/* allocated */
	int32		least;
	SkxHit	   *heap;
} SkxHits;

typedef enum SkxTopkStage
{
	SKX_TOPK_SCORED,			/* rows with some of the words */
	SKX_TOPK_OTHERS,			/* rows that match without */
	SKX_TOPK_NULLS,
	SKX_TOPK_DONE
} SkxTopkStage;

struct SkxTopk
{
	SkxTopkRequest request;
	const SkxScorer *scorer;
	MemoryContext context;		/* of the search */
	MemoryContext pass;			/* of one pass over the segments */
	SkxBlkFile *file;
	int			nsegments;
	SkxTopkSegment *segments;	/* largest first */
	uint64		ndocs;			/* of all segments */
	int			nlexemes;		/* of filter and ranking query together */
	SkxLexeme  *lexemes;
	SkxQuerySplit split;
	int		   *filter_lexemes; /* numbers of the filter's lexemes in lexemes */
	int		   *term_lexemes;	/* those of the scorer's terms; -1: prefix */
	bool		scored_only;	/* who matches has a word of the ranking query */
	bool		words_match;	/* who has such a word matches */
	bool		labels_count;	/* no label counts nothing */

	int			npending;		/* pending documents that are hits */
	int			max_pending;
	ItemPointerData *pending;

	SkxHits		hits;
	int			rows;			/* that the next pass looks for */
	bool		has_after;		/* hits up to this one were handed out */
	SkxHit		after;
	ItemPointerData after_tid;
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
extern ItemPointerData skx_topk_hit_tid(SkxTopk *topk, const SkxHit *hit);

/* Takes all hits out, best first; returns their number. */
extern int	skx_topk_hits_sort(SkxTopk *topk);

/* The first document of a segment that comes after a TID. */
extern uint32 skx_topk_first_after(SkxSegment *seg, const ItemPointerData *tid);

/*
 * topk_list.c : a list of the ranking query in a segment, or what is required
 * without being scored
 *
 * It stands on a sub-block of up to SKX_SUBBLOCK postings, which is decoded
 * only when somebody needs its documents.
 */
typedef struct SkxTopkMemory
{
	uint32		n;
	uint32	   *docs;
	float	   *tfs;
	int32	   *bounds;			/* by sub-block */
} SkxTopkMemory;

typedef struct SkxTopkList
{
	SkxList    *list;			/* NULL: a prefix, in memory */
	SkxTopkMemory *memory;
	const SkxScoreTerm *term;	/* NULL: required only */
	float		weight;			/* what parts are computed with */
	uint8		labels;			/* set of labels asked for; 0: any */
	bool		labelled;		/* how often a posting counts depends on its
								 * labels */
	uint32		df;
	bool		done;
	uint32		last;			/* of the sub-block, valid once moved to */
	bool		decoded;
	const uint32 *docs;			/* once decoded */
	int			n;
	int			i;				/* postings before it are passed */
	uint32		block;			/* of memory */
	int32		max;			/* no part is above */
	int32		bound;			/* nor in the current window */
	int64		before;			/* sum of the bounds of this and all lists
								 * before it */
	uint32		page;			/* whose sub_bounds these are */
	int32	   *sub_bounds;		/* -1: not computed yet */
	uint32		node;			/* whose page_bounds these are */
	int32	   *page_bounds;
	int			page_slots;
	int32	   *node_bounds;
} SkxTopkList;

/*
 * topk_vector.c : arithmetic on many numbers, compiled for vectors
 *
 * parts computes skx_rank_part of n postings.  floor keeps the candidates
 * whose sum is at least `limit`; returns how many.
 */
extern void skx_topk_parts(float weight, const float *tfs,
						   const float *inverses, int n, int32 *parts);
extern int	skx_topk_floor(uint32 *docs, int32 *sums, int n, int32 limit);

/* One pass over one segment. */
typedef struct SkxTopkRun
{
	SkxTopk    *topk;
	const SkxScorer *scorer;
	int			segment;
	SkxSegment *seg;
	SkxTopkNorms *norms;
	int32		need;			/* sums below cannot become hits */
	bool		paired;			/* pairs of words may add to sums */
	int			nrequired;		/* by df, ascending */
	SkxTopkList **required;
	int			noptional;
	SkxTopkList **optional;
	SkxQueryRest *rest;
	struct SkxTopkExact *exact; /* NULL: sums are exact */
	int			n;				/* candidates */
	uint32	   *docs;			/* SKX_TOPK_BATCH */
	int32	   *sums;
	int32	   *bits_sums;		/* SKX_TOPK_WINDOW, zero between uses */
	uint64	   *bits;
} SkxTopkRun;

/*
 * topk_segment.c : one pass over one segment
 *
 * prime returns a sum that as many documents as are looked for reach, unless
 * some of them are deleted; 0: not known.
 */
extern void skx_topk_segment(SkxTopk *topk, int segment);
extern void skx_topk_run_close(SkxTopkRun *run);
extern int32 skx_topk_prime(SkxTopk *topk);

extern SkxTopkList *skx_topk_list_open(SkxTopkRun *run, const SkxTerm *term,
									   const SkxScoreTerm *scored,
									   uint8 labels);
extern SkxTopkList *skx_topk_list_prefix(SkxTopkRun *run,
										 const SkxScoreTerm *scored);
extern void skx_topk_list_close(SkxTopkList *l);

/* The slow paths of those below. */
extern bool skx_topk_list_move(SkxTopkList *l, uint32 target);
extern void skx_topk_list_decode(SkxTopkList *l);
extern int32 skx_topk_list_bound_slow(SkxTopkRun *run, SkxTopkList *l);

/*
 * Moves to the first sub-block whose last document is >= target; false when
 * there is none.
 */
static inline bool
skx_topk_list_seek(SkxTopkList *l, uint32 target)
{
	if (l->done)
		return false;
	if (l->last != SKX_NO_DOC && l->last >= target)
		return true;
	return skx_topk_list_move(l, target);
}

/*
 * The first posting >= target of the sub-block, which must have one; decodes
 * it.
 */
static inline int
skx_topk_list_find(SkxTopkList *l, uint32 target)
{
	int			i;

	if (!l->decoded)
		skx_topk_list_decode(l);
	i = l->i;
	if (l->docs[i] < target)
	{
		int			n = l->n - i;

		while (n > 4)
		{
			int			half = n / 2;

			i += l->docs[i + half - 1] < target ? half : 0;
			n -= half;
		}
		while (l->docs[i] < target)
			i++;
		l->i = i;
	}
	return i;
}

/* No part of the current sub-block is above. */
extern int32 skx_topk_list_sub_bound(SkxTopkRun *run, SkxTopkList *l);

/* Nor of documents in [from, to), after a seek to `from`. */
extern int32 skx_topk_list_bound(SkxTopkRun *run, SkxTopkList *l, uint32 from,
								 uint32 to);

/*
 * Parts of the postings in [from, to) of the current sub-block; returns how
 * many there are.
 */
extern int	skx_topk_list_parts(SkxTopkRun *run, SkxTopkList *l, uint32 from,
								uint32 to, uint32 *docs, int32 *parts);

/*
 * Of posting i of the decoded sub-block; 0: it has none of the labels asked
 * for.  A list that is only required has the part 0, too: is tells.
 */
extern int32 skx_topk_list_part(SkxTopkRun *run, SkxTopkList *l, int i);
extern bool skx_topk_list_has(SkxTopkList *l, int i);

/*
 * topk_batch.c : candidates, in run->docs and run->sums
 *
 * floor drops those whose sum is below; probe adds the parts of a list, and
 * drops candidates that can no longer be hits when lists after it give `rest`
 * at most, and with `required` those that are not in it; finish makes hits of
 * those that are live and match.
 */
extern void skx_topk_batch_floor(SkxTopkRun *run, int64 floor);
extern void skx_topk_batch_probe(SkxTopkRun *run, SkxTopkList *l, int64 rest,
								 bool required);
extern void skx_topk_batch_optional(SkxTopkRun *run, SkxTopkList **lists,
									int n, int required);
extern void skx_topk_batch_finish(SkxTopkRun *run);
extern void skx_topk_batch_hit(SkxTopkRun *run, uint32 doc, int32 sum);

/* The budget was spent when a document of a segment was reached. */
extern void skx_topk_left(SkxTopk *topk, int segment, uint32 doc);

/* Serves interrupts; true when the budget is spent. */
extern bool skx_topk_tick(SkxTopkRun *run, uint32 doc);

/*
 * The ways through a segment: topk_or.c, all documents with one of the
 * optional lists; topk_and.c, those in all required ones; topk_filter.c, those
 * that a query gives.
 */
extern void skx_topk_or(SkxTopkRun *run);
extern void skx_topk_and(SkxTopkRun *run);
extern void skx_topk_filter(SkxTopkRun *run, SkxQueryScan *scan);

/*
 * topk_segment.c : where a label counts nothing, a document can have a word and
 * no score; keeps those of n ascending documents that have no score.
 */
extern SkxTopkRun *skx_topk_unscored_open(SkxTopk *topk, int segment);
extern int	skx_topk_unscored(SkxTopkRun *run, uint32 *docs, int n);

/* topk_exact.c : pairs of words, from positions */
extern struct SkxTopkExact *skx_topk_exact_open(SkxTopkRun *run);
extern void skx_topk_exact_finish(SkxTopkRun *run);
extern void skx_topk_exact_close(struct SkxTopkExact *exact);

/* topk_pending.c : adds the pending documents to the hits */
extern void skx_topk_pending(SkxTopk *topk);

/* topk_rows.c : rows without any of the words, then those without tsvector */
extern struct SkxTopkRows *skx_topk_rows_open(SkxTopk *topk, bool nulls);
extern int	skx_topk_rows_next(SkxTopk *topk, struct SkxTopkRows *rows);
extern void skx_topk_rows_close(struct SkxTopkRows *rows);

#endif							/* SKX_TOPK_TOPK_INTERNAL_H */
