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
#include "sql/plan/plan_sum.h"
#include "support/compat/compat_planner.h"
#include "tsearch/ts_utils.h"
#include "utils/rel.h"

typedef struct SkxRankedScan
{
	SkxPlanNode node;			/* first */
	IndexScanState *child;
	ExprState  *document;		/* operands of the distance; NULL: not used */
	ExprState  *ref;
	FmgrInfo	distance;		/* its function, if `document` is set */
	const SkxTopkPrior *prior;	/* what values add to the distance; NULL:
								 * nothing */
	ExprState  *filter;			/* a query that all rows have to match */
	ExprState  *bounds;			/* conditions that end the scan */
	bool		is_known;		/* filter and ref call no function */
	bool		is_unlimited;	/* all rows are fetched, as far as is known */
	int			first_rows;		/* of the first search, if nothing else tells */
	uint64		limit_rows;		/* rows asked for by the limit; 0: not known */
	bool		scored_only;	/* ends with the last row with a score */
	bool		at_end;
	SkxSiblingScans *siblings;	/* scans of other partitions; NULL: none */
	bool		siblings_know;	/* the rivals know that this scan has begun */
	List	   *rows_ahead;		/* MinimalTuples: rows read before they are
								 * asked for */
	int			nreturned_ahead;	/* how many of them were returned */
} SkxRankedScan;

/* Returns true if evaluating the expression calls no function. */
static bool
skx_plan_is_value(const Node *expr)
{
	return expr != NULL && (IsA(expr, Const) || IsA(expr, Param));
}

/* Only the row of a recheck has its distance computed (fetch_ranked). */
static void
skx_plan_begin_ranked(SkxPlanNode *node)
{
	SkxRankedScan *state = (SkxRankedScan *) node;
	const CustomScan *scan = castNode(CustomScan, node->css.ss.ps.plan);
	List	   *bounds = (List *) list_nth(scan->custom_exprs,
										   SKX_EXPR_BOUNDS);

	state->child = skx_plan_node_child(node, 0);
	state->prior = skx_plan_sum_begin(node);
	state->filter = skx_plan_node_expr(node, SKX_EXPR_FILTER);
	if (node->css.ss.ps.state->es_epq_active != NULL)
	{
		state->document = skx_plan_node_expr(node, SKX_EXPR_DOCUMENT);
		fmgr_info(linitial_oid((List *) skx_plan_node_private(node, SKX_RANKED_DISTANCE)),
				  &state->distance);
	}
	if (state->document != NULL || state->filter != NULL)
		state->ref = skx_plan_node_expr(node, SKX_EXPR_REF);
	state->is_known =
		skx_plan_is_value(list_nth(scan->custom_exprs, SKX_EXPR_FILTER)) &&
		skx_plan_is_value(list_nth(scan->custom_exprs, SKX_EXPR_REF));
	state->bounds = ExecInitQual(bounds, &node->css.ss.ps);
	node->limit.extra = intVal(skx_plan_node_private(node, SKX_RANKED_EXTRA));
	node->limit.rows_per_pass =
		intVal(skx_plan_node_private(node, SKX_RANKED_PERCENT)) / 100.0;
	state->is_unlimited =
		intVal(skx_plan_node_private(node, SKX_RANKED_UNLIMITED)) != 0;
	state->first_rows = intVal(skx_plan_node_private(node, SKX_RANKED_FIRST));
}

/* ---- before the first row ---- */

/* Tells the index how many rows will be fetched, before the first one is. */
static void
skx_plan_set_wanted_rows(SkxRankedScan *state)
{
	SkxPlanNode *node = &state->node;
	SkxScanDesc *desc = skx_am_scan_desc(state->child->iss_ScanDesc);
	bool		limited = skx_plan_node_limit(node, &state->limit_rows);

	desc->wants_all = state->is_unlimited ||
		(node->limit.count != NULL && !limited);
	desc->wanted = !desc->wants_all ? state->limit_rows :
		skx_cost_first_search_rows(node->css.ss.ps.plan->plan_rows *
								   node->limit.rows_per_pass);
	desc->first_rows = state->first_rows;
	desc->prior = state->prior;
	desc->ranked_share = node->shared_part;
}

/*
 * Returns true if all documents that match the query have a word of it, and so
 * a score.
 */
static bool
skx_plan_matches_are_scored(const SkxRef *ref)
{
	TSQuery		query = SkxRefQuery(ref);

	return query->size == 0 || tsquery_requires_match(GETQUERY(query));
}

/*
 * Returns true if no row without a score can pass the filter.  That is so if
 * the filter is the ranking query, or NULL.
 */
