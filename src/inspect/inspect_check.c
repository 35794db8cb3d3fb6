/*
 * inspect_check.c
 *	  skipidx_check(): checks that an index is sound and has every row.
 *
 * Raises the first damage found by skx_damage_report().  It checks pages
 * first, then their owners, the contents of each segment, the pending lists,
 * that no row is live twice, and at last the rows of the table.  Each step
 * relies on those before it.
 *
 * Other statements may change the index meanwhile.  The check is of the index
 * at one moment, by the view that was taken then.  Its snapshot keeps pages
 * that a flush or a merge replaces from being overwritten.  Later inserts are
 * left out.  Only deleted bits can be newer, since VACUUM sets them on pages
 * that are read later.  They belong to rows that no snapshot sees, and are
 * never cleared.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "inspect/inspect.h"
#include "inspect/inspect_internal.h"
#include "support/compat/compat.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(skipidx_check);

/* Compares a segment's header with its reference in the root. */
static void
skx_inspect_check_ref(SkxCheck *check, const SkxDiskSegmentRef *ref,
					  const SkxDiskSegment *header)
{
	if (header->total_length != ref->total_length ||
		header->salt != ref->salt ||
		header->nnull > header->ndocs)
		skx_damage_report(check->index, ref->header,
						  "the segment's header does not fit the root");
}

/* Checks the pages of segment number `which` of the view, and opens it. */
static SkxCheckSegment *
skx_inspect_open_segment(SkxCheck *check, int which)
{
	const SkxDiskSegmentRef *ref = &check->view->segments[which];
	SkxCheckSegment *cs = palloc0(sizeof(SkxCheckSegment));

	cs->check = check;
	cs->seg = skx_inspect_check_header(check, which);
	cs->ndocs = cs->seg->header.ndocs;
	skx_inspect_check_ref(check, ref, &cs->seg->header);
	skx_inspect_check_pages(cs);
	return cs;
}

/*
 * Checks the lists of prefixes of a segment, if it has any, like a segment of
 * the same documents, after those of the lexemes.
 */
static void
skx_inspect_check_prefixes(SkxCheckSegment *cs)
{
	SkxCheckSegment *ps;

	if (skx_segment_prefixes(cs->seg) == NULL)
		return;
	ps = palloc0(sizeof(SkxCheckSegment));
	ps->check = cs->check;
	ps->seg = skx_segment_prefixes(cs->seg);
	ps->ndocs = cs->ndocs;
	ps->norms = cs->norms;
	ps->lexemes_of = cs->seg;
	ps->prefix_tfs = palloc_extended(cs->ndocs * sizeof(uint16),
									 MCXT_ALLOC_HUGE);
	skx_inspect_check_dict(ps);
	pfree(ps->prefix_tfs);
	pfree(ps);
}

/*
 * Checks the contents of a segment: documents and keys, then the dictionary
 * with its lists, then the sums over all postings of each document.
 */
static void
skx_inspect_check_segment(SkxCheckSegment *cs)
{
	Size		n = (Size) cs->ndocs + 1;

	skx_inspect_check_documents(cs);
	skx_inspect_check_keys(cs);
	cs->lengths = palloc_extended(n * sizeof(uint32),
								  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (cs->check->want_entries)
		cs->fingerprints = palloc_extended(n * sizeof(uint64),
										   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	skx_inspect_check_dict(cs);
	skx_inspect_check_prefixes(cs);
	skx_inspect_check_lengths(cs);
	skx_inspect_check_key_sums(cs);
	pfree(cs->lengths);
	pfree(cs->norms);
	cs->lengths = NULL;
	cs->norms = NULL;
}

/* Checks everything except the rows of the table. */
static void
skx_inspect_check_index(SkxCheck *check)
{
	int			n;
	int			i;

	check->scratch = AllocSetContextCreate(CurrentMemoryContext,
										   "skipidx check: one list",
										   ALLOCSET_DEFAULT_SIZES);
	skx_inspect_page_alloc(&check->page);
	skx_inspect_check_view(check);
	check->file = skx_segment_file(check->index,
								   check->view->meta.incarnation);
	skx_blkio_set_read_once(check->file);
	n = check->view->nsegments;
	check->segments = palloc0((n + 1) * sizeof(SkxCheckSegment *));
	for (i = 0; i < n; i++)
		check->segments[i] = skx_inspect_open_segment(check, i);
	skx_inspect_check_extents(check);
	for (i = 0; i < n; i++)
		skx_inspect_check_segment(check->segments[i]);
	skx_inspect_check_pending(check);
	skx_inspect_check_unique(check);
}

static void
skx_inspect_check_close(SkxCheck *check)
{
	int			i;

	for (i = 0; i < check->view->nsegments; i++)
		skx_segment_close(check->segments[i]->seg);
	skx_blkio_close(check->file);
}

Datum
skipidx_check(PG_FUNCTION_ARGS)
{
	MemoryContext context;
	MemoryContext before;
	SkxCheck	check = {0};
	Snapshot	snapshot;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be NULL", "heapallindexed")));
	context = AllocSetContextCreate(CurrentMemoryContext, "skipidx check",
									ALLOCSET_DEFAULT_SIZES);
	before = MemoryContextSwitchTo(context);
	check.want_entries = PG_GETARG_BOOL(1);
	skx_inspect_open(PG_GETARG_OID(0), SKX_INSPECT_OWNER, &check.heap,
					 &check.index);
	snapshot = RegisterSnapshot(GetTransactionSnapshot());
	skx_inspect_check_index(&check);
	if (check.want_entries)
		skx_inspect_check_heap(&check, snapshot);
	UnregisterSnapshot(snapshot);
	skx_inspect_check_close(&check);
	skx_inspect_close(check.heap, check.index);
	MemoryContextSwitchTo(before);
	MemoryContextDelete(context);
	PG_RETURN_VOID();
}
