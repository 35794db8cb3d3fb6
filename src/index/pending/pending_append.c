/*
 * pending_append.c
 *	  Adds one document to the pending list.
 *
 * One WAL record adds it.  The record changes the stripe page, the tail page,
 * and the new tail if the old one is full, so a crash leaves all of that or
 * nothing.  The stripe page is locked exclusively from the choice of the page
 * to the end, which orders the sequence numbers.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "index/column/column_value.h"
#include "index/pending/pending_internal.h"
#include "miscadmin.h"
#include "storage/blkio/blkio.h"
#include "storage/bufmgr.h"
#include "support/compat/compat.h"
#include "support/fault/fault.h"
#include "support/worker/worker.h"

/*
 * Most records with chains on a page.  A flush cannot free pages that were
 * taken after the page on which it stops, and chains of that page are there.
 */
#define SKX_PENDING_CHAINS_MAX	8

/* A record that is about to be added. */
typedef struct SkxPendingRecord
{
	SkxDiskPendingDoc doc;
	const void *payload;		/* doc.nbytes bytes after `doc` */
	uint64		nbytes;			/* of record and chain */
	uint64		length;
} SkxPendingRecord;

uint64
skx_pending_length(TSVector value)
{
	const WordEntry *entries = ARRPTR(value);
	uint64		length = 0;
	int			i;

	for (i = 0; i < value->size; i++)
		length += entries[i].haspos ? POSDATALEN(value, &entries[i]) : 1;
	/* each value was counted as a lexeme without positions */
	return length - skx_column_count_values(value);
}

/* Writes the record to the end of `page` and counts it in the stripe. */
static void
skx_pending_write_record(char *stripe_page, char *page,
						 const SkxPendingRecord *record)
{
	PageHeader	header = (PageHeader) page;
	SkxDiskPendingPage *head = (SkxDiskPendingPage *) (page + SKX_PAGE_START);
	SkxDiskStripe *stripe = (SkxDiskStripe *) (stripe_page + SKX_PAGE_START);
	Size		size = SKX_PENDING_RECORD_SIZE(record->doc.nbytes);
	char	   *to = page + header->pd_lower;

	Assert(header->pd_lower + size <= SKX_PAGE_END);
	Assert(skx_pending_record_check(&record->doc, size) == NULL);
	Assert(head->first_sequence + head->nrecords == stripe->next_sequence);
	memset(to, 0, size);
	memcpy(to, &record->doc, sizeof(record->doc));
	if (record->doc.nbytes > 0)
		memcpy(to + sizeof(record->doc), record->payload, record->doc.nbytes);
	header->pd_lower += size;
	head->nrecords++;

	stripe->next_sequence++;
	if (record->doc.flags & SKX_PENDING_NULL)
		stripe->nnull++;
	stripe->total_length += record->length;
	stripe->nbytes += record->nbytes;
}

/* Adds the record on an unused page, which becomes the stripe's tail. */
static void
skx_pending_put_on_new_page(SkxPendingStripe *s, Buffer tail,
							const SkxPendingRecord *record)
{
	SkxDiskStripe *disk =
		(SkxDiskStripe *) skx_manifest_page_content(s->buffer);
	SkxDiskPendingPage *head;
	GenericXLogState *xlog;
	BlockNumber block;
	Buffer		fresh;
	char	   *stripe_page;
	char	   *page;
	char	   *before;

	skx_pending_extend(s, 1);
	block = disk->extent_next;
	fresh = skx_pending_unused_page(s, block);

	xlog = GenericXLogStart(s->rel);
	stripe_page = (char *) GenericXLogRegisterBuffer(xlog, s->buffer, 0);
	page = (char *) GenericXLogRegisterBuffer(xlog, fresh,
											  GENERIC_XLOG_FULL_IMAGE);
	skx_pending_init_page(page, fresh, s, SKX_PLANE_PENDING);
	disk = (SkxDiskStripe *) (stripe_page + SKX_PAGE_START);
	head = (SkxDiskPendingPage *) (page + SKX_PAGE_START);
	head->first_sequence = disk->next_sequence;
	head->next = InvalidBlockNumber;
	((PageHeader) page)->pd_lower += sizeof(SkxDiskPendingPage);

	disk->extent_next = block + 1;
	disk->npages++;
	disk->tail = block;
	if (!BlockNumberIsValid(disk->first))
		disk->first = block;
	if (BufferIsValid(tail))
	{
		before = (char *) GenericXLogRegisterBuffer(xlog, tail, 0);
		((SkxDiskPendingPage *) (before + SKX_PAGE_START))->next = block;
	}
	skx_pending_write_record(stripe_page, page, record);
	Assert(skx_pending_stripe_is_successor(s->buffer, stripe_page));
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(fresh);
}

