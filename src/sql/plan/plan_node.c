/*
 * plan_node.c
 *	  Custom scans over Index Scans, at run time.
 *
 * A kind of scan returns rows.  This file does what all kinds have in common:
 * it tests the quals, projects, rescans the children and manages the shared
 * memory.  The Index Scans below may never be run: then they hold the scan
 * keys, with what these depend on.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "executor/executor.h"
#include "executor/nodeIndexscan.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "support/compat/compat_planner.h"

/* ---- what a kind needs ---- */

IndexScanState *
skx_plan_node_child(const SkxPlanNode *node, int i)
{
	return list_nth_node(IndexScanState, node->css.custom_ps, i);
}

static const CustomScan *
skx_plan_node_plan(const SkxPlanNode *node)
{
	return castNode(CustomScan, node->css.ss.ps.plan);
}

ExprState *
skx_plan_node_expr(SkxPlanNode *node, int number)
{
	return ExecInitExpr(list_nth(skx_plan_node_plan(node)->custom_exprs,
								 number), &node->css.ss.ps);
}

Node *
skx_plan_node_private(const SkxPlanNode *node, int number)
{
	return list_nth(skx_plan_node_plan(node)->custom_private, number);
}

/*
 * Evaluates an expression as an integer.  Returns false if there is none, or
 * if it is NULL.
 */
static bool
skx_plan_eval_number(ExprState *expr, ExprContext *econtext, int64 *number)
{
	bool		isnull = true;

	if (expr != NULL)
		*number = DatumGetInt64(ExecEvalExprSwitchContext(expr, econtext,
														  &isnull));
	return !isnull;
}

bool
skx_plan_node_limit(SkxPlanNode *node, uint64 *rows)
{
	const SkxPlanLimit *limit = &node->limit;
	ExprContext *econtext = node->css.ss.ps.ps_ExprContext;
	int64		count;
	int64		offset;
	bool		limited = skx_plan_eval_number(limit->count, econtext, &count);

	*rows = 0;
	if (!limited || count < 0)
		return limited;
	if (!skx_plan_eval_number(limit->offset, econtext, &offset) || offset < 0)
		offset = 0;
	*rows = (uint64) Min(((double) count + offset + limit->extra) *
						 limit->rows_per_pass, (double) (PG_INT64_MAX / 2));
	return true;
}

void
skx_plan_node_explain_limit(SkxPlanNode *node, uint64 rows, ExplainState *es)
{
	const List *exprs = skx_plan_node_plan(node)->custom_exprs;

	if (skx_plan_limit_is_known(exprs, SKX_EXPR_COUNT, es))
		(void) skx_plan_node_limit(node, &rows);
	skx_plan_explain_limit(rows, es);
}

void
skx_plan_open_child(IndexScanState *child)
{
	if (child->ss.ps.chgParam != NULL ||
		(child->iss_NumRuntimeKeys != 0 && !child->iss_RuntimeKeysReady))
		ExecReScan(&child->ss.ps);
	if (child->iss_ScanDesc == NULL)
	{
		child->iss_ScanDesc = skx_compat_begin_index_scan(child);
		index_rescan(child->iss_ScanDesc,
					 child->iss_ScanKeys, child->iss_NumScanKeys,
					 child->iss_OrderByKeys, child->iss_NumOrderByKeys);
	}
}

/*
 * The condition is that of ExecScanFetch().  Other tables are scanned under
 * EvalPlanQual, too.
 */
bool
skx_plan_is_rechecked(const IndexScanState *child)
{
	const EPQState *epq = child->ss.ps.state->es_epq_active;
	int			at = (int) ((Scan *) child->ss.ps.plan)->scanrelid - 1;

	return epq != NULL &&
		(epq->relsubs_done[at] || epq->relsubs_slot[at] != NULL ||
		 epq->relsubs_rowmark[at] != NULL);
}

