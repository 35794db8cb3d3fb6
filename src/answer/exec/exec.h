/*
 * exec.h
 *	  The one loop that executes all kinds of queries: it finds all matches in
 *	  an index and hands them to a collector, which processes them.
 */
#ifndef SKX_EXEC_H
#define SKX_EXEC_H

#include "answer/exec/exec_share.h"
#include "executor/tuptable.h"
#include "index/pending/pending.h"
#include "index/snapshot/snapshot.h"
#include "read/query/query.h"
#include "utils/snapshot.h"

/*
 * A request to an index.  The struct and what it points to must stay valid
 * and unchanged while it is executed.
 */
typedef struct SkxRequest
{
	Relation	index;
	const SkxView *view;		/* skx_exec_view(), taken after the snapshot */
	const SkxQuery *query;		/* NULL: every document matches, unless the
								 * collector excludes it */
	SkxExecShared *share;		/* shared with other processes; NULL: this
								 * process is alone */
	const uint64 *pending_end;	/* end of the pending documents to read, as
								 * for skx_pending_begin(); NULL: all */

	/* set only for collectors that look rows up in the table */
	Relation	heap;
	Snapshot	snapshot;
	bool		(*recheck) (TupleTableSlot *row, void *arg);	/* NULL: the index is
																 * exact */
	void	   *arg;			/* passed to recheck */
} SkxRequest;

/* A range of documents of one segment: [from, to). */
typedef struct SkxExecRange
{
	SkxSegment *segment;
	int			number;			/* of the segment: they come as 0, 1, ... */
	uint32		from;
	uint32		to;
	SkxDocs    *matches;		/* the matches in the range */
	uint32		next_doc;		/* further ones are not below this document */
} SkxExecRange;

typedef struct SkxCollector SkxCollector;

/* Result of a collector after it was given matches. */
typedef enum SkxCollected
{
	SKX_COLLECT_MORE,			/* it accepts the next matches */
	SKX_COLLECT_FULL,			/* it has no capacity for more matches */
	SKX_COLLECT_ENOUGH			/* it wants no more of this segment; with
								 * other processes, of this range */
} SkxCollected;

/*
 * Methods of a collector.  Optional methods are NULL if the collector does
 * not need them.  `collect_pending` is required, and so is `collect_matches`,
 * unless the collector answers all ranges itself.  Methods are called in the
 * memory context of skx_exec_begin(), unless their comment names another one.
 *
 * A segment is handed over as one range, or as the ranges that the collector
 * chooses.  With other processes, it is handed over as the ranges that this
 * process has taken.  Ranges of a segment ascend and do not overlap; pending
 * documents come last.  An error or skx_exec_end() may end the execution
 * between any two calls, and no method is called after that.
 */
