/*
 * am_build.c
 *	  CREATE INDEX: writes the rows of the table into segments, and then the
 *	  head of the file.
 *
 * The first blocks of the file are reserved for the head, which is written
 * last and names all segments and free pages.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "index/manifest/manifest.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "sql/am/am_build.h"
#include "storage/blkio/blkio.h"
#include "storage/bufmgr.h"
#include "support/compat/compat_planner.h"
#include "support/fault/fault.h"

/*
 * Pages that are reserved for the head: metapage, stripes, and 2 for the root;
 * and one more for each SKX_HEAD_TABLE blocks of the table, which are 1 GB.
 * From a GB, 16 processes with little memory make some segments, each with 60
 * free extents, which the root has to name.
 */
#define SKX_HEAD_PAGES			(1 + SKX_STRIPES + 2)
#define SKX_HEAD_TABLE			((BlockNumber) 1 << 17)

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
skx_am_build_free(SkxBuild *b, BlockNumber block, uint32 npages)
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

static void
skx_am_build_give_back(void *arg, BlockNumber block, uint32 npages)
{
	SkxBuild   *b = arg;

	/* Blocks at the end that were never written do not become free pages. */
	if (block + npages == b->nblocks && b->nwritable <= block)
	{
		b->nblocks -= npages / b->block_pages * b->block_pages;
		npages %= b->block_pages;
	}
	skx_am_build_free(b, block, npages);
}

void
skx_am_build_write(void *arg, BlockNumber block, char **pages, int npages)
{
	SkxBuild   *b = arg;

	if (block + npages > b->nwritable)
	{
		skx_blkio_new_extend(b->index, block + npages);
		b->nwritable = block + npages;
	}
	skx_blkio_new_write(b->index, block, pages, npages);
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
	if (skx_writer_build_full(b->builder))
	{
		skx_am_build_end_segment(b);
		skx_am_build_begin_segment(b);
	}
}

/*
 * Builds all segments in this process, and returns how many rows the table
 * has.
 */
static double
skx_am_build_alone(SkxBuild *b, Relation heap, IndexInfo *info)
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

/*
 * The build
 */

void
skx_am_build_begin(SkxBuild *b, Relation index, uint64 incarnation)
{
	const SkxOptions *reloptions = (const SkxOptions *) index->rd_options;

	memset(b, 0, sizeof(*b));
	b->index = index;
	b->block_pages = skx_am_block_size(index) / BLCKSZ;
	b->memory = (Size) maintenance_work_mem * 1024;
	b->store.allocate = skx_am_build_allocate;
	b->store.give_back = skx_am_build_give_back;
	b->store.write = skx_am_build_write;
	b->store.arg = b;
	b->options.incarnation = incarnation;
	b->options.block_size = skx_am_block_size(index);
	skx_column_keyed(index, &b->options.keys);
	b->options.k1 = reloptions ? reloptions->k1 : SKX_DEFAULT_K1;
	b->options.b = reloptions ? reloptions->b : SKX_DEFAULT_B;
	b->options.store = &b->store;
	b->options.progress = skx_am_build_progress;
	b->segments = palloc(sizeof(SkxDiskSegmentRef));
	b->extents = palloc(sizeof(SkxDiskExtent));
}

static void
skx_am_build_reserve_head(SkxBuild *b, Relation heap)
{
	b->head_pages = TYPEALIGN(b->block_pages, SKX_HEAD_PAGES +
							  RelationGetNumberOfBlocks(heap) / SKX_HEAD_TABLE);
	b->nblocks = b->head_pages;
}

void
skx_am_build_sort_extents(SkxBuild *b)
{
	qsort(b->extents, b->nextents, sizeof(SkxDiskExtent),
		  skx_manifest_compare_extents);
}

/* Moves the longest free extent from the root to the pool. */
static void
skx_am_build_pool_extent(SkxBuild *b)
{
	int			most = 0;
	int			i;

	if (b->nextents == 0 || b->npool == SKX_META_POOL)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" would have too many segments",
						RelationGetRelationName(b->index)),
				 errhint("Increase maintenance_work_mem or the index's block_size.")));
	for (i = 1; i < b->nextents; i++)
	{
		if (b->extents[i].npages > b->extents[most].npages)
			most = i;
	}
	b->pool[b->npool].block = b->extents[most].block;
	b->pool[b->npool].npages = b->extents[most].npages;
	b->npool++;
	b->extents[most] = b->extents[--b->nextents];
}

