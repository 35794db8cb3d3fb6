/*
 * manifest_flip.c
 *	  Flips the root: writes a new one and makes it the present one.
 *
 * The metapage is locked exclusively from the choice of the new root's pages
 * to the record that names them, which is the commit point.  The new root's
 * extents take the flip itself into account: the pages by which the file
 * grows, and the pages of the old root.
 *
 * The xid from which on freed pages may be reused must not be smaller than the
 * xmin of any scan that knows the old root.  So it is read after the record of
 * the flip has been inserted.  A second record notes it in the metapage, still
 * under the lock.  For scans of this server an earlier reading would do, since
 * they take their snapshots before they read the metapage.  But a standby
 * first replays the commits that come before the flip.  It can then take a
 * snapshot that has all of them, and still read the old root.
 *
 * The reuse of pages is logged for standbys before any of them is overwritten.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "format/disk/disk_check.h"
#include "index/manifest/manifest_internal.h"
#include "storage/blkio/blkio.h"
#include "storage/bufmgr.h"
#include "support/compat/compat.h"
#include "support/fault/fault.h"
#include "utils/rel.h"

/* A flip: the stream of the new root, and the pages that get it. */
typedef struct SkxManifestFlip
{
	SkxDraft   *draft;
	SkxDiskMeta meta;
	char	   *stream;
	Size		size;
	BlockNumber *pages;
	uint32		npages;
	uint32		cut_pages;		/* pages at the end that are given back */
#ifdef USE_ASSERT_CHECKING
	uint64		owned_pages;	/* pages of extents and pool at first */
#endif
} SkxManifestFlip;

#ifdef USE_ASSERT_CHECKING
/* Returns true if the extents, which are sorted, do not overlap. */
static bool
skx_manifest_extents_are_disjoint(const SkxDraft *draft)
{
	for (int i = 1; i < draft->nextents; i++)
	{
		const SkxDiskExtent *last = &draft->extents[i - 1].extent;

		if (last->block + last->npages > draft->extents[i].extent.block)
			return false;
	}
	return true;
}

/* Returns the number of pages in the extents and in the pool. */
static uint64
skx_manifest_flip_owned_pages(const SkxManifestFlip *f)
{
	uint64		npages = 0;

	for (int i = 0; i < f->draft->nextents; i++)
		npages += f->draft->extents[i].extent.npages;
	for (int i = 0; i < f->meta.npool; i++)
		npages += f->meta.pool[i].npages;
	return npages;
}

/* Returns true if the stream can be read once the metapage names it. */
static bool
skx_manifest_flip_is_valid(const SkxManifestFlip *f)
{
	SkxDiskMeta meta = f->meta;

	meta.generation++;
	meta.nblocks += f->draft->grow_pages - f->cut_pages;
	meta.next_segment = f->draft->next_segment;
	return skx_disk_check_root_stream(f->stream, f->size, &meta) == NULL;
}
#endif

/* Returns the size of the stream in bytes, with `more` further extents. */
static Size
skx_manifest_flip_bytes(const SkxDraft *draft, int more)
{
	return sizeof(SkxDiskRoot) +
		(Size) draft->nsegments * sizeof(SkxDiskSegmentRef) +
		(Size) draft->view->nstripes * sizeof(SkxDiskStripeRef) +
		(Size) (draft->nextents + more) * sizeof(SkxDiskExtent) +
		(Size) draft->noperations * sizeof(SkxDiskOperation);
}

/*
 * Returns how many pages the root takes.  The flip can add two extents after
 * this: the reserved pages, and unused pages of the growth.
 */
static uint32
skx_manifest_flip_root_pages(const SkxDraft *draft)
{
	return (uint32) ((skx_manifest_flip_bytes(draft, 2) +
					  SKX_ROOT_CAPACITY - 1) / SKX_ROOT_CAPACITY);
}

/*
 * Chooses pages for the root, from the shortest extents first, or from the
 * lowest if the draft is `low`.  The file grows for pages that are lacking.
 */
