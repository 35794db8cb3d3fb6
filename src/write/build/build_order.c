/*
 * build_order.c
 *	  Puts the documents of a team's shares in order, and cuts the lexemes into
 *	  tasks.
 *
 * Shares interleave, since each has several stretches of the table.  There are
 * only as many stretches as the parallel scan has handed out ranges.  So the
 * numbers of a share's documents in the segment are kept as the first number
 * of each stretch.
 *
 * Tasks are cut at marks, so that each has about as many bytes of runs.  Every
 * term is in one task only, however large it is.
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "write/build/build_internal.h"

/* Tasks for a member, so that none waits long for the last one. */
#define SKX_PARALLEL_TASKS_PER_PROCESS		16
/*
 * Least bytes of runs for a task, in blocks of at least 32 kB.  The last block
 * of postings of a task stays half empty on average, and its last leaf does,
 * too.
 */
#define SKX_PARALLEL_TASK_BLOCKS	64
#define SKX_PARALLEL_TASK_BLOCK_BYTES		(32 * 1024)

/*
 * Most tasks.  Each has runs of its own in three planes, which uint16 numbers.
 */
#define SKX_PARALLEL_TASKS_MAX		4096

/* A share while documents are put in order. */
typedef struct SkxOrderShare
{
	BufFile    *docs;
	int			nkeys;			/* of a document */
	uint32		ndocs;
	uint32		read;			/* number of the current document, plus one */
	SkxParallelDoc doc;
	SkxDocNumberRange *doc_ranges;
	uint32		ndoc_ranges;
	uint32		doc_ranges_size;
} SkxOrderShare;

/*
 * A mark with its lexeme in memory.  All marks are sorted by lexeme to choose
 * those at which tasks begin.
 */
typedef struct SkxOrderMark
{
	const char *lexeme;
	SkxRunMark	run_mark;		/* its run counts the runs of all shares */
} SkxOrderMark;

/*
 * Documents
 */

/* Moves to the next document; returns false if there is none. */
static bool
skx_build_order_read(SkxOrderShare *share)
{
	ItemPointerData last = share->doc.tid;

	if (share->read++ == share->ndocs)
		return false;
	skx_build_read(share->docs, &share->doc,
				   SKX_PARALLEL_DOC_SIZE(share->nkeys));
	if (!ItemPointerIsValid(&share->doc.tid) ||
		(share->read > 1 &&
		 ItemPointerCompare(&last, &share->doc.tid) >= 0))
		skx_invert_file_damaged("documents of a share do not ascend");
	return true;
}

static inline bool
skx_build_order_is_at_end(const SkxOrderShare *share)
{
	return share->read > share->ndocs;
}

/*
 * Returns the share whose current document comes first, without `except`; -1:
 * there is none.
 */
static int
skx_build_order_first_share(SkxOrderShare *shares, int n, int except)
{
	int			first = -1;
	int			i;

	for (i = 0; i < n; i++)
	{
		if (i == except || skx_build_order_is_at_end(&shares[i]))
			continue;
		if (first < 0 || ItemPointerCompare(&shares[i].doc.tid,
											&shares[first].doc.tid) < 0)
			first = i;
	}
	return first;
}

static void
skx_build_order_add_range(SkxOrderShare *share, uint32 merged)
{
	SkxDocNumberRange *stretch;

	if (share->ndoc_ranges == share->doc_ranges_size)
	{
		share->doc_ranges_size *= 2;
		share->doc_ranges = repalloc_huge(share->doc_ranges,
										  (Size) share->doc_ranges_size *
										  sizeof(SkxDocNumberRange));
	}
	stretch = &share->doc_ranges[share->ndoc_ranges++];
	stretch->source_doc = share->read - 1;
	stretch->result_doc = merged;
	Assert(merged >= stretch->source_doc);
	Assert(share->ndoc_ranges == 1 ||
		   (stretch[-1].source_doc < stretch->source_doc &&
			stretch[-1].result_doc < merged));
}

/*
 * Writes all documents to the segment, in order, and gives each share its
 * stretches.
 */
