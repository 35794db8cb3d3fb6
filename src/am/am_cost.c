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
	*startup = costs.indexStartupCost;
	*total = Max(costs.indexTotalCost, costs.indexStartupCost);
	*selectivity = costs.indexSelectivity;
	*correlation = 1.0;
	*pages = costs.numIndexPages;
}
