/*
 * condition_value.c
 *	  Takes arrays of values apart, and finds values in documents.
 */
#include "postgres.h"

#include "read/condition/condition.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

int
skx_condition_elements(Datum argument, Datum **elements, bool **nulls)
{
	ArrayType  *array = DatumGetArrayTypeP(argument);
	int16		len;
	bool		byval;
	char		align;
	int			n;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &len, &byval, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), len, byval, align, elements,
					  nulls, &n);
	return n;
}

int
skx_condition_find_entry(TSVector document, const SkxLexeme *lexeme)
{
	const WordEntry *entries = ARRPTR(document);
	int			low = 0;
	int			high = document->size;

	while (low < high)
	{
		int			middle = (low + high) / 2;
		SkxLexeme	entry = {STRPTR(document) + entries[middle].pos,
		entries[middle].len};

		if (skx_column_compare_lexeme(&entry, lexeme) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
