/*
 * cursor.h
 *	  Reads one posting list of a segment, whatever its form, with a cursor:
 *	  documents in either direction, frequencies, labels, positions, and
 *	  bounds of scores.  Plans prefetches of the list.
 */
#ifndef SKX_CURSOR_H
#define SKX_CURSOR_H

#include "index/segment/segment.h"

/*
 * How a cursor is moved.  The role decides which nodes of a long list are
 * prefetched (cursor_ahead.c).
 */
typedef enum SkxCursorRole
{
	SKX_CURSOR_PROBE,			/* sought for single documents */
	SKX_CURSOR_PROBE_ALL,		/* sought for batches of documents, from end
								 * to end */
	SKX_CURSOR_PROBE_ANY,		/* sought for batches of documents anywhere */
	SKX_CURSOR_LEAD,			/* traversed to its end */
	SKX_CURSOR_LEAD_ALL,		/* likewise; its share of nodes is prefetched
								 * at once */
	SKX_CURSOR_LEAD_FIRST,		/* traversed, perhaps only in part */
	SKX_CURSOR_RESCAN,			/* sought where another cursor has just read */
	SKX_CURSOR_MERGE			/* one of all lists of a segment, each of
								 * which is traversed in turn */
} SkxCursorRole;

/*
 * The head of every cursor, which only cursor/ writes.  A cursor is on a
 * sub-block of up to SKX_SUBBLOCK postings, or on none: before its first
 * move, and past its end.
 */
typedef struct SkxCursor
{
	const uint32 *docs;			/* documents of the sub-block, ascending;
								 * NULL: not decoded */
	const uint16 *tfs;			/* number of positions of each posting; NULL:
								 * not decoded */
	const float *counts;		/* list in memory: how often each posting
								 * counts, in place of tfs; NULL: not known */
	int			n;				/* number of postings in docs, once decoded */
	int			i;				/* number of the current posting */
	uint32		end;			/* last document of the sub-block plus one; 0:
								 * on no sub-block */
	uint32		df;				/* postings of the list */
	uint8		labels;			/* set of labels (bit 1 << label): a posting
								 * must have one of them; 0: any */
	bool		at_end;			/* past the end */
} SkxCursor;

/*
 * A list in memory, which is made of other lists.  The caller owns the
 * arrays.
 *
 * If the list is too large for them, they hold a part of it: documents before
 * `refill_to`.  A move beyond these calls `more`, which replaces the part by
 * one that begins at or after the target, or returns false if there is none.
 * Such a list has one cursor, which moves forward only, and a limit
 * (skx_cursor_set_bound).  `more` is NULL if the arrays hold the whole list.
 */
typedef struct SkxCursorMemory
{
	uint32		n;				/* postings in the arrays */
	uint32	   *docs;			/* ascending */
	float	   *counts;			/* NULL: neither these nor bounds are known */
	int32	   *bounds;			/* upper bound of the contributions of each
								 * sub-block */
	bool		(*refill) (struct SkxCursorMemory *m, uint32 target);
	uint32		refill_to;		/* unused if `refill` is NULL */
} SkxCursorMemory;

/* cursor_move.c : opens and moves cursors */

/*
 * Opens a cursor on the list of a term, which is copied.  The cursor is
 * palloc'd and is before its first posting; skx_cursor_close() frees it.
 */
extern SkxCursor *skx_cursor_open(SkxSegment *seg, const SkxTerm *term,
								  SkxCursorRole role);

/*
 * Creates a cursor that reads several lists in turn.  It is on no list until
 * skx_cursor_begin_term() is called.
 */
extern SkxCursor *skx_cursor_create(SkxSegment *seg, SkxCursorRole role);

/*
 * Puts a cursor before the first posting of the list of a term, without
 * labels and range.  Reuses memory and pinned pages of the list that the
 * cursor was on before.  Raises an error if the term's address is damaged.
 */
extern void skx_cursor_begin_term(SkxCursor *c, const SkxTerm *term);

/*
 * Opens a cursor on a list in memory, which must stay valid until the cursor
 * is closed.
 */
extern SkxCursor *skx_cursor_open_memory(SkxSegment *seg,
										 SkxCursorMemory *memory);

