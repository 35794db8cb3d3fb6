/*
 * disk_page.c
 *	  Makes, seals and checks pages of any kind.
 *
 * The CRC leaves out what the server changes after a page was sealed: pd_lsn
 * and pd_checksum (both set on the way to disk) and pd_flags.  These are the
 * first twelve bytes of a page.  So the sum begins after them, and skips its
 * own field.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/disk/disk_page.h"
#include "format/disk/disk_postings.h"
#include "format/disk/disk_segment.h"
#include "port/pg_crc32c.h"

#define SKX_PAGE_CRC_START	offsetof(PageHeaderData, pd_lower)
#define SKX_PAGE_CRC_OFFSET		(SKX_PAGE_END + offsetof(SkxDiskTrailer, crc))

StaticAssertDecl(SKX_PAGE_CRC_START == 12,
				 "LSN, checksum and flags come first");

const uint8 skx_disk_plane_ids[SKX_SEGMENT_NPLANES] = {
	[SKX_SEGMENT_TIDS] = SKX_PLANE_TIDS,
	[SKX_SEGMENT_NORMS] = SKX_PLANE_NORMS,
	[SKX_SEGMENT_KEYS] = SKX_PLANE_KEYS,
	[SKX_SEGMENT_DICT] = SKX_PLANE_DICT,
	[SKX_SEGMENT_POSTINGS] = SKX_PLANE_POSTINGS,
	[SKX_SEGMENT_POSITIONS] = SKX_PLANE_POSITIONS,
	[SKX_SEGMENT_DELETES] = SKX_PLANE_DELETES,
	[SKX_SEGMENT_PREFIXES] = SKX_PLANE_PREFIXES,
	[SKX_SEGMENT_PREFIX_POSTINGS] = SKX_PLANE_PREFIX_POSTINGS,
};

void
skx_disk_page_init(char *page, const SkxPageIdentity *id)
{
	PageHeader	header = (PageHeader) page;
	SkxDiskTrailer *trailer = skx_disk_trailer(page);

	memset(page, 0, BLCKSZ);
	header->pd_lower = SKX_PAGE_START;
	header->pd_upper = SKX_PAGE_END;
	header->pd_special = SKX_PAGE_END;
	header->pd_pagesize_version = BLCKSZ | PG_PAGE_LAYOUT_VERSION;
	trailer->incarnation = id->incarnation;
	trailer->segment = id->segment;
	trailer->ordinal = id->ordinal;
	trailer->version = SKX_PAGE_VERSION;
	trailer->plane = id->plane;
	trailer->page_id = SKX_PAGE_ID;
}

void
skx_disk_page_seal(char *page, uint32 used)
{
	uint32		lower = SKX_PAGE_START + used;

	Assert(lower <= SKX_PAGE_END);
	memset(page + lower, 0, SKX_PAGE_END - lower);
	((PageHeader) page)->pd_lower = (LocationIndex) lower;
	skx_disk_trailer(page)->crc = skx_disk_page_crc(page);
}

uint32
skx_disk_page_crc(const char *page)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, page + SKX_PAGE_CRC_START,
				SKX_PAGE_CRC_OFFSET - SKX_PAGE_CRC_START);
	COMP_CRC32C(crc, page + SKX_PAGE_CRC_OFFSET + sizeof(uint32),
				BLCKSZ - SKX_PAGE_CRC_OFFSET - sizeof(uint32));
	FIN_CRC32C(crc);
	return crc;
}

const char *
skx_disk_page_check(const char *page, const SkxPageIdentity *id)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	const SkxDiskTrailer *trailer = skx_disk_const_trailer(page);

	if (header->pd_upper == 0)
		return "the page is empty";
	if (header->pd_pagesize_version != (BLCKSZ | PG_PAGE_LAYOUT_VERSION) ||
		header->pd_special != SKX_PAGE_END ||
		header->pd_upper != SKX_PAGE_END ||
		header->pd_lower < SKX_PAGE_START ||
		header->pd_lower > SKX_PAGE_END)
		return "the page header is wrong";
	if (trailer->page_id != SKX_PAGE_ID)
		return "the page is not one of skipidx";
	if (trailer->version != SKX_PAGE_VERSION)
		return "the page has a version that is not known here";
	if (!SkxPlaneIsMutable(trailer->plane) &&
		trailer->crc != skx_disk_page_crc(page))
		return "the checksum of the page is wrong";
	if (trailer->plane != id->plane)
		return "the page is of another kind";
	if (trailer->incarnation != id->incarnation)
		return "the page belongs to another index";
	if (trailer->segment != id->segment)
		return "the page belongs to another segment";
	if (trailer->ordinal != id->ordinal)
		return "the page belongs to another place";
	return NULL;
}

uint32
skx_disk_lexeme_check(const char *lexeme, int len)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, lexeme, len);
	FIN_CRC32C(crc);
	return crc;
}
