/*
 * test_ranking.c
 *	  Rankings: bytes and text that are read as they were written, what is
 *	  accepted, sums, and weights.
 *
 * Holds: ranking 1, 2, 3, 4, 5, 6, 7
 */
#include <math.h>

#include "unit_ranking.h"

#define ROOM	65536

static SkxRankingTerm read_terms[ROOM / 3];
static SkxRankingPair read_pairs[SKX_RANKING_PAIRS_MAX];
static SkxRankingGroup read_groups[SKX_RANKING_GROUPS_MAX];
static char read_bytes[ROOM * 4];

/* Reads n packed bytes; NULL if they are no ranking. */
static SkxRanking *
unpack(const uint8 *bytes, size_t n)
{
	static SkxRanking r;
	const uint8 *terms;

	memset(&r, 0, sizeof(r));
	terms = skx_ranking_unpack_head(bytes, n, &r);
	r.terms = read_terms;
	r.pairs = read_pairs;
	r.groups = read_groups;
	return terms != NULL && skx_ranking_unpack_terms(terms, bytes + n, &r) ?
		&r : NULL;
}

static SkxRanking *
parse(const char *text, const char **error)
{
	static SkxRanking r;

	memset(&r, 0, sizeof(r));
	r.terms = read_terms;
	r.pairs = read_pairs;
	r.groups = read_groups;
	CHECK(skx_ranking_parse_terms(text) <= lengthof(read_terms));
	*error = skx_ranking_parse(text, &r, read_bytes);
	if (*error == NULL)
		*error = skx_ranking_check(&r);
	return *error == NULL ? &r : NULL;
}

/* What is written is read as the same, and as nothing else if bytes lack. */
static void
round_trips(void)
{
	static uint8 packed[ROOM];
	static char text[ROOM * 4];
	static char again[ROOM * 4];
	int			round;

	for (round = 0; round < UNIT_CASES(40000); round++)
	{
		UnitRanking u;
		const char *error;
		uint8	   *end;
		SkxRanking *r;
		size_t		n;

		unit_ranking(&u);
		CHECK(skx_ranking_check(&u.r) == NULL);
		end = skx_ranking_pack(&u.r, packed);
		n = end - packed;
		CHECK(n <= skx_ranking_packed_size(&u.r));
		r = unpack(packed, n);
		CHECK(r != NULL && unit_ranking_same(r, &u.r));
		CHECK(unpack(packed, unit_below((uint32) n)) == NULL);
		CHECK(unpack(packed, n + 1) == NULL);
		skx_ranking_print(&u.r, text);
		CHECK(strlen(text) < skx_ranking_print_size(&u.r));
		r = parse(text, &error);
		CHECK(r != NULL && unit_ranking_same(r, &u.r));
		if (r == NULL)
			continue;
		skx_ranking_print(r, again);
		CHECK(strcmp(text, again) == 0);
	}
}

