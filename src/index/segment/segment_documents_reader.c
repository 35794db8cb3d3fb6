/*
 * segment_documents_reader.c
 *	  Reads the TIDs and norms of documents.
 *
 * TIDs are packed in groups whose widths vary, so a directory has the first
 * group of each page.  A session reads it once and keeps it: 4 bytes for some
 * 4,000 documents.  Within a page, the address of a TID is computed.
 */
#include "postgres.h"

#include "format/codec/codec.h"
#include "format/disk/disk_page.h"
#include "format/rank/rank.h"
#include "index/segment/segment.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Pages that are prefetched before the first of them is pinned. */
#define SKX_TIDS_PREFETCH_PAGES	1024

/* Keeps a copy of the directory, of `size` bytes, in the session. */
static void
skx_segment_keep_directory(SkxSegment *seg, const uint32 *directory, Size size)
{
	SkxSessionEntry *entry = &seg->session->entry;
	uint32	   *kept = MemoryContextAllocHuge(skx_sessioncache_context(), size);

	memcpy(kept, directory, size);
	(void) skx_sessioncache_make_room(entry->kind, entry, size, 0);
	skx_sessioncache_resize(entry, entry->bytes + size);
	seg->session->tid_directory = kept;
}

/* Reads the directory of TIDs into seg->session. */
static void
skx_segment_tid_directory(SkxSegment *seg)
{
	uint32		n = seg->header.tid_pages;
	uint32		npages = seg->planes[SKX_SEGMENT_TIDS].npages;
	uint32	   *directory;
	SkxBlkRef	ref = {0};
	uint32		i;

	if (n == 0 || n > npages ||
		npages - n != (n - 1) / SKX_TID_DIRECTORY + 1)
		skx_segment_damaged(seg, SKX_SEGMENT_TIDS, 0,
							"TID directory of the wrong size");
	directory = palloc_extended(sizeof(uint32) * (Size) n, MCXT_ALLOC_HUGE);
	for (i = 0; i < n; i += SKX_TID_DIRECTORY)
	{
		const char *page = skx_segment_pin(seg, SKX_SEGMENT_TIDS,
										   n + i / SKX_TID_DIRECTORY, &ref);

		memcpy(directory + i, page + SKX_PAGE_START,
			   sizeof(uint32) * Min(n - i, SKX_TID_DIRECTORY));
	}
	skx_blkio_unpin(seg->file, &ref);
	skx_segment_keep_directory(seg, directory, sizeof(uint32) * (Size) n);
	pfree(directory);
}

