/*
 * disk_page.h
 *	  The layout that all pages of an index file share.
 *
 * All pages are standard 8 kB pages.  Content starts after the page header and
 * ends at pd_lower; the special space at the end is SkxDiskTrailer.  On a page
 * whose content ends at SKX_PAGE_END, pd_lower = pd_upper.  There is never
 * data between pd_lower and pd_upper: WAL drops that hole.
 */
#ifndef SKX_DISK_PAGE_H
#define SKX_DISK_PAGE_H

#include "storage/bufpage.h"

/* Version of what all pages share: the trailer, and where content is. */
#define SKX_PAGE_VERSION	5

/* Planes: the kinds of page, and the ordinal spaces of a segment. */
typedef enum SkxPlane
{
	/* mutable, through shared buffers */
	SKX_PLANE_META = 1,
	SKX_PLANE_ROOT = 2,
	SKX_PLANE_STRIPE = 3,
	SKX_PLANE_PENDING = 4,
	SKX_PLANE_CHAIN = 5,		/* parts of a pending document longer than a
								 * page */
	SKX_PLANE_DELETES = 6,		/* per segment; a zero page has no bits set */
	/* immutable, per segment, past shared buffers */
	SKX_PLANE_HEADER = 16,
	SKX_PLANE_TIDS = 17,
	SKX_PLANE_NORMS = 18,
	SKX_PLANE_KEYS = 19,		/* keys of columns */
	SKX_PLANE_DICT = 20,
	SKX_PLANE_POSTINGS = 21,
	SKX_PLANE_POSITIONS = 22,
	SKX_PLANE_PREFIXES = 23,
	SKX_PLANE_PREFIX_POSTINGS = 24,
	SKX_PLANE_LAST = 24
} SkxPlane;

#define SkxPlaneIsMutable(plane)	((plane) < SKX_PLANE_HEADER)

/*
 * Identity and checksum of a page, in its special space.  On immutable pages
 * crc is the CRC-32C of the whole page without pd_lsn, pd_checksum, pd_flags
 * and crc itself.  It is 0 on mutable pages, which rely on the server's
 * checksums.
 */
typedef struct SkxDiskTrailer
{
	uint64		incarnation;	/* random id of the index, set at build */
	uint32		segment;		/* 0 on pages that belong to no segment */
	uint32		ordinal;		/* of the page in its plane */
	uint32		crc;
	uint8		version;		/* SKX_PAGE_VERSION */
	uint8		plane;
	uint16		page_id;		/* SKX_PAGE_ID; the last two bytes of a page */
} SkxDiskTrailer;

StaticAssertDecl(sizeof(SkxDiskTrailer) == 24, "trailer size");

/*
 * The last two bytes of a page; the page offsets where content starts and
 * ends; the number of bytes between these.
 */
#define SKX_PAGE_ID			0xF51D
#define SKX_PAGE_START		MAXALIGN(SizeOfPageHeaderData)
#define SKX_PAGE_END		(BLCKSZ - sizeof(SkxDiskTrailer))
#define SKX_PAGE_CAPACITY	(SKX_PAGE_END - SKX_PAGE_START)

/* Least and largest block size of an index, in bytes. */
#define SKX_BLOCK_SIZE_MIN	BLCKSZ
#define SKX_BLOCK_SIZE_MAX	(1024 * 1024)

/*
 * Rounds up to the alignment of a structure inside a page with 64-bit fields.
 */
#define SKX_ALIGN(x)		TYPEALIGN(8, (x))

/* The trailer of a page. */
#define skx_disk_trailer(page) \
	((SkxDiskTrailer *) ((char *) (page) + SKX_PAGE_END))
#define skx_disk_const_trailer(page) \
	((const SkxDiskTrailer *) ((const char *) (page) + SKX_PAGE_END))

/* The identity that a reader expects of a page. */
typedef struct SkxPageIdentity
{
	uint64		incarnation;
	uint32		segment;		/* 0 if the page belongs to no segment */
	uint32		ordinal;		/* of the page in its plane */
	uint8		plane;
} SkxPageIdentity;

/* disk_page.c : pure functions on pages */

/*
 * Makes `page` an empty page of that identity, with pd_lower at
 * SKX_PAGE_START.
 */
extern void skx_disk_page_init(char *page, const SkxPageIdentity *id);

/*
 * Ends the content of an immutable page at `used` bytes after SKX_PAGE_START,
 * zeroes the rest, and stores the CRC.  The caller sets LSN and checksum after
 * that.
 */
extern void skx_disk_page_seal(char *page, uint32 used);

/*
 * Returns the CRC-32C of a page without its LSN, checksum, flags and crc
 * field.
 */
extern uint32 skx_disk_page_crc(const char *page);

/*
 * Checks that the page is undamaged and has the identity `id`, with the CRC of
 * immutable pages.  Returns NULL if so, else a constant string that says what
 * is wrong.
 */
extern const char *skx_disk_page_check(const char *page,
									   const SkxPageIdentity *id);

#endif							/* SKX_DISK_PAGE_H */
