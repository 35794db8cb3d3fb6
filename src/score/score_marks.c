/*
 * score_marks.c
 *	  How often pending documents have the words of a query.
 *
 * Words are looked up in all pending documents, for their frequencies.  What is
 * found there is kept, a byte a document and word, so that the search, which
 * comes next, leaves alone those that cannot be hits.
 */
#include "postgres.h"

#include "score/score_internal.h"

struct SkxScoreMarks
{
	const SkxScorer *scorer;
	const SkxScoreLeaf *leaf;
	float		shortest;		/* the largest inverse of a norm */
	const uint8 *words[FLEXIBLE_ARRAY_MEMBER];
};

void
skx_score_marks_leaf(SkxScoreLeaf *leaf)
{
	int			i;

	leaf->marks = palloc(sizeof(uint64) * leaf->view->nstripes);
	leaf->nmarks = 0;
	for (i = 0; i < leaf->view->nstripes; i++)
	{
		uint64		flushed = leaf->view->stripes[i].flushed_through;

		leaf->marks[i] = leaf->nmarks;
		leaf->nmarks += leaf->last[i] - Min(flushed, leaf->last[i]);
	}
}

uint8 *
skx_score_marks_make(SkxStats *stats, int n)
{
	uint64		size = stats->plain ? stats->leaves[0].nmarks : 0;

	if (size == 0 || size > SKX_SCORE_MARK_BYTES / n ||
		stats->mark_bytes > SKX_SCORE_MARK_BYTES)
		return NULL;
	stats->mark_bytes += size;
	return MemoryContextAllocZero(stats->lookups, size);
}

bool
skx_score_marks_at(const SkxScoreLeaf *leaf, int stripe, uint64 sequence,
				   uint64 *at)
{
	uint64		flushed = leaf->view->stripes[stripe].flushed_through;

	Assert(stripe >= 0 && stripe < leaf->view->nstripes);
	Assert(sequence > flushed);
	if (sequence > leaf->last[stripe])
		return false;
	*at = leaf->marks[stripe] + (sequence - flushed - 1);
	Assert(*at < leaf->nmarks);
	return true;
}

SkxScoreMarks *
skx_score_marks(const SkxScorer *scorer)
{
	SkxScoreMarks *marks;
	int			i;

	if (scorer->nterms == 0 || skx_score_word_marks(scorer, 0) == NULL)
		return NULL;
	marks = palloc0(offsetof(SkxScoreMarks, words) +
					sizeof(uint8 *) * scorer->nterms);
	marks->scorer = scorer;
	marks->leaf = &scorer->stats->leaves[0];
	for (i = 0; i < (int) lengthof(scorer->inverse); i++)
		marks->shortest = Max(marks->shortest, scorer->inverse[i]);
	for (i = 0; i < scorer->nterms; i++)
	{
		marks->words[i] = skx_score_word_marks(scorer, i);
		if (marks->words[i] == NULL)
		{
			pfree(marks);
			return NULL;
		}
	}
	return marks;
}

/* How often a word marked so is there at most. */
static inline float
skx_score_marked_tf(uint8 mark)
{
	return mark == SKX_PENDING_TF_MANY ? SKX_SCORE_TF_MAX : mark;
}

int32
skx_score_marked(const SkxScoreMarks *marks, const SkxPendingDoc *doc)
{
	const SkxScorer *scorer = marks->scorer;
	float		inverse = doc->norm < 0 ? marks->shortest :
		scorer->inverse[doc->norm];
	int32		sum = 0;
	uint64		at;
	int			i;

	if (!skx_score_marks_at(marks->leaf, doc->stripe, doc->sequence, &at))
		return PG_INT32_MAX;
	for (i = 0; i < scorer->nterms; i++)
	{
		uint8		mark = marks->words[i][at];

		if (mark > 0)
			sum += skx_rank_part(scorer->terms[i].weight,
								 Min(skx_score_marked_tf(mark) * scorer->most,
									 SKX_SCORE_TF_MAX), inverse);
	}
	for (i = 0; i < scorer->npairs && sum > 0; i++)
	{
		const SkxScorePair *pair = &scorer->pairs[i];
		int			tf = skx_score_marked_tf(Min(marks->words[pair->first][at],
												 marks->words[pair->second][at]));

		if (tf > 0)
			sum += skx_rank_pair_part(pair->weight, tf, tf, inverse);
	}
	return sum;
}
