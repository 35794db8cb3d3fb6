/*
 * blkio_cache_shmem.c
 *	  The cache as a piece of memory: size, first contents, addresses.
 *
 * Half of the space goes to frames of 4 pages and half to frames of one
 * page: long posting lists fill the first, dictionary, documents and
 * positions the second, and neither can push the other out.  The memory may
 * be mapped at a different address in every process, so it holds offsets.
 */
#include "postgres.h"

#include "blkio/blkio_cache.h"
#include "port/pg_bitutils.h"

SkxBlkCache skx_blkio_cache;

/* Below this the clock has nothing to choose from. */
#define SKX_BLK_MIN_BYTES		((Size) 1024 * 1024)

static void
skx_blkio_cache_split(Size bytes, uint32 *nframes)
{
	Size		half = Max(bytes, SKX_BLK_MIN_BYTES) / 2;

	nframes[SKX_BLK_CLASS_BLOCK] = half / (SKX_BLK_FRAME_PAGES * BLCKSZ);
	nframes[SKX_BLK_CLASS_PAGE] = half / BLCKSZ;
}

static uint32
skx_blkio_cache_nbuckets(const uint32 *nframes)
{
	return pg_nextpower2_32(Max(nframes[SKX_BLK_CLASS_BLOCK] +
								nframes[SKX_BLK_CLASS_PAGE],
								SKX_BLK_PARTITIONS));
}

/* Memory needed for a cache of about `bytes` bytes of pages. */
Size
skx_blkio_cache_total_size(Size bytes)
{
	uint32		nframes[SKX_BLK_NCLASSES];
	Size		frames;

	skx_blkio_cache_split(bytes, nframes);
	frames = (Size) nframes[SKX_BLK_CLASS_BLOCK] +
		nframes[SKX_BLK_CLASS_PAGE];
	return MAXALIGN(sizeof(SkxBlkCacheHeader)) +
		SKX_COMPAT_BACKEND_SLOTS() * sizeof(pg_atomic_uint64) +
		MAXALIGN(skx_blkio_cache_nbuckets(nframes) * sizeof(int32)) +
		frames * sizeof(SkxBlkFramePadded) + PG_CACHE_LINE_SIZE +
		((Size) nframes[SKX_BLK_CLASS_BLOCK] * SKX_BLK_FRAME_PAGES +
		 nframes[SKX_BLK_CLASS_PAGE]) * BLCKSZ + SKX_IO_ALIGN;
}

/* The next offset at which the address is a multiple of `alignment`. */
static Size
skx_blkio_cache_align(SkxBlkCacheHeader *header, Size offset, Size alignment)
{
	return TYPEALIGN(alignment, (uintptr_t) header + offset) -
		(uintptr_t) header;
}

static void
skx_blkio_cache_format_depth(SkxBlkCacheHeader *header)
{
	pg_atomic_uint64 *depths =
		(pg_atomic_uint64 *) ((char *) header + header->depths);

	pg_atomic_init_u32(&header->depth, 0);
	pg_atomic_init_u32(&header->depth_waiters, 0);
	ConditionVariableInit(&header->depth_free);
	for (uint32 i = 0; i < header->ndepths; i++)
		pg_atomic_init_u64(&depths[i], 0);
}

/*
 * Makes an empty cache in skx_blkio_cache_total_size(bytes) bytes of memory.
 * Shared memory is mapped on page boundaries, so what is aligned here is
 * aligned in every process.
 */
void
skx_blkio_cache_format(SkxBlkCacheHeader *header, Size bytes, int tranche)
{
	Size		offset = MAXALIGN(sizeof(SkxBlkCacheHeader));
	int32	   *buckets;
	SkxBlkFramePadded *frames;
	uint32		n;

	skx_blkio_cache_split(bytes, header->nframes);
	n = header->nframes[SKX_BLK_CLASS_BLOCK] +
		header->nframes[SKX_BLK_CLASS_PAGE];
	header->ndepths = SKX_COMPAT_BACKEND_SLOTS();
	header->depths = offset;
	offset += header->ndepths * sizeof(pg_atomic_uint64);
	header->nbuckets = skx_blkio_cache_nbuckets(header->nframes);
	header->buckets = offset;
	offset += MAXALIGN(header->nbuckets * sizeof(int32));
	header->frames = skx_blkio_cache_align(header, offset,
										   SKX_BLK_FRAME_SIZE);
	offset = header->frames + n * sizeof(SkxBlkFramePadded);
	header->pages[SKX_BLK_CLASS_BLOCK] =
		skx_blkio_cache_align(header, offset, SKX_IO_ALIGN);
	header->pages[SKX_BLK_CLASS_PAGE] = header->pages[SKX_BLK_CLASS_BLOCK] +
		(Size) header->nframes[SKX_BLK_CLASS_BLOCK] *
		SKX_BLK_FRAME_PAGES * BLCKSZ;
	header->size = skx_blkio_cache_total_size(bytes);
	Assert(header->pages[SKX_BLK_CLASS_PAGE] +
		   (Size) header->nframes[SKX_BLK_CLASS_PAGE] * BLCKSZ <=
		   header->size);

	pg_atomic_init_u64(&header->evictions, 0);
	for (int i = 0; i < SKX_BLK_NCLASSES; i++)
		pg_atomic_init_u32(&header->hand[i], 0);
	for (int i = 0; i < SKX_BLK_PARTITIONS; i++)
		LWLockInitialize(&header->locks[i].lock, tranche);
	skx_blkio_cache_format_depth(header);
	for (int i = 0; i < SKX_BLK_PATHS; i++)
		pg_atomic_init_u64(&header->paths[i], 0);
	buckets = (int32 *) ((char *) header + header->buckets);
	for (uint32 i = 0; i < header->nbuckets; i++)
		buckets[i] = -1;
	frames = (SkxBlkFramePadded *) ((char *) header + header->frames);
	for (uint32 i = 0; i < n; i++)
	{
		pg_atomic_init_u64(&frames[i].frame.state, 0);
		frames[i].frame.next = -1;
		ConditionVariableInit(&frames[i].frame.loaded);
	}
}

/* Turns offsets into addresses of this process; NULL: there is no cache. */
void
skx_blkio_cache_map(SkxBlkCacheHeader *header)
{
	memset(&skx_blkio_cache, 0, sizeof(skx_blkio_cache));
	if (header == NULL)
		return;
	skx_blkio_cache.header = header;
	skx_blkio_cache.buckets = (int32 *) ((char *) header + header->buckets);
	skx_blkio_cache.bucket_mask = header->nbuckets - 1;
	skx_blkio_cache.depths =
		(pg_atomic_uint64 *) ((char *) header + header->depths);
	skx_blkio_cache.frames =
		(SkxBlkFramePadded *) ((char *) header + header->frames);
	for (int i = 0; i < SKX_BLK_NCLASSES; i++)
	{
		skx_blkio_cache.pages[i] = (char *) header + header->pages[i];
		skx_blkio_cache.nframes[i] = header->nframes[i];
	}
}
