/*
 * topk_many.c
 *	  The best documents by very many words, with one list open at a time.
 *
 * With hundreds of words nearly every list is essential, and keeping all of
 * them open would take memory and pins for each.  So a list is added to the
 * sums of all documents of a wide window, and closed before the next one is
 * opened.  Then the documents of the window with sufficient sums become
 * candidates.  Lexemes are looked up some at a time, anew for each window,
 * since their terms take more memory than the sums.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/*
 * Number of lexemes that are looked up together, and of lists that are
 * prefetched together.
 */
#define SKX_MANY_LOOKUP_LISTS		256

/*
 * Largest number of documents of a window.  Few lists reach so far that a
 * cancel would wait for one.  With a budget the number is smaller, since an
 * incomplete window yields nothing.
 */
#define SKX_MANY_WINDOW_DOCS		(1 << 20)
#define SKX_MANY_WINDOW_BUDGETED	(1 << 16)

/* Number of classes of sums, among which that of the k-th best is sought. */
#define SKX_MANY_SUM_CLASSES	1024

typedef struct SkxTopkMany
{
	SkxTopkRun *run;
	SkxTopkList list;			/* list of the current lexeme */
	SkxTerm    *terms;			/* SKX_MANY_LOOKUP_LISTS */
	MemoryContext prefix_context;	/* context of the list of a prefix */
	bool		is_probing;		/* candidates are looked up */
	uint32		from;			/* the window of documents [from, to) */
	uint32		to;
	int32	   *sums;
} SkxTopkMany;

/* Processes a list. */
typedef void (*SkxTopkManyVisit) (SkxTopkMany *m, SkxTopkList *l);

static void
skx_many_begin(SkxTopkMany *m, SkxTopkRun *run)
{
	memset(m, 0, sizeof(*m));
	m->run = run;
	m->list.cursor = skx_cursor_create(run->seg, SKX_CURSOR_PROBE);
	m->terms = palloc(sizeof(SkxTerm) * SKX_MANY_LOOKUP_LISTS);
	m->prefix_context = AllocSetContextCreate(CurrentMemoryContext,
											  "skipidx prefix search",
											  ALLOCSET_DEFAULT_SIZES);
}

static void
skx_many_end(SkxTopkMany *m)
{
	skx_cursor_close(m->list.cursor);
	MemoryContextDelete(m->prefix_context);
	pfree(m->terms);
}

/* Looks up n terms from number `first` on, and prefetches their lists. */
static void
skx_many_look_up(SkxTopkMany *m, int first, int n)
{
	const SkxScoreTerm *scored = m->run->scorer->terms + first;
	SkxLexeme	lexemes[SKX_MANY_LOOKUP_LISTS];
	int			i;

	for (i = 0; i < n; i++)
	{
		lexemes[i].bytes = scored[i].lexeme;
		lexemes[i].len = scored[i].len;
	}
	skx_segment_find_all(&m->run->seg, 1, lexemes, n, &m->terms);
	if (!skx_segment_is_warm(m->run->seg))
		skx_cursor_prefetch_terms(m->run->seg, m->terms, n);
}

/*
 * Calls visit for the list of every word.  Returns false if the budget is
 * spent.
 */
static bool
skx_many_visit_lists(SkxTopkMany *m, SkxTopkManyVisit visit)
{
	SkxTopkRun *run = m->run;
	const SkxScorer *scorer = run->scorer;
	SkxTopkScope scope = {NULL, m->from, m->to};
	int			i;

	if (m->is_probing)
	{
		scope.docs = run->docs;
		scope.from = 0;
		scope.to = run->n;
	}
	for (i = 0; i < scorer->nplain; i++)
	{
		const SkxScoreTerm *scored = &scorer->terms[i];
		const SkxTerm *term = &m->terms[i % SKX_MANY_LOOKUP_LISTS];

		if (i % SKX_MANY_LOOKUP_LISTS == 0)
			skx_many_look_up(m, i,
							 Min(SKX_MANY_LOOKUP_LISTS, scorer->nplain - i));
		if (skx_topk_budget_is_spent(run, m->from))
			return false;
		if (!skx_query_has_term(term, scored->labels))
			continue;
		skx_topk_list_begin(run, &m->list, term, scored, scored->labels);
		visit(m, &m->list);
	}
	for (; i < scorer->nterms; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(m->prefix_context);
		const SkxScoreTerm *scored = &scorer->terms[i];
		SkxTopkList *l;

		if (scope.docs != NULL ||
			!skx_topk_open_rare_list(run, scored, &scope,
									 scope.to - scope.from, &l))
			l = skx_topk_open_prefix_list(run, scored, &scope);
		MemoryContextSwitchTo(old);
		if (l != NULL)
			visit(m, l);
		MemoryContextReset(m->prefix_context);
		if (skx_topk_budget_is_spent(run, m->from))
			return false;
	}
	return true;
}

/* Adds the contributions of a list to the sums of the window. */
static void
skx_many_add_list(SkxTopkMany *m, SkxTopkList *l)
{
	uint32		docs[SKX_SUBBLOCK];
	int32		parts[SKX_SUBBLOCK];
	uint32		at = m->from;

	while (at < m->to && skx_cursor_advance(l->cursor, at))
	{
		int			n = skx_topk_list_contributions(m->run, l, at, m->to, 0,
													docs, parts);
		int			i;

		for (i = 0; i < n; i++)
			m->sums[docs[i] - m->from] += parts[i];
		at = l->cursor->end;
	}
	skx_cursor_unpin_if_crowded(l->cursor);
}