static void
golden(void)
{
	static const char *const texts[] = {
		"documents=1000 length=52000 k1=1.2 b=0.75 weights={1,1,1,1} proximity=0.1 'cat'(df=20) 'dog'(df=300) 'zeb':*(df=9,whole=2) near('cat','dog')",
		"documents=9 length=90 k1=1.2 b=0.75 weights={1,1,1,1} proximity=0.1 'eel'(df=1) group('cat'(df=2,exact),'cats'(df=3,factor=0.5)) group(times=2,factor=3,'cats'(df=3)) near(1,'eel') near(1,2)",
		"documents=7 length=70 k1=0 b=1 weights={0,0.5,1,100} proximity=0 'a''b':AC(df=7,times=3,factor=0.25) 'x':*(df=4,only='xy')"
	};
	const char *error;
	SkxRanking *r;
	uint8		packed[512];
	char		text[1024];

	r = parse(texts[0], &error);
	CHECK(r != NULL);
	CHECK_BYTES(packed, skx_ranking_pack(r, packed),
				0x01, 0x00, 0xe8, 0x07, 0xa0, 0x96, 0x03, 0x03, 0x01,
				0x00, 0x03, 'c', 'a', 't', 0x14,
				0x00, 0x03, 'd', 'o', 'g', 0xac, 0x02,
				0x01, 0x03, 'z', 'e', 'b', 0x09, 0x02,
				0x00, 0x01);
	skx_ranking_print(r, text);
	CHECK(strcmp(text, texts[0]) == 0);
	r = parse(texts[1], &error);
	CHECK(r != NULL);
	CHECK_BYTES(packed, skx_ranking_pack(r, packed),
				0x01, 0x80, 0x09, 0x5a, 0x04, 0x02, 0x02,
				0x01, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f,
				0x02, 0, 0, 0, 0, 0, 0, 0x08, 0x40,
				0x00, 0x03, 'c', 'a', 't', 0x02, 0x03,
				0x40, 0x04, 'c', 'a', 't', 's', 0, 0, 0, 0, 0, 0, 0xe0, 0x3f,
				0x03, 0x02,
				0x00, 0x04, 'c', 'a', 't', 's', 0x03, 0x04,
				0x00, 0x03, 'e', 'e', 'l', 0x01, 0x00,
				0x03, 0x06, 0x03, 0x05);
	skx_ranking_print(r, text);
	CHECK(strcmp(text, texts[1]) == 0);
	r = parse(texts[2], &error);
	CHECK(r != NULL);
	CHECK_BYTES(packed, skx_ranking_pack(r, packed),
				0x01, 0x5f,
				0, 0, 0, 0, 0, 0, 0, 0,
				0, 0, 0, 0, 0, 0, 0xf0, 0x3f,
				0, 0, 0, 0, 0, 0, 0, 0,
				0, 0, 0, 0, 0, 0, 0, 0,
				0, 0, 0, 0, 0, 0, 0xe0, 0x3f,
				0, 0, 0, 0, 0, 0, 0x59, 0x40,
				0x07, 0x46, 0x02, 0x00,
				0x74, 0x03, 'a', '\'', 'b', 0x03,
				0, 0, 0, 0, 0, 0, 0xd0, 0x3f, 0x07,
				0x81, 0x01, 'x', 0x04, 0x00, 0x02, 'x', 'y');
	skx_ranking_print(r, text);
	CHECK(strcmp(text, texts[2]) == 0);
	/* another order, white space, defaults, small letters */
	r = parse("\t'dog'(df=300) near('cat','dog')\n'zeb':*(whole=2,df=9)'cat'(df=20)  length=52000 documents=1000", &error);
	CHECK(r != NULL);
	skx_ranking_print(r, text);
	CHECK(strcmp(text, texts[0]) == 0);
	r = parse("documents=7 length=0 'a':b*(df=0)", &error);
	CHECK(r != NULL && r->terms[0].prefix && r->terms[0].labels == 4);
}

static void
refuse(const char *const *texts, int n)
{
	const char *error;
	int			i;

	for (i = 0; i < n; i++)
	{
		bool		none = parse(texts[i], &error) == NULL && error != NULL;

		CHECK(none);
		if (!none)
			fprintf(stderr, "accepted: %s\n", texts[i]);
	}
}

static void
refused_groups(void)
{
	static const char *const texts[] = {
		"documents=9 length=1 group()",
		"documents=9 length=1 group('a'(df=3)",
		"documents=9 length=1 group('a'(df=3),)",
		"documents=9 length=1 group(times=2)",
		"documents=9 length=1 group('a'(df=3),'a'(df=3))",
		"documents=9 length=1 group('a':*(df=0))",
		"documents=9 length=1 group('a'(df=3,times=2))",
		"documents=9 length=1 group('a'(df=3,factor=0))",
		"documents=9 length=1 group('a'(df=3,factor=0.5,exact))",
		"documents=9 length=1 group('a'(df=3,exact,exact))",
		"documents=9 length=1 'a'(df=3,exact)",
		"documents=9 length=1 group('a'(df=3,factor=1.01))",
		"documents=9 length=1 group(times=0,'a'(df=3))",
		"documents=9 length=1 group(times=256,'a'(df=3))",
		"documents=9 length=1 group(factor=101,'a'(df=3))",
		"documents=9 length=1 group('a'(df=10))",
		"documents=9 length=1 group('a'(df=3)) 'b'(df=1) near('a','b')",
		"documents=9 length=1 group('a'(df=3)) 'b'(df=1) near(0,'b')",
		"documents=9 length=1 group('a'(df=3)) 'b'(df=1) near(2,'b')",
		"documents=9 length=1 group('a'(df=3)) near(1,1)",
		"documents=9 length=1 group('a'(df=3)) near(1,18446744073709551615)"
	};

	refuse(texts, lengthof(texts));
}

