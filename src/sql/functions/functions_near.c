/*
 * functions_near.c
 *	  Arguments that say which terms are near a word.
 */
#include "postgres.h"

#include "format/edit/edit.h"
#include "sql/functions/functions_internal.h"
#include "utils/builtins.h"

/*
 * Characters that a word has at least for one edit and for two.  Shorter words
 * are near too many others.
 */
#define SKX_NEAR_ONE_EDIT	5
#define SKX_NEAR_TWO_EDITS	9

SkxTypos
skx_functions_typos_arg(FunctionCallInfo fcinfo, int argument)
{
	text	   *typos = DatumGetTextPP(skx_functions_required_arg(fcinfo,
																  argument,
																  "typos"));
	const char *name = VARDATA_ANY(typos);
	int			len = VARSIZE_ANY_EXHDR(typos);

	if (len == 4 && memcmp(name, "auto", 4) == 0)
		return SKX_TYPOS_AUTO;
	if (len != 1 || name[0] < '0' || name[0] > '0' + SKX_EDIT_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for typos: \"%s\"",
						text_to_cstring(typos)),
				 errhint("It is 'auto', or a number of edits: '0', '1' or '2'.")));
	return name[0] - '0';
}

/*
 * With two edits and a free first character a search would look at much more
 * of the dictionary.
 */
void
skx_functions_allow_typos(SkxNearWord *word, SkxTypos typos)
{
	if (typos != SKX_TYPOS_AUTO)
		word->edits = typos;
	else if (word->nchars >= SKX_NEAR_TWO_EDITS)
	{
		word->edits = 2;
		word->keeps_first = true;
	}
	else if (word->nchars >= SKX_NEAR_ONE_EDIT)
		word->edits = 1;
}
