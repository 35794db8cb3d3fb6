/*
 * maint_help.c
 *	  A large merge by several processes: the first of them asks the server for
 *	  helpers, which write a part of the terms.
 *
 * Helpers are background workers of this extension rather than parallel
 * workers: a merge has no snapshot that could hold others back, and a helper
 * needs none.  The merge does not wait for a helper that does not come or
 * comes late.  A helper that fails ends the merge.
 *
 * The pages that a helper writes belong to the operation, which it has joined
 * (skx_manifest_join).  So no other operation gets these pages as long as the
 * helper lives, even if the first process ends.
 *
 * A helper leaves a file with the pages that it did not need, and its notes on
 * which pages of the inputs were in the cache.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "optimizer/paths.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/buffile.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/spin.h"
#include "support/compat/compat.h"
#include "support/fault/fault.h"
#include "support/shm/shm.h"
#include "support/throttle/throttle.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"
#include "write/maint/maint_internal.h"

#define SKX_HELPERS_MAX	15

/*
 * Input for one helper, as a multiple of min_parallel_table_scan_size.  If a
 * background worker merges, it is SKX_HELPER_WORKER_KEY times as much, because
 * no user waits for it and other processes need the processors.
 */
#define SKX_HELPER_SCANS		8
#define SKX_HELPER_WORKER_KEY		8

/* Least memory of a process, and most extents that a helper starts with. */
#define SKX_HELPER_MEMORY_MIN		((Size) 4 * 1024 * 1024)
#define SKX_HELPER_EXTENTS	16

#define SKX_HELPER_MAIN		"skx_maint_helper_main"

typedef struct SkxHelperExtents
{
	int			n;
	SkxDiskExtent extents[SKX_HELPER_EXTENTS];
} SkxHelperExtents;

/*
 * In shared memory.  Behind it are the inputs' segment references, the team,
 * and the common part of the merge, at the offsets `segments`, `team` and
 * `common`.
 */
typedef struct SkxHelperShared
{
	Oid			database;
	Oid			index;
	SkxMaintOptions options;	/* of each process */
	SkxOperation op;			/* that of the first process */
	SkxDiskMeta meta;			/* of the view that has the inputs */
	uint64		bytes;			/* of the result, estimated */
	bool		bypasses_page_cache;	/* inputs are read past the page cache */
	int			ninputs;
	int			nparticipants;
	Size		segments;
	Size		group;
	Size		common;

	slock_t		mutex;			/* protects the fields from here to nlogged */
	bool		accepts_helpers;	/* helpers may still come */
	int			njoined;
	int			nfinished;
	uint64		npages;			/* written by helpers */
	uint64		nlogged;		/* bytes of WAL */

	SkxHelperExtents extents[SKX_HELPERS_MAX];
} SkxHelperShared;

struct SkxMaintHelpers
{
	SkxMaintOutput *out;
	const SkxSnapshotReader *source;
	SkxMerge   *merge;
	dsm_segment *seg;
	SkxHelperShared *shared;
	SkxParallel *group;
	BackgroundWorkerHandle *handles[SKX_HELPERS_MAX];
	int			nhandles;
};

extern PGDLLEXPORT void skx_maint_helper_main(Datum arg);

/*
 * For the end of the process.  In the first process, the merge that has
 * helpers.  In a helper, the team that it has come to, until it is done.
 */
static SkxMaintHelpers *skx_maint_asking = NULL;
static SkxParallel *skx_maint_helping = NULL;

static void *
skx_maint_help_address(SkxHelperShared *shared, Size offset)
{
	return (char *) shared + offset;
}

static void
skx_maint_help_name(char name[MAXPGPATH], int number)
{
	snprintf(name, MAXPGPATH, "rest.%d", number);
}

/* The first process: preparation */

/* Returns how many processes should merge together, with this one. */
static int
skx_maint_help_nprocesses(const SkxMaintOutput *out,
						  const SkxMaintOptions *options, uint64 bytes)
{
	uint64		each = (uint64) Max(min_parallel_table_scan_size, 1) *
		BLCKSZ * SKX_HELPER_SCANS *
		(options->requester == SKX_REQUESTER_WORKER ? SKX_HELPER_WORKER_KEY :
		 1);
	int			n = (int) Min(bytes / each,
							  Min(max_parallel_maintenance_workers,
								  SKX_HELPERS_MAX));

	/* a rate and the cost delay bound only one process */
	if (options->needs_all_space || skx_worker_max == 0 ||
		skx_worker_rate > 0 ||
		VacuumCostActive || !IsUnderPostmaster || IsInParallelMode() ||
		!skx_worker_can_see_index(out->op->rel))
		return 1;
	return Max(n, 0) + 1;
}

