/*
 * functions_version.c
 *	  SQL functions that tell the release of the library.
 */
#include "postgres.h"

#include "fmgr.h"
#include "format/disk/disk_format.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(skipidx_version);
PG_FUNCTION_INFO_V1(skipidx_requires);

Datum
skipidx_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(SKX_RELEASE_NAME));
}

Datum
skipidx_requires(PG_FUNCTION_ARGS)
{
	char	   *given = text_to_cstring(PG_GETARG_TEXT_PP(0));
	uint32		needed = skx_disk_release_parse(given);

	if (needed == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is no release of skipidx", given)));
	if (needed > skx_disk_release_parse(SKX_RELEASE_NAME))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("these objects need the library of skipidx %s or later",
						given),
				 errdetail("The library that this session has loaded is that of %s.",
						   SKX_RELEASE_NAME),
				 errhint("Install skipidx %s, then connect again; restart the server if the library is in shared_preload_libraries.",
						 given)));
	PG_RETURN_VOID();
}
