/*
 * team_task.c
 *	  A member encodes tasks: ranges of lexemes, from the runs of all members.
 *
 * Tasks are taken in the order of their lexemes, and their pages follow one
 * another in the planes.  How many the task before takes shows when it is
 * done; until then the pages of this one are kept in memory, numbered from 0.
 * When they would pass what there is for them, the member waits.  The task that
 * is first of those in hand never waits, so that all come to an end.
 *
 * The postings plane of a task starts with a block, as its lists expect; the
 * block before is filled up with empty pages.
 */
#include "postgres.h"

#include "fault/fault.h"
#include "format/format_page.h"
#include "team/team_internal.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

/* More than that in memory gains nothing. */
#define SKX_TASK_KEPT_MAX	((Size) 256 * 1024 * 1024)

/* A page before its task has a place. */
typedef struct SkxKeptPage
{
	uint32		plane;			/* SkxSegmentPlane */
	uint32		ordinal;
	uint32		used;			/* bytes of content, which follow */
} SkxKeptPage;

/* Where the pages of one plane go. */
typedef struct SkxTaskSink
{
	struct SkxTeamEncoder *encoder;
	SkxSegmentPlane plane;
} SkxTaskSink;

typedef struct SkxTeamEncoder
{
	SkxTeam    *team;
	int			member;
	SkxSegmentBuildOptions options;
	MemoryContext context;
	MemoryContext task_context;

	/* the plan */
	BufFile    *plan;
	int			tasks_file;		/* where the tasks start in it */
	off_t		tasks_offset;
	SkxRunMap  *maps;
	SkxPlanRun *runs;
	SkxRunFile **files;			/* of the members' runs */
	SkxRunCursor **cursors;
	uint64	   *starts;
	SkxRunProgress progress;

	/* the segment */
	dsm_segment *norms;
	SkxPlaneWriter *planes[SKX_SEGMENT_NPLANES];
	SkxTaskSink sinks[SKX_SEGMENT_NPLANES];
	BufFile    *done;

	/* the task */
	uint32		task;
	bool		settled;		/* it has its place: */
	SkxTermTotals base;
	StringInfoData kept;		/* SkxKeptPage and content, one by one */
	Size		kept_most;
	char	   *page;			/* a page with content from `kept` */
} SkxTeamEncoder;

static const SkxSegmentPlane skx_team_planes[] = {
	SKX_SEGMENT_DICT, SKX_SEGMENT_POSTINGS, SKX_SEGMENT_POSITIONS
};

/*
 * The place of a task
 */

/* Does the current task have its place yet? */
static bool
skx_team_task_placed(SkxTeamEncoder *e)
{
	SkxTeam    *team = e->team;
	bool		placed;

	SpinLockAcquire(&team->mutex);
	placed = team->settled == e->task;
	if (placed)
		e->base = team->base;
	SpinLockRelease(&team->mutex);
	return placed;
}

