/*
 * pending_chain.c
 *	  Reads and writes documents that do not fit on one page.
 *
 * Pages are taken from the stripe's extent, and written while nothing refers
 * to them.  The record that adds the document links them.  After a crash or an
 * error in between, these pages stay unused until the extent is freed.
 *
 * The stripe page stays locked from the first page to that record.  So pages
 * are taken in the order of documents.  Extents before that of the last
 * flushed document have pages of flushed documents only.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "support/damage/damage.h"
#include "index/pending/pending_internal.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#define SKX_CHAIN_CAPACITY	(SKX_PAGE_CAPACITY - sizeof(SkxDiskChainPage))

/*
 * Takes up to `n` consecutive pages, from *block on.  Returns how many it has
 * taken.
 */
static uint32
skx_pending_chain_take_pages(SkxPendingStripe *s, uint32 n, BlockNumber *block)
{
	GenericXLogState *xlog;
	SkxDiskStripe *disk;
	uint32		run;

	skx_pending_extend(s, n);
	xlog = GenericXLogStart(s->rel);
	disk = (SkxDiskStripe *)
		((char *) GenericXLogRegisterBuffer(xlog, s->buffer, 0) +
		 SKX_PAGE_START);
	*block = disk->extent_next;
	run = Min(n, disk->extent_end - disk->extent_next);
	disk->extent_next += run;
	disk->npages += run;
	Assert(run > 0);
	Assert(skx_pending_stripe_is_successor(s->buffer,
										   (char *) disk - SKX_PAGE_START));
	GenericXLogFinish(xlog);
	return run;
}

/*
 * Writes n consecutive pages of a chain, from `block` on, by one record.  The
 * chain goes on with page `next`.
 */
static void
skx_pending_chain_pages(SkxPendingStripe *s, BlockNumber block, uint32 n,
						BlockNumber next, const char *bytes, uint32 nbytes)
{
	GenericXLogState *xlog = GenericXLogStart(s->rel);
	Buffer		buffers[MAX_GENERIC_XLOG_PAGES];
	uint32		i;

	Assert(n > 0 && n <= MAX_GENERIC_XLOG_PAGES);
	for (i = 0; i < n; i++)
	{
		uint32		part = Min(nbytes, SKX_CHAIN_CAPACITY);
		SkxDiskChainPage *head;
		char	   *page;

		buffers[i] = skx_pending_unused_page(s, block + i);
		page = (char *) GenericXLogRegisterBuffer(xlog, buffers[i],
												  GENERIC_XLOG_FULL_IMAGE);
		skx_pending_init_page(page, buffers[i], s, SKX_PLANE_CHAIN);
		head = (SkxDiskChainPage *) (page + SKX_PAGE_START);
		head->next = i + 1 < n ? block + i + 1 : next;
		head->nbytes = part;
		memcpy(head + 1, bytes, part);
		((PageHeader) page)->pd_lower += sizeof(SkxDiskChainPage) + part;
		Assert(part > 0);
		bytes += part;
		nbytes -= part;
	}
	Assert(nbytes == 0);
	GenericXLogFinish(xlog);
	for (i = 0; i < n; i++)
		UnlockReleaseBuffer(buffers[i]);
}

/*
 * The document is stored from its end to its beginning, since each page names
 * the one after it.  Each run of pages is written at once: the first page of
 * an extent is known as such only while that is the newest extent.
 */
BlockNumber
skx_pending_chain_write(SkxPendingStripe *s, const char *bytes, uint32 nbytes)
{
	uint32		end = (nbytes + SKX_CHAIN_CAPACITY - 1) / SKX_CHAIN_CAPACITY;
	BlockNumber next = InvalidBlockNumber;

	Assert(nbytes > SKX_PENDING_INLINE_MAX);
	while (end > 0)
	{
		BlockNumber block;
		uint32		run = skx_pending_chain_take_pages(s, end, &block);
		uint32		left = run;

		while (left > 0)
		{
			uint32		part = Min(left, MAX_GENERIC_XLOG_PAGES);
			Size		done;

			left -= part;
			done = (Size) (end - run + left) * SKX_CHAIN_CAPACITY;
			skx_pending_chain_pages(s, block + left, part, next, bytes + done,
									Min(nbytes - done,
										part * SKX_CHAIN_CAPACITY));
			next = block + left;
		}
		end -= run;
	}
	return next;
}

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
			skx_damage_report(rel, block,
							  "a pending document ends too early");
		block = next;
		buffer = skx_pending_lock_page(rel, meta, block, SKX_PLANE_CHAIN,
									   BUFFER_LOCK_SHARE);
		head = (const SkxDiskChainPage *) skx_manifest_page_content(buffer);
		if (head->nbytes == 0 || head->nbytes > SKX_CHAIN_CAPACITY ||
			head->nbytes > left)
			skx_damage_report(rel, block,
							  "a pending document has an impossible length");
		memcpy(bytes, head + 1, head->nbytes);
		bytes += head->nbytes;
		left -= head->nbytes;
		next = head->next;
		UnlockReleaseBuffer(buffer);
	}
	if (BlockNumberIsValid(next))
		skx_damage_report(rel, block, "a pending document ends too late");
}
