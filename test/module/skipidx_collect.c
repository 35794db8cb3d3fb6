/*
 * skipidx_collect.c
 *	  A library for tests, beside skipidx: a collector that is told how to
 *	  behave, and sees whether what exec/ promises to collectors is kept.
 *
 * CREATE FUNCTION skipidx_collect(index regclass, query tsquery, ways int,
 * room int, again int, turns int, fails int, step int, enough int, own int,
 * breaks int) RETURNS text AS '...' LANGUAGE c:
 * collects the rows that match, and returns their number, the sum of their
 * places as numbers, and how many were the last: of `ways` answers that take
 * turns, as processes do that share one, or, if that is negative, as cursors
 * that have nothing in common.  A collector is full with `room` rows; with less
 * than 0 it makes room itself.  Each wants `again` ranges twice.  After so many
 * `turns` all are ended, and at document number `fails` comes an error; 0:
 * never.  Segments are wanted in ranges of `step` documents, as a whole where
 * that is 0; and of each segment `enough` rows, or all.  What is not as promised is an error
 * that begins with "exec:".  With `breaks` (SkxToyBreaks) the collector itself does what the
 * contract forbids, which assertions of exec/ find.
 */
#include "postgres.h"

#include "access/genam.h"
#include "answer/exec/exec.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "tsearch/ts_utils.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(skipidx_collect);

/* What a collector does that it must not do. */
typedef enum SkxToyBreaks
{
	SKX_TOY_KEEPS,
	SKX_TOY_RANGE_BACK,			/* a range begins before the last one ends */
	SKX_TOY_RANGE_EMPTY,
	SKX_TOY_RANGE_PAST,			/* a range ends behind its segment */
	SKX_TOY_ORDER_TWICE			/* one segment comes twice */
} SkxToyBreaks;

typedef struct SkxToy
{
	SkxCollector collector;		/* first */
	MemoryContext context;		/* that it was begun in */
	int			room;
	int			again;			/* ranges to be wanted again, */
	uint64		range_rows;		/* with what such a one has given, */
	uint64		range_places;	/* which is taken back */
	int			fails;
	uint32		step;
	int64		enough;			/* rows of a segment, */
	int64		segment_rows;	/* and how many it has given, */
	int64		rows_before;	/* and before this range */
	int64		held;
	uint64		rows;
	uint64		places;
	SkxSegment *segment;		/* that was begun and not left */
	uint32		next;			/* of that, no document before this one */
	bool		in_range;
	bool		was_full;		/* and could not make room */
	bool		pending;		/* these have begun */
	int			own;
	int			breaks;			/* SkxToyBreaks */
	const SkxQuery *query;
	SkxSegment *const *segments;	/* NULL: not all are open */
	int			nsegments;
	int			number;			/* of the segment that came last */
	int			answered;		/* ranges that it could answer */
	bool		entered;
	ItemPointerData asked;		/* the pending document asked about last */
	SkxExec    *exec;
} SkxToy;

static void
skx_toy_expect(bool kept, const char *promise)
{
	if (!kept)
		ereport(ERROR, (errmsg("exec: %s", promise)));
}

/* The next `step` documents. */
static bool
skx_toy_range(SkxCollector *c, SkxSegment *segment, uint32 *from, uint32 *to)
{
	SkxToy	   *toy = (SkxToy *) c;

	skx_toy_expect(!toy->in_range, "a range ends before the next one is asked for");
	*from = *to;
	*to = (uint32) Min((uint64) *from + toy->step, segment->header.ndocs);
	if (toy->breaks == SKX_TOY_RANGE_BACK && *from > 0)
		(*from)--;
	if (toy->breaks == SKX_TOY_RANGE_EMPTY)
		*to = *from;
	if (toy->breaks == SKX_TOY_RANGE_PAST)
		*to = segment->header.ndocs + 1;
	return *from < *to || toy->breaks == SKX_TOY_RANGE_EMPTY;
}

