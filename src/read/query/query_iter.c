/*
 * query_iter.c
 *	  Set operations on documents, batch by batch.
 *
 * Every node can generate its own documents in ascending order, and filter
 * documents that another node has generated.  The cheapest clause of a
 * conjunction generates, and the others filter.  So long lists are read only
 * where candidates are, by means of their skip lists.  If the candidates lie
 * in most sub-blocks of the lists, the conjunction works on windows of bits.
 * Like a disjunction it then reads its lists in one pass.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "read/query/query_internal.h"

/* Clears the bits of a window that are not in [from, to). */
static void
skx_query_clip(uint64 *bits, uint32 window, uint32 from, uint32 to)
{
	if (from > window)
		skx_bitset_clear_range(bits, 0, Min(from - window, SKX_QUERY_BATCH));
	if (to < window + SKX_QUERY_BATCH)
		skx_bitset_clear_range(bits, Max(to, window) - window,
							   SKX_QUERY_BATCH);
}

static uint32 *
skx_query_scratch(SkxIter *it)
{
	if (it->scratch == NULL)
		it->scratch = palloc(sizeof(uint32) * SKX_QUERY_BATCH);
	return it->scratch;
}

/*
 * Returns the window to fill for matches in [start, limit).  It begins at a
 * word boundary, and does not go past the limit, since lists cannot move back.
 * A limit below the end of the segment is the end of the caller's window,
 * which starts at or below `start`.
 */
static uint32
skx_query_window(const SkxIter *it, uint32 start, uint32 limit)
{
	uint32		window = start - start % SKX_BITSET_WORD;

	if (limit < it->seg->header.ndocs)
	{
		Assert(limit % SKX_BITSET_WORD == 0 && limit >= SKX_QUERY_BATCH);
		window = Min(window, limit - SKX_QUERY_BATCH);
	}
	return window;
}

static void skx_query_restrict(SkxIter *it, uint32 window, uint64 *bits);

/*
 * Clears the bits of documents that are not in a range of coarse keys.  The
 * children are the keys within the range, and the values at its ends.
 */
static void
skx_query_restrict_range(SkxIter *it, uint32 window, uint64 *bits)
{
	uint64		kept[SKX_WINDOW_WORDS] = {0};
	uint64		part[SKX_WINDOW_WORDS];
	int			i;

	for (i = 0; i < it->nchildren; i++)
	{
		memcpy(part, bits, sizeof(part));
		skx_query_restrict(it->children[i], window, part);
		skx_bitset_or(kept, part, SKX_WINDOW_WORDS);
	}
	memcpy(bits, kept, sizeof(kept));
}

/* Clears the bits of documents that do not match a clause. */
static void
skx_query_restrict(SkxIter *it, uint32 window, uint64 *bits)
{
	bool		negative = it->kind == SKX_NODE_NOT;
	uint64		other[SKX_WINDOW_WORDS];

	check_stack_depth();
	if (it->kind == SKX_NODE_KEYS)
	{
		skx_segment_keys_restrict(it->keys, &it->key_range, window, bits,
								  SKX_WINDOW_WORDS);
		return;
	}
	if (it->ends != NULL)
	{
		skx_query_restrict_range(it, window, bits);
		return;
	}
	memset(other, 0, sizeof(other));
	skx_query_fill(negative ? it->children[0] : it, window, other);
	if (negative)
		skx_bitset_andnot(bits, other, SKX_WINDOW_WORDS);
	else
		skx_bitset_and(bits, other, SKX_WINDOW_WORDS);
}

/*
 * Returns the number of the clause that fills a window first: a list if there
 * is one, since keys are tested only for documents that are left.
 */
static int
skx_query_first_fill(const SkxIter *it)
{
	int			i;

	for (i = 0; i < it->npositive; i++)
		if (it->children[i]->cheap && !skx_query_is_by_keys(it->children[i]))
			return i;
	return 0;
}

/*
 * Intersects the clauses that read no positions; the first clause is one of
 * them.  Keys are tested last, and only for documents that are left.
 */
static void
skx_query_fill_and(SkxIter *it, uint32 window, uint64 *bits)
{
	int			first = skx_query_first_fill(it);
	int			keys;
	int			i;

	skx_query_fill(it->children[first], window, bits);
	for (keys = 0; keys <= 1; keys++)
	{
		for (i = 0; i < it->nchildren; i++)
		{
			SkxIter    *child = it->children[i];

			if (i == first || !child->cheap ||
				skx_query_is_by_keys(child) != (keys == 1))
				continue;
			if (skx_bitset_is_empty(bits, SKX_WINDOW_WORDS))
				return;
			skx_query_restrict(child, window, bits);
		}
	}
}

