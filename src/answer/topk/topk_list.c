/*
 * topk_list.c
 *	  A posting list in a search: the contributions of its postings.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"

static void
skx_topk_list_init(SkxTopkRun *run, SkxTopkList *l,
				   const SkxScoreTerm *scored, uint8 labels)
{
	skx_cursor_want_labels(l->cursor, labels);
	l->term = scored;
	l->weight = scored == NULL ? 0 :
		run->paired ? scored->ceiling : scored->weight;
	l->labelled = labels != 0 || (scored != NULL && !run->scorer->flat);
	l->max = scored == NULL ? 0 : PG_INT32_MAX; /* until it is known */
	l->told_to = l->told_end = 0;
}

/*
 * Checks a contribution to a document against the bounds that were told of
 * it.
 */
static inline void
skx_topk_list_check(const SkxTopkList *l, uint32 doc, int32 part)
{
	Assert(part <= l->max);
	Assert(doc < l->told_from || doc >= l->told_to || part <= l->told);
	Assert(l->cursor->end != l->told_end || part <= l->told_sub);
}

void
skx_topk_list_begin(SkxTopkRun *run, SkxTopkList *l, const SkxTerm *term,
					const SkxScoreTerm *scored, uint8 labels)
{
	skx_cursor_begin(l->cursor, term);
	skx_topk_list_init(run, l, scored, labels);
}

/*
 * Returns the frequency of posting i, or a negative number if it has none of
 * the labels that count.
 */
static inline float
skx_topk_list_tf(const SkxTopkRun *run, const SkxTopkList *l, int i)
{
	float		tf = skx_score_tf(run->scorer, l->term, l->cursor, i);

	if (tf < 0 || !l->labelled || !run->paired)
		return tf;
	return skx_topk_ceiling_tf(l->term, l->cursor, i, tf);
}

/*
 * Returns a bound of the contributions of a short list, as if all of its
 * documents were the shortest.
 */
static int32
skx_topk_list_loose_limit(SkxTopkRun *run, SkxTopkList *l)
{
	float		tf = 0;
	int			i;

	for (i = 0; i < l->cursor->n; i++)
		tf = Max(tf, skx_topk_list_tf(run, l, i));
	return skx_rank_part(l->weight, tf, run->scorer->inverse[0]);
}

/*
 * Returns a bound of the contributions of a short list.  Their maximum is
 * computed, unless norms would have to be read for a conjunction, which may
 * need few of them.
 */
static int32
skx_topk_list_short_limit(SkxTopkRun *run, SkxTopkList *l)
{
	uint32		docs[SKX_SUBBLOCK];
	int32		parts[SKX_SUBBLOCK];
	int32		limit = 0;
	int			n;
	int			i;

	(void) skx_cursor_reach(l->cursor, 0);
	n = skx_topk_list_docs(l, 0, SKX_NO_DOC, docs);
	if (run->topk->split.nrequired > 0 &&
		!skx_segment_has_norms(run->seg, docs, n))
		return skx_topk_list_loose_limit(run, l);
	n = skx_topk_list_parts(run, l, 0, SKX_NO_DOC, 0, docs, parts);
	for (i = 0; i < n; i++)
		limit = Max(limit, parts[i]);
	return limit;
}

SkxTopkList *
skx_topk_list_open(SkxTopkRun *run, const SkxTerm *term,
				   const SkxScoreTerm *scored, uint8 labels)
{
	SkxTopkList *l = palloc0(sizeof(SkxTopkList));
	int32		max;

	l->cursor = skx_cursor_open(run->seg, term, SKX_CURSOR_PROBE);
	skx_topk_list_init(run, l, scored, labels);
	if (scored == NULL)
		return l;
	max = skx_cursor_weigh(l->cursor, l->weight, run->scorer->most,
						   run->scorer->inverse);
	if (max < 0)
	{
		max = skx_topk_list_short_limit(run, l);
		skx_cursor_limit(l->cursor, max);
	}
	l->max = skx_fault_breaks(SKX_CONTRACT_MAX_BOUND) ? 1 : max;
	return l;
}

void
skx_topk_list_sort(SkxTopkList **lists, int n)
{
	int			i;

	for (i = 1; i < n; i++)
	{
		SkxTopkList *l = lists[i];
		int			k = i;

		for (; k > 0 && l->max < lists[k - 1]->max; k--)
			lists[k] = lists[k - 1];
		lists[k] = l;
	}
}

