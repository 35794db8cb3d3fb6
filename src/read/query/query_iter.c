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
skx_query_clip_window(uint64 *bits, uint32 window, uint32 from, uint32 to)
{
	if (from > window)
		skx_bitset_clear_range(bits, 0, Min(from - window, SKX_WINDOW_DOCS));
	if (to < window + SKX_WINDOW_DOCS)
		skx_bitset_clear_range(bits, Max(to, window) - window,
							   SKX_WINDOW_DOCS);
}

static uint32 *
skx_query_scratch(SkxIter *it)
{
	if (it->scratch == NULL)
		it->scratch = palloc(sizeof(uint32) * SKX_WINDOW_DOCS);
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
	uint32		window = start - start % SKX_BITSET_BITS;

	if (limit < it->seg->header.ndocs)
	{
		Assert(limit % SKX_BITSET_BITS == 0 && limit >= SKX_WINDOW_DOCS);
		window = Min(window, limit - SKX_WINDOW_DOCS);
	}
	return window;
}

static void skx_query_and_clause(SkxIter *it, uint32 window, uint64 *bits);

/*
 * Clears the bits of documents that are not in a range of coarse keys.  The
 * children are the keys within the range, and the values at its ends.
 */
static void
skx_query_and_coarse_range(SkxIter *it, uint32 window, uint64 *bits)
{
	uint64		kept[SKX_WINDOW_WORDS] = {0};
	uint64		part[SKX_WINDOW_WORDS];
	int			i;

	for (i = 0; i < it->nchildren; i++)
	{
		memcpy(part, bits, sizeof(part));
		skx_query_and_clause(it->children[i], window, part);
		skx_bitset_or(kept, part, SKX_WINDOW_WORDS);
	}
	memcpy(bits, kept, sizeof(kept));
}

