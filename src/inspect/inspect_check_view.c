/*
 * inspect_check_view.c
 *	  Checks and copies the head of the index as of one moment.
 *
 * A root fits the stripes and the metapage's pool only until another root
 * replaces it.  So all of them are copied while their pages are locked.  The
 * caller's snapshot is older than the view.  It keeps the pages that the root
 * refers to from being overwritten, even if other roots replace it later.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "format/disk/disk_check.h"
#include "inspect/inspect_internal.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

/* Microseconds to wait before the next attempt to copy the head. */
#define SKX_INSPECT_RETRY	1000

/*
 * Follows the chain of root pages and checks their content.  Their ordinals
 * ascend, so the chain has no circle.
 */
static void
skx_inspect_check_root(SkxCheck *check, const SkxDiskMeta *meta)
{
	BlockNumber next = meta->root;
	BlockNumber block = SKX_META_BLOCK;
	uint32		npages = 0;
	StringInfoData stream;
	const char *what;

	initStringInfo(&stream);
	while (BlockNumberIsValid(next))
	{
		const SkxDiskRootPage *head;
		Buffer		buffer;

		if (next == SKX_META_BLOCK || next >= meta->nblocks)
			skx_damage_report(check->index, block,
							  "the chain of root pages leads nowhere");
		block = next;
		skx_inspect_check_checksum(check, block);
		buffer = skx_manifest_lock_page(check->index, meta->incarnation, block,
										SKX_PLANE_ROOT, npages++,
										BUFFER_LOCK_SHARE);
		what = skx_disk_check_root((char *) BufferGetPage(buffer));
		if (what != NULL)
			skx_damage_report(check->index, block, what);
		head = (const SkxDiskRootPage *) skx_manifest_page_content(buffer);
		appendBinaryStringInfo(&stream, (const char *) (head + 1),
							   head->nbytes);
		next = head->next;
		UnlockReleaseBuffer(buffer);
	}
	what = skx_disk_check_root_stream(stream.data, stream.len, meta);
	if (what != NULL)
		skx_damage_report(check->index, meta->root, what);
	pfree(stream.data);
}

/*
 * Copies the metapage while the stripes are locked.  Inserts, too, lock a
 * stripe and then the metapage.  Replay may lock the pages of a WAL record in
 * another order.  So during recovery this does not wait for the metapage, and
 * returns false if it is locked.
 */
static bool
skx_inspect_copy_meta(SkxCheck *check, SkxDiskMeta *meta)
{
	Buffer		buffer = ReadBuffer(check->index, SKX_META_BLOCK);

	if (!RecoveryInProgress())
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
	else if (!ConditionalLockBuffer(buffer))
	{
		ReleaseBuffer(buffer);
		return false;
	}
	memcpy(meta, skx_manifest_page_content(buffer), sizeof(SkxDiskMeta));
	UnlockReleaseBuffer(buffer);
	return true;
}

/*
 * Checks that the root counts no more flushed documents of a stripe than the
 * stripe ever had.
 */
static void
skx_inspect_check_stripe_root(SkxCheck *check, int which)
{
	const SkxDiskStripeRef *ref = &check->view->stripes[which];
	const SkxDiskStripe *stripe = &check->stripes[which];
	const char *what = NULL;

	if (ref->flushed_through >= stripe->next_sequence)
		what = "the root says that documents were flushed which the stripe never had";
	else if (ref->ndead > stripe->ndead || ref->nnull > stripe->nnull ||
			 ref->total_length > stripe->total_length ||
			 ref->nbytes > stripe->nbytes)
		what = "the root counts more in flushed documents than the stripe in all";
	else if (stripe->npages - ref->npages > check->view->meta.nblocks)
		what = "the root counts more pages given up than the stripe took";
	if (what != NULL)
		skx_damage_report(check->index, ref->stripe, what);
}

/*
 * Copies all stripes and the metapage as they are at one moment.  Returns
 * false if the metapage is locked, or the root has changed since the view was
 * taken.
 */
static bool
skx_inspect_copy_at_once(SkxCheck *check)
{
	SkxView    *view = check->view;
	Buffer	   *buffers = palloc(view->nstripes * sizeof(Buffer));
	SkxDiskMeta meta;
	bool		copied;
	int			i;

	check->stripes = palloc(view->nstripes * sizeof(SkxDiskStripe));
	for (i = 0; i < view->nstripes; i++)
		skx_inspect_check_checksum(check, view->stripes[i].stripe);
	for (i = 0; i < view->nstripes; i++)
		buffers[i] = skx_manifest_lock_page(check->index,
											view->meta.incarnation,
											view->stripes[i].stripe,
											SKX_PLANE_STRIPE, 0,
											BUFFER_LOCK_SHARE);
	copied = skx_inspect_copy_meta(check, &meta);
	for (i = 0; i < view->nstripes; i++)
	{
		const char *what = copied ?
			skx_disk_check_stripe((char *) BufferGetPage(buffers[i]),
								  meta.nblocks) : NULL;

		if (what != NULL)
			skx_damage_report(check->index, view->stripes[i].stripe, what);
		memcpy(&check->stripes[i], skx_manifest_page_content(buffers[i]),
			   sizeof(SkxDiskStripe));
		UnlockReleaseBuffer(buffers[i]);
	}
	pfree(buffers);
	if (!copied || meta.generation != view->meta.generation)
		return false;
	view->meta = meta;
	for (i = 0; i < view->nstripes; i++)
		skx_inspect_check_stripe_root(check, i);
	return true;
}

/*
 * Tries to check and copy the head as of one moment.  Returns false if the
 * root changed meanwhile.
 */
static bool
skx_inspect_try_view(SkxCheck *check)
{
	SkxDiskMeta meta;
	const char *what;

	check->file_pages = RelationGetNumberOfBlocks(check->index);
	skx_inspect_check_checksum(check, SKX_META_BLOCK);
	skx_manifest_meta(check->index, &meta);
	check->file_pages = RelationGetNumberOfBlocks(check->index);
	skx_inspect_page_copy(check, SKX_META_BLOCK, check->page.data);
	what = skx_disk_check_meta(check->page.data);
	if (what != NULL)
		skx_damage_report(check->index, SKX_META_BLOCK, what);
	skx_inspect_check_root(check, &meta);
	check->view = skx_manifest_view(check->index);
	return check->view->meta.generation == meta.generation &&
		skx_inspect_copy_at_once(check);
}

void
skx_inspect_check_view(SkxCheck *check)
{
	while (!skx_inspect_try_view(check))
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(SKX_INSPECT_RETRY);
	}
	check->file_pages = RelationGetNumberOfBlocks(check->index);
	if (check->view->meta.nblocks > check->file_pages)
		skx_damage_report_detail(check->index, SKX_META_BLOCK,
								 "the file has %u pages, but should have %u",
								 check->file_pages,
								 check->view->meta.nblocks);
}