/* Releases the pins and the memory of a cursor. */
extern void skx_cursor_close(SkxCursor *c);

/*
 * Limits the list to postings with one of the given labels (bit 1 << label)
 * or without positions; 0 stands for all postings.  Call it before the first
 * move.  Sets c->labels to 0 if every position of the list has label D and D
 * is given.
 */
extern void skx_cursor_want_labels(SkxCursor *c, uint8 labels);

/* Returns the term of the list; NULL if the list is in memory. */
extern const SkxTerm *skx_cursor_term(const SkxCursor *c);

/*
 * Returns the segment whose term the list is of, which is not that of the
 * documents if the term is a prefix (skx_segment_prefixes()).
 */
extern SkxSegment *skx_cursor_segment(const SkxCursor *c);

/* Returns the list in memory; NULL if the list is that of a term. */
extern SkxCursorMemory *skx_cursor_memory(const SkxCursor *c);

/* Limits the list to documents in [from, to).  Call before the first move. */
extern void skx_cursor_set_range(SkxCursor *c, uint32 from, uint32 to);

/*
 * Does the same as skx_cursor_advance() if the target is not below c->end.  If
 * the sub-block is decoded, also makes the first posting >= target current.
 */
extern bool skx_cursor_move(SkxCursor *c, uint32 target);

/*
 * Decodes the documents of the current sub-block: sets docs, n and i, drops
 * the documents at or after the end of the range, and makes the first posting
 * current.  Raises an error if the sub-block is damaged.
 */
extern void skx_cursor_decode(SkxCursor *c);

/*
 * Decodes the frequencies of the current sub-block of a long list and sets
 * tfs.  Documents must be decoded, or located by skx_cursor_locate().  Raises
 * an error if they are damaged.
 */
extern void skx_cursor_decode_tfs(SkxCursor *c);

/*
 * Returns true if posting i of the sub-block has one of the labels in
 * c->labels, or has no positions.  Not for a list in memory.
 */
extern bool skx_cursor_has_label(SkxCursor *c, int i);

/*
 * Returns the number of the first of ascending docs[i], ..., docs[n - 1] that
 * is >= target.  The last one must be.  Targets ascend, so that the result is
 * mostly near i: the last eight candidates are compared without a branch.
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
 * Moves forward to the first sub-block whose last document is >= target, and
 * does not decode it if possible.  Stays on the current one if target is
 * before its end.  Returns false if there is none.
 */
static inline bool
skx_cursor_advance(SkxCursor *c, uint32 target)
{
	return target < c->end || skx_cursor_move(c, target);
}

/*
 * Returns the number of the first posting >= target, at or after the current
 * one, in the sub-block, which must have one.  Makes it current.
 */
static inline int
skx_cursor_find(SkxCursor *c, uint32 target)
{
	if (c->docs == NULL)
		skx_cursor_decode(c);
	if (c->docs[c->i] < target)
		c->i = skx_cursor_first_from(c->docs, c->i, c->n, target);
	return c->i;
}

/*
 * Moves to the first posting >= target, at or after the current one, and
 * returns its document; SKX_NO_DOC if there is none.
 */
static inline uint32
skx_cursor_seek(SkxCursor *c, uint32 target)
{
	if (!skx_cursor_advance(c, target))
		return SKX_NO_DOC;
	(void) skx_cursor_find(c, target);
	return c->docs[c->i];
}

/*
 * Moves to the next sub-block, decodes it, and makes its first posting
 * current.  Returns false if there is none.
 */
static inline bool
skx_cursor_next(SkxCursor *c)
{
	return skx_cursor_seek(c, c->end) != SKX_NO_DOC;
}

/*
 * Moves to the last posting <= target, forward or backward from any position
 * of the cursor, and returns its document; SKX_NO_DOC if there is none.  A
 * later skx_cursor_seek() goes on from there.  A list in memory must have no
 * `refill`.
 */
extern uint32 skx_cursor_seek_back(SkxCursor *c, uint32 target);

/*
 * Returns the number of positions of each posting of the sub-block, valid
 * until the next move.  The sub-block is decoded, or was read by
 * skx_cursor_locate().  Not for a list in memory.
 */
