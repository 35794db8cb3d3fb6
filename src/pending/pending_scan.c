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
#include "intake/intake_value.h"
#include "pending/pending_internal.h"
#include "utils/memutils.h"

struct SkxPendingScan
{
	Relation	rel;
	const SkxView *view;
	const uint64 *last;			/* as for skx_pending_begin() */
	SkxPendingWanted wanted;	/* NULL: all */
	void	   *wanted_arg;
	int			which;			/* stripe of `walk`; -1: not begun */
	bool		on_page;		/* the walk has a page with records left */
	SkxPendingValue value;
	SkxPendingWalk walk;
};

SkxPendingScan *
skx_pending_begin(Relation rel, const SkxView *view, const uint64 *last)
{
	SkxPendingScan *scan = palloc(sizeof(SkxPendingScan));

	scan->rel = rel;
	scan->view = view;
	scan->last = last;
	scan->wanted = NULL;
	scan->which = -1;
	scan->on_page = false;
	memset(&scan->value, 0, sizeof(scan->value));
	scan->value.context = CurrentMemoryContext;
	return scan;
}

void
skx_pending_only(SkxPendingScan *scan, SkxPendingWanted wanted, void *arg)
{
	scan->wanted = wanted;
	scan->wanted_arg = arg;
}

/* Reports what is wrong with a document of the walk's page. */
static void
skx_pending_value_check(SkxPendingWalk *walk, const SkxDiskPendingDoc *doc,
						const char *bytes, uint32 nbytes)
{
	const char *wrong;
	bool		as_taken;

	if (!walk->asked)
		walk->sound = skx_pending_sound(walk);
	walk->asked = true;
	if (walk->sound && nbytes > 0 && (doc->flags & SKX_PENDING_CHAIN) == 0)
		return;
	wrong = skx_intake_vector_wrong(bytes, nbytes, &as_taken);
	if (wrong == NULL && !as_taken)
		wrong = "has lexemes or positions that do not ascend";
	if (wrong != NULL)
		skx_format_report_detail(walk->rel, walk->block,
								 "a pending tsvector %s", wrong);
}

TSVector
skx_pending_value(SkxPendingValue *memory, SkxPendingWalk *walk,
				  SkxDiskPendingDoc *doc)
{
	char	   *bytes = (char *) (doc + 1);
	uint32		nbytes = doc->nbytes;

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
	skx_pending_value_check(walk, doc, bytes, nbytes);
	if (skx_intake_is_null((TSVector) bytes) !=
		((doc->flags & SKX_PENDING_NULL) != 0))
		skx_format_report(walk->rel, walk->block,
						  "a pending document is NULL and is not");
	return (TSVector) bytes;
}

/* To the next stripe of which anything is asked for; false at the end. */
static bool
skx_pending_next_stripe(SkxPendingScan *scan)
{
	const SkxView *view = scan->view;
	const uint64 *last = scan->last;

	do
	{
		if (scan->which + 1 >= view->nstripes)
			return false;
		scan->which++;
	} while (last != NULL &&
			 last[scan->which] <= view->stripes[scan->which].flushed_through);
	skx_pending_walk_begin(&scan->walk, scan->rel, view, scan->which);
	if (last != NULL)
		scan->walk.limit = Min(scan->walk.limit, last[scan->which] + 1);
	return true;
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
		scan->on_page = scan->which >= 0 && skx_pending_walk_page(&scan->walk);
		if (!scan->on_page && !skx_pending_next_stripe(scan))
			return NULL;
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
		doc->stripe = scan->which;
		doc->sequence = scan->walk.sequence - 1;
	} while ((doc->dead && scan->last == NULL) ||
			 (scan->wanted != NULL &&
			  !scan->wanted(doc->stripe, doc->sequence, scan->wanted_arg)));
	doc->tid = record->tid;
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
