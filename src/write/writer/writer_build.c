/*
 * writer_build.c
 *	  Builds one segment from documents in document order.
 *
 * Norms grow with the documents, up to a quarter of the memory.  The output
 * needs a fixed part, and the rest is for inversion.  The inverter is freed
 * before runs are merged.
 */
#include "postgres.h"

#include "index/column/column_value.h"
#include "utils/memutils.h"
#include "write/writer/writer.h"

/* Bytes that 16 bytes of runs take in a segment, about. */
#define SKX_BUILD_BYTES_PER_16_IN_RUNS	10

struct SkxSegmentBuilder
{
	MemoryContext context;
	SkxSegmentOutput out;
	SkxRuns    *runs;
	SkxInvertDocuments *documents;
	ItemPointerData last;
	uint64		run_bytes_read; /* bytes of runs */
	uint64		to_read;
};

SkxSegmentBuilder *
skx_writer_build_begin(Relation index, const SkxSegmentBuildOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx segment build",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxSegmentBuilder *b = palloc0(sizeof(SkxSegmentBuilder));

	b->context = context;
	ItemPointerSetInvalid(&b->last);
	skx_writer_output_init(&b->out, options);
	b->runs = skx_invert_runs_create(options->memory - options->memory / 4 -
									 b->out.fixed_bytes, NULL, NULL);
	b->documents = skx_invert_documents_begin(options->memory, b->runs);
	MemoryContextSwitchTo(old);
	return b;
}

void
skx_writer_build_add(SkxSegmentBuilder *b, ItemPointer tid, TSVector value)
{
	MemoryContext old = MemoryContextSwitchTo(b->context);
	Size		memory = b->out.options.memory;
	Size		taken = b->out.docs.norms_size + b->out.fixed_bytes;
	SkxKey		keys[INDEX_MAX_KEYS];
	uint64		length;

	if (ItemPointerIsValid(&b->last) && ItemPointerCompare(&b->last, tid) >= 0)
		elog(ERROR, "documents of a segment are not in order");
	b->last = *tid;
	length = skx_invert_documents_add(b->documents, b->out.docs.ndocs,
									  value, memory - Min(taken, memory));
	b->out.total_length += length;
	skx_column_keys(&b->out.options.keys, value, keys);
	skx_writer_output_document(&b->out, tid, skx_column_is_null(value) ?
							   SKX_NORM_NULL : skx_rank_norm_encode(length),
							   keys);
	MemoryContextSwitchTo(old);
}

bool
skx_writer_build_is_full(const SkxSegmentBuilder *b)
{
	return b->out.docs.ndocs >= b->out.options.memory / 4 ||
		skx_writer_segment_is_full(b->out.docs.ndocs,
								   skx_invert_documents_bytes(b->documents));
}

bool
skx_writer_segment_is_full(uint64 ndocs, uint64 run_bytes)
{
	return ndocs >= SKX_SEGMENT_DOCS_MAX ||
		run_bytes / 16 * SKX_BUILD_BYTES_PER_16_IN_RUNS >=
		SKX_SEGMENT_BYTES_MAX;
}

void
skx_writer_terms_merge(SkxTermWriter *w, SkxRunMerge *m)
{
	SkxPostingBatch *batch = palloc(sizeof(SkxPostingBatch));
	SkxRunTerm	term;
	const char *lexeme;

	while (skx_invert_merge_next(m, &term, &lexeme))
	{
		skx_writer_term_begin(w, lexeme, term.len, term.df, term.npositions,
							  term.flags);
		while (skx_invert_merge_postings(m, batch))
			skx_writer_term_batch(w, batch);
		skx_writer_term_end(w);
	}
	pfree(batch);
}

static void
skx_writer_build_read(void *arg, uint32 nbytes)
{
	SkxSegmentBuilder *b = arg;

	b->run_bytes_read += nbytes;
	if (b->out.options.progress != NULL)
		b->out.options.progress(SKX_BUILD_MERGE, b->run_bytes_read,
								b->to_read);
}

/*
 * Returns cursors on the runs, after making them few enough for one merge.  If
 * there are no runs, returns a cursor on the documents in memory.
 */
static SkxRunCursor **
skx_writer_build_cursors(SkxSegmentBuilder *b, int *n,
						 const SkxRunProgress *progress)
{
	int			fan = skx_invert_merge_fanin(b->runs->memory);
	SkxRunCursor **cursors;
	uint32		buffer;
	int			left;
	int			i;

	if (b->runs->nruns == 0)
	{
		cursors = palloc(sizeof(SkxRunCursor *));
		cursors[0] =
			skx_invert_cursor_memory(skx_invert_documents_sort(b->documents));
		*n = 1;
		return cursors;
	}
	skx_invert_documents_spill(b->documents);
	skx_invert_documents_end(b->documents);
	for (left = b->runs->nruns; left > fan; left = (left + fan - 1) / fan)
		b->to_read += b->runs->nbytes;
	b->to_read += b->runs->nbytes;
	skx_invert_runs_reduce(b->runs, fan, progress);
	*n = b->runs->nruns;
	buffer = skx_invert_merge_buffer(b->runs->memory, *n);
	cursors = palloc(*n * sizeof(SkxRunCursor *));
	for (i = 0; i < *n; i++)
		cursors[i] = skx_invert_cursor_open(b->runs->file, &b->runs->runs[i],
											0, i, buffer, progress);
	return cursors;
}

/* Merges all terms into the term writer. */
static void
skx_writer_build_terms(SkxSegmentBuilder *b)
{
	SkxRunProgress progress = {skx_writer_build_read, b};
	int			n;
	SkxRunCursor **cursors = skx_writer_build_cursors(b, &n, &progress);
	SkxRunMerge *m = skx_invert_merge_begin(cursors, n, NULL,
											b->out.docs.ndocs);

	skx_writer_terms_merge(skx_writer_output_terms(&b->out), m);
	skx_invert_merge_end(m);
	skx_invert_runs_close(b->runs);
}

bool
skx_writer_build_finish(SkxSegmentBuilder *b, SkxDiskSegmentRef *ref)
{
	MemoryContext old = MemoryContextSwitchTo(b->context);
	bool		any = b->out.docs.ndocs > 0;

	memset(ref, 0, sizeof(*ref));
	if (any)
	{
		skx_writer_build_terms(b);
		skx_writer_output_finish(&b->out, ref);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(b->context);
	return any;
}
