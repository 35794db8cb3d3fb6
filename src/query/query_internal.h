/*
 * query_internal.h
 *	  The compiled query and the iterators that run it on one segment.
 */
#ifndef SKX_QUERY_INTERNAL_H
#define SKX_QUERY_INTERNAL_H

#include "query/query.h"

typedef enum SkxNodeKind
{
	SKX_NODE_NONE,				/* matches nothing */
	SKX_NODE_ALL,				/* every document */
	SKX_NODE_TERM,
	SKX_NODE_AND,
	SKX_NODE_OR,
	SKX_NODE_NOT,
	SKX_NODE_PHRASE,
	SKX_NODE_BITMAP				/* iterators only: many terms or clauses */
} SkxNodeKind;

/* Compiled, independent of any segment. */
typedef struct SkxQueryNode
{
	SkxNodeKind kind;
	int			nchildren;
	int			max_children;
	struct SkxQueryNode **children;

	/* SKX_NODE_TERM */
	const char *lexeme;
	int			len;
	uint8		weights;		/* set of labels, 1 << label; 0: any */
	bool		prefix;

	/* SKX_NODE_PHRASE: children[0] admits a superset of the matches */
	TSQuery		query;
	QueryItem  *item;			/* the operator */
	int			nlinks;			/* > 0: plain lexemes a <d1> b <d2> c ... */
	QueryOperand **links;
	int		   *distances;		/* distances[i] from link i - 1 to link i */
} SkxQueryNode;

struct SkxQuery
{
	SkxQueryNode *root;
	bool		may_match_null; /* root does not ask for any lexeme, so NULL
								 * tsvectors have to be weeded out */
	int			nqueries;
	TSQuery    *queries;
};

/*
 * A disjunction of more clauses is gathered into a bitmap, one after the
 * other: window by window they would need more pins than one backend should
 * hold, and read their pages anew in each window.
 */
#define SKX_GATHER_CLAUSES	128

/* Runs one node on one segment. */
typedef struct SkxIter
{
	SkxNodeKind kind;
	SkxSegment *seg;
	uint32		cost;			/* documents it may yield, at most */
	bool		cheap;			/* reads no positions */
	int			nchildren;
	struct SkxIter **children;	/* AND: positive ones first, cheapest first */
	int			npositive;		/* AND: children that are not NOT */
	SkxList    *list;			/* TERM */
	uint8		weights;
	uint64	   *bitmap;			/* BITMAP: one bit a document */
	struct SkxPhrase *phrase;
	uint32	   *scratch;		/* SKX_QUERY_BATCH documents, for OR, NOT */
} SkxIter;

/*
 * query_iter.c
 *
 * generate yields matches in [from, limit), ascending, at most
 * SKX_QUERY_BATCH, and returns where to go on: limit or more when there are no
 * further ones below it.  filter keeps those of n ascending documents that
 * match.  fill sets the window's bits (bit of document window + i is i) of
 * all matches; the window has SKX_QUERY_BATCH bits.  bound is at most the
 * first match >= from.  All move forward only.
 */
#define SKX_WINDOW_WORDS	(SKX_QUERY_BATCH / 64)

extern uint32 skx_query_generate(SkxIter *it, uint32 from, uint32 limit,
								 uint32 *docs, int *n);
extern int	skx_query_filter(SkxIter *it, uint32 *docs, int n);
extern void skx_query_fill(SkxIter *it, uint32 window, uint64 *bits);
extern uint32 skx_query_bound(SkxIter *it, uint32 from);

/* query_open.c */
extern SkxIter *skx_query_open(SkxSegment *seg, const SkxQueryNode *node);
extern SkxIter *skx_query_open_term(SkxSegment *seg, const SkxTerm *term,
									uint8 weights);
extern void skx_query_close(SkxIter *it);

/* query_phrase.c */
typedef struct SkxPhrase SkxPhrase;
extern SkxPhrase *skx_query_phrase_open(SkxSegment *seg,
										const SkxQueryNode *node);
extern int	skx_query_phrase_filter(SkxPhrase *phrase, uint32 *docs, int n);
extern void skx_query_phrase_close(SkxPhrase *phrase);

#endif							/* SKX_QUERY_INTERNAL_H */
