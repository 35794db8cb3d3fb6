/*
 * plan_facets_scan.c
 *	  The custom scan that counts rows by the values of a column, at run time.
 *
 * The Index Scans below it, one for each table or partition, are never run.
 * They hold the scan keys, with what these depend on.  The values of one table
 * come after those of another.
 */
#include "postgres.h"

#include "access/genam.h"
#include "answer/count/count_share.h"
#include "answer/facets/facets.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "sql/am/am.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "support/compat/compat_planner.h"
#include "utils/memutils.h"
#include "utils/rel.h"

typedef struct SkxFacetsScan
{
	SkxPlanNode node;			/* first; its share: SkxCountShared of each
								 * table */
	int			ntables;
	int		   *columns;		/* column of each table's index, from 0 */
	List	   *outputs;		/* integers: SkxFacetOutput of each column of
								 * the result */
	int			current_table;	/* table that was begun last; -1: none */
	MemoryContext context;		/* for reading values; the child's scan is not
								 * in it, and outlives it */
	SkxFacetsRequest request;
	SkxFacets  *facets;			/* NULL: not begun, or no row is left */
	SkxFacetValues *values;
	SkxCountWork rows;			/* of all rescans */
	SkxFacetsWork work;			/* of all rescans */
	uint64		fetches;		/* rows fetched, by `rows` and by `work` */
} SkxFacetsScan;

static void
skx_plan_begin_facets(SkxPlanNode *node)
{
	SkxFacetsScan *state = (SkxFacetsScan *) node;
	List	   *columns = (List *) skx_plan_node_private(node,
														 SKX_FACETS_COLUMNS);
	ListCell   *lc;

	state->outputs = (List *) skx_plan_node_private(node, SKX_FACETS_OUTPUTS);
	state->columns = palloc(sizeof(int) * list_length(columns));
	foreach(lc, columns)
		state->columns[state->ntables++] = intVal(lfirst(lc));
	state->current_table = -1;
	state->request.ncolumns = 1;
	state->context = AllocSetContextCreate(CurrentMemoryContext,
										   "skipidx facets",
										   ALLOCSET_DEFAULT_SIZES);
}

/* Returns what processes share of table i; NULL if there are no others. */
static SkxCountShared *
skx_plan_facets_share(const SkxFacetsScan *state, int i)
{
	SkxCountShared *tables = state->node.shared_part;

	return tables == NULL ? NULL : &tables[i];
}

/* Finds the rows of table `at`. state->facets stays NULL if there are none. */
static void
skx_plan_begin_table(SkxFacetsScan *state, IndexScanDesc scan)
{
	SkxCountShared *share = skx_plan_facets_share(state, state->current_table);
	SkxScanDesc *desc = skx_am_scan_desc(scan);

	state->request.share = share;
	desc->share = share == NULL ? NULL : &share->exec_share;
	if (skx_am_scan_enter(scan))
	{
		if (desc->lossy)
			elog(ERROR, "a condition on the rows of facets is not exact");
		state->request.rows = desc->request;
		state->facets = skx_facets_begin(&state->request, &state->rows);
	}
	skx_am_scan_leave(scan);
}

/*
 * Begins table `at`.  The rows and the time to find them are counted for the
 * Index Scan, where EXPLAIN shows them.
 */
static void
skx_plan_open_facets(SkxFacetsScan *state)
{
	IndexScanState *child = skx_plan_node_child(&state->node,
												state->current_table);
	SkxInstrumentation *instrument = child->ss.ps.instrument;

	state->request.columns = &state->columns[state->current_table];
	skx_plan_open_child(child);
	if (instrument != NULL)
		InstrStartNode(instrument);
	skx_plan_begin_table(state, child->iss_ScanDesc);
	if (instrument != NULL)
		InstrStopNode(instrument, state->facets == NULL ? 0 :
					  (double) skx_facets_rows(state->facets));
	if (state->facets != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(state->context);

		state->values = skx_facets_values_begin(&state->request);
		MemoryContextSwitchTo(old);
	}
}

static void
skx_plan_close_facets(SkxFacetsScan *state)
{
	if (state->facets != NULL)
	{
		skx_facets_values_end(state->values);
		skx_facets_end(state->facets);
		state->facets = NULL;
	}
	MemoryContextReset(state->context);
}

/*
 * Reads the next value of the table that was begun.  Returns false if there is
 * none.
 */
static bool
skx_plan_read_table(SkxFacetsScan *state, SkxFacet *facet, Datum *value)
{
	IndexScanState *child;
	ItemPointerData tid;
	bool		found;

	if (state->facets == NULL)
		return false;
	child = skx_plan_node_child(&state->node, state->current_table);
	(void) skx_am_scan_enter(child->iss_ScanDesc);
	MemoryContextSwitchTo(state->context);
	found = skx_facets_next(state->facets, facet);
	if (found && facet->lexeme.bytes[2] != SKX_VALUE_NULL)
	{
		skx_facets_tid(state->facets, facet->row, &tid);
		*value = skx_facets_values_get(state->values, &facet->lexeme, &tid);
	}
	skx_am_scan_leave(child->iss_ScanDesc);
	return found;
}

