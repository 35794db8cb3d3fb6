/*
 * writer_plane.c
 *	  The planes of a segment that is being built: from pages to file blocks.
 *
 * A plane takes whole blocks from the store, in allocations that grow with it,
 * and maps its ordinals to them in runs.  The block that is being filled has
 * no place yet, because only the end shows whether it is the last, partial
 * one.  Then the partial blocks of all planes are laid side by side, so that a
 * tiny segment takes one block.  A page of an earlier block that comes late is
 * written on its own.
 *
 * Nothing is assumed of what the file holds: every page of the planes' runs is
 * written, and allocated pages that are in no run are given back.
 *
 * Finished pages are sealed here, and written in batches of consecutive ones.
 */
#include "postgres.h"

#include "write/writer/writer.h"

/*
 * Largest allocation: SKX_PLANE_ALLOC_BLOCKS blocks, or as many as make up 1
 * MB if these are more.
 */
#define SKX_PLANE_ALLOC_BLOCKS	8
#define SKX_PLANE_ALLOC_PAGES	(1024 * 1024 / BLCKSZ)

#define SKX_PAGE_SLAB_PAGES		16

/* Most pages that are written together. */
#define SKX_PLANE_BATCH_PAGES		16

/* What the planes of one segment share, page buffers included. */
typedef struct SkxSegmentSpace
{
	MemoryContext context;
	const SkxSegmentStore *store;
	uint64		incarnation;
	uint32		segment;
	uint32		block_pages;
	char	  **free_buffers;	/* page buffers not in use */
	int			nfree_buffers;
	int			spare_size;
} SkxSegmentSpace;

/*
 * A plane that grows page by page.  The pages that are put form a stretch of
 * it, which starts at `base` and whose pages are numbered from 0.  There is
 * only one stretch unless several processes write the plane.
 */
typedef struct SkxPlaneWriter
{
	SkxSegmentSpace *space;
	uint8		plane;
	uint32		base;
	uint32		npages;			/* largest ordinal put, plus one */
	uint32		nput;			/* pages put; equal to npages in the end */
	SkxDiskRun *runs;
	int			nruns;
	int			runs_size;
	uint32		allocated;		/* blocks */
	BlockNumber next_block;		/* next block of the last allocation */
	uint32		blocks_left;	/* blocks of it that are left */
	uint32		block;			/* number of the block being filled */
	char	  **pages;			/* its pages; NULL if not put yet */
	char	   *batch[SKX_PLANE_BATCH_PAGES];
	BlockNumber batch_at;
	int			nbatch;
	bool		is_placed;		/* skx_writer_planes_place() has ended it */
} SkxPlaneWriter;

static char *
skx_writer_buffer_get(SkxSegmentSpace *space)
{
	if (space->nfree_buffers == 0)
	{
		char	   *slab = MemoryContextAlloc(space->context,
											  SKX_PAGE_SLAB_PAGES * BLCKSZ +
											  SKX_IO_ALIGN);
		int			i;

		space->spare_size += SKX_PAGE_SLAB_PAGES;
		if (space->free_buffers == NULL)
			space->free_buffers = MemoryContextAlloc(space->context,
													 space->spare_size *
													 sizeof(char *));
		else
			space->free_buffers = repalloc(space->free_buffers,
										   space->spare_size * sizeof(char *));
		slab = (char *) TYPEALIGN(SKX_IO_ALIGN, slab);
		for (i = 0; i < SKX_PAGE_SLAB_PAGES; i++)
			space->free_buffers[space->nfree_buffers++] = slab + i * BLCKSZ;
	}
	return space->free_buffers[--space->nfree_buffers];
}

static void
skx_writer_buffer_put(SkxSegmentSpace *space, char *page)
{
	Assert(space->nfree_buffers < space->spare_size);
	space->free_buffers[space->nfree_buffers++] = page;
}

static SkxPlaneWriter *
skx_writer_plane_begin(SkxSegmentSpace *space, uint8 kind)
{
	SkxPlaneWriter *plane = palloc0(sizeof(SkxPlaneWriter));

	plane->space = space;
	plane->plane = kind;
	plane->runs_size = 16;
	plane->runs = palloc(plane->runs_size * sizeof(SkxDiskRun));
	plane->pages = palloc0(space->block_pages * sizeof(char *));
	return plane;
}

