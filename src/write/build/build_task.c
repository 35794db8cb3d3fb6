/*
 * build_task.c
 *	  Encoding of tasks: a member reads the runs of all members.
 */
#include "postgres.h"

#include "support/fault/fault.h"
#include "utils/memutils.h"
#include "write/build/build_internal.h"

typedef struct SkxTaskEncoder
{
	SkxParallel *group;
	int			member;
	SkxSegmentBuildOptions options;
	MemoryContext context;
	MemoryContext task_context;

	/* the plan */
	BufFile    *plan;
	int			tasks_file;		/* where the tasks start in the plan */
	off_t		tasks_offset;
	SkxDocNumberMap *maps;
	SkxMergePlanRun *runs;
	SkxRunFile **files;			/* of the members' runs */
	SkxRunCursor **cursors;
	uint64	   *starts;
	SkxRunProgress progress;

	/* the segment */
	dsm_segment *norms;
	SkxTaskWriter *writer;
	Size		max_kept_bytes; /* most bytes of pages that wait */
} SkxTaskEncoder;

/*
 * Tasks
 */

/*
 * Reads the first lexeme of a task, and where it begins in each run.  Behind
 * the last task it sets *task to zero.
 */
static void
skx_build_task_read(SkxTaskEncoder *e, uint32 number, SkxMergePlanTask *task)
{
	Size		starts = e->group->nruns * sizeof(uint64);
	Size		size = sizeof(SkxMergePlanTask) + starts;

	Assert(number <= e->group->ntasks);
	memset(task, 0, sizeof(*task));
	if (number == e->group->ntasks)
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
skx_build_task_run(SkxTaskEncoder *e, uint32 number)
{
	MemoryContext old = MemoryContextSwitchTo(e->task_context);
	SkxParallel *team = e->group;
	SkxTermSinks sinks = skx_build_writer_sinks(e->writer);
	SkxMergePlanTask task;
	SkxMergePlanTask next;
	SkxTermWriter *w;
	SkxRunMerge *m;
	bool		last = number + 1 == team->ntasks;
	uint32		i;

	/* the next task first, because each call overwrites e->starts */
	skx_build_task_read(e, number + 1, &next);
	skx_build_task_read(e, number, &task);
	for (i = 0; i < team->nruns; i++)
		skx_invert_cursor_set_range(e->cursors[i], e->starts[i],
									task.lexeme, task.len,
									last ? NULL : next.lexeme, next.len);
	m = skx_invert_merge_begin(e->cursors, team->nruns, e->maps, 0);
	w = skx_writer_terms_begin(&sinks, &e->options,
							   dsm_segment_address(e->norms),
							   team->average_length);
	skx_writer_terms_merge(w, m);
	skx_invert_merge_end(m);
	skx_build_writer_end_task(e->writer, w, task.lexeme, task.len);
	MemoryContextSwitchTo(old);
	MemoryContextReset(e->task_context);
}

/*
 * The member
 */

static void
skx_build_encode_progress(void *arg, uint32 nbytes)
{
	SkxTaskEncoder *e = arg;
	uint64		read = pg_atomic_add_fetch_u64(&e->group->run_bytes_read,
											   nbytes);

	/* bytes around the end of a task are read twice */
	if (e->options.progress != NULL)
		e->options.progress(SKX_BUILD_MERGE, Min(read, e->group->to_read),
							e->group->to_read);
}

/*
 * Raises an error unless stretches ascend within their share and within the
 * segment, with distances in the segment that are no smaller than in the
 * share.  Then every document of the share has a number in the segment.
 */
static void
skx_build_encode_check_map(const SkxDocNumberMap *map, uint32 ndocs,
						   uint32 nordered)
{
	const SkxDocNumberRange *s = map->ranges;
	const SkxDocNumberRange *end = s + map->nranges;

	if (ndocs == 0)
		return;
	if (map->nranges == 0 || s->source_doc != 0)
		skx_invert_file_damaged("the first document is in no stretch");
	for (; s < end; s++)
	{
		uint32		next_local = s + 1 < end ? s[1].source_doc : ndocs;
		uint32		next_merged = s + 1 < end ? s[1].result_doc : nordered;

		if (next_local <= s->source_doc || next_local > ndocs ||
			next_merged <= s->result_doc || next_merged > nordered ||
			next_merged - s->result_doc < next_local - s->source_doc)
			skx_invert_file_damaged("stretches of documents do not ascend");
	}
}

static void
skx_build_encode_map(SkxTaskEncoder *e, int member)
{
	SkxParallel *team = e->group;
	SkxDocNumberMap *map = &e->maps[member];
	uint32		ndocs = team->partitions[member].ndocs;
	SkxDocNumberRange *stretches;

	skx_build_read(e->plan, &map->nranges, sizeof(uint32));
	if (map->nranges > ndocs)
		skx_invert_file_damaged("there are too many stretches of documents");
	stretches = palloc_extended((Size) Max(map->nranges, 1) *
								sizeof(SkxDocNumberRange), MCXT_ALLOC_HUGE);
	skx_build_read(e->plan, stretches,
				   (Size) map->nranges * sizeof(SkxDocNumberRange));
	map->ranges = stretches;
	skx_build_encode_check_map(map, ndocs, team->ordered_docs);
	skx_invert_map_index(map, ndocs);
}

/* Reads the plan up to its tasks. */
static void
skx_build_encode_plan(SkxTaskEncoder *e)
{
	SkxParallel *team = e->group;
	uint32		i;

	e->plan = skx_build_open(team, team->encoded_round, 0, "plan", false);
	e->maps = palloc0(team->nparticipants * sizeof(SkxDocNumberMap));
	for (i = 0; i < team->nparticipants; i++)
		skx_build_encode_map(e, i);
	e->runs = palloc(Max(team->nruns, 1) * sizeof(SkxMergePlanRun));
	skx_build_read(e->plan, e->runs, team->nruns * sizeof(SkxMergePlanRun));
	for (i = 0; i < team->nruns; i++)
	{
		const SkxMergePlanRun *run = &e->runs[i];
		uint64		size;

		if (run->source >= team->nparticipants)
			skx_invert_file_damaged("a run is of no member");
		size = team->partitions[run->source].run_bytes;
		if (run->number >= team->partitions[run->source].nruns ||
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
skx_build_encode_runs(SkxTaskEncoder *e)
{
	SkxParallel *team = e->group;
	Size		norms = (team->norms_size - team->norms_initial) /
		team->nparticipants;
	Size		fixed = skx_writer_output_fixed(&e->options);
	Size		memory = e->options.memory;
	uint32		buffer;
	uint32		i;

	memory -= Min(memory / 2, norms + fixed);
	e->max_kept_bytes = Min(memory / 2, SKX_PARALLEL_KEPT_PAGES_MAX);
	buffer = skx_invert_merge_buffer(memory / 2, Max(team->nruns, 1));
	e->progress.read = skx_build_encode_progress;
	e->progress.arg = e;
	e->files = palloc0(team->nparticipants * sizeof(SkxRunFile *));
	e->cursors = palloc(Max(team->nruns, 1) * sizeof(SkxRunCursor *));
	e->starts = palloc(Max(team->nruns, 1) * sizeof(uint64));
	for (i = 0; i < team->nruns; i++)
	{
		const SkxMergePlanRun *run = &e->runs[i];

		Assert(run->source < team->nparticipants);
		Assert(run->number < team->partitions[run->source].nruns);
		if (e->files[run->source] == NULL)
			e->files[run->source] =
				skx_build_runs_open(team, team->encoded_round, run->source,
									team->partitions[run->source].runs_file);
		e->cursors[i] = skx_invert_cursor_open(e->files[run->source],
											   &run->run, run->source,
											   run->number, buffer,
											   &e->progress);
	}
}

static SkxTaskEncoder *
skx_build_encode_begin(SkxParallel *team, int member,
					   const SkxSegmentBuildOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx team member",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxTaskEncoder *e = palloc0(sizeof(SkxTaskEncoder));

	e->group = team;
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
	e->writer = skx_build_writer_begin(team, member, options,
									   e->max_kept_bytes);
	MemoryContextSwitchTo(old);
	return e;
}

static void
skx_build_encode_end(SkxTaskEncoder *e)
{
	int			i;

	skx_build_writer_end(e->writer);
	BufFileClose(e->plan);
	for (i = 0; i < e->group->nparticipants; i++)
	{
		if (e->files[i] != NULL)
			skx_invert_file_close(e->files[i]);
	}
	if (e->member != 0)
		dsm_detach(e->norms);
	MemoryContextDelete(e->context);
}

void
skx_build_encode(SkxParallel *team, int member,
				 const SkxSegmentBuildOptions *options)
{
	SkxTaskEncoder *e;
	uint32		task;

	if (team->ordered_docs == 0)
		return;
	e = skx_build_encode_begin(team, member, options);
	while (skx_build_writer_next_task(e->writer, &task))
	{
		SKX_FAULT(SKX_FAULT_TEAM_TASK);
		skx_build_task_run(e, task);
	}
	skx_build_encode_end(e);
	SKX_FAULT(SKX_FAULT_TEAM_ENCODED);
}
