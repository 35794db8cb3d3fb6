/*
 * am_ask.h
 *	  Requests to a scan beyond its keys, and results beyond its rows, for
 *	  custom scans (plan/) and SQL functions (functions/).
 */
#ifndef SKX_AM_ASK_H
#define SKX_AM_ASK_H

#include "access/relscan.h"
#include "answer/exec/exec.h"
#include "answer/order/order_share.h"
#include "answer/topk/topk_share.h"
#include "answer/topk/topk_token.h"

/* am_reads.c : what scans read of their index */

/*
 * What a scan has read of its index so far, rescans included.  Blocks of the
 * table are not counted.  All members are counts, of type uint64.
 */
typedef struct SkxScanReads
{
	uint64		blocks;			/* pages that were not in the block cache */
	uint64		hits;			/* frames that were found in the block cache */
	uint64		rounds;			/* rounds of reads, each of which waits for
								 * the one before */
	uint64		nodes;			/* nodes of skip lists that were read */
	uint64		passed;			/* nodes that were passed over unread */
	uint64		subblocks;		/* sub-blocks of postings */
	uint64		positions;		/* position blocks */
} SkxScanReads;

/* Number of counts in SkxScanReads. */
#define SKX_SCAN_READS	(sizeof(SkxScanReads) / sizeof(uint64))

/* Fills in all that this process has read so far, in scans of all indexes. */
extern void skx_am_reads_now(SkxScanReads *now);

/*
 * Adds to the counts of the scan what this process has read since
 * skx_am_reads_now() filled in `before`.
 */
extern void skx_am_reads_since(IndexScanDesc scan, const SkxScanReads *before);

/* Adds each count of `more` to the one of `sum`. */
extern void skx_am_reads_add(SkxScanReads *sum, const SkxScanReads *more);

/* ---- answers that are not row by row ---- */

/* am_ask.c */

/* A scan that is answered by a collector of its caller (answer/exec/). */
typedef struct SkxAsk
{
	SkxRequest	request;		/* for all rows of the scan, with the table to
								 * look them up */
	bool		lossy;			/* rows have to be tested against the
								 * conditions */
	IndexScanDesc scan;
	SkxScanReads before;		/* reads of this process at the start */
	MemoryContext old;			/* restored by skx_am_ask_end() */
} SkxAsk;

/*
 * Begins a scan as its first row would, and fills in the request.  The scan
 * must not have begun and must have no ORDER BY.  The view is taken after the
 * snapshot, and after the predicate locks of SERIALIZABLE.
 *
 * `share` is what the processes of a parallel scan share, their view included;
 * NULL if there is only this process.  Returns false if no row matches: then
 * the request has neither a view nor a query.
 *
 * The current memory context is that of the scan until skx_am_ask_end(), which
 * must be called in any case.  What the request points to stays until the next
 * rescan or the end of the scan.
 */
extern bool skx_am_ask(IndexScanDesc scan, SkxShare *share, SkxAsk *ask);

/*
 * Restores the memory context and adds what was read to the counts of the
 * scan.  Up to PostgreSQL 16 it raises "snapshot too old" if VACUUM may have
 * removed what the snapshot sees.
 */
extern void skx_am_ask_end(SkxAsk *ask);

/*
 * Goes on with a request after skx_am_ask_end(), up to the next call of that:
 * switches to the memory context of the scan and counts reads again.
 */
extern void skx_am_ask_more(SkxAsk *ask);

/* ---- a scan with an order ---- */

/* Asks for rows in the order of a column other than the tsvector. */
typedef struct SkxScanOrder
{
	int			column;			/* of the index, from 0 */
	bool		descending;
	bool		nulls_first;
	uint64		wanted;			/* about how many rows will be fetched; 0 if
								 * that is not known */
	SkxOrderedShare *share;		/* of a scan by several processes; NULL if
								 * there is only this one */
} SkxScanOrder;

/*
 * What a scan is asked to do beyond its keys.  It keeps this over rescans,
 * but for `floor`, which a rescan sets to 0.  Members are set before the
 * first row, except where the comment names another time.
 */
typedef struct SkxScanWish
{
	uint64		wanted;			/* about how many rows of a ranked scan will
								 * be fetched; 0 if that is not known */
	bool		wants_all;		/* all other rows are wanted, too, if the
								 * first `wanted` do not suffice */
	float4		floor;			/* rows with a larger distance are not wanted;
								 * 0: all are.  May be set at any time, and
								 * must never rise */
	const SkxTopkPage *page;	/* only rows after this one are wanted, scored
								 * by the statistics in it; NULL: all */
	SkxTopkShare *share;		/* of a ranked scan by several processes; NULL
								 * if there is only this one */
	const SkxScanOrder *order;	/* of a column; NULL: the order is by
								 * distance, or there is none */
} SkxScanWish;

/* Returns the wish of the scan, for the caller to read and to change. */
extern SkxScanWish *skx_am_scan_wish(IndexScanDesc scan);

/* What is known of a scan before it hands out a row. */
typedef struct SkxScanBegun
{
	const SkxQuery *query;		/* NULL: no row matches */
	const SkxScorer *scorer;	/* NULL: rows are not ranked */
	uint64		rows;			/* number of rows that the first search of a
								 * ranked scan looks for; 0: all */
	const SkxOrderedRequest *order; /* NULL: not in the order of a column */
} SkxScanBegun;

/*
 * Fills in `begun`, after doing what comes before the first row if that was
 * not done yet.  What its members point to stays until the next rescan or the
 * end of the scan.
 */
extern void skx_am_scan_begun(IndexScanDesc scan, SkxScanBegun *begun);

/* What a scan knows of the row that it has handed out last. */
typedef struct SkxScanRow
{
	const SkxScorer *scorer;	/* NULL: the row was not ranked, or there was
								 * none; then `distance` and `place` are not
								 * set */
	bool		has_distance;	/* false: the distance is NULL */
	float4		distance;
	SkxTopkAfter place;			/* in the order of distances, for pages */
	bool		shared_key;		/* rows with another value of the column of
								 * the order may have the same key */
	uint64		key;			/* of that column's value; set if shared_key */
} SkxScanRow;

/* Fills in what the scan knows of the row that it has handed out last. */
extern void skx_am_scan_row(IndexScanDesc scan, SkxScanRow *row);

/* The work of a scan so far, of all its rescans. */
typedef struct SkxScanWork
{
	SkxScanReads reads;
	SkxTopkWork ranked;
	SkxOrderedWork ordered;
} SkxScanWork;

/* Returns the work of the scan so far.  Valid until the next call. */
extern const SkxScanWork *skx_am_scan_work(IndexScanDesc scan);

#endif							/* SKX_AM_ASK_H */
