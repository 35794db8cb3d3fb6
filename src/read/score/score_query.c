/*
 * score_query.c
 *	  Turns a tsquery and statistics into words, pairs and their weights.
 *
 * A tsquery is an array with every operator before its operands, the right one
 * first.  A pass from front to back hands the negations down.  A pass from
 * back to front meets the operands in the order in which the query is written.
 * Neither pass needs a stack, however deep the query is.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "read/score/score_internal.h"
#include "utils/memutils.h"

/* A scorer with what only this file uses. */
typedef struct SkxScorerOpen
{
	SkxScorer	scorer;
	const SkxScoreWord **words; /* one for each term */
	uint64		epoch;			/* skx_score_stats_epoch() when the statistics
								 * were read */
} SkxScorerOpen;

/* The entry of a word that a segment does not have. */
static const SkxTerm skx_score_nothing;

/*
 * Returns an array that is true for each item below an odd number of
 * negations.
 */
static bool *
skx_score_negated(TSQuery query)
{
	const QueryItem *items = GETQUERY(query);
	bool	   *negated = palloc0(query->size + 1);
	int			i;

	for (i = 0; i < query->size; i++)
	{
		if (items[i].type != QI_OPR)
			continue;
		if (items[i].qoperator.oper == OP_NOT)
			negated[i + 1] = !negated[i];
		else
		{
			negated[i + 1] = negated[i];
			negated[i + items[i].qoperator.left] = negated[i];
		}
	}
	return negated;
}

static bool
skx_score_same_lexeme(const SkxScoreTerm *a, const SkxScoreTerm *b)
{
	return a->prefix == b->prefix && a->len == b->len &&
		memcmp(a->lexeme, b->lexeme, a->len) == 0;
}

static int
skx_score_compare_terms(const void *a, const void *b)
{
	CHECK_FOR_INTERRUPTS();
	return skx_ranking_compare(a, b);
}

static void
skx_score_term_of(TSQuery query, const QueryOperand *operand,
				  SkxScoreTerm *term)
{
	memset(term, 0, sizeof(*term));
	term->lexeme = GETOPERAND(query) + operand->distance;
	term->len = operand->length;
	term->prefix = operand->prefix;
	term->labels = operand->weight;
	term->count = 1;
	term->factor = 1;
}

static void
skx_score_gather_terms(SkxScorer *scorer, TSQuery query, const bool *negated)
{
	const QueryItem *items = GETQUERY(query);
	int			n = 0;
	int			kept = 0;
	int			i;

	for (i = 0; i < query->size; i++)
		n += items[i].type == QI_VAL;
	scorer->terms = palloc_extended(sizeof(SkxScoreTerm) * ((Size) n + 1),
									MCXT_ALLOC_HUGE);
	n = 0;
	for (i = 0; i < query->size; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (items[i].type == QI_VAL && !negated[i])
			skx_score_term_of(query, &items[i].qoperand, &scorer->terms[n++]);
	}
	qsort(scorer->terms, n, sizeof(SkxScoreTerm), skx_score_compare_terms);
	for (i = 0; i < n; i++)
	{
		SkxScoreTerm *last = &scorer->terms[Max(kept - 1, 0)];

		if (kept == 0 || skx_score_compare_terms(last, &scorer->terms[i]) != 0)
		{
			scorer->terms[kept++] = scorer->terms[i];
			continue;
		}
		last->count = Min(last->count + 1, SKX_RANKING_COUNT_MAX);
		if (last->labels == 0 || scorer->terms[i].labels == 0)
			last->labels = 0;
		else
			last->labels |= scorer->terms[i].labels;
	}
	scorer->nterms = kept;
}

/* Returns the number of a word that the query does not negate. */
static int
skx_score_term_number(const SkxScorer *scorer, TSQuery query,
					  const QueryOperand *operand)
{
	SkxScoreTerm key;
	const SkxScoreTerm *found;

	skx_score_term_of(query, operand, &key);
	found = bsearch(&key, scorer->terms, scorer->nterms, sizeof(SkxScoreTerm),
					skx_score_compare_terms);
	Assert(found != NULL);
	return found - scorer->terms;
}