/* Reads the next value of all tables.  Returns false if there is none. */
static bool
skx_plan_read_facet(SkxFacetsScan *state, SkxFacet *facet, Datum *value)
{
	SkxFacetsWork before = skx_facets_work;
	bool		found;

	while (!(found = skx_plan_read_table(state, facet, value)) &&
		   state->current_table < state->ntables - 1)
	{
		skx_plan_close_facets(state);
		state->current_table++;
		skx_plan_open_facets(state);
	}
	skx_facets_add_work(&state->work, &before);
	return found;
}

/* Puts a value and its counts into the scan tuple. */
static void
skx_plan_store_facet(SkxFacetsScan *state, TupleTableSlot *slot,
					 const SkxFacet *facet, Datum value)
{
	bool		is_null = facet->lexeme.bytes[2] == SKX_VALUE_NULL;
	int			i;

	for (i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		int			output = intVal(list_nth(state->outputs, i));

		slot->tts_isnull[i] = output == SKX_FACET_VALUE && is_null;
		if (output == SKX_FACET_VALUE)
			slot->tts_values[i] = is_null ? (Datum) 0 : value;
		else
			slot->tts_values[i] =
				Int64GetDatum(output == SKX_FACET_COUNT_VALUES && is_null ? 0 :
							  (int64) facet->count);
	}
	ExecStoreVirtualTuple(slot);
}

static void
skx_plan_fetch_facet(SkxPlanNode *node, TupleTableSlot *slot)
{
	SkxFacetsScan *state = (SkxFacetsScan *) node;
	SkxFacet	facet;
	Datum		value = 0;

	if (skx_plan_read_facet(state, &facet, &value))
		skx_plan_store_facet(state, slot, &facet, value);
}

/* ---- with other processes ---- */

static Size
skx_plan_facets_share_size(SkxPlanNode *node, int nprocesses)
{
	return mul_size(sizeof(SkxCountShared), ((SkxFacetsScan *) node)->ntables);
}

static void
skx_plan_facets_share_init(SkxPlanNode *node, int nprocesses)
{
	const SkxFacetsScan *state = (const SkxFacetsScan *) node;
	int			i;

	for (i = 0; i < state->ntables; i++)
		skx_count_share_init(skx_plan_facets_share(state, i));
}

static void
skx_plan_facets_share_restart(SkxPlanNode *node)
{
	const SkxFacetsScan *state = (const SkxFacetsScan *) node;
	int			i;

	for (i = 0; i < state->ntables; i++)
		skx_count_share_restart(skx_plan_facets_share(state, i));
}

/* ---- rescan, end, explain ---- */

static void
skx_plan_rescan_facets(SkxPlanNode *node)
{
	skx_plan_close_facets((SkxFacetsScan *) node);
	((SkxFacetsScan *) node)->current_table = -1;
}

static void
skx_plan_end_facets(SkxPlanNode *node)
{
	skx_plan_close_facets((SkxFacetsScan *) node);
}

static const void *
skx_plan_facets_work(SkxPlanNode *node)
{
	SkxFacetsScan *state = (SkxFacetsScan *) node;

	state->fetches = state->rows.fetched_rows + state->work.fetched_rows;
	return state;
}

static const SkxPlanCount skx_plan_facets_counts[] = {
	{"Heap Fetches", offsetof(SkxFacetsScan, fetches)},
	{"Rows by Page Map", offsetof(SkxFacetsScan, rows.vm_page_rows)},
	{"Rows by Whole Map", offsetof(SkxFacetsScan, rows.vm_table_rows)},
	{"Values by Frequency", offsetof(SkxFacetsScan, work.df_values)},
	{"Values by List", offsetof(SkxFacetsScan, work.list_values)},
	{"Values by Key", offsetof(SkxFacetsScan, work.key_rows)},
	{"Values by Row", offsetof(SkxFacetsScan, work.fetched_rows)},
	{"Passes", offsetof(SkxFacetsScan, work.sort_spills)},
	{NULL}
};

const SkxPlanKind skx_plan_faceted = {
	.scan = {"Skipidx Facets", skx_plan_node_create},
	.size = sizeof(SkxFacetsScan),
	.begin = skx_plan_begin_facets,
	.fetch = skx_plan_fetch_facet,
	.rescan = skx_plan_rescan_facets,
	.end = skx_plan_end_facets,
	.counts = skx_plan_facets_counts,
	.work = skx_plan_facets_work,
	.share_size = skx_plan_facets_share_size,
	.share_init = skx_plan_facets_share_init,
	.share_restart = skx_plan_facets_share_restart
};
