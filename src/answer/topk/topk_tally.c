/*
 * topk_tally.c
 *	  A window of a disjunction of many words, by bounds first.
 *
 * With many words most documents of a window have some of them, and nearly all
 * of these documents are no hits.  So a posting is not scored when its list is
 * traversed.  It adds the bound of its sub-block, which takes neither a
 * frequency nor a norm, and the list's bit.  Documents whose bounds suffice are
 * then scored in the lists whose bits they have.
 *
 * The slot of a document has the bits of lists below, and the sum of bounds
 * above them.  Each list adds to a slot once, so that one addition does both.
 */
#include "postgres.h"

#include "answer/topk/topk_tally.h"
#include "support/bitset/bitset.h"

/*
 * Lists have a number, 0 for the last one.  Those before SKX_TALLY_SLOT_LISTS
 * have a bit in slots.  Those before SKX_TALLY_LISTS have one in further marks.
 * Others have none, and are looked up for each candidate.
 */
#define SKX_TALLY_SLOT_LISTS	SKX_TOPK_SLOT_SUM_SHIFT
#define SKX_TALLY_LISTS			(SKX_TALLY_SLOT_LISTS + 32)

/* Largest sum of a slot: its highest bit stays 0. */
#define SKX_TALLY_SUM_MAX	(PG_INT32_MAX >> SKX_TOPK_SLOT_SUM_SHIFT)

/* Marks that are cleared together. */
#define SKX_TALLY_CLEARED		32

/* A list with a cursor of its own, which is ahead of that of the search. */
struct SkxTopkTallyList
{
	SkxTopkList *list;
	uint32		end;			/* of the sub-block whose bound is known; 0:
								 * of none */
	uint32		bound;			/* as slots have it */
};

typedef struct SkxTopkTally
{
	int			sum_shift;		/* bounds lose so many bits, rounded up */
	uint32	   *slots;			/* of SKX_TOPK_WINDOW documents, zero between
								 * windows */
	uint32	   *marks;			/* likewise; NULL: there are few lists */
	uint32	   *found;			/* slot of each candidate */
} SkxTopkTally;

/* Returns the bound as slots have it. */
static inline uint32
skx_tally_round(const SkxTopkTally *tally, int32 bound)
{
	return (uint32) (bound >> tally->sum_shift) + 1;
}

bool
skx_topk_tally_is_possible(const SkxTopkRun *run)
{
	int			i;

	for (i = 0; i < run->noptional; i++)
	{
		const SkxTopkList *l = run->optional[i];

		if (l->uses_labels || skx_cursor_term(l->cursor) == NULL)
			return false;
	}
	return true;
}

SkxTopkTally *
skx_topk_tally_open(SkxTopkRun *run)
{
	SkxTopkTally *tally = palloc(sizeof(SkxTopkTally));
	int64		total = 0;
	int			i;

	for (i = 0; i < run->noptional; i++)
	{
		SkxTopkList *l = run->optional[i];

		total += l->max_contribution;
		l->tally = palloc0(sizeof(struct SkxTopkTallyList));
		l->tally->list = skx_topk_list_open(run, skx_cursor_segment(l->cursor),
											skx_cursor_term(l->cursor),
											l->term, 0);
	}
	tally->sum_shift = 0;
	while ((total >> tally->sum_shift) + run->noptional > SKX_TALLY_SUM_MAX)
		tally->sum_shift++;
	tally->slots = palloc0(sizeof(uint32) * SKX_TOPK_WINDOW);
	tally->marks = run->noptional <= SKX_TALLY_SLOT_LISTS ? NULL :
		palloc0(sizeof(uint32) * SKX_TOPK_WINDOW);
	tally->found = palloc(sizeof(uint32) * SKX_TOPK_BATCH);
	return tally;
}

void
skx_topk_tally_close(SkxTopkRun *run)
{
	int			i;

	for (i = 0; i < run->noptional; i++)
		skx_cursor_close(run->optional[i]->tally->list->cursor);
}

/*
 * Adds `one` to the slots of n documents, of which there is at least one.
 * slots[0] is that of document 0.
 */
static inline void
skx_tally_add_docs(uint32 *restrict slots, const uint32 *docs, int n,
				   uint32 one)
{
	const uint32 *end = docs + n;

	for (; end - docs >= 4; docs += 4)
	{
		slots[docs[0]] += one;
		slots[docs[1]] += one;
		slots[docs[2]] += one;
		slots[docs[3]] += one;
	}
	for (; docs < end; docs++)
		slots[*docs] += one;
}

/*
 * Returns the bound of the current sub-block, which many windows may have
 * documents in, and whose page need not be pinned again.
 */
static inline uint32
skx_tally_sub_bound(const SkxTopkTally *tally, struct SkxTopkTallyList *t)
{
	if (t->end != t->list->cursor->end)
	{
		t->bound = skx_tally_round(tally, skx_topk_list_sub_bound(t->list));
		t->end = t->list->cursor->end;
	}
	return t->bound;
}

/* Adds the postings of list `number` in the window. */
static void
skx_tally_add_list(const SkxTopkTally *tally, SkxTopkTallyWindow *w,
				   struct SkxTopkTallyList *t, int number)
{
	SkxCursor  *c = t->list->cursor;
	uint32		bit = number < SKX_TALLY_SLOT_LISTS ?
		UINT32_C(1) << number : 0;
	uint32		mark = bit == 0 && number < SKX_TALLY_LISTS ?
		UINT32_C(1) << (number - SKX_TALLY_SLOT_LISTS) : 0;
	uint32		at = w->from;

