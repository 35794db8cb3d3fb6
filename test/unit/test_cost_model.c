/*
 * test_cost_model.c
 *	  The work of queries: what must grow with what, on random queries, and the
 *	  size of it where that is known.
 *
 * Holds: cost 1; estimate 1, 2; rank 1
 */
#include "unit.h"

#include <math.h>

#include "sql/cost/cost_model.h"

#define NDOCS		1000000.0
#define ITEMS_MAX	64
#define WORDS_MAX	8
#define GROWTH		16

static SkxCostItem items[ITEMS_MAX];
static SkxEstimate sets[ITEMS_MAX + 1];
static int	nitems;

static int
word(double df)
{
	items[nitems].kind = SKX_COST_WORD;
	items[nitems].df = df;
	return nitems++;
}

static int
operator(SkxCostKind kind)
{
	items[nitems].kind = kind;
	items[nitems].df = 0;
	return nitems++;
}

static SkxEstimate
match(void)
{
	int			depth = skx_cost_model_stack_size(items, nitems);
	SkxEstimate set;

	/* No more room is used than was asked for. */
	CHECK(depth >= 1 && depth <= nitems);
	memset(&sets[depth], 0x5A, sizeof(SkxEstimate));
	set = skx_cost_model_match(items, nitems, NDOCS, sets);
	CHECK(*(unsigned char *) &sets[depth] == 0x5A);
	nitems = 0;
	return set;
}

static SkxEstimate
two(SkxCostKind kind, double a, double b)
{
	operator(kind);
	word(b);
	word(a);
	return match();
}

/* As many documents as a uniform logarithm gives, up to all. */
static double
random_df(void)
{
	return floor(exp(log(NDOCS) * (double) unit_below(100001) / 100000));
}

static void
random_tree(int depth, int nkinds)
{
	static const SkxCostKind kinds[] = {SKX_COST_AND, SKX_COST_OR,
	SKX_COST_PHRASE, SKX_COST_NOT};
	SkxCostKind kind = kinds[unit_below(nkinds)];

	if (depth == 0 || unit_below(4) == 0)
	{
		word(unit_below(10) == 0 ? 0 : random_df());
		return;
	}
	operator(kind);
	random_tree(depth - 1, nkinds);
	if (kind == SKX_COST_NOT)
		return;
	random_tree(depth - 1, nkinds);
}

static bool
sane(const SkxEstimate *set)
{
	return set->docs >= 0 && set->docs <= NDOCS * (1 + 1e-9) &&
		set->lead_postings >= 0 && set->find_time >= 0 && set->pages >= 0 &&
		set->probe_time >= 0 && isfinite(set->find_time) &&
			isfinite(set->pages) &&
		isfinite(set->probe_time);
}

/*
 * Whatever the tree: all numbers are some; without postings there is no work,
 * unless there are negations.
 */
static void
test_trees(void)
{
	int			i;
	int			k;

	for (i = 0; i < 20000; i++)
	{
		int			nkinds = 3 + unit_below(2);
		int			n;
		SkxEstimate all;

		nitems = 0;
		random_tree((int) unit_below(6), nkinds);
		n = nitems;
		all = match();
		CHECK(sane(&all));
		for (k = 0; k < n; k++)
			items[k].df = 0;
		nitems = n;
		all = match();
		CHECK(nkinds == 4 || (all.find_time == 0 && all.docs == 0));
	}
}

