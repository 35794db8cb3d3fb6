/*
 * facets_gather.c
 *	  Collects the rows of a count as bits, until the memory budget is used up,
 *	  and then counts their values.
 */
#include "postgres.h"

#include "answer/count/count_share.h"
#include "answer/facets/facets_internal.h"
#include "miscadmin.h"

/* Least number of documents that have bits, however small work_mem is. */
#define SKX_FACETS_LEAST	65536

struct SkxFacets
{
	const SkxFacetsRequest *request;
	uint64		rows;			/* number of rows that were counted */
	SkxSource  *source;			/* all segments of the view, open */
	uint32		room;			/* largest number of documents that have bits */
	uint32		taken;			/* number of documents that have bits */
	int			size;			/* capacity of the merge's inputs */
	int			number;			/* number of the current segment */
	bool		parted;			/* only documents [from, to) of it are passed */
	uint32		from;
	uint32		to;
	bool		begun;			/* the current part has an input */
	SkxFacetLooses *loose;		/* values counted one by one */
	SkxHeapAhead ahead;
	SkxFacetMerge merge;
	SkxFacetSums *sums;			/* NULL: one merge returns all values */
};

/* ---- values that are counted one by one ---- */

/*
 * Returns true if the value is of a requested column that is not in `counted`.
 */
static bool
skx_facets_wants(const SkxFacets *f, uint32 counted, const SkxLexeme *value)
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
skx_facets_spill(SkxFacets *f)
{
	const SkxFacetLoose *values;
	int			n;
	int			i;

	if (skx_facets_loose_bytes(f->loose) <= (Size) work_mem * 1024)
		return;
	n = skx_facets_loose_sort(f->loose, &values);
	if (f->sums == NULL)
		f->sums = skx_facets_sums_begin();
	skx_facets_work.passes++;
	for (i = 0; i < n; i++)
	{
		SkxFacet	facet = {values[i].lexeme, values[i].count,
		values[i].place};

		CHECK_FOR_INTERRUPTS();
		skx_facets_sums_add(f->sums, &facet);
	}
	skx_facets_loose_end(f->loose);
	f->loose = skx_facets_loose_begin();
}

/* Counts the values of a document, except those of columns in `counted`. */
static void
skx_facets_take(SkxFacets *f, TSVector document, uint32 counted, uint64 place)
{
	int			at = skx_column_values_at(document);
	int			end = at + skx_column_count_values(document);

	for (; at < end; at++)
	{
		const WordEntry *entry = &ARRPTR(document)[at];
		SkxLexeme	value = {STRPTR(document) + entry->pos, entry->len};

		CHECK_FOR_INTERRUPTS();
		if (skx_facets_wants(f, counted, &value))
			skx_facets_loose_add(f->loose, value, 1, place);
	}
	skx_facets_spill(f);
}

static void
skx_facets_pending(TSVector document, const ItemPointerData *tid, void *arg)
{
	skx_facets_take(arg, document, 0, SKX_FACETS_LOOSE |
					(uint64) ItemPointerGetBlockNumberNoCheck(tid) << 16 |
					ItemPointerGetOffsetNumberNoCheck(tid));
}

/* ---- values by keys ---- */

/*
 * Counts the values of columns whose keys cost less than their lists.  The
 * merge leaves out these columns.
 */
static void
skx_facets_by_keys(SkxFacets *f)
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

			if ((input->counted >> column & 1) != 0 ||
				(keys = skx_facets_keys_begin(input, column)) == NULL)
				continue;
			while (skx_facets_keys_some(keys, f->loose))
				skx_facets_spill(f);
			skx_facets_keys_end(keys);
			input->counted |= (uint32) 1 << column;
		}
	}
}

/* ---- few rows of segments ---- */

/* Number of rows that are fetched together. */
#define SKX_FACETS_ROWS		512

/* Fetches n rows and counts their values. */
static void
skx_facets_fetch(SkxFacets *f, SkxFacetRows *rows, const SkxColumns *columns,
				 SkxFacetInput *input, const uint32 *docs, int n)
{
	ItemPointerData tids[SKX_FACETS_ROWS];
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	int			i;

	skx_segment_tids_of(input->seg, docs, n, tids);
	skx_snapshot_heap_batch(&f->ahead, n);
	for (i = 0; i < n; i++)
	{
		TSVector	document;

		CHECK_FOR_INTERRUPTS();
		skx_snapshot_heap_ask(&f->ahead, tids, n, i);
		skx_facets_rows_get(rows, &tids[i], values, isnull);
		document = skx_column_values(columns, values, isnull);
		skx_facets_take(f, document, input->counted,
						skx_facets_place(input, docs[i]));
		pfree(document);
	}
	skx_facets_work.fetched += n;
}

