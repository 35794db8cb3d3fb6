/*
 * plan_explain.c
 *	  What EXPLAIN (VERBOSE) shows of scans of skipidx indexes.
 *
 * Lines with the work of a kind of custom scan stand in a table of its own:
 * those of a count are skx_plan_count_counts (plan_count_scan.c).
 * plan_explain_work.c shows them.
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "nodes/value.h"
#include "sql/am/am.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "storage/blkio/blkio.h"
#include "utils/rel.h"

/* Shows the settings in force that determine how blocks are read. */
static void
skx_plan_explain_settings(ExplainState *es)
{
	SkxBlkSetting setting;
	int			i;

	for (i = 0; skx_blkio_setting(i, &setting); i++)
	{
		if (setting.in_force == NULL)
			continue;
		if (strcmp(setting.name, "skipidx.io_method") == 0)
			ExplainPropertyText("Read Method", setting.in_force, es);
		else if (strcmp(setting.name, "skipidx.io_depth") == 0)
			ExplainPropertyText("Read Depth", setting.in_force, es);
	}
}

void
skx_plan_explain_counts(const SkxScanReads *reads, ExplainState *es)
{
	skx_plan_explain_settings(es);
	ExplainPropertyUInteger("Index Blocks Read", NULL, reads->blocks, es);
	ExplainPropertyUInteger("Index Cache Hits", NULL, reads->hits, es);
	ExplainPropertyUInteger("Rounds of Reads", NULL, reads->rounds, es);
	ExplainPropertyUInteger("Nodes", NULL, reads->nodes, es);
	ExplainPropertyUInteger("Nodes Skipped", NULL, reads->skipped_nodes, es);
	ExplainPropertyUInteger("Sub-blocks Decoded", NULL, reads->subblocks, es);
	ExplainPropertyUInteger("Position Blocks Decoded", NULL, reads->positions,
							es);
}

/* ---- custom scans ---- */

Node *
skx_plan_expected_pages(double pages)
{
	return (Node *) makeInteger((int) Min(ceil(pages), INT_MAX));
}

void
skx_plan_explain_blocks(Node *estimate, ExplainState *es)
{
	if (es->verbose)
		ExplainPropertyInteger("Estimated Blocks", NULL, intVal(estimate), es);
}

void
skx_plan_explain_limit(uint64 rows, ExplainState *es)
{
	if (es->verbose && rows > 0)
		ExplainPropertyUInteger("Rows Asked", NULL, rows, es);
}

bool
skx_plan_limit_is_known(const List *exprs, int limit, const ExplainState *es)
{
	const Node *count = list_nth(exprs, limit);
	const Node *offset = list_nth(exprs, limit + 1);

	return !es->analyze && count != NULL && IsA(count, Const) &&
		(offset == NULL || IsA(offset, Const));
}
