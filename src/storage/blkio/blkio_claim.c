/*
 * blkio_claim.c
 *	  Claims frames for a read, in the cache or in this backend's memory.
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"

void
skx_blkio_claim_set_slot(int32 slot, SkxBlkClass class, int32 frame,
						 bool loading)
{
	SkxBlkPin  *pin = skx_blkio_pins_slot(slot);

	pin->kind = SKX_BLK_PIN_FRAME;
	pin->class = class;
	pin->number = frame;
	pin->memory = skx_blkio_cache_pages(frame);
	pin->loading = loading;
}

/*
 * Pins the frame of the key if no other backend is reading it and one is free.
 * Returns true if this backend must load it.
 */
static bool
skx_blkio_claim_free(const SkxBlkFile *file, const SkxBlkKey *key, uint32 hash,
					 SkxBlkClass class, bool ahead, int32 slot)
{
	bool		mine = false;
	int32		frame = skx_blkio_cache_find(key, hash, false);

	if (frame >= 0)
		mine = skx_blkio_cache_reclaim(frame, ahead);
	else
	{
		skx_blkio_cache_grow(class);
		frame = skx_blkio_cache_claim(key, hash, class, ahead,
									  file->evict_nothing, &mine);
	}
	if (frame >= 0)
		skx_blkio_claim_set_slot(slot, class, frame, mine);
	return mine;
}

/* Returns false if no page of a frame is to be read beside others. */
static bool
skx_blkio_claim_is_wanted(const SkxBlkFile *file, const SkxBlkPlane *plane,
						  uint32 first)
{
	BlockNumber block;
	BlockNumber end;
	int			low = 0;
	int			high = file->nonly;

	if (file->only == NULL)
		return true;
	block = skx_blkio_block(file->rel, plane, first);
	end = block + skx_blkio_frame_pages(skx_blkio_class(plane));

	/* the last run that begins before the end of the frame */
	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (file->only[middle].block < end)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 &&
		file->only[low - 1].block + file->only[low - 1].npages > block;
}

void
skx_blkio_claim(SkxBlkLoad *load, uint32 first)
{
	SkxBlkFile *file = load->file;
	SkxBlkClass class = skx_blkio_class(load->group.plane);
	SkxBlkKey	key;
	uint32		hash;
	int32		slot;

	if (!skx_blkio_claim_is_wanted(file, load->group.plane, first))
		return;
	skx_blkio_key(file, load->group.plane, first, &key);
	hash = skx_blkio_cache_hash(&key);
	if (skx_blkio_cache_present(&key, hash) ||
		(file->read_once &&
		 (skx_blkio_private_has(class, &key) ||
		  skx_blkio_pins_find_other(class, &key, false) != NULL)))
		return;
	slot = skx_blkio_pins_take();
	if (file->read_once)
	{
		skx_blkio_load_add(load, slot, first);
		(void) skx_blkio_pins_private(slot, class, &key);
	}
	else if (skx_blkio_claim_free(file, &key, hash, class, load->is_prefetch,
								  slot))
		skx_blkio_load_add(load, slot, first);
	else
		skx_blkio_pins_drop(slot);
}

bool
skx_blkio_claim_present(SkxBlkFile *file, const SkxBlkPlane *plane,
						uint32 ordinal)
{
	SkxBlkKey	key;

	if (skx_blkio_cache.header == NULL)
		return false;
	skx_blkio_key(file, plane, skx_blkio_frame_first_page(plane, ordinal),
				  &key);
	return skx_blkio_cache_present(&key, skx_blkio_cache_hash(&key));
}
