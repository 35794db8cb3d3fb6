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

#include "answer/topk/topk_internal.h"
#include "support/bitset/bitset.h"

/* Windows grow while they have fewer candidates than this for each list. */
#define SKX_OR_CANDIDATES	32

/*
 * A list is sparse if another one has more than this many times its documents.
 * The ranges between the documents of a sparse list are searched without it.
 */
#define SKX_OR_SPARSE		1024

/*
 * With more lists than these none is sparse, since each window costs all of
 * them a bound.
 */
#define SKX_OR_SPARSE_LISTS	4

/* Largest number of lists that are merged. */
#define SKX_OR_MERGED		8

/*
 * The first list to be looked up is added to the window instead, if it has
 * fewer postings than this many times those of the essential lists.  Adding a
 * posting takes a seventh of the time of looking up a candidate, and not each
 * posting of the essential lists is a candidate.
 */
#define SKX_OR_JOINED		4

/*
 * Number of windows after which larger ones are tried, at first and at most.
 */
#define SKX_OR_PATIENCE		4
#define SKX_OR_PATIENCE_MOST	64

typedef struct SkxOr
{
	SkxTopkRun *run;
	int			n;
	SkxTopkList **lists;		/* ascending by bound per document; essential
								 * ones last */
	int			nlow;			/* number of lists that are not essential */
	int			nfree;			/* lists whose sub-blocks do not end windows */
	int			waited;			/* windows since nlow exceeds nfree */
	int			patience;
	int			required;		/* with one essential list: candidates must be
								 * in the lists from this index on */
	uint32		df;				/* of the list with most documents */
	uint32		least;			/* least number of documents of a window */
	uint64		windows;
	uint64		candidates;
	uint64		words;			/* bit i: word i of the window's bitmap is not
								 * 0 */
} SkxOr;

/* Each word of the window's bitmap has a bit in SkxOr.words. */
StaticAssertDecl(SKX_BITSET_WORDS(SKX_TOPK_WINDOW) <= SKX_BITSET_WORD,
				 "too many words for a window");

static int64
skx_or_low(const SkxOr *o)
{
	return o->nlow > 0 ? o->lists[o->nlow - 1]->before : 0;
}

static inline bool
skx_or_is_sparse(const SkxOr *o, const SkxTopkList *l)
{
	return o->n <= SKX_OR_SPARSE_LISTS &&
		(uint64) l->cursor->df * SKX_OR_SPARSE < o->df;
}

/*
 * Returns the end of a window: the first end of a current sub-block of the
 * lists from index `nfree` on.  Beside dense lists, each document of a sparse
 * one is a window of its own, so that the bounds of the dense lists are tight
 * there.  The range up to the next such document is one window, too.
 */
