/*
 * plan_ordered_scan.c
 *	  The custom scan over an Index Scan in the order of a column, at run time.
 *
 * It asks the scan of the index for the order, and tells it how many rows will
 * be fetched.  While a row that another transaction changed is rechecked
 * (EvalPlanQual) there is no such scan, and the row is passed on.  With other
 * processes it asks for the rows of some parts (answer/order/order_share.h).
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "answer/order/order_share.h"
#include "executor/executor.h"
#include "nodes/value.h"
#include "sql/am/am.h"
#include "sql/plan/plan_internal.h"
#include "support/compat/compat_planner.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/* In dynamic shared memory. */
typedef struct SkxOrderedScanShare
{
	SkxOrderedShare search;
	SkxSharedReads reads;
} SkxOrderedScanShare;

typedef struct SkxOrderedScan
{
	CustomScanState css;
	IndexScanState *child;
	ExprState  *count;			/* LIMIT and OFFSET, where they apply */
	ExprState  *offset;
	int			extra;			/* rows fetched beyond them */
	double		times;			/* rows fetched for each that is left */
	SkxScanOrder order;
	SkxOrderedTies *ties;		/* NULL: keys tell their values */
	bool		ready;			/* the index knows what it has to do */
	SkxOrderedScanShare *share; /* with other processes, as long as these run */
	SkxOrderedWork others;		/* what they have done, */
	SkxScanReads others_reads;	/* and read */
} SkxOrderedScan;

static Node *skx_plan_create_ordered(CustomScan *scan);
static void skx_plan_begin_ordered(CustomScanState *node, EState *estate,
								   int eflags);
static TupleTableSlot *skx_plan_next_ordered(CustomScanState *node);
static void skx_plan_end_ordered(CustomScanState *node);
static void skx_plan_rescan_ordered(CustomScanState *node);
static void skx_plan_explain_ordered(CustomScanState *node, List *ancestors,
									 ExplainState *es);
static Size skx_plan_ordered_share_size(CustomScanState *node,
										ParallelContext *context);
static void skx_plan_ordered_share_begin(CustomScanState *node,
										 ParallelContext *context,
										 void *at);
static void skx_plan_ordered_share_again(CustomScanState *node,
										 ParallelContext *context,
										 void *at);
static void skx_plan_ordered_share_join(CustomScanState *node, shm_toc *toc,
										void *at);
static void skx_plan_ordered_share_end(CustomScanState *node);

const CustomScanMethods skx_plan_ordered_methods = {
	.CustomName = "Skipidx Ordered Scan",
	.CreateCustomScanState = skx_plan_create_ordered
};

static const CustomExecMethods skx_plan_ordered_exec = {
	.CustomName = "Skipidx Ordered Scan",
	.BeginCustomScan = skx_plan_begin_ordered,
	.ExecCustomScan = skx_plan_next_ordered,
	.EndCustomScan = skx_plan_end_ordered,
	.ReScanCustomScan = skx_plan_rescan_ordered,
	.EstimateDSMCustomScan = skx_plan_ordered_share_size,
	.InitializeDSMCustomScan = skx_plan_ordered_share_begin,
	.ReInitializeDSMCustomScan = skx_plan_ordered_share_again,
	.InitializeWorkerCustomScan = skx_plan_ordered_share_join,
	.ShutdownCustomScan = skx_plan_ordered_share_end,
	.ExplainCustomScan = skx_plan_explain_ordered
};

static Node *
skx_plan_create_ordered(CustomScan *scan)
{
	SkxOrderedScan *state = palloc0(sizeof(SkxOrderedScan));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &skx_plan_ordered_exec;
	return (Node *) state;
}

