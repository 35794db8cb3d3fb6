/*
 * test_maint_policy.c
 *	  The choice of merges: each rule alone, and simulated lives of an index.
 *
 * Holds: maint 10, 17
 */
#include "unit.h"
#include "write/maint/maint_policy.h"

#define KB			UINT64CONST(1024)
#define MB			(1024 * KB)
#define GB			(1024 * MB)
#define SEGMENTS	4096

/* An index: its segments, and what merging them has cost. */
typedef struct Life
{
	SkxPolicySegment segments[SEGMENTS];
	uint64		docs_in[SEGMENTS];	/* documents by times written */
	SkxPolicyLimits limits;
	int			n;
	uint32		next_id;
	uint64		flushed;		/* bytes */
	uint64		written;		/* bytes, by merges */
	uint64		merges;
	int			most;			/* segments left after merging, at most */
} Life;

static Life *
life_new(void)
{
	Life	   *life = calloc(1, sizeof(Life));

	life->limits.bytes = 5 * GB;
	life->limits.ndocs = PG_INT32_MAX;
	life->limits.tier_segments = 8;
	life->limits.deleted_percent = 20;
	life->next_id = 1;
	return life;
}

static void
life_add(Life *life, uint64 bytes, uint32 ndocs, uint32 ndeleted)
{
	SkxPolicySegment *s = &life->segments[life->n++];

	s->bytes = bytes;
	s->ndocs = ndocs;
	s->ndeleted = ndeleted;
	s->id = life->next_id++;
}

/* Takes a segment out, by id. */
static SkxPolicySegment
life_remove(Life *life, uint32 id)
{
	SkxPolicySegment s = {0};
	int			i;

	for (i = 0; i < life->n; i++)
	{
		if (life->segments[i].id != id)
			continue;
		s = life->segments[i];
		life->segments[i] = life->segments[--life->n];
		return s;
	}
	CHECK(!"a segment that exists, once");
	return s;
}

/* Merges as chosen; `shrink`: percent that is left of the bytes put together. */
static void
life_merge(Life *life, const uint32 *chosen, int n, int shrink)
{
	uint64		bytes = 0;
	uint64		ndocs = 0;
	uint64		inputs = 0;
	int			i;

	CHECK(n <= SKX_POLICY_INPUTS_MAX);
	for (i = 0; i < n; i++)
	{
		SkxPolicySegment s = life_remove(life, chosen[i]);
		uint32		live = s.ndocs - s.ndeleted;

		bytes += (uint64) ((double) s.bytes * live / s.ndocs);
		ndocs += live;
		inputs += s.ndocs;
	}

	/* a merge refuses inputs with more documents, live or not */
	CHECK(n == 1 || (bytes <= life->limits.bytes &&
					 inputs <= life->limits.ndocs));
	life->merges++;
	if (ndocs == 0)
		return;
	bytes = Max(bytes * shrink / 100, 8 * KB);
	life->written += bytes;
	life_add(life, bytes, (uint32) ndocs, 0);
}

/* Until the policy is content; returns how many merges that took. */
static int
life_settle(Life *life, int most, int shrink)
{
	uint32		chosen[SKX_POLICY_INPUTS_MAX];
	int			limit = 3 * life->n + 3;
	int			done = 0;
	int			n;

	for (;;)
	{
		n = most > 0 ?
			skx_maint_policy_choose_count(life->segments, life->n, most,
								  &life->limits, chosen) :
			skx_maint_policy_choose_tiers(life->segments, life->n,
										  &life->limits, chosen);
		if (n == 0)
			break;
		life_merge(life, chosen, n, shrink);
		CHECK(++done <= limit);
		if (done > limit)
			break;
	}
	life->most = Max(life->most, life->n);
	return done;
}

static uint32
life_deleted(const Life *life)
{
	uint32		deleted = 0;
	int			i;

	for (i = 0; i < life->n; i++)
		deleted += life->segments[i].ndeleted;
	return deleted;
}

/* Equal flushes: few segments, each byte written a few times a tier. */
static void
test_flushes(uint64 bytes, int flushes, int shrink)
{
	Life	   *life = life_new();
	double		tiers;
	int			i;

	for (i = 0; i < flushes; i++)
	{
		life_add(life, bytes, 4000, 0);
		life->flushed += bytes;
		life_settle(life, 0, shrink);
	}
	for (i = 0, tiers = 1; life->flushed >> (3 * i) > bytes; i++)
		tiers++;
	/* the segments that no merge may make larger come on top */
	CHECK(life->most <= 7 * tiers + life->flushed / (2 * GB));
	CHECK(life->written <= 2 * tiers * life->flushed);
	CHECK(life->written >= life->flushed * (shrink - 20) / 100);
	CHECK(life->merges <= flushes / 7 + tiers);
	free(life);
}

