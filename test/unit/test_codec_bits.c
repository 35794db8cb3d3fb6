/*
 * test_codec_bits.c
 *	  Packing at every width, against a packer that moves one bit at a time.
 *
 * Holds: codec 1, 2, 6
 */
#include "unit.h"
#include "format/codec/codec_internal.h"

#define ROOM	(16 * 32 + 8)

/* Bit `bit` of value i is bit (i / 4 * width + bit) of lane i % 4. */
static void
reference_pack(uint8 *dst, const uint32 *src, int width)
{
	int			i;
	int			bit;

	memset(dst, 0, 16 * width);
	for (i = 0; i < SKX_SUBBLOCK; i++)
	{
		for (bit = 0; bit < width; bit++)
		{
			int			at = i / 4 * width + bit;
			int			byte = at / 32 * 16 + i % 4 * 4 + at % 32 / 8;

			if (src[i] >> bit & 1)
				dst[byte] |= 1 << (at % 8);
		}
	}
}

static void
check_width(const uint32 *values, int width, uint32 base)
{
	uint8		room[ROOM];
	uint8		wanted[ROOM];
	uint32		got[SKX_SUBBLOCK + 1];
	uint8	   *src;
	uint32		sum = base;
	bool		same = true;
	int			offset = unit_below(8);
	int			i;

	memset(room, 0xA5, sizeof(room));
	CHECK(skx_codec_pack128(room + offset, values, width) ==
		  room + offset + 16 * width);
	reference_pack(wanted, values, width);
	CHECK(memcmp(room + offset, wanted, 16 * width) == 0);
	CHECK(offset + 16 * width == ROOM || room[offset + 16 * width] == 0xA5);

	src = unit_guarded(wanted, 16 * width);
	got[SKX_SUBBLOCK] = 0xDEAD;
	skx_codec_unpack128(got, src, width);
	CHECK(memcmp(got, values, SKX_SUBBLOCK * sizeof(uint32)) == 0);

	skx_codec_unpack128_gaps(got, src, width, base);
	for (i = 0; i < SKX_SUBBLOCK; i++)
	{
		sum += values[i] + 1;
		same &= got[i] == sum;
	}
	CHECK(same);
	CHECK(got[SKX_SUBBLOCK] == 0xDEAD);
}

static void
lanes(void)
{
	uint32		values[SKX_SUBBLOCK];
	int			width;
	int			round;
	int			i;

	for (width = 0; width <= 32; width++)
	{
		uint32		mask = width == 0 ? 0 : PG_UINT32_MAX >> (32 - width);

		for (i = 0; i < SKX_SUBBLOCK; i++)
			values[i] = mask;
		check_width(values, width, SKX_NO_DOC);
		memset(values, 0, sizeof(values));
		check_width(values, width, 0);
		for (i = 0; i < SKX_SUBBLOCK; i++)
		{
			values[i] = mask;
			check_width(values, width, 12345);
			values[i] = 0;
		}
		for (round = 0; round < 50; round++)
		{
			for (i = 0; i < SKX_SUBBLOCK; i++)
				values[i] = (uint32) unit_random() & mask;
			check_width(values, width, (uint32) unit_random());
		}
	}
}

static void
golden(void)
{
	uint32		values[SKX_SUBBLOCK];
	uint8		buf[ROOM];
	uint32		three[] = {5, 3, 7};
	int			i;

	for (i = 0; i < SKX_SUBBLOCK; i++)
		values[i] = i % 8;
	CHECK_BYTES(buf, skx_codec_pack128(buf, values, 3),
				0x20, 0x08, 0x82, 0x20, 0x69, 0x9A, 0xA6, 0x69,
				0xB2, 0x2C, 0xCB, 0xB2, 0xFB, 0xBE, 0xEF, 0xFB,
				0x08, 0x82, 0x20, 0x08, 0x9A, 0xA6, 0x69, 0x9A,
				0x2C, 0xCB, 0xB2, 0x2C, 0xBE, 0xEF, 0xFB, 0xBE,
				0x82, 0x20, 0x08, 0x82, 0xA6, 0x69, 0x9A, 0xA6,
				0xCB, 0xB2, 0x2C, 0xCB, 0xEF, 0xFB, 0xBE, 0xEF);
	CHECK_BYTES(buf, skx_codec_bits_put(buf, three, 3, 3), 0xDD, 0x01);
	CHECK(skx_codec_width(0) == 0);
	CHECK(skx_codec_width(1) == 1);
	CHECK(skx_codec_width(0x80) == 8);
	CHECK(skx_codec_width(0x80000001) == 32);
}

