/*
 * topk_cold.c
 *	  Conjunctions that have to be read: candidates of many sub-blocks of the
 *	  lead together.
 *
 * Reads take longer then than anything that is computed, and those that wait
 * for one before them longest.  So the documents of the lead are gathered
 * first, and looked up in one list after the other: each list knows all of the
 * nodes that will be wanted of it, and reads them together.  Bounds of these
 * lists in a window would be read as well; their maxima have to do.  Norms are
 * read last, of the documents that have all words: of those first that may have
 * the largest sums, since what these reach saves the others.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"
#include "miscadmin.h"

/*
 * Documents gathered, at most, and at first where nothing has been read yet:
 * it may turn out that nothing has to be, and bounds save much then.
 */
#define SKX_COLD_DOCS		4096
#define SKX_COLD_FIRST		1024

/* Candidates with all words of which the best are looked at. */
#define SKX_COLD_POOL		512

/* Norms that are read together, at first and at most. */
#define SKX_COLD_NORMS		32
#define SKX_COLD_NORMS_MOST	64

/*
 * A list of which so many nodes would have to be read, which this part of the
 * documents is in at least, and so many times as many as in the lead, is asked
 * late: about the best candidates only.
 */
#define SKX_COLD_LATE_NODES	32
#define SKX_COLD_LATE_SHARE	8
#define SKX_COLD_LATE_TIMES	16

/*
 * Fewer nodes of all lists are read one after the other: that takes less than
 * what bounds of windows save.
 */
#define SKX_COLD_LEAST		8

/* Candidates at most. */
#define SKX_COLD_SIZE		(SKX_COLD_POOL + SKX_COLD_DOCS)

/* How often a candidate has a word that it has not. */
#define SKX_COLD_ABSENT		(-1.0f)

StaticAssertDecl(SKX_COLD_SIZE <= SKX_TOPK_BATCH,
				 "documents are gathered where a run has its candidates");

typedef struct SkxColdCandidate
{
	int32		bound;
	uint32		doc;
} SkxColdCandidate;

typedef struct SkxTopkCold
{
	bool		in_order;		/* what else is asked about candidates goes
								 * forward only */
	int			nlists;
	int			nearly;			/* of them, the others are asked late */
	SkxTopkList **lists;		/* the lead; required ones by df; optional
								 * ones, that with most to give first; and the
								 * same of those that are asked late */
	bool	   *required;
	int64	   *rest;			/* what lists from i on give at most */
	bool		moved;			/* candidates were looked at */
	SkxColdCandidate *candidates;	/* SKX_COLD_SIZE */
	int			room;			/* documents to be gathered next */
	int			pooled;			/* candidates that have all words */
} SkxTopkCold;

/* What is noted of a candidate has room for one. */
static void
skx_cold_widen(SkxTopkRun *run, SkxTopkList *l)
{
	int			nlinks = run->chain != NULL ?
		skx_query_rest_links(run->topk->split.rest) : 0;
	SkxPositionPlace *before = l->places;
	int			k;

	l->tfs = palloc(sizeof(float) * SKX_COLD_SIZE);
	if (before == NULL)
		return;
	l->places = palloc(sizeof(SkxPositionPlace) * SKX_COLD_SIZE);
	for (k = 0; k < nlinks; k++)
		if (run->places[k] == before)
			run->places[k] = l->places;
}

static SkxTopkCold *
skx_cold_make(SkxTopkRun *run)
{
	SkxTopkCold *cold = palloc0(sizeof(SkxTopkCold));
	int			n = run->nrequired + run->noptional;

	cold->lists = palloc(sizeof(SkxTopkList *) * n);
	cold->required = palloc(sizeof(bool) * n);
	cold->rest = palloc(sizeof(int64) * (n + 1));
	cold->candidates = palloc(sizeof(SkxColdCandidate) * SKX_COLD_SIZE);
	run->placed = palloc(sizeof(uint32) * SKX_COLD_SIZE);
	return cold;
}

