/*
 * topk_cold.c
 *	  Conjunctions whose pages have to be read: examines candidates of many
 *	  sub-blocks of the lead together.
 *
 * Reads take longer than any computation, and longest if each waits for the
 * one before it.  So documents of the lead are gathered first, and then looked
 * up in one list after the other.  Each list knows all nodes that are wanted
 * of it, and reads them together.  Bounds of these lists in a window would
 * have to be read as well, so their maxima are used.  Norms are read last, and
 * only of documents that have all words.  Documents with the highest bounds
 * come first, since the threshold that they raise saves reading others.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"
#include "miscadmin.h"

/*
 * Largest number of documents that are gathered together, and the number at
 * first if nothing has been read yet.  It may turn out that nothing has to be
 * read, and then bounds of windows save much.
 */
#define SKX_COLD_DOCS_MAX		4096
#define SKX_COLD_DOCS_INIT		1024

/* Number of candidates with all words from which on the best are examined. */
#define SKX_COLD_POOL_MIN		512

/* Number of norms that are read together, at first and at most. */
#define SKX_COLD_NORMS_INIT		32
#define SKX_COLD_NORMS_MAX	64

/*
 * A list is late if at least SKX_COLD_DEFER_NODES of its nodes would have to
 * be read.  It must also have one in SKX_COLD_DEFER_FRACTION of the documents,
 * and SKX_COLD_DEFER_RATIO as many documents as the lead.  Only the best
 * candidates are looked up in late lists.
 */
#define SKX_COLD_DEFER_NODES	32
#define SKX_COLD_DEFER_FRACTION	8
#define SKX_COLD_DEFER_RATIO	16

/*
 * Least number of nodes to read, in all lists, for which documents are
 * gathered.  Fewer are read one after the other, which takes less time than
 * bounds of windows save.
 */
#define SKX_COLD_NODES_MIN		8

/* Largest number of candidates. */
#define SKX_COLD_CANDIDATES_MAX		(SKX_COLD_POOL_MIN + SKX_COLD_DOCS_MAX)

/* Frequency of a word in a candidate without it. */
#define SKX_COLD_TF_ABSENT		(-1.0f)

StaticAssertDecl(SKX_COLD_CANDIDATES_MAX <= SKX_TOPK_BATCH,
				 "documents are gathered where a run has its candidates");

typedef struct SkxColdCandidate
{
	int32		bound;
	uint32		doc;
} SkxColdCandidate;

typedef struct SkxTopkCold
{
	bool		needs_order;	/* candidates must ascend, since what tests
								 * them moves forward only */
	int			nlists;
	int			ndirect;		/* number of lists that are not late */
	SkxTopkList **lists;		/* the lead; required ones by df; optional
								 * ones, largest maximum first; then late ones
								 * in the same order */
	bool	   *nrequired;
	int64	   *bounds_from;	/* rest[i]: bound of the contributions of
								 * lists from i on */
	bool		deferred_moved; /* late lists have been moved */
	SkxColdCandidate *candidates;	/* SKX_COLD_CANDIDATES_MAX */
	int			gather_docs;	/* documents to be gathered next */
	int			ncomplete;		/* candidates that have all words */
} SkxTopkCold;

/* Enlarges the arrays of a list to one entry for each candidate. */
static void
skx_cold_grow_arrays(SkxTopkRun *run, SkxTopkList *l)
{
	int			nlinks = run->phrase != NULL ?
		skx_query_phrase_nlinks(run->topk->split_filter.residual) : 0;
	SkxPositionsRef *before = l->position_refs;
	int			k;

	l->tfs = palloc(sizeof(float) * SKX_COLD_CANDIDATES_MAX);
	if (before == NULL)
		return;
	l->position_refs =
		palloc(sizeof(SkxPositionsRef) * SKX_COLD_CANDIDATES_MAX);
	for (k = 0; k < nlinks; k++)
		if (run->link_refs[k] == before)
			run->link_refs[k] = l->position_refs;
}

static SkxTopkCold *
skx_cold_create(SkxTopkRun *run)
{
	SkxTopkCold *cold = palloc0(sizeof(SkxTopkCold));
	int			n = run->nrequired + run->noptional;

	cold->lists = palloc(sizeof(SkxTopkList *) * n);
	cold->nrequired = palloc(sizeof(bool) * n);
	cold->bounds_from = palloc(sizeof(int64) * (n + 1));
	cold->candidates =
		palloc(sizeof(SkxColdCandidate) * SKX_COLD_CANDIDATES_MAX);
	run->position_docs = palloc(sizeof(uint32) * SKX_COLD_CANDIDATES_MAX);
	return cold;
}

