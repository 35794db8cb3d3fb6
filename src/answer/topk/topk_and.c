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

typedef struct SkxAnd
{
	SkxTopkRun *run;
	int64	   *rest;			/* rest[i]: bound of the contributions of
								 * required lists from i on and of all
								 * optional ones */
	bool		cold;			/* documents of the lead are being gathered */
	uint64		reads;			/* state of skx_segment_cold() */
} SkxAnd;

/*
 * Computes the bounds of all lists but the lead in the documents [from, to) of
 * the lead's sub-block.  Returns false if none of these can become a hit.
 */
static bool
skx_and_bounds(SkxAnd *a, uint32 from, uint32 to)
{
	SkxTopkRun *run = a->run;
	int64		total = skx_topk_list_sub_bound(run->required[0]);
	int64		sum = 0;
	int			i;

	for (i = 1; i < run->nrequired; i++)
		total += run->required[i]->max;
	for (i = 0; i < run->noptional; i++)
		total += run->optional[i]->max;
	for (i = 1; i < run->nrequired + run->noptional; i++)
	{
		SkxTopkList *l = i < run->nrequired ? run->required[i] :
			run->optional[i - run->nrequired];

		if (total < run->need)
			return false;
		if (!skx_cursor_reach(l->cursor, from))
		{
			l->bound = 0;
			if (i < run->nrequired)
				return false;
		}
		else
			l->bound = skx_topk_list_bound(l, from, to);
		if (l->bound == 0 && l->term != NULL && i < run->nrequired)
			return false;		/* the list has none of them */
		total += l->bound - l->max;
	}
	if (total < run->need)
		return false;
	for (i = 0; i < run->noptional; i++)
	{
		sum += run->optional[i]->bound;
		run->optional[i]->before = sum;
	}
	a->rest[run->nrequired] = sum;
	for (i = run->nrequired - 1; i > 0; i--)
		a->rest[i] = a->rest[i + 1] + run->required[i]->bound;
	return true;
}

/*
 * Sets a->rest while there is no threshold.  Bounds would drop no document
 * then, so none is computed.
 */
static void
skx_and_no_bounds(SkxAnd *a)
{
	SkxTopkRun *run = a->run;
	int64		sum = 0;
	int			i;

	for (i = 0; i < run->noptional; i++)
	{
		sum += run->optional[i]->max;
		run->optional[i]->before = sum;
	}
	for (i = run->nrequired; i > 0; i--)
		a->rest[i] = PG_INT32_MAX;
}

/*
 * Copies the candidates to run->placed, by which lists note their positions
 * and frequencies.
 */
static void
skx_and_begin_places(SkxTopkRun *run)
{
	int			i;

	memcpy(run->placed, run->docs, sizeof(uint32) * run->n);
	for (i = 0; i < run->nrequired; i++)
		run->required[i]->place = 0;
}

/* Notes the positions of the lead, only for the candidates that are left. */
static void
skx_and_lead_places(SkxTopkRun *run)
{
	SkxTopkList *lead = run->required[0];
	int			i;

	lead->place = 0;
	for (i = 0; i < run->n && lead->places != NULL; i++)
		skx_topk_batch_place(run, lead,
							 skx_cursor_find(lead->cursor, run->docs[i]));
}

/*
 * Computes the lead's contributions first, since most of its documents get too
 * little.
 */
static void
skx_and_score_first(SkxAnd *a, uint32 from, uint32 to)
{
	SkxTopkRun *run = a->run;
	int			i;

	run->n = skx_topk_list_parts(run, run->required[0], from, to,
								 run->need - a->rest[1], run->docs,
								 run->sums);
	if (run->chain != NULL)
		skx_and_begin_places(run);
	for (i = 1; i < run->nrequired && run->n > 0; i++)
	{
		skx_topk_batch_floor(run, run->need - a->rest[i]);
		skx_topk_batch_probe(run, run->required[i], a->rest[i + 1], true);
	}
	skx_topk_batch_floor(run, run->need - a->rest[run->nrequired]);
	skx_and_lead_places(run);
}

/*
 * Computes the lead's contributions last.  They would drop no candidate, since
 * the other lists may contribute enough.  But few documents are in those
 * lists.
 */
