/*
 * topk_exact.c
 *	  Exact sums of candidates, with groups and pairs of words.
 *
 * Lists contribute by ceilings (rank_score.h), which no sum with pairs
 * exceeds, and all words of a group contribute.  If a candidate reaches the
 * threshold by these, its exact contributions are computed, of a group the
 * largest of its words.  Those of its pairs are first bounded by the
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

/* One side of a pair, as SkxScoreSide. */
typedef struct SkxTopkExactSide
{
	int			n;
	SkxTopkExactWord **words;
	uint16	   *positions;		/* of several words; else NULL */
} SkxTopkExactSide;

typedef struct SkxTopkExact
{
	bool		has_word_sums;	/* candidates have the sums of their words */
	int			nwords;
	SkxTopkExactWord *words;	/* all words, or those of pairs and groups */
	SkxTopkExactSide sides[SKX_RANKING_PAIRS_MAX][2];
	int			npair_words;
	SkxCursor **pair_cursors;	/* of the words of pairs, for prefetching */
	SkxPositionsRef **pair_refs;
	int32	   *best;			/* by group: the largest contribution */
	uint64		page_reads;		/* state of skx_segment_has_read() */
	uint32		docs[SKX_EXACT_DOCS];
	int32		sums[SKX_EXACT_DOCS];	/* without pairs */
	int32		ceiling_sums[SKX_EXACT_DOCS];	/* sums by ceilings */
	float		norm_inverses[SKX_EXACT_DOCS];
} SkxTopkExact;

