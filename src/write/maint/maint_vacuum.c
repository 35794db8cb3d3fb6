/*
 * maint_vacuum.c
 *	  Marks the documents of dead rows, in pending lists and segments.
 *
 * That takes long, and publishing must not wait for it: the heavyweight lock
 * on the metapage is taken for a part of a pending list or of a segment at a
 * time, and the view read again under it, because the processes that run us do
 * not hold back the reuse of replaced pages.
 *
 * Documents move from pending lists into segments, and from segment to
 * segment, never back.  So the lists come first: what a flush takes out of
 * them before its turn is in a segment when the segments are first looked at,
 * and what it takes later was asked about.  A merge that publishes while one
 * of its inputs is not done has moved documents that were not asked about, and
 * its output is done from the start (skx_maint_vacuum_follow).  Marks are
 * never lost on the way (promise 2 in README.md).
 *
 * A page of the deletes plane is changed once a part, in one WAL record, after
 * the documents of the part were looked at.  A crash in between leaves bits
 * unset that the next VACUUM sets; the rows' TIDs are not reused before.
 */
#include "postgres.h"

#include "index/segment/segment_maint.h"
#include "index/snapshot/snapshot.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/lmgr.h"
#include "support/compat/compat.h"
#include "support/damage/damage.h"
#include "support/fault/fault.h"
#include "support/throttle/throttle.h"
#include "write/maint/maint_internal.h"

/*
 * A pending list of fewer bytes is left as it is: the smallest segment is not
 * smaller, and costs a query as much.  But a list whose pages may keep the
 * file from becoming shorter is flushed.
 */
#define SKX_CLEANUP_WORTH	(64 * 1024)

/* How long others may be in the way of a shorter file, in ms. */
#define SKX_CLEANUP_PATIENCE	50

/*
 * Steps towards a shorter file that are not merges: a transaction begins, free
 * pages may be overwritten, the file becomes shorter, twice; and one that finds
 * nothing.
 */
#define SKX_CLEANUP_STEPS	8

StaticAssertDecl(SKX_DELETES_PER_PAGE % SKX_TID_GROUP == 0,
				 "groups of TIDs do not cross pages of the deletes plane");

/*
 * A part ends after so many pages of a pending list, or documents of a segment
 * (within a page of delete bits), some 5 ms in memory; or after so many ms,
 * looked at after each run of pages and each group of documents.
 */
#define SKX_VACUUM_PAGES	256
#define SKX_VACUUM_RUN		16
#define SKX_VACUUM_DOCS		16384
#define SKX_VACUUM_MS		20

StaticAssertDecl(SKX_VACUUM_DOCS % SKX_TID_GROUP == 0,
				 "parts of a segment consist of groups");

/* One VACUUM of one index. */
typedef struct SkxVacuum
{
	Relation	index;
	IndexBulkDeleteCallback callback;
	void	   *state;
	double		removed;
	instr_time	begun;			/* the part */
	int			nparts;
	double		longest;		/* of them, in ms */

	/* segments of the last view, and those of them that are not done */
	uint64		generation;
	uint32	   *seen;
	int			nseen;
	uint32	   *wanted;
	int			nwanted;
	uint32		next;			/* document of wanted[0] that is */
	uint8		deleted[SKX_DELETES_BYTES]; /* bits of its page, as found */
	uint8		dying[SKX_DELETES_BYTES];	/* bits to add */
} SkxVacuum;

/*
 * Asks about documents first .. first + n - 1, one group of TIDs, which lie
 * on the page of v->deleted; returns how many die.
 */
static int
skx_maint_vacuum_group(SkxVacuum *v, SkxSegment *seg, uint32 first, int n)
{
	ItemPointerData tids[SKX_TID_GROUP];
	uint32		bit = first % SKX_DELETES_PER_PAGE;
	int			dying = 0;
	int			i;

	Assert(n > 0 && n <= SKX_TID_GROUP);
	Assert(bit + n <= SKX_DELETES_PER_PAGE);
	skx_segment_tids(seg, first, n, tids);
	for (i = 0; i < n; i++, bit++)
	{
		uint8		mask = 1 << (bit % 8);

		if (v->deleted[bit / 8] & mask)
			continue;
		if (v->callback(&tids[i], v->state))
		{
			v->dying[bit / 8] |= mask;
			dying++;
		}
	}
	return dying;
}

