/*
 * topk_or.c
 *	  The best documents with any of the words: block-max MAXSCORE in windows.
 *
 * The lists are ordered by the most that they can contribute in a window.  The
 * longest prefix of them whose bounds together stay below the threshold is
 * non-essential and is not traversed; the other, essential lists produce the
 * candidates.  A candidate is looked up in the non-essential lists, largest
 * bound first, as long as it can still reach the threshold.  (Turtle and Flood
 * 1995; Ding and Suel 2011 for blocks.)  A window ends where a sub-block of an
 * essential list does, so that its bounds are tight; where windows yield few
 * candidates they are made larger.
 */
#include "postgres.h"

#include "answer/topk/topk_tally.h"
#include "support/bitset/bitset.h"

/* Windows grow while they have fewer candidates than this for each list. */
#define SKX_OR_CANDIDATES_MIN	32

/*
 * A list is sparse if another one has more than this many times its documents.
 * The ranges between the documents of a sparse list are searched without it.
 */
#define SKX_OR_SPARSE_RATIO		1024

/*
 * With more lists than these none is sparse, since each window costs all of
 * them a bound.
 */
#define SKX_OR_SPARSE_LISTS_MAX	4

/* Largest number of lists that are merged. */
#define SKX_OR_MERGE_LISTS_MAX		8

/*
 * The first list to be looked up is added to the window instead, if it has
 * fewer postings than this many times those of the essential lists.  Adding a
 * posting takes a seventh of the time of looking up a candidate, and not each
 * posting of the essential lists is a candidate.
 */
#define SKX_OR_ADD_RATIO		4

/*
 * With at least so many lists, in so many documents, windows are searched by
 * bounds first.  In fewer ones opening each list again takes more than it saves.
 */
#define SKX_OR_TALLY_LISTS_MIN	6
#define SKX_OR_TALLY_DOCS_MIN	(8 * SKX_TOPK_WINDOW)

/*
 * Lists that are not essential are added up, too, unless all from them on
 * together are bounded by less than one in SKX_OR_TALLY_SHARE of the threshold,
 * or one has more than SKX_OR_TALLY_RATIO times the postings of those before.
 */
#define SKX_OR_TALLY_SHARE		6
#define SKX_OR_TALLY_RATIO		4

/*
 * After a window in which more than one in SKX_OR_TALLY_POSTINGS_MIN postings
 * made a candidate by its bounds, others are searched at once.
 */
#define SKX_OR_TALLY_POSTINGS_MIN	4

/*
 * Number of windows after which larger ones are tried, at first and at most.
 */
#define SKX_OR_WIDEN_WINDOWS		4
#define SKX_OR_WIDEN_WINDOWS_MAX	64

typedef struct SkxTopkOr
{
	SkxTopkRun *run;
	int			n;
	SkxTopkList **lists;		/* ascending by bound per document; essential
								 * ones last */
	int			nonessential;	/* number of lists that are not essential */
	int			nopen_ended;	/* lists whose sub-blocks do not end windows */
	int			windows_waited; /* windows since nlow exceeds nfree */
	int			windows_to_wait;
	int			first_required; /* with one essential list: candidates must be
								 * in the lists from this index on */
	uint32		max_df;			/* of the list with most documents */
	uint32		window_min;		/* least number of documents of a window */
	uint64		windows;
	uint64		candidates;
	uint64		window_words;	/* bit i: word i of the window's bitmap is not
								 * 0 */
	struct SkxTopkTally *tally; /* windows are searched by bounds first; NULL:
								 * there are too few lists */
	int			tally_waits;	/* windows until that is tried again */
	int			tally_to_wait;
} SkxTopkOr;

/* Each word of the window's bitmap has a bit in SkxTopkOr.window_words. */
StaticAssertDecl(SKX_BITSET_WORDS(SKX_TOPK_WINDOW) <= SKX_BITSET_BITS,
				 "too many words for a window");

static int64
skx_or_nonessential_bound(const SkxTopkOr *o)
{
	return o->nonessential > 0 ? o->lists[o->nonessential - 1]->prefix_bound :
		0;
}

