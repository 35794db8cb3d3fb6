/*
 * topk_share.c
 *	  The first search of a scan by several processes.
 *
 * While processes are in the search, the shared state changes only in its
 * counters, in the sum that is reached, and in the array of hits.  Each
 * process takes its own part of that array when it ends.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "answer/topk/topk_share.h"
#include "answer/topk/topk_words.h"
#include "utils/memutils.h"

/* Number of classes of sums, by which hits of all processes are counted. */
#define SKX_TOPK_SUM_CLASSES	2048

/*
 * A process updates the shared threshold after this many further hits of its
 * own.
 */
#define SKX_TOPK_SHARE_EVERY		256

/*
 * Which process returns the rows.  It is the leader, if that takes part, after
 * it has waited for the others.  Rows of another process go through a queue
 * one by one, which takes longer than fetching them.
 */
enum
{
	SKX_OWNER_NONE,				/* not known yet */
	SKX_OWNER_LEADER,
	SKX_OWNER_LAST				/* the last worker: the leader has not begun */
};

struct SkxTopkShare
{
	SkxExecShared exec_share;
	bool		is_serial;		/* one process does the whole search */
	bool		is_ranked;
	int			search_rows;	/* number of rows looked for */
	uint32		max_hits;
	Size		nbytes;			/* of `ranking`, that of the leader */
	pg_atomic_flag serial_claimed;	/* a process does the whole search */
	pg_atomic_uint32 threshold; /* sum that `search_rows` documents reach */
	int			class_shift;	/* a sum shifted right by this is its class */
	pg_atomic_uint32 classes[SKX_TOPK_SUM_CLASSES];
	pg_atomic_uint32 min_sum;	/* largest hits.least of the processes */
	pg_atomic_uint32 nhits;
	pg_atomic_uint32 owner;		/* which process returns the rows: SKX_OWNER_* */
	Size		hits_offset;	/* offset of the hits of all processes */
	char		ranking[FLEXIBLE_ARRAY_MEMBER]; /* packed */
};

static SkxTopkDoc *
skx_topk_share_hits(SkxTopkShare *share)
{
	return (SkxTopkDoc *) ((char *) share + share->hits_offset);
}

static Size
skx_topk_share_hits_offset(const SkxScorer *scorer)
{
	SkxRanking	ranking;
	Size		size = 0;

	if (scorer != NULL)
	{
		skx_score_ranking(scorer, &ranking);
		size = skx_ranking_packed_size(&ranking);
	}
	return MAXALIGN(add_size(offsetof(SkxTopkShare, ranking), size));
}

static bool
skx_topk_share_is_small(uint64 rows)
{
	return rows > 0 && rows <= SKX_TOPK_SHARE_ROWS;
}

Size
skx_topk_share_size(const SkxScorer *scorer, uint64 rows, int nprocesses)
{
	Size		size = skx_topk_share_hits_offset(scorer);

	if (skx_topk_share_is_small(rows))
		size = add_size(size, mul_size(sizeof(SkxTopkDoc),
									   mul_size(rows, nprocesses)));
	return size;
}

/* Resets the search.  No process may be in it. */
static void
skx_topk_share_reset(SkxTopkShare *share)
{
	int			i;

	for (i = 0; i < SKX_TOPK_SUM_CLASSES; i++)
		pg_atomic_init_u32(&share->classes[i], 0);
	pg_atomic_init_flag(&share->serial_claimed);
	pg_atomic_init_u32(&share->threshold, 0);
	pg_atomic_init_u32(&share->min_sum, 0);
	pg_atomic_init_u32(&share->nhits, 0);
	pg_atomic_init_u32(&share->owner, SKX_OWNER_NONE);
}

