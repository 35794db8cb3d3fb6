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
		run->has_ceilings ? scored->ceiling : scored->weight;
	l->uses_labels = labels != 0 ||
		(scored != NULL && !run->scorer->is_unweighted);
	l->max_contribution = scored == NULL ? 0 : PG_INT32_MAX;	/* until it is known */
	l->checked_to = l->checked_end = 0;
}

/*
 * Checks a contribution to a document against the bounds that were told of
 * it.
 */
static inline void
skx_topk_list_check_bound(const SkxTopkList *l, uint32 doc, int32 part)
{
	Assert(part <= l->max_contribution);
	Assert(doc < l->checked_from || doc >= l->checked_to ||
		   part <= l->checked_bound);
	Assert(l->cursor->end != l->checked_end || part <= l->checked_sub_bound);
}

void
skx_topk_list_begin(SkxTopkRun *run, SkxTopkList *l, const SkxTerm *term,
					const SkxScoreTerm *scored, uint8 labels)
{
	skx_cursor_begin_term(l->cursor, term);
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

	if (tf < 0 || !l->uses_labels || !run->has_ceilings)
		return tf;
	return skx_topk_ceiling_tf(l->term, l->cursor, i, tf);
}

/*
 * Returns a bound of the contributions of a short list, as if all of its
 * documents were the shortest.
 */
static int32
skx_topk_list_norm_free_bound(SkxTopkRun *run, SkxTopkList *l)
{
	float		tf = 0;
	int			i;

	for (i = 0; i < l->cursor->n; i++)
		tf = Max(tf, skx_topk_list_tf(run, l, i));
	return skx_rank_contribution(l->weight, tf, run->scorer->inverses[0]);
}

/*
 * Returns a bound of the contributions of a short list.  Their maximum is
 * computed, unless norms would have to be read for a conjunction, which may
 * need few of them.
 */
static int32
skx_topk_list_short_bound(SkxTopkRun *run, SkxTopkList *l)
{
	uint32		docs[SKX_SUBBLOCK];
	int32		parts[SKX_SUBBLOCK];
	int32		limit = 0;
	int			n;
	int			i;

	(void) skx_cursor_advance(l->cursor, 0);
	n = skx_topk_list_range_docs(l, 0, SKX_NO_DOC, docs);
	if (run->topk->split_filter.nrequired > 0 &&
		!skx_segment_has_norms(run->seg, docs, n))
		return skx_topk_list_norm_free_bound(run, l);
	n = skx_topk_list_contributions(run, l, 0, SKX_NO_DOC, 0, docs, parts);
	for (i = 0; i < n; i++)
		limit = Max(limit, parts[i]);
	return limit;
}

SkxTopkList *
skx_topk_list_open(SkxTopkRun *run, SkxSegment *seg, const SkxTerm *term,
				   const SkxScoreTerm *scored, uint8 labels)
{
	SkxTopkList *l = palloc0(sizeof(SkxTopkList));
	int32		max;

	l->cursor = skx_cursor_open(seg, term, SKX_CURSOR_PROBE);
	skx_topk_list_init(run, l, scored, labels);
	if (scored == NULL)
		return l;
	max = skx_cursor_set_weight(l->cursor, l->weight,
								run->scorer->max_label_weight,
								run->scorer->inverses);
	if (max < 0)
	{
		max = skx_topk_list_short_bound(run, l);
		skx_cursor_set_bound(l->cursor, max);
	}
	l->max_contribution = skx_fault_breaks_contract(SKX_CONTRACT_MAX_BOUND) ?
		1 : max;
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

		for (; k > 0 &&
			 l->max_contribution < lists[k - 1]->max_contribution; k--)
			lists[k] = lists[k - 1];
		lists[k] = l;
	}
}

