/*
 * blkio_glance.h
 *	  A few bytes of a page without a pin, for readers of pages that they come
 *	  back to.
 */
#ifndef SKX_BLKIO_GLANCE_H
#define SKX_BLKIO_GLANCE_H

#include "port/atomics.h"
#include "storage/blkio/blkio.h"

/*
 * For pages that are read here and there, time after time.  glance is true if
 * the page is where this backend last noted it.  Whatever was read of it then
 * counts only if the glance still holds afterwards; else, and if it is false,
 * the page is to be pinned, and noted while it is pinned.  cached: a pin needs
 * no read.  room: so many pages of planes like this one may be noted at a time
 * of which some are not wanted yet.
 */
#define SKX_BLK_VERSION_SHIFT	32

typedef struct SkxBlkGlance
{
	const char *page;
	pg_atomic_uint64 *state;	/* of where it lies, */
	uint64		seen;			/* as it was */
} SkxBlkGlance;

extern bool skx_blkio_glance(SkxBlkFile *file, const SkxBlkPlane *plane,
							 uint32 ordinal, SkxBlkGlance *glance);
extern void skx_blkio_note(SkxBlkFile *file, const SkxBlkRef *ref);
extern bool skx_blkio_cached(SkxBlkFile *file, const SkxBlkPlane *plane,
							 uint32 ordinal);
extern uint32 skx_blkio_room(const SkxBlkFile *file,
							 const SkxBlkPlane *plane);

/* After what was read of the page, and before it is believed. */
static inline bool
skx_blkio_glance_holds(const SkxBlkGlance *glance)
{
	pg_read_barrier();
	return (pg_atomic_read_u64(glance->state) ^ glance->seen) >>
		SKX_BLK_VERSION_SHIFT == 0;
}

#endif							/* SKX_BLKIO_GLANCE_H */
