/*
 * topk_memory.c
 *	  Memory contexts that one search leaves to the next.
 *
 * A search by a few words takes some 100 kB and frees them a moment later.
 * The C library returns so much to the system, which then fills pages with
 * zeros for the next search.  In a search of 25 small segments that took a
 * tenth of the time.  So the first block of each of the two contexts of a
 * search stays with the session.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"
#include "utils/memutils.h"

/* Sizes of the first blocks, which are enough for most searches. */
#define SKX_TOPK_SEARCH_BYTES	(64 * 1024)
#define SKX_TOPK_PASS_BYTES		(64 * 1024)

/*
 * Contexts of the last search that has ended.  NULL if there was none, or if a
 * search uses them.
 */
static MemoryContext skx_topk_spare_search;
static MemoryContext skx_topk_spare_pass;

/*
 * Until the search ends, the contexts belong to the current context.  If the
 * search fails, they are deleted with that.
 */
void
skx_topk_memory_take(MemoryContext *search, MemoryContext *pass)
{
	*search = skx_topk_spare_search;
	*pass = skx_topk_spare_pass;
	skx_topk_spare_search = skx_topk_spare_pass = NULL;
	if (*search == NULL)
	{
		*search = AllocSetContextCreate(CurrentMemoryContext, "skipidx search",
										SKX_TOPK_SEARCH_BYTES,
										SKX_TOPK_SEARCH_BYTES,
										ALLOCSET_DEFAULT_MAXSIZE);
		*pass = AllocSetContextCreate(*search, "skipidx segment search",
									  SKX_TOPK_PASS_BYTES,
									  SKX_TOPK_PASS_BYTES,
									  ALLOCSET_DEFAULT_MAXSIZE);
	}
	MemoryContextSetParent(*search, CurrentMemoryContext);
	MemoryContextSetParent(*pass, *search);
}

void
skx_topk_memory_give(MemoryContext search, MemoryContext pass)
{
	if (skx_topk_spare_search != NULL)
	{
		MemoryContextDelete(search);
		return;
	}
	MemoryContextReset(pass);
	MemoryContextSetParent(pass, TopMemoryContext);
	MemoryContextReset(search);
	MemoryContextSetParent(search, TopMemoryContext);
	skx_topk_spare_search = search;
	skx_topk_spare_pass = pass;
}