/* Which clause leads, and that the other one is asked or gone through. */
static void
test_conjunctions(void)
{
	SkxEstimate rare = (word(100), match());
	SkxEstimate common = (word(300000), match());
	SkxEstimate both = two(SKX_COST_AND, 100, 300000);
	SkxEstimate other = two(SKX_COST_AND, 300000, 100);
	SkxEstimate dense = two(SKX_COST_AND, 300000, 300000);

	CHECK(both.find_time == other.find_time && both.pages == other.pages);
	CHECK(both.docs == 30 && both.lead_postings == 100 &&
		  other.lead_postings == 100);
	CHECK(both.find_time > rare.find_time + 100 * common.probe_time);
	CHECK(both.find_time < common.find_time / 10);
	CHECK(both.pages == rare.pages + common.pages);
	CHECK(dense.docs == 90000);
	CHECK(dense.find_time == 2 * common.fill_time &&
		  dense.find_time < 2 * common.find_time);
	CHECK(dense.pages == 2 * common.pages);

	/* A document of a long list is on one of its pages. */
	both = two(SKX_COST_AND, 3, 900000);
	CHECK(both.pages < 4);

	/* A word that no document has makes all of it nothing. */
	both = two(SKX_COST_AND, 0, 300000);
	CHECK(both.docs == 0 && both.find_time == 0 && both.pages == 0);

	/* A negation filters; alone it is everything but a list. */
	operator(SKX_COST_AND);
	operator(SKX_COST_NOT);
	word(300000);
	word(100);
	other = match();
	both = two(SKX_COST_AND, 100, 300000);
	CHECK(other.docs == 70);
	CHECK(other.lead_postings == 100 &&
		  other.find_time <= both.find_time * 1.1);
	operator(SKX_COST_NOT);
	word(300000);
	both = match();
	CHECK(both.docs == 700000 && both.find_time > common.find_time);
}

/* The cheapest of three ways, whatever the sets. */
static void
test_ways(void)
{
	int			i;

	for (i = 0; i < 20000; i++)
	{
		SkxEstimate a = skx_estimate_word(random_df(), NDOCS);
		SkxEstimate b = unit_below(3) == 0 ?
			skx_estimate_keys(random_df(), NDOCS, NDOCS) :
			skx_estimate_word(random_df(), NDOCS);
		SkxEstimate both = skx_estimate_and(&a, &b, NDOCS);
		SkxEstimate other = skx_estimate_and(&b, &a, NDOCS);
		double		least = Min(a.docs, b.docs);

		CHECK(both.find_time == other.find_time && both.docs <= least);
		CHECK(both.find_time <=
			  (a.find_time + skx_estimate_probe_time(&b, a.docs, 1)) * 1.0001);
		CHECK(both.find_time <=
			  (b.find_time + skx_estimate_probe_time(&a, b.docs, 1)) * 1.0001);
		CHECK(both.find_time <= (a.fill_time + b.fill_time) * 1.0001);
		CHECK(both.likely_docs <= least && both.likely_docs >= both.docs);
		CHECK(skx_estimate_or(&a, &b, NDOCS).docs >= Max(a.docs, b.docs));
	}
}

/*
 * Asking within a part of all documents reads that part of a list, and what it
 * begins with.
 */
static void
test_spans(void)
{
	SkxEstimate near = skx_estimate_keys(1000, 1000, NDOCS);
	SkxEstimate far = skx_estimate_keys(1000, NDOCS, NDOCS);
	SkxEstimate word3 = (word(300000), match());
	SkxEstimate phrase = two(SKX_COST_PHRASE, 300000, 200000);
	SkxEstimate in_near = skx_estimate_and(&near, &word3, NDOCS);
	SkxEstimate in_far = skx_estimate_and(&far, &word3, NDOCS);

	CHECK(near.doc_span == .001 && far.doc_span == 1 && word3.doc_span == 1);
	CHECK(in_near.pages < near.pages + 2 && in_far.pages > far.pages + 70);
	CHECK(in_near.find_time < near.find_time + 1000 * word3.probe_time +
		  word3.find_time / 500);
	CHECK(in_far.find_time > far.find_time + 1000 * word3.probe_decode_time);
	CHECK(in_near.doc_span == near.doc_span && in_near.docs == in_far.docs);
	in_near = skx_estimate_and(&phrase, &near, NDOCS);
	CHECK(in_near.doc_span == near.doc_span && in_near.pages < 4);
	CHECK(skx_estimate_and(&word3, &far, NDOCS).doc_span == 1);
	CHECK(skx_estimate_keys(0, 0, 0).doc_span == 1);
}

