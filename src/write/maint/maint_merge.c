/*
 * maint_merge.c
 *	  Merge: several segments become one, without their deleted documents.
 *
 * maint_policy.c decides what to merge.  Only merges remove segments, so under
 * the lock of merges the inputs do not change, except for deleted bits that
 * VACUUM sets.  Bits that it sets after the merge has read them are copied to
 * the result at the end, under the lock that keeps VACUUM out.
 */
#include "postgres.h"

#include "format/disk/disk_keys.h"
#include "index/segment/segment_keys.h"
#include "index/segment/segment_maint.h"
#include "index/snapshot/snapshot.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "support/fault/fault.h"
#include "utils/memutils.h"
#include "write/maint/maint_internal.h"
#include "write/maint/maint_policy.h"
#include "write/merge/merge.h"

/* Most bytes that a merge reserves at first if it can reserve more later. */
#define SKX_MERGE_RESERVE	(64 * 1024 * 1024)

/*
 * A merge of more bytes reads past the page cache.  Otherwise the kernel would
 * drop pages that queries read, to keep pages that are not read again.  Most
 * pages of a smaller merge were written a moment ago, and are in the page
 * cache.
 */
#define SKX_MERGE_BYPASS_BYTES		(64 * 1024 * 1024)

/* If one document of so many is likely to be dead, many are. */
#define SKX_MERGE_LIKELY_DEAD_RATIO		10

/*
 * Most pages that are put aside, past the end of the file: as long as they
 * cannot come back, the file is that much longer.
 */
#define SKX_MOVE_PAST_END_PAGES		(16 * 1024 * 1024 / BLCKSZ)

/*
 * Pages that a moving segment may need beyond those of its input, because free
 * pages come in short runs.  They are one in SKX_MOVE_SPARE_PAGES pages, fewer
 * than are given back at the end of the file (SKX_SHRINK_FILE_FRACTION), and
 * SKX_MOVE_SLACK_PAGES more.
 */
#define SKX_MOVE_SPARE_PAGES		32
#define SKX_MOVE_SLACK_PAGES		24

/* The inputs of a merge, and what they have. */
typedef struct SkxMaintMerge
{
	Relation	index;
	int			n;
	uint32		ids[SKX_POLICY_INPUTS_MAX];
	SkxView		inputs;			/* the view, with only these segments */
	uint64		bytes;			/* of their live documents */
	uint64		ndocs;
	uint64		ndeleted;
	uint64		disk_bytes_left;	/* bytes free on a full disk, which the
									 * result must fit into; 0: no bound */
	BlockNumber moved_from;		/* end of segments that only move; else 0 */
	bool		may_lie_higher; /* the result may lie higher in the file */
	bool		index_is_unused;	/* no other process used the index: the
									 * file may grow, since it becomes shorter
									 * afterwards */
} SkxMaintMerge;

/*
 * Fills in the inputs of m, and their totals, from m->ids.  The policy has
 * sorted `segments`, so their order is not that of the view.
 */
static void
skx_maint_merge_take(SkxMaintMerge *m, const SkxView *view,
					 const SkxPolicySegment *segments)
{
	int			i;

	m->inputs = *view;
	m->inputs.nsegments = m->n;
	m->inputs.segments = palloc(m->n * sizeof(SkxDiskSegmentRef));
	for (i = 0; i < m->n; i++)
	{
		const SkxDiskSegmentRef *ref = view->segments;
		const SkxPolicySegment *s = segments;

		while (ref->segment != m->ids[i])
			ref++;
		m->inputs.segments[i] = *ref;
		while (s->id != m->ids[i])
			s++;
		Assert(ref->ndocs == s->ndocs);
		m->bytes += (uint64) ((double) s->bytes * (s->ndocs - s->ndeleted) /
							  Max(s->ndocs, 1));
		m->ndocs += s->ndocs;
		m->ndeleted += s->ndeleted;
	}
	Assert(m->ndeleted <= m->ndocs);
}

