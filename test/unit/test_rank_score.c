/*
 * test_rank_score.c
 *	  Scores in units: that parts grow as they must, and that bounds bound,
 *	  to the last unit.
 *
 * Holds: rank 1, 4, 6, 7, 8, 9, 11, 12
 */
#include <math.h>

#include "unit.h"
#include "format/rank/rank_score.h"

static double
unit_fraction(void)
{
	return (double) (unit_random() >> 11) / (double) (UINT64CONST(1) << 53);
}

/* From low to high, evenly by magnitude. */
static double
unit_between(double low, double high)
{
	return low * exp(unit_fraction() * log(high / low));
}

static SkxRankOptions
draw_options(void)
{
	SkxRankOptions o;
	int			i;

	o.k1 = unit_below(8) == 0 ? 0 : unit_between(0.01, 100);
	o.b = unit_below(4) == 0 ? (double) unit_below(2) : unit_fraction();
	o.proximity = unit_fraction() * 2;
	for (i = 0; i < 4; i++)
		o.labels[i] = unit_below(3) == 0 ? 0 :
			(double) (1 + unit_below(256 * 100)) / 256;
	return o;
}

static double
draw_average(void)
{
	return unit_between(0.01, 1000000);
}

static void
idf(void)
{
	uint64		ndocs;
	uint64		df;

	CHECK(skx_rank_idf(0, 0) == log(2));
	CHECK(fabs(skx_rank_idf(1, 3) - log(1 + 2.5 / 1.5)) < 1e-15);
	CHECK(skx_rank_idf(7, 3) == skx_rank_idf(3, 3));
	for (ndocs = 1; ndocs < 100000000; ndocs *= 7)
	{
		for (df = 0; df < ndocs; df += 1 + ndocs / 50)
		{
			CHECK(skx_rank_idf(df, ndocs) > skx_rank_idf(df + 1, ndocs));
			CHECK(skx_rank_idf(df + 1, ndocs) > 0);
		}
	}
}

/*
 * A file of results, and the C library's: the same to 1e-12, or to the last
 * unit of a whole number.  Lines are for idf and union.
 */
static void
golden(void)
{
	FILE	   *file = fopen("../golden/rank_bits.txt", "r");
	char		line[256];
	int			lines[2] = {0, 0};
	int			differ = 0;

	CHECK(file != NULL);
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
	{
		unsigned long long n[4];
		uint64		bits;
		double		got;
		double		log_of;

		if (sscanf(line, "idf %llu %llu %llx", &n[0], &n[1], &n[2]) == 3)
		{
			got = skx_rank_idf(n[0], n[1]);
			memcpy(&bits, &got, sizeof(bits));
			CHECK(bits == n[2]);
			n[0] = Min(n[0], n[1]);
			log_of = log(1 + ((double) n[1] - n[0] + 0.5) / (n[0] + 0.5));
			CHECK(fabs(got - log_of) <= 1e-12 * log_of);
			differ += got != log_of;
			lines[0]++;
		}
		else if (sscanf(line, "union %llu %llu %llu %llu", &n[0], &n[1],
						&n[2], &n[3]) == 4)
		{
			double		rest = (double) (n[2] - n[0]);
			double		more = -expm1(-(double) (n[1] - n[0]) / rest) * rest;

			CHECK(skx_rank_union_df(n[0], n[1], n[2]) == n[3]);
			CHECK(n[0] == n[2] ||
				  fabs(n[0] + more - n[3]) <= 0.51 + 1e-12 * n[3]);
			lines[1]++;
		}
		else
			CHECK(line[0] == '#');
	}
	CHECK(lines[0] == 200 && lines[1] == 100);
	/* by the logarithm of a C library the file would not hold */
	CHECK(differ > 20);
	if (file != NULL)
		fclose(file);
}