static void
skx_score_add_pair(SkxScorer *scorer, int first, int second)
{
	int			i;

	for (i = 0; i < scorer->npairs; i++)
	{
		if (scorer->pairs[i].first == first &&
			scorer->pairs[i].second == second)
			return;
	}
	scorer->pairs[scorer->npairs].first = first;
	scorer->pairs[scorer->npairs].second = second;
	scorer->pairs[scorer->npairs].weight = 0;
	scorer->npairs++;
}

static void
skx_score_gather_pairs(SkxScorer *scorer, TSQuery query, const bool *negated)
{
	const QueryItem *items = GETQUERY(query);
	int			last = -1;
	int			i;

	scorer->pairs = palloc0(sizeof(SkxScorePair) * SKX_RANKING_PAIRS_MAX);
	if (scorer->options.proximity <= 0)
		return;
	for (i = query->size - 1;
		 i >= 0 && scorer->npairs < SKX_RANKING_PAIRS_MAX; i--)
	{
		int			term = -1;

		if (items[i].type != QI_VAL)
			continue;
		if (!negated[i] && !items[i].qoperand.prefix)
			term = skx_score_term_number(scorer, query, &items[i].qoperand);
		if (last >= 0 && term >= 0 && last != term)
			skx_score_add_pair(scorer, last, term);
		last = term;
	}
}

/*
 * Rounds label weights to multiples of 1 / SKX_SCORE_LABEL_UNITS.  A weight
 * above zero stays above zero.
 */
static void
skx_score_round_labels(SkxScorer *scorer)
{
	int			i;

	scorer->max_label_weight = 1;
	scorer->is_unweighted = true;
	for (i = 0; i < 4; i++)
	{
		double		steps = rint(scorer->options.labels[i] *
								 SKX_SCORE_LABEL_UNITS);

		if (scorer->options.labels[i] > 0)
			steps = Max(steps, 1);
		scorer->options.labels[i] = steps / SKX_SCORE_LABEL_UNITS;
		scorer->is_unweighted &= scorer->options.labels[i] == 1;
		scorer->max_label_weight = Max(scorer->max_label_weight,
									   (float) scorer->options.labels[i]);
	}
}

/*
 * Sets scorer->inverses.  The last table is kept with the statistics, which
 * many queries use.  A scorer of a ranking may have no statistics.
 */
static void
skx_score_inverse(SkxScorer *scorer)
{
	SkxScoreInverse *kept;

	if (scorer->stats == NULL)
	{
		skx_rank_norm_inverses(&scorer->options, scorer->average,
							   scorer->inverses);
		return;
	}
	kept = &scorer->stats->inverse;
	if (!kept->made || kept->k1 != scorer->options.k1 ||
		kept->b != scorer->options.b || kept->average != scorer->average)
	{
		kept->made = true;
		kept->k1 = scorer->options.k1;
		kept->b = scorer->options.b;
		kept->average = scorer->average;
		skx_rank_norm_inverses(&scorer->options, kept->average, kept->table);
	}
	memcpy(scorer->inverses, kept->table, sizeof(scorer->inverses));
}

/* Finds the words of a side of a pair. */
static void
skx_score_find_side(const SkxRanking *ranking, const SkxScorePair *pair,
					bool is_second, SkxScoreSide *side)
{
	int			which = is_second ? pair->second : pair->first;
	int			i;

	side->n = 0;
	side->terms = palloc(sizeof(int) *
						 (which < 0 ? SKX_RANKING_GROUP_WORDS_MAX : 1));
	for (i = Max(which, 0); i < (which < 0 ? ranking->nterms : which + 1); i++)
	{
		if (ranking->terms[i].group == Max(-which, 0) &&
			skx_ranking_pair_counts(ranking, pair, i, is_second))
			side->terms[side->n++] = i;
	}
}

