/*
 * test_codec_pfor.c
 *	  Patched frame of reference: bytes, the best width, damage.
 *
 * Holds: codec 1, 2, 4, 5, 6
 */
#include "unit_sizes.h"

static void
golden(void)
{
	uint32		values[SKX_SUBBLOCK];
	uint8		buf[SKX_PFOR_MAX];
	int			i;

	for (i = 0; i < SKX_SUBBLOCK; i++)
		values[i] = 0;
	CHECK_BYTES(buf, skx_codec_pfor_put(buf, values), 0x00);
	values[127] = 3;
	CHECK_BYTES(buf, skx_codec_pfor_put(buf, values), 0x20, 127, 3);

	for (i = 0; i < SKX_SUBBLOCK; i++)
		values[i] = 1;
	values[7] = 1000;
	values[100] = PG_INT32_MAX;
	CHECK_BYTES(buf, skx_codec_pfor_put(buf, values), 0x41,
				0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
				0xFF, 0xFF, 0xFF, 0xFF, 0xFD, 0xFF, 0xFF, 0xFF,
				7, 0xF4, 0x03, 100, 0xFF, 0xFF, 0xFF, 0xFF, 0x03);
}

static void
round_trip(const uint32 *values)
{
	uint8		buf[SKX_PFOR_MAX];
	uint32		got[SKX_SUBBLOCK];
	size_t		size = skx_codec_pfor_put(buf, values) - buf;
	uint8	   *src;
	size_t		cut;

	CHECK(size <= SKX_PFOR_MAX);
	CHECK(size == unit_pfor_size(values));
	src = unit_guarded(buf, size);
	CHECK(skx_codec_pfor_get(got, src, src + size) == src + size);
	CHECK(memcmp(got, values, sizeof(got)) == 0);
	CHECK(skx_codec_pfor_skip(src, src + size) == src + size);
	for (cut = 0; cut < size; cut++)
	{
		src = unit_guarded(buf, cut);
		CHECK(skx_codec_pfor_get(got, src, src + cut) == NULL);
		CHECK(skx_codec_pfor_skip(src, src + cut) == NULL);
	}
}

static void
distributions(void)
{
	uint32		values[SKX_SUBBLOCK];
	int			width;
	int			outliers;
	int			i;

	for (width = 0; width <= 31; width++)
	{
		for (outliers = 0; outliers <= 10; outliers++)
		{
			uint32		below = width == 0 ? 1 : (uint32) 1 << width;

			for (i = 0; i < SKX_SUBBLOCK; i++)
				values[i] = unit_below(below);
			for (i = 0; i < outliers; i++)
			{
				int			at = unit_below(SKX_SUBBLOCK);
				int			shift = 33 + unit_below(31);

				values[at] = unit_random() >> shift;
			}
			round_trip(values);
		}
		for (i = 0; i < SKX_SUBBLOCK; i++)
			values[i] = PG_INT32_MAX >> (31 - width);
		round_trip(values);
		/* every width in one block */
		for (i = 0; i < SKX_SUBBLOCK; i++)
			values[i] = PG_INT32_MAX >> unit_below(width + 1);
		round_trip(values);
	}
}

/* What no encoder writes, one reason each. */
static void
refused(void)
{
	static const uint8 index_large[] = {0x20, 128, 1};
	static const uint8 index_twice[] = {0x40, 5, 1, 5, 1};
	static const uint8 index_down[] = {0x40, 5, 1, 4, 1};
	static const uint8 high_zero[] = {0x20, 5, 0};
	static const uint8 high_large[] = {0x20, 5, 0x80, 0x80, 0x80, 0x80, 0x08};
	static const uint8 high_most[] = {0x20, 5, 0xFF, 0xFF, 0xFF, 0xFF, 0x07};
	uint8		wide[1 + 16 * 30 + 2];
	uint32		got[SKX_SUBBLOCK];

#define REFUSED(bytes) \
	CHECK(skx_codec_pfor_get(got, bytes, bytes + sizeof(bytes)) == NULL)
	REFUSED(index_large);
	REFUSED(index_twice);
	REFUSED(index_down);
	REFUSED(high_zero);
	REFUSED(high_large);
	CHECK(skx_codec_pfor_get(got, high_most, high_most + sizeof(high_most)));
	CHECK(got[5] == PG_INT32_MAX);

	/* a high part that only the width makes too large */
	memset(wide, 0, sizeof(wide));
	wide[0] = 0x20 | 30;
	wide[1 + 16 * 30] = 9;
	wide[2 + 16 * 30] = 2;
	REFUSED(wide);
	wide[2 + 16 * 30] = 1;
	CHECK(skx_codec_pfor_get(got, wide, wide + sizeof(wide)) != NULL);
	CHECK(got[9] == 1 << 30);
}

int
main(void)
{
	unit_seed(3);
	golden();
	refused();
	distributions();
	return unit_done("test_codec_pfor");
}
