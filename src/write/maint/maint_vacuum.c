/*
 * maint_vacuum.c
 *	  VACUUM: marks the documents of dead rows as deleted, in pending lists and
 *	  segments.
 *
 * This takes long, and a publish must not wait for it.  So the heavyweight
 * lock on the metapage is taken for a part of a pending list or of a segment
 * at a time.  The view is read again under it each time, because the processes
 * that run VACUUM do not hold back the reuse of replaced pages.
 *
 * Documents move from pending lists into segments, and from segment to
 * segment, but never back.  So the lists come first.  Documents that a flush
 * takes out of the lists before their turn are in a segment when the segments
 * are first looked at.  For documents that it takes out later, the callback
 * has been called.
 *
 * If a merge publishes while one of its inputs is not done, it has moved
 * documents for which the callback was not called.  Then its output is done
 * from the start (skx_maint_vacuum_update_remaining).  Marks are never lost on
 * the way (promise 2 in README.md).
 *
 * A part changes its page of the deletes plane once, in one WAL record, after
 * the callback was called for its documents.  After a crash in between, the
 * next VACUUM sets the bits; the rows' TIDs are not reused before.
 */
#include "postgres.h"

#include "index/segment/segment_maint.h"
#include "index/snapshot/snapshot.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/lmgr.h"
#include "support/bitset/bitset.h"
#include "support/compat/compat.h"
#include "support/damage/damage.h"
#include "support/fault/fault.h"
#include "support/throttle/throttle.h"
#include "write/maint/maint_internal.h"

/*
 * Pending documents of fewer bytes are not flushed: the smallest segment is
 * not smaller, and costs a query as much.  But they are flushed if their pages
 * may keep the file from becoming shorter.
 */
#define SKX_CLEANUP_FLUSH_BYTES_MIN	(64 * 1024)

/*
 * How long to wait for other processes that keep the file from becoming
 * shorter, in ms.
 */
#define SKX_CLEANUP_WAIT_MS	50

/*
 * Most steps towards a shorter file that are not merges.  Such a step begins a
 * transaction, allows free pages to be overwritten, makes the file shorter
 * (all of these twice), or finds nothing to do.
 */
#define SKX_CLEANUP_STEPS	8

StaticAssertDecl(SKX_DELETES_PER_PAGE % SKX_TID_GROUP_DOCS == 0,
				 "groups of TIDs do not cross pages of the deletes plane");

/*
 * Bounds of a part: SKX_VACUUM_PART_PAGES pages of a pending list, or
 * SKX_VACUUM_PART_DOCS documents of a segment within a page of deleted bits,
 * some 5 ms in memory.  It also ends after SKX_VACUUM_PART_MS ms.  The time is
 * checked after each run of SKX_VACUUM_RUN_PAGES pages and each group of
 * documents.
 */
#define SKX_VACUUM_PART_PAGES	256
#define SKX_VACUUM_RUN_PAGES		16
#define SKX_VACUUM_PART_DOCS		16384
#define SKX_VACUUM_PART_MS		20

StaticAssertDecl(SKX_VACUUM_PART_DOCS % SKX_TID_GROUP_DOCS == 0,
				 "parts of a segment consist of groups");

/* One VACUUM of one index. */
typedef struct SkxVacuum
{
	Relation	index;
	IndexBulkDeleteCallback callback;
	void	   *state;
	double		removed;
	instr_time	part_start;		/* when the part began */
	int			nparts;
	double		longest_ms;		/* longest part, in ms */

	/* segments of the last view, and those of them that are not done */
	uint64		generation;
	uint32	   *known_segments;
	int			nknown;
	uint32	   *remaining;
	int			nremaining;
	uint32		next_doc;		/* next document of wanted[0] */
	uint8		deleted[SKX_DELETES_BYTES]; /* bits of the page, as found */
	uint8		new_deletes[SKX_DELETES_BYTES]; /* bits to add */
} SkxVacuum;

/*
 * Calls the callback for n documents from `first` on, a group of TIDs that
 * lies on the page of v->deleted.  Skips deleted documents, and notes dead
 * ones in v->new_deletes.  Returns how many are dead.
 */
