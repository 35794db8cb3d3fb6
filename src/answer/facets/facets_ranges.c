/*
 * facets_ranges.c
 *	  Counts rows by ranges of values, by the keys of documents.
 *
 * Keys are looked up only for the rows, so the cost does not depend on the
 * number of values of the column.  If keys do not determine the values, each
 * value is counted as facets are.
 */
#include "postgres.h"

#include "answer/facets/facets_internal.h"
#include "index/segment/segment_keys.h"
#include "miscadmin.h"
#include "utils/rel.h"

typedef struct SkxFacetRanges
{
	const SkxRequest *rows;
	int			column;
	int			n;				/* number of bounds */
	const SkxLexeme *bounds;
	uint64	   *counts;			/* rows of the n + 1 ranges, and NULLs */
	uint64	   *segment_counts; /* the same in the current segment */
	SkxSegment *seg;			/* NULL: none is being read */
	SkxKeyReader *reader;
	int			nkeys;			/* number of bounds that some key is not below */
	uint64	   *bound_keys;		/* least key that is not below each of these */
	SkxKey	   *keys;
} SkxFacetRanges;

/* Determines the least key of each bound in the segment. */
static void
skx_facets_bound_keys(SkxFacetRanges *r)
{
	char		bytes[SKX_VALUE_HEAD_BYTES] = {'\0', (char) (r->column + 1),
	(char) SKX_VALUE_EMPTY};
	SkxLexeme	after = {bytes, SKX_VALUE_HEAD_BYTES};
	uint64		most;
	int			i;

	for (i = 0; i < r->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!skx_column_key_bounds(skx_segment_keys_column(r->reader),
								   &r->bounds[i], &after, &r->bound_keys[i],
								   &most))
			break;
	}
	r->nkeys = i;
}

static void
skx_facets_ranges_begin_segment(SkxFacetRanges *r, SkxSegment *seg)
{
	r->seg = seg;
	r->reader = skx_segment_keys_open(seg, r->column);
	if (r->reader == NULL ||
		skx_column_key_is_coarse(skx_segment_keys_column(r->reader)))
		skx_segment_keys_raise_missing(r->rows->index, r->column);
	skx_facets_bound_keys(r);
	memset(r->segment_counts, 0, sizeof(uint64) * (r->n + 2));
}

/* Returns how many bounds the key is not below. */
static int
skx_facets_range_of_key(const SkxFacetRanges *r, uint64 key)
{
	int			low = 0;
	int			left = r->nkeys;

	while (left > 0)
	{
		int			half = (left + 1) / 2;

		/* a branch would be unpredictable */
		low += half & -(int) (r->bound_keys[low + half - 1] <= key);
		left -= half;
	}
	return low;
}

static void
skx_facets_ranges_documents(SkxSegment *seg, const uint32 *docs, int n,
							void *arg)
{
	SkxFacetRanges *r = arg;
	int			i;

	if (r->seg == NULL)
		skx_facets_ranges_begin_segment(r, seg);
	skx_segment_keys_read_docs(r->reader, docs, n, r->keys);
	for (i = 0; i < n; i++)
		r->segment_counts[r->keys[i].is_null != 0 ? r->n + 1 :
						  skx_facets_range_of_key(r, r->keys[i].value)]++;
}

static void
skx_facets_ranges_undo(SkxSegment *seg, void *arg)
{
	SkxFacetRanges *r = arg;

	memset(r->segment_counts, 0, sizeof(uint64) * (r->n + 2));
}

static void
skx_facets_ranges_end_segment(SkxSegment *seg, void *arg)
{
	SkxFacetRanges *r = arg;
	int			i;

	if (r->seg == NULL)
		return;
	skx_segment_keys_close(r->reader);
	r->seg = NULL;
	for (i = 0; i < r->n + 2; i++)
		r->counts[i] += r->segment_counts[i];
}

/*
 * Returns how many bounds the value is not below.  Canonical forms ascend as
 * values do.
 */
static int
skx_facets_range_of_value(const SkxFacetRanges *r, const SkxLexeme *value)
{
	int			low = 0;
	int			high = r->n;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (skx_column_compare_lexeme(&r->bounds[middle], value) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
skx_facets_ranges_pending(TSVector document, const ItemPointerData *tid,
						  void *arg)
{
	SkxFacetRanges *r = arg;
	int			at = skx_column_values_start(document);
	int			end = at + skx_column_count_values(document);

	for (; at < end; at++)
	{
		const WordEntry *entry = &ARRPTR(document)[at];
		SkxLexeme	value = {STRPTR(document) + entry->pos, entry->len};

		if ((uint8) value.bytes[1] != r->column + 1)
			continue;
		r->counts[value.bytes[2] == SKX_VALUE_NULL ? r->n + 1 :
				  skx_facets_range_of_value(r, &value)]++;
	}
}

/* Returns true if the column's keys determine its values. */
static bool
skx_facets_keys_are_exact(Relation index, int column)
{
	SkxKeyColumns columns;
	int			i;

	skx_column_key_columns(index, &columns);
	for (i = 0; i < columns.n; i++)
		if (columns.columns[i].column == column)
			return !skx_column_key_is_coarse(&columns.columns[i]);
	return true;
}

/* Counts the rows by their values, as facets. */
static void
skx_facets_ranges_by_value(SkxFacetRanges *r, SkxCountWork *work)
{
	SkxFacetsRequest request = {*r->rows, NULL, 1, &r->column};
	SkxFacets  *facets = skx_facets_begin(&request, work);
	SkxFacet	facet;

	while (skx_facets_next(facets, &facet))
	{
		CHECK_FOR_INTERRUPTS();
		r->counts[facet.lexeme.bytes[2] == SKX_VALUE_NULL ? r->n + 1 :
				  skx_facets_range_of_value(r, &facet.lexeme)] += facet.count;
	}
	skx_facets_end(facets);
}

void
skx_facets_count_ranges(const SkxRequest *rows, int column, int n,
						const SkxLexeme *bounds, uint64 *counts,
						SkxCountWork *work)
{
	SkxFacetRanges r = {rows, column, n, bounds, counts};
	SkxCountReceiver taker = {0};
	uint64		nrows;

	memset(counts, 0, sizeof(uint64) * (n + 2));
	if (!skx_facets_keys_are_exact(rows->index, column))
	{
		skx_facets_ranges_by_value(&r, work);
		return;
	}
	r.segment_counts = palloc(sizeof(uint64) * (n + 2));
	r.bound_keys = palloc(sizeof(uint64) * (n + 1));
	r.keys = palloc(sizeof(SkxKey) * SKX_QUERY_BATCH_DOCS);
	taker.max_undo_docs = PG_UINT32_MAX;
	taker.receive_documents = skx_facets_ranges_documents;
	taker.undo_segment = skx_facets_ranges_undo;
	taker.end_segment = skx_facets_ranges_end_segment;
	taker.receive_pending = skx_facets_ranges_pending;
	taker.arg = &r;
	(void) skx_count_rows(rows, &taker, NULL, work, &nrows);
}
