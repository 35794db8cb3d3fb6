/*
 * blkio_pins.c
 *	  What this backend has pinned.
 *
 * Every pin of any method has a slot in one table.  The slot notes the
 * resource owner.  So an abort releases what the interrupted code held, and an
 * explicit unpin works whichever owner is current: a cursor is opened, read
 * and closed under different ones.  If an owner ends while this backend loads
 * a frame, the load is marked failed, and a backend that waits for the frame
 * reads it.
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

static SkxBlkPin *skx_blkio_pins = NULL;
static int	skx_blkio_pins_size = 0;
static int	skx_blkio_pins_used = 0;
static int32 skx_blkio_pins_free = -1;
static uint32 skx_blkio_pins_serial = 0;

int			skx_blkio_pins_ahead = 0;

/*
 * Releases what a slot holds.  With `owner_gone` the server has released the
 * buffer already.
 */
static void
skx_blkio_pins_release(int32 slot, bool owner_gone)
{
	SkxBlkPin  *pin = &skx_blkio_pins[slot];

	switch ((SkxBlkPinKind) pin->kind)
	{
		case SKX_BLK_PIN_BUFFER:
			if (!owner_gone)
			{
				ResourceOwner current = CurrentResourceOwner;

				CurrentResourceOwner = pin->owner;
				ReleaseBuffer(pin->number);
				CurrentResourceOwner = current;
			}
			break;
		case SKX_BLK_PIN_FRAME:
			if (pin->loading)
				skx_blkio_cache_end_load(pin->number, false);
			skx_blkio_cache_unpin(pin->number);
			break;
		case SKX_BLK_PIN_PRIVATE:
			skx_blkio_private_give(pin->class, pin->memory,
								   pin->filled ? &pin->key : NULL);
			break;
		case SKX_BLK_PIN_NOTHING:
		case SKX_BLK_PIN_FREE:
			break;
	}
	pin->kind = SKX_BLK_PIN_FREE;
	pin->number = skx_blkio_pins_free;
	skx_blkio_pins_free = slot;
	skx_blkio_pins_used--;
}

/*
 * The server warns about buffers that are still pinned at commit; for frames
 * this function does.
 */
void
skx_blkio_pins_end(ResourceOwner owner, bool commit)
{
	if (skx_blkio_pins_used == 0)
		return;
	for (int32 slot = 0; slot < skx_blkio_pins_size; slot++)
	{
		SkxBlkPin  *pin = &skx_blkio_pins[slot];

		if (pin->kind == SKX_BLK_PIN_FREE || pin->owner != owner)
			continue;
		if (commit && pin->kind != SKX_BLK_PIN_BUFFER)
			elog(WARNING, "skipidx page pin leak: slot %d", (int) slot);
		skx_blkio_pins_release(slot, true);
	}
}

void
skx_blkio_pins_end_process(void)
{
	for (int32 slot = 0; slot < skx_blkio_pins_size; slot++)
	{
		if (skx_blkio_pins[slot].kind == SKX_BLK_PIN_FRAME)
			skx_blkio_pins_release(slot, true);
	}
}

static void
skx_blkio_pins_grow(void)
{
	int			size = Max(skx_blkio_pins_size * 2, 64);

	if (skx_blkio_pins == NULL)
		skx_blkio_pins = MemoryContextAlloc(TopMemoryContext,
											size * sizeof(SkxBlkPin));
	else
		skx_blkio_pins = repalloc_huge(skx_blkio_pins,
									   size * sizeof(SkxBlkPin));
	for (int32 slot = size - 1; slot >= skx_blkio_pins_size; slot--)
	{
		skx_blkio_pins[slot].kind = SKX_BLK_PIN_FREE;
		skx_blkio_pins[slot].number = skx_blkio_pins_free;
		skx_blkio_pins_free = slot;
	}
	skx_blkio_pins_size = size;
}

int32
skx_blkio_pins_take(void)
{
	int32		slot;
	SkxBlkPin  *pin;

	if (skx_blkio_pins_free < 0)
		skx_blkio_pins_grow();
	slot = skx_blkio_pins_free;
	pin = &skx_blkio_pins[slot];
	skx_blkio_pins_free = pin->number;
	pin->owner = CurrentResourceOwner;
	pin->memory = NULL;
	pin->serial = ++skx_blkio_pins_serial;
	pin->kind = SKX_BLK_PIN_NOTHING;
	pin->loading = false;
	pin->filled = false;
	skx_blkio_pins_used++;
	return slot;
}

SkxBlkPin *
skx_blkio_pins_slot(int32 slot)
{
	return &skx_blkio_pins[slot];
}

void
skx_blkio_pins_drop(int32 slot)
{
	skx_blkio_pins_release(slot, false);
}

const SkxBlkPin *
skx_blkio_pins_find_other(SkxBlkClass class, const SkxBlkKey *key, bool filled)
{
	for (int32 slot = 0; slot < skx_blkio_pins_size; slot++)
	{
		SkxBlkPin  *pin = &skx_blkio_pins[slot];

		if (pin->kind == SKX_BLK_PIN_PRIVATE && pin->class == class &&
			(pin->filled || !filled) && skx_blkio_same_key(&pin->key, key))
			return pin;
	}
	return NULL;
}

bool
skx_blkio_pins_private(int32 slot, SkxBlkClass class, const SkxBlkKey *key)
{
	char	   *memory = skx_blkio_private_find(class, key);
	bool		found = memory != NULL;
	SkxBlkPin  *pin;

	if (!found)
	{
		const SkxBlkPin *other = skx_blkio_pins_find_other(class, key, true);

		memory = skx_blkio_private_take(class);
		found = other != NULL;
		if (found)
			memcpy(memory, other->memory,
				   (Size) skx_blkio_frame_pages(class) * BLCKSZ);
	}
	pin = &skx_blkio_pins[slot];
	pin->kind = SKX_BLK_PIN_PRIVATE;
	pin->class = class;
	pin->memory = memory;
	pin->key = *key;
	pin->filled = found;
	return found;
}

void
skx_blkio_pins_loaded(int32 slot)
{
	SkxBlkPin  *pin = &skx_blkio_pins[slot];

	if (pin->loading)
	{
		pin->loading = false;
		skx_blkio_cache_end_load(pin->number, true);
	}
}

int
skx_blkio_pins_count(void)
{
	return skx_blkio_pins_used - skx_blkio_pins_ahead;
}
