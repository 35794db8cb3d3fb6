/*
 * snapshot.h
 *	  Reads an index: the segments of a view, then the documents that are
 *	  pending in it.
 */
#ifndef SKX_SNAPSHOT_H
#define SKX_SNAPSHOT_H

#include "index/pending/pending.h"
#include "index/segment/segment.h"

/*
 * Reader of an index.  All of it is in the memory context in which it was
 * opened.
 */
typedef struct SkxSnapshotReader
{
	Relation	rel;
	const SkxView *view;
	SkxBlkFile *file;			/* NULL if the view has no segments */
	int			next;			/* number of the next segment in the view */
	int			nsegments;		/* open segments */
	SkxSegment **segments;		/* the open ones, which precede `next` in the
								 * view */
	SkxPendingScan *pending;	/* NULL if not begun, or at its end */
	const uint64 *after_sequences;	/* skip documents up to these numbers;
									 * NULL: none */
	const SkxPendingBounds *wanted_bounds;	/* bounds of wanted documents;
											 * NULL: all are wanted */
	MemoryContext context;
	MemoryContext doc_context;	/* reset after each pending document; NULL if
								 * none was read */
} SkxSnapshotReader;

/*
 * Opens a reader of the view, in the current memory context.  The view must
 * stay readable: one just taken by skx_manifest_view(), or an earlier one that
 * the caller keeps readable.
 */
extern SkxSnapshotReader *skx_snapshot_open(Relation rel, const SkxView *view);

/*
 * Makes further reads of segments leave the block cache to others
 * (skx_blkio_set_read_once()), because the pages are not needed again soon.
 */
extern void skx_snapshot_read_once(SkxSnapshotReader *source);

/*
 * Makes further reads of segments bypass the page cache
 * (skx_blkio_bypass_page_cache()), for large scans whose pages no process
 * needs again soon.  Must be called before skx_snapshot_next_segments() and
 * skx_snapshot_open_segment().
 */
extern void skx_snapshot_bypass_page_cache(SkxSnapshotReader *source);

/* `most` that makes skx_snapshot_next_segments() open all segments. */
#define SKX_SNAPSHOT_ALL_SEGMENTS		PG_INT32_MAX

/*
 * Closes the open segments, and opens the next ones, at most `most`.
 * Prefetches the headers of these together.  Returns how many are open, 0 at
 * the end.
 */
extern int	skx_snapshot_next_segments(SkxSnapshotReader *source, int most);

/*
 * Closes the open segments, and opens the segment with this number in the
 * view.  Returns it.  skx_snapshot_next_segments() continues after it.
 */
extern SkxSegment *skx_snapshot_open_segment(SkxSnapshotReader *source,
											 int segment);

/*
 * Callback that skx_snapshot_visit_pending() calls with a document, which is
 * valid until it returns.  Returns false to stop.
 */
typedef bool (*SkxSnapshotVisit) (const SkxPendingDoc *doc, void *arg);

/*
 * Calls `visit` for each pending document, in a memory context that is reset
 * after it, until it returns false.  `last` is as for skx_pending_begin().
 * Returns true if `visit` stopped it; the next call continues from there.
 * Returns false at the end; the next call then begins again.
 */
extern bool skx_snapshot_visit_pending(SkxSnapshotReader *source,
									   const uint64 *last,
									   SkxSnapshotVisit visit, void *arg);

/*
 * Makes skx_snapshot_visit_pending() skip documents of stripe i up to number
 * after[i]; NULL: none.  The array must stay valid.  No scan of pending
 * documents may be under way.
 */
extern void skx_snapshot_skip_pending(SkxSnapshotReader *source,
									  const uint64 *after);

/*
 * Makes skx_snapshot_visit_pending() skip documents whose bounds are too low;
 * NULL: none.  *only must stay valid.  No scan of pending documents may be
 * under way.
 */
extern void skx_snapshot_bound_pending(SkxSnapshotReader *source,
									   const SkxPendingBounds *only);

