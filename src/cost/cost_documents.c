/*
 * cost_documents.c
 *	  About how many documents match, outside of planning.
 */
#include "postgres.h"

#include <math.h>

#include "cost/cost_internal.h"
#include "miscadmin.h"

/* Those of a segment, of which the words are looked up. */
static double
skx_cost_documents_of(SkxCosting *c, SkxSegment *seg, TSQuery query)
{
	double		ndocs = seg->header.ndocs;
	int			i;

	CHECK_FOR_INTERRUPTS();
	c->segment = seg;
	c->ndocs = Max(ndocs, 1);
	c->average = 0;
	c->nprefixes = 0;
	c->prefixed = 0;
	skx_segment_find_all(&seg, 1, c->lexemes, c->nlexemes, &c->terms);
	for (i = 0; i < c->nlexemes; i++)
		c->average += (double) c->terms[i].df / c->nlexemes;
	return Min(skx_cost_filter(c, query).likely, ndocs);
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

/* Pending ones are few: they are counted. */
uint64
skx_cost_documents(Relation index, TSQuery query)
{
	SkxSource  *source = skx_source_open(index, skx_manifest_view(index));
	SkxCostPending pending = {0};
	SkxCosting	c;
	double		rows = 0;

	if (query->size == 0)
		return 0;
	memset(&c, 0, sizeof(c));
	c.scale = 1;
	skx_cost_gather(&c, query);
	c.nlexemes = skx_intake_distinct(c.lexemes, c.nlexemes);
	c.terms = palloc(sizeof(SkxTerm) * Max(c.nlexemes, 1));
	while (skx_source_next(source, 1) > 0)
		rows += skx_cost_documents_of(&c, source->segments[0], query);
	pending.query = skx_query_compile(&query, 1, NULL, 0);
	while (skx_source_pending(source, NULL, skx_cost_pending, &pending))
		continue;
	skx_source_close(source);
	return (uint64) rint(rows) + pending.n;
}
