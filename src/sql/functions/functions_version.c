/*
 * functions_version.c
 *	  SQL functions that tell the release of the library.
 */
#include "postgres.h"

#include "fmgr.h"
#include "sql/am/am.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(skipidx_version);
PG_FUNCTION_INFO_V1(skipidx_requires);

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

	if (!skx_am_parse_release(given, &needed))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is no release of skipidx", given)));
	if (!skx_am_parse_release(SKX_RELEASE, &library))
		elog(ERROR, "release \"%s\" of the library cannot be read",
			 SKX_RELEASE);
	if (skx_am_compare_releases(&library, &needed) < 0)
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
