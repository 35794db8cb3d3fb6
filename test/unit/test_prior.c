/*
 * test_prior.c
 *	  What values of a row add to its rank: bits, order, ends, sums.
 *
 * Holds: prior 1, 2, 3, 4, 5
 */
#include <float.h>
#include <math.h>

#include "unit.h"
#include "format/prior/prior.h"
#include "format/prior/prior_sum.h"

typedef double (*Function) (double x);

static double
saturation(double x)
{
	return skx_prior_saturation(x, 100);
}

static double
nearness(double x)
{
	return skx_prior_nearness(x, 1.0 / 3);
}

static double
halvings_of_libm(double x)
{
	return exp2(-x);
}

static double
saturation_of_libm(double x)
{
	return x / (x + 100);
}

static double
nearness_of_libm(double x)
{
	return (1.0 / 3) / (1.0 / 3 + x);
}

static const struct
{
	const char *name;
	Function	ours;
	Function	libm;
	int			sign;			/* 1: grows */
} functions[] = {
	{"halvings", skx_prior_halvings, halvings_of_libm, -1},
	{"log1p", skx_prior_log1p, log1p, 1},
	{"saturation", saturation, saturation_of_libm, 1},
	{"nearness", nearness, nearness_of_libm, -1},
};

/* A positive number of any magnitude; often of those that matter most. */
static double
draw(void)
{
	uint64		bits;
	double		x;

	if (unit_below(2) == 0)
		return (double) unit_below(1 << 20) / (1 << unit_below(20));
	bits = unit_random() & ((UINT64CONST(1) << 62) | ((UINT64CONST(1) << 62) - 1));
	memcpy(&x, &bits, sizeof(x));
	return isfinite(x) ? x : 1;
}

/* Neighbours of a number, and numbers at which a series or an exponent ends. */
static void
order(void)
{
	int			i;
	int			n;

	for (i = 0; i < lengthof(functions); i++)
	{
		for (n = UNIT_CASES(400000); n > 0; n--)
		{
			double		x = unit_below(4) == 0 ?
				ldexp(1, (int) unit_below(1040) - 30) - DBL_EPSILON * unit_below(3) :
				draw();
			double		y = unit_below(2) == 0 ? nextafter(x, INFINITY) :
				x * (1 + ldexp(1, -(int) unit_below(52)));
			double		fx = functions[i].ours(x);
			double		fy = functions[i].ours(y);

			CHECK(fx >= 0 && (fy - fx) * functions[i].sign >= 0);
			CHECK(skx_prior_distance(.7, fx) * functions[i].sign >=
				  skx_prior_distance(.7, fy) * functions[i].sign);
		}
	}
}

static void
values(void)
{
	int			i;
	int			n;

	for (i = 0; i < lengthof(functions); i++)
	{
		for (n = UNIT_CASES(200000); n > 0; n--)
		{
			double		x = draw();
			double		expected = functions[i].libm(x);

			if (x < 1e300 && expected > 1e-290)
				CHECK(fabs(functions[i].ours(x) / expected - 1) < 1e-10);
		}
	}
	for (n = 0; n < 1000; n++)
		CHECK(skx_prior_halvings(n) == ldexp(1, -n));
}

static void
ends(void)
{
	CHECK(skx_prior_halvings(-1) == 1 && skx_prior_halvings(-INFINITY) == 1);
	CHECK(skx_prior_halvings(0) == 1 && skx_prior_halvings(INFINITY) == 0);
	CHECK(skx_prior_log1p(-3) == 0 && skx_prior_log1p(-INFINITY) == 0);
	CHECK(skx_prior_log1p(INFINITY) == skx_prior_log1p(DBL_MAX));
	CHECK(skx_prior_log1p(DBL_MAX) > 709 && skx_prior_log1p(DBL_MAX) < 710);
	CHECK(skx_prior_saturation(-1, 1) == 0 && skx_prior_saturation(0, 1) == 0);
	CHECK(skx_prior_saturation(INFINITY, 1) == 1 && skx_prior_saturation(1, 1) == .5);
	CHECK(skx_prior_saturation(DBL_MIN, DBL_MAX) == 0);
	CHECK(skx_prior_nearness(0, 1) == 1 && skx_prior_nearness(INFINITY, 1) == 0);
	CHECK(skx_prior_nearness(DBL_MAX, DBL_MIN) == 0 && skx_prior_nearness(2, 2) == .5);
	CHECK(SKX_PRIOR_DECAY_MIN == ldexp(1, -60) && (float) SKX_PRIOR_DECAY_MIN > 0);
}