static void
skx_build_order_documents(SkxSegmentOutput *out, SkxOrderShare *shares,
						  int n)
{
	int			at;

	for (at = skx_build_order_first_share(shares, n, -1); at >= 0;
		 at = skx_build_order_first_share(shares, n, -1))
	{
		SkxOrderShare *share = &shares[at];
		int			other = skx_build_order_first_share(shares, n, at);
		ItemPointer end = other < 0 ? NULL : &shares[other].doc.tid;

		CHECK_FOR_INTERRUPTS();
		skx_build_order_add_range(share, out->docs.ndocs);
		do
		{
			skx_writer_output_document(out, &share->doc.tid,
									   share->doc.norm, share->doc.keys);
		} while (skx_build_order_read(share) &&
				 (end == NULL ||
				  ItemPointerCompare(&share->doc.tid, end) < 0));
	}
}

static SkxOrderShare *
skx_build_order_open_partitions(SkxParallel *team, int nkeys)
{
	SkxOrderShare *shares =
		palloc0(team->nparticipants * sizeof(SkxOrderShare));
	int			i;

	for (i = 0; i < team->nparticipants; i++)
	{
		shares[i].nkeys = nkeys;
		shares[i].ndocs = team->partitions[i].ndocs;
		shares[i].doc_ranges_size = 16;
		shares[i].doc_ranges = palloc(16 * sizeof(SkxDocNumberRange));
		if (shares[i].ndocs == 0)
		{
			shares[i].read = 1;
			continue;
		}
		shares[i].docs = skx_build_open(team, team->encoded_round, i, "docs",
										false);
		skx_build_order_read(&shares[i]);
	}
	return shares;
}

/*
 * Tasks
 */

/*
 * Renumbers the marks of a share, which begin at `at`: their runs get the
 * numbers that these have in the plan, from `first` on.
 */
static void
skx_build_order_renumber(const SkxParallelTotals *totals,
						 const SkxMergePlanRun *runs, uint32 first,
						 StringInfo marks, Size at)
{
	uint32		nmarks = 0;

	while (at < marks->len)
	{
		SkxRunMark	mark;

		if (marks->len - at < sizeof(mark))
			skx_invert_file_damaged("a mark ends too soon");
		memcpy(&mark, marks->data + at, sizeof(mark));
		if (mark.run >= totals->nruns || mark.len > SKX_RUN_MARK_LEXEME_MAX ||
			mark.len > marks->len - at - sizeof(mark) ||
			mark.run_offset > runs[first + mark.run].run.nbytes)
			skx_invert_file_damaged("a mark is out of range");
		mark.run += first;
		memcpy(marks->data + at, &mark, sizeof(mark));
		at += sizeof(mark) + mark.len;
		nmarks++;
	}
	if (nmarks != totals->nmarks)
		skx_invert_file_damaged("there are other marks than were made");
}

/*
 * Reads the list of a share.  Its runs become runs of the plan, from number
 * `first` on, and its marks are added to `marks`.
 */
static void
skx_build_order_read_list(SkxParallel *team, int member, SkxMergePlanRun *runs,
						  uint32 first, StringInfo marks)
{
	const SkxParallelTotals *totals = &team->partitions[member];
	BufFile    *list;
	uint32		i;
	Size		at = marks->len;
	uint64		offset = 0;

	if (totals->nruns == 0)
		return;
	list = skx_build_open(team, team->encoded_round, member, "list", false);
	for (i = 0; i < totals->nruns; i++)
	{
		SkxMergePlanRun *run = &runs[first + i];

		run->source = member;
		run->number = i;
		skx_build_read(list, &run->run, sizeof(SkxRun));
		if (run->run.offset != offset ||
			run->run.nbytes > totals->run_bytes - offset)
			skx_invert_file_damaged("runs do not follow one another");
		offset += run->run.nbytes;
	}
	enlargeStringInfo(marks, totals->mark_bytes);
	skx_build_read(list, marks->data + at, totals->mark_bytes);
	marks->len += totals->mark_bytes;
	BufFileClose(list);
	skx_build_order_renumber(totals, runs, first, marks, at);
}

static int
skx_build_order_compare_marks(const void *a, const void *b)
{
	const SkxOrderMark *x = a;
	const SkxOrderMark *y = b;
	int			order = memcmp(x->lexeme, y->lexeme,
							   Min(x->run_mark.len, y->run_mark.len));

	return order != 0 ? order : (int) x->run_mark.len - (int) y->run_mark.len;
}

