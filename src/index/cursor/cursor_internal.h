/*
 * cursor_internal.h
 *	  What is behind a cursor: a list laid out in nodes, a short one on a page
 *	  or in its dictionary entry, or one in memory.
 */
#ifndef SKX_CURSOR_INTERNAL_H
#define SKX_CURSOR_INTERNAL_H

#include "format/disk/disk_dict.h"
#include "index/cursor/cursor.h"
#include "index/skiplist/skiplist.h"

typedef enum SkxCursorForm
{
	SKX_CURSOR_LONG,
	SKX_CURSOR_SHORT,			/* its own only sub-block */
	SKX_CURSOR_MEMORY
} SkxCursorForm;

/* Reading the positions of a list (cursor_positions.c). */
typedef struct SkxCursorPlaces
{
	/* of short lists with positions of their own */
	uint8	   *own;			/* copy of the positions part */
	uint32		own_size;		/* bytes allocated there */
	const uint8 *own_end;
	const uint8 *own_src;		/* where those of posting own_i start */
	int			own_i;

	/* of all others: where they are */
	SkxPositionAddress start;	/* of the sub-block */
	bool		ready;			/* that is known */

	/* reading them */
	SkxBlkRef	ref;
	uint32		from_page;		/* block that was read from */
	uint16		from_offset;
	uint32		page;
	uint16		offset;			/* of the block after the decoded one */
	uint32		before;			/* positions before the decoded block, from
								 * the one that was read from on */
	int			n;				/* in the decoded block; 0: none decoded */
	uint32	   *deltas;

	int			nsums;			/* of those: */
	uint16		sums[SKX_SUBBLOCK]; /* positions of the postings before */
} SkxCursorPlaces;

/* What is read ahead for a list (cursor_ahead.c). */
typedef struct SkxCursorAhead
{
	SkxCursorRole role;
	const SkxCursorShare *share;	/* NULL: it has all to itself */
	int			window;			/* nodes to have in flight, 0: skipping */
	uint32		asked;			/* nodes after the current one that were
								 * decided on, in the direction of moves */
	int			in_flight;		/* of targets: asked for, not entered */
	int			row;			/* nodes entered one after the other */
	uint64		reads;			/* for skx_segment_cold */
	const uint32 *targets;		/* NULL: not known */
	int			ntargets;		/* that are not planned yet */
	uint32		lists_asked;	/* MERGE: units of lists, */
	uint32		places_asked;	/* and pages of positions before it */
	uint32		pos_asked;		/* else: pages before it were asked for, or
								 * passed */
	uint32		pos_last;		/* of the places asked for last */
	int			pos_window;		/* pages wanted after it, 0: skipping */
} SkxCursorAhead;

/* Bounds that were computed: -1 for those that were not. */
typedef struct SkxCursorBounds
{
	float		weight;
	float		most;
	const float *inverse;
	int32		limit;			/* of all */
	uint32		page;			/* whose subs these are */
	int32	   *subs;
	uint32		node;			/* whose pages these are */
	int32	   *pages;
	int			page_slots;
	int32	   *nodes;
} SkxCursorBounds;

/* What is from places.sums on is not set before it is needed. */
typedef struct SkxCursorList
{
	SkxCursor	head;			/* first */
	SkxCursorForm form;
	SkxSegment *seg;
	SkxTerm		term;
	uint32		from;			/* documents that are left: */
	uint32		to;
	uint32		base;			/* last document before the sub-block */
	bool		reused;			/* begun for one list after the other */
	bool		back;			/* moved backward last */
	SkxSkiplistCursor nodes;	/* LONG */
	SkxBlkRef	short_ref;		/* SHORT, on a page of the postings plane */
	SkxCursorMemory *memory;	/* MEMORY */
	uint32		block;			/* sub-block of it */
	uint8	   *map;			/* NULL: none was made yet */
	bool		mapped;			/* it is of the sub-block */
	bool		has_bits;		/* they are of the sub-block */
	bool		no_bits;		/* it has another form */
	bool		has_labels;
	uint16		tf_part;		/* where frequencies start in its body */
	SkxCursorAhead ahead;
	SkxCursorBounds bounds;
	SkxCursorPlaces places;
	SkxSubblockBits bits;		/* LONG: of the documents */
	SkxPostings p;				/* the decoded sub-block, but of MEMORY */
} SkxCursorList;

static inline SkxCursorList *
skx_cursor_list(const SkxCursor *c)
{
	return (SkxCursorList *) c;
}

SKX_NORETURN extern void skx_cursor_damaged(const SkxCursorList *l,
											const char *what);

/*
 * cursor_move.c: has the current sub-block of a long list bits, and was it not
 * decoded?  Then they are there, and frequencies can be decoded.
 */
extern bool skx_cursor_has_bits(SkxCursorList *l);

/* cursor_positions.c: the list begins; it has `n` bytes of positions itself */
extern void skx_cursor_places_begin(SkxCursorList *l);
extern void skx_cursor_places_own(SkxCursorList *l, const uint8 *bytes,
								  uint32 n);
extern void skx_cursor_places_end(SkxCursorList *l);

/* cursor_bound.c: none is computed, no memory is held */
extern void skx_cursor_bounds_begin(SkxCursorBounds *bounds);

/* cursor_ahead.c: the list begins; a page of positions is read */
extern void skx_cursor_ahead_begin(SkxCursorList *l);
extern void skx_cursor_ahead_places(SkxCursorList *l, uint32 page);

#endif							/* SKX_CURSOR_INTERNAL_H */
