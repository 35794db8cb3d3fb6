/*
 * plan_facets_scan.c
 *	  The custom scan that counts rows by the values of a column, at run time.
 *
 * The Index Scans below it, one a table or partition, are never run: they have
 * the scan keys, with what these depend on.  The values of one come after those
 * of the other.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "answer/count/count_share.h"
#include "answer/facets/facets.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "sql/am/am.h"
#include "sql/plan/plan_internal.h"
#include "support/compat/compat_planner.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* What processes share. */
typedef struct SkxFacetsScanShare
{
	SkxSharedReads reads;
	SkxCountShare tables[FLEXIBLE_ARRAY_MEMBER];
} SkxFacetsScanShare;

typedef struct SkxFacetsScan
{
	CustomScanState css;		/* custom_ps: of IndexScanState */
	int			ntables;
	int		   *columns;		/* of the index of each, from 0 */
	int			at;				/* the table that was begun last, or -1 */
	MemoryContext context;		/* of what values take; the child's scan is
								 * none of it, and stays */
	SkxFacetsRequest request;
	SkxFacets  *facets;			/* NULL: not begun, or there is no row left */
	SkxFacetValues *values;
	SkxCountWork rows;			/* of all rescans, */
	SkxFacetsWork work;			/* likewise */
	SkxScanReads others;		/* what other processes have read */
	SkxFacetsScanShare *share;	/* with these, as long as they run */
} SkxFacetsScan;

static Node *skx_plan_create_facets(CustomScan *scan);
static void skx_plan_begin_facets(CustomScanState *node, EState *estate,
								  int eflags);
static TupleTableSlot *skx_plan_next_facet(CustomScanState *node);
static void skx_plan_end_facets(CustomScanState *node);
static void skx_plan_rescan_facets(CustomScanState *node);
static void skx_plan_explain_facets(CustomScanState *node, List *ancestors,
									ExplainState *es);
static Size skx_plan_facets_share_size(CustomScanState *node,
									   ParallelContext *context);
static void skx_plan_facets_share_begin(CustomScanState *node,
										ParallelContext *context,
										void *at);
static void skx_plan_facets_share_again(CustomScanState *node,
										ParallelContext *context,
										void *at);
static void skx_plan_facets_share_join(CustomScanState *node, shm_toc *toc,
									   void *at);
static void skx_plan_facets_share_end(CustomScanState *node);

const CustomScanMethods skx_plan_facets_methods = {
	.CustomName = "Skipidx Facets",
	.CreateCustomScanState = skx_plan_create_facets
};

static const CustomExecMethods skx_plan_facets_exec = {
	.CustomName = "Skipidx Facets",
	.BeginCustomScan = skx_plan_begin_facets,
	.ExecCustomScan = skx_plan_next_facet,
	.EndCustomScan = skx_plan_end_facets,
	.ReScanCustomScan = skx_plan_rescan_facets,
	.EstimateDSMCustomScan = skx_plan_facets_share_size,
	.InitializeDSMCustomScan = skx_plan_facets_share_begin,
	.ReInitializeDSMCustomScan = skx_plan_facets_share_again,
	.InitializeWorkerCustomScan = skx_plan_facets_share_join,
	.ShutdownCustomScan = skx_plan_facets_share_end,
	.ExplainCustomScan = skx_plan_explain_facets
};

static Node *
skx_plan_create_facets(CustomScan *scan)
{
	SkxFacetsScan *state = palloc0(sizeof(SkxFacetsScan));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &skx_plan_facets_exec;
	return (Node *) state;
}

static void
skx_plan_begin_facets(CustomScanState *node, EState *estate, int eflags)
{
	SkxFacetsScan *state = (SkxFacetsScan *) node;
	CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);
	List	   *columns = linitial(scan->custom_private);
	ListCell   *lc;

	state->columns = palloc(sizeof(int) * list_length(columns));
	foreach(lc, scan->custom_plans)
	{
		node->custom_ps = lappend(node->custom_ps,
								  ExecInitNode(lfirst(lc), estate, eflags));
		state->columns[state->ntables++] =
			intVal(list_nth(columns, foreach_current_index(lc)));
	}
	state->at = -1;
	state->request.ncolumns = 1;
	state->context = AllocSetContextCreate(CurrentMemoryContext,
										   "skipidx facets",
										   ALLOCSET_DEFAULT_SIZES);
}

