/*
 * count_rows.c
 *	  The collector that counts: matches of segments, and pending documents.
 *
 * Rows of pending documents are always fetched.  VACUUM moves all but some
 * kilobytes of them to segments before it makes their pages visible to all.
 * Whether other rows are visible is in count_visibility.c, and for those that
 * must be fetched in count_fetch.c.  README.md describes what is read in which
 * order, and why that suffices.
 */
#include "postgres.h"

#include "answer/count/count_internal.h"
#include "answer/count/count_share.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "support/fault/fault.h"
#include "utils/memutils.h"

/*
 * Number of ranges of a segment with other processes, without a taker and with
 * one.  Each range is looked up once in every list, and with a taker also in
 * the lists of all values.
 */
#define SKX_COUNT_RANGES		128
#define SKX_COUNT_RECEIVER_RANGES	8

/* Approximate bytes of pending documents that are held for the taker. */
#define SKX_COUNT_PENDING_BYTES	(1024 * 1024)

/*
 * Returns true if the segment is still one of the index.  If it is not,
 * deleted bits are set elsewhere.
 */
static bool
skx_count_segment_is_current(SkxCount *c, const SkxSegment *seg)
{
	SkxDiskMeta meta;
	int			i;

	skx_manifest_meta(c->request->index, &meta);
	if (meta.generation != c->latest_view->meta.generation)
		c->latest_view = skx_manifest_view(c->request->index);
	for (i = 0; i < c->latest_view->nsegments; i++)
	{
		if (c->latest_view->segments[i].segment == seg->header.segment)
			return true;
	}
	return false;
}

/*
 * Allocates memory for batches.  A count that reads no match does not need it.
 */
static void
skx_count_alloc_batch(SkxCount *c)
{
	MemoryContext old;

	if (c->tids != NULL)
		return;
	old = MemoryContextSwitchTo(c->context);
	c->tids = palloc(sizeof(ItemPointerData) * SKX_QUERY_BATCH_DOCS);
	if (c->receiver != NULL)
	{
		c->batch = palloc(sizeof(uint32) * SKX_QUERY_BATCH_DOCS);
		c->pending = palloc(sizeof(TSVector) * SKX_WINDOW_DOCS);
		c->pending_context = AllocSetContextCreate(CurrentMemoryContext,
												   "skipidx counted documents",
												   ALLOCSET_DEFAULT_SIZES);
	}
	MemoryContextSwitchTo(old);
}

static void
skx_count_alloc_fetch(SkxCount *c)
{
	c->fetch_tids = MemoryContextAlloc(c->context, sizeof(ItemPointerData) *
									   SKX_QUERY_BATCH_DOCS);
	c->fetch_docs = MemoryContextAlloc(c->context, sizeof(uint32) *
									   SKX_QUERY_BATCH_DOCS);
}

/*
 * Passes counted documents to the taker, in ascending order: `docs`, and those
 * of `others` whose fetched rows are counted.
 */
static void
skx_count_pass_documents(SkxCount *c, SkxSegment *seg, const uint32 *docs,
						 int n, const uint32 *others, int nothers)
{
	const SkxCountReceiver *taker = c->receiver;
	uint32		all[SKX_QUERY_BATCH_DOCS];
	int			nall = 0;
	int			at = 0;
	int			i;

	if (taker == NULL)
		return;
	for (i = 0; i < nothers; i++)
	{
		if (!c->is_counted[i])
			continue;
		while (at < n && docs[at] < others[i])
			all[nall++] = docs[at++];
		all[nall++] = others[i];
	}
	while (nall > 0 && at < n)
		all[nall++] = docs[at++];
	if (nall > 0)
		taker->receive_documents(seg, all, nall, taker->arg);
	else if (n > 0)
		taker->receive_documents(seg, docs, n, taker->arg);
	c->has_passed_rows |= nall > 0 || n > 0;
}

/*
 * Counts a segment by the df of the query's only word.  All pages must be
 * visible to all, and the segment must have no deleted documents.  Returns
 * false if it has not counted.
 */
static bool
skx_count_by_df(SkxCollector *collector, const SkxExecRange *range)
{
	SkxCount   *c = (SkxCount *) collector;
	SkxSegment *seg = range->segment;
	const SkxLexeme *word = skx_query_single_lexeme(c->request->query);
	SkxTerm		term;
	uint64		rows;

	if (word == NULL || c->receiver != NULL ||
		range->to - range->from < seg->header.ndocs)
		return false;
	rows = skx_segment_find(seg, word->bytes, word->len, &term) ? term.df : 0;
	if (!skx_count_table_is_visible(c, (double) rows) ||
		skx_segment_ndeleted(seg) > 0 || !skx_count_segment_is_current(c, seg))
		return false;
	c->rows += rows;
	c->work.df_rows += rows;
	return true;
}

static inline bool
skx_count_is_batched(const SkxCount *c)
{
	return c->receiver != NULL && c->receiver->is_batched;
}

/*
 * Returns true if documents of a range of ndocs documents can be taken back,
 * if that is needed.  Those of a range that is too large cannot.
 */