/* Flushes of any size, deletes anywhere. */
static void
test_random(int rounds)
{
	Life	   *life = life_new();
	int			i;
	int			j;

	life->limits.bytes = 300 * MB;
	life->limits.ndocs = 600 * 1000;
	for (i = 0; i < rounds; i++)
	{
		uint32		ndocs = 1 + (uint32) unit_below(10000);

		life_add(life, 8 * KB * (1 + unit_below(600)), ndocs,
				 (uint32) unit_below(ndocs + 1));
		for (j = 0; j < life->n; j++)
		{
			SkxPolicySegment *s = &life->segments[j];

			if (unit_below(20) == 0)
				s->ndeleted += (uint32) unit_below(s->ndocs - s->ndeleted + 1);
		}
		life_settle(life, unit_below(50) == 0 ? (int) unit_below(20) + 1 : 0,
					60 + (int) unit_below(41));
		for (j = 0; j < life->n; j++)
			CHECK(life->segments[j].ndeleted <= life->segments[j].ndocs / 5);
	}
	CHECK(life->most < 60);
	free(life);
}

static void
test_deletes(void)
{
	Life	   *life = life_new();
	uint32		chosen[SKX_POLICY_INPUTS_MAX];

	/* a fifth is not many, one more is */
	life_add(life, 20 * MB, 1000, 200);
	CHECK(life_settle(life, 0, 100) == 0);
	life_add(life, 30 * MB, 1000, 201);
	CHECK(life_settle(life, 0, 100) == 1);
	CHECK(life->n == 2 && life_deleted(life) == 200);
	CHECK(life_settle(life, 2, 100) == 0);

	/* nothing live: dropped, nothing written, others left alone */
	life->written = 0;
	life_add(life, 3 * GB, 5, 5);
	life_add(life, 8 * KB, 7, 7);
	CHECK(skx_maint_policy_choose_tiers(life->segments, life->n, &life->limits,
								 chosen) == 2);
	CHECK(chosen[0] == 4 && chosen[1] == 5);
	CHECK(life_settle(life, 0, 100) == 1);
	CHECK(life->n == 2 && life->written == 0);

	/* what is larger than a segment may be can still lose its deletes */
	life_add(life, 20 * GB, 1000, 500);
	CHECK(life_settle(life, 0, 100) == 1);
	CHECK(life->n == 3 && life_deleted(life) == 200);

	/* those of one tier that are written anyway become one */
	life_add(life, 1 * MB, 1000, 300);
	life_add(life, 2 * MB, 1000, 300);
	life_add(life, 1 * MB, 1000, 0);
	CHECK(life_settle(life, 0, 100) == 1);
	CHECK(life->n == 5);

	/* the size that counts is the live one */
	CHECK(skx_maint_policy_choose_tiers(life->segments, life->n, &life->limits,
								 chosen) == 0);
	while (life->n < 8)
		life_add(life, 1 * MB, 1000, 0);
	CHECK(life_settle(life, 0, 100) == 0);
	free(life);
}

/*
 * Seven of a tier stay, eight go; the smallest tier goes first.  A large one
 * beside them keeps the index from being small.
 */
static void
test_tiers(void)
{
	Life	   *life = life_new();
	uint32		chosen[SKX_POLICY_INPUTS_MAX];
	int			i;

	CHECK(skx_maint_policy_choose_tiers(life->segments, 0, &life->limits,
								 chosen) == 0);
	life_add(life, 3 * GB, 100, 0);
	for (i = 0; i < 7; i++)
		life_add(life, 4 * MB, 100, 0);
	for (i = 0; i < 7; i++)
		life_add(life, 4 * MB + 1, 100, 0);
	CHECK(life_settle(life, 0, 100) == 0);
	life_add(life, 32 * MB, 100, 0);
	CHECK(skx_maint_policy_choose_tiers(life->segments, life->n, &life->limits,
								 chosen) == 8);
	CHECK(chosen[0] == 9 && chosen[7] == 16);
	life_add(life, 512 * KB + 1, 100, 0);
	CHECK(skx_maint_policy_choose_tiers(life->segments, life->n, &life->limits,
								 chosen) == 8);
	CHECK(chosen[0] == 17 && chosen[1] == 2);
	CHECK(life_settle(life, 0, 100) == 2);
	CHECK(life->n == 2);
	for (i = 0; i < 100; i++)
		life_add(life, 10 * KB, 1, 0);
	CHECK(skx_maint_policy_choose_tiers(life->segments, life->n, &life->limits,
								 chosen) == SKX_POLICY_INPUTS_MAX);
	free(life);
}

/*
 * All segments, which are just enough, become one: with up to so many a tier,
 * and not where a segment may only have so many bytes, or as many documents as
 * the largest.
 */
