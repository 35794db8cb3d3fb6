/*
 * am_ordered.c
 *	  Scans in the order of a column other than the text.
 *
 * The server does not know that the index has such an order.  The custom scan
 * above it (plan/) asks for one, before the first row.
 */
#include "postgres.h"

#include "answer/order/order_share.h"
#include "sql/am/am_scan.h"
#include "utils/memutils.h"

/*
 * Sets the range of the request to the condition that bounds the values of the
 * column, and `unbounded` to a query of all other conditions.
 */
static void
skx_am_ordered_range(const SkxScan *so, SkxOrderedRequest *request)
{
	SkxCondition *others = palloc(sizeof(SkxCondition) *
								  (so->nconditions + 1));
	int			n = 0;
	int			i;

	request->range = NULL;
	request->unbounded = NULL;
	for (i = 0; i < so->nconditions; i++)
	{
		const SkxCondition *c = &so->conditions[i];

		if (c->kind == SKX_CONDITION_RANGE &&
			(uint8) c->from.bytes[1] == so->desc.order->column + 1)
			request->range = c;
		else
			others[n++] = *c;
	}
	if (request->range != NULL)
		request->unbounded = skx_query_compile(so->queries, so->nqueries,
											   others, n);
}

bool
skx_am_ordered_prepare(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	SkxScanDesc *desc = &so->desc;
	const SkxScanOrder *order = desc->order;
	SkxOrderedRequest *request;

	if (order == NULL)
		return false;
	desc->ordered = request = palloc0(sizeof(SkxOrderedRequest));
	request->index = scan->indexRelation;
	request->view = skx_exec_view(scan->indexRelation, order->share == NULL ?
								  NULL : &order->share->parts);
	request->filter = desc->request.query;
	skx_am_ordered_range(so, request);
	request->key = skx_order_column(scan->indexRelation, order->column);
	request->descending = order->descending;
	request->nulls_first = order->nulls_first;
	request->wanted_rows = desc->wanted;
	request->work = &desc->work.ordered;
	if (order->share == NULL)
		return true;
	request->parallel_part = &so->ordered_part;
	/* all of a part is wanted, as far as memory allows */
	if (desc->wanted == 0)
		request->wanted_rows = PG_INT32_MAX;
	return true;
}

/*
 * Begins the search; with a share, its next part.  Returns false if no part is
 * left.
 */
static bool
skx_am_ordered_begin(SkxScan *so)
{
	SkxOrderedShared *share = so->desc.order->share;

	if (share != NULL &&
		!skx_order_share_next_part(share, so->desc.ordered, &so->ordered_part))
		return false;
	so->ordered = skx_order_begin(so->desc.ordered);
	return true;
}

void
skx_am_ordered_end(SkxScan *so)
{
	if (so->ordered != NULL)
		skx_order_end(so->ordered);
	so->ordered = NULL;
}

/*
 * Sets so->n, so->keys and *tids to the next rows of this part, or of one that
 * follows.  Returns false if there are none.
 */
static bool
skx_am_ordered_next(SkxScan *so, const ItemPointerData **tids)
{
	if (so->ordered == NULL && !skx_am_ordered_begin(so))
		return false;
	while ((so->n = skx_order_next(so->ordered, tids, &so->keys)) == 0)
	{
		skx_am_ordered_end(so);
		if (so->desc.order->share == NULL || !skx_am_ordered_begin(so))
			return false;
	}
	return true;
}

bool
skx_am_ordered_fetch(SkxScan *so)
{
	const ItemPointerData *tids;

	if (!skx_am_ordered_next(so, &tids))
	{
		/* so that later calls find no rows, either */
		so->desc.ordered = NULL;
		return false;
	}
	if (so->tids != NULL)
		pfree(so->tids);
	so->tids = palloc_extended(sizeof(ItemPointerData) * (Size) so->n,
							   MCXT_ALLOC_HUGE);
	memcpy(so->tids, tids, sizeof(ItemPointerData) * so->n);
	return true;
}