static int
skx_maint_vacuum_group(SkxVacuum *v, SkxSegment *seg, uint32 first, int n)
{
	ItemPointerData tids[SKX_TID_GROUP_DOCS];
	uint32		bit = first % SKX_DELETES_PER_PAGE;
	int			dying = 0;
	int			i;

	Assert(n > 0 && n <= SKX_TID_GROUP_DOCS);
	Assert(bit + n <= SKX_DELETES_PER_PAGE);
	skx_segment_read_tids(seg, first, n, tids);
	for (i = 0; i < n; i++, bit++)
	{
		if (skx_bitset_bytes_test(v->deleted, bit))
			continue;
		if (v->callback(&tids[i], v->state))
		{
			skx_bitset_bytes_set(v->new_deletes, bit);
			dying++;
		}
	}
	return dying;
}

/* Returns how long the part has lasted, in ms. */
static double
skx_maint_vacuum_part_ms(const SkxVacuum *v)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, v->part_start);
	return INSTR_TIME_GET_MILLISEC(now);
}

/* Takes the lock for a part, and returns a view that is read under it. */
static SkxView *
skx_maint_vacuum_lock(SkxVacuum *v)
{
	(void) skx_manifest_lock(v->index, true);
	INSTR_TIME_SET_CURRENT(v->part_start);
	return skx_manifest_view_unlisted(v->index);
}

static void
skx_maint_vacuum_unlock(SkxVacuum *v, SkxView *view)
{
	skx_manifest_unlock(v->index);
	v->longest_ms = Max(v->longest_ms, skx_maint_vacuum_part_ms(v));
	v->nparts++;
	pfree(view);
}

/*
 * Does a part of the segment, from document v->next_doc on.  Returns false if
 * it was the last part.
 */
static bool
skx_maint_vacuum_docs(SkxVacuum *v, SkxSegment *seg)
{
	uint32		ndocs = seg->header.ndocs;
	uint32		npages = seg->planes[SKX_SEGMENT_DELETES].npages;
	uint32		page = v->next_doc / SKX_DELETES_PER_PAGE;
	uint64		doc = v->next_doc;
	uint64		end = Min((uint64) (page + 1) * SKX_DELETES_PER_PAGE,
						  doc + SKX_VACUUM_PART_DOCS);
	int			dying = 0;

	/* under this lock no other process publishes, or sets deleted bits */
	Assert(skx_manifest_holds_lock(seg->rel, ExclusiveLock));
	if ((uint64) npages * SKX_DELETES_PER_PAGE < ndocs)
		skx_damage_report(seg->rel, InvalidBlockNumber,
						  "a segment has too few pages of delete bits");
	if (doc >= ndocs)
		return false;
	end = Min(end, ndocs);
	skx_segment_read_deletes(seg, page, v->deleted);
	memset(v->new_deletes, 0, SKX_DELETES_BYTES);
	while (doc < end)
	{
		int			n = Min(end - doc, SKX_TID_GROUP_DOCS);

		dying += skx_maint_vacuum_group(v, seg, doc, n);
		doc += n;
		CHECK_FOR_INTERRUPTS();
		if (skx_maint_vacuum_part_ms(v) > SKX_VACUUM_PART_MS)
			break;
	}
	if (dying > 0)
	{
		skx_segment_add_deletes(seg, page, v->new_deletes);
		SKX_FAULT(SKX_FAULT_VACUUM_SEGMENT_MARKED);
	}
	v->removed += dying;
	v->next_doc = doc;
	return doc < ndocs;
}

static const SkxDiskSegmentRef *
skx_maint_vacuum_find(const SkxView *view, uint32 segment)
{
	int			i;

	for (i = 0; i < view->nsegments; i++)
	{
		if (view->segments[i].segment == segment)
			return &view->segments[i];
	}
	return NULL;
}

static bool
skx_maint_vacuum_has_segment(const uint32 *segments, int n, uint32 segment)
{
	int			i;

	for (i = 0; i < n; i++)
	{
		if (segments[i] == segment)
			return true;
	}
	return false;
}