static void
unions(void)
{
	int			round;

	CHECK(skx_rank_union_df(0, 1000000, 1000000) == 632121);
	CHECK(skx_rank_union_df(0, 3000000, 1000000) == 950213);
	CHECK(skx_rank_union_df(500000, 1000000, 1000000) == 816060);
	CHECK(skx_rank_union_df(7, 100, 7) == 7);
	CHECK(skx_rank_union_df(8, 100, 7) == 7);
	CHECK(skx_rank_union_df(0, 0, 0) == 0);
	for (round = 0; round < 100000; round++)
	{
		uint64		ndocs = (uint64) unit_between(1, 1e12);
		uint64		whole = unit_below(3) == 0 ? 0 :
			(uint64) (unit_fraction() * ndocs);
		uint64		sum = whole + (uint64) unit_between(1, 1e13);
		uint64		n = skx_rank_union_df(whole, sum, ndocs);

		CHECK(n >= whole && n <= sum && n <= ndocs);
		CHECK(skx_rank_union_df(whole, whole, ndocs) == whole);
		CHECK(whole == ndocs ||
			  skx_rank_union_df(whole, whole + 1, ndocs) == whole + 1);
		CHECK(skx_rank_union_df(whole, sum + 1, ndocs) >= n);
	}
}

static void
inverse(void)
{
	SkxRankOptions o = {1.2, 0.75, 0, {1, 1, 1, 1}};
	float		plain[256];
	float		other[256];
	int			round;
	int			i;

	skx_rank_norm_inverses(&o, 20, plain);
	CHECK(plain[20] == (float) (1 / 1.2));
	CHECK(plain[10] == (float) (1 / (1.2 * (0.25 + 0.375))));
	CHECK(fabs(plain[254] - 1 / (1.2 * (0.25 + 0.75 * 246711 / 20))) < 1e-9);
	CHECK(plain[SKX_NORM_NULL] == plain[0]);
	skx_rank_norm_inverses(&o, 0, plain);
	skx_rank_norm_inverses(&o, 1, other);
	CHECK(memcmp(plain, other, sizeof(plain)) == 0);
	o.k1 = 0;
	skx_rank_norm_inverses(&o, 20, plain);
	CHECK(plain[0] == 1e9f && plain[254] == 1e9f);
	for (round = 0; round < 1000; round++)
	{
		o = draw_options();
		skx_rank_norm_inverses(&o, draw_average(), plain);
		for (i = 0; i < 254; i++)
			CHECK(plain[i] >= plain[i + 1]);
		CHECK(plain[254] >= 1.0f / 16384 && plain[0] <= 1e9f);
	}
}

static void
units(void)
{
	int			round;

	CHECK(skx_rank_score_units(0) == 1 << 24);
	for (round = 0; round < 100000; round++)
	{
		double		total = unit_between(1e-3, 1e8);
		double		unit = skx_rank_score_units(total);
		int			exponent;

		CHECK(frexp(unit, &exponent) == 0.5);
		CHECK(unit <= 1 << 24);
		/* room for ceilings, roundings, and a unit for each of many words */
		CHECK(total * unit * (1 + 1.0 / 256) * (1 + 1e-6) + (1 << 16) <=
			  SKX_RANK_SUM_MAX);
		CHECK(unit == 1 << 24 || total * unit * 2 > 0.99 * SKX_RANK_SUM_MAX);
	}
}

/* Sums of many words and pairs, at their most. */
static void
sums(void)
{
	int			round;

	for (round = 0; round < 200; round++)
	{
		int			n = 1 + unit_below(round % 2 ? 10 : 3000);
		double		idfs[3000];
		double		pair = unit_between(0.001, 2000);
		double		total = 16 * pair * 1.5;
		double		unit;
		int64		sum = 0;
		int64		most = 0;
		int			i;

		for (i = 0; i < n; i++)
			total += idfs[i] = unit_between(1e-7, 23);
		unit = skx_rank_score_units(total);
		for (i = 0; i < n; i++)
		{
			float		w = (float) (idfs[i] * unit);

			sum += skx_rank_contribution(w, 1e9f, 1e9f);
			most += skx_rank_contribution(skx_rank_ceiling(w, i > 0 ? 0 :
												   16 * (float) (pair * unit)),
								  1e9f, 1e9f);
		}
		for (i = 0; i < 16; i++)
			sum += skx_rank_pair_contribution((float) (pair * unit), 256, 256,
											  1e9f);
		CHECK(sum <= SKX_RANK_SUM_MAX && most <= SKX_RANK_SUM_MAX);
		CHECK((int64) (float) sum == sum);
		CHECK(most >= sum);
	}
}