/* Clears the bits of documents that do not match a clause. */
static void
skx_query_and_clause(SkxIter *it, uint32 window, uint64 *bits)
{
	bool		negative = it->kind == SKX_NODE_NOT;
	uint64		other[SKX_WINDOW_WORDS];

	check_stack_depth();
	if (it->kind == SKX_NODE_KEYS)
	{
		skx_segment_keys_clear_others(it->keys, &it->key_range, window, bits,
									  SKX_WINDOW_WORDS);
		return;
	}
	if (it->ends != NULL)
	{
		skx_query_and_coarse_range(it, window, bits);
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
skx_query_first_fill_clause(const SkxIter *it)
{
	int			i;

	for (i = 0; i < it->npositive; i++)
		if (it->children[i]->reads_no_positions &&
			!skx_query_tests_keys(it->children[i]))
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
	int			first = skx_query_first_fill_clause(it);
	int			keys;
	int			i;

	skx_query_fill(it->children[first], window, bits);
	for (keys = 0; keys <= 1; keys++)
	{
		for (i = 0; i < it->nchildren; i++)
		{
			SkxIter    *child = it->children[i];

			if (i == first || !child->reads_no_positions ||
				skx_query_tests_keys(child) != (keys == 1))
				continue;
			if (skx_bitset_is_empty(bits, SKX_WINDOW_WORDS))
				return;
			skx_query_and_clause(child, window, bits);
		}
	}
}

/*
 * Returns a lower bound of the next match by the clauses that read no
 * positions.  The other clauses have not filtered the documents of earlier
 * windows yet, so they must not move past these.
 */
static uint32
skx_query_bound_without_positions(SkxIter *it, uint32 from)
{
	uint32		bound = from;
	int			i;

	for (i = 0; i < it->npositive && bound != SKX_NO_DOC; i++)
		if (it->children[i]->reads_no_positions)
			bound = skx_query_lower_bound(it->children[i], bound);
	return bound;
}

bool
skx_query_next_window(SkxIter *it, uint32 from, uint32 limit, bool dense,
					  uint32 *start, uint32 *window, uint64 *bits)
{
	*start = dense ? skx_query_bound_without_positions(it, from) :
		skx_query_lower_bound(it, from);
	if (*start >= limit)
		return false;
	*window = skx_query_window(it, *start, limit);
	memset(bits, 0, sizeof(uint64) * SKX_WINDOW_WORDS);
	if (dense)
		skx_query_fill_and(it, *window, bits);
	else
		skx_query_fill(it, *window, bits);
	skx_query_clip_window(bits, *window, *start, limit);
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
						 SKX_WINDOW_DOCS);
	return Min(window + SKX_WINDOW_DOCS, limit);
}

/*
 * Keeps the documents that match the clauses which have not generated them.
 * Clauses that read positions filter last, and only if `positions` is true.
 */
static int
skx_query_filter_and(SkxIter *it, uint32 *docs, int n, bool positions)
{
	int			i;

	for (i = 1; i < it->nchildren && n > 0 && !it->uses_windows; i++)
		if (it->children[i]->reads_no_positions)
			n = skx_query_filter(it->children[i], docs, n);
	for (i = 1; i < it->nchildren && n > 0 && positions; i++)
		if (!it->children[i]->reads_no_positions)
			n = skx_query_filter(it->children[i], docs, n);
	return n;
}

static uint32
skx_query_generate_and(SkxIter *it, uint32 from, uint32 limit, uint32 *docs,
					   int *n)
{
	uint32		next;

	if (it->uses_windows)
		next = skx_query_generate_window(it, from, limit, docs, n, true);
	else if (it->phrase_generates)
		next = skx_query_generate(it->children[0]->children[0], from, limit,
								  docs, n);
	else
		next = skx_query_generate(it->children[0], from, limit, docs, n);
	*n = skx_query_filter_and(it, docs, *n,
							  !it->children[0]->reads_no_positions &&
							  !it->phrase_generates);
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
	int			nverified;		/* candidates before this one are done */
	int			n;
	uint32		from;			/* candidates go on from this document */
	uint32		docs[SKX_WINDOW_DOCS];
};

#define SKX_HELD_BATCH_INIT		8

/*
 * Generates for a node that reads positions.  It verifies few candidates at
 * first, then more, so that a query for one row does not read the positions of
 * many candidates.
 */
static uint32
skx_query_generate_verified(SkxIter *it, uint32 from, uint32 limit,
							uint32 *docs, int *n)
{
	struct SkxHeld *held = it->unverified;
	int			k = 0;
	int			i;

	if (held == NULL)
	{
		held = it->unverified = palloc(sizeof(struct SkxHeld));
		held->batch = SKX_HELD_BATCH_INIT;
		held->nverified = held->n = 0;
		held->from = 0;
	}
	while (held->nverified < held->n && held->docs[held->nverified] < from)
		held->nverified++;
	if (held->nverified == held->n)
	{
		held->nverified = 0;
		held->from = skx_query_candidates(it, Max(from, held->from), limit,
										  held->docs, &held->n);
	}
	while (k < held->batch && held->nverified < held->n &&
		   held->docs[held->nverified] < limit)
		docs[k++] = held->docs[held->nverified++];
	held->batch = Min(held->batch * 2, SKX_WINDOW_DOCS);
	from = held->nverified < held->n ? held->docs[held->nverified] :
		held->from;
	if (it->kind == SKX_NODE_PHRASE)
		k = skx_query_phrase_filter(it->phrase, docs, k);

	/*
	 * the phrase's words have moved past these documents, which have all of
	 * them
	 */
	if (it->phrase_generates)
		k = skx_query_phrase_filter(it->children[0]->phrase, docs, k);
	for (i = 1; i < it->nchildren && k > 0; i++)
		if (!it->children[i]->reads_no_positions)
			k = skx_query_filter(it->children[i], docs, k);
	*n = k;
	return from;
}

static uint32
skx_query_generate_all(uint32 from, uint32 limit, uint32 *docs, int *n)
{
	uint32		end = Min(limit, from + SKX_WINDOW_DOCS);
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
		from = skx_segment_keys_next_candidate(it->keys, &it->key_range, from);
		if (from < limit)
			from = skx_segment_keys_next_docs(it->keys, &it->key_range, from,
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
			if (!it->reads_no_positions &&
				(it->children[0]->reads_no_positions || it->phrase_generates))
				return skx_query_generate_verified(it, from, limit, docs, n);
			return skx_query_generate_and(it, from, limit, docs, n);
		case SKX_NODE_OR:
		case SKX_NODE_NOT:
		case SKX_NODE_BITMAP:
			return skx_query_generate_window(it, from, limit, docs, n, false);
		case SKX_NODE_PHRASE:
			return skx_query_generate_verified(it, from, limit, docs, n);
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
 * Filters n candidates, SKX_WINDOW_DOCS at a time, by what has not generated
 * them.
 */
static int
skx_query_collect_filter(SkxIter *it, uint32 *docs, int n)
{
	int			kept = 0;
	int			i;

	for (i = 0; i < n; i += SKX_WINDOW_DOCS)
	{
		int			some = Min(n - i, SKX_WINDOW_DOCS);

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
	bool		dense = it->kind == SKX_NODE_AND && it->uses_windows;
	bool		split = it->kind == SKX_NODE_PHRASE || it->kind == SKX_NODE_AND;
	int			some;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();

	/*
	 * If the whole answer may not be needed, or a batch of candidates is held
	 * already, positions are read in small batches.
	 */
	if (!it->reads_no_positions &&
		(goal < SKX_WINDOW_DOCS || it->unverified != NULL ||
		 it->phrase_generates))
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
skx_query_remove_docs(uint32 *docs, int n, const uint32 *other, int nother)
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
skx_query_gather_bitmap(SkxIter *it, uint32 window)
{
	int			i;

	if (it->bitmap == NULL)
		it->bitmap = skx_query_bitmap_of(it->seg, it->bitmap_docs,
										 it->children, it->nchildren);
	if (skx_query_bitmap_move_to(it->bitmap, window))
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
	if (it->bitmap != NULL)
		return true;
	if (it->max_tests == 0 || it->nchildren <= it->max_tests ||
		!it->reads_no_positions)
		return false;
	it->ntests += (uint64) n * it->nchildren;
	return it->ntests * SKX_GATHER_FILTER_DOCS >
		(uint64) it->npostings + it->seg->header.ndocs / SKX_BITSET_BITS +
		(uint64) it->nchildren * SKX_GATHER_OPEN_CLAUSES;
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
		skx_query_gather_bitmap(it, docs[0]);
		return skx_query_bitmap_filter(it->bitmap, docs, n);
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
			skx_cursor_work.filtered_docs += n;
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
			return skx_query_remove_docs(docs, n, scratch, k);
		case SKX_NODE_BITMAP:
			return skx_query_bitmap_filter(it->bitmap, docs, n);
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
	uint32		limit = Min(window + SKX_WINDOW_DOCS, it->seg->header.ndocs);
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
	skx_query_clip_window(left, window, window, ndocs);
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
		skx_query_gather_bitmap(it, window);
	switch (it->kind)
	{
		case SKX_NODE_TERM:
			skx_cursor_fill_window(it->list, window, bits, SKX_WINDOW_WORDS);
			break;
		case SKX_NODE_OR:
			if (it->bitmap != NULL)
				skx_query_bitmap_fill(it->bitmap, window, bits);
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
			skx_query_bitmap_fill(it->bitmap, window, bits);
			break;
		case SKX_NODE_KEYS:
			skx_segment_keys_fill_window(it->keys, &it->key_range, window,
										 bits, SKX_WINDOW_WORDS);
			break;
		case SKX_NODE_AND:
			if (!it->reads_no_positions || !it->uses_windows)
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
skx_query_lower_bound(SkxIter *it, uint32 from)
{
	uint32		bound = from;
	int			i;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (it->unverified != NULL &&
		it->unverified->nverified < it->unverified->n)
		return Max(from, it->unverified->docs[it->unverified->nverified]);
	switch (it->kind)
	{
		case SKX_NODE_TERM:
			return skx_cursor_lower_bound(it->list, from);
		case SKX_NODE_AND:
			for (i = 0; i < it->npositive && bound != SKX_NO_DOC; i++)
				bound = skx_query_lower_bound(it->children[i], bound);
			return bound;
		case SKX_NODE_OR:
			bound = SKX_NO_DOC;
			if (it->bitmap != NULL &&
				skx_query_bitmap_covers(it->bitmap, from))
				return from;
			for (i = 0; i < it->nchildren && bound > from; i++)
			{
				uint32		child = skx_query_lower_bound(it->children[i],
														  from);

				bound = Min(bound, child);
			}
			return bound;
		case SKX_NODE_PHRASE:
			return skx_query_lower_bound(it->children[0], from);
		case SKX_NODE_KEYS:
			return skx_segment_keys_next_candidate(it->keys, &it->key_range,
												   from);
		case SKX_NODE_NONE:
			return SKX_NO_DOC;
		default:
			return from;
	}
}
