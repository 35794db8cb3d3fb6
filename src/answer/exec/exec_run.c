/*
 * exec_run.c
 *	  Goes through segments, or the ranges of them that a process takes, and
 *	  then through pending documents.
 */
#include "postgres.h"

#include "answer/exec/exec.h"
#include "miscadmin.h"

/* Segments that are opened together where all matches are wanted. */
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
	SkxExecState state;
	SkxExecRange ranges[SKX_EXEC_SEGMENTS]; /* of the segments that are open */
	int			nranges;
	int			at;				/* the current one of these */
	bool		begun;			/* the collector was told of the current one, */
	bool		collects;		/* and is to be given its matches */
	bool		enough;			/* it has enough of the current segment */
	uint32	   *docs;			/* a batch of matches; NULL: there was none
								 * yet */

	/* with other processes, when at most one segment is open at a time */
	SkxShareReader reader;
	uint64		nparts;			/* parts that this process has taken */
	int			segment;		/* number of the open one; -1: none is */
};

const SkxView *
skx_exec_view(Relation index, SkxShare *share)
{
	if (share != NULL)
		return skx_exec_share_view(share, index, NULL);
	return skx_manifest_view_bound(index);
}

SkxExec *
skx_exec_begin(const SkxRequest *request, SkxCollector *collector)
{
	SkxExec    *exec = palloc0(sizeof(SkxExec));

	Assert(collector->methods->collect != NULL &&
		   collector->methods->pending != NULL);
	exec->request = request;
	exec->collector = collector;
	exec->context = CurrentMemoryContext;
	exec->source = skx_snapshot_open(request->index, request->view);
	exec->segment = -1;
	if (request->share != NULL)
		skx_exec_share_begin(&exec->reader, request->share,
							 skx_exec_share_ndocs(request->view),
							 request->view->nsegments, collector->parts);
	return exec;
}

/* Ranges that a collector chooses may begin and end anywhere. */
static void
skx_exec_open_matches(SkxExec *exec, SkxExecRange *range)
{
	bool		shared = exec->request->share != NULL;

	range->matches = NULL;
	range->visit = NULL;
	range->next = range->from;
	if (exec->collector->methods->range != NULL)
	{
		range->visit = skx_query_visit_open(range->segment,
											exec->request->query);
		return;
	}
	range->matches = skx_query_scan_open(range->segment,
										 exec->request->query,
										 exec->collector->wants_all || shared);
	if (shared)
		skx_query_scan_range(range->matches, range->from, range->to);
}

static void
skx_exec_close_matches(SkxExecRange *range)
{
	if (range->visit != NULL)
		skx_query_visit_close(range->visit);
	else
		skx_query_scan_close(range->matches);
}

/* The next matches of a range; 0: there are none. */
static int
skx_exec_next_matches(SkxExecRange *range, uint32 *docs)
{
	int			n;

	if (range->visit == NULL)
		return skx_query_scan_next(range->matches, docs);
	if (range->next >= range->to)
		return 0;
	n = skx_query_visit(range->visit, range->next, range->to, docs);
	range->next = n > 0 ? docs[n - 1] + 1 : range->to;
	return n;
}

/* The next documents of a segment that are wanted; false: none are. */
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
	range->next = range->from;
	Assert(range->from >= before && range->from < range->to &&
		   range->to <= range->segment->header.ndocs);
	return true;
}

/* Nothing of the current segment, or of this range of it, is read any more. */
static void
skx_exec_leave(SkxExec *exec, SkxExecRange *range)
{
	skx_exec_close_matches(range);
	if (exec->collector->methods->leave != NULL)
		exec->collector->methods->leave(exec->collector, range->segment);
	skx_segment_relax(range->segment);
}

/*
 * Opens the next segments: one, or several when all will be read, so that one
 * does not wait for what could be read with what another waits for.  False:
 * there are none.
 */
