/*
 * cursor_sum.c
 *	  Adds up the postings that given documents have in a list.
 *
 * The list and the bits take turns: after a posting whose bit is not set, the
 * next bit is looked for, and the list sought there.  Neither is gone through
 * where the other has nothing.
 */
#include "postgres.h"

#include "index/cursor/cursor.h"
#include "miscadmin.h"

/*
 * The next bit is looked for among this many.  A list of few postings then
 * does not go through the bits of a whole segment.
 */
#define SKX_CURSOR_SUM_BITS		4096

uint32
skx_cursor_sum(SkxCursor *c, const uint8 *bits, uint32 ndocs,
			   SkxCursorSum *sum)
{
	uint32		doc = skx_cursor_seek(c, 0);
	uint32		df = 0;

	while (doc != SKX_NO_DOC && doc < ndocs)
	{
		uint32		next = doc + 1;

		CHECK_FOR_INTERRUPTS();
		if (!skx_bitset_bytes_test(bits, doc))
			next = skx_bitset_bytes_next(bits,
										 Min(ndocs - next,
											 SKX_CURSOR_SUM_BITS) + next,
										 next);
		else
		{
			df++;
			if (sum != NULL)
			{
				uint32		tf = skx_cursor_tfs(c)[c->i];

				sum->npositions += tf;
				sum->length += Max(tf, 1);
			}
		}
		doc = skx_cursor_seek(c, next);
	}
	return df;
}