static bool
skx_count_may_undo(const SkxCount *c, uint32 ndocs)
{
	return c->receiver == NULL || c->receiver->is_batched ||
		ndocs <= c->receiver->max_undo_docs;
}

/*
 * Chooses how matches are counted.  If all pages were visible to all before
 * the first deleted bit was read, no row is needed.  Returns false if the
 * query can then count the matches itself.
 */
static bool
skx_count_range_begin(SkxCollector *collector, const SkxExecRange *range)
{
	SkxCount   *c = (SkxCount *) collector;
	bool		again = c->is_replaced;

	c->mode = SKX_COUNT_EACH_MATCH;
	if (!again && c->receiver != NULL && c->receiver->begin_range != NULL &&
		c->request->share != NULL)
		c->receiver->begin_range(range->segment, range->from, range->to,
								 c->receiver->arg);
	if (again || !skx_count_may_undo(c, range->to - range->from) ||
		!skx_count_table_is_visible(c, skx_query_docs_cost(range->matches)))
	{
		skx_count_alloc_batch(c);
		return true;
	}
	c->mode = SKX_COUNT_ALL_LIVE;
	c->live_matches = 0;
	/* an earlier range may have read some before the map was checked */
	skx_segment_reread_deletes(range->segment);
	if (c->receiver != NULL || skx_segment_ndeleted(range->segment) > 0 ||
		!skx_query_docs_can_count(range->matches))
		return true;
	c->live_matches = skx_query_docs_count(range->matches);
	return false;
}

/*
 * Counts a batch.  Documents on pages that are visible to all are counted
 * without their rows, unless their deleted bit is set.  The other rows are
 * fetched.  All of them are fetched if the segment has been replaced.
 */
static void
skx_count_each_match(SkxCount *c, SkxSegment *seg, uint32 *docs, int n)
{
	int			nmapped = 0;
	int			nothers = 0;
	int			nlive = 0;
	int			i;

	skx_segment_read_tids_of(seg, docs, n, c->tids);
	if (c->batch != NULL)
		memcpy(c->batch, docs, sizeof(uint32) * n);
	SKX_FAULT(SKX_FAULT_COUNT_MATCHED);
	for (i = 0; i < n; i++)
	{
		if (skx_count_block_is_visible(c,
									   ItemPointerGetBlockNumber(&c->tids[i])))
			docs[nmapped++] = docs[i];
		else
		{
			if (c->fetch_tids == NULL)
				skx_count_alloc_fetch(c);
			c->fetch_docs[nothers] = docs[i];
			c->fetch_tids[nothers++] = c->tids[i];
		}
	}
	if (nmapped > 0)
	{
		SKX_FAULT(SKX_FAULT_COUNT_MAPPED);
		skx_segment_reread_deletes(seg);
		nlive = skx_segment_drop_deleted(seg, docs, nmapped);
		if (!skx_count_segment_is_current(c, seg))
		{
			c->is_replaced = true;
			skx_count_fetch(c, c->tids, n, NULL, NULL);
			skx_count_pass_documents(c, seg, NULL, 0, c->batch, n);
			return;
		}
		c->rows += nlive;
		c->work.vm_page_rows += nlive;
	}
	skx_count_fetch(c, c->fetch_tids, nothers, seg, c->fetch_docs);
	skx_count_pass_documents(c, seg, docs, nlive, c->fetch_docs, nothers);
}

/*
 * Counts a batch for a taker that pauses, which can take nothing back.  Its
 * deleted bits were read after the map, so all are counted if the segment is
 * still one of the index.  Otherwise these rows, and those that follow, are
 * fetched.
 */
static void
skx_count_all_live(SkxCount *c, SkxSegment *seg, uint32 *docs, int n)
{
	if (!skx_count_segment_is_current(c, seg))
	{
		c->is_replaced = true;
		c->mode = SKX_COUNT_EACH_MATCH;
		skx_count_alloc_batch(c);
		skx_count_each_match(c, seg, docs, n);
		return;
	}
	c->rows += n;
	c->work.vm_table_rows += n;
	skx_count_pass_documents(c, seg, docs, n, NULL, 0);
}

static SkxCollected
skx_count_collect(SkxCollector *collector, const SkxExecRange *range,
				  uint32 *docs, int n)
{
	SkxCount   *c = (SkxCount *) collector;

	if (c->mode == SKX_COUNT_EACH_MATCH)
		skx_count_each_match(c, range->segment, docs, n);
	else if (skx_count_is_batched(c))
		skx_count_all_live(c, range->segment, docs, n);
	else
	{
		c->live_matches += n;
		if (c->receiver != NULL)
			c->receiver->receive_documents(range->segment, docs, n,
										   c->receiver->arg);
	}
	return skx_count_is_batched(c) ? SKX_COLLECT_FULL : SKX_COLLECT_MORE;
}

/*
 * Ends a range.  Returns false if the segment gets no more deleted bits.  Then
 * none of the matches has been counted.
 */
