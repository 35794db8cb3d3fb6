/*
 * am_scan.h
 *	  The state of an index scan.
 */
#ifndef SKX_AM_SCAN_H
#define SKX_AM_SCAN_H

#include "answer/order/order.h"
#include "answer/rows/rows.h"
#include "sql/am/am.h"
#include "sql/am/am_ask.h"

/* The state of an index scan, which is its `opaque`. */
typedef struct SkxScan
{
	MemoryContext context;		/* of the scan under way; reset by a rescan */
	bool		started;
	bool		fetches_all;	/* all rows will be fetched, as for a bitmap */
	SkxQuery   *query;			/* compiled from all keys */
	int			nqueries;		/* number of keys `text @@ query` */
	TSQuery    *queries;		/* of these keys */
	int			nconditions;	/* number of conditions from all other keys */
	SkxCondition *conditions;
	bool		lossy;			/* a condition needs a recheck */
	int			n;				/* TIDs in `tids` */
	int			next;			/* index of the next one to hand out */
	ItemPointerData *tids;
	SkxExec    *exec;			/* of rows in no order; else NULL */
	SkxRows    *rows;			/* the collector of `exec`; else NULL */
	const SkxView *view;		/* that `exec` reads */
	SkxScanWish wish;
	struct SkxRanked *ranked;	/* NULL: rows are not ranked */
	bool		asked;			/* whether `idle` has been set for a ranked
								 * scan by several processes */
	bool		idle;			/* other processes do all of its work */
	SkxOrderedRequest *request; /* NULL: rows are in no order of a column, or
								 * such a scan has not begun or has ended */
	SkxOrderedPart part;		/* what this process has taken of `request`,
								 * in a scan by several */
	SkxOrdered *ordered;		/* NULL: not begun, or it has ended */
	const uint64 *keys;			/* of the rows in `tids`, where several values
								 * may have one key; else NULL */
	SkxHeapAhead heap;			/* prefetch of blocks of the table */
	Oid			index;			/* of the ranked scan */
	uint64		ngiven;			/* rows handed out; 0 after a ranked scan */
	uint64		ndead;			/* of these, rows that were dead */
	SkxScanWork work;			/* of searches that have ended */
	SkxScanWork total;			/* `work` and what the search under way has
								 * done, for skx_am_scan_work() */
} SkxScan;

/* am_scan.c */

/*
 * Returns true if the key is `text @@ query` or `text @@@ query`: on the
 * tsvector, with one query, not ANY of an array or a disjunction.
 */
static inline bool
skx_am_scan_is_match(const ScanKeyData *key)
{
	return key->sk_attno == 1 &&
		key->sk_strategy != SKX_STRATEGY_DISJUNCTION &&
		(key->sk_flags & (SK_SEARCHARRAY | SK_SEARCHNULL |
						  SK_SEARCHNOTNULL)) == 0;
}

/*
 * Begins a scan: compiles its keys and takes the predicate locks of
 * SERIALIZABLE.  The caller takes the view after that.  Returns false if no
 * row matches, because a key is NULL or the query is empty.
 */
extern bool skx_am_scan_begin(IndexScanDesc scan);

/* Does all that comes before the first row of a scan. */
extern void skx_am_scan_start(IndexScanDesc scan);

/* am_dead.c */

/*
 * Notes that the row handed out last is dead to all snapshots, so that
 * searches may leave out its document.
 */
extern void skx_am_dead_note(IndexScanDesc scan);

/* am_predicate.c : predicate locks of SERIALIZABLE */

/*
 * Takes the predicate locks of a scan whose keys are not NULL.  Must be called
 * before the view is taken.  Does nothing at other isolation levels.
 */
extern void skx_am_predicate_read(IndexScanDesc scan);

/*
 * Checks an inserted document against the predicate locks of other
 * transactions; may raise a serialization failure.  Must be called after other
 * processes can read the document.  Does nothing at other isolation levels.
 */
extern void skx_am_predicate_insert(Relation index, TSVector value);

/* am_ranked.c : scans in the order of a distance */

/*
 * Begins a ranked scan, after its query was compiled and its snapshot taken.
 * Returns false if there is nothing to order by: no ORDER BY, or all distances
 * are NULL.  Raises an error for more than one distance.
 */
extern bool skx_am_ranked_start(IndexScanDesc scan);

/*
 * Returns true if other processes do all the work of the scan, and this one
 * has no rows to find.
 */
extern bool skx_am_ranked_idle(SkxScan *so);

/*
 * Sets `tids` and `n` to the next rows, best first.  The first call begins the
 * search.  Returns false at the end.
 */
extern bool skx_am_ranked_fetch(IndexScanDesc scan);

/*
 * Ends the search and adds its work to so->work.  Does nothing if rows are not
 * ranked.
 */
extern void skx_am_ranked_stop(SkxScan *so);

/* Notes that row i of so->tids is dead to all snapshots. */
extern void skx_am_ranked_note_dead(const SkxScan *so, int i);

/*
 * Returns how many rows the first search of a ranked scan of the index looks
 * for; 0: all.
 */
extern uint64 skx_am_ranked_rows(const SkxScan *so, Relation index);

/* Returns the scorer of the scan; NULL if rows are not ranked. */
extern const SkxScorer *skx_am_ranked_by(const SkxScan *so);

/* Fills in scorer, distance and place of the row handed out last. */
extern void skx_am_ranked_row(const SkxScan *so, SkxScanRow *row);

/* Adds the work of the ranked search under way, if there is one, to `work`. */
extern void skx_am_ranked_work(const SkxScan *so, SkxTopkWork *work);

/* am_ordered.c : scans in the order of a column */

/*
 * Sets so->request, after the query was compiled.  Returns false if so->wish
 * has no order of a column.
 */
extern bool skx_am_ordered_start(IndexScanDesc scan);

/*
 * Sets `tids`, `n` and `keys` to the next rows in order.  The first call
 * begins the search.  Returns false at the end.
 */
extern bool skx_am_ordered_fetch(SkxScan *so);

/*
 * Ends the search, if one is under way, and adds its work to so->work.
 */
extern void skx_am_ordered_stop(SkxScan *so);

/*
 * Sets the key of the row handed out last, where several values may share it.
 */
extern void skx_am_ordered_row(const SkxScan *so, SkxScanRow *row);

/*
 * Adds the work of the ordered search under way, if there is one, to `work`.
 */
extern void skx_am_ordered_work(const SkxScan *so, SkxOrderedWork *work);

#endif							/* SKX_AM_SCAN_H */
