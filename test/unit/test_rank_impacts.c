/*
 * test_rank_impacts.c
 *	  Impacts: bytes, that they cover what they must, and how tightly.
 *
 * Holds: rank 1, 3, 5
 */
#include "unit.h"
#include "format/rank/rank.h"

#define MOST	300

typedef struct Posting
{
	uint32		tf;
	uint8		norm;
} Posting;

static uint8 bytes[8];

static const uint8 *
as_bytes(SkxImpacts impacts)
{
	int			i;

	for (i = 0; i < 8; i++)
		bytes[i] = (uint8) (impacts >> (8 * i));
	return bytes + 8;
}

static SkxImpacts
pack(const Posting *postings, int n)
{
	SkxImpactSet set;
	int			i;

	skx_rank_impacts_reset(&set);
	for (i = 0; i < n; i++)
		skx_rank_impacts_add(&set, postings[i].tf, postings[i].norm);
	return skx_rank_impacts_pack(&set, NULL);
}

static void
golden(void)
{
	static const Posting few[] = {{5, 20}, {1, 10}, {300, 50}, {5, 30}};
	static const Posting five[] = {
		{1, 1}, {2, 2}, {10, 10}, {20, 30}, {100, 90}
	};
	static const Posting even[] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}};
	static const Posting stripped[] = {{0, 7}};
	static const Posting null_norm[] = {{256, 255}};

	CHECK_BYTES(bytes, as_bytes(pack(few, 4)),
				0, 10, 4, 20, 255, 50, 255, 50);
	CHECK_BYTES(bytes, as_bytes(pack(five, 5)),
				1, 1, 9, 10, 19, 30, 99, 90);
	CHECK_BYTES(bytes, as_bytes(pack(even, 5)), 1, 1, 2, 3, 3, 4, 4, 5);
	CHECK_BYTES(bytes, as_bytes(pack(stripped, 1)), 0, 7, 0, 7, 0, 7, 0, 7);
	CHECK_BYTES(bytes, as_bytes(pack(null_norm, 1)),
				255, 254, 255, 254, 255, 254, 255, 254);
	CHECK(pack(few, 0) == SKX_IMPACTS_NONE);
	CHECK_BYTES(bytes, as_bytes(skx_rank_impacts_merge(pack(few, 4),
													   pack(five, 5))),
				1, 1, 9, 10, 19, 30, 255, 50);
}

/* Packed as rank.h says: ascending, the last repeated. */
static bool
sound(SkxImpacts impacts)
{
	bool		repeated = false;
	int			i;

	as_bytes(impacts);
	for (i = 1; i < 4; i++)
	{
		uint8	   *pair = bytes + 2 * i;

		if (pair[0] == pair[-2] && pair[1] == pair[-1])
			repeated = true;
		else if (repeated || pair[0] <= pair[-2] || pair[1] <= pair[-1])
			return false;
	}
	return true;
}

static int
draw(Posting *postings)
{
	int			n = 1 + unit_below(unit_below(3) ? 12 : MOST);
	int			tfs = 1 + unit_below(unit_below(2) ? 10 : 400);
	int			norms = 1 + unit_below(255);
	int			i;

	for (i = 0; i < n; i++)
	{
		postings[i].norm = unit_below(norms);
		postings[i].tf = unit_below(tfs);
		/* a steep front: long documents with many occurrences */
		if (tfs % 2)
			postings[i].tf = postings[i].norm + unit_below(4);
	}
	return n;
}

/* Pairs that no other of the postings dominates, at most n. */
static int
front(const Posting *postings, int n)
{
	int			largest = -1;
	int			pairs = 0;
	int			norm;
	int			i;

	for (norm = 0; norm < 255; norm++)
	{
		int			here = -1;

		for (i = 0; i < n; i++)
		{
			if (postings[i].norm == norm)
				here = Max(here, (int) Min(Max(postings[i].tf, 1), 256));
		}
		if (here > largest)
			pairs++;
		largest = Max(largest, here);
	}
	return pairs;
}

