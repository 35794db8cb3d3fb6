/*
 * maint_policy.c
 *	  The merge policy: which segments to merge next.
 *
 * Segments fall into tiers by their live bytes; each tier is `fan` times as
 * large as the one below.  As soon as a tier has `fan` segments, they become
 * one, which belongs to the next tier or nearly so.  Hence a document is
 * written once or twice a tier, and at most fan - 1 segments a tier are left.
 * If tiers were wider than `fan`, the result of a merge would often stay in
 * its tier, and be written again with the next segment.
 *
 * If a tier has more than `fan` segments, as many as one merge takes become
 * one at once.  So a backlog is not written tier by tier.
 *
 * A segment with more than half of the bytes that a segment may have is full,
 * and counts for no tier.  Otherwise the two smallest of a tier of such
 * segments would be merged as soon as there are two, again and again.  A
 * segment with many deleted documents is written anew, even if it is full.
 *
 * If a tier has more segments than one merge takes, and columns have keys, the
 * merge takes segments that are neighbours by a column.  Then few other
 * segments have keys between the least and the most of the result, and a scan
 * in the order of the column reads one segment after the other.
 *
 * Merging ends, because each choice leaves fewer segments, or as many segments
 * of which fewer have many deleted documents.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "write/maint/maint_policy.h"

/*
 * Largest size in the smallest tier.  A segment has at least a page or two a
 * plane, even if it has few documents.  The tiers that follow from it have an
 * end at 4 MB, about what a flush makes.
 */
#define SKX_POLICY_TIER_BYTES	(64 * 1024)

/*
 * An index is small if it has at most SKX_POLICY_SMALL_BYTES live bytes: a
 * query pays for each segment about as much as for all documents in it.  So
 * all segments become one when those beside the largest have at least half as
 * many bytes as the largest (SKX_POLICY_SMALL_FRACTION).
 *
 * If many documents are dead, a query pays for these, too, and only a merge of
 * the largest segment finds most of them.  Then a quarter is enough
 * (SKX_POLICY_LIKELY_DEAD_FRACTION), and half as many segments as `fan` are
 * merged.
 */
#define SKX_POLICY_SMALL_BYTES		(64 * 1024 * 1024)
#define SKX_POLICY_SMALL_FRACTION	2
#define SKX_POLICY_LIKELY_DEAD_FRACTION	4

/*
 * The pages that a merge frees wait for transactions, so merges free no space
 * while these go on.  If more bytes wait than half of the live bytes, only
 * full tiers are merged.  If more than twice the live bytes wait, only
 * segments without live documents are taken.
 */
#define SKX_POLICY_WAITING_FRACTION		2
#define SKX_POLICY_WAITING_TIMES	2

/*
 * Length that a file may reach while readers use it, in percent of its live
 * pages.  It is SKX_POLICY_FILE_WITH_READERS plus the percentage of the
 * largest segment, within SKX_POLICY_FILE_MIN and SKX_POLICY_FILE_MAX.  The
 * largest segment counts because its new version is written while the old one
 * is still there.
 */
#define SKX_POLICY_FILE_MIN		150
#define SKX_POLICY_FILE_MAX		200
#define SKX_POLICY_FILE_WITH_READERS		125

/*
 * If no segment of an index that is not small has more than this part of it,
 * merges make none that has more.  So there is space to write any of them
 * anew.
 */
#define SKX_POLICY_MANY_FRACTION		4

/*
 * A merge may always take this part of the live pages, or 1 MB if that is
 * more.
 */
#define SKX_POLICY_RESULT_FRACTION		16
#define SKX_POLICY_RESULT_MIN		(1024 * 1024 / BLCKSZ)

/*
 * In a file that is not small, a segment moves only if its end comes down by
 * this part of the pages that are written, or more.  Otherwise free pages
 * between segments would lower it again and again by a little, and all of it
 * would be written each time.
 */
#define SKX_POLICY_MOVE_FRACTION	4

/*
 * In a file that cannot grow, a new segment may take this part more bytes than
 * its documents have at present.
 */
#define SKX_POLICY_FIT_FRACTION		8

static uint32
skx_maint_policy_live_docs(const SkxPolicySegment *s)
{
	return s->ndocs - Min(s->ndeleted, s->ndocs);
}

