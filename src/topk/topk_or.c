/*
 * topk_or.c
 *	  The best documents with any of the words: block-max MAXSCORE in windows.
 *
 * The lists are ordered by what they can give in a window.  Those that
 * together cannot lift a document to the heap are not gone through: the others,
 * the essential ones, make the candidates, and it is looked up in the lists
 * left out, largest first, only while a candidate still has a chance.
 * (Turtle and Flood 1995; Ding and Suel 2011 for blocks.)  A window ends where
 * a sub-block of an essential list does, so that its bounds are tight; where
 * windows give few candidates they are made larger.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "topk/topk_internal.h"

/* Windows grow as long as they have fewer candidates for each list. */
#define SKX_OR_CANDIDATES	32

typedef struct SkxOr
{
	SkxTopkRun *run;
	int			n;
	SkxTopkList **lists;		/* by what they give, ascending; essential
								 * ones last */
	int			nlow;			/* lists that are not essential */
	int			required;		/* with one essential list: those from here on
								 * a candidate must be in */
	uint32		least;			/* documents of a window at least */
	uint64		windows;
	uint64		candidates;
} SkxOr;

static int64
skx_or_low(const SkxOr *o)
{
	return o->nlow > 0 ? o->lists[o->nlow - 1]->before : 0;
}

/* The end of the sub-block of an essential list that ends first. */
static uint32
skx_or_end(SkxOr *o, uint32 from)
{
	uint32		end = o->run->seg->header.ndocs;
	int			i;

	for (i = Min(o->nlow, o->n - 1); i < o->n; i++)
		if (skx_topk_list_seek(o->lists[i], from))
			end = Min(end, o->lists[i]->last + 1);
	if (o->n - o->nlow > 1)
	{
		uint64		least = (uint64) from + o->least;

		end = Max(end, Min(least, o->run->seg->header.ndocs));
	}
	return end;
}

/* Less to give for what it costs to go through? */
static inline bool
skx_or_below(const SkxTopkList *a, const SkxTopkList *b)
{
	return (double) a->bound * b->df < (double) b->bound * a->df;
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

		l->bound = skx_topk_list_seek(l, from) ?
			skx_topk_list_bound(o->run, l, from, to) : 0;
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
 * its end.  With fewer essential lists it may end later.
 */
static uint32
skx_or_window(SkxOr *o, uint32 from)
{
	uint32		to;
	uint32		end;

	if (o->n - o->nlow > 1)
		skx_or_adapt(o);
	to = skx_or_end(o, from);
	skx_or_split(o, from, to);
	if (o->nlow < o->n)
	{
		end = skx_or_end(o, from);
		if (end != to)
		{
			to = end;
			skx_or_split(o, from, to);
		}
	}
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
 * Lists below may have been moved on by probing, never beyond a candidate.
 */
static void
skx_or_candidates(SkxOr *o, int required)
{
	o->candidates += o->run->n;
	skx_topk_batch_floor(o->run, o->run->need - skx_or_low(o));
	if (o->run->n == 0)
		return;
	skx_topk_batch_optional(o->run, o->lists, o->nlow, required);
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
	while (from < to && skx_topk_list_seek(l, from))
	{
		if (skx_topk_list_sub_bound(run, l) + skx_or_low(o) >= run->need)
		{
			run->n = skx_topk_list_parts(run, l, from, to, run->docs,
										 run->sums);
			skx_or_candidates(o, o->required);
		}
		from = l->last + 1;
	}
}

/* Adds the parts of a list in [from, to) to the window from `from` on. */
static void
skx_or_add(SkxOr *o, SkxTopkList *l, uint32 from, uint32 to)
{
	SkxTopkRun *run = o->run;
	uint32		docs[SKX_SUBBLOCK];
	int32		parts[SKX_SUBBLOCK];
	uint32		at = from;
	int			n;
	int			i;

	while (at < to && skx_topk_list_seek(l, at))
	{
		n = skx_topk_list_parts(run, l, at, to, docs, parts);
		for (i = 0; i < n; i++)
		{
			uint32		bit = docs[i] - from;

			run->bits[bit / 64] |= UINT64CONST(1) << (bit % 64);
			run->bits_sums[bit] += parts[i];
		}
		at = l->last + 1;
	}
	if (!l->done && l->list != NULL && l->list->is_long)
		skx_skiplist_relax(&l->list->cursor);
}

/* Takes the candidates out of the window. */
static void
skx_or_drain(SkxOr *o, uint32 from)
{
	SkxTopkRun *run = o->run;
	int64		floor = run->need - skx_or_low(o);
	int32		limit = (int32) Max(floor, 0);
	int			n = 0;
	int			w;

	for (w = 0; w < SKX_TOPK_WINDOW / 64; w++)
	{
		uint64		word = run->bits[w];

		run->bits[w] = 0;
		while (word != 0)
		{
			int			bit = w * 64 + pg_rightmost_one_pos64(word);

			word &= word - 1;
			run->docs[n] = from + bit;
			run->sums[n] = run->bits_sums[bit];
			run->bits_sums[bit] = 0;
			n += run->sums[n] >= limit;
			o->candidates++;
		}
	}
	run->n = n;
}

/* Several essential lists: their parts are added up in a window. */
static void
skx_or_several(SkxOr *o, uint32 from, uint32 to)
{
	while (from < to)
	{
		uint32		end = Min(to, from + SKX_TOPK_WINDOW);
		int			i;

		for (i = o->nlow; i < o->n; i++)
			skx_or_add(o, o->lists[i], from, end);
		skx_or_drain(o, from);
		if (o->run->n > 0)
		{
			skx_topk_batch_optional(o->run, o->lists, o->nlow, o->nlow);
			skx_topk_batch_finish(o->run);
		}
		from = end;
	}
}

void
skx_topk_or(SkxTopkRun *run)
{
	SkxOr		o = {run, run->noptional, run->optional};
	uint32		ndocs = run->seg->header.ndocs;
	uint32		from = 0;

	o.least = 1;
	while (o.n > 0 && from < ndocs)
	{
		uint32		to;

		if (skx_topk_tick(run, from))
			return;
		to = skx_or_window(&o, from);
		if (o.n - o.nlow == 1)
			skx_or_single(&o, from, to);
		else if (o.nlow < o.n)
			skx_or_several(&o, from, to);
		from = to;
	}
}
