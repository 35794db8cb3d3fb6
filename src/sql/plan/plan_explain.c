/*
 * plan_explain.c
 *	  What EXPLAIN (VERBOSE) shows of scans of skipidx indexes.
 *
 * A custom scan shows what the Index Scans below it have read, in all
 * processes.
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "access/parallel.h"
#include "nodes/value.h"
#include "sql/am/am.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "storage/blkio/blkio.h"
#include "utils/rel.h"

/* Shows the settings in force that determine how blocks are read. */
static void
skx_plan_explain_settings(ExplainState *es)
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
skx_plan_explain_counts(const SkxScanReads *reads, ExplainState *es)
{
	skx_plan_explain_settings(es);
	ExplainPropertyUInteger("Index Blocks Read", NULL, reads->blocks, es);
	ExplainPropertyUInteger("Index Cache Hits", NULL, reads->hits, es);
	ExplainPropertyUInteger("Rounds of Reads", NULL, reads->rounds, es);
	ExplainPropertyUInteger("Nodes", NULL, reads->nodes, es);
	ExplainPropertyUInteger("Nodes Skipped", NULL, reads->passed, es);
	ExplainPropertyUInteger("Sub-blocks Decoded", NULL, reads->subblocks, es);
	ExplainPropertyUInteger("Position Blocks Decoded", NULL, reads->positions,
							es);
}

/* ---- custom scans ---- */

Node *
skx_plan_estimate(double pages)
{
	return (Node *) makeInteger((int) Min(ceil(pages), INT_MAX));
}

void
skx_plan_explain_blocks(Node *estimate, ExplainState *es)
{
	if (es->verbose)
		ExplainPropertyInteger("Estimated Blocks", NULL, intVal(estimate), es);
}

void
skx_plan_explain_asked(uint64 rows, ExplainState *es)
{
	if (es->verbose && rows > 0)
		ExplainPropertyUInteger("Rows Asked", NULL, rows, es);
}

bool
skx_plan_is_told_limit(const List *exprs, int limit, const ExplainState *es)
{
	const Node *count = list_nth(exprs, limit);
	const Node *offset = list_nth(exprs, limit + 1);

	return !es->analyze && count != NULL && IsA(count, Const) &&
		(offset == NULL || IsA(offset, Const));
}

void
skx_plan_explain_reads(List *children, const SkxScanReads *others,
					   ExplainState *es)
{
	SkxScanReads sum = {0};
	ListCell   *lc;

	if (!es->analyze || !es->verbose)
		return;
	if (others != NULL)
		sum = *others;
	foreach(lc, children)
	{
		const IndexScanState *child = lfirst_node(IndexScanState, lc);

		if (child->iss_ScanDesc != NULL)
			skx_am_reads_add(&sum, &skx_am_scan_work(child->iss_ScanDesc)->reads);
	}
	skx_plan_explain_counts(&sum, es);
}

/* ---- scans with other processes ---- */

void
skx_plan_reads_init(SkxSharedReads *shared)
{
	int			i;

	for (i = 0; i < SKX_SCAN_READS; i++)
		pg_atomic_init_u64(&shared->counts[i], 0);
}

void
skx_plan_reads_leave(SkxSharedReads *shared, const IndexScanState *child)
{
	const uint64 *counts;
	int			i;

	if (!IsParallelWorker() || child->iss_ScanDesc == NULL)
		return;
	counts = (const uint64 *) &skx_am_scan_work(child->iss_ScanDesc)->reads;
	for (i = 0; i < SKX_SCAN_READS; i++)
		pg_atomic_fetch_add_u64(&shared->counts[i], counts[i]);
}

void
skx_plan_reads_take(SkxSharedReads *shared, SkxScanReads *sum)
{
	SkxScanReads reads;
	int			i;

	for (i = 0; i < SKX_SCAN_READS; i++)
		((uint64 *) &reads)[i] = pg_atomic_read_u64(&shared->counts[i]);
	skx_am_reads_add(sum, &reads);
}
