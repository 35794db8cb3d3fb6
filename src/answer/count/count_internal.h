/*
 * count_internal.h
 *	  Between the files of count/.
 */
#ifndef SKX_COUNT_INTERNAL_H
#define SKX_COUNT_INTERNAL_H

#include "access/relscan.h"
#include "answer/count/count.h"
#include "index/snapshot/snapshot.h"

/* What becomes of the matches of a range. */
typedef enum SkxCountMode
{
	SKX_COUNT_MATCHES,			/* of each it is asked whether its row is
								 * visible */
	SKX_COUNT_LIVE				/* all are counted if, at the end of the
								 * range, its segment is still one of the
								 * index */
} SkxCountMode;

/* One count. */
struct SkxCount
{
	SkxCollector collector;		/* first */
	SkxExec    *exec;
	const SkxRequest *request;
	const SkxCountTaker *taker; /* or NULL */
	bool		told;			/* since it went on, the taker was */
	SkxCountShare *share;		/* or NULL */
	SkxCountWork work;
	SkxCountWork *sum;			/* to which that is added at the end */
	SkxCountMode mode;
	uint64		live;			/* matches of a range that are all to be
								 * counted */
	uint64		rows;			/* so far */
	const SkxView *latest;		/* the last one that was read */
	bool		retired;		/* marks are not set any more in the segment
								 * of the range, which is given again */
	MemoryContext context;		/* of all that follows */
	uint32	   *batch;			/* a batch of matches as it came, for `taker`, */
	ItemPointerData *tids;		/* their rows, */
	ItemPointerData *others;	/* and those of them that are to be fetched, */
	uint32	   *other_docs;		/* with their documents */
	bool	   *seen;			/* is a fetched row counted? */
	int			npending;		/* rows of a batch of pending documents, */
	TSVector   *pending;		/* and these, if they are to be told */
	MemoryContext documents;

	/* count_map.c */
	bool		has_map;		/* may it be asked at all? */
	bool		has_whole;		/* and for all pages at once? */
	bool		asked_whole;	/* it was, */
	bool		is_whole;		/* and all pages were visible */
	Buffer		map;			/* pinned page of it */
	BlockNumber block;			/* the page of the table asked for last, */
	bool		visible;		/* and the answer */

	/* count_fetch.c */
	IndexFetchTableData *fetch; /* NULL: nothing was fetched */
	TupleTableSlot *row;
	SkxHeapAhead ahead;
};

/*
 * count_map.c
 *
 * is_whole: are all pages of the table visible to all?  Asked once, if so many
 * matches are worth it.  is_visible: is the page, and may that be relied on?
 */
extern void skx_count_map_begin(SkxCount *c);
extern bool skx_count_is_whole(SkxCount *c, double matches);
extern bool skx_count_is_visible(SkxCount *c, BlockNumber block);
extern void skx_count_map_end(SkxCount *c);

/*
 * count_fetch.c : adds those of the rows that the snapshot sees; seen[i] tells
 * whether row i is among them.  Documents of a segment whose rows are dead are
 * noted; NULL: it is not known which they are.
 */
extern void skx_count_fetch(SkxCount *c, const ItemPointerData *tids, int n,
							const SkxSegment *seg, const uint32 *docs);
extern void skx_count_fetch_end(SkxCount *c);

#endif							/* SKX_COUNT_INTERNAL_H */
