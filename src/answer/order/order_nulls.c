/*
 * order_nulls.c
 *	  Rows that have no value in the column by which they are ordered.
 */
#include "postgres.h"

#include "answer/order/order_internal.h"
#include "answer/rows/rows.h"
#include "utils/memutils.h"

struct SkxOrderedNulls
{
	MemoryContext context;
	SkxRequest	request;		/* its query: the filter, and the column is
								 * NULL */
	SkxRows    *rows;
	SkxExec    *exec;			/* NULL: no row can match */
};

static void
skx_order_nulls_open(SkxOrdered *o)
{
	MemoryContext context = AllocSetContextCreate(o->context,
												  "skipidx rows without value",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	struct SkxOrderedNulls *nulls = palloc0(sizeof(struct SkxOrderedNulls));
	SkxQuery   *query = skx_query_and_is_null(o->request.filter,
											  o->request.key.column);

	nulls->context = context;
	nulls->request.index = o->request.index;
	nulls->request.view = o->request.view;
	nulls->request.query = query;
	nulls->request.pending_end = o->pending_ends;
	nulls->rows = skx_rows_collector_create(false);
	if (!skx_query_is_empty(query))
		nulls->exec = skx_exec_begin(&nulls->request,
									 &nulls->rows->collector);
	o->nulls = nulls;
	MemoryContextSwitchTo(old);
}

void
skx_order_nulls_close(SkxOrdered *o)
{
	if (o->nulls == NULL)
		return;
	if (o->nulls->exec != NULL)
		skx_exec_end(o->nulls->exec);
	MemoryContextDelete(o->nulls->context);
	o->nulls = NULL;
}

int
skx_order_nulls_next(SkxOrdered *o)
{
	struct SkxOrderedNulls *nulls;

	if (o->nulls == NULL)
		skx_order_nulls_open(o);
	nulls = o->nulls;
	if (nulls->exec == NULL || !skx_rows_next_batch(nulls->rows, nulls->exec))
		return 0;
	skx_order_reserve_tids(o, nulls->rows->n);
	memcpy(o->tids, nulls->rows->tids,
		   sizeof(ItemPointerData) * nulls->rows->n);
	return nulls->rows->n;
}

void
skx_order_nulls_document(const SkxOrdered *o, int i, SkxDocAddress *place)
{
	skx_rows_document(o->nulls->rows, i, place);
}