void
skx_plan_node_copy_row(const SkxPlanNode *node, TupleTableSlot *slot,
					   TupleTableSlot *row, int natts,
					   const ItemPointerData *place)
{
	int			i;

	slot_getallattrs(row);
	memcpy(slot->tts_values, row->tts_values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, row->tts_isnull, natts * sizeof(bool));
	for (i = natts; i < slot->tts_tupleDescriptor->natts; i++)
	{
		slot->tts_values[i] = (Datum) 0;
		slot->tts_isnull[i] = true;
	}
	ExecStoreVirtualTuple(slot);
	slot->tts_tid = *place;
	slot->tts_tableOid =
		skx_plan_node_child(node, 0)->ss.ss_ScanTupleSlot->tts_tableOid;
}

/* ---- rows ---- */

static void
skx_plan_node_begin(CustomScanState *css, EState *estate, int eflags)
{
	SkxPlanNode *node = (SkxPlanNode *) css;
	const CustomScan *scan = skx_plan_node_plan(node);
	ListCell   *lc;

	foreach(lc, scan->custom_plans)
	{
		css->custom_ps = lappend(css->custom_ps,
								 ExecInitNode(lfirst(lc), estate, eflags));
	}
	node->limit.rows_per_pass = 1;
	if (scan->custom_exprs != NIL)
	{
		node->limit.count = skx_plan_node_expr(node, SKX_EXPR_COUNT);
		node->limit.offset = skx_plan_node_expr(node, SKX_EXPR_OFFSET);
	}
	if (node->kind->begin != NULL)
		node->kind->begin(node);
}

TupleTableSlot *
skx_plan_node_next_passing(SkxPlanNode *node)
{
	ExprContext *econtext = node->css.ss.ps.ps_ExprContext;
	TupleTableSlot *slot = node->css.ss.ss_ScanTupleSlot;

	for (;;)
	{
		ResetExprContext(econtext);
		ExecClearTuple(slot);
		node->kind->fetch(node, slot);
		if (TupIsNull(slot))
			return slot;
		econtext->ecxt_scantuple = slot;
		if (ExecQual(node->css.ss.ps.qual, econtext))
			return slot;
		InstrCountFiltered1(&node->css, 1);
	}
}

static TupleTableSlot *
skx_plan_node_next(CustomScanState *css)
{
	SkxPlanNode *node = (SkxPlanNode *) css;
	ProjectionInfo *projection = css->ss.ps.ps_ProjInfo;
	TupleTableSlot *slot = node->kind->next != NULL ?
		node->kind->next(node) : skx_plan_node_next_passing(node);

	if (projection == NULL)
		return slot;
	if (TupIsNull(slot))
		return ExecClearTuple(projection->pi_state.resultslot);
	ResetExprContext(css->ss.ps.ps_ExprContext);
	css->ss.ps.ps_ExprContext->ecxt_scantuple = slot;
	return ExecProject(projection);
}

/* A child is rescanned by its next fetch if its parameters have changed. */
static void
skx_plan_node_rescan(CustomScanState *css)
{
	SkxPlanNode *node = (SkxPlanNode *) css;
	ListCell   *lc;

	if (css->ss.ss_ScanTupleSlot != NULL)
		ExecClearTuple(css->ss.ss_ScanTupleSlot);
	if (node->kind->rescan != NULL)
		node->kind->rescan(node);
	foreach(lc, css->custom_ps)
	{
		PlanState  *child = lfirst(lc);

		if (css->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(child, css->ss.ps.chgParam);
		if (child->chgParam == NULL)
			ExecReScan(child);
	}
	node->is_ready = false;
}

static void
skx_plan_node_end(CustomScanState *css)
{
	SkxPlanNode *node = (SkxPlanNode *) css;
	ListCell   *lc;

	if (node->kind->end != NULL)
		node->kind->end(node);
	foreach(lc, css->custom_ps)
	{
		ExecEndNode(lfirst(lc));
	}
}

static void
skx_plan_node_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	SkxPlanNode *node = (SkxPlanNode *) css;

	if (node->kind->explain != NULL)
		node->kind->explain(node, es);
	if (skx_plan_node_plan(node)->custom_private != NIL)
		skx_plan_explain_blocks(skx_plan_node_private(node,
													  SKX_PRIVATE_BLOCKS), es);
	skx_plan_work_explain(node, es);
}

