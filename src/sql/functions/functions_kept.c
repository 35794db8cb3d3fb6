/*
 * functions_kept.c
 *	  A scorer or ranking that the calls of an expression share, in fn_extra.
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

/* Returns true if what is kept is by this value; something must be kept. */
static bool
skx_functions_is_by(const SkxKept *kept, const void *value)
{
	return VARSIZE(kept->value) == VARSIZE(value) &&
		memcmp(kept->value, value, VARSIZE(value)) == 0;
}

bool
skx_functions_keeps(const SkxKept *kept, const void *value)
{
	return kept->scorer != NULL && skx_functions_is_by(kept, value);
}

bool
skx_functions_keeps_ranking(const SkxKept *kept, const void *value)
{
	return kept->ranking != NULL && skx_functions_is_by(kept, value);
}

bytea *
skx_functions_kept_key(const void *first, const void *second)
{
	Size		n = VARSIZE(first);
	Size		more = VARSIZE(second);
	bytea	   *key = palloc(VARHDRSZ + n + more);

	SET_VARSIZE(key, VARHDRSZ + n + more);
	memcpy(VARDATA(key), first, n);
	memcpy(VARDATA(key) + n, second, more);
	return key;
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
