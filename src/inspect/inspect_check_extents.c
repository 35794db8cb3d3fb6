/*
 * inspect_check_extents.c
 *	  Every page of the file has exactly one owner.
 *
 * The metapage, the root, stripes with their extents, segments with header
 * and runs, and free extents must not overlap, and together take every page
 * below meta.nblocks.  What lies behind that has been left by a crash and
 * means nothing, and so do zero pages that fill a block up behind the end of
 * a plane.
 *
 * How long an extent of a stripe is, only the newest tells; an older one ends
 * where the next owner begins.  What all extents of a stripe hold is known,
 * though: the pages in use and those left in the newest.
 */
#include "postgres.h"

#include "compat/compat.h"
#include "format/format_check.h"
#include "inspect/inspect_internal.h"
#include "storage/bufmgr.h"

/* A stretch of the file. */
typedef struct SkxOwned
{
	BlockNumber block;
	uint32		npages;			/* 0: up to the next stretch */
	int			stripe;			/* number of the stripe, or -1 */
	const char *owner;
} SkxOwned;

typedef struct SkxOwners
{
	SkxCheck   *check;
	int			n;
	int			size;
	SkxOwned   *owned;			/* by block, once all are there */
} SkxOwners;

/* Follows the chain of root pages; its content is read by skx_manifest_view. */
static void
skx_inspect_root_pages(SkxCheck *check, const SkxDiskMeta *meta)
{
	BlockNumber next = meta->root;
	BlockNumber block = SKX_META_BLOCK;
	uint32		size = 8;

	check->nroot_pages = 0;
	check->root_pages = palloc(size * sizeof(BlockNumber));
	while (BlockNumberIsValid(next))
	{
		const char *what;
		Buffer		buffer;

		if (next == SKX_META_BLOCK || next >= meta->nblocks ||
			check->nroot_pages >= meta->nblocks)
			skx_format_report(check->index, block,
							  "the chain of root pages leads nowhere");
		block = next;
		skx_inspect_page_sound(check, block);
		buffer = skx_manifest_buffer(check->index, meta->incarnation, block,
									 SKX_PLANE_ROOT, check->nroot_pages,
									 BUFFER_LOCK_SHARE);
		what = skx_format_check_root((char *) BufferGetPage(buffer));
		next = ((SkxDiskRootPage *) skx_manifest_content(buffer))->next;
		UnlockReleaseBuffer(buffer);
		if (what != NULL)
			skx_format_report(check->index, block, what);
		if (check->nroot_pages == size)
		{
			size *= 2;
			check->root_pages = repalloc(check->root_pages,
										 size * sizeof(BlockNumber));
		}
		check->root_pages[check->nroot_pages++] = block;
	}
}

/*
 * Copies all stripes and the metapage as they are at one moment.  An insert
 * locks its stripe, then the metapage.  Whether the root has changed since
 * the view was taken is the answer.
 */
static bool
skx_inspect_moment(SkxCheck *check)
{
	SkxView    *view = check->view;
	Buffer	   *buffers = palloc(view->nstripes * sizeof(Buffer));
	SkxDiskMeta meta;
	int			i;

	check->stripes = palloc(view->nstripes * sizeof(SkxDiskStripe));
	for (i = 0; i < view->nstripes; i++)
		skx_inspect_page_sound(check, view->stripes[i].stripe);
	for (i = 0; i < view->nstripes; i++)
	{
		buffers[i] = skx_manifest_buffer(check->index,
										 view->meta.incarnation,
										 view->stripes[i].stripe,
										 SKX_PLANE_STRIPE, 0,
										 BUFFER_LOCK_SHARE);
		memcpy(&check->stripes[i], skx_manifest_content(buffers[i]),
			   sizeof(SkxDiskStripe));
	}
	skx_manifest_meta(check->index, &meta);
	for (i = 0; i < view->nstripes; i++)
	{
		const char *what = skx_format_check_stripe((char *)
												   BufferGetPage(buffers[i]),
												   meta.nblocks);

		if (what != NULL)
			skx_format_report(check->index, view->stripes[i].stripe, what);
		UnlockReleaseBuffer(buffers[i]);
	}
	pfree(buffers);
	if (meta.generation != view->meta.generation)
		return false;
	view->meta = meta;
	return true;
}