static SkxOrderMark *
skx_build_order_marks(StringInfo bytes, uint32 n)
{
	SkxOrderMark *marks = palloc_extended((Size) Max(n, 1) *
										  sizeof(SkxOrderMark),
										  MCXT_ALLOC_HUGE);
	int			at = 0;
	uint32		i;

	for (i = 0; i < n; i++)
	{
		memcpy(&marks[i].run_mark, bytes->data + at, sizeof(SkxRunMark));
		marks[i].lexeme = bytes->data + at + sizeof(SkxRunMark);
		at += sizeof(SkxRunMark) + marks[i].run_mark.len;
	}
	Assert(at == bytes->len);
	qsort(marks, n, sizeof(SkxOrderMark), skx_build_order_compare_marks);
	return marks;
}

uint32
skx_build_ntasks(SkxParallel *team, uint64 bytes,
				 const SkxSegmentBuildOptions *options)
{
	uint64		block = Max(options->block_size,
							SKX_PARALLEL_TASK_BLOCK_BYTES);
	uint64		size = bytes /
		(team->nparticipants * SKX_PARALLEL_TASKS_PER_PROCESS);

	/* members would keep pages of larger tasks in memory, and wait */
	size = Min(size, options->memory / 4);
	size = Max(size, block * SKX_PARALLEL_TASK_BLOCKS);
	size = Max(size, bytes / SKX_PARALLEL_TASKS_MAX);
	Assert(bytes / size <= SKX_PARALLEL_TASKS_MAX);
	return (uint32) (bytes / size) + 1;
}

static void
skx_build_order_task(BufFile *plan, const SkxOrderMark *mark,
					 const uint64 *starts, uint32 nruns)
{
	SkxMergePlanTask task = {0};

	if (mark != NULL)
	{
		Assert(mark->run_mark.len <= sizeof(task.lexeme));
		task.len = mark->run_mark.len;
		memcpy(task.lexeme, mark->lexeme, mark->run_mark.len);
	}
	BufFileWrite(plan, &task, sizeof(task));
	BufFileWrite(plan, unconstify(uint64 *, starts), nruns * sizeof(uint64));
}

/*
 * Writes the tasks, with where they begin in each run.  Returns how many there
 * are.
 */
static uint32
skx_build_order_tasks(BufFile *plan, SkxOrderMark *marks, uint32 nmarks,
					  uint32 wanted, uint32 nruns)
{
	uint64	   *starts = palloc0(Max(nruns, 1) * sizeof(uint64));
	uint32		ntasks = 1;
	uint32		last = 0;
	uint32		i;

	skx_build_order_task(plan, NULL, starts, nruns);
	for (i = 0; i < nmarks; i++)
	{
		uint32		next = (uint64) ntasks * nmarks / wanted;

		/* lexemes of a run ascend, as do the marks */
		Assert(marks[i].run_mark.run < nruns);
		Assert(starts[marks[i].run_mark.run] <= marks[i].run_mark.run_offset);
		starts[marks[i].run_mark.run] = marks[i].run_mark.run_offset;
		if (ntasks == wanted || i < next ||
			(ntasks > 1 && skx_build_order_compare_marks(&marks[last],
														 &marks[i]) == 0))
			continue;
		skx_build_order_task(plan, &marks[i], starts, nruns);
		last = i;
		ntasks++;
	}
	Assert(ntasks <= wanted);
	pfree(starts);
	return ntasks;
}

