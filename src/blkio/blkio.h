/*
 * blkio.h
 *	  Pages of immutable segments, in and out: transfer methods, the shared
 *	  cache, the residency protocol.  Knows blocks, not postings.
 */
#ifndef SKX_BLKIO_BLKIO_H
#define SKX_BLKIO_BLKIO_H

#include "storage/block.h"
#include "utils/relcache.h"

/* A run of pages of a plane that lie one after the other in the file. */
typedef struct SkxBlkRun
{
	uint32		first;			/* page ordinal in the plane */
	uint32		npages;
	BlockNumber block;			/* where page `first` lies in the main fork */
} SkxBlkRun;

/*
 * One plane of one segment: how its page ordinals map to the file, and how
 * many pages are worth transferring together (`unit`, a power of two: the
 * index's block for posting lists, 1 for what is read page by page).
 * Pages of one unit (ordinals unit * i .. unit * i + unit - 1) are contiguous
 * in the file; the last unit may be short.  `unit` is a property of the
 * segment: every reader of it gives the same.
 */
typedef struct SkxBlkPlane
{
	uint64		salt;			/* of the segment */
	uint32		segment;
	uint8		plane;
	uint16		unit;
	uint32		npages;
	int			nruns;
	const SkxBlkRun *runs;		/* ascending, without holes */
} SkxBlkPlane;

/*
 * Logical identity of a page; never reused, whatever happens to the file.  A
 * copy of an index (CREATE DATABASE, an unlogged index after a crash) goes on
 * with the incarnation and the segment numbers of the original; the salt,
 * random for each segment, tells what the two make from then on apart.
 */
typedef struct SkxBlkKey
{
	uint64		incarnation;
	uint64		salt;
	uint32		segment;
	uint32		ordinal;		/* of the page; in the cache, of the frame's
								 * first page */
	uint32		plane;			/* uint8 widened: no padding to hash */
} SkxBlkKey;

/*
 * Checks a page that was just transferred; raises an error that says what is
 * wrong with it, also for a page of zeros.  Called once per load into the
 * cache, for every page of the frames loaded; at every pin by a method that
 * cannot know when the page was loaded.  key->ordinal is that of the page.
 * The server's own checks (header, pg_checksums) have been made, but their
 * verdict is reported only when this function finds nothing to say.
 */
typedef void (*SkxBlkVerify) (Relation rel, const SkxBlkKey *key,
							  BlockNumber block, const char *page);

/* An index opened for reading by one scan. */
typedef struct SkxBlkFile SkxBlkFile;

/*
 * A pinned page.  Zero-initialised means "nothing pinned"; pinning through a
 * ref that holds another page releases that first, and costs a comparison
 * when the page lies in the frame already pinned (`base`, `first`, `npages`).
 *
 * The pin belongs to the resource owner current when it was taken: it ends
 * with that at the latest, and unpinning afterwards does nothing.  A plane
 * must stay where it is in memory as long as refs into it are pinned.
 */
typedef struct SkxBlkRef
{
	const char *page;			/* NULL when nothing is pinned */
	const SkxBlkPlane *plane;
	uint32		ordinal;		/* of page */
	uint32		first;			/* ordinal of the pinned frame's first page */
	uint32		npages;			/* pages in the pinned frame, 0 = no pin */
	const char *base;			/* its first page */
	int32		slot;			/* in the backend's table of pins */
	uint32		serial;			/* of the pin in that slot */
} SkxBlkRef;

/*
 * What this backend has read so far; counts, never reset.  A page found
 * through a ref that already holds its frame is counted nowhere.
 */
typedef struct SkxBlkCounters
{
	uint64		pins;			/* frames pinned (a frame holds 1 or 16 pages) */
	uint64		hits;			/* of these, found in cache or shared buffers */
	uint64		loads;			/* frames read */
	uint64		requests;		/* transfers issued to the kernel */
	uint64		pages_read;		/* pages in them */
	uint64		resident;		/* pages taken from shared buffers by the
								 * residency protocol */
} SkxBlkCounters;

/*
 * blkio_file.c : an index opened by a scan
 *
 * open chooses the method by skipidx.io_method; the file is palloc'd in the
 * current memory context and `rel` must stay open as long as it is used.  pin
 * returns the page, which stays in memory unchanged until unpinned.  It raises
 * ERRCODE_INDEX_CORRUPTED for an ordinal past the end of the plane,
 * ERRCODE_DATA_CORRUPTED or the operating system's error for a failed or short
 * read, and whatever `verify` raises.  close needs no unpinned refs: whatever
 * is pinned stays so until its resource owner goes.  At an error nothing need
 * be called.
 */
extern SkxBlkFile *skx_blkio_open(Relation rel, uint64 incarnation,
								  SkxBlkVerify verify);
extern void skx_blkio_close(SkxBlkFile *file);
extern const char *skx_blkio_pin_slow(SkxBlkFile *file,
									  const SkxBlkPlane *plane,
									  uint32 ordinal, SkxBlkRef *ref);
