/*
 * topk_scan.c
 *	  Rows in the order of their scores, as many as are fetched.
 *
 * A search finds a given number of the best rows.  If more are fetched, a
 * further search looks for a multiple of that number after the last row.  It
 * reads the same view under the same statistics, so that no row comes twice
 * and none is left out.  Rows with some of the words are followed by those
 * that match without any, and these by rows whose tsvector is NULL.
 */
#include "postgres.h"

#include "answer/topk/topk_words.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* Number of further words of groups that count as one list. */
#define SKX_TOPK_GROUPED_WORDS			4

/*
 * Postings are few if there are at most this many for each row that is looked
 * for.
 */
#define SKX_TOPK_KEEP_ALL_RATIO		4

static int
skx_topk_lexeme_number(const SkxTopk *topk, const char *bytes, int len)
{
	SkxLexeme	key = {bytes, len};
	const SkxLexeme *found = bsearch(&key, topk->lexemes, topk->nlexemes,
									 sizeof(SkxLexeme),
									 skx_column_compare_lexeme);

	return found == NULL ? -1 : found - topk->lexemes;
}

static void
skx_topk_add_lexeme(SkxTopk *topk, int term)
{
	const SkxScoreTerm *scored = &topk->scorer->terms[term];

	topk->lexemes[topk->nlexemes].bytes = scored->lexeme;
	topk->lexemes[topk->nlexemes++].len = scored->len;
}

/* Returns which terms are looked up in all segments, palloc'd. */
static bool *
skx_topk_wanted_terms(const SkxTopk *topk)
{
	const SkxScorer *scorer = topk->scorer;
	bool	   *wanted = palloc0((Size) scorer->nterms + 1);
	int			i;
	int			k;

	for (i = 0; i < scorer->nplain; i++)
		wanted[i] = !topk->has_many_words || scorer->terms[i].group != 0;
	for (i = 0; i < 2 * scorer->npairs; i++)
	{
		const SkxScoreSide *side = &scorer->sides[i / 2][i % 2];

		for (k = 0; k < side->n; k++)
			wanted[side->terms[k]] = true;
	}
	return wanted;
}

/*
 * Gathers the lexemes of the filter, unless it is not tested, and of the
 * ranking query, each once.  With very many words, only those of pairs and
 * groups are taken from the ranking query.
 */
static void
skx_topk_gather_lexemes(SkxTopk *topk)
{
	const SkxScorer *scorer = topk->scorer;
	bool	   *wanted = skx_topk_wanted_terms(topk);
	int			nfilter;
	const SkxLexeme *filter = skx_query_lexemes(topk->request.filter,
												&nfilter);
	int			i;

	if (topk->has_many_words && topk->words_match)
		nfilter = 0;
	topk->lexemes = palloc_extended(sizeof(SkxLexeme) *
									((Size) nfilter + scorer->nplain + 1),
									MCXT_ALLOC_HUGE);
	for (i = 0; i < nfilter; i++)
		topk->lexemes[topk->nlexemes++] = filter[i];
	for (i = 0; i < scorer->nplain; i++)
	{
		if (wanted[i])
			skx_topk_add_lexeme(topk, i);
	}
	pfree(wanted);
	topk->nlexemes = skx_column_distinct(topk->lexemes, topk->nlexemes);
	topk->filter_lexemes = palloc_extended(sizeof(int) * ((Size) nfilter + 1),
										   MCXT_ALLOC_HUGE);
	for (i = 0; i < nfilter; i++)
		topk->filter_lexemes[i] = skx_topk_lexeme_number(topk, filter[i].bytes,
														 filter[i].len);
	topk->term_lexemes = palloc_extended(sizeof(int) *
										 ((Size) scorer->nterms + 1),
										 MCXT_ALLOC_HUGE);
	for (i = 0; i < scorer->nterms; i++)
	{
		CHECK_FOR_INTERRUPTS();
		topk->term_lexemes[i] = scorer->terms[i].prefix ? -1 :
			skx_topk_lexeme_number(topk, scorer->terms[i].lexeme,
								   scorer->terms[i].len);
	}
}

