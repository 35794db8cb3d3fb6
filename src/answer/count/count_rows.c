/*
 * count_rows.c
 *	  The collector that counts: matches of segments, and pending documents.
 *
 * Rows of pending documents are always fetched.  VACUUM moves all but some
 * kilobytes of them to segments before it makes their pages visible to all.
 * README.md describes what is read in which order, and why that suffices.
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
#define SKX_COUNT_PARTS		128
#define SKX_COUNT_TOLD_PARTS	8

/* Approximate bytes of pending documents that are held for the taker. */
#define SKX_COUNT_DOCUMENTS	(1024 * 1024)

/*
 * Returns true if the segment is still one of the index.  If it is not,
 * deleted bits are set elsewhere.
 */
static bool
skx_count_is_current(SkxCount *c, const SkxSegment *seg)
{
	SkxDiskMeta meta;
	int			i;

	skx_manifest_meta(c->request->index, &meta);
	if (meta.generation != c->latest->meta.generation)
		c->latest = skx_manifest_view(c->request->index);
	for (i = 0; i < c->latest->nsegments; i++)
	{
		if (c->latest->segments[i].segment == seg->header.segment)
			return true;
	}
	return false;
}

/*
 * Allocates memory for batches.  A count that reads no match does not need it.
 */
static void
skx_count_make_room(SkxCount *c)
{
	MemoryContext old;

	if (c->tids != NULL)
		return;
	old = MemoryContextSwitchTo(c->context);
	c->tids = palloc(sizeof(ItemPointerData) * SKX_QUERY_DOCS);
	if (c->taker != NULL)
	{
		c->batch = palloc(sizeof(uint32) * SKX_QUERY_DOCS);
		c->pending = palloc(sizeof(TSVector) * SKX_QUERY_BATCH);
		c->documents = AllocSetContextCreate(CurrentMemoryContext,
											 "skipidx counted documents",
											 ALLOCSET_DEFAULT_SIZES);
	}
	MemoryContextSwitchTo(old);
}

static void
skx_count_make_others(SkxCount *c)
{
	c->others = MemoryContextAlloc(c->context, sizeof(ItemPointerData) *
								   SKX_QUERY_DOCS);
	c->other_docs = MemoryContextAlloc(c->context, sizeof(uint32) *
									   SKX_QUERY_DOCS);
}

/*
 * Passes counted documents to the taker, in ascending order: `docs`, and those
 * of `others` whose fetched rows are counted.
 */
static void
skx_count_tell(SkxCount *c, SkxSegment *seg, const uint32 *docs, int n,
			   const uint32 *others, int nothers)
{
	const SkxCountTaker *taker = c->taker;
	uint32		all[SKX_QUERY_DOCS];
	int			nall = 0;
	int			at = 0;
	int			i;

	if (taker == NULL)
		return;
	for (i = 0; i < nothers; i++)
	{
		if (!c->seen[i])
			continue;
		while (at < n && docs[at] < others[i])
			all[nall++] = docs[at++];
		all[nall++] = others[i];
	}
	while (nall > 0 && at < n)
		all[nall++] = docs[at++];
	if (nall > 0)
		taker->documents(seg, all, nall, taker->arg);
	else if (n > 0)
		taker->documents(seg, docs, n, taker->arg);
	c->told |= nall > 0 || n > 0;
}

/*
 * Counts a segment by the df of the query's only word.  All pages must be
 * visible to all, and the segment must have no deleted documents.  Returns
 * false if it has not counted.
 */
static bool
skx_count_answer(SkxCollector *collector, const SkxExecRange *range)
{
	SkxCount   *c = (SkxCount *) collector;
	SkxSegment *seg = range->segment;
	const SkxLexeme *word = skx_query_only_word(c->request->query);
	SkxTerm		term;
	uint64		rows;

	if (word == NULL || c->taker != NULL ||
		range->to - range->from < seg->header.ndocs)
		return false;
	rows = skx_segment_find(seg, word->bytes, word->len, &term) ? term.df : 0;
	if (!skx_count_is_whole(c, (double) rows) ||
		skx_segment_ndeleted(seg) > 0 || !skx_count_is_current(c, seg))
		return false;
	c->rows += rows;
	c->work.totals += rows;
	return true;
}

static inline bool
skx_count_pauses(const SkxCount *c)
{
	return c->taker != NULL && c->taker->pauses;
}

/*
 * Returns true if documents of a range of ndocs documents can be taken back,
 * if that is needed.  Those of a range that is too large cannot.
 */
