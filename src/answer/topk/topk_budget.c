/*
 * topk_budget.c
 *	  The time that a search may take.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

int			skx_topk_budget = 0;

bool
skx_topk_has_budget(void)
{
	return skx_topk_budget > 0;
}

/*
 * Reports in a NOTICE, and in topk->work, that the budget was spent at a
 * document of a segment.
 */
static void
skx_topk_report_budget(SkxTopk *topk, int segment, uint32 doc)
{
	uint64		left = topk->segments[segment].seg->header.ndocs - doc;
	int			i;

	for (i = segment + 1; i < topk->nsegments; i++)
		left += topk->segments[i].seg->header.ndocs;
	topk->work->unreached_fraction = (double) left / topk->ndocs;
	ereport(NOTICE,
			(errmsg("ranked search ended after %d ms with the best rows found so far",
					skx_topk_budget),
			 topk->returned_hits == 0 ?
			 errdetail("%.1f %% of the documents were not looked at.",
					   topk->work->unreached_fraction * 100) :
			 errdetail("The first %llu rows are the best; for those after them, %.1f %% of the documents were not looked at.",
					   (unsigned long long) topk->returned_hits,
					   topk->work->unreached_fraction * 100),
			 errhint("See skipidx.search_budget.")));
}

bool
skx_topk_budget_is_spent(SkxTopkRun *run, uint32 doc)
{
	SkxTopk    *topk = run->topk;

	CHECK_FOR_INTERRUPTS();
	if (topk->deadline == 0 || topk->budget_spent)
		return topk->budget_spent;
	if (GetCurrentTimestamp() < topk->deadline)
		return false;
	topk->budget_spent = true;
	skx_topk_report_budget(topk, run->segment, doc);
	return true;
}
