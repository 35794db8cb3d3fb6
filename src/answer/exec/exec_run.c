/*
 * exec_run.c
 *	  Executes a request: goes through segments, or the ranges of them that
 *	  this process takes, and then through pending documents.
 */
#include "postgres.h"

#include "answer/exec/exec.h"
#include "miscadmin.h"

/* Number of segments that are opened together if all matches are wanted. */
#define SKX_EXEC_SEGMENTS	8

typedef enum SkxExecState
{
	SKX_EXEC_RANGES,
	SKX_EXEC_PENDING,
	SKX_EXEC_ENDED
} SkxExecState;

struct SkxExec
{
	const SkxRequest *request;
	SkxCollector *collector;
	MemoryContext context;
	SkxSource  *source;
	bool		shared;			/* other processes take part */
	int		   *order;			/* order of the segments, which are all open;
								 * NULL: each is opened when it is due */
	int			next;			/* number of the next segment */
	SkxExecState state;
	SkxExecRange ranges[SKX_EXEC_SEGMENTS]; /* ranges of the segments that are
											 * open */
	int			nranges;
	int			at;				/* index of the current range */
	bool		begun;			/* the current range has been begun */
	bool		collects;		/* the collector takes its matches */
	bool		enough;			/* it has enough of the current segment; with
								 * other processes, of the current range */
	uint32	   *docs;			/* batch of matches; NULL: not allocated yet */

	/* with other processes, when at most one segment is read at a time */
	SkxShareReader reader;
	uint64		nparts;			/* parts that this process has taken */
	int			segment;		/* number of the segment whose matches are
								 * open; -1: none */
};

const SkxView *
skx_exec_view(Relation index, SkxShare *share)
{
	if (share != NULL)
		return skx_exec_share_view(share, index, NULL);
	return skx_manifest_view_bound(index);
}

/* Checks that the order of a collector has each of the n segments once. */
static void
skx_exec_check_order(const int *order, int n)
{
#ifdef USE_ASSERT_CHECKING
	Bitmapset  *seen = NULL;
	int			i;

	for (i = 0; i < n; i++)
	{
		Assert(order[i] >= 0 && order[i] < n &&
			   !bms_is_member(order[i], seen));
		seen = bms_add_member(seen, order[i]);
	}
	bms_free(seen);
#endif
}

/* Opens all segments, in the order that the collector chooses. */
static void
skx_exec_order(SkxExec *exec)
{
	SkxSource  *source = exec->source;
	int			n = skx_snapshot_next(source, SKX_SOURCE_ALL);

	exec->order = palloc(sizeof(int) * ((Size) n + 1));
	exec->collector->methods->order(exec->collector, source->segments, n,
									exec->order);
	skx_exec_check_order(exec->order, n);
}

/* Returns the number of documents of each segment, by their numbers. */
static uint32 *
skx_exec_ndocs(const SkxExec *exec)
{
	const SkxView *view = exec->request->view;
	uint32	   *ndocs = palloc(sizeof(uint32) * ((Size) view->nsegments + 1));
	int			i;

	for (i = 0; i < view->nsegments; i++)
	{
		int			at = exec->order == NULL ? i : exec->order[i];

		ndocs[i] = view->segments[at].ndocs;
	}
	return ndocs;
}

SkxExec *
skx_exec_begin(const SkxRequest *request, SkxCollector *collector)
{
	SkxExec    *exec = palloc0(sizeof(SkxExec));

	Assert(collector->methods->pending != NULL);
	Assert(collector->methods->answer == NULL ||
		   collector->methods->range == NULL);
	exec->request = request;
	exec->collector = collector;
	exec->context = CurrentMemoryContext;
	exec->source = skx_snapshot_open(request->index, request->view);
	exec->segment = -1;
	exec->shared = request->share != NULL;
	if (collector->methods->order != NULL)
		skx_exec_order(exec);
	if (exec->shared)
		skx_exec_share_begin(&exec->reader, request->share,
							 skx_exec_ndocs(exec), request->view->nsegments,
							 collector->parts);
	return exec;
}

