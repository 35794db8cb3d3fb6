/*
 * pending_page.c
 *	  Pages of a stripe: finding, initialising and getting more of them.
 *
 * A page of an extent is unused from when the extent is taken until the
 * stripe's extent_next passes it.  An unused page is zero or, first and last
 * of an extent, an empty pending page.
 */
#include "postgres.h"

#include "format/format.h"
#include "pending/pending_internal.h"
#include "storage/bufmgr.h"

/* Pages that a small list takes at once, and a large one. */
#define SKX_PENDING_EXTENT_MIN	16
#define SKX_PENDING_EXTENT_MAX	128

Buffer
skx_pending_buffer(Relation rel, SkxDiskMeta *meta, BlockNumber block,
				   SkxPlane plane, int mode)
{
	Buffer		buffer;
	Size		least = 0;

	if (block >= meta->nblocks)
		skx_manifest_meta(rel, meta);
	if (block == SKX_META_BLOCK || block >= meta->nblocks)
		skx_format_report(rel, block,
						  "the pending list names a page outside the file");
	buffer = skx_manifest_buffer(rel, meta->incarnation, block, plane, 0,
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
		skx_format_report(rel, block, "the pending page is too short");
	return buffer;
}

/* Pins and locks an unused page of the stripe's extent. */
Buffer
skx_pending_fresh(SkxPendingStripe *s, BlockNumber block)
{
	Buffer		buffer;
	Page		page;

	if (block >= s->meta.nblocks)
		skx_manifest_meta(s->rel, &s->meta);
	if (block >= s->meta.nblocks)
		skx_format_report(s->rel, s->block,
						  "the stripe's extent lies outside the file");
	buffer = ReadBuffer(s->rel, block);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(buffer);
	if (!PageIsNew(page) &&
		(((PageHeader) page)->pd_special != SKX_PAGE_END ||
		 skx_format_trailer(page)->plane != SKX_PLANE_PENDING ||
		 ((PageHeader) page)->pd_lower != SKX_PAGE_START))
		skx_format_report(s->rel, block,
						  "an unused page of the stripe's extent has content");
	return buffer;
}

/* The ordinal survives: on an extent's first page it names the one before. */
void
skx_pending_init_page(char *copy, Buffer buffer, const SkxPendingStripe *s,
					  SkxPlane plane)
{
	Page		old = BufferGetPage(buffer);
	SkxPageIdentity id;

	id.incarnation = s->meta.incarnation;
	id.segment = 0;
	id.plane = plane;
	id.ordinal = PageIsNew(old) ? InvalidBlockNumber :
		skx_format_trailer(old)->ordinal;
	skx_format_page_init(copy, &id);
}

static void
skx_pending_note_extent(char *page, BlockNumber block, uint32 npages,
						void *arg)
{
	SkxDiskStripe *stripe = (SkxDiskStripe *) (page + SKX_PAGE_START);

	stripe->extent_next = block;
	stripe->extent_end = block + npages;
	stripe->extent_last = block;
}

/*
 * Makes sure that the stripe, locked exclusively, has an unused page.
 * `wanted` pages are about to be used; extents also grow with the list, so
 * that a long one is not made of very many.
 */
void
skx_pending_extend(SkxPendingStripe *s, Buffer stripe, uint32 wanted)
{
	const SkxDiskStripe *disk;
	uint32		npages;

	disk = (const SkxDiskStripe *) skx_manifest_content(stripe);
	if (disk->extent_next < disk->extent_end)
		return;
	npages = Min(disk->npages / 8, SKX_PENDING_EXTENT_MAX);
	npages = Max(Max(npages, SKX_PENDING_EXTENT_MIN), wanted);
	npages = TYPEALIGN(s->meta.block_size / BLCKSZ, npages);
	skx_manifest_take_extent(s->rel, npages, disk->extent_last, stripe,
							 skx_pending_note_extent, NULL);
}
