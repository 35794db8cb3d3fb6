/*
 * planner_facets_scan.c
 *	  The custom scan that counts rows by the values of a column, at run time.
 *
 * The Index Scan below it is never run: it has the scan keys, with what these
 * depend on.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "am/am.h"
#include "compat/compat_planner.h"
#include "count/count_share.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "facets/facets.h"
#include "planner/planner_internal.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* What processes share. */
typedef struct SkxFacetsScanShare
{
	SkxCountShare rows;
	SkxSharedReads reads;
} SkxFacetsScanShare;

typedef struct SkxFacetsScan
{
	CustomScanState css;		/* custom_ps: an IndexScanState */
	int			column;			/* of the index, from 0 */
	bool		begun;
	MemoryContext context;		/* of what values take; the child's scan is
								 * none of it, and stays */
	SkxFacetsRequest request;
	SkxFacets  *facets;			/* NULL: not begun, or there is no row */
	SkxFacetValues *values;
	SkxCountWork rows;			/* of all rescans, */
	SkxFacetsWork work;			/* likewise */
	SkxScanReads others;		/* what other processes have read */
	SkxFacetsScanShare *share;	/* with these, as long as they run */
} SkxFacetsScan;

static Node *skx_planner_create_facets(CustomScan *scan);
static void skx_planner_begin_facets(CustomScanState *node, EState *estate,
									 int eflags);
static TupleTableSlot *skx_planner_next_facet(CustomScanState *node);
static void skx_planner_end_facets(CustomScanState *node);
static void skx_planner_rescan_facets(CustomScanState *node);
static void skx_planner_explain_facets(CustomScanState *node, List *ancestors,
									   ExplainState *es);
static Size skx_planner_facets_share_size(CustomScanState *node,
										  ParallelContext *context);
static void skx_planner_facets_share_begin(CustomScanState *node,
										   ParallelContext *context,
										   void *at);
static void skx_planner_facets_share_again(CustomScanState *node,
										   ParallelContext *context,
										   void *at);
static void skx_planner_facets_share_join(CustomScanState *node, shm_toc *toc,
										  void *at);
static void skx_planner_facets_share_end(CustomScanState *node);

const CustomScanMethods skx_planner_facets_methods = {
	.CustomName = "Skipidx Facets",
	.CreateCustomScanState = skx_planner_create_facets
};

static const CustomExecMethods skx_planner_facets_exec = {
	.CustomName = "Skipidx Facets",
	.BeginCustomScan = skx_planner_begin_facets,
	.ExecCustomScan = skx_planner_next_facet,
	.EndCustomScan = skx_planner_end_facets,
	.ReScanCustomScan = skx_planner_rescan_facets,
	.EstimateDSMCustomScan = skx_planner_facets_share_size,
	.InitializeDSMCustomScan = skx_planner_facets_share_begin,
	.ReInitializeDSMCustomScan = skx_planner_facets_share_again,
	.InitializeWorkerCustomScan = skx_planner_facets_share_join,
	.ShutdownCustomScan = skx_planner_facets_share_end,
	.ExplainCustomScan = skx_planner_explain_facets
};

static Node *
skx_planner_create_facets(CustomScan *scan)
{
	SkxFacetsScan *state = palloc0(sizeof(SkxFacetsScan));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &skx_planner_facets_exec;
	return (Node *) state;
}

static void
skx_planner_begin_facets(CustomScanState *node, EState *estate, int eflags)
{
	SkxFacetsScan *state = (SkxFacetsScan *) node;
	CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);

	node->custom_ps = list_make1(ExecInitNode(linitial(scan->custom_plans),
											  estate, eflags));
	state->column = intVal(linitial(scan->custom_private));
	state->request.ncolumns = 1;
	state->request.columns = &state->column;
	state->context = AllocSetContextCreate(CurrentMemoryContext,
										   "skipidx facets",
										   ALLOCSET_DEFAULT_SIZES);
}