typedef struct SkxHelperShmRequest
{
	Size		size;
	dsm_segment *seg;
} SkxHelperShmRequest;

static void
skx_maint_help_alloc_shm(void *arg)
{
	SkxHelperShmRequest *room = arg;

	room->seg = dsm_create(room->size, DSM_CREATE_NULL_IF_MAXSEGMENTS);
}

/*
 * Returns shared memory, or NULL if there is none.  It goes at the end of the
 * statement at the latest.
 */
static dsm_segment *
skx_maint_help_reserve(Size size)
{
	SkxHelperShmRequest room = {.size = size};
	char	   *why = skx_shm_attempt(skx_maint_help_alloc_shm, &room);

	if (why != NULL)
		pfree(why);
	if (room.seg != NULL)
		dsm_unpin_mapping(room.seg);
	return room.seg;
}

static void
skx_maint_help_fill(SkxMaintHelpers *h, const SkxMaintOptions *options,
					int nmembers, uint64 bytes)
{
	SkxHelperShared *shared = h->shared;
	const SkxView *view = h->source->view;
	uint64		part = 0;
	int			i;

	shared->database = MyDatabaseId;
	shared->index = RelationGetRelid(h->out->op->rel);
	shared->options = *options;
	shared->meta = view->meta;
	shared->bytes = bytes;
	shared->ninputs = view->nsegments;
	shared->nparticipants = nmembers;
	memcpy(skx_maint_help_address(shared, shared->segments), view->segments,
		   view->nsegments * sizeof(SkxDiskSegmentRef));
	SpinLockInit(&shared->mutex);
	for (i = 0; i < h->out->op->nreserved_extents; i++)
		part += h->out->op->reserved[i].npages;
	part /= nmembers;
	for (i = 0; i < nmembers - 1; i++)
		shared->extents[i].n =
			skx_manifest_share_extents(h->out->op,
									   part, shared->extents[i].extents,
									   SKX_HELPER_EXTENTS);
	shared->op = *h->out->op;
}

SkxMaintHelpers *
skx_maint_help_begin(SkxMaintOutput *out, const SkxMaintOptions *options,
					 const SkxSnapshotReader *source, bool past,
					 SkxMerge *merge, uint64 bytes)
{
	int			nmembers = skx_maint_help_nprocesses(out, options, bytes);
	Size		common = nmembers > 1 ? skx_merge_common_size(merge) : 0;
	SkxMaintOptions each = *options;
	Size		segments = MAXALIGN(sizeof(SkxHelperShared));
	Size		team = segments +
		MAXALIGN(source->view->nsegments * sizeof(SkxDiskSegmentRef));
	SkxMaintHelpers *h;
	dsm_segment *seg = NULL;

	each.memory -= Min(each.memory, common);
	nmembers = (int) Min(nmembers, each.memory / SKX_HELPER_MEMORY_MIN);
	if (common > 0 && nmembers > 1)
		seg = skx_maint_help_reserve(team + MAXALIGN(skx_build_shared_size(nmembers)) + common);
	if (seg == NULL)
		return NULL;
	each.memory /= nmembers;
	h = palloc0(sizeof(SkxMaintHelpers));
	h->out = out;
	h->source = source;
	h->merge = merge;
	h->seg = seg;
	h->shared = dsm_segment_address(seg);
	memset(h->shared, 0, sizeof(SkxHelperShared));
	h->shared->bypasses_page_cache = past;
	h->shared->segments = segments;
	h->shared->group = team;
	h->shared->common = team + MAXALIGN(skx_build_shared_size(nmembers));
	h->group = skx_maint_help_address(h->shared, team);
	skx_build_init(h->group, nmembers, seg);
	skx_maint_help_fill(h, &each, nmembers, bytes);
	return h;
}

/*
 * The first process: the merge
 */

