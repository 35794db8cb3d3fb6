/*
 * am_build_team.c
 *	  CREATE INDEX with parallel workers: a team (build.h) scans the table, and
 *	  goes from one step of a segment to the next together.
 *
 * A barrier has three phases for each segment: shares are inverted, documents
 * are put in order, tasks are encoded.  A member can join in any of them, as a
 * worker that took long to start does.  All others wait for it from then on.
 * Only the leader can put documents in order, so it attaches to the barrier
 * before it starts a worker.  Otherwise a worker could go through the phases
 * alone, and its share would be lost.  A segment is the last one if no member
 * is scanning when its documents are put in order.  A worker that starts after
 * that leaves.
 *
 * Each member scans in the order of heap blocks.  Blocks are handed out here,
 * in ranges that get shorter towards the end.  The fewer ranges of documents a
 * share has, the faster its postings are merged.  A concurrent build needs one
 * snapshot for all members, as a parallel scan has.  Such a scan hands out
 * small ranges by itself, which are in order if it starts at the first block.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "pgstat.h"
#include "sql/am/am_build.h"
#include "storage/barrier.h"
#include "storage/blkio/blkio.h"
#include "storage/spin.h"
#include "support/compat/compat_planner.h"
#include "support/fault/fault.h"
#include "tcop/tcopprot.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"
#include "write/build/build.h"

/* Keys of the shared memory. */
#define SKX_KEY_SHARED		UINT64CONST(0x5358000000000001)
#define SKX_KEY_PARALLEL		UINT64CONST(0x5358000000000002)
#define SKX_KEY_SCAN		UINT64CONST(0x5358000000000003)
#define SKX_KEY_QUERY		UINT64CONST(0x5358000000000004)
#define SKX_KEY_WAL			UINT64CONST(0x5358000000000005)
#define SKX_KEY_BUFFERS		UINT64CONST(0x5358000000000006)

/*
 * Most documents of a segment.  Their norms, one byte each, are in shared
 * memory, of which containers often have 64 MB.  That memory is allocated
 * before the table is scanned; if there is little, segments are smaller.
 */
#define SKX_PARALLEL_DOCS_MAX	(32 * 1024 * 1024)

/*
 * A table may have more rows than are estimated.  Memory is reserved for the
 * estimate times SKX_PARALLEL_ROWS_FACTOR, plus SKX_PARALLEL_DOCS_MIN.
 */
#define SKX_PARALLEL_ROWS_FACTOR		2
#define SKX_PARALLEL_DOCS_MIN	(64 * 1024)

/* Least number of blocks in a range of the table. */
#define SKX_PARALLEL_RANGE_MIN	16

/* Phases of the barrier, modulo their number. */
#define SKX_PHASE_INVERT		0
#define SKX_PHASE_ORDER		1
#define SKX_PHASE_ENCODE	2
#define SKX_NPHASES			3

typedef struct SkxBuildShared
{
	Oid			heap;
	Oid			index;
	bool		concurrent;
	uint64		incarnation;
	SkxDiskFormat format;
	int			nparticipants;
	Size		memory;			/* bytes, of each member */

	BlockNumber heap_blocks;	/* blocks of the table */
	bool		uses_ranges;	/* ranges of them are handed out here */

	Barrier		barrier;
	pg_atomic_uint32 nscanning; /* members whose scan has not ended */
	pg_atomic_uint64 nblocks;	/* of the file, allocated so far */
	pg_atomic_uint64 tuples;	/* rows handed over so far */
	pg_atomic_uint64 scanned_blocks;	/* blocks of the table scanned so far */
	uint32		segment;		/* number of the one being made */
	bool		is_last;		/* no segment comes after it */

	slock_t		mutex;			/* protects the members below */
	BlockNumber next_block;		/* of the table, to be handed out */
	double		heap_tuples;	/* of scans that have ended */
	bool		broken_hot_chain;
} SkxBuildShared;

