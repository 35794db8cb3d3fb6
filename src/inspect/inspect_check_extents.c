/*
 * inspect_check_extents.c
 *	  Checks that every page of the file has exactly one owner.
 *
 * Owners are the metapage, root pages, stripes with their extents, segments
 * with header and runs, the free or reserved extents of the root, and the
 * extents of the pool.  They must not overlap, and together take every page
 * below meta.nblocks.  Pages from there on were left by a crash, and are not
 * part of the index.
 *
 * Unused pages (free, reserved, or to be used next by a stripe) keep their
 * last content.  Each must be zero or a whole page nevertheless, since tools
 * that copy or verify the server's files report any other page.  Such a page
 * is no damage to the index, and no row is lost: a warning says so.
 */
#include "postgres.h"

#include "format/disk/disk_check.h"
#include "inspect/inspect_internal.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "support/compat/compat.h"

/* A range of pages with its owner. */
typedef struct SkxCheckOwned
{
	BlockNumber block;
	uint32		npages;
	int			stripe;			/* number of the stripe, or -1 */
	bool		any_content;	/* its pages can have any content, so that
								 * each is checked here */
	bool		is_unreferenced;	/* no view, old or new, refers to its
									 * pages */
	const char *owner;
} SkxCheckOwned;

/* All ranges of pages. */
typedef struct SkxCheckOwners
{
	SkxCheck   *check;
	int			n;
	int			size;			/* capacity of owned */
	SkxCheckOwned *owned;		/* sorted by block, once all are added */
} SkxCheckOwners;

/* Adds a range of pages; it must be within the file. */
static SkxCheckOwned *
skx_inspect_add_owned(SkxCheckOwners *o, BlockNumber block, uint32 npages,
					  const char *owner)
{
	BlockNumber nblocks = o->check->view->meta.nblocks;
	SkxCheckOwned *owned;

	if (block >= nblocks || npages > nblocks - block)
		skx_damage_report_detail(o->check->index, block,
								 "%s lies outside the %u pages of the file",
								 owner, nblocks);
	if (o->n == o->size)
	{
		o->size = o->size == 0 ? 64 : o->size * 2;
		if (o->owned == NULL)
			o->owned = palloc(o->size * sizeof(SkxCheckOwned));
		else
			o->owned = repalloc_huge(o->owned,
									 o->size * sizeof(SkxCheckOwned));
	}
	owned = &o->owned[o->n++];
	owned->block = block;
	owned->npages = npages;
	owned->stripe = -1;
	owned->any_content = false;
	owned->is_unreferenced = false;
	owned->owner = owner;
	return owned;
}

/*
 * Reads the first page of an extent of a stripe, at `block`.  Sets *npages to
 * the length of the extent and *previous to the extent before it.
 */
static void
skx_inspect_check_extent(SkxCheck *check, BlockNumber block, uint32 *npages,
						 BlockNumber *previous)
{
	const SkxDiskTrailer *trailer = skx_disk_trailer(check->page.data);

	skx_inspect_check_checksum(check, block);
	skx_inspect_page_copy(check, block, check->page.data);
	if (skx_inspect_page_is_foreign(check, check->page.data) != NULL ||
		PageIsNew((Page) check->page.data) ||
		(trailer->plane != SKX_PLANE_PENDING &&
		 trailer->plane != SKX_PLANE_CHAIN) || trailer->segment == 0)
		skx_damage_report(check->index, block,
						  "an extent of a stripe does not begin here");
	*npages = trailer->segment;
	*previous = trailer->ordinal;
}

/*
 * Adds the extents of a stripe, from the newest back to the oldest that it
 * still has by the root.  Together they must have the pages in use and those
 * to be used next.
 */