static void
skx_manifest_flip_choose_pages(SkxManifestFlip *f)
{
	SkxDraft   *draft = f->draft;
	uint32		most = 2 + (uint32)
		(skx_manifest_flip_bytes(draft, 2) / SKX_ROOT_CAPACITY);
	uint32		n = 0;
	uint32		missing;

	f->npages = skx_manifest_flip_root_pages(draft);
	f->pages = palloc(most * sizeof(BlockNumber));
	while (n < f->npages)
	{
		SkxDraftExtent *best = NULL;
		int			i;

		for (i = 0; i < draft->nextents; i++)
		{
			SkxDraftExtent *extent = &draft->extents[i];

			if (extent->is_reusable && extent->extent.npages > 0 &&
				(best == NULL || extent->extent.npages < best->extent.npages))
				best = extent;
			if (best != NULL &&
				(best->extent.npages == 1 || draft->prefers_low))
				break;
		}
		if (best == NULL)
			break;
		Assert(best->extent.operation == 0);
		draft->reuse_safexid = Max(draft->reuse_safexid, best->extent.safexid);
		f->pages[n++] = best->extent.block++;
		best->extent.npages--;
	}
	missing = TYPEALIGN(draft->block_pages, f->npages - n);
	skx_manifest_check_growth(draft->rel, f->meta.nblocks,
							  (uint64) draft->grow_pages + missing);
	while (n < f->npages)
	{
		f->pages[n++] = f->meta.nblocks + draft->grow_pages;
		draft->grow_pages++;
		missing--;
	}
	if (missing > 0)
		skx_manifest_free_add(draft, f->meta.nblocks + draft->grow_pages,
							  missing, 0);
	draft->grow_pages += missing;
	Assert(draft->grow_pages % draft->block_pages == 0);
}

/*
 * Cuts whole blocks of free pages off the end of the file.  Several extents
 * can share a block there, since they wait for different things: the pages of
 * the old root have just become free.
 */
static void
skx_manifest_flip_cut_file(SkxManifestFlip *f)
{
	SkxDraft   *draft = f->draft;
	BlockNumber from = f->meta.nblocks;
	int			i = draft->nextents;

	/* the file has grown, for the new root */
	if (draft->grow_pages > 0)
		return;
	for (; i > 0; i--)
	{
		const SkxDiskExtent *e = &draft->extents[i - 1].extent;

		if (e->operation != 0 || e->block + e->npages != from)
			break;
		from = e->block;
	}
	from = TYPEALIGN(draft->block_pages, from);
	if (from >= f->meta.nblocks)
		return;
	f->cut_pages = f->meta.nblocks - from;
	for (i = draft->nextents; i > 0; i--)
	{
		SkxDiskExtent *e = &draft->extents[i - 1].extent;

		if (e->block < from)
		{
			e->npages = Min(e->npages, from - e->block);
			break;
		}
		draft->nextents--;
	}
}

/*
 * Frees pages of the root that are too many.  They were counted before extents
 * were joined or left the file, and a reader refuses a root with more than
 * skx_manifest_root_max_pages() pages.
 */
static void
skx_manifest_flip_free_excess(SkxManifestFlip *f)
{
	uint32		npages = f->npages;

	while (npages >
		   skx_manifest_root_max_pages(skx_manifest_flip_bytes(f->draft, 0) -
									   sizeof(SkxDiskRoot)))
		skx_manifest_free_add(f->draft, f->pages[--npages], 1, 0);
	if (npages == f->npages)
		return;
	f->npages = npages;
	skx_manifest_free_join(f->draft);
}

/*
 * Completes the extents as they are after the flip.  The operation
 * grow_operation gets the first `reserved` pages of the growth.
 */
static void
skx_manifest_flip_extents(SkxManifestFlip *f, uint32 reserved)
{
	SkxDraft   *draft = f->draft;

	if (reserved > 0)
	{
		skx_manifest_free_add(draft, f->meta.nblocks, reserved, 0);
		draft->extents[draft->nextents - 1].extent.operation =
			draft->grow_operation;
		draft->extents[draft->nextents - 1].is_reusable = false;
	}
	skx_manifest_free_join(draft);
	if (draft->cuts_file)
		skx_manifest_flip_cut_file(f);
	skx_manifest_flip_free_excess(f);
	Assert(skx_manifest_extents_are_disjoint(draft));
	/* every page is accounted for */
	Assert(skx_manifest_flip_owned_pages(f) + f->npages + f->cut_pages ==
		   f->owned_pages + draft->grow_pages);
}

static void
skx_manifest_flip_stream(SkxManifestFlip *f)
{
	SkxDraft   *draft = f->draft;
	SkxDiskRoot root;
	char	   *p;
	int			i;

	qsort(draft->segments, draft->nsegments, sizeof(SkxDiskSegmentRef),
		  skx_manifest_compare_segments);
	root.nsegments = draft->nsegments;
	root.nstripes = draft->view->nstripes;
	root.nextents = draft->nextents;
	root.noperations = draft->noperations;
	f->size = skx_manifest_flip_bytes(draft, 0);
	f->stream = p = palloc(f->size);
	memcpy(p, &root, sizeof(root));
	p += sizeof(root);
	memcpy(p, draft->segments, root.nsegments * sizeof(SkxDiskSegmentRef));
	p += root.nsegments * sizeof(SkxDiskSegmentRef);
	memcpy(p, draft->stripes, root.nstripes * sizeof(SkxDiskStripeRef));
	p += root.nstripes * sizeof(SkxDiskStripeRef);
	for (i = 0; i < draft->nextents; i++)
	{
		memcpy(p, &draft->extents[i].extent, sizeof(SkxDiskExtent));
		p += sizeof(SkxDiskExtent);
	}
	memcpy(p, draft->operations, root.noperations * sizeof(SkxDiskOperation));
	Assert(p + root.noperations * sizeof(SkxDiskOperation) ==
		   f->stream + f->size);
	Assert(skx_manifest_flip_is_valid(f));
}

