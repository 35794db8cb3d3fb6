/*
 * cost_model.c
 *	  Computes the work of a query from document frequencies.
 *
 * A query is a tree of sets.  A set can be traversed, or probed for documents
 * that another set yields.  A conjunction takes the cheaper way, and never
 * pays more for probing than a traversal would cost.  Words are taken to be
 * independent, except in `likely` and `among`.
 *
 * A search for the k best rows skips what cannot be among them.  At least k
 * documents reach the k-th largest contribution of a word.  So words whose
 * largest contributions do not add up to it yield no candidates, and their
 * lists are only probed.  In a traversed list, sub-blocks are skipped by their
 * maxima.  The share that must be read is modelled as balls that fall into
 * bins at random.  There is one ball for each of the k best, and one for each
 * posting whose bound looks as good.  Each sub-block that a ball hits is read.
 * Its documents become candidates if they are better than the k-th best so
 * far.  If scores come in random order, these are k (1 + ln (all / k)).
 *
 * The constants are in units of cpu_operator_cost.  A unit is taken for some
 * 6.5 ns, which fits the planner's price of a page that is in memory.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include <math.h>

#include "format/codec/codec.h"
#include "sql/cost/cost_model.h"

/* Work of traversing a list, for each posting. */
#define SKX_COST_POSTING	0.2

/* Work of probing for a document, and of decoding a sub-block for it. */
#define SKX_COST_ASK		2.0
#define SKX_COST_DECODE		12.0

/*
 * Work of reading each key in sequence, of probing for one key, and of
 * reading the list of a value.
 */
#define SKX_COST_KEY		0.12
#define SKX_COST_KEY_ASK	2.0
#define SKX_COST_VALUE		8.0

/* Keys of a column on one page of BLCKSZ. */
#define SKX_COST_PAGE_KEYS	3000.0

/*
 * Work of comparing the positions of a phrase in a document, for all of its
 * words together.
 */
#define SKX_COST_POSITIONS	14.0

/*
 * How many documents have two words, for each one that has them as a phrase;
 * and how many have a phrase and one more word, for each one in which that
 * word continues the phrase.  The second ratio is smaller, since a phrase with
 * further words hardly occurs by chance.
 */
#define SKX_COST_PHRASE_PAIR	8.0
#define SKX_COST_PHRASE_MORE	2.0

/* Work of opening one of many lists that are traversed to their ends. */
#define SKX_COST_LIST		38.0

/* Additional work if the positions of its term are read as well: 1 us. */
#define SKX_COST_PLACES		150.0

/* Work of computing the contribution of a posting to a score. */
#define SKX_COST_SCORE		1.2

/* Work for each document if a sum is kept for every one. */
#define SKX_COST_SUM		0.05

/*
 * Work of comparing a candidate, and of reading the positions of its pairs of
 * words.
 */
#define SKX_COST_CANDIDATE	12.0
#define SKX_COST_PAIRS		60.0

/* Work of sorting a row into the result. */
#define SKX_COST_KEEP		15.0

/*
 * Numbers of balls in the model of the sub-blocks that are read.  ONE is added
 * to k if one word decides.  MANY is multiplied by the square root of k if the
 * bounds of several words are added up.  If pairs of words loosen the bounds,
 * the number grows by PAIRS times the proximity, as a share.
 */
#define SKX_COST_BALLS_ONE	8.0
#define SKX_COST_BALLS_MANY	250.0
#define SKX_COST_BALLS_PAIRS	2.0

/*
 * With pairs, the number of candidates grows by a power of all / k.  The
 * exponent is 0.5 at this proximity, and about proportional to smaller ones.
 */
#define SKX_COST_PAIRS_HALF	0.85

/* Documents for which lists are probed, for each candidate. */
#define SKX_COST_ASKED		10.0

static SkxCostSet
skx_cost_model_word(double df)
{
	SkxCostSet	set;

	set.docs = df;
	set.likely = df;
	set.among = df;
	set.lead = df;
	set.work = df * SKX_COST_POSTING;
	set.pages = df / SKX_COST_PAGE_POSTINGS;
	set.lists = df > 0 ? 1 : 0;
	set.ask = set.lists * SKX_COST_ASK;
	set.decode = set.lists * SKX_COST_DECODE;
	set.span = 1;
	set.phrase = false;
	return set;
}

