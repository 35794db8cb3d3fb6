/*
 * cost_model.c
 *	  Computes the work of a query from document frequencies.
 *
 * A query is a tree of sets (read/estimate/).  A search for the k best rows
 * skips what cannot be among them.  At least k documents reach the k-th
 * largest contribution of a word.  So words whose largest contributions do not
 * add up to it yield no candidates, and their lists are only probed.  In a
 * traversed list, sub-blocks are skipped by their maxima.  The share that must
 * be read is modelled as balls that fall into bins at random.  There is one
 * ball for each of the k best, and one for each posting whose bound looks as
 * good.  Each sub-block that a ball hits is read.  Its documents become
 * candidates if they are better than the k-th best so far.  If scores come in
 * random order, these are k (1 + ln (all / k)).
 *
 * Times are in ns.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include <math.h>

#include "format/codec/codec.h"
#include "sql/cost/cost_model.h"

/* Time to look a document up in the list of a word that is scored. */
#define SKX_COST_PROBE_NS		13.0

/* Time to compute the contribution of a posting to a score. */
#define SKX_COST_SCORE_NS		8.0

/* Time for each document if a sum is kept for every one. */
#define SKX_COST_SUM_NS		0.3

/*
 * Time to compare a candidate, and to read the positions of its pairs of
 * words.
 */
#define SKX_COST_CANDIDATE_NS	78.0
#define SKX_COST_PAIRS_NS		390.0

/* Time to sort a row into the result. */
#define SKX_COST_KEEP_ROW_NS		100.0

/*
 * How many sub-blocks are read is computed as for balls that fall into bins at
 * random: the sub-blocks are the bins, and one with a ball is read.  For one
 * word there are k balls and ONE_WORD more.  For more words, whose bounds are
 * added up, there are at least MORE_WORDS times the square root of k.  Pairs
 * of words loosen the bounds: then the number of balls is multiplied by 1 +
 * PAIRS * proximity.
 */
#define SKX_COST_ONE_WORD_BALLS		8.0
#define SKX_COST_MORE_WORDS_BALLS	250.0
#define SKX_COST_PAIRS_BALLS		2.0

/*
 * With pairs, the number of candidates grows by a power of all / k.  The
 * exponent is 0.5 at this proximity, and about proportional to smaller ones.
 */
#define SKX_COST_PAIRS_HALF	0.85

/* Documents for which lists are probed, for each candidate. */
#define SKX_COST_CANDIDATE_PROBES		10.0

int
skx_cost_model_stack_size(const SkxCostItem *items, int n)
{
	int			depth = 0;
	int			most = 0;
	int			i;

	for (i = n - 1; i >= 0; i--)
	{
		if (items[i].kind == SKX_COST_WORD)
			depth++;
		else if (items[i].kind != SKX_COST_NOT)
			depth--;
		most = Max(most, depth);
	}
	return most;
}

SkxEstimate
skx_cost_model_match(const SkxCostItem *items, int n, double ndocs,
					 SkxEstimate *sets)
{
	SkxEstimate *top = sets - 1;
	int			i;

	/* From back to front, the order is left operand, right one, operator. */
	for (i = n - 1; i >= 0; i--)
	{
		switch (items[i].kind)
		{
			case SKX_COST_NOT:
				*top = skx_estimate_not(top, ndocs);
				break;
			case SKX_COST_AND:
				top--;
				*top = skx_estimate_and(top, top + 1, ndocs);
				break;
			case SKX_COST_OR:
				top--;
				*top = skx_estimate_or(top, top + 1, ndocs);
				break;
			case SKX_COST_PHRASE:
				top--;
				*top = skx_estimate_phrase(top, top + 1, ndocs);
				break;
			default:
				top++;
				*top = skx_estimate_word(Min(items[i].df, ndocs), ndocs);
				break;
		}
	}
	return sets[0];
}

/*
 * Returns the contribution that the k best postings of a word reach.  Between
 * the ranks that are known, it falls with the logarithm of k.  Beyond the last
 * of them it falls to 0 at rank df, in the same way or, with `evenly`,
 * linearly.  The latter estimates better how many postings reach a
 * contribution, since most contributions are not far from the best ones.
 */
static double
skx_cost_model_kth_contribution(const SkxCostWord *word, double k, bool evenly)
{
	static const uint32 ks[SKX_NKTH_BEST] = SKX_KTH_BEST_RANKS;
	double		before = word->max_contribution;
	double		from = 1;
	int			i;

	if (k > word->df)
		return 0;
	for (i = 0; i < SKX_NKTH_BEST && word->df >= ks[i]; i++)
	{
		if (word->kth_contribution[i] <= 0)
			break;
		if (k <= ks[i])
			return before - (before - word->kth_contribution[i]) *
				log(k / from) /
				log(ks[i] / from);
		before = word->kth_contribution[i];
		from = ks[i];
	}
	if (word->df <= from)
		return before;
	if (evenly)
		return before * (1 - (k - from) / (word->df - from));
	return before * (1 - log(k / from) / log(word->df / from));
}

