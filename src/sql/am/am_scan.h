/*
 * am_scan.h
 *	  The state of an index scan.
 */
#ifndef SKX_AM_SCAN_H
#define SKX_AM_SCAN_H

#include "answer/order/order.h"
#include "answer/rows/rows.h"
#include "sql/am/am.h"
#include "sql/am/am_desc.h"
#include "support/sessioncache/sessioncache.h"

/* The state of an index scan, which is its `opaque`. */
typedef struct SkxScan
{
	SkxScanDesc desc;
	MemoryContext context;		/* of the scan under way; reset by a rescan */
	bool		has_begun;
	bool		fetches_all_rows;	/* all rows will be fetched, as for a
									 * bitmap */
	MemoryContext outer;		/* restored by skx_am_scan_leave() */
	SkxScanReads before;		/* reads of this process at
								 * skx_am_scan_enter() */
	int			nqueries;		/* number of keys `text @@ query` */
	TSQuery    *queries;		/* of these keys */
	int			nconditions;	/* number of conditions from all other keys */
	SkxCondition *conditions;
	int			n;				/* TIDs in `tids` */
	int			next_tid;		/* index of the next one to hand out */
	ItemPointerData *tids;
	const SkxTopkHit *hits;		/* of the rows in `tids`; NULL: not ranked */
	const uint64 *keys;			/* of the rows in `tids`, where several values
								 * may have one key; else NULL */
	SkxExec    *exec;			/* of rows in no order; else NULL */
	SkxRows    *rows;			/* the collector of `exec`; else NULL */
	SkxTopk    *topk;			/* NULL: not begun, or rows are not ranked */
	bool		idle_is_known;	/* whether `is_idle` has been set for a ranked
								 * scan by several processes */
	bool		is_idle;		/* other processes do all of its work */
	SkxOrderedPart ordered_part;	/* what this process has taken of an
									 * ordered scan by several */
	SkxOrdered *ordered;		/* NULL: not begun, or it has ended */
	SkxHeapPrefetch heap_prefetch;	/* prefetch of blocks of the table */
	SkxSessionKey key;			/* of the index, in a ranked scan */
	uint64		ndead;			/* of the rows handed out by a ranked scan,
								 * those that were dead */
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

/* am_dead.c */

/*
 * Notes that the row handed out last is dead to all snapshots, so that
 * searches may leave out its document.
 */
extern void skx_am_remember_dead(IndexScanDesc scan);

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
 * Sets desc.scorer and desc.rows, after the query was compiled and the snapshot
 * taken.  Returns false if there is nothing to order by: no ORDER BY, or all
 * distances are NULL.  Raises an error for more than one distance.
 */
extern bool skx_am_ranked_begin(IndexScanDesc scan);

/*
 * Returns true if other processes do all the work of the scan, and this one
 * has no rows to find.
 */
extern bool skx_am_ranked_is_idle(SkxScan *so);

/*
 * Sets `tids`, `n` and `hits` to the next rows, best first.  The first call
 * begins the search.  Returns false at the end.
 */
extern bool skx_am_ranked_fetch(IndexScanDesc scan);

/* Ends the search.  Does nothing if rows are not ranked. */
extern void skx_am_ranked_end(SkxScan *so);

/* am_ordered.c : scans in the order of a column */

/*
 * Sets desc.ordered, after the query was compiled.  Returns false if no order
 * of a column is asked for.
 */
extern bool skx_am_ordered_prepare(IndexScanDesc scan);

/*
 * Sets `tids`, `n` and `keys` to the next rows in order.  The first call
 * begins the search.  Returns false at the end.
 */
extern bool skx_am_ordered_fetch(SkxScan *so);

/* Ends the search, if one is under way. */
extern void skx_am_ordered_end(SkxScan *so);

#endif							/* SKX_AM_SCAN_H */
