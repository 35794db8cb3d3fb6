/*
 * score_stats.c
 *	  Statistics of an index, kept for a snapshot.
 *
 * Numbers of documents, lengths and df change with every insert, flush and
 * merge, while all that is computed under one snapshot has to agree.  The
 * first request therefore fixes what is counted: a view of each index, and the
 * number of the last pending document of each stripe.  A lexeme is looked up
 * in these when it is first needed, even if that is much later
 * (score_words.c).
 *
 * Statistics are found by the content of the snapshot, not by its address.
 * The executor copies snapshots, and the snapshot of a portal lives on while
 * the portal is not active.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "index/pending/pending.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "read/score/score_internal.h"
#include "storage/lmgr.h"
#include "support/compat/compat.h"
#include "support/sessioncache/sessioncache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/* The largest number of kept statistics, unless more are in use. */
#define SKX_SCORE_KEPT_STATS_MAX		64

/* A holder of kept statistics, see skx_score_stats_hold(). */
typedef struct SkxStatsHolder
{
	MemoryContextCallback callback;
	SkxStats   *stats;
	uint64		epoch;
} SkxStatsHolder;

static dlist_head skx_score_pins = DLIST_STATIC_INIT(skx_score_pins);
static int	skx_score_npins = 0;
static uint64 skx_score_epoch = 0;	/* number of transactions that ended */
static bool skx_score_watching = false; /* true once the callbacks are
										 * registered */

/*
 * Statistics between transactions.  Most sessions search the same indexes
 * again and again, and these often have not changed.
 */
static void
skx_score_forget_carried(SkxSessionEntry *entry)
{
	MemoryContextDelete(((SkxStats *) entry)->context);
}

static SkxSessionKind skx_score_carried = {
	.max_entries = 64,
	.max_bytes = 1024 * 1024,
	.free_entry = skx_score_forget_carried
};

/* ---- the list of kept statistics ---- */

static void
skx_score_free_stats(SkxStats *stats)
{
	dlist_delete(&stats->node);
	skx_score_npins--;
	stats->is_listed = false;
	if (stats->nusers == 0)
		MemoryContextDelete(stats->context);
}

/*
 * Keeps the statistics that were used last beyond the end of the transaction.
 * The caller is past the point where an error could be raised.
 */
static void
skx_score_carry_stats(void)
{
	SkxStats   *stats;
	SkxStats   *old;
	SkxSessionKey key = {0};
	Size		bytes;

	if (dlist_is_empty(&skx_score_pins))
		return;
	stats = dlist_head_element(SkxStats, node, &skx_score_pins);
	if (!stats->is_plain)
		return;
	bytes = MemoryContextMemAllocated(stats->context, true);
	if (bytes > skx_score_carried.max_bytes)
		return;
	key.locator = stats->locator;
	key.index = stats->index;
	old = skx_sessioncache_find(&skx_score_carried, &key);
	if (old != NULL)
		skx_sessioncache_drop(&old->entry);
	dlist_delete(&stats->node);
	MemoryContextSetParent(stats->context, skx_sessioncache_context());
	stats->is_listed = false;
	stats->nusers = 0;
	skx_sessioncache_put(&skx_score_carried, &key, &stats->entry, bytes);
}

/*
 * Empties the list of kept statistics at the end of a transaction, whose
 * memory is freed with the transaction.  The list is emptied before any of the
 * memory is freed, since scorers release their statistics in any order.
 */
static void
skx_score_xact(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT)
		skx_score_carry_stats();
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
		case XACT_EVENT_PREPARE:
			dlist_init(&skx_score_pins);
			skx_score_npins = 0;
			skx_score_epoch++;
			break;
		default:
			break;
	}
}

/*
 * Forgets statistics that were read in a subtransaction that rolls back.  They
 * may be of a file that was made in it.  Command ids repeat after it, so a
 * later snapshot can have the same content.
 */
static void
skx_score_subxact(SubXactEvent event, SubTransactionId subid,
				  SubTransactionId parent, void *arg)
{
	dlist_mutable_iter iter;

	if (event != SUBXACT_EVENT_ABORT_SUB)
		return;
	dlist_foreach_modify(iter, &skx_score_pins)
	{
		SkxStats   *stats = dlist_container(SkxStats, node, iter.cur);

		if (stats->subid >= subid)
			skx_score_free_stats(stats);
	}
}

