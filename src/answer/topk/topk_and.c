/*
 * topk_and.c
 *	  Searches a conjunction: scores first, then intersects.
 *
 * The list with the fewest documents leads, sub-block by sub-block.  A
 * sub-block is skipped undecoded if its bound, plus those of all other lists
 * over its documents, is below the threshold.  Otherwise its documents get
 * their contributions at once.  Only those that can still become hits are
 * looked up in the other lists, one list after the other.
 *
 * While pages have to be read, documents of the lead are gathered
 * (topk_cold.c).
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"

typedef struct SkxTopkAnd
{
	SkxTopkRun *run;
	int64	   *bounds_from;	/* rest[i]: bound of the contributions of
								 * required lists from i on and of all
								 * optional ones */
	bool		is_gathering;	/* documents of the lead are being gathered */
	uint64		page_reads;		/* state of skx_segment_has_read() */
} SkxTopkAnd;

/*
 * Computes the bounds of all lists but the lead in the documents [from, to) of
 * the lead's sub-block.  Returns false if none of these can become a hit.
 */
static bool
skx_and_compute_bounds(SkxTopkAnd *a, uint32 from, uint32 to)
{
	SkxTopkRun *run = a->run;
	int64		total = skx_topk_list_sub_bound(run->required[0]);
	int64		sum = 0;
	int			i;

	for (i = 1; i < run->nrequired; i++)
		total += run->required[i]->max_contribution;
	for (i = 0; i < run->noptional; i++)
		total += run->optional[i]->max_contribution;
	for (i = 1; i < run->nrequired + run->noptional; i++)
	{
		SkxTopkList *l = i < run->nrequired ? run->required[i] :
			run->optional[i - run->nrequired];

		if (total < run->threshold)
			return false;
		if (!skx_cursor_advance(l->cursor, from))
		{
			l->window_bound = 0;
			if (i < run->nrequired)
				return false;
		}
		else
			l->window_bound = skx_topk_list_bound(l, from, to);
		if (l->window_bound == 0 && l->term != NULL && i < run->nrequired)
			return false;		/* the list has none of them */
		total += l->window_bound - l->max_contribution;
	}
	if (total < run->threshold)
		return false;
	for (i = 0; i < run->noptional; i++)
	{
		sum += run->optional[i]->window_bound;
		run->optional[i]->prefix_bound = sum;
	}
	a->bounds_from[run->nrequired] = sum;
	for (i = run->nrequired - 1; i > 0; i--)
		a->bounds_from[i] = a->bounds_from[i + 1] +
			run->required[i]->window_bound;
	return true;
}

/*
 * Sets a->bounds_from while there is no threshold.  Bounds would drop no
 * document then, so none is computed.
 */
static void
skx_and_clear_bounds(SkxTopkAnd *a)
{
	SkxTopkRun *run = a->run;
	int64		sum = 0;
	int			i;

	for (i = 0; i < run->noptional; i++)
	{
		sum += run->optional[i]->max_contribution;
		run->optional[i]->prefix_bound = sum;
	}
	for (i = run->nrequired; i > 0; i--)
		a->bounds_from[i] = PG_INT32_MAX;
}

/*
 * Copies the candidates to run->position_docs, by which lists note their
 * positions and frequencies.
 */
static void
skx_and_begin_positions(SkxTopkRun *run)
{
	int			i;

	memcpy(run->position_docs, run->docs, sizeof(uint32) * run->n);
	for (i = 0; i < run->nrequired; i++)
		run->required[i]->position_index = 0;
}

/* Notes the positions of the lead, only for the candidates that are left. */
static void
skx_and_lead_positions(SkxTopkRun *run)
{
	SkxTopkList *lead = run->required[0];
	int			i;

	lead->position_index = 0;
	for (i = 0; i < run->n && lead->position_refs != NULL; i++)
		skx_topk_batch_save_refs(run, lead,
								 skx_cursor_find(lead->cursor, run->docs[i]));
}

/*
 * Computes the lead's contributions first, since most of its documents get too
 * little.
 */
static void
skx_and_score_lead_first(SkxTopkAnd *a, uint32 from, uint32 to)
{
	SkxTopkRun *run = a->run;
	int			i;

	run->n = skx_topk_list_contributions(run, run->required[0], from, to,
										 run->threshold - a->bounds_from[1],
										 run->docs,
										 run->sums);
	if (run->phrase != NULL)
		skx_and_begin_positions(run);
	for (i = 1; i < run->nrequired && run->n > 0; i++)
	{
		skx_topk_batch_drop_below(run, run->threshold - a->bounds_from[i]);
		skx_topk_batch_probe(run, run->required[i], a->bounds_from[i + 1],
							 true);
	}
	skx_topk_batch_drop_below(run,
							  run->threshold - a->bounds_from[run->nrequired]);
	skx_and_lead_positions(run);
}

/*
 * Computes the lead's contributions last.  They would drop no candidate, since
 * the other lists may contribute enough.  But few documents are in those
 * lists.
 */
static void
skx_and_score_lead_last(SkxTopkAnd *a, uint32 from, uint32 to)
{
	SkxTopkRun *run = a->run;
	SkxTopkList *lead = run->required[0];
	int64		bound = 0;
	int			i;

	if (run->threshold > 1)
		bound = skx_topk_list_sub_bound(lead);
	run->n = skx_topk_list_range_docs(lead, from, to, run->docs);
	memset(run->sums, 0, sizeof(int32) * run->n);
	if (run->phrase != NULL)
		skx_and_begin_positions(run);
	for (i = 1; i < run->nrequired && run->n > 0; i++)
		skx_topk_batch_probe(run, run->required[i],
							 a->bounds_from[i + 1] + bound, true);
	skx_topk_batch_add_list(run, lead);
}

