/*
 * codec.h
 *	  Encoders and decoders of postings, positions and integers: the only place
 *	  that knows how these are packed into bytes.
 *
 * All functions are pure: they use the caller's buffers, allocate nothing and
 * call no ereport.  A decoder gets the end of its input, never reads at or
 * past it, and returns NULL when the bytes cannot be a product of the encoder.
 * An encoder writes to a buffer that the caller made large enough (the *_MAX
 * constants) and returns the end of what it wrote.  The encoders of postings
 * return NULL for documents and frequencies that they cannot write, and never
 * pass the maximum size whatever these are.  Other input must be sound, which
 * is only asserted.  Numbers on disk are little-endian on every machine.
 */
#ifndef SKX_CODEC_H
#define SKX_CODEC_H

#include "support/bitset/bitset.h"

/* Number of postings in a full sub-block, the unit of packing and skipping. */
#define SKX_SUBBLOCK		128

/*
 * Labels of tsvector positions, numbered as in WEP_GETWEIGHT: D, C, B, A =
 * 0..3.
 */
#define SKX_NLABELS			4
#define SKX_LABEL_D			0

/*
 * The document number that stands for "none": the document before document 0.
 * Gaps are added to it with 32-bit wrap-around, so that base + 1 is document
 * 0.
 */
#define SKX_NO_DOC			((uint32) 0xFFFFFFFF)

/* Largest document number.  A gap minus one is never larger. */
#define SKX_DOC_MAX			((uint32) 0x7FFFFFFF)

/*
 * Largest number of positions of a lexeme in a tsvector (MAXNUMPOS,
 * ts_type.h).
 */
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

/* codec_varint.c : integers in little-endian base 128, low group first */

/* Most bytes of an encoded 32-bit and 64-bit integer. */
#define SKX_VARINT32_MAX	5
#define SKX_VARINT64_MAX	10

/* Writes v in at most SKX_VARINT32_MAX bytes and returns the end of these. */
extern uint8 *skx_codec_varint32_put(uint8 *dst, uint32 v);

/* Writes v in at most SKX_VARINT64_MAX bytes and returns the end of these. */
extern uint8 *skx_codec_varint64_put(uint8 *dst, uint64 v);

/*
 * Reads an integer into *v and returns the byte after it.  Returns NULL if the
 * integer needs more than 32 bits, is longer than necessary, or passes `end`.
 */
extern const uint8 *skx_codec_varint32_get(const uint8 *src, const uint8 *end,
										   uint32 *v);

/*
 * Reads an integer into *v and returns the byte after it.  Returns NULL if the
 * integer needs more than 64 bits, is longer than necessary, or passes `end`.
 */
extern const uint8 *skx_codec_varint64_get(const uint8 *src, const uint8 *end,
										   uint64 *v);

/* Returns how many bytes skx_codec_varint64_put() writes for v, 1 to 10. */
extern int	skx_codec_varint64_size(uint64 v);

/*
 * codec_bits.c : bit packing
 *
 * Two layouts exist.  The packed form has 128 values of `width` (0 to 32) bits
 * in four 32-bit lanes, value i in lane i % 4, in exactly 16 * width bytes.  A
 * plain bit string has n values of `width` bits one after the other, low bits
 * first, in (n * width + 7) / 8 bytes.
 */

/*
 * Packs 128 values, none of which may need more than `width` bits, into 16 *
 * width bytes.  Returns the end of these.
 */
extern uint8 *skx_codec_pack128(uint8 *dst, const uint32 *src, int width);

/*
 * Unpacks 128 values.  Reads exactly 16 * width bytes, which the caller has
 * checked to exist.
 */
extern void skx_codec_unpack128(uint32 *dst, const uint8 *src, int width);

/*
 * Unpacks 128 gaps minus one and adds them up from base: dst[i] = dst[i - 1] +
 * src[i] + 1, modulo 2^32.  Reads exactly 16 * width bytes, which the caller
 * has checked to exist.
 */
extern void skx_codec_unpack128_gaps(uint32 *dst, const uint8 *src, int width,
									 uint32 base);

/*
 * Returns how many bits the largest of some values needs, 0 to 32.  The
 * argument is all of these values or-ed together.
 */
static inline int
skx_codec_width(uint32 all_bits_or_ed)
{
	return all_bits_or_ed == 0 ? 0 : 32 - __builtin_clz(all_bits_or_ed);
}

/*
 * Writes n values below 2^width as a plain bit string, whose unused bits are
 * 0.  Returns its end.
 */
extern uint8 *skx_codec_bits_put(uint8 *dst, const uint32 *src, int n,
								 int width);