static void
skx_score_find_sides(SkxScorer *scorer, const SkxRanking *ranking)
{
	int			i;

	scorer->sides = palloc(sizeof(scorer->sides[0]) *
						   ((Size) scorer->npairs + 1));
	for (i = 0; i < scorer->npairs; i++)
	{
		skx_score_find_side(ranking, &scorer->pairs[i], false,
							&scorer->sides[i][0]);
		skx_score_find_side(ranking, &scorer->pairs[i], true,
							&scorer->sides[i][1]);
	}
}

/*
 * Computes what follows from the numbers of documents, their lengths, what is
 * known of each word, and the parameters.
 */
static void
skx_score_compute_scorer(SkxScorer *scorer)
{
	SkxRanking	ranking;

	while (scorer->nplain < scorer->nterms &&
		   !scorer->terms[scorer->nplain].prefix)
		scorer->nplain++;
	if (scorer->ndocs > 0)
		scorer->average = (double) scorer->length / scorer->ndocs;
	skx_score_inverse(scorer);
	skx_score_ranking(scorer, &ranking);
	scorer->score_units = skx_ranking_weigh(&ranking);
	skx_score_find_sides(scorer, &ranking);
}

/*
 * Reads the statistics of the index and of the other ones of `ref`, and finds
 * the n terms there.  A lexeme that is in several groups is looked up once.
 */
static void
skx_score_find(SkxScorerOpen *open, Relation index, const SkxRef *ref,
			   Snapshot snapshot, SkxScoreTerm *terms, int n)
{
	SkxScorer  *scorer = &open->scorer;
	SkxScoreTerm *once = terms;
	int			nonce = n;
	int			i;

	if (scorer->ngroups > 0)
	{
		once = palloc_extended(sizeof(SkxScoreTerm) * ((Size) n + 1),
							   MCXT_ALLOC_HUGE);
		for (i = nonce = 0; i < n; i++)
		{
			if (nonce == 0 || !skx_score_same_lexeme(&once[nonce - 1], &terms[i]))
				once[nonce++] = terms[i];
		}
	}
	scorer->stats = skx_score_stats(index, ref, snapshot);
	open->epoch = skx_score_stats_epoch();
	skx_score_words_find(scorer->stats, index, once, nonce, open->words);
	skx_score_stats_hold(scorer->stats);
	if (once == terms)
		return;
	/* from the last one on, since words move up */
	for (i = n - 1; i >= 0; i--)
	{
		while (!skx_score_same_lexeme(&once[nonce - 1], &terms[i]))
			nonce--;
		terms[i].sum = once[nonce - 1].sum;
		terms[i].whole = once[nonce - 1].whole;
		terms[i].only = once[nonce - 1].only;
		terms[i].only_len = once[nonce - 1].only_len;
		open->words[i] = open->words[nonce - 1];
	}
	pfree(once);
}

