/*
 * build_finish.c
 *	  Joins what the members of a team have written into one segment.
 *
 * Pages that do not fill a block at the end of a task lie side by side in
 * blocks of their own.  Only those of the postings plane must be together in
 * one block; the last task alone has such pages.
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "write/build/build_internal.h"

/* Most bytes of the key of a leaf, with the SkxDictChild before it. */
#define SKX_FINISH_LEAF_KEY_MAX	(sizeof(SkxDictChild) + SKX_LEXEME_MAX)

/* Runs of a plane that tasks have written. */
typedef struct SkxFinishPlane
{
	SkxDiskRun *runs;
	uint32		nruns;
	uint32		runs_size;
} SkxFinishPlane;

typedef struct SkxFinishTask
{
	SkxTaskRecord record;
	StringInfoData keys;
} SkxFinishTask;

typedef struct SkxFinish
{
	SkxBuildSegment *segment;
	const SkxSegmentStore *store;
	uint32		block_pages;
	SkxFinishPlane planes[SKX_SEGMENT_NPLANES];
	SkxFinishTask *tasks;
	BlockNumber tail_block;		/* next page for tails */
	uint32		tail_pages;		/* pages left in its block */
	char	   *page;
} SkxFinish;

static void
skx_build_finish_add_run(SkxFinish *f, uint32 plane, const SkxDiskRun *run)
{
	SkxFinishPlane *p = &f->planes[plane];

	Assert(plane < SKX_SEGMENT_NPLANES);
	Assert(run->npages > 0 && BlockNumberIsValid(run->block));
	if (p->nruns == p->runs_size)
	{
		p->runs_size = Max(p->runs_size * 2, 64);
		p->runs = p->runs == NULL ?
			palloc(p->runs_size * sizeof(SkxDiskRun)) :
			repalloc(p->runs, p->runs_size * sizeof(SkxDiskRun));
	}
	p->runs[p->nruns++] = *run;
}

/*
 * Tails
 */

static void
skx_build_finish_free_tail(SkxFinish *f)
{
	if (f->tail_pages > 0)
		f->store->give_back(f->store->arg, f->tail_block, f->tail_pages);
	f->tail_pages = 0;
}

static void
skx_build_finish_read_tail(SkxFinish *f, BufFile *file)
{
	SkxTailRecord tail;
	uint32		i;

	skx_build_read(file, &tail, sizeof(tail));
	if (tail.plane >= SKX_SEGMENT_NPLANES || tail.npages >= f->block_pages)
		skx_invert_file_damaged("the last pages of a task are out of range");
	if (tail.plane == SKX_SEGMENT_POSTINGS && f->tail_pages < tail.npages)
		skx_build_finish_free_tail(f);
	for (i = 0; i < tail.npages; i++)
	{
		SkxDiskRun	run = {tail.first + i, 1, InvalidBlockNumber};

		if (f->tail_pages == 0)
		{
			f->tail_block = f->store->allocate(f->store->arg, 1);
			f->tail_pages = f->block_pages;
		}
		run.block = f->tail_block++;
		f->tail_pages--;
		skx_build_read(file, f->page, BLCKSZ);
		f->store->write(f->store->arg, run.block, &f->page, 1);
		skx_build_finish_add_run(f, tail.plane, &run);
	}
}

/* Files of members */

static void
skx_build_finish_plane(SkxFinish *f, BufFile *file)
{
	SkxPlaneRecord plane;
	uint32		i;

	skx_build_read(file, &plane, sizeof(plane));
	if (plane.plane >= SKX_SEGMENT_NPLANES)
		skx_invert_file_damaged("there is no such plane");
	if (plane.nunused > 0)
		f->store->give_back(f->store->arg, plane.unused, plane.nunused);
	for (i = 0; i < plane.nruns; i++)
	{
		SkxDiskRun	run;

		skx_build_read(file, &run, sizeof(run));
		skx_build_finish_add_run(f, plane.plane, &run);
	}
}

/*
 * Raises an error unless each leaf has a key that is no longer than a lexeme.
 */
static void
skx_build_finish_check_keys(const SkxFinishTask *task)
{
	int			left = task->keys.len;
	uint32		n = 0;

	while (left > 0)
	{
		SkxDictChild child = {0};

		if (left < (int) sizeof(child))
			skx_invert_file_damaged("a key of a leaf ends too soon");
		memcpy(&child, task->keys.data + task->keys.len - left,
			   sizeof(child));
		left -= sizeof(child);
		if (child.len > SKX_LEXEME_MAX || child.len > left)
			skx_invert_file_damaged("a key of a leaf is out of range");
		left -= child.len;
		n++;
	}
	if (n != task->record.nleaves)
		skx_invert_file_damaged("a task has other keys than leaves");
}