static float
draw_tf(void)
{
	switch (unit_below(4))
	{
		case 0:
			return 1 + unit_below(3);
		case 1:
			return 1 + unit_below(256);
		case 2:
			return (1 + unit_below(65535 * 256)) / 256.0f;
		default:
			return (1 + unit_below(1000)) / 256.0f;
	}
}

/* A weight of a word or pair, in units. */
static float
draw_weight(void)
{
	return (float) (unit_below(20) == 0 ? 0 : unit_between(1e-3, 1 << 29));
}

static float
draw_inverse(void)
{
	switch (unit_below(8))
	{
		case 0:
			return 1.0f / 16384;
		case 1:
			return 1e9f;
		case 2:
			return (float) unit_between(1.0 / 16384, 1.0 / 8192);
		default:
			return (float) unit_between(1.0 / 16384, 1e9);
	}
}

/* One step up, or many. */
static float
more(float x)
{
	return unit_below(2) ? nextafterf(x, INFINITY) :
		(float) (x * unit_between(1, 1000));
}

static void
monotone(void)
{
	int			round;

	CHECK(skx_rank_contribution(0, 1, 1) == 1);
	CHECK(skx_rank_contribution(1000, 1, 1) == 501);
	CHECK(skx_rank_pair_contribution(1000, 1, 3, 1) == 500 + 375);
	CHECK(skx_rank_pair_contribution(1000, 0, 0, 1) == 0);
	for (round = 0; round < UNIT_CASES(3000000); round++)
	{
		float		w = draw_weight();
		float		tf = draw_tf();
		float		inv = draw_inverse();
		int32		part = skx_rank_contribution(w, tf, inv);
		int			ordered = unit_below(256);
		int			near = unit_below(256);
		int32		pair = skx_rank_pair_contribution(w, ordered, near, inv);

		CHECK(part >= 1 && part <= (int32) w + 1);
		CHECK(skx_rank_contribution(w, more(tf), inv) >= part);
		CHECK(skx_rank_contribution(w, tf, more(inv)) >= part);
		CHECK(pair >= 0 && pair <= (int32) w + (int32) (w / 2));
		CHECK(skx_rank_pair_contribution(w, ordered + 1, near, inv) >= pair);
		CHECK(skx_rank_pair_contribution(w, ordered, near + 1, inv) >= pair);
		CHECK(skx_rank_pair_contribution(w, ordered, near, more(inv)) >= pair);
	}
}

/* Of many documents at once: the same to the last unit. */
static void
parts_of_many(void)
{
	float		tfs[40];
	float		inverses[40];
	int32		parts[41];
	int			round;

	for (round = 0; round < UNIT_CASES(100000); round++)
	{
		float		w = draw_weight();
		int			n = unit_below(41);
		int			i;

		for (i = 0; i < n; i++)
		{
			tfs[i] = draw_tf();
			inverses[i] = draw_inverse();
		}
		parts[n] = -1;
		skx_rank_contributions(w, tfs, inverses, n, parts);
		for (i = 0; i < n; i++)
			CHECK(parts[i] == skx_rank_contribution(w, tfs[i], inverses[i]));
		CHECK(parts[n] == -1);
	}
}