static bool
skx_plan_filter_needs_score(SkxRankedScan *state)
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
		skx_plan_matches_are_scored(ref);
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
	if (state->is_known)
		return skx_plan_filter_needs_score(state);
	level = skx_cost_silence_begin();
	ends = skx_plan_filter_needs_score(state);
	skx_cost_silence_end(level);
	return ends;
}

static void
skx_plan_prepare_ranked(SkxRankedScan *state)
{
	skx_plan_open_child(state->child);
	skx_plan_set_wanted_rows(state);
	state->scored_only = skx_plan_ends_early(state);
	state->node.is_ready = true;
}

/* ---- rows ---- */

/*
 * Computes the distance from the row in `slot`.  Returns false if it is NULL.
 */
static bool
skx_plan_compute_distance(SkxRankedScan *state, TupleTableSlot *slot,
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
skx_plan_row_ends_scan(SkxRankedScan *state, TupleTableSlot *slot)
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
 * Sets *distance to that of the row that the child has returned last, with
 * what values add to it.  Returns false if it is NULL.
 */
static bool
skx_plan_distance(const SkxRankedScan *state, Datum *distance)
{
	const SkxScanDesc *desc = skx_am_scan_desc(state->child->iss_ScanDesc);
	const SkxTopkHit *hit = desc->hit;

	if (hit == NULL || hit->is_null)
		return false;
	*distance = Float4GetDatum(state->prior != NULL ?
							   skx_prior_grade_value(hit->sum) :
							   skx_score_distance(desc->scorer, hit->sum));
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

	if (!recheck && !node->is_ready)
		skx_plan_prepare_ranked(state);
	row = state->at_end ? NULL : ExecProcNode(&state->child->ss.ps);
	if (TupIsNull(row))
		return;
	skx_plan_node_copy_row(node, slot, row, last,
						   &state->child->ss.ss_ScanTupleSlot->tts_tid);
	slot->tts_isnull[last] = recheck ?
		!skx_plan_compute_distance(state, slot, &slot->tts_values[last]) :
		!skx_plan_distance(state, &slot->tts_values[last]);
	if (!recheck && skx_plan_row_ends_scan(state, slot))
	{
		state->at_end = true;
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

/*
 * Returns the next row that meets the quals, and counts it if it is final.  Rows
 * that a recheck computes have no hit.
 */
static TupleTableSlot *
skx_plan_next_counted(SkxRankedScan *state)
{
	TupleTableSlot *slot = skx_plan_node_next_passing(&state->node);
	SkxScanDesc *desc;

	if (TupIsNull(slot) || state->child->iss_ScanDesc == NULL)
		return slot;
	desc = skx_am_scan_desc(state->child->iss_ScanDesc);
	if (desc->hit != NULL && desc->hit->is_final)
		desc->work.ranked.final_rows++;
	return slot;
}

/* Returns the next row that may be among the wanted rows of all scans. */
static TupleTableSlot *
skx_plan_next_competing(SkxRankedScan *state)
{
	TupleTableSlot *slot;
	int			last;
	float4		distance;
	float4		floor;
	bool		known;

	if (!state->node.is_ready)
		skx_plan_prepare_ranked(state);
	known = skx_plan_siblings_max_distance(state->siblings, &floor);
	if (known)
		skx_am_scan_desc(state->child->iss_ScanDesc)->floor = floor;
	slot = skx_plan_next_counted(state);
	if (TupIsNull(slot))
		return slot;
	last = slot->tts_tupleDescriptor->natts - 1;
	distance = DatumGetFloat4(slot->tts_values[last]);
	if (known && (slot->tts_isnull[last] || distance > floor))
	{
		state->at_end = true;
		return ExecClearTuple(slot);
	}
	if (!slot->tts_isnull[last])
		skx_plan_siblings_add(state->siblings, distance);
	return slot;
}

/*
 * Returns true if the row, and those behind it, tell the other scans nothing
 * more.
 */
static bool
skx_plan_row_is_beyond_limit(const SkxRankedScan *state, TupleTableSlot *slot)
{
	int			last = slot->tts_tupleDescriptor->natts - 1;
	float4		floor;

	return skx_plan_siblings_max_distance(state->siblings, &floor) &&
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

	while (list_length(state->rows_ahead) < most)
	{
		TupleTableSlot *slot = skx_plan_next_competing(state);
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		if (TupIsNull(slot))
		{
			state->at_end = true;
			break;
		}
		old = MemoryContextSwitchTo(context);
		state->rows_ahead = lappend(state->rows_ahead,
									ExecCopySlotMinimalTuple(slot));
		MemoryContextSwitchTo(old);
		if (skx_plan_row_is_beyond_limit(state, slot))
			break;
	}
}

static void
skx_plan_discard_ahead(SkxRankedScan *state)
{
	list_free_deep(state->rows_ahead);
	state->rows_ahead = NIL;
	state->nreturned_ahead = 0;
	state->siblings_know = false;
}

/*
 * Reads ahead, before the first row.  Counts the scan for EXPLAIN if other
 * scans made its first search needless.
 */
static void
skx_plan_begin_sibling(SkxRankedScan *state)
{
	int64		most = skx_plan_siblings_begin(state->siblings);
	const SkxTopkWork before = *skx_plan_work(state);
	const SkxTopkWork *work;

	state->siblings_know = true;
	skx_plan_read_ahead(state, Max(most, 1));
	work = skx_plan_work(state);
	if (work->entered_segments == before.entered_segments &&
		work->skipped_segments > before.skipped_segments)
		skx_plan_siblings_count_skipped(state->siblings);
}

static TupleTableSlot *
skx_plan_next_of_siblings(SkxRankedScan *state)
{
	TupleTableSlot *slot = state->node.css.ss.ss_ScanTupleSlot;

	if (!state->siblings_know)
		skx_plan_begin_sibling(state);
	if (state->nreturned_ahead == list_length(state->rows_ahead))
		return state->at_end ? ExecClearTuple(slot) :
			skx_plan_next_competing(state);
	ExecForceStoreMinimalTuple(list_nth(state->rows_ahead,
										state->nreturned_ahead++), slot,
							   false);
	return slot;
}

static TupleTableSlot *
skx_plan_next_ranked(SkxPlanNode *node)
{
	SkxRankedScan *state = (SkxRankedScan *) node;

	return state->siblings == NULL ? skx_plan_next_counted(state) :
		skx_plan_next_of_siblings(state);
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

	if (!node->is_ready)
		skx_plan_prepare_ranked(state);
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

	skx_topk_share_init(node->shared_part, desc->scorer, desc->request.query,
						desc->rows, nprocesses);
	desc->ranked_share = node->shared_part;
}

static void
skx_plan_ranked_share_restart(SkxPlanNode *node)
{
	skx_topk_share_restart(node->shared_part);
}

static void
skx_plan_ranked_share_detach(SkxPlanNode *node)
{
	IndexScanDesc scan = skx_plan_node_child(node, 0)->iss_ScanDesc;

	if (scan != NULL)
		skx_am_scan_desc(scan)->ranked_share = NULL;
}

/* ---- rescan, end, explain ---- */

static void
skx_plan_rescan_ranked(SkxPlanNode *node)
{
	skx_plan_discard_ahead((SkxRankedScan *) node);
	((SkxRankedScan *) node)->at_end = false;
}

static void
skx_plan_end_ranked(SkxPlanNode *node)
{
	skx_plan_discard_ahead((SkxRankedScan *) node);
}

static void
skx_plan_explain_ranked(SkxPlanNode *node, ExplainState *es)
{
	skx_plan_sum_explain(node, es);
	skx_plan_node_explain_limit(node, ((SkxRankedScan *) node)->limit_rows,
								es);
}

static const void *
skx_plan_ranked_work(SkxPlanNode *node)
{
	const SkxRankedScan *state = (const SkxRankedScan *) node;

	return state->child->iss_ScanDesc == NULL ? NULL : skx_plan_work(state);
}

static const SkxPlanCount skx_plan_ranked_counts[] = {
	{"Passes", offsetof(SkxTopkWork, passes), SKX_COUNT_OWN},
	{"Scored Postings", offsetof(SkxTopkWork, scored_postings)},
	{"Candidates", offsetof(SkxTopkWork, candidates)},
	{"Proximity Documents", offsetof(SkxTopkWork, position_reads)},
	{"Windows", offsetof(SkxTopkWork, windows), SKX_COUNT_NO_TEXT},
	{"Rounds", offsetof(SkxTopkWork, rounds), SKX_COUNT_OWN | SKX_COUNT_ANY},
	{"Ended by Budget", offsetof(SkxTopkWork, ended_by_budget), SKX_COUNT_ANY},
	{"Final Rows", offsetof(SkxTopkWork, final_rows), SKX_COUNT_WITH_LAST},
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
	.share_detach = skx_plan_ranked_share_detach
};

int
skx_plan_set_siblings(CustomScanState *css, SkxSiblingScans *rivals)
{
	SkxPlanNode *node = skx_plan_node_of_kind(css, &skx_plan_ranked);

	if (node == NULL)
		return 0;
	((SkxRankedScan *) node)->siblings = rivals;
	return 1;
}
