/*
 * facets_gather.c
 *	  Collects the rows of a count as bits, until the memory budget is used up,
 *	  and then counts their values.
 */
#include "postgres.h"

#include "answer/count/count_share.h"
#include "answer/facets/facets_internal.h"
#include "miscadmin.h"

struct SkxFacets
{
	const SkxFacetsRequest *request;
	uint64		rows;			/* number of rows that were counted */
	SkxSnapshotReader *segment_source;	/* all segments of the view, open */
	uint32		max_bits;		/* largest number of documents that have bits */
	uint32		nbits;			/* number of documents that have bits */
	int			inputs_size;	/* capacity of the merge's inputs */
	int			segment_number; /* number of the current segment */
	bool		has_range;		/* only documents [from, to) of it are passed */
	uint32		from;
	uint32		to;
	bool		input_begun;	/* the current part has an input */
	SkxFacetHash *hashed;		/* values counted one by one */
	SkxHeapPrefetch heap_prefetch;
	SkxFacetMerge merge;
	SkxFacetSums *sums;			/* NULL: one merge returns all values */
};

/* ---- values that are counted one by one ---- */

/*
 * Returns true if the value is of a requested column that is not in `counted`.
 */
static bool
skx_facets_is_requested(const SkxFacets *f, uint32 counted,
						const SkxLexeme *value)
{
	int			column = (uint8) value->bytes[1] - 1;
	int			i;

	for (i = 0; i < f->request->ncolumns; i++)
		if (column == f->request->columns[i])
			return value->bytes[2] != SKX_VALUE_EMPTY &&
				(counted >> column & 1) == 0;
	return false;
}

/* Moves the values counted one by one to the sort, if they exceed work_mem. */
static void
skx_facets_spill_hash(SkxFacets *f)
{
	const SkxFacetHashEntry *values;
	int			n;
	int			i;

	if (skx_facets_hash_bytes(f->hashed) <= (Size) work_mem * 1024)
		return;
	n = skx_facets_hash_sort(f->hashed, &values);
	if (f->sums == NULL)
		f->sums = skx_facets_sums_begin();
	skx_facets_work.sort_spills++;
	for (i = 0; i < n; i++)
	{
		SkxFacet	facet = {values[i].lexeme, values[i].count,
		values[i].row};

		CHECK_FOR_INTERRUPTS();
		skx_facets_sums_add(f->sums, &facet);
	}
	skx_facets_hash_free(f->hashed);
	f->hashed = skx_facets_hash_create();
}

/* Counts the values of a document, except those of columns in `counted`. */
static void
skx_facets_count_values(SkxFacets *f, TSVector document, uint32 counted,
						uint64 place)
{
	int			at = skx_column_values_start(document);
	int			end = at + skx_column_count_values(document);

	for (; at < end; at++)
	{
		const WordEntry *entry = &ARRPTR(document)[at];
		SkxLexeme	value = {STRPTR(document) + entry->pos, entry->len};

		CHECK_FOR_INTERRUPTS();
		if (skx_facets_is_requested(f, counted, &value))
			skx_facets_hash_add(f->hashed, value, 1, place);
	}
	skx_facets_spill_hash(f);
}

static void
skx_facets_receive_pending(TSVector document, const ItemPointerData *tid,
						   void *arg)
{
	skx_facets_count_values(arg, document, 0, SKX_FACETS_PENDING_ROW |
							(uint64) ItemPointerGetBlockNumberNoCheck(tid) << 16 | ItemPointerGetOffsetNumberNoCheck(tid));
}

/* ---- values by keys ---- */

/*
 * Counts the values of columns whose keys cost less than their lists.  The
 * merge leaves out these columns.
 */
static void
skx_facets_count_keys(SkxFacets *f)
{
	int			i;
	int			c;

	for (i = 0; i < f->merge.ninputs; i++)
	{
		SkxFacetInput *input = &f->merge.inputs[i];

		if (input->seg == NULL)
			continue;
		for (c = 0; c < f->request->ncolumns; c++)
		{
			int			column = f->request->columns[c];
			SkxFacetKeys *keys;

			if ((input->counted_columns >> column & 1) != 0 ||
				(keys = skx_facets_keys_begin(input, column)) == NULL)
				continue;
			while (skx_facets_keys_next(keys, f->hashed))
				skx_facets_spill_hash(f);
			skx_facets_keys_end(keys);
			input->counted_columns |= (uint32) 1 << column;
		}
	}
}

/* ---- few rows of segments ---- */

/* Number of rows that are fetched together. */
#define SKX_FACETS_FETCH_ROWS		512

