/*
 * test_rank_norm.c
 *	  The length code: the recurrence, exactness, order, and the ends.
 *
 * Holds: rank 1, 2
 */
#include "unit.h"
#include "format/rank/rank.h"

int
main(void)
{
	uint32		length = 0;
	uint64		last;
	uint64		l;
	int			code;
	int			before = 0;

	unit_seed(7);
	for (code = 0; code <= SKX_NORM_MAX; code++)
	{
		CHECK(skx_rank_norm_decode(code) == length);
		CHECK(skx_rank_norm_encode(length) == code);
		CHECK(code == 0 || skx_rank_norm_encode(length - 1) == code - 1);
		length += Max(1, length / 23);
	}
	CHECK(skx_rank_norm_decode(SKX_NORM_NULL) == 0);

	for (l = 0; l <= SKX_NORM_EXACT_MAX; l++)
		CHECK(skx_rank_norm_encode(l) == l && skx_rank_norm_decode(l) == l);

	last = skx_rank_norm_decode(SKX_NORM_MAX);
	CHECK(last == 246711);
	for (l = 0; l < last + 1000; l++)
	{
		code = skx_rank_norm_encode(l);
		CHECK(code >= before);
		CHECK(skx_rank_norm_decode(code) <= l);
		CHECK(code == SKX_NORM_MAX || skx_rank_norm_decode(code + 1) > l);
		before = code;
	}
	CHECK(skx_rank_norm_encode(PG_UINT32_MAX) == SKX_NORM_MAX);
	CHECK(skx_rank_norm_encode(UINT64CONST(1) << 32) == SKX_NORM_MAX);
	CHECK(skx_rank_norm_encode(PG_UINT64_MAX) == SKX_NORM_MAX);
	return unit_done("test_rank_norm");
}