/* Returns the block behind the last page of a segment. */
static BlockNumber
skx_maint_merge_segment_end(SkxSegment *seg, const SkxDiskSegmentRef *ref)
{
	BlockNumber end = 0;
	int			n;
	SkxDiskExtent *extents = skx_segment_extents(seg, ref, &n);

	while (n-- > 0)
		end = Max(end, extents[n].block + extents[n].npages);
	pfree(extents);
	return end;
}

/*
 * Chooses n segments to move, if they fit into free pages before `end`, and in
 * a large file far enough before it.  Returns false if they do not.
 *
 * With `aside`, segments that do not fit may be put aside: they are written
 * past the end of the file.  They come back later to the pages that they have
 * left, once these may be overwritten.  Nothing is put aside if pages that are
 * waited for would suffice, or if another operation has reserved pages.
 */
static bool
skx_maint_merge_move_segments(SkxMaintMerge *m, const SkxView *view,
							  const SkxDiskSegmentRef *refs, int n,
							  BlockNumber end, uint32 operation, bool aside)
{
	SkxManifestWaiting awaited;
	BlockNumber reach;
	uint64		free;
	uint64		room = SKX_MOVE_SLACK_PAGES;
	int			i;

	for (i = 0; i < n; i++)
	{
		m->ids[i] = refs[i].segment;
		room += refs[i].npages + refs[i].npages / SKX_MOVE_SPARE_PAGES;
	}
	free = skx_manifest_reusable_below(m->index, view, end, operation, room,
									   &reach);
	m->may_lie_higher = free < room;
	if (m->may_lie_higher)
	{
		if (!aside || room > SKX_MOVE_PAST_END_PAGES ||
			view->noperations > (operation != 0 ? 1 : 0))
			return false;
		skx_manifest_waiting_free(m->index, view, &awaited);
		if (free + awaited.by_horizon >= room)
			return false;
	}
	else if (!skx_maint_policy_is_worth_move(view->meta.nblocks, room, end,
											 reach))
		return false;
	m->n = n;
	m->moved_from = end;
	return true;
}

/*
 * Chooses the segment that ends last in the file, at `end`, to be written
 * anew, if it fits into free pages before that.  Then the end of the file can
 * be given back.  Each such merge moves the end of a segment towards the start
 * of the file, and leaves fewer pages free before it.  In a small file all
 * segments become one, if the options allow it and all of them fit.
 */
static void
skx_maint_merge_move(SkxMaintMerge *m, const SkxView *view,
					 const SkxDiskSegmentRef *last, BlockNumber end,
					 const SkxPolicyLimits *limits, uint32 operation,
					 const SkxMaintOptions *options)
{
	bool		small = view->meta.nblocks <= SKX_MOVE_SMALL_FILE_PAGES;
	uint64		bytes = 0;
	uint64		ndocs = 0;
	int			i;

	for (i = 0; i < view->nsegments; i++)
	{
		bytes += (uint64) view->segments[i].npages * BLCKSZ;
		ndocs += view->segments[i].ndocs;
	}
	if (small && options->moves >= SKX_MOVES_ALL &&
		view->nsegments <= SKX_POLICY_INPUTS_MAX &&
		bytes <= limits->bytes && ndocs <= limits->ndocs &&
		skx_maint_merge_move_segments(m, view, view->segments, view->nsegments,
									  end, operation,
									  options->moves == SKX_MOVES_PAST_END))
		return;
	(void) skx_maint_merge_move_segments(m, view, last, 1, end, operation,
										 small &&
										 options->moves == SKX_MOVES_PAST_END);
}

/*
 * Returns the limits of the policy.  If a user asks for a number of segments
 * (most > 0), the index's largest size of a segment does not apply.
 */
