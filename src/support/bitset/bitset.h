/*
 * bitset.h
 *	  Sets of small numbers, one bit each, in arrays of 64-bit words.
 *
 * Bit i of a set is bit i % 64 of word i / 64.  Most sets are of documents:
 * bit i is document first + i, where the caller knows `first`.  The caller
 * also owns the array and knows its size; no function checks a bit against it.
 *
 * On disk the same bits are bytes: bit i is bit i % 8 of byte i / 8, on every
 * machine.  Functions for these have `bytes` in their names.
 *
 * All functions are pure: they allocate nothing and raise no errors.
 */
#ifndef SKX_BITSET_H
#define SKX_BITSET_H

#include "port/pg_bitutils.h"

/* Number of bits of a word. */
#define SKX_BITSET_BITS			64

/* Returns how many words a set of n bits has. */
#define SKX_BITSET_WORDS(n)		(((n) + SKX_BITSET_BITS - 1) / SKX_BITSET_BITS)

/* one word */

/* Returns the word in which only bit i, modulo 64, is set. */
static inline uint64
skx_bitset_mask_bit(uint32 i)
{
	return UINT64CONST(1) << (i % SKX_BITSET_BITS);
}

/* Returns the word in which all bits before bit i, modulo 64, are set. */
static inline uint64
skx_bitset_mask_below(uint32 i)
{
	return skx_bitset_mask_bit(i) - 1;
}

/* Returns true if bit i, modulo 64, of a word is set. */
static inline bool
skx_bitset_word_has(uint64 word, uint32 i)
{
	return (word >> (i % SKX_BITSET_BITS) & 1) != 0;
}

/* Clears the lowest bit of a word that is not 0, and returns its number. */
static inline uint32
skx_bitset_pop_lowest(uint64 *word)
{
	uint32		i = (uint32) __builtin_ctzll(*word);

	*word &= *word - 1;
	return i;
}

/*
 * Returns how many bits of one word are set.  That calls a function of the
 * server; for several words, skx_bitset_count() takes a fraction of the time.
 */
static inline int
skx_bitset_count_word(uint64 word)
{
	return pg_popcount64(word);
}

/* one bit of a set */

/* Returns true if bit i is set. */
static inline bool
skx_bitset_test(const uint64 *words, uint32 i)
{
	return skx_bitset_word_has(words[i / SKX_BITSET_BITS], i);
}

/* Sets bit i. */
static inline void
skx_bitset_set(uint64 *words, uint32 i)
{
	words[i / SKX_BITSET_BITS] |= skx_bitset_mask_bit(i);
}

/*
 * Sets bit i + k for each bit k of `bits`.  Bits that are not in the word of
 * bit i are dropped.
 */
static inline void
skx_bitset_or_bits(uint64 *words, uint32 i, uint64 bits)
{
	words[i / SKX_BITSET_BITS] |= bits << (i % SKX_BITSET_BITS);
}

/* whole sets, of nwords words */

/* Clears the bits that `other` lacks. */
static inline void
skx_bitset_and(uint64 *words, const uint64 *other, uint32 nwords)
{
	uint32		w;

	for (w = 0; w < nwords; w++)
		words[w] &= other[w];
}

/* Clears the bits that `other` has. */
static inline void
skx_bitset_andnot(uint64 *words, const uint64 *other, uint32 nwords)
{
	uint32		w;

	for (w = 0; w < nwords; w++)
		words[w] &= ~other[w];
}

/* Sets the bits that `other` has. */
static inline void
skx_bitset_or(uint64 *words, const uint64 *other, uint32 nwords)
{
	uint32		w;

	for (w = 0; w < nwords; w++)
		words[w] |= other[w];
}

/* Returns true if no bit is set. */
static inline bool
skx_bitset_is_empty(const uint64 *words, uint32 nwords)
{
	uint64		any = 0;
	uint32		w;

	for (w = 0; w < nwords; w++)
		any |= words[w];
	return any == 0;
}

