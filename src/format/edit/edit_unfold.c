/*
 * edit_unfold.c
 *	  Finds the characters that fold to a letter (edit_fold.c).
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/edit/edit.h"
#include "format/edit/edit_fold_marks.h"
#include "format/edit/edit_unfold_table.h"

/* Returns the first pair that is not below (letter, c). */
static int
skx_edit_first_pair(uint32 letter, uint32 c)
{
	int			low = 0;
	int			high = SKX_FOLD_PAIRS;

	while (low < high)
	{
		int			mid = (low + high) / 2;
		const uint16 *pair = skx_fold_pairs[mid];

		if (pair[0] < letter || (pair[0] == letter && pair[1] < c))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint32
skx_edit_unfold(uint32 letter, uint32 above)
{
	uint32		least = letter > above ? letter : SKX_EDIT_NO_CHAR;
	int			at = skx_edit_first_pair(letter, above + 1);
	int			i;

	if (at < SKX_FOLD_PAIRS && skx_fold_pairs[at][0] == letter)
		least = Min(least, skx_fold_pairs[at][1]);
	for (i = 0; letter == 0 && i < lengthof(skx_fold_marks); i++)
		if (above + 1 < skx_fold_marks[i].end)
			least = Min(least, Max(above + 1, skx_fold_marks[i].first));
	return least;
}