/* A word's ceiling against that word and all of its pairs. */
static void
ceilings(void)
{
	int			round;

	CHECK(skx_rank_ceiling(12345.0f, 0) == 12345.0f);
	for (round = 0; round < UNIT_CASES(3000000); round++)
	{
		float		w = draw_weight();
		int			npairs = unit_below(unit_below(2) ? 3 : 17);
		float		weights[16];
		float		pairs = 0;
		float		inv = draw_inverse();
		int			tf = 1 + unit_below(unit_below(2) ? 3 : 256);
		int64		sum = skx_rank_contribution(w, tf, inv);
		float		ceiling;
		int			i;

		for (i = 0; i < npairs; i++)
			pairs += weights[i] = (float) (w * unit_between(0.001, 3)) / 16;
		ceiling = skx_rank_ceiling(w, pairs);
		for (i = 0; i < npairs; i++)
		{
			bool		full = unit_below(2) != 0;

			sum += skx_rank_pair_contribution(weights[i],
									  full ? tf : unit_below(tf + 1),
									  full ? tf : unit_below(tf + 1), inv);
		}
		CHECK(skx_rank_contribution(ceiling, tf, inv) >= sum);
		CHECK(ceiling <= (w + 1.5 * pairs) * 1.004);
	}
}

#define MOST	300

typedef struct Posting
{
	uint32		tf;
	uint8		norm;
	uint32		labels[4];		/* how many of each */
} Posting;