static void
test_others(void)
{
	SkxEstimate a = (word(20000), match());
	SkxEstimate both = two(SKX_COST_AND, 20000, 50000);
	SkxEstimate phrase = two(SKX_COST_PHRASE, 20000, 50000);
	SkxEstimate any = two(SKX_COST_OR, 20000, 50000);

	CHECK(any.docs == 69000 && any.lead_postings == 70000);
	CHECK(any.find_time == 3.5 * a.find_time && any.pages == 3.5 * a.pages);
	CHECK(phrase.docs > 0 && phrase.docs < both.docs);
	CHECK(phrase.find_time > both.find_time + both.docs * 5);
	CHECK(phrase.pages > both.pages);

	/* A phrase that goes on is no coincidence, whichever way it is put. */
	operator(SKX_COST_PHRASE);
	word(50000);
	operator(SKX_COST_PHRASE);
	word(50000);
	word(50000);
	phrase = match();
	operator(SKX_COST_AND);
	word(50000);
	operator(SKX_COST_AND);
	word(50000);
	word(50000);
	both = match();
	CHECK(phrase.likely_docs >= both.likely_docs / 50);
	CHECK(phrase.likely_docs <= both.likely_docs / 2);
	operator(SKX_COST_PHRASE);
	operator(SKX_COST_PHRASE);
	word(50000);
	word(50000);
	word(50000);
	CHECK(match().likely_docs == phrase.likely_docs);

	/* All of the documents, all of the time. */
	any = two(SKX_COST_OR, NDOCS, NDOCS);
	CHECK(any.docs == NDOCS);
	CHECK(two(SKX_COST_AND, NDOCS, NDOCS).docs == NDOCS);
}

/* Postings with parts that fall with the logarithm of their rank. */
static void
some_word(SkxCostWord *w, double df, double weight)
{
	int			i;

	memset(w, 0, sizeof(*w));
	w->df = df;
	w->max_contribution = weight * 0.9;
	for (i = 0; i < SKX_NKTH_BEST && df >= 100 && df >= pow(10, i + 1); i++)
		w->kth_contribution[i] = w->max_contribution *
			(1 - 0.5 * log(pow(10, i + 1)) / log(df));
}

static double
best(const SkxCostRanked *ranked, double first, double k, double *pages)
{
	double		work = -1;

	*pages = -1;
	skx_cost_model_best(ranked, first, k, GROWTH, &work, pages);
	return work;
}

/* A random query; its words are independent of what matches. */
static void
some_ranking(SkxCostRanked *ranked, SkxCostWord *words)
{
	int			k;

	memset(ranked, 0, sizeof(*ranked));
	ranked->ndocs = NDOCS;
	ranked->words = words;
	ranked->nwords = unit_below(WORDS_MAX + 1);
	ranked->matches_any_word = unit_below(2) == 0;
	for (k = 0; k < ranked->nwords; k++)
	{
		double		df = random_df();

		some_word(&words[k], df, log(1 + NDOCS / df));
	}
	ranked->pair_docs = unit_below(2) == 0 ? 0 : unit_below(100000);
	ranked->proximity = unit_below(100) / 50.0;
	ranked->other_words = ranked->matches_any_word ? 0 :
		unit_below(ranked->nwords + 1);
	nitems = 0;
	random_tree((int) unit_below(4), 4);
	ranked->match = match();
	if (ranked->matches_any_word)
		ranked->match.docs = NDOCS;
}

/*
 * A larger k is hardly ever less work, and all rows are at least going through
 * every list; a search that goes on is more work than one for all at once.
 */
static void
test_best(void)
{
	SkxCostWord words[WORDS_MAX];
	SkxCostRanked ranked;
	int			i;
	int			k;

	for (i = 0; i < 20000; i++)
	{
		double		before = 0;
		double		before_pages = 0;
		double		pages;

		some_ranking(&ranked, words);
		for (k = 0; k <= 7; k++)
		{
			double		n = pow(10, k);
			double		work = best(&ranked, n, n, &pages);

			CHECK(isfinite(work) && work >= before * 0.999);
			CHECK(isfinite(pages) && pages >= before_pages * 0.999);
			before = work;
			before_pages = pages;
		}
		CHECK(best(&ranked, 10, 1e7, &pages) >= before * 0.999);
		for (k = 0; k < ranked.nwords && ranked.matches_any_word; k++)
			CHECK(before >= words[k].df);
		CHECK(ranked.matches_any_word ||
			  before >= ranked.match.find_time * 0.999);
	}
}

