/*
 * inspect_check_pending.c
 *	  Checks pending lists against the counters of their stripes.
 *
 * The number of pending documents is the stripe's count less the number that
 * was flushed by the root.  Documents may be added or become dead meanwhile.
 * Those that were added after the stripe page was copied are left out.  There
 * may be more dead documents than the copy counts, but not more than the
 * stripe counts afterwards.
 */
#include "postgres.h"

#include "format/disk/disk_check.h"
#include "index/column/column_value.h"
#include "inspect/inspect_internal.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

/* A document whose tsvector is longer is in a chain. */
#define SKX_INSPECT_INLINE_MAX \
	(SKX_PAGE_CAPACITY - sizeof(SkxDiskPendingPage) - \
	 sizeof(SkxDiskPendingDoc))

/* State of a walk over the pages of one stripe. */
typedef struct SkxCheckStripe
{
	SkxCheck   *check;
	int			which;
	const SkxDiskStripe *disk;	/* copy of the stripe page */
	const SkxDiskStripeRef *ref;
	BlockNumber block;			/* page of the list that was read last */
	uint64		sequence;		/* of the next record; 0: none read yet */
	uint64		npages;			/* pages of the list and of chains so far */
	PGAlignedBlock page;		/* copy of the page of the list */
} SkxCheckStripe;