static void
skx_plan_begin_ordered(CustomScanState *node, EState *estate, int eflags)
{
	SkxOrderedScan *state = (SkxOrderedScan *) node;
	CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);
	PlanState  *parent = &node->ss.ps;
	List	   *private = scan->custom_private;
	int			tied = intVal(list_nth(private, SKX_ORDERED_TIED));

	state->child = castNode(IndexScanState,
							ExecInitNode(linitial(scan->custom_plans),
										 estate, eflags));
	node->custom_ps = list_make1(state->child);
	state->count = ExecInitExpr(list_nth(scan->custom_exprs,
										 SKX_ORDERED_COUNT), parent);
	state->offset = ExecInitExpr(list_nth(scan->custom_exprs,
										  SKX_ORDERED_OFFSET), parent);
	state->order.column = intVal(list_nth(private, SKX_ORDERED_COLUMN));
	state->order.descending = intVal(list_nth(private,
											  SKX_ORDERED_DESCENDING)) != 0;
	state->order.nulls_first = intVal(list_nth(private,
											   SKX_ORDERED_NULLS)) != 0;
	state->extra = intVal(list_nth(private, SKX_ORDERED_EXTRA));
	state->times = intVal(list_nth(private, SKX_ORDERED_PERCENT)) / 100.0;
	if (tied == 0)
		return;
	state->ties = skx_plan_ties_begin(state->child, tied,
									  state->order.descending);
	state->extra++;
}

/* LIMIT NULL is none; a negative one is an error, but not here. */
static uint64
skx_plan_ordered_rows(SkxOrderedScan *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	int64		count;
	int64		offset;

	if (!skx_plan_number(state->count, econtext, &count) || count < 0)
		return 0;
	if (!skx_plan_number(state->offset, econtext, &offset) || offset < 0)
		offset = 0;
	return (uint64) Min(((double) count + offset + state->extra) *
						state->times, (double) (PG_INT64_MAX / 2));
}

static void
skx_plan_prepare_ordered(SkxOrderedScan *state)
{
	skx_plan_open_child(state->child);
	state->order.wanted = skx_plan_ordered_rows(state);
	state->order.share = state->share == NULL ? NULL : &state->share->search;
	skx_am_scan_order(state->child->iss_ScanDesc, &state->order);
	state->ready = true;
}

/* The child's next row and its place; NULL at the end. */
static TupleTableSlot *
skx_plan_row_ordered(SkxOrderedScan *state, ItemPointer place)
{
	bool		rechecked = skx_plan_is_rechecked(state->child);
	TupleTableSlot *row;

	if (!state->ready && !rechecked)
		skx_plan_prepare_ordered(state);
	if (state->ties != NULL && !rechecked)
		return skx_plan_ties_next(state->ties, place);
	row = ExecProcNode(&state->child->ss.ps);
	if (TupIsNull(row))
		return NULL;
	slot_getallattrs(row);
	*place = state->child->ss.ss_ScanTupleSlot->tts_tid;
	return row;
}

/* The child's next row; an empty slot at the end. */
static TupleTableSlot *
skx_plan_fetch_ordered(SkxOrderedScan *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	int			natts = slot->tts_tupleDescriptor->natts;
	ItemPointerData place;
	TupleTableSlot *row;

	ExecClearTuple(slot);
	row = skx_plan_row_ordered(state, &place);
	if (row == NULL)
		return slot;
	memcpy(slot->tts_values, row->tts_values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, row->tts_isnull, natts * sizeof(bool));
	ExecStoreVirtualTuple(slot);
	/* for WHERE CURRENT OF */
	slot->tts_tid = place;
	slot->tts_tableOid = state->child->ss.ss_ScanTupleSlot->tts_tableOid;
	return slot;
}

static TupleTableSlot *
skx_plan_next_ordered(CustomScanState *node)
{
	SkxOrderedScan *state = (SkxOrderedScan *) node;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;
	TupleTableSlot *slot;

	ResetExprContext(econtext);
	slot = skx_plan_fetch_ordered(state);
	if (projection == NULL)
		return slot;
	if (TupIsNull(slot))
		return ExecClearTuple(projection->pi_state.resultslot);
	econtext->ecxt_scantuple = slot;
	return ExecProject(projection);
}

/* The child is rescanned with the next fetch if what it depends on changed. */
static void
skx_plan_rescan_ordered(CustomScanState *node)
{
	SkxOrderedScan *state = (SkxOrderedScan *) node;
	PlanState  *child = &state->child->ss.ps;

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
	if (state->ties != NULL)
		skx_plan_ties_reset(state->ties);
	state->ready = false;
}