static bool
skx_toy_begin(SkxCollector *c, const SkxExecRange *range)
{
	SkxToy	   *toy = (SkxToy *) c;

	skx_toy_expect(CurrentMemoryContext == toy->context, "the context of begin");
	skx_toy_expect(!toy->in_range && !toy->pending, "ranges follow each other, then pending documents");
	skx_toy_expect(toy->segment == NULL || toy->segment == range->segment, "a segment is left before the next one");
	skx_toy_expect(range->from < range->to && range->to <= range->segment->header.ndocs, "a range of the segment");
	skx_toy_expect(toy->segment == NULL || range->from >= toy->next, "ranges ascend");
	if (toy->segment == NULL)
		toy->segment_rows = 0;
	toy->segment = range->segment;
	toy->next = range->from;
	toy->in_range = true;
	toy->rows_before = toy->segment_rows;
	toy->range_rows = toy->range_places = 0;
	return true;
}

/* A row; false: the collector is full. */
static bool
skx_toy_add(SkxToy *toy, const ItemPointerData *tid)
{
	uint64		place = (uint64) ItemPointerGetBlockNumber(tid) << 16 |
		ItemPointerGetOffsetNumber(tid);

	skx_toy_expect(!toy->was_full, "a full collector is given nothing");
	if (toy->fails > 0 && --toy->fails == 0)
		ereport(ERROR, (errmsg("as it was told")));
	toy->rows++;
	toy->places += place;
	toy->range_rows++;
	toy->range_places += place;
	return ++toy->held < abs(toy->room);
}

static SkxCollected
skx_toy_collect(SkxCollector *c, const SkxExecRange *range, uint32 *docs,
				int n)
{
	SkxToy	   *toy = (SkxToy *) c;
	bool		has_room = true;
	int			i;

	skx_toy_expect(toy->in_range && range->segment == toy->segment, "matches are of the range that was begun");
	for (i = 0; i < n; i++)
	{
		ItemPointerData tid;

		skx_toy_expect(docs[i] >= toy->next && docs[i] < range->to, "documents ascend within their range");
		toy->next = docs[i] + 1;
		skx_toy_expect(toy->enough == 0 || toy->segment_rows <= toy->enough, "nothing of a segment of which there is enough");
		if (toy->enough > 0 && ++toy->segment_rows > toy->enough)
			return SKX_COLLECT_ENOUGH;
		skx_segment_read_tids(range->segment, docs[i], 1, &tid);
		has_room = skx_toy_add(toy, &tid);
	}
	/* that may be done */
	memset(docs, 0xFF, sizeof(uint32) * n);
	toy->was_full = !has_room && toy->room > 0;
	return has_room ? SKX_COLLECT_MORE : SKX_COLLECT_FULL;
}

static bool
skx_toy_end(SkxCollector *c, const SkxExecRange *range)
{
	SkxToy	   *toy = (SkxToy *) c;

	skx_toy_expect(toy->in_range && range->segment == toy->segment, "a range ends that was begun");
	toy->in_range = false;
	if (toy->again == 0)
	{
		toy->next = range->to;
		return true;
	}
	toy->again--;
	toy->rows -= toy->range_rows;
	toy->places -= toy->range_places;
	toy->segment_rows = toy->rows_before;
	toy->next = range->from;
	return false;
}

static void
skx_toy_leave(SkxCollector *c, SkxSegment *segment)
{
	SkxToy	   *toy = (SkxToy *) c;

	skx_toy_expect(!toy->in_range && segment == toy->segment && segment->header.ndocs > 0, "the segment that was begun is left, and is open");
	toy->segment = NULL;
}

static bool
skx_toy_pending(SkxCollector *c, const SkxPendingDoc *doc)
{
	SkxToy	   *toy = (SkxToy *) c;
	bool		has_room;

	skx_toy_expect(toy->segment == NULL, "pending documents come last");
	skx_toy_expect(toy->own == 0 || (toy->entered && ItemPointerEquals(&toy->asked, unconstify(ItemPointerData *, &doc->tid))), "a pending document is given that was asked about");
	skx_toy_expect(CurrentMemoryContext != toy->context, "a context for each pending document");
	(void) palloc(1000);
	toy->pending = true;
	has_room = skx_toy_add(toy, &doc->tid);
	toy->was_full = !has_room && toy->room > 0;
	return has_room;
}