static void
skx_inspect_add_stripe(SkxCheckOwners *o, int which)
{
	SkxCheck   *check = o->check;
	const SkxDiskStripe *stripe = &check->stripes[which];
	const SkxDiskStripeRef *ref = &check->view->stripes[which];
	BlockNumber extent = stripe->extent_last;
	BlockNumber oldest = InvalidBlockNumber;
	uint64		npages = 0;

	/* the pages that a stripe has ever used are counted modulo 2^32 */
	uint64		want = (uint64) (stripe->npages - ref->npages) +
		(stripe->extent_end - stripe->extent_next);

	skx_inspect_add_owned(o, ref->stripe, 1, "a stripe page");
	while (BlockNumberIsValid(extent) &&
		   (!BlockNumberIsValid(oldest) || oldest != ref->extent))
	{
		SkxCheckOwned *owned;
		uint32		n;

		oldest = extent;
		if (extent >= check->view->meta.nblocks || npages >= want)
			skx_damage_report_detail(check->index, ref->stripe,
									 "the stripe's extents lead to block %u, where none of them is",
									 extent);
		skx_inspect_check_extent(check, extent, &n, &extent);
		owned = skx_inspect_add_owned(o, oldest, n, "a stripe's extent");
		owned->stripe = which;
		owned->any_content = true;
		if (oldest == stripe->extent_last && oldest + n != stripe->extent_end)
			skx_damage_report_detail(check->index, oldest,
									 "the stripe's newest extent has %u pages, but the stripe says %u",
									 n, stripe->extent_end - oldest);
		npages += n;
	}
	if (BlockNumberIsValid(ref->extent) && oldest != ref->extent)
		skx_damage_report_detail(check->index, ref->stripe,
								 "the stripe's extents do not lead to block %u, where the oldest is by the root",
								 ref->extent);
	if (npages != want)
		skx_damage_report_detail(check->index, ref->stripe,
								 "the stripe's extents have " UINT64_FORMAT " pages, but it counts " UINT64_FORMAT,
								 npages, want);
}

/* Adds the pages of segment number `which` of the view. */
static void
skx_inspect_add_segment(SkxCheckOwners *o, int which)
{
	const SkxDiskSegmentRef *ref = &o->check->view->segments[which];
	const SkxSegment *seg = o->check->segments[which]->seg;
	uint64		npages = ref->header_pages;
	int			plane;
	int			i;

	for (i = 0; i < which; i++)
	{
		if (o->check->view->segments[i].segment == ref->segment)
			skx_damage_report_detail(o->check->index,
									 o->check->view->meta.root,
									 "the root names segment %u twice",
									 ref->segment);
	}
	skx_inspect_add_owned(o, ref->header, ref->header_pages,
						  "a segment's header");
	for (plane = 0; plane < SKX_SEGMENT_NPLANES; plane++)
	{
		const SkxBlkPlane *p = &seg->planes[plane];

		npages += p->npages;
		for (i = 0; i < p->nruns; i++)
			skx_inspect_add_owned(o, p->runs[i].block, p->runs[i].npages,
								  "a segment's run");
	}
	if (npages != ref->npages)
		skx_damage_report_detail(o->check->index, o->check->view->meta.root,
								 "segment %u has " UINT64_FORMAT " pages, but the root counts " UINT64_FORMAT,
								 ref->segment, npages, ref->npages);
}

/* Adds the extents of the root and of the pool. */
static void
skx_inspect_add_free(SkxCheckOwners *o)
{
	const SkxView *view = o->check->view;
	uint64	   *waits = skx_manifest_extent_waits(o->check->index, view);
	SkxCheckOwned *owned;
	int			i;

	for (i = 0; i < view->nextents; i++)
	{
		const SkxDiskExtent *e = &view->extents[i];

		owned = skx_inspect_add_owned(o, e->block, e->npages,
									  e->operation == 0 ? "a free extent" :
									  "an extent reserved by an operation");
		owned->any_content = true;
		owned->is_unreferenced = waits[i] == SKX_WAIT_NONE;
	}
	for (i = 0; i < view->meta.npool; i++)
	{
		owned = skx_inspect_add_owned(o, view->meta.pool[i].block,
									  view->meta.pool[i].npages,
									  "an extent of the pool");
		owned->any_content = owned->is_unreferenced = true;
	}
	pfree(waits);
}

static int
skx_inspect_compare_owned(const void *a, const void *b)
{
	BlockNumber x = ((const SkxCheckOwned *) a)->block;
	BlockNumber y = ((const SkxCheckOwned *) b)->block;

	return x < y ? -1 : x > y;
}