/*
 * Returns a lower bound of the next match by the clauses that read no
 * positions.  The other clauses have not filtered the documents of earlier
 * windows yet, so they must not move past these.
 */
static uint32
skx_query_bound_cheap(SkxIter *it, uint32 from)
{
	uint32		bound = from;
	int			i;

	for (i = 0; i < it->npositive && bound != SKX_NO_DOC; i++)
		if (it->children[i]->cheap)
			bound = skx_query_bound(it->children[i], bound);
	return bound;
}

bool
skx_query_next_window(SkxIter *it, uint32 from, uint32 limit, bool dense,
					  uint32 *start, uint32 *window, uint64 *bits)
{
	*start = dense ? skx_query_bound_cheap(it, from) :
		skx_query_bound(it, from);
	if (*start >= limit)
		return false;
	*window = skx_query_window(it, *start, limit);
	memset(bits, 0, sizeof(uint64) * SKX_WINDOW_WORDS);
	if (dense)
		skx_query_fill_and(it, *window, bits);
	else
		skx_query_fill(it, *window, bits);
	skx_query_clip(bits, *window, *start, limit);
	return true;
}

/*
 * Generates matches by filling a window of bits.  `dense` is as in
 * skx_query_next_window().
 */
static uint32
skx_query_generate_window(SkxIter *it, uint32 from, uint32 limit,
						  uint32 *docs, int *n, bool dense)
{
	uint64		bits[SKX_WINDOW_WORDS];
	uint32		start;
	uint32		window;
	uint32		w = 0;

	*n = 0;
	if (!skx_query_next_window(it, from, limit, dense, &start, &window, bits))
		return start;
	*n = skx_bitset_list(bits, SKX_WINDOW_WORDS, &w, window, docs,
						 SKX_QUERY_BATCH);
	return Min(window + SKX_QUERY_BATCH, limit);
}

/*
 * Keeps the documents that match the clauses which have not generated them.
 * Clauses that read positions filter last, and only if `positions` is true.
 */
static int
skx_query_filter_and(SkxIter *it, uint32 *docs, int n, bool positions)
{
	int			i;

	for (i = 1; i < it->nchildren && n > 0 && !it->windows; i++)
		if (it->children[i]->cheap)
			n = skx_query_filter(it->children[i], docs, n);
	for (i = 1; i < it->nchildren && n > 0 && positions; i++)
		if (!it->children[i]->cheap)
			n = skx_query_filter(it->children[i], docs, n);
	return n;
}

static uint32
skx_query_generate_and(SkxIter *it, uint32 from, uint32 limit, uint32 *docs,
					   int *n)
{
	uint32		next;

	if (it->windows)
		next = skx_query_generate_window(it, from, limit, docs, n, true);
	else if (it->by_phrase)
		next = skx_query_generate(it->children[0]->children[0], from, limit,
								  docs, n);
	else
		next = skx_query_generate(it->children[0], from, limit, docs, n);
	*n = skx_query_filter_and(it, docs, *n,
							  !it->children[0]->cheap && !it->by_phrase);
	return next;
}

/*
 * Generates candidates: documents that match as far as can be told without
 * positions, or by the first of several clauses that read them.
 */
static uint32
skx_query_candidates(SkxIter *it, uint32 from, uint32 limit, uint32 *docs,
					 int *n)
{
	if (it->kind == SKX_NODE_PHRASE)
		return skx_query_generate(it->children[0], from, limit, docs, n);
	return skx_query_generate_and(it, from, limit, docs, n);
}

/* Candidates whose positions are still to be read. */
struct SkxHeld
{
	int			batch;			/* number of candidates in the next batch */
	int			at;				/* candidates before this one are done */
	int			n;
	uint32		next;			/* candidates go on from this document */
	uint32		docs[SKX_QUERY_BATCH];
};

#define SKX_HELD_FIRST		8

/*
 * Generates for a node that reads positions.  It verifies few candidates at
 * first, then more, so that a query for one row does not read the positions of
 * many candidates.
 */
