/*
 * am_ranked.c
 *	  Scans with `<@>` in ORDER BY.
 *
 * One distance is answered by a search for the best rows.  Who wants all of
 * them may be content with a few nevertheless: nobody knows whether a loop will
 * be left, or a client fetches on.  So there is a search for a few, which is
 * hardly any work beside the one for all, and then that.
 *
 * Several distances are answered by computing them all for every row, and
 * sorting: the executor offers no way to refuse them.
 */
#include "postgres.h"

#include "access/relation.h"
#include "am/am_scan.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/*
 * Where all rows are wanted: how many the search for the first ones is for, and
 * how many all may be to be found by that search, with a margin as they are
 * guessed.
 */
#define SKX_RANKED_FIRST	64
#define SKX_RANKED_FEW		1024
#define SKX_RANKED_MARGIN	1.25

/* A row with several distances. */
typedef struct SkxRankedRow
{
	ItemPointerData tid;
	bool		is_null;
	int32		sum;			/* of one key, until all are known: */
	int32	   *sums;			/* one a key */
} SkxRankedRow;

typedef struct SkxRanked
{
	int			nkeys;
	SkxScorer **scorers;		/* NULL: the key is NULL */
	SkxTopk    *topk;
	const SkxTopkHit *hits;		/* those in so->tids */
	uint64		given;			/* rows of several keys */
	uint64		nrows;
	SkxRankedRow *rows;
	int32	   *sums;
} SkxRanked;

Relation
skx_am_open_bound(Oid index)
{
	Relation	rel = try_relation_open(index, AccessShareLock);

	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("index with OID %u, by which rows were to be ranked, does not exist",
						index),
				 errhint("It may have been dropped since the query began; try again.")));
	if ((rel->rd_rel->relkind != RELKIND_INDEX &&
		 rel->rd_rel->relkind != RELKIND_PARTITIONED_INDEX) ||
		rel->rd_indam->amoptions != skxoptions)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a skipidx index",
						RelationGetRelationName(rel))));
	return rel;
}

static SkxScorer *
skx_am_ranked_scorer(IndexScanDesc scan, const ScanKeyData *key)
{
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
	bound = skx_am_open_bound(ref->index);
	skx_am_rank_options(bound, &options);
	scorer = skx_score_open(bound, scan->xs_snapshot, &options,
							SkxRefQuery(ref));
	relation_close(bound, NoLock);
	return scorer;
}

static SkxTopk *
skx_am_ranked_search(IndexScanDesc scan, const SkxScorer *scorer,
					 uint64 wanted)
{
	SkxScan    *so = scan->opaque;
	SkxTopkRequest request;

	request.index = scan->indexRelation;
	request.view = skx_score_view(scorer, scan->indexRelation);
	if (request.view == NULL)
	{
		if (so->view == NULL)
			so->view = skx_manifest_view(scan->indexRelation);
		request.view = so->view;
	}
	request.filter = so->query;
	request.scorer = scorer;
	request.wanted = wanted;
	request.all = so->wants_all;
	return skx_topk_begin(&request);
}

bool
skx_am_ranked_start(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	SkxRanked  *ranked;
	bool		any = false;
	int			i;

	if (scan->numberOfOrderBys == 0)
		return false;
	ranked = palloc0(sizeof(SkxRanked));
	ranked->nkeys = scan->numberOfOrderBys;
	ranked->scorers = palloc(sizeof(SkxScorer *) * ranked->nkeys);
	for (i = 0; i < ranked->nkeys; i++)
	{
		ranked->scorers[i] = skx_am_ranked_scorer(scan,
												  &scan->orderByData[i]);
		any |= ranked->scorers[i] != NULL;
	}
	if (!any)
		return false;			/* all distances are NULL */
	so->ranked = ranked;
	return true;
}

static void
skx_am_ranked_add(SkxTopkWork *sum, const SkxTopkWork *work)
{
	sum->passes += work->passes;
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
	if (so->ranked->topk != NULL)
	{
		skx_am_ranked_add(&so->work, skx_topk_work(so->ranked->topk));
		skx_topk_end(so->ranked->topk);
	}
	so->ranked = NULL;
}

static int
skx_am_ranked_compare_tid(const void *a, const void *b)
{
	const SkxRankedRow *x = a;
	const SkxRankedRow *y = b;

	return ItemPointerCompare(unconstify(ItemPointerData *, &x->tid),
							  unconstify(ItemPointerData *, &y->tid));
}

static int
skx_am_ranked_compare(const void *a, const void *b, void *arg)
{
	const SkxRankedRow *x = a;
	const SkxRankedRow *y = b;
	const SkxRanked *ranked = arg;
	int			i;

	if (x->is_null != y->is_null)
		return x->is_null ? 1 : -1;
	for (i = 0; i < ranked->nkeys; i++)
	{
		float4		s;
		float4		t;

		if (ranked->scorers[i] == NULL)
			continue;
		s = skx_score_distance(ranked->scorers[i], x->sums[i]);
		t = skx_score_distance(ranked->scorers[i], y->sums[i]);
		if (s != t)
			return s < t ? -1 : 1;
	}
	return skx_am_ranked_compare_tid(a, b);
}

