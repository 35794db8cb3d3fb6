/*
 * am_desc.h
 *	  What a scan and its caller tell each other beyond the server's
 *	  IndexScanDesc, for custom scans (plan/) and SQL functions (functions/).
 */
#ifndef SKX_AM_DESC_H
#define SKX_AM_DESC_H

#include "access/relscan.h"
#include "answer/exec/exec.h"
#include "answer/order/order_share.h"
#include "answer/topk/topk.h"
#include "answer/topk/topk_token.h"

/*
 * What a scan has read of its index.  Blocks of the table are not counted.
 * All members are counts, of type uint64.
 */
typedef struct SkxScanReads
{
	uint64		blocks;			/* pages that were not in the block cache */
	uint64		hits;			/* frames that were found in the block cache */
	uint64		rounds;			/* rounds of reads, each of which waits for
								 * the one before */
	uint64		nodes;			/* nodes of skip lists that were read */
	uint64		skipped_nodes;	/* nodes that were passed over unread */
	uint64		subblocks;		/* sub-blocks of postings */
	uint64		positions;		/* position blocks */
} SkxScanReads;

/* Number of counts in SkxScanReads. */
#define SKX_SCAN_NREADS	(sizeof(SkxScanReads) / sizeof(uint64))

/* The work of a scan so far, of all its rescans. */
typedef struct SkxScanWork
{
	SkxScanReads reads;
	SkxOrderedWork ordered;
	SkxTopkWork ranked;
} SkxScanWork;

/* An order by a column other than the tsvector. */
typedef struct SkxScanOrder
{
	int			column;			/* of the index, from 0 */
	bool		descending;
	bool		nulls_first;
	SkxOrderedShared *share;	/* of a scan by several processes; NULL if
								 * there is only this one */
} SkxScanOrder;

/* What IndexScanDesc has no members for. */
typedef struct SkxScanDesc
{
	/*
	 * Set by the caller, before the scan begins unless the comment names
	 * another time.  Rescans keep it, but for `floor`, which they set to 0.
	 */
	uint64		wanted;			/* about how many rows of a scan with an order
								 * will be fetched; 0 if that is not known */
	uint64		first_rows;		/* rows that the first search of a ranked scan
								 * looks for, if `wanted` is 0; at least
								 * SKX_TOPK_ROWS are */
	bool		wants_all;		/* all other rows of a ranked scan are wanted,
								 * too, if the first `wanted` do not suffice */
	float4		floor;			/* rows with a larger distance are not wanted;
								 * 0: all are.  May be set at any time, and
								 * must never rise */
	const SkxTopkPage *page;	/* only rows after this one are wanted, scored
								 * by the statistics in it; NULL: all */
	const SkxTopkPrior *prior;	/* of a ranked scan; NULL: none.  Conditions
								 * must exclude rows without a score */
	const SkxScanOrder *order;	/* of a column; NULL: the order is by
								 * distance, or there is none */
	SkxTopkShare *ranked_share; /* of a ranked scan by several processes; NULL
								 * if there is only this one */
	SkxExecShared *share;		/* the same of a scan for a collector */

	/*
	 * Set when the scan begins.  What it points to stays until the next
	 * rescan or the end of the scan.
	 */
	SkxRequest	request;		/* for all rows, with the table to look them
								 * up in; query NULL: no row matches */
	bool		lossy;			/* rows have to be tested against the
								 * conditions */
	const SkxScorer *scorer;	/* NULL: rows are not ranked */
	uint64		rows;			/* number of rows that the first search of a
								 * ranked scan looks for; 0: all */
	const SkxOrderedRequest *ordered;	/* NULL: not in the order of a column,
										 * or such a scan has ended */

	/* Of the row that the scan has handed out last. */
	const SkxTopkHit *hit;		/* NULL: the row was not ranked, or there was
								 * none */
	const uint64 *key;			/* of the column of the order, if rows with
								 * another value may have the same one; else
								 * NULL */
	uint64		given;			/* number of rows handed out since the scan
								 * began, dead ones included */

	SkxScanWork work;
} SkxScanDesc;

/* Returns what the scan and its caller share, which lives as long as it. */
extern SkxScanDesc *skx_am_scan_desc(IndexScanDesc scan);

/*
 * Begins the scan as its first row would, unless it has begun.  The view is
 * taken after the snapshot, and after the predicate locks of SERIALIZABLE.
 * Returns false if there is nothing for a collector: the scan has an order, or
 * no row matches.
 *
 * Up to skx_am_scan_leave(), which must be called in any case, the current
 * memory context is that of the scan, and what this process reads is counted
 * for the scan.
 */
extern bool skx_am_scan_enter(IndexScanDesc scan);

/*
 * Restores the memory context, and adds what was read to the work of the scan.
 * Up to PostgreSQL 16 it raises "snapshot too old" if VACUUM may have removed
 * what the snapshot sees.
 */
extern void skx_am_scan_leave(IndexScanDesc scan);

#endif							/* SKX_AM_DESC_H */
