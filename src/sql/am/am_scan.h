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

typedef struct SkxScan
{
	MemoryContext context;		/* everything below; reset by a rescan */
	bool		started;
	bool		fetches_all;	/* the whole answer will be fetched */
	SkxQuery   *query;
	int			nqueries;		/* of it: `text @@ query`, */
	TSQuery    *queries;
	int			nconditions;	/* of it: keys other than `text @@ query` */
	SkxCondition *conditions;
	bool		lossy;			/* one of these needs a recheck */
	int			n;				/* TIDs fetched ... */
	int			next;			/* ... and handed out */
	ItemPointerData *tids;
	SkxExec    *exec;			/* of rows in no order; else NULL, */
	SkxRows    *rows;			/* as these two are */
	const SkxView *view;
	SkxScanWish wish;
	struct SkxRanked *ranked;	/* NULL: rows are not ranked */
	bool		asked;			/* whether this process has something to do in
								 * a ranked scan of several, */
	bool		idle;			/* and it has not */
	SkxOrderedRequest *request; /* NULL: rows come in no order of a column, or
								 * that was not begun */
	SkxOrderedPart part;		/* of it, with other processes */
	SkxOrdered *ordered;		/* NULL: not begun, or it has ended */
	const uint64 *keys;			/* of its rows, if they are coarse */
	SkxHeapAhead heap;
	Oid			index;			/* of the ranked scan */
	uint64		ngiven;			/* rows of it, and those of them .. */
	uint64		ndead;			/* .. that were dead */
	SkxScanWork work;			/* of what has ended, */
	SkxScanWork total;			/* and with that of what is under way */
} SkxScan;

/*
 * am_scan.c
 *
 * is_match: is it `text @@ query`, and not `text @@ ANY (queries)`?  begin
 * compiles the keys; false: no row matches.  What follows takes a view.
 * start does all that comes before the first row.
 */
extern bool skx_am_scan_is_match(const ScanKeyData *key);
extern bool skx_am_scan_begin(IndexScanDesc scan);
extern void skx_am_scan_start(IndexScanDesc scan);

/*
 * am_dead.c : the row given out last is dead to all
 */
extern void skx_am_dead_note(IndexScanDesc scan);

/*
 * am_predicate.c : SERIALIZABLE
 *
 * read is called with keys that are not NULL, before the view is taken; insert
 * when the document can be read (NULL: it has no lexemes).
 */
extern void skx_am_predicate_read(IndexScanDesc scan);
extern void skx_am_predicate_insert(Relation index, TSVector value);

/*
 * am_ranked.c
 *
 * start is called with the compiled query, after the snapshot; false: there is
 * nothing to order by.  fetch fills so->tids as a scan without order does.
 * idle: other processes do all of it.  rows: that the first search is for.
 */
extern bool skx_am_ranked_start(IndexScanDesc scan);
extern bool skx_am_ranked_idle(SkxScan *so);
extern bool skx_am_ranked_fetch(IndexScanDesc scan);
extern void skx_am_ranked_stop(SkxScan *so);
extern void skx_am_ranked_note_dead(const SkxScan *so, int i);
extern uint64 skx_am_ranked_rows(const SkxScan *so, Relation index);
extern const SkxScorer *skx_am_ranked_by(const SkxScan *so);
extern void skx_am_ranked_row(const SkxScan *so, SkxScanRow *row);
extern void skx_am_ranked_work(const SkxScan *so, SkxTopkWork *work);

/* am_ordered.c : the same for the order of a column */
extern bool skx_am_ordered_start(IndexScanDesc scan);
extern bool skx_am_ordered_fetch(SkxScan *so);
extern void skx_am_ordered_stop(SkxScan *so);
extern void skx_am_ordered_row(const SkxScan *so, SkxScanRow *row);
extern void skx_am_ordered_work(const SkxScan *so, SkxOrderedWork *work);

#endif							/* SKX_AM_SCAN_H */