static void
skx_facets_fetch_input(SkxFacets *f, SkxFacetRows *rows,
					   const SkxColumns *columns, SkxFacetInput *input)
{
	uint32		docs[SKX_FACETS_ROWS];
	uint32		word = 0;
	int			n;

	while ((n = skx_facets_rows_of(input, &word, docs, SKX_FACETS_ROWS)) > 0)
		skx_facets_fetch(f, rows, columns, input, docs, n);
}

/*
 * Fetches the rows of each input for which that costs less than posting lists,
 * and removes the input.
 */
static void
skx_facets_fetch_few(SkxFacets *f)
{
	SkxFacetMerge *m = &f->merge;
	SkxFacetRows *rows = NULL;
	SkxColumns *columns = NULL;
	int			i;

	for (i = 0; i < m->ninputs; i++)
	{
		SkxFacetInput *input = &m->inputs[i];

		if (input->seg == NULL ||
			!skx_facets_rows_cost_less(input, f->request))
			continue;
		if (rows == NULL)
		{
			rows = skx_facets_rows_begin(f->request);
			columns = skx_column_all(f->request->rows.index);
			skx_snapshot_heap_begin(&f->ahead, f->request->rows.heap);
		}
		skx_facets_fetch_input(f, rows, columns, input);
		pfree(input->bits);
		f->taken -= input->to - input->from;
		*input = m->inputs[--m->ninputs];
		i--;
	}
	if (rows != NULL)
		skx_facets_rows_end(rows);
}

/* ---- rows of segments ---- */

/* Returns the input that is being filled, or NULL if there is none. */
static SkxFacetInput *
skx_facets_current(SkxFacets *f)
{
	SkxFacetMerge *m = &f->merge;

	if (m->ninputs == 0 || m->inputs[m->ninputs - 1].number != f->number ||
		(f->parted && !f->begun))
		return NULL;
	return &m->inputs[m->ninputs - 1];
}

static SkxFacetInput *
skx_facets_new(SkxFacets *f)
{
	SkxFacetMerge *m = &f->merge;

	if (m->ninputs == f->size)
	{
		f->size *= 2;
		m->inputs = repalloc_huge(m->inputs,
								  sizeof(SkxFacetInput) * (Size) f->size);
	}
	memset(&m->inputs[m->ninputs], 0, sizeof(SkxFacetInput));
	return &m->inputs[m->ninputs++];
}

/* Counts the values of all rows so far, and discards the rows. */
static void
skx_facets_pass(SkxFacets *f)
{
	SkxFacetMerge *m = &f->merge;
	SkxFacet	facet;
	int			i;

	skx_facets_by_keys(f);
	skx_facets_fetch_few(f);
	if (f->sums == NULL)
		f->sums = skx_facets_sums_begin();
	skx_facets_work.passes++;
	skx_facets_merge_begin(m);
	while (skx_facets_merge_next(m, &facet))
		skx_facets_sums_add(f->sums, &facet);
	skx_facets_merge_end(m);
	for (i = 0; i < m->ninputs; i++)
		if (m->inputs[i].bits != NULL)
			pfree(m->inputs[i].bits);
	m->ninputs = 0;
	f->taken = 0;
}

/*
 * Makes an input for documents of the current segment, beginning at `doc` or
 * before it.
 */