/* Returns the shift by which the largest possible sum is in the last class. */
static int
skx_topk_share_shift(const SkxScorer *scorer)
{
	double		most = 0;
	int			shift = 0;
	int			i;

	for (i = 0; i < scorer->nterms; i++)
		most += scorer->terms[i].ceiling * scorer->max_label_weight;
	while (shift < 31 && most >= (double) SKX_TOPK_SUM_CLASSES * (1U << shift))
		shift++;
	return shift;
}

bool
skx_topk_is_divisible(const SkxScorer *scorer)
{
	return scorer->nterms > 0 && scorer->nplain == scorer->nterms &&
		!skx_topk_has_budget();
}

void
skx_topk_share_init(SkxTopkShare *share, const SkxScorer *scorer,
					const SkxQuery *filter, uint64 rows, int nprocesses)
{
	SkxRanking	ranking;

	skx_exec_share_init(&share->exec_share);
	share->is_ranked = scorer != NULL;
	share->search_rows = (int) Min(rows, SKX_TOPK_SHARE_ROWS);
	share->max_hits = (uint32) share->search_rows * nprocesses;
	share->hits_offset = skx_topk_share_hits_offset(scorer);
	share->is_serial = scorer == NULL || !skx_topk_share_is_small(rows) ||
		!skx_topk_is_divisible(scorer) ||
		skx_topk_filter_gathers(scorer, filter);
	share->class_shift = 0;
	if (scorer != NULL)
	{
		share->class_shift = skx_topk_share_shift(scorer);
		skx_score_ranking(scorer, &ranking);
		share->nbytes = (char *)
			skx_ranking_pack(&ranking, (uint8 *) share->ranking) -
			share->ranking;
	}
	skx_topk_share_reset(share);
}

void
skx_topk_share_restart(SkxTopkShare *share)
{
	skx_exec_share_restart(&share->exec_share);
	skx_topk_share_reset(share);
}

/* The bytes are copied, since the shared memory may go before the scorer. */
const SkxRanking *
skx_topk_share_ranking(const SkxTopkShare *share)
{
	char	   *bytes;
	SkxRanking *ranking;

	if (!share->is_ranked)
		return NULL;
	bytes = palloc_extended(share->nbytes, MCXT_ALLOC_HUGE);
	memcpy(bytes, share->ranking, share->nbytes);
	ranking = skx_score_unpack(bytes, share->nbytes);
	if (ranking == NULL)
		elog(ERROR, "a search by several processes has no ranking");
	return ranking;
}

bool
skx_topk_share_takes_part(SkxTopkShare *share)
{
	return !share->is_serial ||
		pg_atomic_test_set_flag(&share->serial_claimed);
}

const SkxView *
skx_topk_share_view(SkxTopkShare *share, Relation index, const SkxView *own)
{
	return skx_exec_share_view(&share->exec_share, index, own);
}

/* ---- the search ---- */

/* Raises *number to `value`, unless it is larger. */
static void
skx_topk_atomic_max(pg_atomic_uint32 *number, uint32 value)
{
	uint32		old = pg_atomic_read_u32(number);

	while (old < value &&
		   !pg_atomic_compare_exchange_u32(number, &old, value))
		;
}

void
skx_topk_share_count_hit(SkxTopk *topk, int32 sum)
{
	int			class = Min(sum >> topk->share->class_shift,
							SKX_TOPK_SUM_CLASSES - 1);

	pg_atomic_fetch_add_u32(&topk->share->classes[class], 1);
	topk->unshared_hits++;
}

/*
 * Returns a sum that `search_rows` hits of all processes reach, by their
 * classes, or 0 if there are fewer hits.
 */
static uint32
skx_topk_share_class_threshold(SkxTopkShare *share)
{
	uint64		n = 0;
	int			class;

	for (class = SKX_TOPK_SUM_CLASSES - 1; class > 0; class--)
	{
		n += pg_atomic_read_u32(&share->classes[class]);
		if (n >= share->search_rows)
			return (uint32) class << share->class_shift;
	}
	return 0;
}

