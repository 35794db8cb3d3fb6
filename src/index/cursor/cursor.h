/*
 * cursor.h
 *	  One posting list of a segment, whatever its form, as a cursor: documents
 *	  in either direction, frequencies, labels, positions, bounds; and what is
 *	  read ahead for it.
 */
#ifndef SKX_CURSOR_H
#define SKX_CURSOR_H

#include "index/segment/segment.h"

/* How a cursor will be moved: what is read ahead for it (cursor_ahead.c). */
typedef enum SkxCursorRole
{
	SKX_CURSOR_PROBE,			/* sought, here and there */
	SKX_CURSOR_SWEEP,			/* sought by batches, from end to end */
	SKX_CURSOR_PICK,			/* by batches of documents anywhere */
	SKX_CURSOR_LEAD,			/* traversed to its end */
	SKX_CURSOR_WHOLE,			/* the same, for certain, and from disk */
	SKX_CURSOR_LEAD_FIRST,		/* traversed, perhaps for a few documents */
	SKX_CURSOR_RESCAN,			/* sought where another cursor has just been */
	SKX_CURSOR_MERGE			/* all lists of a segment, each to its end */
} SkxCursorRole;

/*
 * What all cursors have in common; only cursor/ writes it.  A cursor stands on
 * a sub-block of up to SKX_SUBBLOCK postings, or on none: before its first
 * move, and past its end.
 */
typedef struct SkxCursor
{
	const uint32 *docs;			/* ascending; NULL: not decoded */
	const uint16 *tfs;			/* positions of each; NULL: not decoded */
	const float *counts;		/* in memory: how often each counts */
	int			n;				/* postings, once decoded */
	int			i;				/* the current one */
	uint32		end;			/* after its last document; 0: no sub-block */
	uint32		df;				/* postings of the list */
	uint8		labels;			/* set that a posting has one of; 0: any */
	bool		done;			/* past the end */
} SkxCursor;

/*
 * A list made of others; the arrays stay the caller's.  Of one that is too
 * large for them the documents before `to` are there, from where the cursor is
 * on, until it is moved beyond: then `more` puts what comes at or after the
 * target in their place; false: there is nothing.  Such a list has one cursor,
 * which moves forward only, and a limit (skx_cursor_limit).
 */
typedef struct SkxCursorMemory
{
	uint32		n;
	uint32	   *docs;
	float	   *counts;			/* NULL: not known, nor are bounds */
	int32	   *bounds;			/* by sub-block: no part is above */
	bool		(*more) (struct SkxCursorMemory *m, uint32 target);
	uint32		to;				/* without `more`: unused */
} SkxCursorMemory;

/*
 * cursor_move.c : opening and moving
 *
 * open is create and begin.  One that was created is for one list after the
 * other: begin makes use of the memory and the pins that the list before left,
 * close gives them up.  A set of labels is set before the first move.
 */
extern SkxCursor *skx_cursor_open(SkxSegment *seg, const SkxTerm *term,
								  SkxCursorRole role);
extern SkxCursor *skx_cursor_create(SkxSegment *seg, SkxCursorRole role);
extern void skx_cursor_begin(SkxCursor *c, const SkxTerm *term);
extern SkxCursor *skx_cursor_open_memory(SkxSegment *seg,
										 SkxCursorMemory *memory);
extern void skx_cursor_close(SkxCursor *c);
extern void skx_cursor_want_labels(SkxCursor *c, uint8 labels);

/* One of the two is NULL. */
extern const SkxTerm *skx_cursor_term(const SkxCursor *c);
extern SkxCursorMemory *skx_cursor_memory(const SkxCursor *c);

/* Leaves documents in [from, to) only.  Before the first move. */
extern void skx_cursor_range(SkxCursor *c, uint32 from, uint32 to);

/* The slow paths of those below. */
extern bool skx_cursor_move(SkxCursor *c, uint32 target);
extern void skx_cursor_decode(SkxCursor *c);
extern void skx_cursor_decode_tfs(SkxCursor *c);
extern bool skx_cursor_has_label(SkxCursor *c, int i);

/*
 * The first of ascending docs[i], ..., docs[n - 1] that is >= target; the last
 * one is.  Targets ascend, so it is mostly near; eight at once are counted
 * without a branch.
 */
static inline int
skx_cursor_first_from(const uint32 *docs, int i, int n, uint32 target)
{
	typedef uint32 Vector __attribute__((vector_size(16)));
	const Vector targets = {target, target, target, target};
	Vector		low;
	Vector		high;

	if (n < 8)
	{
		while (docs[i] < target)
			i++;
		return i;
	}
	if (n - i > 8 && docs[i + 7] < target)
	{
		int			left = n - i - 8;

		i += 8;
		while (left > 8)
		{
			int			half = left / 2;

			/* a branch would be taken or not at random */
			i += half & -(int) (docs[i + half - 1] < target);
			left -= half;
		}
	}
	i = Min(i, n - 8);
	memcpy(&low, docs + i, sizeof(low));
	memcpy(&high, docs + i + 4, sizeof(high));
	low = (Vector) (low < targets) + (Vector) (high < targets);
	return i - (int) (low[0] + low[1] + low[2] + low[3]);
}

