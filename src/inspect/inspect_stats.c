/*
 * inspect_stats.c
 *	  SQL functions that show the content of an index.
 *
 * The index is read without locks that block other statements, so the figures
 * of one row may be of slightly different moments.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "index/snapshot/snapshot.h"
#include "inspect/inspect.h"
#include "inspect/inspect_internal.h"
#include "miscadmin.h"
#include "parse/parse.h"
#include "storage/bufmgr.h"
#include "support/compat/compat.h"
#include "utils/builtins.h"
#include "utils/xid8.h"

PG_FUNCTION_INFO_V1(skipidx_stats);
PG_FUNCTION_INFO_V1(skipidx_segments);

#define SKX_STATS_COLUMNS		23
#define SKX_SEGMENTS_COLUMNS	25
#define SKX_ROW_COLUMNS	Max(SKX_STATS_COLUMNS, SKX_SEGMENTS_COLUMNS)

/* A row that is filled from left to right; most columns are bigints. */
typedef struct SkxRow
{
	int			n;
	Datum		values[SKX_ROW_COLUMNS];
	bool		nulls[SKX_ROW_COLUMNS];
} SkxRow;

static void
skx_inspect_row_add(SkxRow *row, uint64 value)
{
	Assert(row->n < SKX_ROW_COLUMNS);
	row->values[row->n++] = Int64GetDatum((int64) value);
}

static void
skx_inspect_row_add_null(SkxRow *row)
{
	Assert(row->n < SKX_ROW_COLUMNS);
	row->nulls[row->n++] = true;
}

static Datum
skx_inspect_row_datum(FunctionCallInfo fcinfo, SkxRow *row)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (desc->natts != row->n)
		elog(ERROR, "function returns %d columns, not %d", row->n,
			 desc->natts);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
											 row->values, row->nulls));
}

/* Sums over the segments of a view. */
typedef struct SkxSegmentTotals
{
	uint64		ndocs;
	uint64		ndeleted;
	uint64		nnull;
	uint64		ncut;			/* with SKX_PARSE_CUT_MARK */
	uint64		total_length;
	uint64		nterms;
	uint64		npostings;
	uint64		npositions;
} SkxSegmentTotals;

/* Adds the documents with the mark of a cut one to a number. */
static bool
skx_inspect_count_cut(const SkxPendingDoc *doc, void *arg)
{
	const WordEntry *entries = ARRPTR(doc->value);
	uint64	   *ncut = arg;
	int			i;

	CHECK_FOR_INTERRUPTS();
	/* lexemes that begin with a blank are near the first ones */
	for (i = 0; i < doc->value->size; i++)
	{
		const char *lexeme = STRPTR(doc->value) + entries[i].pos;

		if (entries[i].len > 0 && (unsigned char) lexeme[0] > ' ')
			break;
		if (skx_parse_is_cut_mark(lexeme, entries[i].len))
			(*ncut)++;
	}
	return true;
}

/*
 * Sums up the segments, and counts cut documents in the pending ones up to
 * last[i] of stripe i, too.
 */
static void
skx_inspect_sum_documents(Relation rel, const SkxView *view,
						  const uint64 *last, SkxSegmentTotals *sum)
{
	SkxSnapshotReader *source = skx_snapshot_open(rel, view);

	memset(sum, 0, sizeof(*sum));
	while (skx_snapshot_next_segments(source, 1) > 0)
	{
		SkxSegment *seg = source->segments[0];
		SkxTerm		term;

		if (skx_segment_find(seg, SKX_PARSE_CUT_MARK,
							 strlen(SKX_PARSE_CUT_MARK), &term))
			sum->ncut += term.df;
		sum->ndocs += seg->header.ndocs;
		sum->ndeleted += skx_segment_ndeleted(seg);
		sum->nnull += seg->header.nnull;
		sum->total_length += seg->header.total_length;
		sum->nterms += seg->header.nterms;
		sum->npostings += seg->header.npostings;
		sum->npositions += seg->header.npositions;
	}
	skx_snapshot_visit_pending(source, last, skx_inspect_count_cut,
							   &sum->ncut);
	skx_snapshot_close(source);
}