static SkxPolicyLimits
skx_maint_merge_limits(const SkxMaintOptions *options, int most)
{
	SkxPolicyLimits limits;

	limits.bytes = most > 0 ? SKX_SEGMENT_BYTES_MAX :
		Min(options->max_merged_segment, SKX_SEGMENT_BYTES_MAX);
	limits.ndocs = SKX_DOC_MAX;
	limits.tier_segments = options->segments_per_tier;
	limits.deleted_percent = options->deletes_pct_allowed;
	limits.purge_up_to = options->purge_up_to;
	limits.nranges = 0;
	limits.many_likely_dead = false;
	limits.result_bytes_max = 0;
	limits.waiting_bytes = 0;
	return limits;
}

/*
 * Returns how many of ndocs documents without a deleted bit are likely to be
 * dead.  The server counts live rows, and dead ones since the last VACUUM,
 * with rows that have no document.  Both counts are estimates.
 */
static uint64
skx_maint_merge_likely_dead(Relation index, uint64 ndocs)
{
	uint64		live;
	uint64		dead;

	skx_compat_live_and_dead_rows(index->rd_index->indrelid, &live, &dead);
	return Min(dead, ndocs - Min(ndocs, live));
}

/*
 * Returns how many bytes the result of a merge may take beside readers: free
 * pages and those by which the file may grow.  Returns 0, for no bound, if a
 * user has asked for the merge.
 */
static uint64
skx_maint_merge_max_result(Relation index, const SkxView *view,
						   const SkxPolicySegment *segments, uint32 operation,
						   const SkxMaintOptions *options)
{
	uint64		live = 0;
	uint64		ndocs = 0;
	uint64		largest = 0;
	uint64		free;
	BlockNumber reach;
	int			i;

	if (options->requester != SKX_REQUESTER_WORKER &&
		options->requester != SKX_REQUESTER_VACUUM)
		return 0;
	for (i = 0; i < view->nsegments; i++)
	{
		const SkxPolicySegment *s = &segments[i];
		uint64		npages = (uint64) ((double) s->bytes / BLCKSZ *
									   (s->ndocs - s->ndeleted) /
									   Max(s->ndocs, 1));

		live += npages;
		ndocs += s->ndocs - s->ndeleted;
		largest = Max(largest, s->bytes / BLCKSZ);
	}
	live -= live * skx_maint_merge_likely_dead(index, ndocs) / Max(ndocs, 1);
	live += skx_manifest_pool_pages(view, live);
	free = skx_manifest_reusable_below(index, view, view->meta.nblocks,
									   operation, 1, &reach);
	return skx_maint_policy_max_result(view->meta.nblocks, free, live,
									   largest) * BLCKSZ;
}

/*
 * Returns true if a tenth of the documents without a deleted bit are likely to
 * be dead.
 */
static bool
skx_maint_merge_many_likely_dead(Relation index,
								 const SkxPolicySegment *segments, int n)
{
	uint64		ndocs = 0;
	int			i;

	for (i = 0; i < n; i++)
		ndocs += segments[i].ndocs - segments[i].ndeleted;
	return skx_maint_merge_likely_dead(index, ndocs) >=
		ndocs / SKX_MERGE_LIKELY_DEAD_RATIO + 1;
}

/* Returns the range of the keys of each column in a segment. */
static const SkxPolicyRange *
skx_maint_merge_ranges(SkxSegment *seg, const SkxKeyColumns *columns)
{
	SkxPolicyRange *ranges = palloc(columns->n * sizeof(SkxPolicyRange));
	int			i;

	for (i = 0; i < columns->n; i++)
	{
		SkxKeyReader *reader =
			skx_segment_keys_open(seg, columns->columns[i].column);
		uint64		keys[SKX_KEY_QUANTILES];
		int			n = 0;

		if (reader != NULL)
		{
			n = skx_segment_keys_quantiles(reader, keys);
			skx_segment_keys_close(reader);
		}
		ranges[i].min = n > 0 ? keys[0] : 1;
		ranges[i].max = n > 0 ? keys[n - 1] : 0;
	}
	return ranges;
}

