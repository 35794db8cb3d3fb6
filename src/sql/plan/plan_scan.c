/*
 * plan_scan.c
 *	  The custom scan over a ranked Index Scan, at run time.
 *
 * It tells the scan of the index how many rows will be fetched, and adds the
 * distance of each row, which the scan of the index knows.  While a row that
 * another transaction changed is rechecked (EvalPlanQual) there is no such
 * scan, and the distance is computed from the row.
 *
 * By several processes, this node runs in each of them, and one returns the
 * rows (answer/topk/topk_share.h).  The others have none, so that what gathers them
 * finds them in order.
 *
 * Rows without a score come last.  Where the ranking query is also a
 * condition, which they cannot meet, the scan ends at the first of them.  It
 * also ends at the first row that fails a condition that bounds the distance.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "answer/topk/topk_share.h"
#include "executor/executor.h"
#include "executor/nodeIndexscan.h"
#include "nodes/value.h"
#include "sql/am/am.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_internal.h"
#include "support/compat/compat_planner.h"
#include "tsearch/ts_utils.h"
#include "utils/rel.h"

/* What processes share; the search's part follows. */
typedef struct SkxRankedScanShare
{
	SkxSharedReads reads;
} SkxRankedScanShare;

#define SKX_RANKED_SEARCH(share) \
	((SkxTopkShare *) ((char *) (share) + MAXALIGN(sizeof(SkxRankedScanShare))))

typedef struct SkxRankedScan
{
	CustomScanState css;
	IndexScanState *child;
	ExprState  *document;		/* operands of the distance ... */
	ExprState  *ref;
	FmgrInfo	distance;		/* ... and its function */
	ExprState  *count;			/* LIMIT and OFFSET, where they apply */
	ExprState  *offset;
	ExprState  *filter;			/* a query that all rows have to match */
	ExprState  *bounds;			/* conditions that end the scan */
	uint64		extra;			/* rows fetched beyond them */
	double		times;			/* rows fetched for each that is left */
	bool		unlimited;		/* all rows, as far as is known */
	uint64		asked;			/* rows, by the limit; 0: not known */
	bool		ready;			/* the index knows what it has to do */
	bool		scored_only;	/* ends with the last row with a score */
	bool		done;
	SkxRivals  *rivals;			/* scans of other partitions; NULL: none */
	bool		begun;			/* they know of this one */
	List	   *ahead;			/* MinimalTuple: rows read before they are
								 * asked for, */
	int			given;			/* and how many of them were */
	SkxRankedScanShare *share;	/* with other processes, as long as these run */
	SkxTopkWork others;			/* what they have done, */
	SkxScanReads others_reads;	/* and read */
} SkxRankedScan;

static Node *skx_plan_create_state(CustomScan *scan);
static void skx_plan_begin(CustomScanState *node, EState *estate,
						   int eflags);
static TupleTableSlot *skx_plan_next(CustomScanState *node);
static void skx_plan_end(CustomScanState *node);
static void skx_plan_rescan(CustomScanState *node);
static void skx_plan_explain(CustomScanState *node, List *ancestors,
							 ExplainState *es);
static Size skx_plan_share_size(CustomScanState *node,
								ParallelContext *context);
static void skx_plan_share_begin(CustomScanState *node,
								 ParallelContext *context, void *at);
static void skx_plan_share_again(CustomScanState *node,
								 ParallelContext *context, void *at);
static void skx_plan_share_join(CustomScanState *node, shm_toc *toc,
								void *at);
static void skx_plan_share_end(CustomScanState *node);

const CustomScanMethods skx_plan_scan_methods = {
	.CustomName = "Skipidx Scan",
	.CreateCustomScanState = skx_plan_create_state
};

static const CustomExecMethods skx_plan_exec_methods = {
	.CustomName = "Skipidx Scan",
	.BeginCustomScan = skx_plan_begin,
	.ExecCustomScan = skx_plan_next,
	.EndCustomScan = skx_plan_end,
	.ReScanCustomScan = skx_plan_rescan,
	.EstimateDSMCustomScan = skx_plan_share_size,
	.InitializeDSMCustomScan = skx_plan_share_begin,
	.ReInitializeDSMCustomScan = skx_plan_share_again,
	.InitializeWorkerCustomScan = skx_plan_share_join,
	.ShutdownCustomScan = skx_plan_share_end,
	.ExplainCustomScan = skx_plan_explain
};