/* Numbers of pages that no new view refers to. */
typedef struct SkxFreeTotals
{
	int			nextents;
	uint64		nfree;			/* in the root, usable */
	uint64		nwaiting;		/* in the root, not yet usable */
	uint64		npool;
	uint64		nreserved;		/* by operations */
} SkxFreeTotals;

static void
skx_inspect_sum_extents(Relation rel, const SkxView *view, SkxFreeTotals *sum)
{
	uint64	   *waits = skx_manifest_extent_waits(rel, view);
	int			i;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < view->nextents; i++)
	{
		const SkxDiskExtent *extent = &view->extents[i];

		if (extent->operation != 0)
		{
			sum->nreserved += extent->npages;
			continue;
		}
		sum->nextents++;
		if (waits[i] != SKX_WAIT_NONE)
			sum->nwaiting += extent->npages;
		else
			sum->nfree += extent->npages;
	}
	sum->nextents += view->meta.npool;
	for (i = 0; i < view->meta.npool; i++)
		sum->npool += view->meta.pool[i].npages;
	pfree(waits);
}

/*
 * Returns one row of totals.  Counts of documents include deleted ones until
 * they are merged away.  The average length is that of documents whose
 * tsvector is not NULL.
 */
Datum
skipidx_stats(PG_FUNCTION_ARGS)
{
	Relation	heap;
	Relation	rel;
	SkxView    *view;
	SkxSegmentTotals sum;
	SkxPendingTotals pending;
	SkxFreeTotals free;
	SkxRow		row = {0};
	uint64	   *last;
	uint64		ndocs;
	uint64		nnull;
	uint64		length;

	skx_inspect_open(PG_GETARG_OID(0), SKX_INSPECT_STATS, &heap, &rel);
	view = skx_manifest_view(rel);
	skx_inspect_sum_extents(rel, view, &free);
	last = palloc(sizeof(uint64) * (view->nstripes + 1));
	skx_pending_totals(rel, view, &pending, last);
	skx_inspect_sum_documents(rel, view, last, &sum);
	ndocs = sum.ndocs + pending.ndocs;
	nnull = sum.nnull + pending.nnull;
	length = sum.total_length + pending.total_length;
	row.values[row.n++] = Int32GetDatum(view->meta.block_size);
	row.values[row.n++] = Int32GetDatum(view->meta.format.number);
	skx_inspect_row_add(&row, view->meta.generation);
	skx_inspect_row_add(&row, ndocs);
	skx_inspect_row_add(&row, sum.ndeleted + pending.ndead);
	skx_inspect_row_add(&row, nnull);
	skx_inspect_row_add(&row, sum.ncut);
	skx_inspect_row_add(&row, length);
	row.values[row.n++] = Float8GetDatum(ndocs > nnull ?
										 (double) length / (ndocs - nnull) :
										 0.0);
	skx_inspect_row_add(&row, sum.nterms);
	skx_inspect_row_add(&row, sum.npostings);
	skx_inspect_row_add(&row, sum.npositions);
	row.values[row.n++] = Int32GetDatum(view->nsegments);
	skx_inspect_row_add(&row, pending.ndocs);
	skx_inspect_row_add(&row, pending.ndead);
	skx_inspect_row_add(&row, pending.nbytes);
	skx_inspect_row_add(&row, pending.npages);
	row.values[row.n++] = Int32GetDatum(view->nstripes);
	row.values[row.n++] = Int32GetDatum(free.nextents);
	skx_inspect_row_add(&row, RelationGetNumberOfBlocks(rel));
	skx_inspect_row_add(&row, free.nfree + free.nwaiting + free.npool +
						pending.nunused);
	skx_inspect_row_add(&row, free.nwaiting);
	skx_inspect_row_add(&row, free.nreserved);
	skx_inspect_close(heap, rel);
	return skx_inspect_row_datum(fcinfo, &row);
}

