/*
 * am_build_file.c
 *	  CREATE INDEX: the file as a whole, segments and then the head.
 *
 * The first blocks of the file are reserved for the head, which is written
 * last and names all segments and free pages.
 */
#include "postgres.h"

#include "catalog/index.h"
#include "commands/progress.h"
#include "index/manifest/manifest.h"
#include "pgstat.h"
#include "sql/am/am_build.h"
#include "storage/bufmgr.h"
#include "support/compat/compat_planner.h"
#include "support/fault/fault.h"

/*
 * Pages that are reserved for the head: metapage, stripes, and 2 for the root;
 * and one more for each SKX_HEAD_TABLE_BLOCKS blocks of the table, which are 1
 * GB. From a GB, 16 processes with little memory make some segments, each with
 * 60 free extents, which the root has to name.
 */
#define SKX_HEAD_RESERVED_PAGES			(1 + SKX_STRIPES_DEFAULT + 2)
#define SKX_HEAD_TABLE_BLOCKS			((BlockNumber) 1 << 17)

static void
skx_am_build_reserve_head(SkxBuild *b, Relation heap)
{
	b->head_pages = TYPEALIGN(b->block_pages, SKX_HEAD_RESERVED_PAGES +
							  RelationGetNumberOfBlocks(heap) /
							  SKX_HEAD_TABLE_BLOCKS);
	b->nblocks = b->head_pages;
}

/* Moves the longest free extent from the root to the pool. */
static void
skx_am_build_pool_extent(SkxBuild *b)
{
	int			most = 0;
	int			i;

	if (b->nextents == 0 || b->npool == SKX_META_POOL_EXTENTS)
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
skx_am_build_shrink_head(SkxBuild *b, SkxManifestNew *m)
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
skx_am_build_check_rows(const SkxBuild *b)
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
skx_am_build_write_head(SkxBuild *b)
{
	SkxManifestNew m = {0};

	m.format = b->options.format;
	m.incarnation = b->options.incarnation;
	m.block_size = b->options.block_size;
	m.next_segment = b->nsegments + 1;
	m.nsegments = b->nsegments;
	skx_am_build_shrink_head(b, &m);
	qsort(b->segments, b->nsegments, sizeof(SkxDiskSegmentRef),
		  skx_manifest_compare_segments);
	skx_am_build_sort_extents(b);
	m.nblocks = b->nblocks;
	m.segments = b->segments;
	m.extents = b->extents;
	m.npool = b->npool;
	m.pool = b->pool;
	skx_blkio_writer_end(b->writer);
	skx_manifest_create(b->index, &m);
	SKX_FAULT(SKX_FAULT_BUILD_HEAD_WRITTEN);
	skx_blkio_new_sync(b->index, b->options.incarnation);
}

/*
 * For tests: makes segments begin further behind in the file.  The pages
 * before them are free, and count as freed by the first root.
 */
static void
skx_am_build_skip_pages(SkxBuild *b)
{
	uint32		npages = TYPEALIGN_DOWN(b->block_pages,
										skx_fault_skip_pages(0));

	if (npages == 0)
		return;
	skx_am_build_free_pages(b, b->nblocks, npages);
	b->extents[b->nextents - 1].safexid = SKX_SAFEXID_FLIP;
	b->nblocks += npages;
}

static void
skx_am_build_index_file(Relation heap, Relation index, IndexInfo *info,
						IndexBuildResult *result)
{
	SkxBuild	b;
	int			nworkers;

	skx_am_build_begin(&b, index, skx_manifest_random());
	skx_manifest_new_format(index, &b.options.format);
	skx_am_build_reserve_head(&b, heap);
	skx_am_build_skip_pages(&b);
	nworkers = skx_compat_build_workers(heap, index, info);
	if (nworkers == 0 ||
		!skx_am_build_parallel(&b, heap, info, nworkers, &result->heap_tuples))
		result->heap_tuples = skx_am_build_serial(&b, heap, info);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, b.tuples);
	skx_am_build_check_rows(&b);
	skx_am_build_write_head(&b);
	result->index_tuples = b.tuples;
}

IndexBuildResult *
skxbuild(Relation heap, Relation index, struct IndexInfo *info)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));

	skx_am_check_columns(index);
	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));
	skx_am_build_index_file(heap, index, info, result);
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
