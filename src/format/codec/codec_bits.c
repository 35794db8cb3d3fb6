/*
 * codec_bits.c
 *	  Bit packing: 128 values in four lanes, and plain bit strings.
 *
 * The 128 values are 32 rows of four.  Each lane is a string of 32-bit words
 * into which the values of one column are packed, low bits first.  The words
 * of the four lanes are interleaved.  So one 16-byte load serves four values,
 * and unpacking is a shift and a mask per row.  The kernels are templates over
 * the width.  With a constant width and the loop unrolled, every shift is an
 * immediate and there is no branch.
 *
 * GCC's vector extensions compile to SSE2, NEON or plain code.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/codec/codec_internal.h"

typedef uint32 SkxLanes __attribute__((vector_size(16)));

/* Rows of four lanes in a sub-block. */
#define SKX_LANE_ROWS			(SKX_SUBBLOCK / 4)

#if defined(__clang__)
#define SKX_UNROLL_ROWS		_Pragma("clang loop unroll(full)")
#else
#define SKX_UNROLL_ROWS		_Pragma("GCC unroll 32")
#endif

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define SKX_LANES_SHUFFLE(a, b, i, j, k, l) \
	__builtin_shufflevector((a), (b), (i), (j), (k), (l))
#endif
#endif
#ifndef SKX_LANES_SHUFFLE
#define SKX_LANES_SHUFFLE(a, b, i, j, k, l) \
	__builtin_shuffle((a), (b), (SkxLanes) {(i), (j), (k), (l)})
#endif

/* Expands X for each width, for the dispatch tables. */
#define SKX_ALL_WIDTHS(X) \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) \
	X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) \
	X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) \
	X(31) X(32)

static pg_attribute_always_inline SkxLanes
skx_codec_lanes_swap(SkxLanes v)
{
#ifdef WORDS_BIGENDIAN
	v = (v >> 24) | ((v >> 8) & 0xFF00) | ((v & 0xFF00) << 8) | (v << 24);
#endif
	return v;
}

/* Loads row `row` of packed words, which need not be aligned. */
static pg_attribute_always_inline SkxLanes
skx_codec_lanes_load(const uint8 *src, int row)
{
	SkxLanes	v;

	memcpy(&v, src + 16 * row, sizeof(v));
	return skx_codec_lanes_swap(v);
}

static pg_attribute_always_inline void
skx_codec_lanes_store(uint8 *dst, int row, SkxLanes v)
{
	v = skx_codec_lanes_swap(v);
	memcpy(dst + 16 * row, &v, sizeof(v));
}

/* Sums up within a row: v[i] += v[i - 1] + ... + v[0]. */
static pg_attribute_always_inline SkxLanes
skx_codec_lanes_sum(SkxLanes v)
{
	const SkxLanes zero = {0, 0, 0, 0};

	v += SKX_LANES_SHUFFLE(v, zero, 4, 0, 1, 2);
	v += SKX_LANES_SHUFFLE(v, zero, 4, 5, 0, 1);
	return v;
}

/*
 * Returns the next row of values.  `word` is the packed word with its first
 * bit, at bit `bit`, and `next` the word after that.
 */
static pg_attribute_always_inline SkxLanes
skx_codec_lanes_unpack_row(SkxLanes word, SkxLanes next, int bit, int width)
{
	const uint32 mask = width == 32 ? ~(uint32) 0 : ((uint32) 1 << width) - 1;
	SkxLanes	v = word >> bit;

	if (bit + width > 32)
		v |= next << (32 - bit);
	if (bit + width != 32)
		v &= mask;
	return v;
}

static pg_attribute_always_inline void
skx_codec_unpack_width(uint32 *restrict dst, const uint8 *restrict src,
					   const int width)
{
	SkxLanes	word = {0, 0, 0, 0};
	SkxLanes	next = {0, 0, 0, 0};
	int			row;

	if (width > 0)
		word = skx_codec_lanes_load(src, 0);
	SKX_UNROLL_ROWS
		for (row = 0; row < SKX_LANE_ROWS; row++)
	{
		const int	bit = row * width % 32;
		const int	last = row * width / 32;
		SkxLanes	v;

		if (bit + width >= 32 && last + 1 < width)
			next = skx_codec_lanes_load(src, last + 1);
		v = skx_codec_lanes_unpack_row(word, next, bit, width);
		memcpy(dst + 4 * row, &v, sizeof(v));
		if (bit + width >= 32)
			word = next;
	}
}

/*
 * Does the same, and sums the values up.  Only one addition per row depends on
 * the row before: `carry` adds the last value of the row's own sums, not of
 * `docs`.
 */
static pg_attribute_always_inline void
skx_codec_gaps_width(uint32 *restrict dst, const uint8 *restrict src,
					 const int width, uint32 base)
{
	const SkxLanes ones = {1, 1, 1, 1};
	SkxLanes	carry = {base, base, base, base};
	SkxLanes	word = {0, 0, 0, 0};
	SkxLanes	next = {0, 0, 0, 0};
	int			row;

	if (width > 0)
		word = skx_codec_lanes_load(src, 0);
	SKX_UNROLL_ROWS
		for (row = 0; row < SKX_LANE_ROWS; row++)
	{
		const int	bit = row * width % 32;
		const int	last = row * width / 32;
		SkxLanes	v;
		SkxLanes	docs;

		if (bit + width >= 32 && last + 1 < width)
			next = skx_codec_lanes_load(src, last + 1);
		v = skx_codec_lanes_unpack_row(word, next, bit, width) + ones;
		v = skx_codec_lanes_sum(v);
		docs = v + carry;
		memcpy(dst + 4 * row, &docs, sizeof(docs));
		carry += SKX_LANES_SHUFFLE(v, v, 3, 3, 3, 3);
		if (bit + width >= 32)
			word = next;
	}
}

