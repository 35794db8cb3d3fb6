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

/*
 * Postings are few if there are at most this many for each row that is looked
 * for.
 */
#define SKX_TOPK_FEW		4

static int
skx_topk_lexeme(const SkxTopk *topk, const char *bytes, int len)
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

/*
 * Gathers the lexemes of the filter, unless it is not tested, and of the
 * ranking query, each once.  With very many words, only those of pairs are
 * taken from the ranking query.
 */
static void
skx_topk_gather_lexemes(SkxTopk *topk)
{
	const SkxScorer *scorer = topk->scorer;
	int			nwords = topk->many ? 2 * scorer->npairs : scorer->nterms;
	int			nfilter;
	const SkxLexeme *filter = skx_query_lexemes(topk->request.filter,
												&nfilter);
	int			i;

	if (topk->many && topk->words_match)
		nfilter = 0;
	topk->lexemes = palloc_extended(sizeof(SkxLexeme) *
									((Size) nfilter + nwords + 1),
									MCXT_ALLOC_HUGE);
	for (i = 0; i < nfilter; i++)
		topk->lexemes[topk->nlexemes++] = filter[i];
	for (i = 0; i < scorer->nplain && !topk->many; i++)
		skx_topk_add_lexeme(topk, i);
	for (i = 0; i < scorer->npairs && topk->many; i++)
	{
		skx_topk_add_lexeme(topk, scorer->pairs[i].first);
		skx_topk_add_lexeme(topk, scorer->pairs[i].second);
	}
	topk->nlexemes = skx_column_distinct(topk->lexemes, topk->nlexemes);
	topk->filter_lexemes = palloc_extended(sizeof(int) * ((Size) nfilter + 1),
										   MCXT_ALLOC_HUGE);
	for (i = 0; i < nfilter; i++)
		topk->filter_lexemes[i] = skx_topk_lexeme(topk, filter[i].bytes,
												  filter[i].len);
	topk->term_lexemes = palloc_extended(sizeof(int) *
										 ((Size) scorer->nterms + 1),
										 MCXT_ALLOC_HUGE);
	for (i = 0; i < scorer->nterms; i++)
	{
		CHECK_FOR_INTERRUPTS();
		topk->term_lexemes[i] = scorer->terms[i].prefix ? -1 :
			skx_topk_lexeme(topk, scorer->terms[i].lexeme,
							scorer->terms[i].len);
	}
}

/*
 * Continues after a row.  Rows without a score are ordered by their tids
 * alone.
 */
