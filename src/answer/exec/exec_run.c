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
	SkxSnapshotReader *source;
	bool		is_shared;		/* other processes take part */
	int		   *segment_order;	/* order of the segments, which are all open;
								 * NULL: each is opened when it is due */
	int			next_segment;	/* number of the next segment */
	SkxExecState state;
	SkxExecRange ranges[SKX_EXEC_SEGMENTS]; /* ranges of the segments that are
											 * open */
	int			nranges;
	int			current_range;	/* index of the current range */
	bool		range_begun;	/* the current range has been begun */
	bool		collects_range; /* the collector takes its matches */
	bool		has_enough;		/* it has enough of the current segment; with
								 * other processes, of the current range */
	uint32	   *docs;			/* batch of matches; NULL: not allocated yet */

	/* with other processes, when at most one segment is read at a time */
	SkxExecPartReader reader;
	uint64		nparts;			/* parts that this process has taken */
	int			segment;		/* number of the segment whose matches are
								 * open; -1: none */
};

const SkxView *
skx_exec_view(Relation index, SkxExecShared *share)
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
	SkxSnapshotReader *source = exec->source;
	int			n = skx_snapshot_next_segments(source,
											   SKX_SNAPSHOT_ALL_SEGMENTS);

	exec->segment_order = palloc(sizeof(int) * ((Size) n + 1));
	exec->collector->methods->order_segments(exec->collector, source->segments,
											 n, exec->segment_order);
	skx_exec_check_order(exec->segment_order, n);
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
		int			at = exec->segment_order == NULL ? i :
			exec->segment_order[i];

		ndocs[i] = view->segments[at].ndocs;
	}
	return ndocs;
}

SkxExec *
skx_exec_begin(const SkxRequest *request, SkxCollector *collector)
{
	SkxExec    *exec = palloc0(sizeof(SkxExec));

	Assert(collector->methods->collect_pending != NULL);
	Assert(collector->methods->answer_range == NULL ||
		   collector->methods->choose_range == NULL);
	exec->request = request;
	exec->collector = collector;
	exec->context = CurrentMemoryContext;
	exec->source = skx_snapshot_open(request->index, request->view);
	exec->segment = -1;
	exec->is_shared = request->share != NULL;
	if (collector->methods->order_segments != NULL)
		skx_exec_order(exec);
	if (exec->is_shared)
		skx_exec_share_begin(&exec->reader, request->share,
							 skx_exec_ndocs(exec), request->view->nsegments,
							 collector->max_parts);
	return exec;
}

/*
 * Opens the matches of a range.  A range that the collector chooses may begin
 * and end at any document.
 */
static void
skx_exec_open_matches(SkxExec *exec, SkxExecRange *range)
{
	SkxDocsUse	use = SKX_DOCS_FIRST;

	if (exec->collector->methods->choose_range != NULL)
		use = SKX_DOCS_RANGES;
	else if (exec->collector->wants_all || exec->is_shared)
		use = SKX_DOCS_ALL;
	range->matches = skx_query_docs_open(range->segment, exec->request->query,
										 use);
	range->next_doc = range->from;
	if (exec->is_shared || use == SKX_DOCS_RANGES)
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

	if (exec->collector->methods->choose_range == NULL)
	{
		range->to = range->segment->header.ndocs;
		return before < range->to;
	}
	if (!exec->collector->methods->choose_range(exec->collector,
												range->segment, &range->from,
												&range->to))
		return false;
	Assert(range->from >= before && range->from < range->to &&
		   range->to <= range->segment->header.ndocs);
	range->next_doc = range->from;
	if (range->matches != NULL)
		skx_query_docs_range(range->matches, range->from, range->to);
	return true;
}

/* Returns true if the collector has answered the range itself. */
static bool
skx_exec_try_answer(SkxExec *exec, const SkxExecRange *range)
{
	const SkxCollectorMethods *methods = exec->collector->methods;

	if (methods->answer_range == NULL ||
		!methods->answer_range(exec->collector, range))
		return false;
	skx_segment_unpin_all(range->segment);
	return true;
}