static Node *
skx_plan_create_state(CustomScan *scan)
{
	SkxRankedScan *state = palloc0(sizeof(SkxRankedScan));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &skx_plan_exec_methods;
	return (Node *) state;
}

static void
skx_plan_begin(CustomScanState *node, EState *estate, int eflags)
{
	SkxRankedScan *state = (SkxRankedScan *) node;
	CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);
	List	   *exprs = scan->custom_exprs;
	PlanState  *parent = &node->ss.ps;

	state->child = castNode(IndexScanState,
							ExecInitNode(linitial(scan->custom_plans),
										 estate, eflags));
	node->custom_ps = list_make1(state->child);
	state->document = ExecInitExpr(list_nth(exprs, SKX_EXPR_DOCUMENT), parent);
	state->ref = ExecInitExpr(list_nth(exprs, SKX_EXPR_REF), parent);
	state->count = ExecInitExpr(list_nth(exprs, SKX_EXPR_COUNT), parent);
	state->offset = ExecInitExpr(list_nth(exprs, SKX_EXPR_OFFSET), parent);
	state->filter = ExecInitExpr(list_nth(exprs, SKX_EXPR_FILTER), parent);
	state->bounds = ExecInitQual(list_nth(exprs, SKX_EXPR_BOUNDS), parent);
	fmgr_info(linitial_oid(linitial(scan->custom_private)), &state->distance);
	state->extra = intVal(lsecond(scan->custom_private));
	state->times = intVal(lthird(scan->custom_private)) / 100.0;
	state->unlimited = intVal(lfourth(scan->custom_private)) != 0;
}

/* ---- before the first row ---- */

bool
skx_plan_number(ExprState *expr, ExprContext *econtext, int64 *number)
{
	bool		isnull = true;

	if (expr != NULL)
		*number = DatumGetInt64(ExecEvalExprSwitchContext(expr, econtext,
														  &isnull));
	return !isnull;
}

/* How many rows will be fetched, by the limit; false: LIMIT NULL, or none. */
static bool
skx_plan_asked(SkxRankedScan *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	int64		count;
	int64		offset;
	bool		limited = skx_plan_number(state->count, econtext, &count);

	state->asked = 0;
	if (!limited || count < 0)
		return limited;
	if (!skx_plan_number(state->offset, econtext, &offset) || offset < 0)
		offset = 0;
	state->asked = (uint64) Min(((double) count + offset + state->extra) *
								state->times, (double) (PG_INT64_MAX / 2));
	return true;
}

/*
 * Tells the index how many rows will be fetched, before the first one is.  A
 * negative limit is an error, but not here.
 */
static void
skx_plan_want(SkxRankedScan *state)
{
	IndexScanDesc scan = state->child->iss_ScanDesc;
	bool		limited = skx_plan_asked(state);

	if (state->unlimited || (state->count != NULL && !limited))
		skx_am_scan_want_all(scan, state->css.ss.ps.plan->plan_rows *
							 state->times);
	else
		skx_am_scan_want(scan, state->asked);
}

/* A document that has a word of the query has a score. */
static bool
skx_plan_scored_only(const SkxRef *ref)
{
	TSQuery		query = SkxRefQuery(ref);

	return query->size == 0 || tsquery_requires_match(GETQUERY(query));
}

/*
 * Can no row without a score pass the filter?  It cannot when the filter is
 * the ranking query, or NULL.
 */
static bool
skx_plan_only_scored_pass(SkxRankedScan *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	bool		isnull;
	Datum		filter;
	Datum		value;
	SkxRef	   *ref;
	TSQuery		query;

	filter = ExecEvalExprSwitchContext(state->filter, econtext, &isnull);
	if (isnull)
		return true;
	value = ExecEvalExprSwitchContext(state->ref, econtext, &isnull);
	if (isnull)
		return false;
	query = DatumGetTSQuery(filter);
	ref = (SkxRef *) PG_DETOAST_DATUM(value);
	return skx_score_same_query(query, SkxRefQuery(ref)) &&
		skx_plan_scored_only(ref);
}