/* Returns memory for a pointer of each of n words, which are NULL. */
static const SkxScoreWord **
skx_score_no_words(int n)
{
	return palloc_extended(sizeof(SkxScoreWord *) * ((Size) n + 1),
						   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

SkxScorer *
skx_score_read_query(const SkxRankOptions *options, TSQuery query)
{
	SkxScorerOpen *open = palloc0(sizeof(SkxScorerOpen));
	SkxScorer  *scorer = &open->scorer;
	bool	   *negated = skx_score_negated(query);

	scorer->options = *options;
	skx_score_round_labels(scorer);
	skx_score_gather_terms(scorer, query, negated);
	skx_score_gather_pairs(scorer, query, negated);
	pfree(negated);
	return scorer;
}

void
skx_score_read_statistics(SkxScorer *scorer, Relation index, const SkxRef *ref,
						  Snapshot snapshot)
{
	SkxScorerOpen *open = (SkxScorerOpen *) scorer;

	open->words = skx_score_no_words(scorer->nterms);
	skx_score_find(open, index, ref, snapshot, scorer->terms, scorer->nterms);
	scorer->ndocs = skx_score_stats_ndocs(scorer->stats);
	scorer->length = skx_score_stats_length(scorer->stats);
	skx_score_compute_scorer(scorer);
}

SkxScorer *
skx_score_open(Relation index, const SkxRef *ref, Snapshot snapshot,
			   const SkxRankOptions *options, TSQuery query)
{
	SkxScorer  *scorer = skx_score_read_query(options, query);

	skx_score_read_statistics(scorer, index, ref, snapshot);
	return scorer;
}

/*
 * What the index knows of the terms goes into a copy, which is not used.
 * Indexes that would be counted with it are of no use here.
 */
SkxScorer *
skx_score_open_ranking(Relation index, Snapshot snapshot,
					   const SkxRanking *ranking)
{
	SkxScorerOpen *open = palloc0(sizeof(SkxScorerOpen));
	SkxScorer  *scorer = &open->scorer;
	Size		terms = sizeof(SkxScoreTerm) * ((Size) ranking->nterms + 1);

	scorer->options = ranking->options;
	skx_score_round_labels(scorer);
	scorer->nterms = ranking->nterms;
	scorer->terms = palloc_extended(terms, MCXT_ALLOC_HUGE);
	memcpy(scorer->terms, ranking->terms,
		   sizeof(SkxScoreTerm) * ranking->nterms);
	scorer->ngroups = ranking->ngroups;
	scorer->groups = palloc(sizeof(SkxRankingGroup) *
							((Size) ranking->ngroups + 1));
	memcpy(scorer->groups, ranking->groups,
		   sizeof(SkxRankingGroup) * ranking->ngroups);
	scorer->npairs = scorer->options.proximity > 0 ? ranking->npairs : 0;
	scorer->pairs = palloc(sizeof(SkxScorePair) * SKX_RANKING_PAIRS_MAX);
	memcpy(scorer->pairs, ranking->pairs,
		   sizeof(SkxScorePair) * scorer->npairs);
	scorer->ndocs = ranking->ndocs;
	scorer->length = ranking->length;
	open->words = skx_score_no_words(scorer->nterms);
	if (index != NULL && skx_score_is_plain(index))
	{
		SkxScoreTerm *found = palloc_extended(terms, MCXT_ALLOC_HUGE);

		memcpy(found, scorer->terms, sizeof(SkxScoreTerm) * scorer->nterms);
		skx_score_find(open, index, NULL, snapshot, found, scorer->nterms);
		pfree(found);
	}
	skx_score_compute_scorer(scorer);
	return scorer;
}

void
skx_score_among(SkxScorer *scorer, Relation index,
				const SkxCondition *condition)
{
	SkxScoreAmong among = {.condition = condition};

	skx_score_words_find_among(scorer->stats, index, scorer->terms,
							   scorer->nterms, &among);
	scorer->ndocs = among.ndocs;
	scorer->length = among.length;
}

bool
skx_score_is_current(const SkxScorer *scorer, Snapshot snapshot)
{
	return skx_score_stats_current(scorer->stats,
								   ((const SkxScorerOpen *) scorer)->epoch,
								   snapshot);
}

const SkxTerm *
skx_score_found_term(const SkxScorer *scorer, int term, int segment)
{
	const SkxScorerOpen *open = (const SkxScorerOpen *) scorer;
	const SkxScoreWord *word = open->words[term];

	if (word->found[segment] == NULL)
		return &skx_score_nothing;
	return word->found[segment];
}

const uint8 *
skx_score_word_pending_tfs(const SkxScorer *scorer, int term)
{
	const SkxScoreWord *word = ((const SkxScorerOpen *) scorer)->words[term];

	return word == NULL ? NULL : word->pending_tfs;
}

bool
skx_score_has_found(const SkxScorer *scorer)
{
	const SkxScorerOpen *open = (const SkxScorerOpen *) scorer;
	int			i;

	for (i = 0; i < scorer->nplain; i++)
		if (open->words[i] == NULL || open->words[i]->found == NULL)
			return false;
	return true;
}