/* Ends the current segment, or what this process reads of it. */
static void
skx_exec_end_segment(SkxExec *exec, SkxExecRange *range)
{
	skx_query_docs_close(range->matches);
	if (exec->collector->methods->end_segment != NULL)
		exec->collector->methods->end_segment(exec->collector, range->segment);
	skx_segment_unpin_all(range->segment);
}

/*
 * Chooses the next segments, which are read together.  Returns their number.
 */
static int
skx_exec_next_segments(SkxExec *exec, SkxSegment **segments)
{
	SkxSnapshotReader *source = exec->source;
	int			n;

	if (exec->segment_order == NULL)
	{
		n = skx_snapshot_next_segments(source, exec->collector->wants_all ?
									   SKX_EXEC_SEGMENTS : 1);
		memcpy(segments, source->segments, sizeof(SkxSegment *) * n);
		return n;
	}
	if (exec->next_segment == source->nsegments)
		return 0;
	segments[0] = source->segments[exec->segment_order[exec->next_segment]];
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

	exec->nranges = exec->current_range = 0;
	for (i = 0; i < n; i++)
	{
		SkxExecRange *range = &exec->ranges[exec->nranges];

		range->segment = segments[i];
		range->number = exec->next_segment++;
		range->from = range->to = 0;
		range->matches = NULL;
		if (!skx_exec_next_range(exec, range) ||
			skx_exec_try_answer(exec, range))
			continue;
		skx_exec_open_matches(exec, range);
		matches[exec->nranges++] = range->matches;
	}
	if (exec->nranges > 0 && exec->collector->methods->choose_range == NULL)
		skx_query_docs_plan(matches, exec->nranges);
	return n > 0;
}

/* Returns the segment of a part. */
static SkxSegment *
skx_exec_segment(SkxExec *exec, int number)
{
	if (exec->segment_order != NULL)
		return exec->source->segments[exec->segment_order[number]];
	return skx_snapshot_open_segment(exec->source, number);
}