/* ---- with other processes ---- */

static Size
skx_plan_ordered_share_size(CustomScanState *node,
							ParallelContext *context)
{
	return sizeof(SkxOrderedScanShare);
}

/* The leader knows what is asked for; it is divided once. */
static void
skx_plan_ordered_share_begin(CustomScanState *node,
							 ParallelContext *context, void *at)
{
	SkxOrderedScan *state = (SkxOrderedScan *) node;
	const CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);

	state->share = at;
	skx_plan_reads_init(&state->share->reads);
	skx_order_share_init(&state->share->search);
	skx_plan_prepare_ordered(state);
	skx_am_scan_divide(state->child->iss_ScanDesc,
					   intVal(list_nth(scan->custom_private,
									   SKX_ORDERED_DIVIDED)));
}

static void
skx_plan_ordered_share_again(CustomScanState *node,
							 ParallelContext *context, void *at)
{
	skx_order_share_restart(&((SkxOrderedScanShare *) at)->search);
}

static void
skx_plan_ordered_share_join(CustomScanState *node, shm_toc *toc, void *at)
{
	((SkxOrderedScan *) node)->share = at;
}

/* What is shared goes away. */
static void
skx_plan_ordered_share_end(CustomScanState *node)
{
	SkxOrderedScan *state = (SkxOrderedScan *) node;
	IndexScanDesc scan = state->child->iss_ScanDesc;

	if (state->share == NULL)
		return;
	if (IsParallelWorker() && scan != NULL &&
		skx_am_scan_ordered_work(scan) != NULL)
		skx_order_share_leave(&state->share->search,
							  skx_am_scan_ordered_work(scan));
	skx_plan_reads_leave(&state->share->reads, state->child);
	skx_order_share_work(&state->share->search, &state->others);
	skx_plan_reads_take(&state->share->reads, &state->others_reads);
	if (scan != NULL)
		index_rescan(scan, state->child->iss_ScanKeys,
					 state->child->iss_NumScanKeys,
					 state->child->iss_OrderByKeys,
					 state->child->iss_NumOrderByKeys);
	state->share = NULL;
	state->ready = false;
}

/* ---- end, explain ---- */

static void
skx_plan_end_ordered(CustomScanState *node)
{
	SkxOrderedScan *state = (SkxOrderedScan *) node;

	if (state->ties != NULL)
		skx_plan_ties_reset(state->ties);
	ExecEndNode(&state->child->ss.ps);
}

static void
skx_plan_explain_ordered(CustomScanState *node, List *ancestors,
						 ExplainState *es)
{
	SkxOrderedScan *state = (SkxOrderedScan *) node;
	Oid			index = castNode(IndexScan,
								 state->child->ss.ps.plan)->indexid;
	const CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);
	const SkxOrderedWork *work;
	char	   *order;

	order = psprintf("%s%s NULLS %s",
					 get_attname(index, state->order.column + 1, false),
					 state->order.descending ? " DESC" : "",
					 state->order.nulls_first ? "FIRST" : "LAST");
	ExplainPropertyText("Order", order, es);
	if (skx_plan_is_told_limit(scan->custom_exprs, SKX_ORDERED_COUNT, es))
		state->order.wanted = skx_plan_ordered_rows(state);
	skx_plan_explain_asked(state->order.wanted, es);
	skx_plan_explain_blocks(list_nth(scan->custom_private,
									 SKX_ORDERED_BLOCKS), es);
	if (!es->analyze || state->child->iss_ScanDesc == NULL)
		return;
	work = skx_am_scan_ordered_work(state->child->iss_ScanDesc);
	if (work == NULL)
		return;
	ExplainPropertyUInteger("Passes", NULL,
							work->passes + state->others.passes, es);
	ExplainPropertyUInteger("Stretches", NULL,
							work->leaves + state->others.leaves, es);
	ExplainPropertyUInteger("Values", NULL,
							work->values + state->others.values, es);
	ExplainPropertyUInteger("Compared Documents", NULL,
							work->documents + state->others.documents, es);
	skx_plan_explain_reads(node->custom_ps, &state->others_reads, es);
}