void
skx_topk_list_rewind(SkxTopkRun *run, SkxTopkList *l)
{
	uint8		labels = l->cursor->labels;

	skx_cursor_begin(l->cursor, skx_cursor_term(l->cursor));
	skx_cursor_want_labels(l->cursor, labels);
	if (skx_cursor_weigh(l->cursor, l->weight, run->scorer->most,
						 run->scorer->inverse) < 0)
		skx_cursor_limit(l->cursor, l->max);
	l->floor = 0;
}

bool
skx_topk_list_part_bound(SkxTopkRun *run, SkxTopkList *l, int i, float *tf,
						 int32 *bound)
{
	SkxCursor  *c = l->cursor;
	uint8		norm;
	int32		part;

	*bound = 0;
	if (l->term == NULL)
		return skx_cursor_label_matches(c, i);
	*tf = skx_topk_list_tf(run, l, i);
	if (*tf < 0 || (run->cold == NULL && run->need <= 1))
		return *tf >= 0;
	norm = skx_cursor_bound_norm(c, i);
	part = skx_rank_part(l->weight, *tf, run->scorer->inverse[norm]);
	*bound = Min(part, skx_topk_list_sub_bound(l));
	if (skx_fault_breaks(SKX_CONTRACT_PART_BOUND))
		*bound = Min(*bound, 1);
	return true;
}

bool
skx_topk_list_part(SkxTopkRun *run, SkxTopkList *l, int i, int32 *part)
{
	SkxCursor  *c = l->cursor;
	uint8		norm;
	float		tf;

	*part = 0;
	if (l->term == NULL)
		return skx_cursor_label_matches(c, i);
	tf = skx_topk_list_tf(run, l, i);
	if (tf < 0)
		return false;
	norm = skx_segment_norm_in_place(run->seg, c->docs[i]);
	*part = skx_rank_part(l->weight, tf, run->scorer->inverse[norm]);
	skx_topk_list_check(l, c->docs[i], *part);
	return true;
}

/*
 * Determines which frequencies can contribute `floor` in the current
 * sub-block, whatever the norms are.  Returns false if all can.  Remembers the
 * result, since windows in which several lists are summed need it again for
 * the same sub-block.
 */
static bool
skx_topk_list_floor(SkxTopkRun *run, SkxTopkList *l, int64 floor)
{
	SkxImpacts	impacts;

	if (floor <= 1 || !skx_cursor_impacts(l->cursor, &impacts))
		return false;
	floor = Min(floor, PG_INT32_MAX);
	if (l->floor != (int32) floor || l->floor_impacts != impacts)
	{
		l->floor = (int32) floor;
		l->floor_impacts = impacts;
		l->competing = skx_rank_competing(impacts, l->weight,
										  run->scorer->inverse, l->floor);
	}
	return l->competing != ~UINT64CONST(0);
}

/*
 * Puts the documents and frequencies of postings [a, e) into docs and tfs, but
 * leaves out those whose frequency does not compete.  Returns their number.
 */
static int
skx_topk_list_compete(SkxTopkList *l, int a, int e, uint32 *docs, float *tfs)
{
	const uint32 *from_docs = l->cursor->docs;
	const uint16 *tf = skx_cursor_tfs(l->cursor);
	uint64		competing = l->competing;
	int			kept = 0;
	int			i;

	for (i = a; i < e; i++)
	{
		docs[kept] = from_docs[i];
		tfs[kept] = (float) (tf[i] + (tf[i] == 0));
		kept += (int) skx_rank_competes(competing, tf[i]);
	}
	return kept;
}

/* Does as skx_topk_list_compete(), but leaves out no posting. */
static int
skx_topk_list_all(SkxTopkList *l, int a, int e, uint32 *docs, float *tfs)
{
	int			n = e - a;

	memcpy(docs, l->cursor->docs + a, sizeof(uint32) * n);
	if (l->cursor->counts != NULL)
		memcpy(tfs, l->cursor->counts + a, sizeof(float) * n);
	else
		skx_topk_frequencies(skx_cursor_tfs(l->cursor) + a, n, tfs);
	return n;
}

