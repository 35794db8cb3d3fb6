/*
 * score_leaf.c
 *	  One index whose documents are counted, and what of it counts.
 */
#include "postgres.h"

#include "access/relation.h"
#include "index/snapshot/snapshot.h"
#include "read/score/score_internal.h"
#include "utils/memutils.h"

/*
 * Numbers the pending documents of the leaf that count: sets marks and nmarks.
 */
static void
skx_score_leaf_number_pending(SkxScoreLeaf *leaf)
{
	int			i;

	leaf->stripe_offsets = palloc(sizeof(uint64) * leaf->view->nstripes);
	leaf->npending = 0;
	for (i = 0; i < leaf->view->nstripes; i++)
	{
		uint64		flushed = leaf->view->stripes[i].flushed_through;

		leaf->stripe_offsets[i] = leaf->npending;
		leaf->npending += leaf->pending_ends[i] - Min(flushed,
													  leaf->pending_ends[i]);
	}
}

bool
skx_score_pending_tf_index(const SkxScoreLeaf *leaf, int stripe,
						   uint64 sequence, uint64 *at)
{
	uint64		flushed = leaf->view->stripes[stripe].flushed_through;

	Assert(stripe >= 0 && stripe < leaf->view->nstripes);
	Assert(sequence > flushed);
	if (sequence > leaf->pending_ends[stripe])
		return false;
	*at = leaf->stripe_offsets[stripe] + (sequence - flushed - 1);
	Assert(*at < leaf->npending);
	return true;
}

bool
skx_score_leaf_pending(const SkxScoreLeaf *leaf)
{
	int			i;

	for (i = 0; i < leaf->view->nstripes; i++)
		if (leaf->pending_ends[i] > leaf->view->stripes[i].flushed_through)
			return true;
	return false;
}

/*
 * Adds the documents of the leaf's segments, and their lengths.  The memory of
 * open segments is not left to the statistics, which may live long.
 */
static void
skx_score_add_segments(SkxStats *stats, const SkxScoreLeaf *leaf, Relation rel)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx leaf",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxSnapshotReader *source = skx_snapshot_open(rel, leaf->view);
	int			i;

	skx_snapshot_next_segments(source, SKX_SNAPSHOT_ALL_SEGMENTS);
	for (i = 0; i < source->nsegments; i++)
	{
		const SkxDiskSegment *header = &source->segments[i]->header;

		stats->ndocs += header->ndocs - header->nnull;
		stats->length += header->total_length;
	}
	skx_snapshot_close(source);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

void
skx_score_leaf_read(SkxStats *stats, SkxScoreLeaf *leaf, Relation rel)
{
	SkxPendingTotals totals;

	leaf->oid = RelationGetRelid(rel);
	leaf->locator = SKX_REL_LOCATOR(rel);
	leaf->view = skx_manifest_view(rel);
	leaf->pending_ends = palloc(sizeof(uint64) * leaf->view->nstripes);
	skx_pending_totals(rel, leaf->view, &totals, leaf->pending_ends);
	skx_pending_bind_view(leaf->view, leaf->pending_ends);
	skx_score_leaf_number_pending(leaf);
	stats->ndocs += totals.ndocs - totals.nnull;
	stats->length += totals.total_length;
	skx_score_add_segments(stats, leaf, rel);
}

bool
skx_score_leaf_is_same(const SkxScoreLeaf *leaf, Relation rel,
					   bool same_generation)
{
	SkxDiskMeta meta;

	skx_manifest_meta(rel, &meta);
	return meta.incarnation == leaf->view->meta.incarnation &&
		(!same_generation || meta.generation == leaf->view->meta.generation);
}

Relation
skx_score_leaf_relation(Oid oid, Relation index, const SkxScoreLeaf *pinned)
{
	Relation	rel = try_relation_open(oid, AccessShareLock);

	if (rel == NULL)
		return NULL;
	if (rel->rd_rel->relkind == RELKIND_INDEX &&
		rel->rd_rel->relam == index->rd_rel->relam &&
		rel->rd_index->indisvalid &&
		(pinned == NULL ||
		 (SKX_LOCATOR_EQUALS(pinned->locator, SKX_REL_LOCATOR(rel)) &&
		  skx_score_leaf_is_same(pinned, rel, false))))
		return rel;
	relation_close(rel, NoLock);
	return NULL;
}