/*
 * The documents are found by reading keys, or by the lists of their values, of
 * which there are at most `docs`.
 */
SkxCostSet
skx_cost_model_keys(double docs, double met, double ndocs)
{
	SkxCostSet	set;

	set.docs = docs;
	set.likely = docs;
	set.among = docs;
	set.lead = docs;
	set.work = Min(met * SKX_COST_KEY, docs * SKX_COST_VALUE);
	set.pages = met / SKX_COST_PAGE_KEYS;
	set.lists = docs > 0 ? 1 : 0;
	set.ask = set.lists * SKX_COST_KEY_ASK;
	set.decode = 0;
	set.span = ndocs > 0 ? Min(met / ndocs, 1) : 1;
	set.phrase = false;
	return set;
}

double
skx_cost_model_gathered(double lists, double postings, bool places)
{
	return lists * (SKX_COST_LIST + (places ? SKX_COST_PLACES : 0)) +
		postings * SKX_COST_POSTING;
}

/*
 * Returns the work of probing a set for n documents that lie within a share
 * `span` of all.  It never decodes more than that share of the set, and the
 * sub-block in which the share begins.
 */
static double
skx_cost_model_asked(const SkxCostSet *set, double n, double span)
{
	return n * set->ask +
		Min(n * set->decode, Min(set->decode + span * set->work, set->work));
}

static double
skx_cost_model_asked_pages(const SkxCostSet *set, double n, double span)
{
	return Min(n * set->lists,
			   Min(set->lists + span * set->pages, set->pages));
}

/*
 * Returns the likely size of the conjunction of sets of a and b documents.
 * Words of one query tend to be in the same documents.  So it is the smaller
 * size, times the square root of the larger one's share of all documents.  On
 * enwiki this gives 1.8 times too many (median), where independence gives 1.5
 * times too few, and 7 times too few in one of 20 queries.
 */
static double
skx_cost_model_together(double a, double b, double ndocs)
{
	if (ndocs <= 0)
		return 0;
	return Min(a, b) * sqrt(Min(Max(a, b) / ndocs, 1));
}

/*
 * Returns the conjunction of two sets if `lead` is traversed and `other` is
 * probed for each of its documents.
 */
static SkxCostSet
skx_cost_model_filter(const SkxCostSet *lead, const SkxCostSet *other,
					  double ndocs)
{
	SkxCostSet	set;
	double		share = ndocs > 0 ? Min(lead->docs / ndocs, 1) : 0;

	set.docs = share * other->docs;
	set.likely = skx_cost_model_together(lead->likely, other->likely, ndocs);
	set.among = sqrt(set.docs * set.likely);
	set.lead = lead->lead;
	set.work = lead->work +
		skx_cost_model_asked(other, lead->docs, lead->span);
	set.pages = lead->pages +
		skx_cost_model_asked_pages(other, lead->docs, lead->span);
	set.ask = lead->ask + share * other->ask;
	set.decode = lead->decode + share * other->decode;
	set.lists = lead->lists + share * other->lists;
	set.span = Min(lead->span, other->span);
	set.phrase = false;
	return set;
}

SkxCostSet
skx_cost_model_both(const SkxCostSet *a, const SkxCostSet *b, double ndocs)
{
	SkxCostSet	one = skx_cost_model_filter(a, b, ndocs);
	SkxCostSet	two = skx_cost_model_filter(b, a, ndocs);

	return one.work <= two.work ? one : two;
}

/*
 * Returns how many documents are in one or both of two independent sets.
 */
static double
skx_cost_model_union(double a, double b, double ndocs)
{
	return Max(a + b - (ndocs > 0 ? a * b / ndocs : 0), 0);
}

static SkxCostSet
skx_cost_model_either(const SkxCostSet *a, const SkxCostSet *b, double ndocs)
{
	SkxCostSet	set;

	set.docs = skx_cost_model_union(a->docs, b->docs, ndocs);
	set.likely = set.among = skx_cost_model_union(a->among, b->among, ndocs);
	set.lead = a->lead + b->lead;
	set.work = a->work + b->work;
	set.pages = a->pages + b->pages;
	set.ask = a->ask + b->ask;
	set.decode = a->decode + b->decode;
	set.lists = a->lists + b->lists;
	set.span = Min(a->span + b->span, 1);
	set.phrase = false;
	return set;
}

