/*
 * manifest_view.c
 *	  Reads the metapage and the root under it.
 *
 * The metapage is copied under share lock and names a root that never changes:
 * a flip writes another one.  The pages of a replaced root stay readable while
 * a view of it is open, and a view is entered before the metapage is unlocked
 * (manifest_open.c).  For VACUUM they stay readable while it holds the
 * heavyweight lock on the metapage.  So the root is read without a lock on the
 * metapage.
 *
 * Mutable pages carry no CRC, and the server's checksums may be off, so bytes
 * that are read here are not trusted.
 */
#include "postgres.h"

#include "access/transam.h"
#include "support/damage/damage.h"
#include "index/manifest/manifest_internal.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* The stream of the root, page by page. */
typedef struct SkxRootReader
{
	Relation	rel;
	const SkxDiskMeta *meta;
	BlockNumber next;			/* page to read */
	uint32		ordinal;		/* of that page */
	BlockNumber block;			/* page that was read last */
	BlockNumber first;			/* page with ordinal 0 */
	BlockNumber *pages;			/* all pages, by ordinal; NULL until the first
								 * one has been read */
	uint32		pages_size;		/* capacity of `pages` */
	uint32		nbytes;			/* bytes of the stream on the last page */
	uint32		bytes_read;		/* how many of them were read */
	PGAlignedBlock page;		/* its bytes below pd_lower */
} SkxRootReader;

/*
 * The stripe pages of an index, which never change; in rd_amcache.  Inserts
 * need nothing else of the root.
 */
typedef struct SkxStripeCache
{
	uint64		incarnation;
	uint32		nstripes;
	BlockNumber stripes[FLEXIBLE_ARRAY_MEMBER];
} SkxStripeCache;

Buffer
skx_manifest_lock_page(Relation rel, uint64 incarnation, BlockNumber block,
					   SkxPlane plane, uint32 ordinal, int mode)
{
	Buffer		buffer = ReadBuffer(rel, block);
	SkxPageIdentity id;
	const char *wrong;

	LockBuffer(buffer, mode);
	id.incarnation = incarnation;
	id.segment = 0;
	id.plane = plane;
	id.ordinal = ordinal;
	if (plane == SKX_PLANE_PENDING || plane == SKX_PLANE_CHAIN)
	{
		id.segment = skx_disk_trailer(BufferGetPage(buffer))->segment;
		id.ordinal = skx_disk_trailer(BufferGetPage(buffer))->ordinal;
	}
	wrong = skx_disk_page_check((const char *) BufferGetPage(buffer), &id);
	if (wrong != NULL)
		skx_damage_report(rel, block, wrong);
	return buffer;
}

/*
 * Checks magic and format before anything else, because another format may
 * have another layout.
 */
static void
skx_manifest_check_meta(Relation rel, const char *page)
{
	const SkxDiskMeta *meta = (const SkxDiskMeta *) (page + SKX_PAGE_START);
	uint32		pages = meta->block_size / BLCKSZ;
	SkxPageIdentity id = {meta->incarnation, 0, 0, SKX_PLANE_META};
	const char *wrong;

	if (PageIsNew((Page) page))
		skx_damage_report(rel, SKX_META_BLOCK, "the metapage is empty");
	if (meta->format.magic != SKX_MAGIC)
		skx_damage_report(rel, SKX_META_BLOCK,
						  "the metapage is not one of skipidx");
	skx_manifest_check_format(rel, SKX_META_BLOCK, &meta->format);
	wrong = skx_disk_page_check(page, &id);
	if (wrong != NULL)
		skx_damage_report(rel, SKX_META_BLOCK, wrong);
	if (((const PageHeaderData *) page)->pd_lower <
		SKX_PAGE_START + sizeof(SkxDiskMeta))
		skx_damage_report(rel, SKX_META_BLOCK, "the metapage is too short");
	if (meta->block_size < SKX_BLOCK_SIZE_MIN ||
		meta->block_size > SKX_BLOCK_SIZE_MAX ||
		(meta->block_size & (meta->block_size - 1)) != 0)
		skx_damage_report(rel, SKX_META_BLOCK,
						  "the metapage has an impossible block size");
	if (meta->nblocks % pages != 0 || meta->root == SKX_META_BLOCK ||
		meta->root >= meta->nblocks || meta->npool > SKX_META_POOL_EXTENTS)
		skx_damage_report(rel, SKX_META_BLOCK,
						  "the metapage has an impossible root, pool or file size");
}

