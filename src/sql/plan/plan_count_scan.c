/*
 * plan_count_scan.c
 *	  The custom scan that counts rows by an Index Scan, at run time.
 *
 * The Index Scans below it, one a table or partition, are never run: they have
 * the scan keys, with what these depend on, and the conditions that are to be
 * rechecked.
 *
 * By several processes, this node runs in each of them.  All count what they
 * take of all tables, and the one that ends a table's count, when it was the
 * last of these, returns the row.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "answer/count/count_share.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "sql/am/am.h"
#include "sql/plan/plan_internal.h"
#include "support/compat/compat_planner.h"
#include "utils/rel.h"

/* What processes share. */
typedef struct SkxCountScanShare
{
	pg_atomic_uint32 counted;	/* tables */
	SkxSharedReads reads;
	SkxCountShare tables[FLEXIBLE_ARRAY_MEMBER];
} SkxCountScanShare;

typedef struct SkxCountScan
{
	CustomScanState css;		/* custom_ps: of IndexScanState */
	bool		done;			/* its row was returned */
	SkxCountWork work;			/* of all rescans */
	SkxScanReads others;		/* what other processes have read */
	SkxCountScanShare *share;	/* with other processes, as long as these run */
} SkxCountScan;

static Node *skx_plan_create_count(CustomScan *scan);
static void skx_plan_begin_count(CustomScanState *node, EState *estate,
								 int eflags);
static TupleTableSlot *skx_plan_next_count(CustomScanState *node);
static void skx_plan_end_count(CustomScanState *node);
static void skx_plan_rescan_count(CustomScanState *node);
static void skx_plan_explain_count(CustomScanState *node, List *ancestors,
								   ExplainState *es);
static Size skx_plan_count_share_size(CustomScanState *node,
									  ParallelContext *context);
static void skx_plan_count_share_begin(CustomScanState *node,
									   ParallelContext *context, void *at);
static void skx_plan_count_share_again(CustomScanState *node,
									   ParallelContext *context, void *at);
static void skx_plan_count_share_join(CustomScanState *node, shm_toc *toc,
									  void *at);
static void skx_plan_count_share_end(CustomScanState *node);

const CustomScanMethods skx_plan_count_methods = {
	.CustomName = "Skipidx Count",
	.CreateCustomScanState = skx_plan_create_count
};

static const CustomExecMethods skx_plan_count_exec = {
	.CustomName = "Skipidx Count",
	.BeginCustomScan = skx_plan_begin_count,
	.ExecCustomScan = skx_plan_next_count,
	.EndCustomScan = skx_plan_end_count,
	.ReScanCustomScan = skx_plan_rescan_count,
	.EstimateDSMCustomScan = skx_plan_count_share_size,
	.InitializeDSMCustomScan = skx_plan_count_share_begin,
	.ReInitializeDSMCustomScan = skx_plan_count_share_again,
	.InitializeWorkerCustomScan = skx_plan_count_share_join,
	.ShutdownCustomScan = skx_plan_count_share_end,
	.ExplainCustomScan = skx_plan_explain_count
};

static Node *
skx_plan_create_count(CustomScan *scan)
{
	SkxCountScan *state = palloc0(sizeof(SkxCountScan));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &skx_plan_count_exec;
	return (Node *) state;
}

static void
skx_plan_begin_count(CustomScanState *node, EState *estate, int eflags)
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
skx_plan_recheck_count(TupleTableSlot *row, void *arg)
{
	IndexScanState *child = arg;
	ExprContext *econtext = child->ss.ps.ps_ExprContext;

	ResetExprContext(econtext);
	econtext->ecxt_scantuple = row;
	return ExecQual(child->indexqualorig, econtext);
}

/*
 * EXPLAIN has the rows that were counted at the Index Scan.  False: another
 * process knows how many there are.
 */
static bool
skx_plan_count(SkxCountScan *state, IndexScanState *child,
			   SkxCountShare *share, uint64 *rows)
{
	Instrumentation *instrument = child->ss.ps.instrument;
	bool		known;

	skx_plan_open_child(child);
	if (instrument != NULL)
		InstrStartNode(instrument);
	known = skx_am_scan_count(child->iss_ScanDesc, skx_plan_recheck_count,
							  child, share, &state->work, rows);
	if (instrument != NULL)
		InstrStopNode(instrument, (double) *rows);
	return known;
}

