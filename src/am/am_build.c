/*
 * am_build.c
 *	  CREATE INDEX: scans the table into segments and makes the file's head.
 *
 * Documents must ascend by TID.  The scan visits heap pages in order, but a
 * row that was updated in place (HOT) is reported when its newest tuple is
 * met, with the TID of its oldest.  So the documents of one heap page are
 * collected and sorted.  What they hold in memory is bounded: values past the
 * limit wait in a temporary file.
 *
 * The first block of the file is left for the head, which is written last and
 * names all else.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tableam.h"
#include "am/am.h"
#include "blkio/blkio.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "fault/fault.h"
#include "manifest/manifest.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "segment/segment_build.h"
#include "storage/buffile.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

/* Subphases after the server's own first one. */
#define SKX_SUBPHASE_SCAN		2
#define SKX_SUBPHASE_WRITE		3

/*
 * Pages kept for the head where a block is smaller: metapage, stripes, and 2
 * for the root.
 */
#define SKX_HEAD_PAGES			(1 + SKX_STRIPES + 2)

/* A document of the heap page being read. */
typedef struct SkxBuildDoc
{
	ItemPointerData tid;
	bool		isnull;
	bool		in_file;
	struct varlena *value;		/* as in the table, or */
	int			fileno;			/* where it waits in the file */
	off_t		offset;
	Size		size;
} SkxBuildDoc;

typedef struct SkxBuild
{
	Relation	index;
	uint64		incarnation;
	uint32		block_pages;

	/* the documents of one heap page */
	BlockNumber heap_block;
	int			ndocs;
	SkxBuildDoc docs[MaxHeapTuplesPerPage];
	MemoryContext page_context; /* their values */
	MemoryContext doc_context;	/* the one being added */
	Size		page_bytes;		/* of the values in memory */
	Size		page_limit;
	BufFile    *file;			/* values past the limit */

	/* segments */
	SkxSegmentStore store;
	SkxSegmentBuildOptions options;
	SkxSegmentBuilder *builder;
	SkxDiskSegmentRef *segments;
	int			nsegments;
	uint64		tuples;

	/* the file */
	BlockNumber nblocks;		/* given out */
	BlockNumber nwritable;		/* the file is this long */
	SkxDiskExtent *extents;
	int			nextents;
	SkxDiskPoolExtent pool[SKX_META_POOL];
	int			npool;
} SkxBuild;

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

static void
skx_am_build_give_back(void *arg, BlockNumber block, uint32 npages)
{
	SkxBuild   *b = arg;
	SkxDiskExtent *extent = b->nextents > 0 ? &b->extents[b->nextents - 1] : NULL;

	/* blocks at the end were not needed at all */
	if (block + npages == b->nblocks && b->nwritable <= block)
	{
		b->nblocks -= npages / b->block_pages * b->block_pages;
		npages %= b->block_pages;
	}
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
	extent->block = block;
	extent->npages = npages;
	extent->safexid = 0;
	extent->operation = 0;
	extent->reserved = 0;
}

static void
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

static void
skx_am_build_progress(int phase, uint64 done, uint64 total)
{
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL,
								 total / BLCKSZ);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
								 done / BLCKSZ);
}

static void
skx_am_build_begin_segment(SkxBuild *b)
{
	b->options.segment = b->nsegments + 1;
	b->options.salt = skx_manifest_random();
	b->builder = skx_segment_build_begin(b->index, &b->options);
}

static void
skx_am_build_end_segment(SkxBuild *b)
{
	SkxDiskSegmentRef ref;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 SKX_SUBPHASE_WRITE);
	if (skx_segment_build_finish(b->builder, &ref))
	{
		b->segments = repalloc(b->segments, (b->nsegments + 1) *
							   sizeof(SkxDiskSegmentRef));
		b->segments[b->nsegments++] = ref;
	}
	b->builder = NULL;
	SKX_FAULT(SKX_FAULT_BUILD_SEGMENT_WRITTEN);
}

/*
 * Documents
 */