static bool
skx_toy_drain(SkxCollector *c)
{
	SkxToy	   *toy = (SkxToy *) c;

	skx_toy_expect(CurrentMemoryContext == toy->context, "the context of drain");
	if (toy->room < 0)
		toy->held = 0;
	return toy->room < 0;
}

static void
skx_toy_order(SkxCollector *c, SkxSegment *const *segments, int n, int *order)
{
	SkxToy	   *toy = (SkxToy *) c;
	int			i;

	toy->segments = segments;
	toy->nsegments = n;
	for (i = 0; i < n; i++)
		order[i] = n - 1 - i;
	if (toy->breaks == SKX_TOY_ORDER_TWICE)
		order[n - 1] = order[0];
}

static bool
skx_toy_answer(SkxCollector *c, const SkxExecRange *range)
{
	SkxToy	   *toy = (SkxToy *) c;
	uint32	   *docs = palloc(sizeof(uint32) * SKX_QUERY_BATCH_DOCS);
	SkxDocs    *matches;
	int			n;
	int			i;

	skx_toy_expect(range->number >= toy->number && range->segment == toy->segments[toy->nsegments - 1 - range->number], "segments come in the order that is wanted");
	toy->number = range->number;
	if (toy->answered++ % toy->own != 0)
		return false;
	matches = skx_query_docs_open(range->segment, toy->query, SKX_DOCS_ALL);
	skx_query_docs_range(matches, range->from, range->to);
	while ((n = skx_query_docs_next(matches, docs)) > 0)
		for (i = 0; i < n; i++)
		{
			ItemPointerData tid;

			skx_segment_read_tids(range->segment, docs[i], 1, &tid);
			(void) skx_toy_add(toy, &tid);
		}
	skx_query_docs_close(matches);
	pfree(docs);
	toy->held = 0;
	return true;
}

static bool
skx_toy_enter(SkxCollector *c, const SkxPendingBounds **bounds)
{
	SkxToy	   *toy = (SkxToy *) c;

	skx_toy_expect(!toy->entered && *bounds == NULL && CurrentMemoryContext == toy->context, "pending documents are entered once");
	toy->entered = true;
	return toy->own > 1;
}

static bool
skx_toy_wants(SkxCollector *c, const SkxPendingDoc *doc)
{
	SkxToy	   *toy = (SkxToy *) c;

	skx_toy_expect(!toy->was_full, "a full collector is asked nothing");
	toy->asked = doc->tid;
	return ItemPointerGetOffsetNumber(&doc->tid) % 2 == 1;
}

static const SkxCollectorMethods skx_toy_own_methods = {
	.order_segments = skx_toy_order,
	.answer_range = skx_toy_answer,
	.begin_range = skx_toy_begin,
	.collect_matches = skx_toy_collect,
	.end_range = skx_toy_end,
	.end_segment = skx_toy_leave,
	.begin_pending = skx_toy_enter,
	.wants_pending = skx_toy_wants,
	.collect_pending = skx_toy_pending,
	.drain_batch = skx_toy_drain
};

static const SkxCollectorMethods skx_toy_whole_methods = {
	.begin_range = skx_toy_begin,
	.collect_matches = skx_toy_collect,
	.end_range = skx_toy_end,
	.end_segment = skx_toy_leave,
	.collect_pending = skx_toy_pending,
	.drain_batch = skx_toy_drain
};

static const SkxCollectorMethods skx_toy_methods = {
	.choose_range = skx_toy_range,
	.begin_range = skx_toy_begin,
	.collect_matches = skx_toy_collect,
	.end_range = skx_toy_end,
	.end_segment = skx_toy_leave,
	.collect_pending = skx_toy_pending,
	.drain_batch = skx_toy_drain
};