/*
 * reach moves on to the first sub-block whose last document is >= target,
 * undecoded if it can; false when there is none.  find is the number of the
 * first posting >= target in the sub-block, which must have one; it becomes
 * the current one.  seek is both: the document, or SKX_NO_DOC.
 */
static inline bool
skx_cursor_reach(SkxCursor *c, uint32 target)
{
	return target < c->end || skx_cursor_move(c, target);
}

static inline int
skx_cursor_find(SkxCursor *c, uint32 target)
{
	if (c->docs == NULL)
		skx_cursor_decode(c);
	if (c->docs[c->i] < target)
		c->i = skx_cursor_first_from(c->docs, c->i, c->n, target);
	return c->i;
}

static inline uint32
skx_cursor_seek(SkxCursor *c, uint32 target)
{
	if (!skx_cursor_reach(c, target))
		return SKX_NO_DOC;
	(void) skx_cursor_find(c, target);
	return c->docs[c->i];
}

/* The next sub-block, decoded, with its first posting current. */
static inline bool
skx_cursor_next(SkxCursor *c)
{
	return skx_cursor_seek(c, c->end) != SKX_NO_DOC;
}

/*
 * The last document <= target, SKX_NO_DOC when there is none.  From wherever
 * the cursor is, and the other way round: seek goes on from there.
 */
extern uint32 skx_cursor_seek_back(SkxCursor *c, uint32 target);

/* Positions of each posting of the sub-block. */
static inline const uint16 *
skx_cursor_tfs(SkxCursor *c)
{
	if (c->tfs == NULL)
		skx_cursor_decode_tfs(c);
	return c->tfs;
}

/* The decoded sub-block with its labels, too; not of a list in memory. */
extern const SkxPostings *skx_cursor_labels(SkxCursor *c);

/* Has posting i one of the labels asked for, or no positions at all? */
static inline bool
skx_cursor_label_matches(SkxCursor *c, int i)
{
	return c->labels == 0 || skx_cursor_has_label(c, i);
}

/*
 * Many documents at once, of those whose labels match: take copies some of
 * [from, limit), SKX_SUBBLOCK at most, and returns where to go on.
 * lower_bound is at most the next document >= target, close enough for a
 * window; SKX_NO_DOC: there is none.
 */
extern uint32 skx_cursor_take(SkxCursor *c, uint32 from, uint32 limit,
							  uint32 *docs, int *n);
extern uint32 skx_cursor_lower_bound(SkxCursor *c, uint32 target);

/*
 * touch has the processor fetch what a seek to `target` will decode; relax,
 * between two uses, gives up the pin if the backend holds many.
 */
extern void skx_cursor_touch(const SkxCursor *c, uint32 target);
extern void skx_cursor_relax(SkxCursor *c);

/*
 * cursor_filter.c : which of many documents are in the list
 *
 * filter keeps those of ascending ones whose labels match.  map is of the
 * current sub-block, until the next move: the numbers of its postings, from 1,
 * by the last bits of their documents.  A slot that several share has the last
 * one.
 */
#define SKX_CURSOR_SLOTS	2048

/* Documents in a sub-block that are worth a map of it. */
#define SKX_CURSOR_MANY		12

extern int	skx_cursor_filter(SkxCursor *c, uint32 *docs, int n);
extern const uint8 *skx_cursor_map(SkxCursor *c);

/* Which posting a document is, by such a map; -1: none. */
static inline int
skx_cursor_mapped(SkxCursor *c, const uint8 *map, uint32 doc)
{
	int			at = map[doc % SKX_CURSOR_SLOTS] - 1;

	if (at >= 0 && c->docs[at] != doc)
		at = skx_cursor_find(c, doc);
	return at >= 0 && c->docs[at] == doc ? at : -1;
}

/* Are so many of n ascending documents, from number i on, in the sub-block? */
static inline bool
skx_cursor_has_many(const SkxCursor *c, const uint32 *docs, int i, int n)
{
	return i + SKX_CURSOR_MANY <= n &&
		docs[i + SKX_CURSOR_MANY - 1] < c->end;
}

/*
 * cursor_window.c : the documents in [window, window + 64 * nwords)
 *
 * fill sets the bits of those whose labels match; count is the number of those
 * whose bits are set, of a list without labels.  Windows go forward.
 */
extern void skx_cursor_fill(SkxCursor *c, uint32 window, uint64 *bits,
							int nwords);
extern uint64 skx_cursor_count(SkxCursor *c, uint32 window,
							   const uint64 *bits, int nwords);

