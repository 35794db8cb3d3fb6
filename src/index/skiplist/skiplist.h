/*
 * skiplist.h
 *	  Posting lists as deterministic block skip lists: the writer, and the
 *	  cursor that skips.
 */
#ifndef SKX_SKIPLIST_H
#define SKX_SKIPLIST_H

#include "format/codec/codec.h"
#include "format/rank/rank.h"
#include "storage/blkio/blkio.h"

/*
 * Where positions start: of a list, or of a sub-block, whose pages count from
 * its list's in what is written and read here.
 */
typedef struct SkxPositionAddress
{
	uint32		page;			/* ordinal in the positions plane */
	uint16		offset;			/* of a position block, from page start */
	uint8		index;			/* of the first position in that block */
} SkxPositionAddress;

/* A long list, as the dictionary knows it. */
typedef struct SkxListAddress
{
	uint32		page;			/* of the header of node 0 */
	uint16		offset;
	uint32		nnodes;
	bool		has_table;		/* table pages exist */
	uint32		table_page;		/* the first of them */
	SkxImpacts	impacts;		/* list maxima */
} SkxListAddress;

/* Takes finished pages; ordinals come once each but not always in order. */
typedef void (*SkxPageSink) (void *arg, uint32 ordinal, char *page,
							 uint32 used);

/*
 * skiplist_writer.c : fills the postings plane, list after list
 *
 * `block_pages` pages make a block.  The sink gets each page with its content
 * written from SKX_PAGE_START on, `used` bytes, and may modify the page until
 * it returns; identity and seal are its business.
 */
typedef struct SkxSkiplistWriter SkxSkiplistWriter;

extern SkxSkiplistWriter *skx_skiplist_writer_create(uint32 block_pages,
													 SkxPageSink sink,
													 void *arg);

/* For impacts of pages, nodes and lists, as skx_rank_impacts_pack takes it. */
extern void skx_skiplist_writer_saturation(SkxSkiplistWriter *w,
										   const float *saturation);
extern void skx_skiplist_writer_short(SkxSkiplistWriter *w,
									  const uint8 *bytes, uint32 nbytes,
									  uint32 *page, uint16 *offset);

/* The page being filled, or the next one: nothing will lie before it. */
extern uint32 skx_skiplist_writer_page(const SkxSkiplistWriter *w);

/* `check` stands for the term in all parts of its list. */
extern void skx_skiplist_writer_begin(SkxSkiplistWriter *w, uint32 check,
									  uint32 df);
extern void skx_skiplist_writer_add(SkxSkiplistWriter *w,
									const SkxPostings *postings,
									SkxImpacts impacts,
									const SkxPositionAddress *positions);
extern void skx_skiplist_writer_end(SkxSkiplistWriter *w,
									SkxListAddress *address);

/* Hands over what is left; returns the number of pages of the plane. */
extern uint32 skx_skiplist_writer_finish(SkxSkiplistWriter *w);

/* Counted per backend and never reset: tests assert work, not only answers. */
typedef struct SkxSkiplistWork
{
	uint64		nodes;			/* node headers read */
	uint64		passed;			/* nodes passed over without reading them */
	uint64		portions;		/* pages of posting lists entered */
	uint64		tables;			/* pages of node tables read */
} SkxSkiplistWork;

extern PGDLLIMPORT SkxSkiplistWork skx_skiplist_work;

/*
 * skiplist_cursor.c : reads one long list, with skips
 *
 * The cursor stands on a sub-block: `base` is the last document before it,
 * `last` its last, `n` its postings; body..end are its bytes, valid while
 * `ref` is pinned.  Damage is reported and does not return.
 */
