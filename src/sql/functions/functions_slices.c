/*
 * functions_slices.c
 *	  skipidx_slices(): returns bounds between which a column has about equal
 *	  numbers of rows.
 *
 * The bounds are quantiles of the column's keys in all segments and in pending
 * documents.  The number of rows below a bound is a sum over all segments and
 * the pending documents, so a segment counts by its documents.  The quantiles
 * that segments keep suffice for a limited number of slices.  For more, bounds
 * are quantiles of a sample of all keys.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "format/disk/disk_keys.h"
#include "funcapi.h"
#include "index/segment/segment_keys.h"
#include "index/snapshot/snapshot.h"
#include "miscadmin.h"
#include "sql/functions/functions_internal.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(skipidx_slices);

#define SKX_SLICES_MAX		10000

/*
 * Largest number of slices for which the quantiles of one segment suffice.
 * For more, SKX_SLICES_SAMPLE_KEYS keys are sampled for each slice, so that
 * its size has an error of 1 / sqrt(200), or 7 %.
 */
#define SKX_SLICES_ONE_SEGMENT_MAX		((SKX_KEY_QUANTILES - 1) / 2)
#define SKX_SLICES_SAMPLE_KEYS	200
#define SKX_SLICES_BATCH	128

typedef struct SkxSlices
{
	const char *name;			/* of the column */
	SkxKeyColumns columns;		/* all that have keys */
	int			key_column;		/* number of the column among these */
	int			nreaders;
	int			readers_size;
	SkxKeyReader **readers;		/* of segments; `ndocs`: their documents */
	uint32	   *ndocs;
	uint64		npending;		/* keys of pending documents */
	uint64		pending_size;
	uint64	   *pending;
	double		rows_per_key;	/* rows that a key of `pending` stands for */
	bool		is_sample;		/* `pending` has a sample of all keys */
	double		nulls;
	int			ncandidates;	/* candidates for bounds, ascending */
	uint64	   *candidates;
} SkxSlices;

static int
skx_functions_compare_keys(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	CHECK_FOR_INTERRUPTS();
	return x < y ? -1 : x > y;
}

/* ---- keys ---- */

static void
skx_functions_add_key(SkxSlices *s, uint64 key)
{
	if (s->npending == s->pending_size)
	{
		s->pending_size *= 2;
		s->pending = repalloc_huge(s->pending,
								   sizeof(uint64) * s->pending_size);
	}
	s->pending[s->npending++] = key;
}

static bool
skx_functions_slice_pending(const SkxPendingDoc *doc, void *arg)
{
	SkxSlices  *s = arg;
	SkxKey		keys[INDEX_MAX_KEYS];

	CHECK_FOR_INTERRUPTS();
	skx_column_keys(&s->columns, doc->value, keys);
	if (keys[s->key_column].is_null != 0)
	{
		s->nulls++;
		return true;
	}
	skx_functions_add_key(s, keys[s->key_column].value);
	return true;
}

static void
skx_functions_slice_segment(SkxSlices *s, Relation index, SkxSegment *seg)
{
	SkxKeyRange all = {0, PG_UINT64_MAX};
	uint32		ndocs = seg->header.ndocs;
	SkxKeyReader *reader =
		skx_segment_keys_require(index, seg,
								 &s->columns.columns[s->key_column]);

	if (s->nreaders == s->readers_size)
	{
		s->readers_size *= 2;
		s->readers = repalloc(s->readers,
							  sizeof(SkxKeyReader *) * s->readers_size);
		s->ndocs = repalloc(s->ndocs, sizeof(uint32) * s->readers_size);
	}
	s->readers[s->nreaders] = reader;
	s->ndocs[s->nreaders++] = ndocs;
	s->nulls += ndocs * (1 - skx_segment_keys_fraction(reader, &all));
}

static SkxSnapshotReader *
skx_functions_slice_source(SkxSlices *s, Relation index)
{
	SkxSnapshotReader *source = skx_snapshot_open(index,
												  skx_manifest_view(index));
	int			i;

	(void) skx_snapshot_next_segments(source, SKX_SNAPSHOT_ALL_SEGMENTS);
	for (i = 0; i < source->nsegments; i++)
		skx_functions_slice_segment(s, index, source->segments[i]);
	skx_snapshot_visit_pending(source, NULL, skx_functions_slice_pending, s);
	return source;
}

