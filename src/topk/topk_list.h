/*
 * topk_list.h
 *	  The lists that a search goes through, with bounds of what they can give.
 */
#ifndef SKX_TOPK_TOPK_LIST_H
#define SKX_TOPK_TOPK_LIST_H

#include "topk/topk.h"

/* One pass over one segment (topk_internal.h). */
typedef struct SkxTopkRun SkxTopkRun;

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
	uint32		run;			/* pages read together last */
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

/*
 * topk_vector.c : arithmetic on many numbers, compiled for vectors
 *
 * parts computes skx_rank_part of n postings.  floor keeps the candidates
 * whose sum is at least `limit`; returns how many.
 */
extern void skx_topk_parts(float weight, const float *tfs,
						   const float *inverses, int n, int32 *parts);
extern int	skx_topk_floor(uint32 *docs, int32 *sums, int n, int32 limit);

/*
 * Documents from, from + 1, ... of which sums[0], sums[1], ... are at least
 * `limit`, with their sums; returns how many.
 */
extern int	skx_topk_collect(const int32 *from_sums, int n, uint32 from,
							 int32 limit, uint32 *docs, int32 *sums);

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
	SkxPositionPlace *places;	/* in each of the candidates of a sub-block of
								 * the lead; NULL: nobody asks */
	int			place;			/* of the candidate looked at last */
} SkxTopkList;

extern SkxTopkList *skx_topk_list_open(SkxTopkRun *run, const SkxTerm *term,
									   const SkxScoreTerm *scored,
									   uint8 labels);
extern void skx_topk_list_close(SkxTopkList *l);

/*
 * The same in a struct of the caller's, for one list after the other: l->list
 * is of the caller's, too (skx_segment_list_begin).  Without bounds.
 */
extern void skx_topk_list_begin(SkxTopkRun *run, SkxTopkList *l,
								const SkxTerm *term,
								const SkxScoreTerm *scored, uint8 labels);

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
	if (!l->decoded)
		skx_topk_list_decode(l);
	if (l->docs[l->i] < target)
		l->i = skx_skiplist_first_from(l->docs, l->i, l->n, target);
	return l->i;
}

/* No part of the current sub-block is above. */
extern int32 skx_topk_list_sub_bound(SkxTopkRun *run, SkxTopkList *l);

/* Nor of documents in [from, to), after a seek to `from`. */
extern int32 skx_topk_list_bound(SkxTopkRun *run, SkxTopkList *l, uint32 from,
								 uint32 to);

/*
 * The documents, or those that count and their parts, in [from, to) of the
 * current sub-block; returns how many there are.
 */
extern int	skx_topk_list_docs(SkxTopkList *l, uint32 from, uint32 to,
							   uint32 *docs);
extern int	skx_topk_list_parts(SkxTopkRun *run, SkxTopkList *l, uint32 from,
								uint32 to, uint32 *docs, int32 *parts);

/*
 * Of posting i of the decoded sub-block; 0: it has none of the labels asked
 * for.  A list that is only required has the part 0, too: is tells.
 */
extern int32 skx_topk_list_part(SkxTopkRun *run, SkxTopkList *l, int i);
extern bool skx_topk_list_has(SkxTopkList *l, int i);

/*
 * topk_prefix.c : NULL when the segment has none of its lexemes in any of n
 * documents, or (docs NULL) in any at all
 */
extern SkxTopkList *skx_topk_list_prefix(SkxTopkRun *run,
										 const SkxScoreTerm *scored,
										 const uint32 *docs, uint32 n);

#endif							/* SKX_TOPK_TOPK_LIST_H */
