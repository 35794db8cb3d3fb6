/*
 * pending_chain.c
 *	  Documents that do not fit on one page.
 *
 * The pages are taken from the stripe's extent first and written while
 * nothing refers to them; the record that adds the document links them.  A
 * crash or an error in between loses the pages, not more, until the extent
 * is freed as a whole.  Only taking them needs the stripe page.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "format/format.h"
#include "miscadmin.h"
#include "pending/pending_internal.h"
#include "storage/bufmgr.h"

#define SKX_CHAIN_CAPACITY	(SKX_PAGE_CAPACITY - sizeof(SkxDiskChainPage))

/* Takes `n` pages, in one record a run of consecutive ones. */
static void
skx_pending_take_pages(SkxPendingStripe *s, uint32 n, BlockNumber *blocks)
{
	while (n > 0)
	{
		Buffer		stripe = skx_pending_buffer(s->rel, &s->meta, s->block,
												SKX_PLANE_STRIPE,
												BUFFER_LOCK_EXCLUSIVE);
		GenericXLogState *xlog;
		SkxDiskStripe *disk;
		char	   *page;
		uint32		run;

		skx_pending_extend(s, stripe, n);
		xlog = GenericXLogStart(s->rel);
		page = (char *) GenericXLogRegisterBuffer(xlog, stripe, 0);
		disk = (SkxDiskStripe *) (page + SKX_PAGE_START);
		for (run = 0; run < n && disk->extent_next < disk->extent_end; run++)
			*blocks++ = disk->extent_next++;
		disk->npages += run;
		GenericXLogFinish(xlog);
		UnlockReleaseBuffer(stripe);
		n -= run;
	}
}

/* Writes up to MAX_GENERIC_XLOG_PAGES pages, the next ones in `blocks`. */
static void
skx_pending_chain_pages(SkxPendingStripe *s, const BlockNumber *blocks,
						uint32 n, BlockNumber next, const char *bytes,
						uint32 nbytes)
{
	GenericXLogState *xlog = GenericXLogStart(s->rel);
	Buffer		buffers[MAX_GENERIC_XLOG_PAGES];
	uint32		i;

	for (i = 0; i < n; i++)
	{
		uint32		part = Min(nbytes, SKX_CHAIN_CAPACITY);
		SkxDiskChainPage *head;
		char	   *page;

		buffers[i] = skx_pending_fresh(s, blocks[i]);
		page = (char *) GenericXLogRegisterBuffer(xlog, buffers[i],
												  GENERIC_XLOG_FULL_IMAGE);
		skx_pending_init_page(page, buffers[i], s, SKX_PLANE_CHAIN);
		head = (SkxDiskChainPage *) (page + SKX_PAGE_START);
		head->next = i + 1 < n ? blocks[i + 1] : next;
		head->nbytes = part;
		memcpy(head + 1, bytes, part);
		((PageHeader) page)->pd_lower += sizeof(SkxDiskChainPage) + part;
		bytes += part;
		nbytes -= part;
	}
	GenericXLogFinish(xlog);
	for (i = 0; i < n; i++)
		UnlockReleaseBuffer(buffers[i]);
}

/* Returns the first page of the chain, which nothing refers to yet. */
BlockNumber
skx_pending_chain_write(SkxPendingStripe *s, const char *bytes, uint32 nbytes)
{
	uint32		n = (nbytes + SKX_CHAIN_CAPACITY - 1) / SKX_CHAIN_CAPACITY;
	BlockNumber *blocks = palloc(n * sizeof(BlockNumber));
	BlockNumber first;
	uint32		i;
	uint32		part;

	skx_pending_take_pages(s, n, blocks);
	first = blocks[0];
	for (i = 0; i < n; i += part)
	{
		BlockNumber next = InvalidBlockNumber;
		Size		done = i * SKX_CHAIN_CAPACITY;

		CHECK_FOR_INTERRUPTS();
		part = Min(n - i, MAX_GENERIC_XLOG_PAGES);
		if (i + part < n)
			next = blocks[i + part];
		skx_pending_chain_pages(s, &blocks[i], part, next, bytes + done,
								nbytes - done);
	}
	pfree(blocks);
	return first;
}

/*
 * Reads a chain of exactly chain->nbytes bytes; `block` is where the chain is
 * linked, for the report.
 */
void
skx_pending_chain_read(Relation rel, SkxDiskMeta *meta,
					   const SkxDiskPendingChain *chain, BlockNumber block,
					   char *bytes)
{
	BlockNumber next = chain->first;
	uint32		left = chain->nbytes;

	while (left > 0)
	{
		const SkxDiskChainPage *head;
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		if (!BlockNumberIsValid(next))
			skx_format_report(rel, block,
							  "a pending document ends too early");
		block = next;
		buffer = skx_pending_buffer(rel, meta, block, SKX_PLANE_CHAIN,
									BUFFER_LOCK_SHARE);
		head = (const SkxDiskChainPage *) skx_manifest_content(buffer);
		if (head->nbytes == 0 || head->nbytes > SKX_CHAIN_CAPACITY ||
			head->nbytes > left)
			skx_format_report(rel, block,
							  "a pending document has an impossible length");
		memcpy(bytes, head + 1, head->nbytes);
		bytes += head->nbytes;
		left -= head->nbytes;
		next = head->next;
		UnlockReleaseBuffer(buffer);
	}
	if (BlockNumberIsValid(next))
		skx_format_report(rel, block, "a pending document ends too late");
}
