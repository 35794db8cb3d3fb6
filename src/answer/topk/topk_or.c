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
#include "port/pg_bitutils.h"

/* Windows grow as long as they have fewer candidates for each list. */
#define SKX_OR_CANDIDATES	32

/*
 * A list with so many times fewer documents than another one is sparse: what
 * lies between its documents is gone through without it.
 */
#define SKX_OR_SPARSE		1024

/* Of more lists than these none is: each window costs all of them a bound. */
#define SKX_OR_SPARSE_LISTS	4

/* So many lists are merged at most. */
#define SKX_OR_MERGED		8

/*
 * A list with so many times the postings of the essential ones is looked for in
 * the window: a posting takes a seventh of what a candidate takes in the list,
 * and not each posting of the others is one.
 */
#define SKX_OR_JOINED		4

/* Windows after which larger ones are tried, at first, and at most. */
#define SKX_OR_PATIENCE		4
#define SKX_OR_PATIENCE_MOST	64

typedef struct SkxOr
{
	SkxTopkRun *run;
	int			n;
	SkxTopkList **lists;		/* by what they give, ascending; essential
								 * ones last */
	int			nlow;			/* lists that are not essential */
	int			nfree;			/* lists whose sub-blocks do not end windows */
	int			waited;			/* windows since nlow is above that */
	int			patience;
	int			required;		/* with one essential list: those from here on
								 * a candidate must be in */
	uint32		df;				/* of the list with most documents */
	uint32		least;			/* documents of a window at least */
	uint64		windows;
	uint64		candidates;
	uint64		words;			/* of the window's bits: which are not 0 */
} SkxOr;

/* A word has a bit in another one. */
StaticAssertDecl(SKX_TOPK_WINDOW <= 64 * 64, "too many words for a window");

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
 * The end of a window: where the first of the sub-blocks of lists from `nfree`
 * on ends.  Beside dense lists, documents of sparse ones get windows of their
 * own, so that the bounds of the dense ones are tight there, and all that
 * lies between them has one.
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

/* Less to give for what it costs to go through? */
static inline bool
skx_or_below(const SkxTopkList *a, const SkxTopkList *b)
{
	return (double) a->bound * b->cursor->df <
		(double) b->bound * a->cursor->df;
}

/*
 * Orders the lists by insertion: from window to window little changes.
 */
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

/* Splits the lists for the window [from, to), whose bounds it computes. */
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

/* How large windows are; more if they have too little in them. */
static void
skx_or_adapt(SkxOr *o)
{
	if (o->candidates < o->windows * SKX_OR_CANDIDATES * o->n)
		o->least = Min(o->least * 2, SKX_TOPK_WINDOW);
	else
		o->least = 1;
}

/*
 * Chooses a window that starts at `from`, and what is essential in it; returns
 * its end.  A list that has not been essential for some windows no longer ends
 * them, unless it is essential in the larger window.
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
 * With one essential list, a list is required when all others together do not
 * reach the heap.
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
 * Candidates that can reach the heap are looked up in the first n lists, which
 * may have been moved on by that, never beyond a candidate.
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

/*
 * One essential list: sub-block by sub-block.
 */
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

/* Adds parts to the window from `from` on; returns the words of their bits. */
static inline uint64
skx_or_put(uint64 *restrict bits, int32 *restrict sums, uint32 from,
		   const uint32 *docs, const int32 *parts, int n)
{
	uint64		words = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		uint32		bit = docs[i] - from;

		words |= UINT64CONST(1) << (bit / 64);
		bits[bit / 64] |= UINT64CONST(1) << (bit % 64);
		sums[bit] += parts[i];
	}
	return words;
}

/*
 * Adds the parts of list number `which` in [from, to) to the window from `from`
 * on, to which those of all after it have been added.  Hardly any of an essential
 * list is too small for a hit: what the others can add is mostly enough.  Of
 * another list only those count of documents that have enough without it.
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
 * Takes the candidates with sums of `limit` and more out of the window from
 * `from` on.  Of rare words most windows have a few bits.
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

	for (; o->words != 0; o->words &= o->words - 1)
	{
		int			w = pg_rightmost_one_pos64(o->words);
		uint64		word = bits[w];

		bits[w] = 0;
		for (; word != 0; word &= word - 1)
		{
			int			bit = w * 64 + pg_rightmost_one_pos64(word);
			int32		sum = window[bit];

			window[bit] = 0;
			docs[n] = from + bit;
			sums[n] = sum;
			n += sum >= limit;
		}
	}
	run->n = n;
}

/* Where the next document of the essential lists is, from `from` on, at least. */
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

/* The window, which most searches do without. */
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
											(SKX_TOPK_WINDOW / 64));
	}
	run->bits = topk->bits;
	run->bits_sums = topk->bits_sums;
}

/*
 * How far the sub-blocks reach that the essential lists are on; `to` where that
 * is no question.
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

/* Puts postings of a list among the candidates so far, from the last one on. */
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
 * Where all of these sub-blocks reach beyond a window, their postings in
 * [from, to) are merged: most windows would have few of them.
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
 * Is the first list to be looked up, which mostly decides, one of which there
 * are so few postings that it is less work to look for each of them in the
 * window?
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
 * The parts of lists from `low` on in [from, to), a window, added up; false:
 * it is empty.
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

/* Several essential lists: their parts are added up in a window. */
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
 * Is a list essential whatever the window, and the only one?  It becomes
 * required then.
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

	/* What has to be read is read in fewer rounds with a list that leads. */
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
		if (run->rest != NULL)
			from = skx_query_rest_next(run->rest, from);
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