static void
check_small(Life *life, int fan, uint64 bytes)
{
	uint32		chosen[SKX_POLICY_INPUTS_MAX];

	CHECK(skx_maint_policy_choose_tiers(life->segments, life->n, &life->limits,
								 chosen) == life->n);
	life->limits.tier_segments = fan;
	CHECK(skx_maint_policy_choose_tiers(life->segments, life->n, &life->limits,
								 chosen) == life->n);
	life->limits.tier_segments = fan + 1;
	CHECK(skx_maint_policy_choose_tiers(life->segments, life->n, &life->limits,
								 chosen) == 0);
	life->limits.tier_segments = 8;
	life->limits.bytes = bytes;
	CHECK(skx_maint_policy_choose_tiers(life->segments, life->n, &life->limits,
								 chosen) == 0);
	life->limits.bytes = 5 * GB;
	life->limits.ndocs = 1000;
	CHECK(skx_maint_policy_choose_tiers(life->segments, life->n, &life->limits,
								 chosen) == 0);
	life->limits.ndocs = PG_INT32_MAX;
	CHECK(life_settle(life, 0, 100) == 1 && life->n == 1);
}

/*
 * Of a small index as many as one tier may not have become one, if the largest
 * has no more than two thirds; what is more than 64 MB goes by its tiers, and so
 * does what cannot be one segment.
 */
static void
test_small(void)
{
	Life	   *life = life_new();
	int			i;

	life_add(life, 14 * MB, 1000, 0);
	for (i = 0; i < 6; i++)
		life_add(life, (i + 1) * MB / 3, 100, 0);
	CHECK(life_settle(life, 0, 100) == 0);
	life_add(life, 10 * KB, 100, 0);
	check_small(life, 8, 21 * MB);

	/* less than a half of the largest beside it */
	for (i = 0; i < 7; i++)
		life_add(life, (i + 1) * 340 * KB, 100, 0);
	CHECK(life_settle(life, 0, 100) == 0);
	life_add(life, 5 * MB, 100, 0);
	CHECK(life_settle(life, 0, 100) == 1 && life->n == 1);

	/* more than 64 MB */
	for (i = 0; i < 4; i++)
		life_add(life, 8 * MB, 100, 0);
	for (i = 0; i < 4; i++)
		life_add(life, 256 * KB, 100, 0);
	CHECK(life_settle(life, 0, 100) == 0);
	free(life);
}

/*
 * Of a small index of which many documents are dead half as many of a tier
 * become one, and all of them, if the largest has no more than four fifths.
 */
static void
test_small_dying(void)
{
	Life	   *life = life_new();
	int			i;

	life->limits.many_likely_dead = true;
	life_add(life, 20 * MB, 1000, 0);
	life_add(life, 3 * MB, 100, 0);
	life_add(life, 2 * MB, 100, 0);
	CHECK(life_settle(life, 0, 100) == 0);
	life_add(life, 10 * KB, 100, 0);
	check_small(life, 9, 24 * MB);

	/* less than a quarter of the largest beside it */
	life_add(life, 3 * MB, 100, 0);
	life_add(life, 2 * MB, 100, 0);
	life_add(life, 900 * KB, 100, 0);
	CHECK(life_settle(life, 0, 100) == 0);
	life_add(life, 800 * KB, 100, 0);
	CHECK(life_settle(life, 0, 100) == 1 && life->n == 1);

	/* three of a tier stay, four do not, whatever their part of the index */
	for (i = 0; i < 3; i++)
		life_add(life, 512 * KB, 100, 0);
	CHECK(life_settle(life, 0, 100) == 0);
	life_add(life, 512 * KB, 100, 0);
	CHECK(life_settle(life, 0, 100) == 1 && life->n == 2);

	/* more than 64 MB */
	for (i = 0; i < 4; i++)
		life_add(life, 9 * MB, 100, 0);
	for (i = 0; i < 4; i++)
		life_add(life, 256 * KB, 100, 0);
	CHECK(life_settle(life, 0, 100) == 0);
	free(life);
}

/* Sizes that no file has: tiers come to an end, and so does the choice. */
static void
test_large(void)
{
	Life	   *life = life_new();
	uint32		chosen[SKX_POLICY_INPUTS_MAX];
	int			i;

	alarm(60);
	life->limits.bytes = UINT64CONST(1) << 62;
	life_add(life, PG_UINT64_MAX, 1, 0);
	life_add(life, (UINT64CONST(1) << 61) + 4096, 1, 0);
	for (i = 0; i < 7; i++)
		life_add(life, UINT64CONST(1) << 59, 1, 0);
	CHECK(skx_maint_policy_choose_tiers(life->segments, life->n, &life->limits,
								 chosen) == 0);
	life_add(life, UINT64CONST(1) << 59, 1, 0);
	CHECK(skx_maint_policy_choose_tiers(life->segments, life->n, &life->limits,
								 chosen) == 8);
	CHECK(chosen[0] == 3 && chosen[7] == 10);
	alarm(0);
	free(life);
}

