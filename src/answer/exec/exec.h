/*
 * exec.h
 *	  The one loop that answers: it goes through all matches of an index and
 *	  hands them to a collector, which does with them what is wanted.
 */
#ifndef SKX_EXEC_H
#define SKX_EXEC_H

#include "answer/exec/exec_share.h"
#include "executor/tuptable.h"
#include "index/pending/pending.h"
#include "index/snapshot/snapshot.h"
#include "read/query/query.h"
#include "utils/snapshot.h"

/* A question to an index.  All of it stays as long as it is answered. */
typedef struct SkxRequest
{
	Relation	index;
	const SkxView *view;		/* skx_exec_view(), taken after the snapshot */
	const SkxQuery *query;		/* NULL: every document matches of which the
								 * collector does not know better */
	SkxShare   *share;			/* with other processes; NULL: alone */
	const uint64 *last;			/* pending documents that count, as for
								 * skx_pending_begin(); NULL: all */

	/* for collectors that look rows up in the table; else unset */
	Relation	heap;
	Snapshot	snapshot;
	bool		(*recheck) (TupleTableSlot *row, void *arg);	/* NULL: the index is
																 * exact */
	void	   *arg;
} SkxRequest;

/* Documents [from, to) of a segment. */
typedef struct SkxExecRange
{
	SkxSegment *segment;
	int			number;			/* of the segment: they come as 0, 1, ... */
	uint32		from;
	uint32		to;
	SkxQueryScan *matches;		/* those among these documents; NULL where the
								 * collector chooses its ranges */
	SkxQueryVisit *visit;		/* the same for such a collector; else NULL */
	uint32		next;			/* the document where `visit` goes on */
} SkxExecRange;

typedef struct SkxCollector SkxCollector;

/* What a collector says of the matches that it was given. */
typedef enum SkxCollected
{
	SKX_COLLECT_MORE,			/* it takes the next ones, too */
	SKX_COLLECT_FULL,			/* it has no room for the next ones */
	SKX_COLLECT_ENOUGH			/* it wants no more of this segment; with
								 * other processes, of this range */
} SkxCollected;

/*
 * What a collector does.  Methods that it has no use for are NULL, but never
 * `pending`, nor `collect` unless it answers all ranges by itself.  They are
 * called in the memory context of
 * skx_exec_begin(), except where another one is named.
 *
 * A segment comes as one range, or as those that the collector wants, or, with
 * other processes, as those that this process has taken.  Ranges of a segment
 * ascend, and follow each other; pending documents come last.  An error may
 * end it all between any two calls, and so may skx_exec_end(): no method is
 * called then.
 */
typedef struct SkxCollectorMethods
{
	/*
	 * Called in skx_exec_begin(), with all segments of the view, which stay
	 * open up to the end then.  Puts their places in `segments` into `order`:
	 * segment order[0] comes first.  With other processes the order is the
	 * same in all. No method: segments come as the view has them, and are
	 * opened when they are due.
	 */
	void		(*order) (SkxCollector *c, SkxSegment *const *segments, int n,
						  int *order);

	/*
	 * Answers a range by itself, if it can, without `matches` and `visit`,
	 * which are not open yet.  True: it has done so, and no other method is
	 * called for the range.  A collector with this method has no method
	 * `range`.
	 */
	bool		(*answer) (SkxCollector *c, const SkxExecRange *range);

	/*
	 * The next range of a segment that is wanted: from *to on, which is 0 at
	 * first.  False: there is none any more.  No method: the segment as a
	 * whole.  Not called with other processes.
	 */
	bool		(*range) (SkxCollector *c, SkxSegment *segment, uint32 *from,
						  uint32 *to);

	/*
	 * Before the matches of a range.  False: the collector has taken them all
	 * by itself, through range->matches.
	 */
	bool		(*begin) (SkxCollector *c, const SkxExecRange *range);

	/*
	 * The next n live matches, SKX_QUERY_DOCS at most, ascending.  `docs` may
	 * be overwritten, and stays until skx_exec_next() is called again.
	 */
	SkxCollected (*collect) (SkxCollector *c, const SkxExecRange *range,
							 uint32 *docs, int n);

	/*
	 * After the last match of a range.  False: the collector has forgotten
	 * what it had of the range, and wants it again, from `begin` on.
	 */
	bool		(*end) (SkxCollector *c, const SkxExecRange *range);

	/* Nothing of the segment comes any more; it is still open. */
	void		(*leave) (SkxCollector *c, SkxSegment *segment);

	/*
	 * Before the pending documents.  False: none of them is wanted; else the
	 * collector may set *bounds, which tell those that are not
	 * (skx_snapshot_only).
	 */
	bool		(*enter) (SkxCollector *c, const SkxPendingBounds **bounds);

	/*
	 * Is a pending document wanted, if it matches?  Asked before that is
	 * found out; `pending` or `wants` of another document is called next.  No
	 * method: all are.
	 */
	bool		(*wants) (SkxCollector *c, const SkxPendingDoc *doc);

	/*
	 * A pending document that matches, in a memory context that is reset
	 * after it.  False: the collector is full.
	 */
	bool		(*pending) (SkxCollector *c, const SkxPendingDoc *doc);

	/*
	 * The collector is full, or there are no more pending documents.  True:
	 * it has made room.  False, or no method: the caller has to take out
	 * first what it holds.
	 */
	bool		(*drain) (SkxCollector *c);
} SkxCollectorMethods;

/* The first member of each collector. */
struct SkxCollector
{
	const SkxCollectorMethods *methods;
	bool		wants_all;		/* every match will be asked for: segments are
								 * opened together, batches large at once */
	uint32		parts;			/* ranges of a segment at most, with other
								 * processes */
};

typedef struct SkxExec SkxExec;

/*
 * The view of the index to read, in the current memory context: that of all
 * processes where there are others (share is not NULL), else one taken now.
 */
extern const SkxView *skx_exec_view(Relation index, SkxShare *share);

/* Begins an answer, in the current memory context; nothing is read yet. */
extern SkxExec *skx_exec_begin(const SkxRequest *request,
							   SkxCollector *collector);

/*
 * Goes on until the collector is full (true), or nothing is left (false): then
 * the collector may still hold something, and further calls do nothing.
 */
extern bool skx_exec_next(SkxExec *exec);

/*
 * After the end, and after the collector has put what it found where the other
 * processes see it: are all ranges of all processes done now?  True in one of
 * them, or alone.
 */
extern bool skx_exec_is_last(SkxExec *exec);

/* After that: waits until they are, if this process is not that one. */
extern void skx_exec_wait(SkxExec *exec);

/*
 * After the end: the same again from the first segment on, alone.  For collectors
 * with `order`, whose segments are still open.
 */
extern void skx_exec_again(SkxExec *exec);

/*
 * Frees it and closes what it has open, at any time.  Does not touch the memory
 * that is shared, which may be gone.
 */
extern void skx_exec_end(SkxExec *exec);

#endif							/* SKX_EXEC_H */