static inline const uint16 *
skx_cursor_tfs(SkxCursor *c)
{
	if (c->tfs == NULL)
		skx_cursor_decode_tfs(c);
	return c->tfs;
}

/*
 * Returns the decoded sub-block with frequencies and labels, valid until the
 * next move.  Its documents are valid only if c->docs is not NULL.  Not for a
 * list in memory.
 */
extern const SkxPostings *skx_cursor_labels(SkxCursor *c);

/*
 * Returns true if posting i of the sub-block has one of the labels in
 * c->labels, or has no positions, or c->labels is 0.
 */
static inline bool
skx_cursor_label_matches(SkxCursor *c, int i)
{
	return c->labels == 0 || skx_cursor_has_label(c, i);
}

/*
 * Copies documents of the list in [from, limit) whose labels match, those of
 * one sub-block, into docs, and sets *n to their number: SKX_SUBBLOCK at
 * most, and perhaps 0.  Returns the document from which the next call goes
 * on; there are no more if it is `limit` or above.
 */
extern uint32 skx_cursor_take(SkxCursor *c, uint32 from, uint32 limit,
							  uint32 *docs, int *n);

/*
 * Returns a lower bound of the first document of the list that is >= target:
 * less than 4096 below it.  Labels are ignored.  Returns SKX_NO_DOC if there
 * is no such document.  Decodes a sub-block only if it must.
 */
extern uint32 skx_cursor_lower_bound(SkxCursor *c, uint32 target);

/*
 * Has the processor fetch the memory of the sub-block that a seek to `target`
 * will decode, if that is on the current page of a long list.
 */
extern void skx_cursor_prefetch_memory(const SkxCursor *c, uint32 target);

/*
 * Unpins the current page of a long list if the backend holds many pins.
 * Call it between two uses; the cursor pins the page again when it needs it.
 */
extern void skx_cursor_unpin_if_crowded(SkxCursor *c);

/* cursor_filter.c : looks up many documents in the list */

/* Entries of a map (skx_cursor_subblock_map). */
#define SKX_CURSOR_MAP_SLOTS	2048

/* Documents looked up in a sub-block that are worth the cost of a map. */
#define SKX_CURSOR_MAP_DOCS_MIN		12

/*
 * Keeps those of n ascending documents that are in the list and whose labels
 * match, and returns how many are left in docs.  Sets the cursor's targets to
 * docs meanwhile, and to none at the end.
 */
extern int	skx_cursor_filter(SkxCursor *c, uint32 *docs, int n);

/*
 * Returns a map of the postings of the sub-block, valid until the next move.
 * It is made at the first call, and has the posting current then and those
 * after.  Entry document % SKX_CURSOR_MAP_SLOTS is the number of the
 * document's posting plus 1, or 0 if there is none.  If several postings share
 * an entry, it has the last one.
 */
extern const uint8 *skx_cursor_subblock_map(SkxCursor *c);

/*
 * Returns the number of a document's posting, by the map of the sub-block; -1
 * if there is none.  doc must be below c->end and not before the current
 * posting, which may change.
 */
static inline int
skx_cursor_map_lookup(SkxCursor *c, const uint8 *map, uint32 doc)
{
	int			at = map[doc % SKX_CURSOR_MAP_SLOTS] - 1;

	if (at >= 0 && c->docs[at] != doc)
		at = skx_cursor_find(c, doc);
	return at >= 0 && c->docs[at] == doc ? at : -1;
}

/*
 * Returns true if at least SKX_CURSOR_MAP_DOCS_MIN of the ascending documents
 * docs[i] to docs[n - 1] are before the end of the current sub-block.
 */
static inline bool
skx_cursor_has_many(const SkxCursor *c, const uint32 *docs, int i, int n)
{
	return i + SKX_CURSOR_MAP_DOCS_MIN <= n &&
		docs[i + SKX_CURSOR_MAP_DOCS_MIN - 1] < c->end;
}

/* cursor_window.c : reads the documents in [window, window + 64 * nwords) */

/*
 * Sets bit i of `bits` if document window + i is in the list and its labels
 * match.  Leaves other bits alone.  Later calls have later windows.
 */
