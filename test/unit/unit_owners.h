/*
 * unit_owners.h
 *	  The model's owner of each page, read from the metapage, the root and what
 *	  they name.
 *
 * Included once, after unit_segments.h.  Nothing of the code under test is
 * used to read them.
 */
#ifndef SKX_TEST_UNIT_OWNERS_H
#define SKX_TEST_UNIT_OWNERS_H

#include "format/disk/disk_pending.h"

typedef enum UnitOwner
{
	OWNER_NONE,
	OWNER_META,
	OWNER_ROOT,
	OWNER_STRIPE,				/* its page, or an extent; id: its number */
	OWNER_SEGMENT,				/* id */
	OWNER_FREE,					/* ready to be overwritten */
	OWNER_WAITING,				/* free, and not ready */
	OWNER_RESERVED,				/* id: of the segment to be */
	OWNER_POOL
} UnitOwner;

static const char *const unit_owner_names[] = {
	"nothing", "the metapage", "the root", "stripe", "segment",
	"the free pages", "the waiting pages", "operation", "the pool"
};

static uint8 unit_owner_lists[2][UNIT_FILE_MOST];
static uint8 *unit_owners = unit_owner_lists[0];
static uint8 *unit_owners_before = unit_owner_lists[1]; /* as last read */
static uint32 unit_owner_ids[UNIT_FILE_MOST];

/* The present root, as the model reads it. */
static SkxView unit_present;
static char unit_stream[64 * BLCKSZ];
static BlockNumber unit_root_pages[64];

static inline uint32
unit_block_pages(void)
{
	return unit_present.meta.block_size / BLCKSZ;
}

/* Returns the owner of a page in words. */
static inline const char *
unit_owner_name(BlockNumber block)
{
	return unit_owner_names[unit_owners[block]];
}

/* Returns the content of a page, which is one of that plane. */
static const char *
unit_content(BlockNumber block, SkxPlane plane)
{
	uint64		incarnation = unit_present.meta.incarnation;
	const char *page = unit_pages[block];

	MUST(block < unit_file_length && page != NULL &&
		 skx_disk_const_trailer(page)->plane == plane &&
		 skx_disk_const_trailer(page)->incarnation == incarnation,
		 "page %u is not of plane %d", block, plane);
	return page + SKX_PAGE_START;
}

/* Reads the stream of the root; returns its size. */
static Size
unit_read_stream(void)
{
	BlockNumber block = unit_present.meta.root;
	Size		size = 0;
	int			n = 0;

	for (; block != InvalidBlockNumber; n++)
	{
		const SkxDiskRootPage *head;

		MUST(n < (int) lengthof(unit_root_pages), "the root does not end");
		head = (const SkxDiskRootPage *) unit_content(block, SKX_PLANE_ROOT);
		MUST(skx_disk_const_trailer(unit_pages[block])->ordinal == n,
			 "page %u is not the next of the root", block);
		unit_root_pages[n] = block;
		memcpy(unit_stream + size, head + 1, head->nbytes);
		size += head->nbytes;
		block = head->next;
	}
	unit_present.nroot = n;
	return size;
}

/* Reads the metapage and the root. */
static void
unit_read(void)
{
	const SkxDiskRoot *root = (const SkxDiskRoot *) unit_stream;
	SkxView    *v = &unit_present;
	Size		size;

	memset(v, 0, sizeof(*v));
	v->meta = *(const SkxDiskMeta *) ((char *) unit_pages[0] + SKX_PAGE_START);
	size = unit_read_stream();
	v->nsegments = root->nsegments;
	v->nstripes = root->nstripes;
	v->nextents = root->nextents;
	v->noperations = root->noperations;
	v->segments = (SkxDiskSegmentRef *) (root + 1);
	v->stripes = (SkxDiskStripeRef *) (v->segments + v->nsegments);
	v->extents = (SkxDiskExtent *) (v->stripes + v->nstripes);
	v->operations = (SkxDiskOperation *) (v->extents + v->nextents);
	v->root = unit_root_pages;
	MUST(unit_stream + size == (char *) (v->operations + v->noperations),
		 "the root has %zu bytes", size);
}

