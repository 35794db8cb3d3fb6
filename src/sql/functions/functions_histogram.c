/*
 * functions_histogram.c
 *	  skipidx_histogram(): counts the rows that match by the bounds between
 *	  which their values lie.
 */
#include "postgres.h"

#include "access/genam.h"
#include "answer/count/count.h"
#include "answer/facets/facets.h"
#include "fmgr.h"
#include "funcapi.h"
#include "index/column/column_key.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "sql/am/am.h"
#include "sql/am/am_desc.h"
#include "sql/functions/functions_internal.h"
#include "support/compat/compat_planner.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(skipidx_histogram);

/* Most bounds of one call.  Each takes some 100 bytes. */
#define SKX_HISTOGRAM_BOUNDS_MAX	(1000 * 1000)

/* Bounds, as values and as lexemes of the column. */
typedef struct SkxHistogramBounds
{
	int			n;
	Datum	   *values;
	SkxLexeme  *lexemes;
} SkxHistogramBounds;

void
skx_functions_raise_no_order(Relation index, const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("column \"%s\" of index \"%s\" has no order", name,
					RelationGetRelationName(index)),
			 errdetail("Columns of numbers, dates and times have one, and uuid and macaddr.")));
}

/*
 * Returns the function for the canonical form of bounds of a type.  Raises an
 * error if the column has no order, or cannot be compared with the type.  The
 * type may be one of its operator family, a domain over one, or a type with
 * the same bytes, as regclass has those of oid.
 */
static Oid
skx_functions_ordered_column(Relation index, int column, const char *name,
							 Oid type)
{
	SkxKeyColumns columns;
	Oid			own = index->rd_opcintype[column];
	Oid			base = getBaseType(type);
	Oid			canonical = skx_column_canonical(index, column, base);
	int			i;

	if (!OidIsValid(canonical) && IsBinaryCoercible(base, own))
		canonical = skx_column_canonical(index, column, own);
	skx_column_key_columns(index, &columns);
	for (i = 0; i < columns.n && columns.columns[i].column != column; i++)
		;
	if (i == columns.n ||
		index->rd_opcintype[column] == ANYARRAYOID)
		skx_functions_raise_no_order(index, name);
	if (!OidIsValid(canonical))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("bounds of type %s cannot be compared with column \"%s\" of index \"%s\"",
						format_type_be(type), name,
						RelationGetRelationName(index)),
				 errhint("Cast the array to the type of the column.")));
	return canonical;
}

static void
skx_functions_check_bounds(const ArrayType *array)
{
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	if (n > SKX_HISTOGRAM_BOUNDS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%d bounds are more than the %d that are possible", n,
						SKX_HISTOGRAM_BOUNDS_MAX),
				 errhint("Ask for parts of them in several calls.")));
}

static void
skx_functions_bounds(Relation index, int column, const char *name,
					 ArrayType *array, SkxHistogramBounds *bounds)
{
	Oid			canonical = skx_functions_ordered_column(index, column, name,
														 ARR_ELEMTYPE(array));
	FmgrInfo	function;
	bool	   *nulls;
	int			i;

	skx_functions_check_bounds(array);
	fmgr_info(canonical, &function);
	bounds->n = skx_condition_elements(PointerGetDatum(array), &bounds->values,
									   &nulls);
	bounds->lexemes = palloc_extended(sizeof(SkxLexeme) *
									  ((Size) bounds->n + 1),
									  MCXT_ALLOC_HUGE);
	for (i = 0; i < bounds->n; i++)
	{
		bytea	   *form;

		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("bounds must not be null")));
		form = DatumGetByteaPP(FunctionCall1(&function, bounds->values[i]));
		bounds->lexemes[i] = skx_column_lexeme(column, SKX_VALUE_PRESENT,
											   VARDATA_ANY(form),
											   VARSIZE_ANY_EXHDR(form));
		pfree(form);
		if (i > 0 && skx_column_compare_lexeme(&bounds->lexemes[i - 1],
											   &bounds->lexemes[i]) >= 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("bounds must ascend"),
					 errdetail("Bound %d is not above the one before.",
							   i + 1)));
	}
}

static uint64 *
skx_functions_raise_no_counts(const SkxHistogramBounds *bounds)
{
	return palloc_extended(sizeof(uint64) * ((Size) bounds->n + 2),
						   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/* Adds the rows of a part to the sums. */
static void
skx_functions_add_ranges(const SkxPartition *part, TSQuery query, int column,
						 const SkxHistogramBounds *bounds, uint64 *sums)
{
	IndexScanDesc scan = skx_functions_begin_scan(part->heap, part->index,
												  query, 0, NULL);
	uint64	   *counts = skx_functions_raise_no_counts(bounds);
	SkxCountWork work = {0};
	int			i;

	if (skx_am_scan_enter(scan))
		skx_facets_count_ranges(&skx_am_scan_desc(scan)->request, column,
								bounds->n, bounds->lexemes, counts, &work);
	skx_am_scan_leave(scan);
	index_endscan(scan);
	for (i = 0; i < bounds->n + 2; i++)
		sums[i] += counts[i];
	pfree(counts);
}

static void
skx_functions_put_ranges(ReturnSetInfo *result,
						 const SkxHistogramBounds *bounds,
						 const uint64 *counts)
{
	int			i;

	for (i = 0; i <= bounds->n + 1; i++)
	{
		bool		is_null = i == bounds->n + 1;
		Datum		row[4] = {Int32GetDatum(i)};
		bool		nulls[4] = {is_null, is_null || i == 0,
		is_null || i == bounds->n, false};

		CHECK_FOR_INTERRUPTS();
		if (is_null && counts[i] == 0)
			break;
		if (!nulls[1])
			row[1] = bounds->values[i - 1];
		if (!nulls[2])
			row[2] = bounds->values[i];
		row[3] = Int64GetDatum((int64) counts[i]);
		tuplestore_putvalues(result->setResult, result->setDesc, row, nulls);
	}
}

Datum
skipidx_histogram(PG_FUNCTION_ARGS)
{
	SkxHistogramBounds bounds;
	uint64	   *counts;
	SkxPartitions parts;
	int			column;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	for (i = 0; i < PG_NARGS(); i++)
		if (PG_ARGISNULL(i))
			return (Datum) 0;
	skx_functions_open_partitions(PG_GETARG_OID(0), &parts);
	skx_functions_check_index_ages(&parts);
	column = skx_functions_find_column(parts.heap, parts.index,
									   PG_GETARG_DATUM(2));
	skx_functions_bounds(parts.index, column,
						 TextDatumGetCString(PG_GETARG_DATUM(2)),
						 PG_GETARG_ARRAYTYPE_P(3), &bounds);
	counts = skx_functions_raise_no_counts(&bounds);
	for (i = 0; i < parts.n; i++)
		skx_functions_add_ranges(&parts.partitions[i], PG_GETARG_TSQUERY(1),
								 column, &bounds, counts);
	skx_functions_put_ranges((ReturnSetInfo *) fcinfo->resultinfo, &bounds,
							 counts);
	skx_functions_close_partitions(&parts);
	return (Datum) 0;
}