extern void skx_cursor_fill_window(SkxCursor *c, uint32 window, uint64 *bits,
								   int nwords);

/*
 * Returns the number of documents window + i of the list for which bit i of
 * `bits` is set.  c->labels must be 0.  Later calls have later windows.
 */
extern uint64 skx_cursor_count_window(SkxCursor *c, uint32 window,
									  const uint64 *bits, int nwords);

/*
 * cursor_bound.c : computes upper bounds of contributions to scores
 * (rank_score.h)
 */

/*
 * Sets the arguments of skx_rank_bound(): the weight of the term, the most
 * that one occurrence counts, and `inverse` by norm.  The latter must stay
 * valid.  Call it before bounds are computed.  Returns the bound of the whole
 * list if it is a long one, and -1 otherwise: then skx_cursor_set_bound() must
 * set it.
 */
extern int32 skx_cursor_set_weight(SkxCursor *c, float weight, float most,
								   const float *inverse);

/* Sets the bound of all contributions of a list that is not long. */
extern void skx_cursor_set_bound(SkxCursor *c, int32 limit);

/*
 * Returns a bound of the contributions of the current sub-block.  Pins its
 * page if the list is long.
 */
extern int32 skx_cursor_bound_subblock(SkxCursor *c);

/*
 * Returns a lower bound of the norm of posting i of the decoded sub-block: 0
 * if the list is not long.
 */
extern uint8 skx_cursor_bound_norm(SkxCursor *c, int i);

/*
 * Sets *impacts to the impacts of the current sub-block.  Returns false if it
 * has none, since the list is not long.
 */
extern bool skx_cursor_impacts(SkxCursor *c, SkxImpacts *impacts);

/*
 * Returns a bound of the contributions of the list's documents in [from, to);
 * 0 if it is known to have none there.  Call it after skx_cursor_advance() of
 * `from`.
 */
extern int32 skx_cursor_bound(SkxCursor *c, uint32 from, uint32 to);

/*
 * cursor_positions.c : reads positions, at once or in two steps: their
 * address, then the positions
 */

/* Positions of one posting at most. */
#define SKX_POSITIONS_MAX	256

/*
 * The address of the positions of one posting in the positions plane.  If the
 * list stores its own positions, or tf is 0, page and offset are not set.
 */
typedef struct SkxPositionsRef
{
	uint32		page;			/* of a position block */
	uint16		offset;			/* of the block on the page */
	uint16		tf;				/* number of positions */
	uint32		first_position; /* number of the first position, counted from
								 * the start of that block; of a list with its
								 * own positions, number of the posting */
} SkxPositionsRef;

/*
 * Reads the positions of posting i of the decoded sub-block, as WordEntryPos
 * values, into positions and returns how many.  positions has capacity for
 * SKX_POSITIONS_MAX.
 */
extern int	skx_cursor_positions(SkxCursor *c, int i, uint16 *positions);

/*
 * Sets *place to the address of the positions of posting i of the decoded
 * sub-block.  Reads no page of positions.
 */
extern void skx_cursor_positions_ref(SkxCursor *c, int i,
									 SkxPositionsRef *place);

/*
 * Seeks a document and sets *place to the address of its positions.  Returns
 * false if the document is not in the list.  A sub-block that is stored as a
 * bitset is not decoded: c->i is the posting, and its frequency and labels
 * can be read, while c->docs stays NULL.
 */
extern bool skx_cursor_locate(SkxCursor *c, uint32 doc,
							  SkxPositionsRef *place);

/*
 * Reads the positions at an address that the same list returned, as
 * WordEntryPos values, into positions and returns how many.  positions has
 * capacity for SKX_POSITIONS_MAX.
 */
extern int	skx_cursor_positions_at(SkxCursor *c,
									const SkxPositionsRef *place,
									uint16 *positions);

/*
 * cursor_ahead.c : prefetches what a cursor will read, according to its role
 */

/*
 * Budget that the cursors of one search share if they traverse their lists:
 * each has an equal part of the nodes that may be in flight.
 */
typedef struct SkxCursorBudget
{
	int			nleads;			/* cursors on long lists that share it,
								 * counted by skx_cursor_set_lead */
	bool		reads_positions;	/* the search reads positions, too, which
									 * take three quarters of the budget */
} SkxCursorBudget;

