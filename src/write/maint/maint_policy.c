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
 * soon as there are two, time and again until they are full, too.  A segment
 * with many deleted documents is written anew for their sake alone.
 *
 * Where a tier has more than one merge takes, and columns have keys, those
 * become one that are neighbours by a column: others then have few of the keys
 * between its least and its most, and a scan in the column's order comes to one
 * segment after the other.
 *
 * Each choice leaves fewer segments, or as many and fewer with many deletes;
 * that is why it ends.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "write/maint/maint_policy.h"

/*
 * Where the smallest tier ends: a segment is not smaller than a page or two a
 * plane, however little is in it.  4 MB, about what a flush makes, is the end
 * of a tier too.
 */
#define SKX_POLICY_TIER_BYTES	(64 * 1024)

/*
 * An index of so many live bytes is small: a query pays for each of its
 * segments about what it pays for all that is in them.  So all become one when
 * those beside the largest have this part of it.  Where many documents are
 * dead a query pays for these, too, and only a merge of the largest finds most
 * of them: then it is a smaller part, and half as many segments may stay.
 */
#define SKX_POLICY_SMALL		(64 * 1024 * 1024)
#define SKX_POLICY_SMALL_PART	2
#define SKX_POLICY_DYING_PART	4

/*
 * Merges make room only once nothing waits: of pages that wait for transactions
 * they add as many as they free.  Beside more than half of what is live they
 * are left but for what keeps segments few, beside twice of it altogether.
 */
#define SKX_POLICY_WAITING_PART		2
#define SKX_POLICY_WAITING_TIMES	2

/*
 * How long a file may be beside readers, in percent of what is live; where one
 * segment has half of it or more, for each percent of that above 25 one more,
 * since it is written anew beside itself.
 */
#define SKX_POLICY_FILE_LEAST		150
#define SKX_POLICY_FILE_MOST		200
#define SKX_POLICY_FILE_OTHERS		125

/*
 * Where no segment of an index that is not small has more than this part, none
 * gets more, so that there is room to write any of them anew.
 */
#define SKX_POLICY_MANY_PART		4

/* Room that a merge always has: this part of what is live, and 1 MB. */
#define SKX_POLICY_ROOM_PART		16
#define SKX_POLICY_ROOM_LEAST		(1024 * 1024 / BLCKSZ)

/*
 * A segment of a file that is not small comes to lie lower by such a part of
 * what is written at least.  Free pages that lie between others lower it again
 * and again by a little, and all of it is written each time.
 */
#define SKX_POLICY_MOVE_PART	4

