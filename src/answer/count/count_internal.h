/*
 * count_internal.h
 *	  Declarations that the files of count/ share.
 */
#ifndef SKX_COUNT_INTERNAL_H
#define SKX_COUNT_INTERNAL_H

#include "access/relscan.h"
#include "answer/count/count.h"
#include "index/snapshot/snapshot.h"

/* How the matches of a range are counted. */
typedef enum SkxCountMode
{
	SKX_COUNT_EACH_MATCH,		/* the visibility of the row of each match is
								 * determined */
	SKX_COUNT_ALL_LIVE			/* all are counted if the index still has the
								 * segment at the end of the range */
} SkxCountMode;

/* One count, and the collector that carries it out. */
struct SkxCount
{
	SkxCollector collector;		/* first */
	SkxExec    *exec;
	const SkxRequest *request;
	const SkxCountReceiver *receiver;	/* or NULL */
	bool		has_passed_rows;	/* the taker was passed rows since the
									 * last skx_count_next() began */
	SkxCountShared *share;		/* or NULL */
	SkxCountWork work;
	SkxCountWork *total_work;	/* `work` is added to it at the end */
	SkxCountMode mode;
	uint64		live_matches;	/* matches of a range in SKX_COUNT_ALL_LIVE */
	uint64		rows;			/* counted so far */
	const SkxView *latest_view; /* view that was read last */
	bool		is_replaced;	/* the index has replaced the segment of the
								 * range, which gets no more deleted bits */
	MemoryContext context;		/* owns all that follows */
	uint32	   *batch;			/* unchanged copy of a batch of matches, for
								 * `receiver` */
	ItemPointerData *tids;		/* tids of the batch */
	ItemPointerData *fetch_tids;	/* those of them that are to be fetched */
	uint32	   *fetch_docs;		/* documents of `fetch_tids` */
	bool	   *is_counted;		/* whether each fetched row is counted */
	int			npending;		/* pending documents in the batch */
	TSVector   *pending;		/* copies of them, for `receiver` */
	MemoryContext pending_context;	/* owns these copies */

	/* count_visibility.c */
	bool		can_use_vm;		/* the visibility map may be used */
	bool		can_use_whole_vm;	/* and for all pages at once, too */
	bool		whole_vm_checked;	/* all pages have been checked */
	bool		is_all_visible; /* all pages were visible to all */
	Buffer		vm_buffer;		/* pinned page of the map, or invalid */
	BlockNumber block;			/* page of the table checked last */
	bool		page_is_visible;	/* whether that page is visible to all */

	/* count_fetch.c */
	IndexFetchTableData *fetch; /* NULL: no row has been fetched */
	TupleTableSlot *row;
	SkxHeapPrefetch heap_prefetch;
};

/* count_visibility.c : the visibility map of the table */

/*
 * Decides whether the map can be used.  It cannot with a recheck, without an
 * MVCC snapshot, or with a table access method other than heap.
 */
extern void skx_count_vm_begin(SkxCount *c);

/*
 * Returns true if all pages of the table are visible to all.  They are
 * checked at most once, and only if `matches`, an estimate, justifies the
 * cost.
 */
extern bool skx_count_table_is_visible(SkxCount *c, double matches);

/*
 * Returns true if the page is visible to all according to the map, and takes
 * its predicate lock then.  Returns false if the map cannot be relied on: it
 * is not used at all, or c->is_replaced is set.
 */
extern bool skx_count_block_is_visible(SkxCount *c, BlockNumber block);

/* Releases the pin on the page of the map. */
extern void skx_count_vm_end(SkxCount *c);

/* count_fetch.c : rows that have to be looked up in the table */

/*
 * Looks n rows up in the table and adds those that the snapshot sees, and
 * that pass the recheck, to c->rows.  Sets c->is_counted[i] to whether row i
 * is one of them.  docs are the documents of the rows in seg, or NULL if these
 * are not known.  Notes those whose rows are dead, unless the snapshot was
 * taken during recovery.
 */
extern void skx_count_fetch(SkxCount *c, const ItemPointerData *tids, int n,
							const SkxSegment *seg, const uint32 *docs);

/* Frees what skx_count_fetch() has opened, if anything. */
extern void skx_count_fetch_end(SkxCount *c);

#endif							/* SKX_COUNT_INTERNAL_H */
