/*
 * blkio_anchor.c
 *	  The anchor: a fixed area that leads all processes to the cache.
 *
 * If the library is preloaded, anchor and cache are in main shared memory.
 * Otherwise the anchor is a small area that can be allocated at any time
 * (skx_compat_shmem_area).  The first process that needs the cache puts its
 * first piece into a segment of dynamic shared memory.  Other processes add
 * further pieces when the cache is full.  The pieces stay until the server
 * stops.
 *
 * The cache leaves most of the free memory to other uses (shm/: a container's
 * /dev/shm has 64 MB by default).  If the server cannot allocate what seemed
 * to be free, half of it is tried, and so on.  If nothing can be allocated,
 * the anchor notes that, and no further attempt is made.  A cache that is
 * refused a further piece keeps its size.
 *
 * No failure here is an error for the query, since reading works without a
 * cache.  The log says once what is missing, and so does a notice to the
 * session in which it happened.
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "support/shm/shm.h"

#define SKX_BLK_ANCHOR_NAME		"skipidx blkio"
#define SKX_BLK_TRANCHE_NAME	"SkipidxCache"
#define SKX_BLK_CACHE_NAME		"skipidx block cache"

/* Totals: the counters of all methods, one method after the other. */
#define SKX_BLK_NTOTALS \
	(SKX_BLK_NMETHODS * sizeof(SkxBlkCounters) / sizeof(uint64))

typedef enum SkxBlkAnchorState
{
	SKX_BLK_ANCHOR_EMPTY,		/* no process has wanted the cache yet */
	SKX_BLK_ANCHOR_MAIN,		/* cache in main shared memory */
	SKX_BLK_ANCHOR_DYNAMIC,		/* first piece in the segment `handle` */
	SKX_BLK_ANCHOR_FAILED		/* no memory for it */
} SkxBlkAnchorState;

/* The anchor.  Its size is the same in every build for a major version. */
typedef struct SkxBlkAnchor
{
	LWLock		lock;			/* held while a piece of the cache is made */
	int			tranche;
	uint32		state;
	dsm_handle	handle;
	pg_atomic_uint32 refusals;	/* one bit for each SkxBlkRefusal */
	int			cache_size;		/* kB, the setting when the cache was made */
	char		size_reason[SKX_SHM_REASON_SIZE];	/* why it is smaller than
													 * that, or "" */
	pg_atomic_uint64 totals[SKX_BLK_NTOTALS];
} SkxBlkAnchor;

/*
 * if not preloaded, it takes from the little memory that the server has spare
 */
StaticAssertDecl(sizeof(SkxBlkAnchor) <= 2048, "the anchor must be small");

static SkxBlkAnchor *skx_blkio_anchor = NULL;

/*
 * True if this process has no anchor or could not map the cache; it does not
 * try again.
 */
static bool skx_blkio_anchor_hopeless = false;
static char skx_blkio_anchor_hopeless_why[SKX_SHM_REASON_SIZE];

/* True if this process has made the cache, or has noted that there is none. */
static bool skx_blkio_anchor_maker = false;

static shmem_request_hook_type skx_blkio_anchor_next_request = NULL;
static shmem_startup_hook_type skx_blkio_anchor_next_startup = NULL;

static void
skx_blkio_anchor_format(void *area)
{
	SkxBlkAnchor *anchor = area;

	memset(anchor, 0, sizeof(*anchor));
	anchor->tranche = skx_compat_tranche_new(SKX_BLK_TRANCHE_NAME);
	LWLockInitialize(&anchor->lock, anchor->tranche);
	anchor->state = SKX_BLK_ANCHOR_EMPTY;
	pg_atomic_init_u32(&anchor->refusals, 0);
	for (int i = 0; i < SKX_BLK_NTOTALS; i++)
		pg_atomic_init_u64(&anchor->totals[i], 0);
}

/* ---- preloaded ---- */

static Size
skx_blkio_anchor_bytes(void)
{
	return (Size) skx_blkio_cache_size * 1024;
}

/*
 * Bytes of the cache in main shared memory, as requested.  The server calls
 * the request hook only once.  It makes shared memory again after a crash,
 * when the setting can have another value.
 */
static Size skx_blkio_anchor_reserved = 0;

