/*
 * functions_facets.c
 *	  skipidx_facets(): returns the commonest values of columns other than the
 *	  text, among the rows that match.
 */
#include "postgres.h"

#include "access/genam.h"
#include "answer/facets/facets.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "index/column/column.h"
#include "miscadmin.h"
#include "sql/am/am.h"
#include "sql/am/am_desc.h"
#include "sql/functions/functions_internal.h"
#include "support/compat/compat_planner.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"

PG_FUNCTION_INFO_V1(skipidx_facets);

/* Columns of the rows that are sorted, one row for each value. */
enum
{
	SKX_VALUE_COUNT,
	SKX_VALUE_LEXEME,
	SKX_VALUE_ROW,
	SKX_VALUE_NCOLUMNS
};

/*
 * With several parts, the lower bits of a place are the TID of a row, and the
 * bits above these are the number of the part.
 */
#define SKX_PARTITION_ROW_BITS	48

/* State for showing the values of a part. */
typedef struct SkxFacetPartition
{
	SkxFacetsRequest request;
	SkxFacetValues *values;		/* NULL: none was shown */
} SkxFacetPartition;

typedef struct SkxFacetCall
{
	ReturnSetInfo *result;
	SkxPartitions parts;
	bool		has_names;		/* of columns, in the result */
	int64		max_values;		/* values of a column; -1: all */
	SkxFacetPartition *shown_partitions;	/* one for each part */
	SkxFacets  *facets;			/* of the current part; NULL: no matches */
	SkxFacetSums *sums;			/* of several parts; NULL: there is one */
	Tuplesortstate *sort;		/* of `column`; NULL: none was begun */
	int			column;
	TupleTableSlot *slot;
} SkxFacetCall;

/* ---- columns ---- */

/*
 * Returns the name of a column of the index.  It is the name in the table, or
 * for an expression the name in the index.
 */
static const char *
skx_functions_column_name(Relation heap, Relation index, int column)
{
	AttrNumber	attno = index->rd_index->indkey.values[column];
	TupleDesc	desc = RelationGetDescr(attno > 0 ? heap : index);

	return NameStr(TupleDescAttr(desc, attno > 0 ? attno - 1 : column)->attname);
}

/* Raises an error: the index has no such column other than the text. */
SKX_NORETURN static void
skx_functions_raise_no_column(Relation heap, Relation index,
							  const char *wanted)
{
	AttrNumber	attno = get_attnum(RelationGetRelid(heap), wanted);
	Oid			type = get_atttype(RelationGetRelid(heap), attno);
	Oid			am = index->rd_rel->relam;

	if (strcmp(skx_functions_column_name(heap, index, 0), wanted) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("column \"%s\" of index \"%s\" is the text, not a column beside it",
						wanted, RelationGetRelationName(index)),
				 errhint("skipidx_terms() counts words.")));
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("index \"%s\" has no column \"%s\" beside the text",
					RelationGetRelationName(index), wanted),
			 !AttributeNumberIsValid(attno) ?
			 errhint("Table \"%s\" has no such column, either.",
					 RelationGetRelationName(heap)) :
			 OidIsValid(skx_column_canonical_of_type(am, type)) ?
			 errhint("Make an index with the column: CREATE INDEX ... USING skipidx (text, %s).",
					 quote_identifier(wanted)) :
			 errhint("A column of type %s cannot stand beside the text of a skipidx index, an expression of another type can.",
					 format_type_be(type))));
}

int
skx_functions_find_column(Relation heap, Relation index, Datum name)
{
	char	   *wanted = TextDatumGetCString(name);
	int			i;

	for (i = 1; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		if (strcmp(skx_functions_column_name(heap, index, i), wanted) == 0)
			return i;
	skx_functions_raise_no_column(heap, index, wanted);
}

/*
 * Fills in the columns that are named, ascending and each once, and returns
 * how many.
 */
static int
skx_functions_facet_columns(const SkxFacetCall *call, Datum names,
							int *columns)
{
	bool		wanted[INDEX_MAX_KEYS] = {false};
	Datum	   *elements = &names;
	bool		present = false;
	bool	   *nulls = &present;
	int			n = 1;
	int			i;

	if (call->has_names)
		deconstruct_array(DatumGetArrayTypeP(names), TEXTOID, -1, false,
						  TYPALIGN_INT, &elements, &nulls, &n);
	for (i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("the name of a column must not be null")));
		wanted[skx_functions_find_column(call->parts.heap, call->parts.index,
										 elements[i])] = true;
	}
	n = 0;
	for (i = 1; i < INDEX_MAX_KEYS; i++)
		if (wanted[i])
			columns[n++] = i;
	return n;
}

/* ---- the commonest values of a column ---- */

