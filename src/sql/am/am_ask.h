/*
 * am_ask.h
 *	  What is asked of a scan beyond its keys, and what it tells beyond rows: by
 *	  custom scans (plan/) and SQL functions (functions/).
 */
#ifndef SKX_AM_ASK_H
#define SKX_AM_ASK_H

#include "access/relscan.h"
#include "answer/exec/exec.h"
#include "answer/order/order_share.h"
#include "answer/topk/topk_share.h"
#include "answer/topk/topk_token.h"

/*
 * am_reads.c : what a scan has read of its index so far, rescans included; the
 * rows' blocks are not among it.  All members are counts.
 */
typedef struct SkxScanReads
{
	uint64		blocks;			/* pages, past the cache */
	uint64		hits;			/* frames, in it */
	uint64		rounds;			/* of reads that wait for each other */
	uint64		nodes;			/* of skip lists, */
	uint64		passed;			/* and those passed over without reading */
	uint64		subblocks;
	uint64		positions;		/* position blocks */
} SkxScanReads;

#define SKX_SCAN_READS	(sizeof(SkxScanReads) / sizeof(uint64))

/* Those of this process; what came since then, to be added to a scan's. */
extern void skx_am_reads_now(SkxScanReads *now);
extern void skx_am_reads_since(IndexScanDesc scan, const SkxScanReads *before);

/* Adds one sum to another. */
extern void skx_am_reads_add(SkxScanReads *sum, const SkxScanReads *more);

/* ---- an answer that is not row by row ---- */

/* am_ask.c */
typedef struct SkxAsk
{
	SkxRequest	request;		/* for all rows of the scan; it looks them up */
	bool		lossy;			/* rows have to be tested with the conditions */
	IndexScanDesc scan;
	SkxScanReads before;
	MemoryContext old;
} SkxAsk;

/*
 * Begins a scan that was not begun and has no order, as its first row would: the
 * view is taken after the snapshot, and after the locks of SERIALIZABLE.  share:
 * of all processes, whose view it is; NULL: there are no others.  False: no row
 * matches, and there is neither a view nor a query.
 *
 * Up to skx_am_ask_end(), which is called in any case, memory is that of the
 * scan; what the request points to stays until the scan is begun anew or ends.
 */
extern bool skx_am_ask(IndexScanDesc scan, SkxShare *share, SkxAsk *ask);
extern void skx_am_ask_end(SkxAsk *ask);

/* After that: goes on with what the request was for, up to its next end. */
extern void skx_am_ask_more(SkxAsk *ask);

/* ---- a scan with an order ---- */

/* The order of a column beside the text. */
typedef struct SkxScanOrder
{
	int			column;			/* from 0 */
	bool		descending;
	bool		nulls_first;
	uint64		wanted;			/* rows that will be fetched, about; 0: not
								 * known */
	SkxOrderedShare *share;		/* NULL: by this process alone */
} SkxScanOrder;

/*
 * What a scan is to do, beyond its keys.  It stays over rescans, but for `floor`.
 * Told before the first row, except where another time is named.
 */
typedef struct SkxScanWish
{
	uint64		wanted;			/* rows of a ranked scan that will be fetched,
								 * about; 0: not known */
	bool		wants_all;		/* and all others, should these not do */
	float4		floor;			/* rows with a larger distance are not wanted;
								 * 0: all are; at any time, and never larger
								 * than before */
	const SkxTopkPage *page;	/* only rows behind one, under the statistics
								 * that it was given out by; NULL: all */
	SkxTopkShare *share;		/* of a ranked scan with other processes; NULL
								 * when there are none any more */
	const SkxScanOrder *order;	/* NULL: that of the distance, or none */
} SkxScanWish;

extern SkxScanWish *skx_am_scan_wish(IndexScanDesc scan);

/*
 * Does what comes before the first row, if that was not done.  What is pointed to
 * stays until the scan is begun anew or ends.
 */
typedef struct SkxScanBegun
{
	const SkxQuery *query;		/* NULL: no row matches */
	const SkxScorer *scorer;	/* NULL: rows are not ranked */
	uint64		rows;			/* that the first search is for; 0: all */
	const SkxOrderedRequest *order; /* NULL: rows are in no order of a column */
} SkxScanBegun;

extern void skx_am_scan_begun(IndexScanDesc scan, SkxScanBegun *begun);

/* Of the row that was fetched last. */
typedef struct SkxScanRow
{
	const SkxScorer *scorer;	/* NULL: it was not ranked, or there was none */
	bool		has_distance;	/* else it is NULL */
	float4		distance;
	SkxTopkAfter place;			/* in the order of distances, for pages */
	bool		shared_key;		/* others with its key may have another value */
	uint64		key;
} SkxScanRow;

extern void skx_am_scan_row(IndexScanDesc scan, SkxScanRow *row);

/* What it did, of all rescans.  Valid until the next call. */
typedef struct SkxScanWork
{
	SkxScanReads reads;
	SkxTopkWork ranked;
	SkxOrderedWork ordered;
} SkxScanWork;

extern const SkxScanWork *skx_am_scan_work(IndexScanDesc scan);

#endif							/* SKX_AM_ASK_H */
