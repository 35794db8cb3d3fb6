/*
 * fuzz_ranking.c
 *	  Rankings: a byte that tells which, then packed bytes or a text.
 *
 * What is accepted is written again, in both forms, and read as the same.
 *
 * Holds: ranking 2, 3, 4
 */
#include "fuzz.h"
#include "unit_ranking.h"

static SkxRankingTerm terms[2][FUZZ_ROOM];
static SkxRankingPair pairs[2][SKX_RANKING_PAIRS_MAX];
static SkxRankingGroup groups[2][SKX_RANKING_GROUPS_MAX];
static char bytes[2][8 * FUZZ_ROOM * 64];
static char written[8 * FUZZ_ROOM * 64];
static uint8 packed[16 * FUZZ_ROOM];

size_t
fuzz_seed(uint8 *data, size_t room)
{
	UnitRanking u;

	for (;;)
	{
		size_t		n;

		unit_ranking(&u);
		data[0] = unit_below(2);
		if (data[0] == 0 && skx_ranking_packed_size(&u.r) < room)
			return skx_ranking_pack(&u.r, data + 1) - data;
		skx_ranking_print(&u.r, written);
		n = strlen(written);
		if (data[0] == 0 || n >= room)
			continue;
		memcpy(data + 1, written, n);
		return n + 1;
	}
}

static bool
unpack(const uint8 *src, size_t n, SkxRanking *r, int at)
{
	const uint8 *from = skx_ranking_unpack_head(src, n, r);

	r->terms = terms[at];
	r->pairs = pairs[at];
	r->groups = groups[at];
	FUZZ_ASSERT(from == NULL || r->nterms <= n / 3);
	return from != NULL && skx_ranking_unpack_terms(from, src + n, r);
}

static bool
parse(const char *src, SkxRanking *r, int at)
{
	r->terms = terms[at];
	r->pairs = pairs[at];
	r->groups = groups[at];
	FUZZ_ASSERT(skx_ranking_parse_terms(src) <= lengthof(terms[at]));
	return skx_ranking_parse(src, r, bytes[at]) == NULL;
}

/* An accepted ranking is read as it is written. */
static void
write_again(const SkxRanking *r)
{
	SkxRanking	again;
	uint8	   *end = skx_ranking_pack(r, packed);
	int64		sum = 0;
	int			i;

	FUZZ_ASSERT(end - packed <= skx_ranking_packed_size(r));
	FUZZ_ASSERT(unpack(packed, end - packed, &again, 1));
	FUZZ_ASSERT(unit_ranking_same(r, &again));
	if (skx_ranking_print_size(r) > sizeof(written))
		return;
	skx_ranking_print(r, written);
	FUZZ_ASSERT(strlen(written) < skx_ranking_print_size(r));
	FUZZ_ASSERT(parse(written, &again, 1));
	FUZZ_ASSERT(unit_ranking_same(r, &again));
	(void) skx_ranking_weigh(&again);
	for (i = 0; i < again.nterms; i++)
		sum += skx_rank_contribution(again.terms[i].ceiling, 1e9f, 1e9f);
	FUZZ_ASSERT(sum <= (again.ngroups == 0 ? SKX_RANK_SUM_MAX : PG_INT32_MAX));
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	SkxRanking	r;
	uint8	   *copy;
	bool		read;

	if (size == 0 || size > FUZZ_ROOM)
		return 0;
	/* its very size, so that reads past the end are seen */
	copy = malloc(size - 1 + data[0] % 2);
	memcpy(copy, data + 1, size - 1);
	if (data[0] % 2 == 0)
	{
		SkxRankingNames names;

		read = unpack(copy, size - 1, &r, 0);
		if (read)
		{
			skx_ranking_name(&r, &names);
			read = skx_ranking_sort(&r, &names);
		}
	}
	else
	{
		copy[size - 1] = '\0';
		read = parse((const char *) copy, &r, 0);
	}
	if (read && skx_ranking_check(&r) == NULL)
		write_again(&r);
	free(copy);
	return 0;
}
