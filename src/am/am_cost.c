/*
 * am_cost.c
 *	  What an index scan costs.
 *
 * The pages of a boolean scan are those of the dictionary, a few per lexeme,
 * and its share of the posting lists; rows come out in heap order.
 */
#include "postgres.h"

#include "am/am.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

/* Pages read to look one lexeme up and to start on its list. */
#define SKX_COST_LOOKUP_PAGES	3

/*
 * Posting lists are read in proportion to the rows they yield, and hold about
 * this many postings to a page.
 */
#define SKX_COST_POSTINGS_PER_PAGE	4000

/*
 * A query without any condition on the column needs no column either, and the
 * planner thinks of an index-only scan.  There is none: nothing pins what
 * VACUUM removes while we hand out its TID, so the visibility map cannot be
 * trusted.  Returns what reading the heap costs that the planner left out.
 */
static Cost
skx_am_cost_refuse_index_only(IndexPath *path)
{
	RelOptInfo *rel = path->indexinfo->rel;

	if (path->path.pathtype != T_IndexOnlyScan)
		return 0;
	path->path.pathtype = T_IndexScan;
	return rel->pages * rel->allvisfrac * random_page_cost;
}

void
skxcostestimate(PlannerInfo *root, IndexPath *path, double loop_count,
				Cost *startup, Cost *total, Selectivity *selectivity,
				double *correlation, double *pages)
{
	GenericCosts costs;
	double		nclauses = Max(list_length(path->indexclauses), 1);

	memset(&costs, 0, sizeof(costs));
	genericcostestimate(root, path, loop_count, &costs);
	costs.numIndexPages = nclauses * SKX_COST_LOOKUP_PAGES +
		costs.numIndexTuples / SKX_COST_POSTINGS_PER_PAGE;
	costs.numIndexPages = Min(costs.numIndexPages,
							  Max(path->indexinfo->pages, 1));
	costs.indexStartupCost = nclauses * SKX_COST_LOOKUP_PAGES *
		costs.spc_random_page_cost;
	costs.indexTotalCost = costs.numIndexPages * costs.spc_random_page_cost +
		costs.numIndexTuples * (cpu_index_tuple_cost + cpu_operator_cost);
	costs.indexTotalCost += skx_am_cost_refuse_index_only(path);
	*startup = costs.indexStartupCost;
	*total = Max(costs.indexTotalCost, costs.indexStartupCost);
	*selectivity = costs.indexSelectivity;
	*correlation = 1.0;
	*pages = costs.numIndexPages;
}