/*
 * Writes the stream, spread evenly over the pages.  The pages can be more than
 * it fills: they were counted before the number of extents was known.
 */
static void
skx_manifest_flip_write(SkxManifestFlip *f)
{
	Relation	rel = f->draft->rel;
	uint32		i;

	if (f->npages > skx_manifest_root_max_pages(f->size - sizeof(SkxDiskRoot)))
		elog(ERROR, "a root of %zu bytes got %u pages", f->size, f->npages);

	for (i = 0; i < f->npages; i++)
	{
		Size		at = f->size * i / f->npages;
		Size		n = f->size * (i + 1) / f->npages - at;
		SkxPageIdentity id = {f->meta.incarnation, 0, i, SKX_PLANE_ROOT};
		Buffer		buffer = skx_manifest_unused_page(rel, f->pages[i]);
		GenericXLogState *xlog = GenericXLogStart(rel);
		SkxDiskRootPage *head;
		char	   *page;

		page = (char *) GenericXLogRegisterBuffer(xlog, buffer,
												  GENERIC_XLOG_FULL_IMAGE);
		skx_disk_page_init(page, &id);
		head = (SkxDiskRootPage *) (page + SKX_PAGE_START);
		head->next = i + 1 < f->npages ? f->pages[i + 1] : InvalidBlockNumber;
		head->nbytes = n;
		memcpy(head + 1, f->stream + at, n);
		((PageHeader) page)->pd_lower += sizeof(SkxDiskRootPage) + n;
		GenericXLogFinish(xlog);
		UnlockReleaseBuffer(buffer);
	}
}

/* Inserts the record that makes the new root the present one. */
static void
skx_manifest_flip_meta(SkxManifestFlip *f, Buffer metabuf)
{
	Relation	rel = f->draft->rel;
	BlockNumber nblocks = f->meta.nblocks + f->draft->grow_pages -
		f->cut_pages;
	GenericXLogState *xlog;
	Buffer		last = InvalidBuffer;

	Assert(skx_compat_buffer_locked(metabuf));
	Assert(f->meta.next_segment <= f->draft->next_segment);
	/* replay must make the file long enough; the last root page may do it */
	if (f->draft->grow_pages > 0 && f->pages[f->npages - 1] != nblocks - 1)
		last = skx_manifest_unused_page(rel, nblocks - 1);
	f->meta.root = f->pages[0];
	f->meta.generation++;
	Assert(f->meta.generation == f->draft->view->meta.generation + 1);
	f->meta.next_segment = f->draft->next_segment;
	if (f->cut_pages > 0)
		f->meta.old_end = Max(f->meta.old_end, f->meta.nblocks);
	f->meta.nblocks = nblocks;
	f->meta.freed_xid = 0;
	if (f->draft->format != NULL)
		skx_disk_format_add(&f->meta.format, f->draft->format);
	xlog = GenericXLogStart(rel);
	memcpy((char *) GenericXLogRegisterBuffer(xlog, metabuf, 0) +
		   SKX_PAGE_START, &f->meta, sizeof(SkxDiskMeta));
	if (BufferIsValid(last))
		skx_manifest_init_page(xlog, last, f->meta.incarnation, 0,
							   InvalidBlockNumber);
	if (f->draft->extra_record != NULL)
		f->draft->extra_record(xlog, f->draft->extra_record_arg);
	GenericXLogFinish(xlog);
	if (BufferIsValid(last))
		UnlockReleaseBuffer(last);
}

/*
 * Notes in the metapage the xid from which on the freed pages are safe.  After
 * a crash before this record it is 0, and readers of the root take the next
 * xid instead.
 */
static void
skx_manifest_flip_set_freed_xid(SkxManifestFlip *f, Buffer metabuf)
{
	GenericXLogState *xlog = GenericXLogStart(f->draft->rel);
	SkxDiskMeta *meta = (SkxDiskMeta *)
		((char *) GenericXLogRegisterBuffer(xlog, metabuf, 0) +
		 SKX_PAGE_START);

	Assert(skx_compat_buffer_locked(metabuf));
	Assert(meta->freed_xid == 0 && meta->generation == f->meta.generation);
	meta->freed_xid = U64FromFullTransactionId(ReadNextFullTransactionId());
	GenericXLogFinish(xlog);
}