static void
skx_score_make_room(void)
{
	dlist_node *node = skx_score_npins < SKX_SCORE_KEPT_STATS_MAX ? NULL :
		dlist_tail_node(&skx_score_pins);

	while (node != NULL)
	{
		SkxStats   *stats = dlist_container(SkxStats, node, node);

		if (stats->nusers == 0)
		{
			skx_score_free_stats(stats);
			return;
		}
		node = dlist_has_prev(&skx_score_pins, node) ?
			dlist_prev_node(&skx_score_pins, node) : NULL;
	}
}

/*
 * Locks the indexes of the statistics until the transaction ends, since a view
 * may be read as long as its index is locked.  A lock belongs to the portal
 * that took it.  A cursor that fails in a savepoint made after it was opened
 * gives up its locks with the savepoint.  So kept statistics have locks of
 * their own.
 */
static void
skx_score_lock_leaves(const SkxStats *stats)
{
	ResourceOwner owner = CurrentResourceOwner;
	int			i;

	CurrentResourceOwner = TopTransactionResourceOwner;
	for (i = 0; i < stats->nleaves; i++)
		LockRelationOid(stats->leaves[i].oid, AccessShareLock);
	CurrentResourceOwner = owner;
}

static void
skx_score_keep_stats(SkxStats *stats)
{
	if (!skx_score_watching)
	{
		(void) skx_sessioncache_context();
		RegisterXactCallback(skx_score_xact, NULL);
		RegisterSubXactCallback(skx_score_subxact, NULL);
		skx_score_watching = true;
	}
	skx_score_make_room();
	skx_score_lock_leaves(stats);
	MemoryContextSetParent(stats->context, TopTransactionContext);
	stats->subid = GetCurrentSubTransactionId();
	stats->statement_time = GetCurrentStatementStartTimestamp();
	stats->was_listed = stats->is_listed = true;
	dlist_push_head(&skx_score_pins, &stats->node);
	skx_score_npins++;
}

static void
skx_score_release_stats(void *arg)
{
	SkxStatsHolder *hold = arg;

	if (hold->epoch != skx_score_epoch)
		return;
	hold->stats->nusers--;
	if (hold->stats->nusers == 0 && !hold->stats->is_listed)
		MemoryContextDelete(hold->stats->context);
}

void
skx_score_stats_hold(SkxStats *stats)
{
	SkxStatsHolder *hold;

	if (!stats->was_listed)
		return;
	hold = palloc0(sizeof(SkxStatsHolder));
	hold->callback.func = skx_score_release_stats;
	hold->callback.arg = hold;
	hold->stats = stats;
	hold->epoch = skx_score_epoch;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &hold->callback);
	stats->nusers++;
}

/* ---- snapshots ---- */

/*
 * Sets *content to the content of the snapshot; refers to the snapshot's
 * arrays.
 */
static void
skx_score_snapshot_content(Snapshot snapshot, SkxSnapshotContent *content)
{
	content->xmin = snapshot->xmin;
	content->xmax = snapshot->xmax;
	content->curcid = snapshot->curcid;
	content->suboverflowed = snapshot->suboverflowed;
	content->recovery = snapshot->takenDuringRecovery;
	content->nxip = snapshot->xcnt;
	content->xip = snapshot->xip;
	/* copies of a snapshot leave subtransactions out when they are not used */
	content->nsubxip = 0;
	if (!snapshot->suboverflowed || snapshot->takenDuringRecovery)
		content->nsubxip = snapshot->subxcnt;
	content->subxip = snapshot->subxip;
}

static bool
skx_score_same_content(const SkxSnapshotContent *a,
					   const SkxSnapshotContent *b)
{
	return a->xmin == b->xmin && a->xmax == b->xmax &&
		a->curcid == b->curcid && a->suboverflowed == b->suboverflowed &&
		a->recovery == b->recovery && a->nxip == b->nxip &&
		a->nsubxip == b->nsubxip &&
		(a->nxip == 0 ||
		 memcmp(a->xip, b->xip, sizeof(TransactionId) * a->nxip) == 0) &&
		(a->nsubxip == 0 ||
		 memcmp(a->subxip, b->subxip,
				sizeof(TransactionId) * a->nsubxip) == 0);
}

