/*
 * build_share.c
 *	  A team that builds one segment, and a member's share of the documents.
 *
 * A member numbers its documents from 0.  Their numbers in the segment are
 * known only when all members have read their documents.  So TIDs and norms go
 * to a file, in order, and so do the runs of postings, of which every member
 * reads parts later.
 */
#include "postgres.h"

#include "index/column/column_value.h"
#include "miscadmin.h"
#include "support/shm/shm.h"
#include "utils/memutils.h"
#include "write/build/build_internal.h"

/*
 * Shared memory for norms may be reserved for a part of the documents, which
 * makes segments smaller.  It is for at least one in SKX_PARALLEL_RUN_SHRINK
 * of them, and at least SKX_PARALLEL_RESERVE_MIN.  With less, one process
 * alone would do better.
 */
#define SKX_PARALLEL_RUN_SHRINK			8
#define SKX_PARALLEL_RESERVE_MIN		(128 * 1024)

/*
 * Bytes of shared memory left to the server, for its data and queues of
 * workers.
 */
#define SKX_PARALLEL_RESERVE_SPARE			(512 * 1024)

struct SkxBuildPartition
{
	MemoryContext context;
	SkxKeyColumns keys;
	SkxParallel *group;
	int			member;
	Size		memory;
	SkxRuns    *runs;
	SkxInvertDocuments *documents;
	BufFile    *docs;
	SkxParallelTotals totals;
	ItemPointerData last_tid;
	uint32		counted_docs;	/* what this share has added to the team's
								 * ndocs, and told_bytes to run_bytes */
	uint64		counted_bytes;
	char		name[MAXPGPATH];
};

Size
skx_build_shared_size(int nmembers)
{
	return offsetof(SkxParallel,
					partitions) + nmembers * sizeof(SkxParallelTotals);
}

typedef struct SkxParallelReserve
{
	uint32		docs;
	dsm_segment *spare_docs;
	dsm_segment *norms;
} SkxParallelReserve;

static void
skx_build_reserve_attempt(void *arg)
{
	SkxParallelReserve *reserve = arg;

	reserve->spare_docs = dsm_create(SKX_PARALLEL_RESERVE_SPARE,
									 DSM_CREATE_NULL_IF_MAXSEGMENTS);
	if (reserve->spare_docs != NULL)
		reserve->norms = dsm_create(reserve->docs,
									DSM_CREATE_NULL_IF_MAXSEGMENTS);
}

dsm_segment *
skx_build_reserve(uint32 *docs)
{
	SkxParallelReserve reserve = {.docs = *docs};
	uint32		least = Min(*docs, Max(*docs / SKX_PARALLEL_RUN_SHRINK,
									   SKX_PARALLEL_RESERVE_MIN));

	while (reserve.norms == NULL && reserve.docs >= least)
	{
		char	   *why;

		CHECK_FOR_INTERRUPTS();
		*docs = reserve.docs;
		why = skx_shm_attempt(skx_build_reserve_attempt, &reserve);
		if (reserve.spare_docs != NULL)
			dsm_detach(reserve.spare_docs);
		reserve.spare_docs = NULL;
		reserve.docs /= 2;
		if (why != NULL)
			pfree(why);
	}
	if (reserve.norms != NULL)
		dsm_unpin_mapping(reserve.norms);
	return reserve.norms;
}

void
skx_build_init(SkxParallel *team, int nmembers, dsm_segment *seg)
{
	Assert(nmembers > 0);
	memset(team, 0, skx_build_shared_size(nmembers));
	SharedFileSetInit(&team->files, seg);
	team->nparticipants = nmembers;
	pg_atomic_init_u64(&team->ndocs, 0);
	pg_atomic_init_u64(&team->run_bytes, 0);
	pg_atomic_init_u32(&team->is_full, 0);
	pg_atomic_init_u64(&team->run_bytes_read, 0);
	pg_atomic_init_u32(&team->next_task, 0);
	pg_atomic_init_u32(&team->has_failed, 0);
	SpinLockInit(&team->mutex);
	ConditionVariableInit(&team->placed_cv);
}

void
skx_build_create(SkxParallel *team, int nmembers, dsm_segment *norms,
				 uint32 given, uint32 most, uint32 overshoot,
				 dsm_segment *seg)
{
	Assert(given > overshoot && given <= most);
	skx_build_init(team, nmembers, seg);
	team->norms = dsm_segment_handle(norms);
	team->norms_size = team->norms_initial = given;
	team->norms_max = most;
	team->docs_over = overshoot;
	team->most_docs = given - overshoot;
}

void
skx_build_join(SkxParallel *team, dsm_segment *seg)
{
	SharedFileSetAttach(&team->files, seg);
}

FileSet *
skx_build_attach_files(SkxParallel *team)
{
	return &team->files.fs;
}

ConditionVariable *
skx_build_has_news(SkxParallel *team)
{
	return &team->placed_cv;
}

