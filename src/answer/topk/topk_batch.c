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
skx_topk_count_window(SkxTopkRun *run, uint32 doc)
{
	run->topk->work->windows++;
	if (run->topk->share != NULL)
		skx_topk_share_exchange(run);
	return skx_topk_budget_is_spent(run, doc);
}

void
skx_topk_batch_drop_below(SkxTopkRun *run, int64 floor)
{
	if (floor > 0)
		run->n = skx_topk_keep_above(run->docs, run->sums, run->n,
									 (int32) Min(floor, PG_INT32_MAX));
}

/*
 * Returns the index in run->position_docs of the document of posting `at`.
 * Postings of a list must be passed in ascending order.
 */
static inline int
skx_topk_batch_doc_index(const SkxTopkRun *run, SkxTopkList *l, int at)
{
	while (run->position_docs[l->position_index] != l->cursor->docs[at])
		l->position_index++;
	return l->position_index;
}

void
skx_topk_batch_save_refs(const SkxTopkRun *run, SkxTopkList *l, int at)
{
	int			i = skx_topk_batch_doc_index(run, l, at);

	skx_cursor_positions_ref(l->cursor, at, &l->position_refs[i]);
}

/*
 * The rest of the query is tested early if at most one in SKX_SIEVE_PASS_RATIO
 * of the recent candidates has passed it.  Counts are halved when
 * SKX_SIEVE_SAMPLE candidates have been tested, so that recent ones count
 * more.
 */
#define SKX_SIEVE_PASS_RATIO			3
#define SKX_SIEVE_SAMPLE			8192

/*
 * A lookup of candidates in a list.  Candidates that are kept move to the
 * front.
 */
typedef struct SkxTopkProbe
{
	SkxTopkRun *run;
	SkxTopkList *list;
	int64		rest_bound;
	bool		is_required;
	bool		use_bounds;		/* there is a threshold, and the list is
								 * scored */
	int			nkept;
} SkxTopkProbe;

/*
 * Notes the frequency of posting `at`, for a contribution that is computed
 * later, and sets *bound to a bound of it.  Returns false if the posting has
 * none of the labels that count.
 */
static bool
skx_topk_batch_save_tf(SkxTopkRun *run, SkxTopkList *l, int at, int32 *bound)
{
	int			i = skx_topk_batch_doc_index(run, l, at);

	return skx_topk_list_posting_bound(run, l, at, &l->tfs[i], bound);
}

/*
 * Keeps candidate i, and adds the contribution of posting `at` to its sum.  at
 * is -1 if the list lacks the document.  Drops the candidate if the list is
 * required and has no posting that counts.
 */
static inline void
skx_topk_probe_accept(SkxTopkProbe *p, int i, int at)
{
	SkxTopkRun *run = p->run;
	uint32		doc = run->docs[i];
	int32		sum = run->sums[i];
	bool		found = false;

	if (at >= 0 && p->list->position_refs != NULL)
		skx_topk_batch_save_refs(run, p->list, at);
	if (at >= 0)
	{
		int32		part;

		found = run->defer_sums ?
			skx_topk_batch_save_tf(run, p->list, at, &part) :
			skx_topk_list_contribution(run, p->list, at, &part);
		sum += part;
	}
	run->docs[p->nkept] = doc;
	run->sums[p->nkept] = sum;
	p->nkept += found || !p->is_required;
}

/*
 * Returns true if one of the candidates [i, end) has a sum of at least
 * `floor`.
 */
static inline bool
skx_topk_probe_any_competes(const SkxTopkRun *run, int i, int end, int32 floor)
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
skx_topk_probe_by_map(SkxTopkProbe *p, int i, int end)
{
	SkxTopkRun *run = p->run;
	SkxCursor  *c = p->list->cursor;
	const uint8 *map;
	uint16		some[SKX_TOPK_BATCH];
	int			nsome = 0;
	int32		floor = PG_INT32_MIN;
	int32		without = p->is_required ? PG_INT32_MAX : PG_INT32_MIN;
	int			k;

	if (p->use_bounds)
	{
		int64		least = run->threshold - p->rest_bound;

		if (!p->is_required)
			without = (int32) Max(least, 0);
		least -= skx_topk_list_sub_bound(p->list);
		floor = (int32) Max(least, 0);
	}
	if (!skx_topk_probe_any_competes(run, i, end, floor))
		return;
	map = skx_cursor_subblock_map(c);
	for (k = i; k < end; k++)
	{
		some[nsome] = k;
		nsome += (run->sums[k] >= floor) &
			((run->sums[k] >= without) |
			 (map[run->docs[k] % SKX_CURSOR_MAP_SLOTS] != 0));
	}
	for (k = 0; k < nsome; k++)
		skx_topk_probe_accept(p, some[k],
							  skx_cursor_map_lookup(c, map,
													run->docs[some[k]]));
}