bool
skx_topk_is_cold(SkxTopkRun *run)
{
	uint32		missing = 0;
	int			i;

	if (skx_segment_warm(run->seg))
		return false;
	for (i = 0; i < run->nrequired; i++)
		missing += skx_cursor_missing(run->required[i]->cursor);
	for (i = 0; i < run->noptional; i++)
		missing += skx_cursor_missing(run->optional[i]->cursor);
	return missing >= SKX_COLD_LEAST ||
		skx_segment_lacks(run->seg, SKX_SEGMENT_NORMS);
}

/*
 * Few documents are left out for not being in it, and to ask about all of them
 * would read all of it.
 */
static bool
skx_cold_is_late(const SkxTopkRun *run, const SkxTopkList *lead,
				 const SkxTopkList *l)
{
	uint32		df = l->cursor->df;

	return df >= run->seg->header.ndocs / SKX_COLD_LATE_SHARE &&
		df / SKX_COLD_LATE_TIMES >= lead->cursor->df &&
		skx_cursor_missing(l->cursor) >= SKX_COLD_LATE_NODES;
}

/* Puts the lists into the order in which they are asked. */
static void
skx_cold_order(SkxTopkRun *run, SkxTopkCold *cold)
{
	SkxTopkList **late = palloc(sizeof(SkxTopkList *) * cold->nlists);
	int			nlate_required = 0;
	int			nlate = 0;
	int			n = 0;
	int			i;

	for (i = 0; i < cold->nlists; i++)
	{
		bool		required = i < run->nrequired;
		SkxTopkList *l = required ? run->required[i] :
			run->optional[cold->nlists - 1 - i];

		if (i > 0 && !cold->in_order &&
			skx_cold_is_late(run, run->required[0], l))
		{
			late[nlate++] = l;
			nlate_required += required;
			continue;
		}
		cold->lists[n] = l;
		cold->required[n++] = required;
	}
	cold->nearly = n;
	for (i = 0; i < nlate; i++)
	{
		cold->lists[n] = late[i];
		cold->required[n++] = i < nlate_required;
	}
	pfree(late);
}

void
skx_topk_cold_begin(SkxTopkRun *run)
{
	int			n = run->nrequired + run->noptional;
	bool		again = run->cold != NULL;
	SkxTopkCold *cold = again ? run->cold : skx_cold_make(run);
	int			i;

	run->cold = cold;
	cold->room = skx_segment_reads() == run->seg->reads ? SKX_COLD_FIRST :
		SKX_COLD_DOCS;
	cold->pooled = 0;
	cold->nlists = n;
	cold->in_order = run->chain != NULL || run->rest != NULL ||
		(run->exact != NULL && !skx_topk_exact_can_rewind(run->exact));
	skx_cold_order(run, cold);
	for (i = 0; i < n; i++)
	{
		if (!again)
			skx_cold_widen(run, cold->lists[i]);
		if (i >= cold->nearly)
			skx_cursor_pick(cold->lists[i]->cursor);
		else if (i > 0)
			skx_cursor_sweep(cold->lists[i]->cursor,
							 cold->lists[0]->cursor->df);
	}
	cold->rest[n] = 0;
	for (i = n - 1; i >= 0; i--)
		cold->rest[i] = cold->rest[i + 1] + cold->lists[i]->max;
	run->noted = cold->lists;
	run->nnoted = n;
}

bool
skx_topk_cold_passes(SkxTopkRun *run)
{
	return run->cold != NULL && run->need > 1 &&
		skx_topk_list_sub_bound(run->required[0]) + run->cold->rest[1] <
		run->need;
}

bool
skx_topk_cold_is_late(const SkxTopkRun *run)
{
	return run->cold->nearly < run->cold->nlists;
}

/* Leaves out the first `by` candidates for a while, or has them back. */
static void
skx_cold_shift(SkxTopkRun *run, int by)
{
	int			i;

	run->docs += by;
	run->sums += by;
	run->placed += by;
	run->n -= by;
	for (i = 0; i < run->cold->nlists; i++)
		run->cold->lists[i]->tfs += by;
}

/* Candidates that are left have what was noted of them in their places. */
static void
skx_cold_compact(SkxTopkRun *run)
{
	int			at = 0;
	int			i;
	int			k;

	for (i = 0; i < run->n; i++)
	{
		while (run->placed[at] != run->docs[i])
			at++;
		for (k = 0; k < run->cold->nlists; k++)
		{
			SkxTopkList *l = run->cold->lists[k];

			l->tfs[i] = l->tfs[at];
			if (l->places != NULL)
				l->places[i] = l->places[at];
		}
	}
	memcpy(run->placed, run->docs, sizeof(uint32) * run->n);
}

