/*
 * edit_fold.c
 *	  Letters without their accents.
 *
 * A table tells it of Latin, Greek and Cyrillic letters.  Marks that combine
 * with the letter before them are told by their blocks.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/edit/edit.h"
#include "format/edit/edit_fold_marks.h"
#include "format/edit/edit_fold_table.h"

uint32
skx_edit_fold(uint32 c)
{
	int			i;

	if (c < SKX_EDIT_FOLDED_MIN)
		return c;
	if (c < SKX_FOLD_00C0_END)
		return skx_fold_00C0[c - 0x00C0];
	if (c >= 0x1E00 && c < SKX_FOLD_1E00_END)
		return skx_fold_1E00[c - 0x1E00];
	for (i = 0; i < lengthof(skx_fold_marks); i++)
		if (c >= skx_fold_marks[i].first && c < skx_fold_marks[i].end)
			return 0;
	return c;
}