/* Adds every step-th key of a segment. */
static void
skx_functions_sample_segment(SkxSlices *s, int segment, uint64 step)
{
	uint32		docs[SKX_SLICES_BATCH];
	SkxKey		keys[SKX_SLICES_BATCH];
	uint64		doc = step / 2;

	while (doc < s->ndocs[segment])
	{
		int			n = 0;
		int			i;

		CHECK_FOR_INTERRUPTS();
		for (; doc < s->ndocs[segment] && n < SKX_SLICES_BATCH; doc += step)
			docs[n++] = (uint32) doc;
		skx_segment_keys_read_docs(s->readers[segment], docs, n, keys);
		for (i = 0; i < n; i++)
			if (keys[i].is_null == 0)
				skx_functions_add_key(s, keys[i].value);
	}
}

/* Replaces the keys of pending documents by a sample of all keys. */
static void
skx_functions_sample(SkxSlices *s, double rows, int n)
{
	uint64		step = Max(rows / ((double) n * SKX_SLICES_SAMPLE_KEYS), 1);
	uint64		kept = 0;
	uint64		at;
	int			i;

	for (at = step / 2; at < s->npending; at += step)
		s->pending[kept++] = s->pending[at];
	s->npending = kept;
	for (i = 0; i < s->nreaders; i++)
		skx_functions_sample_segment(s, i, step);
	s->rows_per_key = (double) step;
	s->is_sample = true;
}

/* ---- bounds ---- */

/* Returns about how many rows have a key up to this one. */
static double
skx_functions_rows_up_to(const SkxSlices *s, uint64 last)
{
	SkxKeyRange range = {0, last};
	uint64		low = 0;
	uint64		high = s->npending;
	double		rows;
	int			i;

	while (low < high)
	{
		uint64		mid = low + (high - low) / 2;

		if (s->pending[mid] <= last)
			low = mid + 1;
		else
			high = mid;
	}
	rows = low * s->rows_per_key;
	for (i = 0; i < s->nreaders && !s->is_sample; i++)
		rows += skx_segment_keys_fraction(s->readers[i], &range) * s->ndocs[i];
	return rows;
}

static double
skx_functions_rows_below(const SkxSlices *s, uint64 key)
{
	return key == 0 ? 0 : skx_functions_rows_up_to(s, key - 1);
}

/*
 * Sets the candidates to the quantiles of all segments and of the pending
 * documents, in order, and returns how many they are.
 */
static uint64
skx_functions_gather_quantiles(SkxSlices *s)
{
	uint64		n = 0;
	int			i;
	int			k;

	s->candidates = palloc(sizeof(uint64) * SKX_KEY_QUANTILES *
						   (s->nreaders + 1));
	for (i = 0; i < s->nreaders; i++)
		n += skx_segment_keys_quantiles(s->readers[i], &s->candidates[n]);
	for (k = 0; k < SKX_KEY_QUANTILES && s->npending > 0; k++)
		s->candidates[n++] = s->pending[k * (s->npending - 1) /
										(SKX_KEY_QUANTILES - 1)];
	qsort(s->candidates, n, sizeof(uint64), skx_functions_compare_keys);
	return n;
}

/* Sets the candidates to the quantiles, or to the sample, each key once. */
static void
skx_functions_find_candidates(SkxSlices *s)
{
	uint64		n = s->npending;
	uint64		i;

	qsort(s->pending, s->npending, sizeof(uint64),
		  skx_functions_compare_keys);
	if (s->is_sample)
	{
		s->candidates = MemoryContextAllocHuge(CurrentMemoryContext,
											   sizeof(uint64) * (n + 1));
		memcpy(s->candidates, s->pending, sizeof(uint64) * n);
	}
	else
		n = skx_functions_gather_quantiles(s);
	for (i = 0; i < n; i++)
		if (i == 0 || s->candidates[i] != s->candidates[i - 1])
			s->candidates[s->ncandidates++] = s->candidates[i];
}

/*
 * Returns which candidate, from `first` on, has a number of rows below it that
 * is nearest to `rows`.
 */
static int
skx_functions_nearest_candidate(SkxSlices *s, int first, double rows)
{
	int			low = first;
	int			high = s->ncandidates - 1;
	double		below;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		CHECK_FOR_INTERRUPTS();
		if (skx_functions_rows_below(s, s->candidates[middle]) < rows)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == first)
		return low;
	below = skx_functions_rows_below(s, s->candidates[low - 1]);
	return fabs(skx_functions_rows_below(s, s->candidates[low]) - rows) >
		fabs(below - rows) ? low - 1 : low;
}

/*
 * Moves n - 1 of the candidates to the front, or as many as there are, and
 * returns how many.  For each bound, it is the candidate whose number of rows
 * below it is nearest to the wanted one.
 */
static int
skx_functions_choose_bounds(SkxSlices *s, double rows, int n)
{
	int			next = 1;		/* no row is below the smallest one */
	int			chosen = 0;
	int			i;

	for (i = 1; i < n && next < s->ncandidates; i++)
	{
		next = skx_functions_nearest_candidate(s, next, rows * i / n);
		s->candidates[chosen++] = s->candidates[next++];
	}
	return chosen;
}