/*
 * Returns how many lists a search is likely to have.  Rare words of a group are
 * gathered as one, and most words of most groups are rare.
 */
static int
skx_topk_nlists(const SkxScorer *scorer)
{
	int			grouped = 0;
	int			i;

	for (i = 0; i < scorer->nplain && scorer->ngroups > 0; i++)
		grouped += scorer->terms[i].group != 0;
	return scorer->nterms - grouped + scorer->ngroups +
		(grouped - scorer->ngroups) / SKX_TOPK_GROUPED_WORDS;
}

/*
 * Continues after a row.  Rows without a score are ordered by their tids
 * alone.
 */
static void
skx_topk_continue_after(SkxTopk *topk, const SkxTopkAfter *after)
{
	topk->has_after = true;
	topk->after_sum = after->sum;
	topk->after_tid = after->tid;
	topk->hits_before = after->rows_before;
	if (after->sum == 0)
		topk->stage = SKX_TOPK_UNSCORED;
}

SkxTopk *
skx_topk_begin(const SkxTopkRequest *request)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx search",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxTopk    *topk = palloc0(sizeof(SkxTopk));

	topk->context = context;
	topk->pass_context = AllocSetContextCreate(context,
											   "skipidx segment search",
											   ALLOCSET_DEFAULT_SIZES);
	topk->request = *request;
	topk->scorer = request->scorer;
	topk->share = request->share;
	topk->work = request->work;
	topk->search_rows = skx_topk_share_search_rows(topk);
	if (topk->search_rows == 0)
		topk->share = NULL;
	if (topk->search_rows == 0)
		topk->search_rows = skx_topk_limit_rows(request->wanted_rows > 0 ?
												request->wanted_rows +
												request->spare_rows :
												Max(request->first_rows,
													SKX_TOPK_ROWS));
	if (request->after != NULL)
		skx_topk_continue_after(topk, request->after);
	if (skx_topk_budget > 0)
		topk->deadline = GetCurrentTimestamp() + skx_topk_budget * INT64CONST(1000);
	topk->has_pending = skx_score_pending(request->scorer) ||
		skx_score_view(request->scorer, request->index) != request->view;
	skx_query_split(request->filter, skx_topk_ranks_prefix,
					unconstify(SkxScorer *, request->scorer),
					&topk->split_filter);
	if (topk->split_filter.nprefixes > 1)
		qsort(topk->split_filter.prefixes, topk->split_filter.nprefixes,
			  sizeof(SkxQueryWord), skx_topk_compare_prefixes);
	skx_topk_relate_filter(topk);
	if (!topk->words_match)
		skx_topk_remove_words(topk);
	topk->has_many_words = Max(skx_topk_nlists(topk->scorer),
							   topk->split_filter.nrequired) >
		SKX_TOPK_MANY_WORDS;
	skx_topk_gather_lexemes(topk);
	topk->rows_request.index = request->index;
	topk->rows_request.view = request->view;
	topk->rows_request.query = topk->words_match ? NULL : request->filter;
	topk->rows_request.share = topk->share == NULL ? NULL :
		skx_topk_share_exec(topk->share);
	skx_topk_init_collector(&topk->collector);
	topk->exec = skx_exec_begin(&topk->rows_request, &topk->collector);
	topk->docs = palloc(sizeof(uint32) * SKX_TOPK_BATCH);
	topk->sums = palloc(sizeof(int32) * SKX_TOPK_BATCH);
	MemoryContextSwitchTo(old);
	return topk;
}

/*
 * Returns the capacity for hits.  If hardly more documents can match than are
 * looked for, all are kept, since a threshold would save less than it costs.
 */
