/*
 * am_build.c
 *	  CREATE INDEX: writes the rows of the table into segments.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "index/manifest/manifest.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "sql/am/am_build.h"
#include "storage/bufmgr.h"
#include "support/compat/compat_planner.h"
#include "support/fault/fault.h"

/*
 * The store of the segments: a file that only grows.
 */

static BlockNumber
skx_am_build_allocate(void *arg, uint32 nblocks)
{
	SkxBuild   *b = arg;
	BlockNumber block = b->nblocks;

	if ((uint64) block + (uint64) nblocks * b->block_pages > MaxBlockNumber)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" would pass the largest size of a relation",
						RelationGetRelationName(b->index))));
	b->nblocks += nblocks * b->block_pages;
	return block;
}

void
skx_am_build_free_pages(SkxBuild *b, BlockNumber block, uint32 npages)
{
	SkxDiskExtent *extent = b->nextents > 0 ? &b->extents[b->nextents - 1] : NULL;

	if (npages == 0)
		return;
	if (extent != NULL && extent->block + extent->npages == block)
	{
		extent->npages += npages;
		return;
	}
	b->extents = repalloc(b->extents,
						  (b->nextents + 1) * sizeof(SkxDiskExtent));
	extent = &b->extents[b->nextents++];
	memset(extent, 0, sizeof(*extent));
	extent->block = block;
	extent->npages = npages;
}

void
skx_am_build_give_back(void *arg, BlockNumber block, uint32 npages)
{
	SkxBuild   *b = arg;

	/* Blocks at the end that were never written do not become free pages. */
	if (block + npages == b->nblocks && b->nwritable <= block)
	{
		b->nblocks -= npages / b->block_pages * b->block_pages;
		npages %= b->block_pages;
	}
	skx_am_build_free_pages(b, block, npages);
}

void
skx_am_build_write(void *arg, BlockNumber block, char **pages, int npages)
{
	SkxBuild   *b = arg;

	if (block + npages > b->nwritable)
	{
		skx_blkio_extend_new(b->index, b->options.incarnation,
							 block + npages);
		b->nwritable = block + npages;
	}
	for (int i = 0; i < npages; i++)
		skx_blkio_writer_put(b->writer, block + i, pages[i]);
}

void
skx_am_build_sync(void *arg)
{
	skx_blkio_writer_flush(((SkxBuild *) arg)->writer);
}

/*
 * Segments
 */

void
skx_am_build_progress(int phase, uint64 done, uint64 total)
{
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL,
								 total / BLCKSZ);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
								 done / BLCKSZ);
}

void
skx_am_build_next_segment(SkxBuild *b)
{
	b->options.segment = b->nsegments + 1;
	b->options.salt = skx_manifest_random();
}

void
skx_am_build_add_segment(SkxBuild *b, const SkxDiskSegmentRef *ref)
{
	b->segments = repalloc(b->segments, (b->nsegments + 1) *
						   sizeof(SkxDiskSegmentRef));
	b->segments[b->nsegments++] = *ref;
}

static void
skx_am_build_begin_segment(SkxBuild *b)
{
	skx_am_build_next_segment(b);
	b->builder = skx_writer_build_begin(b->index, &b->options);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 SKX_SUBPHASE_SCAN);
}

static void
skx_am_build_end_segment(SkxBuild *b)
{
	SkxDiskSegmentRef ref;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 SKX_SUBPHASE_WRITE);
	if (skx_writer_build_finish(b->builder, &ref))
		skx_am_build_add_segment(b, &ref);
	b->builder = NULL;
	SKX_FAULT(SKX_FAULT_BUILD_SEGMENT_WRITTEN);
}

static void
skx_am_build_document(void *arg, ItemPointer tid, TSVector value)
{
	skx_writer_build_add(((SkxBuild *) arg)->builder, tid, value);
}

static void
skx_am_build_page(void *arg, BlockNumber block, int ndocs)
{
	SkxBuild   *b = arg;

	b->tuples += ndocs;
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, b->tuples);
	if (skx_writer_build_is_full(b->builder))
	{
		skx_am_build_end_segment(b);
		skx_am_build_begin_segment(b);
	}
}

double
skx_am_build_serial(SkxBuild *b, Relation heap, IndexInfo *info)
{
	SkxBuildSink sink = {skx_am_build_document, skx_am_build_page, b};
	Size		memory = b->memory / 16;
	SkxBuildDocuments *documents;
	double		heap_tuples;

	b->options.memory = b->memory - memory;
	documents = skx_am_documents_begin(b->index, &sink, memory);
	skx_am_build_begin_segment(b);
	heap_tuples = table_index_build_scan(heap, b->index, info, false, true,
										 skx_am_documents_callback, documents,
										 NULL);
	skx_am_documents_end(documents);
	skx_am_build_end_segment(b);
	return heap_tuples;
}

void
skx_am_build_begin(SkxBuild *b, Relation index, uint64 incarnation)
{
	SkxRankOptions ranking;

	skx_am_rank_options(index, &ranking);
	memset(b, 0, sizeof(*b));
	b->index = index;
	b->block_pages = skx_am_block_size(index) / BLCKSZ;
	b->memory = (Size) maintenance_work_mem * 1024;
	b->store.allocate = skx_am_build_allocate;
	b->store.give_back = skx_am_build_give_back;
	b->store.write = skx_am_build_write;
	b->store.sync = skx_am_build_sync;
	b->store.arg = b;
	b->options.incarnation = incarnation;
	b->options.block_size = skx_am_block_size(index);
	skx_column_key_columns(index, &b->options.keys);
	b->options.k1 = ranking.k1;
	b->options.b = ranking.b;
	b->options.store = &b->store;
	b->options.is_new_file = true;
	b->options.prefixes_of = skx_am_has_prefix_lists(index) ? index : NULL;
	b->options.progress = skx_am_build_progress;
	b->writer = skx_blkio_writer_begin_new(index);
	b->segments = palloc(sizeof(SkxDiskSegmentRef));
	b->extents = palloc(sizeof(SkxDiskExtent));
}

void
skx_am_build_sort_extents(SkxBuild *b)
{
	qsort(b->extents, b->nextents, sizeof(SkxDiskExtent),
		  skx_manifest_compare_extents);
}