/* Place of a document in a view. */
typedef struct SkxDocAddress
{
	const SkxSegment *segment;	/* NULL: the document is pending */
	int			stripe;			/* of a pending document */
	uint64		number;			/* of the document in the segment or stripe */
} SkxDocAddress;

/* Number of calls of skx_snapshot_remember_dead() in this process. */
extern PGDLLIMPORT uint64 skx_snapshot_dead_noted;

/*
 * Notes that the row of a document is dead to all snapshots of this server, so
 * that searches may skip the document.  Must not be called for a row that was
 * found dead in a transaction that began in recovery.
 */
extern void skx_snapshot_remember_dead(Relation rel, const SkxView *view,
									   const SkxDocAddress *place);

/* Number of pending documents passed to a callback, in this process. */
extern PGDLLIMPORT uint64 skx_snapshot_pending_read;

/*
 * Closes the reader and all that it has open.  After an error this call is not
 * necessary.
 */
extern void skx_snapshot_close(SkxSnapshotReader *source);

/*
 * snapshot_heap.c : prefetch of the table's blocks of rows that a scan will
 * return
 *
 * The scan prefetches some rows ahead, at most as many as
 * skx_snapshot_heap_depth() tells.
 */

/* Number of recent blocks that are remembered. */
#define SKX_HEAP_RECENT_BLOCKS		16

/* State of the prefetch of one scan. */
typedef struct SkxHeapPrefetch
{
	Relation	heap;			/* NULL: no table, no prefetch */
	int			max_rows_ahead; /* most rows ahead */
	int			rows_ahead;		/* rows ahead at present; grows as rows are
								 * returned */
	int			certain_rows;	/* rows of the batch that are certainly
								 * returned */
	int			next_row;		/* first row of the batch whose block was not
								 * prefetched */
	int			nresident;		/* blocks in a row that were in shared buffers */
	int			nskip;			/* blocks to skip before the next look-up */
	uint32		noted_rows;		/* blocks noted in lately since the batch
								 * began */
	BlockNumber last_block;		/* block of the row before `next_row` */
	BlockNumber recent_blocks[SKX_HEAP_RECENT_BLOCKS];	/* blocks that were
														 * prefetched or looked
														 * up */
} SkxHeapPrefetch;

/* Number of blocks whose read was begun by a prefetch, in this process. */
extern PGDLLIMPORT uint64 skx_snapshot_heap_asked;

/*
 * Returns how many rows ahead a scan of a table in this tablespace prefetches:
 * the larger of effective_io_concurrency and skipidx.io_depth, but 0 if the
 * former is 0.
 */
extern int	skx_snapshot_heap_depth(Oid tablespace);

/*
 * Sets the table of the scan; NULL: none.  Does nothing if that is the table
 * already, so that it may be called repeatedly.
 */
extern void skx_snapshot_heap_begin(SkxHeapPrefetch *a, Relation heap);

/*
 * Begins a batch of tids, of which the first `sure` rows will certainly be
 * returned.
 */
extern void skx_snapshot_heap_batch(SkxHeapPrefetch *a, int sure);

/*
 * Prefetches blocks of the rows after row `at` of a batch of n tids.  Called
 * by skx_snapshot_heap_prefetch() only.
 */
extern void skx_snapshot_heap_prefetch_more(SkxHeapPrefetch *a,
											const ItemPointerData *tids, int n,
											int at);

/* Prepares for a scan that begins again. */
static inline void
skx_snapshot_heap_restart(SkxHeapPrefetch *a)
{
	a->rows_ahead = 0;
}

/*
 * Prefetches blocks of the rows after row `at` of a batch of n tids.  The scan
 * calls it before it returns row `at`.
 */
static inline void
skx_snapshot_heap_prefetch(SkxHeapPrefetch *a, const ItemPointerData *tids,
						   int n, int at)
{
	if (a->max_rows_ahead > 0 && a->next_row < n)
		skx_snapshot_heap_prefetch_more(a, tids, n, at);
}

#endif							/* SKX_SNAPSHOT_H */
