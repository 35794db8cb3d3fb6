/*
 * planner_explain.c
 *	  What EXPLAIN (ANALYZE, VERBOSE) tells of a scan's reads.
 *
 * From 18 on of every scan of an index of ours; before, no extension is asked
 * about the server's own scans, and it tells of those below custom scans.
 */
#include "postgres.h"

#include "am/am.h"
#include "blkio/blkio.h"
#include "compat/compat_planner.h"
#include "planner/planner_internal.h"
#include "utils/rel.h"

/* How blocks are read: the settings in force. */
static void
skx_planner_explain_settings(ExplainState *es)
{
	SkxBlkSetting setting;
	int			i;

	for (i = 0; skx_blkio_setting(i, &setting); i++)
	{
		if (setting.in_force == NULL)
			continue;
		if (strcmp(setting.name, "skipidx.io_method") == 0)
			ExplainPropertyText("Read Method", setting.in_force, es);
		else if (strcmp(setting.name, "skipidx.io_depth") == 0)
			ExplainPropertyText("Read Depth", setting.in_force, es);
	}
}

void
skx_planner_explain_reads(IndexScanDesc scan, ExplainState *es)
{
	const SkxScanReads *reads;

	if (!es->analyze || !es->verbose || scan == NULL)
		return;
	reads = skx_am_scan_reads(scan);
	skx_planner_explain_settings(es);
	ExplainPropertyUInteger("Index Blocks Read", NULL, reads->blocks, es);
	ExplainPropertyUInteger("Index Cache Hits", NULL, reads->hits, es);
	ExplainPropertyUInteger("Rounds of Reads", NULL, reads->rounds, es);
	ExplainPropertyUInteger("Nodes", NULL, reads->nodes, es);
	ExplainPropertyUInteger("Sub-blocks Decoded", NULL, reads->subblocks, es);
	ExplainPropertyUInteger("Position Blocks Decoded", NULL, reads->positions,
							es);
}

/* A scan of one of our indexes, as the server has it. */
static void
skx_planner_explain_node(PlanState *node, ExplainState *es)
{
	IndexScanDesc scan = NULL;

	if (IsA(node, IndexScanState))
		scan = ((IndexScanState *) node)->iss_ScanDesc;
	else if (IsA(node, BitmapIndexScanState))
		scan = ((BitmapIndexScanState *) node)->biss_ScanDesc;
	if (scan != NULL && skx_am_is_ours(scan->indexRelation))
		skx_planner_explain_reads(scan, es);
}

void
skx_planner_explain_init(void)
{
	skx_compat_explain_nodes(skx_planner_explain_node);
}
