/*
 * score_marks.c
 *	  Which pending documents have any word of a query.
 *
 * Words are looked up in all pending documents, for their frequencies.  What is
 * found there is kept, a bit a document and word, so that the search, which
 * comes next, leaves alone those with none of its words.
 */
#include "postgres.h"

#include "score/score_internal.h"

/* Documents of a list that are marked: of more, a word would take 16 kB. */
#define SKX_SCORE_MARKS		(128 * 1024)

struct SkxScoreMarks
{
	const SkxScoreLeaf *leaf;
	uint8		bits[FLEXIBLE_ARRAY_MEMBER];
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
skx_score_marks_make(const SkxStats *stats)
{
	uint64		n = stats->plain ? stats->leaves[0].nmarks : 0;

	if (n == 0 || n > SKX_SCORE_MARKS)
		return NULL;
	return MemoryContextAllocZero(stats->lookups, (n + 7) / 8);
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
	Size		size;
	int			i;

	if (scorer->nterms == 0 || skx_score_word_marks(scorer, 0) == NULL)
		return NULL;
	size = (scorer->stats->leaves[0].nmarks + 7) / 8;
	marks = palloc0(offsetof(SkxScoreMarks, bits) + size);
	marks->leaf = &scorer->stats->leaves[0];
	for (i = 0; i < scorer->nterms; i++)
	{
		const uint8 *word = skx_score_word_marks(scorer, i);
		Size		k;

		if (word == NULL)
		{
			pfree(marks);
			return NULL;
		}
		for (k = 0; k < size; k++)
			marks->bits[k] |= word[k];
	}
	return marks;
}

bool
skx_score_marked(int stripe, uint64 sequence, void *arg)
{
	const SkxScoreMarks *marks = arg;
	uint64		at;

	return !skx_score_marks_at(marks->leaf, stripe, sequence, &at) ||
		(marks->bits[at / 8] >> (at % 8) & 1) != 0;
}