static void
bit_string(int n, int width)
{
	uint32		values[300];
	uint8		buf[300 * 4 + 8];
	uint32		all[300];
	uint32		mask = width == 0 ? 0 : PG_UINT32_MAX >> (32 - width);
	size_t		size = ((size_t) n * width + 7) / 8;
	size_t		cut;
	uint8	   *src;
	uint32		v;
	int			i;

	for (i = 0; i < n; i++)
		values[i] = unit_below(4) ? (uint32) unit_random() & mask : mask;
	CHECK(skx_codec_bits_put(buf, values, n, width) == buf + size);
	src = unit_guarded(buf, size);
	for (i = 0; i < n; i++)
	{
		v = ~values[i];
		CHECK(skx_codec_bits_get(src, src + size, i, width, &v));
		CHECK(v == values[i]);
	}
	CHECK(skx_codec_bits_get_all(all, src, src + size, n, width));
	CHECK(memcmp(all, values, sizeof(uint32) * n) == 0);
	CHECK(!skx_codec_bits_get_all(all, src, src + size, n, 33));
	CHECK(!skx_codec_bits_get_all(all, src, src + size, n, -1));
	if (width > 0)
	{
		CHECK(!skx_codec_bits_get(src, src + size, n + 7, width, &v));
		CHECK(!skx_codec_bits_get(src, src + size, PG_UINT32_MAX, width, &v));
	}
	CHECK(!skx_codec_bits_get(src, src + size, 0, 33, &v));
	CHECK(!skx_codec_bits_get(src, src + size, 0, -1, &v));
	cut = size > 0 ? unit_below(size) : 0;
	src = unit_guarded(buf, cut);
	CHECK(skx_codec_bits_get_all(all, src, src + cut, n, width) == (cut == size));
	for (i = 0; i < n && width > 0; i++)
	{
		bool		there = ((size_t) (i + 1) * width + 7) / 8 <= cut;

		CHECK(skx_codec_bits_get(src, src + cut, i, width, &v) == there);
		CHECK(!there || v == values[i]);
	}
}

/* In each way, and in the plain one. */
static void
between(const uint32 *values, const uint8 *src, size_t size, int n, int width,
		uint32 least, uint32 span)
{
	uint64		bits[5];
	uint64		plain[5] = {0};
	int			words = (n + 63) / 64;
	int			i;

	memset(bits, 0xA5, sizeof(bits));
	CHECK(skx_codec_bits_between(src, src + size, n, width, least, span,
								 bits));
	skx_codec_between_plain(src, src + size, 0, n, width, least, span, plain);
	CHECK(memcmp(bits, plain, sizeof(uint64) * words) == 0);
	for (i = 0; i < words * 64; i++)
	{
		bool		in = i < n && values[i] - least <= span;

		CHECK((bits[i / 64] >> (i % 64) & 1) == in);
	}
	for (i = words; i < (int) lengthof(bits); i++)
		CHECK(bits[i] == UINT64CONST(0xA5A5A5A5A5A5A5A5));
}

static void
bit_ranges(int n, int width)
{
	uint32		values[300] = {0};
	uint8		buf[300 * 4 + 64];
	uint32		mask = width == 0 ? 0 : PG_UINT32_MAX >> (32 - width);
	size_t		size = ((size_t) n * width + 7) / 8;
	uint64		bits[5];
	uint8	   *src;
	int			i;

	/* what follows the last number must not matter */
	for (i = 0; i < (int) sizeof(buf); i++)
		buf[i] = (uint8) unit_random();
	for (i = 0; i < n; i++)
		values[i] = unit_below(8) ? (uint32) unit_random() & mask :
			unit_below(2) ? mask : 0;
	skx_codec_bits_put(buf, values, n, width);
	for (i = 0; i < 2; i++)
	{
		uint32		least = n > 0 ? values[unit_below(n)] : 0;
		uint32		other = n > 0 ? values[unit_below(n)] : 0;

		/* with room behind them, and none */
		src = i == 0 ? buf : unit_guarded(buf, size);
		between(values, src, size, n, width, least, 0);
		between(values, src, size, n, width, Min(least, other),
				Max(least, other) - Min(least, other));
		between(values, src, size, n, width, 0, PG_UINT32_MAX);
		between(values, src, size, n, width, mask, 0);
		between(values, src, size, n, width, least + 1, (uint32) unit_random());
	}
	src = unit_guarded(buf, size);
	CHECK(size == 0 || !skx_codec_bits_between(src, src + size - 1, n, width,
											   0, 0, bits));
	CHECK(!skx_codec_bits_between(src, src + size, n, 33, 0, 0, bits));
	CHECK(!skx_codec_bits_between(src, src + size, n, -1, 0, 0, bits));
}

int
main(void)
{
	int			width;
	int			n;

	unit_seed(2);
	golden();
	lanes();
	for (width = 0; width <= 32; width++)
	{
		for (n = 0; n < 300; n += 1 + unit_below(20))
		{
			bit_string(n, width);
			bit_ranges(n, width);
		}
	}
	return unit_done("test_codec_bits");
}
