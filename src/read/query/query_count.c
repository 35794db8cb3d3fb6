/*
 * query_count.c
 *	  Counts the matches of a query in a segment without listing them.
 *
 * Windows of bits are counted as they are.  One large list need not be put
 * into them.  The postings of the list are looked up in the windows of all
 * other clauses.  Those found there are the matches of a conjunction.  For a
 * disjunction they are the documents that would be counted twice.
 */
#include "postgres.h"

#include "read/query/query_internal.h"

/*
 * A list with more than one document in SKX_COUNT_SPARSE_RATIO is put into
 * windows by whole words of bits, so its postings are not looked up.
 */
#define SKX_COUNT_SPARSE_RATIO	8

/*
 * Returns true if the iterator finds its matches by windows of bits, without
 * positions.
 */
static bool
skx_query_is_windowed(const SkxIter *it)
{
	if (it->kind == SKX_NODE_AND)
		return it->reads_no_positions && it->uses_windows;
	return it->kind == SKX_NODE_OR || it->kind == SKX_NODE_NOT ||
		it->kind == SKX_NODE_BITMAP;
}

/*
 * Returns true if it is a disjunction whose clauses are open and fill windows.
 */
static bool
skx_query_is_filled_or(const SkxIter *it)
{
	return it->kind == SKX_NODE_OR && it->nchildren > 1 &&
		it->nchildren <= SKX_GATHER_CLAUSES && it->bitmap == NULL;
}

/*
 * Returns the largest list of a conjunction or disjunction whose postings can
 * be looked up in windows that the others fill, or NULL if there is none.  If
 * a clause is a range by keys, there is none: keys are tested only for
 * documents that all lists have left.
 */
static SkxIter *
skx_query_largest_lookup(const SkxIter *it)
{
	SkxIter    *largest = NULL;
	int			i;

	if (it->kind == SKX_NODE_AND ? it->npositive < 2 :
		!skx_query_is_filled_or(it))
		return NULL;
	for (i = 0; i < it->nchildren; i++)
	{
		SkxIter    *child = it->children[i];

		if (skx_query_tests_keys(child))
			return NULL;
		if (child->kind == SKX_NODE_TERM && child->list->labels == 0 &&
			(largest == NULL || child->max_docs > largest->max_docs))
			largest = child;
	}
	if (largest != NULL &&
		largest->max_docs > it->seg->header.ndocs / SKX_COUNT_SPARSE_RATIO)
		return NULL;
	return largest;
}

/* Returns a copy of the node without one of its positive clauses. */
static SkxIter
skx_query_without_clause(const SkxIter *it, const SkxIter *clause)
{
	SkxIter		rest = *it;
	int			i;

	rest.children = palloc(sizeof(SkxIter *) * it->nchildren);
	rest.nchildren = 0;
	for (i = 0; i < it->nchildren; i++)
		if (it->children[i] != clause)
			rest.children[rest.nchildren++] = it->children[i];
	if (it->kind == SKX_NODE_AND)
		rest.npositive--;
	return rest;
}

/*
 * Counts the matches in [from, to) by windows of all clauses but one, whose
 * postings are looked up in them.  If looked_up is NULL, it uses the windows
 * of all clauses.  For a disjunction with a list that is looked up, [from, to)
 * must be the whole segment.
 */
static uint64
skx_query_count_windows(SkxIter *it, SkxIter *looked_up, uint32 from,
						uint32 to)
{
	bool		all = it->kind == SKX_NODE_AND;
	uint64		n = looked_up != NULL && !all ? looked_up->max_docs : 0;
	uint64		bits[SKX_WINDOW_WORDS];
	uint32		start;
	uint32		window;

	while (from < to &&
		   skx_query_next_window(it, from, to, all, &start, &window, bits))
	{
		uint64		both = 0;

		if (looked_up != NULL)
			both = skx_cursor_count_window(looked_up->list, window, bits,
										   SKX_WINDOW_WORDS);
		if (looked_up != NULL && all)
			n += both;
		else
			n += skx_bitset_count(bits, SKX_WINDOW_WORDS) - both;
		from = Min(window + SKX_WINDOW_DOCS, to);
	}
	return n;
}

/* Returns the number of documents that match; overwrites docs. */
static int
skx_query_count_filtered(SkxIter *it, uint32 *docs, int n)
{
	int			half = Min(n, SKX_WINDOW_DOCS);
	int			matching = skx_query_filter(it, docs, half);

	return matching + skx_query_filter(it, docs + half, n - half);
}

/*
 * Returns the number of documents that the iterator yields, without those that
 * `but` matches.  If `but` is NULL, none are left out.
 */
static uint64
skx_query_count_generated(SkxIter *it, SkxIter *but, uint32 from, uint32 to)
{
	uint32	   *docs = palloc(sizeof(uint32) * SKX_QUERY_BATCH_DOCS);
	uint64		total = 0;
	int			n;

	while (from < to)
	{
		from = skx_query_collect(it, from, to, SKX_WINDOW_DOCS, docs, &n);
		total += n;
		if (but != NULL && n > 0)
			total -= skx_query_count_filtered(but, docs, n);
	}
	pfree(docs);
	return total;
}

/*
 * Returns the clause of a disjunction that has far more documents than all
 * others together, or NULL if there is none.  Its documents need not be read,
 * since its df tells their number.  Only the documents of the other clauses
 * are looked up in it.
 */
static SkxIter *
skx_query_dominant_clause(const SkxIter *it)
{
	SkxIter    *largest = it->children[0];
	uint64		all = 0;
	int			i;

	for (i = 0; i < it->nchildren; i++)
	{
		all += it->children[i]->max_docs;
		if (it->children[i]->max_docs > largest->max_docs)
			largest = it->children[i];
	}
	if (largest->kind != SKX_NODE_TERM || largest->list->labels != 0 ||
		!skx_query_filter_is_cheaper(it, largest, all - largest->max_docs))
		return NULL;
	return largest;
}

/*
 * Counts the matches of a disjunction in the whole segment, by looking the
 * documents of the other clauses up in the largest one.
 */
static uint64
skx_query_count_dominant(SkxIter *it, SkxIter *largest)
{
	SkxIter		rest = skx_query_without_clause(it, largest);

	return largest->max_docs +
		skx_query_count_generated(rest.nchildren == 1 ? rest.children[0] :
								  &rest, largest, 0, it->seg->header.ndocs);
}

uint64
skx_query_count(SkxIter *it, uint32 from, uint32 to)
{
	bool		whole = from == 0 && to == it->seg->header.ndocs;
	SkxIter    *one;
	SkxIter		rest;

	if (it->kind == SKX_NODE_ALL)
		return to - from;
	if (skx_query_is_filled_or(it) && whole &&
		(one = skx_query_dominant_clause(it)) != NULL)
		return skx_query_count_dominant(it, one);
	if (!skx_query_is_windowed(it))
		return skx_query_count_generated(it, NULL, from, to);
	one = it->kind == SKX_NODE_AND ||
		whole ? skx_query_largest_lookup(it) : NULL;
	if (one == NULL)
		return skx_query_count_windows(it, NULL, from, to);
	rest = skx_query_without_clause(it, one);
	return skx_query_count_windows(&rest, one, from, to);
}
