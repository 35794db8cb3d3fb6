/*
 * query_lead.c
 *	  Decides which clause of a conjunction generates, and whether the other
 *	  clauses filter its documents or all clauses fill windows of bits.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "read/estimate/estimate.h"
#include "read/query/query_internal.h"

/*
 * The words of a phrase generate if the clauses without positions have more
 * than SKX_LEAD_PHRASE_RATIO times as much to go through.
 */
#define SKX_LEAD_PHRASE_RATIO		4

static int
skx_query_clause_class(const SkxIter *it)
{
	return (it->kind == SKX_NODE_NOT ? 2 : 0) +
		(it->reads_no_positions ? 0 : 1);
}

/*
 * Compares clauses for skx_query_sort_clauses().  Positive clauses come first,
 * and those with few documents before others, since they leave least to the
 * rest. Clauses that read positions come after those that do not.  Negations
 * come last, those that leave least first.
 */
static int
skx_query_compare_cost(const void *a, const void *b)
{
	const SkxIter *x = *(SkxIter *const *) a;
	const SkxIter *y = *(SkxIter *const *) b;

	if (skx_query_clause_class(x) != skx_query_clause_class(y))
		return skx_query_clause_class(x) - skx_query_clause_class(y);
	return x->max_docs < y->max_docs ? -1 : x->max_docs > y->max_docs;
}

void
skx_query_sort_clauses(SkxIter *it)
{
	qsort(it->children, it->nchildren, sizeof(SkxIter *),
		  skx_query_compare_cost);
	while (it->npositive < it->nchildren &&
		   it->children[it->npositive]->kind != SKX_NODE_NOT)
		it->npositive++;
}

/* Makes clause i the one that generates; the others keep their order. */
static void
skx_query_set_generator(SkxIter *it, int i)
{
	SkxIter    *child = it->children[i];

	memmove(&it->children[1], &it->children[0], sizeof(SkxIter *) * i);
	it->children[0] = child;
}

/*
 * Lets the clause that goes through least generate.  A range may have to test
 * very many keys to yield a few documents.  If another clause generates, only
 * the keys of its documents are tested.
 */
static void
skx_query_lead_by_postings(SkxIter *it)
{
	int			least = 0;
	int			i;

	for (i = 1; i < it->npositive && it->children[i]->reads_no_positions; i++)
		if (it->children[i]->npostings < it->children[least]->npostings)
			least = i;
	if (it->npositive > 0 && it->children[0]->reads_no_positions)
		skx_query_set_generator(it, least);
}

/*
 * Lets the words of a phrase generate, if all clauses without positions have
 * far more to go through.  The other clauses filter the documents of these
 * words, and positions are read of what is left.
 */
static void
skx_query_lead_by_phrase(SkxIter *it)
{
	int			phrase = -1;
	int			i;

	if (it->npositive < 2 || !it->children[0]->reads_no_positions)
		return;
	for (i = 1; i < it->npositive; i++)
	{
		const SkxIter *child = it->children[i];

		if (child->kind == SKX_NODE_PHRASE &&
			(phrase < 0 || child->npostings < it->children[phrase]->npostings))
			phrase = i;
	}
	if (phrase < 0 || it->children[0]->npostings / SKX_LEAD_PHRASE_RATIO <=
		it->children[phrase]->npostings)
		return;
	skx_query_set_generator(it, phrase);
	it->phrase_generates = true;
}

void
skx_query_choose_generator(SkxIter *it)
{
	skx_query_lead_by_postings(it);
	skx_query_lead_by_phrase(it);
}

/*
 * Returns the list or the bitmap of an iterator as a set.  It is empty if the
 * iterator has neither.  Keys are tested of what other clauses leave, whichever
 * way these go, and are not counted.
 */
static SkxEstimate
skx_query_leaf_estimate(const SkxIter *it)
{
	double		ndocs = it->seg->header.ndocs;

	if (it->bitmap != NULL)
		return skx_estimate_bits(it->max_docs, ndocs);
	return skx_estimate_word(it->kind == SKX_NODE_TERM ? it->max_docs : 0,
							 ndocs);
}