static void
skx_team_task_wait(SkxTeamEncoder *e)
{
	ConditionVariablePrepareToSleep(&e->team->settled_cv);
	while (!skx_team_task_placed(e))
		ConditionVariableSleep(&e->team->settled_cv,
							   WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	ConditionVariableCancelSleep();
}

/* The next task begins behind what this one takes. */
static void
skx_team_task_publish(SkxTeamEncoder *e, const SkxTermTotals *totals)
{
	SkxTeam    *team = e->team;
	SkxTermTotals *base = &team->base;

	/* only the first of the tasks in hand comes here */
	Assert(team->settled == e->task);
	SpinLockAcquire(&team->mutex);
	base->nterms += totals->nterms;
	base->npostings += totals->npostings;
	base->npositions += totals->npositions;
	base->postings_pages += totals->postings_pages;
	base->positions_pages += totals->positions_pages;
	base->dict_leaves += totals->dict_leaves;
	team->settled = e->task + 1;
	SpinLockRelease(&team->mutex);
	ConditionVariableBroadcast(&team->settled_cv);
}

/*
 * Pages
 */

static void
skx_team_page_put(SkxTeamEncoder *e, SkxSegmentPlane plane, uint32 ordinal,
				  char *page, uint32 used)
{
	Assert(e->settled && used <= SKX_PAGE_CAPACITY);
	if (plane == SKX_SEGMENT_DICT)
		skx_segment_dict_relocate(page, e->base.nterms,
								  e->base.postings_pages,
								  e->base.positions_pages);
	skx_segment_plane_put(e->planes[plane], ordinal, page, used);
}

/* The task has its place: what was kept goes there. */
static void
skx_team_task_settle(SkxTeamEncoder *e)
{
	int			at = 0;

	Assert(!e->settled);
	e->settled = true;
	skx_segment_stretch_begin(e->planes[SKX_SEGMENT_DICT],
							  e->base.dict_leaves);
	skx_segment_stretch_begin(e->planes[SKX_SEGMENT_POSTINGS],
							  e->base.postings_pages);
	skx_segment_stretch_begin(e->planes[SKX_SEGMENT_POSITIONS],
							  e->base.positions_pages);
	while (at < e->kept.len)
	{
		SkxKeptPage kept;

		memcpy(&kept, e->kept.data + at, sizeof(kept));
		at += sizeof(kept);
		memcpy(e->page + SKX_PAGE_START, e->kept.data + at, kept.used);
		at += kept.used;
		skx_team_page_put(e, kept.plane, kept.ordinal, e->page, kept.used);
	}
	Assert(at == e->kept.len);
	resetStringInfo(&e->kept);
}

/* An SkxPageSink. */
static void
skx_team_task_sink(void *arg, uint32 ordinal, char *page, uint32 used)
{
	SkxTaskSink *sink = arg;
	SkxTeamEncoder *e = sink->encoder;
	SkxKeptPage kept = {sink->plane, ordinal, used};

	if (!e->settled)
	{
		bool		full = e->kept.len + sizeof(kept) + used > e->kept_most;

		if (full)
			skx_team_task_wait(e);
		if (full || skx_team_task_placed(e))
			skx_team_task_settle(e);
	}
	if (e->settled)
	{
		skx_team_page_put(e, sink->plane, ordinal, page, used);
		return;
	}
	appendBinaryStringInfo(&e->kept, (char *) &kept, sizeof(kept));
	appendBinaryStringInfo(&e->kept, page + SKX_PAGE_START, used);
}

/* Empty pages up to the end of the block. */
static void
skx_team_task_pad(SkxTeamEncoder *e, SkxTermTotals *totals)
{
	uint32		block_pages = e->options.block_size / BLCKSZ;
	SkxTaskSink *sink = &e->sinks[SKX_SEGMENT_POSTINGS];

	while (totals->postings_pages % block_pages != 0)
		skx_team_task_sink(sink, totals->postings_pages++, e->page, 0);
	Assert(totals->postings_pages % block_pages == 0);
}

/*
 * What member 0 needs to know
 */

static void
skx_team_done_kind(SkxTeamEncoder *e, SkxDoneKind kind)
{
	BufFileWrite(e->done, &kind, sizeof(kind));
}

static void
skx_team_done_task(SkxTeamEncoder *e, const SkxPlanTask *task,
				   const SkxDictLeaves *leaves)
{
	SkxDoneTask done = {0};

	Assert(task->len <= sizeof(done.lexeme));
	done.task = e->task;
	done.nleaves = leaves->n;
	done.nkeys = leaves->keys.len;
	done.len = task->len;
	memcpy(done.lexeme, task->lexeme, task->len);
	skx_team_done_kind(e, SKX_DONE_TASK);
	BufFileWrite(e->done, &done, sizeof(done));
	BufFileWrite(e->done, leaves->keys.data, leaves->keys.len);
}

/* Ends the task's stretch of a plane. */
static void
skx_team_done_stretch(SkxTeamEncoder *e, SkxSegmentPlane plane)
{
	SkxPlaneTail tail;
	SkxDoneTail done = {0};
	int			n = skx_segment_stretch_end(e->planes[plane], &tail);
	int			i;

	if (n == 0)
		return;
	done.plane = plane;
	done.first = tail.first;
	done.npages = n;
	skx_team_done_kind(e, SKX_DONE_TAIL);
	BufFileWrite(e->done, &done, sizeof(done));
	for (i = 0; i < n; i++)
		BufFileWrite(e->done, tail.pages[i], BLCKSZ);
	skx_segment_stretch_tail_done(e->planes[plane]);
}

static void
skx_team_done_plane(SkxTeamEncoder *e, SkxSegmentPlane plane)
{
	SkxPlaneStretches all;
	SkxDonePlane done = {0};

	skx_segment_stretches_end(e->planes[plane], &all);
	done.plane = plane;
	done.nruns = all.nruns;
	done.unused = all.unused;
	done.nunused = all.nunused;
	skx_team_done_kind(e, SKX_DONE_PLANE);
	BufFileWrite(e->done, &done, sizeof(done));
	BufFileWrite(e->done, all.runs, all.nruns * sizeof(SkxDiskRun));
}

/*
 * Tasks
 */

/* Reads where a task begins. */
static void
skx_team_task_read(SkxTeamEncoder *e, uint32 number, SkxPlanTask *task)
{
	Size		starts = e->team->nruns * sizeof(uint64);
	Size		size = sizeof(SkxPlanTask) + starts;

	Assert(number <= e->team->ntasks);
	memset(task, 0, sizeof(*task));
	if (number == e->team->ntasks)
		return;
	if (BufFileSeek(e->plan, e->tasks_file, e->tasks_offset + number * size,
					SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read temporary file of an index build: %m")));
	skx_team_read(e->plan, task, sizeof(*task));
	if (task->len > sizeof(task->lexeme))
		skx_invert_file_damaged("the lexeme of a task is too long");
	skx_team_read(e->plan, e->starts, starts);
}

/* Encodes the terms of the task. */
static void
skx_team_task_terms(SkxTeamEncoder *e, SkxPlanTask *task,
					SkxTermTotals *totals, SkxDictLeaves *leaves)
{
	SkxTeam    *team = e->team;
	SkxTermSinks sinks = {
		skx_team_task_sink, &e->sinks[SKX_SEGMENT_DICT],
		&e->sinks[SKX_SEGMENT_POSTINGS], &e->sinks[SKX_SEGMENT_POSITIONS]
	};
	SkxPlanTask next;
	SkxTermWriter *w;
	SkxRunMerge *m;
	bool		last = e->task + 1 == team->ntasks;
	uint32		i;

	/* the starts are read last of this task */
	skx_team_task_read(e, e->task + 1, &next);
	skx_team_task_read(e, e->task, task);
	for (i = 0; i < team->nruns; i++)
		skx_invert_cursor_range(e->cursors[i], e->starts[i],
								task->lexeme, task->len,
								last ? NULL : next.lexeme, next.len);
	m = skx_invert_merge_begin(e->cursors, team->nruns, e->maps, 0);
	w = skx_segment_terms_begin(&sinks, &e->options,
								dsm_segment_address(e->norms),
								team->average);
	skx_segment_terms_merge(w, m);
	skx_invert_merge_end(m);
	skx_segment_terms_leaves(w, totals, leaves);
	if (!last)
		skx_team_task_pad(e, totals);
}

static void
skx_team_task_run(SkxTeamEncoder *e, uint32 number)
{
	MemoryContext old = MemoryContextSwitchTo(e->task_context);
	SkxPlanTask task;
	SkxTermTotals totals;
	SkxDictLeaves leaves;
	int			i;

	Assert(e->kept.len == 0);
	e->task = number;
	e->settled = false;
	skx_team_task_terms(e, &task, &totals, &leaves);
	SKX_FAULT(SKX_FAULT_TEAM_TASK_ENCODED);
	if (!e->settled)
		skx_team_task_wait(e);
	skx_team_task_publish(e, &totals);
	if (!e->settled)
		skx_team_task_settle(e);
	Assert(e->settled && e->kept.len == 0);
	for (i = 0; i < lengthof(skx_team_planes); i++)
		skx_team_done_stretch(e, skx_team_planes[i]);
	skx_team_done_task(e, &task, &leaves);
	MemoryContextSwitchTo(old);
	MemoryContextReset(e->task_context);
}

/*
 * The member
 */

static void
skx_team_encode_progress(void *arg, uint32 nbytes)
{
	SkxTeamEncoder *e = arg;
	uint64		read = pg_atomic_add_fetch_u64(&e->team->read, nbytes);

	/* what lies around the end of a task is read twice */
	if (e->options.progress != NULL)
		e->options.progress(SKX_BUILD_MERGE, Min(read, e->team->to_read),
							e->team->to_read);
}

/*
 * Stretches lie in their share and, in the segment, no nearer to one another
 * than there: the number of every document of the share is in the segment.
 */
static void
skx_team_encode_check_map(const SkxRunMap *map, uint32 ndocs, uint32 nordered)
{
	const SkxRunStretch *s = map->stretches;
	const SkxRunStretch *end = s + map->nstretches;

	if (ndocs == 0)
		return;
	if (map->nstretches == 0 || s->local != 0)
		skx_invert_file_damaged("the first document is in no stretch");
	for (; s < end; s++)
	{
		uint32		next_local = s + 1 < end ? s[1].local : ndocs;
		uint32		next_merged = s + 1 < end ? s[1].merged : nordered;

		if (next_local <= s->local || next_local > ndocs ||
			next_merged <= s->merged || next_merged > nordered ||
			next_merged - s->merged < next_local - s->local)
			skx_invert_file_damaged("stretches of documents do not ascend");
	}
}

static void
skx_team_encode_map(SkxTeamEncoder *e, int member)
{
	SkxTeam    *team = e->team;
	SkxRunMap  *map = &e->maps[member];
	uint32		ndocs = team->shares[member].ndocs;
	SkxRunStretch *stretches;

	skx_team_read(e->plan, &map->nstretches, sizeof(uint32));
	if (map->nstretches > ndocs)
		skx_invert_file_damaged("there are too many stretches of documents");
	stretches = palloc_extended((Size) Max(map->nstretches, 1) *
								sizeof(SkxRunStretch), MCXT_ALLOC_HUGE);
	skx_team_read(e->plan, stretches,
				  (Size) map->nstretches * sizeof(SkxRunStretch));
	map->stretches = stretches;
	skx_team_encode_check_map(map, ndocs, team->nordered);
	skx_invert_map_index(map, ndocs);
}

/* Reads the plan up to its tasks. */
static void
skx_team_encode_plan(SkxTeamEncoder *e)
{
	SkxTeam    *team = e->team;
	uint32		i;

	e->plan = skx_team_open(team, team->round, 0, "plan", false);
	e->maps = palloc0(team->nmembers * sizeof(SkxRunMap));
	for (i = 0; i < team->nmembers; i++)
		skx_team_encode_map(e, i);
	e->runs = palloc(Max(team->nruns, 1) * sizeof(SkxPlanRun));
	skx_team_read(e->plan, e->runs, team->nruns * sizeof(SkxPlanRun));
	for (i = 0; i < team->nruns; i++)
	{
		const SkxPlanRun *run = &e->runs[i];
		uint64		size;

		if (run->source >= team->nmembers)
			skx_invert_file_damaged("a run is of no member");
		size = team->shares[run->source].run_bytes;
		if (run->number >= team->shares[run->source].nruns ||
			run->run.offset > size ||
			run->run.nbytes > size - run->run.offset)
			skx_invert_file_damaged("a run is out of range");
	}
	BufFileTell(e->plan, &e->tasks_file, &e->tasks_offset);
}

/*
 * Opens all runs.  Half of what is left beside the writers, and what the norms
 * have grown by, is for pages that wait, the other half for the buffers of the
 * runs.
 */
static void
skx_team_encode_runs(SkxTeamEncoder *e)
{
	SkxTeam    *team = e->team;
	Size		norms = (team->norms_size - team->norms_given) /
		team->nmembers;
	Size		fixed = skx_segment_output_fixed(&e->options);
	Size		memory = e->options.memory;
	uint32		buffer;
	uint32		i;

	memory -= Min(memory / 2, norms + fixed);
	e->kept_most = Min(memory / 2, SKX_TASK_KEPT_MAX);
	buffer = skx_invert_merge_buffer(memory / 2, Max(team->nruns, 1));
	e->progress.read = skx_team_encode_progress;
	e->progress.arg = e;
	e->files = palloc0(team->nmembers * sizeof(SkxRunFile *));
	e->cursors = palloc(Max(team->nruns, 1) * sizeof(SkxRunCursor *));
	e->starts = palloc(Max(team->nruns, 1) * sizeof(uint64));
	for (i = 0; i < team->nruns; i++)
	{
		const SkxPlanRun *run = &e->runs[i];

		Assert(run->source < team->nmembers);
		Assert(run->number < team->shares[run->source].nruns);
		if (e->files[run->source] == NULL)
			e->files[run->source] =
				skx_team_runs_open(team, team->round, run->source,
								   team->shares[run->source].runs_file);
		e->cursors[i] = skx_invert_cursor_open(e->files[run->source],
											   &run->run, run->source,
											   run->number, buffer,
											   &e->progress);
	}
}

static SkxTeamEncoder *
skx_team_encode_begin(SkxTeam *team, int member,
					  const SkxSegmentBuildOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx team member",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxTeamEncoder *e = palloc0(sizeof(SkxTeamEncoder));
	int			i;

	e->team = team;
	e->member = member;
	e->options = *options;
	e->context = context;
	e->task_context = AllocSetContextCreate(context, "skipidx task",
											ALLOCSET_DEFAULT_SIZES);
	e->norms = dsm_find_mapping(team->norms);
	if (e->norms == NULL)
		e->norms = dsm_attach(team->norms);
	if (e->norms == NULL)
		elog(ERROR, "the norms of an index build are gone");
	e->page = palloc0(BLCKSZ);
	initStringInfo(&e->kept);
	skx_segment_planes_begin(e->planes, SKX_SEGMENT_NPLANES, options);
	for (i = 0; i < SKX_SEGMENT_NPLANES; i++)
	{
		e->sinks[i].encoder = e;
		e->sinks[i].plane = i;
	}
	e->done = skx_team_file(team, team->round, member, "done");
	skx_team_encode_plan(e);
	skx_team_encode_runs(e);
	MemoryContextSwitchTo(old);
	return e;
}

static void
skx_team_encode_end(SkxTeamEncoder *e)
{
	int			i;

	for (i = 0; i < lengthof(skx_team_planes); i++)
		skx_team_done_plane(e, skx_team_planes[i]);
	skx_team_done_kind(e, SKX_DONE_END);
	BufFileExportFileSet(e->done);
	BufFileClose(e->done);
	BufFileClose(e->plan);
	for (i = 0; i < e->team->nmembers; i++)
	{
		if (e->files[i] != NULL)
			skx_invert_file_close(e->files[i]);
	}
	if (e->member != 0)
		dsm_detach(e->norms);
	MemoryContextDelete(e->context);
}

void
skx_team_encode(SkxTeam *team, int member,
				const SkxSegmentBuildOptions *options)
{
	SkxTeamEncoder *e;
	uint32		task;

	if (team->nordered == 0)
		return;
	e = skx_team_encode_begin(team, member, options);
	while ((task = pg_atomic_fetch_add_u32(&team->next_task, 1)) <
		   team->ntasks)
	{
		CHECK_FOR_INTERRUPTS();
		SKX_FAULT(SKX_FAULT_TEAM_TASK);
		skx_team_task_run(e, task);
	}
	skx_team_encode_end(e);
	SKX_FAULT(SKX_FAULT_TEAM_ENCODED);
}