/* Notes the owner of pages that had none. */
static void
unit_own(BlockNumber block, uint32 npages, UnitOwner owner, uint32 id)
{
	BlockNumber i;

	MUST(npages > 0 && (uint64) block + npages <= unit_present.meta.nblocks,
		 "%u pages at %u of %s %u are not in a file of %u", npages, block,
		 unit_owner_names[owner], id, unit_present.meta.nblocks);
	for (i = block; i < block + npages; i++)
	{
		MUST(unit_owners[i] == OWNER_NONE,
			 "page %u belongs to %s %u and to %s %u", i, unit_owner_name(i),
			 unit_owner_ids[i], unit_owner_names[owner], id);
		unit_owners[i] = owner;
		unit_owner_ids[i] = id;
	}
}

static const SkxDiskStripe *
unit_stripe_of(const SkxView *view, int which)
{
	return (const SkxDiskStripe *)
		unit_content(view->stripes[which].stripe, SKX_PLANE_STRIPE);
}

/* A stripe has its extents from the newest one back to ref->extent. */
static void
unit_own_stripe(int which)
{
	const SkxDiskStripeRef *ref = &unit_present.stripes[which];
	BlockNumber block = unit_stripe_of(&unit_present, which)->extent_last;
	BlockNumber last = block;

	unit_own(ref->stripe, 1, OWNER_STRIPE, which);
	while (block != InvalidBlockNumber)
	{
		const SkxDiskTrailer *first = unit_pages[block] == NULL ? NULL :
			skx_disk_const_trailer(unit_pages[block]);

		MUST(first != NULL && (first->plane == SKX_PLANE_PENDING ||
							   first->plane == SKX_PLANE_CHAIN),
			 "no extent of stripe %d begins at %u", which, block);
		unit_own(block, first->segment, OWNER_STRIPE, which);
		last = block;
		if (block == ref->extent)
			break;
		block = first->ordinal;
	}
	MUST(ref->extent == InvalidBlockNumber || last == ref->extent,
		 "stripe %d has lost its extent at %u", which, ref->extent);
}

static void
unit_own_segment(const SkxDiskSegmentRef *ref)
{
	const UnitSegment *s = &unit_segments[ref->segment];
	int			i;

	MUST(s->written && s->npages == ref->npages && s->ndocs == ref->ndocs,
		 "segment %u was not made so", ref->segment);
	for (i = 0; i < s->nruns; i++)
	{
		const UnitRun *run = &unit_runs[s->first + i];

		unit_own(run->block, run->npages, OWNER_SEGMENT, ref->segment);
	}
}

static bool
unit_has_operation(uint32 segment)
{
	int			i;

	for (i = 0; i < unit_present.noperations; i++)
		if (unit_present.operations[i].segment == segment)
			return true;
	return false;
}

/* Extents are sorted, and joined where they can be. */
static void
unit_own_extents(void)
{
	int			i;

	for (i = 0; i < unit_present.nextents; i++)
	{
		const SkxDiskExtent *e = &unit_present.extents[i];
		const SkxDiskExtent *last = i > 0 ? e - 1 : NULL;

		MUST(e->operation == 0 ||
			 (unit_has_operation(e->operation) && e->safexid == 0),
			 "page %u is reserved for operation %u, which is not there",
			 e->block, e->operation);
		MUST(last == NULL || last->block + last->npages < e->block ||
			 (last->block + last->npages == e->block &&
			  (last->operation != e->operation ||
			   last->waits != e->waits || last->safexid != e->safexid)),
			 "extents at %u and %u are not sorted or joined",
			 last != NULL ? last->block : 0, e->block);
		unit_own(e->block, e->npages, e->operation != 0 ? OWNER_RESERVED :
				 e->safexid == 0 ? OWNER_FREE : OWNER_WAITING, e->operation);
	}
}

/* Finds the owners of all pages of the present root. */
static void
unit_own_all(void)
{
	const SkxDiskPoolExtent *pool = unit_present.meta.pool;
	int			i;

	unit_owners_before = unit_owners;
	unit_owners = unit_owner_lists[unit_owners == unit_owner_lists[0]];
	memset(unit_owners, OWNER_NONE, unit_file_length);
	unit_own(0, 1, OWNER_META, 0);
	for (i = 0; i < unit_present.nroot; i++)
		unit_own(unit_root_pages[i], 1, OWNER_ROOT, 0);
	for (i = 0; i < unit_present.nstripes; i++)
		unit_own_stripe(i);
	for (i = 0; i < unit_present.nsegments; i++)
		unit_own_segment(&unit_present.segments[i]);
	unit_own_extents();
	for (i = 0; i < unit_present.meta.npool; i++)
		unit_own(pool[i].block, pool[i].npages, OWNER_POOL, 0);
}

#endif							/* SKX_TEST_UNIT_OWNERS_H */