/* Of very many words all postings are scored, or all matches looked up. */
static void
test_many(void)
{
	SkxCostRanked ranked;
	double		pages;
	double		work;
	double		few;

	memset(&ranked, 0, sizeof(ranked));
	ranked.ndocs = NDOCS;
	ranked.matches_any_word = true;
	ranked.match.docs = NDOCS;
	ranked.nmany_words = 1000;
	ranked.postings = 2e6;
	work = best(&ranked, 10, 10, &pages);
	CHECK(work >= 2e6 && pages > 0);
	ranked.nmany_words = 2000;
	ranked.postings = 4e6;
	CHECK(best(&ranked, 10, 10, &pages) < 2 * work);
	CHECK(best(&ranked, 10, 1000, &pages) > best(&ranked, 10, 10, &pages));
	ranked.matches_any_word = false;
	word(5);
	ranked.match = match();
	few = best(&ranked, 10, 10, &pages);
	CHECK(few > 5 * 2000 && few < work / 10);
}

/* What cannot be among the best alone is not gone through. */
static void
test_pruning(void)
{
	SkxCostWord words[2];
	SkxCostRanked ranked;
	double		pages;
	double		both;
	double		rare;

	memset(&ranked, 0, sizeof(ranked));
	ranked.ndocs = NDOCS;
	ranked.matches_any_word = true;
	ranked.words = words;
	ranked.match.docs = NDOCS;
	some_word(&words[0], 500, 7.6);
	some_word(&words[1], 900000, 0.1);
	ranked.nwords = 1;
	rare = best(&ranked, 10, 10, &pages);
	ranked.nwords = 2;
	both = best(&ranked, 10, 10, &pages);
	CHECK(both > rare && both < 900000 / 10);

	/* More rows than the rare word has: now it has to be. */
	CHECK(best(&ranked, 1000, 1000, &pages) > both * 2);

	/* The best ten of many are much less work than all. */
	some_word(&words[0], 300000, 1.5);
	ranked.nwords = 1;
	CHECK(best(&ranked, 10, 10, &pages) * 20 <
		  best(&ranked, 300000, 300000, &pages));
	ranked.nwords = 2;
	ranked.matches_any_word = false;
	ranked.match = two(SKX_COST_AND, 300000, 300000);
	both = best(&ranked, 10, 10, &pages);
	CHECK(both * 5 < best(&ranked, 90000, 90000, &pages));
	CHECK(best(&ranked, 90000, 90000, &pages) ==
		  best(&ranked, 1e9, 1e9, &pages));

	/* Where all are found anyway, each row more is put in its place. */
	memset(&ranked, 0, sizeof(ranked));
	some_word(&words[0], 50, 5);
	ranked.ndocs = NDOCS;
	ranked.words = words;
	ranked.nwords = 1;
	nitems = 0;
	word(50);
	ranked.match = match();
	CHECK(best(&ranked, 50, 50, &pages) >
		  best(&ranked, 49, 49, &pages) + 5);
}

/* How many have a score of at least so much. */
static void
test_above(void)
{
	SkxCostWord words[2];
	SkxCostRanked ranked;
	double		before = NDOCS;
	double		n;
	int			i;

	memset(&ranked, 0, sizeof(ranked));
	ranked.ndocs = ranked.match.docs = NDOCS;
	ranked.words = words;
	ranked.nwords = 1;
	some_word(&words[0], 300000, 1.5);
	some_word(&words[1], 5000, 5);
	CHECK(skx_cost_model_count_above(&ranked,
									 words[0].max_contribution * 1.01) == 0);
	for (i = 0; i < SKX_NKTH_BEST; i++)
	{
		n = skx_cost_model_count_above(&ranked, words[0].kth_contribution[i]);
		CHECK(n > pow(10, i + 1) * 0.99 && n < pow(10, i + 1) * 1.01);
	}
	CHECK(skx_cost_model_count_above(&ranked, words[0].max_contribution /
									 100) > 250000);
	ranked.nwords = 2;
	n = words[0].max_contribution + words[1].max_contribution;
	CHECK(skx_cost_model_count_above(&ranked, n * 1.01) == 0);
	for (i = 100; i > 0; i--)
	{
		double		after = skx_cost_model_count_above(&ranked,
													   n * (101 - i) / 101);

		CHECK(after <= before && after >= 0);
		before = after;
	}
	CHECK(skx_cost_model_count_above(&ranked,
									 words[1].kth_contribution[0]) >= 9.9);
	memset(words, 0, sizeof(words));
	CHECK(skx_cost_model_count_above(&ranked, 1) == 0);
}