static uint32
skx_query_generate_held(SkxIter *it, uint32 from, uint32 limit, uint32 *docs,
						int *n)
{
	struct SkxHeld *held = it->held;
	int			k = 0;
	int			i;

	if (held == NULL)
	{
		held = it->held = palloc(sizeof(struct SkxHeld));
		held->batch = SKX_HELD_FIRST;
		held->at = held->n = 0;
		held->next = 0;
	}
	while (held->at < held->n && held->docs[held->at] < from)
		held->at++;
	if (held->at == held->n)
	{
		held->at = 0;
		held->next = skx_query_candidates(it, Max(from, held->next), limit,
										  held->docs, &held->n);
	}
	while (k < held->batch && held->at < held->n &&
		   held->docs[held->at] < limit)
		docs[k++] = held->docs[held->at++];
	held->batch = Min(held->batch * 2, SKX_QUERY_BATCH);
	from = held->at < held->n ? held->docs[held->at] : held->next;
	if (it->kind == SKX_NODE_PHRASE)
		k = skx_query_phrase_filter(it->phrase, docs, k);

	/*
	 * the phrase's words have moved past these documents, which have all of
	 * them
	 */
	if (it->by_phrase)
		k = skx_query_phrase_filter(it->children[0]->phrase, docs, k);
	for (i = 1; i < it->nchildren && k > 0; i++)
		if (!it->children[i]->cheap)
			k = skx_query_filter(it->children[i], docs, k);
	*n = k;
	return from;
}

static uint32
skx_query_generate_all(uint32 from, uint32 limit, uint32 *docs, int *n)
{
	uint32		end = Min(limit, from + SKX_QUERY_BATCH);
	uint32		doc;

	*n = 0;
	for (doc = from; doc < end; doc++)
		docs[(*n)++] = doc;
	return end;
}

/* Generates from the next group of keys that has a match. */
static uint32
skx_query_generate_keys(SkxIter *it, uint32 from, uint32 limit, uint32 *docs,
						int *n)
{
	*n = 0;
	while (*n == 0 && from < limit)
	{
		CHECK_FOR_INTERRUPTS();
		from = skx_segment_keys_next(it->keys, &it->key_range, from);
		if (from < limit)
			from = skx_segment_keys_take(it->keys, &it->key_range, from,
										 limit, docs, n);
	}
	return from;
}

uint32
skx_query_generate(SkxIter *it, uint32 from, uint32 limit, uint32 *docs,
				   int *n)
{
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	switch (it->kind)
	{
		case SKX_NODE_TERM:
			return skx_cursor_take(it->list, from, limit, docs, n);
		case SKX_NODE_AND:
			if (!it->cheap && (it->children[0]->cheap || it->by_phrase))
				return skx_query_generate_held(it, from, limit, docs, n);
			return skx_query_generate_and(it, from, limit, docs, n);
		case SKX_NODE_OR:
		case SKX_NODE_NOT:
		case SKX_NODE_BITMAP:
			return skx_query_generate_window(it, from, limit, docs, n, false);
		case SKX_NODE_PHRASE:
			return skx_query_generate_held(it, from, limit, docs, n);
		case SKX_NODE_ALL:
			return skx_query_generate_all(from, limit, docs, n);
		case SKX_NODE_KEYS:
			return skx_query_generate_keys(it, from, limit, docs, n);
		default:
			*n = 0;
			return limit;
	}
}

/*
 * Filters n candidates, SKX_QUERY_BATCH at a time, by what has not generated
 * them.
 */
static int
skx_query_collect_filter(SkxIter *it, uint32 *docs, int n)
{
	int			kept = 0;
	int			i;

	for (i = 0; i < n; i += SKX_QUERY_BATCH)
	{
		int			some = Min(n - i, SKX_QUERY_BATCH);

		if (it->kind == SKX_NODE_AND)
			some = skx_query_filter_and(it, docs + i, some, true);
		else
			some = skx_query_phrase_filter(it->phrase, docs + i, some);
		memmove(docs + kept, docs + i, sizeof(uint32) * some);
		kept += some;
	}
	return kept;
}

uint32
skx_query_collect(SkxIter *it, uint32 from, uint32 to, int goal, uint32 *docs,
				  int *n)
{
	bool		dense = it->kind == SKX_NODE_AND && it->windows;
	bool		split = it->kind == SKX_NODE_PHRASE || it->kind == SKX_NODE_AND;
	int			some;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();

	/*
	 * If the whole answer may not be needed, or a batch of candidates is held
	 * already, positions are read in small batches.
	 */
	if (!it->cheap && (goal < SKX_QUERY_BATCH || it->held != NULL ||
					   it->by_phrase))
		split = dense = false;
	if (split && !dense)
		from = skx_query_collect(it->children[0], from, to, goal, docs, n);
	else
	{
		for (*n = 0; *n < goal && from < to; *n += some)
		{
			CHECK_FOR_INTERRUPTS();
			if (dense)
				from = skx_query_generate_window(it, from, to, docs + *n,
												 &some, true);
			else
				from = skx_query_generate(it, from, to, docs + *n, &some);
		}
	}
	if (split)
		*n = skx_query_collect_filter(it, docs, *n);
	return from;
}