/*
 * Opens the matches of a range.  A range that the collector chooses may begin
 * and end at any document.
 */
static void
skx_exec_open_matches(SkxExec *exec, SkxExecRange *range)
{
	SkxDocsUse	use = SKX_DOCS_SOME;

	if (exec->collector->methods->range != NULL)
		use = SKX_DOCS_RANGES;
	else if (exec->collector->wants_all || exec->shared)
		use = SKX_DOCS_ALL;
	range->matches = skx_query_docs_open(range->segment, exec->request->query,
										 use);
	range->next = range->from;
	if (exec->shared || use == SKX_DOCS_RANGES)
		skx_query_docs_range(range->matches, range->from, range->to);
}

/*
 * Sets *range, and its matches if they are open, to the next documents of its
 * segment that are wanted.  Returns false if there are none.
 */
static bool
skx_exec_next_range(SkxExec *exec, SkxExecRange *range)
{
	uint32		before = range->to;

	if (exec->collector->methods->range == NULL)
	{
		range->to = range->segment->header.ndocs;
		return before < range->to;
	}
	if (!exec->collector->methods->range(exec->collector, range->segment,
										 &range->from, &range->to))
		return false;
	Assert(range->from >= before && range->from < range->to &&
		   range->to <= range->segment->header.ndocs);
	range->next = range->from;
	if (range->matches != NULL)
		skx_query_docs_range(range->matches, range->from, range->to);
	return true;
}

/* Returns true if the collector has answered the range itself. */
static bool
skx_exec_answers(SkxExec *exec, const SkxExecRange *range)
{
	const SkxCollectorMethods *methods = exec->collector->methods;

	if (methods->answer == NULL || !methods->answer(exec->collector, range))
		return false;
	skx_segment_relax(range->segment);
	return true;
}

/* Ends the current segment, or what this process reads of it. */
static void
skx_exec_leave(SkxExec *exec, SkxExecRange *range)
{
	skx_query_docs_close(range->matches);
	if (exec->collector->methods->leave != NULL)
		exec->collector->methods->leave(exec->collector, range->segment);
	skx_segment_relax(range->segment);
}

/*
 * Chooses the next segments, which are read together.  Returns their number.
 */
static int
skx_exec_next_segments(SkxExec *exec, SkxSegment **segments)
{
	SkxSource  *source = exec->source;
	int			n;

	if (exec->order == NULL)
	{
		n = skx_snapshot_next(source, exec->collector->wants_all ?
							  SKX_EXEC_SEGMENTS : 1);
		memcpy(segments, source->segments, sizeof(SkxSegment *) * n);
		return n;
	}
	if (exec->next == source->nsegments)
		return 0;
	segments[0] = source->segments[exec->order[exec->next]];
	return 1;
}

/*
 * Opens the next segments.  If all matches will be read, opens several, so
 * that their pages are read together.  Returns false if there are none.
 */
static bool
skx_exec_open_segments(SkxExec *exec)
{
	SkxSegment *segments[SKX_EXEC_SEGMENTS];
	SkxDocs    *matches[SKX_EXEC_SEGMENTS];
	int			n = skx_exec_next_segments(exec, segments);
	int			i;

	exec->nranges = exec->at = 0;
	for (i = 0; i < n; i++)
	{
		SkxExecRange *range = &exec->ranges[exec->nranges];

		range->segment = segments[i];
		range->number = exec->next++;
		range->from = range->to = 0;
		range->matches = NULL;
		if (!skx_exec_next_range(exec, range) ||
			skx_exec_answers(exec, range))
			continue;
		skx_exec_open_matches(exec, range);
		matches[exec->nranges++] = range->matches;
	}
	if (exec->nranges > 0 && exec->collector->methods->range == NULL)
		skx_query_docs_plan(matches, exec->nranges);
	return n > 0;
}

