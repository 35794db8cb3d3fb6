/*
 * count_rows.c
 *	  Counts the matches of segments, and then of pending documents.
 *
 * Rows of pending documents are fetched always: VACUUM moves them to segments
 * before it makes their pages visible to all, but for some kilobytes.  What is
 * read when, and why that is enough, is in README.md.
 */
#include "postgres.h"

#include "answer/count/count_internal.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "support/fault/fault.h"
#include "utils/memutils.h"

/* Segments that are opened together. */
#define SKX_COUNT_SEGMENTS	8

/* Bytes of pending documents that wait to be told, about. */
#define SKX_COUNT_DOCUMENTS	(1024 * 1024)

/*
 * Is the segment still one of the index?  Once it is not, marks of deleted
 * documents are set elsewhere.
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

/* For batches, which a count that needs to see no match has none of. */
static void
skx_count_make_room(SkxCount *c)
{
	MemoryContext old;

	if (c->docs != NULL)
		return;
	old = MemoryContextSwitchTo(c->context);
	c->docs = palloc(sizeof(uint32) * SKX_QUERY_DOCS);
	c->tids = palloc(sizeof(ItemPointerData) * SKX_QUERY_DOCS);
	if (c->request->taker != NULL)
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

/* Tells documents of which the others that were fetched are some. */
static void
skx_count_tell(SkxCount *c, SkxSegment *seg, const uint32 *docs, int n,
			   const uint32 *others, int nothers)
{
	const SkxCountTaker *taker = c->request->taker;
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
}

/*
 * All pages are visible to all and no document of the segment is marked, so
 * that the answer for one word is how many documents have it.
 */
static bool
skx_count_total(SkxCount *c, SkxSegment *seg)
{
	const SkxLexeme *word = skx_query_only_word(c->request->query);
	SkxTerm		term;
	uint64		rows;

	if (word == NULL || c->request->taker != NULL)
		return false;
	rows = skx_segment_find(seg, word->bytes, word->len, &term) ? term.df : 0;
	if (!skx_count_is_whole(c, (double) rows) ||
		skx_segment_ndeleted(seg) > 0 || !skx_count_is_current(c, seg))
		return false;
	c->rows += rows;
	c->work->totals += rows;
	return true;
}

/*
 * All pages were visible to all before the first mark was read.  False: marks
 * are no longer set in the segment, and nothing was added.
 */
static bool
skx_count_all_live(SkxCount *c, SkxSegment *seg, SkxQueryScan *answer)
{
	const SkxCountTaker *taker = c->request->taker;
	uint64		rows = 0;
	int			n;

	/* a part before this one may have read some, before the map was asked */
	skx_segment_forget_deletes(seg);
	if (taker == NULL && skx_segment_ndeleted(seg) == 0 &&
		skx_query_scan_counts(answer))
		rows = skx_query_scan_count(answer);
	else
	{
		skx_count_make_room(c);
		while ((n = skx_query_scan_next(answer, c->docs)) > 0)
		{
			rows += n;
			if (taker != NULL)
				taker->documents(seg, c->docs, n, taker->arg);
		}
	}
	if (!skx_count_is_current(c, seg))
	{
		if (taker != NULL)
			taker->forget(seg, taker->arg);
		return false;
	}
	c->rows += rows;
	c->work->whole += rows;
	return true;
}

/*
 * Of a batch: those on pages that are visible to all are counted, unless their
 * documents have been marked before that was known, and the others fetched.
 */
static void
skx_count_batch(SkxCount *c, SkxSegment *seg, int n)
{
	int			nmapped = 0;
	int			nothers = 0;
	int			nlive = 0;
	int			i;

	skx_segment_tids_of(seg, c->docs, n, c->tids);
	if (c->batch != NULL)
		memcpy(c->batch, c->docs, sizeof(uint32) * n);
	SKX_FAULT(SKX_FAULT_COUNT_MATCHED);
	for (i = 0; i < n; i++)
	{
		if (skx_count_is_visible(c, ItemPointerGetBlockNumber(&c->tids[i])))
			c->docs[nmapped++] = c->docs[i];
		else
		{
			if (c->others == NULL)
				skx_count_make_others(c);
			c->other_docs[nothers] = c->docs[i];
			c->others[nothers++] = c->tids[i];
		}
	}
	if (nmapped > 0)
	{
		SKX_FAULT(SKX_FAULT_COUNT_MAPPED);
		skx_segment_forget_deletes(seg);
		nlive = skx_segment_drop_deleted(seg, c->docs, nmapped);
		if (!skx_count_is_current(c, seg))
		{
			c->retired = true;
			skx_count_fetch(c, c->tids, n, NULL, NULL);
			skx_count_tell(c, seg, NULL, 0, c->batch, n);
			return;
		}
		c->rows += nlive;
		c->work->mapped += nlive;
	}
	skx_count_fetch(c, c->others, nothers, seg, c->other_docs);
	skx_count_tell(c, seg, c->docs, nlive, c->other_docs, nothers);
}

static void
skx_count_matches(SkxCount *c, SkxSegment *seg, SkxQueryScan *answer)
{
	int			n;

	while ((n = skx_query_scan_next(answer, c->docs)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		skx_count_batch(c, seg, n);
	}
}

/* Of what was told of a larger segment, some cannot be taken back. */
static bool
skx_count_may_forget(const SkxCount *c, uint32 ndocs)
{
	const SkxCountTaker *taker = c->request->taker;

	return taker == NULL || ndocs <= taker->most;
}

SkxQueryScan *
skx_count_part(SkxCount *c, SkxSegment *seg, SkxQueryScan *answer,
			   uint32 from, uint32 to)
{
	skx_query_scan_range(answer, from, to);
	c->retired = false;
	if (skx_count_may_forget(c, to - from) &&
		skx_count_is_whole(c, skx_query_scan_cost(answer)))
	{
		if (skx_count_all_live(c, seg, answer))
			return answer;
		c->retired = true;
		skx_query_scan_close(answer);
		answer = skx_query_scan_open(seg, c->request->query, true);
		skx_query_scan_range(answer, from, to);
	}
	skx_count_make_room(c);
	skx_count_matches(c, seg, answer);
	return answer;
}

static void
skx_count_segment(SkxCount *c, SkxSegment *seg, SkxQueryScan *answer)
{
	answer = skx_count_part(c, seg, answer, 0, seg->header.ndocs);
	skx_query_scan_close(answer);
	if (c->request->taker != NULL && c->request->taker->done != NULL)
		c->request->taker->done(seg, c->request->taker->arg);
}

/* Those that do not know their total are asked together. */
static void
skx_count_segments(SkxCount *c, SkxSegment **segs, int n)
{
	SkxQueryScan *answers[SKX_COUNT_SEGMENTS];
	SkxSegment *asked[SKX_COUNT_SEGMENTS];
	int			nasked = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		if (skx_count_total(c, segs[i]))
			continue;
		asked[nasked] = segs[i];
		answers[nasked++] = skx_query_scan_open(segs[i], c->request->query,
												true);
	}
	if (nasked > 0)
		skx_query_scan_plan(answers, nasked);
	for (i = 0; i < nasked; i++)
	{
		skx_count_segment(c, asked[i], answers[i]);
		skx_segment_relax(asked[i]);
	}
}

static bool
skx_count_document(const SkxPendingDoc *doc, void *arg)
{
	SkxCount   *c = arg;

	if (skx_query_matches(c->request->query, doc->value))
	{
		skx_count_make_room(c);
		if (c->request->taker != NULL)
		{
			MemoryContext old = MemoryContextSwitchTo(c->documents);

			c->pending[c->npending] = memcpy(palloc(VARSIZE(doc->value)),
											 doc->value, VARSIZE(doc->value));
			MemoryContextSwitchTo(old);
		}
		c->tids[c->npending++] = doc->tid;
	}
	return c->npending < SKX_QUERY_BATCH &&
		(c->documents == NULL ||
		 MemoryContextMemAllocated(c->documents, false) < SKX_COUNT_DOCUMENTS);
}

/* Tells those of a batch that were fetched and are counted. */
static void
skx_count_tell_pending(SkxCount *c)
{
	const SkxCountTaker *taker = c->request->taker;
	int			i;

	if (taker == NULL)
		return;
	for (i = 0; i < c->npending; i++)
		if (c->seen[i])
			taker->pending(c->pending[i], &c->tids[i], taker->arg);
	if (c->documents != NULL)
		MemoryContextReset(c->documents);
}

void
skx_count_pending(SkxCount *c, SkxSource *source)
{
	bool		more;

	do
	{
		c->npending = 0;
		more = skx_snapshot_pending(source, NULL, skx_count_document, c);
		skx_count_fetch(c, c->tids, c->npending, NULL, NULL);
		skx_count_tell_pending(c);
	} while (more);
}

SkxCount *
skx_count_begin(const SkxCountRequest *request, SkxCountWork *work)
{
	SkxCount   *c = palloc0(sizeof(SkxCount));

	c->request = request;
	c->work = work;
	c->latest = request->view;
	c->context = CurrentMemoryContext;
	skx_count_map_begin(c);
	return c;
}

uint64
skx_count_end(SkxCount *c)
{
	skx_count_fetch_end(c);
	skx_count_map_end(c);
	pgstat_count_index_tuples(c->request->index, c->rows);
	return c->rows;
}

uint64
skx_count_rows(const SkxCountRequest *request, SkxCountWork *work)
{
	SkxSource  *source = skx_snapshot_open(request->index, request->view);
	SkxCount   *c = skx_count_begin(request, work);
	int			n;

	while ((n = skx_snapshot_next(source, SKX_COUNT_SEGMENTS)) > 0)
		skx_count_segments(c, source->segments, n);
	skx_count_pending(c, source);
	skx_snapshot_close(source);
	return skx_count_end(c);
}
