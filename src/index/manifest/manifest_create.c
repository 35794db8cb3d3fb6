/*
 * manifest_create.c
 *	  Writes the head of a new index file: metapage, root, stripe pages.
 *
 * The relation is not visible to other backends yet, so the pages go past
 * shared buffers, like those of the segments that the root names.  The init
 * fork of an unlogged index gets the same pages for an index without segments.
 * It is logged, although the relation is not, because a crash copies it over
 * the main fork.
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "format/disk/disk_check.h"
#include "index/manifest/manifest_internal.h"
#include "storage/blkio/blkio.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"
#include "support/compat/compat.h"
#include "utils/rel.h"

/* An extent never crosses from one file of the relation into the next. */
StaticAssertDecl(RELSEG_SIZE % (SKX_BLOCK_SIZE_MAX / BLCKSZ) == 0,
				 "files of a relation hold whole blocks");

/* A head that is being made. */
typedef struct SkxManifestHead
{
	const SkxManifestNew *content;
	char	  **pages;
	uint32		npages;			/* pages in use: metapage, root, stripes */
	uint32		size;			/* npages, rounded up to whole blocks */
} SkxManifestHead;

static Size
skx_manifest_stream_size(const SkxManifestNew *m)
{
	return sizeof(SkxDiskRoot) +
		(Size) m->nsegments * sizeof(SkxDiskSegmentRef) +
		SKX_STRIPES_DEFAULT * sizeof(SkxDiskStripeRef) +
		(Size) m->nextents * sizeof(SkxDiskExtent);
}

static uint32
skx_manifest_root_pages(const SkxManifestNew *m)
{
	return (uint32) ((skx_manifest_stream_size(m) + SKX_ROOT_CAPACITY - 1) /
					 SKX_ROOT_CAPACITY);
}

uint32
skx_manifest_new_pages(const SkxManifestNew *m)
{
	return 1 + skx_manifest_root_pages(m) + SKX_STRIPES_DEFAULT;
}

static char *
skx_manifest_head_page(SkxManifestHead *head, uint32 block, SkxPlane plane,
					   uint32 ordinal, uint32 nbytes)
{
	SkxPageIdentity id = {head->content->incarnation, 0, ordinal, plane};
	char	   *page = head->pages[block];

	Assert(block < head->size);
	skx_disk_page_init(page, &id);
	((PageHeader) page)->pd_lower = SKX_PAGE_START + nbytes;
	return page + SKX_PAGE_START;
}

static void
skx_manifest_head_meta(SkxManifestHead *head)
{
	const SkxManifestNew *m = head->content;
	SkxDiskMeta *meta;

	meta = (SkxDiskMeta *) skx_manifest_head_page(head, SKX_META_BLOCK,
												  SKX_PLANE_META, 0,
												  sizeof(SkxDiskMeta));
	meta->format = m->format;
	meta->incarnation = m->incarnation;
	meta->generation = 1;
	meta->block_size = m->block_size;
	meta->root = SKX_META_BLOCK + 1;
	meta->next_segment = m->next_segment;
	meta->nblocks = m->nblocks;
	meta->npool = m->npool;
	if (m->npool > 0)
		memcpy(meta->pool, m->pool, m->npool * sizeof(SkxDiskPoolExtent));
	Assert(skx_disk_check_meta(head->pages[SKX_META_BLOCK]) == NULL);
}

