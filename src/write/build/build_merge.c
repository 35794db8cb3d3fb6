/*
 * build_merge.c
 *	  A merge of segments by a team: several processes write its terms.
 *
 * Tasks are cut by the dictionary of the largest input, so that each has about
 * as many pages of its postings and positions.  For this, some leaves of the
 * dictionary are read for each task.  Every term is in one task only, however
 * large it is.
 */
#include "postgres.h"

#include "index/segment/segment_maint.h"
#include "support/fault/fault.h"
#include "utils/memutils.h"
#include "write/build/build_internal.h"

/* Leaves that are read for each task. */
#define SKX_PARALLEL_TASK_SAMPLES	4

/* The plan of a merge is an SkxMergePlanTask of each task. */

static SkxSegment *
skx_build_merge_largest(SkxSegment **inputs, int n)
{
	SkxSegment *largest = inputs[0];
	int			i;

	for (i = 1; i < n; i++)
	{
		if (inputs[i]->header.npostings > largest->header.npostings)
			largest = inputs[i];
	}
	return largest;
}

/* Writes the first lexeme of each task, and returns the number of tasks. */
static uint32
skx_build_merge_write_tasks(BufFile *plan, SkxSegment *seg, uint32 wanted)
{
	uint32		npages = seg->planes[SKX_SEGMENT_DICT].npages;
	uint64		total = (uint64) seg->planes[SKX_SEGMENT_POSTINGS].npages +
		seg->planes[SKX_SEGMENT_POSITIONS].npages;
	uint64		nsamples = Min((uint64) wanted * SKX_PARALLEL_TASK_SAMPLES,
							   npages);
	SkxMergePlanTask task = {0};
	uint32		ntasks = 1;
	uint64		i;

	BufFileWrite(plan, &task, sizeof(task));
	for (i = 1; i < nsamples && ntasks < wanted; i++)
	{
		SkxMergePlanTask next = {0};
		uint64		before;
		int			len;

		CHECK_FOR_INTERRUPTS();
		if (!skx_segment_dict_first_lexeme(seg,
										   (uint32) (i * npages / nsamples),
										   next.lexeme,
										   sizeof(next.lexeme), &len,
										   &before))
			break;
		next.len = (uint16) len;
		/* marks of two leaves may be the same */
		if (before < total * ntasks / wanted ||
			(next.len == task.len &&
			 memcmp(next.lexeme, task.lexeme, len) == 0))
			continue;
		BufFileWrite(plan, &next, sizeof(next));
		task = next;
		ntasks++;
	}
	skx_segment_unpin_all(seg);
	return ntasks;
}

SkxBuildSegment *
skx_build_merge_plan(SkxParallel *team, SkxMerge *merge, SkxSegment **inputs,
					 int ninputs, uint64 nbytes, void *common,
					 const SkxSegmentBuildOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx team segment",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxBuildSegment *segment = palloc0(sizeof(SkxBuildSegment));
	BufFile    *plan;

	segment->context = context;
	segment->group = team;
	segment->round = team->encoded_round;
	segment->out = skx_merge_get_output(merge);
	skx_merge_common_create(merge, common, &team->files.fs);
	plan = skx_build_file(team, team->encoded_round, 0, "plan");
	team->ordered_docs = segment->out->docs.ndocs;
	team->ntasks =
		skx_build_merge_write_tasks(plan,
									skx_build_merge_largest(inputs, ninputs),
									skx_build_ntasks(team, nbytes,
													 options));
	BufFileExportFileSet(plan);
	BufFileClose(plan);
	MemoryContextSwitchTo(old);
	return segment;
}

/* Reads the first lexemes of all tasks. */
static SkxMergePlanTask *
skx_build_merge_tasks(SkxParallel *team)
{
	SkxMergePlanTask *tasks = palloc(team->ntasks * sizeof(SkxMergePlanTask));
	BufFile    *plan = skx_build_open(team, team->encoded_round, 0, "plan",
									  false);
	uint32		i;

	skx_build_read(plan, tasks, team->ntasks * sizeof(SkxMergePlanTask));
	BufFileClose(plan);
	for (i = 0; i < team->ntasks; i++)
	{
		if (tasks[i].len > sizeof(tasks[i].lexeme))
			skx_invert_file_damaged("the lexeme of a task is too long");
	}
	return tasks;
}

/*
 * Sets range[0] to the first lexeme of a task and range[1] to that of the next
 * task.  After the last task, range[1] is *last.
 */
static void
skx_build_merge_range(const SkxParallel *team, const SkxMergePlanTask *tasks,
					  uint32 number, const SkxLexeme *last, SkxLexeme *range)
{
	range[0].bytes = tasks[number].lexeme;
	range[0].len = tasks[number].len;
	range[1] = *last;
	if (number + 1 < team->ntasks)
	{
		range[1].bytes = tasks[number + 1].lexeme;
		range[1].len = tasks[number + 1].len;
	}
}

/*
 * Returns how many bytes pages that wait may take: half of what the writers
 * leave.
 */
static Size
skx_build_merge_kept_bytes(const SkxSegmentBuildOptions *options)
{
	Size		fixed = skx_writer_output_fixed(options);

	return Min((options->memory - Min(options->memory, fixed)) / 2,
			   SKX_PARALLEL_KEPT_PAGES_MAX);
}

void
skx_build_merge_encode(SkxParallel *team, int member, SkxSegment **inputs,
					   int ninputs, void *common,
					   const SkxSegmentBuildOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx team member",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	MemoryContext task_context = AllocSetContextCreate(context, "skipidx task",
													   ALLOCSET_DEFAULT_SIZES);
	SkxTaskWriter *w =
		skx_build_writer_begin(team, member, options,
							   skx_build_merge_kept_bytes(options));
	SkxTermSinks sinks = skx_build_writer_sinks(w);
	SkxMergePlanTask *tasks = skx_build_merge_tasks(team);
	char	   *high = palloc(SKX_LEXEME_MAX + 1);
	SkxLexeme	last = {high, SKX_LEXEME_MAX + 1};
	uint32		number;

	/* above all lexemes, none of which is so long */
	memset(high, 0xff, SKX_LEXEME_MAX + 1);
	while (skx_build_writer_next_task(w, &number))
	{
		SkxMergeTerms *terms;
		SkxTermWriter *writer;
		SkxLexeme	range[2];

		SKX_FAULT(SKX_FAULT_TEAM_TASK);
		skx_build_check(team);
		MemoryContextSwitchTo(task_context);
		skx_build_merge_range(team, tasks, number, &last, range);
		terms = skx_merge_terms_attach(inputs, ninputs, common,
									   &team->files.fs, options);
		writer = skx_merge_terms_writer(&sinks, options, common);
		skx_merge_terms_write(terms, writer, range);
		skx_merge_terms_close(terms);
		skx_build_writer_end_task(w, writer, tasks[number].lexeme,
								  tasks[number].len);
		MemoryContextSwitchTo(context);
		MemoryContextReset(task_context);
	}
	skx_build_writer_end(w);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
