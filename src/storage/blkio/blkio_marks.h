/*
 * blkio_marks.h
 *	  Bits that only the cache has: for what can be found out again.
 */
#ifndef SKX_BLKIO_MARKS_H
#define SKX_BLKIO_MARKS_H

#include "support/compat/compat.h"

/*
 * Numbers of one set, each marked or not, of which the cache keeps pages like
 * those of segments, and drops them like those.  Without a cache no number is
 * marked.  `plane` tells sets of one segment apart; `locator` is the file that
 * the numbers are of, since a copy of an index has the other names in common
 * with the original.
 *
 * groups: of which pages some number may be marked, a bit for those with the
 * same remainder (SkxBlkMarksGroup); 0: none is.  drop takes the marked ones
 * out of ascending numbers of one page, and returns how many are left; read
 * copies the words of a page (SkxBlkMarked); false: none of its numbers is.
 * No error is raised.
 */
typedef struct SkxBlkMarks
{
	SkxLocator	locator;
	uint64		incarnation;
	uint64		salt;
	uint32		segment;
	uint8		plane;
} SkxBlkMarks;

#define SKX_BLK_MARKS_BYTES		(BLCKSZ - 64)	/* of a page, behind its head */
#define SKX_BLK_MARKS			(SKX_BLK_MARKS_BYTES * 8)	/* its numbers */
#define SkxBlkMarksGroup(page)	(UINT64CONST(1) << ((page) % 64))
#define SkxBlkMarked(words, bit)	(((words)[(bit) / 32] >> (bit) % 32 & 1) != 0)

extern uint64 skx_blkio_marks_groups(const SkxBlkMarks *marks);
extern int	skx_blkio_marks_drop(const SkxBlkMarks *marks, uint32 page,
								 uint32 *numbers, int n);
extern bool skx_blkio_marks_read(const SkxBlkMarks *marks, uint32 page,
								 uint32 *words);
extern void skx_blkio_marks_set(const SkxBlkMarks *marks, uint64 number);

#endif							/* SKX_BLKIO_MARKS_H */