static void
refused(void)
{
	static const char *const texts[] = {
		"", "documents=1", "length=1", "documents=1 length=1 documents=1",
		"documents=-1 length=1", "documents=281474976710656 length=1",
		"documents=1 length=281474976710656",
		"documents=99999999999999999999 length=1",
		"documents=1 length=1 k1=-1", "documents=1 length=1 k1=101",
		"documents=1 length=1 k1=nan", "documents=1 length=1 k1=1e999",
		"documents=1 length=1 b=1.1", "documents=1 length=1 proximity=1e3",
		"documents=1 length=1 weights={1,1,1}",
		"documents=1 length=1 weights={1,1,1,101}",
		"documents=1 length=1 weights={1,1,1,1,1}",
		"documents=1 length=1 weights=1", "documents=1 length=1 k2=1",
		"documents=1 length=1 k1=1x", "documents=1 length=1 k1=1-",
		"documents=1 length=1 'a'", "documents=1 length=1 'a'()",
		"documents=1 length=1 'a'(df=2)", "documents=1 length=1 'a(df=1)",
		"documents=1 length=1 'a\\", "documents=1 length=1 'a'(df=1",
		"documents=1 length=1 'a':(df=1)", "documents=1 length=1 'a':E(df=1)",
		"documents=1 length=1 'a'(df=1,df=1)",
		"documents=1 length=1 'a'(times=1)",
		"documents=1 length=1 'a'(df=1,times=0)",
		"documents=1 length=1 'a'(df=1,times=256)",
		"documents=1 length=1 'a'(df=1,times=65537)",
		"documents=1 length=1 'a'(df=1,factor=100.1)",
		"documents=1 length=1 'a'(df=1,factor=-1)",
		"documents=1 length=1 'a'(df=1,whole=1)",
		"documents=1 length=1 'a'(df=1,only='a')",
		"documents=1 length=1 'a'(df=1) 'a':A(df=1)",
		"documents=1 length=1 'a':*(df=1) 'a':*(df=1)",
		"documents=9 length=1 'a':*(df=3,whole=3)",
		"documents=9 length=1 'a':*(df=3,whole=4)",
		"documents=9 length=1 'a':*(df=13,whole=10)",
		"documents=9 length=1 'a':*(df=10,only='ab')",
		"documents=9 length=1 'a':*(df=0,only='ab')",
		"documents=9 length=1 'a':*(df=3,only='b')",
		"documents=9 length=1 'ab':*(df=3,only='a')",
		"documents=9 length=1 'a':*(df=3,whole=1,only='ab')",
		"documents=9 length=1 'a':*(df=3,only='a')",
		"documents=9 length=1 'a':*(df=4611686018427387904)",
		"documents=9 length=1 'a'(df=3) near('a','b')",
		"documents=9 length=1 'a'(df=3) near('a','a')",
		"documents=9 length=1 'a'(df=3) 'b':*(df=0) near('a','b')",
		"documents=9 length=1 'a'(df=3) 'b'(df=0) near('a','b') near('a','b')",
		"documents=9 length=1 'a'(df=3) 'b'(df=0) near('a' 'b')",
		"documents=9 length=1 'a'(df=3) 'b'(df=0) near('a','b'"
	};
	char	   *text = malloc(8192);
	const char *error;

	refuse(texts, lengthof(texts));
	strcpy(text, "documents=1 length=1 '");
	memset(text + strlen(text), 'a', 2047);
	strcpy(text + 22 + 2047, "'(df=1)");
	CHECK(parse(text, &error) != NULL);
	memset(text + 22, 'a', 2048);
	strcpy(text + 22 + 2048, "'(df=1)");
	CHECK(parse(text, &error) == NULL);
	free(text);
}