/* EXPLAIN has what finding the rows took at the Index Scan. */
static void
skx_planner_open_facets(SkxFacetsScan *state)
{
	IndexScanState *child = linitial_node(IndexScanState,
										  state->css.custom_ps);
	Instrumentation *instrument = child->ss.ps.instrument;

	skx_planner_open_child(child);
	if (instrument != NULL)
		InstrStartNode(instrument);
	state->facets = skx_am_scan_facets(child->iss_ScanDesc, &state->request,
									   state->share == NULL ? NULL :
									   &state->share->rows, &state->rows);
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

/* The next value; false: there is none. */
static bool
skx_planner_read_facet(SkxFacetsScan *state, SkxFacet *facet, Datum *value)
{
	SkxFacetsWork before = skx_facets_work;
	IndexScanState *child = linitial_node(IndexScanState,
										  state->css.custom_ps);
	SkxScanReads reads;
	MemoryContext old;
	ItemPointerData tid;
	bool		found;

	if (!state->begun)
	{
		state->begun = true;
		skx_planner_open_facets(state);
	}
	skx_am_reads_now(&reads);
	old = MemoryContextSwitchTo(state->context);
	found = state->facets != NULL && skx_facets_next(state->facets, facet);
	if (found && facet->lexeme.bytes[2] != SKX_VALUE_NULL)
	{
		skx_facets_tid(state->facets, facet->place, &tid);
		*value = skx_facets_values_get(state->values, &facet->lexeme, &tid);
	}
	MemoryContextSwitchTo(old);
	skx_facets_add_work(&state->work, &before);
	skx_am_scan_since(child->iss_ScanDesc, &reads);
	return found;
}

/* Puts a value and its counts into the scan tuple. */
static void
skx_planner_store_facet(SkxFacetsScan *state, const SkxFacet *facet,
						Datum value)
{
	CustomScan *scan = castNode(CustomScan, state->css.ss.ps.plan);
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	bool		is_null = facet->lexeme.bytes[2] == SKX_VALUE_NULL;
	int			i;

	ExecClearTuple(slot);
	for (i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		int			output = intVal(list_nth(scan->custom_private, i + 1));

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

static TupleTableSlot *
skx_planner_next_facet(CustomScanState *node)
{
	SkxFacetsScan *state = (SkxFacetsScan *) node;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	SkxFacet	facet;
	Datum		value = 0;

	while (skx_planner_read_facet(state, &facet, &value))
	{
		skx_planner_store_facet(state, &facet, value);
		ResetExprContext(econtext);
		econtext->ecxt_scantuple = slot;
		if (ExecQual(node->ss.ps.qual, econtext))
			return projection == NULL ? slot : ExecProject(projection);
		InstrCountFiltered1(node, 1);
	}
	return ExecClearTuple(projection == NULL ? slot :
						  projection->pi_state.resultslot);
}

/* ---- with other processes ---- */

static Size
skx_planner_facets_share_size(CustomScanState *node, ParallelContext *context)
{
	return sizeof(SkxFacetsScanShare);
}

static void
skx_planner_facets_share_begin(CustomScanState *node,
							   ParallelContext *context, void *at)
{
	SkxFacetsScanShare *share = at;

	skx_count_share_init(&share->rows);
	skx_planner_reads_init(&share->reads);
	((SkxFacetsScan *) node)->share = share;
}

static void
skx_planner_facets_share_again(CustomScanState *node,
							   ParallelContext *context, void *at)
{
	skx_count_share_restart(&((SkxFacetsScanShare *) at)->rows);
}

static void
skx_planner_facets_share_join(CustomScanState *node, shm_toc *toc, void *at)
{
	((SkxFacetsScan *) node)->share = at;
}

/* What is shared goes away. */
static void
skx_planner_facets_share_end(CustomScanState *node)
{
	SkxFacetsScan *state = (SkxFacetsScan *) node;

	if (state->share == NULL)
		return;
	skx_count_share_work(&state->share->rows, &state->rows);
	skx_planner_reads_leave(&state->share->reads, linitial(node->custom_ps));
	skx_planner_reads_take(&state->share->reads, &state->others);
	state->share = NULL;
}

/* ---- rescan, end, explain ---- */

static void
skx_planner_close_facets(SkxFacetsScan *state)
{
	if (state->facets != NULL)
	{
		skx_facets_values_end(state->values);
		skx_facets_end(state->facets);
		state->facets = NULL;
	}
	MemoryContextReset(state->context);
	state->begun = false;
}

static void
skx_planner_rescan_facets(CustomScanState *node)
{
	PlanState  *child = linitial(node->custom_ps);

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	skx_planner_close_facets((SkxFacetsScan *) node);
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
}

static void
skx_planner_end_facets(CustomScanState *node)
{
	skx_planner_close_facets((SkxFacetsScan *) node);
	ExecEndNode(linitial(node->custom_ps));
}

static void
skx_planner_explain_facets(CustomScanState *node, List *ancestors,
						   ExplainState *es)
{
	const SkxFacetsScan *state = (const SkxFacetsScan *) node;

	skx_planner_explain_blocks(llast(castNode(CustomScan,
											  node->ss.ps.plan)->custom_private),
							   es);
	if (!es->analyze)
		return;
	ExplainPropertyUInteger("Heap Fetches", NULL, state->rows.fetched +
							state->work.fetched, es);
	ExplainPropertyUInteger("Rows by Page Map", NULL, state->rows.mapped, es);
	ExplainPropertyUInteger("Rows by Whole Map", NULL, state->rows.whole, es);
	ExplainPropertyUInteger("Values by Frequency", NULL, state->work.totals,
							es);
	ExplainPropertyUInteger("Values by List", NULL, state->work.lists, es);
	ExplainPropertyUInteger("Values by Row", NULL, state->work.fetched, es);
	ExplainPropertyUInteger("Passes", NULL, state->work.passes, es);
	skx_planner_explain_reads(node->custom_ps, &state->others, es);
}
