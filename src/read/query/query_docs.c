/*
 * query_docs.c
 *	  The documents of a segment that match a query: in batches, by ranges, or
 *	  as a filter of others.
 *
 * Iterators move forward only.  For a range before the last one, they are
 * opened anew.  So a caller that goes backward takes many ranges at a time,
 * each time in ascending order.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "read/query/query_internal.h"
#include "support/fault/fault.h"
#include "utils/memutils.h"

/*
 * If perhaps only the first documents are wanted, batches grow by this factor,
 * from one document up to SKX_DOCS_BATCH_MAX.  A query for one row then does
 * not wait for more.  The rows of a query with few matches among many
 * documents are looked up together.
 */
#define SKX_DOCS_GROWTH		4
#define SKX_DOCS_BATCH_MAX		1024

/* Number of candidates of a step, approximately, if ranges are short. */
#define SKX_DOCS_STEP_CANDIDATES		256

/*
 * The largest number of lexemes that are looked up in several segments
 * together.
 */
#define SKX_DOCS_LEXEMES	1024

struct SkxDocs
{
	SkxOpening	opening;		/* terms: set by skx_query_docs_plan(); freed
								 * when the set begins, unless it may be
								 * opened again */
	SkxDocsUse	usage;
	SkxIter    *root;			/* NULL before it begins */
	SkxIter    *filter;			/* for skx_query_docs_filter(); NULL outside
								 * of it */
	uint32		reopen_below;	/* a range that begins below opens the
								 * iterators anew */
	uint32		range_from;		/* documents below are not wanted */
	uint32		collected_to;	/* documents below were collected */
	uint32		range_end;		/* the range ends here */
	int			step_candidates;	/* number of candidates of the next step,
									 * approximately */
	int			batch_docs;		/* number of documents that the next batch
								 * should have */
	int			next_returned;	/* documents before this one are handed out */
	int			n;
	uint32	   *docs;			/* capacity of SKX_QUERY_BATCH_DOCS; found by
								 * one step of `root` */
	MemoryContext context;		/* for the iterators */
};

SkxDocs *
skx_query_docs_open(SkxSegment *seg, const SkxQuery *query, SkxDocsUse use)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx query",
												  ALLOCSET_DEFAULT_SIZES);
	SkxDocs    *docs = MemoryContextAllocZero(context, sizeof(SkxDocs));

	docs->opening.seg = seg;
	docs->opening.query = query;
	docs->opening.wants_all = use == SKX_DOCS_ALL;
	docs->opening.reads = skx_segment_nloads();
	docs->usage = use;
	docs->context = context;
	docs->range_end = seg->header.ndocs;
	docs->step_candidates = use == SKX_DOCS_ALL ? SKX_WINDOW_DOCS :
		use == SKX_DOCS_RANGES ? SKX_DOCS_STEP_CANDIDATES : 1;
	docs->batch_docs = use == SKX_DOCS_ALL ? SKX_DOCS_BATCH_MAX : 1;
	return docs;
}

void
skx_query_docs_close(SkxDocs *docs)
{
	if (docs->root != NULL)
		skx_query_close(docs->root);
	skx_query_docs_filter_end(docs);
	MemoryContextDelete(docs->context);
}

void
skx_query_docs_plan(SkxDocs **docs, int n)
{
	const SkxQuery *query = docs[0]->opening.query;
	Size		size = sizeof(SkxTerm) * (query->nlexemes + (Size) 1);
	SkxSegment **segs;
	SkxTerm   **terms;
	int			i;

	/* Very many terms would take much memory, so each set plans alone. */
	if (n > 1 && query->nlexemes > SKX_DOCS_LEXEMES)
		return;
	segs = palloc(sizeof(SkxSegment *) * n);
	terms = palloc(sizeof(SkxTerm *) * n);
	for (i = 0; i < n; i++)
	{
		segs[i] = docs[i]->opening.seg;
		terms[i] = MemoryContextAllocHuge(docs[i]->context, size);
		docs[i]->opening.terms = terms[i];
	}
	skx_segment_find_all(segs, n, query->lexemes, query->nlexemes, terms);
	for (i = 0; i < n; i++)
		if (docs[i]->usage != SKX_DOCS_RANGES)
			skx_query_prefetch_first(&docs[i]->opening, n == 1);
	pfree(segs);
	pfree(terms);
}

