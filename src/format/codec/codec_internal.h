/*
 * codec_internal.h
 *	  Declarations that the files of codec/ share: byte order, inline code of
 *	  one-byte varints, and columns of up to SKX_SUBBLOCK numbers.
 */
#ifndef SKX_CODEC_INTERNAL_H
#define SKX_CODEC_INTERNAL_H

#include "format/codec/codec.h"
#include "port/pg_bswap.h"

/* Convert an integer between the machine's byte order and little-endian. */
#ifdef WORDS_BIGENDIAN
#define SKX_LE32(x)			pg_bswap32(x)
#define SKX_LE64(x)			pg_bswap64(x)
#else
#define SKX_LE32(x)			(x)
#define SKX_LE64(x)			(x)
#endif

/*
 * The low 14 bits of a WordEntryPos are the position, those above the label.
 */
#define SKX_POS_BITS		14
#define SKX_POS_MASK		((1 << SKX_POS_BITS) - 1)

/*
 * Attribute of a function that is compiled twice: for any x86-64 processor,
 * and for x86-64-v3 (vectors of 32 bytes, and shifts by a register that set no
 * flags).  The version is chosen when the library is loaded.  That takes
 * ifunc, which musl lacks and which sanitizers do not support.
 */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && \
	__GNUC__ >= 12 && !defined(__SANITIZE_ADDRESS__) && \
	!defined(__SANITIZE_THREAD__)
#define SKX_CODEC_CLONES		__attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define SKX_CODEC_CLONES
#endif

/* Reads a little-endian 64-bit integer, which need not be aligned. */
static inline uint64
skx_codec_load64(const uint8 *src)
{
	uint64		v;

	memcpy(&v, src, sizeof(v));
	return SKX_LE64(v);
}

/* Writes a little-endian 64-bit integer, which need not be aligned. */
static inline void
skx_codec_store64(uint8 *dst, uint64 v)
{
	v = SKX_LE64(v);
	memcpy(dst, &v, sizeof(v));
}

/*
 * Sets bit i of `bits` if value i is one of least, ..., least + span (modulo
 * 2^32), for values `from` to n - 1 of a plain bit string.  Leaves other bits
 * alone, and uses no instructions that a processor may lack.  The caller has
 * checked that the values end before `end`, and zeroed `bits`.
 */
extern void skx_codec_between_plain(const uint8 *src, const uint8 *end,
									int from, int n, int width, uint32 least,
									uint32 span, uint64 *bits);

/*
 * Does the same as skx_codec_varint32_get().  It decodes varints of one byte,
 * which nearly all are, without a function call.
 */
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

/*
 * Does the same as skx_codec_varint32_put().  It encodes varints of one byte,
 * which nearly all are, without a function call.
 */
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

/* codec_narrow.c : packed gaps of width 1 as a bitset */

/* Number of words of such a bitset. */
#define SKX_NARROW_WORDS	4

/*
 * Turns 128 packed gaps-minus-one of width 1 at src into SKX_NARROW_WORDS
 * words, whose bit k is document base + 1 + k.  Returns the number of the last
 * set bit plus one, which is SKX_SUBBLOCK to 64 * SKX_NARROW_WORDS.
 */
extern int	skx_codec_narrow_bits(const uint8 *src, uint64 *words);

/* codec_pfor.c : columns of numbers */

/*
 * Writes n values: as pfor if n is SKX_SUBBLOCK, as varints if n is less.
 * Returns the end of their bytes.
 */
extern uint8 *skx_codec_column_put(uint8 *dst, const uint32 *src, int n);

/*
 * Reads n values that skx_codec_column_put() wrote.  dst has capacity for
 * SKX_SUBBLOCK values.  Returns the end of their bytes, NULL if damaged.
 */
extern const uint8 *skx_codec_column_get(uint32 *dst, const uint8 *src,
										 const uint8 *end, int n);

/* codec_labels.c : the label form in byte 1 of a body, and the label part */

/*
 * Label form: bits 0-1 one of the first three values, bits 2-3 the label of
 * SKX_LABELS_ONE.
 */
#define SKX_LABELS_ALL_D		0
#define SKX_LABELS_ONE			1
#define SKX_LABELS_SETS			2
#define SKX_LABELS_FORM_MASK	0x03
#define SKX_LABELS_ONE_SHIFT	2
#define SKX_LABELS_MASK			0x0F

/* Returns the label form of the postings. */
extern uint8 skx_codec_labels_form(const SkxPostings *p);

/* Returns true if skx_codec_labels_form() can return this form. */
extern bool skx_codec_labels_form_valid(uint8 form);

/*
 * Writes the label part of p's postings in this form, which is empty unless
 * the form is SKX_LABELS_SETS.  Returns its end.
 */
extern uint8 *skx_codec_labels_put(uint8 *dst, const SkxPostings *p,
								   uint8 form);

/* True if a label set has more than one label. */
#define SKX_SEVERAL_LABELS(set)	(((set) & ((set) - 1)) != 0)

#endif							/* SKX_CODEC_INTERNAL_H */