/* The server evaluates both operands again, where their notices come from. */
static bool
skx_plan_ends_early(SkxRankedScan *state)
{
	int			level;
	bool		ends;

	if (state->filter == NULL)
		return false;
	level = skx_cost_quiet_begin();
	ends = skx_plan_only_scored_pass(state);
	skx_cost_quiet_end(level);
	return ends;
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

/* As ExecScanFetch() tells it; of other tables there, rows are looked for. */
bool
skx_plan_is_rechecked(const IndexScanState *child)
{
	const EPQState *epq = child->ss.ps.state->es_epq_active;
	int			at = (int) ((Scan *) child->ss.ps.plan)->scanrelid - 1;

	return epq != NULL &&
		(epq->relsubs_done[at] || epq->relsubs_slot[at] != NULL ||
		 epq->relsubs_rowmark[at] != NULL);
}

static void
skx_plan_prepare(SkxRankedScan *state)
{
	skx_plan_open_child(state->child);
	skx_am_scan_share(state->child->iss_ScanDesc, state->share == NULL ? NULL :
					  SKX_RANKED_SEARCH(state->share));
	skx_plan_want(state);
	state->scored_only = skx_plan_ends_early(state);
	state->ready = true;
}

/* ---- rows ---- */

/* The distance, from the row in `slot`; false: it is NULL. */
static bool
skx_plan_compute(SkxRankedScan *state, TupleTableSlot *slot,
				 Datum *distance)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	bool		isnull[2];
	Datum		document;
	Datum		ref;

	econtext->ecxt_scantuple = slot;
	document = ExecEvalExpr(state->document, econtext, &isnull[0]);
	ref = ExecEvalExpr(state->ref, econtext, &isnull[1]);
	if (!isnull[0] && !isnull[1])
		*distance = FunctionCall2(&state->distance, document, ref);
	MemoryContextSwitchTo(old);
	return !isnull[0] && !isnull[1];
}

/* Does neither this row count nor any after it? */
static bool
skx_plan_is_past(SkxRankedScan *state, TupleTableSlot *slot)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	int			last = slot->tts_tupleDescriptor->natts - 1;

	if (state->scored_only && (slot->tts_isnull[last] ||
							   DatumGetFloat4(slot->tts_values[last]) >= 0))
		return true;
	econtext->ecxt_scantuple = slot;
	return !ExecQual(state->bounds, econtext);
}

/* The child's next row and its distance; an empty slot at the end. */
static TupleTableSlot *
skx_plan_fetch(SkxRankedScan *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	bool		recheck = skx_plan_is_rechecked(state->child);
	int			last = slot->tts_tupleDescriptor->natts - 1;
	TupleTableSlot *row;
	float4		distance;
	Datum		value = (Datum) 0;
	bool		known;

	ExecClearTuple(slot);
	if (!recheck && !state->ready)
		skx_plan_prepare(state);
	row = state->done ? NULL : ExecProcNode(&state->child->ss.ps);
	if (TupIsNull(row))
		return slot;
	slot_getallattrs(row);
	memcpy(slot->tts_values, row->tts_values, last * sizeof(Datum));
	memcpy(slot->tts_isnull, row->tts_isnull, last * sizeof(bool));
	slot->tts_values[last] = (Datum) 0;
	slot->tts_isnull[last] = true;
	ExecStoreVirtualTuple(slot);
	/* for WHERE CURRENT OF */
	slot->tts_tid = state->child->ss.ss_ScanTupleSlot->tts_tid;
	slot->tts_tableOid = state->child->ss.ss_ScanTupleSlot->tts_tableOid;

	if (recheck)
		known = skx_plan_compute(state, slot, &value);
	else
	{
		known = skx_am_scan_distance(state->child->iss_ScanDesc, &distance);
		if (known)
			value = Float4GetDatum(distance);
	}
	slot->tts_values[last] = value;
	slot->tts_isnull[last] = !known;
	if (!recheck && skx_plan_is_past(state, slot))
	{
		state->done = true;
		ExecClearTuple(slot);
	}
	return slot;
}

/* The next row that meets the conditions; an empty slot at the end. */
static TupleTableSlot *
skx_plan_passing(SkxRankedScan *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;

	for (;;)
	{
		TupleTableSlot *slot;

		ResetExprContext(econtext);
		slot = skx_plan_fetch(state);
		if (TupIsNull(slot))
			return slot;
		econtext->ecxt_scantuple = slot;
		if (ExecQual(state->css.ss.ps.qual, econtext))
			return slot;
		InstrCountFiltered1(&state->css, 1);
	}
}