/* How long the part has lasted, in ms. */
static double
skx_maint_vacuum_lasted(const SkxVacuum *v)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, v->begun);
	return INSTR_TIME_GET_MILLISEC(now);
}

/* Takes the lock for a part, and a view under it. */
static SkxView *
skx_maint_vacuum_lock(SkxVacuum *v)
{
	LockPage(v->index, SKX_META_BLOCK, ExclusiveLock);
	INSTR_TIME_SET_CURRENT(v->begun);
	return skx_manifest_view_brief(v->index);
}

static void
skx_maint_vacuum_unlock(SkxVacuum *v, SkxView *view)
{
	UnlockPage(v->index, SKX_META_BLOCK, ExclusiveLock);
	v->longest = Max(v->longest, skx_maint_vacuum_lasted(v));
	v->nparts++;
	pfree(view);
}

/* A part of the segment; false: it was the last. */
static bool
skx_maint_vacuum_docs(SkxVacuum *v, SkxSegment *seg)
{
	uint32		ndocs = seg->header.ndocs;
	uint32		npages = seg->planes[SKX_SEGMENT_DELETES].npages;
	uint32		page = v->next / SKX_DELETES_PER_PAGE;
	uint64		doc = v->next;
	uint64		end = Min((uint64) (page + 1) * SKX_DELETES_PER_PAGE,
						  doc + SKX_VACUUM_DOCS);
	int			dying = 0;

	/* none is published, nor marked by another, behind our back */
	Assert(skx_manifest_locked(seg->rel, ExclusiveLock));
	if ((uint64) npages * SKX_DELETES_PER_PAGE < ndocs)
		skx_damage_report(seg->rel, InvalidBlockNumber,
						  "a segment has too few pages of delete bits");
	if (doc >= ndocs)
		return false;
	end = Min(end, ndocs);
	skx_segment_read_deletes(seg, page, v->deleted);
	memset(v->dying, 0, SKX_DELETES_BYTES);
	while (doc < end)
	{
		int			n = Min(end - doc, SKX_TID_GROUP);

		dying += skx_maint_vacuum_group(v, seg, doc, n);
		doc += n;
		CHECK_FOR_INTERRUPTS();
		if (skx_maint_vacuum_lasted(v) > SKX_VACUUM_MS)
			break;
	}
	if (dying > 0)
	{
		skx_segment_add_deletes(seg, page, v->dying);
		SKX_FAULT(SKX_FAULT_VACUUM_SEGMENT_MARKED);
	}
	v->removed += dying;
	v->next = doc;
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
skx_maint_vacuum_has(const uint32 *segments, int n, uint32 segment)
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
 * Compares a new view with the last.  Segments that have appeared are outputs
 * of flushes, which hold nothing that was not asked about, or of merges.  As
 * long as none that is not done has gone, the inputs of all merges were done;
 * otherwise all that have appeared are done, whichever are outputs of it.
 */
static void
skx_maint_vacuum_follow(SkxVacuum *v, const SkxView *view)
{
	uint32		first = v->nwanted > 0 ? v->wanted[0] : 0;
	bool		all = v->seen == NULL;
	uint32	   *seen;
	uint32	   *wanted;
	int			n = 0;
	int			i;

	if (!all && view->meta.generation == v->generation)
		return;
	seen = palloc((view->nsegments + 1) * sizeof(uint32));
	wanted = palloc((view->nsegments + 1) * sizeof(uint32));
	for (i = 0; i < v->nwanted; i++)
	{
		if (skx_maint_vacuum_find(view, v->wanted[i]) != NULL)
			wanted[n++] = v->wanted[i];
		else
			all = true;
	}
	for (i = 0; i < view->nsegments; i++)
	{
		seen[i] = view->segments[i].segment;
		if (all && !skx_maint_vacuum_has(v->seen, v->nseen, seen[i]))
			wanted[n++] = seen[i];
	}
	if (n == 0 || wanted[0] != first)
		v->next = 0;
	if (v->seen != NULL)
	{
		pfree(v->seen);
		pfree(v->wanted);
	}
	v->generation = view->meta.generation;
	v->seen = seen;
	v->nseen = view->nsegments;
	v->wanted = wanted;
	v->nwanted = n;
}

/* A part of a segment; false: all are done. */
static bool
skx_maint_vacuum_segments(SkxVacuum *v)
{
	SkxView    *view;
	SkxSource  *source;
	SkxView		one;

	view = skx_maint_vacuum_lock(v);
	skx_maint_vacuum_follow(v, view);
	if (v->nwanted > 0)
	{
		one = *view;
		one.nsegments = 1;
		one.segments = unconstify(SkxDiskSegmentRef *,
								  skx_maint_vacuum_find(view, v->wanted[0]));
		source = skx_snapshot_open(v->index, &one);
		skx_snapshot_once(source);
		skx_snapshot_next(source, 1);
		if (!skx_maint_vacuum_docs(v, source->segments[0]))
		{
			v->next = 0;
			v->nwanted--;
			memmove(v->wanted, v->wanted + 1, v->nwanted * sizeof(uint32));
		}
		skx_snapshot_close(source);
	}
	skx_maint_vacuum_unlock(v, view);
	return v->nwanted > 0;
}

/* Pages of a pending list; false: there are no more. */
static bool
skx_maint_vacuum_pending(SkxVacuum *v, int which, SkxPendingVacuum *pending)
{
	SkxView    *view = skx_maint_vacuum_lock(v);
	int			npages = 0;
	bool		more;

	do
	{
		more = skx_pending_vacuum(v->index, view, which, SKX_VACUUM_RUN,
								  v->callback, v->state, pending);
		npages += SKX_VACUUM_RUN;
	} while (more && npages < SKX_VACUUM_PAGES &&
			 skx_maint_vacuum_lasted(v) <= SKX_VACUUM_MS);
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
	SkxSource  *source;
	double		ndocs = 0;

	LockPage(index, SKX_META_BLOCK, ShareLock);
	view = skx_manifest_view_brief(index);
	source = skx_snapshot_open(index, view);
	while (skx_snapshot_next(source, 1) > 0)
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

/* Between two parts, nothing locked. */
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

	/* what the first use of a file may have to make, without the lock */
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
		v->removed += pending.removed;
	}
	do
		skx_maint_vacuum_pause();
	while (skx_maint_vacuum_segments(v));
	ereport(DEBUG1,
			(errmsg_internal("VACUUM of index \"%s\" held the lock of publishing in %d parts, for %.1f ms at most",
							 RelationGetRelationName(index), v->nparts,
							 v->longest)));
	stats->tuples_removed += v->removed;
	skx_maint_count(index, stats);
	pfree(v->seen);
	pfree(v->wanted);
	pfree(v);
}