static void
skx_manifest_head_root(SkxManifestHead *head)
{
	const SkxManifestNew *m = head->content;
	SkxDiskRoot root = {m->nsegments, SKX_STRIPES_DEFAULT, m->nextents, 0};
	Size		size = skx_manifest_stream_size(m);
	char	   *stream = palloc(size);
	char	   *p = stream;
	uint32		npages = skx_manifest_root_pages(m);
	uint32		i;

	memcpy(p, &root, sizeof(root));
	p += sizeof(root);
	if (m->nsegments > 0)
		memcpy(p, m->segments, m->nsegments * sizeof(SkxDiskSegmentRef));
	p += m->nsegments * sizeof(SkxDiskSegmentRef);
	for (i = 0; i < SKX_STRIPES_DEFAULT; i++)
	{
		SkxDiskStripeRef stripe = {0};

		stripe.stripe = head->npages - SKX_STRIPES_DEFAULT + i;
		stripe.first = InvalidBlockNumber;
		stripe.extent = InvalidBlockNumber;
		memcpy(p, &stripe, sizeof(stripe));
		p += sizeof(stripe);
	}
	if (m->nextents > 0)
		memcpy(p, m->extents, m->nextents * sizeof(SkxDiskExtent));
	Assert(skx_disk_check_root_stream(stream, size, (const SkxDiskMeta *)
									  (head->pages[SKX_META_BLOCK] +
									   SKX_PAGE_START)) == NULL);

	for (i = 0; i < npages; i++)
	{
		Size		at = i * SKX_ROOT_CAPACITY;
		Size		n = Min(size - at, SKX_ROOT_CAPACITY);
		BlockNumber block = SKX_META_BLOCK + 1 + i;
		SkxDiskRootPage *header;

		header = (SkxDiskRootPage *)
			skx_manifest_head_page(head, block, SKX_PLANE_ROOT, i,
								   sizeof(SkxDiskRootPage) + n);
		header->next = i + 1 < npages ? block + 1 : InvalidBlockNumber;
		header->nbytes = n;
		memcpy(header + 1, stream + at, n);
	}
	pfree(stream);
}

static void
skx_manifest_head_stripes(SkxManifestHead *head)
{
	uint32		block;
	uint32		i;

	for (i = 0; i < SKX_STRIPES_DEFAULT; i++)
	{
		SkxDiskStripe *stripe;

		block = head->npages - SKX_STRIPES_DEFAULT + i;
		stripe = (SkxDiskStripe *)
			skx_manifest_head_page(head, block, SKX_PLANE_STRIPE, 0,
								   sizeof(SkxDiskStripe));
		stripe->next_sequence = 1;
		stripe->first = InvalidBlockNumber;
		stripe->tail = InvalidBlockNumber;
		stripe->extent_last = InvalidBlockNumber;
		if (i == 0 && head->size > head->npages)
		{
			stripe->extent_next = head->npages;
			stripe->extent_end = head->size;
			stripe->extent_last = head->npages;
		}
		Assert(skx_disk_check_stripe(head->pages[block],
									 head->content->nblocks) == NULL);
	}

	/*
	 * Unused pages of an extent may be zero.  Here they would be holes in the
	 * file, and a full disk would not be noticed before a checkpoint writes
	 * them.
	 */
	for (block = head->npages; block < head->size; block++)
		skx_manifest_head_page(head, block, SKX_PLANE_PENDING,
							   InvalidBlockNumber, 0);
	if (head->size > head->npages)
		skx_disk_trailer(head->pages[head->npages])->segment =
			head->size - head->npages;
}

static SkxManifestHead *
skx_manifest_head(const SkxManifestNew *m)
{
	SkxManifestHead *head = palloc(sizeof(SkxManifestHead));
	uint32		block_pages = m->block_size / BLCKSZ;
	uint32		i;

	head->content = m;
	head->npages = skx_manifest_new_pages(m);
	head->size = TYPEALIGN(block_pages, head->npages);
	if (m->nblocks < head->size || m->nblocks % block_pages != 0)
		elog(ERROR, "head of %u pages does not fit a file of %u", head->size,
			 m->nblocks);
	head->pages = palloc(head->size * sizeof(char *));
	for (i = 0; i < head->size; i++)
		head->pages[i] = palloc0(BLCKSZ);
	skx_manifest_head_meta(head);
	skx_manifest_head_root(head);
	skx_manifest_head_stripes(head);
	return head;
}

static void
skx_manifest_head_free(SkxManifestHead *head)
{
	uint32		i;

	for (i = 0; i < head->size; i++)
		pfree(head->pages[i]);
	pfree(head->pages);
	pfree(head);
}

/*
 * Returns true if the page is free.  A page of zeros that is not free belongs
 * to a segment: it has deleted bits, none of which is set.
 */
