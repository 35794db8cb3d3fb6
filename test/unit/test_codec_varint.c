/*
 * test_codec_varint.c
 *	  Numbers of every size: bytes, sizes, truncation, and what is refused.
 *
 * Holds: codec 1, 2, 4, 5
 */
#include "unit.h"
#include "format/codec/codec.h"

static void
golden(void)
{
	uint8		buf[16];

	CHECK_BYTES(buf, skx_codec_varint32_put(buf, 0), 0x00);
	CHECK_BYTES(buf, skx_codec_varint32_put(buf, 127), 0x7F);
	CHECK_BYTES(buf, skx_codec_varint32_put(buf, 128), 0x80, 0x01);
	CHECK_BYTES(buf, skx_codec_varint32_put(buf, 300), 0xAC, 0x02);
	CHECK_BYTES(buf, skx_codec_varint32_put(buf, 0xFFFFFFFF),
				0xFF, 0xFF, 0xFF, 0xFF, 0x0F);
	CHECK_BYTES(buf, skx_codec_varint64_put(buf, UINT64CONST(1) << 35),
				0x80, 0x80, 0x80, 0x80, 0x80, 0x01);
	CHECK_BYTES(buf, skx_codec_varint64_put(buf, ~UINT64CONST(0)),
				0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01);
}

static void
round_trip(uint64 v)
{
	uint8		buf[16];
	uint64		got64;
	uint32		got32;
	size_t		size = skx_codec_varint64_put(buf, v) - buf;
	uint8	   *src;
	size_t		cut;

	CHECK(size == skx_codec_varint64_size(v));
	src = unit_guarded(buf, size);
	CHECK(skx_codec_varint64_get(src, src + size, &got64) == src + size);
	CHECK(got64 == v);
	if (v <= PG_UINT32_MAX)
	{
		CHECK(skx_codec_varint32_put(buf, (uint32) v) == buf + size);
		CHECK(memcmp(buf, src, size) == 0);
		CHECK(skx_codec_varint32_get(src, src + size, &got32) == src + size);
		CHECK(got32 == v);
	}
	else
		CHECK(skx_codec_varint32_get(src, src + size, &got32) == NULL);

	for (cut = 0; cut < size; cut++)
	{
		src = unit_guarded(buf, cut);
		CHECK(skx_codec_varint64_get(src, src + cut, &got64) == NULL);
		CHECK(skx_codec_varint32_get(src, src + cut, &got32) == NULL);
	}
}

static void
refused(void)
{
	static const uint8 longer[] = {0x80, 0x00};
	static const uint8 zeros[] = {0xFF, 0x80, 0x80, 0x00};
	static const uint8 large32[] = {0xFF, 0xFF, 0xFF, 0xFF, 0x10};
	static const uint8 endless[] = {
		0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF
	};
	static const uint8 large64[] = {
		0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02
	};
	uint32		v32;
	uint64		v64;

#define REFUSED32(bytes) \
	CHECK(skx_codec_varint32_get(bytes, bytes + sizeof(bytes), &v32) == NULL)
#define REFUSED64(bytes) \
	CHECK(skx_codec_varint64_get(bytes, bytes + sizeof(bytes), &v64) == NULL)
	REFUSED32(longer);
	REFUSED64(longer);
	REFUSED32(zeros);
	REFUSED64(zeros);
	REFUSED32(large32);
	REFUSED32(endless);
	REFUSED64(endless);
	REFUSED64(large64);
}

int
main(void)
{
	int			bit;
	int			i;

	unit_seed(1);
	golden();
	refused();
	round_trip(0);
	for (bit = 0; bit < 64; bit++)
	{
		round_trip(UINT64CONST(1) << bit);
		round_trip((UINT64CONST(1) << bit) - 1);
		for (i = 0; i < 50; i++)
			round_trip(unit_random() >> bit);
	}
	return unit_done("test_codec_varint");
}
