/*
 * blkio_warmer.h
 *	  What the cache has, and how it is read back after a restart.
 */
#ifndef SKX_BLKIO_WARMER_H
#define SKX_BLKIO_WARMER_H

#include "storage/blkio/blkio.h"

/* blkio_prewarm.c : pages into frames that nothing else wants */

/*
 * Makes all further reads of the file evict nothing from the cache: they
 * take only frames that were never taken.  Frames found are not counted as
 * used.
 */
extern void skx_blkio_evict_nothing(SkxBlkFile *file);

/* Pages of a plane that follow each other. */
typedef struct SkxBlkStretch
{
	const SkxBlkPlane *plane;
	uint32		first;
	uint32		npages;
	int			uses;			/* least use count of their frames */
} SkxBlkStretch;

/*
 * Reads the pages of n stretches in the order of the file.  Called for a file
 * after skx_blkio_evict_nothing.  Ends when there are no spare frames left,
 * or if the file is not read through the cache.  Pages past the end of a
 * plane are left out.  Of frames with a page of a stretch all pages are read,
 * and no others.  Returns the number of pages read.  It is a skx_throttle_point
 * from time to time.
 */
extern uint64 skx_blkio_prewarm_spare(SkxBlkFile *file,
									  const SkxBlkStretch *stretches, int n);

/* blkio_contents.c : which pages the cache has */

/* The index of a file that was opened since the cache was made. */
typedef struct SkxBlkKnownIndex
{
	uint64		incarnation;
	Oid			database;
	Oid			index;
} SkxBlkKnownIndex;

/* Most indexes that skx_blkio_known_indexes() returns. */
#define SKX_BLK_KNOWN_INDEXES_MAX	4096

/*
 * Returns a palloc'd array of *n indexes by incarnation.  Copies of an index
 * have one entry each.  Indexes that were not opened for long may be missing,
 * and some may exist no longer.  An entry may be wrong: its index may have
 * another incarnation.
 */
extern SkxBlkKnownIndex *skx_blkio_known_indexes(int *n);

/* Pages of one frame of the cache. */
typedef struct SkxBlkContent
{
	SkxBlkKey	key;			/* of the first page */
	uint16		npages;
	uint16		uses;			/* use count, up to SKX_BLK_USE_COUNT_MAX */
} SkxBlkContent;

/*
 * Returns a palloc'd array of the *n frames of the cache that have pages of
 * files: those used most first, then by key; at most `most`, and NULL without
 * a cache.  A plane's last frame may have fewer pages than it says.
 * Approximate while other backends read.
 */
extern SkxBlkContent *skx_blkio_contents(int most, int *n);

/* blkio_warmer.c : the process that keeps the cache over a restart */

/* skipidx.autoprewarm_interval, s; 0: no process keeps the cache. */
extern int	skx_blkio_warmer_interval;

/* Name of the C function that it runs; what it does is in autoprewarm/. */
#define SKX_BLK_WARMER_MAIN		"skx_autoprewarm_leader_main"

/*
 * Makes this process the only one that keeps the cache, until it exits.
 * Returns false if there is no cache or another process is that one.
 */
extern bool skx_blkio_warmer_begin(void);

/*
 * Returns true if what was in the cache before the start of the server has
 * been read back, as far as it is to be.
 */
extern bool skx_blkio_warmer_is_done(void);

/* Notes that. */
extern void skx_blkio_warmer_set_done(void);

/* Returns true if there is room in the cache for pages to be read back. */
extern bool skx_blkio_warmer_has_room(void);

/*
 * Returns the most pages that the cache can have, 0 without one.  Called by a
 * process that reads pages back before all others of these functions.
 */
extern uint64 skx_blkio_warmer_most_pages(void);

/* Returns the number of pages read back so far. */
extern uint64 skx_blkio_warmer_pages(void);

/*
 * Returns true if pages were read into the cache since the last call of
 * skx_blkio_warmer_set_noted.
 */
extern bool skx_blkio_warmer_is_changed(void);

/*
 * Notes that what is in the cache has been noted.  `claims` is what
 * skx_blkio_warmer_claims returned before that.
 */
extern void skx_blkio_warmer_set_noted(uint64 claims);
extern uint64 skx_blkio_warmer_claims(void);

/*
 * Has the server start that process if it should run and does not.  Called
 * for each file that is opened, so it costs one look at shared memory if the
 * process runs.  Waits for nothing, and fails silently.
 */
extern void skx_blkio_warmer_request(void);

#endif							/* SKX_BLKIO_WARMER_H */