static inline bool
skx_or_is_sparse(const SkxTopkOr *o, const SkxTopkList *l)
{
	return o->n <= SKX_OR_SPARSE_LISTS_MAX &&
		(uint64) l->cursor->df * SKX_OR_SPARSE_RATIO < o->max_df;
}

/*
 * Returns the end of a window: the first end of a current sub-block of the
 * lists from index `nopen_ended` on.  Beside dense lists, each document of a
 * sparse one is a window of its own, so that the bounds of the dense lists are
 * tight there.  The range up to the next such document is one window, too.
 */
static uint32
skx_or_window_end(SkxTopkOr *o, uint32 from)
{
	uint32		last = o->run->to;
	uint32		end = last;
	uint32		gap = last;
	bool		dense = false;
	int			i;

	for (i = Min(o->nopen_ended, o->n - 1); i < o->n; i++)
	{
		SkxTopkList *l = o->lists[i];

		if (!skx_cursor_advance(l->cursor, from))
			continue;
		if (skx_or_is_sparse(o, l))
		{
			uint32		doc = skx_cursor_seek(l->cursor, from);

			gap = Min(gap, doc > from ? doc : from + 1);
		}
		else
			dense = true;
		end = Min(end, l->cursor->end);
	}
	if (gap < last && dense)
		return gap;
	if (o->n - o->nopen_ended > 1)
	{
		uint64		least = (uint64) from + o->window_min;

		end = Max(end, Min(least, last));
	}
	return end;
}

/*
 * Returns true if a has a smaller bound than b in relation to the cost of
 * traversing the list.
 */
static inline bool
skx_or_list_before(const SkxTopkList *a, const SkxTopkList *b)
{
	return (double) a->window_bound * b->cursor->df <
		(double) b->window_bound * a->cursor->df;
}

/* Sorts the lists by insertion, since little changes from window to window. */
static void
skx_or_sort_lists(SkxTopkOr *o)
{
	int			i;

	for (i = 1; i < o->n; i++)
	{
		SkxTopkList *l = o->lists[i];
		int			k = i;

		for (; k > 0 && skx_or_list_before(l, o->lists[k - 1]); k--)
			o->lists[k] = o->lists[k - 1];
		o->lists[k] = l;
	}
}

/*
 * Computes the bounds of the lists in the window [from, to), and which of them
 * are essential.
 */
static void
skx_or_split_essential(SkxTopkOr *o, uint32 from, uint32 to)
{
	int64		sum = 0;
	int			i;

	for (i = 0; i < o->n; i++)
	{
		SkxTopkList *l = o->lists[i];

		l->window_bound = skx_cursor_advance(l->cursor, from) ?
			skx_topk_list_bound(l, from, to) : 0;
	}
	skx_or_sort_lists(o);
	o->nonessential = 0;
	for (i = 0; i < o->n; i++)
	{
		sum += o->lists[i]->window_bound;
		o->lists[i]->prefix_bound = sum;
		if (sum < o->run->threshold)
			o->nonessential = i + 1;
	}
}

/*
 * Doubles the least size of windows if they have too few candidates, and
 * resets it otherwise.
 */
static void
skx_or_adapt_window(SkxTopkOr *o)
{
	if (o->candidates < o->windows * SKX_OR_CANDIDATES_MIN * o->n)
		o->window_min = Min(o->window_min * 2, o->tally == NULL ?
							SKX_TOPK_WINDOW : 4 * SKX_TOPK_WINDOW);
	else
		o->window_min = 1;
}

/*
 * Chooses a window that starts at `from`, and the essential lists in it.
 * Returns its end.  A list that has not been essential for some windows does
 * not end further ones, unless it is essential in the larger window.
 */