/* Asks a list about the candidates. */
static void
skx_cold_ask(SkxTopkRun *run, int which)
{
	SkxTopkList *l = run->cold->lists[which];
	const int64 *rest = run->cold->rest;

	skx_topk_batch_floor(run, run->need - rest[which]);
	l->place = 0;
	skx_topk_batch_probe(run, l, rest[which + 1], run->cold->required[which]);
}

/* Drops candidates that have been looked at, by a list that led before. */
static void
skx_cold_exclude(SkxTopkRun *run, SkxTopkList *l)
{
	SkxCursor  *c = l->cursor;
	int			kept = 0;
	int			i;

	skx_cursor_targets(c, run->docs, run->n);
	for (i = 0; i < run->n; i++)
	{
		uint32		doc = run->docs[i];
		float		tf;
		int32		bound;

		run->docs[kept] = doc;
		run->sums[kept] = run->sums[i];
		kept += skx_cursor_seek(c, doc) != doc ||
			!skx_topk_list_part_bound(run, l, c->i, &tf, &bound);
	}
	run->n = kept;
	skx_cursor_targets(c, NULL, 0);
}

/*
 * Where no norm has to be read, bounds are the sums of the parts in the lists
 * that were asked.
 */
static void
skx_cold_sum(SkxTopkRun *run)
{
	if (run->n == 0 || !skx_segment_has_norms(run->seg, run->docs, run->n))
		return;
	skx_topk_batch_parts(run);
	run->parts_last = true;
	skx_topk_batch_floor(run, run->need - run->cold->rest[run->cold->nearly]);
}

/*
 * Keeps those that are in the other required lists, with bounds of their sums:
 * of the documents gathered since the last time.
 */
static void
skx_cold_intersect(SkxTopkRun *run)
{
	SkxTopkCold *cold = run->cold;
	int			i;
	int			k;

	skx_cold_shift(run, cold->pooled);
	memcpy(run->placed, run->docs, sizeof(uint32) * run->n);
	for (i = 1; i < cold->nlists; i++)
		for (k = 0; k < run->n; k++)
			cold->lists[i]->tfs[k] = SKX_COLD_ABSENT;
	for (i = 1; i < cold->nearly && run->n > 0; i++)
		skx_cold_ask(run, i);
	for (i = 0; i < run->nexcluded && run->n > 0; i++)
		skx_cold_exclude(run, run->excluded[i]);
	if (!cold->in_order)
		skx_cold_sum(run);
	skx_cold_compact(run);
	skx_cold_shift(run, -cold->pooled);
	cold->pooled = run->n;
}

/*
 * In the order of documents, some at a time: what else is asked about them can
 * only go forward.  While there is nothing to reach, a phrase leaves fewer.
 */
static void
skx_cold_in_order(SkxTopkRun *run)
{
	uint32	   *docs = run->docs;
	int32	   *sums = run->sums;
	int			n = run->n;
	int			i;

	for (i = 0; i < n; i += SKX_SUBBLOCK)
	{
		run->docs = docs + i;
		run->sums = sums + i;
		run->n = Min(n - i, SKX_SUBBLOCK);
		run->parts_last = true;
		skx_topk_batch_floor(run, run->need);
		if (run->chain == NULL || run->need > 1)
			skx_topk_batch_parts(run);
		skx_topk_batch_finish(run);
	}
	run->docs = docs;
	run->sums = sums;
}

static int
skx_cold_compare(const void *a, const void *b)
{
	const SkxColdCandidate *x = a;
	const SkxColdCandidate *y = b;

	if (x->bound != y->bound)
		return x->bound > y->bound ? -1 : 1;
	return x->doc < y->doc ? -1 : x->doc > y->doc;
}

static int
skx_cold_compare_docs(const void *a, const void *b)
{
	uint32		x = ((const SkxColdCandidate *) a)->doc;
	uint32		y = ((const SkxColdCandidate *) b)->doc;

	return x < y ? -1 : x > y;
}

