/*
 * blkio_file.c
 *	  An index opened by a scan: pins, hints.
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"
#include "storage/blkio/blkio_warmer.h"
#include "storage/bufmgr.h"
#include "utils/guc.h"
#include "utils/memutils.h"

/* Most pins of a backend; no scan needs more pages at once to run well. */
#define SKX_BLK_PINS_MAX		64

/*
 * The same for files read in passing.  A page of these that is pinned again
 * may have to be read again, so a merge of many segments must be able to hold
 * a few pages of each.
 */
#define SKX_BLK_READ_ONCE_PINS_MAX		1024

/*
 * Returns how many pins one backend should hold at most, as a share of the
 * memory that they come from.
 */
static int
skx_blkio_pin_budget(const SkxBlkMethod *method, Relation rel)
{
	int			share;

	if (method->pin == NULL)
	{
		if (skx_blkio_cache.header == NULL)
			return SKX_BLK_PINS_MAX;
		share = skx_blkio_cache.nframes[SKX_BLK_CLASS_BLOCK] / 4;
	}
	else
		share = (RelationUsesLocalBuffers(rel) ? num_temp_buffers :
				 NBuffers) / 8;
	return Min(SKX_BLK_PINS_MAX, Max(share, 4));
}

SkxBlkFile *
skx_blkio_open(Relation rel, uint64 incarnation, SkxBlkVerify verify)
{
	SkxBlkFile *file = palloc(sizeof(SkxBlkFile));

	file->rel = rel;
	file->verify = verify;
	file->incarnation = incarnation;
	file->method = skx_blkio_choose(rel, incarnation);
	file->pin_budget = skx_blkio_pin_budget(file->method, rel);
	file->prefetch_depth = skx_blkio_depth_in_force(file->method);
	file->read_once = false;
	file->evict_nothing = false;
	file->only = NULL;
	file->strategy = NULL;
	memset(file->hit_use_counts, 0, sizeof(file->hit_use_counts));
	memset(file->last_hit_plane, 0, sizeof(file->last_hit_plane));
	skx_blkio_fd_recheck();
	skx_blkio_release_register();
	skx_blkio_warmer_request();
	return file;
}

void
skx_blkio_close(SkxBlkFile *file)
{
	skx_blkio_prefetch_forget(NULL, file);
	skx_blkio_counters_publish();
	if (file->strategy != NULL)
		FreeAccessStrategy(file->strategy);
	pfree(file);
}

void
skx_blkio_set_read_once(SkxBlkFile *file)
{
	MemoryContext context = MemoryContextSwitchTo(GetMemoryChunkContext(file));

	file->read_once = true;
	if (file->method->pin == NULL)
		file->pin_budget = SKX_BLK_READ_ONCE_PINS_MAX;
	else if (file->strategy == NULL)
		file->strategy = GetAccessStrategy(BAS_BULKREAD);
	MemoryContextSwitchTo(context);
}

void
skx_blkio_evict_nothing(SkxBlkFile *file)
{
	file->evict_nothing = true;
}

void
skx_blkio_bypass_page_cache(SkxBlkFile *file)
{
	if (skx_blkio_io_method != SKX_BLK_METHOD_AUTO ||
		file->method != &skx_blkio_method_uring)
		return;
	file->method = &skx_blkio_method_uring_direct;
	file->prefetch_depth = skx_blkio_depth_in_force(file->method);
}

void
skx_blkio_read_by_server(SkxBlkFile *file)
{
	file->method = &skx_blkio_method_bufmgr;
	file->pin_budget = skx_blkio_pin_budget(file->method, file->rel);
	file->prefetch_depth = skx_blkio_depth_in_force(file->method);
}

int
skx_blkio_hit_use_count(SkxBlkFile *file, uint8 plane)
{
	int			uses = file->hit_use_counts[plane];

	Assert(file->read_once && plane < SKX_BLK_PLANES);
	file->hit_use_counts[plane] = file->last_hit_plane[plane];
	return uses;
}

const char *
skx_blkio_pin_slow(SkxBlkFile *file, const SkxBlkPlane *plane,
				   uint32 ordinal, SkxBlkRef *ref)
{
	skx_blkio_unpin(file, ref);
	if (ordinal >= plane->npages)
		(void) skx_blkio_block(file->rel, plane, ordinal);	/* fails */
	skx_blkio_count(file)->pins++;
	if (file->method->pin != NULL)
		file->method->pin(file, plane, ordinal, ref);
	else
		skx_blkio_cached_pin(file, plane, ordinal, ref);
	ref->plane = plane;
	ref->ordinal = ordinal;
	ref->page = ref->base + (Size) (ordinal - ref->first) * BLCKSZ;
	return ref->page;
}

void
skx_blkio_unpin(SkxBlkFile *file, SkxBlkRef *ref)
{
	if (ref->npages > 0)
	{
		SkxBlkPin  *pin = skx_blkio_pins_slot(ref->slot);

		/* the serial differs if the pin has ended with its owner */
		if (pin->kind != SKX_BLK_PIN_FREE && pin->serial == ref->serial)
			skx_blkio_pins_drop(ref->slot);
	}
	memset(ref, 0, sizeof(*ref));
}

void
skx_blkio_prefetch(SkxBlkFile *file, const SkxBlkPlane *plane,
				   const uint32 *ordinals, int n)
{
	if (file->prefetch_depth > 0)
		file->method->prefetch(file, plane, ordinals, n);
}

int
skx_blkio_prefetch_depth(const SkxBlkFile *file)
{
	return file->prefetch_depth;
}

bool
skx_blkio_has_many_pins(SkxBlkFile *file)
{
	return skx_blkio_pins_count() >= file->pin_budget;
}
