/*
 * blkio_method_bufmgr.c
 *	  Reads through the server's buffer manager, one page at a time.
 *
 * This works without a cache, and for temporary relations, whose pages are in
 * local buffers.  It shows any page as the server sees it.  Segment pages do
 * not change, so a pin suffices and no content lock is taken.  It is not known
 * when a page came into its buffer, so it is verified at every pin, unless the
 * server has verified its checksum when it came: then it suffices that this
 * process has verified the page before, and that it ends with the same bytes.
 * These have its identity and the checksum of its contents.  Reads in
 * passing use a ring of a few buffers, as the server's own full scans do;
 * buffers that are pinned when the ring returns to them are replaced in it.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "executor/instrument.h"
#include "storage/blkio/blkio_cache.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"

/* Pages that this process remembers as verified, by buffer: a power of two. */
#define SKX_BLK_VERIFIED_PAGES	2048

/* Bytes at the end of a page that distinguish it. */
#define SKX_BLK_SEAL_BYTES		24

typedef struct SkxBlkVerified
{
	SkxBlkKey	key;
	char		seal[SKX_BLK_SEAL_BYTES];
} SkxBlkVerified;

static SkxBlkVerified skx_blkio_verified[SKX_BLK_VERIFIED_PAGES];

static void
skx_blkio_bufmgr_verify(SkxBlkFile *file, const SkxBlkKey *key,
						BlockNumber block, Buffer buffer, const char *page)
{
	SkxBlkVerified *known = &skx_blkio_verified[(uint32) buffer &
												(SKX_BLK_VERIFIED_PAGES - 1)];
	const char *seal = page + BLCKSZ - SKX_BLK_SEAL_BYTES;

	if (skx_blkio_same_key(&known->key, key) &&
		memcmp(known->seal, seal, SKX_BLK_SEAL_BYTES) == 0 &&
		DataChecksumsEnabled() && !ignore_checksum_failure)
		return;
	(void) file->verify(file->rel, key, block, page, true);
	known->key = *key;
	memcpy(known->seal, seal, SKX_BLK_SEAL_BYTES);
}

static void
skx_blkio_bufmgr_pin(SkxBlkFile *file, const SkxBlkPlane *plane,
					 uint32 ordinal, SkxBlkRef *ref)
{
	BlockNumber block = skx_blkio_block(file->rel, plane, ordinal);
	int32		slot = skx_blkio_pins_take();
	int64		before = pgBufferUsage.shared_blks_read +
		pgBufferUsage.local_blks_read;
	Buffer		buffer = ReadBufferExtended(file->rel, MAIN_FORKNUM, block,
											RBM_NORMAL, file->strategy);
	SkxBlkPin  *pin = skx_blkio_pins_slot(slot);
	SkxBlkCounters *count = skx_blkio_count(file);
	SkxBlkKey	key;

	pin->kind = SKX_BLK_PIN_BUFFER;
	pin->number = buffer;
	pin->memory = (char *) BufferGetPage(buffer);
	if (pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read ==
		before)
		count->hits++;
	else
	{
		count->loads++;
		count->requests++;
		count->batches++;
		count->depth_sum++;
		count->pages_read++;
		count->rounds++;
	}
	skx_blkio_key(file, plane, ordinal, &key);
	skx_blkio_bufmgr_verify(file, &key, block, buffer, pin->memory);

	pin = skx_blkio_pins_slot(slot);
	ref->base = pin->memory;
	ref->first = ordinal;
	ref->npages = 1;
	ref->slot = slot;
	ref->serial = pin->serial;
}

static void
skx_blkio_bufmgr_prefetch(SkxBlkFile *file, const SkxBlkPlane *plane,
						  const uint32 *ordinals, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (ordinals[i] < plane->npages)
			(void) PrefetchBuffer(file->rel, MAIN_FORKNUM,
								  skx_blkio_block(file->rel, plane,
												  ordinals[i]));
	}
}

const SkxBlkMethod skx_blkio_method_bufmgr = {
	.number = SKX_BLK_SHARED_BUFFERS,
	.pin = skx_blkio_bufmgr_pin,
	.prefetch = skx_blkio_bufmgr_prefetch,
};
