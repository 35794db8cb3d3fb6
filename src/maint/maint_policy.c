/*
 * maint_policy.c
 *	  Which segments to merge next.
 *
 * Segments fall into tiers by what is live in them, each tier `fan` times the
 * one below (eight, unless the index says otherwise).  So many of a tier become
 * one, which belongs to the next tier or nearly so: hence a document is written
 * once or twice a tier, and at most fan - 1 segments a tier are left.  Were
 * tiers wider than the fan, what a merge makes would often stay in its tier and
 * be written again with the next segment.  Where more have gathered, as many as
 * one merge takes become one at once, so that a backlog is not written tier by
 * tier.  What has more than half of what a segment may have is full: it makes
 * no tier larger, or the two smallest of a tier of full ones would be merged as
 * soon as there are two, time and again until they are full, too.  A segment with many deleted documents is written anew for their sake
 * alone.
 *
 * Each choice leaves fewer segments, or as many and fewer with many deletes;
 * that is why it ends.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "maint/maint_policy.h"

/*
 * Where the smallest tier ends: a segment is not smaller than a page or two a
 * plane, however little is in it.  4 MB, about what a flush makes, is the end
 * of a tier too.
 */
#define SKX_POLICY_TIER_BYTES	(64 * 1024)

static uint32
skx_maint_policy_live_docs(const SkxPolicySegment *s)
{
	return s->ndocs - Min(s->ndeleted, s->ndocs);
}

/* 0 only when nothing is live. */
static uint64
skx_maint_policy_live_bytes(const SkxPolicySegment *s)
{
	uint32		live = skx_maint_policy_live_docs(s);

	if (live == 0)
		return 0;
	return Max((uint64) ((double) s->bytes * live / s->ndocs), 1);
}

static bool
skx_maint_policy_many(const SkxPolicySegment *s,
					  const SkxPolicyLimits *limits)
{
	return s->ndeleted > (uint64) s->ndocs * limits->deleted / 100;
}

static int
skx_maint_policy_tier(const SkxPolicySegment *s, int fan)
{
	uint64		bytes = skx_maint_policy_live_bytes(s);
	int			tier = 0;

	Assert(fan >= 2 && fan <= SKX_POLICY_INPUTS_MAX);
	/* rounded up: the end of a tier, multiplied, would pass 64 bits */
	for (; bytes > SKX_POLICY_TIER_BYTES; tier++)
		bytes = (bytes - 1) / fan + 1;
	return tier;
}

/* Smallest first, and of equals the oldest. */
static int
skx_maint_policy_compare(const void *a, const void *b)
{
	const SkxPolicySegment *s = a;
	const SkxPolicySegment *t = b;
	uint64		x = skx_maint_policy_live_bytes(s);
	uint64		y = skx_maint_policy_live_bytes(t);

	if (x != y)
		return x < y ? -1 : 1;
	return (s->id > t->id) - (s->id < t->id);
}

/*
 * Takes from segments [from, to) the first that fit into one, at most `most`
 * of them; only those with many deletes if told so.  The first is taken
 * whatever its size, or it could never be rid of its deletes.  Deleted
 * documents count: a merge has a number for each document of its inputs.
 */
static int
skx_maint_policy_take(const SkxPolicySegment *segments, int from, int to,
					  int most, bool many, const SkxPolicyLimits *limits,
					  uint32 *chosen)
{
	uint64		bytes = 0;
	uint64		ndocs = 0;
	int			taken = 0;
	int			i;

	Assert(from >= 0 && from <= to && most >= 0);
	for (i = from; i < to && taken < most; i++)
	{
		uint64		more = skx_maint_policy_live_bytes(&segments[i]);
		uint32		docs = segments[i].ndocs;

		if ((many && !skx_maint_policy_many(&segments[i], limits)) ||
			(taken > 0 && (bytes + more > limits->bytes ||
						   ndocs + docs > limits->ndocs)))
			continue;
		Assert(taken == 0 || bytes + more <= limits->bytes);
		bytes += more;
		ndocs += docs;
		chosen[taken++] = segments[i].id;
	}
	return taken;
}

/* End of the tier that starts at `from`. */
static int
skx_maint_policy_tier_end(const SkxPolicySegment *segments, int n, int from,
						  int fan)
{
	int			tier = skx_maint_policy_tier(&segments[from], fan);
	int			to = from + 1;

	Assert(from < n);
	while (to < n && skx_maint_policy_tier(&segments[to], fan) == tier)
		to++;
	Assert(to == n || skx_maint_policy_tier(&segments[to], fan) > tier);
	return to;
}

/* Sorts; then takes the segments of which nothing is live. */
static int
skx_maint_policy_dead(SkxPolicySegment *segments, int n,
					  const SkxPolicyLimits *limits, uint32 *chosen)
{
	int			dead = 0;

	qsort(segments, n, sizeof(SkxPolicySegment), skx_maint_policy_compare);
	while (dead < n && skx_maint_policy_live_docs(&segments[dead]) == 0)
		dead++;
	return skx_maint_policy_take(segments, 0, dead, SKX_POLICY_INPUTS_MAX,
								 false, limits, chosen);
}

/*
 * Segments with many deletes, of one tier: as they have to be written anyway,
 * they can as well become one.
 */
static int
skx_maint_policy_purge(const SkxPolicySegment *segments, int n,
					   const SkxPolicyLimits *limits, uint32 *chosen)
{
	int			from;
	int			to;
	int			taken;

	for (from = 0; from < n; from = to)
	{
		to = skx_maint_policy_tier_end(segments, n, from, limits->fan);
		taken = skx_maint_policy_take(segments, from, to,
									  SKX_POLICY_INPUTS_MAX, true, limits,
									  chosen);
		if (taken > 0)
			return taken;
	}
	return 0;
}

/* How many are not full, of segments in order. */
static int
skx_maint_policy_open(const SkxPolicySegment *segments, int n,
					  const SkxPolicyLimits *limits)
{
	while (n > 0 &&
		   skx_maint_policy_live_bytes(&segments[n - 1]) > limits->bytes / 2)
		n--;
	return n;
}

int
skx_maint_policy_tiers(SkxPolicySegment *segments, int n,
					   const SkxPolicyLimits *limits, uint32 *chosen)
{
	int			taken = skx_maint_policy_dead(segments, n, limits,
											  chosen);
	int			open;
	int			from;
	int			to;

	if (taken > 0)
		return taken;
	open = skx_maint_policy_open(segments, n, limits);
	for (from = 0; from < open; from = to)
	{
		to = skx_maint_policy_tier_end(segments, open, from, limits->fan);
		if (to - from < limits->fan)
			continue;
		taken = skx_maint_policy_take(segments, from, to,
									  SKX_POLICY_INPUTS_MAX, false, limits,
									  chosen);
		if (taken > 1)
		{
			Assert(taken <= SKX_POLICY_INPUTS_MAX);
			return taken;
		}
	}
	return skx_maint_policy_purge(segments, n, limits, chosen);
}

int
skx_maint_policy_most(SkxPolicySegment *segments, int n, int most,
					  const SkxPolicyLimits *limits, uint32 *chosen)
{
	int			taken = skx_maint_policy_dead(segments, n, limits,
											  chosen);

	if (taken > 0)
		return taken;
	if (n > most)
	{
		taken = skx_maint_policy_take(segments, 0, n,
									  Min(n - most + 1, SKX_POLICY_INPUTS_MAX),
									  false, limits, chosen);
		if (taken > 1)
			return taken;
	}
	return skx_maint_policy_purge(segments, n, limits, chosen);
}
