/*
 * codec_narrow.c
 *	  Packed gaps of one bit, as a bitset.
 *
 * A list that nearly all documents have is packed so: each of 128 bits tells
 * whether a document is passed over before the next one.  A clear bit becomes a
 * one, a set bit a zero and a one; what eight of them become is put together
 * from two halves of a byte at a time.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "codec/codec_internal.h"

/* What four bits become, the first one lowest; and how many bits these are. */
static const uint8 skx_codec_half[16] = {
	0x0F, 0x1E, 0x1D, 0x3A, 0x1B, 0x36, 0x35, 0x6A,
	0x17, 0x2E, 0x2D, 0x5A, 0x2B, 0x56, 0x55, 0xAA
};
static const uint8 skx_codec_half_length[16] = {
	4, 5, 5, 6, 5, 6, 6, 7, 5, 6, 6, 7, 6, 7, 7, 8
};

/* Puts bit i of the low 16 at bit 4 * i. */
static inline uint64
skx_codec_spread(uint64 v)
{
	v = (v | v << 24) & UINT64CONST(0x000000FF000000FF);
	v = (v | v << 12) & UINT64CONST(0x000F000F000F000F);
	v = (v | v << 6) & UINT64CONST(0x0303030303030303);
	return (v | v << 3) & UINT64CONST(0x1111111111111111);
}

/* Values 64 * half to 64 * half + 63 of 128, of one bit, in their order. */
static inline uint64
skx_codec_in_order(const uint8 *src, int half)
{
	uint64		v = 0;
	int			lane;

	for (lane = 0; lane < 4; lane++)
		v |= skx_codec_spread(src[4 * lane + 2 * half] |
							  src[4 * lane + 2 * half + 1] << 8) << lane;
	return v;
}

/*
 * Bit k of the words, SKX_NARROW_WORDS, is document base + 1 + k; returns how
 * many bits these are, the last of them set.
 */
int
skx_codec_narrow_bits(const uint8 *src, uint64 *words)
{
	int			at = 0;
	int			i;

	memset(words, 0, sizeof(uint64) * SKX_NARROW_WORDS);
	for (i = 0; i < SKX_SUBBLOCK; i += 32)
	{
		uint64		v = skx_codec_in_order(src, i / 64) >> (i % 64);
		uint64		some = 0;
		int			n = 0;
		int			k;

		for (k = 0; k < 8; k++, v >>= 4)
		{
			some |= (uint64) skx_codec_half[v & 15] << n;
			n += skx_codec_half_length[v & 15];
		}
		words[at / 64] |= some << (at % 64);
		if (at % 64 + n > 64)
			words[at / 64 + 1] |= some >> (64 - at % 64);
		at += n;
	}
	return at;
}