/*
 * Returns true if a document can be among the best by the contributions of
 * this word and of more frequent words alone.
 */
static bool
skx_cost_model_is_essential(const SkxCostRanked *ranked, int which,
							double threshold)
{
	const SkxCostWord *words = ranked->words;
	double		reach = words[which].max_contribution;
	int			i;

	for (i = 0; i < ranked->nwords && reach < threshold; i++)
	{
		if (words[i].df > words[which].df ||
			(words[i].df == words[which].df && i > which))
			reach += words[i].max_contribution;
	}
	return reach >= threshold;
}

/*
 * Returns the share of the sub-blocks of n postings that may have one of the k
 * best of `all` documents.
 */
static double
skx_cost_model_subblock_fraction(const SkxCostRanked *ranked, double k,
								 double n, double all)
{
	double		balls = k + SKX_COST_ONE_WORD_BALLS;

	if (n <= 0)
		return 0;
	balls *= Max(n / Max(all, 1), 1);
	if (ranked->nwords > 1 || ranked->other_words > 0)
		balls = Max(balls, sqrt(k) * SKX_COST_MORE_WORDS_BALLS);
	if (ranked->pair_docs > 0)
		balls *= 1 + ranked->proximity * SKX_COST_PAIRS_BALLS;
	return 1 - exp(-balls * SKX_SUBBLOCK / n);
}

/* Returns how many of n documents become candidates for the k best. */
static double
skx_cost_model_candidates(const SkxCostRanked *ranked, double k, double n)
{
	double		candidates;

	if (k >= n)
		return n;
	candidates = k * (1 + log(n / k));
	if (ranked->pair_docs > 0)
		candidates *= pow(n / k, ranked->proximity /
						  (ranked->proximity + SKX_COST_PAIRS_HALF));
	return Min(candidates, n);
}

/*
 * Models a search for documents with any of the words.  The lists of essential
 * words are traversed.  Those of the others are then probed for the documents
 * found, or traversed if that is less work.  Adds to *work and *pages and
 * returns the number of candidates.
 */
static double
skx_cost_model_search_any(const SkxCostRanked *ranked, double k, double *work,
						  double *pages)
{
	double		threshold = 0;
	double		scored = 0;
	double		candidates = 0;
	int			essential;
	int			i;

	for (i = 0; i < ranked->nwords; i++)
		threshold = Max(threshold,
						skx_cost_model_kth_contribution(&ranked->words[i], k,
														false));
	for (essential = 1; essential >= 0; essential--)
	{
		for (i = 0; i < ranked->nwords; i++)
		{
			double		df = ranked->words[i].df;
			SkxEstimate set = skx_estimate_word(df, ranked->ndocs);
			double		left = skx_cost_model_subblock_fraction(ranked, k, df,
																df);
			double		asked = Min(scored,
									candidates * SKX_COST_CANDIDATE_PROBES);
			double		through = left *
				(set.find_time + df * SKX_COST_SCORE_NS);
			double		touched = left * set.pages;

			if (skx_cost_model_is_essential(ranked, i, threshold) != essential)
				continue;
			if (essential)
				scored += left * df;
			else
			{
				through = Min(through,
							  skx_estimate_probe_time(&set, asked, 1));
				touched = Min(touched,
							  skx_estimate_probe_pages(&set, asked, 1));
			}
			*work += through;
			*pages += touched;
		}
		if (essential)
			candidates = skx_cost_model_candidates(ranked, k, scored);
	}
	return candidates;
}

/*
 * Models a search for documents that match conditions.  Documents of the
 * leading clause are scored.  Those that are good enough, or all if no more
 * than k match, are looked up in the other clauses and in the lists of further
 * words.  Adds to *work and *pages and returns the number of candidates.
 */
static double
skx_cost_model_search_all(const SkxCostRanked *ranked, double k, double all,
						  double *work, double *pages)
{
	const SkxEstimate *match = &ranked->match;
	double		left = k >= all ? 1 :
		skx_cost_model_subblock_fraction(ranked, k, match->lead_postings, all);
	double		through = match->lead_postings * SKX_ESTIMATE_POSTING_NS;
	double		scored = left * match->lead_postings;
	double		candidates = skx_cost_model_candidates(ranked, k, all);
	double		asked = Min(scored, candidates * SKX_COST_CANDIDATE_PROBES);

	*work += left * through + scored * SKX_COST_SCORE_NS +
		asked * ranked->other_words * SKX_COST_PROBE_NS;
	if (k >= all)
		asked = scored;
	if (match->lead_postings > 0)
		*work += Max(match->find_time - through,
					 0) * asked / match->lead_postings;
	*pages += left * match->pages;
	return candidates;
}