/* Towards a number of segments, as far as limits allow. */
static void
test_most(void)
{
	Life	   *life = life_new();
	uint32		chosen[SKX_POLICY_INPUTS_MAX];
	int			i;

	for (i = 0; i < 10; i++)
		life_add(life, (i + 1) * MB, 10, 0);
	CHECK(life_settle(life, 10, 100) == 0);
	CHECK(skx_maint_policy_choose_count(life->segments, life->n, 7,
										&life->limits, chosen) == 4);
	CHECK(chosen[0] == 1 && chosen[3] == 4);
	CHECK(life_settle(life, 7, 100) == 1 && life->n == 7);
	CHECK(life_settle(life, 1, 100) == 1 && life->n == 1);
	for (i = 0; i < 500; i++)
		life_add(life, MB, 10, 0);
	CHECK(life_settle(life, 1, 100) == 8 && life->n == 1);

	/* 556 MB there is; not more than 5 GB in a segment */
	for (i = 0; i < 6; i++)
		life_add(life, 2 * GB, 10, 0);
	life_settle(life, 1, 100);
	CHECK(life->n == 3);
	CHECK(life_settle(life, 1, 100) == 0);

	/* what was there is written anew if it has deletes, what came since is not */
	free(life);
	life = life_new();
	life_add(life, MB, 1000, 1);
	life_add(life, 900 * MB, 100000, 0);
	life_add(life, MB, 1000, 1);
	life->limits.purge_up_to = 2;
	CHECK(skx_maint_policy_choose_count(life->segments, life->n, 3,
										&life->limits, chosen) == 1 &&
											chosen[0] == 1);
	CHECK(life_settle(life, 3, 100) == 1);
	CHECK(life->n == 3 && life_deleted(life) == 1);
	CHECK(life_settle(life, 3, 100) == 0);

	/* nor more documents than can be numbered */
	free(life);
	life = life_new();
	for (i = 0; i < 5; i++)
		life_add(life, MB, PG_INT32_MAX / 2, 0);
	CHECK(life_settle(life, 1, 100) == 2 && life->n == 3);

	/* deleted ones count until they are gone */
	free(life);
	life = life_new();
	for (i = 0; i < 8; i++)
		life_add(life, MB, PG_INT32_MAX - 7, PG_INT32_MAX / 10 * 9);
	CHECK(life_settle(life, 0, 100) == 9 && life->n == 1);
	for (i = 0; i < 4; i++)
		life_add(life, MB, PG_INT32_MAX / 2, PG_INT32_MAX / 2);
	CHECK(life_settle(life, 0, 100) == 2 && life->n == 1);
	free(life);
}

/*
 * A year of an index: a build, and so many flushes a day, each of `docs`
 * documents of `doc` bytes; `dying` percent as many are deleted.
 */
typedef struct Year
{
	uint64		base;			/* bytes of the build */
	int			flushes;		/* a day */
	uint32		docs;
	uint32		doc;
	int			dying;
	bool		oldest;			/* those of the oldest segments, or any */
} Year;

/* What an index may set: see skx_am_options_init_merges(). */
typedef struct Settings
{
	int			fan;
	uint64		bytes;
	int			deleted;
} Settings;

/* Deletes documents of segment i, as far as there are so many. */
static uint32
life_delete(Life *life, int i, uint32 n)
{
	SkxPolicySegment *s = &life->segments[i];

	n = Min(n, s->ndocs - s->ndeleted);
	s->ndeleted += n;
	return n;
}

/* Deletes about n documents: each segment loses its share, or the oldest all. */
static uint64
life_die(Life *life, uint32 n, bool oldest)
{
	double		live = 0;
	uint64		dead = 0;
	int			i;

	for (i = 0; i < life->n; i++)
		live += life->segments[i].ndocs - life->segments[i].ndeleted;
	while (oldest && dead < n && live > dead)
	{
		int			old = -1;

		/* no merge mixes what is far apart, so that ids are as good as age */
		for (i = 0; i < life->n; i++)
		{
			if (life->segments[i].ndeleted < life->segments[i].ndocs &&
				(old < 0 || life->segments[i].id < life->segments[old].id))
				old = i;
		}
		dead += life_delete(life, old, n - (uint32) dead);
	}
	for (i = 0; i < life->n && !oldest; i++)
	{
		const SkxPolicySegment *s = &life->segments[i];
		double		share = n * (double) (s->ndocs - s->ndeleted) / live;
		uint32		whole = (uint32) share;

		whole += unit_below(1000) < (share - whole) * 1000;
		dead += life_delete(life, i, whole);
	}
	return dead;
}

/* How often a segment of so many bytes is merged until it is full. */
static int
life_tiers(const Life *life, uint64 bytes)
{
	int			tiers = 0;

	for (; bytes <= life->limits.bytes / 2; bytes *=
		 life->limits.tier_segments)
		tiers++;
	return tiers;
}

/*
 * Flushes a year; returns the bytes that died.  No more is left deleted than
 * may be.
 */