/*
 * Brings v->remaining, the segments that are not done, up to date with a new
 * view.
 *
 * Segments that have appeared since the last view are outputs of flushes or
 * merges.  Outputs of flushes have only documents for which the callback was
 * called.  If no segment of v->remaining has gone, the inputs of all merges
 * were done, and so their outputs are.  Otherwise all segments that have
 * appeared are added, because it is not known which of them are outputs of
 * that merge.
 */
static void
skx_maint_vacuum_update_remaining(SkxVacuum *v, const SkxView *view)
{
	uint32		first = v->nremaining > 0 ? v->remaining[0] : 0;
	bool		all = v->known_segments == NULL;
	uint32	   *seen;
	uint32	   *wanted;
	int			n = 0;
	int			i;

	if (!all && view->meta.generation == v->generation)
		return;
	seen = palloc((view->nsegments + 1) * sizeof(uint32));
	wanted = palloc((view->nsegments + 1) * sizeof(uint32));
	for (i = 0; i < v->nremaining; i++)
	{
		if (skx_maint_vacuum_find(view, v->remaining[i]) != NULL)
			wanted[n++] = v->remaining[i];
		else
			all = true;
	}
	for (i = 0; i < view->nsegments; i++)
	{
		seen[i] = view->segments[i].segment;
		if (all && !skx_maint_vacuum_has_segment(v->known_segments, v->nknown,
												 seen[i]))
			wanted[n++] = seen[i];
	}
	if (n == 0 || wanted[0] != first)
		v->next_doc = 0;
	if (v->known_segments != NULL)
	{
		pfree(v->known_segments);
		pfree(v->remaining);
	}
	v->generation = view->meta.generation;
	v->known_segments = seen;
	v->nknown = view->nsegments;
	v->remaining = wanted;
	v->nremaining = n;
}

/* Does a part of a segment.  Returns false if all segments are done. */
static bool
skx_maint_vacuum_segments(SkxVacuum *v)
{
	SkxView    *view;
	SkxSnapshotReader *source;
	SkxView		one;

	view = skx_maint_vacuum_lock(v);
	skx_maint_vacuum_update_remaining(v, view);
	if (v->nremaining > 0)
	{
		one = *view;
		one.nsegments = 1;
		one.segments = unconstify(SkxDiskSegmentRef *,
								  skx_maint_vacuum_find(view,
														v->remaining[0]));
		source = skx_snapshot_open(v->index, &one);
		skx_snapshot_read_once(source);
		skx_snapshot_next_segments(source, 1);
		if (!skx_maint_vacuum_docs(v, source->segments[0]))
		{
			v->next_doc = 0;
			v->nremaining--;
			memmove(v->remaining, v->remaining + 1,
					v->nremaining * sizeof(uint32));
		}
		skx_snapshot_close(source);
	}
	skx_maint_vacuum_unlock(v, view);
	return v->nremaining > 0;
}

/* Does a part of a pending list.  Returns false if that was the last one. */
static bool
skx_maint_vacuum_pending(SkxVacuum *v, int which, SkxPendingVacuum *pending)
{
	SkxView    *view = skx_maint_vacuum_lock(v);
	int			npages = 0;
	bool		more;

	do
	{
		more = skx_pending_vacuum(v->index, view, which, SKX_VACUUM_RUN_PAGES,
								  v->callback, v->state, pending);
		npages += SKX_VACUUM_RUN_PAGES;
	} while (more && npages < SKX_VACUUM_PART_PAGES &&
			 skx_maint_vacuum_part_ms(v) <= SKX_VACUUM_PART_MS);
	skx_maint_vacuum_unlock(v, view);
	return more;
}

static void
skx_maint_set_pages(Relation index, const SkxView *view,
					const SkxPendingTotals *pending,
					IndexBulkDeleteResult *stats)
{
	int			i;

	stats->num_pages = RelationGetNumberOfBlocks(index);
	stats->pages_free = pending->nunused;
	for (i = 0; i < view->meta.npool; i++)
		stats->pages_free += view->meta.pool[i].npages;
	for (i = 0; i < view->nextents; i++)
	{
		if (view->extents[i].operation == 0)
			stats->pages_free += view->extents[i].npages;
	}
	Assert(stats->pages_free <= stats->num_pages);
	stats->estimated_count = false;
}