/* Table `at`; EXPLAIN has what finding the rows took at the Index Scan. */
static void
skx_plan_open_facets(SkxFacetsScan *state)
{
	IndexScanState *child = list_nth_node(IndexScanState,
										  state->css.custom_ps, state->at);
	Instrumentation *instrument = child->ss.ps.instrument;
	SkxCountShare *share = state->share == NULL ? NULL :
		&state->share->tables[state->at];

	state->request.columns = &state->columns[state->at];
	skx_plan_open_child(child);
	if (instrument != NULL)
		InstrStartNode(instrument);
	state->facets = skx_am_scan_facets(child->iss_ScanDesc, &state->request,
									   share, &state->rows);
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

/* The next value of the table that was begun; false: there is none. */
static bool
skx_plan_read_table(SkxFacetsScan *state, SkxFacet *facet, Datum *value)
{
	IndexScanState *child;
	SkxScanReads reads;
	MemoryContext old;
	ItemPointerData tid;
	bool		found;

	if (state->facets == NULL)
		return false;
	child = list_nth_node(IndexScanState, state->css.custom_ps, state->at);
	skx_am_reads_now(&reads);
	old = MemoryContextSwitchTo(state->context);
	found = skx_facets_next(state->facets, facet);
	if (found && facet->lexeme.bytes[2] != SKX_VALUE_NULL)
	{
		skx_facets_tid(state->facets, facet->place, &tid);
		*value = skx_facets_values_get(state->values, &facet->lexeme, &tid);
	}
	MemoryContextSwitchTo(old);
	skx_am_scan_since(child->iss_ScanDesc, &reads);
	return found;
}

/* The next value; false: there is none. */
static bool
skx_plan_read_facet(SkxFacetsScan *state, SkxFacet *facet, Datum *value)
{
	SkxFacetsWork before = skx_facets_work;
	bool		found;

	while (!(found = skx_plan_read_table(state, facet, value)) &&
		   state->at < state->ntables - 1)
	{
		skx_plan_close_facets(state);
		state->at++;
		skx_plan_open_facets(state);
	}
	skx_facets_add_work(&state->work, &before);
	return found;
}

/* Puts a value and its counts into the scan tuple. */
static void
skx_plan_store_facet(SkxFacetsScan *state, const SkxFacet *facet,
					 Datum value)
{
	CustomScan *scan = castNode(CustomScan, state->css.ss.ps.plan);
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	bool		is_null = facet->lexeme.bytes[2] == SKX_VALUE_NULL;
	int			i;

	ExecClearTuple(slot);
	for (i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		int			output = intVal(list_nth(lsecond(scan->custom_private),
											 i));

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
skx_plan_next_facet(CustomScanState *node)
{
	SkxFacetsScan *state = (SkxFacetsScan *) node;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	SkxFacet	facet;
	Datum		value = 0;

	while (skx_plan_read_facet(state, &facet, &value))
	{
		skx_plan_store_facet(state, &facet, value);
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
skx_plan_facets_share_size(CustomScanState *node, ParallelContext *context)
{
	return add_size(offsetof(SkxFacetsScanShare, tables),
					mul_size(sizeof(SkxCountShare),
							 ((SkxFacetsScan *) node)->ntables));
}

static void
skx_plan_facets_share_begin(CustomScanState *node,
							ParallelContext *context, void *at)
{
	SkxFacetsScan *state = (SkxFacetsScan *) node;
	int			i;

	state->share = at;
	skx_plan_reads_init(&state->share->reads);
	for (i = 0; i < state->ntables; i++)
		skx_count_share_init(&state->share->tables[i]);
}

static void
skx_plan_facets_share_again(CustomScanState *node,
							ParallelContext *context, void *at)
{
	SkxFacetsScanShare *share = at;
	int			i;

	for (i = 0; i < ((SkxFacetsScan *) node)->ntables; i++)
		skx_count_share_restart(&share->tables[i]);
}

static void
skx_plan_facets_share_join(CustomScanState *node, shm_toc *toc, void *at)
{
	((SkxFacetsScan *) node)->share = at;
}

/* What is shared goes away. */
static void
skx_plan_facets_share_end(CustomScanState *node)
{
	SkxFacetsScan *state = (SkxFacetsScan *) node;
	int			i;

	if (state->share == NULL)
		return;
	for (i = 0; i < state->ntables; i++)
	{
		skx_count_share_work(&state->share->tables[i], &state->rows);
		skx_plan_reads_leave(&state->share->reads,
							 list_nth(node->custom_ps, i));
	}
	skx_plan_reads_take(&state->share->reads, &state->others);
	state->share = NULL;
}

/* ---- rescan, end, explain ---- */

static void
skx_plan_rescan_facets(CustomScanState *node)
{
	ListCell   *lc;

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	skx_plan_close_facets((SkxFacetsScan *) node);
	((SkxFacetsScan *) node)->at = -1;
	foreach(lc, node->custom_ps)
	{
		PlanState  *child = lfirst(lc);

		if (node->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(child, node->ss.ps.chgParam);
		if (child->chgParam == NULL)
			ExecReScan(child);
	}
}

static void
skx_plan_end_facets(CustomScanState *node)
{
	ListCell   *lc;

	skx_plan_close_facets((SkxFacetsScan *) node);
	foreach(lc, node->custom_ps)
	{
		ExecEndNode(lfirst(lc));
	}
}

static void
skx_plan_explain_facets(CustomScanState *node, List *ancestors,
						ExplainState *es)
{
	const SkxFacetsScan *state = (const SkxFacetsScan *) node;

	skx_plan_explain_blocks(llast(castNode(CustomScan,
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
	ExplainPropertyUInteger("Values by Key", NULL, state->work.keyed, es);
	ExplainPropertyUInteger("Values by Row", NULL, state->work.fetched, es);
	ExplainPropertyUInteger("Passes", NULL, state->work.passes, es);
	skx_plan_explain_reads(node->custom_ps, &state->others, es);
}
