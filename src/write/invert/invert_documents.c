/*
 * invert_documents.c
 *	  Makes runs of documents, within a given memory.
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "write/invert/invert.h"

/*
 * Most bytes of a run.  The inverter has addresses for 4 GB of postings, and a
 * run of half of that is long.
 */
#define SKX_INVERT_RUN_MAX	((Size) 2 * 1024 * 1024 * 1024)

struct SkxInvertDocuments
{
	MemoryContext context;
	SkxInverter *inv;
	SkxRuns    *runs;
	uint32		in_memory;		/* documents in the inverter */
};

SkxInvertDocuments *
skx_invert_documents_begin(Size memory, SkxRuns *runs)
{
	SkxInvertDocuments *d = palloc0(sizeof(SkxInvertDocuments));
	MemoryContext old;

	d->context = AllocSetContextCreate(CurrentMemoryContext,
									   "skipidx inverter",
									   ALLOCSET_DEFAULT_SIZES);
	d->runs = runs;
	old = MemoryContextSwitchTo(d->context);
	d->inv = skx_invert_memory_create(memory);
	MemoryContextSwitchTo(old);
	return d;
}

void
skx_invert_documents_spill(SkxInvertDocuments *d)
{
	if (d->in_memory == 0)
		return;
	skx_invert_memory_sort(d->inv);
	skx_invert_runs_spill(d->runs, d->inv);
	skx_invert_memory_reset(d->inv);
	d->in_memory = 0;
}

uint64
skx_invert_documents_add(SkxInvertDocuments *d, uint32 doc, TSVector value,
						 Size room)
{
	uint64		length;
	Size		used;

	if (d->in_memory > 0 && skx_invert_memory_document_bytes(d->inv, value) >
		Min(room, SKX_INVERT_RUN_MAX))
		skx_invert_documents_spill(d);
	d->in_memory++;
	length = skx_invert_memory_add(d->inv, doc, value);
	used = skx_invert_memory_used(d->inv);
	if (used >= room || used >= SKX_INVERT_BYTES_MAX)
		skx_invert_documents_spill(d);
	return length;
}

uint64
skx_invert_documents_bytes(const SkxInvertDocuments *d)
{
	return d->runs->nbytes + skx_invert_memory_used(d->inv);
}

SkxInverter *
skx_invert_documents_sort(SkxInvertDocuments *d)
{
	skx_invert_memory_sort(d->inv);
	return d->inv;
}

void
skx_invert_documents_end(SkxInvertDocuments *d)
{
	MemoryContextDelete(d->context);
	pfree(d);
}
