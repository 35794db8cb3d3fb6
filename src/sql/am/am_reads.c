/*
 * am_reads.c
 *	  Counts what scans read of the index, as differences of the counts of this
 *	  process.
 */
#include "postgres.h"

#include "index/cursor/cursor.h"
#include "index/skiplist/skiplist.h"
#include "sql/am/am_scan.h"

void
skx_am_reads_now(SkxScanReads *now)
{
	const SkxBlkCounters *counters = skx_blkio_counters();
	int			i;

	now->blocks = now->hits = now->rounds = 0;
	for (i = 0; i < SKX_BLK_NMETHODS; i++)
	{
		now->blocks += counters[i].pages_read;
		now->hits += counters[i].hits;
		now->rounds += counters[i].rounds;
	}
	now->nodes = skx_skiplist_work.nodes;
	now->passed = skx_skiplist_work.passed;
	now->subblocks = skx_cursor_work.subblocks + skx_cursor_work.fills;
	now->positions = skx_cursor_work.positions;
}

void
skx_am_reads_add(SkxScanReads *sum, const SkxScanReads *more)
{
	uint64	   *counts = (uint64 *) sum;
	int			i;

	for (i = 0; i < SKX_SCAN_READS; i++)
		counts[i] += ((const uint64 *) more)[i];
}

void
skx_am_reads_since(IndexScanDesc scan, const SkxScanReads *before)
{
	uint64	   *counts = (uint64 *) &((SkxScan *) scan->opaque)->work.reads;
	SkxScanReads now;
	int			i;

	skx_am_reads_now(&now);
	for (i = 0; i < SKX_SCAN_READS; i++)
		counts[i] += ((const uint64 *) &now)[i] -
			((const uint64 *) before)[i];
}