/* Removes from docs what is in `other`; both ascend. */
static int
skx_query_subtract(uint32 *docs, int n, const uint32 *other, int nother)
{
	int			kept = 0;
	int			j = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		while (j < nother && other[j] < docs[i])
			j++;
		docs[kept] = docs[i];
		kept += j >= nother || other[j] != docs[i];
	}
	return kept;
}

/*
 * Makes the bitmap of a disjunction from the window on, as far as its capacity
 * allows.  If the bitmap reaches the end of the segment, the clauses are
 * closed.
 */
static void
skx_query_gather(SkxIter *it, uint32 window)
{
	int			i;

	if (it->range == NULL)
		it->range = skx_query_range_clauses(it->seg, it->span, it->children,
											it->nchildren);
	if (skx_query_range_reach(it->range, window))
		return;
	for (i = 0; i < it->nchildren; i++)
		skx_query_close(it->children[i]);
	it->nchildren = 0;
	it->kind = SKX_NODE_BITMAP;
}

/*
 * Returns true if a disjunction that is to filter n documents is gathered into
 * a bitmap.  It is gathered once filtering by one clause after the other has
 * cost as much as gathering does.  So filtering never takes more than twice as
 * long as it would if the number of documents had been known before.
 */
static bool
skx_query_is_gathered(SkxIter *it, int n)
{
	if (it->range != NULL)
		return true;
	if (it->most_asked == 0 || it->nchildren <= it->most_asked || !it->cheap)
		return false;
	it->asked += (uint64) n * it->nchildren;
	return it->asked * SKX_GATHER_ASK >
		(uint64) it->steps + it->seg->header.ndocs / SKX_BITSET_WORD +
		(uint64) it->nchildren * SKX_GATHER_OPEN;
}

/*
 * Filters by one child after the other.  Each child tests the documents that
 * no child before it has matched.
 */
static int
skx_query_filter_or(SkxIter *it, uint32 *docs, int n)
{
	uint32	   *scratch;
	uint64		matched[SKX_WINDOW_WORDS];
	int			left = n;
	int			kept = 0;
	int			c;
	int			i;

	if (skx_query_is_gathered(it, n))
	{
		skx_query_gather(it, docs[0]);
		return skx_query_range_filter(it->range, docs, n);
	}
	scratch = skx_query_scratch(it);
	memset(matched, 0, sizeof(matched));
	for (c = 0; c < it->nchildren && left > 0; c++)
	{
		int			k = 0;
		int			j = 0;

		for (i = 0; i < n; i++)
			if (!skx_bitset_test(matched, i))
				scratch[k++] = docs[i];
		k = skx_query_filter(it->children[c], scratch, k);
		for (i = 0; i < n && j < k; i++)
			if (docs[i] == scratch[j])
			{
				skx_bitset_set(matched, i);
				j++;
			}
		left -= k;
	}
	for (i = 0; i < n; i++)
		if (skx_bitset_test(matched, i))
			docs[kept++] = docs[i];
	return kept;
}

int
skx_query_filter(SkxIter *it, uint32 *docs, int n)
{
	uint32	   *scratch;
	int			k;
	int			i;

	if (n == 0)
		return 0;
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	switch (it->kind)
	{
		case SKX_NODE_TERM:
			skx_cursor_work.candidates += n;
			return skx_cursor_filter(it->list, docs, n);
		case SKX_NODE_AND:
			for (i = 0; i < it->nchildren && n > 0; i++)
				n = skx_query_filter(it->children[i], docs, n);
			return n;
		case SKX_NODE_OR:
			return skx_query_filter_or(it, docs, n);
		case SKX_NODE_NOT:
			scratch = skx_query_scratch(it);
			memcpy(scratch, docs, sizeof(uint32) * n);
			k = skx_query_filter(it->children[0], scratch, n);
			return skx_query_subtract(docs, n, scratch, k);
		case SKX_NODE_BITMAP:
			return skx_query_range_filter(it->range, docs, n);
		case SKX_NODE_PHRASE:
			n = skx_query_filter(it->children[0], docs, n);
			return skx_query_phrase_filter(it->phrase, docs, n);
		case SKX_NODE_KEYS:
			return skx_segment_keys_filter(it->keys, &it->key_range, docs, n);
		case SKX_NODE_ALL:
			return n;
		default:
			return 0;
	}
}