static bool
skx_count_may_forget(const SkxCount *c, uint32 ndocs)
{
	return c->taker == NULL || c->taker->pauses || ndocs <= c->taker->most;
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
	bool		again = c->retired;

	c->mode = SKX_COUNT_MATCHES;
	if (!again && c->taker != NULL && c->taker->part != NULL &&
		c->request->share != NULL)
		c->taker->part(range->segment, range->from, range->to, c->taker->arg);
	if (again || !skx_count_may_forget(c, range->to - range->from) ||
		!skx_count_is_whole(c, skx_query_docs_cost(range->matches)))
	{
		skx_count_make_room(c);
		return true;
	}
	c->mode = SKX_COUNT_LIVE;
	c->live = 0;
	/* an earlier range may have read some before the map was checked */
	skx_segment_forget_deletes(range->segment);
	if (c->taker != NULL || skx_segment_ndeleted(range->segment) > 0 ||
		!skx_query_docs_counts(range->matches))
		return true;
	c->live = skx_query_docs_count(range->matches);
	return false;
}

/*
 * Counts a batch.  Documents on pages that are visible to all are counted
 * without their rows, unless their deleted bit is set.  The other rows are
 * fetched.  All of them are fetched if the segment has been replaced.
 */
static void
skx_count_batch(SkxCount *c, SkxSegment *seg, uint32 *docs, int n)
{
	int			nmapped = 0;
	int			nothers = 0;
	int			nlive = 0;
	int			i;

	skx_segment_tids_of(seg, docs, n, c->tids);
	if (c->batch != NULL)
		memcpy(c->batch, docs, sizeof(uint32) * n);
	SKX_FAULT(SKX_FAULT_COUNT_MATCHED);
	for (i = 0; i < n; i++)
	{
		if (skx_count_is_visible(c, ItemPointerGetBlockNumber(&c->tids[i])))
			docs[nmapped++] = docs[i];
		else
		{
			if (c->others == NULL)
				skx_count_make_others(c);
			c->other_docs[nothers] = docs[i];
			c->others[nothers++] = c->tids[i];
		}
	}
	if (nmapped > 0)
	{
		SKX_FAULT(SKX_FAULT_COUNT_MAPPED);
		skx_segment_forget_deletes(seg);
		nlive = skx_segment_drop_deleted(seg, docs, nmapped);
		if (!skx_count_is_current(c, seg))
		{
			c->retired = true;
			skx_count_fetch(c, c->tids, n, NULL, NULL);
			skx_count_tell(c, seg, NULL, 0, c->batch, n);
			return;
		}
		c->rows += nlive;
		c->work.mapped += nlive;
	}
	skx_count_fetch(c, c->others, nothers, seg, c->other_docs);
	skx_count_tell(c, seg, docs, nlive, c->other_docs, nothers);
}

/*
 * Counts a batch for a taker that pauses, which can take nothing back.  Its
 * deleted bits were read after the map, so all are counted if the segment is
 * still one of the index.  Otherwise these rows, and those that follow, are
 * fetched.
 */
static void
skx_count_live(SkxCount *c, SkxSegment *seg, uint32 *docs, int n)
{
	if (!skx_count_is_current(c, seg))
	{
		c->retired = true;
		c->mode = SKX_COUNT_MATCHES;
		skx_count_make_room(c);
		skx_count_batch(c, seg, docs, n);
		return;
	}
	c->rows += n;
	c->work.whole += n;
	skx_count_tell(c, seg, docs, n, NULL, 0);
}

static SkxCollected
skx_count_collect(SkxCollector *collector, const SkxExecRange *range,
				  uint32 *docs, int n)
{
	SkxCount   *c = (SkxCount *) collector;

	if (c->mode == SKX_COUNT_MATCHES)
		skx_count_batch(c, range->segment, docs, n);
	else if (skx_count_pauses(c))
		skx_count_live(c, range->segment, docs, n);
	else
	{
		c->live += n;
		if (c->taker != NULL)
			c->taker->documents(range->segment, docs, n, c->taker->arg);
	}
	return skx_count_pauses(c) ? SKX_COLLECT_FULL : SKX_COLLECT_MORE;
}

/*
 * Ends a range.  Returns false if the segment gets no more deleted bits.  Then
 * none of the matches has been counted.
 */
