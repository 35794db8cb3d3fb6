/*
 * edit_fold_marks.h
 *	  Blocks of characters that only combine with letters, beyond the tables.
 */
#ifndef SKX_EDIT_FOLD_MARKS_H
#define SKX_EDIT_FOLD_MARKS_H

static const struct
{
	uint32		first;
	uint32		end;
}			skx_fold_marks[] = {
	{0x1AB0, 0x1B00},
	{0x1DC0, 0x1E00},
	{0x20D0, 0x2100},
	{0xFE20, 0xFE30},
};

#endif							/* SKX_EDIT_FOLD_MARKS_H */