static void
distances(void)
{
	CHECK(skx_prior_distance(2, .5) == -1 && skx_prior_distance(-2, .5) == 1);
	CHECK(!signbit(skx_prior_distance(1, 0)) && !signbit(skx_prior_distance(-1, 0)));
	CHECK(!signbit(skx_prior_distance(0, 1)) && !signbit(skx_prior_distance(1e-30, 1e-30)));
	CHECK(isfinite(skx_prior_distance(SKX_PRIOR_WEIGHT_MAX, skx_prior_log1p(DBL_MAX))));
	CHECK(isfinite(skx_prior_distance(-SKX_PRIOR_WEIGHT_MAX, skx_prior_log1p(DBL_MAX))));
}

/* A float of either sign and of any magnitude up to 1e33. */
static float
draw_float(void)
{
	float		x = (float) ldexp(1 + (double) unit_below(1 << 24) / (1 << 24),
								  (int) unit_below(210) - 100);

	if (unit_below(8) == 0)
		x = (float) unit_below(5) / 2;
	return unit_below(2) == 0 ? x : -x;
}

static void
grades(void)
{
	int			n;

	for (n = UNIT_CASES(400000); n > 0; n--)
	{
		float		x = draw_float();
		float		y = unit_below(2) == 0 ? draw_float() : nextafterf(x, INFINITY);

		CHECK((x < y) == (skx_prior_grade(x) > skx_prior_grade(y)));
		CHECK((x == y) == (skx_prior_grade(x) == skx_prior_grade(y)));
		CHECK(skx_prior_grade_value(skx_prior_grade(x)) == x);
	}
	CHECK(skx_prior_grade(-0.0f) == skx_prior_grade(0.0f));
	CHECK(!signbit(skx_prior_grade_value(skx_prior_grade(-0.0f))));
}

/* (a - b) * c + distance * d, and bounds of it, by the server's operations. */
static void
sums(void)
{
	static const SkxPriorSum sum = {9, {
		SKX_PRIOR_TERM, SKX_PRIOR_TERM + 1, SKX_PRIOR_SUBTRACT,
		SKX_PRIOR_TERM + 2, SKX_PRIOR_MULTIPLY, SKX_PRIOR_DISTANCE,
		SKX_PRIOR_TERM + 3, SKX_PRIOR_MULTIPLY, SKX_PRIOR_ADD}
	};
	SkxPriorRange ranges[4];
	SkxPriorRange terms[4];
	int			n;
	int			i;

	for (n = UNIT_CASES(200000); n > 0; n--)
	{
		float		distance = -fabsf(draw_float());
		float		least = nextafterf(distance, -INFINITY);
		volatile float x;
		volatile float y;
		SkxPriorRange got;
		SkxPriorRange bounds;

		for (i = 0; i < 4; i++)
		{
			float		ends[3];

			for (int k = 0; k < 3; k++)
				ends[k] = i < 2 ? draw_float() :
					(float) ldexp(1 + unit_below(1 << 20), -(int) unit_below(60) - 21);
			ranges[i].least = fminf(ends[0], fminf(ends[1], ends[2]));
			ranges[i].most = fmaxf(ends[0], fmaxf(ends[1], ends[2]));
			terms[i].least = terms[i].most = ends[unit_below(3)];
		}
		x = terms[0].least - terms[1].least;
		x = x * terms[2].least;
		y = distance * terms[3].least;
		y = x + y;
		got = skx_prior_sum(&sum, distance, terms);
		bounds = skx_prior_sum(&sum, distance, ranges);
		CHECK(got.least == y && got.most == y);
		CHECK(bounds.least <= y && y <= bounds.most);
		CHECK(skx_prior_sum(&sum, least, ranges).least <= bounds.least);
	}
}

static void
golden(void)
{
	FILE	   *file = fopen("../golden/prior_bits.txt", "r");
	char		line[256];
	int			lines = 0;
	int			differ = 0;

	CHECK(file != NULL);
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
	{
		char		name[32];
		unsigned long long in;
		unsigned long long out;
		double		x;
		double		got;
		uint64		bits;
		int			i = 0;

		if (sscanf(line, "%31s %llx %llx", name, &in, &out) != 3)
		{
			CHECK(line[0] == '#');
			continue;
		}
		bits = in;
		memcpy(&x, &bits, sizeof(x));
		while (i < lengthof(functions) && strcmp(functions[i].name, name) != 0)
			i++;
		CHECK(i < lengthof(functions));
		got = functions[i].ours(x);
		memcpy(&bits, &got, sizeof(bits));
		CHECK(bits == out);
		differ += got != functions[i].libm(x);
		lines++;
	}
	CHECK(lines == 400);
	/* by the functions of a C library the file would not hold */
	CHECK(differ > 100);
	if (file != NULL)
		fclose(file);
}

int
main(int argc, char **argv)
{
	order();
	values();
	ends();
	distances();
	grades();
	sums();
	golden();
	return unit_done("test_prior");
}
