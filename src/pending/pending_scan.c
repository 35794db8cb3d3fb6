/*
 * pending_scan.c
 *	  All documents of the pending lists, for a query.
 *
 * A pending page carries no CRC, so a tsvector read from one is checked before
 * the offsets in it are followed.
 */
#include "postgres.h"

#include "compat/compat.h"
#include "format/format.h"
#include "intake/intake.h"
#include "pending/pending_internal.h"
#include "utils/memutils.h"

struct SkxPendingScan
{
	const SkxView *view;
	bool		want_dead;
	int			which;			/* stripe of `walk` */
	bool		on_page;		/* the walk has a page with records left */
	SkxPendingValue value;
	SkxPendingWalk walk;
};

SkxPendingScan *
skx_pending_begin(Relation rel, const SkxView *view, bool want_dead)
{
	SkxPendingScan *scan = palloc0(sizeof(SkxPendingScan));

	scan->view = view;
	scan->value.context = CurrentMemoryContext;
	scan->want_dead = want_dead;
	skx_pending_walk_begin(&scan->walk, rel, view, 0);
	return scan;
}

TSVector
skx_pending_value(SkxPendingValue *memory, SkxPendingWalk *walk,
				  SkxDiskPendingDoc *doc)
{
	char	   *bytes = (char *) (doc + 1);
	uint32		nbytes = doc->nbytes;
	const char *wrong;
	bool		as_taken;

	if (doc->flags & SKX_PENDING_NULL)
		return NULL;
	if (doc->flags & SKX_PENDING_CHAIN)
	{
		SkxDiskPendingChain chain;

		memcpy(&chain, bytes, sizeof(chain));
		if (chain.nbytes <= SKX_PENDING_INLINE_MAX ||
			chain.nbytes > MaxAllocSize)
			skx_format_report(walk->rel, walk->block,
							  "a pending record has an impossible chain");
		if (chain.nbytes > memory->chain_size)
		{
			if (memory->chain != NULL)
				pfree(memory->chain);
			memory->chain = NULL;
			memory->chain = MemoryContextAlloc(memory->context,
											   chain.nbytes);
			memory->chain_size = chain.nbytes;
		}
		bytes = memory->chain;
		nbytes = chain.nbytes;
		skx_pending_chain_read(walk->rel, &walk->meta, &chain, walk->block,
							   bytes);
	}
	wrong = skx_intake_vector_wrong(bytes, nbytes, &as_taken);
	if (wrong == NULL && !as_taken)
		wrong = "has lexemes or positions that do not ascend";
	if (wrong != NULL)
		skx_format_report_detail(walk->rel, walk->block,
								 "a pending tsvector %s", wrong);
	return (TSVector) bytes;
}

/* Next record of any page and stripe; NULL when there is none. */
static SkxDiskPendingDoc *
skx_pending_next_record(SkxPendingScan *scan)
{
	for (;;)
	{
		SkxDiskPendingDoc *doc;

		if (scan->on_page &&
			(doc = skx_pending_walk_record(&scan->walk)) != NULL)
			return doc;
		scan->on_page = scan->which < scan->view->nstripes &&
			skx_pending_walk_page(&scan->walk);
		if (scan->on_page)
			continue;
		Assert(scan->which <= scan->view->nstripes);
		if (scan->which < scan->view->nstripes)
			scan->which++;
		if (scan->which == scan->view->nstripes)
			return NULL;
		skx_pending_walk_begin(&scan->walk, scan->walk.rel, scan->view,
							   scan->which);
	}
}

bool
skx_pending_next(SkxPendingScan *scan, SkxPendingDoc *doc)
{
	SkxDiskPendingDoc *record;

	do
	{
		record = skx_pending_next_record(scan);
		if (record == NULL)
			return false;
		doc->dead = (record->flags & SKX_PENDING_DEAD) != 0;
	} while (doc->dead && !scan->want_dead);
	doc->tid = record->tid;
	doc->sequence = scan->walk.sequence - 1;
	doc->value = skx_pending_value(&scan->value, &scan->walk, record);
	return true;
}

void
skx_pending_end(SkxPendingScan *scan)
{
	if (scan->value.chain != NULL)
		pfree(scan->value.chain);
	pfree(scan);
}