/* Logs what was chosen, and the bounds of the choice. */
static void
skx_maint_merge_log_choice(const SkxMaintMerge *m, const SkxView *view,
						   const SkxPolicyLimits *limits)
{
	ereport(DEBUG1,
			(errmsg_internal("merge of index \"%s\": %d of %d segments chosen, with " UINT64_FORMAT " kB of room (0: any) beside " UINT64_FORMAT " kB that wait",
							 RelationGetRelationName(m->index), m->n,
							 view->nsegments, limits->result_bytes_max / 1024,
							 limits->waiting_bytes / 1024)));
}

/*
 * Chooses by tiers.  If the bound `room` changes the choice, and no other
 * process has used the index for a moment, chooses without that bound.
 *
 * Other processes are looked for only before the operation begins.  Otherwise
 * the file could grow for the larger choice and the smaller one be merged, so
 * that it would have grown for nothing.
 */
static void
skx_maint_merge_tiers(SkxMaintMerge *m, SkxPolicySegment *segments, int n,
					  SkxPolicyLimits *limits, uint32 operation)
{
	SkxPolicyLimits any = *limits;
	uint32		ids[SKX_POLICY_INPUTS_MAX];
	int			nids;

	m->n = skx_maint_policy_choose_tiers(segments, n, limits, m->ids);
	if (limits->result_bytes_max == 0)
		return;
	any.result_bytes_max = 0;
	nids = skx_maint_policy_choose_tiers(segments, n, &any, ids);
	if (nids == m->n && memcmp(ids, m->ids, nids * sizeof(uint32)) == 0)
		return;
	if (operation == 0)
		m->index_is_unused = skx_maint_index_stays_unused(m->index);
	if (!m->index_is_unused)
		return;
	*limits = any;
	m->n = nids;
	memcpy(m->ids, ids, nids * sizeof(uint32));
}

/*
 * Sets m->n and m->ids, unless segments should only move.  Arguments are those
 * of skx_maint_merge_choose().
 */
static void
skx_maint_merge_ids(SkxMaintMerge *m, const SkxView *view,
					SkxPolicySegment *segments, SkxPolicyLimits *limits,
					const SkxMaintOptions *options, int most,
					uint32 operation)
{
	int			n = view->nsegments;

	if (m->disk_bytes_left > 0)
		m->n = skx_maint_policy_choose_fitting(segments, n, m->disk_bytes_left,
											   m->ids);
	else if (most > 0)
		m->n = skx_maint_policy_choose_count(segments, n, most, limits,
											 m->ids);
	else
	{
		limits->many_likely_dead =
			skx_maint_merge_many_likely_dead(m->index, segments, n);
		limits->result_bytes_max = skx_maint_merge_max_result(m->index, view,
															  segments,
															  operation,
															  options);
		skx_maint_merge_tiers(m, segments, n, limits, operation);
	}
	skx_maint_merge_log_choice(m, view, limits);
}

/*
 * Chooses among the segments of a new view, and fills in *m.  `most` is as for
 * skx_maint_merge(), `left` as in SkxMaintMerge.  `operation` is the segment
 * id of an operation that has begun, whose reserved pages count as free; 0:
 * none has.  With an operation, *m has the choice that was made before it
 * began.
 */
