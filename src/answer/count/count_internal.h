/*
 * count_internal.h
 *	  Between the files of count/.
 */
#ifndef SKX_COUNT_INTERNAL_H
#define SKX_COUNT_INTERNAL_H

#include "access/relscan.h"
#include "answer/count/count.h"
#include "index/snapshot/snapshot.h"

/* One count. */
typedef struct SkxCount
{
	const SkxCountRequest *request;
	SkxCountWork *work;
	uint64		rows;			/* so far */
	const SkxView *latest;		/* the last one that was read */
	bool		retired;		/* marks are not set in the segment any more */
	MemoryContext context;		/* of all that follows */
	uint32	   *docs;			/* a batch of matches, */
	uint32	   *batch;			/* the same, which stays as it is, */
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
} SkxCount;

/*
 * count_rows.c
 *
 * begin prepares a count, in the current memory context; end returns its rows.
 * part counts those of documents [from, to) of a segment, by an answer that has
 * not come to these yet, and returns that, or another one, to go on with.
 */
extern SkxCount *skx_count_begin(const SkxCountRequest *request,
								 SkxCountWork *work);
extern SkxQueryScan *skx_count_part(SkxCount *c, SkxSegment *seg,
									SkxQueryScan *answer, uint32 from,
									uint32 to);
extern void skx_count_pending(SkxCount *c, SkxSource *source);
extern uint64 skx_count_end(SkxCount *c);

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