void
skx_writer_planes_begin(SkxPlaneWriter **planes, int nplanes,
						const SkxSegmentBuildOptions *options)
{
	SkxSegmentSpace *space = palloc0(sizeof(SkxSegmentSpace));
	int			i;

	space->context = CurrentMemoryContext;
	space->store = options->store;
	space->incarnation = options->incarnation;
	space->segment = options->segment;
	space->block_pages = options->block_size / BLCKSZ;
	for (i = 0; i < nplanes; i++)
		planes[i] = skx_writer_plane_begin(space, skx_disk_plane_ids[i]);
}

static void
skx_writer_plane_flush(SkxPlaneWriter *plane)
{
	SkxSegmentSpace *space = plane->space;
	int			i;

	if (plane->nbatch == 0)
		return;
	space->store->write(space->store->arg, plane->batch_at, plane->batch,
						plane->nbatch);
	for (i = 0; i < plane->nbatch; i++)
		skx_writer_buffer_put(space, plane->batch[i]);
	plane->nbatch = 0;
}

/* Queues a sealed page for file block `at`. */
static void
skx_writer_plane_write(SkxPlaneWriter *plane, BlockNumber at, char *page)
{
	if (plane->nbatch == SKX_PLANE_BATCH_PAGES ||
		(plane->nbatch > 0 && at != plane->batch_at + plane->nbatch))
		skx_writer_plane_flush(plane);
	if (plane->nbatch == 0)
		plane->batch_at = at;
	plane->batch[plane->nbatch++] = page;
	if (plane->nbatch == SKX_PLANE_BATCH_PAGES)
		skx_writer_plane_flush(plane);
}

static void
skx_writer_plane_add_run(SkxPlaneWriter *plane, uint32 first, uint32 npages,
						 BlockNumber at)
{
	SkxDiskRun *run = plane->nruns > 0 ? &plane->runs[plane->nruns - 1] : NULL;

	first += plane->base;
	if (run != NULL && run->block + run->npages == at &&
		run->first + run->npages == first)
	{
		run->npages += npages;
		return;
	}
	if (plane->nruns == plane->runs_size)
	{
		plane->runs_size *= 2;
		plane->runs = repalloc(plane->runs,
							   plane->runs_size * sizeof(SkxDiskRun));
	}
	run = &plane->runs[plane->nruns++];
	run->first = first;
	run->npages = npages;
	run->block = at;
}

/* Returns the place in the file of the plane's next block. */
static BlockNumber
skx_writer_plane_next_block(SkxPlaneWriter *plane)
{
	SkxSegmentSpace *space = plane->space;
	BlockNumber at;

	if (plane->blocks_left == 0)
	{
		uint32		most = Max(SKX_PLANE_ALLOC_BLOCKS,
							   SKX_PLANE_ALLOC_PAGES / space->block_pages);

		plane->blocks_left = Min(Max(plane->allocated / 32, 1), most);
		plane->next_block = space->store->allocate(space->store->arg,
												   plane->blocks_left);
		plane->allocated += plane->blocks_left;
	}
	at = plane->next_block;
	plane->next_block += space->block_pages;
	plane->blocks_left--;
	return at;
}

/*
 * Places the block being filled, which is whole or at least not the last one.
 */
static void
skx_writer_plane_block_end(SkxPlaneWriter *plane)
{
	uint32		block_pages = plane->space->block_pages;
	BlockNumber at = skx_writer_plane_next_block(plane);
	uint32		i;

	skx_writer_plane_add_run(plane, plane->block * block_pages, block_pages,
							 at);
	for (i = 0; i < block_pages; i++)
	{
		if (plane->pages[i] != NULL)
			skx_writer_plane_write(plane, at + i, plane->pages[i]);
		plane->pages[i] = NULL;
	}
	plane->block++;
}

/*
 * Returns the file block of a page in an earlier block than the one being
 * filled.
 */
static BlockNumber
skx_writer_plane_block_of(const SkxPlaneWriter *plane, uint32 ordinal)
{
	int			i;

	/* late pages are among the newest, so the search starts at the end */
	ordinal += plane->base;
	for (i = plane->nruns - 1; i > 0 && plane->runs[i].first > ordinal; i--)
		 /* keep looking */ ;
	return plane->runs[i].block + (ordinal - plane->runs[i].first);
}

/* Returns a sealed copy of the content of `from`. */
static char *
skx_writer_plane_seal(SkxPlaneWriter *plane, uint32 ordinal,
					  const char *from, uint32 used)
{
	SkxPageIdentity id;
	char	   *page = skx_writer_buffer_get(plane->space);

	id.incarnation = plane->space->incarnation;
	id.segment = plane->space->segment;
	id.plane = plane->plane;
	id.ordinal = plane->base + ordinal;
	skx_disk_page_init(page, &id);
	memcpy(page + SKX_PAGE_START, from + SKX_PAGE_START, used);
	skx_disk_page_seal(page, used);
	return page;
}