static uint64
life_year(Life *life, const Year *y)
{
	uint64		bytes = (uint64) y->docs * y->doc;
	uint64		dead = 0;
	uint64		left;
	int			i;
	int			j;

	for (left = y->base; left > 0; left -= Min(left, 5 * GB))
		life_add(life, Min(left, 5 * GB),
				 (uint32) (Min(left, 5 * GB) / y->doc), 0);
	for (i = 0; i < 365 * y->flushes; i++)
	{
		life_add(life, bytes, y->docs, 0);
		life->flushed += bytes;
		dead += life_die(life, y->docs / 100 * y->dying, y->oldest) * y->doc;
		life_settle(life, 0, 100);
		for (j = 0; j < life->n; j++)
			CHECK(life->segments[j].ndeleted <=
				  (uint64) life->segments[j].ndocs *
					  life->limits.deleted_percent / 100);
	}
	CHECK(dead <= life->flushed / 99 * y->dying &&
		  dead >= life->flushed / 101 * y->dying);
	return dead;
}

/*
 * What the policy promises (src/write/maint/README.md): for a byte flushed, one is
 * written a tier, and for one deleted as many as are live beside it where it is
 * one too many, or the one that is left of a full segment when that is full no
 * more; fan - 1 segments a tier stay, and those that are full.
 */
static void
test_year(const Year *y, const Settings *s)
{
	Life	   *life = life_new();
	double		beside = Max((100.0 - s->deleted) / s->deleted, 1);
	uint64		dead;
	uint64		left;
	int			tiers;

	life->limits.bytes = s->bytes;
	life->limits.tier_segments = s->fan;
	life->limits.deleted_percent = s->deleted;
	tiers = life_tiers(life, (uint64) y->docs * y->doc);
	dead = life_year(life, y);
	left = y->base + life->flushed - dead;
	CHECK(life->written <= 1.1 * (tiers * (double) life->flushed +
								  beside * dead));
	CHECK(life->most <= (s->fan - 1) * (tiers + 1) + 1 +
		  (int) (2 * Max(left, y->base) / s->bytes));
	free(life);
}

/* 33, 400 and 1,000 documents a minute: inserts; updates of any; expiry. */
static void
test_years(void)
{
	static const Year years[] = {
		{1 * GB, 24, 2000, 500, 0, false},
		{10 * GB, 288, 2000, 500, 0, false},
		{10 * GB, 720, 2000, 500, 0, false},
		{10 * GB, 288, 2000, 500, 50, false},
		{1 * GB, 24, 2000, 500, 100, false},
		{10 * GB, 288, 2000, 500, 100, false},
		{40 * GB, 720, 2000, 500, 100, false},
		{1 * GB, 24, 2000, 500, 100, true},
		{10 * GB, 288, 2000, 500, 100, true},
		{40 * GB, 720, 2000, 500, 100, true},
	};

	static const Settings settings = {8, 5 * GB, 20};

	for (int i = 0; i < (int) lengthof(years); i++)
		test_year(&years[i], &settings);
}

/*
 * Small indexes of which every document is updated, by flushes of 1,200 of 500
 * bytes: few segments on average, for a tenth more that is written.
 */
static void
test_small_lives(void)
{
	static const struct
	{
		uint64		base;
		bool		dying;		/* the policy knows of the dead ones */
		double		written;	/* a byte flushed, at most */
		double		segments;	/* on average, at most */
		int			most;
	}			lives[] = {{6 * MB, false, 3.7, 5, 8},
		{20 * MB, false, 5, 7, 14}, {50 * MB, false, 6, 6, 11},
		{6 * MB, true, 3.6, 2.1, 3}, {20 * MB, true, 5, 3.1, 5},
		{50 * MB, true, 6, 4, 7}
	};

	for (int i = 0; i < (int) lengthof(lives); i++)
	{
		Life	   *life = life_new();
		double		segments = 0;

		life->limits.many_likely_dead = lives[i].dying;
		life_add(life, lives[i].base, (uint32) (lives[i].base / 500), 0);
		for (int flush = 0; flush < 5000; flush++)
		{
			life_add(life, 1200 * 500, 1200, 0);
			life->flushed += 1200 * 500;
			life_die(life, 1200, false);
			life_settle(life, 0, 100);
			segments += life->n;
		}
		CHECK(life->written <= lives[i].written * life->flushed);
		CHECK(segments <= 5000 * lives[i].segments);
		CHECK(life->most <= lives[i].most);
		free(life);
	}
}

/* The ends of what an index may set, alone and together. */
static void
test_settings(void)
{
	static const Settings settings[] = {
		{2, 5 * GB, 20},
		{64, 5 * GB, 20},
		{8, 8 * MB, 20},
		{8, 5 * GB, 5},
		{8, 5 * GB, 90},
		{2, 8 * MB, 5},
		{2, 8 * MB, 90},
		{64, 8 * MB, 90},
		{64, 5 * GB, 90},
		{10, 300 * MB, 33},
	};
	static const Year years[] = {
		{1 * GB, 24, 2000, 500, 0, false},
		{1 * GB, 24, 2000, 500, 100, false},
		{1 * GB, 24, 2000, 500, 100, true},
		{1 * GB, 24, 200, 500, 50, false},
	};

	for (int i = 0; i < (int) lengthof(settings); i++)
	{
		for (int j = 0; j < (int) lengthof(years); j++)
			test_year(&years[j], &settings[i]);
	}
}

