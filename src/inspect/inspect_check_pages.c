/*
 * inspect_check_pages.c
 *	  Reads pages of the file, and checks each by itself.
 *
 * A cached page shows what was on disk when the cache read it.  So pages are
 * read from disk again, except those in shared buffers, which may be newer
 * than the file.
 */
#include "postgres.h"

#include "format/disk/disk_check.h"
#include "inspect/inspect_internal.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "support/compat/compat.h"
#include "utils/memutils.h"

/* Number of times that an unused page is read before it counts as damaged. */
#define SKX_INSPECT_ATTEMPTS	7

void
skx_inspect_page_alloc(SkxCheckPage *page)
{
	page->block = InvalidBlockNumber;
	page->memory = palloc(BLCKSZ + SKX_IO_ALIGN);
	page->data = (char *) TYPEALIGN(SKX_IO_ALIGN, page->memory);
}

void
skx_inspect_page_copy(SkxCheck *check, BlockNumber block, char *data)
{
	Buffer		buffer = ReadBuffer(check->index, block);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
}

/* Reads a page.  Returns true if it comes from shared buffers. */
static bool
skx_inspect_page_get(SkxCheck *check, BlockNumber block, SkxCheckPage *page)
{
	Relation	rel = check->index;

	CHECK_FOR_INTERRUPTS();
	page->block = block;
	if (block >= check->file_pages)
		skx_damage_report(rel, block, "the file ends before this block");
	if (RelationUsesLocalBuffers(rel) || skx_blkio_resident(rel, block))
	{
		skx_inspect_page_copy(check, block, page->data);
		return true;
	}
	smgrread(RelationGetSmgr(rel), MAIN_FORKNUM, block, page->data);
	return false;
}

bool
skx_inspect_page_read(SkxCheck *check, BlockNumber block, SkxCheckPage *page)
{
	int			attempt;

	for (attempt = 0; attempt < 2; attempt++)
	{
		if (skx_inspect_page_get(check, block, page) ||
			skx_compat_page_is_verified(page->data, block,
										SKX_REL_LOCATOR(check->index)))
			return true;
		/* a page that is being written can be torn: read it once more */
	}
	return false;
}

const char *
skx_inspect_page_is_foreign(const SkxCheck *check, const char *page)
{
	const SkxDiskTrailer *trailer = skx_disk_const_trailer(page);
	SkxPageIdentity id;
	const uint64 *words = (const uint64 *) page;
	int			i;

	if (PageIsNew((Page) page))
	{
		for (i = 0; i < BLCKSZ / sizeof(uint64); i++)
			if (words[i] != 0)
				return "the page is neither in use nor zero";
		return NULL;
	}
	id.incarnation = check->view->meta.incarnation;
	id.segment = trailer->segment;
	id.ordinal = trailer->ordinal;
	id.plane = trailer->plane;
	if (id.plane < SKX_PLANE_META || id.plane > SKX_PLANE_LAST ||
		(id.plane > SKX_PLANE_DELETES && SkxPlaneIsMutable(id.plane)))
		return "the page is of an unknown kind";
	return skx_disk_page_check(page, &id);
}

/*
 * A page that is being written past shared buffers may be torn at several
 * reads, but not for long.  The server's own check comes last, because it
 * counts the pages that it refuses.
 */
const char *
skx_inspect_page_problem(SkxCheck *check, BlockNumber block)
{
	const char *what = NULL;
	int			attempt;

	for (attempt = 0; attempt < SKX_INSPECT_ATTEMPTS; attempt++)
	{
		bool		resident;

		if (attempt > 0)
			pg_usleep(500L << attempt);
		resident = skx_inspect_page_get(check, block, &check->page);
		what = skx_inspect_page_is_foreign(check, check->page.data);
		if (what != NULL)
			continue;
		if (resident ||
			skx_compat_page_is_verified(check->page.data, block,
										SKX_REL_LOCATOR(check->index)))
			return NULL;
		what = "the page's header or checksum is wrong";
	}
	return what;
}

/* Call it for a page before it is read through the buffer manager. */
void
skx_inspect_check_checksum(SkxCheck *check, BlockNumber block)
{
	if (!skx_inspect_page_read(check, block, &check->page))
		skx_damage_report(check->index, block,
						  "the page's header or checksum is wrong");
}

/*
 * Checks that a page is the given page of the index.  `sound` is the result of
 * skx_inspect_page_read().
 */
static void
skx_inspect_page_identity(SkxCheck *check, const SkxCheckPage *page,
						  bool sound, uint32 segment, uint8 plane,
						  uint32 ordinal)
{
	SkxPageIdentity id;
	const char *what;

	id.incarnation = check->view->meta.incarnation;
	id.segment = segment;
	id.plane = plane;
	id.ordinal = ordinal;
	what = skx_disk_page_check(page->data, &id);
	if (what == NULL && !sound)
		what = "the page's header or checksum is wrong";
	if (what != NULL)
		skx_damage_report(check->index, page->block, what);
}

void
skx_inspect_reader_init(SkxCheckReader *r, SkxCheck *check,
						const SkxSegment *seg, SkxSegmentPlane plane)
{
	memset(r, 0, sizeof(*r));
	r->check = check;
	r->seg = seg;
	r->plane = plane;
	skx_inspect_page_alloc(&r->page);
}

void
skx_inspect_reader_free(SkxCheckReader *r)
{
	pfree(r->page.memory);
	memset(r, 0, sizeof(*r));
}

