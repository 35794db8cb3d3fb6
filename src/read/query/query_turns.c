/*
 * query_turns.c
 *	  Clauses of a conjunction or disjunction that are opened one after the
 *	  other.
 *
 * An open list takes some kilobytes, so all clauses of a query of a megabyte
 * would take hundreds of megabytes together.  Each of very many clauses is
 * therefore opened alone.  It fills the bits of a range of documents, or
 * filters those that are left, and is closed.  For a further range this is
 * done again.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "read/query/query_internal.h"

struct SkxSequence
{
	SkxOpening	opening;
	uint32		nopened;		/* open lists of prefixes of the current
								 * clause */
	int			n;
	const SkxQueryNode **clauses;
};

SkxSequence *
skx_query_seq_create(const SkxOpening *o, int most)
{
	SkxSequence *turns = palloc(sizeof(SkxSequence));

	turns->opening = *o;
	turns->opening.nopened = &turns->nopened;
	turns->n = 0;
	turns->clauses = palloc_extended(sizeof(*turns->clauses) * (Size) most,
									 MCXT_ALLOC_HUGE);
	return turns;
}

void
skx_query_seq_add(SkxSequence *turns, const SkxQueryNode *clause)
{
	turns->clauses[turns->n++] = clause;
}

void
skx_query_seq_close(SkxSequence *turns)
{
	pfree(turns->clauses);
	pfree(turns);
}

static SkxIter *
skx_query_seq_open(SkxSequence *turns, int i, bool generates,
				   uint32 candidates)
{
	turns->nopened = 0;
	return skx_query_open_one(&turns->opening, turns->clauses[i], generates,
							  candidates);
}

/*
 * Windows are aligned with the start of the range, so no window goes past the
 * bits.
 */
void
skx_query_seq_fill(SkxIter *it, uint32 from, uint32 to, uint64 *bits)
{
	uint32		doc = skx_query_lower_bound(it, from);

	while (doc < to)
	{
		uint32		at = (doc - from) / SKX_WINDOW_DOCS * SKX_WINDOW_DOCS;

		skx_query_fill(it, from + at, bits + at / SKX_BITSET_BITS);
		doc = skx_query_lower_bound(it, from + at + SKX_WINDOW_DOCS);
	}
}

uint32
skx_query_seq_keep(SkxIter *it, uint32 from, uint32 to, uint64 *bits)
{
	uint32	   *docs = palloc(sizeof(uint32) * SKX_WINDOW_DOCS);
	uint32		nwords = SKX_BITSET_WORDS(to - from);
	uint32		left = 0;
	uint32		w = 0;

	while (w < nwords)
	{
		uint32		before = w;
		int			n = skx_bitset_list(bits, nwords, &w, from, docs,
										SKX_WINDOW_DOCS);
		int			i;

		CHECK_FOR_INTERRUPTS();
		memset(bits + before, 0, sizeof(uint64) * (w - before));
		n = skx_query_filter(it, docs, n);
		for (i = 0; i < n; i++)
			skx_bitset_set(bits, docs[i] - from);
		left += n;
	}
	pfree(docs);
	return left;
}

uint64
skx_query_seq_match_any(SkxSequence *turns, uint32 from, uint32 to,
						uint64 *bits)
{
	uint64		most = 0;
	int			i;

	for (i = 0; i < turns->n; i++)
	{
		SkxIter    *it = skx_query_seq_open(turns, i, true, 0);

		most += it->max_docs;
		skx_query_seq_fill(it, from, to, bits);
		skx_query_close(it);
	}
	/* an estimate concerns only the first range */
	turns->opening.may_use_values = NULL;
	return most;
}

uint32
skx_query_seq_match_all(SkxSequence *turns, bool fresh, uint32 from, uint32 to,
						uint64 *bits)
{
	uint32		left = to - from;
	int			i;

	for (i = 0; i < turns->n && left > 0; i++)
	{
		SkxIter    *it = skx_query_seq_open(turns, i, fresh, left);

		if (fresh)
		{
			skx_query_seq_fill(it, from, to, bits);
			left = skx_bitset_count(bits, SKX_BITSET_WORDS(to - from));
		}
		else
			left = skx_query_seq_keep(it, from, to, bits);
		fresh = false;
		skx_query_close(it);
	}
	turns->opening.may_use_values = NULL;
	return left;
}