/*
 * Looks up candidate i, which is in the current sub-block or not in the list.
 */
static inline void
skx_topk_probe_one(SkxTopkProbe *p, int i)
{
	SkxCursor  *c = p->list->cursor;
	uint32		doc = p->run->docs[i];
	int			at;

	if (c->docs == NULL && p->use_bounds &&
		p->run->sums[i] + p->rest_bound + skx_topk_list_sub_bound(p->list) <
		p->run->threshold)
		return;
	at = skx_cursor_find(c, doc);
	skx_topk_probe_accept(p, i, c->docs[at] == doc ? at : -1);
}

void
skx_topk_batch_probe(SkxTopkRun *run, SkxTopkList *l, int64 rest,
					 bool required)
{
	SkxTopkProbe p = {run, l, rest, required, run->threshold > 1 &&
	l->term != NULL};
	SkxCursor  *c = l->cursor;
	int			i;
	int			end;

	skx_cursor_set_targets(c, run->docs, run->n);
	for (i = 0; i < run->n; i = end)
	{
		end = i + 1;
		if (!skx_cursor_advance(c, run->docs[i]))
		{
			if (required)
				break;
			skx_topk_probe_accept(&p, i, -1);
			continue;
		}
		if (skx_cursor_has_many(c, run->docs, i, run->n))
		{
			while (end < run->n && run->docs[end] < c->end)
				end++;
			skx_topk_probe_by_map(&p, i, end);
		}
		else
		{
			if (end < run->n && run->docs[end] >= c->end)
				skx_cursor_prefetch_memory(c, run->docs[end]);
			skx_topk_probe_one(&p, i);
		}
	}
	run->n = p.nkept;
	skx_cursor_set_targets(c, NULL, 0);
	skx_cursor_unpin_if_crowded(c);
}

void
skx_topk_batch_add_list(SkxTopkRun *run, SkxTopkList *l)
{
	SkxTopkProbe p = {run, l, 0, true};
	int			i;

	if (!run->defer_sums)
		run->topk->work->scored_postings += run->n;
	for (i = 0; i < run->n; i++)
		skx_topk_probe_accept(&p, i, skx_cursor_find(l->cursor, run->docs[i]));
	run->n = p.nkept;
}

/*
 * Returns the sum of the contributions to the document at index `at` of
 * run->position_docs.
 */
static int32
skx_topk_batch_sum_at(const SkxTopkRun *run, int at, uint8 norm)
{
	float		inverse = run->scorer->inverses[norm];
	int32		sum = 0;
	int			i;

	for (i = 0; i < run->ntf_lists; i++)
	{
		const SkxTopkList *l = run->tf_lists[i];

		if (l->term != NULL && l->tfs[at] >= 0)
			sum += skx_rank_contribution(l->weight, l->tfs[at], inverse);
	}
	return sum;
}

void
skx_topk_batch_exact_sums(SkxTopkRun *run)
{
	uint8		norms[SKX_SUBBLOCK];
	int32		sum;
	int			at = 0;
	int			i;

	run->topk->work->scored_postings += run->n;
	for (i = 0; i < run->n; i++)
	{
		if (i % SKX_SUBBLOCK == 0)
			skx_segment_norms(run->seg, run->docs + i,
							  Min(run->n - i, SKX_SUBBLOCK), norms);
		while (run->position_docs[at] != run->docs[i])
			at++;
		sum = skx_topk_batch_sum_at(run, at, norms[i % SKX_SUBBLOCK]);
		Assert(run->cold == NULL || sum <= run->sums[i]);
		run->sums[i] = sum;
	}
	run->defer_sums = false;
}

