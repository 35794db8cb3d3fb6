/*
 * codec_internal.h
 *	  What the files of codec/ share: byte order, one-byte varints inline, and
 *	  columns of up to SKX_SUBBLOCK numbers.
 */
#ifndef SKX_CODEC_INTERNAL_H
#define SKX_CODEC_INTERNAL_H

#include "format/codec/codec.h"
#include "port/pg_bswap.h"

#ifdef WORDS_BIGENDIAN
#define SKX_LE32(x)			pg_bswap32(x)
#define SKX_LE64(x)			pg_bswap64(x)
#else
#define SKX_LE32(x)			(x)
#define SKX_LE64(x)			(x)
#endif

/* Positions are kept in 14 bits, labels above them: see WordEntryPos. */
#define SKX_POS_BITS		14
#define SKX_POS_MASK		((1 << SKX_POS_BITS) - 1)

/*
 * Compiled twice, for any processor and for those of x86-64-v3 (vectors of 32
 * bytes; shifts by a register that set no flags): which one is called is decided
 * when the library is loaded.  That takes ifunc, which musl has not, and which
 * sanitizers do not bear.
 */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && \
	__GNUC__ >= 12 && !defined(__SANITIZE_ADDRESS__) && \
	!defined(__SANITIZE_THREAD__)
#define SKX_CODEC_TWICE		__attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define SKX_CODEC_TWICE
#endif

static inline uint64
skx_codec_load64(const uint8 *src)
{
	uint64		v;

	memcpy(&v, src, sizeof(v));
	return SKX_LE64(v);
}

static inline void
skx_codec_store64(uint8 *dst, uint64 v)
{
	v = SKX_LE64(v);
	memcpy(dst, &v, sizeof(v));
}

/* codec_between.c : without what the processor may not have */
extern void skx_codec_between_plain(const uint8 *src, const uint8 *end,
									int from, int n, int width, uint32 least,
									uint32 span, uint64 *bits);

/* codec_count.c : likewise */
extern uint64 skx_codec_count_plain(const void *bits, int nwords);

/* and by word, those of the words before; returns how many are set, below 256 */
extern int	skx_codec_count_before(const uint64 *words, int nwords,
								   uint8 *before);

/* Nearly every varint is one byte: those do not pay for a call. */
static inline const uint8 *
skx_codec_varint_get(const uint8 *src, const uint8 *end, uint32 *v)
{
	if (likely(src < end && *src < 0x80))
	{
		*v = *src;
		return src + 1;
	}
	return skx_codec_varint32_get(src, end, v);
}

static inline uint8 *
skx_codec_varint_put(uint8 *dst, uint32 v)
{
	if (likely(v < 0x80))
	{
		*dst = (uint8) v;
		return dst + 1;
	}
	return skx_codec_varint32_put(dst, v);
}

/*
 * codec_narrow.c: packed gaps of one bit as bits, that of base + 1 lowest; how
 * many, SKX_SUBBLOCK to 64 * SKX_NARROW_WORDS
 */
#define SKX_NARROW_WORDS	4
extern int	skx_codec_narrow_bits(const uint8 *src, uint64 *words);

/*
 * codec_pfor.c: a column of n values: pfor when n is SKX_SUBBLOCK, varints
 * when fewer.  `dst` and `src` have room for SKX_SUBBLOCK values.
 */
extern uint8 *skx_codec_column_put(uint8 *dst, const uint32 *src, int n);
extern const uint8 *skx_codec_column_get(uint32 *dst, const uint8 *src,
										 const uint8 *end, int n);

/* codec_labels.c: the label form bits of byte 1 and the label part. */
#define SKX_LABELS_ALL_D		0
#define SKX_LABELS_ONE			1
#define SKX_LABELS_SETS			2
#define SKX_LABELS_FORM_MASK	0x03
#define SKX_LABELS_ONE_SHIFT	2
#define SKX_LABELS_MASK			0x0F
extern uint8 skx_codec_labels_form(const SkxPostings *p);
extern bool skx_codec_labels_form_valid(uint8 form);
extern uint8 *skx_codec_labels_put(uint8 *dst, const SkxPostings *p,
								   uint8 form);

/* Whether a label set has more than one label. */
#define SKX_SEVERAL_LABELS(set)	(((set) & ((set) - 1)) != 0)

#endif							/* SKX_CODEC_INTERNAL_H */
