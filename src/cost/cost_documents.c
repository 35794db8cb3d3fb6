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

uint64
skx_cost_documents(Relation index, TSQuery query)
{
	const SkxView *view = skx_manifest_view(index);
	SkxSource  *source = skx_source_open(index, view);
	SkxPendingTotals pending;
	SkxCosting	c;
	double		ndocs = 0;
	double		rows = 0;

	if (query->size == 0)
		return 0;
	memset(&c, 0, sizeof(c));
	c.scale = 1;
	skx_cost_gather(&c, query);
	c.nlexemes = skx_intake_distinct(c.lexemes, c.nlexemes);
	c.terms = palloc(sizeof(SkxTerm) * Max(c.nlexemes, 1));
	while (skx_source_next(source, 1) > 0)
	{
		ndocs += source->segments[0]->header.ndocs;
		rows += skx_cost_documents_of(&c, source->segments[0], query);
	}
	skx_source_close(source);
	skx_pending_totals(index, view, &pending, NULL);
	if (ndocs > 0)
		rows += (pending.ndocs - pending.ndead) * rows / ndocs;
	return (uint64) rint(rows);
}
