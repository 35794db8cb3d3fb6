/*
 * plan_explain_server.c
 *	  What EXPLAIN (VERBOSE) shows of the server's own scans of skipidx indexes.
 *
 * From 18 on they are shown with the reads of the leader.  Earlier versions
 * have no hook for them.
 */
#include "postgres.h"

#include "sql/am/am.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "support/compat/compat_planner.h"

/*
 * Returns true if the node above is a custom scan that shows the reads itself.
 */
static bool
skx_plan_explains_reads(const Node *parent)
{
	return parent != NULL && IsA(parent, CustomScan) &&
		skx_plan_node_reads_index(((const CustomScan *) parent)->methods);
}

/* Shows the reads of one of the server's own scans of a skipidx index. */
static void
skx_plan_explain_node(PlanState *node, const Node *parent,
					  ExplainState *es)
{
	IndexScanDesc scan = NULL;

	if (!es->analyze || !es->verbose || skx_plan_explains_reads(parent))
		return;
	if (IsA(node, IndexScanState))
		scan = ((IndexScanState *) node)->iss_ScanDesc;
	else if (IsA(node, BitmapIndexScanState))
		scan = ((BitmapIndexScanState *) node)->biss_ScanDesc;
	if (scan != NULL && skx_am_is_skipidx(scan->indexRelation))
		skx_plan_explain_counts(&skx_am_scan_desc(scan)->work.reads, es);
}

void
skx_plan_explain_init(void)
{
	skx_compat_explain_nodes(skx_plan_explain_node);
}