/* Searches that go on, and pairs of words, of two common words. */
static void
test_growth_and_pairs(void)
{
	SkxCostWord words[2];
	SkxCostRanked ranked;
	double		pages;
	double		work = 0;
	double		both;
	double		rare;

	memset(&ranked, 0, sizeof(ranked));
	ranked.ndocs = NDOCS;
	ranked.words = words;
	ranked.nwords = 2;
	some_word(&words[0], 300000, 1.5);
	some_word(&words[1], 900000, 0.1);
	ranked.match = two(SKX_COST_AND, 300000, 300000);
	both = best(&ranked, 10, 10, &pages);

	/* Several searches are more than the last one of them. */
	CHECK(best(&ranked, 10, 1e9, &pages) >
		  best(&ranked, 1e9, 1e9, &pages) * 1.2);

	/* One for all after the first is less than those that grow. */
	rare = best(&ranked, 10, 1e9, &pages);
	skx_cost_model_best(&ranked, 10, 1e9, 1e9, &work, &pages);
	CHECK(work < rare);
	CHECK(work > best(&ranked, 1e9, 1e9, &pages) + both * 0.9);

	/*
	 * Pairs of words loosen bounds, the more they count, and have positions
	 * read.
	 */
	ranked.pair_docs = 1;
	CHECK(best(&ranked, 10, 10, &pages) < both + 650);
	ranked.proximity = 0.1;
	rare = best(&ranked, 10, 10, &pages);
	CHECK(rare > both * 1.1);
	ranked.proximity = 0.3;
	CHECK(best(&ranked, 10, 10, &pages) > rare * 1.1);
	rare = best(&ranked, 10, 10, &pages);
	ranked.pair_docs = 90000;
	CHECK(best(&ranked, 10, 10, &pages) > rare + 10 * 20);
}

/* The largest set of NDOCS documents that leads a search for the best k. */
static double
leading(double k, double scored)
{
	double		docs = 1;

	while (skx_estimate_set_leads(docs * 1.01, docs * 1.01, scored, k, NDOCS))
		docs *= 1.01;
	return docs;
}

/* A set leads while it is small: one in 25 documents for k = 10, or so. */
static void
test_leads(void)
{
	CHECK(leading(10, NDOCS) > NDOCS / 40 && leading(10, NDOCS) < NDOCS / 20);
	CHECK(leading(100, NDOCS) > NDOCS / 25);
	CHECK(leading(100, NDOCS) < NDOCS / 12);
	/* Never if the words have fewer postings. */
	CHECK(leading(10, 2000) <= 2000 && leading(10, 2000) > 1950);
	CHECK(!skx_estimate_set_leads(100, 1e6, 1e6, 10, NDOCS));
	CHECK(isfinite(leading(0, 10)));
}

/* Values of few rows are in their keys, those of many in the lists. */
static void
test_values(void)
{
	double		memory = 4e6;
	double		lists = skx_estimate_values_listed(1000, NDOCS);

	CHECK(skx_estimate_values_keyed(100, 1000, memory) < lists);
	CHECK(skx_estimate_values_keyed(NDOCS, 1000, memory) > lists);
	CHECK(skx_estimate_values_keyed(1000, 1000, memory) * 10 <
		  skx_estimate_values_fetched(1000));
	/* Rows have no more values than there are. */
	CHECK(skx_estimate_values_keyed(1000, 1e9, memory) ==
		  skx_estimate_values_keyed(1000, 1000, memory));
	/* Twice the time for a row if its value does not fit into memory. */
	CHECK(skx_estimate_values_keyed(1e5, 1e5, memory) >
		  2 * skx_estimate_values_keyed(1e5, 1e5, 1e9));
	CHECK(skx_estimate_values_listed(0, 0) == 0);
	CHECK(skx_estimate_values_keyed(0, 0, 0) == 0);
	CHECK(skx_estimate_values_fetched(0) == 0);
}

int
main(void)
{
	unit_seed(1);
	test_trees();
	test_conjunctions();
	test_ways();
	test_spans();
	test_others();
	test_best();
	test_many();
	test_pruning();
	test_above();
	test_growth_and_pairs();
	test_leads();
	test_values();
	return unit_done("test_cost_model");
}