/*
 * Opens the iterators at the first document.  If `unsettled` (see SkxOpening)
 * is set to true, they are opened again later, with the same terms.
 */
static void
skx_docs_open_iterators(SkxDocs *docs, bool *unsettled)
{
	if (docs->opening.terms == NULL)
		skx_query_docs_plan(&docs, 1);
	docs->opening.may_use_values = unsettled;
	docs->root = skx_query_open(&docs->opening);
	docs->opening.may_use_values = NULL;
	if (unsettled != NULL && *unsettled)
		return;
	if (docs->opening.keeps_terms || docs->usage == SKX_DOCS_RANGES)
		return;
	pfree(docs->opening.terms);
	docs->opening.terms = NULL;
}

/* Returns the iterators; opens them if they are not open yet. */
static const SkxIter *
skx_docs_iterators(SkxDocs *docs)
{
	MemoryContext old = MemoryContextSwitchTo(docs->context);

	if (docs->root == NULL)
		skx_docs_open_iterators(docs, NULL);
	MemoryContextSwitchTo(old);
	return docs->root;
}

void
skx_query_docs_range(SkxDocs *docs, uint32 from, uint32 to)
{
	Assert(to <= docs->opening.seg->header.ndocs);
	Assert(docs->usage == SKX_DOCS_RANGES ||
		   (docs->next_returned == docs->n && from % SKX_WINDOW_DOCS == 0));
	if (docs->root != NULL && from < docs->reopen_below)
	{
		skx_query_close(docs->root);
		docs->root = NULL;
		docs->collected_to = 0;
		docs->next_returned = docs->n = 0;
	}
	docs->reopen_below = docs->range_from = from;
	docs->range_end = to;
}

/*
 * Returns the document at which a step stops.  If ranges are short, a query
 * that reads positions stops near the end of the range, so that it reads none
 * for documents that are not needed.  A limit is at the end of a window
 * (query_iter.c).
 */
static uint32
skx_docs_step_limit(const SkxDocs *docs)
{
	uint32		ndocs = docs->opening.seg->header.ndocs;

	if (docs->usage != SKX_DOCS_RANGES)
		return docs->range_end;
	if (docs->root->reads_no_positions || docs->range_end >= ndocs)
		return ndocs;
	return Min(ndocs, Max(TYPEALIGN(64, docs->range_end), SKX_WINDOW_DOCS));
}

int
skx_query_docs_filter_live(const SkxDocs *docs, uint32 *list, int n)
{
	SkxSegment *seg = docs->opening.seg;

	if (n > 0 && docs->opening.query->may_match_null)
		n = skx_segment_filter_null(seg, list, n, false);
	return n > 0 ? skx_segment_drop_deleted(seg, list, n) : 0;
}

/*
 * Collects the next matches, and returns how many; 0 at the end of the range.
 * With SKX_DOCS_RANGES some may be behind the range, and the caller still has
 * to filter them (skx_query_docs_filter_live()).  Otherwise all are live.
 */
static int
skx_docs_collect_step(SkxDocs *docs, uint32 *list)
{
	bool		ahead = docs->usage == SKX_DOCS_RANGES;
	int			n = 0;

	docs->collected_to = Max(docs->collected_to, docs->range_from);
	while (n == 0 && docs->collected_to < docs->range_end)
	{
		CHECK_FOR_INTERRUPTS();
		docs->collected_to = skx_query_collect(docs->root, docs->collected_to,
											   skx_docs_step_limit(docs),
											   docs->step_candidates, list,
											   &n);
		if (ahead)
			continue;
		docs->step_candidates = Min(docs->step_candidates * 2,
									SKX_WINDOW_DOCS);

		/*
		 * in the last step nothing else is read before these TIDs are needed
		 */
		if (n > 0 && docs->collected_to >= docs->range_end)
			skx_segment_prefetch_tids(docs->opening.seg, list, n);
		n = skx_query_docs_filter_live(docs, list, n);
	}
	return n;
}

