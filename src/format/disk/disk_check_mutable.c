/*
 * disk_check_mutable.c
 *	  Validators of the pages that change in place.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/disk/disk_check.h"
#include "support/bitset/bitset.h"

#define SKX_PAGE_CONTENT(page)	((const char *) (page) + SKX_PAGE_START)

static Size
skx_disk_content_size(const char *page)
{
	return ((const PageHeaderData *) page)->pd_lower - SKX_PAGE_START;
}

/* Returns true if the block is in the file, or is none. */
static bool
skx_disk_block_is_valid(BlockNumber block, BlockNumber nblocks)
{
	return block == InvalidBlockNumber || block < nblocks;
}

/*
 * Returns true if pages [block, block + npages) exist and do not include the
 * metapage.
 */
static bool
skx_disk_extent_is_valid(BlockNumber block, uint32 npages, BlockNumber nblocks)
{
	return block != 0 && npages != 0 && (uint64) block + npages <= nblocks;
}

static const char *
skx_disk_check_pool(const SkxDiskMeta *meta)
{
	int			i;
	int			j;

	if (meta->npool > SKX_META_POOL_EXTENTS)
		return "the metapage has an impossible pool";
	for (i = 0; i < meta->npool; i++)
	{
		const SkxDiskPoolExtent *extent = &meta->pool[i];

		if (!skx_disk_extent_is_valid(extent->block, extent->npages,
									  meta->nblocks))
			return "the metapage has an impossible extent in its pool";
		for (j = 0; j < i; j++)
		{
			const SkxDiskPoolExtent *other = &meta->pool[j];

			if (extent->block < other->block + other->npages &&
				other->block < extent->block + extent->npages)
				return "the metapage has a page twice in its pool";
		}
	}
	return NULL;
}

const char *
skx_disk_check_format(const SkxDiskFormat *format, const uint64 *reserved,
					  int n)
{
	SkxFormatUse use = skx_disk_format_use(format);
	SkxDiskFormat own;
	int			i;

	if (use != SKX_FORMAT_WRITE && use != SKX_FORMAT_READ)
		return "the format is not known here";
	if (format->oldest_reader < SKX_RELEASE_NUMBER(1, 0) ||
		format->oldest_reader > format->writer)
		return "the format has impossible releases";
	skx_disk_format_of(SKX_RELEASE, SKX_FORMAT_NEWEST, &own);
	for (i = 0; i < n && skx_disk_format_covers(&own, format); i++)
	{
		if (reserved[i] != 0)
			return "a reserved field is in use";
	}
	return NULL;
}

const char *
skx_disk_check_meta(const char *page)
{
	const SkxDiskMeta *meta = (const SkxDiskMeta *) SKX_PAGE_CONTENT(page);
	const char *wrong;
	uint32		block_pages;

	if (skx_disk_content_size(page) != sizeof(SkxDiskMeta))
		return "the metapage has an impossible length";
	if (meta->format.magic != SKX_MAGIC)
		return "the metapage has a wrong magic number";
	wrong = skx_disk_check_format(&meta->format, meta->reserved,
								  lengthof(meta->reserved));
	if (wrong != NULL)
		return wrong;
	if (meta->block_size < SKX_BLOCK_SIZE_MIN ||
		meta->block_size > SKX_BLOCK_SIZE_MAX ||
		(meta->block_size & (meta->block_size - 1)) != 0)
		return "the metapage has an impossible block size";
	block_pages = meta->block_size / BLCKSZ;
	if (meta->nblocks == 0 || meta->nblocks % block_pages != 0)
		return "the metapage has an impossible number of blocks";
	if (meta->root == 0 || meta->root >= meta->nblocks)
		return "the metapage points to an impossible root";
	if (meta->next_segment == 0)
		return "the metapage has an impossible next segment";
	if (meta->order_key_bits != 0 && meta->order_key_bits != 64 &&
		meta->order_key_bits != 128)
		return "the metapage has an impossible order key";
	return skx_disk_check_pool(meta);
}

const char *
skx_disk_check_root(const char *page)
{
	const SkxDiskRootPage *root =
		(const SkxDiskRootPage *) SKX_PAGE_CONTENT(page);
	Size		size = skx_disk_content_size(page);

	if (size < sizeof(SkxDiskRootPage) ||
		root->nbytes != size - sizeof(SkxDiskRootPage))
		return "the root page has an impossible length";
	return NULL;
}

