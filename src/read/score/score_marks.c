/*
 * score_marks.c
 *	  Marks: how often pending documents have the words of a query.
 *
 * Words are looked up in all pending documents for their df.  Each time a
 * document has a word, how often is stored in one byte, the mark.  The search
 * that follows skips the documents that cannot be hits.
 */
#include "postgres.h"

#include "read/score/score_internal.h"

struct SkxPendingTfs
{
	const SkxScorer *scorer;
	const SkxScoreLeaf *leaf;
	const uint8 *words[FLEXIBLE_ARRAY_MEMBER];
};

SkxPendingTfs *
skx_score_pending_tfs(const SkxScorer *scorer)
{
	SkxPendingTfs *marks;
	int			i;

	if (scorer->nterms == 0 || skx_score_word_pending_tfs(scorer, 0) == NULL)
		return NULL;
	marks = palloc0(offsetof(SkxPendingTfs, words) +
					sizeof(uint8 *) * scorer->nterms);
	marks->scorer = scorer;
	marks->leaf = &scorer->stats->leaves[0];
	for (i = 0; i < scorer->nterms; i++)
	{
		marks->words[i] = skx_score_word_pending_tfs(scorer, i);
		if (marks->words[i] == NULL)
		{
			pfree(marks);
			return NULL;
		}
	}
	return marks;
}

/*
 * Returns an upper bound of how often a document with the mark has the word.
 */
static inline float
skx_score_pending_max_tf(uint8 mark)
{
	return mark == SKX_PENDING_TF_MAX ? SKX_SCORE_TF_MAX : mark;
}

/*
 * Sets which to the numbers of those of n documents that have a mark; returns
 * how many.
 */
static int
skx_score_pending_with_tf(const uint8 *marks, int n, uint8 *which)
{
	int			found = 0;
	int			i;
	int			k;

	Assert(n <= SKX_PENDING_BOUNDS_MAX);
	for (i = 0; i < n; i = k)
	{
		uint64		any = 1;

		k = Min(i + (int) sizeof(any), n);
		if (k == i + (int) sizeof(any))
			memcpy(&any, marks + i, sizeof(any));
		if (any == 0)
			continue;
		for (int j = i; j < k; j++)
		{
			which[found] = (uint8) j;
			found += marks[j] != 0;
		}
	}
	return found;
}

/*
 * Adds upper bounds of the word's contributions to the sums of n documents,
 * the first of which has number `at`.
 */
static void
skx_score_pending_add_word(const SkxPendingTfs *marks, int term, uint64 at,
						   int n, const uint8 *norms, int32 *sums)
{
	const SkxScorer *scorer = marks->scorer;
	const uint8 *word = marks->words[term] + at;
	uint8		which[SKX_PENDING_BOUNDS_MAX];
	float		tfs[SKX_PENDING_BOUNDS_MAX];
	float		inverses[SKX_PENDING_BOUNDS_MAX];
	int32		parts[SKX_PENDING_BOUNDS_MAX];
	int			found = skx_score_pending_with_tf(word, n, which);
	int			i;

	if (found <= 0)
		return;
	for (i = 0; i < found; i++)
	{
		tfs[i] = Min(skx_score_pending_max_tf(word[which[i]]) *
					 scorer->max_label_weight, SKX_SCORE_TF_MAX);
		inverses[i] = scorer->inverses[norms[which[i]]];
	}
	skx_rank_contributions(scorer->terms[term].weight, tfs, inverses, found,
						   parts);
	for (i = 0; i < found; i++)
		sums[which[i]] += parts[i];
}

/*
 * Sets tfs[k] to an upper bound of how often document k has the words of a
 * side of a pair, and sets which to the numbers of those that may have some,
 * which ascend; returns how many.
 */
static int
skx_score_pending_side(const SkxPendingTfs *marks, const SkxScoreSide *side,
					   uint64 at, int n, int *tfs, uint8 *which)
{
	int			found = 0;
	int			i;
	int			k;

	memset(tfs, 0, sizeof(int) * n);
	for (i = 0; i < side->n; i++)
	{
		const uint8 *word = marks->words[side->terms[i]] + at;

		found = skx_score_pending_with_tf(word, n, which);
		for (k = 0; k < found; k++)
			tfs[which[k]] += (int) skx_score_pending_max_tf(word[which[k]]);
	}
	if (side->n <= 1)
		return found;
	for (k = found = 0; k < n; k++)
	{
		which[found] = (uint8) k;
		found += tfs[k] > 0;
	}
	return found;
}

/*
 * Adds upper bounds of a pair's contributions in the same way.  A pair occurs
 * no more often than either of its sides.
 */
static void
skx_score_pending_add_pair(const SkxPendingTfs *marks, int pair, uint64 at,
						   int n, const uint8 *norms, int32 *sums)
{
	const SkxScorer *scorer = marks->scorer;
	uint8		which[SKX_PENDING_BOUNDS_MAX];
	int			first[SKX_PENDING_BOUNDS_MAX];
	int			second[SKX_PENDING_BOUNDS_MAX];
	int			found;
	int			i;

	(void) skx_score_pending_side(marks, &scorer->sides[pair][1], at, n,
								  second, which);
	found = skx_score_pending_side(marks, &scorer->sides[pair][0], at, n,
								   first, which);
	for (i = 0; i < found; i++)
	{
		int			k = which[i];
		int			tf = Min(first[k], second[k]);

		if (tf > 0)
			sums[k] +=
				skx_rank_pair_contribution(scorer->pairs[pair].weight, tf, tf,
										   scorer->inverses[norms[k]]);
	}
}

void
skx_score_pending_bounds(const SkxPendingTfs *marks, int stripe,
						 uint64 sequence, int n, const uint8 *norms,
						 int32 *sums)
{
	const SkxScorer *scorer = marks->scorer;
	uint64		at;
	int			i;

	Assert(n > 0 && n <= SKX_PENDING_BOUNDS_MAX);
	for (i = n; i > 0 &&
		 sequence + i - 1 > marks->leaf->pending_ends[stripe]; i--)
		sums[i - 1] = PG_INT32_MAX;
	n = i;
	if (n == 0 ||
		!skx_score_pending_tf_index(marks->leaf, stripe, sequence, &at))
		return;
	memset(sums, 0, sizeof(int32) * n);
	for (i = 0; i < scorer->nterms; i++)
		skx_score_pending_add_word(marks, i, at, n, norms, sums);
	for (i = 0; i < scorer->npairs; i++)
		skx_score_pending_add_pair(marks, i, at, n, norms, sums);
}