typedef struct SkxCollectorMethods
{
	/*
	 * Chooses the order of the segments.  Called in skx_exec_begin() with all
	 * n segments of the view, which then stay open until the end.  Puts the
	 * indexes of `segments` into `order_segments`: segment order[0] comes
	 * first.  All processes must choose the same order.  NULL: segments come
	 * in the order of the view, and each is opened when it is due.
	 */
	void		(*order_segments) (SkxCollector *c,
								   SkxSegment *const *segments, int n,
								   int *order);

	/*
	 * Tries to answer a range itself, without range->matches, which is not
	 * open yet.  Returns true if it did; then no other method is called for
	 * the range.  A collector with this method must not have the method
	 * `choose_range`.
	 */
	bool		(*answer_range) (SkxCollector *c, const SkxExecRange *range);

	/*
	 * Sets [*from, *to) to the next range of a segment that is wanted, which
	 * begins at the old *to or later.  *to is 0 at first.  Returns false if
	 * no further range is wanted.  NULL: the whole segment is one range.  Not
	 * called with other processes.
	 */
	bool		(*choose_range) (SkxCollector *c, SkxSegment *segment,
								 uint32 *from, uint32 *to);

	/*
	 * Called before the matches of a range.  Returns false if the collector
	 * has taken all of them itself, through range->matches.
	 */
	bool		(*begin_range) (SkxCollector *c, const SkxExecRange *range);

	/*
	 * Takes the next n live matches, at most SKX_QUERY_BATCH_DOCS, in
	 * ascending order.  The method may overwrite `docs`, which stays valid
	 * until the next call of skx_exec_next().
	 */
	SkxCollected (*collect_matches) (SkxCollector *c,
									 const SkxExecRange *range, uint32 *docs,
									 int n);

	/*
	 * Called after the last match of a range.  Returns false if the collector
	 * has discarded the matches of the range and wants them again, starting
	 * with `begin_range`.
	 */
	bool		(*end_range) (SkxCollector *c, const SkxExecRange *range);

	/* Called after the last range of a segment, which is still open. */
	void		(*end_segment) (SkxCollector *c, SkxSegment *segment);

	/*
	 * Called before the pending documents.  Returns false if none of them is
	 * wanted.  Otherwise it may set *bounds, by which documents that are not
	 * wanted are skipped unread (skx_snapshot_bound_pending()).
	 */
	bool		(*begin_pending) (SkxCollector *c,
								  const SkxPendingBounds **bounds);

	/*
	 * Returns true if a pending document is wanted, provided that it matches.
	 * Called before the document is matched.  The next call after it is
	 * `collect_pending` for the same document, or `wants_pending` for another
	 * one.  NULL: all documents are wanted.
	 */
	bool		(*wants_pending) (SkxCollector *c, const SkxPendingDoc *doc);

	/*
	 * Takes a pending document that matches.  Called in a memory context that
	 * is reset after the document.  Returns false if the collector is full.
	 */
	bool		(*collect_pending) (SkxCollector *c, const SkxPendingDoc *doc);

	/*
	 * Called when the collector is full, or after the last pending document.
	 * Returns true if the collector has freed capacity.  If it returns false
	 * or is NULL, skx_exec_next() returns, and its caller has to take out
	 * what the collector holds.
	 */
	bool		(*drain_batch) (SkxCollector *c);
} SkxCollectorMethods;

/* A collector.  The struct of each kind of collector begins with it. */
struct SkxCollector
{
	const SkxCollectorMethods *methods;
	bool		wants_all;		/* every match will be asked for: segments are
								 * opened together, batches large at once */
	uint32		max_parts;		/* ranges of a segment at most, with other
								 * processes */
};

typedef struct SkxExec SkxExec;

/*
 * Returns the view of the index to read.  If share is NULL, it is taken now;
 * otherwise it is the one view of all processes (skx_exec_share_view()).  It
 * is allocated in the current memory context.
 */
extern const SkxView *skx_exec_view(Relation index, SkxExecShared *share);

/*
 * Begins to execute a request, in the current memory context.  Reads no
 * matches yet.  Without the method `order_segments`, no segment is opened yet
 * either.
 */
extern SkxExec *skx_exec_begin(const SkxRequest *request,
							   SkxCollector *collector);

/*
 * Hands matches to the collector until it is full (returns true) or no match
 * is left (returns false).  After false the collector may still hold matches,
 * and further calls do nothing.
 */
extern bool skx_exec_next(SkxExec *exec);

/*
 * Reports that this process is done.  Returns true if all ranges of all
 * processes are done, which holds in exactly one process, or if this process
 * is alone.  To be called once, after skx_exec_next() has returned false.  By
 * then the collector must have put its results where other processes see
 * them.
 */
extern bool skx_exec_finish_process(SkxExec *exec);

/*
 * Waits until the ranges of all processes are done.  To be called after
 * skx_exec_finish_process().  Returns at once if this process is alone.
 */
extern void skx_exec_wait_others(SkxExec *exec);

/*
 * Restarts the execution at the first segment, by this process alone.  To be
 * called before the first skx_exec_next(), or after it has returned false.
 * Only for collectors with the method `order_segments`, whose segments are
 * still open.
 */
extern void skx_exec_restart_alone(SkxExec *exec);

/*
 * Frees the execution and closes all that it has open.  May be called at any
 * time.  Does not access the shared memory, which may be gone.
 */
extern void skx_exec_end(SkxExec *exec);

#endif							/* SKX_EXEC_H */
