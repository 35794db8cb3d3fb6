/*
 * edit.h
 *	  The distance of one word from many others, which are given character by
 *	  character.
 *
 * The distance is that of optimal string alignment: the least number of
 * characters that are inserted, left out, replaced, or exchanged with their
 * neighbour, where no part of a word is changed twice.  It is only computed up
 * to a number of edits, so of each row of the usual table a band of cells is
 * kept.  Words that begin alike share the rows of their beginning.
 */
#ifndef SKX_EDIT_H
#define SKX_EDIT_H

/*
 * edit_fold.c : returns the letter, a Unicode code point, without its accents;
 * 0 for a mark that combines with the letter before it
 */
extern uint32 skx_edit_fold(uint32 c);

/* All characters below fold to themselves. */
#define SKX_EDIT_FOLDED_MIN	0x00C0

/* No character. */
#define SKX_EDIT_NO_CHAR	0xFFFFFFFF

/*
 * edit_unfold.c : returns the first character above `above` that folds to the
 * letter, or with letter 0 the first mark; SKX_EDIT_NO_CHAR if there is none.
 * `letter` is one that skx_edit_fold() leaves as it is.
 */
extern uint32 skx_edit_unfold(uint32 letter, uint32 above);

/* edit_rows.c : distances */

/* Most edits that can be asked for. */
#define SKX_EDIT_MAX	2

/* Cells of a row: the characters of the word that `max` edits can reach. */
#define SKX_EDIT_BAND	(2 * SKX_EDIT_MAX + 1)

/* A row of the table.  Bit b stands for cell b of the band. */
typedef struct SkxEditRow
{
	uint8		within[SKX_EDIT_MAX + 1];	/* of [k]: the cell is at most k;
											 * up to [max] */
	uint8		equal;			/* bit b + 1: the row's character is the last
								 * one of the word up to cell b */
	uint8		cells;			/* those of 0 to len characters */
	uint8		prefix;			/* least distance of the whole word so far */
} SkxEditRow;

typedef struct SkxEdit
{
	const uint32 *word;			/* characters, with others around them */
	int			len;
	int			max;			/* most edits, up to SKX_EDIT_MAX */
	int			max_depth;		/* len + max: no longer word is near */
	SkxEditRow *rows;			/* max_depth + 1 */
} SkxEdit;

/* Returns the bytes that skx_edit_begin() needs for a word. */
extern size_t skx_edit_size(int len, int max);

/*
 * Begins with a word of len characters.  `memory` has skx_edit_size() bytes,
 * aligned for uint32; the word is copied.
 */
extern void skx_edit_begin(SkxEdit *edit, const uint32 *word, int len,
						   int max, void *memory);

/*
 * Makes c the character of the other word after its `depth` first ones.
 * Characters that were added after these before are forgotten.  depth is below
 * edit->max_depth.
 */
extern void skx_edit_push(SkxEdit *edit, int depth, uint32 c);

/*
 * Returns true if another word that begins with the `depth` first characters
 * may be near.
 */
static inline bool
skx_edit_is_alive(const SkxEdit *edit, int depth)
{
	return edit->rows[depth].within[edit->max] != 0;
}

/* Most characters that skx_edit_next_chars() returns. */
#define SKX_EDIT_NEXT_CHARS	(2 * SKX_EDIT_BAND)

/* Result of skx_edit_next_chars(): a word may go on with any character. */
#define SKX_EDIT_ANY_CHAR	(-1)

/*
 * Finds which characters may come next if another word begins with the `depth`
 * first characters and is to be near.  Stores them in `next`, which has room
 * for SKX_EDIT_NEXT_CHARS: in no order, some perhaps twice.  Returns how many
 * they are, or SKX_EDIT_ANY_CHAR.  At edit->max_depth there are none.
 */
extern int	skx_edit_next_chars(const SkxEdit *edit, int depth, uint32 *next);

/*
 * Returns the distance of the `depth` first characters from the word, or
 * edit->max + 1 if it is more than edit->max.
 */
static inline int
skx_edit_distance(const SkxEdit *edit, int depth)
{
	const SkxEditRow *row = &edit->rows[depth];
	int			b = edit->len - depth + edit->max;
	int			k = 0;

	if (b > 2 * edit->max)
		return edit->max + 1;
	while (k <= edit->max && (row->within[k] >> b & 1) == 0)
		k++;
	return k;
}

/*
 * Returns the distance of the nearest of all beginnings of these characters.
 * It is that of a word which is still being typed.
 */
static inline int
skx_edit_prefix_distance(const SkxEdit *edit, int depth)
{
	return edit->rows[depth].prefix;
}

#endif							/* SKX_EDIT_H */
