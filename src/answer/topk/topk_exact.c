/*
 * topk_exact.c
 *	  Exact sums of candidates, with their pairs of words.
 *
 * Lists contribute by ceilings (rank_score.h), which no sum with pairs
 * exceeds.  If a candidate reaches the threshold by these, its exact
 * contributions are computed.  Those of its pairs are first bounded by the
 * frequencies of their words.  Positions are read only if the candidate still
 * reaches the threshold.  The candidates are looked up with cursors of their
 * own, since the lists of the search have moved on.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"
#include "support/fault/fault.h"

/* Number of candidates whose positions are prefetched together. */
#define SKX_EXACT_DOCS		64

typedef struct SkxTopkExactWord
{
	const SkxScoreTerm *term;
	SkxCursor  *cursor;			/* NULL: the segment lacks the word */
	bool		uses_labels;
	bool		in_pair;
	int32		contributions[SKX_EXACT_DOCS];
	uint16		tfs[SKX_EXACT_DOCS];	/* numbers of positions */
	SkxPositionsRef position_refs[SKX_EXACT_DOCS];
	int			n;				/* number of positions of the current
								 * candidate; -1: not read */
	uint16		positions[SKX_POSITIONS_MAX];
} SkxTopkExactWord;

typedef struct SkxTopkExact
{
	bool		has_word_sums;	/* candidates have the sums of their words */
	int			nwords;
	SkxTopkExactWord *words;	/* all words, or only those of pairs */
	SkxTopkExactWord *pair_firsts[SKX_RANKING_PAIRS_MAX];
	SkxTopkExactWord *pair_seconds[SKX_RANKING_PAIRS_MAX];
	uint64		page_reads;		/* state of skx_segment_has_read() */
	uint32		docs[SKX_EXACT_DOCS];
	int32		sums[SKX_EXACT_DOCS];	/* without pairs */
	int32		ceiling_sums[SKX_EXACT_DOCS];	/* sums by ceilings */
	float		norm_inverses[SKX_EXACT_DOCS];
} SkxTopkExact;

/*
 * Returns the list in memory of a prefix, or NULL if the search has none of
 * it.
 */
static SkxCursorMemory *
skx_exact_prefix_list(const SkxTopkRun *run, const SkxScoreTerm *term)
{
	int			i;

	for (i = 0; i < run->noptional; i++)
		if (run->optional[i]->term == term)
			return skx_cursor_memory(run->optional[i]->cursor);
	for (i = 0; i < run->nrequired; i++)
		if (run->required[i]->term == term)
			return skx_cursor_memory(run->required[i]->cursor);
	return NULL;
}

/*
 * Opens the cursor of word i.  The lists of the search have been where it will
 * seek, hence SKX_CURSOR_RESCAN.
 */
static void
skx_exact_open_word(SkxTopkRun *run, int i, SkxTopkExactWord *word)
{
	const SkxTopkSegment *s = &run->topk->segments[run->segment];

	word->term = &run->scorer->terms[i];
	word->cursor = NULL;
	word->in_pair = false;
	word->uses_labels = word->term->labels != 0 || !run->scorer->is_unweighted;
	if (word->term->prefix)
	{
		SkxCursorMemory *memory = skx_exact_prefix_list(run, word->term);

		if (memory != NULL)
			word->cursor = skx_cursor_open_memory(run->seg, memory);
	}
	else
	{
		const SkxTerm *term = &s->terms[run->topk->term_lexemes[i]];

		if (term->df > 0)
			word->cursor = skx_cursor_open(run->seg, term,
										   SKX_CURSOR_RESCAN);
	}
}

/*
 * Returns the word of a term.  Opens it, if `has_word_sums` and no pair before
 * had it.
 */
static SkxTopkExactWord *
skx_exact_open_pair_word(SkxTopkRun *run, SkxTopkExact *exact, int term)
{
	const SkxScoreTerm *scored = &run->scorer->terms[term];
	int			i;

	if (!exact->has_word_sums)
		return &exact->words[term];
	for (i = 0; i < exact->nwords; i++)
		if (exact->words[i].term == scored)
			return &exact->words[i];
	skx_exact_open_word(run, term, &exact->words[exact->nwords]);
	return &exact->words[exact->nwords++];
}