static void
skx_maint_cleanup_tidy(Relation index, void *arg)
{
	skx_manifest_tidy(index, true);
}

static void
skx_maint_cleanup_flush(Relation index, void *arg)
{
	SkxView    *view = skx_maint_view(index, SKX_WAIT_ALL);
	uint64		nbytes = skx_pending_bytes(index, view);

	if (nbytes >= SKX_CLEANUP_WORTH || (nbytes > 0 && skx_maint_loose(index, view)))
		skx_maint_flush_all(index, arg, SKX_WAIT_PAGE);
	pfree(view);
}

/*
 * Autovacuum leaves merges to a worker: its own cost delay would make them
 * last, and it holds a lock on the table.  VACUUM as a command has done all
 * when it ends, save the merges that it must not begin where no error can be
 * caught.
 */
static void
skx_maint_cleanup_merge(Relation index, void *arg)
{
	const SkxMaintOptions *options = arg;

	if (skx_compat_autovacuum() && skx_maint_merge_wanted(index, options) &&
		skx_worker_ask(index, SKX_WORKER_SHRINK))
		return;
	skx_maint_merge(index, options, 0, SKX_WAIT_PAGE);
	if (options->certain && skx_maint_merge_wanted(index, options))
		skx_worker_ask(index, SKX_WORKER_SHRINK);
}