static void
skx_build_finish_task(SkxFinish *f, BufFile *file)
{
	SkxTaskRecord done;
	SkxFinishTask *task;

	skx_build_read(file, &done, sizeof(done));
	if (done.task >= f->segment->group->ntasks ||
		f->tasks[done.task].keys.data != NULL ||
		done.nleaves > f->segment->totals.dict_leaves ||
		done.nkeys > (uint64) done.nleaves * SKX_FINISH_LEAF_KEY_MAX ||
		done.len > sizeof(done.lexeme))
		skx_invert_file_damaged("what a task has done is out of range");
	task = &f->tasks[done.task];
	task->record = done;
	initStringInfo(&task->keys);
	enlargeStringInfo(&task->keys, done.nkeys);
	skx_build_read(file, task->keys.data, done.nkeys);
	task->keys.len = done.nkeys;
	skx_build_finish_check_keys(task);
}

static void
skx_build_finish_participant(SkxFinish *f, int member)
{
	SkxBuildSegment *segment = f->segment;
	SkxTaskRecordKind kind;
	BufFile    *file;

	file = skx_build_open(segment->group, segment->round, member, "done",
						  true);
	if (file == NULL)
		return;					/* the member came when all tasks were taken */
	for (;;)
	{
		skx_build_read(file, &kind, sizeof(kind));
		if (kind == SKX_TASK_RECORD)
			skx_build_finish_task(f, file);
		else if (kind == SKX_TAIL_RECORD)
			skx_build_finish_read_tail(f, file);
		else if (kind == SKX_PLANE_RECORD)
			skx_build_finish_plane(f, file);
		else if (kind == SKX_END_RECORD)
			break;
		else
			skx_invert_file_damaged("what a member has done is of no kind");
	}
	BufFileClose(file);
	skx_build_delete_file(segment->group, segment->round, member, "done");
}

/*
 * The segment
 */

/* Joins the keys of all leaves, task by task. */
static void
skx_build_finish_join_leaves(SkxFinish *f, SkxDictLeaves *leaves)
{
	uint32		i;

	leaves->n = 0;
	initStringInfo(&leaves->keys);
	for (i = 0; i < f->segment->group->ntasks; i++)
	{
		SkxFinishTask *task = &f->tasks[i];
		SkxDictLeaves after;

		if (task->keys.data == NULL)
			skx_invert_file_damaged("a task is missing");
		after.n = task->record.nleaves;
		after.keys = task->keys;
		skx_writer_dict_join(leaves, &after, task->record.lexeme,
							 task->record.len);
		pfree(task->keys.data);
	}
	if (leaves->n != f->segment->totals.dict_leaves)
		skx_invert_file_damaged("tasks have other leaves than were written");
}

/* An SkxPageSink that puts the levels above the leaves behind these. */
static void
skx_build_finish_sink(void *arg, uint32 ordinal, char *page, uint32 used)
{
	SkxBuildSegment *segment = arg;

	Assert(ordinal >= segment->totals.dict_leaves);
	skx_writer_plane_put(segment->out->planes[SKX_SEGMENT_DICT],
						 ordinal - segment->totals.dict_leaves, page, used);
}

static void
skx_build_finish_read_files(SkxBuildSegment *segment)
{
	int			i;

	for (i = 0; i < segment->group->nparticipants &&
		 segment->runs_files != NULL; i++)
		skx_build_runs_delete(segment->group, segment->round, i,
							  segment->runs_files[i]);
	skx_build_delete_file(segment->group, segment->round, 0, "plan");
}

void
skx_build_finish(SkxBuildSegment *segment, SkxDiskSegmentRef *ref)
{
	MemoryContext old = MemoryContextSwitchTo(segment->context);
	SkxSegmentOutput *out = segment->out;
	SkxParallel *team = segment->group;
	SkxFinish	f = {0};
	SkxDictLeaves leaves;
	uint32		root = 0;
	int			i;

	Assert(team->placed_tasks == team->ntasks);
	f.segment = segment;
	f.store = out->options.store;
	f.block_pages = out->options.block_size / BLCKSZ;
	f.tasks = palloc0(team->ntasks * sizeof(SkxFinishTask));
	f.page = palloc(BLCKSZ);
	segment->totals = team->placed_totals;
	for (i = 0; i < team->nparticipants; i++)
		skx_build_finish_participant(&f, i);
	skx_build_finish_free_tail(&f);
	for (i = 0; i < SKX_SEGMENT_NPLANES; i++)
	{
		if (f.planes[i].nruns > 0)
			skx_writer_plane_begin_from(out->planes[i], f.planes[i].runs,
										f.planes[i].nruns);
	}
	skx_build_finish_join_leaves(&f, &leaves);
	if (leaves.n > 0)
		root = skx_writer_dict_levels(skx_build_finish_sink, segment,
									  &leaves);
	skx_writer_output_close(out, &segment->totals, root, ref);
	skx_build_finish_read_files(segment);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(segment->context);
}