/* ---- the result ---- */

/* Adds a row to the result.  A bound of NULL means that there is none. */
static void
skx_functions_put_slice(ReturnSetInfo *result, int slice, text * lower,
						text * upper, double rows)
{
	Datum		values[4] = {Int32GetDatum(slice), PointerGetDatum(lower),
	PointerGetDatum(upper), Int64GetDatum((int64) rint(Max(rows, 0)))};
	bool		nulls[4] = {slice < 0, lower == NULL, upper == NULL, false};

	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static text *
skx_functions_key_text(const SkxSlices *s, Relation index, uint64 key)
{
	const SkxKeyColumn *column = &s->columns.columns[s->key_column];
	Oid			type;
	Oid			output;
	bool		is_varlena;
	Datum		value;

	if (!skx_column_key_value(index, column, key, &type, &value))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("could not convert sort keys of column \"%s\" of index \"%s\" to values",
						s->name, RelationGetRelationName(index))));
	getTypeOutputInfo(type, &output, &is_varlena);
	return cstring_to_text(OidOutputFunctionCall(output, value));
}

static void
skx_functions_put_slices(ReturnSetInfo *result, SkxSlices *s, Relation index,
						 int n)
{
	double		rows = skx_functions_rows_up_to(s, PG_UINT64_MAX);
	text	   *lower = NULL;
	double		before = 0;
	int			nbounds;
	int			i;

	if (n > SKX_SLICES_ONE_SEGMENT_MAX)
		skx_functions_sample(s, rows, n);
	skx_functions_find_candidates(s);
	rows = skx_functions_rows_up_to(s, PG_UINT64_MAX);
	nbounds = skx_functions_choose_bounds(s, rows, n);
	for (i = 0; i < nbounds; i++)
	{
		text	   *upper = skx_functions_key_text(s, index, s->candidates[i]);
		double		below = skx_functions_rows_below(s, s->candidates[i]);

		skx_functions_put_slice(result, i, lower, upper, below - before);
		lower = upper;
		before = below;
	}
	skx_functions_put_slice(result, nbounds, lower, NULL, rows - before);
	skx_functions_put_slice(result, -1, NULL, NULL, s->nulls);
}

static void
skx_functions_slices(ReturnSetInfo *result, const SkxPartitions *parts,
					 int column, const char *name, int n)
{
	SkxSnapshotReader **sources =
		palloc(sizeof(SkxSnapshotReader *) * (parts->n + 1));
	SkxSlices	s = {.name = name,.readers_size = 8,.pending_size =
	1024,.rows_per_key = 1};
	int			i;

	skx_column_key_columns(parts->index, &s.columns);
	while (s.key_column < s.columns.n &&
		   s.columns.columns[s.key_column].column != column)
		s.key_column++;
	if (s.key_column == s.columns.n)
		skx_functions_raise_no_order(parts->index, name);
	if (skx_column_key_is_coarse(&s.columns.columns[s.key_column]))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of index \"%s\" has no slices", name,
						RelationGetRelationName(parts->index)),
				 errdetail("The order that is stored of uuid, and of numeric without a scale or of more than 18 digits, does not tell their values."),
				 errhint("Take bounds of your own; skipidx_scroll() divides rows by their places.")));
	s.readers = palloc(sizeof(SkxKeyReader *) * s.readers_size);
	s.ndocs = palloc(sizeof(uint32) * s.readers_size);
	s.pending = palloc(sizeof(uint64) * s.pending_size);
	for (i = 0; i < parts->n; i++)
		sources[i] = skx_functions_slice_source(&s,
												parts->partitions[i].index);
	skx_functions_put_slices(result, &s, parts->index, n);
	for (i = 0; i < s.nreaders; i++)
		skx_segment_keys_close(s.readers[i]);
	for (i = 0; i < parts->n; i++)
		skx_snapshot_close(sources[i]);
}

Datum
skipidx_slices(PG_FUNCTION_ARGS)
{
	SkxPartitions parts;
	int			column;
	int32		n;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return (Datum) 0;
	n = DatumGetInt32(skx_functions_required_arg(fcinfo, 2, "slices"));
	if (n < 1 || n > SKX_SLICES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there must be between 1 and %d slices",
						SKX_SLICES_MAX)));
	skx_functions_open_partitions(PG_GETARG_OID(0), &parts);
	column = skx_functions_find_column(parts.heap, parts.index,
									   PG_GETARG_DATUM(1));
	skx_functions_slices((ReturnSetInfo *) fcinfo->resultinfo, &parts, column,
						 TextDatumGetCString(PG_GETARG_DATUM(1)), n);
	skx_functions_close_partitions(&parts);
	return (Datum) 0;
}