static uint32
skx_or_end(SkxOr *o, uint32 from)
{
	uint32		last = o->run->to;
	uint32		end = last;
	uint32		gap = last;
	bool		dense = false;
	int			i;

	for (i = Min(o->nfree, o->n - 1); i < o->n; i++)
	{
		SkxTopkList *l = o->lists[i];

		if (!skx_cursor_reach(l->cursor, from))
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
	if (o->n - o->nfree > 1)
	{
		uint64		least = (uint64) from + o->least;

		end = Max(end, Min(least, last));
	}
	return end;
}

/*
 * Returns true if a has a smaller bound than b in relation to the cost of
 * traversing the list.
 */
static inline bool
skx_or_below(const SkxTopkList *a, const SkxTopkList *b)
{
	return (double) a->bound * b->cursor->df <
		(double) b->bound * a->cursor->df;
}

/* Sorts the lists by insertion, since little changes from window to window. */
static void
skx_or_sort(SkxOr *o)
{
	int			i;

	for (i = 1; i < o->n; i++)
	{
		SkxTopkList *l = o->lists[i];
		int			k = i;

		for (; k > 0 && skx_or_below(l, o->lists[k - 1]); k--)
			o->lists[k] = o->lists[k - 1];
		o->lists[k] = l;
	}
}

/*
 * Computes the bounds of the lists in the window [from, to), and which of them
 * are essential.
 */
static void
skx_or_split(SkxOr *o, uint32 from, uint32 to)
{
	int64		sum = 0;
	int			i;

	for (i = 0; i < o->n; i++)
	{
		SkxTopkList *l = o->lists[i];

		l->bound = skx_cursor_reach(l->cursor, from) ?
			skx_topk_list_bound(l, from, to) : 0;
	}
	skx_or_sort(o);
	o->nlow = 0;
	for (i = 0; i < o->n; i++)
	{
		sum += o->lists[i]->bound;
		o->lists[i]->before = sum;
		if (sum < o->run->need)
			o->nlow = i + 1;
	}
}

/*
 * Doubles the least size of windows if they have too few candidates, and
 * resets it otherwise.
 */
static void
skx_or_adapt(SkxOr *o)
{
	if (o->candidates < o->windows * SKX_OR_CANDIDATES * o->n)
		o->least = Min(o->least * 2, SKX_TOPK_WINDOW);
	else
		o->least = 1;
}

/*
 * Chooses a window that starts at `from`, and the essential lists in it.
 * Returns its end.  A list that has not been essential for some windows does
 * not end further ones, unless it is essential in the larger window.
 */
static uint32
skx_or_window(SkxOr *o, uint32 from)
{
	bool		larger = false;
	bool		failed = false;
	uint32		to;

	if (o->n - o->nlow > 1)
		skx_or_adapt(o);
	if (o->nlow > o->nfree && ++o->waited > o->patience)
	{
		o->nfree = o->nlow;
		larger = true;
	}
	for (;;)
	{
		to = skx_or_end(o, from);
		skx_or_split(o, from, to);
		if (o->nlow >= o->nfree)
			break;
		o->nfree = o->nlow;
		failed = true;
	}
	if (larger)
		o->patience = failed ?
			Min(o->patience * 2, SKX_OR_PATIENCE_MOST) : SKX_OR_PATIENCE;
	if (o->nlow <= o->nfree)
		o->waited = 0;
	o->windows++;
	return to;
}

/*
 * Sets o->required, with one essential list.  A list is required if all others
 * together do not reach the threshold.
 */
static void
skx_or_require(SkxOr *o)
{
	SkxTopkList **lists = o->lists;
	int64		others = lists[o->nlow]->bound;

	o->required = o->nlow;
	while (o->required > 0)
	{
		int64		low = o->required > 1 ? lists[o->required - 2]->before : 0;

		if (others + low >= o->run->need)
			break;
		others += lists[--o->required]->bound;
	}
}

/*
 * Looks candidates up in the first n lists, and makes hits of those that reach
 * the threshold.  Moves these lists on, but never beyond a candidate.
 */
static void
skx_or_look_up(SkxOr *o, int n, int required)
{
	if (o->run->n == 0)
		return;
	if (n > 0)
		skx_topk_batch_sieve(o->run);
	skx_topk_batch_optional(o->run, o->lists, n, required);
	skx_topk_batch_finish(o->run);
}

/* Searches a window with one essential list, sub-block by sub-block. */
static void
skx_or_single(SkxOr *o, uint32 from, uint32 to)
{
	SkxTopkRun *run = o->run;
	SkxTopkList *l = o->lists[o->nlow];

	skx_or_require(o);
	while (from < to && skx_cursor_reach(l->cursor, from))
	{
		if (skx_topk_list_sub_bound(l) + skx_or_low(o) >= run->need)
		{
			run->n = skx_topk_list_parts(run, l, from, to,
										 run->need - skx_or_low(o),
										 run->docs, run->sums);
			o->candidates += run->n;
			skx_topk_batch_floor(run, run->need - skx_or_low(o));
			skx_or_look_up(o, o->nlow, o->required);
		}
		from = l->cursor->end;
	}
}

/*
 * Adds contributions to the window that starts at `from`.  Returns which words
 * of the bitmap have their documents, as in SkxOr.words.
 */
static inline uint64
skx_or_put(uint64 *restrict bits, int32 *restrict sums, uint32 from,
		   const uint32 *docs, const int32 *parts, int n)
{
	uint64		words = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		uint32		bit = docs[i] - from;

		words |= skx_bitset_bit(bit / SKX_BITSET_WORD);
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
skx_or_add(SkxOr *o, int which, uint32 from, uint32 to)
{
	SkxTopkRun *run = o->run;
	SkxTopkList *l = o->lists[which];
	SkxTopkJoin join = {run->bits_sums, from, 0};
	uint32		docs[SKX_SUBBLOCK];
	int32		parts[SKX_SUBBLOCK];
	uint32		at = from;
	int			n;

	join.least = (int32) Max(run->need - l->before, 1);
	while (at < to && skx_cursor_reach(l->cursor, at))
	{
		n = which >= o->nlow ?
			skx_topk_list_parts(run, l, at, to, 0, docs, parts) :
			skx_topk_list_join(run, l, at, to, &join, docs, parts);
		o->candidates += n;
		o->words |= skx_or_put(run->bits, run->bits_sums, from, docs, parts, n);
		at = l->cursor->end;
	}
	skx_cursor_relax(l->cursor);
}

/*
 * Moves the candidates with sums of at least `limit` from the window to the
 * run, and clears the window.  Only words of the bitmap that are not 0 are
 * examined, since windows of rare words have few of these.
 */
static void
skx_or_drain(SkxOr *o, uint32 from, int32 limit)
{
	SkxTopkRun *run = o->run;
	uint64	   *restrict bits = run->bits;
	int32	   *restrict window = run->bits_sums;
	uint32	   *restrict docs = run->docs;
	int32	   *restrict sums = run->sums;
	int			n = 0;

	while (o->words != 0)
	{
		int			w = skx_bitset_take(&o->words);
		uint64		word = bits[w];

		bits[w] = 0;
		while (word != 0)
		{
			int			bit = w * SKX_BITSET_WORD + skx_bitset_take(&word);
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
skx_or_next(SkxOr *o, uint32 from, uint32 to)
{
	uint32		next = to;
	int			i;

	for (i = o->nlow; i < o->n; i++)
	{
		next = Min(next, skx_cursor_lower_bound(o->lists[i]->cursor, from));
		skx_cursor_relax(o->lists[i]->cursor);
	}
	return next;
}

/* Allocates the window of sums, which most searches do without. */
static void
skx_or_make_window(SkxTopkRun *run)
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
skx_or_reach(SkxOr *o, uint32 from, uint32 to)
{
	uint32		end = to;
	int			i;

	for (i = o->nlow; i < o->n; i++)
		if (skx_cursor_reach(o->lists[i]->cursor, from))
			end = Min(end, o->lists[i]->cursor->end);
	return end;
}

/*
 * Merges n postings of a list into the candidates of the run, starting with
 * the last ones.
 */
static void
skx_or_merge(SkxTopkRun *run, const uint32 *docs, const int32 *parts, int n)
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
skx_or_sparse(SkxOr *o, uint32 from, uint32 to)
{
	SkxTopkRun *run = o->run;
	uint32		docs[SKX_SUBBLOCK];
	int32		parts[SKX_SUBBLOCK];
	int			i;

	run->n = 0;
	for (i = o->nlow; i < o->n; i++)
	{
		SkxTopkList *l = o->lists[i];
		int			n;

		if (!skx_cursor_reach(l->cursor, from))
			continue;
		n = skx_topk_list_parts(run, l, from, to, 0, docs, parts);
		o->candidates += n;
		skx_or_merge(run, docs, parts, n);
		skx_cursor_relax(l->cursor);
	}
	skx_topk_batch_floor(run, run->need - skx_or_low(o));
}

/*
 * Returns true if the first list to be looked up, which decides about most
 * candidates, is added to the window instead.  It must have so few postings
 * that this is less work.
 */
static bool
skx_or_joins(const SkxOr *o)
{
	uint64		df = 0;
	int			i;

	if (o->nlow == 0)
		return false;
	for (i = o->nlow; i < o->n; i++)
		df += o->lists[i]->bound > 0 ? o->lists[i]->cursor->df : 0;
	return o->lists[o->nlow - 1]->cursor->df < df * SKX_OR_JOINED;
}

/*
 * Adds up the contributions of the lists from index `low` on in the window
 * [from, to), and takes out the candidates.  Returns false if the window is
 * empty.
 */
static bool
skx_or_add_up(SkxOr *o, int low, uint32 from, uint32 to)
{
	int64		below = low > 0 ? o->lists[low - 1]->before : 0;
	int			i;

	for (i = o->n - 1; i >= o->nlow; i--)
		skx_or_add(o, i, from, to);
	if (o->words == 0)
		return false;
	for (; i >= low; i--)
		skx_or_add(o, i, from, to);
	skx_or_drain(o, from, (int32) Max(o->run->need - below, 0));
	return true;
}

/*
 * Searches a window with several essential lists, by adding up their
 * contributions.
 */
static void
skx_or_several(SkxOr *o, uint32 from, uint32 to)
{
	bool		few = o->n - o->nlow <= SKX_OR_MERGED;
	int			low = o->nlow - skx_or_joins(o);

	if (o->run->bits == NULL)
		skx_or_make_window(o->run);
	while (from < to)
	{
		uint32		end = few ? skx_or_reach(o, from, to) : from;

		if (end - from > SKX_TOPK_WINDOW)
		{
			skx_or_sparse(o, from, end);
			skx_or_look_up(o, o->nlow, o->nlow);
			from = end;
			continue;
		}
		end = Min(to, from + SKX_TOPK_WINDOW);
		if (skx_or_add_up(o, low, from, end))
		{
			skx_or_look_up(o, low, low);
			from = end;
		}
		else
			from = end < to ? skx_or_next(o, end, to) : to;
	}
}

/*
 * Returns true if exactly one list is essential, whatever the window is.
 * Makes that list required.
 */
static bool
skx_or_lead(SkxTopkRun *run)
{
	SkxTopkList **lists = run->optional;
	int64		others = 0;
	int			lead = 0;
	int			i;

	for (i = 1; i < run->noptional; i++)
		if (lists[i]->max > lists[lead]->max)
			lead = i;
	for (i = 0; i < run->noptional; i++)
		others += i == lead ? 0 : lists[i]->max;
	if (run->noptional < 2 || others >= run->need)
		return false;
	run->required[run->nrequired++] = lists[lead];
	run->noptional--;
	memmove(lists + lead, lists + lead + 1,
			sizeof(SkxTopkList *) * (run->noptional - lead));
	return true;
}

void
skx_topk_or(SkxTopkRun *run)
{
	SkxOr		o = {run, run->noptional, run->optional};
	uint32		from = run->from;
	int			i;

	/* Pages are read in fewer rounds if a list leads. */
	if (skx_topk_is_cold(run))
	{
		if (skx_or_lead(run))
		{
			skx_topk_and(run);
			return;
		}
		if (skx_topk_cold_any(run))
			return;
	}
	for (i = 0; i < o.n; i++)
		o.df = Max(o.df, o.lists[i]->cursor->df);
	o.least = 1;
	o.patience = SKX_OR_PATIENCE;
	while (o.n > 0 && from < run->to)
	{
		uint32		to;

		if (skx_topk_tick(run, from))
			return;
		if (run->filter != NULL)
			from = skx_query_docs_filter_bound(run->filter, from);
		if (from >= run->to)
			return;
		to = skx_or_window(&o, from);
		if (o.n - o.nlow == 1)
			skx_or_single(&o, from, to);
		else if (o.nlow < o.n)
			skx_or_several(&o, from, to);
		from = to;
	}
}