/* Each rule goes by its setting, at the border. */
static void
test_settings_rules(void)
{
	Life	   *life = life_new();
	int			i;

	life->limits.tier_segments = 3;
	for (i = 0; i < 2; i++)
		life_add(life, 4 * MB, 1000, 0);
	CHECK(life_settle(life, 0, 100) == 0);
	life_add(life, 4 * MB, 1000, 0);
	CHECK(life_settle(life, 0, 100) == 1 && life->n == 1);
	life->limits.deleted_percent = 5;
	life_add(life, 4 * MB, 1000, 50);
	CHECK(life_settle(life, 0, 100) == 0);
	/* the smallest is the first now */
	life->segments[0].ndeleted++;
	CHECK(life_settle(life, 0, 100) == 1 && life_deleted(life) == 0);
	life->limits.deleted_percent = 90;
	life_add(life, 1 * MB, 1000, 900);
	CHECK(life_settle(life, 0, 100) == 0);
	life->segments[0].ndeleted++;
	CHECK(life_settle(life, 0, 100) == 1 && life_deleted(life) == 0);
	free(life);

	/* two of 4 MB fill 8, what is larger stays as it is */
	life = life_new();
	life->limits.tier_segments = 2;
	life->limits.bytes = 8 * MB;
	life_add(life, 9 * MB, 1000, 0);
	life_add(life, 9 * MB, 1000, 0);
	for (i = 0; i < 4; i++)
		life_add(life, 4 * MB, 1000, 0);
	CHECK(life_settle(life, 0, 100) == 2 && life->n == 4);
	free(life);
}

/* How many segments have keys of the column between those of segment i. */
static int
life_overlaps(const Life *life, int i, int column)
{
	const SkxPolicyRange *r = &life->segments[i].ranges[column];
	int			n = 0;

	for (int j = 0; j < life->n; j++)
	{
		const SkxPolicyRange *s = &life->segments[j].ranges[column];

		n += j != i && s->min <= r->max && s->max >= r->min;
	}
	return n;
}

/* The ranges that the chosen segments have together. */
static const SkxPolicyRange *
life_union(const Life *life, const uint32 *chosen, int n)
{
	SkxPolicyRange *ranges = malloc(sizeof(SkxPolicyRange) *
									life->limits.nranges);

	for (int c = 0; c < life->limits.nranges; c++)
	{
		ranges[c] = (SkxPolicyRange) {PG_UINT64_MAX, 0};
		for (int i = 0; i < life->n; i++)
		{
			const SkxPolicyRange *r = &life->segments[i].ranges[c];

			for (int k = 0; k < n; k++)
			{
				if (life->segments[i].id != chosen[k] || r->min > r->max)
					continue;
				ranges[c].min = Min(ranges[c].min, r->min);
				ranges[c].max = Max(ranges[c].max, r->max);
			}
		}
	}
	return ranges;
}

/*
 * A backlog of segments, each with a tenth of a day of what is written in the
 * order of the second column, while the first is any; they come in any order.
 * Those that become one are neighbours, and the result is as many segments as
 * by size.
 */
static void
test_neighbours(int backlog, uint64 most, int nranges)
{
	Life	   *life = life_new();
	uint32		chosen[SKX_POLICY_INPUTS_MAX];
	int			apart = 0;
	int			i;
	int			n;

	life->limits.bytes = most;
	life->limits.nranges = nranges;
	for (i = 0; i < backlog; i++)
	{
		SkxPolicyRange *ranges = malloc(sizeof(SkxPolicyRange) * 3);
		uint64		at = 1000 * (uint64) (i * 37 % backlog);

		ranges[0] = (SkxPolicyRange) {unit_below(100),
			1000 * (uint64) backlog + unit_below(100)};
		ranges[1] = (SkxPolicyRange) {at, at + 900 + unit_below(200)};
		ranges[2] = (SkxPolicyRange) {1, 0};
		life_add(life, MB + unit_below(100 * KB), 1000, 0);
		life->segments[i].ranges = ranges;
	}
	for (i = 0; i < 1000; i++)
	{
		const SkxPolicyRange *ranges;

		n = skx_maint_policy_choose_tiers(life->segments, life->n,
										  &life->limits, chosen);
		if (n == 0)
			break;
		ranges = life_union(life, chosen, n);
		life_merge(life, chosen, n, 100);
		life->segments[life->n - 1].ranges = ranges;
	}
	CHECK(i < 1000);
	CHECK(life->n <= 7 * 3 + 2 * (int) (backlog * MB / most) + 1);
	for (i = 0; i < life->n && nranges > 1; i++)
		apart += life_overlaps(life, i, 1) <= 2;
	/* but for what was left over in the end */
	CHECK(nranges < 2 || apart >= life->n - 2);
	free(life);
}

