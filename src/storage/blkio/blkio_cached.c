/*
 * blkio_cached.c
 *	  Pins pages through the cache, for every method that reads by itself.
 *
 * A miss reads the whole unit of the page, as far as it is not in the cache.
 * The wanted frame is claimed first.  A backend waits for it only while it
 * loads no frame that others may wait for.  Neighbours are claimed only if
 * that needs no wait.  So no two backends can wait for each other.
 *
 * The pages go to a frame in the backend's own memory if the cache has no free
 * frame, or if another backend is slow to load it.  The same holds for all
 * pages of a file read in passing that are not in the cache.  Such a frame is
 * kept a little longer than the pin.
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "pgstat.h"
#include "storage/blkio/blkio_cache.h"

/* Pins the frame of the key; returns true if it has its pages. */
static bool
skx_blkio_cached_pin_frame(SkxBlkFile *file, const SkxBlkKey *key,
						   SkxBlkClass class, int32 slot)
{
	uint32		hash = skx_blkio_cache_hash(key);
	bool		mine = false;
	int32		frame = skx_blkio_cache_find(key, hash, !file->read_once &&
											 !file->evict_nothing);

	if (frame < 0 && !file->read_once)
	{
		skx_blkio_cache_grow(class);
		frame = skx_blkio_cache_claim(key, hash, class, false,
									  file->evict_nothing, &mine);
	}
	if (frame < 0)
		return skx_blkio_pins_private(slot, class, key);
	skx_blkio_claim_set_slot(slot, class, frame, mine);
	if (mine)
		return false;
	if (skx_blkio_cache_valid(frame))
		return true;
	if (skx_blkio_loads_ahead > 0)
		skx_blkio_prefetch_finish(file, key);
	switch (skx_blkio_cache_wait_valid(frame, &skx_blkio_count(file)->waits))
	{
		case SKX_BLK_WAIT_VALID:
			return true;
		case SKX_BLK_WAIT_MUST_LOAD:
			skx_blkio_pins_slot(slot)->loading = true;
			break;
		case SKX_BLK_WAIT_TIMED_OUT:
			skx_blkio_cache_unpin(frame);
			skx_blkio_pins_slot(slot)->kind = SKX_BLK_PIN_NOTHING;
			return skx_blkio_pins_private(slot, class, key);
	}
	return false;
}

/*
 * Reads the frame in `slot`, and the rest of its unit if the cache takes it.
 */
static void
skx_blkio_cached_read(SkxBlkFile *file, const SkxBlkPlane *plane,
					  uint32 wanted, int32 slot)
{
	SkxBlkClass class = skx_blkio_class(plane);
	uint32		frame_pages = skx_blkio_frame_pages(class);
	uint32		unit = Min(plane->unit, SKX_BLK_GROUP_PAGES);
	uint32		first = wanted & ~(unit - 1);
	uint32		end = first + Min(unit, plane->npages - first);
	SkxBlkLoad *load = skx_blkio_load_new(file, plane, false);
	SkxBlkGroup *group = &load->group;
	bool		neighbours;

	/* in a cache of a few units, neighbours would only evict each other */
	neighbours = skx_blkio_pins_slot(slot)->kind == SKX_BLK_PIN_FRAME &&
		unit / frame_pages <= skx_blkio_cache.nframes[class] / 8;
	for (uint32 at = first; at < end; at += frame_pages)
	{
		if (at == wanted)
			skx_blkio_load_add(load, slot, at);
		else if (neighbours)
			skx_blkio_claim(load, at);
	}
	skx_blkio_load_start(load);
	skx_blkio_load_finish(load);
	for (int i = 0; i < group->nframes; i++)
	{
		if (group->slots[i] != slot)
			skx_blkio_pins_drop(group->slots[i]);
	}
}

/*
 * Pins the frame of the key in `slot`, which is reserved, and fills it.
 * Returns true if it had to be read.
 */
static bool
skx_blkio_cached_fill(SkxBlkFile *file, const SkxBlkPlane *plane,
					  const SkxBlkKey *key, int32 slot)
{
	SkxBlkClass class = skx_blkio_class(plane);
	bool		found;

	if (skx_blkio_cache.header == NULL)
		found = skx_blkio_pins_private(slot, class, key);
	else
		found = skx_blkio_cached_pin_frame(file, key, class, slot);
	if (found)
	{
		skx_blkio_count(file)->hits++;
		pgBufferUsage.shared_blks_hit++;
		pgstat_count_buffer_read(file->rel);
		pgstat_count_buffer_hit(file->rel);
		if (VacuumCostActive)
			VacuumCostBalance += VacuumCostPageHit;
	}
	else
		skx_blkio_cached_read(file, plane, key->ordinal, slot);
	return !found;
}

/*
 * Notes for skx_blkio_hit_use_count whether the cache had the frame, and its
 * use count.
 */
static void
skx_blkio_cached_note_hit(SkxBlkFile *file, const SkxBlkPlane *plane,
						  const SkxBlkPin *pin)
{
	int			uses = 0;

	Assert(plane->plane < SKX_BLK_PLANES);
	if (pin->kind == SKX_BLK_PIN_FRAME)
		uses = Max(skx_blkio_cache_uses(pin->number), 1);
	file->last_hit_plane[plane->plane] = (uint8) uses;
	file->hit_use_counts[plane->plane] =
		(uint8) Max(file->hit_use_counts[plane->plane], uses);
}

void
skx_blkio_cached_pin(SkxBlkFile *file, const SkxBlkPlane *plane,
					 uint32 ordinal, SkxBlkRef *ref)
{
	uint32		first = skx_blkio_frame_first_page(plane, ordinal);
	int32		slot = -1;
	SkxBlkKey	key;
	SkxBlkPin  *pin;

	skx_blkio_key(file, plane, first, &key);
	if (file->read_once && skx_blkio_loads_ahead > 0)
		slot = skx_blkio_prefetch_take(file, &key);
	if (slot < 0)
	{
		slot = skx_blkio_pins_take();
		if (skx_blkio_cached_fill(file, plane, &key, slot) ||
			skx_blkio_ahead_starved)
			skx_blkio_prefetch_continue();
	}
	pin = skx_blkio_pins_slot(slot);
	pin->filled = true;
	if (file->read_once)
		skx_blkio_cached_note_hit(file, plane, pin);
	ref->base = pin->memory;
	ref->first = first;
	ref->npages = Min(skx_blkio_frame_pages(skx_blkio_class(plane)),
					  plane->npages - first);
	ref->slot = slot;
	ref->serial = pin->serial;
}