SkxTopkExact *
skx_topk_exact_open(SkxTopkRun *run, bool summed)
{
	const SkxScorer *scorer = run->scorer;
	SkxTopkExact *exact = palloc(sizeof(SkxTopkExact));
	int			nwords = summed ? 2 * scorer->npairs : scorer->nterms;
	int			i;

	exact->has_word_sums = summed;
	exact->nwords = 0;
	exact->words = palloc_extended(sizeof(SkxTopkExactWord) *
								   (Size) Max(nwords, 1), MCXT_ALLOC_HUGE);
	exact->page_reads = PG_UINT64_MAX;
	for (i = 0; i < nwords && !summed; i++)
		skx_exact_open_word(run, i, &exact->words[exact->nwords++]);
	for (i = 0; i < scorer->npairs; i++)
	{
		SkxTopkExactWord *first =
			skx_exact_open_pair_word(run, exact, scorer->pairs[i].first);
		SkxTopkExactWord *second =
			skx_exact_open_pair_word(run, exact, scorer->pairs[i].second);

		exact->pair_firsts[i] = first;
		exact->pair_seconds[i] = second;
		if (first->cursor != NULL && second->cursor != NULL)
			first->in_pair = second->in_pair = true;
	}
	return exact;
}

int32
skx_topk_exact_error_bound(const SkxScorer *scorer)
{
	double		slack = 0;
	int			i;

	for (i = 0; i < scorer->nterms; i++)
	{
		const SkxScoreTerm *term = &scorer->terms[i];

		if (term->ceiling > term->weight)
			slack += (double) term->ceiling + 1 -
				(term->labels != 0 ||
				 !scorer->is_unweighted ? 0 : term->weight);
	}
	return (int32) slack + 1;
}

void
skx_topk_exact_close(SkxTopkExact *exact)
{
	int			i;

	for (i = 0; i < exact->nwords; i++)
		if (exact->words[i].cursor != NULL)
			skx_cursor_close(exact->words[i].cursor);
}

bool
skx_topk_exact_can_rewind(const SkxTopkExact *exact)
{
	int			i;

	for (i = 0; i < exact->nwords; i++)
		if (exact->words[i].cursor != NULL &&
			skx_cursor_term(exact->words[i].cursor) == NULL)
			return false;
	return true;
}

void
skx_topk_exact_rewind(SkxTopkExact *exact)
{
	int			i;

	for (i = 0; i < exact->nwords; i++)
	{
		SkxCursor  *c = exact->words[i].cursor;

		if (c != NULL)
			skx_cursor_begin_term(c, skx_cursor_term(c));
	}
}

/*
 * Returns the frequency of a word in candidate i, or -1 if it is absent.
 * Notes where its positions are, if it is in a pair.
 */
static float
skx_exact_tf(SkxTopkRun *run, SkxTopkExactWord *word, int i, uint32 doc)
{
	SkxCursor  *c = word->cursor;

	word->tfs[i] = word->position_refs[i].tf = 0;
	if (c == NULL ||
		!(word->in_pair ? skx_cursor_locate(c, doc, &word->position_refs[i]) :
		  skx_cursor_seek(c, doc) == doc))
		return -1;
	word->tfs[i] = word->position_refs[i].tf;
	return skx_score_tf(run->scorer, word->term, c, c->i);
}

/*
 * Returns what a word that was found adds to the sum of a candidate.  If that
 * has its contribution by the ceiling already, the result is the difference,
 * which is not above 0.
 */
static int32
skx_exact_contribution(SkxTopkRun *run, const SkxTopkExactWord *word, float tf,
					   float inverse)
{
	const SkxScoreTerm *term = word->term;
	int32		part = skx_rank_contribution(term->weight, tf, inverse);

	if (!run->exact->has_word_sums)
		return part;
	if (word->uses_labels)
		tf = skx_topk_ceiling_tf(term, word->cursor, word->cursor->i, tf);
	return part - skx_rank_contribution(term->ceiling, tf, inverse);
}

/* Returns a bound of the contributions of the pairs to candidate i. */
static int32
skx_exact_bound_pairs(SkxTopkRun *run, int i)
{
	const SkxScorer *scorer = run->scorer;
	SkxTopkExact *exact = run->exact;
	int32		bound = 0;
	int			k;

	for (k = 0; k < scorer->npairs; k++)
	{
		const SkxScorePair *pair = &scorer->pairs[k];
		int			tf = Min(exact->pair_firsts[k]->tfs[i],
							 exact->pair_seconds[k]->tfs[i]);

		if (tf > 0)
			bound += skx_rank_pair_contribution(pair->weight, tf, tf,
												exact->norm_inverses[i]);
	}
	return skx_fault_breaks_contract(SKX_CONTRACT_PAIR_BOUND) ? Min(bound,
																	1) : bound;
}

/*
 * Computes the sums of n documents without pairs.  Keeps in exact->docs those
 * that can become hits with pairs, and returns their number.
 */
