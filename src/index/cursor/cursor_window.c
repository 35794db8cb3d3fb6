/*
 * cursor_window.c
 *	  Reads the documents of a list in a window: sets their bits, or counts
 *	  those whose bits are set.
 *
 * Counting takes half the time of setting bits.  It only reads the bits that
 * other lists have set, so that no posting waits for the store of another.
 */
#include "postgres.h"

#include "index/cursor/cursor_internal.h"
#include "miscadmin.h"
#include "support/bitset/bitset.h"

/*
 * A sub-block that spans more than 1/SKX_FILL_WIDE_FRACTION of a window is
 * likely to have documents in several windows.
 */
#define SKX_FILL_WIDE_FRACTION		4

/*
 * Returns the number of the first posting of the decoded sub-block, from the
 * current one on, that is not before the window; c->n if there is none.
 */
static int
skx_cursor_window_first(const SkxCursor *c, uint32 window)
{
	int			i = c->i;

	while (i < c->n && c->docs[i] < window)
		i++;
	return i;
}

/* Makes posting i the current one: later windows begin after those before. */
static void
skx_cursor_window_set_posting(SkxCursor *c, int i)
{
	c->i = Min(i, c->n - 1);
}

static void
skx_cursor_fill_decoded(SkxCursor *c, uint32 window, uint64 *bits,
						uint32 ndocs)
{
	const uint32 *docs = c->docs;
	int			n = c->n;
	int			i = skx_cursor_window_first(c, window);

	if (c->labels == 0)
	{
		for (; i < n && docs[i] - window < ndocs; i++)
			skx_bitset_set(bits, docs[i] - window);
	}
	else
	{
		for (; i < n && docs[i] - window < ndocs; i++)
			if (skx_cursor_label_matches(c, i))
				skx_bitset_set(bits, docs[i] - window);
	}
	skx_cursor_window_set_posting(c, i);
}

static uint64
skx_cursor_count_decoded(SkxCursor *c, uint32 window, const uint64 *bits,
						 uint32 ndocs)
{
	const uint32 *docs = c->docs;
	int			n = c->n;
	int			i = skx_cursor_window_first(c, window);
	uint64		found = 0;

	for (; i < n && docs[i] - window < ndocs; i++)
		found += skx_bitset_test(bits, docs[i] - window);
	skx_cursor_window_set_posting(c, i);
	return found;
}

/*
 * Moves to the next sub-block that may have documents in the window, and
 * returns false if there is none.  *target is the first document to read:
 * `window` at the first call, then updated here.
 */
static bool
skx_cursor_window_advance(SkxCursor *c, uint32 *target, uint32 window,
						  uint32 ndocs)
{
	if (*target >= window + ndocs || !skx_cursor_advance(c, *target) ||
		skx_cursor_list(c)->last_before + 1 >= window + ndocs)
		return false;
	CHECK_FOR_INTERRUPTS();
	*target = c->end;
	return true;
}

void
skx_cursor_fill_window(SkxCursor *c, uint32 window, uint64 *bits, int nwords)
{
	SkxCursorList *l = skx_cursor_list(c);
	uint32		ndocs = nwords * SKX_BITSET_BITS;
	uint32		target = window;

	while (skx_cursor_window_advance(c, &target, window, ndocs))
	{
		SkxSkiplistCursor *s = &l->nodes;

		/* later windows use the decoded documents of a wide sub-block, too */
		if (c->docs == NULL &&
			(c->labels != 0 ||
			 c->end - (l->last_before + 1) > ndocs / SKX_FILL_WIDE_FRACTION))
			skx_cursor_decode(c);
		if (c->docs != NULL)
			skx_cursor_fill_decoded(c, window, bits, ndocs);
		else
		{
			skx_skiplist_pin(s);
			if (!skx_codec_subblock_fill_window(s->body, s->end, s->n,
												s->base_doc, window, bits,
												nwords))
				skx_cursor_damaged(l, "sub-block does not decode");
			skx_cursor_work.window_fills++;
		}
	}
	skx_cursor_unpin_if_crowded(c);
}

uint64
skx_cursor_count_window(SkxCursor *c, uint32 window, const uint64 *bits,
						int nwords)
{
	uint32		ndocs = nwords * SKX_BITSET_BITS;
	uint32		target = window;
	uint64		found = 0;

	Assert(c->labels == 0);
	while (skx_cursor_window_advance(c, &target, window, ndocs))
	{
		if (c->docs == NULL)
			skx_cursor_decode(c);
		found += skx_cursor_count_decoded(c, window, bits, ndocs);
	}
	skx_cursor_unpin_if_crowded(c);
	return found;
}
