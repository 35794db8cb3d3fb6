/*
 * topk_rows.c
 *	  Rows without a score: those that match but have none of the words, then
 *	  those whose tsvector is NULL; by TID.
 *
 * Each segment gives its rows by TID, and so do the pending documents once
 * they are sorted; the smallest of all is next.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"
#include "index/column/column_value.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Rows handed out together. */
#define SKX_ROWS_BATCH		1024

/* The rows of a segment, or of all pending documents. */
typedef struct SkxRowList
{
	SkxSegment *seg;			/* NULL: pending documents */
	SkxQueryScan *scan;
	uint32		first;			/* documents before it are not looked for */
	int			at;
	int			n;
	int			size;			/* of pending documents: room in tids */
	uint32	   *docs;
	ItemPointerData *tids;
} SkxRowList;

typedef struct SkxTopkRows
{
	SkxTopk    *topk;
	bool		nulls;
	SkxQuery   *query;
	int			nlists;
	SkxRowList *lists;			/* the last one is of pending documents */
	bool		has_after;		/* rows behind this one are looked for */
	ItemPointerData after;
	MemoryContext context;
} SkxTopkRows;

/* Does a row come behind the one to go on from? */
static bool
skx_rows_is_behind(const SkxTopkRows *rows, const ItemPointerData *tid)
{
	return !rows->has_after ||
		ItemPointerCompare(unconstify(ItemPointerData *, tid),
						   unconstify(ItemPointerData *, &rows->after)) > 0;
}

/* The first document of a segment whose row does; they ascend as rows do. */
static uint32
skx_rows_first_doc(const SkxTopkRows *rows, SkxSegment *seg)
{
	uint32		low = 0;
	uint32		high = rows->has_after ? seg->header.ndocs : 0;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;
		ItemPointerData tid;

		skx_segment_tids(seg, middle, 1, &tid);
		if (skx_rows_is_behind(rows, &tid))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Documents from `first` on, of n that ascend. */
static int
skx_rows_from(uint32 *docs, int n, uint32 first)
{
	int			passed = 0;

	while (passed < n && docs[passed] < first)
		passed++;
	if (passed > 0)
		memmove(docs, docs + passed, sizeof(uint32) * (n - passed));
	return n - passed;
}

static void
skx_rows_fill(SkxTopkRows *rows, SkxRowList *list)
{
	int			n;

	list->at = list->n = 0;
	if (list->seg == NULL)
		return;
	do
	{
		n = skx_query_scan_next(list->scan, list->docs);
		if (n == 0)
			return;
		list->n = skx_rows_from(list->docs, n, list->first);
		if (rows->nulls)
			list->n = skx_segment_keep_null(list->seg, list->docs, list->n,
											true);
	} while (list->n == 0);
	skx_segment_tids_of(list->seg, list->docs, list->n, list->tids);
}

static int
skx_rows_compare(const void *a, const void *b)
{
	CHECK_FOR_INTERRUPTS();
	return ItemPointerCompare(unconstify(ItemPointerData *, (const ItemPointerData *) a),
							  unconstify(ItemPointerData *, (const ItemPointerData *) b));
}

static bool
skx_rows_is_pending_row(const SkxTopkRows *rows, const SkxPendingDoc *doc)
{
	bool		is_null = skx_column_is_null(doc->value);

	return rows->nulls == is_null && skx_rows_is_behind(rows, &doc->tid) &&
		skx_query_matches(rows->topk->request.filter, doc->value) &&
		(is_null ||
		 skx_score_document(rows->topk->scorer, doc->value, NULL) == 0);
}

static bool
skx_rows_pending_document(const SkxPendingDoc *doc, void *arg)
{
	SkxTopkRows *rows = arg;
	SkxRowList *list = &rows->lists[rows->nlists];

	if (!skx_rows_is_pending_row(rows, doc))
		return true;
	if (list->n == list->size)
	{
		list->size *= 2;
		list->tids = repalloc_huge(list->tids,
								   sizeof(ItemPointerData) * list->size);
	}
	list->tids[list->n++] = doc->tid;
	return true;
}

/* All of them at once: there are few. */
static void
skx_rows_pending(SkxTopkRows *rows)
{
	SkxRowList *list = &rows->lists[rows->nlists];

	list->size = 64;
	list->tids = palloc(sizeof(ItemPointerData) * list->size);
	skx_snapshot_pending(rows->topk->source, NULL, skx_rows_pending_document,
						 rows);
	qsort(list->tids, list->n, sizeof(ItemPointerData), skx_rows_compare);
	rows->nlists++;
}

/* What rows without a score have to match. */
static SkxQuery *
skx_rows_query(SkxTopk *topk, bool nulls)
{
	const SkxScorer *scorer = topk->scorer;
	SkxQueryWord *words;
	int			i;

	if (nulls)
		return unconstify(SkxQuery *, topk->request.filter);
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

	rows->topk = topk;
	rows->context = context;
	rows->nulls = nulls;
	rows->has_after = !nulls && topk->has_after && topk->after == 0;
	rows->after = topk->after_tid;
	rows->query = skx_rows_query(topk, nulls);
	rows->lists = palloc0(sizeof(SkxRowList) * (topk->nsegments + 1));
	for (i = 0; i < topk->nsegments; i++)
	{
		SkxRowList *list = &rows->lists[rows->nlists];

		if (nulls && topk->segments[i].seg->header.nnull == 0)
			continue;
		rows->nlists++;
		list->seg = topk->segments[i].seg;
		list->first = skx_rows_first_doc(rows, list->seg);
		list->scan = skx_query_scan_open(list->seg, rows->query, false);
		list->docs = palloc(sizeof(uint32) * SKX_QUERY_DOCS);
		list->tids = palloc(sizeof(ItemPointerData) * SKX_QUERY_DOCS);
		skx_rows_fill(rows, list);
	}
	if (topk->has_pending)
		skx_rows_pending(rows);
	MemoryContextSwitchTo(old);
	return rows;
}

static SkxRowList *
skx_rows_first(SkxTopkRows *rows)
{
	SkxRowList *first = NULL;
	int			i;

	for (i = 0; i < rows->nlists; i++)
	{
		SkxRowList *list = &rows->lists[i];

		if (list->at < list->n &&
			(first == NULL ||
			 ItemPointerCompare(&list->tids[list->at],
								&first->tids[first->at]) < 0))
			first = list;
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
		SkxRowList *list = skx_rows_first(rows);

		if (list == NULL)
			break;
		topk->out[n].tid = list->tids[list->at++];
		topk->out[n].is_null = rows->nulls;
		topk->out[n].at = -1;
		topk->out[n++].sum = 0;
		if (list->at == list->n)
			skx_rows_fill(rows, list);
	}
	MemoryContextSwitchTo(old);
	return n;
}

void
skx_topk_rows_close(SkxTopkRows *rows)
{
	int			i;

	for (i = 0; i < rows->nlists; i++)
		if (rows->lists[i].scan != NULL)
			skx_query_scan_close(rows->lists[i].scan);
	MemoryContextDelete(rows->context);
}