/*
 * Reads value i of a plain bit string into *v.  Returns false if the value
 * ends past `end` or if width is not 0 to 32.
 */
extern bool skx_codec_bits_get(const uint8 *src, const uint8 *end, uint32 i,
							   int width, uint32 *v);

/*
 * Reads the first n values of a plain bit string into dst.  Returns false if
 * they end past `end` or if width is not 0 to 32.
 */
extern bool skx_codec_bits_get_all(uint32 *dst, const uint8 *src,
								   const uint8 *end, int n, int width);

/* codec_between.c : comparison of the values of a plain bit string */

/*
 * Largest width that skx_codec_bits_between() handles with AVX2: a value and
 * the seven bits before it then fit into 32 bits.  Such values take a fifth of
 * the time of wider ones where the processor has AVX2.
 */
#define SKX_BETWEEN_WIDTH_MAX	25

/*
 * Sets bit i of `bits` if value i of a plain bit string is one of least, ...,
 * least + span (modulo 2^32), and clears it if not.  Writes whole words for n
 * values.  Returns false, and writes nothing, if the values end past `end`.
 */
extern bool skx_codec_bits_between(const uint8 *src, const uint8 *end, int n,
								   int width, uint32 least, uint32 span,
								   uint64 *bits);

/*
 * codec_pfor.c : 128 values below 2^31, patched frame of reference
 *
 * One byte (width 0..31 in the low 5 bits, number of exceptions 0..7 in the
 * high 3), then 16 * width bytes with the low bits of the values packed.  For
 * each exception, by ascending index, its index (1 byte) and its high part
 * (value >> width, varint, never 0) follow.  The width is the narrowest that
 * leaves at most 7 exceptions, which is also the one with the fewest bytes.
 */

/* Most bytes of 128 encoded values. */
#define SKX_PFOR_MAX		(1 + 16 * 31 + 7 * (1 + SKX_VARINT32_MAX))

/* Writes 128 values, each below 2^31, and returns the end of their bytes. */
extern uint8 *skx_codec_pfor_put(uint8 *dst, const uint32 *src);

/*
 * Reads 128 values into dst and returns the end of their bytes, NULL if
 * damaged.
 */
extern const uint8 *skx_codec_pfor_get(uint32 *dst, const uint8 *src,
									   const uint8 *end);

/*
 * Returns the end of the bytes of 128 values without decoding them, NULL if
 * these are damaged.  Not every kind of damage is found.
 */
extern const uint8 *skx_codec_pfor_skip(const uint8 *src, const uint8 *end);

/*
 * codec_subblock.c, codec_labels.c : the body of one sub-block of a list
 *
 * A body has documents, then term frequencies, then labels, so that a reader
 * of documents stops after the first part.  `n` comes from the directory: it
 * is SKX_SUBBLOCK, or less in the last sub-block of a list.  `base` is the
 * last document before the sub-block.  No document exceeds SKX_DOC_MAX.
 *
 * byte 0, document form: 0..31 packed gaps-minus-one of that width; 32 the
 *	  same as varints (always and only when n < 128); 64..127 a bitset of
 *	  (form - 63) 64-bit little-endian words, bit k = document base + 1 + k,
 *	  the last word not 0, chosen when no larger than the packed form (which
 *	  is so for SKX_SUBBLOCK_WORDS_MIN to SKX_SUBBLOCK_WORDS_MAX words only).
 * byte 1, frequency form: bit 7 = some tf is 0, so tf itself is stored, else
 *	  tf - 1; bits 0-1 label form: 0 all positions D, 1 all of the one label
 *	  1..3 in bits 2-3, 2 a label set per posting; other bits 0.
 * then documents; then frequencies (pfor, or varints when n < 128).
 * then, in label form 2 only, the labels: (n + 1) / 2 bytes of 4-bit sets, low
 * nibble first; one byte with bits 0, 1, 2 telling which of the label_tf
 * columns of C, B, A follow; those columns, in that order (pfor, or varints
 * when n < 128).
 *
 * The column of a label exists when some posting has the label and another one
 * too.  Without the column, label_tf is tf in the postings that have the label
 * and 0 in the others.
 */

/* Most bytes of a body; least and most words of a bitset. */
#define SKX_SUBBLOCK_BODY_MAX	(2 + 520 + 64 + 1 + 4 * SKX_PFOR_MAX)
#define SKX_SUBBLOCK_WORDS_MIN	3
#define SKX_SUBBLOCK_WORDS_MAX	22