/* Returns the bytes of live documents; 0 only if no document is live. */
static uint64
skx_maint_policy_live_bytes(const SkxPolicySegment *s)
{
	uint32		live = skx_maint_policy_live_docs(s);

	if (live == 0)
		return 0;
	return Max((uint64) ((double) s->bytes * live / s->ndocs), 1);
}

static bool
skx_maint_policy_has_many(const SkxPolicySegment *s,
						  const SkxPolicyLimits *limits)
{
	if (s->id <= limits->purge_up_to)
		return s->ndeleted > 0;
	return s->ndeleted > (uint64) s->ndocs * limits->deleted_percent / 100;
}

static int
skx_maint_policy_tier(const SkxPolicySegment *s, int fan)
{
	uint64		bytes = skx_maint_policy_live_bytes(s);
	int			tier = 0;

	Assert(fan >= 2 && fan <= SKX_POLICY_INPUTS_MAX);
	/* divides and rounds up, because a product could exceed 64 bits */
	for (; bytes > SKX_POLICY_TIER_BYTES; tier++)
		bytes = (bytes - 1) / fan + 1;
	return tier;
}

/* Sorts by live bytes, smallest first; equal segments by age, oldest first. */
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
 * Chooses inputs of a merge: the first of segments [from, to) whose result
 * stays within the limits, at most `most` of them.  Stores their ids in
 * chosen, and returns how many.  With `many`, it takes only segments with many
 * deleted documents.  The first one is taken whatever its size, because it
 * could not lose its deleted documents otherwise.  Deleted documents count
 * towards limits->ndocs, since a merge has a number for each document of its
 * inputs.
 */
