/*
 * planner_count_scan.c
 *	  The custom scan that counts rows by an Index Scan, at run time.
 *
 * The Index Scans below it, one a table or partition, are never run: they have
 * the scan keys, with what these depend on, and the conditions that are to be
 * rechecked.
 */
#include "postgres.h"

#include "access/genam.h"
#include "am/am.h"
#include "compat/compat_planner.h"
#include "count/count.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "planner/planner_internal.h"
#include "utils/rel.h"

typedef struct SkxCountScan
{
	CustomScanState css;		/* custom_ps: of IndexScanState */
	bool		done;			/* its row was returned */
	SkxCountWork work;			/* of all rescans */
} SkxCountScan;

static Node *skx_planner_create_count(CustomScan *scan);
static void skx_planner_begin_count(CustomScanState *node, EState *estate,
									int eflags);
static TupleTableSlot *skx_planner_next_count(CustomScanState *node);
static void skx_planner_end_count(CustomScanState *node);
static void skx_planner_rescan_count(CustomScanState *node);
static void skx_planner_explain_count(CustomScanState *node, List *ancestors,
									  ExplainState *es);

const CustomScanMethods skx_planner_count_methods = {
	.CustomName = "Skipidx Count",
	.CreateCustomScanState = skx_planner_create_count
};

static const CustomExecMethods skx_planner_count_exec = {
	.CustomName = "Skipidx Count",
	.BeginCustomScan = skx_planner_begin_count,
	.ExecCustomScan = skx_planner_next_count,
	.EndCustomScan = skx_planner_end_count,
	.ReScanCustomScan = skx_planner_rescan_count,
	.ExplainCustomScan = skx_planner_explain_count
};

static Node *
skx_planner_create_count(CustomScan *scan)
{
	SkxCountScan *state = palloc0(sizeof(SkxCountScan));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &skx_planner_count_exec;
	return (Node *) state;
}

static void
skx_planner_begin_count(CustomScanState *node, EState *estate, int eflags)
{
	CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);
	ListCell   *lc;

	foreach(lc, scan->custom_plans)
	{
		node->custom_ps = lappend(node->custom_ps,
								  ExecInitNode(lfirst(lc), estate, eflags));
	}
}

/* Does a row meet the conditions that the index could not be sure of? */
static bool
skx_planner_recheck_count(TupleTableSlot *row, void *arg)
{
	IndexScanState *child = arg;
	ExprContext *econtext = child->ss.ps.ps_ExprContext;

	ResetExprContext(econtext);
	econtext->ecxt_scantuple = row;
	return ExecQual(child->indexqualorig, econtext);
}

/* EXPLAIN has the rows that were counted at the Index Scan. */
static int64
skx_planner_count(SkxCountScan *state, IndexScanState *child)
{
	Instrumentation *instrument = child->ss.ps.instrument;
	uint64		rows;

	skx_planner_open_child(child);
	if (instrument != NULL)
		InstrStartNode(instrument);
	rows = skx_am_scan_count(child->iss_ScanDesc, skx_planner_recheck_count,
							 child, &state->work);
	if (instrument != NULL)
		InstrStopNode(instrument, (double) rows);
	return (int64) rows;
}

static TupleTableSlot *
skx_planner_next_count(CustomScanState *node)
{
	SkxCountScan *state = (SkxCountScan *) node;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	int			natts = slot->tts_tupleDescriptor->natts;
	int64		rows = 0;
	int			i;
	ListCell   *lc;

	if (state->done)
		return ExecClearTuple(projection == NULL ? slot :
							  projection->pi_state.resultslot);
	state->done = true;
	foreach(lc, node->custom_ps)
	{
		rows += skx_planner_count(state, lfirst_node(IndexScanState, lc));
	}
	ExecClearTuple(slot);
	for (i = 0; i < natts; i++)
	{
		slot->tts_values[i] = Int64GetDatum(rows);
		slot->tts_isnull[i] = false;
	}
	ExecStoreVirtualTuple(slot);
	if (projection == NULL)
		return slot;
	ResetExprContext(econtext);
	econtext->ecxt_scantuple = slot;
	return ExecProject(projection);
}

static void
skx_planner_rescan_count(CustomScanState *node)
{
	ListCell   *lc;

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	foreach(lc, node->custom_ps)
	{
		PlanState  *child = lfirst(lc);

		if (node->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(child, node->ss.ps.chgParam);
		if (child->chgParam == NULL)
			ExecReScan(child);
	}
	((SkxCountScan *) node)->done = false;
}

static void
skx_planner_end_count(CustomScanState *node)
{
	ListCell   *lc;

	foreach(lc, node->custom_ps)
	{
		ExecEndNode(lfirst(lc));
	}
}

static void
skx_planner_explain_count(CustomScanState *node, List *ancestors,
						  ExplainState *es)
{
	const SkxCountWork *work = &((SkxCountScan *) node)->work;

	if (!es->analyze)
		return;
	ExplainPropertyUInteger("Heap Fetches", NULL, work->fetched, es);
	ExplainPropertyUInteger("Rows by Page Map", NULL, work->mapped, es);
	ExplainPropertyUInteger("Rows by Whole Map", NULL, work->whole, es);
	ExplainPropertyUInteger("Rows by Frequency", NULL, work->totals, es);
}