/*
 * Takes collected matches of the range, at most `most`.  Returns how many live
 * ones there are among them.
 */
static int
skx_docs_take_collected(SkxDocs *docs, uint32 *list, int most)
{
	int			n = 0;

	while (n < most && docs->next_returned < docs->n &&
		   docs->docs[docs->next_returned] < docs->range_end)
		list[n++] = docs->docs[docs->next_returned++];
	if (docs->usage == SKX_DOCS_RANGES)
		n = skx_query_docs_filter_live(docs, list, n);
	return n;
}

/*
 * Makes sure that a match of the range has been collected and not yet taken.
 * Returns false if there is none left.
 */
static bool
skx_docs_has_more(SkxDocs *docs)
{
	if (docs->docs == NULL)
		docs->docs = palloc(sizeof(uint32) * SKX_QUERY_BATCH_DOCS);
	while (docs->next_returned < docs->n &&
		   docs->docs[docs->next_returned] < docs->range_from)
		docs->next_returned++;
	if (docs->next_returned == docs->n)
	{
		docs->next_returned = 0;
		docs->n = skx_docs_collect_step(docs, docs->docs);
	}
	return docs->next_returned < docs->n &&
		docs->docs[docs->next_returned] < docs->range_end;
}

/* Breaks the contract of a batch of n > 0 documents, if a test wants that. */
static void
skx_docs_break_contract(const SkxDocs *docs, uint32 *list, int n)
{
	if (n > 1 && skx_fault_breaks_contract(SKX_CONTRACT_DOCS_ASCEND))
		list[0] = list[1];
	if (docs->reopen_below > 0 &&
		skx_fault_breaks_contract(SKX_CONTRACT_DOCS_ONCE))
		list[0] = docs->reopen_below - 1;
	if (skx_fault_breaks_contract(SKX_CONTRACT_DOCS_RANGE))
		list[n - 1] = docs->range_end;
}

int
skx_query_docs_next(SkxDocs *docs, uint32 *list)
{
	MemoryContext old = MemoryContextSwitchTo(docs->context);
	int			n = 0;

	if (docs->root == NULL)
		skx_docs_open_iterators(docs, NULL);
	if (docs->usage != SKX_DOCS_RANGES && docs->next_returned == docs->n)
		n = skx_docs_collect_step(docs, list);
	while (n < docs->batch_docs && skx_docs_has_more(docs))
		n += skx_docs_take_collected(docs, list + n, SKX_QUERY_BATCH_DOCS - n);
	if (docs->usage == SKX_DOCS_FIRST)
		docs->batch_docs = Min(docs->batch_docs * SKX_DOCS_GROWTH,
							   SKX_DOCS_BATCH_MAX);
	if (n > 0)
	{
		skx_docs_break_contract(docs, list, n);
		docs->reopen_below = list[n - 1] + 1;
	}
	MemoryContextSwitchTo(old);
	return n;
}

uint64
skx_query_docs_count(SkxDocs *docs)
{
	MemoryContext old = MemoryContextSwitchTo(docs->context);
	uint64		n;

	if (docs->root == NULL)
		skx_docs_open_iterators(docs, NULL);
	docs->collected_to = Max(docs->collected_to, docs->range_from);
	n = skx_query_count(docs->root, docs->collected_to, docs->range_end);
	docs->collected_to = docs->range_end;
	MemoryContextSwitchTo(old);
	return n;
}

bool
skx_query_docs_can_count(const SkxDocs *docs)
{
	return !docs->opening.query->may_match_null ||
		docs->opening.seg->header.nnull == 0;
}

