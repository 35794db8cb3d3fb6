/*
 * unit_segment.h
 *	  A segment whose pages are arrays, for tests of what writes and reads its
 *	  terms.
 *
 * Of the server the readers need the pages, and a report of damage, which ends
 * the test.  Before it is included, DOCS is defined, and if pages that are
 * pinned and asked for matter, UNIT_WATCHES_PAGES; included once, after
 * server.h.
 */
#ifndef SKX_TEST_UNIT_SEGMENT_H
#define SKX_TEST_UNIT_SEGMENT_H

#include "index/cursor/cursor.h"
#include "support/damage/damage.h"
#include "format/disk/disk_check.h"
#include "miscadmin.h"
#include "index/segment/segment_maint.h"
#include "write/writer/writer.h"
#include "tsearch/ts_utils.h"

/* Pages of a plane, made one after the other. */
typedef struct UnitPlane
{
	uint32		npages;
	uint32		room;
	uint32		first;			/* ordinal of pages[0]; 0 while it is written */
	char	  **pages;
} UnitPlane;

typedef struct UnitSegment
{
	SkxSegment	seg;			/* its file: the UnitSegment */
	UnitPlane	planes[SKX_SEGMENT_NPLANES];
} UnitSegment;

static uint32 unit_block_pages;
static SkxSegmentSession unit_kept;

#ifdef UNIT_WATCHES_PAGES
static void unit_pinned(SkxSegmentPlane plane, uint32 ordinal);
static void unit_asked(SkxSegmentPlane plane, uint32 ordinal);
#else
#define unit_pinned(plane, ordinal)
#define unit_asked(plane, ordinal)	((void) (plane), (void) (ordinal))
#endif

/* ---- the server ---- */

volatile sig_atomic_t InterruptPending;
MemoryContext CurrentMemoryContext;

void
ProcessInterrupts(void)
{
}

void
skx_damage_report(Relation rel, BlockNumber block, const char *what)
{
	fprintf(stderr, "damaged: %s\n", what);
	exit(1);
}

void
skx_segment_damaged(const SkxSegment *seg, SkxSegmentPlane plane,
					uint32 ordinal, const char *what)
{
	fprintf(stderr, "page %u of plane %d is damaged: %s\n", ordinal, plane,
			what);
	exit(1);
}

const char *
skx_segment_pin(SkxSegment *seg, SkxSegmentPlane plane, uint32 ordinal,
				SkxBlkRef *ref)
{
	const UnitPlane *from = &((const UnitSegment *) seg)->planes[plane];

	if (ordinal < from->first || ordinal - from->first >= from->npages)
		skx_segment_damaged(seg, plane, ordinal, "there is none");
	unit_pinned(plane, ordinal);
	ref->page = from->pages[ordinal - from->first];
	return ref->page;
}

const char *
skx_blkio_pin_slow(SkxBlkFile *file, const SkxBlkPlane *plane, uint32 ordinal,
				   SkxBlkRef *ref)
{
	SkxSegment *seg = (SkxSegment *) file;

	return skx_segment_pin(seg, (SkxSegmentPlane) (plane - seg->planes),
						   ordinal, ref);
}

bool
skx_segment_is_warm(const SkxSegment *seg)
{
	return true;
}

void
skx_blkio_unpin(SkxBlkFile *file, SkxBlkRef *ref)
{
	ref->page = NULL;
}

bool
skx_blkio_has_many_pins(SkxBlkFile *file)
{
	static int	calls;

	return calls++ % 3 == 0;
}

BlockNumber
skx_blkio_block(Relation rel, const SkxBlkPlane *plane, uint32 ordinal)
{
	return ordinal;
}

void
skx_blkio_prefetch(SkxBlkFile *file, const SkxBlkPlane *plane,
				   const uint32 *ordinals, int n)
{
	const SkxSegment *seg = (const SkxSegment *) file;
	int			i;

	for (i = 0; i < n; i++)
		unit_asked((SkxSegmentPlane) (plane - seg->planes), ordinals[i]);
}

static SkxBlkCounters unit_counters[SKX_BLK_NMETHODS];

const SkxBlkCounters *
skx_blkio_counters(void)
{
	return unit_counters;
}

int32
tsCompareString(char *a, int lena, char *b, int lenb, bool prefix)
{
	int			cmp = memcmp(a, b, Min(lena, lenb));

	return cmp != 0 ? cmp : lena - lenb;
}

/* ---- pages ---- */

static char *
unit_page(UnitPlane *plane, uint32 ordinal, uint32 used)
{
	SkxPageIdentity id = {1, 2, ordinal, SKX_PLANE_DICT};

	while (ordinal >= plane->room)
	{
		plane->room = plane->room * 2 + 64;
		plane->pages = realloc(plane->pages, plane->room * sizeof(char *));
	}
	plane->npages = Max(plane->npages, ordinal + 1);
	plane->pages[ordinal] = malloc(BLCKSZ);
	skx_disk_page_init(plane->pages[ordinal], &id);
	((PageHeader) plane->pages[ordinal])->pd_lower = SKX_PAGE_START + used;
	return plane->pages[ordinal];
}

static void
unit_sink(void *arg, uint32 ordinal, char *page, uint32 used)
{
	memcpy(unit_page(arg, ordinal, used) + SKX_PAGE_START,
		   page + SKX_PAGE_START, used);
}

/* Ends a segment's dictionary, and opens it. */
static pg_attribute_unused() void
unit_open(UnitSegment *us, uint32 nterms, const SkxDictLeaves *leaves)
{
	SkxSegment *seg = &us->seg;
	int			i;

	CHECK(leaves->n == us->planes[SKX_SEGMENT_DICT].npages);
	seg->file = (SkxBlkFile *) us;
	seg->session = &unit_kept;
	seg->header.dict_root =
		skx_writer_dict_levels(unit_sink, &us->planes[SKX_SEGMENT_DICT],
								leaves);
	seg->header.nterms = nterms;
	seg->header.ndocs = Max(seg->header.ndocs, DOCS);
	for (i = 0; i < SKX_SEGMENT_NPLANES; i++)
	{
		seg->planes[i].unit = i == SKX_SEGMENT_POSTINGS ? unit_block_pages : 1;
		seg->planes[i].npages = us->planes[i].first + us->planes[i].npages;
		seg->header.planes[i].npages = seg->planes[i].npages;
	}
	CHECK(nterms == 0 ? us->planes[SKX_SEGMENT_DICT].npages == 0 :
		  seg->header.dict_root == us->planes[SKX_SEGMENT_DICT].npages - 1);
	for (i = 0; i < us->planes[SKX_SEGMENT_DICT].npages; i++)
		CHECK(skx_disk_check_dict(us->planes[SKX_SEGMENT_DICT].pages[i],
									&seg->header) == NULL);
}

#endif							/* SKX_TEST_UNIT_SEGMENT_H */
