/*
 * codec.h
 *	  Bytes to integers and back: the only place that knows how postings,
 *	  positions and TIDs are packed.
 *
 * Everything here is pure: caller's buffers, no allocation, no ereport.  A
 * decoder gets the end of its input, never reads at or past it, and returns
 * NULL when the bytes cannot be a product of the encoder.  Encoders write to
 * a buffer that the caller made large enough (the *_MAX constants) and return
 * the end of what they wrote.  Those of postings return NULL for documents and
 * frequencies that they cannot write, and never pass that size whatever these
 * are; other input must be sound (asserted only).
 * Numbers on disk are little-endian whatever the machine.
 */
#ifndef SKX_CODEC_H
#define SKX_CODEC_H

/* Postings in a full sub-block; the unit of packing, skipping and bounds. */
#define SKX_SUBBLOCK		128

/* Labels of tsvector positions: number as in WEP_GETWEIGHT (D C B A = 0..3). */
#define SKX_NLABELS			4
#define SKX_LABEL_D			0

/*
 * "No document": the document before document 0.  Gaps are added to it with
 * 32-bit wrap-around, so that base + 1 is document 0.
 */
#define SKX_NO_DOC			((uint32) 0xFFFFFFFF)

/* The largest document number; a gap less one is never larger. */
#define SKX_DOC_MAX			((uint32) 0x7FFFFFFF)

/* Positions a lexeme can have in one tsvector (MAXNUMPOS of ts_type.h). */
#define SKX_TF_MAX			256

/*
 * Decoded postings, up to SKX_SUBBLOCK of them, as columns.
 *
 * tf counts the positions of the lexeme in the document, 0 for a lexeme
 * stored without positions (strip()), at most SKX_TF_MAX.  labels is the set
 * of labels among the positions, bit 1 << label; 0 exactly when tf is 0.
 * label_tf counts positions of label 1 (C), 2 (B), 3 (A); label D has the
 * rest, so that a count is 0 exactly when the label is not in the set.
 */
typedef struct SkxPostings
{
	int			n;
	uint32		docs[SKX_SUBBLOCK];
	uint16		tf[SKX_SUBBLOCK];
	uint8		labels[SKX_SUBBLOCK];
	uint16		label_tf[SKX_NLABELS - 1][SKX_SUBBLOCK];
} SkxPostings;

/*
 * codec_varint.c : little-endian base 128, low group first
 *
 * get refuses a number that does not fit and one written longer than needed.
 */
#define SKX_VARINT32_MAX	5
#define SKX_VARINT64_MAX	10
extern uint8 *skx_codec_varint32_put(uint8 *dst, uint32 v);
extern uint8 *skx_codec_varint64_put(uint8 *dst, uint64 v);
extern const uint8 *skx_codec_varint32_get(const uint8 *src, const uint8 *end,
										   uint32 *v);
extern const uint8 *skx_codec_varint64_get(const uint8 *src, const uint8 *end,
										   uint64 *v);
extern int	skx_codec_varint64_size(uint64 v);

/*
 * codec_bits.c : bit packing
 *
 * pack128 lays 128 values of `width` (0..32) bits out in four 32-bit lanes
 * (value i in lane i % 4), exactly 16 * width bytes; no value may need more
 * bits.  unpack128_gaps adds up gaps-minus-one from base: dst[i] = dst[i-1] +
 * src[i] + 1, modulo 2^32.  The unpackers read exactly 16 * width bytes: the
 * caller has checked that they are there.  width returns the bits that the
 * largest of the values or-ed together needs, 0..32.
 * bits_get reads one value of `width` (0..32) bits, number `i`, from a plain
 * little-endian bit string, false when that is not before `end`; get_all reads
 * the first n; bits_put writes n values; their length is (n * width + 7) / 8
 * bytes.
 */
extern uint8 *skx_codec_pack128(uint8 *dst, const uint32 *src, int width);
extern void skx_codec_unpack128(uint32 *dst, const uint8 *src, int width);
extern void skx_codec_unpack128_gaps(uint32 *dst, const uint8 *src, int width,
									 uint32 base);
static inline int
skx_codec_width(uint32 all_bits_or_ed)
{
	return all_bits_or_ed == 0 ? 0 : 32 - __builtin_clz(all_bits_or_ed);
}

extern uint8 *skx_codec_bits_put(uint8 *dst, const uint32 *src, int n,
								 int width);
extern bool skx_codec_bits_get(const uint8 *src, const uint8 *end, uint32 i,
							   int width, uint32 *v);
extern bool skx_codec_bits_get_all(uint32 *dst, const uint8 *src,
								   const uint8 *end, int n, int width);

/*
 * codec_between.c : bit i of `bits` is set if number i is one of least, ...,
 * least + span (modulo 2^32); whole words for n numbers are written.  False when
 * they end past `end`.  Numbers of SKX_BETWEEN_WIDTH bits at most, so that with
 * seven bits before them they fit into 32, take a fifth of the time of others
 * where the processor has AVX2.
 */
#define SKX_BETWEEN_WIDTH	25

