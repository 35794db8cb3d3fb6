/*
 * am_cost.c
 *	  Opens the index and reads its options for the estimates of cost/.
 */
#include "postgres.h"

#include "access/genam.h"
#include "sql/am/am.h"
#include "sql/cost/cost.h"

static void
skx_am_cost_open(const IndexOptInfo *info, SkxCostIndex *index)
{
	memset(index, 0, sizeof(SkxCostIndex));
	if (!skx_cost_readable(info))
		return;
	index->rel = index_open(info->indexoid, NoLock);
	/* Statements that do not rank are planned with any parameters. */
	(void) skx_am_find_rank_options(index->rel, &index->options);
}

static void
skx_am_cost_close(const SkxCostIndex *index)
{
	if (index->rel != NULL)
		index_close(index->rel, NoLock);
}

double
skx_am_cost_selectivity(PlannerInfo *root, IndexOptInfo *info, Node *clause,
						int column, double score)
{
	SkxCostIndex index;
	double		share;

	skx_am_cost_open(info, &index);
	share = skx_cost_selectivity(root, &index, clause, column, score);
	skx_am_cost_close(&index);
	return share;
}

double
skx_am_cost_average_length(PlannerInfo *root, const IndexOptInfo *info)
{
	SkxCostIndex index;
	double		length = skx_cost_planned_length(root, info->indexoid);

	if (length >= 0)
		return length;
	length = 0;
	skx_am_cost_open(info, &index);
	if (index.rel != NULL)
		length = skx_cost_length(root, index.rel);
	skx_am_cost_close(&index);
	return length;
}

void
skxcostestimate(PlannerInfo *root, IndexPath *path, double loop_count,
				Cost *startup, Cost *total, Selectivity *selectivity,
				double *correlation, double *pages)
{
	SkxCostIndex index;
	SkxCostEstimate estimate;

	skx_am_cost_open(path->indexinfo, &index);
	skx_cost_estimate(root, path, loop_count, &index, &estimate);
	skx_am_cost_close(&index);
	*startup = estimate.startup;
	*total = estimate.total;
	*selectivity = estimate.selectivity;
	*correlation = estimate.correlation;
	*pages = estimate.pages;
}
