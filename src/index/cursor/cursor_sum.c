/*
 * cursor_sum.c
 *	  Adds up the postings that given documents have in a list, or all lexemes
 *	  with a prefix.
 *
 * Of given documents, the list and the bits take turns: after a posting whose
 * bit is not set, the next bit is looked for, and the list sought there.
 * Neither is gone through where the other has nothing.
 */
#include "postgres.h"

#include "index/cursor/cursor_sum.h"
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

uint32
skx_cursor_add_tfs(SkxCursor *c, uint32 from, uint32 to, uint16 *tfs)
{
	uint32		doc = skx_cursor_seek(c, from);

	while (doc < to)
	{
		const uint16 *tf = skx_cursor_tfs(c);
		int			end = c->n;
		int			i;

		CHECK_FOR_INTERRUPTS();
		while (c->docs[end - 1] >= to)
			end--;
		for (i = c->i; i < end; i++)
		{
			uint16	   *sum = &tfs[c->docs[i] - from];

			*sum = (uint16) Min((uint32) *sum + Max(tf[i], 1), PG_UINT16_MAX);
		}
		if (end < c->n)
			return c->docs[end];
		doc = skx_cursor_seek(c, c->end);
	}
	return doc;
}

/* What skx_cursor_add_lexeme() adds, and to what. */
typedef struct SkxCursorPrefix
{
	SkxCursor  *cursor;
	uint32		from;
	uint32		to;
	uint16	   *tfs;
} SkxCursorPrefix;

static bool
skx_cursor_add_lexeme(const SkxTerm *term, const char *lexeme, int len,
					  void *arg)
{
	SkxCursorPrefix *p = arg;

	CHECK_FOR_INTERRUPTS();
	skx_cursor_begin_term(p->cursor, term);
	(void) skx_cursor_add_tfs(p->cursor, p->from, p->to, p->tfs);
	return true;
}

void
skx_cursor_add_prefix(SkxSegment *seg, const char *prefix, int len,
					  uint32 from, uint32 to, uint16 *tfs)
{
	SkxCursorPrefix p = {skx_cursor_create(seg, SKX_CURSOR_LEAD), from, to,
	tfs};

	skx_segment_visit_prefix(seg, prefix, len, true, NULL,
							 skx_cursor_add_lexeme, &p);
	skx_cursor_close(p.cursor);
}