static SkxCostSet
skx_cost_model_phrase(const SkxCostSet *a, const SkxCostSet *b, double ndocs)
{
	SkxCostSet	set = skx_cost_model_both(a, b, ndocs);
	double		share = ndocs > 0 ? Min(set.docs / ndocs, 1) : 0;
	double		rarity = a->phrase || b->phrase ? SKX_COST_PHRASE_MORE :
		SKX_COST_PHRASE_PAIR;

	set.work += set.docs * SKX_COST_POSITIONS;
	set.pages += Min(2 * set.docs, set.pages);
	set.ask += share * SKX_COST_POSITIONS;
	set.docs /= rarity;
	set.likely /= rarity;
	set.among /= rarity;
	set.phrase = true;
	return set;
}

int
skx_cost_model_depth(const SkxCostItem *items, int n)
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

SkxCostSet
skx_cost_model_match(const SkxCostItem *items, int n, double ndocs,
					 SkxCostSet *sets)
{
	SkxCostSet *top = sets - 1;
	int			i;

	/* From back to front, the order is left operand, right one, operator. */
	for (i = n - 1; i >= 0; i--)
	{
		switch (items[i].kind)
		{
			case SKX_COST_NOT:
				top->docs = Max(ndocs - top->docs, 0);
				top->likely = Max(ndocs - top->likely, 0);
				top->among = Max(ndocs - top->among, 0);
				top->lead = ndocs;
				top->work += ndocs * SKX_COST_POSTING;
				top->span = 1;
				top->phrase = false;
				break;
			case SKX_COST_AND:
				top--;
				*top = skx_cost_model_both(top, top + 1, ndocs);
				break;
			case SKX_COST_OR:
				top--;
				*top = skx_cost_model_either(top, top + 1, ndocs);
				break;
			case SKX_COST_PHRASE:
				top--;
				*top = skx_cost_model_phrase(top, top + 1, ndocs);
				break;
			default:
				top++;
				*top = skx_cost_model_word(Min(items[i].df, ndocs));
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
skx_cost_model_reached(const SkxCostWord *word, double k, bool evenly)
{
	static const uint32 ks[SKX_NKTHS] = SKX_KTHS;
	double		before = word->most;
	double		from = 1;
	int			i;

	if (k > word->df)
		return 0;
	for (i = 0; i < SKX_NKTHS && word->df >= ks[i]; i++)
	{
		if (word->kth[i] <= 0)
			break;
		if (k <= ks[i])
			return before - (before - word->kth[i]) * log(k / from) /
				log(ks[i] / from);
		before = word->kth[i];
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
skx_cost_model_essential(const SkxCostRanked *ranked, int which,
						 double threshold)
{
	const SkxCostWord *words = ranked->words;
	double		reach = words[which].most;
	int			i;

	for (i = 0; i < ranked->nwords && reach < threshold; i++)
	{
		if (words[i].df > words[which].df ||
			(words[i].df == words[which].df && i > which))
			reach += words[i].most;
	}
	return reach >= threshold;
}

/*
 * Returns the share of the sub-blocks of n postings that may have one of the k
 * best of `all` documents.
 */
static double
skx_cost_model_left(const SkxCostRanked *ranked, double k, double n, double all)
{
	double		balls = k + SKX_COST_BALLS_ONE;

	if (n <= 0)
		return 0;
	balls *= Max(n / Max(all, 1), 1);
	if (ranked->nwords > 1 || ranked->others > 0)
		balls = Max(balls, sqrt(k) * SKX_COST_BALLS_MANY);
	if (ranked->paired > 0)
		balls *= 1 + ranked->proximity * SKX_COST_BALLS_PAIRS;
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
	if (ranked->paired > 0)
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
		threshold = Max(threshold, skx_cost_model_reached(&ranked->words[i], k,
														  false));
	for (essential = 1; essential >= 0; essential--)
	{
		for (i = 0; i < ranked->nwords; i++)
		{
			double		df = ranked->words[i].df;
			SkxCostSet	set = skx_cost_model_word(df);
			double		left = skx_cost_model_left(ranked, k, df, df);
			double		asked = Min(scored, candidates * SKX_COST_ASKED);
			double		through = left * (set.work + df * SKX_COST_SCORE);
			double		touched = left * set.pages;

			if (skx_cost_model_essential(ranked, i, threshold) != essential)
				continue;
			if (essential)
				scored += left * df;
			else
			{
				through = Min(through, skx_cost_model_asked(&set, asked, 1));
				touched = Min(touched, skx_cost_model_asked_pages(&set, asked, 1));
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
	const SkxCostSet *match = &ranked->match;
	double		left = k >= all ? 1 :
		skx_cost_model_left(ranked, k, match->lead, all);
	double		through = match->lead * SKX_COST_POSTING;
	double		scored = left * match->lead;
	double		candidates = skx_cost_model_candidates(ranked, k, all);
	double		asked = Min(scored, candidates * SKX_COST_ASKED);

	*work += left * through + scored * SKX_COST_SCORE +
		asked * ranked->others * SKX_COST_ASK;
	if (k >= all)
		asked = scored;
	if (match->lead > 0)
		*work += Max(match->work - through, 0) * asked / match->lead;
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
	const SkxCostSet *match = &ranked->match;
	double		candidates = skx_cost_model_candidates(ranked, k, all);
	double		through = ranked->postings *
		(SKX_COST_POSTING + SKX_COST_SCORE) + ranked->ndocs * SKX_COST_SUM;
	double		asked = match->work +
		match->docs * ranked->many * SKX_COST_ASK;

	if (!ranked->any)
		through += Min(candidates * SKX_COST_ASKED, ranked->ndocs) * match->ask;
	*work += ranked->any ? through : Min(through, asked);
	*pages += ranked->postings / SKX_COST_PAGE_POSTINGS;
	return candidates;
}

double
skx_cost_model_findable(const SkxCostRanked *ranked)
{
	double		any = ranked->many > 0 ? ranked->postings : 0;
	int			i;

	for (i = 0; i < ranked->nwords && ranked->many == 0; i++)
		any += ranked->words[i].df;
	if (ranked->others > 0 && !ranked->any && ranked->ndocs > 0)
		return ranked->match.docs * Min(any / ranked->ndocs, 1);
	return Min(any, ranked->match.docs);
}

/*
 * Returns the largest k at which the contributions that the k best postings of
 * each word reach add up to the score; 0 if not even the best ones do.
 */
static double
skx_cost_model_reaching(const SkxCostWord *words, int nwords, double score)
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
			sum += skx_cost_model_reached(&words[i], exp(k), true);
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
skx_cost_model_above(const SkxCostRanked *ranked, double score)
{
	double		together = skx_cost_model_reaching(ranked->words,
												   ranked->nwords, score);
	double		alone = 0;
	int			i;

	for (i = 0; i < ranked->nwords; i++)
		alone += skx_cost_model_reaching(&ranked->words[i], 1, score);
	return Min(cbrt(together * together * Max(alone, 1)),
			   skx_cost_model_findable(ranked));
}

/* Adds the work and pages of one search for the k best of `all` rows. */
static void
skx_cost_model_search(const SkxCostRanked *ranked, double k, double all,
					  double *work, double *pages)
{
	double		candidates;

	if (ranked->many > 0)
		candidates = skx_cost_model_search_many(ranked, k, all, work, pages);
	else if (ranked->any)
		candidates = skx_cost_model_search_any(ranked, k, work, pages);
	else
		candidates = skx_cost_model_search_all(ranked, k, all, work, pages);
	*work += candidates * SKX_COST_CANDIDATE + Min(k, all) * SKX_COST_KEEP;
	*work += Min(candidates, ranked->paired) * SKX_COST_PAIRS;
}

void
skx_cost_model_best(const SkxCostRanked *ranked, double first, double k,
					double growth, double *work, double *pages)
{
	double		all = skx_cost_model_findable(ranked);
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