void
skx_topk_share_exchange(SkxTopkRun *run)
{
	SkxTopk    *topk = run->topk;
	SkxTopkHeap *hits = &topk->hits;
	int32		reached;

	if (topk->unshared_hits >= SKX_TOPK_SHARE_EVERY)
	{
		skx_topk_atomic_max(&topk->share->threshold,
							skx_topk_share_class_threshold(topk->share));
		topk->unshared_hits = 0;
	}
	if (hits->n == hits->wanted_hits)
		skx_topk_atomic_max(&topk->share->threshold, hits->heap[0].sum);
	reached = (int32) pg_atomic_read_u32(&topk->share->threshold);
	topk->shared_threshold = Max(topk->shared_threshold, reached);
	run->threshold = Max(run->threshold, topk->shared_threshold);
}

int
skx_topk_share_search_rows(const SkxTopk *topk)
{
	return topk->share == NULL ||
		topk->share->is_serial ? 0 : topk->share->search_rows;
}

/* Leaves the hits of this process to the one that returns the rows. */
static void
skx_topk_share_deposit_hits(SkxTopk *topk)
{
	SkxTopkShare *share = topk->share;
	uint32		at = pg_atomic_fetch_add_u32(&share->nhits, topk->hits.n);

	if (at > share->max_hits || topk->hits.n > share->max_hits - at)
		elog(ERROR, "a search by several processes has too many hits");
	if (topk->hits.n > 0)
		memcpy(skx_topk_share_hits(share) + at, topk->hits.heap,
			   sizeof(SkxTopkDoc) * topk->hits.n);
	skx_topk_atomic_max(&share->min_sum, topk->hits.min_sum);
}

/*
 * Gathers the hits of all processes, but those below the highest threshold
 * that one of them began with: others with such sums were left out there.
 */
static void
skx_topk_share_collect_hits(SkxTopk *topk)
{
	SkxTopkShare *share = topk->share;
	uint32		n = pg_atomic_read_u32(&share->nhits);
	uint32		i;

	topk->hits.n = topk->hits.checked_min = 0;
	topk->hits.min_sum = pg_atomic_read_u32(&share->min_sum);
	for (i = 0; i < n; i++)
	{
		const SkxTopkDoc *hit = &skx_topk_share_hits(share)[i];

		CHECK_FOR_INTERRUPTS();
		if (hit->sum >= topk->hits.min_sum)
			skx_topk_hits_add(topk, hit);
	}
}

/*
 * Claims that this process returns the rows.  Returns true for the first
 * claim.
 */
static bool
skx_topk_share_claim_rows(SkxTopkShare *share, uint32 owner)
{
	uint32		none = SKX_OWNER_NONE;

	return pg_atomic_compare_exchange_u32(&share->owner, &none, owner);
}

SkxExecShared *
skx_topk_share_exec(SkxTopkShare *share)
{
	return &share->exec_share;
}

/*
 * Ends the part of this process in the search.  Returns true if it returns the
 * rows.
 */
static bool
skx_topk_share_finish(SkxTopk *topk)
{
	bool		last = skx_exec_finish_process(topk->exec);

	if (IsParallelWorker())
		return last && skx_topk_share_claim_rows(topk->share, SKX_OWNER_LAST);
	skx_exec_wait_others(topk->exec);
	return true;
}

bool
skx_topk_share_search(SkxTopk *topk)
{
	SkxTopkShare *share = topk->share;
	bool		owner = false;

	if (IsParallelWorker() ||
		skx_topk_share_claim_rows(share, SKX_OWNER_LEADER))
	{
		(void) skx_exec_next(topk->exec);
		skx_topk_share_deposit_hits(topk);
		owner = skx_topk_share_finish(topk);
	}
	if (owner)
		skx_topk_share_collect_hits(topk);
	topk->has_all_hits = owner;
	topk->share = NULL;
	topk->shared_threshold = 0;
	return owner;
}
