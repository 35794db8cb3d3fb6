/*
 * maint_vacuum.c
 *	  Marks the documents of dead rows, in segments and pending lists.
 *
 * A heavyweight lock on the metapage is held from the first segment to the
 * last pending page.  It keeps publishers out: a document that moved from the
 * pending list into a segment behind our back would escape the callback, and
 * the processes that run us do not hold back the reuse of replaced pages.
 *
 * Each page of the deletes plane is changed once, in one WAL record, after
 * all of its documents were looked at.  A crash in between leaves bits unset
 * that the next VACUUM sets; the rows' TIDs are not reused before.
 */
#include "postgres.h"

#include "compat/compat.h"
#include "fault/fault.h"
#include "format/format.h"
#include "maint/maint.h"
#include "manifest/manifest_publish.h"
#include "segment/segment_build.h"
#include "source/source.h"
#include "storage/lmgr.h"

/*
 * A pending list of fewer bytes is left as it is: the smallest segment is not
 * smaller, and costs a query as much.
 */
#define SKX_CLEANUP_WORTH	(64 * 1024)

StaticAssertDecl(SKX_DELETES_PER_PAGE % SKX_TID_GROUP == 0,
				 "groups of TIDs do not cross pages of the deletes plane");

/* One VACUUM of one index. */
typedef struct SkxVacuum
{
	Relation	index;
	IndexBulkDeleteCallback callback;
	void	   *state;
	double		removed;
	double		remaining;
	uint8		deleted[SKX_DELETES_BYTES]; /* bits of the page, as found */
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
		else
			v->remaining++;
	}
	return dying;
}

static void
skx_maint_vacuum_segment(SkxVacuum *v, SkxSegment *seg)
{
	uint32		ndocs = seg->header.ndocs;
	uint32		npages = seg->planes[SKX_SEGMENT_DELETES].npages;
	uint32		ordinal;

	/* none is published, nor marked by another, behind our back */
	Assert(skx_manifest_locked(seg->rel, ExclusiveLock));
	if ((uint64) npages * SKX_DELETES_PER_PAGE < ndocs)
		skx_format_report(seg->rel, InvalidBlockNumber,
						  "a segment has too few pages of delete bits");
	for (ordinal = 0; ordinal < npages; ordinal++)
	{
		uint32		doc = ordinal * SKX_DELETES_PER_PAGE;
		uint32		end = Min(ndocs, doc + SKX_DELETES_PER_PAGE);
		int			dying = 0;

		if (doc >= ndocs)
			break;
		skx_segment_read_deletes(seg, ordinal, v->deleted);
		memset(v->dying, 0, SKX_DELETES_BYTES);
		for (; doc < end; doc += SKX_TID_GROUP)
		{
			dying += skx_maint_vacuum_group(v, seg, doc,
											Min(end - doc, SKX_TID_GROUP));
			skx_compat_vacuum_delay();
		}
		if (dying > 0)
		{
			skx_segment_add_deletes(seg, ordinal, v->dying);
			SKX_FAULT(SKX_FAULT_VACUUM_SEGMENT_MARKED);
		}
		v->removed += dying;
	}
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

void
skx_maint_bulkdelete(Relation index, IndexBulkDeleteResult *stats,
					 IndexBulkDeleteCallback callback, void *state)
{
	SkxVacuum  *v = palloc0(sizeof(SkxVacuum));
	SkxPendingVacuum pending;
	SkxPendingTotals totals;
	SkxView    *view;
	SkxSource  *source;

	v->index = index;
	v->callback = callback;
	v->state = state;
	LockPage(index, SKX_META_BLOCK, ExclusiveLock);
	view = skx_manifest_view(index);
	source = skx_source_open(index, view);
	skx_source_once(source);
	while (skx_source_next(source, 1) > 0)
		skx_maint_vacuum_segment(v, source->segments[0]);
	skx_source_close(source);
	skx_pending_vacuum(index, view, callback, state, &pending);
	skx_pending_totals(index, view, &totals, NULL);
	UnlockPage(index, SKX_META_BLOCK, ExclusiveLock);

	stats->tuples_removed += v->removed + pending.removed;
	stats->num_index_tuples = v->remaining + pending.remaining;
	/* inserts have gone on, and nothing else */
	Assert(pending.remaining <= totals.ndocs - totals.ndead);
	skx_maint_set_pages(index, view, &totals, stats);
	pfree(view);
	pfree(v);
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
	view = skx_manifest_view(index);
	source = skx_source_open(index, view);
	while (skx_source_next(source, 1) > 0)
	{
		SkxSegment *seg = source->segments[0];

		ndocs += seg->header.ndocs - (double) skx_segment_ndeleted(seg);
		skx_compat_vacuum_delay();
	}
	skx_source_close(source);
	skx_pending_totals(index, view, &totals, NULL);
	UnlockPage(index, SKX_META_BLOCK, ShareLock);
	Assert(ndocs >= 0 && totals.ndead <= totals.ndocs);
	stats->num_index_tuples = ndocs + totals.ndocs - totals.ndead;
	skx_maint_set_pages(index, view, &totals, stats);
	pfree(view);
}

static void
skx_maint_cleanup_tidy(Relation index, void *arg)
{
	skx_manifest_tidy(index, true);
}

static void
skx_maint_cleanup_flush(Relation index, void *arg)
{
	if (skx_maint_pending_bytes(index) >= SKX_CLEANUP_WORTH)
		skx_maint_flush_all(index, arg, SKX_WAIT_PAGE);
}

static void
skx_maint_cleanup_merge(Relation index, void *arg)
{
	skx_maint_merge(index, arg, 0, SKX_WAIT_PAGE);
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
	if (!skx_compat_vacuum_urgent(index))
	{
		bool		done;

		skx_maint_cleanup_do(index, skx_maint_cleanup_tidy, NULL);
		done = skx_maint_cleanup_do(index, skx_maint_cleanup_flush, options);
		if (!skx_maint_cleanup_do(index, skx_maint_cleanup_merge, options) ||
			!done)
			skx_maint_cleanup_do(index, skx_maint_cleanup_tidy, NULL);
	}
	if (!skx_maint_cleanup_do(index, skx_maint_count, stats))
		stats->estimated_count = true;
}