/* Returns the data page of a group.  Tries `page`, which is a guess, first. */
static uint32
skx_segment_tid_find(const SkxSegment *seg, uint32 group, uint32 page)
{
	const uint32 *directory = seg->session->tid_directory;
	uint32		n = seg->header.tid_pages;
	uint32		low = 0;
	uint32		high = n - 1;

	if (directory[page] <= group &&
		(page + 1 >= n || directory[page + 1] > group))
		return page;
	while (low < high)
	{
		uint32		mid = (low + high + 1) / 2;

		if (directory[mid] <= group)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

/*
 * Prefetches the data pages of n ascending documents, the first of which is
 * on `page`, if there are at least `least`.  If the reader takes one page
 * after the other, also prefetches pages after these: twice as many each
 * time.
 */
static void
skx_segment_prefetch_tid_pages(SkxSegment *seg, uint32 page,
							   const uint32 *docs, int n, int least)
{
	uint32		pages[2 * SKX_PREFETCH_UNITS_MAX];
	uint32		npages = seg->header.tid_pages;
	int			window = 0;
	int			k = 0;
	int			i = 0;

	if ((docs[0] >= seg->tid_prefetched_from &&
		 docs[0] < seg->tid_prefetched_to) ||
		!skx_segment_has_read(&seg->tid_reads))
		return;
	seg->tid_prefetched_from = docs[0];
	if (page == seg->tid_page + 1)
		window = Min(Max(seg->tid_prefetch_pages * 2, 1), seg->prefetch_units);
	seg->tid_prefetch_pages = window;
	for (;;)
	{
		int			high = n;

		page = skx_segment_tid_find(seg, docs[i] / SKX_TID_GROUP_DOCS, page);
		pages[k++] = page++;
		seg->tid_prefetched_to = page < npages ?
			seg->session->tid_directory[page] * SKX_TID_GROUP_DOCS :
			SKX_NO_DOC;
		while (i < high)
		{
			int			mid = (i + high) / 2;

			if (docs[mid] < seg->tid_prefetched_to)
				i = mid + 1;
			else
				high = mid;
		}
		if (i >= n || k == SKX_PREFETCH_UNITS_MAX)
			break;
	}
	for (; window > 0 && page < npages; window--)
	{
		pages[k++] = page++;
		seg->tid_prefetched_to = page < npages ?
			seg->session->tid_directory[page] * SKX_TID_GROUP_DOCS :
			SKX_NO_DOC;
	}
	if (k >= least)
		skx_segment_prefetch(seg->file, &seg->planes[SKX_SEGMENT_TIDS], pages,
							 k);
}

void
skx_segment_prefetch_tids(SkxSegment *seg, const uint32 *docs, int n)
{
	uint32		page;

	if (seg->prefetch_units == 0)
		return;
	if (seg->session->tid_directory == NULL)
		skx_segment_tid_directory(seg);
	page = skx_segment_tid_find(seg, docs[0] / SKX_TID_GROUP_DOCS,
								seg->tid_page);
	skx_segment_prefetch_tid_pages(seg, page, docs, n, 1);
}

void
skx_segment_read_all_tids(SkxSegment *seg)
{
	const SkxBlkPlane *plane = &seg->planes[SKX_SEGMENT_TIDS];
	SkxBlkRef	ref = {0};
	uint32		page = 0;

	if (!skx_segment_should_read_all(seg, SKX_SEGMENT_TIDS))
		return;
	while (page < plane->npages)
	{
		uint32		pages[SKX_TIDS_PREFETCH_PAGES];
		uint32		stop = Min(plane->npages, page + SKX_TIDS_PREFETCH_PAGES);
		int			n = 0;

		CHECK_FOR_INTERRUPTS();
		for (uint32 next = page; next < stop; next++)
			pages[n++] = next;
		skx_segment_prefetch(seg->file, plane, pages, n);
		for (; page < stop; page++)
			(void) skx_segment_pin(seg, SKX_SEGMENT_TIDS, page, &ref);
	}
	skx_blkio_unpin(seg->file, &ref);
}

/*
 * Pins the data page of the first of n ascending documents and returns its
 * head.  Prefetches the pages of the others.
 */
static const SkxDiskTidPage *
skx_segment_tid_page(SkxSegment *seg, const uint32 *docs, int n)
{
	uint32		group = docs[0] / SKX_TID_GROUP_DOCS;
	uint32		page;
	const SkxDiskTidPage *disk;

	if (seg->session->tid_directory == NULL)
		skx_segment_tid_directory(seg);
	page = skx_segment_tid_find(seg, group, seg->tid_page);
	if (seg->prefetch_units > 0)
		skx_segment_prefetch_tid_pages(seg, page, docs, n, 2);
	seg->tid_page = page;
	disk = (const SkxDiskTidPage *)
		(skx_segment_pin(seg, SKX_SEGMENT_TIDS, page, &seg->tid_ref) +
		 SKX_PAGE_START);
	if (group < disk->first_group ||
		group - disk->first_group >= disk->ngroups ||
		disk->ngroups > (SKX_PAGE_CAPACITY - sizeof(SkxDiskTidPage)) /
		sizeof(SkxDiskTidGroup))
		skx_segment_damaged(seg, SKX_SEGMENT_TIDS, page,
							"TID page of other documents");
	return disk;
}

/*
 * Sets *tid to the TID of document number `i` of a group.  Returns false if
 * it does not decode.
 */
static bool
skx_segment_tid_get(const char *page, const SkxDiskTidGroup *group, uint32 i,
					ItemPointer tid)
{
	const uint8 *src = (const uint8 *) page + group->body;
	const uint8 *end = (const uint8 *) page + SKX_PAGE_END;
	uint32		block;
	uint32		offset;

	if (i >= group->ndocs || group->body >= SKX_PAGE_END ||
		!skx_codec_bits_get(src, end, i, group->block_width, &block))
		return false;
	src += ((uint32) group->ndocs * group->block_width + 7) / 8;
	if (src > end ||
		!skx_codec_bits_get(src, end, i, group->offset_width, &offset))
		return false;
	offset += group->offset;
	if (offset == 0 || offset > MaxOffsetNumber)
		return false;
	ItemPointerSet(tid, group->block + block, offset);
	return true;
}

void
skx_segment_read_tids_of(SkxSegment *seg, const uint32 *docs, int n,
						 ItemPointerData *tids)
{
	uint32		current = PG_UINT32_MAX;
	const SkxDiskTidGroup *group = NULL;
	const SkxDiskTidPage *disk = NULL;
	const uint32 *end = docs + n;

	for (; docs < end; docs++, tids++)
	{
		uint32		wanted = *docs / SKX_TID_GROUP_DOCS;

		if (wanted != current)
		{
			if (disk == NULL || wanted < disk->first_group ||
				wanted - disk->first_group >= disk->ngroups)
				disk = skx_segment_tid_page(seg, docs, end - docs);
			group = (const SkxDiskTidGroup *) (disk + 1) +
				(wanted - disk->first_group);
			current = wanted;
		}
		if (!skx_segment_tid_get(seg->tid_ref.page, group,
								 *docs % SKX_TID_GROUP_DOCS, tids))
			skx_segment_damaged(seg, SKX_SEGMENT_TIDS, seg->tid_page,
								"TID group does not decode");
	}
	if (skx_blkio_has_many_pins(seg->file))
		skx_blkio_unpin(seg->file, &seg->tid_ref);
}

void
skx_segment_read_tids(SkxSegment *seg, uint32 first, int n,
					  ItemPointerData *tids)
{
	uint32		docs[SKX_SUBBLOCK];
	int			done;
	int			i;

	for (done = 0; done < n; done += SKX_SUBBLOCK)
	{
		int			some = Min(n - done, SKX_SUBBLOCK);

		for (i = 0; i < some; i++)
			docs[i] = first + done + i;
		skx_segment_read_tids_of(seg, docs, some, tids + done);
	}
}

uint8
skx_segment_norm(SkxSegment *seg, uint32 doc)
{
	const char *page = skx_segment_pin(seg, SKX_SEGMENT_NORMS,
									   doc / SKX_NORMS_PER_PAGE,
									   &seg->norm_ref);

	return (uint8) page[SKX_PAGE_START + doc % SKX_NORMS_PER_PAGE];
}

int
skx_segment_filter_null(SkxSegment *seg, uint32 *docs, int n, bool is_null)
{
	int			kept = 0;
	int			i;

	if (seg->header.nnull == 0)
		return is_null ? 0 : n;
	for (i = 0; i < n; i++)
	{
		docs[kept] = docs[i];
		kept += (skx_segment_norm(seg, docs[i]) == SKX_NORM_NULL) == is_null;
	}
	if (skx_blkio_has_many_pins(seg->file))
		skx_blkio_unpin(seg->file, &seg->norm_ref);
	return kept;
}
