/*
 * edit_rows.c
 *	  Computes the table of distances, a row for each character.
 *
 * Cell b of row i is the distance of the other word's i first characters from
 * the first i + b - max characters of the word.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/edit/edit.h"

size_t
skx_edit_size(int len, int max)
{
	size_t		depth = (size_t) len + max;

	return sizeof(uint32) * depth + (depth + 1) * (SKX_EDIT_BAND + 1);
}

static uint8 *
skx_edit_row(const SkxEdit *edit, int depth)
{
	return edit->rows + (size_t) depth * SKX_EDIT_BAND;
}

/* Returns a cell of a row; max + 1 for one that is not in the band. */
static int
skx_edit_cell(const SkxEdit *edit, int depth, int at)
{
	int			b = at - depth + edit->max;

	return b >= 0 && b <= 2 * edit->max ? skx_edit_row(edit, depth)[b] :
		edit->max + 1;
}

void
skx_edit_begin(SkxEdit *edit, const uint32 *word, int len, int max,
			   void *memory)
{
	int			b;

	edit->word = word;
	edit->len = len;
	edit->max = max;
	edit->max_depth = len + max;
	edit->chars = memory;
	edit->rows = (uint8 *) (edit->chars + edit->max_depth);
	edit->prefix = skx_edit_row(edit, edit->max_depth + 1);
	for (b = 0; b <= 2 * max; b++)
		edit->rows[b] = (uint8) (b < max ? max + 1 : b - max);
	edit->prefix[0] = (uint8) (len <= max ? len : max + 1);
}

/* Returns true if the last two characters are exchanged in the word. */
static inline bool
skx_edit_is_exchanged(const SkxEdit *edit, int depth, int at)
{
	return depth >= 2 && at >= 2 &&
		edit->chars[depth - 1] == edit->word[at - 2] &&
		edit->chars[depth - 2] == edit->word[at - 1];
}

/*
 * Of the row before, the cell for as many characters of the word is one
 * further right, and that for one character fewer is in the same place.  So is
 * the cell for two fewer, of the row before that.
 */
void
skx_edit_push(SkxEdit *edit, int depth, uint32 c)
{
	int			to = depth + 1;
	uint8	   *row = skx_edit_row(edit, to);
	const uint8 *before = skx_edit_row(edit, depth);
	int			last = 2 * edit->max;
	int			b;

	edit->chars[depth] = c;
	for (b = 0; b <= last; b++)
	{
		int			at = to + b - edit->max;
		int			least = edit->max + 1;

		if (at == 0)
			least = to;
		else if (at > 0 && at <= edit->len)
		{
			least = before[b] + (c != edit->word[at - 1]);
			if (b < last)
				least = Min(least, before[b + 1] + 1);
			if (b > 0)
				least = Min(least, row[b - 1] + 1);
			if (skx_edit_is_exchanged(edit, to, at))
				least = Min(least, skx_edit_row(edit, to - 2)[b] + 1);
		}
		row[b] = (uint8) Min(least, edit->max + 1);
	}
	edit->prefix[to] = (uint8) Min(edit->prefix[depth],
								   skx_edit_distance(edit, to));
}

/*
 * A row without a cell up to max has none behind it: by an exchange two rows
 * further a cell is at least that which a replacement gives in this row.
 */
bool
skx_edit_is_alive(const SkxEdit *edit, int depth)
{
	const uint8 *row = skx_edit_row(edit, depth);
	int			b;

	for (b = 0; b <= 2 * edit->max; b++)
		if (row[b] <= edit->max)
			return true;
	return false;
}

int
skx_edit_distance(const SkxEdit *edit, int depth)
{
	return skx_edit_cell(edit, depth, edit->len);
}

/*
 * A cell below max allows for any character, as one to be replaced.  Of a row
 * without such cells, a cell of max only allows for the word's next character.
 * Two rows before, one below max allows for two to be exchanged.
 */
int
skx_edit_next_chars(const SkxEdit *edit, int depth, uint32 *next)
{
	const uint8 *row = skx_edit_row(edit, depth);
	int			n = 0;
	int			b;

	for (b = 0; b <= 2 * edit->max; b++)
	{
		int			at = depth + b - edit->max;

		if (at < 0 || at > edit->len)
			continue;
		if (row[b] < edit->max)
			return SKX_EDIT_ANY_CHAR;
		if (at < edit->len && row[b] == edit->max)
			next[n++] = edit->word[at];
		if (depth > 0 && at > 0 && at < edit->len &&
			edit->chars[depth - 1] == edit->word[at] &&
			skx_edit_cell(edit, depth - 1, at - 1) < edit->max)
			next[n++] = edit->word[at - 1];
	}
	return n;
}
