/*
 * fuzz_codec_positions.c
 *	  Blocks of positions.
 *
 * Holds: codec 2, 3
 */
#include "fuzz.h"
#include "unit_postings.h"

size_t
fuzz_seed(uint8 *data, size_t room)
{
	SkxPostings p;
	static uint16 positions[SKX_SUBBLOCK * SKX_TF_MAX];
	uint64		starts[2] = {0, 0};
	int			n = unit_below(2) ? SKX_SUBBLOCK :
		1 + unit_below(SKX_SUBBLOCK);
	int			tfs = unit_below(UNIT_TF_KINDS);
	bool		many = tfs == 2 || tfs == 3 || tfs == 5;
	int			at = 0;
	int			total;
	int			i;

	unit_postings(&p, many ? 4 : SKX_SUBBLOCK, SKX_NO_DOC, 0, tfs,
				  unit_below(UNIT_LABEL_KINDS));
	total = unit_positions(&p, positions);
	if (total == 0)
		positions[total++] = 1;
	for (i = 0; i < p.n && at < SKX_SUBBLOCK; i++)
	{
		starts[at / 64] |= UINT64CONST(1) << (at % 64);
		at += p.tf[i];
	}
	return skx_codec_positions_put(data, positions, Min(n, total), starts) -
		data;
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	const uint8 *end = data + size;
	uint32		deltas[SKX_SUBBLOCK];
	uint32		deltas_again[SKX_SUBBLOCK];
	uint16		positions[SKX_SUBBLOCK];
	uint64		starts[2] = {~UINT64CONST(0), ~UINT64CONST(0)};
	uint8		again[SKX_POSBLOCK_MAX];
	const uint8 *skipped;
	const uint8 *src;
	uint32		want = size;
	int			n;
	int			n_again;
	int			i;

	skipped = skx_codec_positions_skip(data, end, &want);
	FUZZ_ASSERT(skipped == NULL || (skipped >= data && skipped <= end));
	src = skx_codec_positions_get(data, end, deltas, &n);
	if (src == NULL)
		return 0;
	want = n - 1;
	FUZZ_ASSERT(skx_codec_positions_skip(data, end, &want) == data);
	want = n;
	FUZZ_ASSERT(skx_codec_positions_skip(data, src, &want) == src && want == 0);
	FUZZ_ASSERT(n >= 1 && n <= SKX_SUBBLOCK);
	/* each position a document of its own, so that any delta is sound */
	for (i = 0; i < n; i++)
	{
		uint32		delta = deltas[i] & 0x3FFFFFFF;

		FUZZ_ASSERT(delta >= 1 && delta <= 16384);
		positions[i] = deltas[i] >> 30 << 14 | (delta & 0x3FFF);
	}
	src = skx_codec_positions_put(again, positions, n, starts);
	FUZZ_ASSERT(src <= again + sizeof(again));
	FUZZ_ASSERT(skx_codec_positions_get(again, src, deltas_again, &n_again) ==
				src);
	FUZZ_ASSERT(n == n_again);
	FUZZ_ASSERT(memcmp(deltas, deltas_again, n * sizeof(uint32)) == 0);
	return 0;
}