/* One group with 65 words, 257 groups, and 1,025 words in groups. */
static void
too_many(void)
{
	static const int cases[][2] = {{1, 64}, {1, 65}, {256, 1}, {257, 1}, {16, 64}, {17, 61}};
	char	   *text = malloc(1 << 20);
	const char *error;
	int			i;
	int			k;
	int			group;

	for (i = 0; i < lengthof(cases); i++)
	{
		char	   *at = text + sprintf(text, "documents=1 length=1");
		bool		fits = cases[i][0] <= 256 && cases[i][1] <= 64 &&
			cases[i][0] * cases[i][1] <= 1024;

		for (group = 0; group < cases[i][0]; group++)
			for (k = 0; k < cases[i][1]; k++)
				at += sprintf(at, "%s'w%d'(df=1)%s", k == 0 ? " group(" : ",",
							  k, k == cases[i][1] - 1 ? ")" : "");
		CHECK((parse(text, &error) != NULL) == fits);
	}
	free(text);
}

/*
 * A group weighs as its most frequent word with the factor 1 does, or, where
 * no document has one, as its most frequent word.  Its words have shares of
 * that.  Numbers of groups and words that are no part of it do not matter.  The
 * units are always those of the query by the words that were asked for.
 */
static void
groups(void)
{
	static const struct
	{
		const char *text;
		const char *alone;		/* the same with one word in its place */
		float		share;		/* of the first word */
		const char *query;		/* NULL: `alone` */
	}			cases[] = {
		{"'a'(df=1) group('m'(df=20,exact),'n'(df=70,factor=0.5))", "'a'(df=1) 'm'(df=20)", 1},
		{"'a'(df=1) group('m'(df=20,exact),'n'(df=70))", "'a'(df=1) 'm'(df=20)", 1},
		{"'a'(df=1) group('m'(df=20,exact),'n'(df=30,exact),'o'(df=99))", "'a'(df=1) 'm'(df=30)", 1},
		{"'a'(df=1) group('m'(df=20),'n'(df=70))", "'a'(df=1) 'm'(df=70)", 1},
		{"'a'(df=1) group('m'(df=20,factor=0.25),'n'(df=70,factor=0.5),'o'(df=0))", "'a'(df=1) 'm'(df=70)", 0.25},
		{"'a'(df=1) group(times=3,factor=2,'m'(df=20,exact),'n'(df=70,factor=0.5))", "'a'(df=1) 'm'(df=20,times=3,factor=2)", 1},
		{"'a'(df=1) group('m'(df=0,exact),'n'(df=9,factor=0.5))", "'a'(df=1) 'm'(df=9)", 1, "'a'(df=1) 'm'(df=0)"},
		{"'a'(df=1) group('m'(df=0,exact),'n'(df=90,factor=0.5)) near('a',1)", "'a'(df=1) 'm'(df=90) near('a','m')", 1, "'a'(df=1) 'm'(df=0) near('a','m')"},
		{"'a'(df=1) group('m'(df=0),'n'(df=0,factor=0.5))", "'a'(df=1) 'm'(df=0)", 1}
	};
	int			i;

	for (i = 0; i < lengthof(cases); i++)
	{
		char		text[256];
		const char *error;
		SkxRanking *r;
		double		unit;
		float		of_a;
		float		of_m;

		snprintf(text, sizeof(text), "documents=100 length=900 %s",
				 cases[i].query == NULL ? cases[i].alone : cases[i].query);
		r = parse(text, &error);
		CHECK(r != NULL);
		unit = skx_ranking_weigh(r);
		snprintf(text, sizeof(text), "documents=100 length=900 %s", cases[i].alone);
		r = parse(text, &error);
		CHECK(r != NULL);
		of_a = (float) (unit / skx_ranking_weigh(r));
		of_m = of_a * r->terms[1].weight;
		of_a *= r->terms[0].weight;
		snprintf(text, sizeof(text), "documents=100 length=900 %s", cases[i].text);
		r = parse(text, &error);
		CHECK(r != NULL);
		CHECK(skx_ranking_weigh(r) == unit);
		CHECK(r->terms[0].weight == of_a);
		CHECK(r->terms[1].weight == of_m * cases[i].share);
	}
}