static void
skx_functions_begin_values(SkxFacetCall *call)
{
	TypeCacheEntry *counts = lookup_type_cache(INT8OID, TYPECACHE_GT_OPR);
	TypeCacheEntry *lexemes = lookup_type_cache(BYTEAOID, TYPECACHE_LT_OPR);
	AttrNumber	keys[2] = {SKX_VALUE_COUNT + 1, SKX_VALUE_LEXEME + 1};
	Oid			operators[2] = {counts->gt_opr, lexemes->lt_opr};
	Oid			collations[2] = {InvalidOid, InvalidOid};
	bool		nulls_first[2] = {false, false};

	call->sort = tuplesort_begin_heap(call->slot->tts_tupleDescriptor, 2,
									  keys, operators, collations,
									  nulls_first, work_mem, NULL,
									  TUPLESORT_ALLOWBOUNDED);
	if (call->max_values >= 0)
		tuplesort_set_bound(call->sort, call->max_values);
}

static void
skx_functions_take_value(SkxFacetCall *call, const SkxFacet *facet)
{
	TupleTableSlot *slot = call->slot;
	bytea	   *lexeme = palloc(VARHDRSZ + facet->lexeme.len);

	SET_VARSIZE(lexeme, VARHDRSZ + facet->lexeme.len);
	memcpy(VARDATA(lexeme), facet->lexeme.bytes, facet->lexeme.len);
	ExecClearTuple(slot);
	slot->tts_values[SKX_VALUE_COUNT] = Int64GetDatum((int64) facet->count);
	slot->tts_values[SKX_VALUE_LEXEME] = PointerGetDatum(lexeme);
	slot->tts_values[SKX_VALUE_ROW] = Int64GetDatum((int64) facet->row);
	memset(slot->tts_isnull, 0, SKX_VALUE_NCOLUMNS * sizeof(bool));
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(call->sort, slot);
	ExecClearTuple(slot);
	pfree(lexeme);
}

/* Returns the part of a place, and sets *tid to the row in it. */
static SkxFacetPartition *
skx_functions_find_row(SkxFacetCall *call, uint64 place, ItemPointer tid)
{
	SkxFacetPartition *part = &call->shown_partitions[0];

	if (call->sums == NULL)
		skx_facets_tid(call->facets, place, tid);
	else
	{
		part = &call->shown_partitions[place >> SKX_PARTITION_ROW_BITS];
		ItemPointerSet(tid, (BlockNumber) (place >> 16), (OffsetNumber) place);
	}
	if (part->values == NULL)
		part->values = skx_facets_values_begin(&part->request);
	return part;
}

/* Returns the value as its type writes it; NULL if the value is NULL. */
static text *
skx_functions_value_text(SkxFacetCall *call, const SkxLexeme *lexeme,
						 uint64 place)
{
	SkxFacetPartition *part;
	ItemPointerData tid;
	Oid			output;
	bool		is_varlena;
	Datum		value;
	char	   *written;
	text	   *result;

	if (lexeme->bytes[2] == SKX_VALUE_NULL)
		return NULL;
	part = skx_functions_find_row(call, place, &tid);
	value = skx_facets_values_get(part->values, lexeme, &tid);
	getTypeOutputInfo(skx_facets_values_type(part->values, call->column),
					  &output, &is_varlena);
	written = OidOutputFunctionCall(output, value);
	result = cstring_to_text(written);
	pfree(written);
	return result;
}

static void
skx_functions_put_value(SkxFacetCall *call)
{
	const Datum *sorted = call->slot->tts_values;
	bytea	   *bytes = DatumGetByteaPP(sorted[SKX_VALUE_LEXEME]);
	SkxLexeme	lexeme = {VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes)};
	text	   *value = skx_functions_value_text(call, &lexeme,
												 (uint64) DatumGetInt64(sorted[SKX_VALUE_ROW]));
	Datum		row[3];
	bool		nulls[3] = {false, false, false};
	int			n = 0;

	if (call->has_names)
		row[n++] = CStringGetTextDatum(skx_functions_column_name(call->parts.heap,
																 call->parts.index,
																 call->column));
	nulls[n] = value == NULL;
	row[n++] = PointerGetDatum(value);
	row[n++] = sorted[SKX_VALUE_COUNT];
	tuplestore_putvalues(call->result->setResult, call->result->setDesc, row,
						 nulls);
	if (value != NULL)
		pfree(value);
	if (call->has_names)
		pfree(DatumGetPointer(row[0]));
}

/* Puts the sorted values of the column into the result. */
static void
skx_functions_end_values(SkxFacetCall *call)
{
	int64		n;

	if (call->sort == NULL)
		return;
	tuplesort_performsort(call->sort);
	for (n = 0; call->max_values < 0 || n < call->max_values; n++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!tuplesort_gettupleslot(call->sort, true, false, call->slot, NULL))
			break;
		slot_getallattrs(call->slot);
		skx_functions_put_value(call);
	}
	ExecClearTuple(call->slot);
	tuplesort_end(call->sort);
	call->sort = NULL;
}

