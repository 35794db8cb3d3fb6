/*
 * test_merge_limits.c
 *	  Segments are merged as long as their documents have numbers together:
 *	  2^31 - 1 of them, deleted ones too, and one more is an error.
 *
 * Holds: none
 */
#include "unit.h"
#include "server.h"
#include "unit_raise.h"

#include "write/merge/merge_internal.h"
#include "write/writer/writer.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#define INPUTS		64

/* ---- the server ---- */

MemoryContext CurrentMemoryContext;

MemoryContext
AllocSetContextCreateInternal(MemoryContext parent, const char *name,
							  Size minsize, Size initsize, Size maxsize)
{
	return NULL;
}

void *
MemoryContextAllocExtended(MemoryContext context, Size size, int flags)
{
	return calloc(1, size);
}

/* ---- segments ---- */

static int	looked_at;			/* pages of delete bits */

uint32
skx_segment_read_deletes(SkxSegment *seg, uint32 ordinal, uint8 *bits)
{
	CHECK((uint64) ordinal * SKX_DELETES_PER_PAGE < seg->header.ndocs);
	looked_at++;
	return 0;
}

void
skx_segment_unpin_all(SkxSegment *seg)
{
}

SkxKeyReader *
skx_segment_keys_open_as(SkxSegment *seg, const SkxKeyColumn *column)
{
	abort();
}

void
skx_writer_output_init(SkxSegmentOutput *out,
						const SkxSegmentBuildOptions *options)
{
}

void
skx_damage_report(Relation rel, BlockNumber block, const char *what)
{
	abort();
}

/* Merges n segments; of the last one, with so many documents. */
static int
merge(int n, uint32 ndocs, uint32 last)
{
	static FormData_pg_class class;
	static RelationData relation;
	static SkxSegment segments[INPUTS];
	SkxSegment *inputs[INPUTS];
	SkxSegmentBuildOptions options = {0};
	int			i;

	relation.rd_rel = &class;
	for (i = 0; i < n; i++)
	{
		inputs[i] = &segments[i];
		segments[i].header.ndocs = i < n - 1 ? ndocs : last;
		segments[i].header.npostings = PG_UINT64_MAX / INPUTS;
		segments[i].planes[SKX_SEGMENT_DELETES].npages =
			((uint64) segments[i].header.ndocs + SKX_DELETES_PER_PAGE - 1) /
			SKX_DELETES_PER_PAGE;
	}
	looked_at = 0;
	return RAISED(skx_merge_begin(&relation, &options, inputs, n));
}

int
main(void)
{
	const int	limit = ERRCODE_PROGRAM_LIMIT_EXCEEDED;

	unit_seed(10);
	CHECK(merge(1, 0, SKX_DOC_MAX) == 0);
	CHECK(looked_at == SKX_DOC_MAX / SKX_DELETES_PER_PAGE + 1);
	CHECK(merge(1, 0, SKX_SEGMENT_DOCS_MAX) == 0);
	CHECK(merge(2, 1, SKX_DOC_MAX - 1) == 0);
	CHECK(merge(2, 1, SKX_DOC_MAX) == limit);
	CHECK(merge(2, 1 << 30, (1 << 30) - 1) == 0);
	CHECK(merge(2, 1 << 30, 1 << 30) == limit);

	/* sums that 32 bits would take for small ones */
	CHECK(merge(3, SKX_DOC_MAX, SKX_DOC_MAX) == limit);
	CHECK(merge(INPUTS, 1 << 26, 1 << 26) == limit);
	CHECK(merge(INPUTS, (1 << 26) + 1, 1 << 26) == limit);
	CHECK(merge(INPUTS, 1 << 24, 1 << 24) == 0);
	return unit_done("merge_limits");
}