static void
skx_and_score_last(SkxAnd *a, uint32 from, uint32 to)
{
	SkxTopkRun *run = a->run;
	SkxTopkList *lead = run->required[0];
	int64		bound = 0;
	int			i;

	if (run->need > 1)
		bound = skx_topk_list_sub_bound(lead);
	run->n = skx_topk_list_docs(lead, from, to, run->docs);
	memset(run->sums, 0, sizeof(int32) * run->n);
	if (run->chain != NULL)
		skx_and_begin_places(run);
	for (i = 1; i < run->nrequired && run->n > 0; i++)
		skx_topk_batch_probe(run, run->required[i], a->rest[i + 1] + bound,
							 true);
	skx_topk_batch_add(run, lead);
}

/*
 * Allocates memory for the frequencies of the candidates in each required
 * list.
 */
static void
skx_and_open_tfs(SkxTopkRun *run)
{
	int			i;

	if (run->placed == NULL)
		run->placed = palloc(sizeof(uint32) * SKX_SUBBLOCK);
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
skx_and_rest_first(SkxTopkRun *run, uint32 from, uint32 to)
{
	SkxTopkList *lead = run->required[0];
	int			i;

	skx_and_open_tfs(run);
	run->parts_last = true;
	run->n = skx_topk_list_docs(lead, from, to, run->docs);
	memset(run->sums, 0, sizeof(int32) * run->n);
	skx_and_begin_places(run);
	for (i = 1; i < run->nrequired && run->n > 0; i++)
		skx_topk_batch_probe(run, run->required[i], PG_INT32_MAX, true);
	skx_topk_batch_add(run, lead);
}

/* Returns true if norms of the lead's sub-block would have to be read. */
static bool
skx_and_cold(SkxTopkRun *run, uint32 from, uint32 to)
{
	int			n = skx_topk_list_docs(run->required[0], from, to, run->docs);

	return !skx_segment_has_norms(run->seg, run->docs, n);
}

static void
skx_and_candidates(SkxAnd *a, uint32 from, uint32 to)
{
	SkxTopkRun *run = a->run;

	run->parts_last = false;
	if ((run->chain != NULL || run->filter != NULL) && run->noptional == 0 &&
		run->need <= 1)
		skx_and_rest_first(run, from, to);
	else if (run->nrequired > 1 && 2 * (int64) run->need <= a->rest[1])
		skx_and_score_last(a, from, to);
	else
		skx_and_score_first(a, from, to);
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
skx_and_subblock(SkxAnd *a, uint32 from, uint32 to)
{
	SkxTopkRun *run = a->run;

	if (a->cold)
	{
		if (!skx_topk_cold_passes(run) &&
			skx_topk_cold_gather(run, from, to))
			a->cold = skx_topk_cold_is_late(run) ||
				skx_segment_cold(&a->reads);
		if (!a->cold)
			skx_topk_cold_finish(run);
		return;
	}
	if (run->need <= 1)
		skx_and_no_bounds(a);
	else if (!skx_and_bounds(a, from, to))
		return;
	if (skx_and_cold(run, from, to))
		(void) skx_topk_cold_gather(run, from, to);
	else
		skx_and_candidates(a, from, to);
	a->cold = run->n > 0 || skx_segment_cold(&a->reads);
}

/* Returns true if a required list other than the lead is at its end. */
static bool
skx_and_done(const SkxTopkRun *run)
{
	int			i;

	for (i = 1; i < run->nrequired; i++)
		if (run->required[i]->cursor->done)
			return true;
	return false;
}

void
skx_topk_and(SkxTopkRun *run)
{
	SkxTopkList *lead = run->required[0];
	SkxAnd		a = {run,.cold = skx_topk_is_cold(run)};
	uint32		from = run->from;

	a.rest = palloc(sizeof(int64) * (run->nrequired + 1));
	a.reads = skx_segment_reads();
	run->noted = run->required;
	run->nnoted = run->nrequired;
	/* ascending by contribution: the last list is looked up first */
	skx_topk_list_sort(run->optional, run->noptional);
	skx_cursor_lead(lead->cursor, a.cold ? SKX_CURSOR_WHOLE : SKX_CURSOR_LEAD,
					NULL);
	while (from < run->to && skx_cursor_reach(lead->cursor, from))
	{
		uint32		to = Min(lead->cursor->end, run->to);

		if (skx_topk_tick(run, run->n > 0 ? run->docs[0] : from))
			return;
		if (run->filter != NULL &&
			(from = skx_query_docs_filter_bound(run->filter, from)) >= to)
			continue;
		skx_and_subblock(&a, from, to);
		if (skx_and_done(run))
			break;
		from = to;
	}
	skx_topk_cold_finish(run);
}
