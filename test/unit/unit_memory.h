/*
 * unit_memory.h
 *	  Stands in for memory contexts, and for errors that are raised in one step
 *	  of a test and end it.
 *
 * Included once, by a test of a part of the server.  Each chunk is one of
 * malloc, so that a sanitizer finds its ends.
 */
#ifndef SKX_TEST_UNIT_MEMORY_H
#define SKX_TEST_UNIT_MEMORY_H

#include <setjmp.h>

#include "lib/ilist.h"
#include "utils/memutils.h"

/* No variable changes between a call and what it raises. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wclobbered"
#endif

/* ---- memory contexts ---- */

typedef struct UnitContext
{
	dlist_node	node;			/* in `children` of its parent */
	dlist_head	children;
	dlist_head	chunks;
	MemoryContextCallback *callbacks;
} UnitContext;

/* What precedes a chunk. */
typedef struct UnitChunk
{
	dlist_node	node;
	Size		size;
	Size		spare;			/* so that chunks are aligned to 16 bytes */
} UnitChunk;

MemoryContext CurrentMemoryContext;

static inline MemoryContext
unit_context(MemoryContext parent)
{
	UnitContext *context = malloc(sizeof(UnitContext));

	dlist_init(&context->children);
	dlist_init(&context->chunks);
	context->callbacks = NULL;
	if (parent != NULL)
		dlist_push_head(&((UnitContext *) parent)->children, &context->node);
	else
		context->node.next = NULL;
	return (MemoryContext) context;
}

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	UnitChunk  *chunk = malloc(sizeof(UnitChunk) + size);

	chunk->size = size;
	dlist_push_head(&((UnitContext *) context)->chunks, &chunk->node);
	return chunk + 1;
}

void *
MemoryContextAllocHuge(MemoryContext context, Size size)
{
	return MemoryContextAlloc(context, size);
}

void *
palloc(Size size)
{
	return MemoryContextAlloc(CurrentMemoryContext, size);
}

void *
palloc0(Size size)
{
	return memset(palloc(size), 0, size);
}

void *
palloc_extended(Size size, int flags)
{
	return palloc(size);
}

void
pfree(void *pointer)
{
	UnitChunk  *chunk = (UnitChunk *) pointer - 1;

	dlist_delete(&chunk->node);
	free(chunk);
}

void *
repalloc(void *pointer, Size size)
{
	UnitChunk  *old = (UnitChunk *) pointer - 1;
	UnitChunk  *chunk = malloc(sizeof(UnitChunk) + size);

	chunk->size = size;
	dlist_insert_after(&old->node, &chunk->node);
	memcpy(chunk + 1, pointer, Min(size, old->size));
	pfree(pointer);
	return chunk + 1;
}

void *
repalloc_huge(void *pointer, Size size)
{
	return repalloc(pointer, size);
}

MemoryContext
AllocSetContextCreateInternal(MemoryContext parent, const char *name,
							  Size least, Size first, Size most)
{
	return unit_context(parent);
}

MemoryContext
GenerationContextCreate(MemoryContext parent, const char *name, Size least,
						Size first, Size most)
{
	return unit_context(parent);
}

void
MemoryContextRegisterResetCallback(MemoryContext context,
								   MemoryContextCallback *callback)
{
	callback->next = ((UnitContext *) context)->callbacks;
	((UnitContext *) context)->callbacks = callback;
}

void
MemoryContextDelete(MemoryContext which)
{
	UnitContext *context = (UnitContext *) which;
	MemoryContextCallback *callback;

	while (!dlist_is_empty(&context->children))
		MemoryContextDelete((MemoryContext)
							dlist_head_element(UnitContext, node,
											   &context->children));
	for (callback = context->callbacks; callback != NULL;
		 callback = callback->next)
		callback->func(callback->arg);
	while (!dlist_is_empty(&context->chunks))
		pfree(dlist_head_element(UnitChunk, node, &context->chunks) + 1);
	if (context->node.next != NULL)
		dlist_delete(&context->node);
	free(context);
}

/* ---- errors ---- */

sigjmp_buf *PG_exception_stack;
ErrorContextCallback *error_context_stack;

static int	unit_error_code;
static char unit_error_text[256];

bool
errstart(int elevel, const char *domain)
{
	unit_error_code = ERRCODE_INTERNAL_ERROR;
	return elevel >= ERROR;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return errstart(elevel, domain);
}

int
errcode(int code)
{
	unit_error_code = code;
	return 0;
}

int
errmsg(const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vsnprintf(unit_error_text, sizeof(unit_error_text), format, args);
	va_end(args);
	return 0;
}

int
errmsg_internal(const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vsnprintf(unit_error_text, sizeof(unit_error_text), format, args);
	va_end(args);
	return 0;
}

int
errdetail(const char *format,...)
{
	return 0;
}

int
errhint(const char *format,...)
{
	return 0;
}

void
pg_re_throw(void)
{
	if (PG_exception_stack == NULL)
	{
		fprintf(stderr, "no step has raised: %s\n", unit_error_text);
		abort();
	}
	siglongjmp(*PG_exception_stack, 1);
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	pg_re_throw();
}

#endif							/* SKX_TEST_UNIT_MEMORY_H */