/* Computes the contributions of n postings. */
static void
skx_topk_list_compute(SkxTopkRun *run, const SkxTopkList *l,
					  const uint32 *docs, const float *tfs, int n,
					  int32 *parts)
{
	const float *inverse = run->scorer->inverse;
	uint8		norms[SKX_SUBBLOCK];
	float		inverses[SKX_SUBBLOCK];
	int			i;

	run->topk->work->scored += n;
	skx_segment_norms(run->seg, docs, n, norms);
	for (i = 0; i < n; i++)
		inverses[i] = inverse[norms[i]];
	skx_rank_parts(l->weight, tfs, inverses, n, parts);
#ifdef USE_ASSERT_CHECKING
	for (i = 0; i < n; i++)
		skx_topk_list_check(l, docs[i], parts[i]);
#endif
}

/*
 * Does as skx_topk_list_parts() for postings [a, e) of a list whose labels do
 * not matter.
 */
static int
skx_topk_list_plain(SkxTopkRun *run, SkxTopkList *l, int a, int e,
					int64 floor, uint32 *docs, int32 *parts)
{
	float		tfs[SKX_SUBBLOCK];
	int			n;

	n = skx_topk_list_floor(run, l, floor) ?
		skx_topk_list_compete(l, a, e, docs, tfs) :
		skx_topk_list_all(l, a, e, docs, tfs);
	skx_topk_list_compute(run, l, docs, tfs, n, parts);
	return n;
}

/*
 * Returns the end of the postings, from `a` on, of the decoded sub-block whose
 * documents are before `to`.
 */
static int
skx_topk_list_before(const SkxCursor *c, int a, uint32 to)
{
	int			e = a;

	if (c->end <= to)
		return c->n;
	while (c->docs[e] < to)
		e++;
	return e;
}

int
skx_topk_list_docs(SkxTopkList *l, uint32 from, uint32 to, uint32 *docs)
{
	int			a = skx_cursor_find(l->cursor, from);
	int			n = skx_topk_list_before(l->cursor, a, to) - a;

	memcpy(docs, l->cursor->docs + a, sizeof(uint32) * n);
	return n;
}

int
skx_topk_list_parts(SkxTopkRun *run, SkxTopkList *l, uint32 from, uint32 to,
					int64 floor, uint32 *docs, int32 *parts)
{
	int			a = skx_cursor_find(l->cursor, from);
	int			e = skx_topk_list_before(l->cursor, a, to);
	const uint32 *from_docs = l->cursor->docs;
	int			kept = 0;
	int			i;

	if (e == a)
		return 0;
	if (l->term != NULL && !l->labelled)
		return skx_topk_list_plain(run, l, a, e, floor, docs, parts);
	run->topk->work->scored += e - a;
	if (l->term == NULL && l->cursor->labels == 0)
	{
		memcpy(docs, from_docs + a, sizeof(uint32) * (e - a));
		memset(parts, 0, sizeof(int32) * (e - a));
		return e - a;
	}
	if (l->term != NULL)
		skx_segment_want_norms(run->seg, from_docs + a, e - a);
	for (i = a; i < e; i++)
	{
		docs[kept] = from_docs[i];
		kept += skx_topk_list_part(run, l, i, &parts[kept]);
	}
	return kept;
}

int
skx_topk_list_join(SkxTopkRun *run, SkxTopkList *l, uint32 from, uint32 to,
				   const SkxTopkJoin *join, uint32 *docs, int32 *parts)
{
	const int32 *sums = join->sums;
	uint32		first = join->first;
	int32		least = join->least;
	int			i = skx_cursor_find(l->cursor, from);
	int			e = skx_topk_list_before(l->cursor, i, to);
	const uint32 *from_docs = l->cursor->docs;
	const uint16 *tf;
	uint8		numbers[SKX_SUBBLOCK];
	float		tfs[SKX_SUBBLOCK];
	int			n = 0;

	if (l->term == NULL || l->labelled || l->cursor->counts != NULL)
		return skx_topk_list_parts(run, l, from, to, 0, docs, parts);
	for (; i < e; i++)
	{
		numbers[n] = i;
		n += sums[from_docs[i] - first] >= least;
	}
	if (n == 0)
		return 0;
	tf = skx_cursor_tfs(l->cursor);
	for (i = 0; i < n; i++)
	{
		docs[i] = from_docs[numbers[i]];
		tfs[i] = (float) (tf[numbers[i]] + (tf[numbers[i]] == 0));
	}
	skx_topk_list_compute(run, l, docs, tfs, n, parts);
	return n;
}
