/*
 * am_ranked.c
 *	  Scans with `<@>` in ORDER BY.
 *
 * A scan by distance searches for the best rows.  A scan planned for all rows
 * is often abandoned after a few (a loop that exits, a client that stops
 * fetching).  So it first searches for a few rows, which costs little compared
 * with the search for all, and then for all.
 */
#include "postgres.h"

#include <math.h>

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "sql/am/am_scan.h"
#include "utils/memutils.h"

typedef struct SkxRanked
{
	SkxScorer  *scorer;
	SkxTopk    *topk;
	const SkxTopkHit *hits;		/* those in so->tids */
} SkxRanked;

Relation
skx_am_open_bound(const SkxRef *ref)
{
	Relation	rel = try_relation_open(ref->index, AccessShareLock);

	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("index with OID %u, by which rows were to be ranked, does not exist",
						ref->index),
				 errhint("It may have been dropped since the query began; try again.")));
	if (!skx_am_is_ours(rel))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a skipidx index",
						RelationGetRelationName(rel))));
	if (ref->maker != SKX_REF_PLAN)
		skx_score_check_rights(rel);
	return rel;
}

/* What the scores go by: those of a token, or of a scan by several processes. */
static const SkxScorePins *
skx_am_ranked_pins(const SkxScan *so)
{
	if (so->wish.share != NULL)
		return skx_topk_share_pins(so->wish.share);
	return so->wish.page != NULL ? &so->wish.page->pins : NULL;
}

/* Those of the index, or that the leader of several processes has read of it. */
static void
skx_am_ranked_options(const SkxScan *so, Relation bound,
					  SkxRankOptions *options)
{
	const SkxRankOptions *shared = so->wish.share == NULL ? NULL :
		skx_topk_share_options(so->wish.share);

	if (shared != NULL)
		*options = *shared;
	else
		skx_am_rank_options(bound, options);
}

static SkxScorer *
skx_am_ranked_scorer(IndexScanDesc scan, const ScanKeyData *key)
{
	const SkxScan *so = scan->opaque;
	const SkxRef *ref;
	SkxRankOptions options;
	SkxScorer  *scorer;
	Relation	bound;

	if (key->sk_strategy != SKX_STRATEGY_RANK)
		elog(ERROR, "unrecognized skipidx ordering strategy: %d",
			 key->sk_strategy);
	if (key->sk_flags & SK_ISNULL)
		return NULL;
	ref = (const SkxRef *) PG_DETOAST_DATUM_COPY(key->sk_argument);
	bound = skx_am_open_bound(ref);
	skx_am_ranked_options(so, bound, &options);
	scorer = skx_score_open_pinned(bound, ref, scan->xs_snapshot, &options,
								   SkxRefQuery(ref),
								   skx_am_ranked_pins(so));
	relation_close(bound, NoLock);
	return scorer;
}

/*
 * What share of the rows that ranked scans of an index have given out was not
 * seen: dead ones, and all beyond those that the scan was for.  A search finds
 * as many more, since a second one for the rows that are missing costs more
 * than both.  After many updates that VACUUM has not come to yet, the best rows
 * have old versions beside them, which are nearly as good.  The session keeps
 * it of the last index of each place, which most partitioned tables have enough
 * of.
 */
typedef struct SkxRankedDead
{
	Oid			index;
	double		share;
} SkxRankedDead;

#define SKX_RANKED_PLACES	64

static SkxRankedDead skx_ranked_dead[SKX_RANKED_PLACES];

/*
 * Weight of one scan in that; the most that it counts for; and how many of the
 * wanted rows must be expected to be dead, so that a second search is as likely
 * as what more rows take of one.
 */
#define SKX_RANKED_RECENT	0.1
#define SKX_RANKED_MOST		0.75
#define SKX_RANKED_LEAST	0.05

static SkxRankedDead *
skx_am_ranked_dead(Oid index)
{
	SkxRankedDead *dead = &skx_ranked_dead[index % SKX_RANKED_PLACES];

	if (dead->index != index)
	{
		dead->index = index;
		dead->share = 0;
	}
	return dead;
}

static void
skx_am_ranked_learn(const SkxScan *so)
{
	uint64		unseen = so->ndead;
	SkxRankedDead *dead;

	if (so->wish.wanted > 0 && !so->wish.wants_all && so->ngiven > so->wish.wanted)
		unseen = Max(unseen, so->ngiven - so->wish.wanted);
	if (so->ngiven == 0)
		return;
	dead = skx_am_ranked_dead(so->index);
	dead->share += SKX_RANKED_RECENT *
		((double) unseen / so->ngiven - dead->share);
}

/*
 * Rows to search for beside those, so that most often as many are not dead,
 * which twice the standard deviation of how many are is for.
 */
static uint64
skx_am_ranked_spare(Relation index, uint64 wanted)
{
	double		dead = skx_am_ranked_dead(RelationGetRelid(index))->share;
	double		more;

	if (wanted == 0 || wanted > PG_UINT32_MAX)
		return 0;
	dead = Min(dead, SKX_RANKED_MOST);
	more = wanted * dead / (1 - dead);
	if (more < SKX_RANKED_LEAST)
		return 0;
	return (uint64) (more + 2 * sqrt(more / (1 - dead))) + 1;
}

