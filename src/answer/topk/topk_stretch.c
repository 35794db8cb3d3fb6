/*
 * topk_stretch.c
 *	  Searches the documents of a segment stretch by stretch, where the values
 *	  that add to their distance follow their order.
 *
 * Each stretch has bounds of its own by the trees of keys, and so a threshold
 * of its own.  The best stretches come first; those that cannot reach the
 * worst hit are passed over.  Each stretch opens the lists again.  So there
 * are few, and neighbours with nearly the same bounds are one.
 */
#include "postgres.h"

#include <math.h>

#include "answer/topk/topk_internal.h"
#include "answer/topk/topk_words.h"
#include "index/segment/segment_keys.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Documents of a stretch at least, and stretches of a segment at most. */
#define SKX_STRETCH_DOCS		8192
#define SKX_STRETCHES_MAX		64

/*
 * The same of a filter that is gathered again in each stretch that is searched,
 * such as a range of a column or a prefix.
 */
#define SKX_STRETCHES_GATHERED	16

/*
 * Stretches are searched apart if what values add differs among them by more
 * than one in SKX_STRETCH_WORDS_SHARE of what words can have.  Neighbours are
 * joined if they differ by less than one in SKX_STRETCH_SPREAD_SHARE of that.
 */
#define SKX_STRETCH_WORDS_SHARE		32
#define SKX_STRETCH_SPREAD_SHARE	16

/* The stretches of a segment, in the order of documents at first. */
typedef struct SkxTopkStretches
{
	SkxTopk    *topk;
	uint32		from;			/* documents of the segment that are searched */
	uint32		to;
	uint32		ndocs;			/* documents of each stretch, of the last one
								 * fewer */
	int			n;
	SkxTopkStretch *stretches;
} SkxTopkStretches;

/* Widens the ranges of term i in the stretches that a node meets. */
static void
skx_stretches_widen(SkxTopkStretches *all, int i, const SkxKeyNode *node)
{
	uint32		first = Max(node->first, all->from);
	uint32		end = Min(node->end, all->to);
	int			k;

	if (first >= end || node->least > node->most)
		return;
	for (k = (first - all->from) / all->ndocs;
		 k <= (end - 1 - all->from) / all->ndocs; k++)
	{
		SkxTopkStretch *s = &all->stretches[k];

		s->least[i] = Min(s->least[i], node->least);
		s->most[i] = Max(s->most[i], node->most);
	}
}

/*
 * Does so for the documents below a node.  Children are read where a node is
 * larger than a stretch.
 */
static void
skx_stretches_visit(SkxTopkStretches *all, int i, SkxKeyReader *reader,
					const SkxKeyNode *node)
{
	SkxKeyNode *children;
	int			n;
	int			k;

	if (node->end <= all->from || node->first >= all->to)
		return;
	if (node->level < 0 || node->end - node->first <= all->ndocs)
	{
		skx_stretches_widen(all, i, node);
		return;
	}
	CHECK_FOR_INTERRUPTS();
	children = palloc(sizeof(SkxKeyNode) * SKX_KEY_NODE_CHILDREN);
	n = skx_segment_keys_children(reader, node, children);
	for (k = 0; k < n; k++)
		skx_stretches_visit(all, i, reader, &children[k]);
	pfree(children);
}

/* Sets the documents of all stretches, and the ranges of their keys. */
static void
skx_stretches_fill(SkxTopkStretches *all, SkxSegment *seg)
{
	const SkxTopk *topk = all->topk;
	const SkxKeyColumns *columns = &topk->request.prior->columns;
	int			i;
	int			k;

	all->stretches = palloc(sizeof(SkxTopkStretch) * all->n);
	for (k = 0; k < all->n; k++)
	{
		SkxTopkStretch *s = &all->stretches[k];

		s->from = all->from + k * all->ndocs;
		s->to = Min(s->from + all->ndocs, all->to);
		for (i = 0; i < columns->n; i++)
		{
			s->least[i] = PG_UINT64_MAX;
			s->most[i] = 0;
		}
	}
	for (i = 0; i < columns->n; i++)
	{
		SkxKeyReader *reader = skx_segment_keys_require(topk->request.index,
														seg,
														&columns->columns[i]);
		SkxKeyNode	root;

		skx_segment_keys_root(reader, &root);
		skx_stretches_visit(all, i, reader, &root);
		skx_segment_keys_close(reader);
	}
	for (k = 0; k < all->n; k++)
		all->stretches[k].best = skx_topk_prior_best_of(topk,
														&all->stretches[k]);
}

