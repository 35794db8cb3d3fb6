/*
 * segment_build.c
 *	  Builds one segment from documents in document order.
 *
 * Memory: norms grow with the documents, up to a quarter; the writers at the
 * end need a fixed part; the rest is the inverter's, which is spilled to a run
 * before a document that might not fit.  The inverter is gone before runs are
 * merged.
 */
#include "postgres.h"

#include "segment/segment_internal.h"
#include "utils/memutils.h"

/* What writers and planes hold, at most a quarter of the memory. */
#define SKX_BUILD_FIXED		(4 * 1024 * 1024)

/* The inverter has addresses for 4 GB of postings; runs of half are long. */
#define SKX_BUILD_INVERT_MAX	((Size) 2 * 1024 * 1024 * 1024)

/* A segment holds about this much for 16 bytes of runs. */
#define SKX_BUILD_SHRINK	10

/* Bytes of the smallest merge tier, and its ratio to the next one. */
#define SKX_TIER_BYTES		(UINT64CONST(4) * 1024 * 1024)
#define SKX_TIER_RATIO		8

struct SkxSegmentBuilder
{
	SkxSegmentBuildOptions options;
	MemoryContext context;
	MemoryContext invert_context;
	SkxSegmentSpace space;
	SkxPlaneWriter planes[SKX_SEGMENT_NPLANES];
	SkxDocumentsWriter docs;
	SkxInverter *inv;
	SkxRuns    *runs;
	uint32		in_memory;		/* documents in the inverter */
	Size		fixed;
	ItemPointerData last;
	uint32		nnull;
	uint64		total_length;
};

SkxSegmentBuilder *
skx_segment_build_begin(Relation index, const SkxSegmentBuildOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx segment build",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxSegmentBuilder *b = palloc0(sizeof(SkxSegmentBuilder));
	int			i;

	b->options = *options;
	b->context = context;
	b->invert_context = AllocSetContextCreate(context,
											  "skipidx inverter",
											  ALLOCSET_DEFAULT_SIZES);
	b->fixed = Min(SKX_BUILD_FIXED, options->memory / 4);
	ItemPointerSetInvalid(&b->last);
	skx_segment_space_init(&b->space, options);
	for (i = 0; i < SKX_SEGMENT_NPLANES; i++)
		skx_segment_plane_init(&b->planes[i], &b->space,
							   skx_format_plane_ids[i]);
	skx_segment_documents_init(&b->docs, &b->planes[SKX_SEGMENT_TIDS],
							   &b->planes[SKX_SEGMENT_NORMS]);
	b->runs = skx_segment_runs_create(options->memory - options->memory / 4 -
									  b->fixed);
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
	Size		taken = b->docs.norms_size + b->fixed;
	Size		room = b->options.memory - Min(taken, b->options.memory);

	if (b->in_memory > 0 && skx_segment_invert_need(b->inv, value) >
		Min(room, SKX_BUILD_INVERT_MAX))
		skx_segment_build_spill(b);
	b->in_memory++;
	return skx_segment_invert_add(b->inv, b->docs.ndocs, value);
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

		b->total_length += length;
		norm = skx_rank_norm_encode(length);
	}
	else
		b->nnull++;
	skx_segment_documents_add(&b->docs, tid, norm);
	used = skx_segment_invert_used(b->inv);
	if (used + b->docs.norms_size + b->fixed >= b->options.memory ||
		used >= SKX_INVERT_MAX)
		skx_segment_build_spill(b);
	MemoryContextSwitchTo(old);
}

bool
skx_segment_build_full(const SkxSegmentBuilder *b)
{
	uint64		bytes = skx_segment_runs_bytes(b->runs) +
		skx_segment_invert_used(b->inv);

	return b->docs.ndocs >= SKX_DOC_MAX ||
		b->docs.ndocs >= b->options.memory / 4 ||
		bytes / 16 * SKX_BUILD_SHRINK >= SKX_SEGMENT_BYTES_MAX;
}

/* Sends all terms through the writer. */
static void
skx_segment_build_terms(SkxSegmentBuilder *b, SkxDiskSegment *header)
{
	SkxTermTotals totals;
	SkxTermWriter *w;

	if (skx_segment_runs_bytes(b->runs) > 0)
	{
		skx_segment_build_spill(b);
		MemoryContextDelete(b->invert_context);
		b->inv = NULL;
	}
	else
		skx_segment_invert_sort(b->inv);
	w = skx_segment_terms_begin(&b->planes[SKX_SEGMENT_DICT],
								&b->planes[SKX_SEGMENT_POSTINGS],
								&b->planes[SKX_SEGMENT_POSITIONS],
								b->docs.norms,
								(double) b->total_length / b->docs.ndocs,
								b->options.k1, b->options.b);
	skx_segment_runs_merge(b->runs, b->inv, w, b->options.progress);
	header->dict_root = skx_segment_terms_end(w, &totals);
	header->nterms = totals.nterms;
	header->npostings = totals.npostings;
	header->npositions = totals.npositions;
}

static uint16
skx_segment_build_level(uint64 npages)
{
	uint64		bytes = npages * BLCKSZ;
	uint64		most = SKX_TIER_BYTES;
	uint16		level = 0;

	while (bytes > most)
	{
		most *= SKX_TIER_RATIO;
		level++;
	}
	return level;
}

bool
skx_segment_build_finish(SkxSegmentBuilder *b, SkxDiskSegmentRef *ref)
{
	MemoryContext old = MemoryContextSwitchTo(b->context);
	uint32		ndocs = b->docs.ndocs;
	SkxDiskSegment header = {0};
	int			i;

	memset(ref, 0, sizeof(*ref));
	if (ndocs > 0)
	{
		skx_segment_build_terms(b, &header);
		skx_segment_documents_end(&b->docs);
		skx_segment_plane_zero(&b->planes[SKX_SEGMENT_DELETES],
							   (ndocs + SKX_DELETES_PER_PAGE - 1) /
							   SKX_DELETES_PER_PAGE);
		header.magic = SKX_MAGIC;
		header.version = SKX_VERSION;
		header.segment = b->options.segment;
		header.block_size = b->options.block_size;
		header.ndocs = ndocs;
		header.nnull = b->nnull;
		header.total_length = b->total_length;
		header.tid_pages = b->docs.tid_pages;
		for (i = 0; i < lengthof(header.weights); i++)
			header.weights[i] = 1.0;
		ref->segment = b->options.segment;
		ref->ndocs = ndocs;
		ref->total_length = b->total_length;
		skx_segment_plane_finish(b->planes, SKX_SEGMENT_NPLANES, &header, ref);
		ref->level = skx_segment_build_level(ref->npages);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(b->context);
	return ndocs > 0;
}