static void
skx_maint_merge_choose(SkxMaintMerge *m, Relation index,
					   const SkxMaintOptions *options, int most,
					   uint64 left, uint32 operation)
{
	SkxPolicyLimits limits = skx_maint_merge_limits(options, most);
	SkxPolicySegment *segments;
	const SkxDiskSegmentRef *last = NULL;
	BlockNumber end = 0;
	SkxKeyColumns columns;
	SkxView    *view;
	SkxSnapshotReader *source;
	bool		loose;
	bool		unused = operation != 0 && m->index_is_unused;
	int			i;

	memset(m, 0, sizeof(*m));
	m->index = index;
	m->index_is_unused = unused;
	m->disk_bytes_left = left;
	columns.n = 0;
	if (most == 0)
		skx_column_key_columns(index, &columns);
	limits.nranges = columns.n;
	LockPage(index, SKX_META_BLOCK, ShareLock);
	view = skx_manifest_view_unlisted(index);
	limits.waiting_bytes = most > 0 ? 0 :
		skx_manifest_waiting_pages(index, view) * BLCKSZ;
	loose = most == 0 && left == 0 && options->moves != SKX_MOVES_NONE &&
		skx_maint_segments_should_move(index, view);
	source = skx_snapshot_open(index, view);
	skx_snapshot_read_once(source);
	segments = palloc((view->nsegments + 1) * sizeof(SkxPolicySegment));
	for (i = 0; skx_snapshot_next_segments(source, 1) > 0; i++)
	{
		const SkxDiskSegmentRef *ref = &view->segments[i];

		segments[i].id = ref->segment;
		segments[i].bytes = ref->npages * BLCKSZ;
		segments[i].ndocs = ref->ndocs;
		segments[i].ndeleted =
			(uint32) skx_segment_ndeleted(source->segments[0]);
		segments[i].ranges = skx_maint_merge_ranges(source->segments[0],
													&columns);
		Assert(segments[i].ndeleted <= segments[i].ndocs);
		if (loose &&
			skx_maint_merge_segment_end(source->segments[0], ref) > end)
		{
			last = ref;
			end = skx_maint_merge_segment_end(source->segments[0], ref);
		}
	}
	skx_snapshot_close(source);
	UnlockPage(index, SKX_META_BLOCK, ShareLock);
	skx_maint_merge_ids(m, view, segments, &limits, options, most, operation);
	if (m->n == 0 && last != NULL)
		skx_maint_merge_move(m, view, last, end, &limits, operation, options);
	Assert(m->n >= 0 && m->n <= SKX_POLICY_INPUTS_MAX);
	skx_maint_merge_take(m, view, segments);
	pfree(segments);
}

/* Returns all extents of the inputs. */
static SkxFreedExtent *
skx_maint_merge_freed(const SkxSnapshotReader *source, int *nfreed)
{
	SkxFreedExtent *freed = palloc(sizeof(SkxFreedExtent));
	int			i;

	*nfreed = 0;
	for (i = 0; i < source->nsegments; i++)
	{
		const SkxDiskSegmentRef *ref = &source->view->segments[i];
		int			n;
		SkxDiskExtent *extents =
			skx_segment_extents(source->segments[i], ref, &n);
		int			k;

		Assert(n > 0);
		freed = repalloc_huge(freed,
							  (*nfreed + n + 1) * sizeof(SkxFreedExtent));
		for (k = 0; k < n; k++)
		{
			SkxFreedExtent *f = &freed[(*nfreed)++];

			memset(f, 0, sizeof(*f));
			f->block = extents[k].block;
			f->npages = extents[k].npages;
			f->segment = ref->segment;
		}
		pfree(extents);
	}
	return freed;
}

static void
skx_maint_merge_add_deleted(uint32 doc, void *arg)
{
	skx_maint_deletes_add(arg, doc);
}

/* Returns the number of pages of the inputs. */
static uint64
skx_maint_merge_input_pages(const SkxMaintMerge *m)
{
	uint64		npages = 0;
	int			i;

	for (i = 0; i < m->inputs.nsegments; i++)
		npages += m->inputs.segments[i].npages;
	return npages;
}

/*
 * Merges the inputs and publishes the result.  The caller has begun the
 * operation.
 */
