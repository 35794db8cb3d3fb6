/*
 * blkio_cache_shmem.c
 *	  The cache as pieces of memory: sizes, initial contents, addresses.
 *
 * Half of the space goes to frames of 4 pages and half to frames of one page.
 * Long posting lists use the first kind.  Dictionary, documents and positions
 * use the second.  So neither can evict the other.  The memory may be mapped
 * at a different address in each process, so it contains offsets and numbers
 * of frames, no pointers.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "storage/blkio/blkio_cache.h"

SkxBlkCache skx_blkio_cache;

/* Least size of the cache; below it the clock has too few frames. */
#define SKX_BLK_MIN_BYTES		((Size) 1024 * 1024)

static void
skx_blkio_cache_split(Size bytes, uint32 *nframes)
{
	nframes[SKX_BLK_CLASS_BLOCK] = bytes / 2 / (SKX_BLK_FRAME_PAGES * BLCKSZ);
	nframes[SKX_BLK_CLASS_PAGE] = bytes / 2 / BLCKSZ;
}

void
skx_blkio_cache_divide(Size bytes, bool whole, SkxBlkDivision *division)
{
	Size		piece = (Size) SKX_BLK_PIECE_MB * 1024 * 1024;
	Size		first;
	Size		rest;
	uint32		n;

	memset(division, 0, sizeof(*division));
	bytes = Max(bytes, SKX_BLK_MIN_BYTES);
	first = whole ? bytes : Min(bytes, piece);
	skx_blkio_cache_split(first, division->first_frames);
	division->npieces = 1;
	rest = bytes - first;
	if (rest == 0)
		return;
	n = Max(Min(rest / piece, SKX_BLK_PIECES - 1), 1);

	/* every further piece has as many pages of one class as of the other */
	skx_blkio_cache_split(TYPEALIGN(2 * SKX_BLK_FRAME_PAGES * BLCKSZ,
									rest / n), division->piece_frames);
	division->npieces += n;
}

/*
 * Computes the layout of a piece at address `memory` whose frames begin after
 * `offset` bytes.
 */
static void
skx_blkio_cache_lay_out(uintptr_t memory, Size offset, const uint32 *nframes,
						SkxBlkLayout *layout)
{
	uintptr_t	at = TYPEALIGN(SKX_BLK_FRAME_SIZE, memory + offset);

	layout->frames = at - memory;
	at += ((Size) nframes[SKX_BLK_CLASS_BLOCK] +
		   nframes[SKX_BLK_CLASS_PAGE]) * sizeof(SkxBlkFramePadded);
	at = TYPEALIGN(SKX_IO_ALIGN, at);
	layout->pages[SKX_BLK_CLASS_BLOCK] = at - memory;
	layout->pages[SKX_BLK_CLASS_PAGE] = layout->pages[SKX_BLK_CLASS_BLOCK] +
		(Size) nframes[SKX_BLK_CLASS_BLOCK] * SKX_BLK_FRAME_PAGES * BLCKSZ;
	layout->end = layout->pages[SKX_BLK_CLASS_PAGE] +
		(Size) nframes[SKX_BLK_CLASS_PAGE] * BLCKSZ;
}

static uint32
skx_blkio_cache_nbuckets(const SkxBlkDivision *division)
{
	uint32		frames = 0;

	for (int i = 0; i < SKX_BLK_NCLASSES; i++)
		frames += division->first_frames[i] +
			(division->npieces - 1) * division->piece_frames[i];
	return pg_nextpower2_32(Max(frames, SKX_BLK_PARTITIONS));
}

/* Returns the bytes before the frames of the first piece. */
static Size
skx_blkio_cache_head_size(const SkxBlkDivision *division)
{
	return MAXALIGN(sizeof(SkxBlkCacheHeader)) +
		SKX_COMPAT_BACKEND_SLOTS() * sizeof(pg_atomic_uint64) +
		MAXALIGN(skx_blkio_cache_nbuckets(division) * sizeof(int32));
}

/*
 * The sum includes the most that alignment can take, since the memory may
 * begin anywhere.
 */
Size
skx_blkio_cache_first_size(const SkxBlkDivision *division)
{
	SkxBlkLayout layout;

	skx_blkio_cache_lay_out(0, skx_blkio_cache_head_size(division),
							division->first_frames, &layout);
	return layout.end + SKX_BLK_FRAME_SIZE + SKX_IO_ALIGN;
}

Size
skx_blkio_cache_more_size(const SkxBlkDivision *division)
{
	SkxBlkLayout layout;

	skx_blkio_cache_lay_out(0, 0, division->piece_frames, &layout);
	return layout.end + SKX_BLK_FRAME_SIZE + SKX_IO_ALIGN;
}

Size
skx_blkio_cache_total_size(const SkxBlkDivision *division)
{
	return skx_blkio_cache_first_size(division) +
		(division->npieces - 1) * skx_blkio_cache_more_size(division);
}

static void
skx_blkio_cache_format_depth(SkxBlkCacheHeader *header)
{
	pg_atomic_uint64 *depths =
		(pg_atomic_uint64 *) ((char *) header + header->depths);

	pg_atomic_init_u32(&header->depth_in_use, 0);
	pg_atomic_init_u32(&header->depth_waiters, 0);
	ConditionVariableInit(&header->depth_cv);
	for (uint32 i = 0; i < header->ndepths; i++)
		pg_atomic_init_u64(&depths[i], 0);
}