static int
skx_maint_policy_choose_inputs(const SkxPolicySegment *segments, int from,
							   int to, int most, bool many,
							   const SkxPolicyLimits *limits,
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

		if ((many && (!skx_maint_policy_has_many(&segments[i], limits) ||
					  (limits->result_bytes_max > 0 &&
					   more > limits->result_bytes_max))) ||
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

/* Strangers that even a good window may have, one at each end. */
#define SKX_POLICY_BORDER_STRANGERS		2

/* Neighbours that one merge can take. */
typedef struct SkxPolicyWindow
{
	int			column;
	int			from;			/* in the order of that column */
	int			n;
	int			noverlapping;	/* segments outside, with keys between theirs */
} SkxPolicyWindow;

/* Sorts by the least key of a column; segments without keys come last. */
static int
skx_maint_policy_compare_keys(const void *a, const void *b, void *arg)
{
	const SkxPolicySegment *s = a;
	const SkxPolicySegment *t = b;
	const SkxPolicyRange *x = &s->ranges[*(const int *) arg];
	const SkxPolicyRange *y = &t->ranges[*(const int *) arg];

	if ((x->min > x->max) != (y->min > y->max))
		return x->min > x->max ? 1 : -1;
	if (x->min != y->min)
		return x->min < y->min ? -1 : 1;
	return (s->id > t->id) - (s->id < t->id);
}

/* Returns how many of n segments, from the first on, fit into one merge. */
static int
skx_maint_policy_fitting(const SkxPolicySegment *segments, int n,
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
 * Returns how many of n segments have keys between those of a window, without
 * the segments of the window itself.  These are w->n, from `first` on.
 */
static int
skx_maint_policy_noverlapping(const SkxPolicySegment *segments, int n,
							  const SkxPolicySegment *first,
							  const SkxPolicyWindow *w)
{
	SkxPolicyRange all = {PG_UINT64_MAX, 0};
	int			strangers = 0;
	int			i;

	for (i = 0; i < w->n; i++)
	{
		const SkxPolicyRange *range = &first[i].ranges[w->column];

		if (range->min > range->max)
			continue;
		all.min = Min(all.min, range->min);
		all.max = Max(all.max, range->max);
		strangers--;
	}
	for (i = 0; i < n; i++)
	{
		const SkxPolicyRange *range = &segments[i].ranges[w->column];

		strangers += range->min <= range->max &&
			range->min <= all.max && range->max >= all.min;
	}
	return strangers;
}

/*
 * Sorts segments [from, to) by a column, and sets *best to their best window,
 * if that is better than *best.  A window takes as many segments as one merge
 * can, just as a choice by size does.  The first of several windows that are
 * about as good is taken, so that the segments that are left are neighbours,
 * too.
 */
static void
skx_maint_policy_best_window(SkxPolicySegment *segments, int n, int from,
							 int to, int column, const SkxPolicyLimits *limits,
							 SkxPolicyWindow *best)
{
	SkxPolicyWindow w = {column, from, 0, 0};

	qsort_arg(segments + from, to - from, sizeof(SkxPolicySegment),
			  skx_maint_policy_compare_keys, &column);
	for (; w.from < to && (w.from == from || w.from - 1 + w.n < to); w.from++)
	{
		w.n = skx_maint_policy_fitting(segments + w.from, to - w.from, limits);
		if (w.n < 2)
			continue;
		w.noverlapping = skx_maint_policy_noverlapping(segments, n,
													   segments + w.from, &w);
		if (best->n == 0 ||
			w.noverlapping < best->noverlapping - SKX_POLICY_BORDER_STRANGERS)
			*best = w;
	}
}

/*
 * Takes segments of [from, to) that are neighbours by a column.  Returns 0 if
 * one merge can take all of them, if it can take no two neighbours, or if no
 * column has keys.  The segments are in the order of their sizes then, as
 * before.
 */
static int
skx_maint_policy_take_neighbours(SkxPolicySegment *segments, int n, int from,
								 int to, const SkxPolicyLimits *limits,
								 uint32 *chosen)
{
	SkxPolicyWindow best = {0};
	int			i;

	if (skx_maint_policy_fitting(segments + from, to - from, limits) ==
		to - from)
		return 0;
	for (i = 0; i < limits->nranges; i++)
		skx_maint_policy_best_window(segments, n, from, to, i, limits, &best);
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

/* Returns the end of the tier that starts at `from`. */
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

/* Sorts by size, and takes the segments without live documents. */
static int
skx_maint_policy_take_dead(SkxPolicySegment *segments, int n,
						   const SkxPolicyLimits *limits, uint32 *chosen)
{
	int			dead = 0;

	qsort(segments, n, sizeof(SkxPolicySegment), skx_maint_policy_compare);
	while (dead < n && skx_maint_policy_live_docs(&segments[dead]) == 0)
		dead++;
	return skx_maint_policy_choose_inputs(segments, 0, dead,
										  SKX_POLICY_INPUTS_MAX, false, limits,
										  chosen);
}

/*
 * Takes the segments with many deleted documents of the lowest tier that has
 * any.  They must be written in any case, so they become one.
 */
static int
skx_maint_policy_take_purged(const SkxPolicySegment *segments, int n,
							 const SkxPolicyLimits *limits, uint32 *chosen)
{
	int			from;
	int			to;
	int			taken;

	for (from = 0; from < n; from = to)
	{
		to = skx_maint_policy_tier_end(segments, n, from,
									   limits->tier_segments);
		taken = skx_maint_policy_choose_inputs(segments, from, to,
											   SKX_POLICY_INPUTS_MAX, true,
											   limits,
											   chosen);
		if (taken > 0)
			return taken;
	}
	return 0;
}

/* Returns how many of n segments, sorted by size, are not full. */
static int
skx_maint_policy_not_full(const SkxPolicySegment *segments, int n,
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

/*
 * Takes all segments, sorted by size, of a small index with `bytes` live
 * bytes, if they are many enough and the largest does not outweigh the others.
 */
static int
skx_maint_policy_take_all(const SkxPolicySegment *segments, int n,
						  uint64 bytes, const SkxPolicyLimits *limits,
						  uint32 *chosen)
{
	uint64		largest;

	if (n < limits->tier_segments || n > SKX_POLICY_INPUTS_MAX)
		return 0;
	largest = skx_maint_policy_live_bytes(&segments[n - 1]);
	if (bytes - largest < largest /
		(limits->many_likely_dead ? SKX_POLICY_LIKELY_DEAD_FRACTION :
		 SKX_POLICY_SMALL_FRACTION) ||
		skx_maint_policy_fitting(segments, n, limits) < n)
		return 0;
	return skx_maint_policy_choose_inputs(segments, 0, n, n, false, limits,
										  chosen);
}

/*
 * Takes segments of the lowest tier with at least `fan` segments of which a
 * merge can take two.  Only the first `open` segments are looked at.
 */
static int
skx_maint_policy_take_full_tier(SkxPolicySegment *segments, int n, int open,
								const SkxPolicyLimits *limits, uint32 *chosen)
{
	int			taken;
	int			from;
	int			to;

	for (from = 0; from < open; from = to)
	{
		to = skx_maint_policy_tier_end(segments, open, from,
									   limits->tier_segments);
		if (to - from < limits->tier_segments)
			continue;
		taken = skx_maint_policy_take_neighbours(segments, n, from, to, limits,
												 chosen);
		if (taken == 0)
			taken = skx_maint_policy_choose_inputs(segments, from, to,
												   SKX_POLICY_INPUTS_MAX,
												   false, limits, chosen);
		if (taken > 1)
		{
			Assert(taken <= SKX_POLICY_INPUTS_MAX);
			return taken;
		}
	}
	return 0;
}

int
skx_maint_policy_choose_tiers(SkxPolicySegment *segments, int n,
							  const SkxPolicyLimits *limits, uint32 *chosen)
{
	SkxPolicyLimits l = *limits;
	int			taken = skx_maint_policy_take_dead(segments, n, limits,
												   chosen);
	uint64		bytes;
	bool		spares;
	int			open;

	bytes = skx_maint_policy_bytes(segments, n);
	if (taken > 0 || l.waiting_bytes / SKX_POLICY_WAITING_TIMES > bytes)
		return taken;
	spares = l.waiting_bytes > bytes / SKX_POLICY_WAITING_FRACTION;
	if (l.result_bytes_max > 0)
		l.bytes = Min(l.bytes, l.result_bytes_max);
	open = skx_maint_policy_not_full(segments, n, &l);
	if (open == n && bytes <= SKX_POLICY_SMALL_BYTES && !spares)
	{
		if (l.many_likely_dead)
			l.tier_segments = Max(l.tier_segments / 2, 2);
		taken = skx_maint_policy_take_all(segments, n, bytes, &l, chosen);
	}
	if (taken == 0)
		taken = skx_maint_policy_take_full_tier(segments, n, open, &l, chosen);
	if (taken == 0 && !spares)
		taken = skx_maint_policy_take_purged(segments, n, &l, chosen);
	return taken;
}

int
skx_maint_policy_choose_count(SkxPolicySegment *segments, int n, int most,
							  const SkxPolicyLimits *limits, uint32 *chosen)
{
	int			taken = skx_maint_policy_take_dead(segments, n, limits,
												   chosen);

	if (taken > 0)
		return taken;
	if (n > most)
	{
		taken = skx_maint_policy_choose_inputs(segments, 0, n,
											   Min(n - most + 1,
												   SKX_POLICY_INPUTS_MAX),
											   false, limits, chosen);
		if (taken > 1)
			return taken;
	}
	return skx_maint_policy_take_purged(segments, n, limits, chosen);
}

uint64
skx_maint_policy_max_result(uint64 nblocks, uint64 free, uint64 live,
							uint64 largest)
{
	uint64		percent = SKX_POLICY_FILE_WITH_READERS +
		largest * 100 / Max(live, 1);
	uint64		room;
	uint64		most;
	uint64		least;

	percent = Max(percent, SKX_POLICY_FILE_MIN);
	most = live * Min(percent, SKX_POLICY_FILE_MAX) / 100;
	least = Max(live / SKX_POLICY_RESULT_FRACTION, SKX_POLICY_RESULT_MIN);
	room = Max(free + (most > nblocks ? most - nblocks : 0), least);
	if (live > SKX_POLICY_SMALL_BYTES / BLCKSZ &&
		largest <= live / SKX_POLICY_MANY_FRACTION)
		room = Min(room, live / SKX_POLICY_MANY_FRACTION);
	return room;
}

int
skx_maint_policy_choose_fitting(SkxPolicySegment *segments, int n, uint64 left,
								uint32 *chosen)
{
	uint64		most = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		uint64		live = skx_maint_policy_live_bytes(&segments[i]);
		uint64		gain;

		/* live documents may take more pages than their share */
		live += live / SKX_POLICY_FIT_FRACTION;
		gain = segments[i].bytes - Min(segments[i].bytes, live);
		if (live > left || gain <= SKX_POLICY_TIER_BYTES || gain <= most)
			continue;
		most = gain;
		chosen[0] = segments[i].id;
	}
	return most > 0 ? 1 : 0;
}

bool
skx_maint_policy_is_worth_move(uint32 nblocks, uint64 npages, uint32 from,
							   uint32 to)
{
	Assert(to <= from && from <= nblocks);
	return nblocks <= SKX_MOVE_SMALL_FILE_PAGES ||
		from - to >= npages / SKX_POLICY_MOVE_FRACTION;
}