void
skx_topk_list_rewind(SkxTopkRun *run, SkxTopkList *l)
{
	uint8		labels = l->cursor->labels;

	skx_cursor_begin_term(l->cursor, skx_cursor_term(l->cursor));
	skx_cursor_want_labels(l->cursor, labels);
	if (skx_cursor_set_weight(l->cursor, l->weight,
							  run->scorer->max_label_weight,
							  run->scorer->inverses) < 0)
		skx_cursor_set_bound(l->cursor, l->max_contribution);
	l->competing_floor = 0;
}

bool
skx_topk_list_posting_bound(SkxTopkRun *run, SkxTopkList *l, int i, float *tf,
							int32 *bound)
{
	SkxCursor  *c = l->cursor;
	uint8		norm;
	int32		part;

	*bound = 0;
	if (l->term == NULL)
		return skx_cursor_label_matches(c, i);
	*tf = skx_topk_list_tf(run, l, i);
	if (*tf < 0 || (run->cold == NULL && run->threshold <= 1))
		return *tf >= 0;
	norm = skx_cursor_bound_norm(c, i);
	part = skx_rank_contribution(l->weight, *tf, run->scorer->inverses[norm]);
	*bound = Min(part, skx_topk_list_sub_bound(l));
	if (skx_fault_breaks_contract(SKX_CONTRACT_POSTING_BOUND))
		*bound = Min(*bound, 1);
	return true;
}

bool
skx_topk_list_contribution(SkxTopkRun *run, SkxTopkList *l, int i, int32 *part)
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
	norm = skx_segment_norm_unpinned(run->seg, c->docs[i]);
	*part = skx_rank_contribution(l->weight, tf, run->scorer->inverses[norm]);
	skx_topk_list_check_bound(l, c->docs[i], *part);
	return true;
}

/*
 * Determines which frequencies can contribute `floor` in the current
 * sub-block, whatever the norms are.  Returns false if all can.  Remembers the
 * result, since windows in which several lists are summed need it again for
 * the same sub-block.
 */
static bool
skx_topk_list_competing_tfs(SkxTopkRun *run, SkxTopkList *l, int64 floor)
{
	SkxImpacts	impacts;

	if (floor <= 1 || !skx_cursor_impacts(l->cursor, &impacts))
		return false;
	floor = Min(floor, PG_INT32_MAX);
	if (l->competing_floor != (int32) floor || l->competing_impacts != impacts)
	{
		l->competing_floor = (int32) floor;
		l->competing_impacts = impacts;
		l->competing_tfs = skx_rank_competing_codes(impacts, l->weight,
													run->scorer->inverses,
													l->competing_floor);
	}
	return l->competing_tfs != ~UINT64CONST(0);
}

/*
 * Puts the documents and frequencies of postings [a, e) into docs and tfs, but
 * leaves out those whose frequency does not compete.  Returns their number.
 */