/* All rows with the sums of one key, by TID. */
static uint64
skx_am_ranked_gather(IndexScanDesc scan, int key, SkxRankedRow **rows)
{
	SkxRanked  *ranked = ((SkxScan *) scan->opaque)->ranked;
	SkxTopk    *topk = skx_am_ranked_search(scan, ranked->scorers[key],
											PG_UINT32_MAX);
	const SkxTopkHit *hits;
	uint64		size = 1024;
	uint64		n = 0;
	int			some;

	*rows = palloc(sizeof(SkxRankedRow) * size);
	while ((some = skx_topk_next(topk, &hits)) > 0)
	{
		int			i;

		CHECK_FOR_INTERRUPTS();
		if (n + some > size)
		{
			size = Max(n + some, size * 2);
			*rows = repalloc_huge(*rows, sizeof(SkxRankedRow) * size);
		}
		for (i = 0; i < some; i++)
		{
			(*rows)[n].tid = hits[i].tid;
			(*rows)[n].is_null = hits[i].is_null;
			(*rows)[n++].sum = hits[i].sum;
		}
	}
	skx_topk_end(topk);
	qsort(*rows, n, sizeof(SkxRankedRow), skx_am_ranked_compare_tid);
	return n;
}

/* Every row with all of its distances, sorted. */
static void
skx_am_ranked_sort(IndexScanDesc scan)
{
	SkxRanked  *ranked = ((SkxScan *) scan->opaque)->ranked;
	int			key;

	for (key = 0; key < ranked->nkeys; key++)
	{
		SkxRankedRow *rows;
		uint64		n;
		uint64		i;

		if (ranked->scorers[key] == NULL)
			continue;
		n = skx_am_ranked_gather(scan, key, &rows);
		if (ranked->rows != NULL && n != ranked->nrows)
			elog(ERROR, "rankings of one view have " UINT64_FORMAT " and " UINT64_FORMAT " rows",
				 ranked->nrows, n);
		if (ranked->sums == NULL)
			ranked->sums = palloc_extended(sizeof(int32) * ranked->nkeys *
										   (n + 1),
										   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		for (i = 0; i < n; i++)
			ranked->sums[i * ranked->nkeys + key] = rows[i].sum;
		if (ranked->rows != NULL)
			pfree(rows);
		else
			ranked->rows = rows;
		ranked->nrows = n;
	}
	for (uint64 i = 0; i < ranked->nrows; i++)
		ranked->rows[i].sums = ranked->sums + i * ranked->nkeys;
	qsort_arg(ranked->rows, ranked->nrows, sizeof(SkxRankedRow),
			  skx_am_ranked_compare, ranked);
}

/* The next rows of a scan with several distances. */
static bool
skx_am_ranked_fetch_sorted(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	SkxRanked  *ranked = so->ranked;
	uint64		i;

	if (ranked->rows == NULL)
		skx_am_ranked_sort(scan);
	if (so->tids == NULL)
		so->tids = palloc(sizeof(ItemPointerData) * SKX_QUERY_BATCH);
	so->n = Min(SKX_QUERY_BATCH, ranked->nrows - ranked->given);
	for (i = 0; i < so->n; i++)
		so->tids[i] = ranked->rows[ranked->given++].tid;
	return so->n > 0;
}

bool
skx_am_ranked_fetch(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	SkxRanked  *ranked = so->ranked;
	int			i;

	if (ranked->nkeys > 1)
		return skx_am_ranked_fetch_sorted(scan);
	if (ranked->topk == NULL)
		ranked->topk = skx_am_ranked_search(scan, ranked->scorers[0],
											so->wanted);
	so->n = skx_topk_next(ranked->topk, &ranked->hits);
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
skx_am_scan_want(IndexScanDesc scan, uint64 rows)
{
	SkxScan    *so = scan->opaque;

	so->wanted = rows;
	so->wants_all = false;
}

uint64
skx_am_scan_first(double rows)
{
	rows *= SKX_RANKED_MARGIN;
	return rows > SKX_RANKED_FEW ? SKX_RANKED_FIRST :
		(uint64) Max(rows, SKX_RANKED_FIRST);
}

void
skx_am_scan_want_all(IndexScanDesc scan, double rows)
{
	SkxScan    *so = scan->opaque;

	so->wanted = skx_am_scan_first(rows);
	so->wants_all = true;
}

bool
skx_am_scan_distance(IndexScanDesc scan, float4 *distance)
{
	SkxScan    *so = scan->opaque;
	SkxRanked  *ranked = so->ranked;
	const SkxTopkHit *hit;

	*distance = 0;
	if (ranked == NULL || ranked->nkeys > 1 || so->next == 0)
		return false;
	hit = &ranked->hits[so->next - 1];
	if (hit->is_null)
		return false;
	*distance = skx_score_distance(ranked->scorers[0], hit->sum);
	return true;
}

const SkxTopkWork *
skx_am_scan_work(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;

	so->total = so->work;
	if (so->ranked != NULL && so->ranked->topk != NULL)
		skx_am_ranked_add(&so->total, skx_topk_work(so->ranked->topk));
	return &so->total;
}