/* One turn of an answer; false: it has come to its end. */
static bool
skx_toy_turn(SkxToy *toy)
{
	MemoryContext other = AllocSetContextCreate(CurrentMemoryContext, "turn",
												ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(other);
	bool		full = skx_exec_next(toy->exec);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(other);
	skx_toy_expect(full == toy->was_full, "it pauses where the collector is full, and ends nowhere else");
	skx_toy_expect(full || !skx_exec_next(toy->exec), "behind the end is nothing");
	skx_toy_expect(full || toy->segment == NULL, "the last segment is left");
	toy->was_full = false;
	toy->held = 0;
	return full;
}

/* All of it once more, alone. */
static void
skx_toy_again(SkxToy *toy, uint64 rows)
{
	skx_exec_wait_others(toy->exec);
	skx_exec_restart_alone(toy->exec);
	toy->rows = toy->number = 0;
	toy->pending = toy->entered = false;
	while (skx_toy_turn(toy))
		;
	skx_toy_expect(toy->rows == rows, "the same once more");
}

static SkxToy *
skx_toy_open(const SkxRequest *request, int room, int again, int fails,
			 int step, int enough, int own, int breaks)
{
	SkxToy	   *toy = palloc0(sizeof(SkxToy));

	toy->collector.methods = own > 0 ? &skx_toy_own_methods :
		step == 0 ? &skx_toy_whole_methods : &skx_toy_methods;
	toy->own = own;
	toy->breaks = breaks;
	toy->query = request->query;
	toy->step = step;
	toy->enough = enough;
	toy->collector.max_parts = 4;
	toy->collector.wants_all = room < 0;
	toy->context = CurrentMemoryContext;
	toy->room = room;
	toy->again = again;
	toy->fails = fails;
	toy->exec = skx_exec_begin(request, &toy->collector);
	return toy;
}

Datum
skipidx_collect(PG_FUNCTION_ARGS)
{
	Relation	index = index_open(PG_GETARG_OID(0), AccessShareLock);
	TSQuery		query = PG_GETARG_TSQUERY(1);
	int			ways = abs(PG_GETARG_INT32(2));
	int			turns = PG_GETARG_INT32(5);
	SkxToy	  **toys = palloc(sizeof(SkxToy *) * ways);
	SkxRequest	request = {0};
	uint64		rows = 0;
	uint64		places = 0;
	int			nlast = 0;
	int			open = ways;
	int			i;

	if (PG_GETARG_INT32(2) > 0 && ways > 1)
	{
		request.share = palloc(sizeof(SkxExecShared));
		skx_exec_share_init(request.share);
	}
	request.index = index;
	request.view = skx_exec_view(index, request.share);
	request.query = skx_query_compile(&query, 1, NULL, 0);
	for (i = 0; i < ways; i++)
		toys[i] = skx_toy_open(&request, PG_GETARG_INT32(3),
							   PG_GETARG_INT32(4), PG_GETARG_INT32(6),
							   PG_GETARG_INT32(7), PG_GETARG_INT32(8),
							   PG_GETARG_INT32(9), PG_GETARG_INT32(10));
	for (i = 0; open > 0 && (turns == 0 || turns-- > 0); i = (i + 1) % ways)
	{
		if (toys[i] == NULL || skx_toy_turn(toys[i]))
			continue;
		rows += toys[i]->rows;
		places += toys[i]->places;
		nlast += skx_exec_finish_process(toys[i]->exec);
		if (open == 1 && toys[i]->own > 0)
			skx_toy_again(toys[i], request.share == NULL ? toys[i]->rows : rows);
		skx_exec_end(toys[i]->exec);
		toys[i] = NULL;
		open--;
	}
	for (i = 0; i < ways; i++)
		if (toys[i] != NULL)
			skx_exec_end(toys[i]->exec);
	index_close(index, AccessShareLock);
	PG_RETURN_TEXT_P(cstring_to_text(psprintf(UINT64_FORMAT " " UINT64_FORMAT " %d",
											  rows, places, nlast)));
}
