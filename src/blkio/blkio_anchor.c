/*
 * blkio_anchor.c
 *	  Where processes meet: the fixed area that leads to the cache.
 *
 * Preloaded, anchor and cache are in main shared memory.  Otherwise the
 * anchor is a small area that can be had at any time (skx_compat_anchor), and
 * the first process that needs the cache puts it into a dynamic shared memory
 * segment, which stays until the server stops.  Where that much memory cannot
 * be had, half of it is tried, and so on; if nothing is left, the anchor says
 * so, and nobody tries again.  No failure here is an error for the query:
 * reading works without a cache.
 */
#include "postgres.h"

#include "blkio/blkio_cache.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#define SKX_BLK_ANCHOR_NAME		"skipidx blkio"
#define SKX_BLK_CACHE_NAME		"skipidx block cache"

/* The least worth a dynamic segment. */
#define SKX_BLK_LEAST_BYTES		((Size) 4 * 1024 * 1024)

#define SKX_BLK_NCOUNTERS	(sizeof(SkxBlkCounters) / sizeof(uint64))

typedef enum SkxBlkAnchorState
{
	SKX_BLK_ANCHOR_EMPTY,		/* nobody has asked for the cache yet */
	SKX_BLK_ANCHOR_MAIN,		/* cache in main shared memory */
	SKX_BLK_ANCHOR_DYNAMIC,		/* cache in the segment `handle` */
	SKX_BLK_ANCHOR_FAILED		/* no memory for it */
} SkxBlkAnchorState;

/* Its size is the same in every build of a major version. */
typedef struct SkxBlkAnchor
{
	LWLock		lock;			/* held while the cache is made */
	int			tranche;
	uint32		state;
	dsm_handle	handle;
	pg_atomic_uint64 totals[SKX_BLK_NCOUNTERS];
} SkxBlkAnchor;

static SkxBlkAnchor *skx_blkio_anchor = NULL;

/* This process has tried, and got no anchor or no mapping. */
static bool skx_blkio_anchor_hopeless = false;

static shmem_request_hook_type skx_blkio_anchor_next_request = NULL;
static shmem_startup_hook_type skx_blkio_anchor_next_startup = NULL;

static void
skx_blkio_anchor_format(void *area)
{
	SkxBlkAnchor *anchor = area;

	memset(anchor, 0, sizeof(*anchor));
	anchor->tranche = LWLockNewTrancheId();
	LWLockInitialize(&anchor->lock, anchor->tranche);
	anchor->state = SKX_BLK_ANCHOR_EMPTY;
	for (int i = 0; i < SKX_BLK_NCOUNTERS; i++)
		pg_atomic_init_u64(&anchor->totals[i], 0);
}

/* ---- preloaded ---- */

static Size
skx_blkio_anchor_bytes(void)
{
	return (Size) skx_blkio_cache_size * 1024;
}

/*
 * Size of the cache in main shared memory.  The server asks for requests once,
 * but makes its shared memory again after a crash, when the setting can be
 * another one.
 */
static Size skx_blkio_anchor_reserved = 0;

static void
skx_blkio_anchor_request(void)
{
	if (skx_blkio_anchor_next_request)
		skx_blkio_anchor_next_request();
	skx_blkio_anchor_reserved = skx_blkio_anchor_bytes();
	RequestAddinShmemSpace(MAXALIGN(sizeof(SkxBlkAnchor)));
	if (skx_blkio_anchor_reserved > 0)
		RequestAddinShmemSpace(
			skx_blkio_cache_total_size(skx_blkio_anchor_reserved));
}

static void
skx_blkio_anchor_startup(void)
{
	bool		found;

	if (skx_blkio_anchor_next_startup)
		skx_blkio_anchor_next_startup();

	/* After a crash this runs again, with shared memory new. */
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	skx_blkio_anchor = ShmemInitStruct(SKX_BLK_ANCHOR_NAME,
									   sizeof(SkxBlkAnchor), &found);
	if (!found)
		skx_blkio_anchor_format(skx_blkio_anchor);
	if (skx_blkio_anchor_reserved > 0)
	{
		Size		bytes = skx_blkio_anchor_reserved;
		SkxBlkCacheHeader *header =
			ShmemInitStruct(SKX_BLK_CACHE_NAME,
							skx_blkio_cache_total_size(bytes), &found);

		if (!found)
		{
			skx_blkio_cache_format(header, bytes, skx_blkio_anchor->tranche);
			skx_blkio_anchor->state = SKX_BLK_ANCHOR_MAIN;
		}
		skx_blkio_cache_map(header);
	}
	LWLockRelease(AddinShmemInitLock);
	LWLockRegisterTranche(skx_blkio_anchor->tranche, "SkipidxCache");
}

/* Called while the library is loaded. */
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
 * Runs `action`, and turns an error it raises into a message of level
 * `elevel` and false.
 *
 * Whatever it makes belongs to the session rather than to the query.  LWLocks
 * are released as an abort would: no caller of this file holds any.
 */