void
skx_inspect_check_view(SkxCheck *check)
{
	SkxDiskMeta meta;
	const char *what;

	do
	{
		check->file_pages = RelationGetNumberOfBlocks(check->index);
		skx_inspect_page_sound(check, SKX_META_BLOCK);
		skx_manifest_meta(check->index, &meta);
		what = skx_format_check_meta(check->page.data);
		if (what != NULL)
			skx_format_report(check->index, SKX_META_BLOCK, what);
		skx_inspect_root_pages(check, &meta);
		check->view = skx_manifest_view(check->index);
	} while (check->view->meta.generation != meta.generation ||
			 !skx_inspect_moment(check));
	check->file_pages = RelationGetNumberOfBlocks(check->index);
	if (check->view->meta.nblocks > check->file_pages)
		skx_format_report_detail(check->index, SKX_META_BLOCK,
								 "the file has %u pages, but should have %u",
								 check->file_pages,
								 check->view->meta.nblocks);
}

static void
skx_inspect_own(SkxOwners *o, BlockNumber block, uint32 npages, int stripe,
				const char *owner)
{
	BlockNumber nblocks = o->check->view->meta.nblocks;
	SkxOwned   *owned;

	if (block >= nblocks || npages > nblocks - block)
		skx_format_report_detail(o->check->index, block,
								 "%s lies outside the %u pages of the file",
								 owner, nblocks);
	if (o->n == o->size)
	{
		o->size = o->size == 0 ? 64 : o->size * 2;
		if (o->owned == NULL)
			o->owned = palloc(o->size * sizeof(SkxOwned));
		else
			o->owned = repalloc_huge(o->owned, o->size * sizeof(SkxOwned));
	}
	owned = &o->owned[o->n++];
	owned->block = block;
	owned->npages = npages;
	owned->stripe = stripe;
	owned->owner = owner;
}

/* The extents of a stripe; the first page of each names the one before. */
static void
skx_inspect_own_stripe(SkxOwners *o, int which)
{
	SkxCheck   *check = o->check;
	const SkxDiskStripe *stripe = &check->stripes[which];
	BlockNumber page = check->view->stripes[which].stripe;
	BlockNumber extent = stripe->extent_last;
	uint32		most = check->view->meta.nblocks;

	skx_inspect_own(o, page, 1, -1, "a stripe page");
	if (!BlockNumberIsValid(extent))
	{
		if (stripe->npages != 0 || stripe->extent_next != stripe->extent_end)
			skx_format_report(check->index, page,
							  "the stripe has pages but no extent");
		return;
	}
	if (stripe->extent_next < extent ||
		stripe->extent_end < stripe->extent_next ||
		stripe->extent_end <= extent)
		skx_format_report(check->index, page,
						  "the stripe's newest extent has impossible bounds");
	skx_inspect_own(o, extent, stripe->extent_end - extent, which,
					"a stripe's extent");
	for (;;)
	{
		const SkxDiskTrailer *trailer;

		skx_inspect_page_sound(check, extent);
		trailer = skx_format_trailer(check->page.data);
		if (PageIsNew((Page) check->page.data) ||
			(trailer->plane != SKX_PLANE_PENDING &&
			 trailer->plane != SKX_PLANE_CHAIN))
			skx_format_report(check->index, extent,
							  "an extent of a stripe does not begin here");
		extent = trailer->ordinal;
		if (!BlockNumberIsValid(extent))
			break;
		if (most-- == 0)
			skx_format_report(check->index, page,
							  "the stripe's extents form a circle");
		skx_inspect_own(o, extent, 0, which, "a stripe's extent");
	}
}

static void
skx_inspect_own_segment(SkxOwners *o, int which)
{
	const SkxDiskSegmentRef *ref = &o->check->view->segments[which];
	const SkxSegment *seg = o->check->segments[which]->seg;
	uint64		npages = ref->header_pages;
	int			plane;
	int			i;

	skx_inspect_own(o, ref->header, ref->header_pages, -1,
					"a segment's header");
	for (plane = 0; plane < SKX_SEGMENT_NPLANES; plane++)
	{
		const SkxBlkPlane *p = &seg->planes[plane];

		npages += p->npages;
		for (i = 0; i < p->nruns; i++)
			skx_inspect_own(o, p->runs[i].block, p->runs[i].npages, -1,
							"a segment's run");
	}
	if (npages != ref->npages)
		skx_format_report_detail(o->check->index, o->check->view->meta.root,
								 "segment %u has " UINT64_FORMAT " pages, but the root counts " UINT64_FORMAT,
								 ref->segment, npages, ref->npages);
}

static int
skx_inspect_compare_owned(const void *a, const void *b)
{
	BlockNumber x = ((const SkxOwned *) a)->block;
	BlockNumber y = ((const SkxOwned *) b)->block;

	return x < y ? -1 : x > y;
}

/*
 * Pages [from, to) that nobody owns: they may be what the ends of a segment's
 * planes left of a block that they share, and then are zero.
 */