/* Adds the contributions of a list to the sums of the candidates. */
static void
skx_many_probe_list(SkxTopkMany *m, SkxTopkList *l)
{
	SkxTopkRun *run = m->run;
	SkxCursor  *c = l->cursor;
	int			i;

	skx_cursor_set_targets(c, run->docs, run->n);
	for (i = 0; i < run->n; i++)
	{
		uint32		doc = skx_cursor_seek(c, run->docs[i]);
		int32		part;

		if (doc == SKX_NO_DOC)
			break;
		if (doc == run->docs[i] &&
			skx_topk_list_contribution(run, l, c->i, &part))
			run->sums[i] += part;
	}
	skx_cursor_set_targets(c, NULL, 0);
	skx_cursor_unpin_if_crowded(c);
}

/*
 * Raises the threshold to the k-th best sum of the window, if every document
 * with a word matches.  If some of the best are deleted, there are fewer than
 * k hits, and the search is repeated without this threshold.  Only the class
 * of the k-th best sum is known, so the least sum of that class is used.  If
 * sums are bounds, exact ones may be smaller.  Sums that are not below that of
 * the row to continue after do not count.
 */
static void
skx_many_raise_threshold(SkxTopkMany *m)
{
	SkxTopk    *topk = m->run->topk;
	uint32		n = m->to - m->from;
	uint32		counts[SKX_MANY_SUM_CLASSES] = {0};
	int32		most = 0;
	int			shift = 0;
	uint64		found = 0;
	int64		least;
	uint32		i;
	int			k;

	if (!topk->words_match || topk->returned_hits > 0 ||
		topk->began_too_high || topk->request.prior != NULL)
		return;
	for (i = 0; i < n; i++)
		most = Max(most, m->sums[i]);
	while (most >> shift >= SKX_MANY_SUM_CLASSES)
		shift++;
	for (i = 0; i < n; i++)
		counts[m->sums[i] >> shift] += !topk->has_after ||
			m->sums[i] < topk->after_sum;
	for (k = SKX_MANY_SUM_CLASSES - 1; k > 0; k--)
	{
		found += counts[k];
		if (found >= topk->search_rows)
			break;
	}
	least = (int64) k << shift;
	if (m->run->has_ceilings)
		least -= skx_topk_exact_error_bound(m->run->scorer);
	skx_topk_hits_raise_min(&topk->hits, (int32) Max(least, 1));
	m->run->threshold = Max(m->run->threshold,
							skx_topk_hits_threshold(&topk->hits,
													m->run->segment));
}

/*
 * Makes candidates of the documents in the window with sufficient sums, and
 * hits of these.  Returns false if the budget is spent.
 */
static bool
skx_many_make_hits(SkxTopkMany *m)
{
	SkxTopkRun *run = m->run;
	uint32		at;

	skx_many_raise_threshold(m);
	for (at = m->from; at < m->to; at += SKX_TOPK_WINDOW)
	{
		if (skx_topk_count_window(run, at))
			return false;
		run->n = skx_topk_collect_above(m->sums + (at - m->from),
										Min(m->to - at, SKX_TOPK_WINDOW), at,
										Max(run->threshold, 1),
										run->docs, run->sums);
		skx_topk_batch_finish(run);
	}
	return true;
}

void
skx_topk_search_many(SkxTopkRun *run)
{
	uint32		size = Min((Size) work_mem * 1024 / sizeof(int32),
						   SKX_MANY_WINDOW_DOCS);
	SkxTopkMany m;

	if (run->topk->deadline != 0)
		size = Min(size, SKX_MANY_WINDOW_BUDGETED);
	size = Min(size, run->to - run->from);
	skx_many_begin(&m, run);
	m.sums = palloc(sizeof(int32) * (size + 1));
	for (m.from = run->from; m.from < run->to; m.from = m.to)
	{
		m.to = m.from + Min(size, run->to - m.from);
		memset(m.sums, 0, sizeof(int32) * size);
		if (!skx_many_visit_lists(&m, skx_many_add_list) ||
			!skx_many_make_hits(&m))
			break;
	}
	pfree(m.sums);
	skx_many_end(&m);
}

void
skx_topk_search_many_filtered(SkxTopkRun *run, SkxDocs *matches)
{
	uint32		next = run->from;
	SkxTopkMany m;

	skx_many_begin(&m, run);
	m.is_probing = true;
	for (;;)
	{
		run->n = skx_query_docs_next(matches, run->docs);
		if (run->n == 0)
			break;
		skx_query_docs_check(run->docs, run->n, next, run->to);
		next = run->docs[run->n - 1] + 1;
		m.from = run->docs[0];
		memset(run->sums, 0, sizeof(int32) * run->n);
		if (!skx_many_visit_lists(&m, skx_many_probe_list))
			break;
		run->topk->work->scored_postings += run->n;
		run->topk->work->windows++;
		skx_topk_batch_finish(run);
	}
	skx_many_end(&m);
}
