/*
 * plan_scan.c
 *	  The custom scan over a ranked Index Scan, at run time.
 *
 * It tells the scan of the index how many rows will be fetched, and adds the
 * distance of each row, which the scan of the index knows.  While a row that
 * another transaction changed is rechecked (EvalPlanQual) there is no such
 * scan, and the distance is computed from the row.
 *
 * With several processes, this node runs in each of them, and one returns the
 * rows (answer/topk/topk_share.h).  The others return none, so that the node
 * that gathers them finds them in order.
 *
 * Rows without a score come last.  Where the ranking query is also a
 * condition, which they cannot meet, the scan ends at the first of them.  It
 * also ends at the first row that fails a condition that bounds the distance.
 */
#include "postgres.h"

#include "access/genam.h"
#include "answer/topk/topk_share.h"
#include "executor/executor.h"
#include "nodes/value.h"
#include "sql/am/am.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "support/compat/compat_planner.h"
#include "tsearch/ts_utils.h"
#include "utils/rel.h"

typedef struct SkxRankedScan
{
	SkxPlanNode node;			/* first */
	IndexScanState *child;
	ExprState  *document;		/* operands of the distance ... */
	ExprState  *ref;
	FmgrInfo	distance;		/* ... and its function */
	ExprState  *filter;			/* a query that all rows have to match */
	ExprState  *bounds;			/* conditions that end the scan */
	bool		unlimited;		/* all rows are fetched, as far as is known */
	uint64		asked;			/* rows asked for by the limit; 0: not known */
	bool		scored_only;	/* ends with the last row with a score */
	bool		done;
	SkxRivals  *rivals;			/* scans of other partitions; NULL: none */
	bool		begun;			/* the rivals know that this scan has begun */
	List	   *ahead;			/* MinimalTuples: rows read before they are
								 * asked for */
	int			given;			/* how many of them were returned */
} SkxRankedScan;

static void
skx_plan_begin_ranked(SkxPlanNode *node)
{
	SkxRankedScan *state = (SkxRankedScan *) node;
	const CustomScan *scan = castNode(CustomScan, node->css.ss.ps.plan);
	List	   *bounds = (List *) list_nth(scan->custom_exprs,
										   SKX_EXPR_BOUNDS);

	state->child = skx_plan_node_child(node, 0);
	state->document = skx_plan_node_expr(node, SKX_EXPR_DOCUMENT);
	state->ref = skx_plan_node_expr(node, SKX_EXPR_REF);
	state->filter = skx_plan_node_expr(node, SKX_EXPR_FILTER);
	state->bounds = ExecInitQual(bounds, &node->css.ss.ps);
	fmgr_info(linitial_oid((List *) skx_plan_node_private(node,
														  SKX_RANKED_DISTANCE)),
			  &state->distance);
	node->limit.extra = intVal(skx_plan_node_private(node, SKX_RANKED_EXTRA));
	node->limit.times = intVal(skx_plan_node_private(node,
													 SKX_RANKED_PERCENT)) / 100.0;
	state->unlimited = intVal(skx_plan_node_private(node,
													SKX_RANKED_UNLIMITED)) != 0;
}

/* ---- before the first row ---- */

/* Tells the index how many rows will be fetched, before the first one is. */
static void
skx_plan_want(SkxRankedScan *state)
{
	SkxPlanNode *node = &state->node;
	SkxScanDesc *desc = skx_am_scan_desc(state->child->iss_ScanDesc);
	bool		limited = skx_plan_node_asked(node, &state->asked);

	desc->wants_all = state->unlimited ||
		(node->limit.count != NULL && !limited);
	desc->wanted = !desc->wants_all ? state->asked :
		skx_cost_first(node->css.ss.ps.plan->plan_rows * node->limit.times);
	desc->ranked_share = node->share;
}

/*
 * Returns true if all documents that match the query have a word of it, and so
 * a score.
 */
static bool
skx_plan_scored_only(const SkxRef *ref)
{
	TSQuery		query = SkxRefQuery(ref);

	return query->size == 0 || tsquery_requires_match(GETQUERY(query));
}

/*
 * Returns true if no row without a score can pass the filter.  That is so if
 * the filter is the ranking query, or NULL.
 */