extern bool skx_codec_bits_between(const uint8 *src, const uint8 *end, int n,
								   int width, uint32 least, uint32 span,
								   uint64 *bits);

/* codec_count.c : how many bits of the words, anywhere in memory, are set */
extern uint64 skx_codec_count(const void *bits, int nwords);

/* Of one; a call takes more. */
static inline int
skx_codec_count_word(uint64 word)
{
	const uint64 pairs = UINT64CONST(0x3333333333333333);

	word -= word >> 1 & UINT64CONST(0x5555555555555555);
	word = (word & pairs) + (word >> 2 & pairs);
	word = (word + (word >> 4)) & UINT64CONST(0x0F0F0F0F0F0F0F0F);
	return (int) (word * UINT64CONST(0x0101010101010101) >> 56);
}

/*
 * codec_pfor.c : 128 values, patched frame of reference
 *
 * One byte (width 0..31 in the low 5 bits, exceptions 0..7 in the high 3),
 * 16 * width bytes with the low bits packed, then per exception, by ascending
 * index, its index (1 byte) and its high part (value >> width, varint, never
 * 0).  The width is the narrowest that leaves at most 7 exceptions, which is
 * also the one with the fewest bytes.  Values are below 2^31.
 */
#define SKX_PFOR_MAX		(1 + 16 * 31 + 7 * (1 + SKX_VARINT32_MAX))
extern uint8 *skx_codec_pfor_put(uint8 *dst, const uint32 *src);
extern const uint8 *skx_codec_pfor_get(uint32 *dst, const uint8 *src,
									   const uint8 *end);
extern const uint8 *skx_codec_pfor_skip(const uint8 *src, const uint8 *end);

/*
 * codec_subblock.c, codec_labels.c : the body of one sub-block of a list
 *
 * Documents, then term frequencies, then labels, so that a reader that wants
 * documents only stops after the first part.  `n` comes from the directory:
 * SKX_SUBBLOCK, or less in the last sub-block of a list.  `base` is the last
 * document before the sub-block.
 *
 * byte 0, document form: 0..31 packed gaps-minus-one of that width; 32 the
 *	  same as varints (always and only when n < 128); 64..127 a bitset of
 *	  (form - 63) 64-bit little-endian words, bit k = document base + 1 + k,
 *	  the last word not 0, chosen when no larger than the packed form (which
 *	  is so for SKX_BITSET_MIN to SKX_BITSET_MAX words only).
 * byte 1, frequency form: bit 7 = some tf is 0, so tf itself is stored, else
 *	  tf - 1; bits 0-1 label form: 0 all positions D, 1 all of the one label
 *	  1..3 in bits 2-3, 2 a label set per posting; other bits 0.
 * then documents; then frequencies (pfor, or varints when n < 128).
 * then, in label form 2 only, the labels: (n + 1) / 2 bytes of 4-bit sets, low
 * nibble first; one byte with bits 0, 1, 2 telling which of the label_tf
 * columns of C, B, A follow; those columns, in that order (pfor, or varints
 * when n < 128).  A label's column is there when some posting has the label
 * and another one too; without it label_tf is tf in the postings that have the
 * label and 0 in the others.
 *
 * docs returns the start of the frequency part (NULL: damaged).  tfs fills
 * tf and returns the start of the label part; labels fills labels and label_tf
 * from p->n and p->tf and returns the end of the body.  `body` is the start of
 * the body, `src` where the preceding part ended.  No document exceeds
 * SKX_DOC_MAX.
 * fill sets bit (doc - window) of `bits` for documents in [window, window +
 * 64 * nwords), by words where the form allows; it needs no decoded documents,
 * leaves other bits alone, and returns false for damaged bytes, some bits
 * being set already perhaps.
 * keep looks those of `some` ascending documents that are before `limit` up in
 * the bits of a sub-block; those that it has are written to `dst`, which may be
 * where they are, and counted in *kept.  Returns how many were looked up; -1:
 * its form has no bits (or is damaged), it has to be decoded.
 * bits copies them, with how many are set before each word, and returns the
 * start of the frequency part; NULL as -1.  rank is then which posting the
 * document base + 1 + bit is, -1: none.
 */
#define SKX_SUBBLOCK_BODY_MAX	(2 + 520 + 64 + 1 + 4 * SKX_PFOR_MAX)
#define SKX_BITSET_MIN			3
#define SKX_BITSET_MAX			22
extern uint8 *skx_codec_subblock_put(uint8 *dst, const SkxPostings *p,
									 uint32 base);
extern const uint8 *skx_codec_subblock_docs(const uint8 *src,
											const uint8 *end, int n,
											uint32 base, uint32 *docs);
extern const uint8 *skx_codec_subblock_tfs(const uint8 *body,
										   const uint8 *src,
										   const uint8 *end, int n,
										   uint16 *tf);
extern const uint8 *skx_codec_subblock_labels(const uint8 *body,
											  const uint8 *src,
											  const uint8 *end,
											  SkxPostings *p);
extern int	skx_codec_subblock_keep(const uint8 *src, const uint8 *end, int n,
									uint32 base, const uint32 *docs, int some,
									uint32 limit, uint32 *dst, int *kept);