/* Sets the counts of pages and of live documents. */
static void
skx_maint_count(Relation index, void *arg)
{
	IndexBulkDeleteResult *stats = arg;
	SkxPendingTotals totals;
	SkxView    *view;
	SkxSnapshotReader *source;
	double		ndocs = 0;

	LockPage(index, SKX_META_BLOCK, ShareLock);
	view = skx_manifest_view_unlisted(index);
	source = skx_snapshot_open(index, view);
	while (skx_snapshot_next_segments(source, 1) > 0)
	{
		SkxSegment *seg = source->segments[0];

		ndocs += seg->header.ndocs - (double) skx_segment_ndeleted(seg);
		CHECK_FOR_INTERRUPTS();
	}
	skx_snapshot_close(source);
	skx_pending_totals(index, view, &totals, NULL);
	UnlockPage(index, SKX_META_BLOCK, ShareLock);
	Assert(ndocs >= 0 && totals.ndead <= totals.ndocs);
	stats->num_index_tuples = ndocs + totals.ndocs - totals.ndead;
	skx_maint_set_pages(index, view, &totals, stats);
	pfree(view);
}

/* Called between two parts, with nothing locked. */
static void
skx_maint_vacuum_pause(void)
{
	SKX_FAULT(SKX_FAULT_VACUUM_PART_DONE);
	skx_throttle_point();
}

void
skx_maint_bulkdelete(Relation index, IndexBulkDeleteResult *stats,
					 IndexBulkDeleteCallback callback, void *state)
{
	SkxVacuum  *v = palloc0(sizeof(SkxVacuum));
	SkxView    *view = skx_maint_view(index, SKX_WAIT_ALL);
	int			nstripes = view->nstripes;
	int			i;

	/*
	 * opens the file once without the lock, since the first use may create
	 * what later ones need
	 */
	skx_blkio_close(skx_segment_file(index, view->meta.incarnation));
	pfree(view);
	v->index = index;
	v->callback = callback;
	v->state = state;
	for (i = 0; i < nstripes; i++)
	{
		SkxPendingVacuum pending = {0};

		while (skx_maint_vacuum_pending(v, i, &pending))
			skx_maint_vacuum_pause();
		v->removed += pending.nremoved;
	}
	do
		skx_maint_vacuum_pause();
	while (skx_maint_vacuum_segments(v));
	ereport(DEBUG1,
			(errmsg_internal("VACUUM of index \"%s\" held the lock of publishing in %d parts, for %.1f ms at most",
							 RelationGetRelationName(index), v->nparts,
							 v->longest_ms)));
	stats->tuples_removed += v->removed;
	skx_maint_count(index, stats);
	pfree(v->known_segments);
	pfree(v->remaining);
	pfree(v);
}

static void
skx_maint_cleanup_free_orphaned(Relation index, void *arg)
{
	skx_manifest_free_orphaned(index, true);
}

static void
skx_maint_cleanup_flush(Relation index, void *arg)
{
	SkxView    *view = skx_maint_view(index, SKX_WAIT_ALL);
	uint64		nbytes = skx_pending_bytes(index, view);

	if (nbytes >= SKX_CLEANUP_FLUSH_BYTES_MIN ||
		(nbytes > 0 && skx_maint_segments_should_move(index, view)))
		skx_maint_flush_all(index, arg, SKX_WAIT_PAGE);
	pfree(view);
}

/*
 * Autovacuum leaves merges to a worker: its own cost delay would make them
 * take long, and it holds a lock on the table.  VACUUM as a command has done
 * all when it ends, except merges that it must not begin because no error can
 * be caught.
 */
static void
skx_maint_cleanup_merge(Relation index, void *arg)
{
	const SkxMaintOptions *options = arg;

	if (skx_compat_autovacuum() && skx_maint_merge_has_work(index, options) &&
		skx_worker_request(index, SKX_WORKER_SHRINK))
		return;
	skx_maint_merge(index, options, 0, SKX_WAIT_PAGE);
	if (options->needs_all_space && skx_maint_merge_has_work(index, options))
		skx_worker_request(index, SKX_WORKER_SHRINK);
}

