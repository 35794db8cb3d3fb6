/*
 * topk_list.h
 *	  The lists that a search goes through, with bounds of what they can give.
 */
#ifndef SKX_TOPK_LIST_H
#define SKX_TOPK_LIST_H

#include "answer/topk/topk.h"

/* One pass over one segment (topk_internal.h). */
typedef struct SkxTopkRun SkxTopkRun;

/*
 * topk_vector.c : arithmetic on many numbers, compiled for vectors
 *
 * floor keeps the candidates whose sum is at least `limit`; returns how many.
 */
extern int	skx_topk_floor(uint32 *docs, int32 *sums, int n, int32 limit);

/* How often n postings count; none at all, of a lexeme without positions: 1. */
extern void skx_topk_frequencies(const uint16 *tf, int n, float *tfs);

/*
 * Documents from, from + 1, ... of which sums[0], sums[1], ... are at least
 * `limit`, with their sums; returns how many.
 */
extern int	skx_topk_collect(const int32 *from_sums, int n, uint32 from,
							 int32 limit, uint32 *docs, int32 *sums);

/*
 * topk_list.c : a list of the ranking query in a segment, or what is required
 * without being scored
 */
typedef struct SkxTopkList
{
	SkxCursor  *cursor;			/* of a prefix, in memory */
	const SkxScoreTerm *term;	/* NULL: required only */
	float		weight;			/* what parts are computed with */
	bool		labelled;		/* how often a posting counts depends on its
								 * labels */
	int32		max;			/* no part is above */
	int32		bound;			/* nor in the current window */
	int64		before;			/* sum of the bounds of this and all lists
								 * before it */
	SkxPositionPlace *places;	/* in each of the candidates of a sub-block of
								 * the lead; NULL: not asked for */
	int			place;			/* of the candidate looked at last */
	float	   *tfs;			/* how often each of these counts, with parts
								 * last */
	SkxImpacts	floor_impacts;	/* what `competing` is of */
	int32		floor;			/* 0: of nothing yet */
	uint64		competing;		/* frequencies that may give `floor` */
} SkxTopkList;

extern SkxTopkList *skx_topk_list_open(SkxTopkRun *run, const SkxTerm *term,
									   const SkxScoreTerm *scored,
									   uint8 labels);

/*
 * The same with a cursor of the caller's, for one list after the other, and
 * without bounds.
 */
extern void skx_topk_list_begin(SkxTopkRun *run, SkxTopkList *l,
								const SkxTerm *term,
								const SkxScoreTerm *scored, uint8 labels);

/* By the most that they can give, ascending. */
extern void skx_topk_list_sort(SkxTopkList **lists, int n);

/* Back to the beginning of a list that is not in memory. */
extern void skx_topk_list_rewind(SkxTopkRun *run, SkxTopkList *l);

/* No part of the current sub-block is above. */
static inline int32
skx_topk_list_sub_bound(SkxTopkList *l)
{
	return l->term == NULL ? 0 : skx_cursor_bound_sub(l->cursor);
}

/* Nor of documents in [from, to), after a reach of `from`. */
static inline int32
skx_topk_list_bound(SkxTopkList *l, uint32 from, uint32 to)
{
	return l->term == NULL ? 0 : skx_cursor_bound(l->cursor, from, to);
}

/*
 * The documents, or those that count and their parts, in [from, to) of the
 * current sub-block; returns how many there are.  Those whose part is below
 * `floor` may be left out.
 */
extern int	skx_topk_list_docs(SkxTopkList *l, uint32 from, uint32 to,
							   uint32 *docs);
extern int	skx_topk_list_parts(SkxTopkRun *run, SkxTopkList *l, uint32 from,
								uint32 to, int64 floor, uint32 *docs,
								int32 *parts);

/*
 * The same of documents with sums; those with less than `least` may be left
 * out.
 */
typedef struct SkxTopkJoin
{
	const int32 *sums;			/* of documents from `first` on */
	uint32		first;
	int32		least;
} SkxTopkJoin;

extern int	skx_topk_list_join(SkxTopkRun *run, SkxTopkList *l, uint32 from,
							   uint32 to, const SkxTopkJoin *join,
							   uint32 *docs, int32 *parts);

/*
 * Of posting i of the decoded sub-block; false: it has none of the labels
 * asked for.  The part of a list that is only required is 0.
 */
extern bool skx_topk_list_part(SkxTopkRun *run, SkxTopkList *l, int i,
							   int32 *part);

/*
 * The same without its norm: how often it counts, and what its part is at most,
 * 0 while there is nothing to reach and nothing was gathered.
 */
extern bool skx_topk_list_part_bound(SkxTopkRun *run, SkxTopkList *l, int i,
									 float *tf, int32 *bound);

/*
 * topk_prefix.c : a prefix; NULL when none of its lexemes is known to occur
 * in the scope
 *
 * most: postings of a prefix that there is room for, beside the others that are
 * there at the same time.  memory makes a list of those that are known.
 */
#define SKX_TOPK_SCOPE_DOCS	(1 << 18)	/* at most, where some are given */

typedef struct SkxTopkScope
{
	const uint32 *docs;			/* documents, of which those in places */
	uint32		from;			/* [from, to) are meant; NULL: these */
	uint32		to;				/* numbers themselves */
} SkxTopkScope;

extern SkxTopkList *skx_topk_list_prefix(SkxTopkRun *run,
										 const SkxScoreTerm *scored,
										 const SkxTopkScope *scope);
extern uint32 skx_topk_prefix_most(const SkxTopkRun *run);
extern SkxTopkList *skx_topk_list_memory(SkxTopkRun *run,
										 const SkxScoreTerm *scored,
										 SkxCursorMemory *memory);

/*
 * topk_rare.c : a prefix with few postings, whole; false: it has many
 *
 * The scope has no documents of its own; `docs` is how many the prefix would be
 * gathered from otherwise.
 */
extern bool skx_topk_list_rare(SkxTopkRun *run, const SkxScoreTerm *scored,
							   const SkxTopkScope *scope, uint32 docs,
							   SkxTopkList **list);

/*
 * topk_filter.c : the documents of a scan, which is open as long as the list;
 * it has one cursor, and is required without being scored
 */
extern SkxTopkList *skx_topk_list_filter(SkxTopkRun *run,
										 SkxQueryScan *scan);

#endif							/* SKX_TOPK_LIST_H */
