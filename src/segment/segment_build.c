/*
 * segment_build.c
 *	  Builds one segment from documents in document order.
 *
 * Memory: norms grow with the documents, up to a quarter; the output needs a
 * fixed part; the rest is the inverter's, which is spilled to a run
 * before a document that might not fit.  The inverter is gone before runs are
 * merged.
 */
#include "postgres.h"

#include "segment/segment_internal.h"
#include "utils/memutils.h"

/* The inverter has addresses for 4 GB of postings; runs of half are long. */
#define SKX_BUILD_INVERT_MAX	((Size) 2 * 1024 * 1024 * 1024)

/* A segment holds about this much for 16 bytes of runs. */
#define SKX_BUILD_SHRINK	10

struct SkxSegmentBuilder
{
	MemoryContext context;
	MemoryContext invert_context;
	SkxSegmentOutput out;
	SkxInverter *inv;
	SkxRuns    *runs;
	uint32		in_memory;		/* documents in the inverter */
	ItemPointerData last;
};

SkxSegmentBuilder *
skx_segment_build_begin(Relation index, const SkxSegmentBuildOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx segment build",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxSegmentBuilder *b = palloc0(sizeof(SkxSegmentBuilder));

	b->context = context;
	b->invert_context = AllocSetContextCreate(context,
											  "skipidx inverter",
											  ALLOCSET_DEFAULT_SIZES);
	ItemPointerSetInvalid(&b->last);
	skx_segment_output_init(&b->out, options);
	b->runs = skx_segment_runs_create(options->memory - options->memory / 4 -
									  b->out.fixed);
	MemoryContextSwitchTo(b->invert_context);
	b->inv = skx_segment_invert_create(options->memory);
	MemoryContextSwitchTo(old);
	return b;
}

/* Turns what the inverter holds into a run. */
static void
skx_segment_build_spill(SkxSegmentBuilder *b)
{
	skx_segment_invert_sort(b->inv);
	skx_segment_runs_spill(b->runs, b->inv);
	skx_segment_invert_reset(b->inv);
	b->in_memory = 0;
}

/* Adds a document to the inverter, whose memory it may take for itself. */
static uint64
skx_segment_build_invert(SkxSegmentBuilder *b, TSVector value)
{
	Size		memory = b->out.options.memory;
	Size		taken = b->out.docs.norms_size + b->out.fixed;
	Size		room = memory - Min(taken, memory);

	if (b->in_memory > 0 && skx_segment_invert_need(b->inv, value) >
		Min(room, SKX_BUILD_INVERT_MAX))
		skx_segment_build_spill(b);
	b->in_memory++;
	return skx_segment_invert_add(b->inv, b->out.docs.ndocs, value);
}

void
skx_segment_build_add(SkxSegmentBuilder *b, ItemPointer tid, TSVector value)
{
	MemoryContext old = MemoryContextSwitchTo(b->context);
	uint8		norm = SKX_NORM_NULL;
	Size		used;

	if (ItemPointerIsValid(&b->last) && ItemPointerCompare(&b->last, tid) >= 0)
		elog(ERROR, "documents of a segment are not in order");
	b->last = *tid;
	if (value != NULL)
	{
		uint64		length = skx_segment_build_invert(b, value);

		b->out.total_length += length;
		norm = skx_rank_norm_encode(length);
	}
	skx_segment_output_document(&b->out, tid, norm);
	used = skx_segment_invert_used(b->inv);
	if (used + b->out.docs.norms_size + b->out.fixed >= b->out.options.memory ||
		used >= SKX_INVERT_MAX)
		skx_segment_build_spill(b);
	MemoryContextSwitchTo(old);
}

bool
skx_segment_build_full(const SkxSegmentBuilder *b)
{
	uint64		bytes = skx_segment_runs_bytes(b->runs) +
		skx_segment_invert_used(b->inv);

	return b->out.docs.ndocs >= SKX_DOC_MAX ||
		b->out.docs.ndocs >= b->out.options.memory / 4 ||
		bytes / 16 * SKX_BUILD_SHRINK >= SKX_SEGMENT_BYTES_MAX;
}

/* Sends all terms through the writer. */
static void
skx_segment_build_terms(SkxSegmentBuilder *b)
{
	if (skx_segment_runs_bytes(b->runs) > 0)
	{
		skx_segment_build_spill(b);
		MemoryContextDelete(b->invert_context);
		b->inv = NULL;
	}
	else
		skx_segment_invert_sort(b->inv);
	skx_segment_runs_merge(b->runs, b->inv,
						   skx_segment_output_terms(&b->out),
						   b->out.options.progress);
}

bool
skx_segment_build_finish(SkxSegmentBuilder *b, SkxDiskSegmentRef *ref)
{
	MemoryContext old = MemoryContextSwitchTo(b->context);
	bool		any = b->out.docs.ndocs > 0;

	memset(ref, 0, sizeof(*ref));
	if (any)
	{
		skx_segment_build_terms(b);
		skx_segment_output_finish(&b->out, ref);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(b->context);
	return any;
}
