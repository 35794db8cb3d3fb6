/*
 * pending_page.c
 *	  Reads, initialises and adds pages of a stripe.
 *
 * A page of an extent is unused until the stripe's extent_next passes it.  The
 * content of an unused page is undefined.  The first page of an extent is an
 * exception: its trailer always has the length of the extent and the start of
 * the extent before it.
 */
#include "postgres.h"

#include "support/damage/damage.h"
#include "format/disk/disk_check.h"
#include "index/pending/pending_internal.h"
#include "storage/bufmgr.h"
#include "support/compat/compat.h"

/* Least pages of an extent, rounded up to whole blocks. */
#define SKX_PENDING_EXTENT_MIN	16

#ifdef USE_ASSERT_CHECKING
bool
skx_pending_stripe_is_successor(Buffer buffer, const char *copy)
{
	const SkxDiskStripe *old =
		(const SkxDiskStripe *) skx_manifest_page_content(buffer);
	const SkxDiskStripe *new = (const SkxDiskStripe *) (copy + SKX_PAGE_START);

	if (!skx_compat_buffer_locked(buffer))
		return false;
	if (skx_disk_check_stripe(BufferGetPage(buffer), MaxBlockNumber) == NULL &&
		skx_disk_check_stripe(copy, MaxBlockNumber) != NULL)
		return false;
	return new->next_sequence >= old->next_sequence &&
		new->ndead >= old->ndead && new->nnull >= old->nnull &&
		new->total_length >= old->total_length &&
		new->nbytes >= old->nbytes &&
		new->npages - old->npages <= PG_INT32_MAX;
}
#endif

Buffer
skx_pending_lock_page(Relation rel, SkxDiskMeta *meta, BlockNumber block,
					  SkxPlane plane, int mode)
{
	Buffer		buffer;
	Size		least = 0;

	if (block >= meta->nblocks)
		skx_manifest_meta(rel, meta);
	if (block == SKX_META_BLOCK || block >= meta->nblocks)
		skx_damage_report(rel, block,
						  "the pending list names a page outside the file");
	buffer = skx_manifest_lock_page(rel, meta->incarnation, block, plane, 0,
									mode);
	switch (plane)
	{
		case SKX_PLANE_STRIPE:
			least = sizeof(SkxDiskStripe);
			break;
		case SKX_PLANE_PENDING:
			least = sizeof(SkxDiskPendingPage);
			break;
		case SKX_PLANE_CHAIN:
			least = sizeof(SkxDiskChainPage);
			break;
		default:
			break;
	}
	if (((PageHeader) BufferGetPage(buffer))->pd_lower <
		SKX_PAGE_START + least)
		skx_damage_report(rel, block, "the pending page is too short");
	return buffer;
}

Buffer
skx_pending_unused_page(SkxPendingStripe *s, BlockNumber block)
{
	Assert(skx_compat_buffer_locked(s->buffer));
	if (block >= s->meta.nblocks)
		skx_manifest_meta(s->rel, &s->meta);
	if (block >= s->meta.nblocks)
		skx_damage_report(s->rel, s->block,
						  "the stripe's extent lies outside the file");
	if (block == s->new_extent)
		return skx_manifest_lock_page(s->rel, s->meta.incarnation, block,
									  SKX_PLANE_PENDING, 0,
									  BUFFER_LOCK_EXCLUSIVE);
	return ReadBufferExtended(s->rel, MAIN_FORKNUM, block, RBM_ZERO_AND_LOCK,
							  NULL);
}

void
skx_pending_init_page(char *copy, Buffer buffer, const SkxPendingStripe *s,
					  SkxPlane plane)
{
	SkxPageIdentity id = {s->meta.incarnation, 0, InvalidBlockNumber, plane};

	Assert(skx_compat_buffer_locked(buffer));
	if (BufferGetBlockNumber(buffer) == s->new_extent)
	{
		const SkxDiskTrailer *trailer =
			skx_disk_trailer(BufferGetPage(buffer));

		id.segment = trailer->segment;
		id.ordinal = trailer->ordinal;
	}
	skx_disk_page_init(copy, &id);
}

static void
skx_pending_init_extent(char *page, BlockNumber block, uint32 npages,
						void *arg)
{
	SkxDiskStripe *stripe = (SkxDiskStripe *) (page + SKX_PAGE_START);

	/* unused pages of the extent before it would be lost */
	Assert(stripe->extent_next >= stripe->extent_end);
	stripe->extent_next = block;
	stripe->extent_end = block + npages;
	stripe->extent_last = block;
}

void
skx_pending_extend(SkxPendingStripe *s, uint32 wanted)
{
	const SkxDiskStripe *disk;
	uint32		npages = Max(SKX_PENDING_EXTENT_MIN, wanted);

	disk = (const SkxDiskStripe *) skx_manifest_page_content(s->buffer);
	if (disk->extent_next >= disk->extent_end)
		skx_manifest_take_extent(s->rel,
								 TYPEALIGN(s->meta.block_size / BLCKSZ, npages),
								 disk->extent_last, s->buffer,
								 skx_pending_init_extent, NULL);
	Assert(disk->extent_next < disk->extent_end);
	s->new_extent = disk->extent_last;
}

/*
 * Returns the first page of an extent, pinned and locked in share mode, and
 * sets *plane to its plane, SKX_PLANE_CHAIN or SKX_PLANE_PENDING.
 */
static Buffer
skx_pending_extent_buffer(Relation rel, const SkxDiskMeta *meta,
						  BlockNumber block, uint8 *plane)
{
	Buffer		buffer = ReadBuffer(rel, block);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	*plane = skx_disk_trailer(BufferGetPage(buffer))->plane;
	UnlockReleaseBuffer(buffer);
	if (*plane != SKX_PLANE_CHAIN)
		*plane = SKX_PLANE_PENDING;
	return skx_manifest_lock_page(rel, meta->incarnation, block, *plane, 0,
								  BUFFER_LOCK_SHARE);
}

uint64
skx_pending_extent_first_doc(Relation rel, const SkxDiskMeta *meta,
							 BlockNumber block)
{
	uint8		plane;
	Buffer		buffer = skx_pending_extent_buffer(rel, meta, block, &plane);
	uint64		first = 0;

	if (plane == SKX_PLANE_PENDING)
		first = ((const SkxDiskPendingPage *)
				 skx_manifest_page_content(buffer))->first_sequence;
	UnlockReleaseBuffer(buffer);
	return first;
}

void
skx_pending_extent(Relation rel, const SkxDiskMeta *meta, BlockNumber block,
				   uint32 *npages, BlockNumber *previous)
{
	BlockNumber nblocks = meta->nblocks;
	const SkxDiskTrailer *trailer;
	Buffer		buffer;
	uint8		plane;

	if (block == SKX_META_BLOCK || block >= nblocks)
		skx_damage_report(rel, block,
						  "a stripe's extent lies outside the file");
	buffer = skx_pending_extent_buffer(rel, meta, block, &plane);
	trailer = skx_disk_trailer(BufferGetPage(buffer));
	*npages = trailer->segment;
	*previous = trailer->ordinal;
	UnlockReleaseBuffer(buffer);
	if (*npages == 0 || *npages > nblocks - block)
		skx_damage_report(rel, block,
						  "an extent of a stripe does not begin here");
}