/* Does the same as skx_segment_block(), but tries the last run first. */
static BlockNumber
skx_inspect_reader_block(SkxCheckReader *r, uint32 ordinal)
{
	const SkxBlkPlane *plane = &r->seg->planes[r->plane];
	const SkxBlkRun *run = &plane->runs[r->run];

	if (r->run + 1 < plane->nruns && run[1].first == ordinal)
	{
		r->run++;
		run++;
	}
	if (ordinal - run->first >= run->npages)
		return skx_segment_block(r->seg, r->plane, ordinal);
	return run->block + (ordinal - run->first);
}

/* A page of the deletes plane that is zero counts as empty. */
const char *
skx_inspect_reader_page(SkxCheckReader *r, uint32 ordinal)
{
	SkxCheck   *check = r->check;
	bool		sound;

	if (r->valid && r->ordinal == ordinal)
		return r->page.data;
	if (ordinal >= r->seg->planes[r->plane].npages)
		skx_damage_report_detail(check->index, r->page.block,
								 "an address leads to page %u of a plane of %u pages",
								 ordinal, r->seg->planes[r->plane].npages);
	r->valid = false;
	sound = skx_inspect_page_read(check,
								  skx_inspect_reader_block(r, ordinal),
								  &r->page);
	r->lower = SKX_PAGE_START;
	if (r->plane != SKX_SEGMENT_DELETES ||
		!PageIsNew((Page) r->page.data))
	{
		skx_inspect_page_identity(check, &r->page, sound,
								  r->seg->header.segment,
								  r->seg->planes[r->plane].plane, ordinal);
		r->lower = ((PageHeader) r->page.data)->pd_lower;
	}
	r->ordinal = ordinal;
	r->valid = true;
	return r->page.data;
}

/*
 * Checks that the header of an open segment equals that in the file, which is
 * `stream`.
 */
static void
skx_inspect_check_opened(SkxCheck *check, const SkxDiskSegmentRef *ref,
						 const SkxSegment *seg, const char *stream)
{
	const SkxDiskRun *runs =
		(const SkxDiskRun *) (stream + sizeof(SkxDiskSegment));
	bool		same = memcmp(stream, &seg->header,
							  sizeof(SkxDiskSegment)) == 0;
	int			i;

	for (i = 0; same && i < seg->header.nruns; i++)
		same = runs[i].first == seg->runs[i].first &&
			runs[i].npages == seg->runs[i].npages &&
			runs[i].block == seg->runs[i].block;
	if (!same)
		skx_damage_report(check->index, ref->header,
						  "the segment's header is not that which readers see");
}

/*
 * The segment is opened as by a scan, which may read an older copy of its
 * header in the cache.  So this is compared with the pages of the file.
 */
SkxSegment *
skx_inspect_check_header(SkxCheck *check, int which)
{
	const SkxDiskSegmentRef *ref = &check->view->segments[which];
	SkxSegment *seg;
	char	   *stream = palloc0((Size) ref->header_pages *
								 SKX_PAGE_CAPACITY + sizeof(SkxDiskSegment));
	Size		size = 0;
	const char *what;
	uint32		i;

	for (i = 0; i < ref->header_pages; i++)
	{
		bool		sound = skx_inspect_page_read(check, ref->header + i,
												  &check->page);
		uint32		used;

		skx_inspect_page_identity(check, &check->page, sound, ref->segment,
								  SKX_PLANE_HEADER, i);
		used = ((PageHeader) check->page.data)->pd_lower - SKX_PAGE_START;
		memcpy(stream + size, check->page.data + SKX_PAGE_START, used);
		size += used;
	}
	what = skx_disk_check_segment(stream, size, ref->segment,
								  check->view->meta.nblocks);
	if (what != NULL)
		skx_damage_report(check->index, ref->header, what);
	seg = skx_segment_open(check->file, check->index, check->view, which);
	skx_inspect_check_opened(check, ref, seg, stream);
	pfree(stream);
	return seg;
}

/*
 * Returns what is wrong with the structure of a page by itself; NULL if
 * nothing is.  Pages of postings are checked with their lists instead.
 */
static const char *
skx_inspect_page_structure(SkxSegmentPlane plane, const char *page,
						   uint32 ordinal, SkxSegment *seg)
{
	const SkxDiskSegment *header = &seg->header;

	switch (plane)
	{
		case SKX_SEGMENT_TIDS:
			return skx_disk_check_tids(page, ordinal, header);
		case SKX_SEGMENT_NORMS:
			return skx_disk_check_norms(page, ordinal, header);
		case SKX_SEGMENT_KEYS:
			return skx_disk_check_keys(page, ordinal, header);
		case SKX_SEGMENT_DICT:
			return skx_disk_check_dict(page, header);
		case SKX_SEGMENT_PREFIXES:
			return skx_disk_check_dict(page,
									   &skx_segment_prefixes(seg)->header);
		case SKX_SEGMENT_POSITIONS:
			return skx_disk_check_positions(page);
		case SKX_SEGMENT_DELETES:
			return skx_disk_check_deletes(page, ordinal, header);
		default:
			return NULL;
	}
}

void
skx_inspect_check_pages(SkxCheckSegment *cs)
{
	SkxSegment *seg = cs->seg;
	int			plane;

	for (plane = 0; plane < SKX_SEGMENT_NPLANES; plane++)
	{
		SkxCheckReader r;
		uint32		ordinal;

		skx_inspect_reader_init(&r, cs->check, seg, plane);
		for (ordinal = 0; ordinal < seg->planes[plane].npages; ordinal++)
		{
			const char *page = skx_inspect_reader_page(&r, ordinal);
			const char *what = skx_inspect_page_structure(plane, page,
														  ordinal, seg);

			if (what != NULL)
				skx_damage_report(cs->check->index, r.page.block, what);
		}
		skx_inspect_reader_free(&r);
	}
}
