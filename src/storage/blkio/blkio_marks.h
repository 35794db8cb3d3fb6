/*
 * blkio_marks.h
 *	  Sets of bits that only the cache has, for facts that can be found out
 *	  again.
 */
#ifndef SKX_BLKIO_MARKS_H
#define SKX_BLKIO_MARKS_H

#include "support/bitset/bitset.h"
#include "support/compat/compat.h"

/*
 * blkio_marks.c : bits that only the cache has
 *
 * A set has one bit for each number.  The cache keeps its bits in pages like
 * those of segments, and evicts these like others; bits that are not in the
 * cache are not set.  No function here raises an error.
 */

/*
 * Names a set.  `plane` distinguishes the sets of one segment.  `locator` is
 * the file that the numbers belong to; a copy of an index has all other
 * fields in common with the original.
 */
typedef struct SkxBlkBitsKey
{
	SkxLocator	locator;
	uint64		incarnation;
	uint64		salt;
	uint32		segment;
	uint8		plane;
} SkxBlkBitsKey;

/* Sizes of a page of bits, which has a head before the bits. */
#define SKX_BLK_BITS_PAGE_BYTES		(BLCKSZ - 64)	/* bytes of bits in a page */
#define SKX_BLK_BITS_PER_PAGE			(SKX_BLK_BITS_PAGE_BYTES * 8)	/* bits per page */

/*
 * Returns which pages of the set may have a bit that is set.  Pages with the
 * same remainder modulo 64 share a bit of the result (skx_bitset_word_has()).
 * Returns 0 if no bit is set or the first page of the set has been evicted.
 */
extern uint64 skx_blkio_bits_groups(const SkxBlkBitsKey *marks);

/*
 * Removes the numbers whose bit is set from `numbers`, n ascending numbers
 * of one page of the set, and returns how many are left.
 */
extern int	skx_blkio_bits_drop_numbers(const SkxBlkBitsKey *marks,
										uint32 page, uint32 *numbers, int n);

/*
 * Copies the bits of a page, SKX_BLK_BITS_PAGE_BYTES bytes, into `words`, a
 * set as of bitset.h.  Returns false, and copies nothing, if the page is not
 * in the cache, so that no bit of it is set.
 */
extern bool skx_blkio_bits_read_page(const SkxBlkBitsKey *marks, uint32 page,
									 uint64 *words);

/*
 * Sets the bit of a number.  Does nothing without a cache, without a free
 * frame in it, or if the number is too large for a page of the set.
 */
extern void skx_blkio_bits_set(const SkxBlkBitsKey *marks, uint64 number);

#endif							/* SKX_BLKIO_MARKS_H */