static uint32
skx_or_choose_window(SkxTopkOr *o, uint32 from)
{
	bool		larger = false;
	bool		failed = false;
	uint32		to;

	if (o->n - o->nonessential > 1)
		skx_or_adapt_window(o);
	if (o->nonessential > o->nopen_ended &&
		++o->windows_waited > o->windows_to_wait)
	{
		o->nopen_ended = o->nonessential;
		larger = true;
	}
	for (;;)
	{
		to = skx_or_window_end(o, from);
		skx_or_split_essential(o, from, to);
		if (o->nonessential >= o->nopen_ended)
			break;
		o->nopen_ended = o->nonessential;
		failed = true;
	}
	if (larger)
		o->windows_to_wait = failed ?
			Min(o->windows_to_wait * 2,
				SKX_OR_WIDEN_WINDOWS_MAX) : SKX_OR_WIDEN_WINDOWS;
	if (o->nonessential <= o->nopen_ended)
		o->windows_waited = 0;
	o->windows++;
	return to;
}

/*
 * Sets o->first_required, with one essential list.  A list is required if all
 * others together do not reach the threshold.
 */
static void
skx_or_set_required(SkxTopkOr *o)
{
	SkxTopkList **lists = o->lists;
	int64		others = lists[o->nonessential]->window_bound;

	o->first_required = o->nonessential;
	while (o->first_required > 0)
	{
		int64		low = o->first_required > 1 ?
			lists[o->first_required - 2]->prefix_bound : 0;

		if (others + low >= o->run->threshold)
			break;
		others += lists[--o->first_required]->window_bound;
	}
}

/*
 * Looks candidates up in the first n lists, and makes hits of those that reach
 * the threshold.  Moves these lists on, but never beyond a candidate.
 */
static void
skx_or_probe_lists(SkxTopkOr *o, int n, int required)
{
	if (o->run->n == 0)
		return;
	if (n > 0)
		skx_topk_batch_filter_early(o->run);
	skx_topk_batch_optional(o->run, o->lists, n, required);
	skx_topk_batch_finish(o->run);
}

/* Searches a window with one essential list, sub-block by sub-block. */
static void
skx_or_search_one_list(SkxTopkOr *o, uint32 from, uint32 to)
{
	SkxTopkRun *run = o->run;
	SkxTopkList *l = o->lists[o->nonessential];

	skx_or_set_required(o);
	while (from < to && skx_cursor_advance(l->cursor, from))
	{
		if (skx_topk_list_sub_bound(l) + skx_or_nonessential_bound(o) >=
			run->threshold)
		{
			run->n = skx_topk_list_contributions(run, l, from, to,
												 run->threshold -
												 skx_or_nonessential_bound(o),
												 run->docs, run->sums);
			o->candidates += run->n;
			skx_topk_batch_drop_below(run, run->threshold -
									  skx_or_nonessential_bound(o));
			skx_or_probe_lists(o, o->nonessential, o->first_required);
		}
		from = l->cursor->end;
	}
}

/*
 * Adds contributions to the window that starts at `from`.  Returns which words
 * of the bitmap have their documents, as in SkxTopkOr.window_words.
 */
static inline uint64
skx_or_add_contributions(uint64 *restrict bits, int32 *restrict sums,
						 uint32 from, const uint32 *docs, const int32 *parts,
						 int n)
{
	uint64		words = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		uint32		bit = docs[i] - from;

		words |= skx_bitset_mask_bit(bit / SKX_BITSET_BITS);
		skx_bitset_set(bits, bit);
		sums[bit] += parts[i];
	}
	return words;
}

/*
 * Adds the contributions of list number `which` in [from, to) to the window
 * that starts at `from`.  The lists after it have been added before.  An
 * essential list is added as a whole, since what the other lists can add
 * mostly suffices for a hit.  Of another list only those documents are added
 * that can reach the threshold.
 */
static void
skx_or_add_list(SkxTopkOr *o, int which, uint32 from, uint32 to)
{
	SkxTopkRun *run = o->run;
	SkxTopkList *l = o->lists[which];
	SkxTopkWindowSums join = {run->bits_sums, from, 0};
	uint32		docs[SKX_SUBBLOCK];
	int32		parts[SKX_SUBBLOCK];
	uint32		at = from;
	int			n;

	join.min_sum = (int32) Max(run->threshold - l->prefix_bound, 1);
	while (at < to && skx_cursor_advance(l->cursor, at))
	{
		n = which >= o->nonessential ?
			skx_topk_list_contributions(run, l, at, to, 0, docs, parts) :
			skx_topk_list_add_window(run, l, at, to, &join, docs, parts);
		o->candidates += n;
		o->window_words |= skx_or_add_contributions(run->bits, run->bits_sums,
													from, docs, parts, n);
		at = l->cursor->end;
	}
	skx_cursor_unpin_if_crowded(l->cursor);
}

