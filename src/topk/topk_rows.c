/*
 * topk_rows.c
 *	  Rows without a score: those that match but have none of the words, then
 *	  those whose tsvector is NULL; by TID.
 *
 * Each segment gives its rows by TID, and so do the pending documents once
 * they are sorted; the smallest of all is next.
 */
#include "postgres.h"

#include "format/format_segment.h"
#include "miscadmin.h"
#include "pending/pending.h"
#include "topk/topk_internal.h"
#include "utils/memutils.h"

/* Rows handed out together. */
#define SKX_ROWS_BATCH		1024

/* Where rows come from: a segment, or all pending documents. */
typedef struct SkxRowSource
{
	SkxSegment *seg;			/* NULL: pending documents */
	SkxQueryScan *scan;
	int			at;
	int			n;
	uint32	   *docs;
	ItemPointerData *tids;
} SkxRowSource;

typedef struct SkxTopkRows
{
	bool		nulls;
	SkxQuery   *query;
	int			nsources;
	SkxRowSource *sources;
	MemoryContext context;
} SkxTopkRows;

/* Keeps the documents without a tsvector. */
static int
skx_rows_keep_null(SkxSegment *seg, uint32 *docs, int n)
{
	int			kept = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		docs[kept] = docs[i];
		kept += skx_segment_norm(seg, docs[i]) == SKX_NORM_NULL;
	}
	skx_blkio_unpin(seg->file, &seg->norm_ref);
	return kept;
}

static void
skx_rows_fill(SkxTopkRows *rows, SkxRowSource *source)
{
	int			n;

	source->at = source->n = 0;
	if (source->seg == NULL)
		return;
	do
	{
		n = skx_query_scan_next(source->scan, source->docs);
		if (n == 0)
			return;
		source->n = n;
		if (rows->nulls)
			source->n = skx_rows_keep_null(source->seg, source->docs, n);
	} while (source->n == 0);
	skx_segment_tids_of(source->seg, source->docs, source->n, source->tids);
}

static int
skx_rows_compare(const void *a, const void *b)
{
	return ItemPointerCompare(unconstify(ItemPointerData *, (const ItemPointerData *) a),
							  unconstify(ItemPointerData *, (const ItemPointerData *) b));
}

static bool
skx_rows_is_pending_row(SkxTopk *topk, const SkxTopkRows *rows,
						const SkxPendingDoc *doc)
{
	if (rows->nulls || doc->value == NULL)
		return rows->nulls && doc->value == NULL;
	return skx_query_matches(topk->request.filter, doc->value) &&
		skx_score_document(topk->scorer, doc->value, NULL) == 0;
}

/* All of them at once: there are few. */
static void
skx_rows_pending(SkxTopk *topk, SkxTopkRows *rows, SkxRowSource *source)
{
	SkxPendingScan *scan = skx_pending_begin(topk->request.index,
											 topk->request.view, false);
	MemoryContext document = AllocSetContextCreate(rows->context,
												   "skipidx pending document",
												   ALLOCSET_DEFAULT_SIZES);
	SkxPendingDoc doc;
	int			size = 64;

	source->tids = palloc(sizeof(ItemPointerData) * size);
	while (skx_pending_next(scan, &doc))
	{
		MemoryContext old = MemoryContextSwitchTo(document);
		bool		is_row = skx_rows_is_pending_row(topk, rows, &doc);

		MemoryContextSwitchTo(old);
		MemoryContextReset(document);
		CHECK_FOR_INTERRUPTS();
		if (!is_row)
			continue;
		if (source->n == size)
		{
			size *= 2;
			source->tids = repalloc_huge(source->tids,
										 sizeof(ItemPointerData) * size);
		}
		source->tids[source->n++] = doc.tid;
	}
	skx_pending_end(scan);
	MemoryContextDelete(document);
	qsort(source->tids, source->n, sizeof(ItemPointerData), skx_rows_compare);
}

/* What rows without a score have to match. */
static SkxQuery *
skx_rows_query(SkxTopk *topk, bool nulls)
{
	const SkxScorer *scorer = topk->scorer;
	SkxQueryWord *words;
	int			i;

	if (nulls)
		return skx_query_compile(NULL, 0);
	words = palloc(sizeof(SkxQueryWord) * (scorer->nterms + 1));
	for (i = 0; i < scorer->nterms; i++)
	{
		words[i].lexeme = scorer->terms[i].lexeme;
		words[i].len = scorer->terms[i].len;
		words[i].prefix = scorer->terms[i].prefix;
		words[i].labels = scorer->terms[i].labels;
	}
	return skx_query_without(topk->request.filter, words, scorer->nterms);
}

SkxTopkRows *
skx_topk_rows_open(SkxTopk *topk, bool nulls)
{
	MemoryContext context = AllocSetContextCreate(topk->context,
												  "skipidx rows",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxTopkRows *rows = palloc0(sizeof(SkxTopkRows));
	int			i;

	rows->context = context;
	rows->nulls = nulls;
	rows->query = skx_rows_query(topk, nulls);
	rows->sources = palloc0(sizeof(SkxRowSource) * (topk->nsegments + 1));
	for (i = 0; i < topk->nsegments; i++)
	{
		SkxRowSource *source = &rows->sources[rows->nsources];

		if (nulls && topk->segments[i].seg->header.nnull == 0)
			continue;
		rows->nsources++;
		source->seg = topk->segments[i].seg;
		source->scan = skx_query_scan_open(source->seg, rows->query, false);
		source->docs = palloc(sizeof(uint32) * SKX_QUERY_DOCS);
		source->tids = palloc(sizeof(ItemPointerData) * SKX_QUERY_DOCS);
		skx_rows_fill(rows, source);
	}
	if (topk->has_pending)
		skx_rows_pending(topk, rows, &rows->sources[rows->nsources++]);
	MemoryContextSwitchTo(old);
	return rows;
}

static SkxRowSource *
skx_rows_first(SkxTopkRows *rows)
{
	SkxRowSource *first = NULL;
	int			i;

	for (i = 0; i < rows->nsources; i++)
	{
		SkxRowSource *source = &rows->sources[i];

		if (source->at < source->n &&
			(first == NULL ||
			 ItemPointerCompare(&source->tids[source->at],
								&first->tids[first->at]) < 0))
			first = source;
	}
	return first;
}

/* Fills topk->out, which has room; returns how many. */
int
skx_topk_rows_next(SkxTopk *topk, SkxTopkRows *rows)
{
	MemoryContext old = MemoryContextSwitchTo(rows->context);
	int			most = Min(topk->max_out, SKX_ROWS_BATCH);
	int			n = 0;

	while (n < most)
	{
		SkxRowSource *source = skx_rows_first(rows);

		if (source == NULL)
			break;
		topk->out[n].tid = source->tids[source->at++];
		topk->out[n].is_null = rows->nulls;
		topk->out[n++].sum = 0;
		if (source->at == source->n)
			skx_rows_fill(rows, source);
	}
	MemoryContextSwitchTo(old);
	return n;
}

void
skx_topk_rows_close(SkxTopkRows *rows)
{
	int			i;

	for (i = 0; i < rows->nsources; i++)
		if (rows->sources[i].scan != NULL)
			skx_query_scan_close(rows->sources[i].scan);
	MemoryContextDelete(rows->context);
}
