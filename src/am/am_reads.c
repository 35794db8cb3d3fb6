/*
 * am_reads.c
 *	  What scans read of the index: differences of this process's counts.
 */
#include "postgres.h"

#include "am/am_scan.h"
#include "cursor/cursor.h"
#include "skiplist/skiplist.h"

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
	now->subblocks = skx_cursor_work.subblocks + skx_cursor_work.fills;
	now->positions = skx_cursor_work.positions;
}

void
skx_am_reads_since(SkxScanReads *sum, const SkxScanReads *before)
{
	SkxScanReads now;

	skx_am_reads_now(&now);
	sum->blocks += now.blocks - before->blocks;
	sum->hits += now.hits - before->hits;
	sum->rounds += now.rounds - before->rounds;
	sum->nodes += now.nodes - before->nodes;
	sum->subblocks += now.subblocks - before->subblocks;
	sum->positions += now.positions - before->positions;
}

const SkxScanReads *
skx_am_scan_reads(IndexScanDesc scan)
{
	return &((SkxScan *) scan->opaque)->reads;
}