static bool
skx_blkio_anchor_try(void (*action) (void *arg), void *arg, int elevel)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	uint32		holdoff = InterruptHoldoffCount;
	volatile bool ok = true;

	CurrentResourceOwner = NULL;
	PG_TRY();
	{
		action(arg);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		/* errfinish has set the count to zero; releasing decrements it */
		InterruptHoldoffCount = holdoff;
		LWLockReleaseAll();
		InterruptHoldoffCount = holdoff;
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		ereport(elevel,
				(errcode(error->sqlerrcode),
				 errmsg("skipidx could not use shared memory: %s",
						error->message)));
		FreeErrorData(error);
		ok = false;
	}
	PG_END_TRY();
	CurrentResourceOwner = owner;
	return ok;
}

static void
skx_blkio_anchor_find(void *arg)
{
	skx_blkio_anchor = skx_compat_anchor(SKX_BLK_ANCHOR_NAME,
										 sizeof(SkxBlkAnchor),
										 skx_blkio_anchor_format);
	LWLockRegisterTranche(skx_blkio_anchor->tranche, "SkipidxCache");
}

/* Makes a cache of *arg bytes unless another process has made one. */
static void
skx_blkio_anchor_create(void *arg)
{
	Size		bytes = *(Size *) arg;
	dsm_segment *segment;

	LWLockAcquire(&skx_blkio_anchor->lock, LW_EXCLUSIVE);
	if (skx_blkio_anchor->state == SKX_BLK_ANCHOR_EMPTY)
	{
		segment = dsm_create(skx_blkio_cache_total_size(bytes),
							 DSM_CREATE_NULL_IF_MAXSEGMENTS);
		if (segment == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
					 errmsg("too many dynamic shared memory segments")));
		skx_blkio_cache_format(dsm_segment_address(segment), bytes,
							   skx_blkio_anchor->tranche);
		dsm_pin_segment(segment);
		dsm_pin_mapping(segment);
		skx_blkio_cache_map(dsm_segment_address(segment));
		skx_blkio_anchor->handle = dsm_segment_handle(segment);
		pg_write_barrier();
		skx_blkio_anchor->state = SKX_BLK_ANCHOR_DYNAMIC;
	}
	LWLockRelease(&skx_blkio_anchor->lock);
}

static void
skx_blkio_anchor_map(void *arg)
{
	dsm_segment *segment = dsm_attach(skx_blkio_anchor->handle);

	if (segment == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("could not map the block cache")));
	dsm_pin_mapping(segment);
	skx_blkio_cache_map(dsm_segment_address(segment));
}

/* Creates the cache unless another process has; smaller rather than not. */
static void
skx_blkio_anchor_establish(void)
{
	Size		wanted = skx_blkio_anchor_bytes();
	Size		bytes = wanted;

	while (!skx_blkio_anchor_try(skx_blkio_anchor_create, &bytes, DEBUG1))
	{
		bytes /= 2;
		if (bytes >= SKX_BLK_LEAST_BYTES)
			continue;
		LWLockAcquire(&skx_blkio_anchor->lock, LW_EXCLUSIVE);
		if (skx_blkio_anchor->state == SKX_BLK_ANCHOR_EMPTY)
			skx_blkio_anchor->state = SKX_BLK_ANCHOR_FAILED;
		LWLockRelease(&skx_blkio_anchor->lock);
		ereport(LOG,
				(errmsg("skipidx has no shared memory for its block cache and works without"),
				 errhint("Make room in the server's shared memory, or lower skipidx.cache_size, and restart.")));
		return;
	}
	if (bytes < wanted)
		ereport(LOG,
				(errmsg("skipidx found shared memory for a block cache of %zu kB only, not %d kB",
						bytes / 1024, skx_blkio_cache_size)));
}

bool
skx_blkio_anchor_attach(void)
{
	if (skx_blkio_cache.header != NULL)
		return true;
	if (skx_blkio_anchor_hopeless || !IsUnderPostmaster)
		return false;
	if (skx_blkio_anchor == NULL &&
		!skx_blkio_anchor_try(skx_blkio_anchor_find, NULL, LOG))
	{
		skx_blkio_anchor_hopeless = true;
		return false;
	}
	if (skx_blkio_anchor->state == SKX_BLK_ANCHOR_EMPTY &&
		skx_blkio_cache_size > 0)
		skx_blkio_anchor_establish();
	pg_read_barrier();
	if (skx_blkio_cache.header == NULL &&
		skx_blkio_anchor->state == SKX_BLK_ANCHOR_DYNAMIC &&
		!skx_blkio_anchor_try(skx_blkio_anchor_map, NULL, LOG))
		skx_blkio_anchor_hopeless = true;
	return skx_blkio_cache.header != NULL;
}

/* ---- totals of all backends ---- */

void
skx_blkio_anchor_add(const SkxBlkCounters *delta)
{
	const uint64 *n = (const uint64 *) delta;

	if (skx_blkio_anchor == NULL)
		return;
	for (int i = 0; i < SKX_BLK_NCOUNTERS; i++)
		if (n[i] != 0)
			pg_atomic_fetch_add_u64(&skx_blkio_anchor->totals[i], n[i]);
}

void
skx_blkio_totals(SkxBlkCounters *totals)
{
	uint64	   *n = (uint64 *) totals;

	memset(totals, 0, sizeof(*totals));
	(void) skx_blkio_anchor_attach();
	if (skx_blkio_anchor == NULL)
		return;
	for (int i = 0; i < SKX_BLK_NCOUNTERS; i++)
		n[i] = pg_atomic_read_u64(&skx_blkio_anchor->totals[i]);
}