static void
skx_maint_merge_work(SkxMaintMerge *m, const SkxMaintOptions *options,
					 SkxOperation *op)
{
	uint64		npages = skx_maint_merge_input_pages(m);
	bool		past = npages > SKX_MERGE_BYPASS_BYTES / BLCKSZ;
	SkxSnapshotReader *source;
	SkxMaintDeletes marks = {0};
	SkxPublish	change = {0};
	SkxMaintOutput out;
	SkxDiskSegmentRef ref;
	SkxMerge   *merge;
	SkxMaintHelpers *help;
	uint32		late = 0;

	Assert(m->n > 0 && skx_manifest_holds_operation(m->index, op->kind));
	if (options->requester == SKX_REQUESTER_WORKER)
		skx_maint_delete_dead(op, &m->inputs, npages * BLCKSZ);
	source = skx_snapshot_open(m->index, &m->inputs);
	skx_snapshot_read_once(source);
	if (past)
		skx_snapshot_bypass_page_cache(source);
	skx_snapshot_next_segments(source, SKX_SNAPSHOT_ALL_SEGMENTS);
	skx_maint_output_begin(&out, op, options, m->bytes);
	skx_maint_warm_begin(&out, source);
	merge = skx_merge_begin(m->index, &out.build, source->segments, m->n);
	/* several processes take more pages, so the result might not lie lower */
	help = m->moved_from > 0 ? NULL :
		skx_maint_help_begin(&out, options, source, past, merge, m->bytes);
	if (help != NULL)
		skx_maint_help_run(help, &ref);
	if (help != NULL || skx_merge_run(merge, &ref))
		change.add = &ref;
	skx_maint_output_end(&out);
	if (change.add != NULL)
		skx_maint_warm_read_pages(&out, &ref);
	Assert(change.add == NULL || (ref.ndocs + m->ndeleted <= m->ndocs &&
								  ref.segment == op->segment));
	change.remove = m->ids;
	change.nremove = m->n;
	change.freed = skx_maint_merge_freed(source, &change.nfreed);

	SKX_FAULT(SKX_FAULT_MERGE_BUILT);

	skx_worker_record_progress(SKX_PHASE_PUBLISH, 0, 0);
	/* reads most late bits before the lock is taken */
	if (change.add != NULL)
		(void) skx_merge_visit_new_deletes(merge, skx_maint_merge_add_deleted,
										   &marks);
	SKX_FAULT(SKX_FAULT_PUBLISH_NOTED);
	skx_manifest_lock(m->index, true);
	SKX_FAULT(SKX_FAULT_PUBLISH_LOCKED);
	if (change.add != NULL)
		late = skx_merge_visit_new_deletes(merge, skx_maint_merge_add_deleted,
										   &marks);
	ereport(DEBUG1,
			(errmsg_internal("merge of index \"%s\": %u pages of marks read again under the lock",
							 RelationGetRelationName(m->index), late)));
	if (change.add != NULL)
		skx_maint_deletes_set(&marks, op, &ref);
	SKX_FAULT(SKX_FAULT_PUBLISH_CARRIED);
	skx_manifest_publish(op, &change);
	Assert(op->is_published);
	skx_manifest_unlock(m->index);
	skx_maint_warm_evict_inputs(&out);
	skx_merge_end(merge);
	if (help != NULL)
		skx_maint_help_end(help);
	skx_snapshot_close(source);
}

/*
 * Returns how many blocks to reserve at the start.  A merge that may be left
 * undone reserves all that it needs, and more if it must not fail for lack of
 * space.  Others reserve more when they need it.  A merge without live
 * documents reserves nothing, so that dead segments can go when the disk is
 * full.
 */
static uint32
skx_maint_merge_blocks(const SkxMaintMerge *m, const SkxMaintOptions *options,
					   SkxManifestWait wait)
{
	uint32		block_size = m->inputs.meta.block_size;

	if (m->ndeleted == m->ndocs)
		return 0;

	/*
	 * a segment that is only written anew takes little more than before, and
	 * fewer reserved pages let it lie low
	 */
	if (options->needs_all_space)
		return skx_maint_blocks(m->bytes + m->bytes /
								(m->n == 1 || m->moved_from > 0 ? 8 : 2),
								block_size);
	if (wait != SKX_WAIT_ALL || m->may_lie_higher)
		return skx_maint_blocks(m->bytes, block_size);
	return 1 + (uint32) (Min(m->bytes, SKX_MERGE_RESERVE) / block_size);
}

/*
 * Returns true if a merge needs temporary files, for which it cannot reserve
 * space.
 */
