/*
 * topk_cold.c
 *	  Conjunctions whose pages have to be read: examines candidates of many
 *	  sub-blocks of the lead together.
 *
 * Reads take longer than any computation, and longest if each waits for the
 * one before it.  So documents of the lead are gathered first, and then looked
 * up in one list after the other.  Each list knows all nodes that are wanted
 * of it, and reads them together.  Bounds of these lists in a window would
 * have to be read as well, so their maxima are used.  Norms are read last, and
 * only of documents that have all words.  Documents with the highest bounds
 * come first, since the threshold that they raise saves reading others.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"
#include "miscadmin.h"

/*
 * Largest number of documents that are gathered together, and the number at
 * first if nothing has been read yet.  It may turn out that nothing has to be
 * read, and then bounds of windows save much.
 */
#define SKX_COLD_DOCS		4096
#define SKX_COLD_FIRST		1024

/* Number of candidates with all words from which on the best are examined. */
#define SKX_COLD_POOL		512

/* Number of norms that are read together, at first and at most. */
#define SKX_COLD_NORMS		32
#define SKX_COLD_NORMS_MOST	64

/*
 * A list is late if at least SKX_COLD_LATE_NODES of its nodes would have to be
 * read.  It must also have one in SKX_COLD_LATE_SHARE of the documents, and
 * SKX_COLD_LATE_TIMES as many documents as the lead.  Only the best candidates
 * are looked up in late lists.
 */
#define SKX_COLD_LATE_NODES	32
#define SKX_COLD_LATE_SHARE	8
#define SKX_COLD_LATE_TIMES	16

/*
 * Least number of nodes to read, in all lists, for which documents are
 * gathered.  Fewer are read one after the other, which takes less time than
 * bounds of windows save.
 */
#define SKX_COLD_LEAST		8

/* Largest number of candidates. */
#define SKX_COLD_SIZE		(SKX_COLD_POOL + SKX_COLD_DOCS)

/* Frequency of a word in a candidate without it. */
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
	bool		in_order;		/* candidates must ascend, since what tests
								 * them moves forward only */
	int			nlists;
	int			nearly;			/* number of lists that are not late */
	SkxTopkList **lists;		/* the lead; required ones by df; optional
								 * ones, largest maximum first; then late ones
								 * in the same order */
	bool	   *required;
	int64	   *rest;			/* rest[i]: bound of the contributions of
								 * lists from i on */
	bool		moved;			/* late lists have been moved */
	SkxColdCandidate *candidates;	/* SKX_COLD_SIZE */
	int			room;			/* documents to be gathered next */
	int			pooled;			/* candidates that have all words */
} SkxTopkCold;

/* Enlarges the arrays of a list to one entry for each candidate. */
static void
skx_cold_widen(SkxTopkRun *run, SkxTopkList *l)
{
	int			nlinks = run->chain != NULL ?
		skx_query_phrase_links(run->topk->split.rest) : 0;
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
 * Returns true if a list is late.  Such a list drops few candidates, and
 * looking up all of them would read all of it.
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

/* Puts the lists into the order in which candidates are looked up in them. */
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
	cold->in_order = run->chain != NULL || run->filter != NULL ||
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

/* Hides the first `by` candidates, or shows them again if `by` is negative. */
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

/* Moves what was noted of the remaining candidates to their new indexes. */
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

/* Looks the candidates up in a list. */
static void
skx_cold_ask(SkxTopkRun *run, int which)
{
	SkxTopkList *l = run->cold->lists[which];
	const int64 *rest = run->cold->rest;

	skx_topk_batch_floor(run, run->need - rest[which]);
	l->place = 0;
	skx_topk_batch_probe(run, l, rest[which + 1], run->cold->required[which]);
}

/*
 * Drops candidates that are in a list that led before, since they have been
 * examined.
 */
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
 * Replaces the bounds of candidates by the sums of their contributions in the
 * lists that are not late, if no norm has to be read for that.
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
 * Looks up the documents that were gathered since the last call.  Keeps those
 * that are in all required lists that are not late, with bounds of their sums.
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
 * Examines candidates in ascending order, some at a time, since what tests
 * them moves forward only.  While there is no threshold, a phrase is tested
 * before contributions are computed, since it leaves fewer documents.
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
 * Makes the best candidates from index `first` on those of the run: at most
 * `most`, and only those that can become hits.  Returns their number.  n is
 * the number of all candidates.
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
 * Looks the candidates up in the late lists.  These are rewound first, since
 * candidates may be before those that were examined last.
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
 * Examines the candidates with the highest bounds first.  A later one may come
 * before a hit with the same sum, hence run->unordered.
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
 * Examines what was gathered.  Drops documents that lack a required word.
 * Computes the sums of the others at the end, or when they are so many that
 * the best of them save work on the rest.  Candidates that must ascend are
 * examined at once.
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