/* The state of a member in its own process. */
typedef struct SkxBuildParticipant
{
	SkxBuild   *build;
	SkxBuildShared *shared;
	SkxParallel *parallel;
	int			number;			/* 0: the leader */
	SkxBuildPartition *partition;
	BlockNumber counted_to;		/* blocks before it are in `scanned_blocks` */
} SkxBuildParticipant;

/* The state of the leader. */
typedef struct SkxBuildLeader
{
	ParallelContext *context;
	Snapshot	snapshot;
	ParallelTableScanDesc scan;
	SkxBuildShared *shared;
	SkxParallel *parallel;
	dsm_segment *norms;
	uint32		reserved_docs;	/* documents that `norms` is for */
	uint32		max_docs;		/* the limit of `reserved_docs` */
	WalUsage   *wal;
	BufferUsage *buffers;
} SkxBuildLeader;

extern PGDLLEXPORT void skx_am_build_worker(dsm_segment *seg, shm_toc *toc);

/*
 * The store of the segments: all members take blocks from one file.
 */

static BlockNumber
skx_am_parallel_allocate(void *arg, uint32 nblocks)
{
	SkxBuildParticipant *m = arg;
	uint32		npages = nblocks * m->build->block_pages;
	uint64		block = pg_atomic_fetch_add_u64(&m->shared->nblocks, npages);

	if (block + npages > MaxBlockNumber)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" would pass the largest size of a relation",
						RelationGetRelationName(m->build->index))));
	return (BlockNumber) block;
}

static void
skx_am_parallel_give_back(void *arg, BlockNumber block, uint32 npages)
{
	skx_am_build_free_pages(((SkxBuildParticipant *) arg)->build, block,
							npages);
}

static void
skx_am_parallel_write(void *arg, BlockNumber block, char **pages, int npages)
{
	skx_am_build_write(((SkxBuildParticipant *) arg)->build, block, pages,
					   npages);
}

static void
skx_am_parallel_sync(void *arg)
{
	skx_am_build_sync(((SkxBuildParticipant *) arg)->build);
}

/*
 * Segments
 */

static void
skx_am_parallel_subphase(SkxBuildParticipant *m, int subphase)
{
	if (m->number == 0)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, subphase);
}

static void
skx_am_parallel_next_segment(SkxBuildParticipant *m)
{
	BarrierArriveAndWait(&m->shared->barrier,
						 WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
}

static void
skx_am_parallel_begin_partition(SkxBuildParticipant *m)
{
	m->partition = skx_build_partition_begin(m->parallel, m->number,
											 &m->build->options);
	skx_am_parallel_subphase(m, SKX_SUBPHASE_SCAN);
}

/* Puts documents in order, after all shares have ended. */
static SkxBuildSegment *
skx_am_parallel_order_documents(SkxBuildParticipant *m)
{
	SkxBuildShared *shared = m->shared;

	shared->is_last = pg_atomic_read_u32(&shared->nscanning) == 0;
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
								 pg_atomic_read_u64(&shared->tuples));
	skx_am_build_next_segment(m->build);
	shared->segment = m->build->options.segment;
	return skx_build_order(m->parallel, &m->build->options);
}

/*
 * Ends a segment, from `phase` on, together with all other members.  Returns
 * true if it was the last one.
 */
static bool
skx_am_parallel_end_segment(SkxBuildParticipant *m, int phase)
{
	SkxBuildSegment *segment = NULL;
	SkxDiskSegmentRef ref;
	bool		last;

	skx_am_parallel_subphase(m, SKX_SUBPHASE_WRITE);
	if (phase == SKX_PHASE_INVERT)
	{
		skx_build_partition_end(m->partition);
		SKX_FAULT(SKX_FAULT_TEAM_SHARED);
		skx_am_parallel_next_segment(m);
	}
	if (phase <= SKX_PHASE_ORDER)
	{
		if (m->number == 0)
		{
			segment = skx_am_parallel_order_documents(m);
			SKX_FAULT(SKX_FAULT_TEAM_ORDERED);
		}
		skx_am_parallel_next_segment(m);
	}
	last = m->shared->is_last;
	m->build->options.segment = m->shared->segment;
	skx_build_encode(m->parallel, m->number, &m->build->options);
	/* the first member reads what all have written */
	skx_am_build_sync(m->build);
	skx_am_parallel_next_segment(m);
	if (segment != NULL)
	{
		skx_build_finish(segment, &ref);
		skx_am_build_add_segment(m->build, &ref);
		SKX_FAULT(SKX_FAULT_BUILD_SEGMENT_WRITTEN);
	}
	return last;
}