static bool
skx_count_range_end(SkxCollector *collector, const SkxExecRange *range)
{
	SkxCount   *c = (SkxCount *) collector;

	c->retired = c->mode == SKX_COUNT_LIVE && !skx_count_pauses(c) &&
		!skx_count_is_current(c, range->segment);
	if (c->retired && c->taker != NULL)
		c->taker->forget(range->segment, c->taker->arg);
	if (c->retired || c->mode == SKX_COUNT_MATCHES)
		return !c->retired;
	c->rows += c->live;
	c->work.whole += c->live;
	return true;
}

static void
skx_count_leave(SkxCollector *collector, SkxSegment *seg)
{
	const SkxCountTaker *taker = ((SkxCount *) collector)->taker;

	if (taker != NULL && taker->done != NULL)
		taker->done(seg, taker->arg);
}

static bool
skx_count_pending(SkxCollector *collector, const SkxPendingDoc *doc)
{
	SkxCount   *c = (SkxCount *) collector;

	skx_count_make_room(c);
	if (c->taker != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(c->documents);

		c->pending[c->npending] = memcpy(palloc(VARSIZE(doc->value)),
										 doc->value, VARSIZE(doc->value));
		MemoryContextSwitchTo(old);
	}
	c->tids[c->npending++] = doc->tid;
	return c->npending < SKX_QUERY_BATCH &&
		(c->documents == NULL ||
		 MemoryContextMemAllocated(c->documents, false) < SKX_COUNT_DOCUMENTS);
}

/* Passes the pending documents of a batch that are counted to the taker. */
static void
skx_count_tell_pending(SkxCount *c)
{
	const SkxCountTaker *taker = c->taker;
	int			i;

	if (taker == NULL)
		return;
	for (i = 0; i < c->npending; i++)
	{
		if (!c->seen[i])
			continue;
		taker->pending(c->pending[i], &c->tids[i], taker->arg);
		c->told = true;
	}
	if (c->documents != NULL)
		MemoryContextReset(c->documents);
}

static bool
skx_count_drain(SkxCollector *collector)
{
	SkxCount   *c = (SkxCount *) collector;

	skx_count_fetch(c, c->tids, c->npending, NULL, NULL);
	skx_count_tell_pending(c);
	c->npending = 0;
	return !c->told || !skx_count_pauses(c);
}

static const SkxCollectorMethods skx_count_methods = {
	.answer = skx_count_answer,
	.begin = skx_count_range_begin,
	.collect = skx_count_collect,
	.end = skx_count_range_end,
	.leave = skx_count_leave,
	.pending = skx_count_pending,
	.drain = skx_count_drain
};

SkxCount *
skx_count_open(const SkxRequest *request, const SkxCountTaker *taker,
			   SkxCountShare *share, SkxCountWork *work)
{
	SkxCount   *c = palloc0(sizeof(SkxCount));

	Assert(request->share == (share == NULL ? NULL : &share->parts));
	c->collector.methods = &skx_count_methods;
	c->collector.wants_all = taker == NULL || !taker->pauses || taker->all;
	c->collector.parts = taker == NULL ? SKX_COUNT_PARTS : SKX_COUNT_TOLD_PARTS;
	c->request = request;
	c->taker = taker;
	c->share = share;
	c->sum = work;
	c->latest = request->view;
	c->context = CurrentMemoryContext;
	skx_count_map_begin(c);
	c->exec = skx_exec_begin(request, &c->collector);
	return c;
}

bool
skx_count_next(SkxCount *c)
{
	c->told = false;
	(void) skx_exec_next(c->exec);
	return c->told;
}

/* Closes what the count has open, and reports its result. */
static void
skx_count_settle(SkxCount *c)
{
	skx_count_fetch_end(c);
	skx_count_map_end(c);
	pgstat_count_index_tuples(c->request->index, c->rows);
	if (c->share != NULL)
		skx_count_share_add(c->share, c->rows);
	c->sum->fetched += c->work.fetched;
	c->sum->mapped += c->work.mapped;
	c->sum->whole += c->work.whole;
	c->sum->totals += c->work.totals;
}

void
skx_count_close(SkxCount *c)
{
	skx_count_settle(c);
	skx_exec_end(c->exec);
	pfree(c);
}

bool
skx_count_rows(const SkxRequest *request, const SkxCountTaker *taker,
			   SkxCountShare *share, SkxCountWork *work, uint64 *rows)
{
	SkxCount   *c = skx_count_open(request, taker, share, work);
	bool		last;

	while (skx_exec_next(c->exec))
		continue;
	skx_count_settle(c);
	*rows = c->rows;
	last = skx_exec_is_last(c->exec);
	skx_exec_end(c->exec);
	pfree(c);
	return last;
}