/* Where little is free: so much more than expected a segment may take. */
#define SKX_POLICY_FIT_PART		8

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
	if (s->id <= limits->purged)
		return s->ndeleted > 0;
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

		if ((many && (!skx_maint_policy_many(&segments[i], limits) ||
					  (limits->room > 0 && more > limits->room))) ||
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

/* Strangers that a window may have because it has two ends. */
#define SKX_POLICY_BORDERS		2

/* Neighbours that one merge takes. */
typedef struct SkxPolicyWindow
{
	int			column;
	int			from;			/* in the order of that column */
	int			n;
	int			strangers;		/* others with keys between theirs */
} SkxPolicyWindow;

/* By the least keys of a column; those without keys last. */
static int
skx_maint_policy_compare_keys(const void *a, const void *b, void *arg)
{
	const SkxPolicySegment *s = a;
	const SkxPolicySegment *t = b;
	const SkxPolicyRange *x = &s->ranges[*(const int *) arg];
	const SkxPolicyRange *y = &t->ranges[*(const int *) arg];

	if ((x->least > x->most) != (y->least > y->most))
		return x->least > x->most ? 1 : -1;
	if (x->least != y->least)
		return x->least < y->least ? -1 : 1;
	return (s->id > t->id) - (s->id < t->id);
}

/* How many of n segments, from the first on, one merge takes. */
static int
skx_maint_policy_reach(const SkxPolicySegment *segments, int n,
					   const SkxPolicyLimits *limits)
{
	uint64		bytes = 0;
	uint64		ndocs = 0;
	int			i;

	for (i = 0; i < Min(n, SKX_POLICY_INPUTS_MAX); i++)
	{
		bytes += skx_maint_policy_live_bytes(&segments[i]);
		ndocs += segments[i].ndocs;
		if (bytes > limits->bytes || ndocs > limits->ndocs)
			break;
	}
	return i;
}

/*
 * How many of n segments have keys between those of a window's, which are `w->n`
 * of them, from `first` on.
 */
static int
skx_maint_policy_strangers(const SkxPolicySegment *segments, int n,
						   const SkxPolicySegment *first,
						   const SkxPolicyWindow *w)
{
	SkxPolicyRange all = {PG_UINT64_MAX, 0};
	int			strangers = 0;
	int			i;

	for (i = 0; i < w->n; i++)
	{
		const SkxPolicyRange *range = &first[i].ranges[w->column];

		if (range->least > range->most)
			continue;
		all.least = Min(all.least, range->least);
		all.most = Max(all.most, range->most);
		strangers--;
	}
	for (i = 0; i < n; i++)
	{
		const SkxPolicyRange *range = &segments[i].ranges[w->column];

		strangers += range->least <= range->most &&
			range->least <= all.most && range->most >= all.least;
	}
	return strangers;
}

/*
 * The best window of segments [from, to), which are put in the order of a
 * column, if it is better than `best`.  What comes before or after a window
 * would not have fitted into it: so it becomes a full segment, or has as many as
 * a merge takes, as what is taken by size.  Of those that are about as good the
 * first is taken: then what is left is next to each other, too.
 */
static void
skx_maint_policy_windows(SkxPolicySegment *segments, int n, int from, int to,
						 int column, const SkxPolicyLimits *limits,
						 SkxPolicyWindow *best)
{
	SkxPolicyWindow w = {column, from, 0, 0};

	qsort_arg(segments + from, to - from, sizeof(SkxPolicySegment),
			  skx_maint_policy_compare_keys, &column);
	for (; w.from < to && (w.from == from || w.from - 1 + w.n < to); w.from++)
	{
		w.n = skx_maint_policy_reach(segments + w.from, to - w.from, limits);
		if (w.n < 2)
			continue;
		w.strangers = skx_maint_policy_strangers(segments, n,
												 segments + w.from, &w);
		if (best->n == 0 ||
			w.strangers < best->strangers - SKX_POLICY_BORDERS)
			*best = w;
	}
}

/*
 * Takes neighbours of segments [from, to); 0: one merge takes all of them, or
 * no two, or no column has keys.  Then they are in the order of their sizes, as
 * before.
 */
static int
skx_maint_policy_neighbours(SkxPolicySegment *segments, int n, int from,
							int to, const SkxPolicyLimits *limits,
							uint32 *chosen)
{
	SkxPolicyWindow best = {0};
	int			i;

	if (skx_maint_policy_reach(segments + from, to - from, limits) ==
		to - from)
		return 0;
	for (i = 0; i < limits->nranges; i++)
		skx_maint_policy_windows(segments, n, from, to, i, limits, &best);
	if (best.n > 0)
		qsort_arg(segments + from, to - from, sizeof(SkxPolicySegment),
				  skx_maint_policy_compare_keys, &best.column);
	else
		qsort(segments + from, to - from, sizeof(SkxPolicySegment),
			  skx_maint_policy_compare);
	for (i = 0; i < best.n; i++)
		chosen[i] = segments[best.from + i].id;
	return best.n;
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

static uint64
skx_maint_policy_bytes(const SkxPolicySegment *segments, int n)
{
	uint64		bytes = 0;
	int			i;

	for (i = 0; i < n; i++)
		bytes += skx_maint_policy_live_bytes(&segments[i]);
	return bytes;
}

/* Takes all segments, which are in order, of a small index of so many bytes. */
static int
skx_maint_policy_all(const SkxPolicySegment *segments, int n, uint64 bytes,
					 const SkxPolicyLimits *limits, uint32 *chosen)
{
	uint64		largest;

	if (n < limits->fan || n > SKX_POLICY_INPUTS_MAX)
		return 0;
	largest = skx_maint_policy_live_bytes(&segments[n - 1]);
	if (bytes - largest < largest / (limits->dying ? SKX_POLICY_DYING_PART :
									 SKX_POLICY_SMALL_PART) ||
		skx_maint_policy_reach(segments, n, limits) < n)
		return 0;
	return skx_maint_policy_take(segments, 0, n, n, false, limits, chosen);
}

/* As many as there may be of a tier, or more, of the first `open` segments. */
static int
skx_maint_policy_full_tier(SkxPolicySegment *segments, int n, int open,
						   const SkxPolicyLimits *limits, uint32 *chosen)
{
	int			taken;
	int			from;
	int			to;

	for (from = 0; from < open; from = to)
	{
		to = skx_maint_policy_tier_end(segments, open, from, limits->fan);
		if (to - from < limits->fan)
			continue;
		taken = skx_maint_policy_neighbours(segments, n, from, to, limits,
											chosen);
		if (taken == 0)
			taken = skx_maint_policy_take(segments, from, to,
										  SKX_POLICY_INPUTS_MAX, false,
										  limits, chosen);
		if (taken > 1)
		{
			Assert(taken <= SKX_POLICY_INPUTS_MAX);
			return taken;
		}
	}
	return 0;
}

int
skx_maint_policy_tiers(SkxPolicySegment *segments, int n,
					   const SkxPolicyLimits *limits, uint32 *chosen)
{
	SkxPolicyLimits l = *limits;
	int			taken = skx_maint_policy_dead(segments, n, limits,
											  chosen);
	uint64		bytes;
	bool		spares;
	int			open;

	bytes = skx_maint_policy_bytes(segments, n);
	if (taken > 0 || l.waiting / SKX_POLICY_WAITING_TIMES > bytes)
		return taken;
	spares = l.waiting > bytes / SKX_POLICY_WAITING_PART;
	if (l.room > 0)
		l.bytes = Min(l.bytes, l.room);
	open = skx_maint_policy_open(segments, n, &l);
	if (open == n && bytes <= SKX_POLICY_SMALL && !spares)
	{
		if (l.dying)
			l.fan = Max(l.fan / 2, 2);
		taken = skx_maint_policy_all(segments, n, bytes, &l, chosen);
	}
	if (taken == 0)
		taken = skx_maint_policy_full_tier(segments, n, open, &l, chosen);
	if (taken == 0 && !spares)
		taken = skx_maint_policy_purge(segments, n, &l, chosen);
	return taken;
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

uint64
skx_maint_policy_room(uint64 nblocks, uint64 free, uint64 live,
					  uint64 largest)
{
	uint64		percent = SKX_POLICY_FILE_OTHERS +
		largest * 100 / Max(live, 1);
	uint64		room;
	uint64		most;
	uint64		least;

	percent = Max(percent, SKX_POLICY_FILE_LEAST);
	most = live * Min(percent, SKX_POLICY_FILE_MOST) / 100;
	least = Max(live / SKX_POLICY_ROOM_PART, SKX_POLICY_ROOM_LEAST);
	room = Max(free + (most > nblocks ? most - nblocks : 0), least);
	if (live > SKX_POLICY_SMALL / BLCKSZ &&
		largest <= live / SKX_POLICY_MANY_PART)
		room = Min(room, live / SKX_POLICY_MANY_PART);
	return room;
}

int
skx_maint_policy_fit(SkxPolicySegment *segments, int n, uint64 left,
					 uint32 *chosen)
{
	uint64		most = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		uint64		live = skx_maint_policy_live_bytes(&segments[i]);
		uint64		gain;

		/* what is live may take some more pages than its part */
		live += live / SKX_POLICY_FIT_PART;
		gain = segments[i].bytes - Min(segments[i].bytes, live);
		if (live > left || gain <= SKX_POLICY_TIER_BYTES || gain <= most)
			continue;
		most = gain;
		chosen[0] = segments[i].id;
	}
	return most > 0 ? 1 : 0;
}

bool
skx_maint_policy_moves(uint32 nblocks, uint64 npages, uint32 from, uint32 to)
{
	Assert(to <= from && from <= nblocks);
	return nblocks <= SKX_MOVE_SMALL ||
		from - to >= npages / SKX_POLICY_MOVE_PART;
}