/* Which words of groups count in a pair. */
static void
pair_sides(void)
{
	const char *error;
	SkxRanking *r = parse("documents=9 length=9 'dog'(df=1) group('cat'(df=1,exact),'cats'(df=1,factor=0.5),'dog'(df=1,factor=0.9))"
						  " group('cat'(df=1),'cats'(df=1),'eel'(df=1)) group('cat'(df=1,exact),'fox'(df=1)) near(1,2) near('dog',1) near(1,3)", &error);

	/* cat 1, 2, 3; cats 1, 2; dog, dog 1; eel 2; fox 3 */
	CHECK(r != NULL && r->nterms == 9);
	CHECK(skx_ranking_pair_counts(r, &r->pairs[0], 0, false));
	CHECK(!skx_ranking_pair_counts(r, &r->pairs[0], 1, true));
	CHECK(!skx_ranking_pair_counts(r, &r->pairs[0], 3, false));
	CHECK(skx_ranking_pair_counts(r, &r->pairs[0], 4, true));
	CHECK(skx_ranking_pair_counts(r, &r->pairs[0], 6, false));
	CHECK(skx_ranking_pair_counts(r, &r->pairs[0], 7, true));
	CHECK(skx_ranking_pair_counts(r, &r->pairs[1], 5, false));
	CHECK(!skx_ranking_pair_counts(r, &r->pairs[1], 6, true));
	CHECK(skx_ranking_pair_counts(r, &r->pairs[1], 0, true));
	/* asked for on both sides */
	CHECK(!skx_ranking_pair_counts(r, &r->pairs[2], 0, false));
	CHECK(!skx_ranking_pair_counts(r, &r->pairs[2], 2, true));
	CHECK(skx_ranking_pair_counts(r, &r->pairs[2], 8, true));
}

/*
 * Whatever is accepted has weights.  Contributions fit SKX_RANK_SUM_MAX, of
 * groups the largest ones; and all ceilings fit an int32.
 */
static void
weights(void)
{
	int			round;

	for (round = 0; round < UNIT_CASES(40000); round++)
	{
		UnitRanking u;
		double		unit;
		int64		sum = 0;
		int64		all = 0;
		int32		best[SKX_RANKING_GROUPS_MAX + 1] = {0};
		int			i;

		unit_ranking(&u);
		unit = skx_ranking_weigh(&u.r);
		CHECK(unit > 0 && unit <= 1 << 24);
		for (i = 0; i < u.r.nterms; i++)
		{
			const SkxRankingTerm *term = &u.terms[i];

			CHECK(term->df <= u.r.ndocs && term->df >= term->whole);
			CHECK(term->idf >= 0 && term->weight >= 0 &&
				  isfinite(term->weight));
			CHECK(term->ceiling >= term->weight);
			CHECK(term->factor != 1 || term->count != 1 || term->group != 0 ||
				  term->weight == (float) (term->idf * unit));
			all += skx_rank_contribution(term->ceiling, 1e9f, 1e9f);
			if (term->group == 0)
				sum += skx_rank_contribution(term->ceiling, 1e9f, 1e9f);
			else
				best[term->group] = Max(best[term->group],
										skx_rank_contribution(term->ceiling,
															  1e9f, 1e9f));
		}
		for (i = 1; i <= u.r.ngroups; i++)
			sum += best[i];
		CHECK(sum <= SKX_RANK_SUM_MAX);
		CHECK(all <= PG_INT32_MAX);
		for (i = 0; i < u.r.npairs; i++)
			CHECK(u.pairs[i].weight >= 0 && isfinite(u.pairs[i].weight));
	}
}