static void
skx_maint_help_launch(SkxMaintHelpers *h)
{
	SkxHelperShared *shared = h->shared;
	dsm_handle	handle = dsm_segment_handle(h->seg);

	SpinLockAcquire(&shared->mutex);
	shared->accepts_helpers = true;
	SpinLockRelease(&shared->mutex);
	while (h->nhandles < shared->nparticipants - 1 &&
		   skx_worker_launch(SKX_HELPER_MAIN, UInt32GetDatum(handle),
							 &shared->database, sizeof(Oid),
							 &h->handles[h->nhandles]))
		h->nhandles++;
}

/* Lets no more helpers come, and returns how many have. */
static int
skx_maint_help_stop_accepting(SkxHelperShared *shared)
{
	int			come;

	SpinLockAcquire(&shared->mutex);
	shared->accepts_helpers = false;
	come = shared->njoined;
	SpinLockRelease(&shared->mutex);
	return come;
}

/* Ends the helpers after an error of the merge. */
static void
skx_maint_help_stop(void)
{
	SkxMaintHelpers *h = skx_maint_asking;

	if (h == NULL)
		return;
	skx_maint_asking = NULL;
	(void) skx_maint_help_stop_accepting(h->shared);
	skx_build_fail(h->group, 0, "");
	while (h->nhandles > 0)
		TerminateBackgroundWorker(h->handles[--h->nhandles]);
}

/*
 * Runs before the locks of the process go.  PG_ENSURE_ERROR_CLEANUP would not
 * do: what is read for the first time may register callbacks of its own.
 */
static void
skx_maint_help_exit(int code, Datum arg)
{
	skx_maint_help_stop();
}

static bool
skx_maint_help_is_through(SkxHelperShared *shared, int come)
{
	bool		through;

	SpinLockAcquire(&shared->mutex);
	through = shared->nfinished == come;
	SpinLockRelease(&shared->mutex);
	return through;
}

