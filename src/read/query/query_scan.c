/*
 * query_scan.c
 *	  Runs a query on one segment, or on one pending document.
 */
#include "postgres.h"

#include "fmgr.h"
#include "index/document/document.h"
#include "miscadmin.h"
#include "read/query/query_internal.h"
#include "tsearch/ts_utils.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

struct SkxQueryScan
{
	SkxOpening	opening;		/* terms: set by skx_query_scan_plan(); freed
								 * when the scan begins, unless `reopens` */
	SkxIter    *it;				/* NULL before the scan begins */
	uint32		next;			/* documents below this one are done */
	uint32		end;			/* the range of the scan ends here */
	int			goal;			/* number of candidates of the next step,
								 * approximately */
	int			want;			/* number of documents that the next batch
								 * should have */
	int			at;				/* documents before this one are handed out */
	int			n;
	uint32	   *docs;			/* capacity of SKX_QUERY_DOCS; found by one
								 * step of `it` */
	MemoryContext context;		/* for the iterators */
};

/*
 * Unless the whole answer is wanted, batches grow by this factor, from one
 * document up to SKX_SCAN_MOST.  A query for one row then does not wait for
 * more.  The rows of a query with few matches among many documents are looked
 * up together.
 */
#define SKX_SCAN_GROWTH		4
#define SKX_SCAN_MOST		1024

/*
 * The largest number of lexemes that are looked up in several segments
 * together.
 */
#define SKX_SCAN_LEXEMES	1024

SkxQueryScan *
skx_query_scan_open(SkxSegment *seg, const SkxQuery *query, bool wants_all)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx query",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxQueryScan *scan = palloc0(sizeof(SkxQueryScan));

	scan->opening.seg = seg;
	scan->opening.query = query;
	scan->opening.wants_all = wants_all;
	scan->opening.reads = skx_segment_reads();
	scan->end = seg->header.ndocs;
	scan->context = context;
	scan->goal = wants_all ? SKX_QUERY_BATCH : 1;
	scan->want = wants_all ? SKX_SCAN_MOST : 1;
	MemoryContextSwitchTo(old);
	return scan;
}

void
skx_query_scan_plan(SkxQueryScan **scans, int n)
{
	const SkxQuery *query = scans[0]->opening.query;
	Size		size = sizeof(SkxTerm) * (query->nlexemes + (Size) 1);
	SkxSegment **segs;
	SkxTerm   **terms;
	int			i;

	/* Very many terms would take much memory, so each scan plans alone. */
	if (n > 1 && query->nlexemes > SKX_SCAN_LEXEMES)
		return;
	segs = palloc(sizeof(SkxSegment *) * n);
	terms = palloc(sizeof(SkxTerm *) * n);
	for (i = 0; i < n; i++)
	{
		segs[i] = scans[i]->opening.seg;
		terms[i] = MemoryContextAllocHuge(scans[i]->context, size);
		scans[i]->opening.terms = terms[i];
	}
	skx_segment_find_all(segs, n, query->lexemes, query->nlexemes, terms);
	for (i = 0; i < n; i++)
		skx_query_ahead_first(&scans[i]->opening, n == 1);
	pfree(segs);
	pfree(terms);
}

/*
 * Opens the iterators.  If `unsettled` (see SkxOpening) is set to true, they
 * are opened again later, with the same terms.
 */
static void
skx_query_scan_begin(SkxQueryScan *scan, bool *unsettled)
{
	if (scan->opening.terms == NULL)
		skx_query_scan_plan(&scan, 1);
	scan->opening.unsettled = unsettled;
	scan->it = skx_query_open(&scan->opening);
	scan->opening.unsettled = NULL;
	if (unsettled != NULL && *unsettled)
		return;
	if (scan->opening.reopens)
		return;
	pfree(scan->opening.terms);
	scan->opening.terms = NULL;
}

/* Returns the iterators; opens them if they are not open yet. */
static const SkxIter *
skx_query_scan_begun(SkxQueryScan *scan)
{
	MemoryContext old = MemoryContextSwitchTo(scan->context);

	if (scan->it == NULL)
		skx_query_scan_begin(scan, NULL);
	MemoryContextSwitchTo(old);
	return scan->it;
}

uint32
skx_query_scan_cost(SkxQueryScan *scan)
{
	return skx_query_scan_begun(scan)->cost;
}

/*
 * Lists of values are not gone through for an estimate.  They may be many, and
 * the scan may not be chosen.
 */
uint32
skx_query_scan_steps(SkxQueryScan *scan, double *likely)
{
	MemoryContext old = MemoryContextSwitchTo(scan->context);
	bool		unsettled = false;
	uint32		steps;

	if (scan->it == NULL)
		skx_query_scan_begin(scan, &unsettled);
	steps = scan->it->steps;
	if (likely != NULL)
		*likely = skx_query_likely(scan->it);
	if (unsettled)
	{
		skx_query_close(scan->it);
		scan->it = NULL;
	}
	MemoryContextSwitchTo(old);
	return steps;
}

void
skx_query_scan_range(SkxQueryScan *scan, uint32 from, uint32 to)
{
	Assert(scan->at == scan->n && to <= scan->opening.seg->header.ndocs);
	scan->next = Max(scan->next, from);
	scan->end = to;
}

