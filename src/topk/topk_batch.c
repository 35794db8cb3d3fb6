/*
 * topk_batch.c
 *	  Candidates of a search: their parts so far, and what becomes of them.
 *
 * Candidates ascend.  Whatever is dropped is dropped because even with all
 * that the lists not asked yet could add it would not be a hit.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "topk/topk_internal.h"
#include "utils/timestamp.h"

bool
skx_topk_tick(SkxTopkRun *run, uint32 doc)
{
	SkxTopk    *topk = run->topk;

	CHECK_FOR_INTERRUPTS();
	topk->work.windows++;
	if (topk->deadline == 0 || topk->stopped)
		return topk->stopped;
	if (GetCurrentTimestamp() < topk->deadline)
		return false;
	topk->stopped = true;
	skx_topk_left(topk, run->segment, doc);
	return true;
}

void
skx_topk_batch_floor(SkxTopkRun *run, int64 floor)
{
	if (floor > 0)
		run->n = skx_topk_floor(run->docs, run->sums, run->n,
								(int32) Min(floor, PG_INT32_MAX));
}

void
skx_topk_batch_probe(SkxTopkRun *run, SkxTopkList *l, int64 rest,
					 bool required)
{
	uint32	   *docs = run->docs;
	int32	   *sums = run->sums;
	bool		bounded = run->need > 1 && l->term != NULL;
	int			kept = 0;
	int			i;

	if (l->list != NULL && l->list->is_long)
		skx_skiplist_targets(&l->list->cursor, docs, run->n);
	for (i = 0; i < run->n; i++)
	{
		uint32		doc = docs[i];
		int32		sum = sums[i];
		bool		found = false;

		if (!skx_topk_list_seek(l, doc))
		{
			if (required)
				break;
		}
		else
		{
			int			at;

			if (!l->decoded && bounded &&
				sum + rest + skx_topk_list_sub_bound(run, l) < run->need)
				continue;
			at = skx_topk_list_find(l, doc);
			if (l->docs[at] == doc)
			{
				int32		part = skx_topk_list_part(run, l, at);

				found = l->term != NULL ? part > 0 : skx_topk_list_has(l, at);
				sum += part;
			}
		}
		docs[kept] = doc;
		sums[kept] = sum;
		kept += found || !required;
	}
	run->n = kept;
	if (l->list != NULL && l->list->is_long)
	{
		skx_skiplist_targets(&l->list->cursor, NULL, 0);
		if (!l->done)
			skx_skiplist_relax(&l->list->cursor);
	}
}

/*
 * `lists` by ascending bounds, whose sums are in `before`; those from
 * `required` on candidates must be in.
 */
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

/* Leaves the sums of the documents that are left of `docs`. */
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

/* What is not known of candidates by their words: the rest of the query. */
static void
skx_topk_batch_match(SkxTopkRun *run)
{
	uint32		before[SKX_QUERY_BATCH];
	uint32	   *docs = run->docs;
	int32	   *sums = run->sums;
	int			all = run->n;
	int			kept = 0;
	int			i;

	for (i = 0; i < all; i += SKX_QUERY_BATCH)
	{
		int			some = Min(all - i, SKX_QUERY_BATCH);

		memcpy(before, docs + i, sizeof(uint32) * some);
		run->docs = docs + i;
		run->sums = sums + i;
		run->n = some;
		if (run->rest != NULL)
			run->n = skx_query_rest_filter(run->rest, run->docs, run->n);
		if (run->n > 0)
			run->n = skx_segment_drop_deleted(run->seg, run->docs, run->n);
		skx_topk_batch_follow(run, before, some);
		memmove(docs + kept, run->docs, sizeof(uint32) * run->n);
		memmove(sums + kept, run->sums, sizeof(int32) * run->n);
		kept += run->n;
	}
	run->docs = docs;
	run->sums = sums;
	run->n = kept;
}

void
skx_topk_batch_hit(SkxTopkRun *run, uint32 doc, int32 sum)
{
	SkxHit		hit = {sum, run->segment, doc};

	if (sum < run->need)
		return;
	skx_topk_hits_add(run->topk, &hit);
	run->need = skx_topk_hits_need(&run->topk->hits, run->segment);
}

void
skx_topk_batch_finish(SkxTopkRun *run)
{
	int			i;

	skx_topk_batch_floor(run, run->need);
	if (run->n == 0)
		return;
	run->topk->work.candidates += run->n;
	skx_topk_batch_match(run);
	if (run->exact != NULL)
		skx_topk_exact_finish(run);
	else
		for (i = 0; i < run->n; i++)
			skx_topk_batch_hit(run, run->docs[i], run->sums[i]);
}
