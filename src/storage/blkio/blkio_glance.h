/*
 * blkio_glance.h
 *	  Reads a few bytes of a page without a pin, for readers that return to
 *	  the same pages.
 */
#ifndef SKX_BLKIO_GLANCE_H
#define SKX_BLKIO_GLANCE_H

#include "port/atomics.h"
#include "storage/blkio/blkio.h"

/*
 * blkio_glance.c : pages without a pin
 *
 * A backend notes where a page is in memory while it has the page pinned,
 * and later reads a few bytes there without a pin: a glance.  These bytes
 * count only if the glance still holds afterwards
 * (skx_blkio_optimistic_is_valid). If there is no glance or it does not hold,
 * the page must be pinned and noted.
 */

/* Bits of a frame's state below the version. */
#define SKX_BLK_VERSION_SHIFT	32

/* A look at a page, with the state of its memory when the look began. */
typedef struct SkxBlkOptimisticRead
{
	const char *page;
	pg_atomic_uint64 *state;	/* of the frame or copy with the page */
	uint64		version_seen;	/* its value when the glance began */
} SkxBlkOptimisticRead;

/*
 * Fills `glance` and returns true if the page is where this backend last
 * noted it; else returns false.
 */
extern bool skx_blkio_optimistic_read(SkxBlkFile *file,
									  const SkxBlkPlane *plane, uint32 ordinal,
									  SkxBlkOptimisticRead *glance);

/*
 * Notes the page that the ref has pinned.  A page that is not in a frame of
 * the cache is copied to memory of this backend.
 */
extern void skx_blkio_remember_page(SkxBlkFile *file, const SkxBlkRef *ref);

/*
 * Returns true if the page is in the cache, or with shared_buffers in shared
 * buffers, or being read into them, so that a pin needs no read.  Returns
 * false for a temporary relation.  Pins nothing.
 */
extern bool skx_blkio_page_is_cached(SkxBlkFile *file,
									 const SkxBlkPlane *plane, uint32 ordinal);

/*
 * Returns how many pages of such a plane may be read and noted before they
 * are wanted.  This is a quarter of the pages that the cache has for its
 * class, or the number of copies that a backend keeps if it copies pages.
 */
extern uint32 skx_blkio_warmable_pages(const SkxBlkFile *file,
									   const SkxBlkPlane *plane);

/*
 * Returns true if the page has not changed or moved since the glance began.
 * Called after the bytes are read and before they are used.
 */
static inline bool
skx_blkio_optimistic_is_valid(const SkxBlkOptimisticRead *glance)
{
	pg_read_barrier();
	return (pg_atomic_read_u64(glance->state) ^ glance->version_seen) >>
		SKX_BLK_VERSION_SHIFT == 0;
}

#endif							/* SKX_BLKIO_GLANCE_H */
