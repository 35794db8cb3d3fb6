/*
 * topk_cold_any.c
 *	  Disjunctions that have to be read: one list after the other leads.
 *
 * A document with a sum that counts has one of the essential lists, those which
 * the others together cannot do without.  To go through them at once, a window
 * after the other, takes the norms of all of their documents.  So the list that
 * can give most leads, as in a conjunction where the others are optional
 * (topk_cold.c), and then the next one, without the documents of those before
 * it.  After the first of them mostly nothing is essential any more.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"

/* A list that leads has at most this part of the documents. */
#define SKX_ANY_SHARE		32

/*
 * Of more lists than these too many stay essential after the first, and each
 * that leads goes through all others again.
 */
#define SKX_ANY_LEADS		4

/*
 * How many of the lists, from the end, are essential; 0: they are too many, or
 * one of them is too long to lead, or cannot be gone through again.
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

/* One list leads, those before it are optional, those behind it have led. */
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

/* Can lists before `end` together reach the heap? */
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
	if (run->rest != NULL ||
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
		run->unordered = true;	/* for those that follow */
		skx_topk_batch_need(run);
	}
	run->nrequired = run->nexcluded = 0;
	run->noptional = n;
	run->unordered = false;
	skx_topk_batch_need(run);
	return true;
}
