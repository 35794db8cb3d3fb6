/*
 * functions_document.c
 *	  skipidx_document(): the tsvector of a text, however long.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "parse/parse.h"
#include "support/compat/compat.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(skipidx_document);

/* Most bytes of a text that are read. */
#define SKX_DOCUMENT_BYTES_MAX		(16 * 1024 * 1024)

/* Characters are found in so many bytes between two tests for a cancel. */
#define SKX_DOCUMENT_CHECK_BYTES	(64 * 1024)

/*
 * Returns how many of `most` bytes are read of a text that is longer: up to
 * its last blank, so that no word is cut; in a text without blanks, whole
 * characters.
 */
static int
skx_functions_cut_text(const char *bytes, int len, int most)
{
	int			n = most;

	while (n > 0 && !skx_parse_is_blank(bytes[n - 1]))
		n--;
	if (n > 0)
		return n;
	for (;;)
	{
		int			some = pg_mbcliplen(bytes + n, len - n,
										Min(SKX_DOCUMENT_CHECK_BYTES,
											most - n));

		CHECK_FOR_INTERRUPTS();
		if (some == 0)
			return n;
		n += some;
	}
}

/*
 * Of a text that is too long only the beginning is read, and some bytes more,
 * so that its last character is whole.
 */
Datum
skipidx_document(PG_FUNCTION_ARGS)
{
	Datum		value = PG_GETARG_DATUM(1);
	bool		is_cut = toast_raw_datum_size(value) - VARHDRSZ >
		SKX_DOCUMENT_BYTES_MAX;
	text	   *content = is_cut ?
		DatumGetTextPSlice(value, 0, SKX_DOCUMENT_BYTES_MAX +
						   MAX_MULTIBYTE_CHAR_LEN) :
		DatumGetTextPP(value);
	int			len = VARSIZE_ANY_EXHDR(content);
	TSVector	vector;

	if (is_cut)
		len = skx_functions_cut_text(VARDATA_ANY(content), len,
									 SKX_DOCUMENT_BYTES_MAX);
	vector = skx_parse_document(PG_GETARG_OID(0), VARDATA_ANY(content), len,
								is_cut);
	if (DatumGetPointer(value) != (Pointer) content)
		pfree(content);
	PG_RETURN_TSVECTOR(vector);
}