static int
skx_am_build_compare(const void *a, const void *b)
{
	OffsetNumber x = ItemPointerGetOffsetNumber(&((const SkxBuildDoc *) a)->tid);
	OffsetNumber y = ItemPointerGetOffsetNumber(&((const SkxBuildDoc *) b)->tid);

	return (x > y) - (x < y);
}

static struct varlena *
skx_am_build_value(SkxBuild *b, const SkxBuildDoc *doc)
{
	struct varlena *value;

	if (!doc->in_file)
		return doc->value;
	value = palloc(doc->size);
	if (BufFileSeek(b->file, doc->fileno, doc->offset, SEEK_SET) != 0 ||
		BufFileRead(b->file, value, doc->size) != doc->size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read temporary file of an index build: %m")));
	return value;
}

/* Adds the documents of the heap page that has been read. */
static void
skx_am_build_flush(SkxBuild *b)
{
	MemoryContext old = CurrentMemoryContext;
	int			i;

	qsort(b->docs, b->ndocs, sizeof(SkxBuildDoc), skx_am_build_compare);
	for (i = 0; i < b->ndocs; i++)
	{
		SkxBuildDoc *doc = &b->docs[i];
		TSVector	value = NULL;

		MemoryContextSwitchTo(b->doc_context);
		if (!doc->isnull)
			value = DatumGetTSVector(PointerGetDatum(skx_am_build_value(b, doc)));
		MemoryContextSwitchTo(old);
		skx_segment_build_add(b->builder, &doc->tid, value);
		MemoryContextReset(b->doc_context);
	}
	b->tuples += b->ndocs;
	b->ndocs = 0;
	b->page_bytes = 0;
	MemoryContextReset(b->page_context);
	if (b->file != NULL)
		BufFileClose(b->file);
	b->file = NULL;
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, b->tuples);
}

/* Keeps a value until its heap page has been read. */
static void
skx_am_build_keep(SkxBuild *b, SkxBuildDoc *doc, struct varlena *value)
{
	doc->size = VARSIZE_ANY(value);
	doc->in_file = b->page_bytes + doc->size > b->page_limit;
	if (!doc->in_file)
	{
		doc->value = MemoryContextAlloc(b->page_context, doc->size);
		memcpy(doc->value, value, doc->size);
		b->page_bytes += doc->size;
		return;
	}
	if (b->file == NULL)
		b->file = BufFileCreateTemp(false);
	BufFileTell(b->file, &doc->fileno, &doc->offset);
	BufFileWrite(b->file, value, doc->size);
}

static void
skx_am_build_callback(Relation index, ItemPointer tid, Datum *values,
					  bool *isnull, bool alive, void *arg)
{
	SkxBuild   *b = arg;
	BlockNumber heap_block = ItemPointerGetBlockNumber(tid);
	MemoryContext old;
	SkxBuildDoc *doc;

	old = MemoryContextSwitchTo(b->page_context->parent);
	if (heap_block != b->heap_block)
	{
		skx_am_build_flush(b);
		b->heap_block = heap_block;
		if (skx_segment_build_full(b->builder))
		{
			skx_am_build_end_segment(b);
			skx_am_build_begin_segment(b);
			pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
										 SKX_SUBPHASE_SCAN);
		}
	}
	if (b->ndocs == lengthof(b->docs))
		elog(ERROR, "too many rows on one page of the table");
	doc = &b->docs[b->ndocs++];
	memset(doc, 0, sizeof(*doc));
	doc->tid = *tid;
	doc->isnull = isnull[0];
	if (!isnull[0])
		skx_am_build_keep(b, doc, (struct varlena *)
						  DatumGetPointer(values[0]));
	MemoryContextSwitchTo(old);
}

/*
 * The whole
 */