/* ---- beside scans of other partitions ---- */

int
skx_plan_set_rivals(CustomScanState *node, SkxRivals *rivals)
{
	if (node->methods != &skx_plan_exec_methods)
		return 0;
	((SkxRankedScan *) node)->rivals = rivals;
	return 1;
}

/* Segments that were gone through, and that were not. */
static const SkxTopkWork *
skx_plan_work(const SkxRankedScan *state)
{
	static const SkxTopkWork none;

	return state->child->iss_ScanDesc == NULL ? &none :
		skx_am_scan_work(state->child->iss_ScanDesc);
}

/* The next row, of those that may be among the rows of all that are wanted. */
static TupleTableSlot *
skx_plan_competing(SkxRankedScan *state)
{
	TupleTableSlot *slot;
	int			last;
	float4		distance;
	float4		floor;
	bool		known;

	if (!state->ready)
		skx_plan_prepare(state);
	known = skx_plan_rivals_floor(state->rivals, &floor);
	if (known)
		skx_am_scan_floor(state->child->iss_ScanDesc, floor);
	slot = skx_plan_passing(state);
	if (TupIsNull(slot))
		return slot;
	last = slot->tts_tupleDescriptor->natts - 1;
	distance = DatumGetFloat4(slot->tts_values[last]);
	if (known && (slot->tts_isnull[last] || distance > floor))
	{
		state->done = true;
		return ExecClearTuple(slot);
	}
	if (!slot->tts_isnull[last])
		skx_plan_rivals_add(state->rivals, distance);
	return slot;
}

/* Can the row, and those behind it, tell the other scans no more? */
static bool
skx_plan_tells_nothing(const SkxRankedScan *state, TupleTableSlot *slot)
{
	int			last = slot->tts_tupleDescriptor->natts - 1;
	float4		floor;

	return skx_plan_rivals_floor(state->rivals, &floor) &&
		(slot->tts_isnull[last] ||
		 DatumGetFloat4(slot->tts_values[last]) >= floor);
}

/*
 * Reads rows until the scans that begin later know what to reach, as far as this
 * one can tell: they are fewer than `most`, or all that compete.  Rows of equal
 * distance may be very many.
 */
static void
skx_plan_read_ahead(SkxRankedScan *state, int64 most)
{
	MemoryContext context = state->css.ss.ps.state->es_query_cxt;

	while (list_length(state->ahead) < most)
	{
		TupleTableSlot *slot = skx_plan_competing(state);
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		if (TupIsNull(slot))
		{
			state->done = true;
			break;
		}
		old = MemoryContextSwitchTo(context);
		state->ahead = lappend(state->ahead, ExecCopySlotMinimalTuple(slot));
		MemoryContextSwitchTo(old);
		if (skx_plan_tells_nothing(state, slot))
			break;
	}
}

static void
skx_plan_forget_ahead(SkxRankedScan *state)
{
	list_free_deep(state->ahead);
	state->ahead = NIL;
	state->given = 0;
	state->begun = false;
}

/* The first search is the one that others may have made needless. */
static void
skx_plan_begin_rival(SkxRankedScan *state)
{
	int64		most = skx_plan_rivals_begin(state->rivals);
	const SkxTopkWork before = *skx_plan_work(state);
	const SkxTopkWork *work;

	state->begun = true;
	skx_plan_read_ahead(state, Max(most, 1));
	work = skx_plan_work(state);
	if (work->entered == before.entered && work->barred > before.barred)
		skx_plan_rivals_bar(state->rivals);
}

static TupleTableSlot *
skx_plan_next_of_rivals(SkxRankedScan *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;

	if (!state->begun)
		skx_plan_begin_rival(state);
	if (state->given == list_length(state->ahead))
		return state->done ? ExecClearTuple(slot) :
			skx_plan_competing(state);
	ExecForceStoreMinimalTuple(list_nth(state->ahead, state->given++), slot,
							   false);
	return slot;
}