/* Returns the metapage, pinned, locked in share mode, and checked. */
static Buffer
skx_manifest_meta_lock(Relation rel)
{
	Buffer		buffer = ReadBuffer(rel, SKX_META_BLOCK);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	skx_manifest_check_meta(rel, (const char *) BufferGetPage(buffer));
	return buffer;
}

void
skx_manifest_meta(Relation rel, SkxDiskMeta *meta)
{
	Buffer		buffer = skx_manifest_meta_lock(rel);

	memcpy(meta, skx_manifest_page_content(buffer), sizeof(SkxDiskMeta));
	UnlockReleaseBuffer(buffer);
}

static void
skx_manifest_root_page(SkxRootReader *r)
{
	const SkxDiskRootPage *header;
	Buffer		buffer;
	uint32		lower;

	if (r->next == SKX_META_BLOCK || r->next >= r->meta->nblocks)
		skx_damage_report(r->rel, r->block, "the root ends too early");
	if (r->ordinal > 0 && (r->pages == NULL || r->ordinal >= r->pages_size))
		skx_damage_report(r->rel, r->block, "the root ends too late");
	r->block = r->next;
	if (r->ordinal == 0)
		r->first = r->block;
	else
		r->pages[r->ordinal] = r->block;
	buffer = skx_manifest_lock_page(r->rel, r->meta->incarnation, r->block,
									SKX_PLANE_ROOT, r->ordinal,
									BUFFER_LOCK_SHARE);
	lower = ((const PageHeaderData *) BufferGetPage(buffer))->pd_lower;
	memcpy(r->page.data, BufferGetPage(buffer), lower);
	UnlockReleaseBuffer(buffer);
	header = (const SkxDiskRootPage *) (r->page.data + SKX_PAGE_START);
	if (lower < SKX_PAGE_START + sizeof(SkxDiskRootPage) ||
		header->nbytes != lower - SKX_PAGE_START - sizeof(SkxDiskRootPage) ||
		header->nbytes == 0)
		skx_damage_report(r->rel, r->block,
						  "the root page has an impossible length");
	r->next = header->next;
	r->nbytes = header->nbytes;
	r->bytes_read = 0;
	r->ordinal++;
}

static void
skx_manifest_root_bytes(SkxRootReader *r, void *to, Size n)
{
	char	   *out = to;

	while (n > 0)
	{
		Size		part;

		if (r->bytes_read == r->nbytes)
			skx_manifest_root_page(r);
		part = Min(n, r->nbytes - r->bytes_read);
		memcpy(out, r->page.data + SKX_PAGE_START + sizeof(SkxDiskRootPage) +
			   r->bytes_read, part);
		r->bytes_read += part;
		out += part;
		n -= part;
	}
}

/* Checks that all references of the root lie in the allocated file. */
static void
skx_manifest_check_view(Relation rel, const SkxView *view)
{
	BlockNumber nblocks = view->meta.nblocks;
	BlockNumber root = view->meta.root;
	int			i;

	for (i = 0; i < view->nsegments; i++)
	{
		const SkxDiskSegmentRef *ref = &view->segments[i];

		if (ref->segment == 0 || ref->segment >= view->meta.next_segment ||
			ref->header == SKX_META_BLOCK || ref->header_pages == 0 ||
			ref->npages > nblocks ||
			(uint64) ref->header + ref->header_pages > nblocks)
			skx_damage_report(rel, root,
							  "the root names an impossible segment");
	}
	for (i = 0; i < view->nstripes; i++)
	{
		const SkxDiskStripeRef *ref = &view->stripes[i];

		if (ref->stripe == SKX_META_BLOCK || ref->stripe >= nblocks ||
			(ref->first != InvalidBlockNumber && ref->first >= nblocks))
			skx_damage_report(rel, root,
							  "the root names an impossible stripe");
	}
	for (i = 0; i < view->nextents; i++)
	{
		const SkxDiskExtent *extent = &view->extents[i];

		if (extent->npages == 0 ||
			(uint64) extent->block + extent->npages > nblocks ||
			(i > 0 && extent->block < extent[-1].block + extent[-1].npages))
			skx_damage_report(rel, root,
							  "the root names an impossible extent");
	}
	for (i = 0; i < view->noperations; i++)
	{
		const SkxDiskOperation *op = &view->operations[i];

		if (op->segment == 0 || op->segment >= view->meta.next_segment ||
			op->kind < SKX_OPERATION_FLUSH || op->kind > SKX_OPERATION_MERGE)
			skx_damage_report(rel, root,
							  "the root names an impossible operation");
	}
}

