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
 * Address of the first position of a list or of a sub-block.  The page of a
 * sub-block's address counts from the page of its list's address.
 */
typedef struct SkxPositionAddress
{
	uint32		page;			/* ordinal in the positions plane */
	uint16		offset;			/* page offset of a position block */
	uint8		index;			/* of the first position in that block */
} SkxPositionAddress;

/* Address of a long list, as its dictionary entry has it. */
typedef struct SkxListAddress
{
	uint32		page;			/* ordinal of the page with the header of node
								 * 0 */
	uint16		offset;			/* page offset of that header */
	uint32		nnodes;
	bool		has_table;		/* the node table has pages of its own */
	uint32		table_page;		/* ordinal of the first of these */
	SkxImpacts	impacts;		/* impacts of the whole list */
} SkxListAddress;

/*
 * Callback that takes a finished page of the plane.  Its content is written
 * from SKX_PAGE_START on, `used` bytes.  The callback sets the page's identity
 * and seals it; it may modify the page until it returns.  Each ordinal comes
 * once, but not always in order.
 */
typedef void (*SkxPageSink) (void *arg, uint32 ordinal, char *page,
							 uint32 used);

/*
 * skiplist_writer.c : writes the postings plane of a segment, list after list
 */

/* Writer of a postings plane. */
typedef struct SkxSkiplistWriter SkxSkiplistWriter;

/*
 * Returns a writer in the current memory context, which calls sink(arg, ...)
 * with each finished page.  `block_pages` pages make a block.
 */
extern SkxSkiplistWriter *skx_skiplist_writer_create(uint32 block_pages,
													 SkxPageSink sink,
													 void *arg);

/*
 * Sets the saturation of BM25 for each norm, k1 (1 - b + b length / average),
 * by which the impacts of pages, nodes and lists are packed
 * (skx_rank_impacts_pack()).  The array must stay valid.  NULL: none.
 */
extern void skx_skiplist_writer_set_saturation(SkxSkiplistWriter *w,
											   const float *saturation);

/*
 * Writes a short list of nbytes bytes, and sets *page and *offset to its
 * address.  Raises an error if it does not fit on a page.
 */
extern void skx_skiplist_writer_short(SkxSkiplistWriter *w,
									  const uint8 *bytes, uint32 nbytes,
									  uint32 *page, uint16 *offset);

/*
 * Returns the ordinal of the page being filled, or of the next one if none is.
 * Later lists do not lie before this page.
 */
extern uint32 skx_skiplist_writer_page(const SkxSkiplistWriter *w);

/*
 * Begins a long list.  `check` is skx_disk_lexeme_check() of its term, written
 * in all pages of the list.  `df` is the expected number of postings, from
 * which sizes of columns are estimated.
 */
extern void skx_skiplist_writer_begin(SkxSkiplistWriter *w, uint32 check,
									  uint32 df);

/*
 * Adds a sub-block of postings to the list.  `impacts` dominate these
 * postings, `positions` is the address of their positions.  All sub-blocks but
 * the last have SKX_SUBBLOCK postings.  Raises an error if documents do not
 * ascend.
 */
extern void skx_skiplist_writer_add(SkxSkiplistWriter *w,
									const SkxPostings *postings,
									SkxImpacts impacts,
									const SkxPositionAddress *positions);

/* Ends the list and sets *address to its address. */
extern void skx_skiplist_writer_end(SkxSkiplistWriter *w,
									SkxListAddress *address);

/*
 * Passes the last page to the sink and returns the number of pages of the
 * plane.
 */
extern uint32 skx_skiplist_writer_finish(SkxSkiplistWriter *w);

/*
 * Counters of the cursors' work in this backend, never reset.  Tests check
 * them.
 */
typedef struct SkxSkiplistWork
{
	uint64		read_nodes;		/* node headers read */
	uint64		skipped_nodes;	/* nodes skipped without reading them */
	uint64		entered_portions;	/* pages of posting lists entered */
	uint64		read_table_pages;	/* pages of node tables read */
} SkxSkiplistWork;

extern PGDLLIMPORT SkxSkiplistWork skx_skiplist_work;

/*
 * skiplist_cursor.c : a cursor over one long list
 *
 * The cursor is on a sub-block after a successful seek: `base_doc` is the last
 * document before it, `last_doc` its last document, `n` its number of
 * postings. body..end are its bytes, valid while `ref` is pinned.  All
 * functions report damage as an error.
 */