/*
 * The rows of skipidx_segments(): the purpose of each page of the file
 */

/* Adds the first two columns: kind and segment, NULL if `segment` is 0. */
static void
skx_inspect_row_begin(SkxRow *row, const char *kind, uint32 segment)
{
	row->values[row->n++] = CStringGetTextDatum(kind);
	if (segment > 0)
		skx_inspect_row_add(row, segment);
	else
		skx_inspect_row_add_null(row);
}

static void
skx_inspect_row_end(ReturnSetInfo *rsinfo, SkxRow *row)
{
	while (row->n < SKX_SEGMENTS_COLUMNS)
		skx_inspect_row_add_null(row);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, row->values,
						 row->nulls);
}

static void
skx_inspect_put_segment(ReturnSetInfo *rsinfo, const SkxDiskSegmentRef *ref,
						SkxSegment *seg)
{
	SkxRow		row = {0};
	int			i;

	skx_inspect_row_begin(&row, "segment", ref->segment);
	row.values[row.n++] = Int32GetDatum(ref->level);
	skx_inspect_row_add(&row, seg->header.ndocs);
	skx_inspect_row_add(&row, skx_segment_ndeleted(seg));
	skx_inspect_row_add(&row, ref->npages);
	skx_inspect_row_add(&row, ref->npages * BLCKSZ);
	skx_inspect_row_add_null(&row);
	skx_inspect_row_add(&row, seg->header.nnull);
	skx_inspect_row_add(&row, seg->header.nterms);
	skx_inspect_row_add(&row, seg->header.npostings);
	skx_inspect_row_add(&row, seg->header.npositions);
	skx_inspect_row_add(&row, seg->header.total_length);
	row.values[row.n++] = Int32GetDatum(seg->header.block_size);
	for (i = 0; i < SKX_SEGMENT_NPLANES; i++)
		skx_inspect_row_add(&row, seg->planes[i].npages);
	skx_inspect_row_add(&row, seg->header.nprefixes);
	skx_inspect_row_add(&row, seg->header.nprefix_postings);
	Assert(row.n == SKX_SEGMENTS_COLUMNS);
	skx_inspect_row_end(rsinfo, &row);
}

static void
skx_inspect_put_pending(ReturnSetInfo *rsinfo, const SkxPendingTotals *pending)
{
	SkxRow		row = {0};

	skx_inspect_row_begin(&row, "pending", 0);
	skx_inspect_row_add_null(&row);
	skx_inspect_row_add(&row, pending->ndocs);
	skx_inspect_row_add(&row, pending->ndead);
	skx_inspect_row_add(&row, pending->npages + pending->nunused);
	skx_inspect_row_add(&row, pending->nbytes);
	skx_inspect_row_add_null(&row);
	skx_inspect_row_add(&row, pending->nnull);
	skx_inspect_row_add_null(&row);
	skx_inspect_row_add_null(&row);
	skx_inspect_row_add_null(&row);
	skx_inspect_row_add(&row, pending->total_length);
	skx_inspect_row_end(rsinfo, &row);
}

/*
 * Adds a row for pages without documents.  `xid` is the transaction id that
 * they wait for, or 0 for none.
 */
static void
skx_inspect_put_pages(ReturnSetInfo *rsinfo, const char *kind, uint32 segment,
					  uint64 npages, uint64 xid)
{
	SkxRow		row = {0};

	skx_inspect_row_begin(&row, kind, segment);
	skx_inspect_row_add_null(&row);
	skx_inspect_row_add_null(&row);
	skx_inspect_row_add_null(&row);
	skx_inspect_row_add(&row, npages);
	skx_inspect_row_add(&row, npages * BLCKSZ);
	if (xid > 0)
		row.values[row.n++] =
			FullTransactionIdGetDatum(FullTransactionIdFromU64(xid));
	skx_inspect_row_end(rsinfo, &row);
}