/* Checks the counts of a root, and returns the size of its arrays in bytes. */
static Size
skx_manifest_root_size(Relation rel, const SkxDiskMeta *meta,
					   const SkxDiskRoot *root)
{
	uint64		size;

	size = (uint64) root->nsegments * sizeof(SkxDiskSegmentRef) +
		(uint64) root->nstripes * sizeof(SkxDiskStripeRef) +
		(uint64) root->nextents * sizeof(SkxDiskExtent) +
		(uint64) root->noperations * sizeof(SkxDiskOperation);
	if (root->nstripes == 0 || root->noperations > SKX_OPERATION_MERGE ||
		root->nsegments > PG_INT32_MAX || root->nextents > PG_INT32_MAX ||
		root->nstripes > PG_INT32_MAX ||
		size > (uint64) meta->nblocks * SKX_PAGE_CAPACITY)
		skx_damage_report(rel, meta->root, "the root has impossible counts");
	return (Size) size;
}

/*
 * A flip counts pages before it takes them.  Then each page may use up an
 * extent, the pool may take up to SKX_META_POOL_EXTENTS extents, and a few are
 * joined.
 */
uint32
skx_manifest_root_max_pages(Size size)
{
	size += sizeof(SkxDiskRoot) + (SKX_META_POOL_EXTENTS + 8) *
		sizeof(SkxDiskExtent);
	return size / (SKX_ROOT_CAPACITY - sizeof(SkxDiskExtent)) + 2;
}

/* Sets the safexid of extents that became free with this root. */
static void
skx_manifest_set_safexids(SkxView *view)
{
	uint64		xid = view->meta.freed_xid;
	int			i;

	for (i = 0; i < view->nextents; i++)
	{
		if (view->extents[i].safexid != SKX_SAFEXID_FLIP ||
			view->extents[i].waits == SKX_WAITS_VIEWS)
			continue;
		if (xid == 0)
			xid = U64FromFullTransactionId(ReadNextFullTransactionId());
		view->extents[i].safexid = xid;
	}
}

static SkxView *
skx_manifest_view_read(Relation rel, const SkxDiskMeta *meta)
{
	SkxDiskRoot root;
	SkxRootReader r;
	SkxView    *view;
	Size		size;

	r.rel = rel;
	r.meta = meta;
	r.next = r.block = meta->root;
	r.ordinal = r.nbytes = r.bytes_read = 0;
	r.pages = NULL;
	skx_manifest_root_bytes(&r, &root, sizeof(root));
	size = skx_manifest_root_size(rel, meta, &root);
	r.pages_size = skx_manifest_root_max_pages(size);

	view = MemoryContextAllocHuge(CurrentMemoryContext,
								  MAXALIGN(sizeof(SkxView)) + size +
								  r.pages_size * sizeof(BlockNumber));
	memset(view, 0, sizeof(SkxView));
	view->meta = *meta;
	view->nsegments = root.nsegments;
	view->nstripes = root.nstripes;
	view->nextents = root.nextents;
	view->noperations = root.noperations;
	view->segments = (SkxDiskSegmentRef *)
		((char *) view + MAXALIGN(sizeof(SkxView)));
	view->stripes = (SkxDiskStripeRef *) (view->segments + view->nsegments);
	view->extents = (SkxDiskExtent *) (view->stripes + view->nstripes);
	view->operations = (SkxDiskOperation *) (view->extents + view->nextents);
	view->root = (BlockNumber *) (view->operations + view->noperations);
	view->root[0] = r.first;
	r.pages = view->root;
	skx_manifest_root_bytes(&r, view->segments, size);
	if (r.bytes_read != r.nbytes || BlockNumberIsValid(r.next))
		skx_damage_report(rel, r.block, "the root ends too late");
	view->nroot = r.ordinal;
	Assert(view->nroot > 0 && view->nroot <= r.pages_size);
	skx_manifest_check_view(rel, view);
	skx_manifest_set_safexids(view);
	return view;
}

SkxView *
skx_manifest_view_unlisted(Relation rel)
{
	SkxDiskMeta meta;

	skx_manifest_meta(rel, &meta);
	return skx_manifest_view_read(rel, &meta);
}