static bool
skx_maint_merge_spills(const SkxMaintMerge *m, const SkxMaintOptions *options)
{
	return m->ndeleted > 0 || m->ndocs * sizeof(uint32) > options->memory / 8;
}

/*
 * Returns true if the segment that was moved lies lower than before.  If its
 * pages have come from elsewhere than expected, to move it again would never
 * end.
 */
static bool
skx_maint_merge_moved_lower(const SkxMaintMerge *m, uint32 segment)
{
	SkxView    *view;
	SkxSnapshotReader *source;
	BlockNumber end = 0;
	int			i;

	LockPage(m->index, SKX_META_BLOCK, ShareLock);
	view = skx_manifest_view_unlisted(m->index);
	source = skx_snapshot_open(m->index, view);
	skx_snapshot_read_once(source);
	for (i = 0; skx_snapshot_next_segments(source, 1) > 0; i++)
		if (view->segments[i].segment == segment)
			end = skx_maint_merge_segment_end(source->segments[0],
											  &view->segments[i]);
	skx_snapshot_close(source);
	UnlockPage(m->index, SKX_META_BLOCK, ShareLock);
	return end < m->moved_from;
}

/*
 * Chooses a segment that fits into the free pages of a file that cannot grow,
 * and begins its merge.  Returns NULL if there is none.
 */
static SkxOperation *
skx_maint_merge_fit(SkxMaintMerge *m, const SkxMaintOptions *options,
					SkxManifestWait wait)
{
	Relation	index = m->index;
	uint32		block_size = m->inputs.meta.block_size;
	SkxView    *view = skx_maint_view(index, wait);
	BlockNumber reach;
	uint64		left = skx_manifest_reusable_below(index, view,
												   view->meta.nblocks, 0, 0,
												   &reach) * BLCKSZ;
	uint64		more = 2 * (uint64) block_size + 32 * BLCKSZ;
	uint32		nblocks;

	skx_maint_merge_choose(m, index, options, 0, left - Min(left, more) + 1,
						   0);
	if (m->n == 0)
		return NULL;
	nblocks = skx_maint_blocks(m->bytes + m->bytes / 8, block_size);
	return skx_manifest_begin_reusing(index, SKX_OPERATION_MERGE, nblocks,
									  nblocks, wait);
}

/*
 * Begins the merge that was chosen.  If the disk has no space for it, and no
 * user has asked for it, begins skx_maint_merge_fit() instead.
 *
 * The function is not inlined: gcc would warn that an error may clobber its
 * variables.
 */
static pg_noinline SkxOperation *
skx_maint_merge_begin(SkxMaintMerge *m, const SkxMaintOptions *options,
					  int most, SkxManifestWait wait)
{
	Relation	index = m->index;
	uint32		nblocks = skx_maint_merge_blocks(m, options, wait);
	bool		aside = m->may_lie_higher;
	int			error = 0;
	SkxOperation *op;

	op = skx_manifest_begin(index, SKX_OPERATION_MERGE, nblocks, aside, wait,
							wait == SKX_WAIT_ALL ? NULL : &error);
	if (error != 0 && aside)
		skx_blkio_no_space(index, error, DEBUG1);
	if (error == 0 || aside)
		return op;
	if (most == 0 && m->moved_from == 0)
		op = skx_maint_merge_fit(m, options, wait);
	if (op == NULL)
		skx_blkio_no_space(index, error,
						   options->needs_all_space ? WARNING : ERROR);
	return op;
}