/*
 * Makes the head fit into the pages that were reserved for it, in whole
 * blocks, by moving free extents to the pool.  Reserved pages that it does not
 * need become free.  They are a further extent, for which the same is done.
 */
static void
skx_am_build_fit_head(SkxBuild *b, SkxManifestNew *m)
{
	uint32		reserved = b->head_pages;
	uint32		used;

	for (m->nextents = b->nextents;
		 skx_manifest_new_pages(m) > reserved;
		 m->nextents = b->nextents)
		skx_am_build_pool_extent(b);
	used = TYPEALIGN(b->block_pages, skx_manifest_new_pages(m));
	if (used == reserved)
		return;
	skx_am_build_give_back(b, used, reserved - used);
	for (m->nextents = b->nextents;
		 TYPEALIGN(b->block_pages, skx_manifest_new_pages(m)) > used;
		 m->nextents = b->nextents)
		skx_am_build_pool_extent(b);
}

/* Raises an error unless the segments have all rows of the scan. */
static void
skx_am_build_count(const SkxBuild *b)
{
	uint64		ndocs = 0;
	int			i;

	for (i = 0; i < b->nsegments; i++)
		ndocs += b->segments[i].ndocs;
	if (ndocs != b->tuples)
		elog(ERROR, "index \"%s\" would have " UINT64_FORMAT " rows of " UINT64_FORMAT,
			 RelationGetRelationName(b->index), ndocs, b->tuples);
}

/* Writes the head of the file, which names the segments, and syncs it all. */
static void
skx_am_build_head(SkxBuild *b)
{
	SkxManifestNew m = {0};

	m.incarnation = b->options.incarnation;
	m.block_size = b->options.block_size;
	m.next_segment = b->nsegments + 1;
	m.nsegments = b->nsegments;
	skx_am_build_fit_head(b, &m);
	qsort(b->segments, b->nsegments, sizeof(SkxDiskSegmentRef),
		  skx_manifest_compare_segments);
	skx_am_build_sort_extents(b);
	m.nblocks = b->nblocks;
	m.segments = b->segments;
	m.extents = b->extents;
	m.npool = b->npool;
	m.pool = b->pool;
	skx_manifest_create(b->index, &m);
	SKX_FAULT(SKX_FAULT_BUILD_HEAD_WRITTEN);
	skx_blkio_new_sync(b->index);
}

/*
 * For tests: makes segments begin further behind in the file.  The pages
 * before them are free, and count as freed by the first root.
 */
static void
skx_am_build_skip(SkxBuild *b)
{
	uint32		npages = TYPEALIGN_DOWN(b->block_pages, skx_fault_skip(0));

	if (npages == 0)
		return;
	skx_am_build_free(b, b->nblocks, npages);
	b->extents[b->nextents - 1].safexid = SKX_SAFEXID_FLIP;
	b->nblocks += npages;
}

static void
skx_am_build_file(Relation heap, Relation index, IndexInfo *info,
				  IndexBuildResult *result)
{
	SkxBuild	b;
	int			nworkers;

	skx_am_build_begin(&b, index, skx_manifest_random());
	skx_am_build_reserve_head(&b, heap);
	skx_am_build_skip(&b);
	nworkers = skx_compat_build_workers(heap, index, info);
	if (nworkers == 0 ||
		!skx_am_build_together(&b, heap, info, nworkers, &result->heap_tuples))
		result->heap_tuples = skx_am_build_alone(&b, heap, info);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, b.tuples);
	skx_am_build_count(&b);
	skx_am_build_head(&b);
	result->index_tuples = b.tuples;
}

IndexBuildResult *
skxbuild(Relation heap, Relation index, struct IndexInfo *info)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	MemoryContext context = CurrentMemoryContext;

	skx_am_check_columns(index);
	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));
	PG_TRY();
	{
		skx_am_build_file(heap, index, info, result);
	}
	PG_CATCH();
	{
		skx_blkio_new_failed(index, context);
	}
	PG_END_TRY();
	return result;
}

void
skxbuildempty(Relation index)
{
	skx_am_check_columns(index);
	skx_manifest_create_init(index, skx_manifest_random(),
							 skx_am_block_size(index));
}

char *
skxbuildphasename(int64 phase)
{
	switch (phase)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return "initializing";
		case SKX_SUBPHASE_SCAN:
			return "scanning table";
		case SKX_SUBPHASE_WRITE:
			return "writing segment";
		default:
			return NULL;
	}
}