static void
skx_topk_go_on(SkxTopk *topk, const SkxTopkAfter *after)
{
	topk->has_after = true;
	topk->after = after->sum;
	topk->after_tid = after->tid;
	topk->before = after->given;
	if (after->sum == 0)
		topk->stage = SKX_TOPK_OTHERS;
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
	topk->pass = AllocSetContextCreate(context, "skipidx segment search",
									   ALLOCSET_DEFAULT_SIZES);
	topk->request = *request;
	topk->scorer = request->scorer;
	topk->share = request->share;
	topk->work = request->work;
	topk->rows = skx_topk_share_rows(topk);
	if (topk->rows == 0)
		topk->share = NULL;
	if (topk->rows == 0)
		topk->rows = skx_topk_most(request->wanted > 0 ?
								   request->wanted + request->spare :
								   SKX_TOPK_ROWS);
	if (request->after != NULL)
		skx_topk_go_on(topk, request->after);
	if (skx_topk_budget > 0)
		topk->deadline = GetCurrentTimestamp() + skx_topk_budget * INT64CONST(1000);
	topk->has_pending = skx_score_pending(request->scorer) ||
		skx_score_view(request->scorer, request->index) != request->view;
	skx_query_split(request->filter, skx_topk_knows_prefix,
					unconstify(SkxScorer *, request->scorer), &topk->split);
	if (topk->split.nprefixes > 1)
		qsort(topk->split.prefixes, topk->split.nprefixes,
			  sizeof(SkxQueryWord), skx_topk_compare_prefixes);
	skx_topk_relate(topk);
	if (!topk->words_match)
		skx_topk_take_words(topk);
	topk->many = Max(topk->scorer->nterms, topk->split.nrequired) >
		SKX_TOPK_MANY;
	skx_topk_gather_lexemes(topk);
	topk->of.index = request->index;
	topk->of.view = request->view;
	topk->of.query = topk->words_match ? NULL : request->filter;
	topk->of.share = topk->share == NULL ? NULL :
		skx_topk_share_parts(topk->share);
	skx_topk_collector(&topk->collector);
	topk->exec = skx_exec_begin(&topk->of, &topk->collector);
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
skx_topk_room(const SkxTopk *topk)
{
	double		postings = topk->postings * Max(topk->ndocs, 1);

	if (topk->share != NULL ||
		postings > (double) topk->rows * SKX_TOPK_FEW)
		return topk->rows;
	/* one to spare, so that the capacity is not reached and no heap is made */
	return Max(skx_topk_most((uint64) postings + 1), topk->rows);
}

/*
 * Searches all segments and pending documents for hits with sums of at least
 * `least`.  Returns false if another process has the hits of this one.
 */
static bool
skx_topk_search(SkxTopk *topk, int32 least)
{
	topk->hits.n = topk->hits.told = 0;
	topk->hits.most = topk->rows;
	topk->hits.room = skx_topk_room(topk);
	topk->hits.least = Max(least, 1);
	topk->npending = 0;
	topk->work->passes++;
	if (topk->share != NULL && !skx_topk_share_search(topk))
		return false;
	skx_exec_again(topk->exec);
	(void) skx_exec_next(topk->exec);
	topk->gathered = false;
	return true;
}

/* Makes rows of the hits.  Returns their number. */
static int
skx_topk_hand_out(SkxTopk *topk)
{
	int			n;

	skx_topk_make_out(topk, topk->hits.n);
	n = skx_topk_hits_rows(topk, topk->out);
	if (n > 0)
	{
		topk->given += n;
		topk->has_after = true;
		topk->tied = n > 1 && topk->out[n - 2].sum == topk->out[n - 1].sum;
		topk->after = topk->out[n - 1].sum;
		topk->after_tid = topk->out[n - 1].tid;
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
skx_topk_more_rows(const SkxTopk *topk)
{
	const SkxTopkRequest *request = &topk->request;
	uint64		more = Max((uint64) topk->rows * SKX_TOPK_GROWTH,
						   SKX_TOPK_ROWS);

	if (request->wants_all)
		return skx_topk_most(PG_UINT32_MAX);
	if (request->wanted > 0 &&
		topk->given <= request->wanted + request->spare)
		more = topk->tied ? Min(more, Max((uint64) topk->rows, SKX_TOPK_TIES)) :
			topk->rows;
	return skx_topk_most(more);
}

/*
 * Returns the number of the next rows with some of the words.  If every
 * document with a word matches, a threshold is known in advance.  It may be
 * too high, since documents may be deleted; then the search is repeated
 * without it.
 */
static int
skx_topk_scored(SkxTopk *topk)
{
	int32		all = Max(topk->floor, 1);	/* least sum of a wanted row */
	int32		least = all;
	int			n;

	if (topk->scorer->nterms == 0)
	{
		topk->stage = topk->scored_only ? SKX_TOPK_DONE : SKX_TOPK_OTHERS;
		return 0;
	}
	if ((topk->words_match || topk->primes) && topk->given == 0 &&
		topk->floor == 0 && !topk->many)
		least = skx_topk_prime(topk);
	if (!skx_topk_search(topk, least))
	{
		topk->stage = SKX_TOPK_DONE;
		return 0;
	}
	if (topk->hits.least > all && topk->hits.n < skx_topk_least_rows(topk) &&
		!topk->stopped)
	{
		topk->primed = true;
		(void) skx_topk_search(topk, all);
	}
	n = skx_topk_hand_out(topk);
	if (topk->stopped)
		topk->stage = SKX_TOPK_DONE;
	else if (n < topk->rows && topk->hits.least <= all)
		topk->stage = topk->scored_only ? SKX_TOPK_DONE : SKX_TOPK_OTHERS;
	topk->rows = skx_topk_more_rows(topk);
	return n;
}

/* Returns the number of the next rows without any of the words. */
static int
skx_topk_others(SkxTopk *topk)
{
	int			n;

	if (topk->tail == NULL)
		topk->tail = skx_topk_rows_open(topk, topk->stage == SKX_TOPK_NULLS);
	n = skx_topk_rows_next(topk, topk->tail);
	if (n > 0)
		return n;
	skx_topk_rows_close(topk->tail);
	topk->tail = NULL;
	if (topk->stage == SKX_TOPK_OTHERS &&
		skx_query_takes_nulls(topk->request.filter))
		topk->stage = SKX_TOPK_NULLS;
	else
		topk->stage = SKX_TOPK_DONE;
	return 0;
}

int
skx_topk_next(SkxTopk *topk, const SkxTopkHit **hits)
{
	MemoryContext old = MemoryContextSwitchTo(topk->context);
	int			n = 0;

	while (n == 0 && topk->stage != SKX_TOPK_DONE)
	{
		if (topk->stage == SKX_TOPK_SCORED)
			n = skx_topk_scored(topk);
		else if (topk->floor > 0)
			topk->stage = SKX_TOPK_DONE;
		else
			n = skx_topk_others(topk);
	}
	*hits = topk->out;
	MemoryContextSwitchTo(old);
	return n;
}

void
skx_topk_want_from(SkxTopk *topk, int32 sum)
{
	Assert(sum > 0 && sum >= topk->floor);
	if (topk->share == NULL)
		topk->floor = sum;
}

void
skx_topk_end(SkxTopk *topk)
{
	int			i;

	if (topk->tail != NULL)
		skx_topk_rows_close(topk->tail);
	for (i = 0; i < topk->nsegments; i++)
		skx_segment_searched(topk->segments[i].seg);
	skx_exec_end(topk->exec);
	MemoryContextDelete(topk->context);
}