/* The arrays of the root, which are contiguous and need not be aligned. */
typedef struct SkxRootCheck
{
	const SkxDiskMeta *meta;
	SkxDiskRoot root;
	const char *segments;
	const char *stripes;
	const char *extents;
	const char *operations;
	const char *end;
} SkxRootCheck;

/* Returns true if an operation makes that segment. */
static bool
skx_disk_root_has_operation(const SkxRootCheck *c, uint32 segment)
{
	uint32		i;

	for (i = 0; i < c->root.noperations; i++)
	{
		SkxDiskOperation op;

		memcpy(&op, c->operations + i * sizeof(op), sizeof(op));
		if (op.segment == segment)
			return true;
	}
	return false;
}

static const char *
skx_disk_check_operations(const SkxRootCheck *c)
{
	uint32		seen = 0;		/* one bit for each kind */
	uint32		i;

	for (i = 0; i < c->root.noperations; i++)
	{
		SkxDiskOperation op;

		memcpy(&op, c->operations + i * sizeof(op), sizeof(op));
		if (op.kind < SKX_OPERATION_FLUSH || op.kind > SKX_OPERATION_MERGE)
			return "the root has an operation of an unknown kind";
		if (op.segment == 0 || op.segment >= c->meta->next_segment)
			return "the root has an operation with an impossible segment";
		if (seen & 1 << op.kind)
			return "the root has two operations of a kind";
		seen |= 1 << op.kind;
	}
	if (c->root.noperations == 2 &&
		memcmp(c->operations, c->operations + sizeof(SkxDiskOperation),
			   sizeof(uint32)) == 0)
		return "the root has two operations with the same segment";
	return NULL;
}

static const char *
skx_disk_check_segments(const SkxRootCheck *c)
{
	uint32		i;

	for (i = 0; i < c->root.nsegments; i++)
	{
		SkxDiskSegmentRef ref;

		memcpy(&ref, c->segments + i * sizeof(ref), sizeof(ref));
		if (ref.segment == 0 || ref.segment >= c->meta->next_segment ||
			ref.ndocs == 0 || ref.npages < ref.header_pages ||
			ref.npages > c->meta->nblocks ||
			!skx_disk_extent_is_valid(ref.header, ref.header_pages,
									  c->meta->nblocks))
			return "the root names an impossible segment";
		if (ref.salt == 0)
			return "the root names a segment without salt";
		if (ref.level > SKX_SEGMENT_LEVEL_MAX)
			return "the root names a segment of an impossible level";
		if (skx_disk_root_has_operation(c, ref.segment))
			return "the root names a segment that is still being made";
	}
	return NULL;
}

static const char *
skx_disk_check_stripe_refs(const SkxRootCheck *c)
{
	BlockNumber nblocks = c->meta->nblocks;
	uint32		i;

	for (i = 0; i < c->root.nstripes; i++)
	{
		SkxDiskStripeRef ref;

		memcpy(&ref, c->stripes + i * sizeof(ref), sizeof(ref));
		if (!skx_disk_extent_is_valid(ref.stripe, 1, nblocks) ||
			!skx_disk_block_is_valid(ref.first, nblocks) ||
			!skx_disk_block_is_valid(ref.extent, nblocks) ||
			ref.first == 0 || ref.extent == 0)
			return "the root names an impossible stripe";
		if ((ref.first == InvalidBlockNumber) != (ref.flushed_through == 0))
			return "the root names a stripe flushed to an impossible place";
		if (ref.ndead > ref.flushed_through ||
			ref.nnull > ref.flushed_through ||
			ref.nbytes / sizeof(SkxDiskPendingDoc) < ref.flushed_through ||
			(ref.flushed_through == 0 &&
			 (ref.total_length != 0 || ref.nbytes != 0)))
			return "the root has impossible counts for a stripe";
		if ((ref.extent == InvalidBlockNumber || ref.flushed_through == 0) &&
			ref.npages != 0)
			return "the root has impossible extents for a stripe";
	}
	return NULL;
}

