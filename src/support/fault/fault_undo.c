/*
 * fault_undo.c
 *	  Tells a library that simulates power losses of writes by io_uring.
 *
 * Such a library is preloaded into the server.  It replaces the C library's
 * functions that write and sync, and saves what each write overwrites.  The
 * kernel makes writes of io_uring itself, without these functions.  So the two
 * functions of the library that begin and end a write are looked up once, by
 * name, and called for these writes.
 */
#include "postgres.h"

#include <dlfcn.h>

#include "support/fault/fault.h"

typedef uint64 (*SkxFaultUndoBegin) (int fd, off_t offset, size_t bytes);
typedef void (*SkxFaultUndoEnd) (uint64 number);

bool		skx_fault_undo_armed = false;
static SkxFaultUndoBegin skx_fault_undo_begin;
static SkxFaultUndoEnd skx_fault_undo_end;

uint64
skx_fault_undo_before(int fd, off_t offset, size_t bytes)
{
	return skx_fault_undo_begin(fd, offset, bytes);
}

void
skx_fault_undo_after(uint64 number)
{
	skx_fault_undo_end(number);
}

void
skx_fault_undo_init(void)
{
	skx_fault_undo_begin = (SkxFaultUndoBegin) dlsym(RTLD_DEFAULT,
													 "skx_power_begin");
	skx_fault_undo_end = (SkxFaultUndoEnd) dlsym(RTLD_DEFAULT,
												 "skx_power_end");
	skx_fault_undo_armed = skx_fault_undo_begin != NULL &&
		skx_fault_undo_end != NULL;
}