/*
 * Writes the body of the p->n postings that follow document `base`, in at most
 * SKX_SUBBLOCK_BODY_MAX bytes.  Returns the end of these.  Returns NULL if the
 * documents do not ascend, a frequency is too large, or p->n is not 1 to
 * SKX_SUBBLOCK.
 */
extern uint8 *skx_codec_subblock_put(uint8 *dst, const SkxPostings *p,
									 uint32 base);

/*
 * Decodes the documents of the body at `src` into docs.  Returns the start of
 * the frequency part, NULL if damaged.
 */
extern const uint8 *skx_codec_subblock_docs(const uint8 *src,
											const uint8 *end, int n,
											uint32 base, uint32 *docs);

/*
 * Decodes the frequencies into tf.  `body` is the start of the body, `src`
 * that of its frequency part.  Returns the start of the label part, NULL if
 * damaged.
 */
extern const uint8 *skx_codec_subblock_tfs(const uint8 *body,
										   const uint8 *src,
										   const uint8 *end, int n,
										   uint16 *tf);

/*
 * Decodes the labels into p->labels and p->label_tf; p->n and p->tf must be
 * set.  `body` is the start of the body, `src` that of its label part.
 * Returns the end of the body, NULL if damaged.
 */
extern const uint8 *skx_codec_subblock_labels(const uint8 *body,
											  const uint8 *src,
											  const uint8 *end,
											  SkxPostings *p);

/*
 * Looks documents up in the sub-block without decoding it, if its documents
 * are stored as bits.  docs has `some` ascending documents, of which those
 * before `limit` are looked up.  Writes those that the sub-block has to dst,
 * which may be docs itself, and their number to *kept.
 *
 * Returns how many documents were looked up.  Returns -1 if the body has
 * another form or is damaged: the caller then has to decode it.  Does not
 * check that the body has SKX_SUBBLOCK documents.
 */
extern int	skx_codec_subblock_filter(const uint8 *src, const uint8 *end,
									  int n, uint32 base, const uint32 *docs,
									  int some, uint32 limit, uint32 *dst,
									  int *kept);

/*
 * Documents of a sub-block as bits: bit k of the words is document base + 1 +
 * k.
 */
typedef struct SkxSubblockBits
{
	int			nwords;			/* words in use */
	uint32		ranks[SKX_SUBBLOCK_WORDS_MAX];	/* bits set before each word */
	uint64		words[SKX_SUBBLOCK_WORDS_MAX];
} SkxSubblockBits;

/*
 * Copies the documents of the body at `src` to *bits.  Returns the start of
 * the frequency part.  Returns NULL if the documents are not stored as bits,
 * or if the body is damaged.
 */
extern const uint8 *skx_codec_subblock_bits(const uint8 *src,
											const uint8 *end, int n,
											uint32 base,
											SkxSubblockBits *bits);

/*
 * Returns the index, in the sub-block, of the posting of document base + 1 +
 * bit.  Returns -1 if the sub-block does not have that document.
 */
static inline int
skx_codec_subblock_rank(const SkxSubblockBits *bits, uint32 bit)
{
	uint32		w = bit / SKX_BITSET_BITS;

	if (w >= (uint32) bits->nwords ||
		!skx_bitset_word_has(bits->words[w], bit))
		return -1;
	return bits->ranks[w] +
		skx_bitset_count_word(bits->words[w] & skx_bitset_mask_below(bit));
}

/*
 * Sets bit (doc - window) of `bits` for every document of the sub-block in
 * [window, window + 64 * nwords), and leaves other bits alone.  Returns false
 * if the body is damaged; some bits may be set then.
 */
extern bool skx_codec_subblock_fill_window(const uint8 *src, const uint8 *end,
										   int n, uint32 base, uint32 window,
										   uint64 *bits, int nwords);

/*
 * codec_short.c : a whole list of 1 to SKX_SUBBLOCK - 1 postings
 *
 * Documents part: per posting varint((gap - 1) << 2 | c).  This is a 64-bit
 * varint because a gap minus one has up to 31 bits.  The first gap counts from
 * SKX_NO_DOC.  c tells what follows:
 * c = 0: nothing; tf is 1 and the label is D.
 * c = 1: nothing; tf is 0.
 * c = 2: varint tf (2 or more); all positions have label D.
 * c = 3: varint tf, then a byte with the label set (not 0, not D alone).  If
 *	  the set has more than one label, varint label_tf follows for each of C,
 *	  B, A in the set.
 *
 * Positions part, when the list carries its positions inline: per posting tf
 * varints of delta-minus-one, where the first position counts from 0.  Each is
 * shifted left by 2, with the label below it, when the posting has c = 3.
 * Positions are WordEntryPos values, label << 14 | position, ascending within
 * a document.  Deltas are modulo 2^14, which matters for position 0 alone
 * (binary input admits it): it is stored as 16384 minus one.
 */