static void
skx_blkio_anchor_request(void)
{
	SkxBlkDivision division;

	if (skx_blkio_anchor_next_request)
		skx_blkio_anchor_next_request();
	skx_blkio_anchor_reserved = skx_blkio_anchor_bytes();
	RequestAddinShmemSpace(MAXALIGN(sizeof(SkxBlkAnchor)));
	if (skx_blkio_anchor_reserved == 0)
		return;
	skx_blkio_cache_divide(skx_blkio_anchor_reserved, true, &division);
	RequestAddinShmemSpace(skx_blkio_cache_first_size(&division));
}

static void
skx_blkio_anchor_startup(void)
{
	bool		found;

	if (skx_blkio_anchor_next_startup)
		skx_blkio_anchor_next_startup();

	/* after a crash this runs again, with new shared memory */
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	skx_blkio_anchor = ShmemInitStruct(SKX_BLK_ANCHOR_NAME,
									   sizeof(SkxBlkAnchor), &found);
	if (!found)
		skx_blkio_anchor_format(skx_blkio_anchor);
	if (skx_blkio_anchor_reserved > 0)
	{
		SkxBlkDivision division;
		SkxBlkCacheHeader *header;

		skx_blkio_cache_divide(skx_blkio_anchor_reserved, true, &division);
		header = ShmemInitStruct(SKX_BLK_CACHE_NAME,
								 skx_blkio_cache_first_size(&division),
								 &found);
		if (!found)
		{
			skx_blkio_cache_format(header, &division,
								   skx_blkio_anchor->tranche);
			skx_blkio_anchor->cache_size = skx_blkio_anchor_reserved / 1024;
			skx_blkio_anchor->state = SKX_BLK_ANCHOR_MAIN;
		}
		skx_blkio_cache_map(header);
	}
	LWLockRelease(AddinShmemInitLock);
	skx_compat_tranche_name(skx_blkio_anchor->tranche, SKX_BLK_TRANCHE_NAME);
}

void
skx_blkio_anchor_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	skx_blkio_anchor_next_request = shmem_request_hook;
	shmem_request_hook = skx_blkio_anchor_request;
	skx_blkio_anchor_next_startup = shmem_startup_hook;
	shmem_startup_hook = skx_blkio_anchor_startup;
}

/* ---- not preloaded ---- */

/*
 * Calls skx_shm_attempt.  If that fails, logs a message, keeps the reason and
 * returns false.
 */
static bool
skx_blkio_anchor_attempt(void (*action) (void *arg), void *arg)
{
	char	   *why = skx_shm_attempt(action, arg);

	if (why == NULL)
		return true;
	ereport(LOG,
			(errmsg("could not use shared memory for skipidx: %s", why)));
	strlcpy(skx_blkio_anchor_hopeless_why, why, SKX_SHM_REASON_SIZE);
	pfree(why);
	return false;
}

static void
skx_blkio_anchor_find(void *arg)
{
	skx_blkio_anchor = skx_compat_shmem_area(SKX_BLK_ANCHOR_NAME,
											 sizeof(SkxBlkAnchor),
											 skx_blkio_anchor_format);
	skx_compat_tranche_name(skx_blkio_anchor->tranche, SKX_BLK_TRANCHE_NAME);
}

/* A cache, or a piece of it, that is being made. */
typedef struct SkxBlkNewPiece
{
	Size		wanted;			/* bytes of pages */
	Size		bytes;			/* bytes of pages that it gets; 0: no cache */
	SkxShmGrant grant;
} SkxBlkNewPiece;

/* Returns the memory of a whole cache with this many bytes of pages. */
static Size
skx_blkio_anchor_size(Size bytes)
{
	SkxBlkDivision division;

	skx_blkio_cache_divide(bytes, false, &division);
	return skx_blkio_cache_total_size(&division);
}

static void
skx_blkio_anchor_measure(void *arg)
{
	SkxBlkNewPiece *making = arg;
	Size		total = skx_blkio_anchor_size(making->wanted);

	skx_shm_request(total, &making->grant);
	making->bytes = making->wanted;
	if (making->grant.bytes == total)
		return;

	/* not proportional, since sizes are rounded to frames */
	making->bytes = making->grant.bytes;
	while (making->bytes > 0 &&
		   skx_blkio_anchor_size(making->bytes) > making->grant.bytes)
		making->bytes -= Min(making->bytes, SKX_BLK_FRAME_PAGES * BLCKSZ);
}