void
skx_topk_batch_optional(SkxTopkRun *run, SkxTopkList **lists, int n,
						int required)
{
	int			i;

	for (i = n - 1; i >= 0 && run->n > 0; i--)
	{
		skx_topk_batch_drop_below(run,
								  run->threshold - lists[i]->prefix_bound);
		skx_topk_batch_probe(run, lists[i],
							 i > 0 ? lists[i - 1]->prefix_bound : 0,
							 i >= required);
	}
}

/*
 * Moves the sums of the remaining candidates to their new indexes.  before has
 * the n documents that there were before some were dropped.
 */
static void
skx_topk_batch_move_sums(SkxTopkRun *run, const uint32 *before, int n)
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

/* Drops some of the candidates, of which there are at most SKX_WINDOW_DOCS. */
typedef void (*SkxTopkBatchStep) (SkxTopkRun *run);

static void
skx_topk_batch_run_step(SkxTopkRun *run, SkxTopkBatchStep step)
{
	uint32		before[SKX_WINDOW_DOCS];
	uint32	   *docs = run->docs;
	int32	   *sums = run->sums;
	int			total = run->n;
	int			kept = 0;
	int			i;

	for (i = 0; i < total; i += SKX_WINDOW_DOCS)
	{
		int			some = Min(total - i, SKX_WINDOW_DOCS);

		memcpy(before, docs + i, sizeof(uint32) * some);
		run->docs = docs + i;
		run->sums = sums + i;
		run->n = some;
		step(run);
		skx_topk_batch_move_sums(run, before, some);
		if (run->defer_sums)
			skx_topk_batch_exact_sums(run);
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
skx_topk_batch_filter(SkxTopkRun *run)
{
	if (run->filter_ntested >= SKX_SIEVE_SAMPLE)
	{
		run->filter_ntested /= 2;
		run->filter_npassed /= 2;
	}
	run->filter_ntested += run->n;
	run->n = skx_query_docs_filter(run->residual_filter, run->docs, run->n);
	run->filter_npassed += run->n;
}

void
skx_topk_batch_filter_early(SkxTopkRun *run)
{
	if (run->residual_filter == NULL ||
		!skx_query_docs_filter_is_cheap(run->residual_filter) ||
		run->filter_npassed * SKX_SIEVE_PASS_RATIO > run->filter_ntested)
		return;
	skx_topk_batch_run_step(run, skx_topk_batch_filter);
	run->filter_tested = true;
}

/*
 * Drops candidates that lack the phrase, that do not match the rest of the
 * query, or whose deleted bit is set.
 */
static void
skx_topk_batch_drop_mismatches(SkxTopkRun *run)
{
	if (run->phrase != NULL)
		run->n = skx_query_chain_verify(run->phrase, run->docs, run->n,
										run->position_docs, run->link_refs);
	if (run->residual_filter != NULL && !run->filter_tested)
		skx_topk_batch_filter(run);
	if (run->n > 0)
		run->n = skx_segment_drop_deleted(run->seg, run->docs, run->n);
}

/*
 * Drops candidates whose sums are above that of the row to continue after.
 * The sums must be exact.
 */
static void
skx_topk_batch_drop_returned(SkxTopkRun *run)
{
	int32		most = run->topk->after_sum;
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

	if (!run->defer_sums)
		skx_topk_batch_drop_below(run, run->threshold);
	if (run->topk->has_after && run->prior == NULL && !run->defer_sums &&
		run->exact == NULL)
		skx_topk_batch_drop_returned(run);
	if (run->prior != NULL && !run->defer_sums)
		skx_topk_prior_drop(run);
	run->topk->work->candidates += run->n;
	skx_topk_batch_run_step(run, skx_topk_batch_drop_mismatches);
	run->filter_tested = false;
	if (run->n == 0)
		return;
	if (run->exact != NULL)
	{
		skx_topk_exact_make_hits(run);
		return;
	}
	i = skx_topk_hits_add_n(run->topk, run->segment, run->docs, run->sums,
							run->n);
	if (i > 0)
		skx_topk_batch_set_threshold(run);
	for (; i < run->n; i++)
		skx_topk_batch_hit(run, run->docs[i], run->sums[i]);
}
