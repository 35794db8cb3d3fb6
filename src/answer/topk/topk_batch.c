/*
 * topk_batch.c
 *	  Candidates of a search: adds contributions to their sums, drops those
 *	  that cannot become hits, and makes hits of the others.
 *
 * Candidates ascend by document.  A candidate is dropped for its sum only if
 * it would be no hit even with all that the remaining lists can contribute.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"

bool
skx_topk_tick(SkxTopkRun *run, uint32 doc)
{
	run->topk->work->windows++;
	if (run->topk->share != NULL)
		skx_topk_share_meet(run);
	return skx_topk_is_spent(run, doc);
}

void
skx_topk_batch_floor(SkxTopkRun *run, int64 floor)
{
	if (floor > 0)
		run->n = skx_topk_floor(run->docs, run->sums, run->n,
								(int32) Min(floor, PG_INT32_MAX));
}

/*
 * Returns the index in run->placed of the document of posting `at`.  Postings
 * of a list must be passed in ascending order.
 */
static inline int
skx_topk_batch_placed(const SkxTopkRun *run, SkxTopkList *l, int at)
{
	while (run->placed[l->place] != l->cursor->docs[at])
		l->place++;
	return l->place;
}

void
skx_topk_batch_place(const SkxTopkRun *run, SkxTopkList *l, int at)
{
	int			i = skx_topk_batch_placed(run, l, at);

	skx_cursor_place(l->cursor, at, &l->places[i]);
}

/*
 * The rest of the query is tested early if at most one in SKX_SIEVE_PART of
 * the recent candidates has passed it.  Counts are halved when SKX_SIEVE_KNOWN
 * candidates have been tested, so that recent ones count more.
 */
#define SKX_SIEVE_PART			3
#define SKX_SIEVE_KNOWN			8192

/*
 * A lookup of candidates in a list.  Candidates that are kept move to the
 * front.
 */
typedef struct SkxProbe
{
	SkxTopkRun *run;
	SkxTopkList *l;
	int64		rest;
	bool		required;
	bool		bounded;		/* there is a threshold, and the list is
								 * scored */
	int			kept;
} SkxProbe;

/*
 * Notes the frequency of posting `at`, for a contribution that is computed
 * later, and sets *bound to a bound of it.  Returns false if the posting has
 * none of the labels that count.
 */
static bool
skx_topk_batch_note(SkxTopkRun *run, SkxTopkList *l, int at, int32 *bound)
{
	int			i = skx_topk_batch_placed(run, l, at);

	return skx_topk_list_part_bound(run, l, at, &l->tfs[i], bound);
}

/*
 * Keeps candidate i, and adds the contribution of posting `at` to its sum.  at
 * is -1 if the list lacks the document.  Drops the candidate if the list is
 * required and has no posting that counts.
 */
static inline void
skx_topk_probe_keep(SkxProbe *p, int i, int at)
{
	SkxTopkRun *run = p->run;
	uint32		doc = run->docs[i];
	int32		sum = run->sums[i];
	bool		found = false;

	if (at >= 0 && p->l->places != NULL)
		skx_topk_batch_place(run, p->l, at);
	if (at >= 0)
	{
		int32		part;

		found = run->parts_last ?
			skx_topk_batch_note(run, p->l, at, &part) :
			skx_topk_list_part(run, p->l, at, &part);
		sum += part;
	}
	run->docs[p->kept] = doc;
	run->sums[p->kept] = sum;
	p->kept += found || !p->required;
}

/*
 * Returns true if one of the candidates [i, end) has a sum of at least
 * `floor`.
 */
static inline bool
skx_topk_probe_any(const SkxTopkRun *run, int i, int end, int32 floor)
{
	bool		any = false;

	for (; i < end; i++)
		any |= run->sums[i] >= floor;
	return any;
}

/*
 * Looks up candidates [i, end), which all lie in the current sub-block, by a
 * map of its documents.  Few of them have a slot in the map.  One without a
 * slot is not in the list, and is dropped unless its sum suffices without the
 * list.
 */