static int
draw_postings(Posting *postings)
{
	int			n = 1 + unit_below(unit_below(3) ? 12 : MOST);
	int			tfs = 1 + unit_below(unit_below(2) ? 10 : 256);
	int			norms = 1 + unit_below(255);
	int			i;
	uint32		k;

	for (i = 0; i < n; i++)
	{
		Posting    *p = &postings[i];

		p->norm = unit_below(norms);
		p->tf = unit_below(tfs + 1);
		memset(p->labels, 0, sizeof(p->labels));
		for (k = 0; k < p->tf; k++)
			p->labels[unit_below(4)]++;
		if (p->tf == 0)
			p->labels[0] = 1;
	}
	return n;
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

typedef struct Ranking
{
	SkxRankOptions options;
	float		weight;
	float		most;
	float		inverse[256];
} Ranking;

static void
draw_ranking(Ranking *r)
{
	int			i;

	r->options = draw_options();
	r->weight = draw_weight();
	r->most = 1;
	for (i = 0; i < 4; i++)
		r->most = Max(r->most, (float) r->options.labels[i]);
	skx_rank_norm_inverses(&r->options, draw_average(), r->inverse);
}

/* The largest part of the postings, of which some count fewer labels. */
static int32
largest(const Ranking *r, const Posting *postings, int n, int mask)
{
	int32		part = 0;
	int			i;
	int			k;

	for (i = 0; i < n; i++)
	{
		float		tf = 0;

		for (k = 0; k < 4; k++)
			if (mask & (1 << k))
				tf += postings[i].labels[k] * (float) r->options.labels[k];
		if (tf > 0)
			part = Max(part, skx_rank_contribution(r->weight, tf,
										   r->inverse[postings[i].norm]));
	}
	return part;
}

/*
 * Bounds made when a list was written hold under statistics and options of
 * any later time.
 */
static void
bounds(void)
{
	Posting		a[MOST];
	Posting		b[MOST];
	int			exact = 0;
	int			round;
	int			i;

	for (round = 0; round < 20000; round++)
	{
		int			an = draw_postings(a);
		int			bn = draw_postings(b);
		SkxImpacts	ai = pack(a, an);
		SkxImpacts	both = skx_rank_impacts_merge(ai, pack(b, bn));

		for (i = 0; i < 5; i++)
		{
			Ranking		r;
			int32		bound;
			int			mask = unit_below(2) ? 15 : unit_below(16);

			draw_ranking(&r);
			bound = skx_rank_bound(ai, r.weight, r.most, r.inverse);
			CHECK(bound >= largest(&r, a, an, mask));
			CHECK(skx_rank_bound(both, r.weight, r.most, r.inverse) >=
				  Max(bound, largest(&r, b, bn, mask)));
			CHECK(bound <= (int32) r.weight + 1);
			exact += bound == largest(&r, a, an, 15);
		}
	}
	/* no bound that is never met */
	CHECK(exact > 1000);
}

static void
bounds_exact(void)
{
	static const Posting one[] = {{7, 30, {7, 0, 0, 0}}};
	static const Posting two[] = {
		{2, 10, {2, 0, 0, 0}}, {40, 200, {40, 0, 0, 0}}
	};
	static const Posting many[] = {{256, 30, {256, 0, 0, 0}}};
	SkxRankOptions o = {1.2, 0.75, 0, {1, 1, 1, 1}};
	Ranking		r;

	r.options = o;
	r.weight = 1000000;
	r.most = 1;
	skx_rank_norm_inverses(&o, 100, r.inverse);
	CHECK(skx_rank_bound(SKX_IMPACTS_NONE, r.weight, 1, r.inverse) == 0);
	CHECK(skx_rank_bound(pack(one, 1), r.weight, 1, r.inverse) ==
		  largest(&r, one, 1, 15));
	CHECK(skx_rank_bound(pack(one, 1), r.weight, 3, r.inverse) ==
		  skx_rank_contribution(r.weight, 21, r.inverse[30]));
	CHECK(skx_rank_bound(pack(two, 2), r.weight, 1, r.inverse) ==
		  largest(&r, two, 2, 15));
	/* as if there were any number */
	CHECK(skx_rank_bound(pack(many, 1), r.weight, 1, r.inverse) >=
		  skx_rank_contribution(r.weight, 60000, r.inverse[30]));
}

/*
 * A frequency competes when its part may reach a floor with the smallest norm
 * that the pairs allow for it, to the last unit; where none reaches it, none
 * does.
 */
static void
competing(void)
{
	Posting		postings[MOST];
	int			left_out = 0;
	int			kept = 0;
	int			round;
	uint32		tf;

	for (round = 0; round < 20000; round++)
	{
		int			n = draw_postings(postings);
		SkxImpacts	impacts = pack(postings, n);
		uint32		most = (uint8) (impacts >> 48) + 1;
		Ranking		r;
		int32		floor;
		uint64		bits;

		draw_ranking(&r);
		tf = 1 + unit_below(most);
		floor = skx_rank_contribution(r.weight, tf,
							  r.inverse[skx_rank_impacts_norm(impacts, tf)]);
		floor += (int32) unit_below(3) - 1;
		bits = skx_rank_competing_codes(impacts, r.weight, r.inverse, floor);
		for (tf = 1; tf <= 256; tf++)
		{
			uint8		norm = skx_rank_impacts_norm(impacts, tf);
			bool		may = tf > Min(most, SKX_RANK_TF_CODE_LAST) ||
				skx_rank_contribution(r.weight, tf, r.inverse[norm]) >= floor;

			CHECK(skx_rank_competes(bits, tf) == may);
			kept += may;
			left_out += !may;
		}
		CHECK(skx_rank_competes(bits, 0) == skx_rank_competes(bits, 1));
	}
	CHECK(kept > 1000 && left_out > 1000);
	CHECK(skx_rank_competing_codes(SKX_IMPACTS_NONE, 1, NULL, 1000) ==
		  ~UINT64CONST(0));
}

/* More documents than 32 bits count: only their proportions matter. */
static void
test_many(void)
{
	uint64		scale;

	for (scale = 1; scale <= UINT64CONST(1) << 40; scale <<= 8)
	{
		uint64		n = 100 * scale;
		double		idf = skx_rank_idf(3 * scale, n);
		uint64		whole = 10 * scale;
		double		share = (double) skx_rank_union_df(whole, 60 * scale,
													   n) / n;

		CHECK(fabs(idf - log(1 + (97 + 0.5 / scale) / (3 + 0.5 / scale))) < 1e-9);
		CHECK(fabs(share - (double) skx_rank_union_df(10000, 60000, 100000) /
				   100000) < (scale < 256 ? 0.02 : 1e-4));
		CHECK(skx_rank_union_df(n, 2 * n, n) == n);
	}
}

int
main(void)
{
	unit_seed(11);
	test_many();
	idf();
	golden();
	unions();
	inverse();
	units();
	sums();
	monotone();
	parts_of_many();
	ceilings();
	bounds_exact();
	bounds();
	competing();
	return unit_done("test_rank_score");
}
