/*
 * functions_kept.c
 *	  A scorer that the calls of an expression share, in fn_extra.
 */
#include "postgres.h"

#include "sql/functions/functions_internal.h"
#include "utils/memutils.h"

SkxKept *
skx_functions_kept(FmgrInfo *flinfo, int argument)
{
	SkxKept    *kept = flinfo->fn_extra;

	if (kept != NULL)
		return kept;
	kept = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(SkxKept));
	kept->context = AllocSetContextCreate(flinfo->fn_mcxt, "skipidx scorer",
										  ALLOCSET_SMALL_SIZES);
	kept->constant = skx_functions_is_constant(flinfo, argument);
	flinfo->fn_extra = kept;
	return kept;
}

bool
skx_functions_keeps(const SkxKept *kept, const void *value)
{
	return kept->scorer != NULL &&
		VARSIZE(kept->value) == VARSIZE(value) &&
		memcmp(kept->value, value, VARSIZE(value)) == 0;
}

MemoryContext
skx_functions_keep(SkxKept *kept, const void *value)
{
	MemoryContext old;

	kept->scorer = NULL;
	kept->ranking = NULL;
	MemoryContextReset(kept->context);
	old = MemoryContextSwitchTo(kept->context);
	kept->value = palloc(VARSIZE(value));
	memcpy(kept->value, value, VARSIZE(value));
	return old;
}