static void
skx_topk_probe_many(SkxProbe *p, int i, int end)
{
	SkxTopkRun *run = p->run;
	SkxCursor  *c = p->l->cursor;
	const uint8 *map;
	uint16		some[SKX_TOPK_BATCH];
	int			nsome = 0;
	int32		floor = PG_INT32_MIN;
	int32		without = p->required ? PG_INT32_MAX : PG_INT32_MIN;
	int			k;

	if (p->bounded)
	{
		int64		least = run->need - p->rest;

		if (!p->required)
			without = (int32) Max(least, 0);
		least -= skx_topk_list_sub_bound(p->l);
		floor = (int32) Max(least, 0);
	}
	if (!skx_topk_probe_any(run, i, end, floor))
		return;
	map = skx_cursor_map(c);
	for (k = i; k < end; k++)
	{
		some[nsome] = k;
		nsome += (run->sums[k] >= floor) &
			((run->sums[k] >= without) |
			 (map[run->docs[k] % SKX_CURSOR_SLOTS] != 0));
	}
	for (k = 0; k < nsome; k++)
		skx_topk_probe_keep(p, some[k],
							skx_cursor_mapped(c, map, run->docs[some[k]]));
}

/*
 * Looks up candidate i, which is in the current sub-block or not in the list.
 */
static inline void
skx_topk_probe_one(SkxProbe *p, int i)
{
	SkxCursor  *c = p->l->cursor;
	uint32		doc = p->run->docs[i];
	int			at;

	if (c->docs == NULL && p->bounded &&
		p->run->sums[i] + p->rest + skx_topk_list_sub_bound(p->l) <
		p->run->need)
		return;
	at = skx_cursor_find(c, doc);
	skx_topk_probe_keep(p, i, c->docs[at] == doc ? at : -1);
}

void
skx_topk_batch_probe(SkxTopkRun *run, SkxTopkList *l, int64 rest,
					 bool required)
{
	SkxProbe	p = {run, l, rest, required, run->need > 1 && l->term != NULL};
	SkxCursor  *c = l->cursor;
	int			i;
	int			end;

	skx_cursor_targets(c, run->docs, run->n);
	for (i = 0; i < run->n; i = end)
	{
		end = i + 1;
		if (!skx_cursor_reach(c, run->docs[i]))
		{
			if (required)
				break;
			skx_topk_probe_keep(&p, i, -1);
			continue;
		}
		if (skx_cursor_has_many(c, run->docs, i, run->n))
		{
			while (end < run->n && run->docs[end] < c->end)
				end++;
			skx_topk_probe_many(&p, i, end);
		}
		else
		{
			if (end < run->n && run->docs[end] >= c->end)
				skx_cursor_touch(c, run->docs[end]);
			skx_topk_probe_one(&p, i);
		}
	}
	run->n = p.kept;
	skx_cursor_targets(c, NULL, 0);
	skx_cursor_relax(c);
}

void
skx_topk_batch_add(SkxTopkRun *run, SkxTopkList *l)
{
	SkxProbe	p = {run, l, 0, true};
	int			i;

	if (!run->parts_last)
		run->topk->work->scored += run->n;
	for (i = 0; i < run->n; i++)
		skx_topk_probe_keep(&p, i, skx_cursor_find(l->cursor, run->docs[i]));
	run->n = p.kept;
}

/*
 * Returns the sum of the contributions to the document at index `at` of
 * run->placed.
 */
static int32
skx_topk_batch_sum(const SkxTopkRun *run, int at, uint8 norm)
{
	float		inverse = run->scorer->inverse[norm];
	int32		sum = 0;
	int			i;

	for (i = 0; i < run->nnoted; i++)
	{
		const SkxTopkList *l = run->noted[i];

		if (l->term != NULL && l->tfs[at] >= 0)
			sum += skx_rank_part(l->weight, l->tfs[at], inverse);
	}
	return sum;
}

void
skx_topk_batch_parts(SkxTopkRun *run)
{
	uint8		norms[SKX_SUBBLOCK];
	int32		sum;
	int			at = 0;
	int			i;

	run->topk->work->scored += run->n;
	for (i = 0; i < run->n; i++)
	{
		if (i % SKX_SUBBLOCK == 0)
			skx_segment_norms(run->seg, run->docs + i,
							  Min(run->n - i, SKX_SUBBLOCK), norms);
		while (run->placed[at] != run->docs[i])
			at++;
		sum = skx_topk_batch_sum(run, at, norms[i % SKX_SUBBLOCK]);
		Assert(run->cold == NULL || sum <= run->sums[i]);
		run->sums[i] = sum;
	}
	run->parts_last = false;
}