/* Returns the segment of a part. */
static SkxSegment *
skx_exec_segment(SkxExec *exec, int number)
{
	if (exec->order != NULL)
		return exec->source->segments[exec->order[number]];
	return skx_snapshot_at(exec->source, number);
}

/* Moves to a part of a segment, which may be open already. */
static void
skx_exec_open_part(SkxExec *exec, const SkxSharePart *part)
{
	SkxExecRange *range = &exec->ranges[0];

	exec->nranges = exec->at = 0;
	range->from = range->next = part->from;
	range->to = part->to;
	range->number = part->segment;
	if (exec->segment < 0)
		range->segment = skx_exec_segment(exec, part->segment);
	if (skx_exec_answers(exec, range))
		return;
	if (exec->segment < 0)
		skx_exec_open_matches(exec, range);
	else
		skx_query_docs_range(range->matches, part->from, part->to);
	exec->segment = part->segment;
	exec->nranges = 1;
}

/*
 * Takes the next part, of a segment or of the pending documents.  Returns
 * false if none is left.
 */
static bool
skx_exec_take(SkxExec *exec)
{
	SkxSharePart part;
	bool		taken = skx_exec_share_take(&exec->reader, &part);

	if (exec->segment >= 0 && (!taken || part.segment != exec->segment))
	{
		skx_exec_leave(exec, &exec->ranges[0]);
		exec->segment = -1;
	}
	if (!taken)
		return false;
	exec->nparts++;
	if (part.segment >= 0)
		skx_exec_open_part(exec, &part);
	else
		exec->state = SKX_EXEC_PENDING;
	return true;
}

/* Returns true if the collector has freed capacity. */
static bool
skx_exec_drains(SkxExec *exec)
{
	const SkxCollectorMethods *methods = exec->collector->methods;

	return methods->drain != NULL && methods->drain(exec->collector);
}

/*
 * Reads the next matches of a range.  Returns their number, or 0 if there are
 * no more.
 */
static int
skx_exec_next_matches(SkxExecRange *range, uint32 *docs)
{
	int			n = skx_query_docs_next(range->matches, docs);

	skx_query_docs_check(docs, n, range->next, range->to);
	if (n > 0)
		range->next = docs[n - 1] + 1;
	return n;
}

/*
 * Hands the matches of a range to the collector.  Returns false if it is full.
 */
static bool
skx_exec_collect(SkxExec *exec, SkxExecRange *range)
{
	SkxCollector *collector = exec->collector;
	int			n;

	if (exec->docs == NULL)
		exec->docs = palloc(sizeof(uint32) * SKX_QUERY_DOCS);
	while (!exec->enough &&
		   (n = skx_exec_next_matches(range, exec->docs)) > 0)
	{
		SkxCollected said;

		CHECK_FOR_INTERRUPTS();
		said = collector->methods->collect(collector, range, exec->docs, n);
		exec->enough = said == SKX_COLLECT_ENOUGH;
		if (said == SKX_COLLECT_FULL && !skx_exec_drains(exec))
			return false;
	}
	return true;
}

/* Processes the current range.  Returns false if the collector is full. */
static bool
skx_exec_range(SkxExec *exec)
{
	SkxCollector *collector = exec->collector;
	SkxExecRange *range = &exec->ranges[exec->at];
	bool		again;

	if (!exec->begun)
	{
		exec->begun = true;
		exec->collects = collector->methods->begin == NULL ||
			collector->methods->begin(collector, range);
	}
	if (exec->collects && !skx_exec_collect(exec, range))
		return false;
	exec->begun = false;
	again = collector->methods->end != NULL &&
		!collector->methods->end(collector, range);
	if (again)
	{
		skx_query_docs_close(range->matches);
		skx_exec_open_matches(exec, range);
	}
	else if (exec->shared)
		exec->at++;
	else if (exec->enough || !skx_exec_next_range(exec, range))
	{
		exec->at++;
		skx_exec_leave(exec, range);
	}
	exec->enough = false;
	return true;
}