static bool
skx_exec_open_segments(SkxExec *exec)
{
	const SkxCollectorMethods *methods = exec->collector->methods;
	SkxQueryScan *matches[SKX_EXEC_SEGMENTS];
	int			n = skx_snapshot_next(exec->source,
									  exec->collector->wants_all ?
									  SKX_EXEC_SEGMENTS : 1);
	int			i;

	exec->nranges = exec->at = 0;
	for (i = 0; i < n; i++)
	{
		SkxExecRange *range = &exec->ranges[exec->nranges];

		range->segment = exec->source->segments[i];
		range->from = range->to = 0;
		if ((methods->answer != NULL &&
			 methods->answer(exec->collector, range->segment)) ||
			!skx_exec_next_range(exec, range))
			continue;
		skx_exec_open_matches(exec, range);
		matches[exec->nranges++] = range->matches;
	}
	if (exec->nranges > 0 && methods->range == NULL)
		skx_query_scan_plan(matches, exec->nranges);
	return n > 0;
}

/* Goes over to a part of a segment, which may be the one that is open. */
static void
skx_exec_open_part(SkxExec *exec, const SkxSharePart *part)
{
	SkxExecRange *range = &exec->ranges[0];

	range->from = part->from;
	range->to = part->to;
	exec->nranges = 1;
	exec->at = 0;
	if (exec->segment < 0)
	{
		exec->segment = part->segment;
		range->segment = skx_snapshot_at(exec->source, part->segment);
		skx_exec_open_matches(exec, range);
	}
	else
		skx_query_scan_range(range->matches, part->from, part->to);
}

/* Takes the next part, of a segment or of what is pending; false: none. */
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

/* Has the collector room, or can it make some? */
static bool
skx_exec_drains(SkxExec *exec)
{
	const SkxCollectorMethods *methods = exec->collector->methods;

	return methods->drain != NULL && methods->drain(exec->collector);
}

/* What a collector may rely on: the matches ascend within their range. */
static void
skx_exec_check_batch(const SkxExecRange *range, const uint32 *docs, int n)
{
#ifdef USE_ASSERT_CHECKING
	int			i;

	Assert(n <= SKX_QUERY_DOCS);
	for (i = 0; i < n; i++)
		Assert(docs[i] >= (i == 0 ? range->from : docs[i - 1] + 1) &&
			   docs[i] < range->to);
#endif
}

/* Hands over the matches of a range; false: the collector is full. */
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
		skx_exec_check_batch(range, exec->docs, n);
		said = collector->methods->collect(collector, range, exec->docs, n);
		exec->enough = said == SKX_COLLECT_ENOUGH;
		if (said == SKX_COLLECT_FULL && !skx_exec_drains(exec))
			return false;
	}
	return true;
}

/* The current range; false: the collector is full. */
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
		skx_exec_close_matches(range);
		skx_exec_open_matches(exec, range);
	}
	else if (exec->request->share != NULL)
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

	return doc->dead ||
		!skx_query_matches(exec->request->query, doc->value) ||
		exec->collector->methods->pending(exec->collector, doc);
}

/* What is pending; false: the collector is full. */
static bool
skx_exec_pending(SkxExec *exec)
{
	while (skx_snapshot_pending(exec->source, exec->request->last,
								skx_exec_document, exec))
	{
		if (!skx_exec_drains(exec))
			return false;
	}
	exec->state = exec->request->share == NULL ? SKX_EXEC_ENDED :
		SKX_EXEC_RANGES;
	(void) skx_exec_drains(exec);
	return true;
}

/* The next segments, or the next part; the end behind the last of them. */
static void
skx_exec_go_on(SkxExec *exec)
{
	if (exec->request->share != NULL)
	{
		if (!skx_exec_take(exec))
			exec->state = SKX_EXEC_ENDED;
	}
	else if (!skx_exec_open_segments(exec))
		exec->state = SKX_EXEC_PENDING;
}

/* False: the collector is full. */
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
	return exec->request->share == NULL ||
		skx_exec_share_done(&exec->reader, exec->nparts);
}

void
skx_exec_end(SkxExec *exec)
{
	if (exec->segment >= 0)
		skx_exec_close_matches(&exec->ranges[0]);
	else
	{
		for (; exec->at < exec->nranges; exec->at++)
			skx_exec_close_matches(&exec->ranges[exec->at]);
	}
	skx_snapshot_close(exec->source);
	if (exec->docs != NULL)
		pfree(exec->docs);
	pfree(exec);
}
