/*
 * order_rows.c
 *	  The first rows that a search has found.
 *
 * Rows are ordered by rank, then by segment and document.  Pending rows come
 * last among those of a rank, by stripe and number.  This order has no ties,
 * so that a search can continue after any row.
 */
#include "postgres.h"

#include "answer/order/order_internal.h"
#include "miscadmin.h"

int
skx_order_compare(const SkxOrderedRow *a, const SkxOrderedRow *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	return a->doc < b->doc ? -1 : a->doc > b->doc;
}

static inline int
skx_order_compare_documents(const SkxOrderedRow *a, const SkxOrderedRow *b)
{
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	return a->doc < b->doc ? -1 : a->doc > b->doc;
}

#define ST_SORT skx_order_sort_rows
#define ST_ELEMENT_TYPE SkxOrderedRow
#define ST_COMPARE(a, b) skx_order_compare(a, b)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

#define ST_SORT skx_order_sort_by_place
#define ST_ELEMENT_TYPE SkxOrderedRow
#define ST_COMPARE(a, b) skx_order_compare_documents(a, b)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

void
skx_order_sort(SkxOrderedRow *rows, int n)
{
	skx_order_sort_rows(rows, n);
}

void
skx_order_sort_documents(SkxOrderedRow *rows, int n)
{
	skx_order_sort_by_place(rows, n);
}

/* Puts a row into the empty place i of the heap, or further down. */
static void
skx_order_rows_sift_down(SkxOrderedRows *rows, int i, SkxOrderedRow row)
{
	SkxOrderedRow *heap = rows->rows;

	for (;;)
	{
		int			child = 2 * i + 1;

		if (child >= rows->n)
			break;
		if (child + 1 < rows->n &&
			skx_order_compare(&heap[child], &heap[child + 1]) < 0)
			child++;
		if (skx_order_compare(&row, &heap[child]) >= 0)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = row;
}

static void
skx_order_rows_grow(SkxOrderedRows *rows)
{
	rows->size = (int) Min(Max((int64) rows->size * 2, 64), rows->max_rows);
	if (rows->rows == NULL)
		rows->rows = palloc_extended(sizeof(SkxOrderedRow) * (Size) rows->size,
									 MCXT_ALLOC_HUGE);
	else
		rows->rows = repalloc_huge(rows->rows,
								   sizeof(SkxOrderedRow) * (Size) rows->size);
}

bool
skx_order_rows_accept(const SkxOrderedRows *rows, const SkxOrderedRow *row)
{
	return rows->n < rows->max_rows ||
		skx_order_compare(row, &rows->rows[0]) < 0;
}

void
skx_order_rows_add(SkxOrderedRows *rows, const SkxOrderedRow *row)
{
	int			i;

	if (rows->n == rows->max_rows)
	{
		skx_order_rows_sift_down(rows, 0, *row);
		return;
	}
	if (rows->n == rows->size)
		skx_order_rows_grow(rows);
	rows->rows[rows->n++] = *row;
	for (i = rows->n / 2 - 1; i >= 0 && rows->n == rows->max_rows; i--)
	{
		CHECK_FOR_INTERRUPTS();
		skx_order_rows_sift_down(rows, i, rows->rows[i]);
	}
}

void
skx_order_reserve_tids(SkxOrdered *o, int n)
{
	if (n <= o->max_tids)
		return;
	if (o->tids != NULL)
		pfree(o->tids);
	if (o->tid_keys != NULL)
		pfree(o->tid_keys);
	o->max_tids = Max(n, 64);
	o->tids = MemoryContextAllocHuge(o->context, sizeof(ItemPointerData) *
									 (Size) o->max_tids);
	if (o->is_coarse)
		o->tid_keys = MemoryContextAllocHuge(o->context, sizeof(uint64) *
											 (Size) o->max_tids);
}