void
skx_topk_batch_optional(SkxTopkRun *run, SkxTopkList **lists, int n,
						int required)
{
	int			i;

	for (i = n - 1; i >= 0 && run->n > 0; i--)
	{
		skx_topk_batch_floor(run, run->need - lists[i]->before);
		skx_topk_batch_probe(run, lists[i], i > 0 ? lists[i - 1]->before : 0,
							 i >= required);
	}
}

/*
 * Moves the sums of the remaining candidates to their new indexes.  before has
 * the n documents that there were before some were dropped.
 */
static void
skx_topk_batch_follow(SkxTopkRun *run, const uint32 *before, int n)
{
	int			i = 0;
	int			k;

	if (run->n == n)
		return;
	for (k = 0; k < run->n; k++)
	{
		while (before[i] != run->docs[k])
			i++;
		run->sums[k] = run->sums[i++];
	}
}

/* Drops some of the candidates, of which there are at most SKX_QUERY_BATCH. */
typedef void (*SkxBatchStep) (SkxTopkRun *run);

static void
skx_topk_batch_by_parts(SkxTopkRun *run, SkxBatchStep step)
{
	uint32		before[SKX_QUERY_BATCH];
	uint32	   *docs = run->docs;
	int32	   *sums = run->sums;
	int			total = run->n;
	int			kept = 0;
	int			i;

	for (i = 0; i < total; i += SKX_QUERY_BATCH)
	{
		int			some = Min(total - i, SKX_QUERY_BATCH);

		memcpy(before, docs + i, sizeof(uint32) * some);
		run->docs = docs + i;
		run->sums = sums + i;
		run->n = some;
		step(run);
		skx_topk_batch_follow(run, before, some);
		if (run->parts_last)
			skx_topk_batch_parts(run);
		memmove(docs + kept, run->docs, sizeof(uint32) * run->n);
		memmove(sums + kept, run->sums, sizeof(int32) * run->n);
		kept += run->n;
	}
	run->docs = docs;
	run->sums = sums;
	run->n = kept;
}

/* Drops candidates that do not match the rest of the query. */
static void
skx_topk_batch_ask(SkxTopkRun *run)
{
	if (run->asked >= SKX_SIEVE_KNOWN)
	{
		run->asked /= 2;
		run->passed /= 2;
	}
	run->asked += run->n;
	run->n = skx_query_docs_filter(run->filter, run->docs, run->n);
	run->passed += run->n;
}

void
skx_topk_batch_sieve(SkxTopkRun *run)
{
	if (run->filter == NULL || !skx_query_docs_filter_is_cheap(run->filter) ||
		run->passed * SKX_SIEVE_PART > run->asked)
		return;
	skx_topk_batch_by_parts(run, skx_topk_batch_ask);
	run->sieved = true;
}

/*
 * Drops candidates that lack the phrase, that do not match the rest of the
 * query, or whose deleted bit is set.
 */
static void
skx_topk_batch_match(SkxTopkRun *run)
{
	if (run->chain != NULL)
		run->n = skx_query_chain_verify(run->chain, run->docs, run->n,
										run->placed, run->places);
	if (run->filter != NULL && !run->sieved)
		skx_topk_batch_ask(run);
	if (run->n > 0)
		run->n = skx_segment_drop_deleted(run->seg, run->docs, run->n);
}

/*
 * Drops candidates whose sums are above that of the row to continue after.
 * The sums must be exact.
 */
static void
skx_topk_batch_behind(SkxTopkRun *run)
{
	int32		most = run->topk->after;
	int			kept = 0;
	int			i;

	for (i = 0; i < run->n; i++)
	{
		run->docs[kept] = run->docs[i];
		run->sums[kept] = run->sums[i];
		kept += run->sums[i] <= most;
	}
	run->n = kept;
}

void
skx_topk_batch_finish(SkxTopkRun *run)
{
	int			i;

	if (!run->parts_last)
		skx_topk_batch_floor(run, run->need);
	if (run->topk->has_after && !run->parts_last && run->exact == NULL)
		skx_topk_batch_behind(run);
	run->topk->work->candidates += run->n;
	skx_topk_batch_by_parts(run, skx_topk_batch_match);
	run->sieved = false;
	if (run->n == 0)
		return;
	if (run->exact != NULL)
	{
		skx_topk_exact_finish(run);
		return;
	}
	i = skx_topk_hits_take(run->topk, run->segment, run->docs, run->sums,
						   run->n);
	if (i > 0)
		skx_topk_batch_need(run);
	for (; i < run->n; i++)
		skx_topk_batch_hit(run, run->docs[i], run->sums[i]);
}
