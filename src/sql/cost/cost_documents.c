/*
 * cost_documents.c
 *	  Estimates how many documents match a query, outside of planning.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "sql/cost/cost_internal.h"

/* Words that are looked up together.  The result of each takes 160 bytes. */
#define SKX_COST_LOOKUP_BATCH	256

/* Allocates memory for at most `most` lexemes. */
static void
skx_cost_found_alloc(SkxCostFoundWords *known, int most)
{
	known->n = 0;
	known->lexemes = palloc_extended(sizeof(SkxLexeme) * ((Size) most + 1),
									 MCXT_ALLOC_HUGE);
	known->df = palloc_extended(sizeof(double) * ((Size) most + 1),
								MCXT_ALLOC_HUGE);
}

/* Fills in the words [0] and the prefixes [1] of the query, each once. */
static void
skx_cost_found_of_query(TSQuery query, SkxCostFoundWords known[2])
{
	const QueryItem *items = GETQUERY(query);
	int			nwords = skx_cost_count_words(query);
	int			i;

	skx_cost_found_alloc(&known[0], nwords);
	skx_cost_found_alloc(&known[1], query->size - nwords);
	for (i = 0; i < query->size; i++)
	{
		const QueryOperand *operand = &items[i].qoperand;

		if (items[i].type == QI_VAL)
		{
			SkxCostFoundWords *k = &known[operand->prefix ? 1 : 0];

			k->lexemes[k->n].bytes = GETOPERAND(query) + operand->distance;
			k->lexemes[k->n++].len = operand->length;
		}
	}
	for (i = 0; i < 2; i++)
		known[i].n = skx_column_distinct(known[i].lexemes, known[i].n);
}

static void
skx_cost_find_words(SkxSegment *seg, SkxCostFoundWords *words)
{
	SkxTerm    *terms = palloc(sizeof(SkxTerm) * SKX_COST_LOOKUP_BATCH);
	int			at;
	int			i;

	for (at = 0; at < words->n; at += SKX_COST_LOOKUP_BATCH)
	{
		int			n = Min(words->n - at, SKX_COST_LOOKUP_BATCH);

		CHECK_FOR_INTERRUPTS();
		skx_segment_find_all(&seg, 1, words->lexemes + at, n, &terms);
		for (i = 0; i < n; i++)
			words->df[at + i] = terms[i].df;
	}
	pfree(terms);
}

static bool
skx_cost_add_term(const SkxTerm *term, const char *lexeme, int len, void *arg)
{
	*(double *) arg += term->df;
	return true;
}

/*
 * Sets df of each prefix to the sum of those of its lexemes, but at most to
 * the number of documents.
 */
static void
skx_cost_find_prefixes(SkxSegment *seg, SkxCostFoundWords *prefixes)
{
	int			i;

	for (i = 0; i < prefixes->n; i++)
	{
		double	   *df = &prefixes->df[i];

		*df = 0;
		skx_segment_visit_prefix(seg, prefixes->lexemes[i].bytes,
								 prefixes->lexemes[i].len, true, NULL,
								 skx_cost_add_term, df);
		*df = Min(*df, seg->header.ndocs);
	}
}

/*
 * Returns about how many documents of a segment match, after looking up all
 * words and prefixes in it.
 */
static double
skx_cost_segment_documents(SkxCostState *c, SkxSegment *seg,
						   SkxCostFoundWords known[2], TSQuery query)
{
	double		ndocs = seg->header.ndocs;
	double		docs;

	CHECK_FOR_INTERRUPTS();
	c->ndocs = Max(ndocs, 1);
	skx_cost_find_words(seg, &known[0]);
	skx_cost_find_prefixes(seg, &known[1]);
	docs = skx_cost_query_docs(c, query).likely_docs;
	return Min(docs, ndocs);
}

/* Pending documents that match. */
typedef struct SkxCostPending
{
	SkxQuery   *query;
	uint64		n;
} SkxCostPending;

static bool
skx_cost_pending(const SkxPendingDoc *doc, void *arg)
{
	SkxCostPending *pending = arg;

	CHECK_FOR_INTERRUPTS();
	pending->n += skx_query_matches(pending->query, doc->value);
	return true;
}

/* Pending documents are few, so they are counted. */
uint64
skx_cost_documents(Relation index, TSQuery query)
{
	SkxCostPending pending = {0};
	SkxCostFoundWords known[2];
	SkxSnapshotReader *source;
	SkxCostState c;
	double		rows = 0;

	if (query->size == 0)
		return 0;
	source = skx_snapshot_open(index, skx_manifest_view(index));
	memset(&c, 0, sizeof(c));
	skx_cost_found_of_query(query, known);
	c.found = known;
	while (skx_snapshot_next_segments(source, 1) > 0)
		rows += skx_cost_segment_documents(&c, source->segments[0], known,
										   query);
	pending.query = skx_query_compile(&query, 1, NULL, 0);
	while (skx_snapshot_visit_pending(source, NULL, skx_cost_pending,
									  &pending))
		continue;
	skx_snapshot_close(source);
	return (uint64) rint(rows) + pending.n;
}
