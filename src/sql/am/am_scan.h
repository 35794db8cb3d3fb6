/*
 * am_scan.h
 *	  The state of an index scan.
 */
#ifndef SKX_AM_SCAN_H
#define SKX_AM_SCAN_H

#include "access/relscan.h"
#include "answer/order/order.h"
#include "answer/rows/rows.h"
#include "answer/topk/topk_share.h"
#include "answer/topk/topk_token.h"
#include "index/snapshot/snapshot.h"
#include "read/query/query.h"
#include "sql/am/am.h"

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
	struct SkxRanked *ranked;	/* NULL: rows come in no order */
	SkxTopkShare *share;		/* of a ranked scan with other processes */
	bool		asked;			/* whether this one has to do something there, */
	bool		idle;			/* and it has not */
	bool		has_order;		/* rows are to come in it: */
	SkxScanOrder order;
	SkxOrderedRequest request;
	SkxOrderedPart part;		/* of it, with other processes */
	SkxOrdered *ordered;		/* NULL: they do not, or it has ended */
	const uint64 *keys;			/* of its rows, if they are coarse */
	SkxOrderedWork ordered_work;	/* of scans before the last rescan, */
	SkxOrderedWork ordered_total;	/* and with that of the current one */
	SkxHeapAhead heap;
	SkxScanReads reads;			/* of all rescans */
	uint64		wanted;			/* rows, about; 0: not known */
	Oid			index;			/* of the ranked scan */
	uint64		ngiven;			/* rows of it, and those of them .. */
	uint64		ndead;			/* .. that were dead */
	bool		wants_all;		/* and all others, should these not do */
	float4		floor;			/* rows with a larger distance are not wanted;
								 * 0: all are */
	uint64		share_rows;		/* that the memory for `share` is for */
	const SkxTopkPage *page;	/* NULL: rows from the first on */
	SkxTopkWork work;			/* of ranked scans before the last rescan, */
	SkxTopkWork total;			/* and with that of the current one */
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
 * A request for all rows of a scan that was not begun, which looks them up in
 * the table; false: no row matches, and there is neither a view nor a query.
 * share: of all processes, or NULL.
 */
extern bool skx_am_scan_request(IndexScanDesc scan, SkxShare *share,
								SkxRequest *request);

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
 * idle: other processes do all of it.
 */
extern bool skx_am_ranked_start(IndexScanDesc scan);
extern bool skx_am_ranked_idle(SkxScan *so);
extern bool skx_am_ranked_fetch(IndexScanDesc scan);
extern void skx_am_ranked_stop(SkxScan *so);
extern void skx_am_ranked_note_dead(const SkxScan *so, int i);

/* am_ordered.c : the same for the order of a column */
extern bool skx_am_ordered_start(IndexScanDesc scan);
extern bool skx_am_ordered_fetch(SkxScan *so);
extern void skx_am_ordered_stop(SkxScan *so);

#endif							/* SKX_AM_SCAN_H */