static void
skx_inspect_put_operations(ReturnSetInfo *rsinfo, const SkxView *view)
{
	int			i;
	int			k;

	for (i = 0; i < view->noperations; i++)
	{
		const SkxDiskOperation *op = &view->operations[i];
		uint64		npages = 0;

		for (k = 0; k < view->nextents; k++)
		{
			if (view->extents[k].operation == op->segment)
				npages += view->extents[k].npages;
		}
		skx_inspect_put_pages(rsinfo, op->kind == SKX_OPERATION_FLUSH ?
							  "flush" : "merge", op->segment, npages, 0);
	}
}

static int
skx_inspect_compare_xids(const void *a, const void *b)
{
	uint64		x = ((const SkxDiskExtent *) a)->safexid;
	uint64		y = ((const SkxDiskExtent *) b)->safexid;

	return (x > y) - (x < y);
}

/*
 * Adds a row for each transaction id that pages wait for.  Pages that wait for
 * open views have a row without a transaction id.
 */
static void
skx_inspect_put_waiting(ReturnSetInfo *rsinfo, Relation rel,
						const SkxView *view)
{
	uint64	   *waits = skx_manifest_extent_waits(rel, view);
	SkxDiskExtent *waiting = palloc_extended((view->nextents + 1) *
											 sizeof(SkxDiskExtent),
											 MCXT_ALLOC_HUGE);
	uint64		npages = 0;
	int			n = 0;
	int			i;

	for (i = 0; i < view->nextents; i++)
	{
		if (waits[i] == SKX_WAIT_NONE)
			continue;
		waiting[n] = view->extents[i];
		waiting[n++].safexid = waits[i] == SKX_WAIT_VIEWS ? 0 : waits[i];
	}
	pfree(waits);
	qsort(waiting, n, sizeof(SkxDiskExtent), skx_inspect_compare_xids);
	for (i = 0; i < n; i++)
	{
		npages += waiting[i].npages;
		if (i + 1 < n && waiting[i + 1].safexid == waiting[i].safexid)
			continue;
		skx_inspect_put_pages(rsinfo, "waiting", 0, npages,
							  waiting[i].safexid);
		npages = 0;
	}
	pfree(waiting);
}

/*
 * Returns a row for each segment, the largest first, and then for each other
 * use of pages.
 */
Datum
skipidx_segments(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	heap;
	Relation	rel;
	SkxView    *view;
	SkxSnapshotReader *source;
	SkxPendingTotals pending;
	SkxFreeTotals free;
	int			i;

	StaticAssertStmt(SKX_SEGMENTS_COLUMNS == 16 + SKX_SEGMENT_NPLANES,
					 "columns of skipidx_segments");
	InitMaterializedSRF(fcinfo, 0);
	skx_inspect_open(PG_GETARG_OID(0), SKX_INSPECT_STATS, &heap, &rel);
	view = skx_manifest_view(rel);
	source = skx_snapshot_open(rel, view);
	for (i = 0; skx_snapshot_next_segments(source, 1) > 0; i++)
		skx_inspect_put_segment(rsinfo, &view->segments[i],
								source->segments[0]);
	skx_snapshot_close(source);
	skx_pending_totals(rel, view, &pending, NULL);
	skx_inspect_put_pending(rsinfo, &pending);
	skx_inspect_put_operations(rsinfo, view);
	skx_inspect_put_waiting(rsinfo, rel, view);
	skx_inspect_sum_extents(rel, view, &free);
	skx_inspect_put_pages(rsinfo, "free", 0, free.nfree, 0);
	skx_inspect_put_pages(rsinfo, "pool", 0, free.npool, 0);
	skx_inspect_put_pages(rsinfo, "head", 0, 1 + view->nroot + view->nstripes,
						  0);
	skx_inspect_close(heap, rel);
	return (Datum) 0;
}
