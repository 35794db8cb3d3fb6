/*
 * plan_explain.c
 *	  What EXPLAIN (VERBOSE) shows of scans of skipidx indexes.
 *
 * A custom scan shows what the Index Scans below it have read, in all
 * processes.  From 18 on the server's own scans are shown, too, with the reads
 * of the leader.  Earlier versions have no hook for these.
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
#include "support/compat/compat_planner.h"
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

static void
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

/* ---- the server's own scans ---- */

/*
 * Returns true if the node above is a custom scan that shows the reads itself.
 */
static bool
skx_plan_is_told(const Node *parent)
{
	return parent != NULL && IsA(parent, CustomScan) &&
		skx_plan_node_reads(((const CustomScan *) parent)->methods);
}

/* Shows the reads of one of the server's own scans of a skipidx index. */
static void
skx_plan_explain_node(PlanState *node, const Node *parent,
					  ExplainState *es)
{
	IndexScanDesc scan = NULL;

	if (!es->analyze || !es->verbose || skx_plan_is_told(parent))
		return;
	if (IsA(node, IndexScanState))
		scan = ((IndexScanState *) node)->iss_ScanDesc;
	else if (IsA(node, BitmapIndexScanState))
		scan = ((BitmapIndexScanState *) node)->biss_ScanDesc;
	if (scan != NULL && skx_am_is_ours(scan->indexRelation))
		skx_plan_explain_counts(&skx_am_scan_work(scan)->reads, es);
}

void
skx_plan_explain_init(void)
{
	skx_compat_explain_nodes(skx_plan_explain_node);
}