/*
 * Models a search with very many words.  All of their postings are scored, and
 * a sum is kept for each document.  With conditions, each match is looked up
 * in all lists instead if that is less work.  Adds to *work and *pages and
 * returns the number of candidates.
 */
static double
skx_cost_model_search_many(const SkxCostRanked *ranked, double k, double all,
						   double *work, double *pages)
{
	const SkxEstimate *match = &ranked->match;
	double		candidates = skx_cost_model_candidates(ranked, k, all);
	double		through = ranked->postings *
		(SKX_ESTIMATE_POSTING_NS + SKX_COST_SCORE_NS) + ranked->ndocs *
		SKX_COST_SUM_NS;
	double		asked = match->find_time +
		match->docs * ranked->nmany_words * SKX_COST_PROBE_NS;

	if (!ranked->matches_any_word)
		through += Min(candidates * SKX_COST_CANDIDATE_PROBES,
					   ranked->ndocs) * match->probe_time;
	*work += ranked->matches_any_word ? through : Min(through, asked);
	*pages += ranked->postings / SKX_ESTIMATE_PAGE_POSTINGS;
	return candidates;
}

double
skx_cost_model_scored_matches(const SkxCostRanked *ranked)
{
	double		any = ranked->nmany_words > 0 ? ranked->postings : 0;
	int			i;

	for (i = 0; i < ranked->nwords && ranked->nmany_words == 0; i++)
		any += ranked->words[i].df;
	if (ranked->other_words > 0 && !ranked->matches_any_word &&
		ranked->ndocs > 0)
		return ranked->match.docs * Min(any / ranked->ndocs, 1);
	return Min(any, ranked->match.docs);
}

/*
 * Returns the largest k at which the contributions that the k best postings of
 * each word reach add up to the score; 0 if not even the best ones do.
 */
static double
skx_cost_model_rank_reaching(const SkxCostWord *words, int nwords,
							 double score)
{
	double		low = -1;
	double		high = 0;
	double		k = 0;
	int			steps;
	int			i;

	for (i = 0; i < nwords; i++)
		high = Max(high, log(Max(words[i].df, 1)));
	for (steps = 0; steps < 32 && low < high; steps++)
	{
		double		sum = 0;

		for (i = 0; i < nwords; i++)
			sum += skx_cost_model_kth_contribution(&words[i], exp(k), true);
		if (sum >= score)
			low = k;
		else if (k == 0)
			return 0;
		else
			high = k;
		k = (low + high) / 2;
	}
	return exp(low);
}

/*
 * The lower limit is the number of documents in which one word alone reaches
 * the score.  The upper one is their number if the best postings of all words
 * were in the same documents.  The result is a geometric mean of both, in
 * which the upper one has two thirds of the weight.
 */
double
skx_cost_model_count_above(const SkxCostRanked *ranked, double score)
{
	double		together = skx_cost_model_rank_reaching(ranked->words,
														ranked->nwords, score);
	double		alone = 0;
	int			i;

	for (i = 0; i < ranked->nwords; i++)
		alone += skx_cost_model_rank_reaching(&ranked->words[i], 1, score);
	return Min(cbrt(together * together * Max(alone, 1)),
			   skx_cost_model_scored_matches(ranked));
}

/* Adds the work and pages of one search for the k best of `all` rows. */
static void
skx_cost_model_search(const SkxCostRanked *ranked, double k, double all,
					  double *work, double *pages)
{
	double		candidates;

	if (ranked->nmany_words > 0)
		candidates = skx_cost_model_search_many(ranked, k, all, work, pages);
	else if (ranked->matches_any_word)
		candidates = skx_cost_model_search_any(ranked, k, work, pages);
	else
		candidates = skx_cost_model_search_all(ranked, k, all, work, pages);
	*work += candidates * SKX_COST_CANDIDATE_NS + Min(k, all) *
		SKX_COST_KEEP_ROW_NS;
	*work += Min(candidates, ranked->pair_docs) * SKX_COST_PAIRS_NS;
}

void
skx_cost_model_best(const SkxCostRanked *ranked, double first, double k,
					double growth, double *work, double *pages)
{
	double		all = skx_cost_model_scored_matches(ranked);
	double		pages_once;

	*work = *pages = 0;
	first = Max(first, 1);
	for (;;)
	{
		pages_once = 0;
		skx_cost_model_search(ranked, Min(first, k), all, work, &pages_once);
		*pages = Max(*pages, pages_once);
		if (first >= k || first >= all)
			break;
		first *= growth;
	}
}
