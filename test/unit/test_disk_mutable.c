/*
 * test_disk_mutable.c
 *	  The head of the file: each thing that a metapage, a root or a stripe page
 *	  cannot say is refused, and with the reason that fits.
 *
 * A case changes one field of a sound page and names the reason.
 *
 * Holds: disk 3, 4; manifest 2
 */
#include "unit.h"

#include "format/disk/disk_check.h"

#define NBLOCKS		1600

/* Reason "" : the changed page must pass. */
#define REFUSED(what, change, reason) \
	do { \
		SkxSubject	x = (what)(); \
		const char *said; \
		change; \
		said = unit_check(&x); \
		unit_checks++; \
		if (strcmp(said == NULL ? "" : said, reason) != 0) \
		{ \
			unit_fail(__FILE__, __LINE__, #change); \
			fprintf(stderr, "  got:    %s\n  wanted: %s\n", \
					said == NULL ? "nothing" : said, reason); \
		} \
	} while (0)

/* A root with some of everything. */
typedef struct SkxStream
{
	SkxDiskRoot root;
	SkxDiskSegmentRef segments[2];
	SkxDiskStripeRef stripes[2];
	SkxDiskExtent extents[3];
	SkxDiskOperation operations[2];
} SkxStream;

StaticAssertDecl(sizeof(SkxStream) == 16 + 2 * 40 + 2 * 56 + 3 * 24 + 2 * 8,
				 "no padding");

typedef struct SkxSubject
{
	uint8		plane;
	Size		size;			/* of the content, or of the stream */
	SkxDiskMeta meta;
	SkxDiskStripe stripe;
	SkxStream	s;
} SkxSubject;

static const char *
unit_check(const SkxSubject *x)
{
	SkxPageIdentity id = {1, 0, 0, x->plane};
	char		page[BLCKSZ];
	const void *content = x->plane == SKX_PLANE_META ? (const void *) &x->meta :
		(const void *) &x->stripe;

	/* a stream may start anywhere: what stands before it is part of a page */
	if (x->plane == SKX_PLANE_ROOT)
	{
		memcpy(page + 4, &x->s, sizeof(x->s));
		return skx_disk_check_root_stream((char *)
											unit_guarded((uint8 *) page + 4,
														 x->size),
											x->size, &x->meta);
	}
	skx_disk_page_init(page, &id);
	memcpy(page + SKX_PAGE_START, content, x->size);
	((PageHeader) page)->pd_lower = SKX_PAGE_START + x->size;
	return x->plane == SKX_PLANE_META ? skx_disk_check_meta(page) :
		skx_disk_check_stripe(page, NBLOCKS);
}

static SkxSubject
metapage(void)
{
	SkxSubject	x;

	memset(&x, 0, sizeof(x));
	x.plane = SKX_PLANE_META;
	x.size = sizeof(x.meta);
	skx_disk_format_of(SKX_RELEASE, SKX_FORMAT_NEWEST, &x.meta.format);
	x.meta.block_size = 2 * BLCKSZ;
	x.meta.root = 1;
	x.meta.next_segment = 10;
	x.meta.nblocks = NBLOCKS;
	x.meta.npool = 3;
	x.meta.pool[0] = (SkxDiskPoolExtent) {300, 100};
	x.meta.pool[1] = (SkxDiskPoolExtent) {NBLOCKS - 10, 10};
	x.meta.pool[2] = (SkxDiskPoolExtent) {299, 1};
	return x;
}

static SkxSubject
root(void)
{
	SkxSubject	x = metapage();

	x.plane = SKX_PLANE_ROOT;
	x.size = sizeof(SkxStream);
	x.s.root = (SkxDiskRoot) {2, 2, 3, 2};
	x.s.segments[0] = (SkxDiskSegmentRef) {77, 8, 100, 2, 5, 1000, 7000, 90};
	x.s.segments[1] = (SkxDiskSegmentRef) {78, 5, 200, 1, 0, 10, 70, 9};
	x.s.stripes[0] = (SkxDiskStripeRef) {2, 40, 500, 7, 3, 20000, 9000, 32,
	16};
	x.s.stripes[1] = (SkxDiskStripeRef) {3, InvalidBlockNumber, 0, 0, 0, 0, 0,
	InvalidBlockNumber, 0};
	x.s.extents[0] = (SkxDiskExtent) {400, 16, 0, 0, 0};
	x.s.extents[1] = (SkxDiskExtent) {416, 8, 900, 0, 0};
	x.s.extents[2] = (SkxDiskExtent) {NBLOCKS - 20, 10, 0, 9, 0};
	x.s.operations[0] = (SkxDiskOperation) {9, SKX_OPERATION_MERGE};
	x.s.operations[1] = (SkxDiskOperation) {7, SKX_OPERATION_FLUSH};
	return x;
}

static SkxSubject
stripe(void)
{
	SkxSubject	x = metapage();

	x.plane = SKX_PLANE_STRIPE;
	x.size = sizeof(x.stripe);
	x.stripe = (SkxDiskStripe) {101, 100, 50, 4000, 2000, 30, 44, 45, 56, 40,
	15};
	return x;
}

/* of a stripe that nothing was added to, with an extent or without */
static SkxSubject
empty_stripe(void)
{
	SkxSubject	x = stripe();

	memset(&x.stripe, 0, sizeof(x.stripe));
	x.stripe.next_sequence = 1;
	x.stripe.first = x.stripe.tail = InvalidBlockNumber;
	x.stripe.extent_last = InvalidBlockNumber;
	return x;
}

static void
test_meta(void)
{
	REFUSED(metapage,, "");
	REFUSED(metapage, x.size--, "the metapage has an impossible length");
	REFUSED(metapage, x.meta.format.magic++,
			"the metapage has a wrong magic number");
	REFUSED(metapage, x.meta.format.number++,
			"the format is not known here");
	REFUSED(metapage, x.meta.format.crc++,
			"the format is not known here");
	REFUSED(metapage, x.meta.reserved[5] = 1,
			"a reserved field is in use");
	REFUSED(metapage, x.meta.block_size++,
			"the metapage has an impossible block size");
	REFUSED(metapage, x.meta.nblocks++,
			"the metapage has an impossible number of blocks");
	REFUSED(metapage, x.meta.root = NBLOCKS,
			"the metapage points to an impossible root");
	REFUSED(metapage, x.meta.root = 0,
			"the metapage points to an impossible root");
	REFUSED(metapage, x.meta.next_segment = 0,
			"the metapage has an impossible next segment");
	REFUSED(metapage, x.meta.order_key_bits = 65,
			"the metapage has an impossible order key");
	REFUSED(metapage, x.meta.npool = SKX_META_POOL_EXTENTS + 1,
			"the metapage has an impossible pool");
	REFUSED(metapage, x.meta.npool = 4,
			"the metapage has an impossible extent in its pool");
	REFUSED(metapage, x.meta.pool[0].npages = 0,
			"the metapage has an impossible extent in its pool");
	REFUSED(metapage, x.meta.pool[1].npages++,
			"the metapage has an impossible extent in its pool");
	REFUSED(metapage, x.meta.pool[1].npages = PG_UINT32_MAX,
			"the metapage has an impossible extent in its pool");
	REFUSED(metapage, x.meta.pool[0].block = 0,
			"the metapage has an impossible extent in its pool");
	REFUSED(metapage, x.meta.pool[2].npages++,
			"the metapage has a page twice in its pool");
	REFUSED(metapage, x.meta.pool[2].block = 399,
			"the metapage has a page twice in its pool");
	REFUSED(metapage, x.meta.pool[2].block = 400, "");
}

static void
test_root_counts(void)
{
	REFUSED(root,, "");
	REFUSED(root, x.size = 15, "the root is too short");
	REFUSED(root, x.size--, "the root has an impossible length");
	REFUSED(root, x.s.root.nsegments = PG_UINT32_MAX,
			"the root has an impossible length");
	REFUSED(root, x.s.root.noperations--, "the root has an impossible length");
	REFUSED(root, (x.s.root.nstripes = 0, x.size -= 112),
			"the root has impossible counts");
	REFUSED(root, (x.s.root.nextents = 2, x.s.root.noperations = 5),
			"the root has impossible counts");
}

static void
test_operations(void)
{
	REFUSED(root, x.s.operations[0].kind = 0,
			"the root has an operation of an unknown kind");
	REFUSED(root, x.s.operations[1].kind = 3,
			"the root has an operation of an unknown kind");
	REFUSED(root, x.s.operations[1].kind = SKX_OPERATION_MERGE,
			"the root has two operations of a kind");
	REFUSED(root, x.s.operations[1].segment = 0,
			"the root has an operation with an impossible segment");
	REFUSED(root, x.s.operations[1].segment = 10,
			"the root has an operation with an impossible segment");
	REFUSED(root, x.s.operations[1].segment = 9,
			"the root has two operations with the same segment");
	REFUSED(root, x.s.operations[1].segment = 8,
			"the root names a segment that is still being made");
}

static void
test_segments(void)
{
	const char *impossible = "the root names an impossible segment";

	REFUSED(root, x.s.segments[0].segment = 0, impossible);
	REFUSED(root, x.s.segments[0].segment = 10, impossible);
	REFUSED(root, x.s.segments[1].ndocs = 0, impossible);
	REFUSED(root, x.s.segments[1].npages = 0, impossible);
	REFUSED(root, x.s.segments[1].npages = NBLOCKS, "");
	REFUSED(root, x.s.segments[1].npages = NBLOCKS + 1, impossible);
	REFUSED(root, x.s.segments[1].npages = PG_UINT64_MAX, impossible);
	REFUSED(root, x.s.segments[1].header = 0, impossible);
	REFUSED(root, x.s.segments[1].header_pages = 0, impossible);
	REFUSED(root, x.s.segments[0].header = NBLOCKS - 1, impossible);
	REFUSED(root, x.s.segments[1].header = NBLOCKS - 1, "");
	REFUSED(root, x.s.segments[1].salt = 0,
			"the root names a segment without salt");
	REFUSED(root, x.s.segments[1].level = SKX_SEGMENT_LEVEL_MAX + 1,
			"the root names a segment of an impossible level");
}

static void
test_stripe_refs(void)
{
	const char *impossible = "the root names an impossible stripe";
	const char *place = "the root names a stripe flushed to an impossible place";
	const char *counts = "the root has impossible counts for a stripe";
	const char *extents = "the root has impossible extents for a stripe";

	REFUSED(root, x.s.stripes[0].stripe = 0, impossible);
	REFUSED(root, x.s.stripes[0].stripe = NBLOCKS, impossible);
	REFUSED(root, x.s.stripes[0].stripe = InvalidBlockNumber, impossible);
	REFUSED(root, x.s.stripes[0].first = 0, impossible);
	REFUSED(root, x.s.stripes[0].first = NBLOCKS, impossible);
	REFUSED(root, x.s.stripes[0].extent = 0, impossible);
	REFUSED(root, x.s.stripes[0].extent = NBLOCKS, impossible);
	REFUSED(root, x.s.stripes[0].first = InvalidBlockNumber, place);
	REFUSED(root, x.s.stripes[1].first = 40, place);
	REFUSED(root, x.s.stripes[1].flushed_through = 1, place);
	REFUSED(root, x.s.stripes[0].ndead = 501, counts);
	REFUSED(root, x.s.stripes[0].ndead = 500, "");
	REFUSED(root, x.s.stripes[0].nnull = 501, counts);
	REFUSED(root, x.s.stripes[0].nbytes = 5999, counts);
	REFUSED(root, x.s.stripes[0].nbytes = 6000, "");
	REFUSED(root, x.s.stripes[1].ndead = 1, counts);
	REFUSED(root, x.s.stripes[1].nnull = 1, counts);
	REFUSED(root, x.s.stripes[1].total_length = 1, counts);
	REFUSED(root, x.s.stripes[1].nbytes = 1, counts);
	REFUSED(root, x.s.stripes[0].extent = InvalidBlockNumber, extents);
	REFUSED(root, x.s.stripes[1].npages = 1, extents);
	REFUSED(root, (x.s.stripes[1].npages = 1, x.s.stripes[1].extent = 7),
			extents);
}

static void
test_extents(void)
{
	const char *impossible = "the root names an impossible extent";

	REFUSED(root, x.s.extents[0].block = 0, impossible);
	REFUSED(root, x.s.extents[0].npages = 0, impossible);
	REFUSED(root, x.s.extents[2].npages = 21, impossible);
	REFUSED(root, x.s.extents[2].npages = 20, "");
	REFUSED(root, x.s.extents[2].waits = 3, impossible);
	REFUSED(root, x.s.extents[2].waits = SKX_WAITS_VIEWS,
			"the root has an extent that was free before it was used");
	REFUSED(root, (x.s.extents[1].waits = SKX_WAITS_VIEWS,
				   x.s.extents[1].safexid = SKX_VIEW_SPAN(2, 3)), "");
	REFUSED(root, (x.s.extents[1].waits = SKX_WAITS_VIEWS,
				   x.s.extents[1].safexid = SKX_VIEW_SPAN(3, 3)),
			"the root has an extent that was free before it was used");
	REFUSED(root, x.s.extents[1].block--,
			"the extents of the root are not in order");
	REFUSED(root, x.s.extents[0].npages++,
			"the extents of the root are not in order");
	REFUSED(root, x.s.extents[1].block = NBLOCKS - 8,
			"the extents of the root are not in order");
	REFUSED(root, x.s.extents[2].safexid = 1,
			"the root has an extent both reserved and free");
	REFUSED(root, x.s.extents[2].operation = 8,
			"the root has an extent reserved for no operation");
	REFUSED(root, (x.s.extents[1].operation = 7, x.s.extents[1].safexid = 0),
			"");
}

static void
test_stripe(void)
{
	const char *counts = "the stripe page has impossible counts";
	const char *list = "the stripe page has an impossible list";
	const char *extent = "the stripe page has an impossible extent";
	const char *pages = "the stripe page has pages but no extent";

	REFUSED(stripe,, "");
	REFUSED(empty_stripe,, "");
	REFUSED(stripe, x.size--, "the stripe page has an impossible length");
	REFUSED(stripe, x.stripe.next_sequence = 0,
			"the stripe page has an impossible next document");
	REFUSED(stripe, x.stripe.next_sequence = 100, counts);
	REFUSED(stripe, x.stripe.next_sequence = PG_UINT64_MAX, counts);
	REFUSED(stripe, x.stripe.nnull = 101, counts);
	REFUSED(stripe, x.stripe.nbytes = 1199, counts);
	REFUSED(stripe, x.stripe.nbytes = 1200, "");
	REFUSED(empty_stripe, x.stripe.ndead = 1, counts);
	REFUSED(empty_stripe, x.stripe.total_length = 1, counts);
	REFUSED(empty_stripe, x.stripe.nbytes = 1, counts);
	REFUSED(stripe, x.stripe.first = 0, list);
	REFUSED(stripe, x.stripe.first = MaxBlockNumber, list);
	REFUSED(stripe, x.stripe.tail = 0, list);
	REFUSED(stripe, x.stripe.tail = NBLOCKS, list);
	REFUSED(stripe, x.stripe.first = InvalidBlockNumber, list);
	REFUSED(stripe, x.stripe.tail = InvalidBlockNumber, list);
	REFUSED(empty_stripe, x.stripe.first = 5, list);
	REFUSED(empty_stripe, x.stripe.tail = 5, list);
	REFUSED(stripe, x.stripe.extent_next = 57, extent);
	REFUSED(stripe, x.stripe.extent_next = 39, extent);
	REFUSED(stripe, x.stripe.extent_end = NBLOCKS + 1, extent);
	REFUSED(stripe, x.stripe.extent_last = 0, extent);
	REFUSED(stripe, x.stripe.extent_last = 56, extent);
	/* of 2^32 pages and more it has seen */
	REFUSED(stripe, x.stripe.npages = 0, "");
	REFUSED(stripe, x.stripe.extent_last = InvalidBlockNumber, pages);
	REFUSED(empty_stripe, x.stripe.npages = 1, pages);
	REFUSED(empty_stripe, x.stripe.extent_end = 1, pages);
}

int
main(void)
{
	test_meta();
	test_root_counts();
	test_operations();
	test_segments();
	test_stripe_refs();
	test_extents();
	test_stripe();
	return unit_done("disk_mutable");
}
