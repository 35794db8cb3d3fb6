/*
 * disk_page.h
 *	  What every page of an index file carries, whatever its kind.
 *
 * All pages are standard 8 kB pages.  Content starts after the page header
 * and ends at pd_lower; the special space at the end is SkxDiskTrailer.  On a
 * page whose content ends at SKX_PAGE_END, pd_lower = pd_upper.  There is
 * never data between pd_lower and pd_upper: WAL drops that hole.
 */
#ifndef SKX_DISK_PAGE_H
#define SKX_DISK_PAGE_H

#include "storage/bufpage.h"

#define SKX_MAGIC			0x736B6978	/* "skix" */
#define SKX_VERSION			4

/* Planes: the kinds of page, and the ordinal spaces of a segment. */
typedef enum SkxPlane
{
	/* mutable, through shared buffers */
	SKX_PLANE_META = 1,
	SKX_PLANE_ROOT = 2,
	SKX_PLANE_STRIPE = 3,
	SKX_PLANE_PENDING = 4,
	SKX_PLANE_CHAIN = 5,		/* rest of a pending document over one page */
	SKX_PLANE_DELETES = 6,		/* per segment; a zero page: none deleted */
	/* immutable, per segment, past shared buffers */
	SKX_PLANE_HEADER = 16,
	SKX_PLANE_TIDS = 17,
	SKX_PLANE_NORMS = 18,
	SKX_PLANE_KEYS = 19,		/* order keys; absent while they are constant */
	SKX_PLANE_DICT = 20,
	SKX_PLANE_POSTINGS = 21,
	SKX_PLANE_POSITIONS = 22,
	SKX_PLANE_LAST = 22
} SkxPlane;

#define SkxPlaneIsMutable(plane)	((plane) < SKX_PLANE_HEADER)

/*
 * Identity and checksum, in the special space.  crc is the CRC-32C of the
 * whole page without pd_lsn, pd_checksum, pd_flags and crc itself, on
 * immutable pages; 0 on mutable ones, which rely on the server's checksums.
 */
typedef struct SkxDiskTrailer
{
	uint64		incarnation;	/* of the index: random, set at build */
	uint32		segment;		/* 0 on pages that belong to no segment */
	uint32		ordinal;		/* of the page in its plane */
	uint32		crc;
	uint8		version;		/* SKX_VERSION of the writer */
	uint8		plane;
	uint16		page_id;		/* SKX_PAGE_ID; the last two bytes of a page */
} SkxDiskTrailer;

StaticAssertDecl(sizeof(SkxDiskTrailer) == 24, "trailer size");

#define SKX_PAGE_ID			0xF51D
#define SKX_PAGE_START		MAXALIGN(SizeOfPageHeaderData)
#define SKX_PAGE_END		(BLCKSZ - sizeof(SkxDiskTrailer))
#define SKX_PAGE_CAPACITY	(SKX_PAGE_END - SKX_PAGE_START)

#define SKX_BLOCK_SIZE_MIN	BLCKSZ
#define SKX_BLOCK_SIZE_MAX	(1024 * 1024)

/* Alignment of whatever starts inside a page and holds a 64-bit field. */
#define SKX_ALIGN(x)		TYPEALIGN(8, (x))

#define skx_disk_trailer(page) \
	((SkxDiskTrailer *) ((char *) (page) + SKX_PAGE_END))
#define skx_disk_const_trailer(page) \
	((const SkxDiskTrailer *) ((const char *) (page) + SKX_PAGE_END))

/* What a page must be to be the one that was asked for. */
typedef struct SkxPageIdentity
{
	uint64		incarnation;
	uint32		segment;
	uint32		ordinal;
	uint8		plane;
} SkxPageIdentity;

/* disk_page.c (pure) */

/* Makes `page` an empty page of that identity: pd_lower at SKX_PAGE_START. */
extern void skx_disk_page_init(char *page, const SkxPageIdentity *id);

/*
 * Ends the content of an immutable page at `used` bytes after SKX_PAGE_START,
 * zeroes the rest, and stores the CRC.  Must come before LSN and checksum.
 */
extern void skx_disk_page_seal(char *page, uint32 used);
extern uint32 skx_disk_page_crc(const char *page);

/*
 * NULL when the page is what `id` says and undamaged, else what is wrong, as
 * a constant string.  Checks the CRC of immutable pages.
 */
extern const char *skx_disk_page_check(const char *page,
									   const SkxPageIdentity *id);

#endif							/* SKX_DISK_PAGE_H */
