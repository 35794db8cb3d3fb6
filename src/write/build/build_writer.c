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
	SkxTeamWriter *writer;
	SkxSegmentPlane plane;
} SkxTaskSink;

struct SkxTeamWriter
{
	SkxTeam    *team;
	SkxSegmentBuildOptions options;
	SkxPlaneWriter *planes[SKX_SEGMENT_NPLANES];
	SkxTaskSink sinks[SKX_SEGMENT_NPLANES];
	BufFile    *done;

	/* the task */
	uint32		task;
	bool		settled;		/* the task has its place, base */
	SkxTermTotals base;
	StringInfoData kept;		/* SkxKeptPage and content, one by one */
	Size		kept_most;
	char	   *page;			/* a page with content from `kept` */
};

static const SkxSegmentPlane skx_build_planes[] = {
	SKX_SEGMENT_DICT, SKX_SEGMENT_POSTINGS, SKX_SEGMENT_POSITIONS
};

/*
 * The place of a task
 */

/* Returns true if the current task has its place, and sets w->base to it. */
static bool
skx_build_task_placed(SkxTeamWriter *w)
{
	SkxTeam    *team = w->team;
	bool		placed;

	SpinLockAcquire(&team->mutex);
	placed = team->settled == w->task;
	if (placed)
		w->base = team->base;
	SpinLockRelease(&team->mutex);
	return placed;
}