static int
skx_exact_sum_words(SkxTopkRun *run, const uint32 *docs, const int32 *sums,
					int n)
{
	SkxTopkExact *exact = run->exact;
	const float *inverse = run->scorer->inverses;
	uint8		norms[SKX_SUBBLOCK];
	int			kept = 0;
	int			i;
	int			k;

	skx_segment_norms(run->seg, docs, n, norms);
	for (i = 0; i < n; i++)
	{
		int32		sum = exact->has_word_sums ? sums[i] : 0;

		exact->norm_inverses[kept] = inverse[norms[i]];
		for (k = 0; k < exact->nwords; k++)
		{
			SkxTopkExactWord *word = &exact->words[k];
			float		tf = skx_exact_tf(run, word, kept, docs[i]);

			if (tf >= 0)
				sum += skx_exact_contribution(run, word, tf,
											  exact->norm_inverses[kept]);
		}
		exact->docs[kept] = docs[i];
		exact->sums[kept] = sum;
		exact->ceiling_sums[kept] =
			skx_fault_breaks_contract(SKX_CONTRACT_CEILING) ? 1 : sums[i];
		kept += sum + skx_exact_bound_pairs(run, kept) >= run->threshold;
	}
	return kept;
}

/*
 * Returns the number of positions of a word in candidate i that have its
 * labels.  Reads the positions, unless that has been done, and removes the
 * labels from them.
 */
static int
skx_exact_positions(SkxTopkExactWord *word, int i)
{
	if (word->n >= 0)
		return word->n;
	word->n = 0;
	if (word->tfs[i] > 0)
	{
		word->n = skx_cursor_positions_at(word->cursor,
										  &word->position_refs[i],
										  word->positions);
		word->n = skx_query_filter_positions(word->positions, word->n,
											 word->term->labels);
	}
	return word->n;
}

static int32
skx_exact_sum_pairs(SkxTopkRun *run, int i)
{
	const SkxScorer *scorer = run->scorer;
	SkxTopkExact *exact = run->exact;
	int32		sum = 0;
	int			k;

	for (k = 0; k < exact->nwords; k++)
		exact->words[k].n = -1;
	for (k = 0; k < scorer->npairs; k++)
	{
		const SkxScorePair *pair = &scorer->pairs[k];
		SkxTopkExactWord *first = exact->pair_firsts[k];
		SkxTopkExactWord *second = exact->pair_seconds[k];
		int			ordered;
		int			near;

		if (first->tfs[i] == 0 || second->tfs[i] == 0)
			continue;
		skx_rank_count_pairs(first->positions, skx_exact_positions(first, i),
							 second->positions, skx_exact_positions(second, i),
							 &ordered, &near);
		sum += skx_rank_pair_contribution(pair->weight, ordered, near,
										  exact->norm_inverses[i]);
	}
	return sum;
}

/* Prefetches the positions of all n candidates. */
static void
skx_exact_prefetch_positions(SkxTopkExact *exact, int n)
{
	SkxCursor  *cursors[2 * SKX_RANKING_PAIRS_MAX];
	SkxPositionsRef *places[2 * SKX_RANKING_PAIRS_MAX];
	int			ncursors = 0;
	int			k;

	for (k = 0; k < exact->nwords; k++)
	{
		if (!exact->words[k].in_pair)
			continue;
		cursors[ncursors] = exact->words[k].cursor;
		places[ncursors++] = exact->words[k].position_refs;
	}
	(void) skx_cursor_prefetch_positions(cursors, places, ncursors, 0, n,
										 skx_segment_has_read(&exact->page_reads));
}

void
skx_topk_exact_make_hits(SkxTopkRun *run)
{
	SkxTopkExact *exact = run->exact;
	int32		past = run->topk->has_after ? run->topk->after_sum :
		PG_INT32_MAX;
	int			from;

	for (from = 0; from < run->n; from += SKX_EXACT_DOCS)
	{
		int			n = Min(run->n - from, SKX_EXACT_DOCS);
		int			i;

		n = skx_exact_sum_words(run, run->docs + from, run->sums + from, n);
		skx_exact_prefetch_positions(exact, n);
		for (i = 0; i < n; i++)
		{
			int32		sum = exact->sums[i];
			int32		most = skx_exact_bound_pairs(run, i);

			if (sum + most < run->threshold || sum > past)
				continue;
			if (most > 0)
			{
				run->topk->work->position_reads++;
				sum += skx_exact_sum_pairs(run, i);
				Assert(sum <= exact->sums[i] + most);
				Assert(sum <= exact->ceiling_sums[i]);
			}
			skx_topk_batch_hit(run, exact->docs[i], sum);
		}
	}
}