void
skx_writer_plane_put(void *arg, uint32 ordinal, char *page, uint32 used)
{
	SkxPlaneWriter *plane = arg;
	uint32		block_pages = plane->space->block_pages;
	char	   *sealed = skx_writer_plane_seal(plane, ordinal, page, used);
	const SkxSegmentStore *store = plane->space->store;

	if (store->filled != NULL)
		store->filled(store->arg, plane->plane, plane->base + ordinal);
	plane->npages = Max(plane->npages, ordinal + 1);
	plane->nput++;
	if (ordinal / block_pages < plane->block)
	{
		skx_writer_plane_write(plane,
							   skx_writer_plane_block_of(plane, ordinal),
							   sealed);
		return;
	}
	while (ordinal / block_pages > plane->block)
		skx_writer_plane_block_end(plane);
	Assert(plane->pages[ordinal % block_pages] == NULL);
	plane->pages[ordinal % block_pages] = sealed;
}

void
skx_writer_plane_put_zeros(SkxPlaneWriter *plane, uint32 npages, uint32 used,
						   const void *first, uint32 nfirst)
{
	SkxSegmentSpace *space = plane->space;
	SkxPageIdentity id = {space->incarnation, space->segment, 0, plane->plane};

	Assert(plane->npages == 0);
	plane->npages = npages;
	plane->nput = npages;
	for (id.ordinal = 0; id.ordinal < npages; id.ordinal++)
	{
		char	   *page = skx_writer_buffer_get(space);

		skx_disk_page_init(page, &id);
		((PageHeader) page)->pd_lower += used;
		if (id.ordinal == 0)
			memcpy(page + SKX_PAGE_START, first, nfirst);
		if (id.ordinal / space->block_pages > plane->block)
			skx_writer_plane_block_end(plane);
		plane->pages[id.ordinal % space->block_pages] = page;
	}
}

/* Returns the number of pages of the last block if it is partial, else 0. */
static uint32
skx_writer_plane_tail(const SkxPlaneWriter *plane)
{
	return plane->is_placed ? 0 : plane->npages % plane->space->block_pages;
}

/* Places all whole blocks. */
static void
skx_writer_plane_place_blocks(SkxPlaneWriter *plane)
{
	/* a missing page would keep what the file has there */
	if (plane->nput != plane->npages)
		elog(ERROR, "pages of a segment are missing");
	if (skx_writer_plane_tail(plane) == 0 &&
		plane->block < plane->npages / plane->space->block_pages)
		skx_writer_plane_block_end(plane);
	skx_writer_plane_flush(plane);
}

/*
 * Places all whole blocks, and gives back blocks that are allocated and
 * unused.
 */
static void
skx_writer_plane_end(SkxPlaneWriter *plane)
{
	SkxSegmentSpace *space = plane->space;

	skx_writer_plane_place_blocks(plane);
	if (plane->blocks_left > 0)
		space->store->give_back(space->store->arg, plane->next_block,
								plane->blocks_left * space->block_pages);
	plane->blocks_left = 0;
}

/*
 * Stretches of a plane
 */

void
skx_writer_fragment_begin(SkxPlaneWriter *plane, uint32 base)
{
	plane->base = base;
	plane->npages = 0;
	plane->nput = 0;
	plane->block = 0;
}

int
skx_writer_fragment_end(SkxPlaneWriter *plane, SkxPlaneTail *tail)
{
	uint32		n;

	skx_writer_plane_place_blocks(plane);
	n = skx_writer_plane_tail(plane);
	tail->first = plane->base + plane->npages - n;
	tail->pages = plane->pages;
	return n;
}

void
skx_writer_fragment_free_tail(SkxPlaneWriter *plane)
{
	uint32		n = skx_writer_plane_tail(plane);
	uint32		i;

	for (i = 0; i < n; i++)
	{
		skx_writer_buffer_put(plane->space, plane->pages[i]);
		plane->pages[i] = NULL;
	}
}

void
skx_writer_fragments_end(SkxPlaneWriter *plane, SkxPlaneFragments *all)
{
	all->runs = plane->runs;
	all->nruns = plane->nruns;
	all->unused = plane->next_block;
	all->nunused = plane->blocks_left * plane->space->block_pages;
	plane->blocks_left = 0;
}