/* Draws other statistics for the words of `to`, which `only` may not name. */
static void
redraw(const UnitRanking *from, UnitRanking *to)
{
	int			i;

	*to = *from;
	to->r.terms = to->terms;
	to->r.pairs = to->pairs;
	to->r.groups = to->groups;
	to->r.ndocs = unit_ranking_count((UINT64CONST(1) << 46) - 1);
	to->r.length = unit_ranking_count((UINT64CONST(1) << 46) - 1);
	for (i = 0; i < to->r.nterms; i++)
	{
		SkxRankingTerm *term = &to->terms[i];

		term->sum = term->whole = 0;
		term->only = NULL;
		term->only_len = 0;
		if (term->prefix)
			unit_ranking_prefix(to, term, i);
		else
			term->sum = unit_ranking_count(to->r.ndocs);
		term->sum = Min(term->sum, UINT64CONST(1) << 60);
		if (term->prefix && term->only == NULL && term->sum <= term->whole)
			term->sum = term->whole = 0;
	}
}

static void
sums(void)
{
	int			round;

	for (round = 0; round < UNIT_CASES(10000); round++)
	{
		UnitRanking first;
		UnitRanking u[3];
		UnitRanking ab;
		UnitRanking ba;
		int			i;

		unit_ranking(&first);
		for (i = 0; i < 3; i++)
		{
			redraw(&first, &u[i]);
			CHECK(skx_ranking_check(&u[i].r) == NULL);
			CHECK(skx_ranking_agree(&u[i].r, &first.r));
		}
		/* (a + b) + c, and (c + b) + a */
		ab = u[0];
		ab.r.terms = ab.terms;
		ab.r.pairs = ab.pairs;
		ab.r.groups = ab.groups;
		ba = u[2];
		ba.r.terms = ba.terms;
		ba.r.pairs = ba.pairs;
		ba.r.groups = ba.groups;
		skx_ranking_add(&ab.r, &u[1].r);
		skx_ranking_add(&ab.r, &u[2].r);
		skx_ranking_add(&ba.r, &u[1].r);
		skx_ranking_add(&ba.r, &u[0].r);
		CHECK(unit_ranking_same(&ab.r, &ba.r));
		CHECK(skx_ranking_check(&ab.r) == NULL);
		CHECK(ab.r.ndocs == u[0].r.ndocs + u[1].r.ndocs + u[2].r.ndocs);
		if (ab.r.nterms == 0)
			continue;
		i = unit_below(ab.r.nterms);
		CHECK(ab.terms[i].sum == u[0].terms[i].sum + u[1].terms[i].sum +
			  u[2].terms[i].sum);
		ba.terms[i].labels ^= 1;
		CHECK(!skx_ranking_agree(&ab.r, &ba.r));
		ba.terms[i].labels ^= 1;
		ba.terms[i].count++;
		CHECK(!skx_ranking_agree(&ab.r, &ba.r));
		ba.terms[i].count--;
		ba.terms[i].factor += 1;
		CHECK(!skx_ranking_agree(&ab.r, &ba.r));
		ba.terms[i].factor = ab.terms[i].factor;
		if (ab.r.ngroups > 0)
		{
			i = unit_below(ab.r.ngroups);
			ba.groups[i].count++;
			CHECK(!skx_ranking_agree(&ab.r, &ba.r));
			ba.groups[i].count--;
			ba.groups[i].factor += 1;
			CHECK(!skx_ranking_agree(&ab.r, &ba.r));
			ba.groups[i].factor = ab.groups[i].factor;
			ba.r.ngroups--;
			CHECK(!skx_ranking_agree(&ab.r, &ba.r));
			ba.r.ngroups++;
		}
		ba.r.options.labels[2] += 1;
		CHECK(!skx_ranking_agree(&ab.r, &ba.r));
	}
}

int
main(void)
{
	unit_seed(12);
	golden();
	refused();
	refused_groups();
	too_many();
	groups();
	pair_sides();
	round_trips();
	weights();
	sums();
	return unit_done("test_ranking");
}
