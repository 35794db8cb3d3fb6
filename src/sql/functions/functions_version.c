/*
 * functions_version.c
 *	  SQL functions that tell the release of the library.
 *
 * A release is written as numbers with dots between them.  With letters behind
 * them it is one on the way to that release, and older.
 */
#include "postgres.h"

#include <ctype.h>

#include "fmgr.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(skipidx_version);
PG_FUNCTION_INFO_V1(skipidx_requires);

/* A release has three numbers at most. */
#define SKX_RELEASE_PARTS	3

typedef struct SkxRelease
{
	int			parts[SKX_RELEASE_PARTS];
	const char *suffix;			/* "": it is that release */
} SkxRelease;

/* Reads a release.  Returns false if the text is none. */
static bool
skx_functions_parse_release(const char *text, SkxRelease *release)
{
	int			i;

	memset(release, 0, sizeof(*release));
	for (i = 0; i < SKX_RELEASE_PARTS; i++)
	{
		int			digits = strspn(text, "0123456789");

		if (digits == 0 || digits > 6)
			return false;
		release->parts[i] = atoi(text);
		text += digits;
		if (*text != '.')
			break;
		text++;
	}
	release->suffix = text;
	while (isalnum((unsigned char) *text))
		text++;
	return i < SKX_RELEASE_PARTS && *text == '\0';
}

/* Returns less than 0 if a is older than b, more if it is newer. */
static int
skx_functions_compare_releases(const SkxRelease *a, const SkxRelease *b)
{
	int			i;

	for (i = 0; i < SKX_RELEASE_PARTS; i++)
		if (a->parts[i] != b->parts[i])
			return a->parts[i] < b->parts[i] ? -1 : 1;
	if (*a->suffix == '\0' || *b->suffix == '\0')
		return (*a->suffix == '\0') - (*b->suffix == '\0');
	return strcmp(a->suffix, b->suffix);
}

Datum
skipidx_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(SKX_RELEASE));
}

Datum
skipidx_requires(PG_FUNCTION_ARGS)
{
	char	   *given = text_to_cstring(PG_GETARG_TEXT_PP(0));
	SkxRelease	needed;
	SkxRelease	library;

	if (!skx_functions_parse_release(given, &needed))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is no release of skipidx", given)));
	if (!skx_functions_parse_release(SKX_RELEASE, &library))
		elog(ERROR, "release \"%s\" of the library cannot be read",
			 SKX_RELEASE);
	if (skx_functions_compare_releases(&library, &needed) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("these objects need the library of skipidx %s or later",
						given),
				 errdetail("The library that this session has loaded is that of %s.",
						   SKX_RELEASE),
				 errhint("Install skipidx %s, then connect again; restart the server if the library is in shared_preload_libraries.",
						 given)));
	PG_RETURN_VOID();
}