/* Writes the plan that all members read. */
static void
skx_build_order_plan(SkxParallel *team, SkxOrderShare *shares,
					 const SkxSegmentBuildOptions *options)
{
	BufFile    *plan = skx_build_file(team, team->encoded_round, 0, "plan");
	StringInfoData bytes;
	SkxMergePlanRun *runs;
	SkxOrderMark *marks;
	uint32		nmarks = 0;
	uint32		done = 0;
	int			i;

	team->nruns = 0;
	team->to_read = 0;
	for (i = 0; i < team->nparticipants; i++)
	{
		team->nruns += team->partitions[i].nruns;
		team->to_read += team->partitions[i].run_bytes;
		BufFileWrite(plan, &shares[i].ndoc_ranges, sizeof(uint32));
		BufFileWrite(plan, shares[i].doc_ranges,
					 shares[i].ndoc_ranges * sizeof(SkxDocNumberRange));
	}
	initStringInfo(&bytes);
	runs = palloc0(Max(team->nruns, 1) * sizeof(SkxMergePlanRun));
	for (i = 0; i < team->nparticipants; i++)
	{
		skx_build_order_read_list(team, i, runs, done, &bytes);
		done += team->partitions[i].nruns;
		nmarks += team->partitions[i].nmarks;
	}
	Assert(done == team->nruns);
	BufFileWrite(plan, runs, team->nruns * sizeof(SkxMergePlanRun));
	marks = skx_build_order_marks(&bytes, nmarks);
	team->ntasks = skx_build_order_tasks(plan, marks, nmarks,
										 skx_build_ntasks(team, team->to_read,
														  options),
										 team->nruns);
	BufFileExportFileSet(plan);
	BufFileClose(plan);
	pfree(marks);
	pfree(runs);
	pfree(bytes.data);
}

/* Adds up the shares of all members, and resets what the team counts. */
static void
skx_build_order_totals(SkxParallel *team, uint64 *total_length)
{
	int			i;

	/* the segment before is complete */
	Assert(team->placed_tasks == team->ntasks);
	team->encoded_round = team->inverted_round++;
	team->ordered_docs = 0;
	*total_length = 0;
	for (i = 0; i < team->nparticipants; i++)
	{
		team->ordered_docs += team->partitions[i].ndocs;
		*total_length += team->partitions[i].total_length;
	}
	team->average_length = team->ordered_docs > 0 ?
		(double) *total_length / team->ordered_docs : 0;
	pg_atomic_write_u64(&team->ndocs, 0);
	pg_atomic_write_u64(&team->run_bytes, 0);
	pg_atomic_write_u32(&team->is_full, 0);
	pg_atomic_write_u64(&team->run_bytes_read, 0);
	pg_atomic_write_u32(&team->next_task, 0);
	team->ntasks = 0;
	team->placed_tasks = 0;
	memset(&team->placed_totals, 0, sizeof(team->placed_totals));
}

SkxBuildSegment *
skx_build_order(SkxParallel *team, const SkxSegmentBuildOptions *options)
{
	MemoryContext context;
	MemoryContext old;
	SkxBuildSegment *segment;
	SkxOrderShare *shares;
	uint64		total_length;
	int			i;

	skx_build_order_totals(team, &total_length);
	if (team->ordered_docs == 0)
		return NULL;
	context = AllocSetContextCreate(CurrentMemoryContext,
									"skipidx team segment",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	segment = palloc0(sizeof(SkxBuildSegment));
	segment->context = context;
	segment->group = team;
	segment->round = team->encoded_round;
	segment->runs_files = palloc(team->nparticipants * sizeof(uint32));
	for (i = 0; i < team->nparticipants; i++)
		segment->runs_files[i] = team->partitions[i].runs_file;
	if (team->ordered_docs > team->norms_size)
		elog(ERROR, "%u documents of a segment have norms of %u",
			 team->ordered_docs, team->norms_size);
	segment->out = palloc(sizeof(SkxSegmentOutput));
	skx_writer_output_init(segment->out, options);
	segment->out->total_length = total_length;
	skx_writer_documents_keep_norms(&segment->out->docs,
									dsm_segment_address(skx_build_norms(team)),
									team->ordered_docs);
	shares = skx_build_order_open_partitions(team, options->keys.n);
	skx_build_order_documents(segment->out, shares, team->nparticipants);
	Assert(segment->out->docs.ndocs == team->ordered_docs);
	skx_build_order_plan(team, shares, options);
	for (i = 0; i < team->nparticipants; i++)
	{
		if (shares[i].docs != NULL)
			BufFileClose(shares[i].docs);
		pfree(shares[i].doc_ranges);
		skx_build_delete_file(team, team->encoded_round, i, "docs");
		skx_build_delete_file(team, team->encoded_round, i, "list");
	}
	pfree(shares);
	MemoryContextSwitchTo(old);
	return segment;
}