/* Fetches n rows and counts their values. */
static void
skx_facets_fetch(SkxFacets *f, SkxFacetRows *rows, const SkxColumns *columns,
				 SkxFacetInput *input, const uint32 *docs, int n)
{
	ItemPointerData tids[SKX_FACETS_FETCH_ROWS];
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	int			i;

	skx_segment_read_tids_of(input->seg, docs, n, tids);
	skx_snapshot_heap_batch(&f->heap_prefetch, n);
	for (i = 0; i < n; i++)
	{
		TSVector	document;

		CHECK_FOR_INTERRUPTS();
		skx_snapshot_heap_prefetch(&f->heap_prefetch, tids, n, i);
		skx_facets_rows_get(rows, &tids[i], values, isnull);
		document = skx_column_values(columns, values, isnull);
		skx_facets_count_values(f, document, input->counted_columns,
								skx_facets_document_row(input, docs[i]));
		pfree(document);
	}
	skx_facets_work.fetched_rows += n;
}

static void
skx_facets_fetch_input(SkxFacets *f, SkxFacetRows *rows,
					   const SkxColumns *columns, SkxFacetInput *input)
{
	uint32		docs[SKX_FACETS_FETCH_ROWS];
	uint32		word = 0;
	int			n;

	while ((n = skx_facets_input_rows(input, &word, docs,
									  SKX_FACETS_FETCH_ROWS)) > 0)
		skx_facets_fetch(f, rows, columns, input, docs, n);
}

/*
 * Fetches the rows of each input for which that costs less than posting lists,
 * and removes the input.
 */
static void
skx_facets_fetch_cheap_inputs(SkxFacets *f)
{
	SkxFacetMerge *m = &f->merge;
	SkxFacetRows *rows = NULL;
	SkxColumns *columns = NULL;
	int			i;

	for (i = 0; i < m->ninputs; i++)
	{
		SkxFacetInput *input = &m->inputs[i];

		if (input->seg == NULL ||
			!skx_facets_rows_are_cheaper(input, f->request))
			continue;
		if (rows == NULL)
		{
			rows = skx_facets_rows_begin(f->request);
			columns = skx_column_all(f->request->rows.index);
			skx_snapshot_heap_begin(&f->heap_prefetch, f->request->rows.heap);
		}
		skx_facets_fetch_input(f, rows, columns, input);
		pfree(input->bits);
		f->nbits -= input->to - input->from;
		*input = m->inputs[--m->ninputs];
		i--;
	}
	if (rows != NULL)
		skx_facets_rows_end(rows);
}

/* ---- rows of segments ---- */

/* Returns the input that is being filled, or NULL if there is none. */
static SkxFacetInput *
skx_facets_current_input(SkxFacets *f)
{
	SkxFacetMerge *m = &f->merge;

	if (m->ninputs == 0 ||
		m->inputs[m->ninputs - 1].number != f->segment_number ||
		(f->has_range && !f->input_begun))
		return NULL;
	return &m->inputs[m->ninputs - 1];
}

static SkxFacetInput *
skx_facets_new_input(SkxFacets *f)
{
	SkxFacetMerge *m = &f->merge;

	if (m->ninputs == f->inputs_size)
	{
		f->inputs_size *= 2;
		m->inputs = repalloc_huge(m->inputs,
								  sizeof(SkxFacetInput) *
								  (Size) f->inputs_size);
	}
	memset(&m->inputs[m->ninputs], 0, sizeof(SkxFacetInput));
	return &m->inputs[m->ninputs++];
}

/* Counts the values of all rows so far, and discards the rows. */
static void
skx_facets_flush_rows(SkxFacets *f)
{
	SkxFacetMerge *m = &f->merge;
	SkxFacet	facet;
	int			i;

	skx_facets_count_keys(f);
	skx_facets_fetch_cheap_inputs(f);
	if (f->sums == NULL)
		f->sums = skx_facets_sums_begin();
	skx_facets_work.sort_spills++;
	skx_facets_merge_begin(m);
	while (skx_facets_merge_next(m, &facet))
		skx_facets_sums_add(f->sums, &facet);
	skx_facets_merge_end(m);
	for (i = 0; i < m->ninputs; i++)
		if (m->inputs[i].bits != NULL)
			pfree(m->inputs[i].bits);
	m->ninputs = 0;
	f->nbits = 0;
}

/*
 * Makes an input for documents of the current segment, beginning at `doc` or
 * before it.
 */