static int
skx_topk_max_hits(const SkxTopk *topk)
{
	double		postings = topk->postings_per_doc * Max(topk->ndocs, 1);

	if (topk->share != NULL ||
		postings > (double) topk->search_rows * SKX_TOPK_KEEP_ALL_RATIO)
		return topk->search_rows;
	/* one to spare, so that the capacity is not reached and no heap is made */
	return Max(skx_topk_limit_rows((uint64) postings + 1), topk->search_rows);
}

/*
 * Searches all segments and pending documents for hits with sums of at least
 * `least`.  Returns false if another process has the hits of this one.
 */
static bool
skx_topk_search(SkxTopk *topk, int32 least)
{
	topk->hits.n = 0;
	topk->hits.checked_min = PG_INT32_MIN;
	topk->hits.wanted_hits = topk->search_rows;
	topk->hits.max_hits = skx_topk_max_hits(topk);
	topk->hits.min_sum = least;
	topk->npending = 0;
	topk->work->passes++;
	if (topk->share != NULL && !skx_topk_share_search(topk))
		return false;
	skx_exec_restart_alone(topk->exec);
	(void) skx_exec_next(topk->exec);
	topk->has_all_hits = false;
	return true;
}

/*
 * Reports in a NOTICE that the budget is spent, and how many rows are final,
 * those of passes before included.
 */
static void
skx_topk_report_budget(const SkxTopk *topk, uint64 final)
{
	double		percent = topk->work->unreached_fraction * 100;

	ereport(NOTICE,
			(errmsg("ranked search ended after %d ms with the best rows found so far",
					skx_topk_budget),
			 final == 0 ?
			 errdetail("%.1f %% of the documents were not looked at, so no row is final.",
					   percent) :
			 errdetail("The first %llu rows of the index are final; for those after them, %.1f %% of the documents were not looked at.",
					   (unsigned long long) final, percent),
			 errhint("See skipidx.search_budget.")));
}

/* Says of n rows which ones are final, the first of them. */
static void
skx_topk_set_final(SkxTopk *topk, int n)
{
	int			final = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		topk->rows_out[i].is_final = !topk->budget_spent ||
			(topk->request.prior == NULL &&
			 topk->rows_out[i].sum > topk->unvisited_bound);
		final += topk->rows_out[i].is_final;
	}
	if (topk->budget_spent)
		skx_topk_report_budget(topk, topk->returned_hits + final);
}

/* Makes rows of the hits.  Returns their number. */
static int
skx_topk_return_hits(SkxTopk *topk)
{
	int			n;

	skx_topk_reserve_rows(topk, topk->hits.n);
	n = skx_topk_hits_rows(topk, topk->rows_out);
	skx_topk_set_final(topk, n);
	if (n > 0)
	{
		topk->returned_hits += n;
		topk->has_after = true;
		topk->ends_in_tie = n > 1 &&
			topk->rows_out[n - 2].sum == topk->rows_out[n - 1].sum;
		topk->after_sum = topk->rows_out[n - 1].sum;
		topk->after_tid = topk->rows_out[n - 1].tid;
	}
	return n;
}

/*
 * Returns the number of rows that the next search looks for.  If the number of
 * wanted rows was known, the first further search looks for as many again,
 * since it has to replace only a few invisible rows.  If the last rows have
 * the same sum, it looks for up to SKX_TOPK_TIES, since a sort by a second key
 * needs all rows with that sum.
 */
static int
skx_topk_next_search_rows(const SkxTopk *topk)
{
	const SkxTopkRequest *request = &topk->request;
	uint64		more = Max((uint64) topk->search_rows * SKX_TOPK_GROWTH,
						   SKX_TOPK_ROWS);

	if (request->wants_all)
		return skx_topk_limit_rows(PG_UINT32_MAX);
	if (request->wanted_rows > 0 &&
		topk->returned_hits <= request->wanted_rows + request->spare_rows)
		more = topk->ends_in_tie ? Min(more, Max((uint64) topk->search_rows,
												 SKX_TOPK_TIES)) :
			topk->search_rows;
	return skx_topk_limit_rows(more);
}

