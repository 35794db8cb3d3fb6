/*
 * plan_explain_work.c
 *	  The work of a custom scan, in all its processes, as EXPLAIN ANALYZE shows
 *	  it.
 *
 * The kind of a scan has a table of its counts.  To them come the reads of the
 * Index Scans below.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "port/atomics.h"
#include "sql/am/am.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"

/* Number of counts in SkxPlanWork, all of which are of type uint64. */
#define SKX_PLAN_WORK	(sizeof(SkxPlanWork) / sizeof(uint64))

struct SkxPlanSharedWork
{
	pg_atomic_uint64 counts[SKX_PLAN_WORK]; /* of workers */
};

Size
skx_plan_work_size(void)
{
	return sizeof(SkxPlanSharedWork);
}

void
skx_plan_work_init(SkxPlanSharedWork *shared)
{
	int			i;

	for (i = 0; i < SKX_PLAN_WORK; i++)
		pg_atomic_init_u64(&shared->counts[i], 0);
}

/* Adds each count of `more` to the one of `sum`. */
static void
skx_plan_work_add_reads(SkxScanReads *sum, const SkxScanReads *more)
{
	int			i;

	for (i = 0; i < SKX_SCAN_NREADS; i++)
		((uint64 *) sum)[i] += ((const uint64 *) more)[i];
}

/*
 * Adds the work of this process to *sum.  Returns false if there is nothing to
 * show.
 */
static bool
skx_plan_work_add(SkxPlanNode *node, SkxPlanWork *sum)
{
	const SkxPlanKind *kind = node->kind;
	const char *work = kind->work != NULL ? kind->work(node) :
		(const char *) node;
	ListCell   *lc;
	int			i;

	if (work == NULL)
		return false;
	for (i = 0; kind->counts[i].label != NULL; i++)
		sum->counts[i] += *(const uint64 *) (work + kind->counts[i].at);
	Assert(i <= SKX_PLAN_COUNTS);
	if (!skx_plan_kind_reads(kind))
		return true;
	foreach(lc, node->css.custom_ps)
	{
		const IndexScanState *child = lfirst_node(IndexScanState, lc);

		if (child->iss_ScanDesc != NULL)
			skx_plan_work_add_reads(&sum->reads,
									&skx_am_scan_desc(child->iss_ScanDesc)->work.reads);
	}
	return true;
}

void
skx_plan_work_leave(SkxPlanNode *node, SkxPlanSharedWork *shared)
{
	SkxPlanWork own = {{0}};
	uint64	   *others = (uint64 *) &node->other_work;
	int			i;

	if (IsParallelWorker())
		(void) skx_plan_work_add(node, &own);
	for (i = 0; i < SKX_PLAN_WORK; i++)
		others[i] += pg_atomic_add_fetch_u64(&shared->counts[i],
											 ((const uint64 *) &own)[i]);
}

/* Shows a count, and returns it.  `last` is the count before it. */
static uint64
skx_plan_work_show(const SkxPlanCount *count, uint64 own, uint64 others,
				   uint64 last, ExplainState *es)
{
	bool		text = es->format == EXPLAIN_FORMAT_TEXT;
	uint64		n = (count->shown & SKX_COUNT_OWN) != 0 ? own : own + others;

	if (!text || !((count->shown & SKX_COUNT_NO_TEXT) != 0 ||
				   ((count->shown & SKX_COUNT_ANY) != 0 && n == 0) ||
				   ((count->shown & SKX_COUNT_WITH_LAST) != 0 && last == 0)))
		ExplainPropertyUInteger(count->label, NULL, n, es);
	return n;
}

void
skx_plan_work_explain(SkxPlanNode *node, ExplainState *es)
{
	const SkxPlanCount *counts = node->kind->counts;
	SkxPlanWork own = {{0}};
	uint64		last = 0;
	int			i;

	if (!es->analyze || !skx_plan_work_add(node, &own))
		return;
	for (i = 0; counts[i].label != NULL; i++)
		last = skx_plan_work_show(&counts[i], own.counts[i],
								  node->other_work.counts[i], last, es);
	if (!es->verbose || !skx_plan_kind_reads(node->kind))
		return;
	skx_plan_work_add_reads(&own.reads, &node->other_work.reads);
	skx_plan_explain_counts(&own.reads, es);
}