extern void skx_blkio_unpin(SkxBlkFile *file, SkxBlkRef *ref);

static inline const char *
skx_blkio_pin(SkxBlkFile *file, const SkxBlkPlane *plane, uint32 ordinal,
			  SkxBlkRef *ref)
{
	if (ref->plane == plane && ordinal - ref->first < ref->npages)
	{
		ref->ordinal = ordinal;
		ref->page = ref->base + (Size) (ordinal - ref->first) * BLCKSZ;
		return ref->page;
	}
	return skx_blkio_pin_slow(file, plane, ordinal, ref);
}

/* Where a page of a plane lies; errors as for pin. */
extern BlockNumber skx_blkio_block(Relation rel, const SkxBlkPlane *plane,
								   uint32 ordinal);

/*
 * Is a page in shared buffers, or being read into them?  Whoever reads the
 * file by other means asks this first: a resident page may be newer than the
 * file.
 */
extern bool skx_blkio_resident(Relation rel, BlockNumber block);

/*
 * Tells the method which pages will be wanted soon.  A hint: nothing is
 * pinned, no error is raised for what cannot be read, and a method may ignore
 * it.  Ordinals in ascending order are cheapest.
 */
extern void skx_blkio_prefetch(SkxBlkFile *file, const SkxBlkPlane *plane,
							   const uint32 *ordinals, int n);

/*
 * Does this backend hold so many pins that a cursor should let go of its page
 * between two uses?
 */
extern bool skx_blkio_crowded(SkxBlkFile *file);

/* Name of the method behind an open file, for EXPLAIN and statistics. */
extern const char *skx_blkio_method_name(SkxBlkFile *file);

/*
 * Counts of this backend, exact; and of all backends together since the
 * server started, to which a backend adds at skx_blkio_close and at its end.
 * Totals are zero where no shared memory could be had.
 */
extern const SkxBlkCounters *skx_blkio_counters(void);
extern void skx_blkio_totals(SkxBlkCounters *totals);

/* State of the shared cache; all zero when there is none. */
typedef struct SkxBlkCacheState
{
	uint64		bytes;			/* of pages, without bookkeeping */
	uint64		frames;
	uint64		frames_used;
	uint64		pinned;			/* frames with at least one pin */
	uint64		evictions;
} SkxBlkCacheState;

extern void skx_blkio_cache_state(SkxBlkCacheState *state);

/*
 * Drops every unpinned frame of one index and of its copies (incarnation 0: of
 * all indexes).
 */
extern void skx_blkio_cache_forget(uint64 incarnation);

/*
 * blkio_write.c : pages of a relation file that nobody else can read yet
 *
 * For a new index only.  extend makes the main fork `nblocks` long,
 * zero-filled; it does nothing when it is that long already.  Replay makes the
 * file only as long as its last logged page: write the last block too.
 * write logs the pages when the relation needs it, sets checksums, and writes
 * them to consecutive blocks starting at `block`, all below the file's end;
 * the pages are modified (LSN, checksum).  Their pd_lower..pd_upper hole is
 * not kept.  sync makes all of it durable and must precede commit.
 */
extern void skx_blkio_new_extend(Relation rel, BlockNumber nblocks);
extern void skx_blkio_new_write(Relation rel, BlockNumber block,
								char **pages, int npages);
extern void skx_blkio_new_sync(Relation rel);

/*
 * blkio_live.c : pages of a segment that is made while the index is in use
 *
 * The pages belong to extents that nobody reads before they are published,
 * but that may have been used before: old images may be in shared buffers,
 * dirty ones too.  put copies a finished page; pages gather in batches, and
 * each batch is logged, the log flushed, resident buffers refreshed, the file
 * written, and the checkpointer told to sync it, with checkpoints held off
 * meanwhile.  end writes the last batch; after it everything put is safe as
 * soon as a WAL record that follows is.  Must run inside a transaction, not
 * during recovery.  A failed write is an ordinary error; nothing need be
 * called then.  Interrupts are served between batches.
 */
typedef struct SkxBlkLive SkxBlkLive;

extern SkxBlkLive *skx_blkio_live_begin(Relation rel);
extern void skx_blkio_live_put(SkxBlkLive *live, BlockNumber block,
							   const char *page);
extern void skx_blkio_live_end(SkxBlkLive *live);

/*
 * Makes the main fork at least `nblocks` long; the new pages read as zeros
 * and have their space on disk, so that writing them cannot fail for want of
 * it.  Takes the relation extension lock.
 */
extern void skx_blkio_live_extend(Relation rel, BlockNumber nblocks);

/*
 * blkio_gucs.c : defines skipidx.io_method and skipidx.cache_size, and asks
 * for main shared memory when preloaded.  Called once, from _PG_init.
 */
extern void skx_blkio_init(void);

#endif							/* SKX_BLKIO_BLKIO_H */