/*
 * Makes the first piece of a cache, or notes that there is none.  Does nothing
 * if another process has done either.
 */
static void
skx_blkio_anchor_create(void *arg)
{
	const SkxBlkNewPiece *making = arg;
	SkxBlkAnchor *anchor = skx_blkio_anchor;
	SkxBlkAnchorState state = SKX_BLK_ANCHOR_FAILED;

	LWLockAcquire(&anchor->lock, LW_EXCLUSIVE);
	if (anchor->state == SKX_BLK_ANCHOR_EMPTY)
	{
		if (making->bytes > 0)
		{
			SkxBlkDivision division;
			dsm_segment *segment;

			skx_blkio_cache_divide(making->bytes, false, &division);
			segment = skx_shm_segment(&making->grant,
									  skx_blkio_cache_first_size(&division));
			skx_blkio_cache_format(dsm_segment_address(segment), &division,
								   anchor->tranche);
			dsm_pin_segment(segment);
			dsm_pin_mapping(segment);
			skx_blkio_cache_map(dsm_segment_address(segment));
			anchor->handle = dsm_segment_handle(segment);
			state = SKX_BLK_ANCHOR_DYNAMIC;
		}
		anchor->cache_size = making->wanted / 1024;
		strlcpy(anchor->size_reason, making->grant.reason,
				SKX_SHM_REASON_SIZE);
		skx_blkio_anchor_maker = true;
		pg_write_barrier();
		anchor->state = state;
	}
	LWLockRelease(&anchor->lock);
}

/*
 * Maps a segment of the cache until this process ends, and returns its
 * address.
 */
static void *
skx_blkio_anchor_segment(dsm_handle handle)
{
	dsm_segment *segment = dsm_attach(handle);

	if (segment == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("could not map the block cache")));
	dsm_pin_mapping(segment);
	return dsm_segment_address(segment);
}

static void
skx_blkio_anchor_map(void *arg)
{
	SkxBlkCacheHeader *header =
		skx_blkio_anchor_segment(skx_blkio_anchor->handle);

	if (header->kind != SKX_BLK_CACHE_KIND)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the block cache was made by another build of skipidx: restart the server")));
	skx_blkio_cache_map(header);
}

static void
skx_blkio_anchor_map_pieces(void *arg)
{
	const SkxBlkCacheHeader *header = skx_blkio_cache.header;
	uint32		ready = *(uint32 *) arg;

	while (skx_blkio_cache.npieces < ready)
		skx_blkio_cache_map_piece(skx_blkio_anchor_segment(
														   header->handles[skx_blkio_cache.npieces]));
}

/* Reports that the cache is smaller than configured, or missing. */
static void
skx_blkio_anchor_warn_smaller(int elevel, const SkxBlkNewPiece *making)
{
	int			wanted = making->wanted / (1024 * 1024);

	ereport(elevel,
			(making->bytes > 0 ?
			 errmsg("skipidx has a block cache of %d MB instead of %d MB",
					(int) (making->bytes / (1024 * 1024)), wanted) :
			 errmsg("skipidx works without its block cache of %d MB",
					wanted),
			 errdetail_internal("Reason: %s.", making->grant.reason),
			 errhint("%s", skx_shm_hint(making->grant.limit))));
}

/*
 * Creates the cache unless another process has.  If the memory is refused, it
 * tries half the size, and so on.
 */
