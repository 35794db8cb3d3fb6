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

/* Notes in topk->work at which document of a segment the budget was spent. */
static void
skx_topk_note_budget(SkxTopk *topk, int segment, uint32 doc)
{
	uint64		left = topk->segments[segment].seg->header.ndocs - doc;
	int			i;

	for (i = segment + 1; i < topk->nsegments; i++)
		left += topk->segments[i].seg->header.ndocs;
	topk->work->unreached_fraction = (double) left / topk->ndocs;
	topk->work->ended_by_budget++;
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
	run->stopped_at = doc;
	skx_topk_note_budget(topk, run->segment, doc);
	return true;
}

void
skx_topk_budget_raise_bound(SkxTopk *topk, int64 bound)
{
	topk->unvisited_bound = Max(topk->unvisited_bound,
								Min(bound, PG_INT32_MAX));
}

/*
 * Returns a bound of what a list contributes to documents from `from` on.  A
 * prefix that is gathered in ranges is not gathered any further.
 */
static int32
skx_topk_budget_list_bound(SkxTopkList *l, uint32 from, uint32 to)
{
	const SkxCursorMemory *memory;

	if (l->term == NULL)
		return 0;
	memory = skx_cursor_term(l->cursor) == NULL ?
		skx_cursor_memory(l->cursor) : NULL;
	if (memory != NULL && memory->refill != NULL)
		return l->max_contribution;
	(void) skx_cursor_advance(l->cursor, from);
	return skx_topk_list_bound(l, from, to);
}

/*
 * Documents before run->stopped_at have been looked at, unless they were
 * gathered.
 */
void
skx_topk_budget_leave(SkxTopkRun *run)
{
	SkxTopk    *topk = run->topk;
	bool		in_order = run->cold == NULL && !run->leaves_candidates;
	int64		total = 0;
	int			i;

	if (!topk->budget_spent)
		return;
	if (topk->has_many_words)
		total = PG_INT32_MAX;
	for (i = 0; i < run->nrequired + run->noptional && total < PG_INT32_MAX; i++)
	{
		SkxTopkList *l = i < run->nrequired ? run->required[i] :
			run->optional[i - run->nrequired];

		total += in_order ?
			skx_topk_budget_list_bound(l, run->stopped_at, run->to) :
			l->max_contribution;
	}
	skx_topk_budget_raise_bound(topk, total);
}