static pg_attribute_always_inline void
skx_codec_pack_width(uint8 *restrict dst, const uint32 *restrict src,
					 const int width)
{
	SkxLanes	word = {0, 0, 0, 0};
	int			row;

	if (width == 0)
		return;
	SKX_UNROLL_ROWS
		for (row = 0; row < SKX_LANE_ROWS; row++)
	{
		const int	bit = row * width % 32;
		const int	last = row * width / 32;
		SkxLanes	v;

		memcpy(&v, src + 4 * row, sizeof(v));
		word = bit == 0 ? v : word | v << bit;
		if (bit + width >= 32)
		{
			skx_codec_lanes_store(dst, last, word);
			if (bit + width > 32)
				word = v >> (32 - bit);
		}
	}
}

#define SKX_PACK_FUNCTIONS(w) \
	static void \
	skx_codec_pack_##w(uint8 *dst, const uint32 *src) \
	{ \
		skx_codec_pack_width(dst, src, w); \
	} \
	static void \
	skx_codec_unpack_##w(uint32 *dst, const uint8 *src) \
	{ \
		skx_codec_unpack_width(dst, src, w); \
	} \
	static void \
	skx_codec_gaps_##w(uint32 *dst, const uint8 *src, uint32 base) \
	{ \
		skx_codec_gaps_width(dst, src, w, base); \
	}

SKX_ALL_WIDTHS(SKX_PACK_FUNCTIONS)

#define SKX_PACK_ENTRY(w)	skx_codec_pack_##w,
#define SKX_UNPACK_ENTRY(w)	skx_codec_unpack_##w,
#define SKX_GAPS_ENTRY(w)	skx_codec_gaps_##w,

static void (*const skx_codec_pack_table[]) (uint8 *, const uint32 *) =
{
	SKX_ALL_WIDTHS(SKX_PACK_ENTRY)
};
static void (*const skx_codec_unpack_table[]) (uint32 *, const uint8 *) =
{
	SKX_ALL_WIDTHS(SKX_UNPACK_ENTRY)
};
static void (*const skx_codec_gaps_table[]) (uint32 *, const uint8 *,
											 uint32) =
{
	SKX_ALL_WIDTHS(SKX_GAPS_ENTRY)
};

uint8 *
skx_codec_pack128(uint8 *dst, const uint32 *src, int width)
{
	Assert(width >= 0 && width <= 32);
	skx_codec_pack_table[width] (dst, src);
	return dst + 16 * width;
}

void
skx_codec_unpack128(uint32 *dst, const uint8 *src, int width)
{
	Assert(width >= 0 && width <= 32);
	skx_codec_unpack_table[width] (dst, src);
}

void
skx_codec_unpack128_gaps(uint32 *dst, const uint8 *src, int width,
						 uint32 base)
{
	Assert(width >= 0 && width <= 32);
	skx_codec_gaps_table[width] (dst, src, base);
}

uint8 *
skx_codec_bits_put(uint8 *dst, const uint32 *src, int n, int width)
{
	uint64		pending = 0;
	int			bits = 0;
	int			i;

	Assert(width >= 0 && width <= 32);
	for (i = 0; i < n; i++)
	{
		pending |= (uint64) src[i] << bits;
		bits += width;
		while (bits >= 8)
		{
			*dst++ = (uint8) pending;
			pending >>= 8;
			bits -= 8;
		}
	}
	if (bits > 0)
		*dst++ = (uint8) pending;
	return dst;
}

bool
skx_codec_bits_get(const uint8 *src, const uint8 *end, uint32 i, int width,
				   uint32 *v)
{
	uint64		bit = (uint64) i * (uint32) width;
	size_t		left;
	uint64		bytes = 0;
	size_t		k;

	if (width < 0 || width > 32 || src > end)
		return false;
	left = end - src;
	if ((bit + width + 7) / 8 > left)
		return false;
	src += bit / 8;
	left -= bit / 8;
	if (likely(left >= sizeof(bytes)))
		bytes = skx_codec_load64(src);
	else
	{
		for (k = 0; k < left; k++)
			bytes |= (uint64) src[k] << (8 * k);
	}
	*v = (uint32) ((bytes >> (bit % 8)) & (((uint64) 1 << width) - 1));
	return true;
}

bool
skx_codec_bits_get_all(uint32 *dst, const uint8 *src, const uint8 *end, int n,
					   int width)
{
	uint32		mask;
	size_t		bit = 0;
	size_t		whole = 0;		/* bits before which eight bytes can be read */
	int			i;

	if (width < 0 || width > 32 || src > end ||
		((size_t) n * width + 7) / 8 > (size_t) (end - src))
		return false;
	mask = (uint32) (((uint64) 1 << width) - 1);
	if (end - src >= (ptrdiff_t) sizeof(uint64))
		whole = (end - src - sizeof(uint64) + 1) * 8;
	for (i = 0; i < n && bit < whole; i++, bit += width)
		dst[i] = (uint32) (skx_codec_load64(src + bit / 8) >> (bit % 8)) & mask;
	for (; i < n; i++)
		(void) skx_codec_bits_get(src, end, i, width, &dst[i]);
	return true;
}