/*
 * The view that statistics are pinned to has what other transactions did that
 * the snapshot sees.  Of what the own one does, snapshots of the same content
 * can see more and more, while a command goes on.
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
	const SkxScorer *scorer = so->ranked->scorer;
	SkxTopkRequest request;

	request.index = scan->indexRelation;
	request.view = skx_am_ranked_view(scorer, scan->indexRelation);
	request.share = so->wish.share;
	if (so->wish.share != NULL)
		request.view = skx_topk_share_view(so->wish.share, scan->indexRelation,
										   request.view);
	else if (request.view == NULL)
		request.view = skx_manifest_view_bound(scan->indexRelation);
	request.filter = so->query;
	request.scorer = scorer;
	request.wanted = so->wish.wanted;
	request.spare = skx_am_ranked_spare(scan->indexRelation, so->wish.wanted);
	request.wants_all = so->wish.wants_all;
	request.after = so->wish.page != NULL ? &so->wish.page->after : NULL;
	return skx_topk_begin(&request);
}

bool
skx_am_ranked_start(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	SkxScorer  *scorer;

	if (scan->numberOfOrderBys == 0)
		return false;
	/* A second one is sorted by: plan_paths.c leaves no other plan. */
	if (scan->numberOfOrderBys > 1)
		elog(ERROR, "skipidx cannot order by %d distances",
			 scan->numberOfOrderBys);
	scorer = skx_am_ranked_scorer(scan, &scan->orderByData[0]);
	if (scorer == NULL)
		return false;			/* all distances are NULL */
	so->index = RelationGetRelid(scan->indexRelation);
	so->ranked = palloc0(sizeof(SkxRanked));
	so->ranked->scorer = scorer;
	return true;
}

static void
skx_am_ranked_add(SkxTopkWork *sum, const SkxTopkWork *work)
{
	sum->passes += work->passes;
	sum->barred += work->barred;
	sum->entered += work->entered;
	sum->windows += work->windows;
	sum->scored += work->scored;
	sum->candidates += work->candidates;
	sum->proximity += work->proximity;
	sum->left = work->left;
}

void
skx_am_ranked_stop(SkxScan *so)
{
	if (so->ranked == NULL)
		return;
	skx_am_ranked_learn(so);
	so->ngiven = so->ndead = 0;
	if (so->ranked->topk != NULL)
	{
		skx_am_ranked_add(&so->work.ranked, skx_topk_work(so->ranked->topk));
		skx_topk_end(so->ranked->topk);
	}
	so->ranked = NULL;
}

bool
skx_am_ranked_fetch(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	SkxRanked  *ranked = so->ranked;
	uint64		rounds = skx_blkio_rounds();
	int			i;

	if (ranked->topk == NULL)
		ranked->topk = skx_am_ranked_search(scan);
	if (so->wish.floor < 0)
		skx_topk_want_from(ranked->topk, skx_score_least(ranked->scorer,
														 so->wish.floor));
	so->n = skx_topk_next(ranked->topk, &ranked->hits);
	so->work.ranked.rounds += skx_blkio_rounds() - rounds;
	if (so->n == 0)
		return false;
	if (so->tids != NULL)
		pfree(so->tids);
	so->tids = palloc_extended(sizeof(ItemPointerData) * (Size) so->n,
							   MCXT_ALLOC_HUGE);
	for (i = 0; i < so->n; i++)
		so->tids[i] = ranked->hits[i].tid;
	return true;
}

void
skx_am_ranked_note_dead(const SkxScan *so, int i)
{
	skx_topk_note_dead(so->ranked->topk, &so->ranked->hits[i]);
}

/* ---- by several processes ---- */

bool
skx_am_ranked_idle(SkxScan *so)
{
	if (so->wish.share != NULL && !so->asked)
	{
		so->asked = true;
		so->idle = !skx_topk_share_joins(so->wish.share);
	}
	return so->idle;
}

/* ---- what the scan tells ---- */

/* Rows that the first search is for; 0: for all. */
uint64
skx_am_ranked_rows(const SkxScan *so, Relation index)
{
	if (so->wish.wants_all)
		return 0;
	return so->wish.wanted == 0 ? SKX_TOPK_ROWS :
		so->wish.wanted + skx_am_ranked_spare(index, so->wish.wanted);
}

const SkxScorer *
skx_am_ranked_by(const SkxScan *so)
{
	return so->ranked == NULL ? NULL : so->ranked->scorer;
}

void
skx_am_ranked_row(const SkxScan *so, SkxScanRow *row)
{
	const SkxRanked *ranked = so->ranked;
	const SkxTopkHit *hit = &ranked->hits[so->next - 1];

	row->scorer = ranked->scorer;
	row->has_distance = !hit->is_null;
	row->distance = hit->is_null ? 0 :
		skx_score_distance(ranked->scorer, hit->sum);
	row->place.sum = hit->sum;
	row->place.tid = hit->tid;
	row->place.given = so->ngiven +
		(so->wish.page != NULL ? so->wish.page->after.given : 0);
}

void
skx_am_ranked_work(const SkxScan *so, SkxTopkWork *work)
{
	if (so->ranked != NULL && so->ranked->topk != NULL)
		skx_am_ranked_add(work, skx_topk_work(so->ranked->topk));
}