bool
skx_topk_cold_is_worthwhile(SkxTopkRun *run)
{
	uint32		missing = 0;
	int			i;

	if (skx_segment_is_warm(run->seg))
		return false;
	for (i = 0; i < run->nrequired; i++)
		missing += skx_cursor_uncached_nodes(run->required[i]->cursor);
	for (i = 0; i < run->noptional; i++)
		missing += skx_cursor_uncached_nodes(run->optional[i]->cursor);
	return missing >= SKX_COLD_NODES_MIN ||
		skx_segment_is_mostly_uncached(run->seg, SKX_SEGMENT_NORMS);
}

/*
 * Returns true if a list is late.  Such a list drops few candidates, and
 * looking up all of them would read all of it.
 */
static bool
skx_cold_list_is_deferred(const SkxTopkRun *run, const SkxTopkList *lead,
						  const SkxTopkList *l)
{
	uint32		df = l->cursor->df;

	return df >= run->seg->header.ndocs / SKX_COLD_DEFER_FRACTION &&
		df / SKX_COLD_DEFER_RATIO >= lead->cursor->df &&
		skx_cursor_uncached_nodes(l->cursor) >= SKX_COLD_DEFER_NODES;
}

/* Puts the lists into the order in which candidates are looked up in them. */
static void
skx_cold_order_lists(SkxTopkRun *run, SkxTopkCold *cold)
{
	SkxTopkList **late = palloc(sizeof(SkxTopkList *) * cold->nlists);
	int			nlate_required = 0;
	int			nlate = 0;
	int			n = 0;
	int			i;

	for (i = 0; i < cold->nlists; i++)
	{
		bool		required = i < run->nrequired;
		SkxTopkList *l = required ? run->required[i] :
			run->optional[cold->nlists - 1 - i];

		if (i > 0 && !cold->needs_order &&
			skx_cold_list_is_deferred(run, run->required[0], l))
		{
			late[nlate++] = l;
			nlate_required += required;
			continue;
		}
		cold->lists[n] = l;
		cold->nrequired[n++] = required;
	}
	cold->ndirect = n;
	for (i = 0; i < nlate; i++)
	{
		cold->lists[n] = late[i];
		cold->nrequired[n++] = i < nlate_required;
	}
	pfree(late);
}

void
skx_topk_cold_begin(SkxTopkRun *run)
{
	int			n = run->nrequired + run->noptional;
	bool		again = run->cold != NULL;
	SkxTopkCold *cold = again ? run->cold : skx_cold_create(run);
	int			i;

	run->cold = cold;
	cold->gather_docs = skx_segment_nloads() == run->seg->reads_at_open ?
		SKX_COLD_DOCS_INIT :
		SKX_COLD_DOCS_MAX;
	cold->ncomplete = 0;
	cold->nlists = n;
	cold->needs_order = run->phrase != NULL || run->residual_filter != NULL ||
		(run->exact != NULL && !skx_topk_exact_can_rewind(run->exact));
	skx_cold_order_lists(run, cold);
	for (i = 0; i < n; i++)
	{
		if (!again)
			skx_cold_grow_arrays(run, cold->lists[i]);
		if (i >= cold->ndirect)
			skx_cursor_set_probe_any(cold->lists[i]->cursor);
		else if (i > 0)
			skx_cursor_set_probe_all(cold->lists[i]->cursor,
									 cold->lists[0]->cursor->df);
	}
	cold->bounds_from[n] = 0;
	for (i = n - 1; i >= 0; i--)
		cold->bounds_from[i] = cold->bounds_from[i + 1] +
			cold->lists[i]->max_contribution;
	run->tf_lists = cold->lists;
	run->ntf_lists = n;
}

bool
skx_topk_cold_skips_subblock(SkxTopkRun *run)
{
	return run->cold != NULL && run->threshold > 1 &&
		skx_topk_list_sub_bound(run->required[0]) + run->cold->bounds_from[1] <
		run->threshold;
}

bool
skx_topk_cold_has_deferred(const SkxTopkRun *run)
{
	return run->cold->ndirect < run->cold->nlists;
}

/* Hides the first `by` candidates, or shows them again if `by` is negative. */
static void
skx_cold_hide_first(SkxTopkRun *run, int by)
{
	int			i;

	run->docs += by;
	run->sums += by;
	run->position_docs += by;
	run->n -= by;
	for (i = 0; i < run->cold->nlists; i++)
		run->cold->lists[i]->tfs += by;
}