/*
 * Allocates memory for the frequencies of the candidates in each required
 * list.
 */
static void
skx_and_open_tfs(SkxTopkRun *run)
{
	int			i;

	if (run->position_docs == NULL)
		run->position_docs = palloc(sizeof(uint32) * SKX_SUBBLOCK);
	for (i = 0; i < run->nrequired; i++)
	{
		if (run->required[i]->tfs == NULL)
			run->required[i]->tfs = palloc(sizeof(float) * SKX_SUBBLOCK);
	}
}

/*
 * Computes all contributions last, after the phrase or the rest of the filter
 * was tested.  While there is no threshold, contributions drop no candidate,
 * but these conditions do.
 */
static void
skx_and_filter_first(SkxTopkRun *run, uint32 from, uint32 to)
{
	SkxTopkList *lead = run->required[0];
	int			i;

	skx_and_open_tfs(run);
	run->defer_sums = true;
	run->n = skx_topk_list_range_docs(lead, from, to, run->docs);
	memset(run->sums, 0, sizeof(int32) * run->n);
	skx_and_begin_positions(run);
	for (i = 1; i < run->nrequired && run->n > 0; i++)
		skx_topk_batch_probe(run, run->required[i], PG_INT32_MAX, true);
	skx_topk_batch_add_list(run, lead);
}

/* Returns true if norms of the lead's sub-block would have to be read. */
static bool
skx_and_lead_norms_are_cold(SkxTopkRun *run, uint32 from, uint32 to)
{
	int			n = skx_topk_list_range_docs(run->required[0], from, to,
											 run->docs);

	return !skx_segment_has_norms(run->seg, run->docs, n);
}

static void
skx_and_candidates(SkxTopkAnd *a, uint32 from, uint32 to)
{
	SkxTopkRun *run = a->run;

	run->defer_sums = false;
	if ((run->phrase != NULL || run->residual_filter != NULL) &&
		run->noptional == 0 &&
		run->threshold <= 1)
		skx_and_filter_first(run, from, to);
	else if (run->nrequired > 1 &&
			 2 * (int64) run->threshold <= a->bounds_from[1])
		skx_and_score_lead_last(a, from, to);
	else
		skx_and_score_lead_first(a, from, to);
	skx_topk_batch_optional(run, run->optional, run->noptional,
							run->noptional);
	skx_topk_batch_finish(run);
	run->n = 0;
}

/*
 * Searches the documents [from, to) of the lead's sub-block.  Bounds of the
 * other lists are computed only while nothing has to be read for them.
 */
static void
skx_and_subblock(SkxTopkAnd *a, uint32 from, uint32 to)
{
	SkxTopkRun *run = a->run;

	if (a->is_gathering)
	{
		if (!skx_topk_cold_skips_subblock(run) &&
			skx_topk_cold_gather(run, from, to))
			a->is_gathering = skx_topk_cold_has_deferred(run) ||
				skx_segment_has_read(&a->page_reads);
		if (!a->is_gathering)
			skx_topk_cold_finish(run);
		return;
	}
	if (run->threshold <= 1)
		skx_and_clear_bounds(a);
	else if (!skx_and_compute_bounds(a, from, to))
		return;
	if (skx_and_lead_norms_are_cold(run, from, to))
		(void) skx_topk_cold_gather(run, from, to);
	else
		skx_and_candidates(a, from, to);
	a->is_gathering = run->n > 0 || skx_segment_has_read(&a->page_reads);
}

/* Returns true if a required list other than the lead is at its end. */
static bool
skx_and_at_end(const SkxTopkRun *run)
{
	int			i;

	for (i = 1; i < run->nrequired; i++)
		if (run->required[i]->cursor->at_end)
			return true;
	return false;
}

void
skx_topk_search_and(SkxTopkRun *run)
{
	SkxTopkList *lead = run->required[0];
	SkxTopkAnd	a = {run,.is_gathering = skx_topk_cold_is_worthwhile(run)};
	uint32		from = run->from;

	a.bounds_from = palloc(sizeof(int64) * (run->nrequired + 1));
	a.page_reads = skx_segment_nloads();
	run->tf_lists = run->required;
	run->ntf_lists = run->nrequired;
	/* ascending by contribution: the last list is looked up first */
	skx_topk_list_sort(run->optional, run->noptional);
	skx_cursor_set_lead(lead->cursor,
						a.is_gathering ? SKX_CURSOR_LEAD_ALL : SKX_CURSOR_LEAD,
						NULL);
	while (from < run->to && skx_cursor_advance(lead->cursor, from))
	{
		uint32		to = Min(lead->cursor->end, run->to);

		if (skx_topk_count_window(run, run->n > 0 ? run->docs[0] : from))
		{
			run->leaves_candidates = run->n > 0;
			return;
		}
		if (run->residual_filter != NULL &&
			(from = skx_query_docs_filter_bound(run->residual_filter, from)) >=
			to)
			continue;
		skx_and_subblock(&a, from, to);
		if (skx_and_at_end(run))
			break;
		from = to;
	}
	skx_topk_cold_finish(run);
}
