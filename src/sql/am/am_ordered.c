/*
 * am_ordered.c
 *	  Scans in the order of a column beside the text.
 *
 * The server knows of no such order of the index: the custom scan above it
 * (plan/) asks for one, before the first row.
 */
#include "postgres.h"

#include "answer/order/order_share.h"
#include "sql/am/am_scan.h"
#include "utils/memutils.h"

void
skx_am_scan_order(IndexScanDesc scan, const SkxScanOrder *order)
{
	SkxScan    *so = scan->opaque;

	Assert(!so->started);
	so->has_order = true;
	so->order = *order;
}

/* The condition that bounds the values of the column, and all but that. */
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
			(uint8) c->from.bytes[1] == so->order.column + 1)
			request->range = c;
		else
			others[n++] = *c;
	}
	if (request->range != NULL)
		request->unbounded = skx_query_compile(so->queries, so->nqueries,
											   others, n);
}

/* Begins a part of the search, or all of it; false: there is none left. */
static bool
skx_am_ordered_begin(SkxScan *so)
{
	if (so->order.share != NULL &&
		!skx_order_share_take(so->order.share, &so->request, &so->part))
		return false;
	so->ordered = skx_order_begin(&so->request);
	return true;
}

/* What is asked for, once the conditions are known. */
static void
skx_am_ordered_request(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	SkxOrderedRequest *request = &so->request;

	request->index = scan->indexRelation;
	request->view = skx_manifest_view_bound(scan->indexRelation);
	request->filter = so->query;
	skx_am_ordered_range(so, request);
	request->key = skx_order_column(scan->indexRelation, so->order.column);
	request->descending = so->order.descending;
	request->nulls_first = so->order.nulls_first;
	request->wanted = so->order.wanted;
	request->part = NULL;
	if (so->order.share == NULL)
		return;
	request->part = &so->part;
	request->wanted = 2 * SKX_ORDERED_PART_ROWS;
	if (so->order.wanted > 0)
		request->wanted = Min(request->wanted, so->order.wanted);
}

bool
skx_am_ordered_start(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;

	if (!so->has_order)
		return false;
	skx_am_ordered_request(scan);
	(void) skx_am_ordered_begin(so);
	return true;
}

/* The scan itself begins with its first row, as in the other processes. */
void
skx_am_scan_divide(IndexScanDesc scan, int parts)
{
	SkxScan    *so = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(so->context);

	if (skx_am_scan_begin(scan))
	{
		skx_am_ordered_request(scan);
		skx_order_share_divide(so->order.share, &so->request, parts);
	}
	skxrescan(scan, NULL, 0, NULL, 0);
	MemoryContextSwitchTo(old);
}

static void
skx_am_ordered_add(SkxOrderedWork *sum, const SkxOrderedWork *work)
{
	sum->passes += work->passes;
	sum->leaves += work->leaves;
	sum->values += work->values;
	sum->documents += work->documents;
}

void
skx_am_ordered_stop(SkxScan *so)
{
	if (so->ordered == NULL)
		return;
	skx_am_ordered_add(&so->ordered_work, skx_order_work(so->ordered));
	skx_order_end(so->ordered);
	so->ordered = NULL;
}

bool
skx_am_ordered_fetch(SkxScan *so)
{
	const ItemPointerData *tids;
	const uint64 *keys;

	while ((so->n = skx_order_next(so->ordered, &tids, &keys)) == 0)
	{
		skx_am_ordered_stop(so);
		if (so->order.share == NULL || !skx_am_ordered_begin(so))
			return false;
	}
	if (so->tids != NULL)
		pfree(so->tids);
	so->tids = palloc_extended(sizeof(ItemPointerData) * (Size) so->n,
							   MCXT_ALLOC_HUGE);
	memcpy(so->tids, tids, sizeof(ItemPointerData) * so->n);
	so->keys = keys;
	return true;
}

bool
skx_am_scan_shared_key(IndexScanDesc scan, uint64 *key)
{
	const SkxScan *so = scan->opaque;

	if (so->ordered == NULL || so->keys == NULL || so->next == 0)
		return false;
	*key = so->keys[so->next - 1];
	return skx_column_key_is_shared(&so->request.key, *key);
}

const SkxOrderedWork *
skx_am_scan_ordered_work(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;

	if (!so->has_order)
		return NULL;
	so->ordered_total = so->ordered_work;
	if (so->ordered != NULL)
		skx_am_ordered_add(&so->ordered_total, skx_order_work(so->ordered));
	return &so->ordered_total;
}