static const char *
skx_disk_check_extents(const SkxRootCheck *c)
{
	uint64		least = 0;		/* least block of the next extent */
	uint32		i;

	for (i = 0; i < c->root.nextents; i++)
	{
		SkxDiskExtent extent;

		memcpy(&extent, c->extents + i * sizeof(extent), sizeof(extent));
		if (!skx_disk_extent_is_valid(extent.block, extent.npages,
									  c->meta->nblocks) ||
			extent.waits > SKX_WAITS_STANDBYS)
			return "the root names an impossible extent";
		if (extent.waits == SKX_WAITS_VIEWS &&
			SKX_VIEW_SPAN_BORN(extent.safexid, c->meta->generation) >=
			SKX_VIEW_SPAN_FREED(extent.safexid, c->meta->generation))
			return "the root has an extent that was free before it was used";
		if (extent.block < least)
			return "the extents of the root are not in order";
		least = (uint64) extent.block + extent.npages;
		if (extent.operation == 0)
			continue;
		if (extent.safexid != 0)
			return "the root has an extent both reserved and free";
		if (!skx_disk_root_has_operation(c, extent.operation))
			return "the root has an extent reserved for no operation";
	}
	return NULL;
}

const char *
skx_disk_check_root_stream(const char *stream, Size nbytes,
						   const SkxDiskMeta *meta)
{
	SkxRootCheck c;
	const char *wrong;
	uint64		size = sizeof(SkxDiskRoot);

	if (nbytes < sizeof(c.root))
		return "the root is too short";
	c.meta = meta;
	memcpy(&c.root, stream, sizeof(c.root));
	size += (uint64) c.root.nsegments * sizeof(SkxDiskSegmentRef);
	size += (uint64) c.root.nstripes * sizeof(SkxDiskStripeRef);
	size += (uint64) c.root.nextents * sizeof(SkxDiskExtent);
	size += (uint64) c.root.noperations * sizeof(SkxDiskOperation);
	if (size != nbytes)
		return "the root has an impossible length";
	if (c.root.nstripes == 0 || c.root.noperations > SKX_OPERATION_MERGE)
		return "the root has impossible counts";
	c.segments = stream + sizeof(SkxDiskRoot);
	c.stripes = c.segments + c.root.nsegments * sizeof(SkxDiskSegmentRef);
	c.extents = c.stripes + c.root.nstripes * sizeof(SkxDiskStripeRef);
	c.operations = c.extents + c.root.nextents * sizeof(SkxDiskExtent);
	wrong = skx_disk_check_operations(&c);
	if (wrong == NULL)
		wrong = skx_disk_check_segments(&c);
	if (wrong == NULL)
		wrong = skx_disk_check_stripe_refs(&c);
	if (wrong == NULL)
		wrong = skx_disk_check_extents(&c);
	return wrong;
}

/* Checks the fields of the stripe's newest extent. */
static const char *
skx_disk_check_stripe_extent(const SkxDiskStripe *stripe,
							 BlockNumber nblocks)
{
	if (stripe->extent_last == InvalidBlockNumber)
	{
		if (stripe->npages != 0 || stripe->extent_next != stripe->extent_end)
			return "the stripe page has pages but no extent";
		return NULL;
	}
	if (stripe->extent_last == 0 ||
		stripe->extent_last >= stripe->extent_end ||
		stripe->extent_next < stripe->extent_last ||
		stripe->extent_next > stripe->extent_end ||
		stripe->extent_end > nblocks)
		return "the stripe page has an impossible extent";
	return NULL;
}

const char *
skx_disk_check_stripe(const char *page, BlockNumber nblocks)
{
	const SkxDiskStripe *stripe =
		(const SkxDiskStripe *) SKX_PAGE_CONTENT(page);
	uint64		ndocs;

	if (skx_disk_content_size(page) != sizeof(SkxDiskStripe))
		return "the stripe page has an impossible length";
	if (stripe->next_sequence == 0)
		return "the stripe page has an impossible next document";
	ndocs = stripe->next_sequence - 1;
	if (stripe->ndead > ndocs || stripe->nnull > ndocs ||
		stripe->nbytes / sizeof(SkxDiskPendingDoc) < ndocs ||
		(ndocs == 0 && (stripe->total_length != 0 || stripe->nbytes != 0)))
		return "the stripe page has impossible counts";
	/* the first page may have been freed, and the file truncated before it */
	if (!skx_disk_block_is_valid(stripe->first, MaxBlockNumber) ||
		!skx_disk_block_is_valid(stripe->tail, nblocks) ||
		stripe->first == 0 || stripe->tail == 0 ||
		(stripe->first == InvalidBlockNumber) != (ndocs == 0) ||
		(stripe->tail == InvalidBlockNumber) != (ndocs == 0))
		return "the stripe page has an impossible list";
	return skx_disk_check_stripe_extent(stripe, nblocks);
}