/* Returns the number of the first set bit.  There must be one. */
static inline uint32
skx_bitset_first(const uint64 *words)
{
	uint32		w = 0;

	while (words[w] == 0)
		w++;
	return w * SKX_BITSET_BITS + (uint32) __builtin_ctzll(words[w]);
}

/*
 * Sets bit at + k for each bit k of the word `other`, if the set has it.  `at`
 * may be negative.
 */
static inline void
skx_bitset_or_word_at(uint64 *words, int64 nwords, int64 at, uint64 other)
{
	int64		w = at >> 6;
	int			shift = at & 63;

	if (w >= 0 && w < nwords)
		words[w] |= other << shift;
	if (shift != 0 && w + 1 >= 0 && w + 1 < nwords)
		words[w + 1] |= other >> (64 - shift);
}

/* Does the same for n words of `other`. */
static inline void
skx_bitset_or_at(uint64 *words, int64 nwords, int64 at, const uint64 *other,
				 int n)
{
	int			shift = at & 63;
	int			i;

	if (at < 0 || (at >> 6) + n >= nwords)
	{
		for (i = 0; i < n; i++)
			skx_bitset_or_word_at(words, nwords, at + SKX_BITSET_BITS * i,
								  other[i]);
		return;
	}
	words += at >> 6;
	for (i = 0; i < n; i++)
	{
		words[i] |= other[i] << shift;
		words[i + 1] |= other[i] >> 1 >> (63 - shift);
	}
}

/* bitset_range.c : ranges of bits */

/* Sets bits from, ..., to - 1. */
extern void skx_bitset_set_range(uint64 *words, uint32 from, uint32 to);

/* Clears bits from, ..., to - 1. */
extern void skx_bitset_clear_range(uint64 *words, uint32 from, uint32 to);

/* bitset_list.c : the numbers of the bits that are set */

/*
 * Sets docs to first + i for each set bit i, ascending, of the words from *w
 * on.  Ends at a word when docs, which has capacity for `most` documents, may
 * be too small for its bits; `most` is at least 64.  Moves *w behind the words
 * that are done.  Returns the number of documents.
 */
extern int	skx_bitset_list(const uint64 *words, uint32 nwords, uint32 *w,
							uint32 first, uint32 *docs, int most);

/* bitset_count.c : numbers of set bits */

/*
 * Returns how many bits of nwords words are set.  The words need not be
 * aligned, so they may be bytes, too.
 */
extern uint64 skx_bitset_count(const void *words, uint32 nwords);

/*
 * Does the same as skx_bitset_count(), without instructions that a processor
 * may lack.
 */
extern uint64 skx_bitset_count_plain(const void *words, uint32 nwords);

/*
 * Sets ranks[w] to the number of bits that are set in words 0 to w - 1.
 * Returns how many bits of all words are set.
 */
extern uint32 skx_bitset_ranks(const uint64 *words, uint32 nwords,
							   uint32 *ranks);

/* bits as bytes */

/* Returns true if bit i is set. */
static inline bool
skx_bitset_bytes_test(const uint8 *bytes, uint32 i)
{
	return (bytes[i / 8] >> (i % 8) & 1) != 0;
}

/* Sets bit i. */
static inline void
skx_bitset_bytes_set(uint8 *bytes, uint32 i)
{
	bytes[i / 8] |= (uint8) (1 << (i % 8));
}

/* Returns the first set bit from bit i on and below n, or n if none is. */
static inline uint32
skx_bitset_bytes_next(const uint8 *bytes, uint32 n, uint32 i)
{
	while (i < n)
	{
		uint32		rest = bytes[i / 8] >> (i % 8);

		if ((rest & 1) != 0)
			return i;
		i += rest != 0 ? 1 : 8 - i % 8;
	}
	return n;
}

/* Clears the bits of a set of words that nbytes bytes have. */
static inline void
skx_bitset_andnot_bytes(uint64 *words, const uint8 *bytes, uint32 nbytes)
{
	uint32		i;

	for (i = 0; i < nbytes; i++)
		words[i / 8] &= ~((uint64) bytes[i] << (i % 8 * 8));
}

#endif							/* SKX_BITSET_H */
