/*
 * cursor_sum.h
 *	  Adds up postings: those that given documents have in one list, or those
 *	  of all lexemes with a prefix.
 */
#ifndef SKX_CURSOR_SUM_H
#define SKX_CURSOR_SUM_H

#include "index/cursor/cursor.h"

/* Sums over postings. */
typedef struct SkxCursorSum
{
	uint64		npositions;
	uint64		length;			/* positions, or 1 of a posting without */
} SkxCursorSum;

/*
 * Returns how many of the documents below ndocs whose bits are set are in the
 * list.  Adds up their postings in *sum, unless that is NULL.  The cursor must
 * be before its first posting.  Not for a list in memory.
 */
extern uint32 skx_cursor_sum(SkxCursor *c, const uint8 *bits, uint32 ndocs,
							 SkxCursorSum *sum);

/*
 * Adds the frequencies of the postings in documents [from, to) to tfs, which
 * has a number for each of these documents.  A posting without positions
 * counts as one, and no sum passes 65535.  Returns the list's next document,
 * or SKX_NO_DOC.  Not for a list in memory.
 */
extern uint32 skx_cursor_add_tfs(SkxCursor *c, uint32 from, uint32 to,
								 uint16 *tfs);

/* Does the same for the lists of all lexemes with a prefix. */
extern void skx_cursor_add_prefix(SkxSegment *seg, const char *prefix, int len,
								  uint32 from, uint32 to, uint16 *tfs);

#endif							/* SKX_CURSOR_SUM_H */