static void
skx_maint_help_wait(SkxMaintHelpers *h, int come)
{
	ConditionVariable *news = skx_build_has_news(h->group);

	ConditionVariablePrepareToSleep(news);
	while (!skx_maint_help_is_through(h->shared, come))
	{
		skx_build_check(h->group);
		skx_throttle_point();
		ConditionVariableTimedSleep(news, SKX_THROTTLE_CHECK_MS,
									WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
}

/* Takes back extents that were given to helpers and not used. */
static void
skx_maint_help_regain_extents(SkxMaintHelpers *h, const SkxDiskExtent *extents,
							  int n)
{
	int			i;

	for (i = 0; i < n; i++)
		skx_manifest_give_back(h->out->op, extents[i].block,
							   extents[i].npages);
}

static void
skx_maint_help_read(BufFile *file, void *to, Size n)
{
	if (BufFileRead(file, to, n) != n)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read temporary file of an index merge: %m")));
}

static void
skx_maint_help_collect(SkxMaintHelpers *h, int number)
{
	char		name[MAXPGPATH];
	BufFile    *file;
	SkxDiskExtent extent;
	int			n;

	skx_maint_help_name(name, number);
	file = BufFileOpenFileSet(skx_build_attach_files(h->group), name, O_RDONLY,
							  false);
	skx_maint_help_read(file, &n, sizeof(n));
	while (n-- > 0)
	{
		skx_maint_help_read(file, &extent, sizeof(extent));
		skx_maint_help_regain_extents(h, &extent, 1);
	}
	skx_maint_warm_read(h->out, file, skx_maint_help_read);
	BufFileClose(file);
}

/*
 * Takes back what helpers have left, and the extents of helpers that have not
 * come.
 */
static void
skx_maint_help_regain_rest(SkxMaintHelpers *h, int come)
{
	SkxHelperShared *shared = h->shared;
	int			i;

	for (i = 0; i < shared->nparticipants - 1; i++)
	{
		if (i < come)
			skx_maint_help_collect(h, i + 1);
		else
			skx_maint_help_regain_extents(h, shared->extents[i].extents,
										  shared->extents[i].n);
	}
	skx_worker_record_helpers(shared->npages, shared->nlogged);
	ereport(DEBUG1,
			(errmsg_internal("merge of index \"%s\" had help of %d processes, which wrote " UINT64_FORMAT " pages",
							 RelationGetRelationName(h->out->op->rel), come,
							 shared->npages)));
}

static void
skx_maint_help_merge(SkxMaintHelpers *h, SkxDiskSegmentRef *ref)
{
	SkxHelperShared *shared = h->shared;
	SkxSegmentBuildOptions options = h->out->build;
	void	   *common = skx_maint_help_address(shared, shared->common);
	SkxSegment **inputs = h->source->segments;
	SkxBuildSegment *segment;
	int			come;

	options.memory = shared->options.memory;
	segment = skx_build_merge_plan(h->group, h->merge, inputs, shared->ninputs,
								   shared->bytes, common, &options);
	skx_maint_help_launch(h);
	SKX_FAULT(SKX_FAULT_HELP_ASKED);
	skx_build_merge_encode(h->group, 0, inputs, shared->ninputs, common,
						   &options);
	come = skx_maint_help_stop_accepting(shared);
	skx_maint_help_wait(h, come);
	skx_maint_help_regain_rest(h, come);
	skx_build_finish(segment, ref);
}

void
skx_maint_help_run(SkxMaintHelpers *h, SkxDiskSegmentRef *ref)
{
	static bool registered = false;

	if (!registered)
		before_shmem_exit(skx_maint_help_exit, (Datum) 0);
	registered = true;
	skx_maint_asking = h;
	PG_TRY();
	{
		skx_maint_help_merge(h, ref);
	}
	PG_CATCH();
	{
		skx_maint_help_stop();
		PG_RE_THROW();
	}
	PG_END_TRY();
	skx_maint_asking = NULL;
}

void
skx_maint_help_end(SkxMaintHelpers *h)
{
	dsm_detach(h->seg);
	pfree(h);
}

/*
 * A helper
 */

/*
 * Called when the process detaches; fails the team if the helper is not done.
 */
static void
skx_maint_helper_detached(dsm_segment *seg, Datum arg)
{
	if (skx_maint_helping != NULL)
		skx_build_fail(skx_maint_helping, 0, "");
	skx_maint_helping = NULL;
}

/* Passes the error to the first process, which reports it to its client. */
static void
skx_maint_helper_failed(void)
{
	ErrorData  *error;

	MemoryContextSwitchTo(TopMemoryContext);
	error = CopyErrorData();
	if (skx_maint_helping != NULL)
		skx_build_fail(skx_maint_helping, error->sqlerrcode, error->message);
	FreeErrorData(error);
}

/*
 * Counts this helper as come, unless it is too late.  Returns its number, or
 * 0.
 */
static int
skx_maint_helper_join(SkxHelperShared *shared)
{
	int			number = 0;

	SpinLockAcquire(&shared->mutex);
	if (shared->accepts_helpers && shared->njoined < shared->nparticipants - 1)
		number = ++shared->njoined;
	SpinLockRelease(&shared->mutex);
	if (number > 0)
		skx_maint_helping = skx_maint_help_address(shared, shared->group);
	return number;
}

static void
skx_maint_helper_return_extents(SkxMaintOutput *out, int number)
{
	char		name[MAXPGPATH];
	BufFile    *file;

	skx_maint_help_name(name, number);
	file = BufFileCreateFileSet(skx_build_attach_files(skx_maint_helping),
								name);
	BufFileWrite(file, &out->op->nreserved_extents, sizeof(int));
	BufFileWrite(file, out->op->reserved,
				 out->op->nreserved_extents * sizeof(SkxDiskExtent));
	skx_maint_warm_write(out, file);
	BufFileExportFileSet(file);
	BufFileClose(file);
}

static void
skx_maint_helper_finish(SkxHelperShared *shared, const SkxMaintOutput *out,
						uint64 nlogged)
{
	SkxParallel *team = skx_maint_helping;

	skx_maint_helping = NULL;
	SpinLockAcquire(&shared->mutex);
	shared->nfinished++;
	shared->npages += out->nwritten;
	shared->nlogged += nlogged;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(skx_build_has_news(team));
}

/*
 * Called every SKX_THROTTLE_CHECK_MS ms.  Gives up the catalog snapshot, so
 * that this process holds nothing back, and ends if another one has failed.
 */
static void
skx_maint_helper_check(void *arg)
{
	InvalidateCatalogSnapshot();
	skx_build_check(skx_maint_helping);
}

/* Does the work of a helper that has joined the operation and has a number. */
static void
skx_maint_helper_merge(SkxHelperShared *shared, Relation index,
					   SkxOperation *op, int number)
{
	const SkxHelperExtents *mine = &shared->extents[number - 1];
	uint64		logged = pgWalUsage.wal_bytes;
	SkxView		view = {.meta = shared->meta};
	SkxMaintOutput out;
	SkxSnapshotReader *source;
	int			i;

	for (i = 0; i < mine->n; i++)
		skx_manifest_give_back(op, mine->extents[i].block,
							   mine->extents[i].npages);
	view.nsegments = shared->ninputs;
	view.segments = skx_maint_help_address(shared, shared->segments);
	source = skx_snapshot_open(index, &view);
	skx_snapshot_read_once(source);
	if (shared->bypasses_page_cache)
		skx_snapshot_bypass_page_cache(source);
	skx_snapshot_next_segments(source, SKX_SNAPSHOT_ALL_SEGMENTS);
	skx_maint_output_begin(&out, op, &shared->options, shared->bytes);
	out.build.progress = NULL;
	skx_maint_warm_begin(&out, source);
	SKX_FAULT(SKX_FAULT_HELP_COME);
	skx_throttle_begin(skx_maint_helper_check, NULL, NULL);
	skx_build_merge_encode(skx_maint_helping, number, source->segments,
						   shared->ninputs,
						   skx_maint_help_address(shared, shared->common),
						   &out.build);
	skx_throttle_end();
	skx_maint_output_end(&out);
	skx_maint_helper_return_extents(&out, number);
	SKX_FAULT(SKX_FAULT_HELP_WRITTEN);
	skx_snapshot_close(source);
	/* the next operation may begin as soon as the first process knows */
	skx_manifest_leave_operation(op);
	skx_maint_helper_finish(shared, &out, pgWalUsage.wal_bytes - logged);
}

/*
 * At the end of the process, detaches the shared memory; the last process
 * removes the files by that.  This comes before the server's statistics end,
 * because they count files.
 */
static void
skx_maint_helper_exit(int code, Datum arg)
{
	AbortOutOfAnyTransaction();
	dsm_detach((dsm_segment *) DatumGetPointer(arg));
}

/*
 * Helps if it is not too late.  The first process holds a lock on the index,
 * too, so the index stays as long as that merges.
 */
static void
skx_maint_helper_work(dsm_segment *seg)
{
	SkxHelperShared *shared = dsm_segment_address(seg);
	SkxOperation *op = NULL;
	Relation	index;
	int			number = 0;

	if (!ConditionalLockRelationOid(shared->index, RowExclusiveLock))
		return;
	index = try_relation_open(shared->index, NoLock);
	if (index == NULL)
		return;
	InvalidateCatalogSnapshot();
	op = skx_manifest_join(index, &shared->op, NULL, 0);
	if (op != NULL)
		number = skx_maint_helper_join(shared);
	if (number > 0)
	{
		skx_build_join(skx_maint_helping, seg);
		pgstat_report_activity(STATE_RUNNING, "skipidx: merge");
		skx_maint_helper_merge(shared, index, op, number);
	}
	else if (op != NULL)
		skx_manifest_leave_operation(op);
	relation_close(index, RowExclusiveLock);
}

void
skx_maint_helper_main(Datum arg)
{
	dsm_segment *seg;
	Oid			database;

	memcpy(&database, MyBgworkerEntry->bgw_extra, sizeof(Oid));
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
	skx_worker_set_settings();
	pgstat_report_appname("skipidx helper");
	seg = dsm_attach(DatumGetUInt32(arg));
	if (seg == NULL)
		return;					/* the merge is over */
	on_dsm_detach(seg, skx_maint_helper_detached, (Datum) 0);
	before_shmem_exit(skx_maint_helper_exit, PointerGetDatum(seg));
	StartTransactionCommand();
	PG_TRY();
	{
		skx_maint_helper_work(seg);
	}
	PG_CATCH();
	{
		skx_maint_helper_failed();
		PG_RE_THROW();
	}
	PG_END_TRY();
	CommitTransactionCommand();
}