/*
 * cursor_bound.c : what no part of a posting is above (rank_score.h)
 *
 * weigh says what parts are computed with; returns the bound of all of a long
 * list, -1 for others: of these limit tells it.  sub is of the current
 * sub-block; bound of documents in [from, to), after a reach of `from`.  The
 * norm of posting i of the decoded sub-block is at least that of bound_norm;
 * impacts are those of the current sub-block, false: it has none.
 */
extern int32 skx_cursor_weigh(SkxCursor *c, float weight, float most,
							  const float *inverse);
extern void skx_cursor_limit(SkxCursor *c, int32 limit);
extern int32 skx_cursor_bound_sub(SkxCursor *c);
extern uint8 skx_cursor_bound_norm(SkxCursor *c, int i);
extern bool skx_cursor_impacts(SkxCursor *c, SkxImpacts *impacts);
extern int32 skx_cursor_bound(SkxCursor *c, uint32 from, uint32 to);

/*
 * cursor_positions.c
 *
 * Positions of posting i as WordEntryPos values; returns how many.
 * Or in two steps: where they are, then what they are.  locate is
 * a seek and where those of the document are; false: it is not in the list.  A
 * sub-block that has bits is not decoded for that: c->i is the posting, and its
 * frequency and labels can be asked for.
 */
#define SKX_POSITIONS_MAX	256
typedef struct SkxPositionPlace
{
	uint32		page;			/* of a position block */
	uint16		offset;
	uint16		tf;				/* how many there are */
	uint32		first;			/* which one from there on; of a list with
								 * positions of its own, which posting */
} SkxPositionPlace;

extern int	skx_cursor_positions(SkxCursor *c, int i, uint16 *positions);
extern void skx_cursor_place(SkxCursor *c, int i, SkxPositionPlace *place);
extern bool skx_cursor_locate(SkxCursor *c, uint32 doc,
							  SkxPositionPlace *place);
extern int	skx_cursor_positions_at(SkxCursor *c,
									const SkxPositionPlace *place,
									uint16 *positions);

/*
 * cursor_ahead.c : what is read ahead
 *
 * Cursors of a search that traverse their lists share what may be in flight;
 * of a search that reads positions, too, these have most of it.  lead, sweep,
 * pick and probe give a cursor that was opened its role: one that is probed for
 * some candidates may need the table of its nodes; of one that is swept for
 * them, in batches and from disk, all nodes are read together if they are few
 * and most will be wanted.
 */
typedef struct SkxCursorShare
{
	int			leads;			/* counted by skx_cursor_lead */
	bool		positions;
} SkxCursorShare;

extern void skx_cursor_lead(SkxCursor *c, SkxCursorRole role,
							SkxCursorShare *share);
extern void skx_cursor_sweep(SkxCursor *c, uint32 candidates);
extern void skx_cursor_pick(SkxCursor *c);
extern void skx_cursor_probe(SkxCursor *c, uint32 candidates);

/*
 * How many nodes of a long list would have to be read, about, by looking for
 * some in the cache; of other lists 0.
 */
extern uint32 skx_cursor_missing(const SkxCursor *c);

/*
 * The documents that will be sought next, ascending, until they are taken back
 * with n = 0: pages with these are asked for, and no other.
 */
extern void skx_cursor_targets(SkxCursor *c, const uint32 *docs, int n);

/*
 * Where lists begin, asked for before they are opened if these are `least`
 * units: of a list asked about many candidates, both of two nodes.  begin is
 * false when nothing is read ahead.
 */
typedef struct SkxCursorStarts
{
	SkxSegment *seg;
	int			n;
	uint32		pages[257];
} SkxCursorStarts;

extern bool skx_cursor_begin_starts(SkxCursorStarts *starts, SkxSegment *seg);
extern void skx_cursor_start(SkxCursorStarts *starts, const SkxTerm *term,
							 uint32 candidates);
extern void skx_cursor_ask_starts(SkxCursorStarts *starts, int least);
extern void skx_cursor_ask_terms(SkxSegment *seg, const SkxTerm *terms, int n);

/*
 * Asks for positions at places [i, n) of several cursors, in about the order
 * they will be read in; returns the first place not decided on: the next one
 * if nothing has been read for a while (`cold` is false).
 */
extern int	skx_cursor_ask_places(SkxCursor **cursors,
								  SkxPositionPlace **places, int ncursors,
								  int i, int n, bool cold);

/* Counted per backend and never reset: tests assert work, not only answers. */
typedef struct SkxCursorWork
{
	uint64		shorts;			/* pages of short lists read */
	uint64		subblocks;		/* sub-blocks whose documents were decoded */
	uint64		fills;			/* sub-blocks put into a window undecoded */
	uint64		positions;		/* position blocks decoded */
	uint64		candidates;		/* documents offered to a filter */
} SkxCursorWork;

extern PGDLLIMPORT SkxCursorWork skx_cursor_work;

#endif							/* SKX_CURSOR_H */