/* A page that a large file is shorter by costs four that are written. */
static void
test_moves(void)
{
	uint32		small = 64 * MB / BLCKSZ;

	CHECK(!skx_maint_policy_is_worth_move(40000, 14000, 39000, 37400));
	CHECK(!skx_maint_policy_is_worth_move(40000, 14000, 39000, 35501));
	CHECK(skx_maint_policy_is_worth_move(40000, 14000, 39000, 35500));
	CHECK(skx_maint_policy_is_worth_move(40000, 14000, 39000, 14000));
	CHECK(!skx_maint_policy_is_worth_move(small + 1, 4000, 8000, 7900));
	CHECK(skx_maint_policy_is_worth_move(small, 4000, 8000, 7900));
}

/* Pages that wait for transactions are not added to. */
static void
test_waiting(void)
{
	Life	   *life = life_new();
	int			i;

	/* all of a small index, or for the deletes of one */
	life_add(life, 20 * MB, 1000, 300);
	for (i = 0; i < 7; i++)
		life_add(life, MB + MB / 2, 100, 0);
	life->limits.waiting_bytes = 13 * MB;
	CHECK(life_settle(life, 0, 100) == 0);
	life->limits.waiting_bytes = 12 * MB;
	CHECK(life_settle(life, 0, 100) > 0);

	/* a full tier, unless very much waits */
	life->n = 0;
	for (i = 0; i < 8; i++)
		life_add(life, MB, 100, 0);
	life->limits.waiting_bytes = 17 * MB;
	CHECK(life_settle(life, 0, 100) == 0);
	life->limits.waiting_bytes = 16 * MB;
	CHECK(life_settle(life, 0, 100) == 1 && life->n == 1);

	/* what is dead costs nothing */
	life_add(life, MB, 100, 100);
	life->limits.waiting_bytes = GB;
	CHECK(life_settle(life, 0, 100) == 1 && life->n == 1);
	free(life);
}

static void
test_room(void)
{
	Life	   *life = life_new();
	int			i;

	/* what is free; what the file may grow; and some in any case */
	CHECK(skx_maint_policy_max_result(2000, 700, 1000, 1000) == 700);
	CHECK(skx_maint_policy_max_result(1900, 700, 1000, 1000) == 800);
	CHECK(skx_maint_policy_max_result(1900, 700, 1000, 750) == 800);
	CHECK(skx_maint_policy_max_result(1900, 700, 1000, 600) == 700);
	CHECK(skx_maint_policy_max_result(1900, 10, 1000, 250) == 128);
	CHECK(skx_maint_policy_max_result(1400, 10, 1000, 250) == 128);
	CHECK(skx_maint_policy_max_result(1300, 10, 1000, 250) == 210);
	CHECK(skx_maint_policy_max_result(99999, 10, 16000, 250) == 1000);

	/* no result is larger than the room, if there is more than one input */
	life_add(life, 20 * MB, 1000, 300);
	for (i = 0; i < 9; i++)
		life_add(life, 3 * MB, 100, 0);
	life->limits.result_bytes_max = 13 * MB;
	CHECK(life_settle(life, 0, 100) > 0);
	CHECK(life->written <= 3 * 13 * MB);
	for (i = 0; i < life->n; i++)
		CHECK(life->segments[i].bytes == 20 * MB ||
			  life->segments[i].bytes <= 13 * MB);
	life->limits.result_bytes_max = 14 * MB;
	life->written = 0;
	CHECK(life_settle(life, 0, 100) == 1 && life->written == 14 * MB);
	free(life);
}

/* A file in the life of an index. */
typedef struct File
{
	uint64		most;			/* bytes that it has had at most */
	uint64		pending;		/* before a flush */
} File;

static uint64
life_bytes(const Life *life, bool live)
{
	uint64		bytes = 0;
	int			i;

	for (i = 0; i < life->n; i++)
	{
		const SkxPolicySegment *s = &life->segments[i];

		bytes += live ? (uint64) ((double) s->bytes *
								  (s->ndocs - s->ndeleted) / s->ndocs) :
			s->bytes;
	}
	return bytes;
}

/* Merges until none has room. */
static void
life_settle_in(Life *life, File *file)
{
	uint32		chosen[SKX_POLICY_INPUTS_MAX];
	int			n;

	for (;;)
	{
		uint64		used = life_bytes(life, false) + file->pending;
		uint64		largest = 0;
		uint64		before = life->written;
		uint64		live;
		int			i;

		for (i = 0; i < life->n; i++)
			largest = Max(largest, life->segments[i].bytes);
		live = life_bytes(life, true) * 17 / 16;
		file->most = Max(file->most, used);
		life->limits.result_bytes_max =
			skx_maint_policy_max_result(file->most / BLCKSZ,
								  (file->most - used) / BLCKSZ, live / BLCKSZ,
								  largest / BLCKSZ) * BLCKSZ;
		n = skx_maint_policy_choose_tiers(life->segments, life->n,
										  &life->limits, chosen);
		if (n == 0)
			break;
		life_merge(life, chosen, n, 100);
		file->most = Max(file->most, used + life->written - before);
	}
	life->most = Max(life->most, life->n);
}