/* Whether the pair (code, norm) of a bound is itself a posting's. */
static bool
is_posting(const Posting *postings, int n, int code, int norm)
{
	int			i;

	for (i = 0; i < n; i++)
	{
		if (postings[i].norm == norm &&
			Min(Max(postings[i].tf, 1), 256) - 1 == code)
			return true;
	}
	return false;
}

/* The norm of a posting is bounded by its tf, as tightly as the pairs say. */
static void
check_norm(const Posting *posting, SkxImpacts impacts)
{
	uint8		norm = skx_rank_impacts_norm(impacts, posting->tf);

	CHECK(norm <= posting->norm);
	CHECK(skx_rank_impacts_dominate(impacts, posting->tf, norm));
	CHECK(norm == 0 ||
		  !skx_rank_impacts_dominate(impacts, posting->tf, norm - 1));
}

static void
check_pack(const Posting *postings, int n, SkxImpacts impacts)
{
	uint32		tf_max = 0;
	int			norm_min = 255;
	int			i;

	CHECK(sound(impacts));
	for (i = 0; i < n; i++)
	{
		CHECK(skx_rank_impacts_dominate(impacts, postings[i].tf,
									 postings[i].norm));
		check_norm(&postings[i], impacts);
		tf_max = Max(tf_max, postings[i].tf);
		norm_min = Min(norm_min, postings[i].norm);
	}
	/* no looser than the corner of all postings */
	if (norm_min > 0)
		CHECK(!skx_rank_impacts_dominate(impacts, 1, norm_min - 1));
	if (tf_max < 256)
		CHECK(!skx_rank_impacts_dominate(impacts, Max(tf_max, 1) + 1, 255));
	/* and exact when four pairs are enough */
	if (front(postings, n) <= 4)
	{
		as_bytes(impacts);
		for (i = 0; i < 4; i++)
			CHECK(is_posting(postings, n, bytes[2 * i], bytes[2 * i + 1]));
	}
}

static void
properties(void)
{
	Posting		a[MOST];
	Posting		b[MOST];
	int			round;
	int			i;

	for (round = 0; round < 5000; round++)
	{
		int			an = draw(a);
		int			bn = draw(b);
		SkxImpacts	ai = pack(a, an);
		SkxImpacts	bi = pack(b, bn);
		SkxImpacts	both = skx_rank_impacts_merge(ai, bi);

		check_pack(a, an, ai);
		CHECK(sound(both));
		for (i = 0; i < an; i++)
			CHECK(skx_rank_impacts_dominate(both, a[i].tf, a[i].norm));
		for (i = 0; i < bn; i++)
			CHECK(skx_rank_impacts_dominate(both, b[i].tf, b[i].norm));
		/* whatever a bound covers, so does its merge */
		for (i = 0; i < 20; i++)
		{
			uint32		tf = unit_below(300);
			uint8		norm = unit_below(256);

			if (skx_rank_impacts_dominate(ai, tf, norm) ||
				skx_rank_impacts_dominate(bi, tf, norm))
				CHECK(skx_rank_impacts_dominate(both, tf, norm));
		}
		CHECK(both == skx_rank_impacts_merge(bi, ai));
		CHECK(skx_rank_impacts_merge(both, ai) == both);
		CHECK(skx_rank_impacts_merge(ai, ai) == ai);
		CHECK(skx_rank_impacts_merge(ai, SKX_IMPACTS_NONE) == ai);
		CHECK(skx_rank_impacts_merge(SKX_IMPACTS_NONE, ai) == ai);
	}
	CHECK(skx_rank_impacts_merge(SKX_IMPACTS_NONE, SKX_IMPACTS_NONE) ==
		  SKX_IMPACTS_NONE);
	CHECK(!skx_rank_impacts_dominate(SKX_IMPACTS_NONE, 1, 255));
}

int
main(void)
{
	unit_seed(8);
	golden();
	properties();
	return unit_done("test_rank_impacts");
}
