/*
 * plan_count_scan.c
 *	  The custom scan that counts rows by Index Scans, at run time.
 *
 * The Index Scans below it, one for each table or partition, are never run.
 * They hold the scan keys, with what these depend on, and the conditions that
 * are to be rechecked.
 *
 * With several processes, this node runs in each of them.  Each process counts
 * its share of every table.  The process that completes the count of the last
 * table returns the row.
 */
#include "postgres.h"

#include "access/genam.h"
#include "answer/count/count_share.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "sql/am/am.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "support/compat/compat_planner.h"
#include "utils/rel.h"

/* The shared memory of all processes. */
typedef struct SkxCountScanShare
{
	pg_atomic_uint32 counted;	/* tables whose count is complete */
	SkxCountShared tables[FLEXIBLE_ARRAY_MEMBER];
} SkxCountScanShare;

typedef struct SkxCountScan
{
	SkxPlanNode node;			/* first */
	SkxCountWork work;			/* of all rescans */
} SkxCountScan;

/*
 * Returns true if a row meets the conditions that the index could not be sure
 * of.
 */
static bool
skx_plan_recheck_count(TupleTableSlot *row, void *arg)
{
	IndexScanState *child = arg;
	ExprContext *econtext = child->ss.ps.ps_ExprContext;

	ResetExprContext(econtext);
	econtext->ecxt_scantuple = row;
	return ExecQual(child->indexqualorig, econtext);
}

/*
 * Counts the rows of a child.  Returns false if another process completes the
 * count.  The rows are counted for the Index Scan, where EXPLAIN shows them.
 */
static bool
skx_plan_count_child(SkxCountScan *state, IndexScanState *child,
					 SkxCountShared *share, uint64 *rows)
{
	SkxInstrumentation *instrument = child->ss.ps.instrument;
	SkxScanDesc *desc;
	bool		known = true;

	*rows = 0;
	skx_plan_open_child(child);
	desc = skx_am_scan_desc(child->iss_ScanDesc);
	desc->share = share == NULL ? NULL : &share->exec_share;
	if (instrument != NULL)
		InstrStartNode(instrument);
	if (skx_am_scan_enter(child->iss_ScanDesc))
	{
		desc->request.recheck = desc->lossy ? skx_plan_recheck_count : NULL;
		desc->request.arg = child;
		known = skx_count_rows(&desc->request, NULL, share, &state->work,
							   rows);
	}
	else if (share != NULL)
		known = skx_count_share_claim_empty(share);
	skx_am_scan_leave(child->iss_ScanDesc);
	if (instrument != NULL)
		InstrStopNode(instrument, (double) *rows);
	return known;
}

/*
 * Counts the rows of all tables.  Returns false if another process returns the
 * row.
 */
static bool
skx_plan_count_all(SkxCountScan *state, uint64 *rows)
{
	SkxCountScanShare *share = state->node.shared_part;
	int			n = list_length(state->node.css.custom_ps);
	bool		last = share == NULL;
	uint64		some;
	int			i;

	*rows = 0;
	for (i = 0; i < n; i++)
	{
		IndexScanState *child = skx_plan_node_child(&state->node, i);

		if (skx_plan_count_child(state, child, share == NULL ? NULL :
								 &share->tables[i], &some) && share != NULL)
			last = pg_atomic_add_fetch_u32(&share->counted, 1) == n;
		*rows += some;
	}
	if (share != NULL && last)
	{
		*rows = 0;
		for (i = 0; i < n; i++)
			*rows += skx_count_share_total(&share->tables[i]);
	}
	return last;
}

/* Returns the only row. */
static void
skx_plan_fetch_count(SkxPlanNode *node, TupleTableSlot *slot)
{
	bool		done = node->is_ready;
	uint64		rows = 0;
	int			i;

	node->is_ready = true;
	if (done || !skx_plan_count_all((SkxCountScan *) node, &rows))
		return;
	for (i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		slot->tts_values[i] = Int64GetDatum((int64) rows);
		slot->tts_isnull[i] = false;
	}
	ExecStoreVirtualTuple(slot);
}

/* ---- with other processes ---- */

static Size
skx_plan_count_share_size(SkxPlanNode *node, int nprocesses)
{
	return add_size(offsetof(SkxCountScanShare, tables),
					mul_size(sizeof(SkxCountShared),
							 list_length(node->css.custom_ps)));
}

static void
skx_plan_count_share_init(SkxPlanNode *node, int nprocesses)
{
	SkxCountScanShare *share = node->shared_part;
	int			i;

	pg_atomic_init_u32(&share->counted, 0);
	for (i = 0; i < list_length(node->css.custom_ps); i++)
		skx_count_share_init(&share->tables[i]);
}

static void
skx_plan_count_share_restart(SkxPlanNode *node)
{
	SkxCountScanShare *share = node->shared_part;
	int			i;

	pg_atomic_write_u32(&share->counted, 0);
	for (i = 0; i < list_length(node->css.custom_ps); i++)
		skx_count_share_restart(&share->tables[i]);
}

/* ---- explain ---- */

static const SkxPlanCount skx_plan_count_counts[] = {
	{"Heap Fetches", offsetof(SkxCountScan, work.fetched_rows)},
	{"Rows by Page Map", offsetof(SkxCountScan, work.vm_page_rows)},
	{"Rows by Whole Map", offsetof(SkxCountScan, work.vm_table_rows)},
	{"Rows by Frequency", offsetof(SkxCountScan, work.df_rows)},
	{NULL}
};

const SkxPlanKind skx_plan_counted = {
	.scan = {"Skipidx Count", skx_plan_node_create},
	.size = sizeof(SkxCountScan),
	.fetch = skx_plan_fetch_count,
	.counts = skx_plan_count_counts,
	.share_size = skx_plan_count_share_size,
	.share_init = skx_plan_count_share_init,
	.share_restart = skx_plan_count_share_restart
};