void
skx_build_fail(SkxParallel *team, int code, const char *message)
{
	SpinLockAcquire(&team->mutex);
	if (pg_atomic_read_u32(&team->has_failed) == 0)
	{
		team->failed_code = code;
		strlcpy(team->failed_message, message, SKX_PARALLEL_MESSAGE_SIZE);
		pg_atomic_write_u32(&team->has_failed, 1);
	}
	SpinLockRelease(&team->mutex);
	ConditionVariableBroadcast(&team->placed_cv);
}

/*
 * Returns the SQLSTATE to raise for another process's error.  A cancel of that
 * process must not look like one of this process, which may make errors
 * warnings except for a cancel.
 */
static int
skx_build_error_code(int code)
{
	if (code == 0 ||
		ERRCODE_TO_CATEGORY(code) == ERRCODE_OPERATOR_INTERVENTION)
		return ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
	return code;
}

void
skx_build_check(SkxParallel *team)
{
	if (pg_atomic_read_u32(&team->has_failed) == 0)
		return;
	if (team->failed_code == 0)
		ereport(ERROR,
				(errcode(skx_build_error_code(0)),
				 errmsg("parallel worker was terminated while it helped with an index"),
				 errdetail("The index was not changed."),
				 errhint("Run the command again.")));
	ereport(ERROR,
			(errcode(skx_build_error_code(team->failed_code)),
			 errmsg("%s", team->failed_message),
			 errcontext("a process that helped")));
}

void
skx_build_name(char to[MAXPGPATH], uint32 round, int member,
			   const char *what)
{
	snprintf(to, MAXPGPATH, "%u.%d.%s", round, member, what);
}

BufFile *
skx_build_file(SkxParallel *team, uint32 round, int member,
			   const char *what)
{
	char		name[MAXPGPATH];

	Assert(member >= 0 && member < team->nparticipants);
	skx_build_name(name, round, member, what);
	return BufFileCreateFileSet(&team->files.fs, name);
}

BufFile *
skx_build_open(SkxParallel *team, uint32 round, int member, const char *what,
			   bool missing_ok)
{
	char		name[MAXPGPATH];

	Assert(member >= 0 && member < team->nparticipants);
	skx_build_name(name, round, member, what);
	return BufFileOpenFileSet(&team->files.fs, name, O_RDONLY, missing_ok);
}

void
skx_build_delete_file(SkxParallel *team, uint32 round, int member,
					  const char *what)
{
	char		name[MAXPGPATH];

	skx_build_name(name, round, member, what);
	BufFileDeleteFileSet(&team->files.fs, name, true);
}

static void
skx_build_runs_name(char to[MAXPGPATH], uint32 round, int member, uint32 file)
{
	char		runs[MAXPGPATH];

	skx_build_name(runs, round, member, "runs");
	skx_invert_runs_name(to, runs, file);
}

SkxRunFile *
skx_build_runs_open(SkxParallel *team, uint32 round, int member, uint32 file)
{
	char		name[MAXPGPATH];

	skx_build_runs_name(name, round, member, file);
	return skx_invert_file_open(&team->files.fs, name);
}

void
skx_build_runs_delete(SkxParallel *team, uint32 round, int member, uint32 file)
{
	char		name[MAXPGPATH];

	skx_build_runs_name(name, round, member, file);
	FileSetDelete(&team->files.fs, name, false);
}

void
skx_build_read(BufFile *file, void *to, Size n)
{
	/* BufFileRead() itself reports errors of the operating system */
	if (BufFileRead(file, to, n) != n)
		skx_invert_file_damaged("it ends too soon");
}

SkxBuildPartition *
skx_build_partition_begin(SkxParallel *team, int member,
						  const SkxSegmentBuildOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx build share",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxBuildPartition *share = palloc0(sizeof(SkxBuildPartition));

	Assert(member >= 0 && member < team->nparticipants);
	share->context = context;
	share->group = team;
	share->member = member;
	share->memory = options->memory;
	share->keys = options->keys;
	ItemPointerSetInvalid(&share->last_tid);
	skx_build_name(share->name, team->inverted_round, member, "runs");
	share->runs = skx_invert_runs_create(options->memory / 2, &team->files.fs,
										 share->name);
	share->documents = skx_invert_documents_begin(options->memory,
												  share->runs);
	share->docs = skx_build_file(team, team->inverted_round, member, "docs");
	MemoryContextSwitchTo(old);
	return share;
}

