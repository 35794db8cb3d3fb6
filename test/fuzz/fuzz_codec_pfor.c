/*
 * fuzz_codec_pfor.c
 *	  The numbers below the postings: pfor, varints, bit strings.
 *
 * Holds: codec 2
 */
#include "fuzz.h"
#include "unit_postings.h"

size_t
fuzz_seed(uint8 *data, size_t room)
{
	uint32		values[SKX_SUBBLOCK];
	int			width = unit_below(32);
	int			outliers = unit_below(9);
	int			i;

	for (i = 0; i < SKX_SUBBLOCK; i++)
		values[i] = unit_below(UINT64CONST(1) << width);
	for (i = 0; i < outliers; i++)
	{
		int			at = unit_below(SKX_SUBBLOCK);

		values[at] = unit_random() >> 33;
	}
	return skx_codec_pfor_put(data, values) - data;
}

static void
varints(const uint8 *data, const uint8 *end)
{
	uint8		again[SKX_VARINT64_MAX];
	uint32		v32;
	uint64		v64;
	const uint8 *src32 = skx_codec_varint32_get(data, end, &v32);
	const uint8 *src64 = skx_codec_varint64_get(data, end, &v64);

	FUZZ_ASSERT((src32 != NULL) == (src64 != NULL && v64 <= PG_UINT32_MAX));
	if (src32 != NULL)
	{
		FUZZ_ASSERT(src32 == src64 && v32 == v64);
		FUZZ_ASSERT(skx_codec_varint32_put(again, v32) - again ==
					src32 - data);
	}
	if (src64 != NULL)
	{
		FUZZ_ASSERT(skx_codec_varint64_put(again, v64) - again ==
					src64 - data);
		FUZZ_ASSERT(skx_codec_varint64_size(v64) == src64 - data);
		FUZZ_ASSERT(memcmp(again, data, src64 - data) == 0);
	}
}

static void
bit_string(const uint8 *data, const uint8 *end)
{
	FuzzInput	in = {data, end};
	int			width = fuzz_u8(&in) % 35;
	uint32		i = fuzz_u32(&in);
	uint32		v = 0;
	uint32		wanted = 0;
	int			bit;

	if (i % 3 != 0)
		i %= 64;
	if (!skx_codec_bits_get(in.at, in.end, i, width, &v))
		return;
	for (bit = 0; bit < width; bit++)
	{
		uint64		at = (uint64) i * width + bit;

		wanted |= (uint32) (in.at[at / 8] >> (at % 8) & 1) << bit;
	}
	FUZZ_ASSERT(v == wanted);
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	const uint8 *end = data + size;
	uint32		values[SKX_SUBBLOCK];
	uint32		values_again[SKX_SUBBLOCK];
	uint8		again[SKX_PFOR_MAX];
	const uint8 *skipped = skx_codec_pfor_skip(data, end);
	const uint8 *src = skx_codec_pfor_get(values, data, end);
	int			i;

	varints(data, end);
	bit_string(data, end);
	FUZZ_ASSERT(skipped == NULL || skipped <= end);
	if (src == NULL)
		return 0;
	FUZZ_ASSERT(src == skipped);
	for (i = 0; i < SKX_SUBBLOCK; i++)
		FUZZ_ASSERT(values[i] <= PG_INT32_MAX);
	skipped = skx_codec_pfor_put(again, values);
	FUZZ_ASSERT(skipped - again <= src - data);
	FUZZ_ASSERT(skx_codec_pfor_get(values_again, again, skipped) == skipped);
	FUZZ_ASSERT(memcmp(values, values_again, sizeof(values)) == 0);
	return 0;
}
