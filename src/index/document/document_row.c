/*
 * document_row.c
 *	  Makes the document of a row: its text with the values of other columns.
 */
#include "postgres.h"

#include "index/column/column.h"
#include "index/document/document.h"
#include "support/compat/compat.h"

/* Returns the document of a row with a text that is NULL and no values. */
static TSVector
skx_document_null_text(void)
{
	TSVector	vector = palloc0(CALCDATASIZE(1, SKX_VALUE_HEAD_BYTES));

	SET_VARSIZE(vector, CALCDATASIZE(1, SKX_VALUE_HEAD_BYTES));
	vector->size = 1;
	ARRPTR(vector)->len = SKX_VALUE_HEAD_BYTES;
	memcpy(STRPTR(vector), SKX_VALUE_NULL_TEXT, SKX_VALUE_HEAD_BYTES);
	return vector;
}

static Size
skx_document_text_bytes(TSVector vector)
{
	return VARSIZE(vector) - CALCDATASIZE(vector->size, 0);
}

/*
 * Copies n entries of `from`, from number `first` on, to `to`, from number
 * `at` on.  The offsets of their lexemes are increased by `shift`.
 */
static void
skx_document_copy_entries(TSVector to, int at, TSVector from, int first, int n,
						  uint32 shift)
{
	int			i;

	for (i = 0; i < n; i++)
	{
		ARRPTR(to)[at + i] = ARRPTR(from)[first + i];
		ARRPTR(to)[at + i].pos += shift;
	}
}

/*
 * Positions are at even offsets of both parts, so the second part begins at an
 * aligned offset.
 */
TSVector
skx_document_join(TSVector values, TSVector text)
{
	TSVector	document;
	Size		shift;
	Size		nbytes;
	int			empty;
	int			size;

	if (text == NULL)
		text = skx_document_null_text();
	if (values == NULL)
		return text;
	shift = MAXALIGN(skx_document_text_bytes(values));
	nbytes = shift + skx_document_text_bytes(text);
	if (nbytes > MAXSTRPOS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a row is too long for a skipidx index"),
				 errdetail("The lexemes of its text and the values of its other columns take %zu bytes; %d are possible.",
						   nbytes, MAXSTRPOS)));
	empty = skx_column_values_start(text);
	size = values->size + text->size;
	document = palloc0(CALCDATASIZE(size, nbytes));
	SET_VARSIZE(document, CALCDATASIZE(size, nbytes));
	document->size = size;
	/* the lexeme of a text that is NULL comes before those of values, too */
	if (skx_column_is_null(text))
		empty = 1;
	skx_document_copy_entries(document, 0, text, 0, empty, shift);
	skx_document_copy_entries(document, empty, values, 0, values->size, 0);
	skx_document_copy_entries(document, empty + values->size, text, empty,
							  text->size - empty, shift);
	memcpy(STRPTR(document), STRPTR(values), skx_document_text_bytes(values));
	memcpy(STRPTR(document) + shift, STRPTR(text),
		   skx_document_text_bytes(text));
	return document;
}

TSVector
skx_document_make(const SkxColumns *columns, const Datum *values,
				  const bool *isnull, const ItemPointerData *tid)
{
	TSVector	others = skx_column_values(columns, values, isnull);
	TSVector	text = skx_document_datum(values[0], isnull[0], tid);
	TSVector	document = skx_document_join(others, text);

	if (others != NULL)
		pfree(others);
	if (document != text)
		skx_document_free(text, values[0]);
	return document;
}

void
skx_document_release(TSVector document, const Datum *values,
					 const bool *isnull)
{
	if (isnull[0] || TSVectorGetDatum(document) != values[0])
		pfree(document);
}

TSVector
skx_document_without_values(TSVector document)
{
	int			at = skx_column_values_start(document);
	int			n = skx_column_count_values(document);
	Size		nbytes = skx_document_text_bytes(document);
	TSVector	text;

	if (n == 0)
		return document;
	text = palloc0(CALCDATASIZE(document->size - n, nbytes));
	SET_VARSIZE(text, CALCDATASIZE(document->size - n, nbytes));
	text->size = document->size - n;
	skx_document_copy_entries(text, 0, document, 0, at, 0);
	skx_document_copy_entries(text, at, document, at + n, text->size - at, 0);
	memcpy(STRPTR(text), STRPTR(document), nbytes);
	return text;
}