static void
skx_blkio_anchor_create_once(void)
{
	SkxBlkNewPiece making = {.wanted = skx_blkio_anchor_bytes()};
	char	   *why = skx_shm_attempt(skx_blkio_anchor_measure, &making);

	if (why != NULL)
		making.bytes = 0;
	while (why != NULL ||
		   (why = skx_shm_attempt(skx_blkio_anchor_create,
								  &making)) != NULL)
	{
		/* the first refusal is the most informative one */
		if (making.grant.limit != SKX_SHM_LIMIT_REFUSED)
			strlcpy(making.grant.reason, why, SKX_SHM_REASON_SIZE);
		making.grant.limit = SKX_SHM_LIMIT_REFUSED;
		making.bytes /= 2;
		if (making.bytes < SKX_SHM_GRANT_MIN)
			making.bytes = 0;
		pfree(why);
		why = NULL;
	}

	/* reported only by the backend that made the cache or gave it up */
	if (skx_blkio_anchor_maker && making.bytes < making.wanted)
	{
		skx_blkio_anchor_warn_smaller(LOG_SERVER_ONLY, &making);
		skx_blkio_anchor_warn_smaller(NOTICE, &making);
	}
}

bool
skx_blkio_anchor_map_new_pieces(void)
{
	uint32		ready = pg_atomic_read_u32(&skx_blkio_cache.header->npieces);

	pg_read_barrier();
	skx_blkio_cache_limit();
	if (skx_blkio_cache.npieces == ready)
		return true;

	/* a failure releases all locks, so this process must hold none */
	if (InterruptHoldoffCount > 0 || skx_blkio_cache.map_failed)
		return false;
	skx_blkio_cache.map_failed =
		!skx_blkio_anchor_attempt(skx_blkio_anchor_map_pieces, &ready);
	return !skx_blkio_cache.map_failed;
}

/*
 * Makes one more piece, unless another process has made one or is making one.
 */
static void
skx_blkio_anchor_add_piece(void *arg)
{
	SkxBlkNewPiece *making = arg;
	SkxBlkCacheHeader *header = skx_blkio_cache.header;
	Size		size = skx_blkio_cache_more_size(&header->division);
	uint32		ready;

	if (!LWLockConditionalAcquire(&skx_blkio_anchor->lock, LW_EXCLUSIVE))
		return;
	ready = pg_atomic_read_u32(&header->npieces);
	if (ready == skx_blkio_cache.npieces &&
		ready < pg_atomic_read_u32(&header->max_pieces))
	{
		skx_shm_request(size, &making->grant);
		if (making->grant.bytes < size)
			making->bytes =
				skx_blkio_frames_bytes(skx_blkio_cache.mapped_frames);
		else
		{
			dsm_segment *segment = skx_shm_segment(&making->grant, size);

			skx_blkio_cache_format_piece(dsm_segment_address(segment),
										 &header->division);
			dsm_pin_segment(segment);
			dsm_pin_mapping(segment);
			header->handles[ready] = dsm_segment_handle(segment);
			skx_blkio_cache_map_piece(dsm_segment_address(segment));
			pg_write_barrier();
			pg_atomic_write_u32(&header->npieces, ready + 1);
		}
	}
	LWLockRelease(&skx_blkio_anchor->lock);
}

/*
 * Ends the growth of the cache, unless it has grown meanwhile.  Returns true
 * if this call has ended it.
 */
static bool
skx_blkio_anchor_stop_growing(const SkxBlkNewPiece *making)
{
	SkxBlkCacheHeader *header = skx_blkio_cache.header;
	bool		mine;

	LWLockAcquire(&skx_blkio_anchor->lock, LW_EXCLUSIVE);
	mine = pg_atomic_read_u32(&header->npieces) == skx_blkio_cache.npieces &&
		pg_atomic_read_u32(&header->max_pieces) > skx_blkio_cache.npieces;
	if (mine)
	{
		pg_atomic_write_u32(&header->max_pieces, skx_blkio_cache.npieces);
		strlcpy(skx_blkio_anchor->size_reason, making->grant.reason,
				SKX_SHM_REASON_SIZE);
	}
	LWLockRelease(&skx_blkio_anchor->lock);
	skx_blkio_cache_limit();
	return mine;
}

void
skx_blkio_anchor_grow(void)
{
	SkxBlkNewPiece making = {.wanted = skx_blkio_cache_bytes()};
	char	   *why;

	if (!skx_blkio_anchor_map_new_pieces())
		return;
	why = skx_shm_attempt(skx_blkio_anchor_add_piece, &making);
	if (why != NULL)
	{
		/* a cancelled query may be the reason of the failure */
		if (QueryCancelPending || ProcDiePending)
			return;
		strlcpy(making.grant.reason, why, SKX_SHM_REASON_SIZE);
		making.grant.limit = SKX_SHM_LIMIT_REFUSED;
		making.bytes = skx_blkio_frames_bytes(skx_blkio_cache.mapped_frames);
		pfree(why);
	}
	if (making.bytes > 0 && skx_blkio_anchor_stop_growing(&making))
	{
		skx_blkio_anchor_warn_smaller(LOG_SERVER_ONLY, &making);
		skx_blkio_anchor_warn_smaller(NOTICE, &making);
	}
}