/* Fills a window from a node that can only generate. */
static void
skx_query_fill_generated(SkxIter *it, uint32 window, uint64 *bits)
{
	uint32	   *docs = skx_query_scratch(it);
	uint32		limit = Min(window + SKX_QUERY_BATCH, it->seg->header.ndocs);
	uint32		from = window;
	int			n;
	int			i;

	while (from < limit)
	{
		from = skx_query_generate(it, from, limit, docs, &n);
		for (i = 0; i < n; i++)
			skx_bitset_set(bits, docs[i] - window);
	}
}

/* Sets the bits of documents of the segment that the child does not match. */
static void
skx_query_fill_not(SkxIter *it, uint32 window, uint64 *bits)
{
	uint64		other[SKX_WINDOW_WORDS];
	uint64		left[SKX_WINDOW_WORDS];
	uint32		ndocs = it->seg->header.ndocs;

	memset(other, 0, sizeof(other));
	skx_query_fill(it->children[0], window, other);
	memset(left, 0xFF, sizeof(left));
	skx_query_clip(left, window, window, ndocs);
	skx_bitset_andnot(left, other, SKX_WINDOW_WORDS);
	skx_bitset_or(bits, left, SKX_WINDOW_WORDS);
}

void
skx_query_fill(SkxIter *it, uint32 window, uint64 *bits)
{
	uint64		and_bits[SKX_WINDOW_WORDS];
	int			i;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (it->kind == SKX_NODE_OR && it->nchildren > SKX_GATHER_CLAUSES)
		skx_query_gather(it, window);
	switch (it->kind)
	{
		case SKX_NODE_TERM:
			skx_cursor_fill(it->list, window, bits, SKX_WINDOW_WORDS);
			break;
		case SKX_NODE_OR:
			if (it->range != NULL)
				skx_query_range_fill(it->range, window, bits);
			else
			{
				for (i = 0; i < it->nchildren; i++)
					skx_query_fill(it->children[i], window, bits);
			}
			break;
		case SKX_NODE_NOT:
			skx_query_fill_not(it, window, bits);
			break;
		case SKX_NODE_BITMAP:
			skx_query_range_fill(it->range, window, bits);
			break;
		case SKX_NODE_KEYS:
			skx_segment_keys_fill(it->keys, &it->key_range, window, bits,
								  SKX_WINDOW_WORDS);
			break;
		case SKX_NODE_AND:
			if (!it->cheap || !it->windows)
			{
				skx_query_fill_generated(it, window, bits);
				break;
			}
			memset(and_bits, 0, sizeof(and_bits));
			skx_query_fill_and(it, window, and_bits);
			for (i = 0; i < SKX_WINDOW_WORDS; i++)
				bits[i] |= and_bits[i];
			break;
		default:
			skx_query_fill_generated(it, window, bits);
			break;
	}
}

uint32
skx_query_bound(SkxIter *it, uint32 from)
{
	uint32		bound = from;
	int			i;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (it->held != NULL && it->held->at < it->held->n)
		return Max(from, it->held->docs[it->held->at]);
	switch (it->kind)
	{
		case SKX_NODE_TERM:
			return skx_cursor_lower_bound(it->list, from);
		case SKX_NODE_AND:
			for (i = 0; i < it->npositive && bound != SKX_NO_DOC; i++)
				bound = skx_query_bound(it->children[i], bound);
			return bound;
		case SKX_NODE_OR:
			bound = SKX_NO_DOC;
			if (it->range != NULL && skx_query_range_has(it->range, from))
				return from;
			for (i = 0; i < it->nchildren && bound > from; i++)
			{
				uint32		child = skx_query_bound(it->children[i], from);

				bound = Min(bound, child);
			}
			return bound;
		case SKX_NODE_PHRASE:
			return skx_query_bound(it->children[0], from);
		case SKX_NODE_KEYS:
			return skx_segment_keys_next(it->keys, &it->key_range, from);
		case SKX_NODE_NONE:
			return SKX_NO_DOC;
		default:
			return from;
	}
}
