/*
 * topk_prime.c
 *	  A threshold that a search begins with.
 *
 * The dictionary entry of a long list stores its k-th largest contribution,
 * for a few k.  If all of its documents match, k documents reach that sum.  If
 * one in n matches, k documents are expected to reach the (n * k)-th largest
 * one.  If fewer do, the search is repeated without the threshold.
 */
#include "postgres.h"

#include <math.h>

#include "answer/topk/topk_internal.h"
#include "format/disk/disk_dict.h"

/*
 * Factor on the k that is looked up.  It is below 1 since several words
 * together reach more than one.  So a stored k also serves if slightly fewer
 * than a tenth or a hundredth of the documents match.
 */
#define SKX_EXPECT_K_FACTOR		0.9

/*
 * Contributions in short lists are computed only in segments that have at
 * least one in SKX_THRESHOLD_FRACTION of the largest segment's documents.
 */
#define SKX_THRESHOLD_FRACTION		4

static int
skx_threshold_compare(const void *a, const void *b)
{
	int32		x = *(const int32 *) a;
	int32		y = *(const int32 *) b;

	return x > y ? -1 : x < y;
}

/*
 * Returns the rows-th largest contribution in a short list, or 0 if it has
 * fewer postings.
 */
static int32
skx_threshold_of_short_list(const SkxScorer *scorer, SkxTopkSegment *s,
							const SkxScoreTerm *scored, const SkxTerm *term,
							uint64 rows)
{
	int32		parts[SKX_SUBBLOCK];
	uint8		norms[SKX_SUBBLOCK];
	SkxCursor  *c;
	int			i;

	if (term->df < rows)
		return 0;
	c = skx_cursor_open(s->seg, term, SKX_CURSOR_PROBE);
	(void) skx_cursor_next(c);
	skx_segment_norms(s->seg, c->docs, c->n, norms);
	for (i = 0; i < c->n; i++)
	{
		float		tf = skx_score_tf(scorer, scored, c, i);

		parts[i] = skx_rank_contribution(scored->weight, tf,
										 scorer->inverses[norms[i]]);
	}
	skx_cursor_close(c);
	qsort(parts, i, sizeof(int32), skx_threshold_compare);
	return parts[rows - 1];
}

/*
 * Returns a lower bound of the rows-th largest contribution of a word in the
 * segment, or 0.  A long list stores the k-th largest one for each k of
 * SKX_KTH_BEST_RANKS; the smallest k that is not below `rows` is used.  A
 * short list is read only if `reads` is set.
 */
static int32
skx_threshold_of_word(const SkxScorer *scorer, SkxTopkSegment *s,
					  const SkxScoreTerm *scored, const SkxTerm *term,
					  uint64 rows,
					  bool reads)
{
	static const int stored[SKX_NKTH_BEST] = SKX_KTH_BEST_RANKS;
	int			i;

	if (term->df == 0)
		return 0;
	if ((term->flags & SKX_TERM_FORM_MASK) != SKX_TERM_LONG)
		return reads ? skx_threshold_of_short_list(scorer, s, scored, term,
												   rows) : 0;
	for (i = 0; i < SKX_NKTH_BEST; i++)
	{
		if (rows > stored[i])
			continue;
		if (term->df < stored[i])
			break;
		return skx_rank_contribution(scored->weight,
									 (term->kth_best[i] >> 8) + 1,
									 scorer->inverses[term->kth_best[i] &
													  0xFF]);
	}
	return 0;
}

/*
 * Returns a sum that `rows` documents of a segment reach by one word, or 0.
 * Short lists, whose pages may have to be read, are used only if `reads` is
 * set.  Words with labels are left out, since a frequency does not determine
 * their contribution.
 */
static int32
skx_threshold_of_segment(SkxTopk *topk, SkxTopkSegment *s, uint64 rows,
						 bool reads)
{
	const SkxScorer *scorer = topk->scorer;
	int32		best = 0;
	int			i;

	for (i = 0; i < scorer->nplain && scorer->is_unweighted; i++)
	{
		const SkxScoreTerm *scored = &scorer->terms[i];
		int32		sum;

		if (scored->labels != 0)
			continue;
		sum = skx_threshold_of_word(scorer, s, scored,
									&s->terms[topk->term_lexemes[i]], rows,
									reads);
		best = Max(best, sum);
	}
	return best;
}

/*
 * The largest segments come first.  A short list of a much smaller segment
 * hardly ever raises the result, but would have to be read.
 */
int32
skx_topk_initial_threshold(SkxTopk *topk)
{
	int32		best = 0;
	int			i;

	for (i = 0; i < topk->nsegments; i++)
	{
		SkxTopkSegment *s = &topk->segments[i];
		bool		reads = s->seg->header.ndocs >=
			topk->segments[0].seg->header.ndocs / SKX_THRESHOLD_FRACTION;
		int32		sum = skx_threshold_of_segment(topk, s,
												   skx_topk_min_rows(topk) +
												   topk->hits_before, reads);

		best = Max(best, sum);
	}
	return best;
}

void
skx_topk_expected_threshold(SkxTopkRun *run, double docs)
{
	SkxTopk    *topk = run->topk;
	double		rows = ceil(SKX_EXPECT_K_FACTOR * skx_topk_min_rows(topk) *
							(run->seg->header.ndocs / Max(docs, 1)));
	int32		sum;

	if (topk->hits.n > 0 || topk->hits.min_sum > 1 || topk->began_too_high ||
		topk->returned_hits > 0 || topk->has_after || topk->share != NULL ||
		topk->request.prior != NULL ||
		rows > SKX_KTH_BEST_MAX)
		return;
	sum = skx_threshold_of_segment(topk, &topk->segments[run->segment],
								   (uint64) rows,
								   skx_segment_is_warm(run->seg));
	skx_topk_hits_raise_min(&topk->hits, sum);
	skx_topk_batch_set_threshold(run);
}