static TransactionId *
skx_score_copy_xids(const TransactionId *xids, uint32 n)
{
	TransactionId *copy = palloc(sizeof(TransactionId) * ((Size) n + 1));

	if (n > 0)
		memcpy(copy, xids, sizeof(TransactionId) * n);
	return copy;
}

/* ---- what is counted ---- */

static void
skx_score_read_leaves(SkxStats *stats, Relation index)
{
	List	   *oids;
	ListCell   *lc;

	if (stats->is_plain)
	{
		stats->nleaves = 1;
		stats->leaves = palloc0(sizeof(SkxScoreLeaf));
		skx_score_leaf_read(stats, stats->leaves, index);
		return;
	}
	oids = skx_score_leaves(index, stats->other_indexes,
							stats->nother_indexes);
	stats->leaves = palloc0(sizeof(SkxScoreLeaf) * list_length(oids));
	foreach(lc, oids)
	{
		Relation	rel = skx_score_leaf_relation(lfirst_oid(lc), index, NULL);

		CHECK_FOR_INTERRUPTS();
		if (rel == NULL)
			continue;
		skx_score_leaf_read(stats, &stats->leaves[stats->nleaves++], rel);
		relation_close(rel, NoLock);
	}
	list_free(oids);
}

/* ---- the interface ---- */

/*
 * Returns true if views that were read in an earlier statement can still be
 * used.  On a primary the transaction's lock on the index protects them,
 * without any snapshot.  On a standby that replays early reuse, nothing
 * protects them.
 */
static bool
skx_score_is_readable(const SkxStats *stats, Relation index)
{
	bool		unguarded = stats->snapshot_content.recovery &&
		!IsolationUsesXactSnapshot() &&
		stats->statement_time != GetCurrentStatementStartTimestamp();
	bool		readable = true;
	int			i;

	if (stats->is_plain)
		return skx_score_leaf_is_same(&stats->leaves[0], index, unguarded);
	for (i = 0; unguarded && readable && i < stats->nleaves; i++)
	{
		Relation	rel = skx_score_leaf_relation(stats->leaves[i].oid, index,
												  &stats->leaves[i]);

		CHECK_FOR_INTERRUPTS();
		if (rel == NULL)
			continue;
		readable = skx_score_leaf_is_same(&stats->leaves[i], rel, true);
		relation_close(rel, NoLock);
	}
	return readable;
}

/*
 * Returns true if the index, whose view has been opened again, still has the
 * pending documents that were counted.
 */
static bool
skx_score_is_unchanged(const SkxStats *stats, Relation index)
{
	const SkxScoreLeaf *leaf = &stats->leaves[0];
	Size		size = sizeof(uint64) * leaf->view->nstripes;
	uint64	   *last = palloc(size);
	SkxPendingTotals totals;
	bool		unchanged;

	skx_pending_totals(index, leaf->view, &totals, last);
	unchanged = memcmp(last, leaf->pending_ends, size) == 0;
	pfree(last);
	return unchanged;
}

/* Sets the snapshot that the statistics are for. */
static void
skx_score_set_content(SkxStats *stats, const SkxSnapshotContent *content)
{
	MemoryContext old = MemoryContextSwitchTo(stats->context);

	stats->snapshot_content = *content;
	stats->snapshot_content.xip = skx_score_copy_xids(content->xip,
													  content->nxip);
	stats->snapshot_content.subxip = skx_score_copy_xids(content->subxip,
														 content->nsubxip);
	MemoryContextSwitchTo(old);
}

/*
 * Returns statistics of an earlier transaction, for another snapshot.  Returns
 * NULL if there are none, or if the index has changed.
 */
static SkxStats *
skx_score_reuse_carried(Relation index, const SkxSnapshotContent *content)
{
	SkxSessionKey key = skx_sessioncache_key(index, 0, 0);
	SkxStats   *stats = skx_sessioncache_find(&skx_score_carried, &key);

	if (stats == NULL)
		return NULL;
	skx_sessioncache_remove(&stats->entry);
	MemoryContextSetParent(stats->context, CurrentMemoryContext);
	if (!skx_score_is_plain(index) ||
		!skx_manifest_view_reopen(index, stats->leaves[0].view) ||
		!skx_score_is_unchanged(stats, index))
	{
		MemoryContextDelete(stats->context);
		return NULL;
	}
	pfree(stats->snapshot_content.xip);
	pfree(stats->snapshot_content.subxip);
	skx_score_set_content(stats, content);
	return stats;
}