/*
 * Moves segments and makes the file shorter in this process, because no worker
 * can do it.  Ends when no step succeeds any more.
 */
static void
skx_maint_cleanup_moves(Relation index, SkxMaintOptions *options,
						SkxMaintWaitBudget *patience)
{
	SkxView    *view = skx_maint_view(index, SKX_WAIT_ALL);
	int			steps = 2 * view->nsegments + SKX_CLEANUP_STEPS;
	int			asides = SKX_MOVES_PAST_END_MAX;

	pfree(view);
	patience->caller_merges = true;
	if (!skx_maint_wait_unused(index, patience))
		return;
	while (steps-- > 0)
	{
		CHECK_FOR_INTERRUPTS();
		options->moves = SKX_MOVES_ALL;
		if (skx_maint_merge_step(index, options, 0,
								 SKX_WAIT_PAGE) == SKX_STEP_DONE)
			continue;
		if (patience->others_ms > 0 &&
			skx_maint_shrink(index, patience) != SKX_STEP_NONE)
			continue;
		options->moves = SKX_MOVES_PAST_END;
		if (patience->others_ms <= 0 || asides-- == 0 ||
			skx_maint_merge_step(index, options, 0,
								 SKX_WAIT_PAGE) != SKX_STEP_DONE)
			break;
	}
}

/*
 * Makes the file shorter, or asks a worker to do so.
 *
 * In parallel mode no transaction id can be assigned for the lock that a
 * standby must know of.  With a standby, the lock is kept until the
 * transaction ends, and VACUUM's may be long.  In both cases this process does
 * not try first.
 *
 * Afterwards a worker is asked if the file could still become shorter.
 * Another process may use the index, such as a worker that merges what a load
 * has left: a worker has more patience than the user of a command.  Or so much
 * is free that segments should move, or will be when a merge has ended.
 */
static void
skx_maint_cleanup_shrink(Relation index, void *arg)
{
	SkxMaintOptions *options = arg;
	SkxMaintWaitBudget patience = {0};
	bool		later = IsInParallelMode() ||
		(RelationNeedsWAL(index) && skx_manifest_has_standby());

	skx_maint_wait_budget(&patience, SKX_CLEANUP_WAIT_MS);
	if (!later)
		(void) skx_maint_shrink(index, &patience);
	if (!skx_maint_shrink_is_due(index) ||
		skx_worker_request(index, SKX_WORKER_SHRINK))
		return;
	if (!later)
	{
		skx_maint_cleanup_moves(index, options, &patience);
		return;
	}
	options->moves = skx_maint_index_is_unused(index) ? SKX_MOVES_LAST :
		SKX_MOVES_NONE;
	skx_maint_merge(index, options, 0, SKX_WAIT_PAGE);
	if (!IsInParallelMode())
		(void) skx_maint_shrink(index, &patience);
}

static bool
skx_maint_cleanup_run(Relation index, SkxMaintWork work, void *arg)
{
	if (SKX_COMPAT_SUBTRANSACTIONS())
		return skx_maint_try_optional(index, work, arg, SKX_TOLERATE_ALL);
	work(index, arg);
	return true;
}

void
skx_maint_cleanup(Relation index, SkxMaintOptions *options,
				  IndexBulkDeleteResult *stats)
{
	options->needs_all_space = !SKX_COMPAT_SUBTRANSACTIONS();
	options->moves = SKX_MOVES_NONE;
	if (!skx_compat_vacuum_urgent(index))
	{
		bool		done;

		skx_maint_cleanup_run(index, skx_maint_cleanup_free_orphaned, NULL);
		done = skx_maint_cleanup_run(index, skx_maint_cleanup_flush, options);
		if (!skx_maint_cleanup_run(index, skx_maint_cleanup_merge, options) ||
			!done)
			skx_maint_cleanup_run(index, skx_maint_cleanup_free_orphaned,
								  NULL);
		skx_maint_cleanup_run(index, skx_maint_cleanup_shrink, options);
	}
	if (!skx_maint_cleanup_run(index, skx_maint_count, stats))
		stats->estimated_count = true;
}
