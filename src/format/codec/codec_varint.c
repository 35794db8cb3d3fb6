/*
 * codec_varint.c
 *	  Integers in little-endian base 128.
 *
 * Each byte has seven bits, the low group first.  Its high bit is set if
 * another byte follows.  A number has one encoding only: a last byte of 0
 * after another byte is refused.  So equal lists have equal bytes, and more
 * damage is found.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/codec/codec_internal.h"

uint8 *
skx_codec_varint32_put(uint8 *dst, uint32 v)
{
	while (v >= 0x80)
	{
		*dst++ = (uint8) (v | 0x80);
		v >>= 7;
	}
	*dst++ = (uint8) v;
	return dst;
}

uint8 *
skx_codec_varint64_put(uint8 *dst, uint64 v)
{
	while (v >= 0x80)
	{
		*dst++ = (uint8) (v | 0x80);
		v >>= 7;
	}
	*dst++ = (uint8) v;
	return dst;
}

const uint8 *
skx_codec_varint32_get(const uint8 *src, const uint8 *end, uint32 *v)
{
	uint32		result = 0;
	int			shift;

	for (shift = 0; shift < 7 * SKX_VARINT32_MAX; shift += 7)
	{
		uint8		byte;

		if (src >= end)
			return NULL;
		byte = *src++;
		if (shift == 28 && byte > 0x0F)
			return NULL;
		result |= (uint32) (byte & 0x7F) << shift;
		if (byte < 0x80)
		{
			if (byte == 0 && shift > 0)
				return NULL;
			*v = result;
			return src;
		}
	}
	return NULL;
}

const uint8 *
skx_codec_varint64_get(const uint8 *src, const uint8 *end, uint64 *v)
{
	uint64		result = 0;
	int			shift;

	for (shift = 0; shift < 7 * SKX_VARINT64_MAX; shift += 7)
	{
		uint8		byte;

		if (src >= end)
			return NULL;
		byte = *src++;
		if (shift == 63 && byte > 0x01)
			return NULL;
		result |= (uint64) (byte & 0x7F) << shift;
		if (byte < 0x80)
		{
			if (byte == 0 && shift > 0)
				return NULL;
			*v = result;
			return src;
		}
	}
	return NULL;
}

int
skx_codec_varint64_size(uint64 v)
{
	return (63 - __builtin_clzll(v | 1)) / 7 + 1;
}