static void
skx_inspect_padding(SkxOwners *o, BlockNumber from, BlockNumber to)
{
	SkxCheck   *check = o->check;
	uint32		block_pages = check->view->meta.block_size / BLCKSZ;
	BlockNumber block;

	if (from % block_pages == 0 ||
		from / block_pages != (to - 1) / block_pages)
		skx_format_report_detail(check->index, from,
								 "%u pages belong to nobody", to - from);
	for (block = from; block < to; block++)
	{
		skx_inspect_page_sound(check, block);
		if (!PageIsNew((Page) check->page.data))
			skx_format_report(check->index, block,
							  "the page belongs to nobody");
	}
}

/* Sorts, and looks for pages with two owners or none. */
static void
skx_inspect_cover(SkxOwners *o)
{
	BlockNumber nblocks = o->check->view->meta.nblocks;
	BlockNumber covered = 0;
	int			i;

	qsort(o->owned, o->n, sizeof(SkxOwned), skx_inspect_compare_owned);
	for (i = 0; i < o->n; i++)
	{
		SkxOwned   *owned = &o->owned[i];
		BlockNumber next = i + 1 < o->n ? o->owned[i + 1].block : nblocks;

		if (owned->block < covered)
			skx_format_report_detail(o->check->index, owned->block,
									 "%s overlaps %s", owned->owner,
									 o->owned[i - 1].owner);
		if (owned->block > covered)
			skx_inspect_padding(o, covered, owned->block);
		if (owned->npages == 0)
			owned->npages = next - owned->block;
		covered = owned->block + owned->npages;
	}
	if (covered < nblocks)
		skx_inspect_padding(o, covered, nblocks);
}

/*
 * The pages of a stripe, which are in the list, in a chain, unused, or taken
 * for a chain that a crash kept from being linked.
 */
static void
skx_inspect_stripe_page(SkxCheck *check, BlockNumber block)
{
	SkxPageIdentity id;
	const SkxDiskTrailer *trailer;
	const char *what;

	skx_inspect_page_sound(check, block);
	if (PageIsNew((Page) check->page.data))
		return;
	trailer = skx_format_trailer(check->page.data);
	id.incarnation = check->view->meta.incarnation;
	id.segment = 0;
	id.ordinal = trailer->ordinal;
	id.plane = trailer->plane == SKX_PLANE_CHAIN ? SKX_PLANE_CHAIN :
		SKX_PLANE_PENDING;
	what = skx_format_page_check(check->page.data, &id);
	if (what != NULL)
		skx_format_report(check->index, block, what);
}

static void
skx_inspect_stripe_pages(SkxOwners *o, int which)
{
	SkxCheck   *check = o->check;
	const SkxDiskStripe *stripe = &check->stripes[which];
	uint64		want = stripe->npages;
	uint64		npages = 0;
	int			i;

	for (i = 0; i < o->n; i++)
	{
		uint32		k;

		if (o->owned[i].stripe != which)
			continue;
		npages += o->owned[i].npages;
		for (k = 0; k < o->owned[i].npages; k++)
			skx_inspect_stripe_page(check, o->owned[i].block + k);
	}
	want += stripe->extent_end - stripe->extent_next;
	if (npages != want)
		skx_format_report_detail(check->index,
								 check->view->stripes[which].stripe,
								 "the stripe's extents have " UINT64_FORMAT " pages, but it counts " UINT64_FORMAT,
								 npages, want);
}

void
skx_inspect_check_extents(SkxCheck *check)
{
	const SkxView *view = check->view;
	SkxOwners  *o = palloc0(sizeof(SkxOwners));
	int			i;

	o->check = check;
	skx_inspect_own(o, SKX_META_BLOCK, 1, -1, "the metapage");
	for (i = 0; i < check->nroot_pages; i++)
		skx_inspect_own(o, check->root_pages[i], 1, -1, "a root page");
	for (i = 0; i < view->nstripes; i++)
		skx_inspect_own_stripe(o, i);
	for (i = 0; i < view->nsegments; i++)
		skx_inspect_own_segment(o, i);
	for (i = 0; i < view->nextents; i++)
		skx_inspect_own(o, view->extents[i].block, view->extents[i].npages,
						-1, "a free extent");
	skx_inspect_cover(o);
	for (i = 0; i < view->nstripes; i++)
		skx_inspect_stripe_pages(o, i);
	check->owners = o;
}

int
skx_inspect_owner(const SkxCheck *check, BlockNumber block)
{
	const SkxOwned *owned = check->owners->owned;
	int			low = 0;
	int			high = check->owners->n - 1;

	if (block >= check->view->meta.nblocks)
		return -1;
	while (low < high)
	{
		int			mid = (low + high + 1) / 2;

		if (owned[mid].block <= block)
			low = mid;
		else
			high = mid - 1;
	}
	return owned[low].stripe;
}