static void
skx_blkio_cache_format_frames(void *memory, const SkxBlkLayout *layout,
							  const uint32 *nframes)
{
	SkxBlkFramePadded *frames =
		(SkxBlkFramePadded *) ((char *) memory + layout->frames);
	uint32		n = nframes[SKX_BLK_CLASS_BLOCK] +
		nframes[SKX_BLK_CLASS_PAGE];

	for (uint32 i = 0; i < n; i++)
	{
		pg_atomic_init_u64(&frames[i].frame.state, 0);
		frames[i].frame.next = -1;
		ConditionVariableInit(&frames[i].frame.load_cv);
	}
}

void
skx_blkio_paths_format(SkxBlkPathEntry *table, int n)
{
	for (int i = 0; i < n; i++)
	{
		pg_atomic_init_u64(&table[i].answer, 0);
		pg_atomic_init_u64(&table[i].incarnation, 0);
		pg_atomic_init_u64(&table[i].index, 0);
	}
}

/*
 * Shared memory is mapped at page boundaries, so what is aligned in this
 * process is aligned in every process.
 */
void
skx_blkio_cache_format(SkxBlkCacheHeader *header,
					   const SkxBlkDivision *division, int tranche)
{
	Size		offset = MAXALIGN(sizeof(SkxBlkCacheHeader));
	int32	   *buckets;

	header->kind = SKX_BLK_CACHE_KIND;
	header->division = *division;
	pg_atomic_init_u32(&header->max_pieces, division->npieces);
	pg_atomic_init_u32(&header->npieces, 1);
	header->ndepths = SKX_COMPAT_BACKEND_SLOTS();
	header->depths = offset;
	offset += header->ndepths * sizeof(pg_atomic_uint64);
	header->nbuckets = skx_blkio_cache_nbuckets(division);
	header->buckets = offset;
	skx_blkio_cache_lay_out((uintptr_t) header,
							skx_blkio_cache_head_size(division),
							division->first_frames, &header->layout);
	Assert(header->layout.end <= skx_blkio_cache_first_size(division));

	pg_atomic_init_u64(&header->evictions, 0);
	for (int i = 0; i < SKX_BLK_NCLASSES; i++)
		pg_atomic_init_u32(&header->clock_hands[i], 0);
	for (int i = 0; i < SKX_BLK_PARTITIONS; i++)
		LWLockInitialize(&header->locks[i].lock, tranche);
	skx_blkio_cache_format_depth(header);
	pg_atomic_init_u64(&header->warmer, 0);
	pg_atomic_init_u64(&header->claims_saved, 0);
	pg_atomic_init_u64(&header->prewarmed, 0);
	pg_atomic_init_u32(&header->warmed, 0);
	skx_blkio_paths_format(header->paths, SKX_BLK_PATHS_SHARED);
	buckets = (int32 *) ((char *) header + header->buckets);
	for (uint32 i = 0; i < header->nbuckets; i++)
		buckets[i] = -1;
	skx_blkio_cache_format_frames(header, &header->layout,
								  division->first_frames);
}

void
skx_blkio_cache_format_piece(void *memory, const SkxBlkDivision *division)
{
	SkxBlkLayout layout;

	skx_blkio_cache_lay_out((uintptr_t) memory, 0, division->piece_frames,
							&layout);
	skx_blkio_cache_format_frames(memory, &layout, division->piece_frames);
}

/* Adds a piece to the mapped pieces of this process. */
static void
skx_blkio_cache_map_frames(void *memory, const SkxBlkLayout *layout,
						   const uint32 *nframes)
{
	SkxBlkPiece *piece = &skx_blkio_cache.pieces[skx_blkio_cache.npieces];

	piece->frames = (SkxBlkFramePadded *) ((char *) memory + layout->frames);
	for (int i = 0; i < SKX_BLK_NCLASSES; i++)
	{
		piece->pages[i] = (char *) memory + layout->pages[i];
		piece->nframes[i] = nframes[i];
		skx_blkio_cache.mapped_frames[i] += nframes[i];
	}
	skx_blkio_cache.npieces++;
}

void
skx_blkio_cache_limit(void)
{
	SkxBlkCacheHeader *header = skx_blkio_cache.header;
	const SkxBlkDivision *division = &header->division;
	uint32		most = pg_atomic_read_u32(&header->max_pieces);

	for (int i = 0; i < SKX_BLK_NCLASSES; i++)
		skx_blkio_cache.nframes[i] = division->first_frames[i] +
			(most - 1) * division->piece_frames[i];
}

void
skx_blkio_cache_map(SkxBlkCacheHeader *header)
{
	const SkxBlkDivision *division;
	uint32		largest;

	memset(&skx_blkio_cache, 0, sizeof(skx_blkio_cache));
	if (header == NULL)
		return;
	division = &header->division;
	largest = Max(division->first_frames[SKX_BLK_CLASS_BLOCK] +
				  division->first_frames[SKX_BLK_CLASS_PAGE],
				  division->piece_frames[SKX_BLK_CLASS_BLOCK] +
				  division->piece_frames[SKX_BLK_CLASS_PAGE]);
	skx_blkio_cache.header = header;
	skx_blkio_cache.frame_shift = pg_ceil_log2_32(largest);
	skx_blkio_cache.buckets = (int32 *) ((char *) header + header->buckets);
	skx_blkio_cache.bucket_mask = header->nbuckets - 1;
	skx_blkio_cache.depths =
		(pg_atomic_uint64 *) ((char *) header + header->depths);
	skx_blkio_cache_map_frames(header, &header->layout,
							   division->first_frames);
	skx_blkio_cache_limit();
}

void
skx_blkio_cache_map_piece(void *memory)
{
	const SkxBlkDivision *division = &skx_blkio_cache.header->division;
	SkxBlkLayout layout;

	skx_blkio_cache_lay_out((uintptr_t) memory, 0, division->piece_frames,
							&layout);
	skx_blkio_cache_map_frames(memory, &layout, division->piece_frames);
}