/* Is there free space at the end, or so much that it could be there? */
static bool
skx_maint_cleanup_slack(Relation index)
{
	SkxView    *view = skx_maint_view(index, SKX_WAIT_ALL);
	bool		loose = skx_maint_loose(index, view);

	pfree(view);
	return loose || skx_maint_shrink_wanted(index);
}

/*
 * Where no worker is to be had that does it, segments move here, and the file
 * becomes shorter.  Ends when nothing is left that can be done now.
 */
static void
skx_maint_cleanup_moves(Relation index, SkxMaintOptions *options,
						SkxMaintPatience *patience)
{
	SkxView    *view = skx_maint_view(index, SKX_WAIT_ALL);
	int			steps = 2 * view->nsegments + SKX_CLEANUP_STEPS;
	int			asides = SKX_MOVES_ASIDE_MOST;

	pfree(view);
	patience->merges = true;
	if (!skx_maint_clear_wait(index, patience))
		return;
	while (steps-- > 0)
	{
		CHECK_FOR_INTERRUPTS();
		options->moves = SKX_MOVES_ALL;
		if (skx_maint_merge_step(index, options, 0,
								 SKX_WAIT_PAGE) == SKX_STEP_DONE)
			continue;
		if (patience->others > 0 &&
			skx_maint_shrink(index, patience) != SKX_STEP_NONE)
			continue;
		options->moves = SKX_MOVES_ASIDE;
		if (patience->others <= 0 || asides-- == 0 ||
			skx_maint_merge_step(index, options, 0,
								 SKX_WAIT_PAGE) != SKX_STEP_DONE)
			break;
	}
}

/*
 * In parallel mode there is no transaction id for the lock that a standby must
 * know of.  A worker does it then; and where there is a standby, which keeps
 * the lock until the transaction ends, and VACUUM's may be long; and where
 * another process uses the index, such as the worker that still merges what a
 * load has left: it has more patience than a command's user; and where so much
 * is free still that segments may move.
 */
static void
skx_maint_cleanup_shrink(Relation index, void *arg)
{
	SkxMaintOptions *options = arg;
	SkxMaintPatience patience = {0};
	bool		later = IsInParallelMode() ||
		(RelationNeedsWAL(index) && skx_manifest_has_standby());

	skx_maint_patience(&patience, SKX_CLEANUP_PATIENCE);
	if (!later)
		(void) skx_maint_shrink(index, &patience);
	if (!skx_maint_cleanup_slack(index) ||
		skx_worker_ask(index, SKX_WORKER_SHRINK))
		return;
	if (!later)
	{
		skx_maint_cleanup_moves(index, options, &patience);
		return;
	}
	options->moves = skx_maint_clear(index) ? SKX_MOVES_LAST :
		SKX_MOVES_NONE;
	skx_maint_merge(index, options, 0, SKX_WAIT_PAGE);
	if (!IsInParallelMode())
		(void) skx_maint_shrink(index, &patience);
}

static bool
skx_maint_cleanup_do(Relation index, SkxMaintWork work, void *arg)
{
	if (SKX_COMPAT_SUBTRANSACTIONS())
		return skx_maint_optional(index, work, arg, SKX_SPARE_ALL);
	work(index, arg);
	return true;
}

void
skx_maint_cleanup(Relation index, SkxMaintOptions *options,
				  IndexBulkDeleteResult *stats)
{
	options->certain = !SKX_COMPAT_SUBTRANSACTIONS();
	options->moves = SKX_MOVES_NONE;
	if (!skx_compat_vacuum_urgent(index))
	{
		bool		done;

		skx_maint_cleanup_do(index, skx_maint_cleanup_tidy, NULL);
		done = skx_maint_cleanup_do(index, skx_maint_cleanup_flush, options);
		if (!skx_maint_cleanup_do(index, skx_maint_cleanup_merge, options) ||
			!done)
			skx_maint_cleanup_do(index, skx_maint_cleanup_tidy, NULL);
		skx_maint_cleanup_do(index, skx_maint_cleanup_shrink, options);
	}
	if (!skx_maint_cleanup_do(index, skx_maint_count, stats))
		stats->estimated_count = true;
}