void
skx_build_partition_add(SkxBuildPartition *share, ItemPointer tid,
						TSVector value)
{
	MemoryContext old = MemoryContextSwitchTo(share->context);
	SkxParallelTotals *totals = &share->totals;
	SkxParallelDoc doc = {0};
	uint64		length;

	if (ItemPointerIsValid(&share->last_tid) &&
		ItemPointerCompare(&share->last_tid, tid) >= 0)
		elog(ERROR, "documents of a segment are not in order");
	share->last_tid = *tid;
	doc.tid = *tid;
	length = skx_invert_documents_add(share->documents, totals->ndocs,
									  value, share->memory);
	totals->total_length += length;
	doc.norm = skx_column_is_null(value) ? SKX_NORM_NULL :
		skx_rank_norm_encode(length);
	skx_column_keys(&share->keys, value, doc.keys);
	BufFileWrite(share->docs, &doc, SKX_PARALLEL_DOC_SIZE(share->keys.n));
	totals->ndocs++;
	Assert(totals->ndocs <= (uint32) SKX_DOC_MAX + 1);
	MemoryContextSwitchTo(old);
}

static void
skx_build_grow_attempt(void *arg)
{
	SkxParallelReserve *reserve = arg;

	reserve->norms = dsm_create(reserve->docs,
								DSM_CREATE_NULL_IF_MAXSEGMENTS);
}

/*
 * Enlarges the norms if the table has more rows than was estimated.  They are
 * empty while the table is scanned, so that new shared memory can replace
 * them.
 */
static void
skx_build_grow_norms(SkxParallel *team, uint64 docs)
{
	SkxParallelReserve reserve = {0};
	char	   *why;

	if (docs < team->norms_size / 2 || team->norms_size >= team->norms_max)
		return;
	reserve.docs = Min((uint64) team->norms_size * 2, team->norms_max);
	Assert(reserve.docs > team->norms_size);
	why = skx_shm_attempt(skx_build_grow_attempt, &reserve);
	if (why != NULL)
		pfree(why);
	if (reserve.norms == NULL)
	{
		team->norms_max = team->norms_size;
		return;
	}
	dsm_unpin_mapping(reserve.norms);
	dsm_detach(skx_build_norms(team));
	team->norms = dsm_segment_handle(reserve.norms);
	team->norms_size = reserve.docs;
	Assert(team->norms_size <= team->norms_max);
	Assert(team->norms_size > team->docs_over);
	team->most_docs = reserve.docs - team->docs_over;
}

dsm_segment *
skx_build_norms(SkxParallel *team)
{
	return dsm_find_mapping(team->norms);
}

bool
skx_build_partition_is_full(SkxBuildPartition *share)
{
	SkxParallel *team = share->group;
	uint32		docs = share->totals.ndocs;
	uint64		bytes = skx_invert_documents_bytes(share->documents);
	uint64		all_docs;
	uint64		all_bytes;

	/* bytes may become fewer when a run is written */
	Assert(docs >= share->counted_docs);
	all_docs = pg_atomic_add_fetch_u64(&team->ndocs,
									   docs - share->counted_docs);
	all_bytes = pg_atomic_add_fetch_u64(&team->run_bytes,
										bytes - share->counted_bytes);
	share->counted_docs = docs;
	share->counted_bytes = bytes;
	Assert(all_docs >= docs && all_bytes >= bytes);
	if (pg_atomic_read_u32(&team->is_full) != 0)
		return true;
	if (share->member == 0)
		skx_build_grow_norms(team, all_docs);
	if (all_docs < team->most_docs &&
		!skx_writer_segment_is_full(all_docs, all_bytes))
		return false;
	pg_atomic_write_u32(&team->is_full, 1);
	return true;
}

/* Writes the runs and their marks to the file "list". */
static void
skx_build_partition_write_runs(SkxBuildPartition *share)
{
	SkxRuns    *runs = share->runs;
	BufFile    *list = skx_build_file(share->group,
									  share->group->inverted_round,
									  share->member, "list");

	BufFileWrite(list, runs->runs, runs->nruns * sizeof(SkxRun));
	BufFileWrite(list, runs->marks->data, runs->marks->len);
	BufFileExportFileSet(list);
	BufFileClose(list);
}

void
skx_build_partition_end(SkxBuildPartition *share)
{
	MemoryContext old = MemoryContextSwitchTo(share->context);
	SkxRuns    *runs = share->runs;
	int			most = skx_invert_merge_fanin(share->memory / 4);

	skx_invert_documents_spill(share->documents);
	skx_invert_documents_end(share->documents);
	skx_invert_runs_reduce(runs, Max(most / share->group->nparticipants, 1),
						   NULL);
	skx_build_partition_write_runs(share);
	skx_invert_runs_close(runs);
	BufFileExportFileSet(share->docs);
	BufFileClose(share->docs);
	Assert(share->counted_docs <= share->totals.ndocs);
	Assert(runs->nfiles > 0 || runs->nruns == 0);
	share->totals.run_bytes = runs->nbytes;
	share->totals.nruns = runs->nruns;
	/* a share without runs has no file; file 0 is not opened then */
	share->totals.runs_file = Max(runs->nfiles, 1) - 1;
	share->totals.nmarks = runs->nmarks;
	share->totals.mark_bytes = runs->marks->len;
	share->group->partitions[share->member] = share->totals;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(share->context);
}