static bool
skx_functions_next_value(SkxFacetCall *call, SkxFacet *facet)
{
	return call->sums != NULL ? skx_facets_sums_next(call->sums, facet) :
		skx_facets_next(call->facets, facet);
}

static void
skx_functions_values(SkxFacetCall *call)
{
	TupleDesc	desc = CreateTemplateTupleDesc(SKX_VALUE_NCOLUMNS);
	SkxFacet	facet;

	TupleDescInitEntry(desc, SKX_VALUE_COUNT + 1, "count", INT8OID, -1, 0);
	TupleDescInitEntry(desc, SKX_VALUE_LEXEME + 1, "lexeme", BYTEAOID, -1, 0);
	TupleDescInitEntry(desc, SKX_VALUE_ROW + 1, "place", INT8OID, -1, 0);
	SKX_COMPAT_FINISH_DESC(desc);
	call->slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	while (skx_functions_next_value(call, &facet))
	{
		int			column = (uint8) facet.lexeme.bytes[1] - 1;

		CHECK_FOR_INTERRUPTS();
		if (column != call->column)
		{
			skx_functions_end_values(call);
			call->column = column;
			skx_functions_begin_values(call);
		}
		skx_functions_take_value(call, &facet);
	}
	skx_functions_end_values(call);
	ExecDropSingleTupleTableSlot(call->slot);
}

/* ---- parts ---- */

/*
 * Puts the values of part i into the result if it is the only part, else into
 * the sums of all parts.
 */
static void
skx_functions_facets_partition(SkxFacetCall *call, TSQuery query, int i)
{
	const SkxPartition *part = &call->parts.partitions[i];
	IndexScanDesc scan = skx_functions_begin_scan(part->heap, part->index,
												  query, 0, NULL);
	SkxFacetsRequest *request = &call->shown_partitions[i].request;
	SkxCountWork work = {0};
	SkxFacet	facet;
	ItemPointerData tid;

	call->facets = NULL;
	request->share = NULL;
	if (skx_am_scan_enter(scan))
	{
		request->rows = skx_am_scan_desc(scan)->request;
		call->facets = skx_facets_begin(request, &work);
	}
	skx_am_scan_leave(scan);
	if (call->facets != NULL && call->sums == NULL)
		skx_functions_values(call);
	while (call->facets != NULL && call->sums != NULL &&
		   skx_facets_next(call->facets, &facet))
	{
		CHECK_FOR_INTERRUPTS();
		skx_facets_tid(call->facets, facet.row, &tid);
		facet.row = (uint64) i << SKX_PARTITION_ROW_BITS |
			(uint64) ItemPointerGetBlockNumber(&tid) << 16 |
			ItemPointerGetOffsetNumber(&tid);
		skx_facets_sums_add(call->sums, &facet);
	}
	if (call->facets != NULL)
		skx_facets_end(call->facets);
	index_endscan(scan);
}

static void
skx_functions_facets(SkxFacetCall *call, TSQuery query, int ncolumns,
					 const int *columns)
{
	int			n = call->parts.n;
	int			i;

	if (n > 1 << (64 - SKX_PARTITION_ROW_BITS))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" has too many partitions",
						RelationGetRelationName(call->parts.index))));
	call->shown_partitions = palloc0(sizeof(SkxFacetPartition) * (n + 1));
	if (n != 1)
		call->sums = skx_facets_sums_begin();
	for (i = 0; i < n; i++)
	{
		call->shown_partitions[i].request.ncolumns = ncolumns;
		call->shown_partitions[i].request.columns = columns;
		skx_functions_facets_partition(call, query, i);
	}
	if (call->sums != NULL)
	{
		skx_facets_sums_sort(call->sums);
		skx_functions_values(call);
		skx_facets_sums_end(call->sums);
	}
	for (i = 0; i < n; i++)
		if (call->shown_partitions[i].values != NULL)
			skx_facets_values_end(call->shown_partitions[i].values);
}

Datum
skipidx_facets(PG_FUNCTION_ARGS)
{
	SkxFacetCall call = {0};
	int			columns[INDEX_MAX_KEYS];
	int			ncolumns;
	uint64		most;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return (Datum) 0;
	call.result = (ReturnSetInfo *) fcinfo->resultinfo;
	call.has_names = call.result->setDesc->natts == 3;
	most = skx_functions_limit_arg(fcinfo, 3, "max_rows");
	call.max_values = most == SKX_FUNCTIONS_NO_LIMIT ? -1 : (int) most;
	skx_functions_open_partitions(PG_GETARG_OID(0), &call.parts);
	skx_functions_check_index_ages(&call.parts);
	ncolumns = skx_functions_facet_columns(&call, PG_GETARG_DATUM(2), columns);
	if (ncolumns > 0 && call.max_values != 0)
		skx_functions_facets(&call, PG_GETARG_TSQUERY(1), ncolumns, columns);
	skx_functions_close_partitions(&call.parts);
	return (Datum) 0;
}