/* Moves what was noted of the remaining candidates to their new indexes. */
static void
skx_cold_move_notes(SkxTopkRun *run)
{
	int			at = 0;
	int			i;
	int			k;

	for (i = 0; i < run->n; i++)
	{
		while (run->position_docs[at] != run->docs[i])
			at++;
		for (k = 0; k < run->cold->nlists; k++)
		{
			SkxTopkList *l = run->cold->lists[k];

			l->tfs[i] = l->tfs[at];
			if (l->position_refs != NULL)
				l->position_refs[i] = l->position_refs[at];
		}
	}
	memcpy(run->position_docs, run->docs, sizeof(uint32) * run->n);
}

/* Looks the candidates up in a list. */
static void
skx_cold_probe_list(SkxTopkRun *run, int which)
{
	SkxTopkList *l = run->cold->lists[which];
	const int64 *rest = run->cold->bounds_from;

	skx_topk_batch_drop_below(run, run->threshold - rest[which]);
	l->position_index = 0;
	skx_topk_batch_probe(run, l, rest[which + 1], run->cold->nrequired[which]);
}

/*
 * Drops candidates that are in a list that led before, since they have been
 * examined.
 */
static void
skx_cold_drop_led(SkxTopkRun *run, SkxTopkList *l)
{
	SkxCursor  *c = l->cursor;
	int			kept = 0;
	int			i;

	skx_cursor_set_targets(c, run->docs, run->n);
	for (i = 0; i < run->n; i++)
	{
		uint32		doc = run->docs[i];
		float		tf;
		int32		bound;

		run->docs[kept] = doc;
		run->sums[kept] = run->sums[i];
		kept += skx_cursor_seek(c, doc) != doc ||
			!skx_topk_list_posting_bound(run, l, c->i, &tf, &bound);
	}
	run->n = kept;
	skx_cursor_set_targets(c, NULL, 0);
}

/*
 * Replaces the bounds of candidates by the sums of their contributions in the
 * lists that are not late, if no norm has to be read for that.
 */
static void
skx_cold_sum_immediate(SkxTopkRun *run)
{
	if (run->n == 0 || !skx_segment_has_norms(run->seg, run->docs, run->n))
		return;
	skx_topk_batch_exact_sums(run);
	run->defer_sums = true;
	skx_topk_batch_drop_below(run, run->threshold -
							  run->cold->bounds_from[run->cold->ndirect]);
}

/*
 * Looks up the documents that were gathered since the last call.  Keeps those
 * that are in all required lists that are not late, with bounds of their sums.
 */
static void
skx_cold_intersect_gathered(SkxTopkRun *run)
{
	SkxTopkCold *cold = run->cold;
	int			i;
	int			k;

	skx_cold_hide_first(run, cold->ncomplete);
	memcpy(run->position_docs, run->docs, sizeof(uint32) * run->n);
	for (i = 1; i < cold->nlists; i++)
		for (k = 0; k < run->n; k++)
			cold->lists[i]->tfs[k] = SKX_COLD_TF_ABSENT;
	for (i = 1; i < cold->ndirect && run->n > 0; i++)
		skx_cold_probe_list(run, i);
	for (i = 0; i < run->nled_lists && run->n > 0; i++)
		skx_cold_drop_led(run, run->led_lists[i]);
	if (!cold->needs_order)
		skx_cold_sum_immediate(run);
	skx_cold_move_notes(run);
	skx_cold_hide_first(run, -cold->ncomplete);
	cold->ncomplete = run->n;
}

/*
 * Examines candidates in ascending order, some at a time, since what tests
 * them moves forward only.  While there is no threshold, a phrase is tested
 * before contributions are computed, since it leaves fewer documents.
 */
static void
skx_cold_examine_ascending(SkxTopkRun *run)
{
	uint32	   *docs = run->docs;
	int32	   *sums = run->sums;
	int			n = run->n;
	int			i;

	for (i = 0; i < n; i += SKX_SUBBLOCK)
	{
		run->docs = docs + i;
		run->sums = sums + i;
		run->n = Min(n - i, SKX_SUBBLOCK);
		run->defer_sums = true;
		skx_topk_batch_drop_below(run, run->threshold);
		if (run->phrase == NULL || run->threshold > 1)
			skx_topk_batch_exact_sums(run);
		skx_topk_batch_finish(run);
	}
	run->docs = docs;
	run->sums = sums;
}

static int
skx_cold_compare(const void *a, const void *b)
{
	const SkxColdCandidate *x = a;
	const SkxColdCandidate *y = b;

	if (x->bound != y->bound)
		return x->bound > y->bound ? -1 : 1;
	return x->doc < y->doc ? -1 : x->doc > y->doc;
}

static int
skx_cold_compare_docs(const void *a, const void *b)
{
	uint32		x = ((const SkxColdCandidate *) a)->doc;
	uint32		y = ((const SkxColdCandidate *) b)->doc;

	return x < y ? -1 : x > y;
}