/* Returns true if stretches differ enough to be searched apart. */
static bool
skx_stretches_differ(const SkxTopkStretches *all, float *spread)
{
	float		least = all->stretches[0].best;
	float		most = least;
	int			k;

	for (k = 1; k < all->n; k++)
	{
		least = Min(least, all->stretches[k].best);
		most = Max(most, all->stretches[k].best);
	}
	*spread = most - least;
	return *spread * SKX_STRETCH_WORDS_SHARE >
		skx_topk_prior_words_bound(all->topk);
}

/* Joins neighbours whose best sums differ by `most` at most. */
static void
skx_stretches_join(SkxTopkStretches *all, float most)
{
	int			nterms = all->topk->request.prior->columns.n;
	int			n = 0;
	int			i;
	int			k;

	for (k = 1; k < all->n; k++)
	{
		SkxTopkStretch *last = &all->stretches[n];
		const SkxTopkStretch *next = &all->stretches[k];

		if (fabsf(next->best - last->best) > most)
		{
			all->stretches[++n] = *next;
			continue;
		}
		last->to = next->to;
		for (i = 0; i < nterms; i++)
		{
			last->least[i] = Min(last->least[i], next->least[i]);
			last->most[i] = Max(last->most[i], next->most[i]);
		}
	}
	all->n = n + 1;
}

static int
skx_stretches_compare(const void *a, const void *b)
{
	const SkxTopkStretch *x = a;
	const SkxTopkStretch *y = b;

	if (x->best != y->best)
		return x->best < y->best ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* Searches the stretches, or all documents at once. */
static void
skx_stretches_search(SkxTopkStretches *all, int segment)
{
	SkxTopk    *topk = all->topk;
	float		spread;
	int			k;

	skx_stretches_fill(all, topk->segments[segment].seg);
	if (!skx_stretches_differ(all, &spread))
	{
		skx_topk_search_range(topk, segment, all->from, all->to);
		return;
	}
	skx_stretches_join(all, spread / SKX_STRETCH_SPREAD_SHARE);
	qsort(all->stretches, all->n, sizeof(SkxTopkStretch),
		  skx_stretches_compare);
	for (k = 0; k < all->n && !topk->budget_spent; k++)
	{
		topk->stretch = &all->stretches[k];
		skx_topk_search_range(topk, segment, topk->stretch->from,
							  topk->stretch->to);
	}
	topk->stretch = NULL;
}

/* Returns how many stretches a segment has at most. */
static uint32
skx_stretches_most(const SkxTopk *topk)
{
	const SkxScorer *scorer = topk->scorer;

	if (topk->request.prior == NULL || !skx_topk_is_divisible(scorer))
		return 1;
	return skx_topk_filter_gathers(scorer, topk->request.filter) ?
		SKX_STRETCHES_GATHERED : SKX_STRETCHES_MAX;
}

void
skx_topk_search_stretches(SkxTopk *topk, int segment, uint32 from, uint32 to)
{
	SkxTopkStretches all = {topk, from, to};
	MemoryContext context;
	MemoryContext old;

	all.ndocs = (to - from) / skx_stretches_most(topk) + 1;
	all.ndocs = Max(all.ndocs, SKX_STRETCH_DOCS);
	all.n = (to - from + all.ndocs - 1) / all.ndocs;
	if (all.n < 2)
	{
		skx_topk_search_range(topk, segment, from, to);
		return;
	}
	context = AllocSetContextCreate(topk->context, "skipidx stretches",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	skx_stretches_search(&all, segment);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