uint32
skx_query_docs_cost(SkxDocs *docs)
{
	return skx_docs_iterators(docs)->max_docs;
}

double
skx_query_docs_likely(SkxDocs *docs)
{
	return skx_query_likely(skx_docs_iterators(docs));
}

/*
 * Lists of values are not gone through for an estimate.  They may be many, and
 * the set may not be chosen.
 */
uint32
skx_query_docs_npostings(SkxDocs *docs, double *likely)
{
	MemoryContext old = MemoryContextSwitchTo(docs->context);
	bool		unsettled = false;
	uint32		steps;

	if (docs->root == NULL)
		skx_docs_open_iterators(docs, &unsettled);
	steps = docs->root->npostings;
	if (likely != NULL)
		*likely = skx_query_likely(docs->root);
	if (unsettled)
	{
		skx_query_close(docs->root);
		docs->root = NULL;
	}
	MemoryContextSwitchTo(old);
	return steps;
}

double
skx_query_docs_find_time(SkxDocs *docs)
{
	return skx_query_find_time(skx_docs_iterators(docs));
}

double
skx_query_docs_filter_time(SkxDocs *docs, double candidates)
{
	return skx_query_filter_time(skx_docs_iterators(docs), candidates);
}

static bool
skx_docs_iter_gathers(const SkxIter *it)
{
	int			i;

	check_stack_depth();
	if (it->bitmap != NULL || it->nchildren > SKX_GATHER_CLAUSES)
		return true;
	for (i = 0; i < it->nchildren; i++)
		if (skx_docs_iter_gathers(it->children[i]))
			return true;
	return false;
}

bool
skx_query_docs_gathers_lists(SkxDocs *docs)
{
	return skx_docs_iter_gathers(skx_docs_iterators(docs));
}

void
skx_query_docs_filter_begin(SkxDocs *docs, uint32 candidates)
{
	MemoryContext old = MemoryContextSwitchTo(docs->context);

	skx_query_docs_filter_end(docs);
	if (docs->opening.terms == NULL)
		skx_query_docs_plan(&docs, 1);
	docs->filter = skx_query_open_filter(&docs->opening, candidates);
	MemoryContextSwitchTo(old);
}

void
skx_query_docs_filter_end(SkxDocs *docs)
{
	if (docs->filter != NULL)
		skx_query_close(docs->filter);
	docs->filter = NULL;
}

SkxDocs *
skx_query_docs_open_filter(SkxSegment *seg, const SkxQuery *query,
						   SkxTerm *terms)
{
	SkxDocs    *docs = skx_query_docs_open(seg, query, SKX_DOCS_RANGES);
	MemoryContext old = MemoryContextSwitchTo(docs->context);

	docs->opening.terms = terms;
	docs->opening.is_filter = true;
	docs->filter = skx_query_open(&docs->opening);
	MemoryContextSwitchTo(old);
	return docs;
}

int
skx_query_docs_filter(SkxDocs *docs, uint32 *list, int n)
{
	MemoryContext old = MemoryContextSwitchTo(docs->context);

	n = skx_query_filter(docs->filter, list, n);
	MemoryContextSwitchTo(old);
	return n;
}

bool
skx_query_docs_filter_is_cheap(const SkxDocs *docs)
{
	return docs->filter->reads_no_positions;
}

static uint32
skx_docs_bound(const SkxIter *it, uint32 doc)
{
	int			i;

	check_stack_depth();
	if (it->kind == SKX_NODE_KEYS)
		return skx_segment_keys_next_candidate(it->keys, &it->key_range, doc);
	if (it->kind == SKX_NODE_AND)
		for (i = 0; i < it->npositive && doc != SKX_NO_DOC; i++)
			doc = skx_docs_bound(it->children[i], doc);
	return doc;
}

uint32
skx_query_docs_filter_bound(const SkxDocs *docs, uint32 doc)
{
	return skx_docs_bound(docs->filter, doc);
}