static int
skx_writer_run_order(const void *a, const void *b)
{
	uint32		x = ((const SkxDiskRun *) a)->first;
	uint32		y = ((const SkxDiskRun *) b)->first;

	return (x > y) - (x < y);
}

void
skx_writer_plane_begin_from(SkxPlaneWriter *plane, SkxDiskRun *runs, int nruns)
{
	int			i;

	Assert(plane->nruns == 0 && plane->npages == 0);
	qsort(runs, nruns, sizeof(SkxDiskRun), skx_writer_run_order);
	for (i = 0; i < nruns; i++)
	{
		if (runs[i].first != plane->base)
			elog(ERROR, "pages of a segment are missing");
		skx_writer_plane_add_run(plane, 0, runs[i].npages, runs[i].block);
		plane->base += runs[i].npages;
	}
}

/*
 * Finds a place for npages pages in the blocks of tails: the first block that
 * they fit into as a whole.  The array fill has the number of pages taken of
 * each block.  Returns the number of the first page, counted from the first
 * block.
 */
static uint32
skx_writer_plane_fit_tail(uint32 *fill, uint32 npages, uint32 block_pages)
{
	uint32		block = 0;
	uint32		at;

	while (fill[block] + npages > block_pages)
		block++;
	at = block * block_pages + fill[block];
	fill[block] += npages;
	return at;
}

/* Writes the pages of a partial last block to file block `at`. */
static void
skx_writer_plane_tail_write(SkxPlaneWriter *plane, BlockNumber at)
{
	uint32		npages = skx_writer_plane_tail(plane);
	uint32		i;

	skx_writer_plane_add_run(plane, plane->npages - npages, npages, at);
	for (i = 0; i < npages; i++)
	{
		if (plane->pages[i] != NULL)
			skx_writer_plane_write(plane, at + i, plane->pages[i]);
		plane->pages[i] = NULL;
	}
	skx_writer_plane_flush(plane);
}

/*
 * Fills in planes and nruns of a header.  Returns all runs, palloc'd, behind
 * `before` bytes.  A plane that a segment need not have, and has not, is 0.
 */
static char *
skx_writer_header_runs(SkxPlaneWriter **planes, int nplanes,
					   SkxDiskSegment *header, Size before)
{
	uint32		nruns = 0;
	char	   *bytes;
	SkxDiskRun *runs;
	int			i;

	for (i = 0; i < nplanes; i++)
	{
		if (i >= SKX_SEGMENT_PREFIXES && planes[i]->nruns == 0)
			continue;
		header->planes[i].npages = planes[i]->base + planes[i]->npages;
		header->planes[i].first_run = nruns;
		header->planes[i].nruns = planes[i]->nruns;
		nruns += planes[i]->nruns;
	}
	header->nruns = nruns;
	bytes = palloc0(before + (nruns + 1) * sizeof(SkxDiskRun));
	runs = (SkxDiskRun *) (bytes + before);
	for (i = 0; i < nplanes; i++)
	{
		memcpy(runs, planes[i]->runs, planes[i]->nruns * sizeof(SkxDiskRun));
		runs += planes[i]->nruns;
	}
	return bytes;
}

/* Writes header and runs, as a byte stream, to file blocks from `at` on. */
static void
skx_writer_header_write(SkxPlaneWriter **planes, int nplanes,
						SkxDiskSegment *header, BlockNumber at)
{
	SkxPlaneWriter *stream = skx_writer_plane_begin(planes[0]->space,
													SKX_PLANE_HEADER);
	char	   *bytes = skx_writer_header_runs(planes, nplanes, header,
											   SKX_PAGE_START +
											   sizeof(SkxDiskSegment));
	Size		size = sizeof(SkxDiskSegment) +
		header->nruns * sizeof(SkxDiskRun);
	uint32		i;

	memcpy(bytes + SKX_PAGE_START, header, sizeof(SkxDiskSegment));
	for (i = 0; i * SKX_PAGE_CAPACITY < size; i++)
	{
		Size		done = i * SKX_PAGE_CAPACITY;
		char	   *page = skx_writer_plane_seal(stream, i, bytes + done,
												 Min(size - done,
													 SKX_PAGE_CAPACITY));

		skx_writer_plane_write(stream, at + i, page);
	}
	skx_writer_plane_flush(stream);
	pfree(bytes);
	pfree(stream);
}

/*
 * Finds places for the tails in blocks of their own.  Plane i gets places[i],
 * in pages from the first block.  Returns the number of pages up to the end of
 * the last tail.
 */