/* Finds the next live matches.  Returns how many there are, 0 at the end. */
static int
skx_query_scan_step(SkxQueryScan *scan, uint32 *docs)
{
	SkxSegment *seg = scan->opening.seg;
	int			n = 0;

	while (n == 0 && scan->next < scan->end)
	{
		CHECK_FOR_INTERRUPTS();
		scan->next = skx_query_collect(scan->it, scan->next, scan->end,
									   scan->goal, docs, &n);
		scan->goal = Min(scan->goal * 2, SKX_QUERY_BATCH);

		/*
		 * in the last step nothing else is read before these TIDs are needed
		 */
		if (n > 0 && scan->next >= scan->end)
			skx_segment_ask_tids(seg, docs, n);
		if (n > 0 && scan->opening.query->may_match_null)
			n = skx_segment_keep_null(seg, docs, n, false);
		if (n > 0)
			n = skx_segment_drop_deleted(seg, docs, n);
	}
	return n;
}

int
skx_query_scan_next(SkxQueryScan *scan, uint32 *docs)
{
	MemoryContext old = MemoryContextSwitchTo(scan->context);
	int			n = 0;

	if (scan->it == NULL)
		skx_query_scan_begin(scan, NULL);
	if (scan->at == scan->n)
		n = skx_query_scan_step(scan, docs);
	while (n < scan->want)
	{
		int			some;

		if (scan->docs == NULL)
			scan->docs = palloc(sizeof(uint32) * SKX_QUERY_DOCS);
		if (scan->at == scan->n)
		{
			scan->at = 0;
			scan->n = skx_query_scan_step(scan, scan->docs);
			if (scan->n == 0)
				break;
		}
		some = Min(scan->n - scan->at, SKX_QUERY_DOCS - n);
		memcpy(docs + n, scan->docs + scan->at, sizeof(uint32) * some);
		scan->at += some;
		n += some;
	}
	scan->want = Min(scan->want * SKX_SCAN_GROWTH, SKX_SCAN_MOST);
	MemoryContextSwitchTo(old);
	return n;
}

uint64
skx_query_scan_count(SkxQueryScan *scan)
{
	MemoryContext old = MemoryContextSwitchTo(scan->context);
	uint64		n;

	if (scan->it == NULL)
		skx_query_scan_begin(scan, NULL);
	n = skx_query_count(scan->it, scan->next, scan->end);
	scan->next = scan->end;
	MemoryContextSwitchTo(old);
	return n;
}

bool
skx_query_scan_counts(const SkxQueryScan *scan)
{
	const SkxSegment *seg = scan->opening.seg;

	return !scan->opening.query->may_match_null || seg->header.nnull == 0;
}

void
skx_query_scan_close(SkxQueryScan *scan)
{
	if (scan->it != NULL)
		skx_query_close(scan->it);
	MemoryContextDelete(scan->context);
}

/* Returns true if the text matches one of the queries. */
static bool
skx_query_matches_any(TSVector text, TSQuery *queries, int n)
{
	int			i;

	for (i = 0; i < n; i++)
		if (DatumGetBool(DirectFunctionCall2(ts_match_vq,
											 TSVectorGetDatum(text),
											 TSQueryGetDatum(queries[i]))))
			return true;
	return false;
}

/*
 * Returns true if a pending document meets a condition.  `text` is the
 * document without values if a query could find these, else the document
 * itself.
 */
static bool
skx_query_meets(const SkxCondition *c, TSVector document, TSVector text)
{
	int			i;
	int			k;

	if (c->kind == SKX_CONDITION_QUERIES)
		return skx_query_matches_any(text, c->queries, c->n);
	if (c->kind != SKX_CONDITION_DISJUNCTION)
		return skx_condition_meets(c, document);
	for (i = 0; i < c->narms; i++)
	{
		const SkxArm *arm = &c->arms[i];

		for (k = 0; k < arm->n; k++)
			if (!skx_query_meets(&arm->conditions[k], document, text))
				break;
		if (k == arm->n)
			return true;
	}
	return false;
}

/* Returns true if the condition may have queries, and so is tested last. */
static bool
skx_query_asks_text(const SkxCondition *c)
{
	return c->kind == SKX_CONDITION_QUERIES ||
		c->kind == SKX_CONDITION_DISJUNCTION;
}

bool
skx_query_matches(const SkxQuery *query, TSVector document)
{
	TSVector	text = document;
	bool		matches = true;
	int			i;

	if (query->root->kind == SKX_NODE_NONE)
		return false;
	if (!skx_query_takes_nulls(query) && skx_column_is_null(document))
		return false;
	for (i = 0; i < query->nconditions; i++)
		if (!skx_query_asks_text(&query->conditions[i]) &&
			!skx_condition_meets(&query->conditions[i], document))
			return false;
	/* the server's function must not find values as words */
	if (query->has_any_word)
		text = skx_document_without_values(document);
	for (i = 0; i < query->nqueries && matches; i++)
		matches = skx_query_matches_any(text, &query->queries[i], 1);
	for (i = 0; i < query->nconditions && matches; i++)
		if (skx_query_asks_text(&query->conditions[i]))
			matches = skx_query_meets(&query->conditions[i], document, text);
	if (text != document)
		pfree(text);
	return matches;
}
