/*
 * snapshot.h
 *	  What is read of an index: the segments of a view, then the documents
 *	  pending by it.
 */
#ifndef SKX_SNAPSHOT_H
#define SKX_SNAPSHOT_H

#include "index/pending/pending.h"
#include "index/segment/segment.h"

/*
 * One reader of an index.  All of it lives in the memory context that it was
 * opened in.
 */
typedef struct SkxSource
{
	Relation	rel;
	const SkxView *view;
	SkxBlkFile *file;			/* NULL: the view has no segments */
	int			next;			/* number of the next segment in the view */
	int			nsegments;		/* that are open, */
	SkxSegment **segments;		/* by their numbers, up to `next` */
	SkxPendingScan *pending;	/* NULL: not begun, or at its end */
	const uint64 *after;		/* after these; NULL: all */
	const SkxPendingBounds *only;	/* of these; NULL: all */
	MemoryContext context;
	MemoryContext document;		/* of a pending one; NULL: there was none */
} SkxSource;

/*
 * Of a view, which must stay: one taken now (skx_manifest_view()), or earlier
 * by what keeps it readable.
 */
extern SkxSource *skx_snapshot_open(Relation rel, const SkxView *view);

/* What is read will not be read again soon: skx_blkio_once(). */
extern void skx_snapshot_once(SkxSource *source);

/* Nor by others, and it is much: skx_blkio_past(), before next and at. */
extern void skx_snapshot_past(SkxSource *source);

/*
 * Closes the segments that are open, and opens the next ones, `most` at most;
 * the headers of several are asked for together.  Returns how many; 0 at the
 * end.
 */
#define SKX_SOURCE_ALL		PG_INT32_MAX

extern int	skx_snapshot_next(SkxSource *source, int most);

/* Closes them, and opens that one of the view. */
extern SkxSegment *skx_snapshot_at(SkxSource *source, int segment);

/*
 * Calls `visit` for each pending document, in a memory context that is reset
 * after it, until it returns false; the next call goes on from there.  Returns
 * false at the end, after which the next call begins again.  `last` is as for
 * skx_pending_begin().
 */
typedef bool (*SkxSourceVisit) (const SkxPendingDoc *doc, void *arg);
extern bool skx_snapshot_pending(SkxSource *source, const uint64 *last,
								 SkxSourceVisit visit, void *arg);

/*
 * From the next time that they begin, only those after the numbers of stripes,
 * and those that are wanted; NULL: all.
 */
extern void skx_snapshot_after(SkxSource *source, const uint64 *after);
extern void skx_snapshot_only(SkxSource *source, const SkxPendingBounds *only);

/*
 * The row of a document was seen to be dead to all snapshots of this server:
 * searches may leave the document out from now on.  Not to be called for what
 * was seen in a transaction that began in recovery.  Counted in dead_noted.
 */
typedef struct SkxSourcePlace
{
	const SkxSegment *segment;	/* NULL: pending, */
	int			stripe;			/* in this one */
	uint64		number;			/* of the document there */
} SkxSourcePlace;

extern PGDLLIMPORT uint64 skx_snapshot_dead_noted;

extern void skx_snapshot_note_dead(Relation rel, const SkxView *view,
								   const SkxSourcePlace *place);

/* Pending documents that were handed out, in this process. */
extern PGDLLIMPORT uint64 skx_snapshot_pending_read;

/* Closes all of it.  After an error there is nothing to be closed. */
extern void skx_snapshot_close(SkxSource *source);

/*
 * snapshot_heap.c : the table's blocks of rows that will be handed out, asked for
 * some rows ahead, as many as `depth` tells of the table's tablespace: the
 * larger one of effective_io_concurrency and skipidx.io_depth, none where the
 * former is 0
 *
 * begin is called with the table, as often as one likes; batch when there are
 * TIDs of further rows, of which the first `sure` will be wanted; ask before
 * row `at` of n is handed out.  restart is for a scan that begins anew.
 */
#define SKX_HEAP_LATELY		16

typedef struct SkxHeapAhead
{
	Relation	heap;			/* NULL: none is known */
	int			depth;			/* rows ahead, at most */
	int			reach;			/* now: grows as rows are handed out */
	int			sure;
	int			next;			/* the first row not asked for */
	int			found;			/* blocks found in shared buffers in a row */
	int			pass;			/* blocks not to be looked for */
	uint32		rows;			/* noted in lately */
	BlockNumber before;			/* of the row before `next` */
	BlockNumber lately[SKX_HEAP_LATELY];	/* asked for, or looked for */
} SkxHeapAhead;

/* Blocks for which a read was begun, in this process. */
extern PGDLLIMPORT uint64 skx_snapshot_heap_asked;

extern int	skx_snapshot_heap_depth(Oid tablespace);
extern void skx_snapshot_heap_begin(SkxHeapAhead *a, Relation heap);
extern void skx_snapshot_heap_batch(SkxHeapAhead *a, int sure);
extern void skx_snapshot_heap_ask_slow(SkxHeapAhead *a,
									   const ItemPointerData *tids, int n,
									   int at);

static inline void
skx_snapshot_heap_restart(SkxHeapAhead *a)
{
	a->reach = 0;
}

static inline void
skx_snapshot_heap_ask(SkxHeapAhead *a, const ItemPointerData *tids, int n,
					  int at)
{
	if (a->depth > 0 && a->next < n)
		skx_snapshot_heap_ask_slow(a, tids, n, at);
}

#endif							/* SKX_SNAPSHOT_H */
