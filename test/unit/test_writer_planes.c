/*
 * test_writer_planes.c
 *	  Where the pages of planes go, and are found, when there are more than
 *	  4 GB of them and blocks past 2^31; and when a build ends a segment.
 *
 * What comes before in a plane are pages that it has from elsewhere.  The file
 * is a list of what was written.
 *
 * Holds: writer 2, 4
 */
#include "unit.h"
#include "server.h"
#include "unit_raise.h"

#include "access/htup_details.h"
#include "support/damage/damage.h"
#include "format/disk/disk_check.h"
#include "write/writer/writer.h"
#include "utils/rel.h"

#define DOCS		((uint32) SKX_DOC_MAX + 1)
#define GROUPS		(DOCS / SKX_TID_GROUP_DOCS)
#define MOST		4096
#define PAGES		101			/* of each plane that is put here */

MemoryContext CurrentMemoryContext;

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	return malloc(size);
}

/* ---- the file ---- */

typedef struct Written
{
	BlockNumber block;
	uint32		ordinal;
	uint8		plane;
} Written;

static Written written[MOST];
static int	nwritten;
static char stream[16 * BLCKSZ];	/* the header */
static uint32 header_pages;
static BlockNumber next_block;
static BlockNumber first_block;
static uint32 block_pages;
static uint32 given_back;

static BlockNumber
allocate(void *arg, uint32 nblocks)
{
	BlockNumber block = next_block;
	uint64		end = (uint64) block + (uint64) nblocks * block_pages;

	CHECK(end <= MaxBlockNumber);
	next_block = (BlockNumber) end;
	return block;
}

static void
give_back(void *arg, BlockNumber block, uint32 npages)
{
	CHECK(block >= first_block && block < next_block);
	CHECK(npages > 0 && npages <= next_block - block);
	given_back += npages;
}

static void
write_pages(void *arg, BlockNumber block, char **pages, int npages)
{
	int			i;

	for (i = 0; i < npages; i++)
	{
		const SkxDiskTrailer *trailer = skx_disk_trailer(pages[i]);
		Written    *w = &written[nwritten++];

		CHECK(nwritten <= MOST);
		CHECK(block + i >= first_block && block + i < next_block);
		w->block = block + i;
		w->ordinal = trailer->ordinal;
		w->plane = trailer->plane;
		if (w->plane != SKX_PLANE_HEADER)
			continue;
		memcpy(stream + w->ordinal * SKX_PAGE_CAPACITY,
			   pages[i] + SKX_PAGE_START, SKX_PAGE_CAPACITY);
		header_pages = Max(header_pages, w->ordinal + 1);
	}
}

static const SkxSegmentStore store = {
	.allocate = allocate,
	.give_back = give_back,
	.write = write_pages
};

/* ---- a segment ---- */

static SkxPlaneWriter *planes[SKX_SEGMENT_NPLANES];
static SkxDiskSegment header;
static SkxDiskSegmentRef ref;

/* Where the second run of so many pages begins: past 2^31 if it can. */
static uint32
cut(uint32 npages)
{
	return npages / 8 * 5 / block_pages * block_pages;
}

/* Pages 0 .. npages - 1 of a plane lie at a block, the second run first. */
static void
adopt(int plane, uint32 npages, BlockNumber block)
{
	uint32		second = cut(npages);
	SkxDiskRun	runs[2] = {{second, npages - second, block},
	{0, second, block + npages - second}};

	skx_writer_plane_begin_from(planes[plane], runs, 2);
}

static void
begin(BlockNumber start, uint32 block, uint32 base)
{
	SkxSegmentBuildOptions options = {0};

	nwritten = 0;
	header_pages = 0;
	given_back = 0;
	block_pages = block;
	first_block = next_block = start / block * block;
	options.incarnation = 1;
	options.segment = 9;
	options.block_size = block_pages * BLCKSZ;
	options.store = &store;
	skx_writer_planes_begin(planes, SKX_SEGMENT_NPLANES, &options);
	adopt(SKX_SEGMENT_TIDS, GROUPS + (GROUPS + SKX_TID_DIRECTORY - 1) /
		  SKX_TID_DIRECTORY, block_pages);
	adopt(SKX_SEGMENT_NORMS, (DOCS + SKX_NORMS_PER_PAGE - 1) /
		  SKX_NORMS_PER_PAGE, block_pages);
	adopt(SKX_SEGMENT_DELETES, (DOCS + SKX_DELETES_PER_PAGE - 1) /
		  SKX_DELETES_PER_PAGE, block_pages);
	adopt(SKX_SEGMENT_DICT, base, block_pages);
	adopt(SKX_SEGMENT_POSTINGS, base / block * block, block_pages);
	adopt(SKX_SEGMENT_POSITIONS, base, block_pages);
}

