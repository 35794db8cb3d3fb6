/*
 * codec_pfor.c
 *	  Patched frame of reference: 128 numbers at one width, with at most seven
 *	  larger ones as exceptions.
 *
 * A few large numbers among small ones (term frequencies, position deltas)
 * would make every number wide.  Therefore the low bits of all numbers are
 * packed at a width that fits most of them.  The others have their high parts
 * in a list after the packed bits.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/codec/codec_internal.h"

#define SKX_PFOR_MAX_WIDTH		31
#define SKX_PFOR_WIDTH_MASK		0x1F
#define SKX_PFOR_COUNT_SHIFT	5
#define SKX_PFOR_EXCEPTIONS		7

/*
 * Returns how many of SKX_SUBBLOCK values below 2^31 are larger than `most`.
 */
static pg_attribute_always_inline int
skx_codec_pfor_count_above(const uint32 *src, uint32 most)
{
	int			above = 0;
	int			i;

	/*
	 * signed, since vector units without extensions compare only signed
	 * numbers
	 */
	for (i = 0; i < SKX_SUBBLOCK; i++)
		above += (int32) src[i] > (int32) most;
	return above;
}

/*
 * Returns the width with the fewest bytes; `all` is the values or-ed together.
 *
 * It is the narrowest width with at most seven exceptions.  One bit less saves
 * 16 bytes.  It turns some values into exceptions of 2 bytes each, since their
 * high part is 1.  It may also lengthen the high parts of earlier exceptions
 * by a byte each.  That adds at most 14 bytes, since there are at most seven
 * exceptions.
 *
 * The search begins at the widest: it takes few steps, each on whole vectors.
 */
static int
skx_codec_pfor_width(const uint32 *src, uint32 all)
{
	int			width = skx_codec_width(all);

	while (width > 0 &&
		   skx_codec_pfor_count_above(src, ((uint32) 1 << (width - 1)) - 1) <=
		   SKX_PFOR_EXCEPTIONS)
		width--;
	return width;
}

/*
 * Writes the exceptions, which are the values larger than `mask`, and counts
 * them in *n.  Returns the end.
 */
static uint8 *
skx_codec_pfor_exceptions(uint8 *dst, const uint32 *src, int width,
						  uint32 mask, int *n)
{
	int			i;
	int			k;

	for (i = 0; i < SKX_SUBBLOCK; i += 8)
	{
		uint32		any = 0;

		for (k = i; k < i + 8; k++)
			any |= src[k];

		/*
		 * the mask is all ones, so a value is larger if and only if `any` is
		 */
		if (any <= mask)
			continue;
		for (k = i; k < i + 8; k++)
		{
			if (src[k] <= mask)
				continue;
			*dst++ = (uint8) k;
			dst = skx_codec_varint_put(dst, src[k] >> width);
			(*n)++;
		}
	}
	return dst;
}

uint8 *
skx_codec_pfor_put(uint8 *dst, const uint32 *src)
{
	uint32		low[SKX_SUBBLOCK];
	uint32		all = 0;
	uint32		mask;
	uint8	   *head = dst;
	int			width;
	int			exceptions = 0;
	int			i;

	for (i = 0; i < SKX_SUBBLOCK; i++)
		all |= src[i];
	Assert(all >> SKX_PFOR_MAX_WIDTH == 0);
	width = skx_codec_pfor_width(src, all);
	mask = ((uint32) 1 << width) - 1;
	if (all <= mask)
	{
		*head = (uint8) width;
		return skx_codec_pack128(head + 1, src, width);
	}
	for (i = 0; i < SKX_SUBBLOCK; i++)
		low[i] = src[i] & mask;
	dst = skx_codec_pack128(head + 1, low, width);
	dst = skx_codec_pfor_exceptions(dst, src, width, mask, &exceptions);
	*head = (uint8) (width | exceptions << SKX_PFOR_COUNT_SHIFT);
	return dst;
}

const uint8 *
skx_codec_pfor_get(uint32 *dst, const uint8 *src, const uint8 *end)
{
	int			width;
	int			exceptions;
	int			least = 0;
	int			i;

	if (src >= end)
		return NULL;
	width = *src & SKX_PFOR_WIDTH_MASK;
	exceptions = *src >> SKX_PFOR_COUNT_SHIFT;
	src++;
	if (end - src < 16 * width)
		return NULL;
	skx_codec_unpack128(dst, src, width);
	src += 16 * width;
	for (i = 0; i < exceptions; i++)
	{
		uint32		high;
		int			index;

		if (src >= end)
			return NULL;
		index = *src++;
		if (index < least || index >= SKX_SUBBLOCK)
			return NULL;
		least = index + 1;
		src = skx_codec_varint_get(src, end, &high);
		if (src == NULL || high == 0 ||
			high > (uint32) PG_INT32_MAX >> width)
			return NULL;
		dst[index] |= high << width;
	}
	return src;
}

/*
 * Returns the continuation bits of the high parts of up to four exceptions in
 * a word that begins with the first of them.
 */
static inline uint64
skx_codec_pfor_high_ends(int exceptions)
{
	if (exceptions <= 0)
		return 0;
	return UINT64CONST(0x8000800080008000) >> (64 - 16 * Min(exceptions, 4));
}

const uint8 *
skx_codec_pfor_skip(const uint8 *src, const uint8 *end)
{
	int			width;
	int			exceptions;
	int			i;

	if (src >= end)
		return NULL;
	width = *src & SKX_PFOR_WIDTH_MASK;
	exceptions = *src >> SKX_PFOR_COUNT_SHIFT;
	src++;
	if (end - src < 16 * width)
		return NULL;
	src += 16 * width;

	/* most often each high part is one byte */
	if (end - src >= 16 &&
		((skx_codec_load64(src) & skx_codec_pfor_high_ends(exceptions)) |
		 (skx_codec_load64(src + 8) &
		  skx_codec_pfor_high_ends(exceptions - 4))) == 0)
		return src + 2 * exceptions;
	for (i = 0; i < exceptions; i++)
	{
		uint32		high;

		if (src >= end)
			return NULL;
		src = skx_codec_varint_get(src + 1, end, &high);
		if (src == NULL)
			return NULL;
	}
	return src;
}

uint8 *
skx_codec_column_put(uint8 *dst, const uint32 *src, int n)
{
	int			i;

	if (n == SKX_SUBBLOCK)
		return skx_codec_pfor_put(dst, src);
	for (i = 0; i < n; i++)
		dst = skx_codec_varint_put(dst, src[i]);
	return dst;
}

const uint8 *
skx_codec_column_get(uint32 *dst, const uint8 *src, const uint8 *end, int n)
{
	int			i;

	if (n == SKX_SUBBLOCK)
		return skx_codec_pfor_get(dst, src, end);
	for (i = 0; i < n; i++)
	{
		src = skx_codec_varint_get(src, end, &dst[i]);
		if (src == NULL)
			return NULL;
	}
	return src;
}
