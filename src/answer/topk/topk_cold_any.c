/*
 * topk_cold_any.c
 *	  Disjunctions whose pages have to be read: one list after the other leads.
 *
 * A hit is in at least one essential list, since the other lists together do
 * not reach the threshold.  Traversing the essential lists together, window by
 * window, would read the norms of all their documents.  So the list with the
 * largest contribution leads, as in a conjunction whose other lists are
 * optional (topk_cold.c).  Then the next list leads, without the documents of
 * those before it.  After the first one, mostly no list is essential.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"

/*
 * A list that leads has at most one in SKX_COLD_LEAD_FRACTION of the
 * documents.
 */
#define SKX_COLD_LEAD_FRACTION		32

/*
 * Largest number of essential lists.  Of more lists too many stay essential
 * after the first has led, and each that leads goes through all others again.
 */
#define SKX_COLD_LEADS_MAX		4

/*
 * Returns how many of the lists, counted from the end, are essential.  Returns
 * 0 if they are too many, if one of them is too long to lead, or if a list
 * cannot be rewound.
 */
static int
skx_cold_any_nessential(const SkxTopkRun *run)
{
	uint32		most = run->seg->header.ndocs / SKX_COLD_LEAD_FRACTION;
	int64		sum = 0;
	int			n = 0;
	int			i;

	for (i = 0; i < run->noptional; i++)
	{
		SkxCursor  *c = run->optional[i]->cursor;

		if (skx_cursor_term(c) == NULL)
			return 0;
		sum += run->optional[i]->max_contribution;
		if (sum < run->threshold)
			continue;
		if (c->df > most || ++n > SKX_COLD_LEADS_MAX)
			return 0;
	}
	return n;
}

/*
 * Searches with list number `lead` as the lead.  Lists before it are optional;
 * those after it have led already.
 */
static void
skx_cold_any_search_lead(SkxTopkRun *run, SkxTopkList **lists, int n, int lead)
{
	SkxCursor  *c = lists[lead]->cursor;
	uint32		from = run->from;

	run->required[0] = lists[lead];
	run->nrequired = 1;
	run->noptional = lead;
	run->led_lists = lists + lead + 1;
	run->nled_lists = n - lead - 1;
	skx_topk_cold_begin(run);
	skx_cursor_set_lead(c, SKX_CURSOR_LEAD_ALL, NULL);
	while (from < run->to && skx_cursor_advance(c, from))
	{
		uint32		to = Min(c->end, run->to);

		if (skx_topk_count_window(run, run->n > 0 ? run->docs[0] : from))
			break;
		if (!skx_topk_cold_skips_subblock(run))
			(void) skx_topk_cold_gather(run, from, to);
		from = to;
	}
	if (run->topk->budget_spent)
		run->n = 0;
	skx_topk_cold_finish(run);
}

/* Returns true if the lists before `end` together can reach the threshold. */
static bool
skx_cold_any_can_compete(const SkxTopkRun *run, SkxTopkList **lists, int end)
{
	int64		sum = 0;
	int			i;

	for (i = 0; i < end; i++)
		sum += lists[i]->max_contribution;
	return sum >= run->threshold;
}

bool
skx_topk_cold_any(SkxTopkRun *run)
{
	SkxTopkList **lists = run->optional;
	int			n = run->noptional;
	bool		unordered = run->unordered;
	int			lead;
	int			i;

	skx_topk_list_sort(lists, n);
	if (run->residual_filter != NULL ||
		(run->exact != NULL && !skx_topk_exact_can_rewind(run->exact)) ||
		skx_cold_any_nessential(run) == 0)
		return false;
	for (lead = n - 1; lead >= 0 && !run->topk->budget_spent; lead--)
	{
		if (!skx_cold_any_can_compete(run, lists, lead + 1))
			break;
		for (i = 0; i < n && lead < n - 1; i++)
			skx_topk_list_rewind(run, lists[i]);
		skx_cold_any_search_lead(run, lists, n, lead);
		run->unordered = true;	/* in all further passes */
		skx_topk_batch_set_threshold(run);
	}
	run->nrequired = run->nled_lists = 0;
	run->noptional = n;
	run->unordered = unordered;
	skx_topk_batch_set_threshold(run);
	return true;
}