/*
 * Moves the candidates with sums of at least `limit` from the window to the
 * run, and clears the window.  Only words of the bitmap that are not 0 are
 * examined, since windows of rare words have few of these.
 */
static void
skx_or_take_candidates(SkxTopkOr *o, uint32 from, int32 limit)
{
	SkxTopkRun *run = o->run;
	uint64	   *restrict bits = run->bits;
	int32	   *restrict window = run->bits_sums;
	uint32	   *restrict docs = run->docs;
	int32	   *restrict sums = run->sums;
	int			n = 0;

	while (o->window_words != 0)
	{
		int			w = skx_bitset_pop_lowest(&o->window_words);
		uint64		word = bits[w];

		bits[w] = 0;
		while (word != 0)
		{
			int			bit = w * SKX_BITSET_BITS +
				skx_bitset_pop_lowest(&word);
			int32		sum = window[bit];

			window[bit] = 0;
			docs[n] = from + bit;
			sums[n] = sum;
			n += sum >= limit;
		}
	}
	run->n = n;
}

/*
 * Returns a lower bound of the next document of the essential lists, from
 * `from` on.
 */
static uint32
skx_or_next_doc_bound(SkxTopkOr *o, uint32 from, uint32 to)
{
	uint32		next = to;
	int			i;

	for (i = o->nonessential; i < o->n; i++)
	{
		next = Min(next, skx_cursor_lower_bound(o->lists[i]->cursor, from));
		skx_cursor_unpin_if_crowded(o->lists[i]->cursor);
	}
	return next;
}

/* Allocates the window of sums, which most searches do without. */
static void
skx_or_alloc_window(SkxTopkRun *run)
{
	SkxTopk    *topk = run->topk;

	if (topk->bits == NULL)
	{
		topk->bits_sums = MemoryContextAllocZero(topk->context,
												 sizeof(int32) *
												 SKX_TOPK_WINDOW);
		topk->bits = MemoryContextAllocZero(topk->context, sizeof(uint64) *
											SKX_BITSET_WORDS(SKX_TOPK_WINDOW));
	}
	run->bits = topk->bits;
	run->bits_sums = topk->bits_sums;
}

/*
 * Returns the first end of a current sub-block of the essential lists, at most
 * `to`.
 */
static uint32
skx_or_subblock_end(SkxTopkOr *o, uint32 from, uint32 to)
{
	uint32		end = to;
	int			i;

	for (i = o->nonessential; i < o->n; i++)
		if (skx_cursor_advance(o->lists[i]->cursor, from))
			end = Min(end, o->lists[i]->cursor->end);
	return end;
}

/*
 * Merges n postings of a list into the candidates of the run, starting with
 * the last ones.
 */
static void
skx_or_merge_list(SkxTopkRun *run, const uint32 *docs, const int32 *parts,
				  int n)
{
	uint32	   *restrict to_docs = run->docs;
	int32	   *restrict to_sums = run->sums;
	int			i = run->n - 1;
	int			k = n - 1;
	int			at = run->n + n;
	int			end = at;

	while (k >= 0)
	{
		bool		mine = i >= 0 && to_docs[i] >= docs[k];
		uint32		doc = mine ? to_docs[i] : docs[k];
		bool		other = docs[k] == doc;

		at--;
		to_sums[at] = (mine ? to_sums[i] : 0) + (other ? parts[k] : 0);
		to_docs[at] = doc;
		i -= mine;
		k -= other;
	}
	i++;
	run->n = i + end - at;
	memmove(to_docs + i, to_docs + at, sizeof(uint32) * (end - at));
	memmove(to_sums + i, to_sums + at, sizeof(int32) * (end - at));
}

