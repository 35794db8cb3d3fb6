/*
 * column_value.h
 *	  Values of columns beside the text, as lexemes of a document.
 *
 * A document is a tsvector: the lexemes of the row's text, and one for each
 * value of the other columns of the index.  The lexemes of values begin with a
 * zero byte, with which no lexeme of a text begins:
 *
 *		0, number of the key column (from 1), kind, canonical form
 *
 * They have no positions, and do not count as length.  Every column beside the
 * text has at least one in every document, and so has a text that is NULL.
 */
#ifndef SKX_COLUMN_VALUE_H
#define SKX_COLUMN_VALUE_H

#include "tsearch/ts_type.h"

/*
 * Bytes of a value's lexeme before the canonical form, and most bytes of that.
 */
#define SKX_VALUE_HEAD_BYTES		3
#define SKX_VALUE_MAX		(MAXSTRLEN - SKX_VALUE_HEAD_BYTES)

/* The third byte of a value's lexeme. */
typedef enum SkxValueKind
{
	SKX_VALUE_NULL,				/* NULL; without canonical form */
	SKX_VALUE_PRESENT,			/* a value, or an element of an array */
	SKX_VALUE_EMPTY				/* an empty array; without canonical form */
} SkxValueKind;

/* First byte of the canonical form of a numeric. */
enum
{
	SKX_NUMERIC_MINUS_INFINITY,
	SKX_NUMERIC_NEGATIVE,
	SKX_NUMERIC_ZERO,
	SKX_NUMERIC_POSITIVE,
	SKX_NUMERIC_INFINITY,
	SKX_NUMERIC_NAN
};

/* Bytes of a lexeme, not terminated. */
typedef struct SkxLexeme
{
	const char *bytes;
	int			len;
} SkxLexeme;

/* Lexeme of a text that is NULL: kind SKX_VALUE_NULL of the first column. */
#define SKX_VALUE_NULL_TEXT	"\0\1\0"

/* Returns true if the lexeme is that of a value, not of the text. */
static inline bool
skx_column_is_value(const char *lexeme, int len)
{
	return len > 0 && lexeme[0] == '\0';
}

/*
 * Returns the index of the first entry that can be the lexeme of a value.
 * These entries are consecutive, before those of the text except for the empty
 * lexeme.
 */
static inline int
skx_column_values_start(TSVector document)
{
	return document->size > 0 && ARRPTR(document)[0].len == 0 ? 1 : 0;
}

/* Returns how many entries of the document are lexemes of values. */
static inline int
skx_column_count_values(TSVector document)
{
	const WordEntry *entries = ARRPTR(document);
	int			from = skx_column_values_start(document);
	int			i;

	for (i = from; i < document->size; i++)
		if (!skx_column_is_value(STRPTR(document) + entries[i].pos,
								 entries[i].len))
			break;
	return i - from;
}

/* Returns true if the text of the document's row is NULL. */
static inline bool
skx_column_is_null(TSVector document)
{
	const WordEntry *first = ARRPTR(document);

	return document->size > 0 && first->len == SKX_VALUE_HEAD_BYTES &&
		memcmp(STRPTR(document) + first->pos, SKX_VALUE_NULL_TEXT,
			   SKX_VALUE_HEAD_BYTES) == 0;
}

#endif							/* SKX_COLUMN_VALUE_H */