static void
finish(uint32 base)
{
	memset(&header, 0, sizeof(header));
	skx_disk_format_of(SKX_RELEASE, SKX_FORMAT_NEWEST, &header.format);
	header.salt = 1;
	header.segment = 9;
	header.block_size = block_pages * BLCKSZ;
	header.ndocs = DOCS;
	header.tid_pages = GROUPS;
	header.nterms = 1;
	header.dict_root = base + PAGES - 1;
	skx_writer_planes_finish(planes, SKX_SEGMENT_NPLANES, &header, &ref);
}

/* What a reader is told of a plane. */
static void
lay_out(int which, SkxBlkPlane *plane)
{
	const SkxDiskPlane *disk =
		&((const SkxDiskSegment *) stream)->planes[which];

	memset(plane, 0, sizeof(*plane));
	StaticAssertStmt(sizeof(SkxBlkRun) == sizeof(SkxDiskRun), "same runs");
	plane->npages = disk->npages;
	plane->nruns = disk->nruns;
	plane->runs = (const SkxBlkRun *) (stream + sizeof(SkxDiskSegment)) +
		disk->first_run;
}

static void
test_planes(BlockNumber start, uint32 block, uint32 base)
{
	static const int put[] = {SKX_SEGMENT_DICT, SKX_SEGMENT_POSTINGS,
	SKX_SEGMENT_POSITIONS};
	static FormData_pg_class class;
	static RelationData relation;
	char		page[BLCKSZ] = {0};
	SkxBlkPlane plane;
	uint64		npages;
	int			i;
	int			k;

	relation.rd_rel = &class;
	base = base / block * block;
	begin(start, block, base);
	for (i = 0; i < PAGES; i++)
		for (k = 0; k < (int) lengthof(put); k++)
			skx_writer_plane_put(planes[put[k]], i, page, 100);
	finish(base);

	CHECK(skx_disk_check_segment(stream, sizeof(SkxDiskSegment) +
								   header.nruns * sizeof(SkxDiskRun), 9,
								   MaxBlockNumber) == NULL);
	CHECK(nwritten == 3 * PAGES + (int) header_pages);
	CHECK(ref.header_pages == header_pages);
	CHECK(next_block - first_block == nwritten + given_back);
	npages = header_pages;
	for (i = 0; i < SKX_SEGMENT_NPLANES; i++)
	{
		lay_out(i, &plane);
		npages += plane.npages;
		for (k = 0; k < nwritten; k++)
			if (written[k].plane == skx_disk_plane_ids[i])
				CHECK(skx_blkio_block(&relation, &plane, written[k].ordinal) ==
					  written[k].block);
		CHECK(RAISED(skx_blkio_block(&relation, &plane, plane.npages)) ==
			  ERRCODE_INDEX_CORRUPTED);
		CHECK(RAISED(skx_blkio_block(&relation, &plane, PG_UINT32_MAX)) ==
			  ERRCODE_INDEX_CORRUPTED);
	}
	CHECK(ref.npages == npages);

	/* of what came before, the second run is first in the file */
	lay_out(SKX_SEGMENT_POSITIONS, &plane);
	CHECK(plane.npages == base + PAGES);
	CHECK(skx_blkio_block(&relation, &plane, cut(base)) == block);
	CHECK(skx_blkio_block(&relation, &plane, base - 1) ==
		  block + (base - 1 - cut(base)));
	CHECK(skx_blkio_block(&relation, &plane, 0) == block + (base - cut(base)));
}

/* With a page of the table more, all documents have numbers. */
static void
test_enough(void)
{
	uint64		most = 0;
	uint64		step;

	for (step = UINT64CONST(1) << 40; step > 0; step /= 2)
		if (!skx_writer_segment_is_full(most + step, 0))
			most += step;
	CHECK(most < SKX_SEGMENT_DOCS_MAX);
	CHECK(most + MaxHeapTuplesPerPage <= SKX_DOC_MAX);
	CHECK(most > SKX_DOC_MAX - (1 << 20));
	CHECK(!skx_writer_segment_is_full(0, UINT64CONST(1) << 32));
	CHECK(skx_writer_segment_is_full(0, UINT64CONST(1) << 34));
	CHECK(skx_writer_segment_is_full(0, PG_UINT64_MAX));
}

int
main(void)
{
	static const BlockNumber starts[] = {1 << 17, 0x7FFFFFC0,
	MaxBlockNumber - 700};
	static const uint32 bases[] = {1 << 19, 0x7FFFFFC0, MaxBlockNumber - 600};
	static const uint32 sizes[] = {1, 4, 32};
	int			i;
	int			k;
	int			b;

	unit_seed(9);
	for (i = 0; i < (int) lengthof(starts); i++)
		for (k = 0; k < (int) lengthof(bases); k++)
			for (b = 0; b < (int) lengthof(sizes); b++)
				test_planes(starts[i], sizes[b], bases[k]);
	test_enough();
	return unit_done("writer_planes");
}