static TupleTableSlot *
skx_plan_next(CustomScanState *node)
{
	SkxRankedScan *state = (SkxRankedScan *) node;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;
	TupleTableSlot *slot;

	slot = state->rivals == NULL ? skx_plan_passing(state) :
		skx_plan_next_of_rivals(state);
	if (projection == NULL)
		return slot;
	if (TupIsNull(slot))
		return ExecClearTuple(projection->pi_state.resultslot);
	ResetExprContext(node->ss.ps.ps_ExprContext);
	node->ss.ps.ps_ExprContext->ecxt_scantuple = slot;
	return ExecProject(projection);
}

/* ---- with other processes ---- */

/* The leader's statistics are those of all: its scan begins here. */
static Size
skx_plan_share_size(CustomScanState *node, ParallelContext *context)
{
	SkxRankedScan *state = (SkxRankedScan *) node;

	if (!state->ready)
		skx_plan_prepare(state);
	return add_size(MAXALIGN(sizeof(SkxRankedScanShare)),
					skx_am_scan_share_size(state->child->iss_ScanDesc,
										   context->nworkers + 1));
}

static void
skx_plan_share_begin(CustomScanState *node, ParallelContext *context,
					 void *at)
{
	SkxRankedScan *state = (SkxRankedScan *) node;

	state->share = at;
	skx_plan_reads_init(&state->share->reads);
	skx_am_scan_share_init(state->child->iss_ScanDesc, SKX_RANKED_SEARCH(at),
						   context->nworkers + 1);
	skx_am_scan_share(state->child->iss_ScanDesc, SKX_RANKED_SEARCH(at));
}

static void
skx_plan_share_again(CustomScanState *node, ParallelContext *context,
					 void *at)
{
	skx_topk_share_restart(SKX_RANKED_SEARCH(at));
}

static void
skx_plan_share_join(CustomScanState *node, shm_toc *toc, void *at)
{
	((SkxRankedScan *) node)->share = at;
}

/* What is shared goes away. */
static void
skx_plan_share_end(CustomScanState *node)
{
	SkxRankedScan *state = (SkxRankedScan *) node;

	if (state->share == NULL)
		return;
	skx_topk_share_work(SKX_RANKED_SEARCH(state->share), &state->others);
	skx_plan_reads_leave(&state->share->reads, state->child);
	skx_plan_reads_take(&state->share->reads, &state->others_reads);
	state->share = NULL;
	if (state->child->iss_ScanDesc != NULL)
		skx_am_scan_share(state->child->iss_ScanDesc, NULL);
}

/* ---- rescan, end, explain ---- */

/* The child is rescanned with the next fetch if what it depends on changed. */
static void
skx_plan_rescan(CustomScanState *node)
{
	SkxRankedScan *state = (SkxRankedScan *) node;
	PlanState  *child = &state->child->ss.ps;

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
	skx_plan_forget_ahead(state);
	state->ready = false;
	state->done = false;
}

static void
skx_plan_end(CustomScanState *node)
{
	skx_plan_forget_ahead((SkxRankedScan *) node);
	ExecEndNode(&((SkxRankedScan *) node)->child->ss.ps);
}

static void
skx_plan_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	SkxRankedScan *state = (SkxRankedScan *) node;
	const CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);
	const SkxTopkWork *work;

	if (skx_plan_is_told_limit(scan->custom_exprs, SKX_EXPR_COUNT, es))
		(void) skx_plan_asked(state);
	skx_plan_explain_asked(state->asked, es);
	skx_plan_explain_blocks(llast(scan->custom_private), es);
	if (!es->analyze || state->child->iss_ScanDesc == NULL)
		return;
	work = skx_am_scan_work(state->child->iss_ScanDesc);
	if (work == NULL)
		return;
	ExplainPropertyUInteger("Passes", NULL, work->passes, es);
	ExplainPropertyUInteger("Scored Postings", NULL,
							work->scored + state->others.scored, es);
	ExplainPropertyUInteger("Candidates", NULL,
							work->candidates + state->others.candidates, es);
	ExplainPropertyUInteger("Proximity Documents", NULL,
							work->proximity + state->others.proximity, es);
	if (es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyUInteger("Windows", NULL,
								work->windows + state->others.windows, es);
	if (work->rounds > 0 || es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyUInteger("Rounds", NULL, work->rounds, es);
	skx_plan_explain_reads(node->custom_ps, &state->others_reads, es);
}