/*
 * Of candidates from `first` on, the next that can become hits, `most` of
 * them, as those of the run; returns how many.
 */
static int
skx_cold_take_best(SkxTopkRun *run, int first, int n, int most)
{
	SkxColdCandidate *best = run->cold->candidates + first;
	int64		rest = run->cold->rest[run->cold->nearly];
	int			i;

	most = Min(most, n - first);
	for (run->n = 0; run->n < most; run->n++)
		if (best[run->n].bound + rest < run->need)
			break;
	qsort(best, run->n, sizeof(SkxColdCandidate), skx_cold_compare_docs);
	for (i = 0; i < run->n; i++)
	{
		run->docs[i] = best[i].doc;
		run->sums[i] = best[i].bound;
	}
	return run->n;
}

/*
 * Asks the lists that are asked late about candidates, which may be before
 * those that were looked at last.
 */
static void
skx_cold_ask_late(SkxTopkRun *run)
{
	SkxTopkCold *cold = run->cold;
	int			i;

	for (i = cold->nearly; i < cold->nlists && cold->moved; i++)
		skx_topk_list_rewind(run, cold->lists[i]);
	if (run->exact != NULL && cold->moved)
		skx_topk_exact_rewind(run->exact);
	cold->moved = true;
	for (i = cold->nearly; i < cold->nlists && run->n > 0; i++)
		skx_cold_ask(run, i);
}

/*
 * By what they can reach.  One that comes later may come before a hit of the
 * same sum.
 */
static void
skx_cold_best_first(SkxTopkRun *run)
{
	SkxColdCandidate *candidates = run->cold->candidates;
	bool		unordered = run->unordered;
	int			n = run->n;
	int			most = SKX_COLD_NORMS;
	int			some;
	int			i;

	for (i = 0; i < n; i++)
	{
		candidates[i].bound = run->sums[i];
		candidates[i].doc = run->docs[i];
	}
	qsort(candidates, n, sizeof(SkxColdCandidate), skx_cold_compare);
	run->unordered = true;
	skx_topk_batch_need(run);
	for (i = 0;; i += some)
	{
		CHECK_FOR_INTERRUPTS();
		some = skx_cold_take_best(run, i, n, most);
		if (some == 0)
			break;
		most = Min(most * 2, skx_topk_cold_is_late(run) ? SKX_COLD_POOL :
				   SKX_COLD_NORMS_MOST);
		run->parts_last = true;
		skx_cold_ask_late(run);
		skx_topk_batch_parts(run);
		skx_topk_batch_finish(run);
	}
	run->unordered = unordered;
	skx_topk_batch_need(run);
}

/*
 * Looks at what was gathered: which of it has all words, and of these, at the
 * end or when they are enough for the best of them to save others, what they
 * give.
 */
static void
skx_cold_look(SkxTopkRun *run, bool end)
{
	run->parts_last = true;
	skx_cold_intersect(run);
	if (run->cold->in_order)
		skx_cold_in_order(run);
	else if (end || run->n >= SKX_COLD_POOL)
		skx_cold_best_first(run);
	else
		return;
	run->parts_last = false;
	run->n = run->cold->pooled = 0;
}

bool
skx_topk_cold_gather(SkxTopkRun *run, uint32 from, uint32 to)
{
	SkxTopkList *lead = run->required[0];
	const SkxCursor *c = lead->cursor;
	int			i;

	if (run->cold == NULL)
		skx_topk_cold_begin(run);
	for (i = skx_cursor_find(lead->cursor, from); i < c->n && c->docs[i] < to;
		 i++)
	{
		if (!skx_topk_list_part_bound(run, lead, i, &lead->tfs[run->n],
									  &run->sums[run->n]))
			continue;
		if (lead->places != NULL)
			skx_cursor_place(lead->cursor, i, &lead->places[run->n]);
		run->docs[run->n++] = c->docs[i];
	}
	if (run->n - run->cold->pooled + SKX_SUBBLOCK <= run->cold->room)
		return false;
	skx_cold_look(run, false);
	run->cold->room = Min(run->cold->room * 2, SKX_COLD_DOCS);
	return true;
}

void
skx_topk_cold_finish(SkxTopkRun *run)
{
	if (run->cold != NULL && run->n > 0)
		skx_cold_look(run, true);
}