static SkxBuild *
skx_am_build_begin(Relation index)
{
	const SkxOptions *reloptions = (const SkxOptions *) index->rd_options;
	SkxBuild   *b = palloc0(sizeof(SkxBuild));
	Size		memory = (Size) maintenance_work_mem * 1024;

	b->index = index;
	b->incarnation = skx_manifest_random();
	b->block_pages = skx_am_block_size(index) / BLCKSZ;
	b->heap_block = InvalidBlockNumber;
	b->page_context = AllocSetContextCreate(CurrentMemoryContext,
											"skipidx build page",
											ALLOCSET_DEFAULT_SIZES);
	b->doc_context = AllocSetContextCreate(CurrentMemoryContext,
										   "skipidx build document",
										   ALLOCSET_DEFAULT_SIZES);
	b->page_limit = memory / 16;
	b->store.allocate = skx_am_build_allocate;
	b->store.give_back = skx_am_build_give_back;
	b->store.write = skx_am_build_write;
	b->store.arg = b;
	b->options.incarnation = b->incarnation;
	b->options.block_size = skx_am_block_size(index);
	b->options.memory = memory - b->page_limit;
	b->options.k1 = reloptions ? reloptions->k1 : SKX_DEFAULT_K1;
	b->options.b = reloptions ? reloptions->b : SKX_DEFAULT_B;
	b->options.store = &b->store;
	b->options.progress = skx_am_build_progress;
	b->segments = palloc(sizeof(SkxDiskSegmentRef));
	b->extents = palloc(sizeof(SkxDiskExtent));
	b->nblocks = TYPEALIGN(b->block_pages, SKX_HEAD_PAGES);
	return b;
}

static int
skx_am_build_segment_order(const void *a, const void *b)
{
	const SkxDiskSegmentRef *x = a;
	const SkxDiskSegmentRef *y = b;

	if (x->ndocs != y->ndocs)
		return x->ndocs > y->ndocs ? -1 : 1;
	return x->segment < y->segment ? -1 : x->segment > y->segment;
}

static int
skx_am_build_extent_order(const void *a, const void *b)
{
	BlockNumber x = ((const SkxDiskExtent *) a)->block;
	BlockNumber y = ((const SkxDiskExtent *) b)->block;

	return (x > y) - (x < y);
}

/* Moves the longest extent from the root to the pool. */
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
 * Pages of the head, whole blocks.  What it does not need of those that were
 * kept for it is free, and may itself need room in the root.
 */
static void
skx_am_build_fit_head(SkxBuild *b, SkxManifestNew *m)
{
	uint32		reserved = TYPEALIGN(b->block_pages, SKX_HEAD_PAGES);
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

/* Writes the head of the file, which names the segments, and syncs it all. */
static void
skx_am_build_head(SkxBuild *b)
{
	SkxManifestNew m = {0};

	m.incarnation = b->incarnation;
	m.block_size = b->options.block_size;
	m.next_segment = b->nsegments + 1;
	m.nsegments = b->nsegments;
	skx_am_build_fit_head(b, &m);
	qsort(b->segments, b->nsegments, sizeof(SkxDiskSegmentRef),
		  skx_am_build_segment_order);
	qsort(b->extents, m.nextents, sizeof(SkxDiskExtent),
		  skx_am_build_extent_order);
	m.nblocks = b->nblocks;
	m.segments = b->segments;
	m.extents = b->extents;
	m.npool = b->npool;
	m.pool = b->pool;
	skx_manifest_create(b->index, &m);
	SKX_FAULT(SKX_FAULT_BUILD_HEAD_WRITTEN);
	skx_blkio_new_sync(b->index);
}

IndexBuildResult *
skxbuild(Relation heap, Relation index, struct IndexInfo *info)
{
	IndexBuildResult *result;
	SkxBuild   *b;
	double		heap_tuples;

	skx_am_check_columns(index);
	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));
	b = skx_am_build_begin(index);
	skx_am_build_begin_segment(b);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 SKX_SUBPHASE_SCAN);
	heap_tuples = table_index_build_scan(heap, index, info, false, true,
										 skx_am_build_callback, b, NULL);
	skx_am_build_flush(b);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, b->tuples);
	skx_am_build_end_segment(b);
	skx_am_build_head(b);
	MemoryContextDelete(b->page_context);
	MemoryContextDelete(b->doc_context);

	result = palloc0(sizeof(IndexBuildResult));
	result->heap_tuples = heap_tuples;
	result->index_tuples = b->tuples;
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