/*
 * The scan
 */

static void
skx_am_parallel_add_document(void *arg, ItemPointer tid, TSVector value)
{
	skx_build_partition_add(((SkxBuildParticipant *) arg)->partition, tid,
							value);
}

/* Notes that this member has scanned its range up to `block`. */
static void
skx_am_parallel_count_scanned(SkxBuildParticipant *m, BlockNumber block)
{
	SkxBuildShared *shared = m->shared;
	uint64		scanned;

	if (!shared->uses_ranges)
		return;
	scanned = pg_atomic_add_fetch_u64(&shared->scanned_blocks,
									  block - m->counted_to);
	m->counted_to = block;
	if (m->number == 0)
	{
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL,
									 shared->heap_blocks);
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, scanned);
	}
}

static void
skx_am_parallel_end_heap_page(void *arg, BlockNumber block, int ndocs)
{
	SkxBuildParticipant *m = arg;
	uint64		tuples = pg_atomic_add_fetch_u64(&m->shared->tuples, ndocs);

	if (m->number == 0)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, tuples);
	if (block >= m->counted_to)
		skx_am_parallel_count_scanned(m, block);
	if (skx_build_partition_is_full(m->partition))
	{
		skx_am_parallel_end_segment(m, SKX_PHASE_INVERT);
		skx_am_parallel_begin_partition(m);
	}
}

/* Takes the next range of the table.  Returns false if there is none. */
static bool
skx_am_parallel_next_range(SkxBuildParticipant *m, BlockNumber *block,
						   BlockNumber *nblocks)
{
	SkxBuildShared *shared = m->shared;
	BlockNumber left;

	SpinLockAcquire(&shared->mutex);
	left = shared->heap_blocks - shared->next_block;
	*block = shared->next_block;
	*nblocks = Max(left / (2 * shared->nparticipants), SKX_PARALLEL_RANGE_MIN);
	*nblocks = Min(*nblocks, left);
	shared->next_block += *nblocks;
	SpinLockRelease(&shared->mutex);
	return *nblocks > 0;
}

/* Scans ranges until none is left, and returns how many rows these have. */
static double
skx_am_parallel_scan_ranges(SkxBuildParticipant *m, Relation heap,
							IndexInfo *info, SkxBuildDocuments *documents)
{
	double		tuples = 0;
	BlockNumber block;
	BlockNumber nblocks;

	while (skx_am_parallel_next_range(m, &block, &nblocks))
	{
		m->counted_to = block;
		tuples += table_index_build_range_scan(heap, m->build->index, info,
											   false, false, false, block,
											   nblocks,
											   skx_am_documents_callback,
											   documents, NULL);
		skx_am_parallel_count_scanned(m, block + nblocks);
	}
	return tuples;
}

static void
skx_am_parallel_scan(SkxBuildParticipant *m, Relation heap, IndexInfo *info,
					 ParallelTableScanDesc pscan)
{
	SkxBuildShared *shared = m->shared;
	SkxBuildSink sink = {skx_am_parallel_add_document,
	skx_am_parallel_end_heap_page, m};
	SkxBuildDocuments *documents;
	double		tuples;

	documents = skx_am_documents_begin(m->build->index, &sink,
									   shared->memory / 16);
	pg_atomic_fetch_add_u32(&shared->nscanning, 1);
	skx_am_parallel_begin_partition(m);
	if (shared->uses_ranges)
		tuples = skx_am_parallel_scan_ranges(m, heap, info, documents);
	else
		tuples = table_index_build_scan(heap, m->build->index, info, true,
										m->number == 0,
										skx_am_documents_callback, documents,
										skx_compat_beginscan_parallel(heap, pscan));
	skx_am_documents_end(documents);
	SpinLockAcquire(&shared->mutex);
	shared->heap_tuples += tuples;
	shared->broken_hot_chain |= info->ii_BrokenHotChain;
	SpinLockRelease(&shared->mutex);
	pg_atomic_fetch_sub_u32(&shared->nscanning, 1);
	while (!skx_am_parallel_end_segment(m, SKX_PHASE_INVERT))
		skx_am_parallel_begin_partition(m);
}