/*
 * Returns the stage after the rows with some of the words.  With a prior there
 * is none.
 */
static SkxTopkStage
skx_topk_after_scored(const SkxTopk *topk)
{
	return topk->scored_only || topk->request.prior != NULL ?
		SKX_TOPK_END : SKX_TOPK_UNSCORED;
}

/*
 * Returns the number of the next rows with some of the words.  If every
 * document with a word matches, a threshold is known in advance.  It may be
 * too high, since documents may be deleted; then the search is repeated
 * without it.
 */
static int
skx_topk_next_scored(SkxTopk *topk)
{
	bool		graded = topk->request.prior != NULL;
	int32		all = graded ? PG_INT32_MIN : Max(topk->min_wanted_sum, 1);
	int32		least = all;	/* `all`: the least sum of a wanted row */
	int			n;

	if (topk->scorer->nterms == 0)
	{
		topk->stage = skx_topk_after_scored(topk);
		return 0;
	}
	if ((topk->words_match || topk->threshold_is_exact) &&
		topk->returned_hits == 0 &&
		topk->min_wanted_sum == 0 && !topk->has_many_words && !graded)
		least = Max(skx_topk_initial_threshold(topk), all);
	if (!skx_topk_search(topk, least))
	{
		topk->stage = SKX_TOPK_END;
		return 0;
	}
	if (topk->hits.min_sum > all && topk->hits.n < skx_topk_min_rows(topk) &&
		!topk->budget_spent)
	{
		topk->began_too_high = true;
		(void) skx_topk_search(topk, all);
	}
	n = skx_topk_return_hits(topk);
	if (topk->budget_spent)
		topk->stage = SKX_TOPK_END;
	else if (n < topk->search_rows && topk->hits.min_sum <= all)
		topk->stage = skx_topk_after_scored(topk);
	topk->search_rows = skx_topk_next_search_rows(topk);
	return n;
}

/* Returns the number of the next rows without any of the words. */
static int
skx_topk_next_unscored(SkxTopk *topk)
{
	int			n;

	if (topk->unscored_rows == NULL)
		topk->unscored_rows =
			skx_topk_unscored_open(topk, topk->stage == SKX_TOPK_NULLS);
	n = skx_topk_unscored_next(topk, topk->unscored_rows);
	if (n > 0)
		return n;
	skx_topk_unscored_close(topk->unscored_rows);
	topk->unscored_rows = NULL;
	if (topk->stage == SKX_TOPK_UNSCORED &&
		skx_query_may_match_nulls(topk->request.filter))
		topk->stage = SKX_TOPK_NULLS;
	else
		topk->stage = SKX_TOPK_END;
	return 0;
}

int
skx_topk_next(SkxTopk *topk, const SkxTopkHit **hits)
{
	MemoryContext old = MemoryContextSwitchTo(topk->context);
	int			n = 0;

	while (n == 0 && topk->stage != SKX_TOPK_END)
	{
		if (topk->stage == SKX_TOPK_SCORED)
			n = skx_topk_next_scored(topk);
		else if (topk->min_wanted_sum > 0)
			topk->stage = SKX_TOPK_END;
		else
			n = skx_topk_next_unscored(topk);
	}
	*hits = topk->rows_out;
	MemoryContextSwitchTo(old);
	return n;
}

void
skx_topk_set_min_sum(SkxTopk *topk, int32 sum)
{
	Assert(sum > 0 && sum >= topk->min_wanted_sum);
	if (topk->share == NULL)
		topk->min_wanted_sum = sum;
}

void
skx_topk_end(SkxTopk *topk)
{
	int			i;

	if (topk->unscored_rows != NULL)
		skx_topk_unscored_close(topk->unscored_rows);
	for (i = 0; i < topk->nsegments; i++)
		skx_segment_record_warmth(topk->segments[i].seg);
	skx_exec_end(topk->exec);
	MemoryContextDelete(topk->context);
}