static bool
skx_count_range_end(SkxCollector *collector, const SkxExecRange *range)
{
	SkxCount   *c = (SkxCount *) collector;

	c->is_replaced = c->mode == SKX_COUNT_ALL_LIVE &&
		!skx_count_is_batched(c) &&
		!skx_count_segment_is_current(c, range->segment);
	if (c->is_replaced && c->receiver != NULL)
		c->receiver->undo_segment(range->segment, c->receiver->arg);
	if (c->is_replaced || c->mode == SKX_COUNT_EACH_MATCH)
		return !c->is_replaced;
	c->rows += c->live_matches;
	c->work.vm_table_rows += c->live_matches;
	return true;
}

static void
skx_count_end_segment(SkxCollector *collector, SkxSegment *seg)
{
	const SkxCountReceiver *taker = ((SkxCount *) collector)->receiver;

	if (taker != NULL && taker->end_segment != NULL)
		taker->end_segment(seg, taker->arg);
}

static bool
skx_count_collect_pending(SkxCollector *collector, const SkxPendingDoc *doc)
{
	SkxCount   *c = (SkxCount *) collector;

	skx_count_alloc_batch(c);
	if (c->receiver != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(c->pending_context);

		c->pending[c->npending] = memcpy(palloc(VARSIZE(doc->value)),
										 doc->value, VARSIZE(doc->value));
		MemoryContextSwitchTo(old);
	}
	c->tids[c->npending++] = doc->tid;
	return c->npending < SKX_WINDOW_DOCS &&
		(c->pending_context == NULL ||
		 MemoryContextMemAllocated(c->pending_context,
								   false) < SKX_COUNT_PENDING_BYTES);
}

/* Passes the pending documents of a batch that are counted to the taker. */
static void
skx_count_pass_pending(SkxCount *c)
{
	const SkxCountReceiver *taker = c->receiver;
	int			i;

	if (taker == NULL)
		return;
	for (i = 0; i < c->npending; i++)
	{
		if (!c->is_counted[i])
			continue;
		taker->receive_pending(c->pending[i], &c->tids[i], taker->arg);
		c->has_passed_rows = true;
	}
	if (c->pending_context != NULL)
		MemoryContextReset(c->pending_context);
}

static bool
skx_count_drain(SkxCollector *collector)
{
	SkxCount   *c = (SkxCount *) collector;

	skx_count_fetch(c, c->tids, c->npending, NULL, NULL);
	skx_count_pass_pending(c);
	c->npending = 0;
	return !c->has_passed_rows || !skx_count_is_batched(c);
}

static const SkxCollectorMethods skx_count_methods = {
	.answer_range = skx_count_by_df,
	.begin_range = skx_count_range_begin,
	.collect_matches = skx_count_collect,
	.end_range = skx_count_range_end,
	.end_segment = skx_count_end_segment,
	.collect_pending = skx_count_collect_pending,
	.drain_batch = skx_count_drain
};

SkxCount *
skx_count_open(const SkxRequest *request, const SkxCountReceiver *taker,
			   SkxCountShared *share, SkxCountWork *work)
{
	SkxCount   *c = palloc0(sizeof(SkxCount));

	Assert(request->share == (share == NULL ? NULL : &share->exec_share));
	c->collector.methods = &skx_count_methods;
	c->collector.wants_all = taker == NULL || !taker->is_batched ||
		taker->wants_all;
	c->collector.max_parts = taker == NULL ? SKX_COUNT_RANGES :
		SKX_COUNT_RECEIVER_RANGES;
	c->request = request;
	c->receiver = taker;
	c->share = share;
	c->total_work = work;
	c->latest_view = request->view;
	c->context = CurrentMemoryContext;
	skx_count_vm_begin(c);
	c->exec = skx_exec_begin(request, &c->collector);
	return c;
}

bool
skx_count_next(SkxCount *c)
{
	c->has_passed_rows = false;
	(void) skx_exec_next(c->exec);
	return c->has_passed_rows;
}

/* Closes what the count has open, and reports its result. */
static void
skx_count_finish(SkxCount *c)
{
	skx_count_fetch_end(c);
	skx_count_vm_end(c);
	pgstat_count_index_tuples(c->request->index, c->rows);
	if (c->share != NULL)
		skx_count_share_add(c->share, c->rows);
	c->total_work->fetched_rows += c->work.fetched_rows;
	c->total_work->vm_page_rows += c->work.vm_page_rows;
	c->total_work->vm_table_rows += c->work.vm_table_rows;
	c->total_work->df_rows += c->work.df_rows;
}

void
skx_count_close(SkxCount *c)
{
	skx_count_finish(c);
	skx_exec_end(c->exec);
	pfree(c);
}

bool
skx_count_rows(const SkxRequest *request, const SkxCountReceiver *taker,
			   SkxCountShared *share, SkxCountWork *work, uint64 *rows)
{
	SkxCount   *c = skx_count_open(request, taker, share, work);
	bool		last;

	while (skx_exec_next(c->exec))
		continue;
	skx_count_finish(c);
	*rows = c->rows;
	last = skx_exec_finish_process(c->exec);
	skx_exec_end(c->exec);
	pfree(c);
	return last;
}
