/*
 * skipidx_misuse.c
 *	  A library for tests, with a function that misuses memory, so that a server
 *	  whose sanitizers see nothing is told from code that does nothing wrong.
 *
 * CREATE FUNCTION skipidx_misuse(text) RETURNS int AS '...' LANGUAGE c: does
 * what the kind says, and returns 1 if it lives on; an error for another kind.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(skipidx_misuse);

#define SKX_MISUSE_SIZE	5

static volatile char skx_misuse_sink;

/* A context of the kind that a name begins with */
static MemoryContext
skx_misuse_context(const char *kind)
{
	if (strncmp(kind, "slab", 4) == 0)
		return SlabContextCreate(CurrentMemoryContext, "misuse",
								 SLAB_DEFAULT_BLOCK_SIZE, SKX_MISUSE_SIZE);
	if (strncmp(kind, "generation", 10) == 0)
		return GenerationContextCreate(CurrentMemoryContext, "misuse",
									   ALLOCSET_DEFAULT_SIZES);
	return AllocSetContextCreate(CurrentMemoryContext, "misuse",
								 ALLOCSET_DEFAULT_SIZES);
}

/* Looks where a chunk is no more, or not. */
static bool
skx_misuse_chunk(const char *what, MemoryContext context, char *chunk)
{
	volatile char *seen = chunk;

	if (strcmp(what, "behind") == 0)
		skx_misuse_sink = seen[SKX_MISUSE_SIZE];
	else if (strcmp(what, "before") == 0)
		skx_misuse_sink = seen[-1];
	else if (strcmp(what, "freed") == 0)
	{
		pfree(chunk);
		skx_misuse_sink = seen[0];
	}
	else if (strcmp(what, "twice") == 0)
	{
		pfree(chunk);
		pfree((char *) seen);
	}
	else if (strcmp(what, "moved") == 0)
	{
		skx_misuse_sink = *(char *) repalloc(chunk, SKX_MISUSE_SIZE - 1);
		skx_misuse_sink = seen[0];
	}
	else if (strcmp(what, "shrunk") == 0)
	{
		seen = repalloc(chunk, SKX_MISUSE_SIZE - 1);
		skx_misuse_sink = seen[SKX_MISUSE_SIZE - 1];
	}
	else if (strcmp(what, "reset") == 0)
	{
		MemoryContextReset(context);
		skx_misuse_sink = seen[0];
	}
	else if (strcmp(what, "deleted") == 0)
	{
		MemoryContextDelete(context);
		skx_misuse_sink = seen[0];
	}
	else
		return false;
	return true;
}

Datum
skipidx_misuse(PG_FUNCTION_ARGS)
{
	char	   *kind = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *what = strchr(kind, ' ');
	volatile int far = 40;
	int		   *volatile nothing = NULL;
	MemoryContext context;

	if (strcmp(kind, "shift") == 0)
		skx_misuse_sink = (1 << far) != 0;
	else if (strcmp(kind, "nothing") == 0)
		nothing = &nothing[far];
	else if (strcmp(kind, "fine") != 0)
	{
		context = skx_misuse_context(kind);
		if (what == NULL ||
			!skx_misuse_chunk(what + 1, context,
							  MemoryContextAlloc(context, SKX_MISUSE_SIZE)))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("no such misuse: %s", kind)));
	}
	PG_RETURN_INT32(1);
}
