/*
 * blkio_cached.c
 *	  Pinning through the cache, for every method that reads on its own.
 *
 * A miss brings the whole unit of the page, as far as it is not in the cache
 * yet.  The wanted frame is claimed first and waited for while this backend
 * is loading nothing; its neighbours are taken only if that needs no waiting.
 * So no two backends can wait for each other.  Where the cache has no frame
 * to give, the pages go to a frame in the backend's own memory, which lasts
 * as long as the pin.
 */
#include "postgres.h"

#include "blkio/blkio_cache.h"
#include "executor/instrument.h"
#include "pgstat.h"

/* First page of the frame that holds a page. */
static inline uint32
skx_blkio_cached_first(const SkxBlkPlane *plane, uint32 ordinal)
{
	return ordinal & ~(skx_blkio_frame_pages(skx_blkio_class(plane)) - 1);
}

/* Notes in a reserved slot that this backend has pinned the frame. */
static void
skx_blkio_cached_note(int32 slot, SkxBlkClass class, int32 frame,
					  bool loading)
{
	SkxBlkPin  *pin = skx_blkio_pins_at(slot);

	pin->kind = SKX_BLK_PIN_FRAME;
	pin->class = class;
	pin->number = frame;
	pin->memory = skx_blkio_cache_pages(frame);
	pin->loading = loading;
}

/* Pins the frame at `first`; true when its pages are there. */
static bool
skx_blkio_cached_take(const SkxBlkKey *key, SkxBlkClass class, int32 slot)
{
	uint32		hash = skx_blkio_cache_hash(key);
	bool		mine = false;
	int32		frame = skx_blkio_cache_find(key, hash);

	if (frame < 0)
		frame = skx_blkio_cache_claim(key, hash, class, &mine);
	if (frame < 0)
	{
		skx_blkio_pins_private(slot, class);
		return false;
	}
	skx_blkio_cached_note(slot, class, frame, mine);
	if (!mine && skx_blkio_cache_await(frame))
		return true;
	skx_blkio_pins_at(slot)->loading = true;
	return false;
}

/* Takes a neighbour into the group if nobody has it and a frame is free. */
static void
skx_blkio_cached_neighbour(const SkxBlkKey *key, SkxBlkClass class,
						   SkxBlkGroup *group)
{
	uint32		hash = skx_blkio_cache_hash(key);
	int32		slot;
	int32		frame;
	bool		mine;

	if (skx_blkio_cache_present(key, hash))
		return;
	slot = skx_blkio_pins_take();
	frame = skx_blkio_cache_claim(key, hash, class, &mine);
	if (frame >= 0)
		skx_blkio_cached_note(slot, class, frame, mine);
	if (frame < 0 || !mine)
	{
		skx_blkio_pins_drop(slot);
		return;
	}
	group->slots[group->nframes] = slot;
	group->firsts[group->nframes] = key->ordinal;
	group->nframes++;
}

/* Reads the frame in `slot`, and with it the rest of its unit. */
static void
skx_blkio_cached_read(SkxBlkFile *file, const SkxBlkPlane *plane,
					  uint32 wanted, int32 slot)
{
	SkxBlkClass class = skx_blkio_class(plane);
	uint32		frame_pages = skx_blkio_frame_pages(class);
	uint32		unit = Min(plane->unit, SKX_BLK_GROUP_PAGES);
	uint32		first = wanted & ~(unit - 1);
	uint32		end = first + Min(unit, plane->npages - first);
	bool		neighbours;
	SkxBlkGroup group;

	group.plane = plane;
	group.nframes = 0;

	/* In a cache of a few units they would only push each other out. */
	neighbours = skx_blkio_pins_at(slot)->kind == SKX_BLK_PIN_FRAME &&
		unit / frame_pages <= skx_blkio_cache.nframes[class] / 8;
	for (uint32 at = first; at < end; at += frame_pages)
	{
		SkxBlkKey	key;

		if (at == wanted)
		{
			group.slots[group.nframes] = slot;
			group.firsts[group.nframes] = at;
			group.nframes++;
		}
		else if (neighbours)
		{
			skx_blkio_key(file, plane, at, &key);
			skx_blkio_cached_neighbour(&key, class, &group);
		}
	}
	skx_blkio_load(file, &group);
	for (int i = 0; i < group.nframes; i++)
	{
		if (group.slots[i] != slot)
			skx_blkio_pins_drop(group.slots[i]);
	}
}

void
skx_blkio_cached_pin(SkxBlkFile *file, const SkxBlkPlane *plane,
					 uint32 ordinal, SkxBlkRef *ref)
{
	SkxBlkClass class = skx_blkio_class(plane);
	uint32		first = skx_blkio_cached_first(plane, ordinal);
	int32		slot = skx_blkio_pins_take();
	SkxBlkKey	key;
	SkxBlkPin  *pin;

	skx_blkio_key(file, plane, first, &key);
	if (skx_blkio_cache.header == NULL)
	{
		skx_blkio_pins_private(slot, class);
		skx_blkio_cached_read(file, plane, first, slot);
	}
	else if (skx_blkio_cached_take(&key, class, slot))
	{
		skx_blkio_mine.hits++;
		pgBufferUsage.shared_blks_hit++;
		pgstat_count_buffer_read(file->rel);
		pgstat_count_buffer_hit(file->rel);
		if (VacuumCostActive)
			VacuumCostBalance += VacuumCostPageHit;
	}
	else
		skx_blkio_cached_read(file, plane, first, slot);

	pin = skx_blkio_pins_at(slot);
	ref->base = pin->memory;
	ref->first = first;
	ref->npages = Min(skx_blkio_frame_pages(class), plane->npages - first);
	ref->slot = slot;
	ref->serial = pin->serial;
}

/* Is the page in the cache, or on its way there? */
bool
skx_blkio_cached_present(SkxBlkFile *file, const SkxBlkPlane *plane,
						 uint32 ordinal)
{
	SkxBlkKey	key;

	if (skx_blkio_cache.header == NULL)
		return false;
	skx_blkio_key(file, plane, skx_blkio_cached_first(plane, ordinal), &key);
	return skx_blkio_cache_present(&key, skx_blkio_cache_hash(&key));
}
