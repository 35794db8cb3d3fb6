/*
 * build_task.c
 *	  Encoding of tasks: a member reads the runs of all members.
 */
#include "postgres.h"

#include "support/fault/fault.h"
#include "utils/memutils.h"
#include "write/build/build_internal.h"

typedef struct SkxTeamEncoder
{
	SkxTeam    *team;
	int			member;
	SkxSegmentBuildOptions options;
	MemoryContext context;
	MemoryContext task_context;

	/* the plan */
	BufFile    *plan;
	int			tasks_file;		/* where the tasks start in the plan */
	off_t		tasks_offset;
	SkxRunMap  *maps;
	SkxPlanRun *runs;
	SkxRunFile **files;			/* of the members' runs */
	SkxRunCursor **cursors;
	uint64	   *starts;
	SkxRunProgress progress;

	/* the segment */
	dsm_segment *norms;
	SkxTeamWriter *writer;
	Size		kept_most;		/* most bytes of pages that wait */
} SkxTeamEncoder;

/*
 * Tasks
 */

/*
 * Reads the first lexeme of a task, and where it begins in each run.  Behind
 * the last task it sets *task to zero.
 */
static void
skx_build_task_read(SkxTeamEncoder *e, uint32 number, SkxPlanTask *task)
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
	skx_build_read(e->plan, task, sizeof(*task));
	if (task->len > sizeof(task->lexeme))
		skx_invert_file_damaged("the lexeme of a task is too long");
	skx_build_read(e->plan, e->starts, starts);
}

static void
skx_build_task_run(SkxTeamEncoder *e, uint32 number)
{
	MemoryContext old = MemoryContextSwitchTo(e->task_context);
	SkxTeam    *team = e->team;
	SkxTermSinks sinks = skx_build_writer_sinks(e->writer);
	SkxPlanTask task;
	SkxPlanTask next;
	SkxTermWriter *w;
	SkxRunMerge *m;
	bool		last = number + 1 == team->ntasks;
	uint32		i;

	/* the next task first, because each call overwrites e->starts */
	skx_build_task_read(e, number + 1, &next);
	skx_build_task_read(e, number, &task);
	for (i = 0; i < team->nruns; i++)
		skx_invert_cursor_range(e->cursors[i], e->starts[i],
								task.lexeme, task.len,
								last ? NULL : next.lexeme, next.len);
	m = skx_invert_merge_begin(e->cursors, team->nruns, e->maps, 0);
	w = skx_writer_terms_begin(&sinks, &e->options,
							   dsm_segment_address(e->norms),
							   team->average);
	skx_writer_terms_merge(w, m);
	skx_invert_merge_end(m);
	skx_build_writer_done(e->writer, w, task.lexeme, task.len);
	MemoryContextSwitchTo(old);
	MemoryContextReset(e->task_context);
}

/*
 * The member
 */

static void
skx_build_encode_progress(void *arg, uint32 nbytes)
{
	SkxTeamEncoder *e = arg;
	uint64		read = pg_atomic_add_fetch_u64(&e->team->read, nbytes);

	/* bytes around the end of a task are read twice */
	if (e->options.progress != NULL)
		e->options.progress(SKX_BUILD_MERGE, Min(read, e->team->to_read),
							e->team->to_read);
}

/*
 * Raises an error unless stretches ascend within their share and within the
 * segment, with distances in the segment that are no smaller than in the
 * share.  Then every document of the share has a number in the segment.
 */
static void
skx_build_encode_check_map(const SkxRunMap *map, uint32 ndocs, uint32 nordered)
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
skx_build_encode_map(SkxTeamEncoder *e, int member)
{
	SkxTeam    *team = e->team;
	SkxRunMap  *map = &e->maps[member];
	uint32		ndocs = team->shares[member].ndocs;
	SkxRunStretch *stretches;

	skx_build_read(e->plan, &map->nstretches, sizeof(uint32));
	if (map->nstretches > ndocs)
		skx_invert_file_damaged("there are too many stretches of documents");
	stretches = palloc_extended((Size) Max(map->nstretches, 1) *
								sizeof(SkxRunStretch), MCXT_ALLOC_HUGE);
	skx_build_read(e->plan, stretches,
				   (Size) map->nstretches * sizeof(SkxRunStretch));
	map->stretches = stretches;
	skx_build_encode_check_map(map, ndocs, team->nordered);
	skx_invert_map_index(map, ndocs);
}

/* Reads the plan up to its tasks. */
static void
skx_build_encode_plan(SkxTeamEncoder *e)
{
	SkxTeam    *team = e->team;
	uint32		i;

	e->plan = skx_build_open(team, team->round, 0, "plan", false);
	e->maps = palloc0(team->nmembers * sizeof(SkxRunMap));
	for (i = 0; i < team->nmembers; i++)
		skx_build_encode_map(e, i);
	e->runs = palloc(Max(team->nruns, 1) * sizeof(SkxPlanRun));
	skx_build_read(e->plan, e->runs, team->nruns * sizeof(SkxPlanRun));
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
 * Opens all runs.  Memory that the writers, and the norms' growth, leave is
 * split: half for pages that wait, half for the buffers of the runs.
 */
static void
skx_build_encode_runs(SkxTeamEncoder *e)
{
	SkxTeam    *team = e->team;
	Size		norms = (team->norms_size - team->norms_given) /
		team->nmembers;
	Size		fixed = skx_writer_output_fixed(&e->options);
	Size		memory = e->options.memory;
	uint32		buffer;
	uint32		i;

	memory -= Min(memory / 2, norms + fixed);
	e->kept_most = Min(memory / 2, SKX_TEAM_KEPT_MAX);
	buffer = skx_invert_merge_buffer(memory / 2, Max(team->nruns, 1));
	e->progress.read = skx_build_encode_progress;
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
				skx_build_runs_open(team, team->round, run->source,
									team->shares[run->source].runs_file);
		e->cursors[i] = skx_invert_cursor_open(e->files[run->source],
											   &run->run, run->source,
											   run->number, buffer,
											   &e->progress);
	}
}

static SkxTeamEncoder *
skx_build_encode_begin(SkxTeam *team, int member,
					   const SkxSegmentBuildOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx team member",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxTeamEncoder *e = palloc0(sizeof(SkxTeamEncoder));

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
	skx_build_encode_plan(e);
	skx_build_encode_runs(e);
	e->writer = skx_build_writer_begin(team, member, options, e->kept_most);
	MemoryContextSwitchTo(old);
	return e;
}

static void
skx_build_encode_end(SkxTeamEncoder *e)
{
	int			i;

	skx_build_writer_end(e->writer);
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
skx_build_encode(SkxTeam *team, int member,
				 const SkxSegmentBuildOptions *options)
{
	SkxTeamEncoder *e;
	uint32		task;

	if (team->nordered == 0)
		return;
	e = skx_build_encode_begin(team, member, options);
	while (skx_build_writer_next(e->writer, &task))
	{
		SKX_FAULT(SKX_FAULT_TEAM_TASK);
		skx_build_task_run(e, task);
	}
	skx_build_encode_end(e);
	SKX_FAULT(SKX_FAULT_TEAM_ENCODED);
}