SkxView *
skx_manifest_view_shared(Relation rel, const SkxView *own)
{
	SkxViewEntry *hold = skx_manifest_entry_create(rel);
	SkxView    *view;

	skx_manifest_entry_open(hold, &own->meta,
							own->is_bound ? own->pending_ends : NULL);
	view = skx_manifest_view_read(rel, &own->meta);
	view->entry = hold;
	view->is_bound = own->is_bound;
	memcpy(view->pending_ends, own->pending_ends, sizeof(view->pending_ends));
	return view;
}

bool
skx_manifest_view_reopen(Relation rel, SkxView *view)
{
	const SkxDiskMeta *meta;
	Buffer		buffer;
	bool		kept;

	skx_manifest_entry_lock(rel);
	buffer = skx_manifest_meta_lock(rel);
	meta = (const SkxDiskMeta *) skx_manifest_page_content(buffer);
	kept = meta->incarnation == view->meta.incarnation &&
		meta->generation == view->meta.generation;
	if (kept)
		skx_manifest_entry_open(view->entry, &view->meta,
								view->is_bound ? view->pending_ends : NULL);
	UnlockReleaseBuffer(buffer);
	return kept;
}

SkxView *
skx_manifest_view(Relation rel)
{
	SkxViewEntry *hold = skx_manifest_entry_create(rel);
	Buffer		buffer = skx_manifest_meta_lock(rel);
	SkxDiskMeta meta;
	SkxView    *view;

	memcpy(&meta, skx_manifest_page_content(buffer), sizeof(SkxDiskMeta));
	skx_manifest_entry_open(hold, &meta, NULL);
	UnlockReleaseBuffer(buffer);
	view = skx_manifest_view_read(rel, &meta);
	view->entry = hold;
	return view;
}

void
skx_manifest_view_free(SkxView *view)
{
	skx_manifest_entry_close(view->entry);
	pfree(view);
}

void
skx_manifest_view_bind(SkxView *view, const uint64 *ends)
{
	/* shared memory has ends of SKX_STRIPES_DEFAULT stripes only */
	if (view->nstripes > SKX_STRIPES_DEFAULT)
		return;
	memcpy(view->pending_ends, ends, view->nstripes * sizeof(uint64));
	view->is_bound = true;
	skx_manifest_entry_bind(view->entry, view->pending_ends);
}

SkxView *
skx_manifest_view_bound(Relation rel)
{
	SkxView    *view = skx_manifest_view(rel);
	uint64	   *ends = palloc(view->nstripes * sizeof(uint64));
	int			i;

	for (i = 0; i < view->nstripes; i++)
	{
		Buffer		buffer = skx_manifest_lock_page(rel,
													view->meta.incarnation,
													view->stripes[i].stripe,
													SKX_PLANE_STRIPE, 0,
													BUFFER_LOCK_SHARE);

		ends[i] = ((const SkxDiskStripe *)
				   skx_manifest_page_content(buffer))->next_sequence;
		UnlockReleaseBuffer(buffer);
	}
	skx_manifest_view_bind(view, ends);
	pfree(ends);
	return view;
}

BlockNumber
skx_manifest_stripe(Relation rel, uint32 choice, SkxDiskMeta *meta)
{
	SkxStripeCache *cache = (SkxStripeCache *) rel->rd_amcache;
	SkxView    *view;
	int			i;

	skx_manifest_meta(rel, meta);
	skx_manifest_check_writable(rel, meta);
	if (cache == NULL || cache->incarnation != meta->incarnation)
	{
		view = skx_manifest_view(rel);
		*meta = view->meta;
		if (cache != NULL)
		{
			rel->rd_amcache = NULL;
			pfree(cache);
		}
		cache = MemoryContextAlloc(rel->rd_indexcxt,
								   offsetof(SkxStripeCache, stripes) +
								   view->nstripes * sizeof(BlockNumber));
		cache->incarnation = meta->incarnation;
		cache->nstripes = view->nstripes;
		for (i = 0; i < view->nstripes; i++)
			cache->stripes[i] = view->stripes[i].stripe;
		rel->rd_amcache = cache;
		skx_manifest_view_free(view);
	}
	Assert(cache->nstripes > 0 && cache->incarnation == meta->incarnation);
	return cache->stripes[choice % cache->nstripes];
}