/* Copies a page, and checks that it belongs to the stripe and is sound. */
static void
skx_inspect_pending_page(SkxCheckStripe *s, BlockNumber block, SkxPlane plane,
						 char *page)
{
	SkxCheck   *check = s->check;
	const char *what;
	Buffer		buffer;

	CHECK_FOR_INTERRUPTS();
	if (!BlockNumberIsValid(block))
		skx_damage_report_detail(check->index, s->block,
								 "the pending list ends before document " UINT64_FORMAT,
								 s->disk->next_sequence - 1);
	if (skx_inspect_page_owner(check, block) != s->which)
		skx_damage_report_detail(check->index, s->block,
								 "the pending list leads to block %u, which is not its stripe's",
								 block);
	buffer = skx_manifest_lock_page(check->index,
									check->view->meta.incarnation, block,
									plane, 0, BUFFER_LOCK_SHARE);
	memcpy(page, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	/* the newest pages may refer to pages that the file had not then */
	what = plane == SKX_PLANE_CHAIN ?
		skx_disk_check_chain(page, MaxBlockNumber) :
		skx_disk_check_pending(page, MaxBlockNumber);
	if (what != NULL)
		skx_damage_report(check->index, block, what);
	s->npages++;
	if (s->npages > s->disk->npages - s->ref->npages)
		skx_damage_report_detail(check->index, s->ref->stripe,
								 "the pending list has more pages than the %u that the stripe counts",
								 s->disk->npages - s->ref->npages);
}

/* Checks the pages of a chain; its content is read with the documents. */
static void
skx_inspect_pending_chain(SkxCheckStripe *s, const SkxDiskPendingChain *chain)
{
	PGAlignedBlock page;
	BlockNumber next = chain->first;
	uint64		nbytes = 0;

	while (BlockNumberIsValid(next))
	{
		const SkxDiskChainPage *head;

		skx_inspect_pending_page(s, next, SKX_PLANE_CHAIN, page.data);
		head = (const SkxDiskChainPage *) (page.data + SKX_PAGE_START);
		nbytes += head->nbytes;
		next = head->next;
	}
	if (nbytes != chain->nbytes)
		skx_damage_report_detail(s->check->index, s->block,
								 "a chain has " UINT64_FORMAT " bytes, but its document %u",
								 nbytes, chain->nbytes);
}

/*
 * Reads the records of a page, whose bounds were checked, and checks the
 * chains of those that are pending.
 */
static void
skx_inspect_pending_records(SkxCheckStripe *s)
{
	const SkxDiskPendingPage *head =
		(const SkxDiskPendingPage *) (s->page.data + SKX_PAGE_START);
	uint32		at = SKX_PAGE_START + sizeof(SkxDiskPendingPage);
	uint32		i;

	for (i = 0; i < head->nrecords; i++, s->sequence++)
	{
		const SkxDiskPendingDoc *doc =
			(const SkxDiskPendingDoc *) (s->page.data + at);

		at += sizeof(SkxDiskPendingDoc) + INTALIGN(doc->nbytes);
		if ((doc->flags & SKX_PENDING_CHAIN) == 0 ||
			s->sequence <= s->ref->flushed_through ||
			s->sequence >= s->disk->next_sequence)
			continue;
		skx_inspect_pending_chain(s, (const SkxDiskPendingChain *) (doc + 1));
	}
}

/*
 * Checks the first page of the list: it must have the last document that was
 * flushed, or begin with document 1 if none was.
 */
static void
skx_inspect_pending_begin(SkxCheckStripe *s, uint64 first, uint32 nrecords)
{
	uint64		flushed = s->ref->flushed_through;

	if (flushed == 0 ? first != 1 :
		first == 0 || first > flushed || flushed - first >= nrecords)
		skx_damage_report_detail(s->check->index, s->block,
								 "the page does not have document " UINT64_FORMAT ", where the pending list begins",
								 Max(flushed, 1));
}

/* Checks all pages of the list, up to the last document that the copy has. */
static void
skx_inspect_pending_pages(SkxCheckStripe *s)
{
	SkxCheck   *check = s->check;
	BlockNumber next = BlockNumberIsValid(s->ref->first) ? s->ref->first :
		s->disk->first;

	s->block = s->ref->stripe;
	while (s->sequence < s->disk->next_sequence &&
		   s->disk->next_sequence > 1)
	{
		const SkxDiskPendingPage *head =
			(const SkxDiskPendingPage *) (s->page.data + SKX_PAGE_START);

		skx_inspect_pending_page(s, next, SKX_PLANE_PENDING, s->page.data);
		s->block = next;
		if (head->nrecords == 0)
			skx_damage_report(check->index, s->block,
							  "the pending page has no records");
		if (s->sequence == 0)
			skx_inspect_pending_begin(s, head->first_sequence,
									  head->nrecords);
		else if (head->first_sequence != s->sequence)
			skx_damage_report(check->index, s->block,
							  "the pending page is not the next one of its list");
		s->sequence = head->first_sequence;
		skx_inspect_pending_records(s);
		next = head->next;
	}
	if (s->npages > 0 && s->block != s->disk->tail)
		skx_damage_report_detail(check->index, s->block,
								 "the pending list ends here, but the stripe says in block %u",
								 s->disk->tail);
}

/* Adds a document to check->pending, unless it is dead. */
static void
skx_inspect_pending_remember(SkxCheck *check, const SkxPendingDoc *doc)
{
	SkxCheckEntry *entry;
	bool		found;

	if (doc->is_dead)
		return;
	entry = hash_search(check->pending, &doc->tid, HASH_ENTER, &found);
	if (found)
		skx_damage_report_detail(check->index, InvalidBlockNumber,
								 "row (%u,%u) is in the pending list twice",
								 ItemPointerGetBlockNumber(&doc->tid),
								 ItemPointerGetOffsetNumber(&doc->tid));
	entry->fingerprint = check->want_entries ?
		skx_inspect_hash_vector(doc->value) : 0;
}

/* Compares a count of the stripe with that of the documents found. */
static void
skx_inspect_pending_compare(SkxCheck *check, int which, uint64 counted,
							uint64 found, const char *what)
{
	if (counted != found)
		skx_damage_report_detail(check->index,
								 check->view->stripes[which].stripe,
								 "the pending list has " UINT64_FORMAT " %s, but the stripe counts " UINT64_FORMAT " not flushed",
								 found, what, counted);
}

/* Returns how many dead documents a stripe counts at present. */
static uint64
skx_inspect_pending_ndead(SkxCheck *check, int which)
{
	Buffer		buffer;
	uint64		ndead;

	buffer = skx_manifest_lock_page(check->index,
									check->view->meta.incarnation,
									check->view->stripes[which].stripe,
									SKX_PLANE_STRIPE, 0,
									BUFFER_LOCK_SHARE);
	ndead = ((SkxDiskStripe *) skx_manifest_page_content(buffer))->ndead;
	UnlockReleaseBuffer(buffer);
	return ndead;
}

/* Sums over the documents of a stripe. */
typedef struct SkxCheckSum
{
	uint64		ndocs;
	uint64		ndead;
	uint64		nnull;
	uint64		total_length;
	uint64		nbytes;
} SkxCheckSum;

/* Reads the pending documents of a stripe as a scan does, and sums them up. */
static void
skx_inspect_pending_documents(SkxCheck *check, int which, SkxCheckSum *sum)
{
	uint64		last = check->stripes[which].next_sequence - 1;
	SkxView		one = *check->view;
	SkxPendingScan *scan;
	SkxPendingDoc doc;

	memset(sum, 0, sizeof(*sum));
	one.nstripes = 1;
	one.stripes = &check->view->stripes[which];
	scan = skx_pending_begin(check->index, &one, &last);
	while (skx_pending_next(scan, &doc))
	{
		sum->ndocs++;
		sum->ndead += doc.is_dead;
		sum->nbytes += sizeof(SkxDiskPendingDoc);
		sum->nnull += skx_column_is_null(doc.value);
		sum->total_length += skx_pending_length(doc.value);
		sum->nbytes += VARSIZE(doc.value);
		if (VARSIZE(doc.value) > SKX_INSPECT_INLINE_MAX)
			sum->nbytes += sizeof(SkxDiskPendingChain);
		skx_inspect_pending_remember(check, &doc);
	}
	skx_pending_end(scan);
}

static void
skx_inspect_pending_stripe(SkxCheck *check, int which)
{
	const SkxDiskStripe *disk = &check->stripes[which];
	const SkxDiskStripeRef *ref = &check->view->stripes[which];
	SkxCheckStripe *s = palloc0(sizeof(SkxCheckStripe));
	SkxCheckSum sum;

	s->check = check;
	s->which = which;
	s->disk = disk;
	s->ref = ref;
	skx_inspect_pending_pages(s);
	pfree(s);
	skx_inspect_pending_documents(check, which, &sum);
	skx_inspect_pending_compare(check, which, disk->next_sequence - 1 -
								ref->flushed_through, sum.ndocs, "documents");
	skx_inspect_pending_compare(check, which, disk->nnull - ref->nnull,
								sum.nnull, "documents that are NULL");
	skx_inspect_pending_compare(check, which,
								disk->total_length - ref->total_length,
								sum.total_length, "positions in documents");
	skx_inspect_pending_compare(check, which, disk->nbytes - ref->nbytes,
								sum.nbytes, "bytes");
	if (sum.ndead < disk->ndead - ref->ndead ||
		sum.ndead > skx_inspect_pending_ndead(check, which) - ref->ndead)
		skx_inspect_pending_compare(check, which, disk->ndead - ref->ndead,
									sum.ndead, "dead documents");
}

void
skx_inspect_check_pending(SkxCheck *check)
{
	HASHCTL		ctl = {0};
	int			i;

	ctl.keysize = sizeof(ItemPointerData);
	ctl.entrysize = sizeof(SkxCheckEntry);
	ctl.hcxt = CurrentMemoryContext;
	check->pending = hash_create("skipidx check: pending documents", 1024,
								 &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	for (i = 0; i < check->view->nstripes; i++)
		skx_inspect_pending_stripe(check, i);
}
