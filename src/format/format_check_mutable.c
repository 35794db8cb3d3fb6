/*
 * format_check_mutable.c
 *	  Validators of the pages that change in place.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/format_check.h"
#include "port/pg_bitutils.h"

#define SKX_CONTENT(page)	((const char *) (page) + SKX_PAGE_START)

static Size
skx_format_content_size(const char *page)
{
	return ((const PageHeaderData *) page)->pd_lower - SKX_PAGE_START;
}

/* A page of the file, or none. */
static bool
skx_format_block_ok(BlockNumber block, BlockNumber nblocks)
{
	return block == InvalidBlockNumber || block < nblocks;
}

const char *
skx_format_check_meta(const char *page)
{
	const SkxDiskMeta *meta = (const SkxDiskMeta *) SKX_CONTENT(page);
	uint32		block_pages;

	if (skx_format_content_size(page) < sizeof(SkxDiskMeta))
		return "the metapage is too short";
	if (meta->magic != SKX_MAGIC)
		return "the metapage has a wrong magic number";
	if (meta->version != SKX_VERSION)
		return "the metapage has a version that is not known here";
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
	return NULL;
}

const char *
skx_format_check_root(const char *page)
{
	const SkxDiskRootPage *root = (const SkxDiskRootPage *) SKX_CONTENT(page);
	Size		size = skx_format_content_size(page);

	if (size < sizeof(SkxDiskRootPage) ||
		root->nbytes != size - sizeof(SkxDiskRootPage))
		return "the root page has an impossible length";
	return NULL;
}

const char *
skx_format_check_root_stream(const char *stream, Size nbytes,
							 const SkxDiskMeta *meta)
{
	SkxDiskRoot root;
	uint64		size = sizeof(SkxDiskRoot);
	uint32		i;

	if (nbytes < sizeof(root))
		return "the root is too short";
	memcpy(&root, stream, sizeof(root));
	if (root.noperations != 0)
		return "the root has operations, which this version does not know";
	size += (uint64) root.nsegments * sizeof(SkxDiskSegmentRef);
	size += (uint64) root.nstripes * sizeof(SkxDiskStripeRef);
	size += (uint64) root.nextents * sizeof(SkxDiskExtent);
	if (size != nbytes)
		return "the root has an impossible length";
	stream += sizeof(root);
	for (i = 0; i < root.nsegments; i++, stream += sizeof(SkxDiskSegmentRef))
	{
		SkxDiskSegmentRef ref;

		memcpy(&ref, stream, sizeof(ref));
		if (ref.segment == 0 || ref.segment >= meta->next_segment ||
			ref.ndocs == 0 || ref.header_pages == 0 ||
			(uint64) ref.header + ref.header_pages > meta->nblocks)
			return "the root names an impossible segment";
	}
	for (i = 0; i < root.nstripes; i++, stream += sizeof(SkxDiskStripeRef))
	{
		SkxDiskStripeRef ref;

		memcpy(&ref, stream, sizeof(ref));
		if (ref.stripe == 0 || ref.stripe >= meta->nblocks ||
			!skx_format_block_ok(ref.first, meta->nblocks))
			return "the root names an impossible stripe";
	}
	for (i = 0; i < root.nextents; i++, stream += sizeof(SkxDiskExtent))
	{
		SkxDiskExtent extent;

		memcpy(&extent, stream, sizeof(extent));
		if (extent.npages == 0 ||
			(uint64) extent.block + extent.npages > meta->nblocks)
			return "the root names an impossible extent";
	}
	return NULL;
}

const char *
skx_format_check_stripe(const char *page, BlockNumber nblocks)
{
	const SkxDiskStripe *stripe = (const SkxDiskStripe *) SKX_CONTENT(page);

	if (skx_format_content_size(page) < sizeof(SkxDiskStripe))
		return "the stripe page is too short";
	if (stripe->next_sequence == 0 || stripe->ndead > stripe->ndocs ||
		stripe->nnull > stripe->ndocs ||
		stripe->ndocs >= stripe->next_sequence)
		return "the stripe page has impossible counts";
	if (!skx_format_block_ok(stripe->first, nblocks) ||
		!skx_format_block_ok(stripe->tail, nblocks) ||
		(stripe->first == InvalidBlockNumber) !=
		(stripe->tail == InvalidBlockNumber))
		return "the stripe page points past the file";
	if (stripe->extent_next > stripe->extent_end ||
		stripe->extent_end > nblocks)
		return "the stripe page has an impossible extent";
	return NULL;
}

const char *
skx_format_check_pending(const char *page, BlockNumber nblocks)
{
	const SkxDiskPendingPage *head;
	Size		lower = ((const PageHeaderData *) page)->pd_lower;
	Size		at = SKX_PAGE_START + sizeof(SkxDiskPendingPage);
	uint32		i;

	if (lower < at)
		return "the pending page is too short";
	head = (const SkxDiskPendingPage *) SKX_CONTENT(page);
	if (!skx_format_block_ok(head->next, nblocks))
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
		if ((doc->flags & SKX_PENDING_NULL) != 0 && doc->nbytes != 0)
			return "a pending document is NULL and is not";
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
skx_format_check_chain(const char *page, BlockNumber nblocks)
{
	const SkxDiskChainPage *head = (const SkxDiskChainPage *) SKX_CONTENT(page);
	Size		size = skx_format_content_size(page);

	if (size < sizeof(SkxDiskChainPage) ||
		head->nbytes != size - sizeof(SkxDiskChainPage))
		return "the chain page has an impossible length";
	if (!skx_format_block_ok(head->next, nblocks))
		return "the chain page points past the file";
	return NULL;
}

const char *
skx_format_check_deletes(const char *page, uint32 ordinal,
						 const SkxDiskSegment *seg)
{
	const SkxDiskDeletes *head = (const SkxDiskDeletes *) SKX_CONTENT(page);
	const uint8 *bits = (const uint8 *) (head + 1);
	uint64		first = (uint64) ordinal * SKX_DELETES_PER_PAGE;
	uint64		ndocs;
	uint64		bit;

	if (((const PageHeaderData *) page)->pd_upper == 0)
		return NULL;
	if (first >= seg->ndocs)
		return "the deletes page lies past the last document";
	if (skx_format_content_size(page) !=
		sizeof(SkxDiskDeletes) + SKX_DELETES_PER_PAGE / 8)
		return "the deletes page has an impossible length";
	if (pg_popcount((const char *) bits, SKX_DELETES_PER_PAGE / 8) !=
		head->ndeleted)
		return "the deletes page counts other than it has";
	ndocs = Min(seg->ndocs - first, SKX_DELETES_PER_PAGE);
	for (bit = ndocs; bit < SKX_DELETES_PER_PAGE; bit++)
	{
		if (bit % 8 == 0 && bits[bit / 8] == 0)
			bit += 7;
		else if ((bits[bit / 8] >> (bit % 8)) & 1)
			return "the deletes page has documents that do not exist";
	}
	return NULL;
}
