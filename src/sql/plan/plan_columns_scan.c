/*
 * plan_columns_scan.c
 *	  The custom scan that returns columns of rows from the index alone, at run
 *	  time.
 *
 * The Index Scan below it is never run: it holds the scan keys and what these
 * depend on.  With several processes, each returns the rows of the parts that
 * it takes.
 */
#include "postgres.h"

#include "answer/columns/columns.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "support/compat/compat_planner.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

typedef struct SkxColumnsState
{
	SkxPlanNode node;			/* first; its share: SkxCountShared */
	IndexScanState *child;
	SkxColumnsRequest request;
	Oid			types[INDEX_MAX_KEYS];	/* base types of the columns */
	SkxColumnsScan *scan;		/* NULL: not begun yet, or there are no rows */
	int			n;				/* rows of the current batch */
	int			next;			/* next row of the batch */
	MemoryContext row;			/* values of the row returned last */
	SkxCountWork work;			/* of all rescans */
} SkxColumnsState;

static void
skx_plan_begin_columns(SkxPlanNode *node)
{
	SkxColumnsState *state = (SkxColumnsState *) node;
	TupleDesc	desc = node->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	int			i;

	state->child = skx_plan_node_child(node, 0);
	state->request.wants_all =
		intVal(skx_plan_node_private(node, SKX_COLUMNS_ALL)) != 0;
	for (i = 0; i < desc->natts; i++)
		state->types[i] = getBaseType(TupleDescAttr(desc, i)->atttypid);
	state->row = AllocSetContextCreate(CurrentMemoryContext,
									   "skipidx columns",
									   ALLOCSET_SMALL_SIZES);
}

/*
 * Fills in the columns that are asked for, with the way in which the index
 * makes their keys.
 */
static void
skx_plan_columns_keys(SkxColumnsState *state, Relation index)
{
	List	   *columns = (List *) skx_plan_node_private(&state->node,
														 SKX_COLUMNS_NUMBERS);
	SkxKeyColumns *asked = &state->request.columns;
	SkxKeyColumns all;
	int			i;

	skx_column_key_columns(index, &all);
	asked->n = 0;
	for (i = 0; i < all.n; i++)
		if (asked->n < list_length(columns) &&
			all.columns[i].column == intVal(list_nth(columns, asked->n)))
			asked->columns[asked->n++] = all.columns[i];
	if (asked->n < list_length(columns))
		elog(ERROR, "a column of index \"%s\" has no keys",
			 RelationGetRelationName(index));
}

static void
skx_plan_open_columns(SkxColumnsState *state)
{
	SkxCountShared *share = state->node.shared_part;
	IndexScanDesc scan;
	SkxScanDesc *desc;

	skx_plan_open_child(state->child);
	scan = state->child->iss_ScanDesc;
	desc = skx_am_scan_desc(scan);
	skx_plan_columns_keys(state, scan->indexRelation);
	desc->share = share == NULL ? NULL : &share->exec_share;
	if (skx_am_scan_enter(scan))
	{
		if (desc->lossy)
			elog(ERROR, "a condition on rows that are not fetched is not exact");
		state->request.rows = desc->request;
		state->request.share = share;
		state->scan = skx_columns_begin(&state->request, &state->work);
	}
	else if (share != NULL)
		(void) skx_count_share_claim_empty(share);
	skx_am_scan_leave(scan);
	state->n = state->next = 0;
	state->node.is_ready = true;
}

static void
skx_plan_close_columns(SkxPlanNode *node)
{
	SkxColumnsState *state = (SkxColumnsState *) node;

	if (state->scan != NULL)
		skx_columns_end(state->scan);
	state->scan = NULL;
}

/*
 * Fetches the next batch.  Returns false if there is none.  The rows are
 * counted for the Index Scan, where EXPLAIN shows them.
 */
static bool
skx_plan_columns_batch(SkxColumnsState *state)
{
	SkxInstrumentation *instrument = state->child->ss.ps.instrument;

	if (instrument != NULL)
		InstrStartNode(instrument);
	if (!state->node.is_ready)
		skx_plan_open_columns(state);
	state->n = state->next = 0;
	if (state->scan != NULL)
	{
		(void) skx_am_scan_enter(state->child->iss_ScanDesc);
		state->n = skx_columns_next(state->scan);
		skx_am_scan_leave(state->child->iss_ScanDesc);
	}
	if (instrument != NULL)
		InstrStopNode(instrument, state->n);
	if (state->n == 0)
		skx_plan_close_columns(&state->node);
	return state->n > 0;
}

static void
skx_plan_fetch_columns(SkxPlanNode *node, TupleTableSlot *slot)
{
	SkxColumnsState *state = (SkxColumnsState *) node;
	const SkxColumnsRequest *request = &state->request;
	MemoryContext old;
	int			i;

	if (state->next == state->n && !skx_plan_columns_batch(state))
		return;
	MemoryContextReset(state->row);
	old = MemoryContextSwitchTo(state->row);
	for (i = 0; i < request->columns.n; i++)
	{
		const SkxKey *key = &skx_columns_keys(state->scan, i)[state->next];

		slot->tts_isnull[i] = key->is_null != 0;
		slot->tts_values[i] = key->is_null != 0 ? (Datum) 0 :
			skx_column_key_decode(&request->columns.columns[i],
								  state->types[i], key->value);
	}
	MemoryContextSwitchTo(old);
	state->next++;
	ExecStoreVirtualTuple(slot);
}

static void
skx_plan_reset_columns(SkxPlanNode *node)
{
	SkxColumnsState *state = (SkxColumnsState *) node;

	skx_plan_close_columns(node);
	state->n = state->next = 0;
}

/* ---- with other processes ---- */

static Size
skx_plan_columns_share_size(SkxPlanNode *node, int nprocesses)
{
	return sizeof(SkxCountShared);
}

static void
skx_plan_columns_share_init(SkxPlanNode *node, int nprocesses)
{
	skx_count_share_init(node->shared_part);
}

static void
skx_plan_columns_share_restart(SkxPlanNode *node)
{
	skx_count_share_restart(node->shared_part);
}

/* ---- explain ---- */

static const SkxPlanCount skx_plan_columns_counts[] = {
	{"Heap Fetches", offsetof(SkxColumnsState, work.fetched_rows)},
	{"Rows by Page Map", offsetof(SkxColumnsState, work.vm_page_rows)},
	{"Rows by Whole Map", offsetof(SkxColumnsState, work.vm_table_rows)},
	{NULL}
};

const SkxPlanKind skx_plan_columned = {
	.scan = {"Skipidx Columns", skx_plan_node_create},
	.size = sizeof(SkxColumnsState),
	.begin = skx_plan_begin_columns,
	.fetch = skx_plan_fetch_columns,
	.rescan = skx_plan_reset_columns,
	.end = skx_plan_reset_columns,
	.counts = skx_plan_columns_counts,
	.share_size = skx_plan_columns_share_size,
	.share_init = skx_plan_columns_share_init,
	.share_restart = skx_plan_columns_share_restart,
	.share_finish = skx_plan_reset_columns
};