static SkxFacetInput *
skx_facets_stretch(SkxFacets *f, uint32 doc)
{
	SkxSegment *seg = f->source->segments[f->number];
	uint32		first = f->parted ? f->from : 0;
	uint32		last = f->parted ? f->to : seg->header.ndocs;
	uint32		from = last - first <= f->room ? first :
		doc - doc % SKX_BITSET_WORD;
	uint32		ndocs = Min(last - from, f->room);
	SkxFacetInput *input;

	if (ndocs > f->room - f->taken)
		skx_facets_pass(f);
	input = skx_facets_new(f);
	input->seg = seg;
	input->number = f->number;
	input->from = from;
	input->to = from + ndocs;
	input->bits = palloc_extended(sizeof(uint64) * SKX_BITSET_WORDS((Size) ndocs),
								  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	f->taken += ndocs;
	f->begun = true;
	return input;
}

/*
 * Moves to the segment that the count has reached.  f->source has opened it,
 * too.
 */
static void
skx_facets_enter(SkxFacets *f, const SkxSegment *seg)
{
	while (f->source->segments[f->number]->header.segment !=
		   seg->header.segment)
	{
		f->number++;
		Assert(f->number < f->source->nsegments);
	}
}

static void
skx_facets_part(SkxSegment *seg, uint32 from, uint32 to, void *arg)
{
	SkxFacets  *f = arg;

	skx_facets_enter(f, seg);
	f->parted = true;
	f->from = from;
	f->to = to;
	f->begun = false;
}

static void
skx_facets_documents(SkxSegment *seg, const uint32 *docs, int n, void *arg)
{
	SkxFacets  *f = arg;
	SkxFacetInput *input;
	int			i = 0;

	skx_facets_enter(f, seg);
	input = skx_facets_current(f);
	while (i < n)
	{
		int			begin = i;

		if (input == NULL || docs[i] >= input->to)
			input = skx_facets_stretch(f, docs[i]);
		for (; i < n && docs[i] < input->to; i++)
			skx_bitset_set(input->bits, docs[i] - input->from);
		input->n += i - begin;
	}
}

static void
skx_facets_forget(SkxSegment *seg, void *arg)
{
	SkxFacets  *f = arg;
	SkxFacetInput *input;

	skx_facets_enter(f, seg);
	input = skx_facets_current(f);
	if (input == NULL)
		return;
	f->taken -= input->to - input->from;
	f->begun = false;
	pfree(input->bits);
	f->merge.ninputs--;
}

/* Makes the values that were counted one by one an input of the merge. */
static void
skx_facets_put_loose(SkxFacets *f)
{
	const SkxFacetLoose *values;
	int			n = skx_facets_loose_sort(f->loose, &values);
	SkxFacetInput *input;

	if (n == 0)
		return;
	input = skx_facets_new(f);
	input->number = -1;
	input->loose = values;
	input->nloose = n;
}

/* ---- all together ---- */

SkxFacets *
skx_facets_begin(const SkxFacetsRequest *request, SkxCountWork *work)
{
	SkxFacets  *f = palloc0(sizeof(SkxFacets));
	SkxCountTaker taker = {0};

	f->request = request;
	f->source = skx_snapshot_open(request->rows.index, request->rows.view);
	(void) skx_snapshot_next(f->source, SKX_SOURCE_ALL);
	/* half of work_mem, with a bit for each document */
	f->room = (uint32) Min(Max((uint64) work_mem * 1024 / 2 * 8,
							   SKX_FACETS_LEAST), PG_UINT32_MAX / 2);
	f->merge.ncolumns = request->ncolumns;
	f->merge.columns = request->columns;
	f->size = 8;
	f->merge.inputs = palloc(sizeof(SkxFacetInput) * f->size);
	f->loose = skx_facets_loose_begin();
	taker.most = f->room;
	taker.part = skx_facets_part;
	taker.documents = skx_facets_documents;
	taker.forget = skx_facets_forget;
	taker.pending = skx_facets_pending;
	taker.arg = f;
	(void) skx_count_rows(&request->rows, &taker, request->share, work,
						  &f->rows);
	skx_facets_by_keys(f);
	skx_facets_fetch_few(f);
	skx_facets_put_loose(f);
	if (f->sums == NULL)
		skx_facets_merge_begin(&f->merge);
	else
	{
		skx_facets_pass(f);
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
	if ((place & SKX_FACETS_LOOSE) != 0)
		ItemPointerSet(tid, (BlockNumber) (place >> 16),
					   (OffsetNumber) place);
	else
		skx_segment_tids(f->source->segments[place >> 32], (uint32) place, 1,
						 tid);
}

void
skx_facets_end(SkxFacets *f)
{
	if (f->sums != NULL)
		skx_facets_sums_end(f->sums);
	else
		skx_facets_merge_end(&f->merge);
	skx_facets_loose_end(f->loose);
	skx_snapshot_close(f->source);
}
