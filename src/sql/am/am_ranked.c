/*
 * am_ranked.c
 *	  Scans with `<@>` in ORDER BY.
 *
 * A scan by distance searches for the best rows.  A scan that is planned for
 * all rows is often abandoned after a few (a loop that exits, a client that
 * stops fetching).  So it first searches for a few rows, which costs little
 * compared with the search for all, and then for all.
 */
#include "postgres.h"

#include <math.h>

#include "access/relation.h"
#include "access/xact.h"
#include "answer/topk/topk_share.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "sql/am/am_scan.h"
#include "utils/memutils.h"

/*
 * Returns the ranking of a scan by several processes, of a token, or of the
 * key; NULL if the key is a reference and there is no other.
 */
static const SkxRanking *
skx_am_ranked_ranking(const SkxScan *so, const ScanKeyData *key)
{
	if (so->desc.ranked_share != NULL)
		return skx_topk_share_ranking(so->desc.ranked_share);
	if (so->desc.page != NULL)
		return so->desc.page->ranking;
	if (key->sk_strategy != SKX_STRATEGY_RANKING)
		return NULL;
	return skx_score_ranking_of(PointerGetDatum(PG_DETOAST_DATUM_COPY(key->sk_argument)));
}

/*
 * The index of a reference is opened in any case: it may be gone, or the right
 * to use it.
 */
static SkxScorer *
skx_am_ranked_scorer(IndexScanDesc scan, const ScanKeyData *key)
{
	const SkxScan *so = scan->opaque;
	const SkxRanking *ranking;
	const SkxRef *ref;
	SkxRankOptions options;
	SkxScorer  *scorer = NULL;
	Relation	bound;

	if (key->sk_strategy != SKX_STRATEGY_RANK &&
		key->sk_strategy != SKX_STRATEGY_RANKING)
		elog(ERROR, "unrecognized skipidx ordering strategy: %d",
			 key->sk_strategy);
	if (key->sk_flags & SK_ISNULL)
		return NULL;
	ranking = skx_am_ranked_ranking(so, key);
	if (ranking != NULL)
		scorer = skx_score_open_ranking(scan->indexRelation,
										scan->xs_snapshot, ranking);
	if (key->sk_strategy == SKX_STRATEGY_RANKING)
		return scorer;
	ref = (const SkxRef *) PG_DETOAST_DATUM_COPY(key->sk_argument);
	bound = skx_am_open_referenced(ref);
	skx_am_rank_options(bound, &options);
	if (scorer == NULL)
		scorer = skx_score_open(bound, ref, scan->xs_snapshot, &options,
								SkxRefQuery(ref));
	relation_close(bound, NoLock);
	return scorer;
}

/*
 * The share of rows handed out by ranked scans of an index that were of no
 * use: dead rows, and all beyond the number of rows that the scan wanted.  The
 * first search looks for as many more rows, since a second search for the rows
 * that are missing costs more.  After many updates since the last VACUUM, the
 * best rows have old versions with nearly the same scores.  There is no entry
 * until a row was of no use.
 */
typedef struct SkxRankedWaste
{
	SkxSessionEntry entry;
	double		fraction;
} SkxRankedWaste;

static void
skx_am_ranked_forget_dead(SkxSessionEntry *entry)
{
	pfree(entry);
}

static SkxSessionKind skx_ranked_dead_kind = {
	.max_entries = 64,
	.max_bytes = 64 * sizeof(SkxRankedWaste),
	.free_entry = skx_am_ranked_forget_dead
};

/*
 * RECENT is the weight of one scan in that share, and MOST the largest share
 * that counts.  LEAST is the smallest number of dead rows among the wanted
 * ones for which a search looks for more rows.  With fewer, the search for
 * these would cost more than the second searches that it saves.
 */
#define SKX_RANKED_WASTE_WEIGHT	0.1
#define SKX_RANKED_WASTE_MAX		0.75
#define SKX_RANKED_WASTE_ROWS_MIN	0.05

static void
skx_am_ranked_update_waste(const SkxScan *so)
{
	const SkxScanDesc *desc = &so->desc;
	const SkxSessionKey *key = &so->key;
	uint64		unseen = so->ndead;
	SkxRankedWaste *dead;

	if (desc->wanted > 0 && !desc->wants_all && desc->given > desc->wanted)
		unseen = Max(unseen, desc->given - desc->wanted);
	if (desc->given == 0)
		return;
	dead = skx_sessioncache_find(&skx_ranked_dead_kind, key);
	if (dead == NULL && unseen == 0)
		return;
	if (dead == NULL)
	{
		dead = MemoryContextAllocZero(skx_sessioncache_context(),
									  sizeof(SkxRankedWaste));
		skx_sessioncache_put(&skx_ranked_dead_kind, key, &dead->entry,
							 sizeof(SkxRankedWaste));
	}
	dead->fraction += SKX_RANKED_WASTE_WEIGHT *
		((double) unseen / desc->given - dead->fraction);
}

