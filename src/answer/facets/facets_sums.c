/*
 * facets_sums.c
 *	  Adds up the counts of values that come several times, by sorting them in
 *	  work_mem or on disk.
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "answer/facets/facets_internal.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "support/compat/compat.h"
#include "utils/builtins.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"

/* Columns of the tuples that are sorted. */
enum
{
	SKX_SUM_LEXEME,
	SKX_SUM_COUNT,
	SKX_SUM_ROW,
	SKX_SUM_NCOLUMNS
};

struct SkxFacetSums
{
	Tuplesortstate *sort;
	TupleTableSlot *slot;
	bool		has_tuple;		/* the slot has a tuple that was not returned */
	char		bytes[MAXSTRLEN];	/* bytes of the value returned last */
};

SkxFacetSums *
skx_facets_sums_begin(void)
{
	SkxFacetSums *sums = palloc0(sizeof(SkxFacetSums));
	TupleDesc	desc = CreateTemplateTupleDesc(SKX_SUM_NCOLUMNS);
	AttrNumber	key = SKX_SUM_LEXEME + 1;
	Oid			less = lookup_type_cache(BYTEAOID, TYPECACHE_LT_OPR)->lt_opr;
	Oid			collation = InvalidOid;
	bool		nulls_first = false;

	TupleDescInitEntry(desc, SKX_SUM_LEXEME + 1, "lexeme", BYTEAOID, -1, 0);
	TupleDescInitEntry(desc, SKX_SUM_COUNT + 1, "count", INT8OID, -1, 0);
	TupleDescInitEntry(desc, SKX_SUM_ROW + 1, "place", INT8OID, -1, 0);
	SKX_COMPAT_FINISH_DESC(desc);
	sums->sort = tuplesort_begin_heap(desc, 1, &key, &less, &collation,
									  &nulls_first, work_mem, NULL,
									  TUPLESORT_NONE);
	sums->slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	return sums;
}

void
skx_facets_sums_add(SkxFacetSums *sums, const SkxFacet *facet)
{
	TupleTableSlot *slot = sums->slot;
	bytea	   *lexeme = palloc(VARHDRSZ + facet->lexeme.len);

	SET_VARSIZE(lexeme, VARHDRSZ + facet->lexeme.len);
	memcpy(VARDATA(lexeme), facet->lexeme.bytes, facet->lexeme.len);
	ExecClearTuple(slot);
	slot->tts_values[SKX_SUM_LEXEME] = PointerGetDatum(lexeme);
	slot->tts_values[SKX_SUM_COUNT] = Int64GetDatum((int64) facet->count);
	slot->tts_values[SKX_SUM_ROW] = Int64GetDatum((int64) facet->row);
	memset(slot->tts_isnull, 0, SKX_SUM_NCOLUMNS * sizeof(bool));
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(sums->sort, slot);
	ExecClearTuple(slot);
	pfree(lexeme);
}

static void
skx_facets_sums_fetch(SkxFacetSums *sums)
{
	sums->has_tuple = tuplesort_gettupleslot(sums->sort, true, false,
											 sums->slot, NULL);
	if (sums->has_tuple)
		slot_getallattrs(sums->slot);
}

void
skx_facets_sums_sort(SkxFacetSums *sums)
{
	tuplesort_performsort(sums->sort);
	skx_facets_sums_fetch(sums);
}

bool
skx_facets_sums_next(SkxFacetSums *sums, SkxFacet *facet)
{
	const Datum *values = sums->slot->tts_values;
	const bytea *lexeme;

	if (!sums->has_tuple)
		return false;
	lexeme = DatumGetByteaPP(values[SKX_SUM_LEXEME]);
	facet->lexeme.bytes = sums->bytes;
	facet->lexeme.len = VARSIZE_ANY_EXHDR(lexeme);
	memcpy(sums->bytes, VARDATA_ANY(lexeme), facet->lexeme.len);
	facet->row = (uint64) DatumGetInt64(values[SKX_SUM_ROW]);
	facet->count = 0;
	do
	{
		CHECK_FOR_INTERRUPTS();
		facet->count += (uint64) DatumGetInt64(values[SKX_SUM_COUNT]);
		skx_facets_sums_fetch(sums);
		if (!sums->has_tuple)
			break;
		lexeme = DatumGetByteaPP(values[SKX_SUM_LEXEME]);
	} while (VARSIZE_ANY_EXHDR(lexeme) == facet->lexeme.len &&
			 memcmp(VARDATA_ANY(lexeme), sums->bytes, facet->lexeme.len) == 0);
	return true;
}

void
skx_facets_sums_end(SkxFacetSums *sums)
{
	ExecDropSingleTupleTableSlot(sums->slot);
	tuplesort_end(sums->sort);
	pfree(sums);
}