static SkxFacetInput *
skx_facets_begin_input(SkxFacets *f, uint32 doc)
{
	SkxSegment *seg = f->segment_source->segments[f->segment_number];
	uint32		first = f->has_range ? f->from : 0;
	uint32		last = f->has_range ? f->to : seg->header.ndocs;
	uint32		from = last - first <= f->max_bits ? first :
		doc - doc % SKX_BITSET_BITS;
	uint32		ndocs = Min(last - from, f->max_bits);
	SkxFacetInput *input;

	if (ndocs > f->max_bits - f->nbits)
		skx_facets_flush_rows(f);
	input = skx_facets_new_input(f);
	input->seg = seg;
	input->number = f->segment_number;
	input->from = from;
	input->to = from + ndocs;
	input->bits = palloc_extended(sizeof(uint64) * SKX_BITSET_WORDS((Size) ndocs),
								  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	f->nbits += ndocs;
	f->input_begun = true;
	return input;
}

/*
 * Moves to the segment that the count has reached.  f->segment_source has
 * opened it, too.
 */
static void
skx_facets_begin_segment(SkxFacets *f, const SkxSegment *seg)
{
	while (f->segment_source->segments[f->segment_number]->header.segment !=
		   seg->header.segment)
	{
		f->segment_number++;
		Assert(f->segment_number < f->segment_source->nsegments);
	}
}

static void
skx_facets_begin_range(SkxSegment *seg, uint32 from, uint32 to, void *arg)
{
	SkxFacets  *f = arg;

	skx_facets_begin_segment(f, seg);
	f->has_range = true;
	f->from = from;
	f->to = to;
	f->input_begun = false;
}

static void
skx_facets_receive_documents(SkxSegment *seg, const uint32 *docs, int n,
							 void *arg)
{
	SkxFacets  *f = arg;
	SkxFacetInput *input;
	int			i = 0;

	skx_facets_begin_segment(f, seg);
	input = skx_facets_current_input(f);
	while (i < n)
	{
		int			begin = i;

		if (input == NULL || docs[i] >= input->to)
			input = skx_facets_begin_input(f, docs[i]);
		for (; i < n && docs[i] < input->to; i++)
			skx_bitset_set(input->bits, docs[i] - input->from);
		input->n += i - begin;
	}
}

static void
skx_facets_undo_segment(SkxSegment *seg, void *arg)
{
	SkxFacets  *f = arg;
	SkxFacetInput *input;

	skx_facets_begin_segment(f, seg);
	input = skx_facets_current_input(f);
	if (input == NULL)
		return;
	f->nbits -= input->to - input->from;
	f->input_begun = false;
	pfree(input->bits);
	f->merge.ninputs--;
}

/* Makes the values that were counted one by one an input of the merge. */
static void
skx_facets_put_hashed(SkxFacets *f)
{
	const SkxFacetHashEntry *values;
	int			n = skx_facets_hash_sort(f->hashed, &values);
	SkxFacetInput *input;

	if (n == 0)
		return;
	input = skx_facets_new_input(f);
	input->number = -1;
	input->hashed = values;
	input->nhashed = n;
}

/* ---- all together ---- */

SkxFacets *
skx_facets_begin(const SkxFacetsRequest *request, SkxCountWork *work)
{
	SkxFacets  *f = palloc0(sizeof(SkxFacets));
	SkxCountReceiver taker = {0};

	f->request = request;
	f->segment_source = skx_snapshot_open(request->rows.index,
										  request->rows.view);
	(void) skx_snapshot_next_segments(f->segment_source,
									  SKX_SNAPSHOT_ALL_SEGMENTS);
	f->max_bits = skx_facets_max_bits();
	f->merge.ncolumns = request->ncolumns;
	f->merge.columns = request->columns;
	f->inputs_size = 8;
	f->merge.inputs = palloc(sizeof(SkxFacetInput) * f->inputs_size);
	f->hashed = skx_facets_hash_create();
	taker.max_undo_docs = f->max_bits;
	taker.begin_range = skx_facets_begin_range;
	taker.receive_documents = skx_facets_receive_documents;
	taker.undo_segment = skx_facets_undo_segment;
	taker.receive_pending = skx_facets_receive_pending;
	taker.arg = f;
	(void) skx_count_rows(&request->rows, &taker, request->share, work,
						  &f->rows);
	skx_facets_count_keys(f);
	skx_facets_fetch_cheap_inputs(f);
	skx_facets_put_hashed(f);
	if (f->sums == NULL)
		skx_facets_merge_begin(&f->merge);
	else
	{
		skx_facets_flush_rows(f);
		skx_facets_sums_sort(f->sums);
	}
	return f;
}

bool
skx_facets_next(SkxFacets *f, SkxFacet *facet)
{
	return f->sums != NULL ? skx_facets_sums_next(f->sums, facet) :
		skx_facets_merge_next(&f->merge, facet);
}

uint64
skx_facets_rows(const SkxFacets *f)
{
	return f->rows;
}

void
skx_facets_tid(const SkxFacets *f, uint64 place, ItemPointer tid)
{
	if ((place & SKX_FACETS_PENDING_ROW) != 0)
		ItemPointerSet(tid, (BlockNumber) (place >> 16),
					   (OffsetNumber) place);
	else
		skx_segment_read_tids(f->segment_source->segments[place >> 32],
							  (uint32) place, 1, tid);
}

void
skx_facets_end(SkxFacets *f)
{
	if (f->sums != NULL)
		skx_facets_sums_end(f->sums);
	else
		skx_facets_merge_end(&f->merge);
	skx_facets_hash_free(f->hashed);
	skx_snapshot_close(f->segment_source);
}
