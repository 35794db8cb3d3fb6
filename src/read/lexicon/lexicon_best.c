/*
 * lexicon_best.c
 *	  Keeps the first ones of many terms.
 */
#include "postgres.h"

#include "index/column/column.h"
#include "miscadmin.h"
#include "read/lexicon/lexicon.h"
#include "utils/memutils.h"

/* Returns true if the first term comes before the second in the result. */
static bool
skx_lexicon_is_before(const SkxLexiconFound *a, const SkxLexiconFound *b)
{
	if (a->is_exact != b->is_exact)
		return a->is_exact;
	if (a->distance != b->distance)
		return a->distance < b->distance;
	if (a->term.df != b->term.df)
		return a->term.df > b->term.df;
	return skx_column_compare_lexeme(&a->term.lexeme, &b->term.lexeme) < 0;
}

static void
skx_lexicon_sift_up(SkxLexiconFound *found, int i)
{
	while (i > 0 && skx_lexicon_is_before(&found[(i - 1) / 2], &found[i]))
	{
		SkxLexiconFound swap = found[i];

		found[i] = found[(i - 1) / 2];
		found[(i - 1) / 2] = swap;
		i = (i - 1) / 2;
	}
}

/*
 * Moves the first element down the heap, below all that come after it in the
 * result.
 */
static void
skx_lexicon_sift_down(SkxLexiconFound *found, int n)
{
	int			i = 0;

	for (;;)
	{
		int			last = i;
		int			k;
		SkxLexiconFound swap = found[i];

		for (k = 2 * i + 1; k <= 2 * i + 2 && k < n; k++)
			if (skx_lexicon_is_before(&found[last], &found[k]))
				last = k;
		if (last == i)
			return;
		found[i] = found[last];
		found[last] = swap;
		i = last;
	}
}

static SkxLexeme
skx_lexicon_copy(const SkxLexiconBest *best, const SkxLexeme *lexeme)
{
	char	   *copy = MemoryContextAlloc(best->context, lexeme->len + 1);

	memcpy(copy, lexeme->bytes, lexeme->len);
	return (SkxLexeme)
	{
		copy, lexeme->len
	};
}

static void
skx_lexicon_enlarge(SkxLexiconBest *best)
{
	best->size = Max(64, best->size > best->most / 2 ? best->most :
					 best->size * 2);
	best->found = best->found == NULL ?
		MemoryContextAllocHuge(best->context,
							   sizeof(SkxLexiconFound) * (Size) best->size) :
		repalloc_huge(best->found,
					  sizeof(SkxLexiconFound) * (Size) best->size);
}

void
skx_lexicon_keep(SkxLexiconBest *best, const SkxLexiconTerm *term,
				 bool is_exact, int distance)
{
	SkxLexiconFound copy;

	/* most of many terms are rare */
	if (best->n == best->most && best->n > 0 && !is_exact &&
		distance == best->found[0].distance &&
		term->df < best->found[0].term.df)
		return;
	copy = (SkxLexiconFound)
	{
		*term, is_exact, distance
	};
	if (best->n == best->most &&
		(best->n == 0 || !skx_lexicon_is_before(&copy, &best->found[0])))
		return;
	copy.term.lexeme = skx_lexicon_copy(best, &term->lexeme);
	if (best->n == best->most)
	{
		pfree(unconstify(char *, best->found[0].term.lexeme.bytes));
		best->found[0] = copy;
		skx_lexicon_sift_down(best->found, best->n);
		return;
	}
	if (best->n == best->size)
		skx_lexicon_enlarge(best);
	best->found[best->n] = copy;
	skx_lexicon_sift_up(best->found, best->n++);
}

static int
skx_lexicon_compare_found(const void *a, const void *b)
{
	CHECK_FOR_INTERRUPTS();
	return skx_lexicon_is_before(a, b) ? -1 : 1;
}

void
skx_lexicon_sort(SkxLexiconBest *best)
{
	if (best->n > 1)
		qsort(best->found, best->n, sizeof(SkxLexiconFound),
			  skx_lexicon_compare_found);
}