typedef struct SkxSkiplistCursor
{
	/* the list, as passed to skx_skiplist_open() */
	SkxBlkFile *file;
	Relation	rel;
	const SkxBlkPlane *plane;
	uint32		list_check;		/* skx_disk_lexeme_check() of the term */
	SkxListAddress list;

	/* the current node; none before the first seek */
	uint32		node;			/* number in the list */
	uint32		node_page;		/* ordinal of its first page */
	uint32		node_last;		/* its last document */
	uint16		node_offset;	/* of its header in the first page */
	uint16		node_npages;	/* pages; 0: no node was entered */
	uint16		header_size;
	uint8		nforward;		/* entries of the forward columns */
	bool		is_last;		/* it is the last node of the list */
	SkxImpacts	node_impacts;
	uint32		forward_last[8];
	SkxImpacts	forward_impacts[8];
	SkxImpacts *page_impacts;	/* by page of the node; palloc'd */
	uint32	   *page_last;		/* by page of the node; same allocation */
	int			page_slots;		/* capacity of these two */
	SkxImpacts *table_impacts;	/* by node of the list; NULL: not loaded */
	uint32	   *table_last;		/* by node of the list; same allocation */
	uint32		table_first_valid;	/* first node with valid entries in these
									 * two */

	/*
	 * Called when a node is entered, unless NULL.  `step` is the number of
	 * the node minus that of the node before, 0 for the first node entered.
	 * skx_skiplist_open() sets it to NULL.
	 */
	void		(*on_enter) (struct SkxSkiplistCursor *c, int64 step);

	/* the current portion */
	SkxBlkRef	ref;			/* pin of its page */
	uint32		portion;		/* number of its page in the node, from 0 */
	int			nsub;			/* sub-blocks */
	int			last_npostings; /* postings of the last sub-block */
	uint32		portion_base;	/* last document before it */
	uint32		pos_page;		/* added to the pos_page column */
	const uint64 *impacts;		/* by sub-block, on the page */
	const uint32 *last_docs;	/* last documents; NULL while unpinned */
	const char *body_offsets;	/* the columns from body on, unaligned */

	/* the current sub-block */
	int			subblock;		/* number in the portion; -1: none */
	int			n;
	uint32		base_doc;
	uint32		last_doc;
	const uint8 *body;
	const uint8 *end;
} SkxSkiplistCursor;

/*
 * Opens a cursor on a list.  It is on no sub-block until the first seek, and
 * has read nothing.  `file`, `rel` and `plane` must stay; *list is copied.
 */
extern void skx_skiplist_open(SkxSkiplistCursor *c, SkxBlkFile *file,
							  Relation rel, const SkxBlkPlane *plane,
							  uint32 check, const SkxListAddress *list);

/* Releases the cursor's pin and frees its memory. */
extern void skx_skiplist_close(SkxSkiplistCursor *c);

/*
 * Moves to the first sub-block, at or after the current one, whose last
 * document is >= target.  The page of the sub-block is pinned, unless the
 * cursor stays where it is.  Returns false, without a pin, if there is no such
 * sub-block.
 */
extern bool skx_skiplist_seek(SkxSkiplistCursor *c, uint32 target);

/*
 * Moves to the first sub-block of the whole list whose last document is >=
 * target, or to the last sub-block if there is none.  The cursor may be
 * anywhere before, and pins the page.
 */
extern void skx_skiplist_seek_back(SkxSkiplistCursor *c, uint32 target);

/*
 * Prefetches, into the processor's cache, the sub-block that a seek to
 * `target` will decode.  Does nothing if that is not on the current page.
 */
extern void skx_skiplist_prefetch_target(const SkxSkiplistCursor *c,
										 uint32 target);

/*
 * Fills table_last and table_impacts for the current node and all nodes after
 * it.  A seek must precede.
 */
extern void skx_skiplist_fill_tables_from(SkxSkiplistCursor *c);

/* Pins the page of the current portion and makes body..end valid. */
extern void skx_skiplist_pin_page(SkxSkiplistCursor *c);

/*
 * Releases the pin if this backend holds many pins.  skx_skiplist_pin() renews
 * it.
 */
extern void skx_skiplist_unpin_if_crowded(SkxSkiplistCursor *c);

/* Pins the page of the current portion, unless it is pinned. */
static inline void
skx_skiplist_pin(SkxSkiplistCursor *c)
{
	if (c->last_docs == NULL || c->ref.page == NULL)
		skx_skiplist_pin_page(c);
}

/*
 * Sets *address to the address of the current sub-block's positions, whose
 * page counts from the first page of the list's positions.  Pins the page.
 */
extern void skx_skiplist_positions(SkxSkiplistCursor *c,
								   SkxPositionAddress *address);

/*
 * Sets *node to the first node after *node that can contain `target`, or to
 * the number of nodes if none can.  Node *node must precede the target.
 * Returns false if the current node's forward pointers do not reach so far.
 * May read the node table.
 */
extern bool skx_skiplist_find_node(SkxSkiplistCursor *c, uint32 target,
								   uint32 *node);

/* Returns the ordinal of the first page of a node. */
static inline uint32
skx_skiplist_node_page(const SkxSkiplistCursor *c, uint32 node)
{
	uint32		unit = c->plane->unit;

	if (node == 0)
		return c->list.page;
	return (c->list.page / unit + node) * unit;
}

/*
 * Returns the first index in [from, n) with last[index] >= target, n if there
 * is none.  `last` must ascend.
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