/*
 * Returns how many rows to search for beside the wanted ones, so that in most
 * cases as many as are wanted are not dead.  It is the expected number of dead
 * rows, plus twice its standard deviation.
 */
static uint64
skx_am_ranked_spare_rows(Relation index, uint64 wanted)
{
	SkxSessionKey key = skx_sessioncache_key(index, 0, 0);
	const SkxRankedWaste *kept = skx_sessioncache_find(&skx_ranked_dead_kind,
													   &key);
	double		dead;
	double		more;

	if (kept == NULL || wanted == 0 || wanted > PG_UINT32_MAX)
		return 0;
	dead = Min(kept->fraction, SKX_RANKED_WASTE_MAX);
	more = wanted * dead / (1 - dead);
	if (more < SKX_RANKED_WASTE_ROWS_MIN)
		return 0;
	return (uint64) (more + 2 * sqrt(more / (1 - dead))) + 1;
}

/*
 * Returns the view of the frozen statistics; NULL if it may lack rows that the
 * snapshot sees.  That view has all that the snapshot sees of other
 * transactions.  But while a command of this transaction goes on, equal
 * snapshots can see more and more of what it writes.
 */
static const SkxView *
skx_am_ranked_view(const SkxScorer *scorer, Relation index)
{
	return TransactionIdIsValid(GetTopTransactionIdIfAny()) ? NULL :
		skx_score_view(scorer, index);
}

static SkxTopk *
skx_am_ranked_search(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	SkxScanDesc *desc = &so->desc;
	SkxTopkRequest request;

	request.index = scan->indexRelation;
	request.view = skx_am_ranked_view(desc->scorer, scan->indexRelation);
	request.share = desc->ranked_share;
	if (request.share != NULL)
		request.view = skx_topk_share_view(request.share, scan->indexRelation,
										   request.view);
	else if (request.view == NULL)
		request.view = skx_manifest_view_bound(scan->indexRelation);
	request.filter = desc->request.query;
	request.scorer = desc->scorer;
	request.prior = desc->prior;
	request.wanted_rows = desc->wanted;
	request.spare_rows = skx_am_ranked_spare_rows(scan->indexRelation,
												  desc->wanted);
	request.first_rows = desc->first_rows;
	request.wants_all = desc->wants_all;
	request.after = desc->page != NULL ? &desc->page->after : NULL;
	request.work = &desc->work.ranked;
	return skx_topk_begin(&request);
}

bool
skx_am_ranked_begin(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	SkxScanDesc *desc = &so->desc;

	if (scan->numberOfOrderBys == 0)
		return false;
	/* plan_paths.c leaves no plan in which the index orders by several. */
	if (scan->numberOfOrderBys > 1)
		elog(ERROR, "skipidx cannot order by %d distances",
			 scan->numberOfOrderBys);
	desc->scorer = skx_am_ranked_scorer(scan, &scan->orderByData[0]);
	if (desc->scorer == NULL)
		return false;			/* all distances are NULL */
	so->key = skx_sessioncache_key(scan->indexRelation, 0, 0);
	if (!desc->wants_all)
		desc->rows = desc->wanted == 0 ?
			Max(desc->first_rows, SKX_TOPK_ROWS) : desc->wanted +
			skx_am_ranked_spare_rows(scan->indexRelation, desc->wanted);
	return true;
}

void
skx_am_ranked_end(SkxScan *so)
{
	if (so->desc.scorer != NULL)
		skx_am_ranked_update_waste(so);
	if (so->topk != NULL)
		skx_topk_end(so->topk);
	so->topk = NULL;
}

bool
skx_am_ranked_fetch(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	SkxScanDesc *desc = &so->desc;
	uint64		rounds = skx_blkio_rounds();
	int			i;

	if (so->topk == NULL)
		so->topk = skx_am_ranked_search(scan);
	if (desc->floor < 0)
		skx_topk_set_min_sum(so->topk, skx_score_min_sum(desc->scorer,
														 desc->floor));
	so->n = skx_topk_next(so->topk, &so->hits);
	desc->work.ranked.rounds += skx_blkio_rounds() - rounds;
	if (so->n == 0)
		return false;
	if (so->tids != NULL)
		pfree(so->tids);
	so->tids = palloc_extended(sizeof(ItemPointerData) * (Size) so->n,
							   MCXT_ALLOC_HUGE);
	for (i = 0; i < so->n; i++)
		so->tids[i] = so->hits[i].tid;
	return true;
}

bool
skx_am_ranked_is_idle(SkxScan *so)
{
	if (so->desc.ranked_share != NULL && !so->idle_is_known)
	{
		so->idle_is_known = true;
		so->is_idle = !skx_topk_share_takes_part(so->desc.ranked_share);
	}
	return so->is_idle;
}