/* Does skx_maint_merge_step() in the current memory context. */
static SkxMaintStep
skx_maint_merge_do_step(Relation index, const SkxMaintOptions *options,
						int most, SkxManifestWait wait)
{
	SkxOperation *op;
	SkxMaintMerge m;
	volatile bool done = false;
	bool		aside;

	/* chooses before it reserves anything on disk */
	skx_maint_merge_choose(&m, index, options, most, 0, 0);
	if (m.n == 0 ||
		(options->needs_all_space && skx_maint_merge_spills(&m, options)))
		return SKX_STEP_NONE;
	aside = m.may_lie_higher;
	op = skx_maint_merge_begin(&m, options, most, wait);
	if (op == NULL)
		return aside ? SKX_STEP_NONE : SKX_STEP_BUSY;
	skx_maint_merge_choose(&m, index, options, most, m.disk_bytes_left,
						   op->segment);
	Assert(op->kind == SKX_OPERATION_MERGE);
	if (m.n > 0 &&
		!(options->needs_all_space && skx_maint_merge_spills(&m, options)))
	{
		skx_worker_record_begin(index, SKX_OPERATION_MERGE,
								options->requester);
		skx_worker_record_input(m.n, m.ndocs, m.bytes);
		PG_TRY();
		{
			skx_maint_merge_work(&m, options, op);
			done = true;
		}
		PG_CATCH();
		{
			skx_worker_record_end(index, SKX_RECORD_FAILED);
			PG_RE_THROW();
		}
		PG_END_TRY();
		skx_worker_record_end(index, SKX_RECORD_DONE);
		if (m.moved_from > 0 && !aside)
			done = skx_maint_merge_moved_lower(&m, op->segment);
	}
	skx_manifest_end(op);
	return done ? SKX_STEP_DONE : SKX_STEP_NONE;
}

SkxMaintStep
skx_maint_merge_step(Relation index, const SkxMaintOptions *options, int most,
					 SkxManifestWait wait)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx merge",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxMaintStep step = skx_maint_merge_do_step(index, options, most, wait);

	Assert(!skx_manifest_holds_lock(index, AccessShareLock));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return step;
}

bool
skx_maint_merge_is_due(Relation index, const SkxMaintOptions *options,
					   SkxManifestWait wait)
{
	SkxPolicyLimits limits = skx_maint_merge_limits(options, 0);
	SkxView    *view = skx_maint_view(index, wait);
	SkxPolicySegment *segments =
		palloc((view->nsegments + 1) * sizeof(SkxPolicySegment));
	uint32		ids[SKX_POLICY_INPUTS_MAX];
	int			n;
	int			i;

	for (i = 0; i < view->nsegments; i++)
	{
		const SkxDiskSegmentRef *ref = &view->segments[i];

		segments[i].id = ref->segment;
		segments[i].bytes = ref->npages * BLCKSZ;
		segments[i].ndocs = ref->ndocs;
		segments[i].ndeleted = 0;
		segments[i].ranges = NULL;
	}
	limits.many_likely_dead =
		skx_maint_merge_many_likely_dead(index, segments, view->nsegments);
	n = skx_maint_policy_choose_tiers(segments, view->nsegments, &limits, ids);
	pfree(segments);
	pfree(view);
	return n > 0;
}

bool
skx_maint_merge_has_work(Relation index, const SkxMaintOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx merge",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxMaintMerge m;

	skx_maint_merge_choose(&m, index, options, 0, 0, 0);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return m.n > 0;
}

/* Returns the id of the newest segment of the view; 0 if it has none. */
static uint32
skx_maint_merge_newest(const SkxView *view)
{
	uint32		newest = 0;
	int			i;

	for (i = 0; i < view->nsegments; i++)
		newest = Max(newest, view->segments[i].segment);
	return newest;
}

int
skx_maint_merge(Relation index, const SkxMaintOptions *options, int most,
				SkxManifestWait wait)
{
	SkxMaintOptions mine = *options;
	SkxView    *view = skx_maint_view(index, wait);
	int			left = 2 * view->nsegments;

	/* segments made meanwhile, with their deleted documents, do not count */
	if (most > 0)
		mine.purge_up_to = skx_maint_merge_newest(view);
	/* no merge makes more segments, or more with many deleted documents */
	pfree(view);
	for (; left > 0; left--)
	{
		CHECK_FOR_INTERRUPTS();
		if (skx_maint_merge_step(index, &mine, most,
								 wait) != SKX_STEP_DONE)
			break;
	}
	view = skx_maint_view(index, wait);
	left = view->nsegments;
	pfree(view);
	return left;
}