static bool
skx_exec_document(const SkxPendingDoc *doc, void *arg)
{
	SkxExec    *exec = arg;

	const SkxCollectorMethods *methods = exec->collector->methods;
	const SkxQuery *query = exec->request->query;

	return doc->dead ||
		(methods->wants != NULL && !methods->wants(exec->collector, doc)) ||
		(query != NULL && !skx_query_matches(query, doc->value)) ||
		methods->pending(exec->collector, doc);
}

/*
 * Begins the pending documents.  Returns false if the collector wants none of
 * them.
 */
static bool
skx_exec_enter(SkxExec *exec)
{
	const SkxCollectorMethods *methods = exec->collector->methods;
	const SkxPendingBounds *bounds = NULL;

	if (methods->enter == NULL)
		return true;
	if (!methods->enter(exec->collector, &bounds))
		return false;
	skx_snapshot_only(exec->source, bounds);
	return true;
}

/* Processes the pending documents.  Returns false if the collector is full. */
static bool
skx_exec_pending(SkxExec *exec)
{
	if (!exec->begun)
		exec->begun = exec->collects = skx_exec_enter(exec);
	while (exec->collects &&
		   skx_snapshot_pending(exec->source, exec->request->last,
								skx_exec_document, exec))
	{
		if (!skx_exec_drains(exec))
			return false;
	}
	exec->begun = false;
	exec->state = exec->shared ? SKX_EXEC_RANGES : SKX_EXEC_ENDED;
	(void) skx_exec_drains(exec);
	return true;
}

/* Moves to the next segments or the next part, or past the last of these. */
static void
skx_exec_go_on(SkxExec *exec)
{
	if (exec->shared)
	{
		if (!skx_exec_take(exec))
			exec->state = SKX_EXEC_ENDED;
	}
	else if (!skx_exec_open_segments(exec))
		exec->state = SKX_EXEC_PENDING;
}

/* Takes one step.  Returns false if the collector is full. */
static bool
skx_exec_step(SkxExec *exec)
{
	if (exec->state == SKX_EXEC_PENDING)
		return skx_exec_pending(exec);
	if (exec->at < exec->nranges)
		return skx_exec_range(exec);
	skx_exec_go_on(exec);
	return true;
}

bool
skx_exec_next(SkxExec *exec)
{
	MemoryContext old = MemoryContextSwitchTo(exec->context);
	bool		full = false;

	while (!full && exec->state != SKX_EXEC_ENDED)
		full = !skx_exec_step(exec);
	MemoryContextSwitchTo(old);
	return full;
}

bool
skx_exec_is_last(SkxExec *exec)
{
	Assert(exec->state == SKX_EXEC_ENDED);
	return !exec->shared ||
		skx_exec_share_done(&exec->reader, exec->nparts);
}

void
skx_exec_wait(SkxExec *exec)
{
	if (exec->shared)
		skx_exec_share_wait(&exec->reader);
}

void
skx_exec_again(SkxExec *exec)
{
	Assert(exec->order != NULL && exec->segment < 0 &&
		   (exec->state == SKX_EXEC_ENDED || exec->next == 0));
	exec->shared = false;
	exec->state = SKX_EXEC_RANGES;
	exec->next = exec->nranges = exec->at = 0;
}

void
skx_exec_end(SkxExec *exec)
{
	if (exec->segment >= 0)
		skx_query_docs_close(exec->ranges[0].matches);
	else
	{
		for (; exec->at < exec->nranges; exec->at++)
			skx_query_docs_close(exec->ranges[exec->at].matches);
	}
	skx_snapshot_close(exec->source);
	if (exec->docs != NULL)
		pfree(exec->docs);
	pfree(exec);
}