/* Returns true if the record fits on the tail page, which is locked. */
static bool
skx_pending_record_fits(Buffer tail, const SkxPendingRecord *record)
{
	Page		page = BufferGetPage(tail);
	const SkxDiskPendingPage *head =
		(const SkxDiskPendingPage *) skx_manifest_page_content(tail);

	Assert(skx_compat_buffer_locked(tail));
	if ((record->doc.flags & SKX_PENDING_CHAIN) &&
		head->nrecords >= SKX_PENDING_CHAINS_MAX)
		return false;
	return ((PageHeader) page)->pd_lower +
		SKX_PENDING_RECORD_SIZE(record->doc.nbytes) <= SKX_PAGE_END;
}

/* Adds the record to the list.  Returns true if it took a new page. */
static bool
skx_pending_put_record(SkxPendingStripe *s, const SkxPendingRecord *record)
{
	BlockNumber last =
		((SkxDiskStripe *) skx_manifest_page_content(s->buffer))->tail;
	Buffer		tail = InvalidBuffer;
	bool		full;

	if (BlockNumberIsValid(last))
		tail = skx_pending_lock_page(s->rel, &s->meta, last, SKX_PLANE_PENDING,
									 BUFFER_LOCK_EXCLUSIVE);
	full = !BufferIsValid(tail) || !skx_pending_record_fits(tail, record);
	if (full)
		skx_pending_put_on_new_page(s, tail, record);
	else
	{
		GenericXLogState *xlog = GenericXLogStart(s->rel);
		char	   *stripe_page;
		char	   *page;

		stripe_page = (char *) GenericXLogRegisterBuffer(xlog, s->buffer, 0);
		page = (char *) GenericXLogRegisterBuffer(xlog, tail, 0);
		skx_pending_write_record(stripe_page, page, record);
		Assert(skx_pending_stripe_is_successor(s->buffer, stripe_page));
		GenericXLogFinish(xlog);
	}
	if (BufferIsValid(tail))
		UnlockReleaseBuffer(tail);
	return full;
}

bool
skx_pending_append(Relation rel, ItemPointer tid, TSVector value)
{
	SkxPendingStripe s;
	SkxPendingRecord record;
	SkxDiskPendingChain chain;
	bool		full;

	Assert(ItemPointerIsValid(tid));
	Assert(VARATT_IS_4B_U(value));
	SKX_FAULT(SKX_FAULT_INSERT_BEGIN);
	/* before a page is locked: workers may still read an extent it takes */
	skx_worker_attach();
	s.rel = rel;
	s.block = skx_manifest_stripe(rel, MyProcPid, &s.meta);
	s.new_extent = InvalidBlockNumber;
	/* so that the file can grow while a page is locked */
	skx_blkio_extend_prepare(rel, s.meta.incarnation);
	memset(&record, 0, sizeof(record));
	record.doc.tid = *tid;
	record.nbytes = sizeof(record.doc);
	record.doc.flags = skx_column_is_null(value) ? SKX_PENDING_NULL : 0;
	record.length = skx_pending_length(value);
	record.nbytes += VARSIZE(value);
	record.payload = value;
	record.doc.nbytes = VARSIZE(value);
	s.buffer = skx_pending_lock_page(rel, &s.meta, s.block, SKX_PLANE_STRIPE,
									 BUFFER_LOCK_EXCLUSIVE);
	if (record.doc.nbytes > SKX_PENDING_INLINE_MAX)
	{
		chain.nbytes = record.doc.nbytes;
		chain.first = skx_pending_chain_write(&s, (const char *) value,
											  chain.nbytes);
		SKX_FAULT(SKX_FAULT_INSERT_CHAIN_WRITTEN);
		record.doc.flags |= SKX_PENDING_CHAIN;
		record.doc.nbytes = sizeof(chain);
		record.payload = &chain;
		record.nbytes += sizeof(chain);
	}
	full = skx_pending_put_record(&s, &record);
	UnlockReleaseBuffer(s.buffer);
	SKX_FAULT(SKX_FAULT_INSERT_APPENDED);
	return full;
}
