/*
 * query_visit.c
 *	  The matches in ranges of a segment's documents, visited in any order.
 *
 * Iterators move forward only.  For a range before the last one, they are
 * opened anew.  So a caller that goes backward takes many ranges at a time,
 * each time in ascending order.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "read/query/query_internal.h"
#include "utils/memutils.h"

/* The number of candidates that are collected in a step, approximately. */
#define SKX_VISIT_GOAL		256

struct SkxQueryVisit
{
	SkxOpening	opening;
	SkxIter    *it;				/* NULL before it begins */
	SkxIter    *asked;			/* for skx_query_ask(); NULL outside of it */
	uint32		low;			/* a range that begins below opens the
								 * iterators anew */
	uint32		next;			/* documents below were collected */
	int			at;				/* documents before this one are handed out */
	int			n;
	uint32	   *docs;			/* capacity of SKX_QUERY_DOCS */
	MemoryContext context;
};

SkxQueryVisit *
skx_query_visit_open(SkxSegment *seg, const SkxQuery *query)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx query",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxQueryVisit *visit = palloc0(sizeof(SkxQueryVisit));

	visit->context = context;
	visit->opening.seg = seg;
	visit->opening.query = query;
	visit->opening.reads = skx_segment_reads();
	visit->opening.terms = MemoryContextAllocHuge(context, sizeof(SkxTerm) *
												  (query->nlexemes + (Size) 1));
	visit->docs = palloc(sizeof(uint32) * SKX_QUERY_DOCS);
	skx_segment_find_all(&seg, 1, query->lexemes, query->nlexemes,
						 &visit->opening.terms);
	MemoryContextSwitchTo(old);
	return visit;
}

void
skx_query_visit_close(SkxQueryVisit *visit)
{
	if (visit->it != NULL)
		skx_query_close(visit->it);
	skx_query_ask_end(visit);
	MemoryContextDelete(visit->context);
}

/* Opens the iterators anew, at the first document. */
static void
skx_visit_restart(SkxQueryVisit *visit)
{
	if (visit->it != NULL)
		skx_query_close(visit->it);
	visit->it = skx_query_open(&visit->opening);
	visit->low = visit->next = 0;
	visit->at = visit->n = 0;
}

/* Returns the iterators, at any document; opens them if they are not open. */
static const SkxIter *
skx_visit_begun(SkxQueryVisit *visit)
{
	MemoryContext old = MemoryContextSwitchTo(visit->context);

	if (visit->it == NULL)
		skx_visit_restart(visit);
	MemoryContextSwitchTo(old);
	return visit->it;
}

uint32
skx_query_visit_cost(SkxQueryVisit *visit)
{
	return skx_visit_begun(visit)->cost;
}

double
skx_query_visit_likely(SkxQueryVisit *visit)
{
	return skx_query_likely(skx_visit_begun(visit));
}

static bool
skx_visit_iter_gathers(const SkxIter *it)
{
	int			i;

	check_stack_depth();
	if (it->range != NULL || it->nchildren > SKX_GATHER_CLAUSES)
		return true;
	for (i = 0; i < it->nchildren; i++)
		if (skx_visit_iter_gathers(it->children[i]))
			return true;
	return false;
}

bool
skx_query_visit_gathers(SkxQueryVisit *visit)
{
	return skx_visit_iter_gathers(skx_visit_begun(visit));
}

/*
 * Keeps the documents that are live and, if the query requires that, whose
 * text is not NULL.  Returns how many.
 */
static int
skx_visit_keep(SkxQueryVisit *visit, uint32 *docs, int n)
{
	SkxSegment *seg = visit->opening.seg;

	if (n > 0 && visit->opening.query->may_match_null)
		n = skx_segment_keep_null(seg, docs, n, false);
	return n > 0 ? skx_segment_drop_deleted(seg, docs, n) : 0;
}

/*
 * Takes the collected documents below `to`, and keeps the live matches among
 * them; returns how many.
 */
static int
skx_visit_take(SkxQueryVisit *visit, uint32 to, uint32 *docs)
{
	int			n = 0;

	while (visit->at < visit->n && visit->docs[visit->at] < to)
		docs[n++] = visit->docs[visit->at++];
	n = skx_visit_keep(visit, docs, n);
	if (n > 0)
		visit->low = docs[n - 1] + 1;
	return n;
}

/*
 * Returns the document at which collecting stops.  A query that reads
 * positions stops near `to`, so that it reads none for documents that are not
 * needed.  A limit is at the end of a window (query_iter.c).
 */
static uint32
skx_visit_limit(const SkxQueryVisit *visit, uint32 to)
{
	uint32		ndocs = visit->opening.seg->header.ndocs;

	if (visit->it->cheap || to >= ndocs)
		return ndocs;
	return Min(ndocs, Max(TYPEALIGN(64, to), SKX_QUERY_BATCH));
}

int
skx_query_visit(SkxQueryVisit *visit, uint32 from, uint32 to, uint32 *docs)
{
	MemoryContext old = MemoryContextSwitchTo(visit->context);
	int			n = 0;

	if (visit->it == NULL || from < visit->low)
		skx_visit_restart(visit);
	visit->low = from;
	while (n == 0)
	{
		CHECK_FOR_INTERRUPTS();
		while (visit->at < visit->n && visit->docs[visit->at] < from)
			visit->at++;
		if (visit->at < visit->n)
		{
			if (visit->docs[visit->at] >= to)
				break;
			n = skx_visit_take(visit, to, docs);
			continue;
		}
		visit->next = Max(visit->next, from);
		if (visit->next >= to)
			break;
		visit->at = 0;
		visit->next = skx_query_collect(visit->it, visit->next,
										skx_visit_limit(visit, to),
										SKX_VISIT_GOAL, visit->docs,
										&visit->n);
	}
	MemoryContextSwitchTo(old);
	return n;
}

void
skx_query_ask_end(SkxQueryVisit *visit)
{
	if (visit->asked != NULL)
		skx_query_close(visit->asked);
	visit->asked = NULL;
}

void
skx_query_ask_begin(SkxQueryVisit *visit, uint32 candidates)
{
	MemoryContext old = MemoryContextSwitchTo(visit->context);

	skx_query_ask_end(visit);
	visit->asked = skx_query_open_asked(&visit->opening, candidates);
	MemoryContextSwitchTo(old);
}

int
skx_query_ask(SkxQueryVisit *visit, uint32 *docs, int n)
{
	MemoryContext old = MemoryContextSwitchTo(visit->context);

	n = skx_query_filter(visit->asked, docs, n);
	n = skx_visit_keep(visit, docs, n);
	MemoryContextSwitchTo(old);
	return n;
}

double
skx_query_visit_work(SkxQueryVisit *visit)
{
	return skx_query_work(skx_visit_begun(visit));
}

double
skx_query_visit_asked(SkxQueryVisit *visit, double docs)
{
	return skx_query_work_asked(skx_visit_begun(visit), docs);
}