/* Moves to a part of a segment, which may be open already. */
static void
skx_exec_open_part(SkxExec *exec, const SkxExecPart *part)
{
	SkxExecRange *range = &exec->ranges[0];

	exec->nranges = exec->current_range = 0;
	range->from = range->next_doc = part->from;
	range->to = part->to;
	range->number = part->segment;
	if (exec->segment < 0)
		range->segment = skx_exec_segment(exec, part->segment);
	if (skx_exec_try_answer(exec, range))
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
skx_exec_take_part(SkxExec *exec)
{
	SkxExecPart part;
	bool		taken = skx_exec_share_next_part(&exec->reader, &part);

	if (exec->segment >= 0 && (!taken || part.segment != exec->segment))
	{
		skx_exec_end_segment(exec, &exec->ranges[0]);
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
skx_exec_try_drain(SkxExec *exec)
{
	const SkxCollectorMethods *methods = exec->collector->methods;

	return methods->drain_batch != NULL &&
		methods->drain_batch(exec->collector);
}

/*
 * Reads the next matches of a range.  Returns their number, or 0 if there are
 * no more.
 */
static int
skx_exec_next_matches(SkxExecRange *range, uint32 *docs)
{
	int			n = skx_query_docs_next(range->matches, docs);

	skx_query_docs_check(docs, n, range->next_doc, range->to);
	if (n > 0)
		range->next_doc = docs[n - 1] + 1;
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
		exec->docs = palloc(sizeof(uint32) * SKX_QUERY_BATCH_DOCS);
	while (!exec->has_enough &&
		   (n = skx_exec_next_matches(range, exec->docs)) > 0)
	{
		SkxCollected said;

		CHECK_FOR_INTERRUPTS();
		said = collector->methods->collect_matches(collector, range,
												   exec->docs, n);
		exec->has_enough = said == SKX_COLLECT_ENOUGH;
		if (said == SKX_COLLECT_FULL && !skx_exec_try_drain(exec))
			return false;
	}
	return true;
}

/* Processes the current range.  Returns false if the collector is full. */
static bool
skx_exec_range(SkxExec *exec)
{
	SkxCollector *collector = exec->collector;
	SkxExecRange *range = &exec->ranges[exec->current_range];
	bool		again;

	if (!exec->range_begun)
	{
		exec->range_begun = true;
		exec->collects_range = collector->methods->begin_range == NULL ||
			collector->methods->begin_range(collector, range);
	}
	if (exec->collects_range && !skx_exec_collect(exec, range))
		return false;
	exec->range_begun = false;
	again = collector->methods->end_range != NULL &&
		!collector->methods->end_range(collector, range);
	if (again)
	{
		skx_query_docs_close(range->matches);
		skx_exec_open_matches(exec, range);
	}
	else if (exec->is_shared)
		exec->current_range++;
	else if (exec->has_enough || !skx_exec_next_range(exec, range))
	{
		exec->current_range++;
		skx_exec_end_segment(exec, range);
	}
	exec->has_enough = false;
	return true;
}

static bool
skx_exec_wants_pending(const SkxPendingDoc *doc, void *arg)
{
	SkxExec    *exec = arg;

	const SkxCollectorMethods *methods = exec->collector->methods;
	const SkxQuery *query = exec->request->query;

	return doc->is_dead ||
		(methods->wants_pending != NULL &&
		 !methods->wants_pending(exec->collector, doc)) ||
		(query != NULL && !skx_query_matches(query, doc->value)) ||
		methods->collect_pending(exec->collector, doc);
}

/*
 * Begins the pending documents.  Returns false if the collector wants none of
 * them.
 */
static bool
skx_exec_begin_pending(SkxExec *exec)
{
	const SkxCollectorMethods *methods = exec->collector->methods;
	const SkxPendingBounds *bounds = NULL;

	if (methods->begin_pending == NULL)
		return true;
	if (!methods->begin_pending(exec->collector, &bounds))
		return false;
	skx_snapshot_bound_pending(exec->source, bounds);
	return true;
}

/* Processes the pending documents.  Returns false if the collector is full. */
static bool
skx_exec_pending(SkxExec *exec)
{
	if (!exec->range_begun)
		exec->range_begun = exec->collects_range =
			skx_exec_begin_pending(exec);
	while (exec->collects_range &&
		   skx_snapshot_visit_pending(exec->source, exec->request->pending_end,
									  skx_exec_wants_pending, exec))
	{
		if (!skx_exec_try_drain(exec))
			return false;
	}
	exec->range_begun = false;
	exec->state = exec->is_shared ? SKX_EXEC_RANGES : SKX_EXEC_ENDED;
	(void) skx_exec_try_drain(exec);
	return true;
}

/* Moves to the next segments or the next part, or past the last of these. */
static void
skx_exec_advance(SkxExec *exec)
{
	if (exec->is_shared)
	{
		if (!skx_exec_take_part(exec))
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
	if (exec->current_range < exec->nranges)
		return skx_exec_range(exec);
	skx_exec_advance(exec);
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
skx_exec_finish_process(SkxExec *exec)
{
	Assert(exec->state == SKX_EXEC_ENDED);
	return !exec->is_shared ||
		skx_exec_share_finish_parts(&exec->reader, exec->nparts);
}

void
skx_exec_wait_others(SkxExec *exec)
{
	if (exec->is_shared)
		skx_exec_share_wait(&exec->reader);
}

void
skx_exec_restart_alone(SkxExec *exec)
{
	Assert(exec->segment_order != NULL && exec->segment < 0 &&
		   (exec->state == SKX_EXEC_ENDED || exec->next_segment == 0));
	exec->is_shared = false;
	exec->state = SKX_EXEC_RANGES;
	exec->next_segment = exec->nranges = exec->current_range = 0;
}

void
skx_exec_end(SkxExec *exec)
{
	if (exec->segment >= 0)
		skx_query_docs_close(exec->ranges[0].matches);
	else
	{
		for (; exec->current_range < exec->nranges; exec->current_range++)
			skx_query_docs_close(exec->ranges[exec->current_range].matches);
	}
	skx_snapshot_close(exec->source);
	if (exec->docs != NULL)
		pfree(exec->docs);
	pfree(exec);
}