/*
 * Returns true if the statistics count the same other indexes as the
 * reference.  Both have them in the same order.
 */
static bool
skx_score_counts_same_indexes(const SkxStats *stats, const SkxRef *ref)
{
	int			n = ref != NULL ? ref->nindexes : 0;

	return stats->nother_indexes == n &&
		(n == 0 ||
		 memcmp(stats->other_indexes, ref->indexes, sizeof(Oid) * n) == 0);
}

static SkxStats *
skx_score_read(Relation index, const SkxRef *ref,
			   const SkxSnapshotContent *content)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx statistics",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxStats   *stats = palloc0(sizeof(SkxStats));

	stats->context = context;
	stats->index = RelationGetRelid(index);
	if (ref != NULL && ref->nindexes > 0)
	{
		stats->nother_indexes = ref->nindexes;
		stats->other_indexes = palloc(sizeof(Oid) * ref->nindexes);
		memcpy(stats->other_indexes, ref->indexes,
			   sizeof(Oid) * ref->nindexes);
	}
	stats->is_plain = stats->nother_indexes == 0 && skx_score_is_plain(index);
	if (stats->is_plain)
		stats->locator = SKX_REL_LOCATOR(index);
	if (content != NULL)
		skx_score_set_content(stats, content);
	skx_score_read_leaves(stats, index);
	skx_score_words_make(stats);
	MemoryContextSwitchTo(old);
	return stats;
}

SkxStats *
skx_score_stats(Relation index, const SkxRef *ref, Snapshot snapshot)
{
	SkxSnapshotContent content;
	SkxStats   *stats;
	dlist_iter	iter;

	if (snapshot == NULL || snapshot->snapshot_type != SNAPSHOT_MVCC)
		return skx_score_read(index, ref, NULL);
	skx_score_snapshot_content(snapshot, &content);
	dlist_foreach(iter, &skx_score_pins)
	{
		stats = dlist_container(SkxStats, node, iter.cur);
		if (stats->index == RelationGetRelid(index) &&
			skx_score_counts_same_indexes(stats, ref) &&
			(!stats->is_plain ||
			 SKX_LOCATOR_EQUALS(stats->locator, SKX_REL_LOCATOR(index))) &&
			skx_score_same_content(&stats->snapshot_content, &content))
		{
			if (!skx_score_is_readable(stats, index))
			{
				skx_score_free_stats(stats);
				break;
			}
			stats->statement_time = GetCurrentStatementStartTimestamp();
			dlist_move_head(&skx_score_pins, &stats->node);
			return stats;
		}
	}
	stats = ref != NULL && ref->nindexes > 0 ? NULL :
		skx_score_reuse_carried(index, &content);
	if (stats == NULL)
		stats = skx_score_read(index, ref, &content);
	skx_score_keep_stats(stats);
	return stats;
}

uint64
skx_score_stats_ndocs(const SkxStats *stats)
{
	return stats->ndocs;
}

uint64
skx_score_stats_length(const SkxStats *stats)
{
	return stats->length;
}

const SkxView *
skx_score_view(const SkxScorer *scorer, Relation index)
{
	const SkxStats *stats = scorer->stats;

	if (stats == NULL || !stats->is_plain ||
		stats->index != RelationGetRelid(index) ||
		!SKX_LOCATOR_EQUALS(stats->locator, SKX_REL_LOCATOR(index)))
		return NULL;
	return stats->leaves[0].view;
}

/*
 * No other transaction that the snapshot sees has inserted documents after the
 * statistics were read.
 */
bool
skx_score_pending(const SkxScorer *scorer)
{
	const SkxStats *stats = scorer->stats;

	return stats == NULL || !stats->is_plain || !stats->was_listed ||
		skx_score_leaf_pending(&stats->leaves[0]);
}

uint64
skx_score_stats_epoch(void)
{
	return skx_score_epoch;
}

bool
skx_score_stats_current(const SkxStats *stats, uint64 epoch,
						Snapshot snapshot)
{
	SkxSnapshotContent content;

	if (epoch != skx_score_epoch || !stats->is_listed || snapshot == NULL ||
		snapshot->snapshot_type != SNAPSHOT_MVCC ||
		stats->statement_time != GetCurrentStatementStartTimestamp())
		return false;
	skx_score_snapshot_content(snapshot, &content);
	return skx_score_same_content(&stats->snapshot_content, &content);
}
