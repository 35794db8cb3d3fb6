/*
 * build_writer.c
 *	  Writing of tasks, which are ranges of lexemes.
 *
 * Tasks are taken in the order of their lexemes, and their pages follow one
 * another in the planes.  The number of pages of a task is known when it is
 * done.  Until the tasks before it are done, the pages of a task are kept in
 * memory, numbered from 0.  If they would exceed the memory for them, the
 * member waits.  The first of the tasks in progress never waits, so that all
 * of them end.
 *
 * The postings plane of a task starts with a block, as its lists require.  The
 * block before it is filled up with empty pages.
 */
#include "postgres.h"

#include "format/disk/disk_page.h"
#include "miscadmin.h"
#include "support/fault/fault.h"
#include "support/throttle/throttle.h"
#include "utils/wait_event.h"
#include "write/build/build_internal.h"

/* A page that is kept until its task has a place. */
typedef struct SkxKeptPage
{
	uint32		plane;			/* SkxSegmentPlane */
	uint32		ordinal;
	uint32		used;			/* bytes of content, which follow */
} SkxKeptPage;

/* Argument of the sink of a plane. */
typedef struct SkxTaskSink
{
	SkxTaskWriter *writer;
	SkxSegmentPlane plane;
} SkxTaskSink;

struct SkxTaskWriter
{
	SkxParallel *group;
	SkxSegmentBuildOptions options;
	SkxPlaneWriter *planes[SKX_SEGMENT_NPLANES];
	SkxTaskSink sinks[SKX_SEGMENT_NPLANES];
	BufFile    *records;

	/* the task */
	uint32		task;
	bool		is_placed;		/* the task has its place, base */
	SkxTermTotals base;
	StringInfoData kept_pages;	/* SkxKeptPage and content, one by one */
	Size		max_kept_bytes;
	char	   *page;			/* a page with content from `kept_pages` */
};

static const SkxSegmentPlane skx_build_planes[] = {
	SKX_SEGMENT_DICT, SKX_SEGMENT_POSTINGS, SKX_SEGMENT_POSITIONS
};

/*
 * The place of a task
 */

/* Returns true if the current task has its place, and sets w->base to it. */
static bool
skx_build_task_is_placed(SkxTaskWriter *w)
{
	SkxParallel *team = w->group;
	bool		placed;

	SpinLockAcquire(&team->mutex);
	placed = team->placed_tasks == w->task;
	if (placed)
		w->base = team->placed_totals;
	SpinLockRelease(&team->mutex);
	return placed;
}

