/*
 * query_count.c
 *	  How many documents of a segment match, without these documents.
 *
 * Windows of bits are counted as they are.  One large list need not be put into
 * them: of a conjunction its postings are looked up in what all others have,
 * and of a disjunction those that are there are not counted twice.
 */
#include "postgres.h"

#include "read/query/query_internal.h"

/* Of more than one document in so many, bits are put into windows by words. */
#define SKX_COUNT_SPARSE	8

/* Does it match by windows of bits, without positions? */
static bool
skx_query_is_windowed(const SkxIter *it)
{
	if (it->kind == SKX_NODE_AND)
		return it->cheap && it->windows;
	return it->kind == SKX_NODE_OR || it->kind == SKX_NODE_NOT ||
		it->kind == SKX_NODE_BITMAP;
}

/* Clears those of a window's bits that are not in [from, to). */
static void
skx_query_clip(uint64 *bits, uint32 window, uint32 from, uint32 to)
{
	uint32		w;

	if (from <= window && to - window >= SKX_QUERY_BATCH)
		return;
	for (w = 0; w < SKX_WINDOW_WORDS; w++)
	{
		uint32		base = window + w * 64;

		if (base >= to || from >= base + 64)
			bits[w] = 0;
		else if (from > base)
			bits[w] &= ~UINT64CONST(0) << (from - base);
		if (base < to && to - base < 64)
			bits[w] &= (UINT64CONST(1) << (to - base)) - 1;
	}
}

/* A disjunction whose clauses are opened, and are put into windows. */
static bool
skx_query_is_filled_or(const SkxIter *it)
{
	return it->kind == SKX_NODE_OR && it->nchildren > 1 &&
		it->nchildren <= SKX_GATHER_CLAUSES && it->range == NULL;
}

/*
 * The largest list of a conjunction or disjunction whose postings can be looked
 * up in windows that the others have filled; NULL: there is none.  Keys are
 * tested of what lists have left, so beside them all lists are put into windows.
 */
static SkxIter *
skx_query_looked_up(const SkxIter *it)
{
	SkxIter    *largest = NULL;
	int			i;

	if (it->kind == SKX_NODE_AND ? it->npositive < 2 :
		!skx_query_is_filled_or(it))
		return NULL;
	for (i = 0; i < it->nchildren; i++)
	{
		SkxIter    *child = it->children[i];

		if (skx_query_is_by_keys(child))
			return NULL;
		if (child->kind == SKX_NODE_TERM && child->list->labels == 0 &&
			(largest == NULL || child->cost > largest->cost))
			largest = child;
	}
	if (largest != NULL &&
		largest->cost > it->seg->header.ndocs / SKX_COUNT_SPARSE)
		return NULL;
	return largest;
}

/* The node without one of its positive clauses. */
static SkxIter
skx_query_but(const SkxIter *it, const SkxIter *clause)
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
 * By windows of all clauses but one (NULL: of all), whose postings are looked up
 * in them.  Of a disjunction with such a one [from, to) is the whole segment.
 */
static uint64
skx_query_count_windows(SkxIter *it, SkxIter *looked_up, uint32 from,
						uint32 to)
{
	bool		all = it->kind == SKX_NODE_AND;
	uint64		n = looked_up != NULL && !all ? looked_up->cost : 0;
	uint64		bits[SKX_WINDOW_WORDS];
	uint32		start;
	uint32		window;

	while (from < to &&
		   skx_query_next_window(it, from, to, all, &start, &window, bits))
	{
		uint64		both = 0;

		skx_query_clip(bits, window, from, to);
		if (looked_up != NULL)
			both = skx_cursor_count(looked_up->list, window, bits,
									SKX_WINDOW_WORDS);
		if (looked_up != NULL && all)
			n += both;
		else
			n += skx_codec_count(bits, SKX_WINDOW_WORDS) - both;
		from = Min(window + SKX_QUERY_BATCH, to);
	}
	return n;
}

/* How many of them match; they are overwritten. */
static int
skx_query_count_filtered(SkxIter *it, uint32 *docs, int n)
{
	int			half = Min(n, SKX_QUERY_BATCH);
	int			matching = skx_query_filter(it, docs, half);

	return matching + skx_query_filter(it, docs + half, n - half);
}

/* All of what it yields, but for what `but` (NULL: nothing) has. */
static uint64
skx_query_count_listed(SkxIter *it, SkxIter *but, uint32 from, uint32 to)
{
	uint32	   *docs = palloc(sizeof(uint32) * SKX_QUERY_DOCS);
	uint64		total = 0;
	int			n;

	while (from < to)
	{
		from = skx_query_collect(it, from, to, SKX_QUERY_BATCH, docs, &n);
		total += n;
		if (but != NULL && n > 0)
			total -= skx_query_count_filtered(but, docs, n);
	}
	pfree(docs);
	return total;
}

/*
 * The clause of a disjunction that has so many more documents than all the
 * others together that only these are looked up in it, as it tells how many it
 * has; NULL: there is none.
 */
static SkxIter *
skx_query_largest(const SkxIter *it)
{
	SkxIter    *largest = it->children[0];
	uint64		all = 0;
	int			i;

	for (i = 0; i < it->nchildren; i++)
	{
		all += it->children[i]->cost;
		if (it->children[i]->cost > largest->cost)
			largest = it->children[i];
	}
	if (largest->kind != SKX_NODE_TERM || largest->list->labels != 0 ||
		!skx_query_is_less_asked(it, largest, all - largest->cost))
		return NULL;
	return largest;
}

/* Of a whole segment. */
static uint64
skx_query_count_apart(SkxIter *it, SkxIter *largest)
{
	SkxIter		rest = skx_query_but(it, largest);

	return largest->cost +
		skx_query_count_listed(rest.nchildren == 1 ? rest.children[0] : &rest,
							   largest, 0, it->seg->header.ndocs);
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
		(one = skx_query_largest(it)) != NULL)
		return skx_query_count_apart(it, one);
	if (!skx_query_is_windowed(it))
		return skx_query_count_listed(it, NULL, from, to);
	one = it->kind == SKX_NODE_AND || whole ? skx_query_looked_up(it) : NULL;
	if (one == NULL)
		return skx_query_count_windows(it, NULL, from, to);
	rest = skx_query_but(it, one);
	return skx_query_count_windows(&rest, one, from, to);
}
