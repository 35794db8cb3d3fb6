/*
 * order_nulls.c
 *	  Rows that have no value in the column by which they are ordered.
 */
#include "postgres.h"

#include "answer/order/order_internal.h"
#include "utils/memutils.h"

struct SkxOrderedNulls
{
	MemoryContext context;
	SkxQuery   *query;			/* the filter, and that the column is NULL */
	int			at;				/* segment */
	SkxQueryScan *scan;			/* of it, or NULL */
	bool		pending;		/* pending documents are left */
};

static void
skx_order_nulls_open(SkxOrdered *o)
{
	MemoryContext context = AllocSetContextCreate(o->context,
												  "skipidx rows without value",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	struct SkxOrderedNulls *nulls = palloc0(sizeof(struct SkxOrderedNulls));

	nulls->context = context;
	nulls->query = skx_query_and_null(o->request.filter,
									  o->request.key.column);
	nulls->pending = true;
	o->nulls = nulls;
	MemoryContextSwitchTo(old);
}

void
skx_order_nulls_close(SkxOrdered *o)
{
	if (o->nulls == NULL)
		return;
	if (o->nulls->scan != NULL)
		skx_query_scan_close(o->nulls->scan);
	MemoryContextDelete(o->nulls->context);
	o->nulls = NULL;
}

/* A batch of a segment; 0: they are done. */
static int
skx_order_nulls_segments(SkxOrdered *o)
{
	struct SkxOrderedNulls *nulls = o->nulls;

	while (nulls->at < o->nsegments)
	{
		SkxSegment *seg = o->source->segments[nulls->at];
		int			n;

		if (nulls->scan == NULL)
		{
			MemoryContext old = MemoryContextSwitchTo(nulls->context);

			nulls->scan = skx_query_scan_open(seg, nulls->query, false);
			MemoryContextSwitchTo(old);
		}
		n = skx_query_scan_next(nulls->scan, o->docs);
		if (n > 0)
		{
			skx_order_make_tids(o, n);
			skx_segment_tids_of(seg, o->docs, n, o->tids);
			return n;
		}
		skx_query_scan_close(nulls->scan);
		nulls->scan = NULL;
		skx_segment_relax(seg);
		nulls->at++;
	}
	return 0;
}

typedef struct SkxOrderedPendingNulls
{
	SkxOrdered *o;
	int			n;
} SkxOrderedPendingNulls;

static bool
skx_order_nulls_document(const SkxPendingDoc *doc, void *arg)
{
	SkxOrderedPendingNulls *p = arg;

	if (!doc->dead && skx_query_matches(p->o->nulls->query, doc->value))
		p->o->tids[p->n++] = doc->tid;
	return p->n < SKX_QUERY_BATCH;
}

int
skx_order_nulls_next(SkxOrdered *o)
{
	SkxOrderedPendingNulls p = {o, 0};
	int			n;

	if (o->nulls == NULL)
		skx_order_nulls_open(o);
	if (skx_query_is_empty(o->nulls->query))
		return 0;
	n = skx_order_nulls_segments(o);
	if (n > 0 || !o->nulls->pending)
		return n;
	skx_order_make_tids(o, SKX_QUERY_BATCH);
	o->nulls->pending = skx_snapshot_pending(o->source, o->last,
											 skx_order_nulls_document, &p);
	return p.n;
}