/*
 * Gives an open cursor a role in which it traverses its list.  share is NULL
 * if the cursor has the whole budget; otherwise it must stay valid while the
 * cursor is on the list.
 */
extern void skx_cursor_set_lead(SkxCursor *c, SkxCursorRole role,
								SkxCursorBudget *share);

/*
 * Gives an open cursor the role SKX_CURSOR_PROBE_ALL, to look up `candidates`
 * documents in batches from end to end.  Gives it SKX_CURSOR_LEAD_ALL instead,
 * if a long list has few nodes and most of them are likely to be wanted.
 */
extern void skx_cursor_set_probe_all(SkxCursor *c, uint32 candidates);

/* Gives an open cursor the role SKX_CURSOR_PROBE_ANY. */
extern void skx_cursor_set_probe_any(SkxCursor *c);

/*
 * Gives an open cursor the role SKX_CURSOR_PROBE, to look up `candidates`
 * documents.  Prefetches the table pages of the list, if it has any and more
 * nodes than candidates, so that nodes will be skipped.
 */
extern void skx_cursor_set_probe(SkxCursor *c, uint32 candidates);

/*
 * Returns the estimated number of nodes of a long list that are not in the
 * cache, from at most 32 of them.  Returns 0 for other lists.
 */
extern uint32 skx_cursor_uncached_nodes(const SkxCursor *c);

/*
 * Sets the n ascending documents that will be sought next, so that only nodes
 * which can have these are prefetched.  They must stay valid until the next
 * call; n = 0 removes them.  SKX_CURSOR_LEAD_ALL ignores them, and
 * SKX_CURSOR_PROBE_ALL may prefetch nodes after them.
 */
extern void skx_cursor_set_targets(SkxCursor *c, const uint32 *docs, int n);

/*
 * A set of first pages of lists, which are prefetched together before the
 * lists are opened.
 */
typedef struct SkxCursorFirstPages
{
	SkxSegment *seg;
	int			n;				/* number of pages */
	uint32		pages[257];		/* in the postings plane */
} SkxCursorFirstPages;

/*
 * Makes the set empty.  Returns false if the method cannot prefetch, so that
 * there is no use in the set.
 */
extern bool skx_cursor_first_pages_begin(SkxCursorFirstPages *starts,
										 SkxSegment *seg);

/*
 * Adds the first page of a term's list to the set.  Adds the second node,
 * too, if the list has two and many candidates will be looked up in it.  Adds
 * nothing if the dictionary entry has the list, df is 0, or the set is full.
 */
extern void skx_cursor_first_pages_add(SkxCursorFirstPages *starts,
									   const SkxTerm *term, uint32 candidates);

/* Prefetches the pages of the set if they lie in `least` or more units. */
extern void skx_cursor_first_pages_prefetch(SkxCursorFirstPages *starts,
											int least);

/*
 * Prefetches the first pages of the lists of n terms, and of the tables of
 * their nodes, if they lie in two or more units.
 */
extern void skx_cursor_prefetch_terms(SkxSegment *seg, const SkxTerm *terms,
									  int n);

/*
 * Prefetches the positions at places[k][i] to places[k][n - 1] of each cursor
 * k, approximately in the order in which they will be read, and returns n.
 * Returns i + 1 and prefetches nothing if `cold` is false (nothing was read
 * lately) or the method cannot prefetch.
 */
extern int	skx_cursor_prefetch_positions(SkxCursor **cursors,
										  SkxPositionsRef **places,
										  int ncursors,
										  int i, int n, bool cold);

/* Counters of work, per backend and never reset; tests check them. */
typedef struct SkxCursorWork
{
	uint64		short_lists;	/* pages of short lists read */
	uint64		subblocks;		/* sub-blocks whose documents were decoded */
	uint64		window_fills;	/* sub-blocks put into a window, or read as
								 * bitsets, undecoded */
	uint64		positions;		/* position blocks decoded */
	uint64		filtered_docs;	/* documents offered to a filter */
} SkxCursorWork;

extern PGDLLIMPORT SkxCursorWork skx_cursor_work;

#endif							/* SKX_CURSOR_H */