typedef struct SkxSkiplistCursor
{
	/* the list */
	SkxBlkFile *file;
	Relation	rel;
	const SkxBlkPlane *plane;
	uint32		check;
	SkxListAddress list;

	/* the node */
	uint32		node;
	uint32		node_page;		/* ordinal of its first page */
	uint32		node_last;
	uint16		node_offset;	/* of its header in the first page */
	uint16		node_npages;
	uint16		header_size;
	uint8		nforward;
	bool		is_last;
	SkxImpacts	node_impacts;
	uint32		forward_last[8];
	SkxImpacts	forward_impacts[8];
	SkxImpacts *page_impacts;	/* node_npages entries, palloc'd */
	uint32	   *page_last;		/* ditto, in the same piece of memory */
	int			page_slots;		/* allocated */
	SkxImpacts *table_impacts;	/* of all nodes, once they are known */
	uint32	   *table_last;		/* ditto, in the same piece of memory */
	uint32		table_from;		/* nodes from here on, that is */

	/*
	 * Called when a node is entered, if not NULL: the one `step` nodes after
	 * the last one, 0 for the first of all.
	 */
	void		(*entered) (struct SkxSkiplistCursor *c, int64 step);

	/* the portion */
	SkxBlkRef	ref;
	uint32		portion;		/* page of the node, from 0 */
	int			nsub;
	int			tail;
	uint32		portion_base;
	uint32		pos_page;
	const uint64 *impacts;		/* columns, NULL while unpinned */
	const uint32 *lasts;
	const char *bodies;			/* unaligned columns from here on */

	/* the sub-block */
	int			sub;
	int			n;
	uint32		base;
	uint32		last;
	const uint8 *body;
	const uint8 *end;
} SkxSkiplistCursor;

extern void skx_skiplist_open(SkxSkiplistCursor *c, SkxBlkFile *file,
							  Relation rel, const SkxBlkPlane *plane,
							  uint32 check, const SkxListAddress *list);
extern void skx_skiplist_close(SkxSkiplistCursor *c);

/*
 * Moves to the first sub-block, at or after the current one, whose last
 * document is >= target.  False when there is none: the list is done.
 */
extern bool skx_skiplist_seek(SkxSkiplistCursor *c, uint32 target);

/*
 * Moves to the first sub-block of the list whose last document is >= target,
 * to the last one when there is none, wherever the cursor was.
 */
extern void skx_skiplist_seek_back(SkxSkiplistCursor *c, uint32 target);

/*
 * Has the processor fetch the sub-block that a seek to `target` will decode, if
 * that is on the current page.
 */
extern void skx_skiplist_touch(const SkxSkiplistCursor *c, uint32 target);

/*
 * Fills table_last and table_impacts for the current node and all after it.
 * Only after a seek.
 */
extern void skx_skiplist_know_nodes(SkxSkiplistCursor *c);

/* Makes body..end valid again after the pin may have been given up. */
extern void skx_skiplist_pin_page(SkxSkiplistCursor *c);
extern void skx_skiplist_relax(SkxSkiplistCursor *c);

static inline void
skx_skiplist_pin(SkxSkiplistCursor *c)
{
	if (c->lasts == NULL || c->ref.page == NULL)
		skx_skiplist_pin_page(c);
}

/* Where the current sub-block's start; pages count from the list's first. */
extern void skx_skiplist_positions(SkxSkiplistCursor *c,
								   SkxPositionAddress *address);

/*
 * Finds the first node after *node, which precedes the target, that can contain
 * it; nnodes when it lies behind all.  False when that is not known from the
 * current node.  May read the node table.
 */
extern bool skx_skiplist_find_node(SkxSkiplistCursor *c, uint32 target,
								   uint32 *node);

/* Ordinal of the first page of a node. */
static inline uint32
skx_skiplist_node_page(const SkxSkiplistCursor *c, uint32 node)
{
	uint32		unit = c->plane->unit;

	if (node == 0)
		return c->list.page;
	return (c->list.page / unit + node) * unit;
}

/*
 * The first entry of ascending `last` in [from, n) that is >= target; n when
 * there is none.
 */
static inline int
skx_skiplist_lower_bound(const uint32 *last, int from, int n, uint32 target)
{
	int			left = n - from;

	/* the next entry is by far the likeliest */
	if (left <= 0 || last[from] >= target)
		return from;
	while (left > 1)
	{
		int			half = left / 2;

		/* a branch would be taken or not at random */
		from += half & -(int) (last[from + half - 1] < target);
		left -= half;
	}
	return from + (last[from] < target);
}

#endif							/* SKX_SKIPLIST_H */