/*
 * Makes the best candidates from index `first` on those of the run: at most
 * `most`, and only those that can become hits.  Returns their number.  n is
 * the number of all candidates.
 */
static int
skx_cold_make_best(SkxTopkRun *run, int first, int n, int most)
{
	SkxColdCandidate *best = run->cold->candidates + first;
	int64		rest = run->cold->bounds_from[run->cold->ndirect];
	int			i;

	most = Min(most, n - first);
	for (run->n = 0; run->n < most; run->n++)
		if (best[run->n].bound + rest < run->threshold)
			break;
	qsort(best, run->n, sizeof(SkxColdCandidate), skx_cold_compare_docs);
	for (i = 0; i < run->n; i++)
	{
		run->docs[i] = best[i].doc;
		run->sums[i] = best[i].bound;
	}
	return run->n;
}

/*
 * Looks the candidates up in the late lists.  These are rewound first, since
 * candidates may be before those that were examined last.
 */
static void
skx_cold_probe_deferred(SkxTopkRun *run)
{
	SkxTopkCold *cold = run->cold;
	int			i;

	for (i = cold->ndirect; i < cold->nlists && cold->deferred_moved; i++)
		skx_topk_list_rewind(run, cold->lists[i]);
	if (run->exact != NULL && cold->deferred_moved)
		skx_topk_exact_rewind(run->exact);
	cold->deferred_moved = true;
	for (i = cold->ndirect; i < cold->nlists && run->n > 0; i++)
		skx_cold_probe_list(run, i);
}

/*
 * Examines the candidates with the highest bounds first.  A later one may come
 * before a hit with the same sum, hence run->unordered.
 */
static void
skx_cold_examine_best_first(SkxTopkRun *run)
{
	SkxColdCandidate *candidates = run->cold->candidates;
	bool		unordered = run->unordered;
	int			n = run->n;
	int			most = SKX_COLD_NORMS_INIT;
	int			some;
	int			i;

	for (i = 0; i < n; i++)
	{
		candidates[i].bound = run->sums[i];
		candidates[i].doc = run->docs[i];
	}
	qsort(candidates, n, sizeof(SkxColdCandidate), skx_cold_compare);
	run->unordered = true;
	skx_topk_batch_set_threshold(run);
	for (i = 0;; i += some)
	{
		CHECK_FOR_INTERRUPTS();
		some = skx_cold_make_best(run, i, n, most);
		if (some == 0)
			break;
		most = Min(most * 2,
				   skx_topk_cold_has_deferred(run) ? SKX_COLD_POOL_MIN :
				   SKX_COLD_NORMS_MAX);
		run->defer_sums = true;
		skx_cold_probe_deferred(run);
		skx_topk_batch_exact_sums(run);
		skx_topk_batch_finish(run);
	}
	run->unordered = unordered;
	skx_topk_batch_set_threshold(run);
}

/*
 * Examines what was gathered.  Drops documents that lack a required word.
 * Computes the sums of the others at the end, or when they are so many that
 * the best of them save work on the rest.  Candidates that must ascend are
 * examined at once.
 */
static void
skx_cold_examine(SkxTopkRun *run, bool end)
{
	run->defer_sums = true;
	skx_cold_intersect_gathered(run);
	if (run->cold->needs_order)
		skx_cold_examine_ascending(run);
	else if (end || run->n >= SKX_COLD_POOL_MIN)
		skx_cold_examine_best_first(run);
	else
		return;
	run->defer_sums = false;
	run->n = run->cold->ncomplete = 0;
}

bool
skx_topk_cold_gather(SkxTopkRun *run, uint32 from, uint32 to)
{
	SkxTopkList *lead = run->required[0];
	const SkxCursor *c = lead->cursor;
	int			i;

	if (run->cold == NULL)
		skx_topk_cold_begin(run);
	for (i = skx_cursor_find(lead->cursor, from); i < c->n && c->docs[i] < to;
		 i++)
	{
		if (!skx_topk_list_posting_bound(run, lead, i, &lead->tfs[run->n],
										 &run->sums[run->n]))
			continue;
		if (lead->position_refs != NULL)
			skx_cursor_positions_ref(lead->cursor, i,
									 &lead->position_refs[run->n]);
		run->docs[run->n++] = c->docs[i];
	}
	if (run->n - run->cold->ncomplete + SKX_SUBBLOCK <= run->cold->gather_docs)
		return false;
	skx_cold_examine(run, false);
	run->cold->gather_docs = Min(run->cold->gather_docs * 2,
								 SKX_COLD_DOCS_MAX);
	return true;
}

void
skx_topk_cold_finish(SkxTopkRun *run)
{
	if (run->cold != NULL && run->n > 0)
		skx_cold_examine(run, true);
}