/* All tables; false: another process returns the row. */
static bool
skx_plan_count_all(SkxCountScan *state, uint64 *rows)
{
	SkxCountScanShare *share = state->share;
	int			n = list_length(state->css.custom_ps);
	bool		last = share == NULL;
	uint64		some;
	int			i;

	*rows = 0;
	for (i = 0; i < n; i++)
	{
		IndexScanState *child = list_nth(state->css.custom_ps, i);

		if (skx_plan_count(state, child, share == NULL ? NULL :
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

static TupleTableSlot *
skx_plan_next_count(CustomScanState *node)
{
	SkxCountScan *state = (SkxCountScan *) node;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	int			natts = slot->tts_tupleDescriptor->natts;
	bool		done = state->done;
	uint64		rows = 0;
	int			i;

	state->done = true;
	if (done || !skx_plan_count_all(state, &rows))
		return ExecClearTuple(projection == NULL ? slot :
							  projection->pi_state.resultslot);
	ExecClearTuple(slot);
	for (i = 0; i < natts; i++)
	{
		slot->tts_values[i] = Int64GetDatum((int64) rows);
		slot->tts_isnull[i] = false;
	}
	ExecStoreVirtualTuple(slot);
	if (projection == NULL)
		return slot;
	ResetExprContext(econtext);
	econtext->ecxt_scantuple = slot;
	return ExecProject(projection);
}

/* ---- with other processes ---- */

static Size
skx_plan_count_share_size(CustomScanState *node, ParallelContext *context)
{
	return add_size(offsetof(SkxCountScanShare, tables),
					mul_size(sizeof(SkxCountShare),
							 list_length(node->custom_ps)));
}

static void
skx_plan_count_share_begin(CustomScanState *node, ParallelContext *context,
						   void *at)
{
	SkxCountScanShare *share = at;
	int			i;

	pg_atomic_init_u32(&share->counted, 0);
	skx_plan_reads_init(&share->reads);
	for (i = 0; i < list_length(node->custom_ps); i++)
		skx_count_share_init(&share->tables[i]);
	((SkxCountScan *) node)->share = share;
}

static void
skx_plan_count_share_again(CustomScanState *node, ParallelContext *context,
						   void *at)
{
	SkxCountScanShare *share = at;
	int			i;

	pg_atomic_write_u32(&share->counted, 0);
	for (i = 0; i < list_length(node->custom_ps); i++)
		skx_count_share_restart(&share->tables[i]);
}

static void
skx_plan_count_share_join(CustomScanState *node, shm_toc *toc, void *at)
{
	((SkxCountScan *) node)->share = at;
}

/* What is shared goes away. */
static void
skx_plan_count_share_end(CustomScanState *node)
{
	SkxCountScan *state = (SkxCountScan *) node;
	int			i;

	if (state->share == NULL)
		return;
	for (i = 0; i < list_length(node->custom_ps); i++)
	{
		skx_count_share_work(&state->share->tables[i], &state->work);
		skx_plan_reads_leave(&state->share->reads,
							 list_nth(node->custom_ps, i));
	}
	skx_plan_reads_take(&state->share->reads, &state->others);
	state->share = NULL;
}

/* ---- rescan, end, explain ---- */

static void
skx_plan_rescan_count(CustomScanState *node)
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
skx_plan_end_count(CustomScanState *node)
{
	ListCell   *lc;

	foreach(lc, node->custom_ps)
	{
		ExecEndNode(lfirst(lc));
	}
}

static void
skx_plan_explain_count(CustomScanState *node, List *ancestors,
					   ExplainState *es)
{
	const SkxCountScan *state = (const SkxCountScan *) node;
	const SkxCountWork *work = &state->work;

	skx_plan_explain_blocks(linitial(castNode(CustomScan,
											  node->ss.ps.plan)->custom_private),
							es);
	if (!es->analyze)
		return;
	ExplainPropertyUInteger("Heap Fetches", NULL, work->fetched, es);
	ExplainPropertyUInteger("Rows by Page Map", NULL, work->mapped, es);
	ExplainPropertyUInteger("Rows by Whole Map", NULL, work->whole, es);
	ExplainPropertyUInteger("Rows by Frequency", NULL, work->totals, es);
	skx_plan_explain_reads(node->custom_ps, &state->others, es);
}
