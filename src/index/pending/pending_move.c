/*
 * pending_move.c
 *	  Moves a stripe without pending documents to another place of the file.
 *
 * A stripe always keeps the page of its last flushed document, and the extent
 * around it.  Such an extent at the end would keep the file from becoming
 * shorter.  The new page has a record in place of that document.  No reader
 * uses it, because the pending documents come after it.  The index is locked
 * AccessExclusive, since an earlier view would look for new documents after
 * the old page.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "support/damage/damage.h"
#include "index/manifest/manifest_publish.h"
#include "index/pending/pending_internal.h"
#include "storage/bufmgr.h"
#include "support/compat/compat.h"
#include "utils/rel.h"

/* Pages of the new extent, rounded up to whole blocks. */
#define SKX_PENDING_MOVE_PAGES	16

typedef struct SkxPendingMove
{
	SkxManifestMove manifest_move;	/* first, since `apply` is called with it */
	Relation	rel;
	uint64		incarnation;
	uint64		sequence;		/* of the last document */
	Buffer		stripe;
	Buffer		new_buffer;
} SkxPendingMove;

int
skx_pending_extents(Relation rel, const SkxView *view, int which,
					SkxDiskExtent **extents)
{
	SkxDiskMeta meta = view->meta;
	const SkxDiskStripeRef *ref = &view->stripes[which];
	Buffer		buffer = skx_pending_lock_page(rel, &meta, ref->stripe,
											   SKX_PLANE_STRIPE,
											   BUFFER_LOCK_SHARE);
	const SkxDiskStripe *stripe =
		(const SkxDiskStripe *) skx_manifest_page_content(buffer);
	BlockNumber block = stripe->extent_last;
	bool		idle = stripe->next_sequence - 1 == ref->flushed_through &&
		ref->flushed_through > 0;
	uint32		most = meta.nblocks;
	int			n = 0;

	UnlockReleaseBuffer(buffer);
	*extents = NULL;
	while (idle && BlockNumberIsValid(block) && most-- > 0)
	{
		BlockNumber previous;
		uint32		npages;

		skx_pending_extent(rel, &meta, block, &npages, &previous);
		*extents = *extents == NULL ? palloc(sizeof(SkxDiskExtent)) :
			repalloc(*extents, (n + 1) * sizeof(SkxDiskExtent));
		memset(&(*extents)[n], 0, sizeof(SkxDiskExtent));
		(*extents)[n].block = block;
		(*extents)[n++].npages = npages;
		if (block == ref->extent)
			break;
		block = previous;
	}
	return n;
}

/* Adds the new page, with a record in place of the last document. */
static void
skx_pending_move_page(SkxPendingMove *m, GenericXLogState *xlog)
{
	SkxPageIdentity id = {m->incarnation, m->manifest_move.npages,
		InvalidBlockNumber,
	SKX_PLANE_PENDING};
	SkxDiskPendingPage *head;
	SkxDiskPendingDoc *doc;
	char	   *page;

	m->new_buffer = ReadBufferExtended(m->rel, MAIN_FORKNUM,
									   m->manifest_move.block,
									   RBM_ZERO_AND_LOCK, NULL);
	page = (char *) GenericXLogRegisterBuffer(xlog, m->new_buffer,
											  GENERIC_XLOG_FULL_IMAGE);
	skx_disk_page_init(page, &id);
	head = (SkxDiskPendingPage *) (page + SKX_PAGE_START);
	head->first_sequence = m->sequence;
	head->next = InvalidBlockNumber;
	head->nrecords = 1;
	doc = (SkxDiskPendingDoc *) (head + 1);
	memset(doc, 0, sizeof(*doc));
	ItemPointerSet(&doc->tid, 0, FirstOffsetNumber);
	doc->flags = SKX_PENDING_NULL;
	((PageHeader) page)->pd_lower += sizeof(*head) +
		SKX_PENDING_RECORD_SIZE(0);
}

static void
skx_pending_move_apply(GenericXLogState *xlog, void *arg)
{
	SkxPendingMove *m = arg;
	SkxDiskStripe *stripe = (SkxDiskStripe *)
		((char *) GenericXLogRegisterBuffer(xlog, m->stripe, 0) +
		 SKX_PAGE_START);

	skx_pending_move_page(m, xlog);
	stripe->first = m->manifest_move.block;
	stripe->tail = m->manifest_move.block;
	stripe->extent_next = m->manifest_move.block + 1;
	stripe->extent_end = m->manifest_move.block + m->manifest_move.npages;
	stripe->extent_last = m->manifest_move.block;
	stripe->npages++;
}

bool
skx_pending_move(Relation rel, const SkxView *view, int which,
				 BlockNumber below)
{
	SkxPendingMove m = {0};
	SkxDiskMeta meta = view->meta;
	SkxDiskExtent *freed;
	const SkxDiskStripe *stripe;
	bool		done;

	m.manifest_move.nfreed = skx_pending_extents(rel, view, which, &freed);
	if (m.manifest_move.nfreed == 0)
		return false;
	m.rel = rel;
	m.incarnation = meta.incarnation;
	m.stripe = skx_pending_lock_page(rel, &meta, view->stripes[which].stripe,
									 SKX_PLANE_STRIPE, BUFFER_LOCK_EXCLUSIVE);
	stripe = (const SkxDiskStripe *) skx_manifest_page_content(m.stripe);
	m.sequence = stripe->next_sequence - 1;
	m.manifest_move.stripe = which;
	m.manifest_move.npages = TYPEALIGN(meta.block_size / BLCKSZ,
									   SKX_PENDING_MOVE_PAGES);
	m.manifest_move.given_up_pages = stripe->npages;
	m.manifest_move.below_block = below;
	m.manifest_move.freed = freed;
	m.manifest_move.apply_extent = skx_pending_move_apply;
	done = m.sequence == view->stripes[which].flushed_through &&
		skx_manifest_move_stripe(rel, &m.manifest_move);
	if (BufferIsValid(m.new_buffer))
		UnlockReleaseBuffer(m.new_buffer);
	UnlockReleaseBuffer(m.stripe);
	pfree(freed);
	return done;
}
