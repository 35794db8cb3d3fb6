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

/* A list that leads has at most one in SKX_ANY_SHARE of the documents. */
#define SKX_ANY_SHARE		32

/*
 * Largest number of essential lists.  Of more lists too many stay essential
 * after the first has led, and each that leads goes through all others again.
 */
#define SKX_ANY_LEADS		4

/*
 * Returns how many of the lists, counted from the end, are essential.  Returns
 * 0 if they are too many, if one of them is too long to lead, or if a list
 * cannot be rewound.
 */
static int
skx_any_essential(const SkxTopkRun *run)
{
	uint32		most = run->seg->header.ndocs / SKX_ANY_SHARE;
	int64		sum = 0;
	int			n = 0;
	int			i;

	for (i = 0; i < run->noptional; i++)
	{
		SkxCursor  *c = run->optional[i]->cursor;

		if (skx_cursor_term(c) == NULL)
			return 0;
		sum += run->optional[i]->max;
		if (sum < run->need)
			continue;
		if (c->df > most || ++n > SKX_ANY_LEADS)
			return 0;
	}
	return n;
}

/*
 * Searches with list number `lead` as the lead.  Lists before it are optional;
 * those after it have led already.
 */
static void
skx_any_pass(SkxTopkRun *run, SkxTopkList **lists, int n, int lead)
{
	SkxCursor  *c = lists[lead]->cursor;
	uint32		from = run->from;

	run->required[0] = lists[lead];
	run->nrequired = 1;
	run->noptional = lead;
	run->excluded = lists + lead + 1;
	run->nexcluded = n - lead - 1;
	skx_topk_cold_begin(run);
	skx_cursor_lead(c, SKX_CURSOR_WHOLE, NULL);
	while (from < run->to && skx_cursor_reach(c, from))
	{
		uint32		to = Min(c->end, run->to);

		if (skx_topk_tick(run, run->n > 0 ? run->docs[0] : from))
			break;
		if (!skx_topk_cold_passes(run))
			(void) skx_topk_cold_gather(run, from, to);
		from = to;
	}
	if (run->topk->stopped)
		run->n = 0;
	skx_topk_cold_finish(run);
}

/* Returns true if the lists before `end` together can reach the threshold. */
static bool
skx_any_reaches(const SkxTopkRun *run, SkxTopkList **lists, int end)
{
	int64		sum = 0;
	int			i;

	for (i = 0; i < end; i++)
		sum += lists[i]->max;
	return sum >= run->need;
}

bool
skx_topk_cold_any(SkxTopkRun *run)
{
	SkxTopkList **lists = run->optional;
	int			n = run->noptional;
	int			lead;
	int			i;

	skx_topk_list_sort(lists, n);
	if (run->filter != NULL ||
		(run->exact != NULL && !skx_topk_exact_can_rewind(run->exact)) ||
		skx_any_essential(run) == 0)
		return false;
	for (lead = n - 1; lead >= 0 && !run->topk->stopped; lead--)
	{
		if (!skx_any_reaches(run, lists, lead + 1))
			break;
		for (i = 0; i < n && lead < n - 1; i++)
			skx_topk_list_rewind(run, lists[i]);
		skx_any_pass(run, lists, n, lead);
		run->unordered = true;	/* in all further passes */
		skx_topk_batch_need(run);
	}
	run->nrequired = run->nexcluded = 0;
	run->noptional = n;
	run->unordered = false;
	skx_topk_batch_need(run);
	return true;
}