/* Returns the list of a prefix, or NULL if the search has none of it. */
static const SkxCursor *
skx_exact_prefix_list(const SkxTopkRun *run, const SkxScoreTerm *term)
{
	int			i;

	for (i = 0; i < run->noptional; i++)
		if (run->optional[i]->term == term)
			return run->optional[i]->cursor;
	for (i = 0; i < run->nrequired; i++)
		if (run->required[i]->term == term)
			return run->required[i]->cursor;
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
		const SkxCursor *list = skx_exact_prefix_list(run, word->term);

		if (list != NULL && skx_cursor_term(list) == NULL)
			word->cursor = skx_cursor_open_memory(run->seg,
												  skx_cursor_memory(list));
		else if (list != NULL)
			word->cursor = skx_cursor_open(skx_cursor_segment(list),
										   skx_cursor_term(list),
										   SKX_CURSOR_RESCAN);
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
 * Sets numbers[i] to the number of the word for term i, or -1 if it is not
 * opened.  Returns how many are.
 */
static int
skx_exact_number_words(const SkxScorer *scorer, bool summed, int *numbers)
{
	int			n = 0;
	int			i;
	int			k;

	for (i = 0; i < scorer->nterms; i++)
		numbers[i] = summed && scorer->terms[i].group == 0 ? -1 : 0;
	for (i = 0; i < 2 * scorer->npairs; i++)
	{
		const SkxScoreSide *side = &scorer->sides[i / 2][i % 2];

		for (k = 0; k < side->n; k++)
			numbers[side->terms[k]] = 0;
	}
	for (i = 0; i < scorer->nterms; i++)
		if (numbers[i] == 0)
			numbers[i] = n++;
	return n;
}

/* Returns true if a word of the side occurs in the segment. */
static bool
skx_exact_open_side(SkxTopkExact *exact, const SkxScoreSide *scored,
					const int *numbers, SkxTopkExactSide *side)
{
	bool		occurs = false;
	int			i;

	side->n = scored->n;
	side->words = palloc(sizeof(SkxTopkExactWord *) * Max(side->n, 1));
	side->positions = side->n <= 1 ? NULL :
		palloc(sizeof(uint16) * SKX_POSITIONS_MAX * side->n);
	for (i = 0; i < side->n; i++)
	{
		side->words[i] = &exact->words[numbers[scored->terms[i]]];
		occurs |= side->words[i]->cursor != NULL;
	}
	return occurs;
}

static void
skx_exact_open_pair(SkxTopkRun *run, SkxTopkExact *exact, int pair,
					const int *numbers)
{
	SkxTopkExactSide *sides = exact->sides[pair];
	const SkxScoreSide *scored = run->scorer->sides[pair];
	bool		first = skx_exact_open_side(exact, &scored[0], numbers,
											&sides[0]);
	bool		second = skx_exact_open_side(exact, &scored[1], numbers,
											 &sides[1]);
	int			i;

	for (i = 0; i < sides[0].n && first && second; i++)
		sides[0].words[i]->in_pair = true;
	for (i = 0; i < sides[1].n && first && second; i++)
		sides[1].words[i]->in_pair = true;
}

/* Gathers the words whose positions are prefetched. */
static void
skx_exact_gather_pair_words(SkxTopkExact *exact)
{
	int			i;

	exact->npair_words = 0;
	exact->pair_cursors = palloc(sizeof(SkxCursor *) * Max(exact->nwords, 1));
	exact->pair_refs = palloc(sizeof(SkxPositionsRef *) *
							  Max(exact->nwords, 1));
	for (i = 0; i < exact->nwords; i++)
	{
		SkxTopkExactWord *word = &exact->words[i];

		if (!word->in_pair || word->cursor == NULL)
			continue;
		exact->pair_cursors[exact->npair_words] = word->cursor;
		exact->pair_refs[exact->npair_words++] = word->position_refs;
	}
}

SkxTopkExact *
skx_topk_exact_open(SkxTopkRun *run, bool summed)
{
	const SkxScorer *scorer = run->scorer;
	SkxTopkExact *exact = palloc(sizeof(SkxTopkExact));
	int		   *numbers = palloc_extended(sizeof(int) *
										  ((Size) scorer->nterms + 1),
										  MCXT_ALLOC_HUGE);
	int			i;

	exact->has_word_sums = summed;
	exact->nwords = skx_exact_number_words(scorer, summed, numbers);
	exact->words = palloc_extended(sizeof(SkxTopkExactWord) *
								   (Size) Max(exact->nwords, 1),
								   MCXT_ALLOC_HUGE);
	exact->best = palloc(sizeof(int32) * Max(scorer->ngroups, 1));
	exact->page_reads = PG_UINT64_MAX;
	for (i = 0; i < scorer->nterms; i++)
		if (numbers[i] >= 0)
			skx_exact_open_word(run, i, &exact->words[numbers[i]]);
	for (i = 0; i < scorer->npairs; i++)
		skx_exact_open_pair(run, exact, i, numbers);
	skx_exact_gather_pair_words(exact);
	pfree(numbers);
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

		if (term->group != 0)
			slack += (double) term->ceiling + 1;
		else if (term->ceiling > term->weight)
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
 * Returns what a word that was found adds to the sum of a candidate, beside
 * what its group adds later.  If that has its contribution by the ceiling
 * already, the result is the difference, which is not above 0.
 */
static int32
skx_exact_contribution(SkxTopkRun *run, const SkxTopkExactWord *word, float tf,
					   float inverse)
{
	SkxTopkExact *exact = run->exact;
	const SkxScoreTerm *term = word->term;
	int32		part = skx_rank_contribution(term->weight, tf, inverse);

	if (term->group != 0)
	{
		exact->best[term->group - 1] = Max(exact->best[term->group - 1], part);
		part = 0;
	}
	if (!exact->has_word_sums)
		return part;
	if (word->uses_labels)
		tf = skx_topk_ceiling_tf(term, word->cursor, word->cursor->i, tf);
	return part - skx_rank_contribution(term->ceiling, tf, inverse);
}

/* Returns how often the words of a side of a pair are in candidate i. */
static int
skx_exact_side_tf(const SkxTopkExactSide *side, int i)
{
	int			tf = 0;
	int			k;

	for (k = 0; k < side->n; k++)
		tf += side->words[k]->tfs[i];
	return tf;
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
		int			tf = Min(skx_exact_side_tf(&exact->sides[k][0], i),
							 skx_exact_side_tf(&exact->sides[k][1], i));

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
		memset(exact->best, 0, sizeof(int32) * run->scorer->ngroups);
		for (k = 0; k < exact->nwords; k++)
		{
			SkxTopkExactWord *word = &exact->words[k];
			float		tf = skx_exact_tf(run, word, kept, docs[i]);

			if (tf >= 0)
				sum += skx_exact_contribution(run, word, tf,
											  exact->norm_inverses[kept]);
		}
		for (k = 0; k < run->scorer->ngroups; k++)
			sum += exact->best[k];
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

/*
 * Sets *positions to those of a side of a pair in candidate i, ascending.
 * Returns their number.
 */
static int
skx_exact_side_positions(SkxTopkExactSide *side, int i, uint16 **positions)
{
	int			n = 0;
	int			k;

	*positions = side->positions;
	if (side->n == 1)
	{
		*positions = side->words[0]->positions;
		return skx_exact_positions(side->words[0], i);
	}
	for (k = 0; k < side->n; k++)
	{
		int			some = skx_exact_positions(side->words[k], i);

		memcpy(side->positions + n, side->words[k]->positions,
			   sizeof(uint16) * some);
		n += some;
	}
	return n > 0 ? skx_score_unite_positions(side->positions, n) : 0;
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
		SkxTopkExactSide *sides = exact->sides[k];
		uint16	   *first;
		uint16	   *second;
		int			nfirst;
		int			nsecond;
		int			ordered;
		int			near;

		if (skx_exact_side_tf(&sides[0], i) == 0 ||
			skx_exact_side_tf(&sides[1], i) == 0)
			continue;
		nfirst = skx_exact_side_positions(&sides[0], i, &first);
		nsecond = skx_exact_side_positions(&sides[1], i, &second);
		skx_rank_count_pairs(first, nfirst, second, nsecond, &ordered, &near);
		sum += skx_rank_pair_contribution(pair->weight, ordered, near,
										  exact->norm_inverses[i]);
	}
	return sum;
}

/* Prefetches the positions of all n candidates. */
static void
skx_exact_prefetch_positions(SkxTopkExact *exact, int n)
{
	(void) skx_cursor_prefetch_positions(exact->pair_cursors, exact->pair_refs,
										 exact->npair_words, 0, n,
										 skx_segment_has_read(&exact->page_reads));
}

/* Unpins what the words have pinned, if these are many. */
static void
skx_exact_unpin(SkxTopkExact *exact)
{
	int			k;

	for (k = 0; k < exact->nwords; k++)
		if (exact->words[k].cursor != NULL)
			skx_cursor_unpin_if_crowded(exact->words[k].cursor);
}

void
skx_topk_exact_make_hits(SkxTopkRun *run)
{
	SkxTopkExact *exact = run->exact;
	int32		past = run->topk->has_after && run->prior == NULL ?
		run->topk->after_sum : PG_INT32_MAX;
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

			if (sum + most < run->threshold || sum > past ||
				(run->prior != NULL && most > 0 &&
				 !skx_topk_prior_may_hit(run->prior, exact->docs[i],
										 sum + most)))
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
	skx_exact_unpin(exact);
}
