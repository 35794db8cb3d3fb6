/*
 * plan_ordered_ties.c
 *	  Rows of an ordered scan that have one key, in the order of their values.
 *
 * The index returns rows by keys, which several values may share in some
 * columns (index/column/column_key_coarse.c).  Rows of such a key come one
 * after the other, and are few as a rule.  They are sorted by the column
 * itself, for which one row behind them must be fetched.  Keys that tell their
 * value need none of this.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "sql/am/am.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "support/compat/compat.h"
#include "support/compat/compat_planner.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"

/* Slots have the columns of the child, and the tid of the row. */
struct SkxOrderedTies
{
	IndexScanState *child;
	MemoryContext context;		/* lives as long as the statement */
	TupleTableSlot *row;		/* row that is returned */
	TupleTableSlot *next_row;	/* row behind it */
	bool		has_next;		/* the row behind it has been fetched */
	bool		at_end;			/* the child has no more rows */
	bool		key_is_shared;	/* other values may share the key of the row
								 * fetched last */
	uint64		key;
	TupleTableSlot *returns_sorted;
	Tuplesortstate *sort;		/* sorts rows of one key; NULL: none */
	AttrNumber	column;			/* column of the child that rows are sorted by */
	Oid			operator;
};

/* Returns a descriptor of the child's columns and a tid. */
static TupleDesc
skx_plan_ties_desc(const IndexScanState *child)
{
	TupleDesc	columns = ExecGetResultType(unconstify(PlanState *,
													   &child->ss.ps));
	TupleDesc	desc = CreateTemplateTupleDesc(columns->natts + 1);
	int			i;

	for (i = 1; i <= columns->natts; i++)
		TupleDescCopyEntry(desc, i, columns, i);
	TupleDescInitEntry(desc, columns->natts + 1, NULL, TIDOID, -1, 0);
	SKX_COMPAT_FINISH_DESC(desc);
	return desc;
}

SkxOrderedTies *
skx_plan_ordered_ties_create(IndexScanState *child, int column,
							 bool descending)
{
	EState	   *estate = child->ss.ps.state;
	SkxOrderedTies *ties = palloc0(sizeof(SkxOrderedTies));
	TupleDesc	desc = skx_plan_ties_desc(child);
	TypeCacheEntry *type =
		lookup_type_cache(TupleDescAttr(desc, column - 1)->atttypid,
						  TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);

	ties->child = child;
	ties->context = estate->es_query_cxt;
	ties->column = column;
	ties->operator = descending ? type->gt_opr : type->lt_opr;
	ties->row = ExecInitExtraTupleSlot(estate, desc, &TTSOpsVirtual);
	ties->next_row = ExecInitExtraTupleSlot(estate, desc, &TTSOpsVirtual);
	ties->returns_sorted = ExecInitExtraTupleSlot(estate, desc,
												  &TTSOpsMinimalTuple);
	return ties;
}

/* Fetches the row behind the last one.  Returns false if there is none. */
static bool
skx_plan_ties_fetch(SkxOrderedTies *ties)
{
	TupleTableSlot *next = ExecClearTuple(ties->next_row);
	int			natts = next->tts_tupleDescriptor->natts - 1;
	const uint64 *key;
	TupleTableSlot *from;

	from = ties->at_end ? NULL : ExecProcNode(&ties->child->ss.ps);
	ties->has_next = false;
	ties->at_end = TupIsNull(from);
	if (ties->at_end)
		return false;
	key = skx_am_scan_desc(ties->child->iss_ScanDesc)->key;
	ties->key_is_shared = key != NULL;
	if (key != NULL)
		ties->key = *key;
	slot_getallattrs(from);
	memcpy(next->tts_values, from->tts_values, natts * sizeof(Datum));
	memcpy(next->tts_isnull, from->tts_isnull, natts * sizeof(bool));
	next->tts_values[natts] =
		PointerGetDatum(&ties->child->ss.ss_ScanTupleSlot->tts_tid);
	next->tts_isnull[natts] = false;
	ExecStoreVirtualTuple(next);
	ExecMaterializeSlot(next);
	ties->has_next = true;
	return true;
}

/* Makes the row ahead the current one. */
static void
skx_plan_ties_advance(SkxOrderedTies *ties)
{
	TupleTableSlot *row = ties->row;

	ties->row = ties->next_row;
	ties->next_row = row;
	ties->has_next = false;
}

/* Sorts the current row, the one ahead, and all others with their key. */
static void
skx_plan_ties_sort(SkxOrderedTies *ties)
{
	MemoryContext old = MemoryContextSwitchTo(ties->context);
	uint64		key = ties->key;
	Oid			collation = InvalidOid;
	bool		nulls_first = false;

	ties->sort =
		tuplesort_begin_heap(ties->returns_sorted->tts_tupleDescriptor, 1,
							 &ties->column, &ties->operator, &collation,
							 &nulls_first, work_mem, NULL, TUPLESORT_NONE);
	tuplesort_puttupleslot(ties->sort, ties->row);
	do
	{
		CHECK_FOR_INTERRUPTS();
		tuplesort_puttupleslot(ties->sort, ties->next_row);
	} while (skx_plan_ties_fetch(ties) && ties->key_is_shared &&
			 ties->key == key);
	tuplesort_performsort(ties->sort);
	MemoryContextSwitchTo(old);
}

static void
skx_plan_ties_sorted(SkxOrderedTies *ties)
{
	if (ties->sort == NULL)
		return;
	ExecClearTuple(ties->returns_sorted);
	tuplesort_end(ties->sort);
	ties->sort = NULL;
}

/*
 * Returns the next row that need not be sorted.  Returns NULL if there is
 * none, or after sorting rows of one key.
 */
static TupleTableSlot *
skx_plan_ties_next_unsorted(SkxOrderedTies *ties)
{
	bool		shared;
	uint64		key;

	if (!ties->has_next && !skx_plan_ties_fetch(ties))
		return NULL;
	shared = ties->key_is_shared;
	key = ties->key;
	skx_plan_ties_advance(ties);
	if (!shared || !skx_plan_ties_fetch(ties) || !ties->key_is_shared ||
		ties->key != key)
		return ties->row;
	skx_plan_ties_sort(ties);
	return NULL;
}

/* Returns the next of the sorted rows; NULL if none is left. */
static TupleTableSlot *
skx_plan_ties_next_sorted(SkxOrderedTies *ties)
{
	if (ties->sort == NULL)
		return NULL;
	if (tuplesort_gettupleslot(ties->sort, true, false, ties->returns_sorted,
							   NULL))
		return ties->returns_sorted;
	skx_plan_ties_sorted(ties);
	return NULL;
}

TupleTableSlot *
skx_plan_ordered_ties_next(SkxOrderedTies *ties, ItemPointer place)
{
	TupleTableSlot *row;
	bool		is_null;

	do
	{
		row = skx_plan_ties_next_sorted(ties);
		if (row == NULL)
			row = skx_plan_ties_next_unsorted(ties);
	} while (row == NULL && ties->sort != NULL);
	if (row == NULL)
		return NULL;
	slot_getallattrs(row);
	*place = *(ItemPointer)
		DatumGetPointer(slot_getattr(row, row->tts_tupleDescriptor->natts,
									 &is_null));
	return row;
}

void
skx_plan_ordered_ties_reset(SkxOrderedTies *ties)
{
	skx_plan_ties_sorted(ties);
	ExecClearTuple(ties->row);
	ExecClearTuple(ties->next_row);
	ties->has_next = ties->at_end = false;
}