/* Most bytes of a position in the positions part. */
#define SKX_SHORT_POSITION_MAX	3

/*
 * Writes the documents part of p->n postings in at most
 * skx_codec_short_max_bytes(p->n) bytes.  Returns the end of these.  Returns
 * NULL if the documents do not ascend, a frequency is too large, or p->n is
 * not 1 to SKX_SUBBLOCK - 1.
 */
extern uint8 *skx_codec_short_put(uint8 *dst, const SkxPostings *p);

/* Returns how many bytes the documents part of n postings takes at most. */
extern size_t skx_codec_short_max_bytes(int n);

/*
 * Decodes the documents of n postings into docs, without frequencies and
 * labels.  Returns the end of the documents part, NULL if damaged.  It is
 * fastest where eight bytes can be read from the start of each posting.
 */
extern const uint8 *skx_codec_short_docs(const uint8 *src, const uint8 *end,
										 int n, uint32 *docs);

/*
 * Decodes n postings into *p, with p->n set to n.  Returns the end of the
 * documents part.  Returns NULL if it is damaged or if n is not 1 to
 * SKX_SUBBLOCK - 1.
 */
extern const uint8 *skx_codec_short_get(const uint8 *src, const uint8 *end,
										int n, SkxPostings *p);

/*
 * Writes the positions part.  `positions` has the positions of all postings of
 * p one after the other, p->tf[i] of posting i.  Returns the end of the part.
 */
extern uint8 *skx_codec_short_positions_put(uint8 *dst, const SkxPostings *p,
											const uint16 *positions);

/*
 * Decodes the p->tf[which] positions of posting `which`, which begin at src,
 * into `positions`; those of posting 0 begin at the start of the part.
 * Returns the start of the next posting's positions, and stores it in *next
 * unless next is NULL.  Returns NULL if damaged.
 */
extern const uint8 *skx_codec_short_positions_get(const uint8 *src,
												  const uint8 *end,
												  const SkxPostings *p,
												  int which, uint16 *positions,
												  const uint8 **next);

/*
 * Returns the end of the next `count` positions, without decoding them.
 * Returns NULL if they pass `end`.
 */
extern const uint8 *skx_codec_short_positions_skip(const uint8 *src,
												   const uint8 *end,
												   int count);

/*
 * codec_positions.c : 1 to SKX_SUBBLOCK positions of consecutive postings
 *
 * A block has the position itself where a document begins and the difference
 * from the one before elsewhere, both minus one.  The first position of a
 * block is stored in full, even within a document, so that no other block is
 * needed to decode it.  Differences are modulo 2^14 as in codec_short.c.
 *
 * byte 0: bits 0-2 label form, 0..3 all positions have that label, 4 two bits
 * a position after the values (i-th in byte i / 4, low bits first, unused bits
 * 0); bit 7 set: fewer than 128, a count byte follows (1..127), values are
 * varints, else they are pfor.
 */

/* Most bytes of a block. */
#define SKX_POSBLOCK_MAX	(2 + SKX_PFOR_MAX + 32)

/*
 * Writes a block of n positions, WordEntryPos values that ascend within one
 * document, in at most SKX_POSBLOCK_MAX bytes.  Bit i of the 128 bits at
 * `starts` is set if a document begins at positions[i]; it counts as set for i
 * = 0.  Returns the end of the block.
 */
extern uint8 *skx_codec_positions_put(uint8 *dst, const uint16 *positions,
									  int n, const uint64 *starts);

/*
 * Decodes a block into deltas, which has capacity for SKX_SUBBLOCK values, and
 * its number of positions into *n.  A value is label << 30 | delta, where
 * delta is 1..16384, the stored number plus one.  The caller, which has each
 * tf, adds the deltas up within a document and masks the sum with 0x3FFF.
 * Returns the end of the block, NULL if damaged.
 */
extern const uint8 *skx_codec_positions_get(const uint8 *src,
											const uint8 *end, uint32 *deltas,
											int *n);

/*
 * Skips whole blocks, without decoding them, up to the one with position
 * *want, counted from the first position at src.  Returns the start of that
 * block, or `end` if no block has it, and makes *want count from there.
 * Returns NULL if a block is damaged.
 */
extern const uint8 *skx_codec_positions_skip(const uint8 *src,
											 const uint8 *end, uint32 *want);

#endif							/* SKX_CODEC_H */
