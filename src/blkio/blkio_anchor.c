/*
 * blkio_anchor.c
 *	  Where processes meet: the fixed area that leads to the cache.
 *
 * Preloaded, anchor and cache are in main shared memory.  Otherwise the
 * anchor is a small area that can be had at any time (skx_compat_anchor), and
 * the first process that needs the cache puts it into a dynamic shared memory
 * segment, which stays until the server stops.  Where that much memory cannot
 * be had (a container's /dev/shm has 64 MB by default), half of it is tried,
 * and so on; if nothing is left, the anchor says so, and nobody tries again.
 * No failure here is an error for the query: reading works without a cache.
 * The log says what is missing, once, and so does a notice to the session that
 * met with it.
 */
#include "postgres.h"

#include "blkio/blkio_cache.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#define SKX_BLK_ANCHOR_NAME		"skipidx blkio"
#define SKX_BLK_TRANCHE_NAME	"SkipidxCache"
#define SKX_BLK_CACHE_NAME		"skipidx block cache"

/* The least worth a dynamic segment. */
#define SKX_BLK_LEAST_BYTES		((Size) 4 * 1024 * 1024)

/* Totals: the counters of all methods, one method after the other. */
#define SKX_BLK_NTOTALS \
	(SKX_BLK_NMETHODS * sizeof(SkxBlkCounters) / sizeof(uint64))

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
	pg_atomic_uint32 refusals;	/* a bit for each SkxBlkRefusal */
	pg_atomic_uint64 totals[SKX_BLK_NTOTALS];
} SkxBlkAnchor;

/* Not preloaded, it comes out of the little that the server has to spare. */
StaticAssertDecl(sizeof(SkxBlkAnchor) <= 2048, "the anchor must be small");

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
	skx_compat_tranche_name(skx_blkio_anchor->tranche, SKX_BLK_TRANCHE_NAME);
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
 * Runs `action`, and returns NULL, or the text of the error it raised.
 *
 * Whatever it makes belongs to the session rather than to the query.  LWLocks
 * are released as an abort would: no caller of this file holds any.
 */
static char *
skx_blkio_anchor_try(void (*action) (void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	uint32		holdoff = InterruptHoldoffCount;
	char	   *volatile why = NULL;

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
		why = pstrdup(error->message);
		FreeErrorData(error);
	}
	PG_END_TRY();
	CurrentResourceOwner = owner;
	return why;
}

/* The same, with a message in the log; false when it failed. */
static bool
skx_blkio_anchor_attempt(void (*action) (void *arg), void *arg)
{
	char	   *why = skx_blkio_anchor_try(action, arg);

	if (why != NULL)
		ereport(LOG,
				(errmsg("skipidx could not use shared memory: %s", why)));
	return why == NULL;
}

static void
skx_blkio_anchor_find(void *arg)
{
	skx_blkio_anchor = skx_compat_anchor(SKX_BLK_ANCHOR_NAME,
										 sizeof(SkxBlkAnchor),
										 skx_blkio_anchor_format);
	skx_compat_tranche_name(skx_blkio_anchor->tranche, SKX_BLK_TRANCHE_NAME);
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

/* Says that there is less cache than was asked for: `bytes`, or 0. */
static void
skx_blkio_anchor_regret(int elevel, Size bytes, Size wanted, const char *why)
{
	ereport(elevel,
			(errmsg("skipidx has a block cache of %zu MB instead of %zu MB, for want of shared memory",
					bytes / (1024 * 1024), wanted / (1024 * 1024)),
			 errdetail_internal("%s", why),
			 errhint("Enlarge /dev/shm or raise min_dynamic_shared_memory, or preload skipidx, or lower skipidx.cache_size; then restart the server.")));
}

/* Creates the cache unless another process has; smaller rather than not. */
static void
skx_blkio_anchor_establish(void)
{
	Size		wanted = skx_blkio_anchor_bytes();
	Size		bytes = wanted;
	char	   *first = NULL;	/* why not all that was wanted */
	char	   *why;
	bool		failed = false;

	while ((why = skx_blkio_anchor_try(skx_blkio_anchor_create,
									   &bytes)) != NULL)
	{
		if (first == NULL)
			first = why;
		bytes /= 2;
		if (bytes >= SKX_BLK_LEAST_BYTES)
			continue;
		LWLockAcquire(&skx_blkio_anchor->lock, LW_EXCLUSIVE);
		failed = skx_blkio_anchor->state == SKX_BLK_ANCHOR_EMPTY;
		if (failed)
			skx_blkio_anchor->state = SKX_BLK_ANCHOR_FAILED;
		LWLockRelease(&skx_blkio_anchor->lock);
		bytes = 0;
		break;
	}

	/* Whoever made it speaks of it; the maker has it mapped already. */
	if (failed || (first != NULL && skx_blkio_cache.header != NULL))
	{
		skx_blkio_anchor_regret(LOG_SERVER_ONLY, bytes, wanted, first);
		skx_blkio_anchor_regret(NOTICE, bytes, wanted, first);
	}
}

/* Is there an anchor?  It is looked for once. */
static bool
skx_blkio_anchor_found(void)
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
		return true;
	if (skx_blkio_anchor_hopeless || !skx_blkio_anchor_found())
		return false;
	if (skx_blkio_anchor->state == SKX_BLK_ANCHOR_EMPTY &&
		skx_blkio_cache_size > 0)
		skx_blkio_anchor_establish();
	pg_read_barrier();
	if (skx_blkio_cache.header == NULL &&
		skx_blkio_anchor->state == SKX_BLK_ANCHOR_DYNAMIC &&
		!skx_blkio_anchor_attempt(skx_blkio_anchor_map, NULL))
		skx_blkio_anchor_hopeless = true;
	return skx_blkio_cache.header != NULL;
}

/* ---- what processes tell each other ---- */

bool
skx_blkio_first_refusal(SkxBlkRefusal what)
{
	static uint32 mine = 0;
	uint32		bit = (uint32) 1 << what;
	bool		first = (mine & bit) == 0;

	mine |= bit;
	if (first && skx_blkio_anchor_found())
		first =
			(pg_atomic_fetch_or_u32(&skx_blkio_anchor->refusals, bit) & bit) == 0;
	return first;
}

void
skx_blkio_anchor_add(const SkxBlkCounters *delta)
{
	const uint64 *n = (const uint64 *) delta;

	if (skx_blkio_anchor == NULL)
		return;
	for (int i = 0; i < SKX_BLK_NTOTALS; i++)
		if (n[i] != 0)
			pg_atomic_fetch_add_u64(&skx_blkio_anchor->totals[i], n[i]);
}

void
skx_blkio_totals(SkxBlkCounters *totals)
{
	uint64	   *n = (uint64 *) totals;

	memset(totals, 0, SKX_BLK_NMETHODS * sizeof(*totals));
	(void) skx_blkio_anchor_attach();
	if (skx_blkio_anchor == NULL)
		return;
	skx_blkio_counters_publish();
	for (int i = 0; i < SKX_BLK_NTOTALS; i++)
		n[i] = pg_atomic_read_u64(&skx_blkio_anchor->totals[i]);
}
