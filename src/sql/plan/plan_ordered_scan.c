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
#include "answer/order/order_share.h"
#include "executor/executor.h"
#include "nodes/value.h"
#include "sql/am/am.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "support/compat/compat_planner.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

typedef struct SkxOrderedScan
{
	SkxPlanNode node;			/* first; its share: SkxOrderedShared */
	IndexScanState *child;
	SkxScanOrder order;
	uint64		asked;			/* rows asked for by the limit; 0: not known */
	SkxOrderedTies *ties;		/* NULL: keys tell their values */
} SkxOrderedScan;

static int
skx_plan_ordered_private(const SkxPlanNode *node, int number)
{
	return intVal(skx_plan_node_private(node, number));
}

static void
skx_plan_begin_ordered(SkxPlanNode *node)
{
	SkxOrderedScan *state = (SkxOrderedScan *) node;
	int			tied = skx_plan_ordered_private(node, SKX_ORDERED_TIE_COLUMN);

	state->child = skx_plan_node_child(node, 0);
	state->order.column = skx_plan_ordered_private(node, SKX_ORDERED_COLUMN);
	state->order.descending =
		skx_plan_ordered_private(node, SKX_ORDERED_DESCENDING) != 0;
	state->order.nulls_first =
		skx_plan_ordered_private(node, SKX_ORDERED_NULLS) != 0;
	node->limit.extra = skx_plan_ordered_private(node, SKX_ORDERED_EXTRA);
	node->limit.rows_per_pass =
		skx_plan_ordered_private(node, SKX_ORDERED_PERCENT) / 100.0;
	if (tied == 0)
		return;
	state->ties = skx_plan_ordered_ties_create(state->child, tied,
											   state->order.descending);
	node->limit.extra++;
}

static void
skx_plan_prepare_ordered(SkxOrderedScan *state)
{
	SkxScanDesc *desc;

	skx_plan_open_child(state->child);
	(void) skx_plan_node_limit(&state->node, &state->asked);
	state->order.share = state->node.shared_part;
	desc = skx_am_scan_desc(state->child->iss_ScanDesc);
	desc->wanted = state->asked;
	desc->order = &state->order;
	state->node.is_ready = true;
}

/*
 * Returns the child's next row, and sets *place to its tid; NULL at the end.
 */
static TupleTableSlot *
skx_plan_row_ordered(SkxOrderedScan *state, ItemPointer place)
{
	bool		rechecked = skx_plan_is_rechecked(state->child);
	TupleTableSlot *row;

	if (!state->node.is_ready && !rechecked)
		skx_plan_prepare_ordered(state);
	if (state->ties != NULL && !rechecked)
		return skx_plan_ordered_ties_next(state->ties, place);
	row = ExecProcNode(&state->child->ss.ps);
	if (TupIsNull(row))
		return NULL;
	slot_getallattrs(row);
	*place = state->child->ss.ss_ScanTupleSlot->tts_tid;
	return row;
}

static void
skx_plan_fetch_ordered(SkxPlanNode *node, TupleTableSlot *slot)
{
	ItemPointerData place;
	TupleTableSlot *row = skx_plan_row_ordered((SkxOrderedScan *) node,
											   &place);

	if (row != NULL)
		skx_plan_node_copy_row(node, slot, row,
							   slot->tts_tupleDescriptor->natts, &place);
}

/* Called before the child is scanned again, or ends. */
static void
skx_plan_reset_ordered(SkxPlanNode *node)
{
	SkxOrderedScan *state = (SkxOrderedScan *) node;

	if (state->ties != NULL)
		skx_plan_ordered_ties_reset(state->ties);
}

/* ---- with other processes ---- */

static Size
skx_plan_ordered_share_size(SkxPlanNode *node, int nprocesses)
{
	return sizeof(SkxOrderedShared);
}

/* The leader's scan knows what is asked for, so it is divided here, once. */
static void
skx_plan_ordered_share_init(SkxPlanNode *node, int nprocesses)
{
	SkxOrderedScan *state = (SkxOrderedScan *) node;
	IndexScanDesc scan;
	const SkxOrderedRequest *request;

	skx_order_share_init(node->shared_part);
	skx_plan_prepare_ordered(state);
	scan = state->child->iss_ScanDesc;
	(void) skx_am_scan_enter(scan);
	request = skx_am_scan_desc(scan)->ordered;
	if (request != NULL)
		skx_order_share_split(node->shared_part, request,
							  skx_plan_ordered_private(node,
													   SKX_ORDERED_NPARTS));
	skx_am_scan_leave(scan);
}

static void
skx_plan_ordered_share_restart(SkxPlanNode *node)
{
	SkxOrderedShared *share = node->shared_part;

	skx_exec_share_restart(&share->parts);
}

static void
skx_plan_ordered_share_detach(SkxPlanNode *node)
{
	const IndexScanState *child = skx_plan_node_child(node, 0);

	if (child->iss_ScanDesc != NULL)
		index_rescan(child->iss_ScanDesc, child->iss_ScanKeys,
					 child->iss_NumScanKeys, child->iss_OrderByKeys,
					 child->iss_NumOrderByKeys);
	node->is_ready = false;
}

/* ---- explain ---- */

static void
skx_plan_explain_ordered(SkxPlanNode *node, ExplainState *es)
{
	const SkxScanOrder *order = &((const SkxOrderedScan *) node)->order;
	Oid			index = castNode(IndexScan, skx_plan_node_child(node, 0)->
								 ss.ps.plan)->indexid;

	ExplainPropertyText("Order", psprintf("%s%s NULLS %s",
										  get_attname(index, order->column + 1,
													  false),
										  order->descending ? " DESC" : "",
										  order->nulls_first ? "FIRST" : "LAST"),
						es);
	skx_plan_node_explain_limit(node, ((SkxOrderedScan *) node)->asked, es);
}

static const void *
skx_plan_ordered_work(SkxPlanNode *node)
{
	IndexScanDesc scan = ((const SkxOrderedScan *) node)->child->iss_ScanDesc;

	return scan == NULL ? NULL : &skx_am_scan_desc(scan)->work.ordered;
}

static const SkxPlanCount skx_plan_ordered_counts[] = {
	{"Passes", offsetof(SkxOrderedWork, passes)},
	{"Stretches", offsetof(SkxOrderedWork, leaves)},
	{"Values", offsetof(SkxOrderedWork, values)},
	{"Compared Documents", offsetof(SkxOrderedWork, documents)},
	{NULL}
};

const SkxPlanKind skx_plan_ordered = {
	.scan = {"Skipidx Ordered Scan", skx_plan_node_create},
	.size = sizeof(SkxOrderedScan),
	.begin = skx_plan_begin_ordered,
	.fetch = skx_plan_fetch_ordered,
	.rescan = skx_plan_reset_ordered,
	.end = skx_plan_reset_ordered,
	.explain = skx_plan_explain_ordered,
	.counts = skx_plan_ordered_counts,
	.work = skx_plan_ordered_work,
	.share_size = skx_plan_ordered_share_size,
	.share_init = skx_plan_ordered_share_init,
	.share_restart = skx_plan_ordered_share_restart,
	.share_detach = skx_plan_ordered_share_detach
};