static uint32
skx_writer_tails_place(SkxPlaneWriter **planes, int nplanes,
					   uint32 *places, uint32 *fill)
{
	uint32		block_pages = planes[0]->space->block_pages;
	uint32		total = 0;
	int			i;

	for (i = 0; i < nplanes; i++)
	{
		uint32		tail = skx_writer_plane_tail(planes[i]);

		if (tail == 0)
			continue;
		places[i] = skx_writer_plane_fit_tail(fill, tail, block_pages);
		total = Max(total, places[i] + tail);
	}
	return total;
}

/*
 * Gives back the pages that neither tails nor the header take of nblocks
 * blocks at `at`.  The header ends at page `total`; the tails end at page
 * `tails`, and fill[] has the pages that they take of each block.
 */
static void
skx_writer_tails_give_back(SkxSegmentSpace *space, BlockNumber at,
						   uint32 nblocks, const uint32 *fill, uint32 tails,
						   uint32 total)
{
	const SkxSegmentStore *store = space->store;
	uint32		block_pages = space->block_pages;
	uint32		block;

	for (block = 0; (block + 1) * block_pages < tails; block++)
	{
		if (fill[block] < block_pages)
			store->give_back(store->arg,
							 at + block * block_pages + fill[block],
							 block_pages - fill[block]);
	}
	if (total < nblocks * block_pages)
		store->give_back(store->arg, at + total,
						 nblocks * block_pages - total);
}

/*
 * Writes the tails of planes that have ended to new blocks.  Returns the first
 * of `more` pages behind them.
 */
static BlockNumber
skx_writer_tails_write(SkxPlaneWriter **planes, int nplanes, uint32 more)
{
	SkxSegmentSpace *space = planes[0]->space;
	uint32		block_pages = space->block_pages;
	uint32	   *fill = palloc0((nplanes + 1) * sizeof(uint32));
	uint32	   *places = palloc0(nplanes * sizeof(uint32));
	uint32		tails = skx_writer_tails_place(planes, nplanes, places, fill);
	uint32		nblocks = (tails + more + block_pages - 1) / block_pages;
	BlockNumber at = 0;
	int			i;

	if (nblocks > 0)
		at = space->store->allocate(space->store->arg, nblocks);
	for (i = 0; i < nplanes; i++)
	{
		if (skx_writer_plane_tail(planes[i]) > 0)
			skx_writer_plane_tail_write(planes[i], at + places[i]);
		planes[i]->is_placed = true;
	}
	skx_writer_tails_give_back(space, at, nblocks, fill, tails, tails + more);
	pfree(fill);
	pfree(places);
	return at + tails;
}

SkxDiskRun *
skx_writer_planes_place(SkxPlaneWriter **planes, int nplanes,
						SkxDiskSegment *header)
{
	uint32		nruns = 0;
	int			i;

	for (i = 0; i < nplanes; i++)
	{
		skx_writer_plane_end(planes[i]);
		nruns += planes[i]->nruns + 1;
	}
	if (nruns > PG_UINT16_MAX)
		return NULL;
	(void) skx_writer_tails_write(planes, nplanes, 0);
	return (SkxDiskRun *) skx_writer_header_runs(planes, nplanes, header, 0);
}

void
skx_writer_planes_finish(SkxPlaneWriter **planes, int nplanes,
						 SkxDiskSegment *header, SkxDiskSegmentRef *ref)
{
	SkxSegmentSpace *space = planes[0]->space;
	uint32		nruns = 0;
	Size		size;
	int			i;

	ref->npages = 0;
	for (i = 0; i < nplanes; i++)
	{
		skx_writer_plane_end(planes[i]);
		nruns += planes[i]->nruns +
			(skx_writer_plane_tail(planes[i]) > 0 ? 1 : 0);
		ref->npages += planes[i]->base + planes[i]->npages;
	}
	if (nruns > PG_UINT16_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("segment has too many parts for blocks of %u pages",
						space->block_pages),
				 errhint("Increase the index's block_size.")));
	size = sizeof(SkxDiskSegment) + nruns * sizeof(SkxDiskRun);
	ref->header_pages = (size + SKX_PAGE_CAPACITY - 1) / SKX_PAGE_CAPACITY;
	ref->header = skx_writer_tails_write(planes, nplanes, ref->header_pages);
	ref->npages += ref->header_pages;
	skx_writer_header_write(planes, nplanes, header, ref->header);
}