/* Does all the work of a member, from joining until all is built. */
static void
skx_am_parallel_run_participant(SkxBuildParticipant *m, Relation heap,
								IndexInfo *info, ParallelTableScanDesc pscan)
{
	SkxBuild   *b = m->build;
	int			phase = SKX_PHASE_INVERT;
	bool		last;

	b->store.allocate = skx_am_parallel_allocate;
	b->store.give_back = skx_am_parallel_give_back;
	b->store.write = skx_am_parallel_write;
	b->store.sync = skx_am_parallel_sync;
	b->store.arg = m;
	b->options.memory = m->shared->memory - m->shared->memory / 16;
	if (m->number > 0)
		b->options.progress = NULL;
	if (m->number > 0)
		phase = BarrierAttach(&m->shared->barrier) % SKX_NPHASES;
	last = phase == SKX_PHASE_INVERT ? m->shared->is_last :
		skx_am_parallel_end_segment(m, phase);
	if (!last)
		skx_am_parallel_scan(m, heap, info, pscan);
	BarrierDetach(&m->shared->barrier);
}

/*
 * Workers
 */

void
skx_am_build_worker(dsm_segment *seg, shm_toc *toc)
{
	SkxBuildShared *shared = shm_toc_lookup(toc, SKX_KEY_SHARED, false);
	SkxParallel *team = shm_toc_lookup(toc, SKX_KEY_PARALLEL, false);
	WalUsage   *wal = shm_toc_lookup(toc, SKX_KEY_WAL, false);
	BufferUsage *buffers = shm_toc_lookup(toc, SKX_KEY_BUFFERS, false);
	SkxBuildParticipant member = {0};
	SkxBuild	build;
	Relation	heap;
	Relation	index;
	IndexInfo  *info;

	debug_query_string = shm_toc_lookup(toc, SKX_KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	heap = table_open(shared->heap, shared->concurrent ?
					  ShareUpdateExclusiveLock : ShareLock);
	index = index_open(shared->index, shared->concurrent ?
					   RowExclusiveLock : AccessExclusiveLock);
	info = BuildIndexInfo(index);
	info->ii_Concurrent = shared->concurrent;
	skx_build_join(team, seg);
	skx_am_build_begin(&build, index, shared->incarnation);
	build.options.format = shared->format;
	member.build = &build;
	member.shared = shared;
	member.parallel = team;
	member.number = ParallelWorkerNumber + 1;
	SKX_FAULT(SKX_FAULT_TEAM_COME);
	InstrStartParallelQuery();
	skx_am_parallel_run_participant(&member, heap, info,
									shm_toc_lookup(toc, SKX_KEY_SCAN, false));
	skx_blkio_writer_end(build.writer);
	InstrEndParallelQuery(&buffers[ParallelWorkerNumber],
						  &wal[ParallelWorkerNumber]);
	index_close(index, shared->concurrent ? RowExclusiveLock :
				AccessExclusiveLock);
	table_close(heap, shared->concurrent ? ShareUpdateExclusiveLock :
				ShareLock);
}

/*
 * The leader
 */

static void *
skx_am_leader_allocate(ParallelContext *context, uint64 key, Size size)
{
	void	   *place = shm_toc_allocate(context->toc, size);

	memset(place, 0, size);
	shm_toc_insert(context->toc, key, place);
	return place;
}

static void
skx_am_leader_estimate_shared(ParallelContext *context, Size size)
{
	shm_toc_estimate_chunk(&context->estimator, size);
	shm_toc_estimate_keys(&context->estimator, 1);
}

/* Fills the shared memory. */
static void
skx_am_leader_fill_shared(SkxBuildLeader *leader, SkxBuild *b, Relation heap,
						  bool concurrent, Size scan_size)
{
	ParallelContext *context = leader->context;
	int			nmembers = context->nworkers + 1;
	SkxBuildShared *shared;

	shared = skx_am_leader_allocate(context, SKX_KEY_SHARED,
									sizeof(SkxBuildShared));
	shared->heap = RelationGetRelid(heap);
	shared->index = RelationGetRelid(b->index);
	shared->concurrent = concurrent;
	shared->incarnation = b->options.incarnation;
	shared->format = b->options.format;
	shared->memory = (b->memory - leader->reserved_docs) / nmembers;
	shared->nparticipants = nmembers;
	shared->heap_blocks = RelationGetNumberOfBlocks(heap);
	shared->uses_ranges = !concurrent &&
		heap->rd_tableam == GetHeapamTableAmRoutine();
	BarrierInit(&shared->barrier, 0);
	BarrierAttach(&shared->barrier);
	pg_atomic_init_u32(&shared->nscanning, 0);
	pg_atomic_init_u64(&shared->nblocks, b->nblocks);
	pg_atomic_init_u64(&shared->tuples, 0);
	pg_atomic_init_u64(&shared->scanned_blocks, 0);
	SpinLockInit(&shared->mutex);
	leader->shared = shared;
	leader->parallel = skx_am_leader_allocate(context, SKX_KEY_PARALLEL,
											  skx_build_shared_size(nmembers));

	/*
	 * A member hands over all rows of a page of the table before it notices
	 * that the segment is full.
	 */
	skx_build_create(leader->parallel, nmembers, leader->norms,
					 leader->reserved_docs, leader->max_docs,
					 nmembers * SKX_AM_PAGE_DOCS, context->seg);
	leader->scan = skx_am_leader_allocate(context, SKX_KEY_SCAN, scan_size);
	table_parallelscan_initialize(heap, leader->scan, leader->snapshot);
	leader->scan->phs_syncscan = false;
	leader->wal = skx_am_leader_allocate(context, SKX_KEY_WAL,
										 context->nworkers * sizeof(WalUsage));
	leader->buffers = skx_am_leader_allocate(context, SKX_KEY_BUFFERS,
											 context->nworkers *
											 sizeof(BufferUsage));
	if (debug_query_string != NULL)
		strcpy(skx_am_leader_allocate(context, SKX_KEY_QUERY,
									  strlen(debug_query_string) + 1),
			   debug_query_string);
}

static void
skx_am_leader_end(SkxBuildLeader *leader)
{
	if (IsMVCCSnapshot(leader->snapshot))
		UnregisterSnapshot(leader->snapshot);
	if (leader->parallel != NULL)
		leader->norms = skx_build_norms(leader->parallel);
	DestroyParallelContext(leader->context);
	ExitParallelMode();
	dsm_detach(leader->norms);
}

/*
 * Reserves memory for the norms of as many documents as a segment is expected
 * to have.  The number of rows that fit on the pages of the table limits it.
 * Returns false, after a NOTICE, if there is not enough memory.
 */
static bool
skx_am_leader_reserve(SkxBuildLeader *leader, SkxBuild *b, Relation heap,
					  int nmembers)
{
	BlockNumber nblocks;
	double		tuples;
	double		visible;
	double		docs;
	uint32		overshoot = nmembers * SKX_AM_PAGE_DOCS;

	leader->max_docs = Min(b->memory / 4, SKX_PARALLEL_DOCS_MAX) + overshoot;
	estimate_rel_size(heap, NULL, &nblocks, &tuples, &visible);
	docs = SKX_PARALLEL_ROWS_FACTOR * tuples + SKX_PARALLEL_DOCS_MIN +
		overshoot;
	if (heap->rd_tableam == GetHeapamTableAmRoutine())
		docs = Min(docs, (double) nblocks * SKX_AM_PAGE_DOCS + 2 * overshoot);
	leader->reserved_docs = (uint32) Min(docs, leader->max_docs);
	leader->norms = skx_build_reserve(&leader->reserved_docs);
	if (leader->norms != NULL)
		return true;
	ereport(NOTICE,
			(errmsg("index \"%s\" is built without parallel workers, for want of shared memory",
					RelationGetRelationName(b->index)),
			 errhint("Enlarge /dev/shm, or raise min_dynamic_shared_memory.")));
	return false;
}

/* Starts workers.  Returns false if there are none. */
static bool
skx_am_leader_begin(SkxBuildLeader *leader, SkxBuild *b, Relation heap,
					bool concurrent, int nworkers)
{
	ParallelContext *context;
	Size		scan_size;

	if (!skx_am_leader_reserve(leader, b, heap, nworkers + 1))
		return false;
	EnterParallelMode();
	context = CreateParallelContext("skipidx", "skx_am_build_worker",
									nworkers);
	leader->context = context;
	leader->snapshot = concurrent ?
		RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;
	scan_size = table_parallelscan_estimate(heap, leader->snapshot);
	skx_am_leader_estimate_shared(context, sizeof(SkxBuildShared));
	skx_am_leader_estimate_shared(context,
								  skx_build_shared_size(nworkers + 1));
	skx_am_leader_estimate_shared(context, scan_size);
	skx_am_leader_estimate_shared(context, nworkers * sizeof(WalUsage));
	skx_am_leader_estimate_shared(context, nworkers * sizeof(BufferUsage));
	if (debug_query_string != NULL)
		skx_am_leader_estimate_shared(context, strlen(debug_query_string) + 1);
	InitializeParallelDSM(context);
	if (context->seg != NULL)
	{
		skx_am_leader_fill_shared(leader, b, heap, concurrent, scan_size);
		LaunchParallelWorkers(context);
		if (context->nworkers_launched > 0)
			return true;
	}
	skx_am_leader_end(leader);
	return false;
}

/* Cuts off free pages at the end of the file that were never written. */
static void
skx_am_leader_cut_file(SkxBuild *b)
{
	BlockNumber length = RelationGetNumberOfBlocks(b->index);

	skx_am_build_sort_extents(b);
	while (b->nextents > 0)
	{
		SkxDiskExtent *last = &b->extents[b->nextents - 1];
		BlockNumber end = TYPEALIGN(b->block_pages, Max(last->block, length));

		if (last->block + last->npages != b->nblocks || end >= b->nblocks)
			break;
		b->nblocks = end;
		if (end > last->block)
		{
			last->npages = end - last->block;
			break;
		}
		b->nextents--;
	}
}

bool
skx_am_build_parallel(SkxBuild *b, Relation heap, IndexInfo *info,
					  int nworkers, double *heap_tuples)
{
	SkxSegmentStore store = b->store;
	SkxBuildLeader leader = {0};
	SkxBuildParticipant member = {0};
	int			i;

	if (!skx_am_leader_begin(&leader, b, heap, info->ii_Concurrent, nworkers))
		return false;
	member.build = b;
	member.shared = leader.shared;
	member.parallel = leader.parallel;
	SKX_FAULT(SKX_FAULT_TEAM_LAUNCHED);
	skx_am_parallel_run_participant(&member, heap, info, leader.scan);
	WaitForParallelWorkersToFinish(leader.context);
	for (i = 0; i < leader.context->nworkers_launched; i++)
		InstrAccumParallelQuery(&leader.buffers[i], &leader.wal[i]);
	*heap_tuples = leader.shared->heap_tuples;
	info->ii_BrokenHotChain |= leader.shared->broken_hot_chain;
	b->tuples = pg_atomic_read_u64(&leader.shared->tuples);
	b->nblocks = pg_atomic_read_u64(&leader.shared->nblocks);
	skx_am_leader_end(&leader);
	b->store = store;
	skx_am_leader_cut_file(b);
	return true;
}