static void
skx_build_task_wait(SkxTeamWriter *w)
{
	ConditionVariablePrepareToSleep(&w->team->settled_cv);
	while (!skx_build_task_placed(w))
	{
		skx_build_check(w->team);
		skx_throttle_point();
		ConditionVariableTimedSleep(&w->team->settled_cv, SKX_PACE_CHECK,
									WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
}

/* Gives the next task its place, behind the pages of this one. */
static void
skx_build_task_publish(SkxTeamWriter *w, const SkxTermTotals *totals)
{
	SkxTeam    *team = w->team;
	SkxTermTotals *base = &team->base;

	/* only the first of the tasks in progress comes here */
	Assert(team->settled == w->task);
	SpinLockAcquire(&team->mutex);
	base->nterms += totals->nterms;
	base->npostings += totals->npostings;
	base->npositions += totals->npositions;
	base->postings_pages += totals->postings_pages;
	base->positions_pages += totals->positions_pages;
	base->dict_leaves += totals->dict_leaves;
	team->settled = w->task + 1;
	SpinLockRelease(&team->mutex);
	ConditionVariableBroadcast(&team->settled_cv);
}

/*
 * Pages
 */

static void
skx_build_page_put(SkxTeamWriter *w, SkxSegmentPlane plane, uint32 ordinal,
				   char *page, uint32 used)
{
	Assert(w->settled && used <= SKX_PAGE_CAPACITY);
	if (plane == SKX_SEGMENT_DICT)
		skx_writer_dict_relocate(page, w->base.nterms,
								 w->base.postings_pages,
								 w->base.positions_pages);
	skx_writer_plane_put(w->planes[plane], ordinal, page, used);
}

/* Writes the kept pages of a task that has its place. */
static void
skx_build_task_settle(SkxTeamWriter *w)
{
	int			at = 0;

	Assert(!w->settled);
	w->settled = true;
	skx_writer_stretch_begin(w->planes[SKX_SEGMENT_DICT],
							 w->base.dict_leaves);
	skx_writer_stretch_begin(w->planes[SKX_SEGMENT_POSTINGS],
							 w->base.postings_pages);
	skx_writer_stretch_begin(w->planes[SKX_SEGMENT_POSITIONS],
							 w->base.positions_pages);
	while (at < w->kept.len)
	{
		SkxKeptPage kept;

		memcpy(&kept, w->kept.data + at, sizeof(kept));
		at += sizeof(kept);
		memcpy(w->page + SKX_PAGE_START, w->kept.data + at, kept.used);
		at += kept.used;
		skx_build_page_put(w, kept.plane, kept.ordinal, w->page, kept.used);
	}
	Assert(at == w->kept.len);
	resetStringInfo(&w->kept);
}

/* An SkxPageSink. */
static void
skx_build_task_sink(void *arg, uint32 ordinal, char *page, uint32 used)
{
	SkxTaskSink *sink = arg;
	SkxTeamWriter *w = sink->writer;
	SkxKeptPage kept = {sink->plane, ordinal, used};

	if (!w->settled)
	{
		bool		full = w->kept.len + sizeof(kept) + used > w->kept_most;

		if (full)
			skx_build_task_wait(w);
		if (full || skx_build_task_placed(w))
			skx_build_task_settle(w);
	}
	if (w->settled)
	{
		skx_build_page_put(w, sink->plane, ordinal, page, used);
		return;
	}
	appendBinaryStringInfo(&w->kept, (char *) &kept, sizeof(kept));
	appendBinaryStringInfo(&w->kept, page + SKX_PAGE_START, used);
}

/* Fills the last block of postings up with empty pages. */
static void
skx_build_task_pad(SkxTeamWriter *w, SkxTermTotals *totals)
{
	uint32		block_pages = w->options.block_size / BLCKSZ;
	SkxTaskSink *sink = &w->sinks[SKX_SEGMENT_POSTINGS];

	while (totals->postings_pages % block_pages != 0)
		skx_build_task_sink(sink, totals->postings_pages++, w->page, 0);
	Assert(totals->postings_pages % block_pages == 0);
}

/* The file "done", for member 0 */

static void
skx_build_done_kind(SkxTeamWriter *w, SkxDoneKind kind)
{
	BufFileWrite(w->done, &kind, sizeof(kind));
}

static void
skx_build_done_task(SkxTeamWriter *w, const char *lexeme, int len,
					const SkxDictLeaves *leaves)
{
	SkxDoneTask done = {0};

	Assert(len <= (int) sizeof(done.lexeme));
	done.task = w->task;
	done.nleaves = leaves->n;
	done.nkeys = leaves->keys.len;
	done.len = len;
	memcpy(done.lexeme, lexeme, len);
	skx_build_done_kind(w, SKX_DONE_TASK);
	BufFileWrite(w->done, &done, sizeof(done));
	BufFileWrite(w->done, leaves->keys.data, leaves->keys.len);
}

/* Ends the task's stretch of a plane, and writes its tail to the file. */
static void
skx_build_done_stretch(SkxTeamWriter *w, SkxSegmentPlane plane)
{
	SkxPlaneTail tail;
	SkxDoneTail done = {0};
	int			n = skx_writer_stretch_end(w->planes[plane], &tail);
	int			i;

	if (n == 0)
		return;
	done.plane = plane;
	done.first = tail.first;
	done.npages = n;
	skx_build_done_kind(w, SKX_DONE_TAIL);
	BufFileWrite(w->done, &done, sizeof(done));
	for (i = 0; i < n; i++)
		BufFileWrite(w->done, tail.pages[i], BLCKSZ);
	skx_writer_stretch_tail_done(w->planes[plane]);
}

static void
skx_build_done_plane(SkxTeamWriter *w, SkxSegmentPlane plane)
{
	SkxPlaneStretches all;
	SkxDonePlane done = {0};

	skx_writer_stretches_end(w->planes[plane], &all);
	done.plane = plane;
	done.nruns = all.nruns;
	done.unused = all.unused;
	done.nunused = all.nunused;
	skx_build_done_kind(w, SKX_DONE_PLANE);
	BufFileWrite(w->done, &done, sizeof(done));
	BufFileWrite(w->done, all.runs, all.nruns * sizeof(SkxDiskRun));
}

/*
 * The interface
 */

SkxTeamWriter *
skx_build_writer_begin(SkxTeam *team, int member,
					   const SkxSegmentBuildOptions *options, Size kept_most)
{
	SkxTeamWriter *w = palloc0(sizeof(SkxTeamWriter));
	int			i;

	w->team = team;
	w->options = *options;
	w->kept_most = kept_most;
	w->page = palloc0(BLCKSZ);
	initStringInfo(&w->kept);
	skx_writer_planes_begin(w->planes, SKX_SEGMENT_NPLANES, options);
	for (i = 0; i < SKX_SEGMENT_NPLANES; i++)
	{
		w->sinks[i].writer = w;
		w->sinks[i].plane = i;
	}
	w->done = skx_build_file(team, team->round, member, "done");
	return w;
}

bool
skx_build_writer_next(SkxTeamWriter *w, uint32 *task)
{
	CHECK_FOR_INTERRUPTS();
	w->task = *task = pg_atomic_fetch_add_u32(&w->team->next_task, 1);
	w->settled = false;
	Assert(w->kept.len == 0);
	return *task < w->team->ntasks;
}

SkxTermSinks
skx_build_writer_sinks(SkxTeamWriter *w)
{
	SkxTermSinks sinks = {
		skx_build_task_sink, &w->sinks[SKX_SEGMENT_DICT],
		&w->sinks[SKX_SEGMENT_POSTINGS], &w->sinks[SKX_SEGMENT_POSITIONS]
	};

	return sinks;
}

void
skx_build_writer_done(SkxTeamWriter *w, SkxTermWriter *terms,
					  const char *lexeme, int len)
{
	SkxTermTotals totals;
	SkxDictLeaves leaves;
	int			i;

	skx_writer_terms_leaves(terms, &totals, &leaves);
	if (w->task + 1 < w->team->ntasks)
		skx_build_task_pad(w, &totals);
	SKX_FAULT(SKX_FAULT_TEAM_TASK_ENCODED);
	if (!w->settled)
		skx_build_task_wait(w);
	skx_build_task_publish(w, &totals);
	if (!w->settled)
		skx_build_task_settle(w);
	Assert(w->settled && w->kept.len == 0);
	for (i = 0; i < lengthof(skx_build_planes); i++)
		skx_build_done_stretch(w, skx_build_planes[i]);
	skx_build_done_task(w, lexeme, len, &leaves);
}

void
skx_build_writer_end(SkxTeamWriter *w)
{
	int			i;

	for (i = 0; i < lengthof(skx_build_planes); i++)
		skx_build_done_plane(w, skx_build_planes[i]);
	skx_build_done_kind(w, SKX_DONE_END);
	BufFileExportFileSet(w->done);
	BufFileClose(w->done);
}