	while (at < w->to && skx_cursor_advance(c, at))
	{
		int			i = skx_cursor_find(c, at);
		int			end = c->end <= w->to ? c->n : skx_cursor_find(c, w->to);

		if (end == i)
			return;
		skx_tally_add_docs(tally->slots - w->from, c->docs + i, end - i, bit +
						   (skx_tally_sub_bound(tally, t) <<
							SKX_TOPK_SLOT_SUM_SHIFT));
		if (mark != 0)
			skx_tally_add_docs(tally->marks - w->from, c->docs + i, end - i,
							   mark);
		w->npostings += end - i;
		at = c->end;
	}
	skx_cursor_unpin_if_crowded(c);
}

/*
 * Replaces the bound of a list in the sum of a document, by its contribution
 * if the document has the word.  Mostly the sub-block with the document has
 * been decoded, since the list is traversed to the end of the window.
 */
static int32
skx_tally_score(SkxTopkRun *run, const SkxTopkTally *tally, SkxTopkList *l,
				uint32 doc, int32 sum)
{
	SkxCursor  *c = l->tally->list->cursor;
	uint32		bound;
	int32		part;
	int			i;

	if (c->docs != NULL && c->docs[0] <= doc && doc < c->end)
	{
		bound = skx_tally_sub_bound(tally, l->tally);
		l = l->tally->list;
		i = skx_cursor_first_from(c->docs, 0, c->n, doc);
	}
	else
	{
		c = l->cursor;
		if (!skx_cursor_advance(c, doc))
			return sum;
		i = skx_cursor_find(c, doc);
		bound = skx_tally_round(tally, skx_topk_list_sub_bound(l));
	}
	if (c->docs[i] != doc)
		return sum;
	(void) skx_topk_list_contribution(run, l, i, &part);
	run->topk->work->scored_postings++;
	return sum + part - (int32) (bound << tally->sum_shift);
}

/*
 * Returns the sum of the contributions of the lists to a document, or one that
 * is below the limit, but not below that sum.
 */
static int32
skx_tally_score_doc(SkxTopkRun *run, const SkxTopkTally *tally,
					const SkxTopkTallyWindow *w, uint32 doc, uint32 slot)
{
	SkxTopkList **last = run->optional + run->noptional - 1;
	uint64		lists = slot & ((1 << SKX_TALLY_SLOT_LISTS) - 1);
	int32		sum = (int32) (slot >> SKX_TOPK_SLOT_SUM_SHIFT) <<
		tally->sum_shift;
	int			i;

	if (tally->marks != NULL)
		lists |= (uint64) tally->marks[doc - w->from] << SKX_TALLY_SLOT_LISTS;
	while (lists != 0 && sum >= w->limit)
	{
		int			number = skx_bitset_pop_lowest(&lists);

		sum = skx_tally_score(run, tally, last[-number], doc, sum);
	}
	for (i = run->noptional - 1 - SKX_TALLY_LISTS;
		 i >= w->low && sum >= w->limit; i--)
		sum = skx_tally_score(run, tally, run->optional[i], doc, sum);
	return sum;
}

/* Scores the documents that were found, and drops those below the limit. */
static void
skx_tally_score_found(SkxTopkRun *run, const SkxTopkTally *tally,
					  const SkxTopkTallyWindow *w)
{
	int			kept = 0;
	int			i;

	for (i = 0; i < run->n; i++)
	{
		run->docs[kept] = run->docs[i];
		run->sums[kept] = skx_tally_score_doc(run, tally, w, run->docs[i],
											  tally->found[i]);
		kept += run->sums[kept] >= w->limit;
	}
	for (i = w->low; i < run->noptional && run->n > 0; i++)
		skx_cursor_unpin_if_crowded(run->optional[i]->cursor);
	run->n = kept;
}

/* Clears the marks of n documents, some at once: a call would take longer. */
static void
skx_tally_clear_marks(const SkxTopkTally *tally, uint32 n)
{
	uint32		i;

	for (i = 0; i < n; i += SKX_TALLY_CLEARED)
		memset(tally->marks + i, 0, sizeof(uint32) * SKX_TALLY_CLEARED);
}

void
skx_topk_tally_window(SkxTopkRun *run, SkxTopkTally *tally,
					  SkxTopkTallyWindow *w)
{
	int			n = run->noptional;
	int			i;

	Assert(w->to - w->from <= SKX_TOPK_WINDOW);
	w->npostings = 0;
	run->n = 0;
	for (i = w->low; i < n; i++)
		skx_tally_add_list(tally, w, run->optional[i]->tally, n - 1 - i);
	if (w->npostings > 0)
		run->n = skx_topk_collect_slots(tally->slots, w->to - w->from, w->from,
										Max(w->limit >> tally->sum_shift, 1),
										run->docs, tally->found);
	w->ntested = run->n;
	skx_tally_score_found(run, tally, w);
	if (tally->marks != NULL && w->npostings > 0)
		skx_tally_clear_marks(tally, w->to - w->from);
}
