/*
 * rank_impacts.c
 *	  At most four (tf, norm) pairs that bound every score of a range of
 *	  postings.
 *
 * A score grows with tf and falls with the length, whatever the statistics of
 * the index are at the time of the query.  So the pairs that no other pair
 * dominates bound all scores.  Pairs are stored, not scores, because the
 * statistics change.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/rank/rank.h"

#define SKX_IMPACT_NORMS		256

/*
 * A front: pairs with tf and norm both strictly ascending, so that none
 * dominates another.
 */
typedef struct SkxImpactPareto
{
	int			n;
	struct
	{
		uint8		tf;			/* code: tf less one */
		uint8		norm;
	}			pairs[SKX_IMPACT_NORMS];
} SkxImpactPareto;

static inline uint8
skx_rank_impact_code(uint32 tf)
{
	return tf == 0 ? 0 : tf > 256 ? 255 : (uint8) (tf - 1);
}

static inline uint8
skx_rank_impact_tf(SkxImpacts impacts, int pair)
{
	return (uint8) (impacts >> (16 * pair));
}

void
skx_rank_impacts_reset(SkxImpactSet *set)
{
	memset(set, 0, sizeof(*set));
}

/*
 * Appends a pair unless it is dominated.  Its norm is at least that of the
 * pairs before.
 */
static inline void
skx_rank_pareto_add(SkxImpactPareto *front, uint8 tf, uint8 norm)
{
	if (front->n > 0 && front->pairs[front->n - 1].tf >= tf)
		return;
	/* of two pairs with the same norm, the larger tf dominates */
	if (front->n > 0 && front->pairs[front->n - 1].norm == norm)
		front->n--;
	front->pairs[front->n].tf = tf;
	front->pairs[front->n].norm = norm;
	front->n++;
}

/* Returns the cost of joining pair i with the next one. */
static inline float
skx_rank_pareto_join_cost(const SkxImpactPareto *front, int i,
						  const float *saturation)
{
	float		tf = front->pairs[i + 1].tf;

	if (saturation == NULL)
		return (tf - front->pairs[i].tf) *
			(front->pairs[i + 1].norm - front->pairs[i].norm);
	return (tf + 1) / (tf + 1 + saturation[front->pairs[i].norm]);
}

/*
 * Joins neighbouring pairs, the cheapest first, until SKX_IMPACT_PAIRS are
 * left.
 */
static void
skx_rank_pareto_reduce(SkxImpactPareto *front, const float *saturation)
{
	float		costs[SKX_IMPACT_NORMS];
	int			i;

	if (front->n <= SKX_IMPACT_PAIRS)
		return;
	for (i = 0; i + 1 < front->n; i++)
		costs[i] = skx_rank_pareto_join_cost(front, i, saturation);
	while (front->n > SKX_IMPACT_PAIRS)
	{
		int			best = 0;

		for (i = 1; i + 1 < front->n; i++)
			if (costs[i] < costs[best])
				best = i;
		front->pairs[best].tf = front->pairs[best + 1].tf;
		front->n--;
		memmove(&front->pairs[best + 1], &front->pairs[best + 2],
				(front->n - best - 1) * sizeof(front->pairs[0]));
		memmove(&costs[best], &costs[best + 1],
				(front->n - best) * sizeof(costs[0]));
		if (best > 0)
			costs[best - 1] = skx_rank_pareto_join_cost(front, best - 1,
														saturation);
		if (best + 1 < front->n)
			costs[best] = skx_rank_pareto_join_cost(front, best, saturation);
	}
}

static SkxImpacts
skx_rank_pareto_pack(SkxImpactPareto *front, const float *saturation)
{
	SkxImpacts	impacts = 0;
	int			i;

	skx_rank_pareto_reduce(front, saturation);
	for (i = 0; i < SKX_IMPACT_PAIRS; i++)
	{
		int			pair = Min(i, front->n - 1);

		impacts |= (uint64) front->pairs[pair].tf << (16 * i);
		impacts |= (uint64) front->pairs[pair].norm << (16 * i + 8);
	}
	return impacts;
}

SkxImpacts
skx_rank_impacts_pack(const SkxImpactSet *set, const float *saturation)
{
	SkxImpactPareto front;
	int			i;

	front.n = 0;
	for (i = 0; i < lengthof(set->norms); i++)
	{
		uint64		left = set->norms[i];

		while (left != 0)
		{
			int			norm = SKX_BITSET_BITS * i +
				skx_bitset_pop_lowest(&left);

			skx_rank_pareto_add(&front, (uint8) (set->tf_max[norm] - 1),
								(uint8) norm);
		}
	}
	return front.n == 0 ? SKX_IMPACTS_NONE :
		skx_rank_pareto_pack(&front, saturation);
}

SkxImpacts
skx_rank_impacts_merge(SkxImpacts a, SkxImpacts b)
{
	SkxImpactPareto front;
	int			i = 0;
	int			j = 0;

	if (a == SKX_IMPACTS_NONE || a == b)
		return b;
	if (b == SKX_IMPACTS_NONE)
		return a;
	front.n = 0;
	while (i < SKX_IMPACT_PAIRS || j < SKX_IMPACT_PAIRS)
	{
		bool		from_a = j == SKX_IMPACT_PAIRS ||
			(i < SKX_IMPACT_PAIRS &&
			 skx_rank_impact_norm(a, i) <= skx_rank_impact_norm(b, j));
		SkxImpacts	from = from_a ? a : b;
		int			pair = from_a ? i++ : j++;

		skx_rank_pareto_add(&front, skx_rank_impact_tf(from, pair),
							skx_rank_impact_norm(from, pair));
	}
	return skx_rank_pareto_pack(&front, NULL);
}

bool
skx_rank_impacts_dominate(SkxImpacts bound, uint32 tf, uint8 norm)
{
	uint8		code = skx_rank_impact_code(tf);
	int			i;

	if (bound == SKX_IMPACTS_NONE)
		return false;
	for (i = 0; i < SKX_IMPACT_PAIRS; i++)
	{
		if (skx_rank_impact_tf(bound, i) >= code &&
			skx_rank_impact_norm(bound, i) <= norm)
			return true;
	}
	return false;
}

/*
 * The first pair with a tf as large has the smallest norm, since both ascend.
 */
uint8
skx_rank_impacts_norm(SkxImpacts bound, uint32 tf)
{
	uint8		code = skx_rank_impact_code(tf);
	int			i = 0;

	while (i < SKX_IMPACT_PAIRS && skx_rank_impact_tf(bound, i) < code)
		i++;
	return i < SKX_IMPACT_PAIRS ? skx_rank_impact_norm(bound, i) :
		SKX_NORM_MAX;
}