/*
 * Merges the postings of the essential lists in [from, to).  This range is
 * longer than a window, and most windows in it would have few postings.
 */
static void
skx_or_merge_lists(SkxTopkOr *o, uint32 from, uint32 to)
{
	SkxTopkRun *run = o->run;
	uint32		docs[SKX_SUBBLOCK];
	int32		parts[SKX_SUBBLOCK];
	int			i;

	run->n = 0;
	for (i = o->nonessential; i < o->n; i++)
	{
		SkxTopkList *l = o->lists[i];
		int			n;

		if (!skx_cursor_advance(l->cursor, from))
			continue;
		n = skx_topk_list_contributions(run, l, from, to, 0, docs, parts);
		o->candidates += n;
		skx_or_merge_list(run, docs, parts, n);
		skx_cursor_unpin_if_crowded(l->cursor);
	}
	skx_topk_batch_drop_below(run,
							  run->threshold - skx_or_nonessential_bound(o));
}

/*
 * Returns true if the first list to be looked up, which decides about most
 * candidates, is added to the window instead.  It must have so few postings
 * that this is less work.
 */
static bool
skx_or_adds_first_list(const SkxTopkOr *o)
{
	uint64		df = 0;
	int			i;

	if (o->nonessential == 0)
		return false;
	for (i = o->nonessential; i < o->n; i++)
		df += o->lists[i]->window_bound > 0 ? o->lists[i]->cursor->df : 0;
	return o->lists[o->nonessential - 1]->cursor->df < df * SKX_OR_ADD_RATIO;
}

/*
 * Adds up the contributions of the lists from index `low` on in the window
 * [from, to), and takes out the candidates.  Returns false if the window is
 * empty.
 */
static bool
skx_or_sum_window(SkxTopkOr *o, int low, uint32 from, uint32 to)
{
	int64		below = low > 0 ? o->lists[low - 1]->prefix_bound : 0;
	int			i;

	for (i = o->n - 1; i >= o->nonessential; i--)
		skx_or_add_list(o, i, from, to);
	if (o->window_words == 0)
		return false;
	for (; i >= low; i--)
		skx_or_add_list(o, i, from, to);
	skx_or_take_candidates(o, from, (int32) Max(o->run->threshold - below, 0));
	return true;
}

/*
 * Returns the index of the first list that is added up by bounds: the essential
 * ones, and those next to them that matter and have few postings.
 */
static int
skx_or_first_tallied_list(const SkxTopkOr *o)
{
	int			low = o->nonessential;
	uint64		df = 0;
	int			i;

	for (i = low; i < o->n; i++)
		df += o->lists[i]->window_bound > 0 ? o->lists[i]->cursor->df : 0;
	while (low > 0 &&
		   o->lists[low - 1]->prefix_bound * SKX_OR_TALLY_SHARE >
		   o->run->threshold &&
		   o->lists[low - 1]->cursor->df < df * SKX_OR_TALLY_RATIO)
		df += o->lists[--low]->cursor->df;
	return low;
}

/*
 * Returns true if the next window is searched by bounds first.  Some windows
 * after one with many candidates are not.
 */
static bool
skx_or_uses_tally(SkxTopkOr *o)
{
	return o->tally != NULL && (o->tally_waits == 0 || --o->tally_waits == 0);
}

/*
 * Adds up the contributions of some lists in the window [from, to) by bounds
 * first (topk_tally.c).  Sets *low to the index of the first of these lists.
 * Returns false if the window is empty.
 */
static bool
skx_or_tally_window(SkxTopkOr *o, uint32 from, uint32 to, int *low)
{
	SkxTopkTallyWindow window = {from, to};

	*low = window.low = skx_or_first_tallied_list(o);
	window.limit = (int32) Max(o->run->threshold -
							   (*low > 0 ? o->lists[*low - 1]->prefix_bound : 0),
							   1);
	skx_topk_tally_window(o->run, o->tally, &window);
	if (window.ntested * SKX_OR_TALLY_POSTINGS_MIN <= window.npostings)
		o->tally_to_wait = 1;
	else
	{
		o->tally_waits = o->tally_to_wait;
		o->tally_to_wait = Min(o->tally_to_wait * 2, SKX_OR_WIDEN_WINDOWS_MAX);
	}
	return window.npostings > 0;
}