static void
skx_build_task_wait_place(SkxTaskWriter *w)
{
	ConditionVariablePrepareToSleep(&w->group->placed_cv);
	while (!skx_build_task_is_placed(w))
	{
		skx_build_check(w->group);
		skx_throttle_point();
		ConditionVariableTimedSleep(&w->group->placed_cv,
									SKX_THROTTLE_CHECK_MS,
									WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
}

/* Gives the next task its place, behind the pages of this one. */
static void
skx_build_task_place_next(SkxTaskWriter *w, const SkxTermTotals *totals)
{
	SkxParallel *team = w->group;
	SkxTermTotals *base = &team->placed_totals;

	/* only the first of the tasks in progress comes here */
	Assert(team->placed_tasks == w->task);
	SpinLockAcquire(&team->mutex);
	base->nterms += totals->nterms;
	base->npostings += totals->npostings;
	base->npositions += totals->npositions;
	base->postings_pages += totals->postings_pages;
	base->positions_pages += totals->positions_pages;
	base->dict_leaves += totals->dict_leaves;
	team->placed_tasks = w->task + 1;
	SpinLockRelease(&team->mutex);
	ConditionVariableBroadcast(&team->placed_cv);
}

/*
 * Pages
 */

static void
skx_build_task_put_page(SkxTaskWriter *w, SkxSegmentPlane plane,
						uint32 ordinal, char *page, uint32 used)
{
	Assert(w->is_placed && used <= SKX_PAGE_CAPACITY);
	if (plane == SKX_SEGMENT_DICT)
		skx_writer_dict_relocate(page, w->base.nterms,
								 w->base.postings_pages,
								 w->base.positions_pages);
	skx_writer_plane_put(w->planes[plane], ordinal, page, used);
}

/* Writes the kept pages of a task that has its place. */
static void
skx_build_task_write_kept_pages(SkxTaskWriter *w)
{
	int			at = 0;

	Assert(!w->is_placed);
	w->is_placed = true;
	skx_writer_fragment_begin(w->planes[SKX_SEGMENT_DICT],
							  w->base.dict_leaves);
	skx_writer_fragment_begin(w->planes[SKX_SEGMENT_POSTINGS],
							  w->base.postings_pages);
	skx_writer_fragment_begin(w->planes[SKX_SEGMENT_POSITIONS],
							  w->base.positions_pages);
	while (at < w->kept_pages.len)
	{
		SkxKeptPage kept;

		memcpy(&kept, w->kept_pages.data + at, sizeof(kept));
		at += sizeof(kept);
		memcpy(w->page + SKX_PAGE_START, w->kept_pages.data + at, kept.used);
		at += kept.used;
		skx_build_task_put_page(w, kept.plane, kept.ordinal, w->page,
								kept.used);
	}
	Assert(at == w->kept_pages.len);
	resetStringInfo(&w->kept_pages);
}

/* An SkxPageSink. */
static void
skx_build_task_sink(void *arg, uint32 ordinal, char *page, uint32 used)
{
	SkxTaskSink *sink = arg;
	SkxTaskWriter *w = sink->writer;
	SkxKeptPage kept = {sink->plane, ordinal, used};

	if (!w->is_placed)
	{
		bool		full = w->kept_pages.len + sizeof(kept) + used >
			w->max_kept_bytes;

		if (full)
			skx_build_task_wait_place(w);
		if (full || skx_build_task_is_placed(w))
			skx_build_task_write_kept_pages(w);
	}
	if (w->is_placed)
	{
		skx_build_task_put_page(w, sink->plane, ordinal, page, used);
		return;
	}
	appendBinaryStringInfo(&w->kept_pages, (char *) &kept, sizeof(kept));
	appendBinaryStringInfo(&w->kept_pages, page + SKX_PAGE_START, used);
}

/* Fills the last block of postings up with empty pages. */
static void
skx_build_task_pad_block(SkxTaskWriter *w, SkxTermTotals *totals)
{
	uint32		block_pages = w->options.block_size / BLCKSZ;
	SkxTaskSink *sink = &w->sinks[SKX_SEGMENT_POSTINGS];

	while (totals->postings_pages % block_pages != 0)
		skx_build_task_sink(sink, totals->postings_pages++, w->page, 0);
	Assert(totals->postings_pages % block_pages == 0);
}

/* The file "done", for member 0 */

static void
skx_build_record_kind(SkxTaskWriter *w, SkxTaskRecordKind kind)
{
	BufFileWrite(w->records, &kind, sizeof(kind));
}

static void
skx_build_record_task(SkxTaskWriter *w, const char *lexeme, int len,
					  const SkxDictLeaves *leaves)
{
	SkxTaskRecord done = {0};

	Assert(len <= (int) sizeof(done.lexeme));
	done.task = w->task;
	done.nleaves = leaves->n;
	done.nkeys = leaves->keys.len;
	done.len = len;
	memcpy(done.lexeme, lexeme, len);
	skx_build_record_kind(w, SKX_TASK_RECORD);
	BufFileWrite(w->records, &done, sizeof(done));
	BufFileWrite(w->records, leaves->keys.data, leaves->keys.len);
}

/* Ends the task's stretch of a plane, and writes its tail to the file. */
static void
skx_build_record_fragment(SkxTaskWriter *w, SkxSegmentPlane plane)
{
	SkxPlaneTail tail;
	SkxTailRecord done = {0};
	int			n = skx_writer_fragment_end(w->planes[plane], &tail);
	int			i;

	if (n == 0)
		return;
	done.plane = plane;
	done.first = tail.first;
	done.npages = n;
	skx_build_record_kind(w, SKX_TAIL_RECORD);
	BufFileWrite(w->records, &done, sizeof(done));
	for (i = 0; i < n; i++)
		BufFileWrite(w->records, tail.pages[i], BLCKSZ);
	skx_writer_fragment_free_tail(w->planes[plane]);
}

static void
skx_build_record_plane(SkxTaskWriter *w, SkxSegmentPlane plane)
{
	SkxPlaneFragments all;
	SkxPlaneRecord done = {0};

	skx_writer_fragments_end(w->planes[plane], &all);
	done.plane = plane;
	done.nruns = all.nruns;
	done.unused = all.unused;
	done.nunused = all.nunused;
	skx_build_record_kind(w, SKX_PLANE_RECORD);
	BufFileWrite(w->records, &done, sizeof(done));
	BufFileWrite(w->records, all.runs, all.nruns * sizeof(SkxDiskRun));
}

/*
 * The interface
 */

SkxTaskWriter *
skx_build_writer_begin(SkxParallel *team, int member,
					   const SkxSegmentBuildOptions *options, Size kept_most)
{
	SkxTaskWriter *w = palloc0(sizeof(SkxTaskWriter));
	int			i;

	w->group = team;
	w->options = *options;
	w->max_kept_bytes = kept_most;
	w->page = palloc0(BLCKSZ);
	initStringInfo(&w->kept_pages);
	skx_writer_planes_begin(w->planes, SKX_SEGMENT_NPLANES, options);
	for (i = 0; i < SKX_SEGMENT_NPLANES; i++)
	{
		w->sinks[i].writer = w;
		w->sinks[i].plane = i;
	}
	w->records = skx_build_file(team, team->encoded_round, member, "done");
	return w;
}

bool
skx_build_writer_next_task(SkxTaskWriter *w, uint32 *task)
{
	CHECK_FOR_INTERRUPTS();
	w->task = *task = pg_atomic_fetch_add_u32(&w->group->next_task, 1);
	w->is_placed = false;
	Assert(w->kept_pages.len == 0);
	return *task < w->group->ntasks;
}

SkxTermSinks
skx_build_writer_sinks(SkxTaskWriter *w)
{
	SkxTermSinks sinks = {
		skx_build_task_sink, &w->sinks[SKX_SEGMENT_DICT],
		&w->sinks[SKX_SEGMENT_POSTINGS], &w->sinks[SKX_SEGMENT_POSITIONS]
	};

	return sinks;
}

void
skx_build_writer_end_task(SkxTaskWriter *w, SkxTermWriter *terms,
						  const char *lexeme, int len)
{
	SkxTermTotals totals;
	SkxDictLeaves leaves;
	int			i;

	skx_writer_terms_leaves(terms, &totals, &leaves);
	if (w->task + 1 < w->group->ntasks)
		skx_build_task_pad_block(w, &totals);
	SKX_FAULT(SKX_FAULT_TEAM_TASK_ENCODED);
	if (!w->is_placed)
		skx_build_task_wait_place(w);
	skx_build_task_place_next(w, &totals);
	if (!w->is_placed)
		skx_build_task_write_kept_pages(w);
	Assert(w->is_placed && w->kept_pages.len == 0);
	for (i = 0; i < lengthof(skx_build_planes); i++)
		skx_build_record_fragment(w, skx_build_planes[i]);
	skx_build_record_task(w, lexeme, len, &leaves);
}

void
skx_build_writer_end(SkxTaskWriter *w)
{
	int			i;

	for (i = 0; i < lengthof(skx_build_planes); i++)
		skx_build_record_plane(w, skx_build_planes[i]);
	skx_build_record_kind(w, SKX_END_RECORD);
	BufFileExportFileSet(w->records);
	BufFileClose(w->records);
}