static bool
skx_plan_only_scored_pass(SkxRankedScan *state)
{
	ExprContext *econtext = state->node.css.ss.ps.ps_ExprContext;
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

/*
 * Returns true if the scan ends with the last row that has a score.  Notices
 * are suppressed: the server evaluates both operands again, and sends them
 * then.
 */
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

static void
skx_plan_prepare(SkxRankedScan *state)
{
	skx_plan_open_child(state->child);
	skx_plan_want(state);
	state->scored_only = skx_plan_ends_early(state);
	state->node.ready = true;
}

/* ---- rows ---- */

/*
 * Computes the distance from the row in `slot`.  Returns false if it is NULL.
 */
static bool
skx_plan_compute(SkxRankedScan *state, TupleTableSlot *slot,
				 Datum *distance)
{
	ExprContext *econtext = state->node.css.ss.ps.ps_ExprContext;
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

/* Returns true if neither this row nor any after it is part of the result. */
static bool
skx_plan_is_past(SkxRankedScan *state, TupleTableSlot *slot)
{
	ExprContext *econtext = state->node.css.ss.ps.ps_ExprContext;
	int			last = slot->tts_tupleDescriptor->natts - 1;

	if (state->scored_only && (slot->tts_isnull[last] ||
							   DatumGetFloat4(slot->tts_values[last]) >= 0))
		return true;
	econtext->ecxt_scantuple = slot;
	return !ExecQual(state->bounds, econtext);
}

/*
 * Sets *distance to that of the row that the child has returned last.  Returns
 * false if it is NULL.
 */
static bool
skx_plan_distance(const SkxRankedScan *state, Datum *distance)
{
	const SkxScanDesc *desc = skx_am_scan_desc(state->child->iss_ScanDesc);
	const SkxTopkHit *hit = desc->hit;

	if (hit == NULL || hit->is_null)
		return false;
	*distance = Float4GetDatum(skx_score_distance(desc->scorer, hit->sum));
	return true;
}

/* Fetches the child's next row and its distance. */
static void
skx_plan_fetch_ranked(SkxPlanNode *node, TupleTableSlot *slot)
{
	SkxRankedScan *state = (SkxRankedScan *) node;
	bool		recheck = skx_plan_is_rechecked(state->child);
	int			last = slot->tts_tupleDescriptor->natts - 1;
	TupleTableSlot *row;

	if (!recheck && !node->ready)
		skx_plan_prepare(state);
	row = state->done ? NULL : ExecProcNode(&state->child->ss.ps);
	if (TupIsNull(row))
		return;
	skx_plan_node_copy(node, slot, row, last,
					   &state->child->ss.ss_ScanTupleSlot->tts_tid);
	slot->tts_isnull[last] = recheck ?
		!skx_plan_compute(state, slot, &slot->tts_values[last]) :
		!skx_plan_distance(state, &slot->tts_values[last]);
	if (!recheck && skx_plan_is_past(state, slot))
	{
		state->done = true;
		ExecClearTuple(slot);
	}
}

/* ---- beside scans of other partitions ---- */

/* Returns the work of the search; all zero if the scan has not begun. */
static const SkxTopkWork *
skx_plan_work(const SkxRankedScan *state)
{
	static const SkxTopkWork none;

	return state->child->iss_ScanDesc == NULL ? &none :
		&skx_am_scan_desc(state->child->iss_ScanDesc)->work.ranked;
}

/* Returns the next row that may be among the wanted rows of all scans. */
static TupleTableSlot *
skx_plan_competing(SkxRankedScan *state)
{
	TupleTableSlot *slot;
	int			last;
	float4		distance;
	float4		floor;
	bool		known;

	if (!state->node.ready)
		skx_plan_prepare(state);
	known = skx_plan_rivals_floor(state->rivals, &floor);
	if (known)
		skx_am_scan_desc(state->child->iss_ScanDesc)->floor = floor;
	slot = skx_plan_node_passing(&state->node);
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

/*
 * Returns true if the row, and those behind it, tell the other scans nothing
 * more.
 */
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
 * Reads rows until the scans that begin later know what to reach, as far as
 * this one can tell.  It reads `most` rows at most, since rows of equal
 * distance may be very many.
 */
static void
skx_plan_read_ahead(SkxRankedScan *state, int64 most)
{
	MemoryContext context = state->node.css.ss.ps.state->es_query_cxt;

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

/*
 * Reads ahead, before the first row.  Counts the scan for EXPLAIN if other
 * scans made its first search needless.
 */
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
	TupleTableSlot *slot = state->node.css.ss.ss_ScanTupleSlot;

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
skx_plan_next_ranked(SkxPlanNode *node)
{
	SkxRankedScan *state = (SkxRankedScan *) node;

	return state->rivals == NULL ? skx_plan_node_passing(node) :
		skx_plan_next_of_rivals(state);
}

/* ---- with other processes ---- */

/*
 * The leader's statistics are those of all processes, so its scan begins here.
 */
static Size
skx_plan_ranked_share_size(SkxPlanNode *node, int nprocesses)
{
	SkxRankedScan *state = (SkxRankedScan *) node;
	const SkxScanDesc *desc;

	if (!node->ready)
		skx_plan_prepare(state);
	(void) skx_am_scan_enter(state->child->iss_ScanDesc);
	skx_am_scan_leave(state->child->iss_ScanDesc);
	desc = skx_am_scan_desc(state->child->iss_ScanDesc);
	return skx_topk_share_size(desc->scorer, desc->rows, nprocesses);
}

static void
skx_plan_ranked_share_init(SkxPlanNode *node, int nprocesses)
{
	const SkxRankedScan *state = (const SkxRankedScan *) node;
	SkxScanDesc *desc = skx_am_scan_desc(state->child->iss_ScanDesc);

	skx_topk_share_init(node->share, desc->scorer, desc->request.query,
						desc->rows, nprocesses);
	desc->ranked_share = node->share;
}

static void
skx_plan_ranked_share_restart(SkxPlanNode *node)
{
	skx_topk_share_restart(node->share);
}

static void
skx_plan_ranked_share_gone(SkxPlanNode *node)
{
	IndexScanDesc scan = skx_plan_node_child(node, 0)->iss_ScanDesc;

	if (scan != NULL)
		skx_am_scan_desc(scan)->ranked_share = NULL;
}

/* ---- rescan, end, explain ---- */

static void
skx_plan_rescan_ranked(SkxPlanNode *node)
{
	skx_plan_forget_ahead((SkxRankedScan *) node);
	((SkxRankedScan *) node)->done = false;
}

static void
skx_plan_end_ranked(SkxPlanNode *node)
{
	skx_plan_forget_ahead((SkxRankedScan *) node);
}

static void
skx_plan_explain_ranked(SkxPlanNode *node, ExplainState *es)
{
	skx_plan_node_explain_asked(node, ((SkxRankedScan *) node)->asked, es);
}

static const void *
skx_plan_ranked_work(SkxPlanNode *node)
{
	const SkxRankedScan *state = (const SkxRankedScan *) node;

	return state->child->iss_ScanDesc == NULL ? NULL : skx_plan_work(state);
}

static const SkxPlanCount skx_plan_ranked_counts[] = {
	{"Passes", offsetof(SkxTopkWork, passes), SKX_COUNT_OWN},
	{"Scored Postings", offsetof(SkxTopkWork, scored)},
	{"Candidates", offsetof(SkxTopkWork, candidates)},
	{"Proximity Documents", offsetof(SkxTopkWork, proximity)},
	{"Windows", offsetof(SkxTopkWork, windows), SKX_COUNT_NO_TEXT},
	{"Rounds", offsetof(SkxTopkWork, rounds), SKX_COUNT_OWN | SKX_COUNT_ANY},
	{NULL}
};

const SkxPlanKind skx_plan_ranked = {
	.scan = {"Skipidx Scan", skx_plan_node_create},
	.size = sizeof(SkxRankedScan),
	.begin = skx_plan_begin_ranked,
	.fetch = skx_plan_fetch_ranked,
	.next = skx_plan_next_ranked,
	.rescan = skx_plan_rescan_ranked,
	.end = skx_plan_end_ranked,
	.explain = skx_plan_explain_ranked,
	.counts = skx_plan_ranked_counts,
	.work = skx_plan_ranked_work,
	.share_size = skx_plan_ranked_share_size,
	.share_init = skx_plan_ranked_share_init,
	.share_restart = skx_plan_ranked_share_restart,
	.share_gone = skx_plan_ranked_share_gone
};

int
skx_plan_set_rivals(CustomScanState *css, SkxRivals *rivals)
{
	SkxPlanNode *node = skx_plan_node_of(css, &skx_plan_ranked);

	if (node == NULL)
		return 0;
	((SkxRankedScan *) node)->rivals = rivals;
	return 1;
}