static bool
skx_manifest_is_free(const SkxManifestNew *m, BlockNumber block)
{
	int			i;

	for (i = 0; i < m->nextents; i++)
	{
		if (block - m->extents[i].block < m->extents[i].npages)
			return true;
	}
	for (i = 0; i < m->npool; i++)
	{
		if (block - m->pool[i].block < m->pool[i].npages)
			return true;
	}
	return false;
}

/*
 * Logs the last page of the file, if it is unused and not of the head: unused
 * pages at the end were never logged, and the image makes replay create all
 * pages before it.  A temporary file is never replayed, and its pages may not
 * be in the file yet.
 * The image of a free page is not of zeros, since the commit leaves such pages
 * out where it logs the file (wal_level minimal).
 */
static void
skx_manifest_log_last_page(SkxBlkWriter *w, Relation rel,
						   const SkxManifestNew *m)
{
	SkxPageIdentity id = {m->incarnation, 0, InvalidBlockNumber,
	SKX_PLANE_PENDING};
	BlockNumber block = m->nblocks - 1;
	SkxAlignedBlock last;
	char	   *page = last.data;

	smgrread(RelationGetSmgr(rel), MAIN_FORKNUM, block, page);
	if (!PageIsNew((Page) page))
		return;
	if (skx_manifest_is_free(m, block))
		skx_disk_page_init(page, &id);
	skx_blkio_writer_put(w, block, page);
}

void
skx_manifest_create(Relation rel, const SkxManifestNew *m)
{
	SkxManifestHead *head = skx_manifest_head(m);
	SkxBlkWriter *w = skx_blkio_writer_begin_new(rel);
	uint32		i;

	if (smgrnblocks(RelationGetSmgr(rel), MAIN_FORKNUM) < m->nblocks)
		skx_blkio_extend_new(rel, m->incarnation, m->nblocks);
	if (m->nblocks > head->size && !RelationUsesLocalBuffers(rel))
		skx_manifest_log_last_page(w, rel, m);
	for (i = 0; i < head->size; i++)
		skx_blkio_writer_put(w, SKX_META_BLOCK + i, head->pages[i]);
	skx_blkio_writer_end(w);
	skx_manifest_head_free(head);
}

void
skx_manifest_create_init(Relation rel, uint64 incarnation, uint32 block_size)
{
	SkxManifestNew m = {0};
	SkxAlignedBlock page;
	SkxManifestHead *head;
	BlockNumber block;

	skx_manifest_new_format(rel, &m.format);
	m.incarnation = incarnation;
	m.block_size = block_size;
	m.next_segment = 1;
	m.nblocks = TYPEALIGN(block_size / BLCKSZ, skx_manifest_new_pages(&m));
	head = skx_manifest_head(&m);
	for (block = 0; block < head->size; block++)
	{
		memcpy(page.data, head->pages[block], BLCKSZ);
		log_newpage(&SKX_REL_LOCATOR(rel), INIT_FORKNUM, block,
					(Page) page.data, true);
		skx_compat_page_checksum((Page) page.data, block);
		smgrextend(RelationGetSmgr(rel), INIT_FORKNUM, block, page.data, true);
	}

	/*
	 * A checkpoint may begin after the pages are logged and before they are
	 * written.  Replay then starts after these records, so the file itself
	 * must have the pages.
	 */
	smgrimmedsync(RelationGetSmgr(rel), INIT_FORKNUM);
	skx_manifest_head_free(head);
}

uint64
skx_manifest_random(void)
{
	uint64		number;

	if (!pg_strong_random(&number, sizeof(number)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a random number for the index")));
	return number;
}

int
skx_manifest_compare_segments(const void *a, const void *b)
{
	const SkxDiskSegmentRef *x = a;
	const SkxDiskSegmentRef *y = b;

	if (x->ndocs != y->ndocs)
		return x->ndocs > y->ndocs ? -1 : 1;
	return x->segment < y->segment ? -1 : x->segment > y->segment;
}

int
skx_manifest_compare_extents(const void *a, const void *b)
{
	BlockNumber x = ((const SkxDiskExtent *) a)->block;
	BlockNumber y = ((const SkxDiskExtent *) b)->block;

	return (x > y) - (x < y);
}