/* Sorts the ranges, and checks that no page has two owners or none. */
static void
skx_inspect_check_coverage(SkxCheckOwners *o)
{
	Relation	rel = o->check->index;
	BlockNumber nblocks = o->check->view->meta.nblocks;
	BlockNumber covered = 0;
	int			i;

	qsort(o->owned, o->n, sizeof(SkxCheckOwned), skx_inspect_compare_owned);
	for (i = 0; i < o->n; i++)
	{
		SkxCheckOwned *owned = &o->owned[i];

		if (owned->block < covered)
			skx_damage_report_detail(rel, owned->block, "%s overlaps %s",
									 owned->owner, o->owned[i - 1].owner);
		if (owned->block > covered)
			skx_damage_report_detail(rel, covered,
									 "%u pages have no owner",
									 owned->block - covered);
		covered = owned->block + owned->npages;
	}
	if (covered < nblocks)
		skx_damage_report_detail(rel, covered, "%u pages have no owner",
								 nblocks - covered);
}

/* Returns true if no view refers to a page, which is in the range *owned. */
static bool
skx_inspect_is_unreferenced(const SkxCheckOwners *o,
							const SkxCheckOwned *owned, BlockNumber block)
{
	const SkxDiskStripe *stripe;

	if (owned->stripe < 0)
		return owned->is_unreferenced;
	stripe = &o->check->stripes[owned->stripe];
	return block >= stripe->extent_next && block < stripe->extent_end;
}

static void
skx_inspect_warn_unused(const SkxCheckOwners *o, BlockNumber block,
						uint32 npages, const char *what)
{
	ereport(WARNING,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg_plural("%u unused page of index \"%s\" is not sound, block %u",
						   "%u unused pages of index \"%s\" are not sound, the first in block %u",
						   npages, npages,
						   RelationGetRelationName(o->check->index), block),
			 errdetail("Nothing refers to it: %s.  It is overwritten when it is used.",
					   what),
			 errhint("Tools that verify all pages, such as pg_basebackup, report it until then.  If no write of the index has failed, the storage is suspect.")));
}

/*
 * Checks each page of the ranges that can have any content.  Raises an error
 * for damage in a page that a view may refer to, and warns of others.
 */
static void
skx_inspect_check_unused(SkxCheckOwners *o)
{
	BlockNumber first = InvalidBlockNumber;
	const char *first_what = NULL;
	uint32		npages = 0;
	int			i;

	for (i = 0; i < o->n; i++)
	{
		const SkxCheckOwned *owned = &o->owned[i];
		uint32		k;

		for (k = 0; owned->any_content && k < owned->npages; k++)
		{
			BlockNumber block = owned->block + k;
			const char *what = skx_inspect_page_problem(o->check, block);

			if (what == NULL)
				continue;
			if (!skx_inspect_is_unreferenced(o, owned, block))
				skx_damage_report(o->check->index, block, what);
			if (npages++ == 0)
			{
				first = block;
				first_what = what;
			}
		}
	}
	if (npages > 0)
		skx_inspect_warn_unused(o, first, npages, first_what);
}

void
skx_inspect_check_extents(SkxCheck *check)
{
	const SkxView *view = check->view;
	SkxCheckOwners *o = palloc0(sizeof(SkxCheckOwners));
	int			i;

	o->check = check;
	skx_inspect_add_owned(o, SKX_META_BLOCK, 1, "the metapage");
	for (i = 0; i < view->nroot; i++)
		skx_inspect_add_owned(o, view->root[i], 1, "a root page");
	for (i = 0; i < view->nstripes; i++)
		skx_inspect_add_stripe(o, i);
	for (i = 0; i < view->nsegments; i++)
		skx_inspect_add_segment(o, i);
	skx_inspect_add_free(o);
	skx_inspect_check_coverage(o);
	skx_inspect_check_unused(o);
	check->owners = o;
}

int
skx_inspect_page_owner(const SkxCheck *check, BlockNumber block)
{
	const SkxCheckOwned *owned = check->owners->owned;
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