/*
 * Empties the pool, so that it is filled anew with the lowest extents.  Its
 * extents become free ones of the draft.  In a draft that is `low` they are
 * that already, since no insert can take any meanwhile.
 */
static void
skx_manifest_flip_empty_pool(SkxManifestFlip *f)
{
	SkxDiskMeta *meta = &f->meta;
	int			i;

	for (i = 0; i < meta->npool && !f->draft->prefers_low; i++)
		skx_manifest_free_add(f->draft, meta->pool[i].block,
							  meta->pool[i].npages, 0);
	memset(meta->pool, 0, sizeof(meta->pool));
	meta->npool = 0;
	skx_manifest_free_join(f->draft);
}

/*
 * Locks the metapage and finds pages for the root; the file grows if it must.
 * Returns 0, or errno, with nothing locked or changed, if there is no space.
 */
static int
skx_manifest_flip_begin(SkxManifestFlip *f, Buffer *metabuf)
{
	SkxDraft   *draft = f->draft;
	const SkxView *view = draft->view;
	int			error = 0;

	Assert(skx_manifest_holds_lock(draft->rel, ExclusiveLock));
	skx_blkio_extend_prepare(draft->rel, view->meta.incarnation);
	if (draft->grow_pages > 0)
		error = skx_blkio_extend(draft->rel, view->meta.incarnation,
								 view->meta.nblocks + draft->grow_pages,
								 draft->is_optional);
	if (error != 0)
		return error;
	*metabuf = skx_manifest_lock_page(draft->rel, view->meta.incarnation,
									  SKX_META_BLOCK, SKX_PLANE_META, 0,
									  BUFFER_LOCK_EXCLUSIVE);
	memcpy(&f->meta, skx_manifest_page_content(*metabuf), sizeof(SkxDiskMeta));
	if (f->meta.generation != view->meta.generation)
		elog(ERROR, "the root of index \"%s\" was replaced without its lock",
			 RelationGetRelationName(draft->rel));
	if (draft->prefers_low || draft->empties_pool)
		skx_manifest_flip_empty_pool(f);
#ifdef USE_ASSERT_CHECKING
	f->owned_pages = skx_manifest_flip_owned_pages(f);
#endif
	skx_manifest_free_to_pool(draft, &f->meta,
							  skx_manifest_flip_root_pages(draft) +
							  skx_manifest_free_reserve_pages(draft->view));
	skx_manifest_flip_choose_pages(f);
	if (draft->grow_pages > 0)
		error = skx_blkio_extend(draft->rel, f->meta.incarnation,
								 f->meta.nblocks + draft->grow_pages,
								 draft->is_optional);
	if (error != 0)
		UnlockReleaseBuffer(*metabuf);
	return error;
}

/* Frees a page of the old root.  Only views of that root have it. */
static void
skx_manifest_flip_free_old_root(SkxDraft *draft, BlockNumber block)
{
	uint64		now = draft->view->meta.generation;

	skx_manifest_free_add(draft, block, 1, draft->open_views->is_complete ?
						  SKX_VIEW_SPAN(now, now + 1) : SKX_SAFEXID_FLIP);
	if (draft->open_views->is_complete)
		draft->extents[draft->nextents - 1].extent.waits = SKX_WAITS_VIEWS;
}

int
skx_manifest_draft_flip(SkxDraft *draft)
{
	SkxView    *view = draft->view;
	SkxManifestFlip f = {0};
	uint32		reserved = draft->grow_pages;
	Buffer		metabuf;
	int			error;
	int			i;

	f.draft = draft;
	for (i = 0; i < view->nroot; i++)
		skx_manifest_flip_free_old_root(draft, view->root[i]);
	/* not later, since the size of the root is computed from the extents */
	skx_manifest_free_join_many(draft);
	error = skx_manifest_flip_begin(&f, &metabuf);
	if (error != 0)
		return error;
	skx_manifest_flip_extents(&f, reserved);
	skx_manifest_flip_stream(&f);
	if (draft->reuse_safexid > 0 && RelationNeedsWAL(draft->rel) &&
		XLogStandbyInfoActive())
	{
		skx_compat_log_reuse(draft->heap, SKX_REL_LOCATOR(draft->rel),
							 SKX_META_BLOCK, draft->reuse_safexid);
		SKX_FAULT(SKX_FAULT_REUSE_LOGGED);
	}
	skx_manifest_flip_write(&f);
	SKX_FAULT(SKX_FAULT_ROOT_WRITTEN);
	skx_manifest_flip_meta(&f, metabuf);
	SKX_FAULT(SKX_FAULT_ROOT_FLIPPED);
	skx_manifest_flip_set_freed_xid(&f, metabuf);
	UnlockReleaseBuffer(metabuf);
	pfree(f.stream);
	pfree(f.pages);
	return 0;
}
