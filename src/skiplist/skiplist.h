/*
 * skiplist.h
 *	  Posting lists as deterministic block skip lists: the writer, and the
 *	  cursor that skips.
 */
#ifndef SKX_SKIPLIST_SKIPLIST_H
#define SKX_SKIPLIST_SKIPLIST_H

#include "blkio/blkio.h"
#include "codec/codec.h"
#include "rank/rank.h"

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

/*
 * What reading did, counted per backend and never reset: tests assert work,
 * not only answers.
 */
typedef struct SkxWork
{
	uint64		nodes;			/* node headers read */
	uint64		portions;		/* pages of posting lists entered */
	uint64		subblocks;		/* sub-blocks whose documents were decoded */
	uint64		fills;			/* sub-blocks put into a window undecoded */
	uint64		tables;			/* pages of node tables read */
	uint64		positions;		/* position blocks decoded */
	uint64		candidates;		/* documents offered to a filter */
	uint64		asked;			/* units asked for before they were pinned */
} SkxWork;

extern PGDLLIMPORT SkxWork skx_skiplist_work;

/*
 * skiplist_cursor.c : reads one long list, forward and with skips
 *
 * The cursor stands on a sub-block: `base` is the last document before it,
 * `last` its last, `n` its postings; body..end are its bytes, valid while
 * `ref` is pinned.  It moves forward only.  Damage is reported and does not
 * return.
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

	/* what is read ahead, see skiplist_ahead.c */
	int			ahead;			/* nodes that may be under way, 0: none */
	bool		running;		/* the list will be gone through */
	int			window;			/* nodes to have under way, 0: skipping */
	uint32		asked;			/* nodes before it have been decided on */
	int			under_way;		/* of targets: asked for, not entered */
	uint64		reads;			/* see skx_skiplist_cold */
	const uint32 *targets;		/* NULL: not known */
	int			ntargets;		/* that are not planned yet */

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
 * Has the processor fetch the sub-block that a seek to `target` will decode, if
 * that is on the current page.
 */
extern void skx_skiplist_touch(const SkxSkiplistCursor *c, uint32 target);

/* To the next sub-block; false at the end of the list. */
extern bool skx_skiplist_next(SkxSkiplistCursor *c);

/*
 * Fills table_last and table_impacts for the current node and all after it.
 * Only after a seek.
 */
extern void skx_skiplist_know_nodes(SkxSkiplistCursor *c);

/* Makes body..end valid again after the pin may have been given up. */
extern void skx_skiplist_pin(SkxSkiplistCursor *c);
extern void skx_skiplist_relax(SkxSkiplistCursor *c);

/* Where the current sub-block's start; pages count from the list's first. */
extern void skx_skiplist_positions(SkxSkiplistCursor *c,
								   SkxPositionAddress *address);

/*
 * The first of ascending docs[i], ..., docs[n - 1] that is >= target; the last
 * one is.  Targets ascend, so it is mostly near; eight at once are counted
 * without a branch.
 */
static inline int
skx_skiplist_first_from(const uint32 *docs, int i, int n, uint32 target)
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
 * skiplist_ahead.c : asks for pages before they are pinned
 *
 * A cursor asks by itself when `ahead` is set after open, and for a list that
 * is gone through from its first node on when `running` is.  `targets` are
 * the documents that will be sought next, ascending, until they are taken
 * back with n = 0: then it asks for the nodes that these lie in, and no other.
 */
#define SKX_AHEAD_MAX		64	/* units of one kind under way at most */

extern void skx_skiplist_targets(SkxSkiplistCursor *c, const uint32 *docs,
								 int n);

/* skx_blkio_prefetch, counted. */
extern void skx_skiplist_ask(SkxBlkFile *file, const SkxBlkPlane *plane,
							 const uint32 *ordinals, int n);

/*
 * A number that grows with whatever this backend reads; and has it grown since
 * *seen, which it is put into?  (PG_UINT64_MAX: it has.)  Who plans page by
 * page leaves it when everything has been in the cache.
 */
extern uint64 skx_skiplist_reads(void);
extern bool skx_skiplist_cold(uint64 *seen);

#endif							/* SKX_SKIPLIST_SKIPLIST_H */