static int
skx_topk_list_copy_competing(SkxTopkList *l, int a, int e, uint32 *docs,
							 float *tfs)
{
	const uint32 *from_docs = l->cursor->docs;
	const uint16 *tf = skx_cursor_tfs(l->cursor);
	uint64		competing = l->competing_tfs;
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

/* Does as skx_topk_list_copy_competing(), but leaves out no posting. */
static int
skx_topk_list_copy_all(SkxTopkList *l, int a, int e, uint32 *docs, float *tfs)
{
	int			n = e - a;

	memcpy(docs, l->cursor->docs + a, sizeof(uint32) * n);
	if (l->cursor->counts != NULL)
		memcpy(tfs, l->cursor->counts + a, sizeof(float) * n);
	else
		skx_topk_copy_tfs(skx_cursor_tfs(l->cursor) + a, n, tfs);
	return n;
}

/* Computes the contributions of n postings. */
static void
skx_topk_list_compute_contributions(SkxTopkRun *run, const SkxTopkList *l,
									const uint32 *docs, const float *tfs,
									int n,
									int32 *parts)
{
	const float *inverse = run->scorer->inverses;
	uint8		norms[SKX_SUBBLOCK];
	float		inverses[SKX_SUBBLOCK];
	int			i;

	run->topk->work->scored_postings += n;
	skx_segment_norms(run->seg, docs, n, norms);
	for (i = 0; i < n; i++)
		inverses[i] = inverse[norms[i]];
	skx_rank_contributions(l->weight, tfs, inverses, n, parts);
#ifdef USE_ASSERT_CHECKING
	for (i = 0; i < n; i++)
		skx_topk_list_check_bound(l, docs[i], parts[i]);
#endif
}

/*
 * Does as skx_topk_list_contributions() for postings [a, e) of a list whose
 * labels do not matter.
 */
static int
skx_topk_list_unlabelled(SkxTopkRun *run, SkxTopkList *l, int a, int e,
						 int64 floor, uint32 *docs, int32 *parts)
{
	float		tfs[SKX_SUBBLOCK];
	int			n;

	n = skx_topk_list_competing_tfs(run, l, floor) ?
		skx_topk_list_copy_competing(l, a, e, docs, tfs) :
		skx_topk_list_copy_all(l, a, e, docs, tfs);
	skx_topk_list_compute_contributions(run, l, docs, tfs, n, parts);
	return n;
}

/*
 * Returns the end of the postings, from `a` on, of the decoded sub-block whose
 * documents are before `to`.
 */
static int
skx_topk_list_end_before(const SkxCursor *c, int a, uint32 to)
{
	int			e = a;

	if (c->end <= to)
		return c->n;
	while (c->docs[e] < to)
		e++;
	return e;
}

int
skx_topk_list_range_docs(SkxTopkList *l, uint32 from, uint32 to, uint32 *docs)
{
	int			a = skx_cursor_find(l->cursor, from);
	int			n = skx_topk_list_end_before(l->cursor, a, to) - a;

	memcpy(docs, l->cursor->docs + a, sizeof(uint32) * n);
	return n;
}

int
skx_topk_list_contributions(SkxTopkRun *run, SkxTopkList *l, uint32 from,
							uint32 to, int64 floor, uint32 *docs, int32 *parts)
{
	int			a = skx_cursor_find(l->cursor, from);
	int			e = skx_topk_list_end_before(l->cursor, a, to);
	const uint32 *from_docs = l->cursor->docs;
	int			kept = 0;
	int			i;

	if (e == a)
		return 0;
	if (l->term != NULL && !l->uses_labels)
		return skx_topk_list_unlabelled(run, l, a, e, floor, docs, parts);
	run->topk->work->scored_postings += e - a;
	if (l->term == NULL && l->cursor->labels == 0)
	{
		memcpy(docs, from_docs + a, sizeof(uint32) * (e - a));
		memset(parts, 0, sizeof(int32) * (e - a));
		return e - a;
	}
	if (l->term != NULL)
		skx_segment_load_norms(run->seg, from_docs + a, e - a);
	for (i = a; i < e; i++)
	{
		docs[kept] = from_docs[i];
		kept += skx_topk_list_contribution(run, l, i, &parts[kept]);
	}
	return kept;
}

int
skx_topk_list_add_window(SkxTopkRun *run, SkxTopkList *l, uint32 from,
						 uint32 to, const SkxTopkWindowSums *join,
						 uint32 *docs, int32 *parts)
{
	const int32 *sums = join->sums;
	uint32		first = join->first_doc;
	int32		least = join->min_sum;
	int			i = skx_cursor_find(l->cursor, from);
	int			e = skx_topk_list_end_before(l->cursor, i, to);
	const uint32 *from_docs = l->cursor->docs;
	const uint16 *tf;
	uint8		numbers[SKX_SUBBLOCK];
	float		tfs[SKX_SUBBLOCK];
	int			n = 0;

	if (l->term == NULL || l->uses_labels || l->cursor->counts != NULL)
		return skx_topk_list_contributions(run, l, from, to, 0, docs, parts);
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
	skx_topk_list_compute_contributions(run, l, docs, tfs, n, parts);
	return n;
}