const char *
skx_disk_check_pending(const char *page, BlockNumber nblocks)
{
	const SkxDiskPendingPage *head;
	Size		lower = ((const PageHeaderData *) page)->pd_lower;
	Size		at = SKX_PAGE_START + sizeof(SkxDiskPendingPage);
	uint32		i;

	if (lower < at)
		return "the pending page is too short";
	head = (const SkxDiskPendingPage *) SKX_PAGE_CONTENT(page);
	if (!skx_disk_block_is_valid(head->next, nblocks))
		return "the pending page points past the file";
	for (i = 0; i < head->nrecords; i++)
	{
		const SkxDiskPendingDoc *doc;

		at = TYPEALIGN(4, at);
		if (at + sizeof(SkxDiskPendingDoc) > lower)
			return "a pending record passes the end of its page";
		doc = (const SkxDiskPendingDoc *) (page + at);
		at += sizeof(SkxDiskPendingDoc);
		if (doc->nbytes > lower - at)
			return "a pending document passes the end of its page";
		if ((doc->flags & SKX_PENDING_CHAIN) != 0)
		{
			SkxDiskPendingChain chain;

			if (doc->nbytes != sizeof(chain))
				return "a pending chain has an impossible length";
			memcpy(&chain, page + at, sizeof(chain));
			if (chain.first >= nblocks)
				return "a pending chain points past the file";
		}
		at += doc->nbytes;
	}
	if (lower > TYPEALIGN(4, at))
		return "the pending page holds more than its records";
	return NULL;
}

const char *
skx_disk_check_chain(const char *page, BlockNumber nblocks)
{
	const SkxDiskChainPage *head =
		(const SkxDiskChainPage *) SKX_PAGE_CONTENT(page);
	Size		size = skx_disk_content_size(page);

	if (size < sizeof(SkxDiskChainPage) ||
		head->nbytes != size - sizeof(SkxDiskChainPage))
		return "the chain page has an impossible length";
	if (!skx_disk_block_is_valid(head->next, nblocks))
		return "the chain page points past the file";
	return NULL;
}

const char *
skx_disk_check_deletes(const char *page, uint32 ordinal,
					   const SkxDiskSegment *seg)
{
	const SkxDiskDeletes *head =
		(const SkxDiskDeletes *) SKX_PAGE_CONTENT(page);
	const uint8 *bits = (const uint8 *) (head + 1);
	uint64		first = (uint64) ordinal * SKX_DELETES_PER_PAGE;
	uint32		ndocs;

	if (((const PageHeaderData *) page)->pd_upper == 0)
		return NULL;
	if (first >= seg->ndocs)
		return "the deletes page lies past the last document";
	if (skx_disk_content_size(page) !=
		sizeof(SkxDiskDeletes) + SKX_DELETES_BYTES)
		return "the deletes page has an impossible length";
	if (skx_bitset_count(bits, SKX_BITSET_WORDS(SKX_DELETES_PER_PAGE)) !=
		head->ndeleted)
		return "the deletes page counts other than it has";
	if (head->groups != 0 &&
		(ordinal > 0 || (head->groups & SKX_DELETES_GROUPS_VALID) == 0 ||
		 (head->ndeleted > 0 && (head->groups & 1) == 0)))
		return "the deletes page has impossible groups";
	ndocs = (uint32) Min(seg->ndocs - first, SKX_DELETES_PER_PAGE);
	if (skx_bitset_bytes_next(bits, SKX_DELETES_PER_PAGE, ndocs) <
		SKX_DELETES_PER_PAGE)
		return "the deletes page has documents that do not exist";
	return NULL;
}
