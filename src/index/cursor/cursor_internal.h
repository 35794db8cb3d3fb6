/*
 * cursor_internal.h
 *	  State of a cursor, and functions that the files of cursor/ share.  A list
 *	  is laid out in nodes, short (on a page or in its dictionary entry), or in
 *	  memory.
 */
#ifndef SKX_CURSOR_INTERNAL_H
#define SKX_CURSOR_INTERNAL_H

#include "format/disk/disk_dict.h"
#include "index/cursor/cursor.h"
#include "index/skiplist/skiplist.h"

/* The form of a cursor's list. */
typedef enum SkxCursorForm
{
	SKX_CURSOR_LONG,			/* laid out in nodes */
	SKX_CURSOR_SHORT,			/* a single sub-block */
	SKX_CURSOR_MEMORY			/* SkxCursorMemory */
} SkxCursorForm;

/* State of a cursor that reads positions (cursor_positions.c). */
typedef struct SkxCursorPositions
{
	/* of short lists with positions of their own */
	uint8	   *own_bytes;		/* copy of these positions, encoded */
	uint32		own_size;		/* allocated bytes of own */
	const uint8 *own_end;		/* end of the copy */
	const uint8 *own_next;		/* positions of posting own_i */
	int			own_posting;

	/* of all other lists: where positions start */
	SkxPositionAddress subblock_start;	/* of the current sub-block */
	bool		start_is_set;	/* start is set */

	/* of all other lists: the decoded block of positions */
	SkxBlkRef	page_ref;		/* page that was read last */
	uint32		from_page;		/* page of the block where reading began */
	uint16		from_offset;	/* offset of that block */
	uint32		page;			/* page of the block after the decoded one */
	uint16		offset;			/* offset of the block after the decoded one */
	uint32		positions_before;	/* positions from the block where reading
									 * began to the decoded one */
	int			n;				/* positions in the decoded block; 0: none */
	uint32	   *deltas;			/* decoded block, or NULL */

	int			ntf_sums;		/* sums that are computed */
	uint16		tf_sums[SKX_SUBBLOCK];	/* by posting: positions of the
										 * sub-block before it */
} SkxCursorPositions;

/* State of the prefetches of a list (cursor_ahead.c). */
typedef struct SkxCursorPrefetch
{
	SkxCursorRole role;
	const SkxCursorBudget *budget;	/* NULL: the whole budget */
	int			window;			/* nodes to have in flight, 0: skipping */
	uint32		planned_nodes;	/* nodes after the current one, in the
								 * direction of moves, that were planned */
	int			in_flight;		/* nodes of targets that were prefetched and
								 * are not entered yet */
	int			sequential_moves;	/* number of moves to the next node,
									 * without skips in between */
	uint64		page_reads;		/* for skx_segment_has_read */
	const uint32 *targets;		/* skx_cursor_set_targets; NULL: none */
	int			ntargets;		/* targets not planned yet */
	uint32		lists_prefetched;	/* MERGE: *asked of
									 * skx_segment_prefetch_next for postings */
	uint32		positions_prefetched;	/* MERGE: likewise, for positions */
	uint32		pos_planned;	/* other roles: page of positions after those
								 * that were prefetched or passed over */
	uint32		pos_last;		/* page of the positions prefetched last */
	int			pos_window;		/* pages to prefetch after pos_last; 0:
								 * skipping */
} SkxCursorPrefetch;

/* Arguments and computed bounds of a list; -1: not computed. */
typedef struct SkxCursorBounds
{
	float		weight;			/* these are set by skx_cursor_set_weight */
	float		max_label_weight;
	const float *inverse;
	int32		list_bound;		/* bound of the whole list */
	uint32		page;			/* page that subs is of */
	int32	   *subblock_bounds;	/* bounds of its sub-blocks */
	uint32		node;			/* node that pages is of */
	int32	   *page_bounds;	/* bounds of its pages */
	int			page_slots;		/* allocated length of pages */
	int32	   *node_bounds;	/* bounds of all nodes */
} SkxCursorBounds;

/*
 * A cursor with all its state.  Fields from places.sums on are not
 * initialized when it is created.
 */
typedef struct SkxCursorList
{
	SkxCursor	head;			/* must be first */
	SkxCursorForm form;
	SkxSegment *seg;
	SkxTerm		term;
	uint32		from;			/* range of documents: [from, to) */
	uint32		to;
	uint32		last_before;	/* last document before the sub-block */
	bool		is_reused;		/* reads several lists in turn */
	bool		moved_back;		/* the last move was backward */
	SkxSkiplistCursor nodes;	/* LONG */
	SkxBlkRef	short_ref;		/* SHORT, on a page of the postings plane */
	SkxCursorMemory *memory;	/* MEMORY */
	uint32		block;			/* MEMORY: number of the sub-block */
	uint8	   *map;			/* skx_cursor_subblock_map; NULL: never made */
	bool		map_is_current; /* map is that of the sub-block */
	bool		has_bits;		/* bits are those of the sub-block */
	bool		bits_unavailable;	/* the sub-block is no bitset, or decoded */
	bool		has_labels;		/* p has the labels of the sub-block */
	uint16		tf_offset;		/* offset of frequencies in its body */
	SkxCursorPrefetch prefetch;
	SkxCursorBounds bounds;
	SkxCursorPositions positions;
	SkxSubblockBits bits;		/* LONG: documents of the sub-block */
	SkxPostings postings;		/* the decoded sub-block; not of MEMORY */
} SkxCursorList;

/* Returns the whole state of a cursor. */
static inline SkxCursorList *
skx_cursor_list(const SkxCursor *c)
{
	return (SkxCursorList *) c;
}

/*
 * Notes that the documents of a long list's sub-block were read, and that its
 * frequencies begin at `part`.
 */
static inline void
skx_cursor_read_docs(SkxCursorList *l, const uint8 *part)
{
	l->tf_offset = part - l->nodes.body;
	l->postings.n = l->nodes.n;
	l->has_labels = false;
	l->positions.start_is_set = false;
}

/* cursor_move.c : opens and moves cursors */

/*
 * Raises ERRCODE_INDEX_CORRUPTED with the file block of the list's current
 * page, and `what` as detail.  If the dictionary entry has the list, that is
 * the page of the dictionary.
 */
SKX_NORETURN extern void skx_cursor_damaged(const SkxCursorList *l,
											const char *what);

/* cursor_positions.c : reads positions */

/* Prepares to read positions of another list. */
extern void skx_cursor_positions_begin(SkxCursorList *l);

/* Copies the n bytes of encoded positions that a short list carries. */
extern void skx_cursor_positions_copy_own(SkxCursorList *l, const uint8 *bytes,
										  uint32 n);

/* Unpins the page of positions and frees the memory of l->positions. */
extern void skx_cursor_positions_end(SkxCursorList *l);

/* cursor_bound.c : computes bounds of contributions */

/* Forgets all bounds and frees their memory. */
extern void skx_cursor_bounds_reset(SkxCursorBounds *bounds);

/* cursor_ahead.c : prefetches */

/* Resets the prefetches of a cursor at the beginning of a list. */
extern void skx_cursor_prefetch_reset(SkxCursorList *l);

/*
 * Prefetches the pages after page `page` of positions, which is being read,
 * in the role SKX_CURSOR_MERGE.
 */
extern void skx_cursor_prefetch_positions_after(SkxCursorList *l, uint32 page);

#endif							/* SKX_CURSOR_INTERNAL_H */