/*
 * Returns true if this process has an anchor.  It tries only once to get one.
 */
static bool
skx_blkio_anchor_exists(void)
{
	if (skx_blkio_anchor == NULL && !skx_blkio_anchor_hopeless &&
		IsUnderPostmaster)
		skx_blkio_anchor_hopeless =
			!skx_blkio_anchor_attempt(skx_blkio_anchor_find, NULL);
	return skx_blkio_anchor != NULL;
}

bool
skx_blkio_anchor_attach(void)
{
	if (skx_blkio_cache.header != NULL)
	{
		(void) skx_blkio_anchor_map_new_pieces();
		return true;
	}

	/* an attempt that fails releases all LWLocks, the caller's as well */
	if (InterruptHoldoffCount > 0)
		return false;
	if (skx_blkio_anchor_hopeless || !skx_blkio_anchor_exists())
		return false;
	if (skx_blkio_anchor->state == SKX_BLK_ANCHOR_EMPTY &&
		skx_blkio_cache_size > 0)
		skx_blkio_anchor_create_once();
	pg_read_barrier();
	if (skx_blkio_cache.header == NULL &&
		skx_blkio_anchor->state == SKX_BLK_ANCHOR_DYNAMIC &&
		!skx_blkio_anchor_attempt(skx_blkio_anchor_map, NULL))
		skx_blkio_anchor_hopeless = true;
	if (skx_blkio_cache.header == NULL)
		return false;
	(void) skx_blkio_anchor_map_new_pieces();
	return true;
}

const char *
skx_blkio_anchor_size_reason(bool *stale)
{
	SkxBlkAnchor *anchor = skx_blkio_anchor;

	*stale = false;
	if (skx_blkio_anchor_hopeless || skx_blkio_cache.map_failed)
		return skx_blkio_anchor_hopeless_why;
	if (anchor == NULL || anchor->state == SKX_BLK_ANCHOR_EMPTY)
		return "";
	*stale = anchor->cache_size != skx_blkio_cache_size;
	return anchor->size_reason;
}

/* ---- what processes tell each other ---- */

bool
skx_blkio_limit_was_met(SkxBlkRefusal what)
{
	return skx_blkio_anchor != NULL &&
		(pg_atomic_read_u32(&skx_blkio_anchor->refusals) & 1 << what) != 0;
}

bool
skx_blkio_note_limit(SkxBlkRefusal what)
{
	static uint32 mine = 0;
	uint32		bit = (uint32) 1 << what;
	bool		first = (mine & bit) == 0;

	mine |= bit;
	if (first && skx_blkio_anchor_exists())
		first =
			(pg_atomic_fetch_or_u32(&skx_blkio_anchor->refusals, bit) & bit) == 0;
	return first;
}

bool
skx_blkio_anchor_add_counters(const SkxBlkCounters *delta)
{
	const uint64 *n = (const uint64 *) delta;

	if (skx_blkio_anchor == NULL)
		return false;
	for (int i = 0; i < SKX_BLK_NTOTALS; i++)
		if (n[i] != 0)
			pg_atomic_fetch_add_u64(&skx_blkio_anchor->totals[i], n[i]);
	return true;
}

void
skx_blkio_anchor_read_totals(SkxBlkCounters *sums)
{
	uint64	   *n = (uint64 *) sums;

	memset(sums, 0, SKX_BLK_NMETHODS * sizeof(*sums));
	if (skx_blkio_anchor == NULL)
		return;

	/*
	 * Read in the opposite order of their addition, so that a count that is
	 * part of an earlier one is never larger than that.
	 */
	for (int i = SKX_BLK_NTOTALS; i-- > 0;)
		n[i] = pg_atomic_read_u64(&skx_blkio_anchor->totals[i]);
}