/*
 * Searches a window with several essential lists, by adding up their
 * contributions.
 */
static void
skx_or_search_lists(SkxTopkOr *o, uint32 from, uint32 to)
{
	bool		few = o->n - o->nonessential <= SKX_OR_MERGE_LISTS_MAX;
	int			low = o->nonessential - skx_or_adds_first_list(o);

	if (o->run->bits == NULL)
		skx_or_alloc_window(o->run);
	while (from < to)
	{
		uint32		end = few ? skx_or_subblock_end(o, from, to) : from;

		if (end - from > SKX_TOPK_WINDOW)
		{
			skx_or_merge_lists(o, from, end);
			skx_or_probe_lists(o, o->nonessential, o->nonessential);
			from = end;
			continue;
		}
		end = Min(to, from + SKX_TOPK_WINDOW);
		if (skx_or_uses_tally(o) ? skx_or_tally_window(o, from, end, &low) :
			skx_or_sum_window(o, low, from, end))
		{
			skx_or_probe_lists(o, low, low);
			from = end;
		}
		else
			from = end < to ? skx_or_next_doc_bound(o, end, to) : to;
	}
}

/*
 * Returns true if exactly one list is essential, whatever the window is.
 * Makes that list required.
 */
static bool
skx_or_becomes_and(SkxTopkRun *run)
{
	SkxTopkList **lists = run->optional;
	int64		others = 0;
	int			lead = 0;
	int			i;

	for (i = 1; i < run->noptional; i++)
		if (lists[i]->max_contribution > lists[lead]->max_contribution)
			lead = i;
	for (i = 0; i < run->noptional; i++)
		others += i == lead ? 0 : lists[i]->max_contribution;
	if (run->noptional < 2 || others >= run->threshold)
		return false;
	run->required[run->nrequired++] = lists[lead];
	run->noptional--;
	memmove(lists + lead, lists + lead + 1,
			sizeof(SkxTopkList *) * (run->noptional - lead));
	return true;
}

/* Searches all windows, or those before the budget is spent. */
static void
skx_or_search_windows(SkxTopkOr *o)
{
	SkxTopkRun *run = o->run;
	uint32		from = run->from;

	while (o->n > 0 && from < run->to)
	{
		uint32		to;

		if (skx_topk_count_window(run, from))
			return;
		if (run->residual_filter != NULL)
			from = skx_query_docs_filter_bound(run->residual_filter, from);
		if (from >= run->to)
			return;
		to = skx_or_choose_window(o, from);
		if (o->n - o->nonessential == 1)
			skx_or_search_one_list(o, from, to);
		else if (o->nonessential < o->n)
			skx_or_search_lists(o, from, to);
		from = to;
	}
}

void
skx_topk_search_or(SkxTopkRun *run)
{
	SkxTopkOr	o = {run, run->noptional, run->optional};
	int			i;

	/* Pages are read in fewer rounds if a list leads. */
	if (skx_topk_cold_is_worthwhile(run))
	{
		if (skx_or_becomes_and(run))
		{
			skx_topk_search_and(run);
			return;
		}
		if (skx_topk_cold_any(run))
			return;
	}
	for (i = 0; i < o.n; i++)
		o.max_df = Max(o.max_df, o.lists[i]->cursor->df);
	o.window_min = 1;
	o.windows_to_wait = SKX_OR_WIDEN_WINDOWS;
	o.tally_to_wait = 1;
	if (o.n >= SKX_OR_TALLY_LISTS_MIN &&
		run->to - run->from >= SKX_OR_TALLY_DOCS_MIN &&
		skx_topk_tally_is_possible(run))
		o.tally = skx_topk_tally_open(run);
	skx_or_search_windows(&o);
	if (o.tally != NULL)
		skx_topk_tally_close(run);
}
