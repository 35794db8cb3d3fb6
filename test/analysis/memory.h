/*
 * memory.h
 *	  Included before each source that is analysed: tells gcc which functions
 *	  of the server give memory and which one takes it back.
 */
#include "postgres.h"

#define SKX_GIVES __attribute__((malloc(pfree, 1), returns_nonnull))

extern void pfree(void *pointer);
extern void *palloc(Size size) SKX_GIVES;
extern void *palloc0(Size size) SKX_GIVES;
extern void *palloc_extended(Size size, int flags) SKX_GIVES;
extern void *MemoryContextAlloc(MemoryContext context, Size size) SKX_GIVES;
extern void *MemoryContextAllocZero(MemoryContext context, Size size) SKX_GIVES;
extern void *MemoryContextAllocHuge(MemoryContext context, Size size) SKX_GIVES;
extern void *MemoryContextAllocExtended(MemoryContext context, Size size,
										int flags) SKX_GIVES;