double
skx_query_filter_time(const SkxIter *it, double docs)
{
	SkxEstimate leaf = skx_query_leaf_estimate(it);
	double		work = skx_estimate_probe_time(&leaf, docs, 1);
	int			i;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	for (i = 0; i < it->nchildren; i++)
	{
		const SkxIter *child = it->children[i];

		work += skx_query_filter_time(child, docs);
		if (it->kind == SKX_NODE_AND && child->kind != SKX_NODE_NOT)
			docs *= Min((double) child->max_docs / it->seg->header.ndocs, 1);
	}
	return work;
}

double
skx_query_fill_time(const SkxIter *it)
{
	double		work = skx_query_leaf_estimate(it).fill_time;
	int			i;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	for (i = 0; i < it->nchildren; i++)
		work += skx_query_fill_time(it->children[i]);
	return work;
}

/*
 * Estimates the work of a conjunction whose first clause reads no positions.
 * Sets *asked to the work if the other such clauses filter, and *filled to
 * that if they fill windows.
 */
static void
skx_query_and_work(const SkxIter *it, double *asked, double *filled)
{
	double		docs = it->children[0]->max_docs;
	double		met = skx_estimate_windows_hit(docs, it->seg->header.ndocs);
	int			i;

	*asked = docs * SKX_ESTIMATE_POSTING_NS;
	*filled = skx_query_fill_time(it->children[0]);
	for (i = 1; i < it->nchildren; i++)
	{
		const SkxIter *child = it->children[i];

		if (!child->reads_no_positions)
			continue;
		*asked += skx_query_filter_time(child, docs);
		*filled += skx_query_fill_time(child);
		docs *= Min((double) child->max_docs / it->seg->header.ndocs, 1);
	}
	*filled *= met;
}

void
skx_query_choose_windows(SkxIter *it)
{
	double		asked;
	double		filled;

	it->uses_windows = it->npositive == 0 &&
		it->children[0]->reads_no_positions;
	if (it->npositive == 0 || !it->children[0]->reads_no_positions)
		return;
	skx_query_and_work(it, &asked, &filled);
	it->uses_windows = filled < asked;
}

double
skx_query_find_time(const SkxIter *it)
{
	double		asked;
	double		filled;

	check_stack_depth();
	if (it->kind == SKX_NODE_PHRASE)
		return skx_query_find_time(it->children[0]);
	if (it->kind == SKX_NODE_OR)
		return skx_query_fill_time(it);
	if (it->kind != SKX_NODE_AND || it->npositive == 0 ||
		!it->children[0]->reads_no_positions)
		return it->npostings * SKX_ESTIMATE_POSTING_NS;
	skx_query_and_work(it, &asked, &filled);
	return Min(asked, filled);
}

bool
skx_query_filter_is_cheaper(const SkxIter *it, const SkxIter *largest,
							double docs)
{
	double		filled = skx_query_fill_time(largest);

	if (it->nchildren == 2)
		filled +=
			skx_query_fill_time(it->children[it->children[0] == largest]);
	return docs * SKX_ESTIMATE_POSTING_NS +
		skx_query_filter_time(largest, docs) < filled;
}

/*
 * Returns the expected number of matches of a phrase; `all` is the conjunction
 * of its words, the rarest first.
 */
static double
skx_query_likely_phrase(const SkxIter *all)
{
	double		likely;
	int			i;

	if (all->kind != SKX_NODE_AND || all->npositive == 0)
		return skx_estimate_likely_phrase(skx_query_likely(all), false);
	likely = skx_query_likely(all->children[0]);
	for (i = 1; i < all->npositive; i++)
	{
		likely = skx_estimate_likely_and(likely,
										 skx_query_likely(all->children[i]),
										 all->seg->header.ndocs);
		likely = skx_estimate_likely_phrase(likely, i > 1);
	}
	return likely;
}

double
skx_query_likely(const SkxIter *it)
{
	double		ndocs = it->seg->header.ndocs;
	double		likely = ndocs;
	int			i;

	check_stack_depth();
	if (it->kind == SKX_NODE_PHRASE)
		return skx_query_likely_phrase(it->children[0]);
	if (it->kind != SKX_NODE_AND)
		return it->max_docs;
	for (i = 0; i < it->npositive; i++)
		likely *= skx_query_likely(it->children[i]) / ndocs;
	return likely;
}