/*
 * Updates of any documents beside readers: the file has room for what is live
 * so many percent times, and for what is pending.
 */
static void
test_beside_readers(uint64 size, uint64 part, int percent, uint64 flush)
{
	Life	   *life = life_new();
	File		file = {0};
	uint32		docs = (uint32) (size / (8 * KB));
	uint32		ndocs = (uint32) (flush / (8 * KB));
	uint64		segments = 0;
	uint64		step;

	life->limits.many_likely_dead = true;
	for (step = 0; step < size / part; step++)
		life_add(life, part, (uint32) (docs * part / size), 0);
	file.most = size * 17 / 16;
	file.pending = flush;
	for (step = 0; step < 8 * size / flush; step++)
	{
		uint64		live = 0;
		int			i;

		for (i = 0; i < life->n; i++)
			live += life->segments[i].ndocs - life->segments[i].ndeleted;
		for (i = 0; i < life->n; i++)
		{
			SkxPolicySegment *s = &life->segments[i];
			double		dead = (double) (s->ndocs - s->ndeleted) * ndocs /
				live;

			s->ndeleted += (uint32) (dead + unit_below(1000) / 1000.0);
			s->ndeleted = Min(s->ndeleted, s->ndocs);
		}
		life_add(life, flush, ndocs, 0);
		life_settle_in(life, &file);
		segments += life->n;
	}
	printf("# %d MB in segments of %d MB: file %.2f, segments %d at most, %.1f, written %.1f\n",
		   (int) (size / MB), (int) (part / MB),
		   (double) file.most / (size * 17 / 16), life->most,
		   (double) segments / step, (double) life->written / (8 * size));
	CHECK(file.most <= size * 17 / 16 * percent / 100);
	free(life);
}

/* On a full disk: what gives back most, of what fits. */
static void
test_fit(void)
{
	Life	   *life = life_new();
	uint32		chosen[SKX_POLICY_INPUTS_MAX];

	life_add(life, 8 * MB, 8000, 4000);
	life_add(life, 2 * MB, 2000, 1000);
	life_add(life, 1 * MB, 1000, 900);
	life_add(life, 64 * KB, 64, 60);
	life_add(life, 4 * MB, 4000, 0);
	CHECK(skx_maint_policy_choose_fitting(life->segments, life->n, 5 * MB,
										  chosen) == 1);
	CHECK(chosen[0] == 1);
	CHECK(skx_maint_policy_choose_fitting(life->segments, life->n, 2 * MB,
										  chosen) == 1);
	CHECK(chosen[0] == 3);
	CHECK(skx_maint_policy_choose_fitting(life->segments, life->n, 64 * KB,
										  chosen) == 0);

	/* in the whole of a disk, what has no deletes is left alone */
	life->n = 0;
	life_add(life, 4 * MB, 4000, 0);
	CHECK(skx_maint_policy_choose_fitting(life->segments, life->n, GB,
										  chosen) == 0);
	free(life);
}

int
main(void)
{
	unit_seed(11);
	test_moves();
	test_waiting();
	test_room();
	test_beside_readers(53 * MB, 53 * MB, 200, 512 * KB);
	test_beside_readers(53 * MB, 53 * MB, 200, 2 * MB);
	test_beside_readers(512 * MB, 512 * MB, 200, 4 * MB);
	test_beside_readers(64 * MB, 8 * MB, 200, MB);
	test_beside_readers(512 * MB, 64 * MB, 150, 4 * MB);
	test_beside_readers(4 * GB, 512 * MB, 150, 4 * MB);
	test_neighbours(500, 5 * GB, 3);
	test_neighbours(500, 5 * GB, 2);
	test_neighbours(500, 5 * GB, 0);
	test_neighbours(200, 20 * MB, 3);
	test_neighbours(1000, 24 * MB, 2);
	test_neighbours(1000, 24 * MB, 1);
	test_tiers();
	test_small();
	test_small_dying();
	test_large();
	test_deletes();
	test_most();
	test_fit();
	test_flushes(8 * KB, 20000, 100);
	test_flushes(100 * KB, 5000, 100);
	test_flushes(2 * MB, 5000, 100);
	test_flushes(2 * MB, 5000, 75);
	test_flushes(4 * MB, 4000, 90);
	test_flushes(5 * MB, 3000, 100);
	test_flushes(100 * MB, 700, 85);
	test_random(3000);
	test_years();
	test_small_lives();
	test_settings();
	test_settings_rules();
	return unit_done("test_maint_policy");
}