/* ---- with other processes ---- */

/* The kind's part of the shared memory follows the counts of work. */
static void
skx_plan_node_is_parallel(SkxPlanNode *node, void *at)
{
	node->shared = at;
	node->shared_part = (char *) at + MAXALIGN(skx_plan_work_size());
}

static Size
skx_plan_node_share_size(CustomScanState *css, ParallelContext *context)
{
	SkxPlanNode *node = (SkxPlanNode *) css;

	return add_size(MAXALIGN(skx_plan_work_size()),
					node->kind->share_size(node, context->nworkers + 1));
}

static void
skx_plan_node_share_begin(CustomScanState *css, ParallelContext *context,
						  void *at)
{
	SkxPlanNode *node = (SkxPlanNode *) css;

	skx_plan_node_is_parallel(node, at);
	skx_plan_work_init(node->shared);
	node->kind->share_init(node, context->nworkers + 1);
}

static void
skx_plan_node_share_restart(CustomScanState *css, ParallelContext *context,
							void *at)
{
	SkxPlanNode *node = (SkxPlanNode *) css;

	skx_plan_node_is_parallel(node, at);
	node->kind->share_restart(node);
}

static void
skx_plan_node_share_attach(CustomScanState *css, shm_toc *toc, void *at)
{
	skx_plan_node_is_parallel((SkxPlanNode *) css, at);
}

/* Called before the shared memory goes away. */
static void
skx_plan_node_share_end(CustomScanState *css)
{
	SkxPlanNode *node = (SkxPlanNode *) css;

	if (node->shared == NULL)
		return;
	if (node->kind->share_finish != NULL)
		node->kind->share_finish(node);
	skx_plan_work_leave(node, node->shared);
	node->shared = NULL;
	node->shared_part = NULL;
	if (node->kind->share_detach != NULL)
		node->kind->share_detach(node);
}

/* ---- the state ---- */

static const CustomExecMethods skx_plan_node_methods = {
	.CustomName = "Skipidx",
	.BeginCustomScan = skx_plan_node_begin,
	.ExecCustomScan = skx_plan_node_next,
	.EndCustomScan = skx_plan_node_end,
	.ReScanCustomScan = skx_plan_node_rescan,
	.EstimateDSMCustomScan = skx_plan_node_share_size,
	.InitializeDSMCustomScan = skx_plan_node_share_begin,
	.ReInitializeDSMCustomScan = skx_plan_node_share_restart,
	.InitializeWorkerCustomScan = skx_plan_node_share_attach,
	.ShutdownCustomScan = skx_plan_node_share_end,
	.ExplainCustomScan = skx_plan_node_explain
};

Node *
skx_plan_node_create(CustomScan *scan)
{
	const SkxPlanKind *kind = (const SkxPlanKind *) scan->methods;
	SkxPlanNode *node = palloc0(kind->size);

	NodeSetTag(node, T_CustomScanState);
	node->css.methods = &skx_plan_node_methods;
	node->kind = kind;
	return (Node *) node;
}

bool
skx_plan_node_reads_index(const CustomScanMethods *methods)
{
	return methods->CreateCustomScanState == skx_plan_node_create &&
		skx_plan_kind_reads((const SkxPlanKind *) methods);
}

SkxPlanNode *
skx_plan_node_of_kind(CustomScanState *css, const SkxPlanKind *kind)
{
	SkxPlanNode *node = (SkxPlanNode *) css;

	return css->methods == &skx_plan_node_methods && node->kind == kind ?
		node : NULL;
}
