/*
 * edit_rows.c
 *	  Computes the table of distances, a row for each character.
 *
 * Cell b of row i is the distance of the other word's i first characters from
 * the first i + b - max characters of the word.  A row has a bit for each of
 * its cells, so all of them are computed together, once for each number of
 * edits.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/edit/edit.h"

/*
 * Characters before and behind the word that are compared, too.  No cell is
 * there.
 */
#define SKX_EDIT_AROUND	(2 * SKX_EDIT_MAX + 1)

size_t
skx_edit_size(int len, int max)
{
	return sizeof(uint32) * ((size_t) len + 2 * SKX_EDIT_AROUND) +
		((size_t) len + max + 1) * sizeof(SkxEditRow);
}

/* Returns the bits of the cells that a row has: of 0 to len characters. */
static unsigned
skx_edit_cells(const SkxEdit *edit, int depth)
{
	int			last = 2 * edit->max;
	unsigned	cells = (2U << last) - 1;

	if (depth < edit->max)
		cells &= cells << (edit->max - depth);
	if (edit->len + edit->max - depth < last)
		cells &= (2U << (edit->len + edit->max - depth)) - 1;
	return cells;
}

void
skx_edit_begin(SkxEdit *edit, const uint32 *word, int len, int max,
			   void *memory)
{
	uint32	   *around = memory;
	SkxEditRow *row;
	int			i;

	memset(around, 0, sizeof(uint32) * ((size_t) len + 2 * SKX_EDIT_AROUND));
	memcpy(around + SKX_EDIT_AROUND, word, sizeof(uint32) * (size_t) len);
	edit->word = around + SKX_EDIT_AROUND;
	edit->len = len;
	edit->max = max;
	edit->max_depth = len + max;
	edit->rows = (SkxEditRow *) (edit->word + len + SKX_EDIT_AROUND);
	for (i = 0; i <= edit->max_depth; i++)
		edit->rows[i].cells = (uint8) skx_edit_cells(edit, i);
	row = &edit->rows[0];
	row->equal = 0;
	for (i = 0; i <= max; i++)
		row->within[i] = (uint8) (row->cells & ((2U << (max + i)) - 1));
	row->prefix = (uint8) skx_edit_distance(edit, 0);
}

/*
 * Returns the bits of the characters of the word that the last one of a row
 * equals, as in SkxEditRow.
 */
static inline unsigned
skx_edit_equal(const SkxEdit *edit, int depth, uint32 c)
{
	const uint32 *word = edit->word + depth - edit->max - 2;

	StaticAssertStmt(SKX_EDIT_BAND + 2 == 7, "characters beside a row");
	return (word[0] == c) | (word[1] == c) << 1 | (word[2] == c) << 2 |
		(word[3] == c) << 3 | (word[4] == c) << 4 | (word[5] == c) << 5 |
		(word[6] == c) << 6;
}

/*
 * Of the row before, the cell for as many characters of the word is one
 * further right, and that for one character fewer is in the same place.  So is
 * the cell for two fewer, of the row before that.
 */
void
skx_edit_push(SkxEdit *edit, int depth, uint32 c)
{
	SkxEditRow *row = &edit->rows[depth + 1];
	const SkxEditRow *before = &edit->rows[depth];
	const SkxEditRow *earlier = depth > 0 ? before - 1 : before;
	unsigned	equal = skx_edit_equal(edit, depth + 1, c);
	unsigned	exchanged = equal & before->equal >> 2;
	unsigned	same = equal >> 1 & row->cells;
	unsigned	within = before->within[0] & same;
	int			distance;
	int			k;

	row->equal = (uint8) equal;
	row->within[0] = (uint8) within;
	for (k = 1; k <= SKX_EDIT_MAX; k++)
	{
		unsigned	fewer = before->within[k - 1];

		within = (before->within[k] & same) |
			((fewer | fewer >> 1 | within << 1 |
			  (earlier->within[k - 1] & exchanged)) & row->cells);
		row->within[k] = (uint8) within;
	}
	distance = skx_edit_distance(edit, depth + 1);
	row->prefix = (uint8) Min(before->prefix, distance);
}

/*
 * A cell below max allows for any character, as one to be replaced.  Of a row
 * without such cells, a cell of max only allows for the word's next character.
 * Two rows before, one below max allows for two to be exchanged.
 */
int
skx_edit_next_chars(const SkxEdit *edit, int depth, uint32 *next)
{
	const SkxEditRow *row = &edit->rows[depth];
	unsigned	goes_on = row->within[edit->max];
	unsigned	exchanged = 0;
	int			n = 0;
	int			b;

	if (edit->max > 0)
	{
		if (row->within[edit->max - 1] != 0)
			return SKX_EDIT_ANY_CHAR;
		if (depth > 0)
			exchanged = row[-1].within[edit->max - 1] & row->equal >> 2;
	}
	for (b = 0; (goes_on | exchanged) >> b != 0; b++)
	{
		int			at = depth + b - edit->max;

		if (at >= edit->len)
			break;
		if ((goes_on >> b & 1) != 0)
			next[n++] = edit->word[at];
		if ((exchanged >> b & 1) != 0)
			next[n++] = edit->word[at - 1];
	}
	return n;
}