typedef struct SkxSubblockBits
{
	int			nwords;
	uint8		before[SKX_BITSET_MAX];
	uint64		words[SKX_BITSET_MAX];
} SkxSubblockBits;

extern const uint8 *skx_codec_subblock_bits(const uint8 *src,
											const uint8 *end, int n,
											uint32 base,
											SkxSubblockBits *bits);

static inline int
skx_codec_subblock_rank(const SkxSubblockBits *bits, uint32 bit)
{
	uint64		below = (UINT64CONST(1) << (bit % 64)) - 1;
	uint32		word = bit / 64;

	if (word >= (uint32) bits->nwords ||
		(bits->words[word] >> (bit % 64) & 1) == 0)
		return -1;
	return bits->before[word] + skx_codec_count_word(bits->words[word] & below);
}

extern bool skx_codec_subblock_fill(const uint8 *src, const uint8 *end, int n,
									uint32 base, uint32 window, uint64 *bits,
									int nwords);

/*
 * codec_short.c : a whole list of 1 to SKX_SUBBLOCK - 1 postings
 *
 * Documents part: per posting varint((gap - 1) << 2 | c), a 64-bit varint
 * because a gap less one has up to 31 bits; the first gap counts from
 * SKX_NO_DOC.  c 0: tf is 1 and the label D; 1: tf is 0; 2: varint tf (2 or
 * more) follows, all D; 3: varint tf, then a byte with the label set (not 0,
 * not D alone), then for each of C, B, A in the set, when the set has more
 * than one label, varint label_tf.  short_max(n) bounds its bytes.
 *
 * Positions part, when the list carries its positions inline: per posting tf
 * varints of delta-minus-one (first position counted from 0), each shifted
 * left by 2 with the label below it when the posting has c = 3; at most
 * SKX_SHORT_POSITION_MAX bytes a position.  Positions are WordEntryPos values,
 * label << 14 | position, ascending within a document.  Deltas are modulo
 * 2^14, which matters for position 0 alone (binary input admits it): it is
 * stored as 16384 less one.
 *
 * positions_put takes the positions of all postings one after the other.
 * positions_get is a cursor: `src` is where the positions of posting `which`
 * begin (the part's start for posting 0), p->tf[which] of them are written to
 * `positions`, and the start of the next posting's is returned and, when next
 * is not NULL, stored there as well; NULL when damaged.  positions_skip steps
 * over `count` positions without decoding them.
 *
 * docs gives the documents alone, and returns the end of their part, NULL when
 * damaged.  It is fastest where what can be read goes on for 8 bytes.
 */
#define SKX_SHORT_POSITION_MAX	3
extern uint8 *skx_codec_short_put(uint8 *dst, const SkxPostings *p);
extern size_t skx_codec_short_max(int n);
extern const uint8 *skx_codec_short_docs(const uint8 *src, const uint8 *end,
										 int n, uint32 *docs);
extern const uint8 *skx_codec_short_get(const uint8 *src, const uint8 *end,
										int n, SkxPostings *p);
extern uint8 *skx_codec_short_positions_put(uint8 *dst, const SkxPostings *p,
											const uint16 *positions);
extern const uint8 *skx_codec_short_positions_get(const uint8 *src,
												  const uint8 *end,
												  const SkxPostings *p,
												  int which, uint16 *positions,
												  const uint8 **next);
extern const uint8 *skx_codec_short_positions_skip(const uint8 *src,
												   const uint8 *end,
												   int count);

/*
 * codec_positions.c : 1 to SKX_SUBBLOCK positions of consecutive postings
 *
 * Input are WordEntryPos values, ascending within one document; the encoder
 * is told by `starts` (bit i of a 128-bit set, two uint64) where a document
 * begins, and stores the position there and the difference elsewhere, minus
 * one.  The first position of a block always counts as such a beginning, so
 * that a block needs no other: the sum starts anew there, even within a
 * document.  Differences are modulo 2^14 as in codec_short.c.
 *
 * byte 0: bits 0-2 label form, 0..3 all positions have that label, 4 two bits
 * a position after the values (i-th in byte i / 4, low bits first, unused bits
 * 0); bit 7 set: fewer than 128, a count byte follows (1..127), values are
 * varints, else they are pfor.
 * The decoder returns the stored differences plus one with the label in the
 * top two bits as uint32: label << 30 | delta, delta 1..16384; the caller,
 * which knows each tf, sums them up, and masks the sum with 0x3FFF.  skip passes
 * over blocks one after the other, as far as the one with position *want.
 */
#define SKX_POSBLOCK_MAX	(2 + SKX_PFOR_MAX + 32)
extern uint8 *skx_codec_positions_put(uint8 *dst, const uint16 *positions,
									  int n, const uint64 *starts);
extern const uint8 *skx_codec_positions_get(const uint8 *src,
											const uint8 *end, uint32 *deltas,
											int *n);
extern const uint8 *skx_codec_positions_skip(const uint8 *src,
											 const uint8 *end, uint32 *want);

#endif							/* SKX_CODEC_H */
