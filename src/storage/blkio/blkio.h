/*
 * blkio.h
 *	  Reads and writes the pages of immutable segments: transfer methods, the
 *	  shared cache, the residency protocol.  Knows blocks, not postings.
 */
#ifndef SKX_BLKIO_H
#define SKX_BLKIO_H

#include "storage/block.h"
#include "utils/relcache.h"

/* A run of pages of a plane that lie one after the other in the file. */
typedef struct SkxBlkRun
{
	uint32		first;			/* page ordinal in the plane */
	uint32		npages;
	BlockNumber block;			/* block of page `first` in the main fork */
} SkxBlkRun;

/*
 * One plane of one segment: how its page ordinals map to the file, and how
 * many pages are worth transferring together.  This number, `unit`, is a
 * power of two and a property of the segment: the index's block for posting
 * lists, 1 for planes that are read page by page.  The pages of one unit
 * (ordinals unit * i .. unit * i + unit - 1) are contiguous in the file; the
 * last unit may be short.
 */
typedef struct SkxBlkPlane
{
	uint64		salt;			/* of the segment, see SkxBlkKey */
	uint32		segment;		/* number of the segment */
	uint8		plane;			/* number of the plane in the segment */
	uint16		unit;
	uint32		npages;
	int			nruns;
	const SkxBlkRun *runs;		/* ascending, without holes */
} SkxBlkPlane;

/*
 * Logical identity of a page; it is never reused, whatever happens to the
 * file.  A copy of an index (CREATE DATABASE, an unlogged index after a
 * crash) continues with the incarnation and the segment numbers of the
 * original.  The salt, random for each segment, distinguishes the segments
 * that original and copy make after that.
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
 * Checks a page that was just transferred.  With `report` it raises an error
 * that says what is wrong with the page, also for a page of zeros; without,
 * it returns false instead.  key->ordinal is that of the page.
 *
 * It is called once per load into the cache, for each page of the frames.
 * Where it is not known when the page was loaded (shared buffers), it is
 * called at every pin.  The server's own checks (header, pg_checksums) have
 * been made before, but a failure of these is reported only if this function
 * finds nothing wrong.
 */
typedef bool (*SkxBlkVerify) (Relation rel, const SkxBlkKey *key,
							  BlockNumber block, const char *page,
							  bool report);

/* An index opened for reading by one scan. */
typedef struct SkxBlkFile SkxBlkFile;

/*
 * A pinned page.  A ref of zeros has nothing pinned.  Pinning through a ref
 * that holds another page releases that one first.  It costs only a
 * comparison when the page lies in the frame already pinned (`base`,
 * `first`, `npages`).
 *
 * The pin ends with the resource owner current when it was taken, at the
 * latest; unpinning afterwards does nothing.  A plane must keep its address
 * in memory as long as refs into it are pinned.
 */
typedef struct SkxBlkRef
{
	const char *page;			/* NULL when nothing is pinned */
	const SkxBlkPlane *plane;
	uint32		ordinal;		/* of page */
	uint32		first;			/* ordinal of the pinned frame's first page */
	uint32		npages;			/* pages in the pinned frame, 0 = no pin */
	const char *base;			/* first page of the pinned frame */
	int32		slot;			/* in the backend's table of pins */
	uint32		serial;			/* of the pin in that slot */
} SkxBlkRef;

/* Numbers of the transfer methods, for counters; never renumbered. */
typedef enum SkxBlkMethodNumber
{
	SKX_BLK_SHARED_BUFFERS,
	SKX_BLK_BUFFERED,
	SKX_BLK_DIRECT,
	SKX_BLK_URING,
	SKX_BLK_URING_DIRECT
} SkxBlkMethodNumber;
#define SKX_BLK_NMETHODS		5

/* Names of the methods by number, as in skipidx.io_method. */
extern const char *const skx_blkio_method_names[SKX_BLK_NMETHODS];

/*
 * Counters of one method, never reset.  All fields are uint64, so that the
 * struct can be added up as an array.  A page found through a ref that
 * already holds its frame is not counted.
 */
typedef struct SkxBlkCounters
{
	uint64		pins;			/* frames pinned (a frame has 1 or 4 pages) */
	uint64		hits;			/* of these, found in memory: in the cache, in
								 * shared buffers or in the backend's frames */
	uint64		loads;			/* frames filled, by reads or by copies */
	uint64		requests;		/* transfers issued to the kernel */
	uint64		pages_read;		/* pages in these transfers */
	uint64		resident_pages; /* pages taken from shared buffers by the
								 * residency protocol */
	uint64		batches;		/* calls that handed requests to the kernel */
	uint64		depth_sum;		/* sum over requests: requests of the backend
								 * under way at its start, itself included */
	uint64		waits;			/* waits for a read of any backend to end */
	uint64		queue_waits;	/* waits because of io_depth_total */
	uint64		prefetches;		/* loads started ahead of pins */
	uint64		prefetches_used;	/* of these, pinned later */
	uint64		rounds;			/* rounds of reads: those requested before one
								 * of them is wanted make one round */
} SkxBlkCounters;

/* blkio_file.c : an index opened by a scan */

/*
 * Opens an index and returns a palloc'd file, which skx_blkio_close frees.
 * The method follows from skipidx.io_method and from whether the file holds
 * pages as they are; to learn that, it may read the metapage.  The caller
 * holds no buffer lock and keeps `rel` open as long as it uses the file.
 */
extern SkxBlkFile *skx_blkio_open(Relation rel, uint64 incarnation,
								  SkxBlkVerify verify);

/*
 * Ends reading ahead for the file, adds this backend's counts to the totals
 * and frees the file.  Waits for reads under way.  Refs need not be unpinned
 * before: each pin lasts until its resource owner ends.  After an error this
 * call is not necessary.
 */
extern void skx_blkio_close(SkxBlkFile *file);

/*
 * Makes all further reads of the file reads in passing, which leave the
 * cache to others.  Frames in the cache are used and not counted as used.
 * Other pages are read into memory of this backend, or with shared_buffers
 * through a ring of a few buffers.
 */
extern void skx_blkio_set_read_once(SkxBlkFile *file);

/* Highest use count of a frame in the cache. */
#define SKX_BLK_USE_COUNT_MAX			4

/*
 * Returns the highest use count, 1 to SKX_BLK_USE_COUNT_MAX, of the frames of
 * a plane that pins found in the cache; 0 if no pin did.  It regards the pins
 * since the last call and the last pin before that call.  `plane` is the
 * number of the plane in keys.  Only for a file read in passing
 * (skx_blkio_set_read_once).
 */
extern int	skx_blkio_hit_use_count(SkxBlkFile *file, uint8 plane);

/*
 * Makes reads of the file bypass the page cache, if skipidx.io_method is
 * `auto` and the file is read by io_uring through it; else does nothing.
 * Must be called before the first pin.
 */
extern void skx_blkio_bypass_page_cache(SkxBlkFile *file);

/*
 * Makes the server read the file, as skipidx.io_method = shared_buffers does,
 * so that it takes no frame of the cache and none of this backend.  Must be
 * called before the first pin.
 */
extern void skx_blkio_read_by_server(SkxBlkFile *file);

/*
 * Does the work of skx_blkio_pin for a page that is not in the frame already
 * pinned by the ref.
 */
extern const char *skx_blkio_pin_slow(SkxBlkFile *file,
									  const SkxBlkPlane *plane,
									  uint32 ordinal, SkxBlkRef *ref);

/*
 * Releases what the ref has pinned, if anything, and sets the ref to zeros.
 * A pin that has ended with its resource owner is left alone.
 */
extern void skx_blkio_unpin(SkxBlkFile *file, SkxBlkRef *ref);

/*
 * Pins a page and returns it.  The page stays in memory unchanged until it
 * is unpinned or its resource owner ends.  Raises ERRCODE_INDEX_CORRUPTED
 * for an ordinal past the end of the plane.  A failed or short read raises
 * ERRCODE_DATA_CORRUPTED or the operating system's error.  Errors of the
 * file's `verify` function are passed on.
 */
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

/*
 * Returns the block of a page of a plane.  Raises ERRCODE_INDEX_CORRUPTED
 * for an ordinal past the end of the plane.
 */
extern BlockNumber skx_blkio_block(Relation rel, const SkxBlkPlane *plane,
								   uint32 ordinal);

/*
 * Returns true if a block is in shared buffers or being read into them.  The
 * buffer may be newer than the file, so this is checked before the file is
 * read by other means.  Not for temporary relations.
 */
extern bool skx_blkio_resident(Relation rel, BlockNumber block);

/*
 * Tells the method which pages of a plane will be pinned soon, best in the
 * order of the pins.  A method may ignore this hint.  Ordinals past the end
 * of the plane are ignored; a read of the file that fails is reported by the
 * pin.
 *
 * With io_uring, adjacent pages become one read, and reads beyond the depth
 * wait until pages are pinned.  The plane must keep its address until the
 * file is closed.
 */
extern void skx_blkio_prefetch(SkxBlkFile *file, const SkxBlkPlane *plane,
							   const uint32 *ordinals, int n);

/*
 * Returns the prefetch depth of the file in units, or 0 if
 * skx_blkio_prefetch does nothing.
 */
extern int	skx_blkio_prefetch_depth(const SkxBlkFile *file);

/*
 * Returns true if this backend, in all its files, holds so many pins that a
 * cursor should drop its page.
 */
extern bool skx_blkio_has_many_pins(SkxBlkFile *file);

/* blkio_prewarm.c : pages of planes into memory */

/*
 * Reads the pages of all these planes in the order of the file, until the
 * cache would begin to drop pages that were just read.  Returns the number
 * of pages read from the file or copied from shared buffers; pages already
 * in the cache are not counted.
 */
extern uint64 skx_blkio_prewarm(SkxBlkFile *file,
								const SkxBlkPlane *const *planes,
								int nplanes);

/* blkio_counters.c : what has been read, by method */

/*
 * Returns the counters of this backend, exact: an array of SKX_BLK_NMETHODS
 * structs by method number.
 */
extern const SkxBlkCounters *skx_blkio_counters(void);

/*
 * Copies the counters of all backends since the server started into
 * `totals`, SKX_BLK_NMETHODS structs by method number; zeros without shared
 * memory for them.  A backend adds its counts in this call, at
 * skx_blkio_close and when it ends.
 */
extern void skx_blkio_totals(SkxBlkCounters *totals);

/* Sets `sum` to the sum of SKX_BLK_NMETHODS structs, one for each method. */
extern void skx_blkio_sum(const SkxBlkCounters *counters,
						  SkxBlkCounters *sum);

/* Returns the rounds of reads of this backend so far, over all methods. */
extern uint64 skx_blkio_rounds(void);

/*
 * State of the shared cache.  Without a cache all fields but `configured`
 * are zero.
 */
typedef struct SkxBlkCacheState
{
	uint64		configured;		/* skipidx.cache_size, bytes */
	uint64		bytes;			/* most bytes of pages, no bookkeeping */
	uint64		bytes_allocated;	/* of these, in pieces that exist so far */
	uint64		frames;			/* most frames */
	uint64		frames_used;	/* frames with a key */
	uint64		pinned;			/* frames with at least one pin */
	uint64		evictions;
	uint64		prewarmed;		/* pages read back since the start */
	uint64		reads_in_flight;	/* under way in all backends, as counted
									 * for skipidx.io_depth_total */
	uint64		queued_backends;	/* backends that wait for such a read to
									 * end */
} SkxBlkCacheState;

/*
 * Fills `state`; creates the cache if it does not exist yet.  The counts of
 * frames are approximate while other backends read.
 */
extern void skx_blkio_cache_state(SkxBlkCacheState *state);

/* blkio_settings.c : the settings in force */

/*
 * A setting as configured, as in force for a permanent index opened at this
 * time, and the reason for a difference.
 */
typedef struct SkxBlkSetting
{
	const char *name;
	char	   *configured;
	char	   *in_force;		/* NULL if the setting has no effect */
	char	   *reason;			/* NULL if it is in force as configured */
} SkxBlkSetting;

/*
 * Fills `setting` with setting `number`, from 0 on; returns false if there
 * is no such number.  The strings are constants or palloc'd.  Makes the
 * cache and the ring if they are wanted, as a search would.
 */
extern bool skx_blkio_setting(int number, SkxBlkSetting *setting);

/* Frames of an index and its copies in the cache, loaded or being read. */
typedef struct SkxBlkIndexFrames
{
	uint64		incarnation;
	uint64		block_frames;
	uint64		page_frames;
	uint64		bytes;			/* of these frames */
} SkxBlkIndexFrames;

/*
 * Returns a palloc'd array of *n entries, one for each index in the cache,
 * in no promised order; NULL and *n = 0 without a cache.  Approximate while
 * other backends read.
 */
extern SkxBlkIndexFrames *skx_blkio_cache_indexes(int *n);

/*
 * Drops all unpinned frames of the index with this incarnation, or of all
 * indexes if it is 0.  Returns the number of frames dropped.
 */
extern uint64 skx_blkio_cache_forget(uint64 incarnation);

/*
 * Sets the use count of all frames of some segments of an index to 0.
 * Unless they are used again, the clock evicts them before frames in use.
 * `planes` has n planes, at least one of each of these segments.
 */
extern void skx_blkio_cache_retire(uint64 incarnation,
								   const SkxBlkPlane *const *planes, int n);

/* blkio_extend.c : the length of the file */

/*
 * Makes the main fork of an index in use at least `nblocks` long; new pages
 * are zero and have space on disk.  Returns 0, and raises an error if they
 * cannot get it.  With `spare` it returns the errno instead, and also refuses
 * (ENOSPC) if less than 1 MB would be left on the disk.  Without space for
 * all, the file gets no new block, unless it is made longer through the
 * server.  Takes the relation extension lock unless the relation is temporary.
 */
extern int	skx_blkio_extend(Relation rel, uint64 incarnation,
							 BlockNumber nblocks, bool spare);

/*
 * Finds out, if it is not known, whether skx_blkio_extend may make this file
 * longer past the storage manager.  May attach to the cache, read the metapage
 * and write it out.  Does none of that, so that the storage manager makes the
 * file longer, if the caller holds a buffer lock.
 */
extern void skx_blkio_extend_prepare(Relation rel, uint64 incarnation);

/*
 * Makes the main fork of a new index at least `nblocks` long; new pages are
 * zero.  Replay makes the file only as long as its last logged page, so the
 * last block must be written too.  Takes the relation extension lock unless
 * the relation is temporary, and raises an error if the file cannot be
 * extended.
 */
extern void skx_blkio_extend_new(Relation rel, uint64 incarnation,
								 BlockNumber nblocks);

/*
 * Reports, at level `elevel`, that the index could not be extended because
 * of errno `error`.
 */
extern void skx_blkio_no_space(Relation rel, int error, int elevel);

/*
 * blkio_writer.c : pages of segments into the file
 *
 * The pages of an index in use belong to extents that are not read before
 * they are published, but that may have been used before.  No query can read
 * a new index yet.  A writer must be used inside a transaction, not during
 * recovery.  Pages that were put are copies, and up to 1 MB of them wait in
 * the writer.  Nothing is under way between two calls, so after an error no
 * call is necessary.
 */

/* A writer, with the batch of pages that are not written yet. */
typedef struct SkxBlkWriter SkxBlkWriter;

/*
 * Returns a writer for an index in use.  `bytes` is how much is expected to be
 * put; if it is large, `auto` also bypasses the page cache.  May read the
 * metapage, so the caller holds no buffer lock.  Raises an error during
 * recovery.
 */
extern SkxBlkWriter *skx_blkio_writer_begin(Relation rel, uint64 incarnation,
											uint64 bytes);

/*
 * Returns a writer for a new index.  Several processes may have one for the
 * same file.
 */
extern SkxBlkWriter *skx_blkio_writer_begin_new(Relation rel);

/*
 * Copies a finished page, to be written to `block`; pages can come in any
 * order.  A full batch is logged, if the relation needs it, and written before
 * the function returns; interrupts are served between batches.  The hole
 * between pd_lower and pd_upper is not kept by the log.  Raises an error for a
 * block past the end of the file or twice in a batch, for a page of zeros
 * unless the index is new, or for a failed write.  The caller holds no buffer
 * lock.
 */
extern void skx_blkio_writer_put(SkxBlkWriter *w, BlockNumber block,
								 const char *page);

/*
 * Writes the pages that wait in the writer, so that all that were put can be
 * read.  Raises errors as skx_blkio_writer_put; the caller holds no buffer
 * lock.
 */
extern void skx_blkio_writer_flush(SkxBlkWriter *w);

/*
 * Writes the last batch and frees the writer.  After that all pages of an
 * index in use survive a crash as soon as a WAL record that follows does.
 * Each process must call it before the file is read.  Raises errors as
 * skx_blkio_writer_put; the caller holds no buffer lock.
 */
extern void skx_blkio_writer_end(SkxBlkWriter *w);

/*
 * Gives all blocks of a new index space on disk, and makes the file durable
 * unless it is temporary.  Called after the writers of all processes have
 * ended, and before the commit.  Raises an error if the disk is full.
 */
extern void skx_blkio_new_sync(Relation rel, uint64 incarnation);

/* blkio_hint.c : blocks that the server will read */

/* Number of blocks in a run that is worth one hint. */
#define SKX_BLK_HINT_RUN_BLOCKS				16

/*
 * Tells the kernel that the server will read these blocks of a relation, of
 * any kind: by the storage manager with skipidx.io_method = shared_buffers or
 * where the file cannot be opened.  Raises no error if the file ends before,
 * and does nothing for a temporary relation.
 */
extern void skx_blkio_hint(Relation rel, BlockNumber first, uint32 nblocks);

/* blkio_measure.c : times of reads of single pages, as scans read them */

/* Order in which a measurement reads pages. */
typedef enum SkxBlkPattern
{
	SKX_MEASURE_FORWARD,
	SKX_MEASURE_BACKWARD,
	SKX_MEASURE_RANDOM,			/* each page once */
	SKX_MEASURE_SKIPPING		/* forward, one of 8 pages */
} SkxBlkPattern;

/* What to measure: one pass over a file. */
typedef struct SkxBlkMeasure
{
	const char *path;
	uint32		nblocks;		/* reads blocks below; a power of two */
	SkxBlkPattern pattern;
	bool		direct;			/* with O_DIRECT, past the page cache */
	bool		cached;			/* keep what the page cache has */
	int			depth;			/* reads under way, at least 1 */
	double		seconds;		/* most time of the pass */
} SkxBlkMeasure;

/*
 * Makes one pass, until all blocks are read or its time is over, and returns
 * the seconds per read.  Returns 0 if it cannot be measured: no read, no
 * O_DIRECT, or no io_uring for `direct` with a depth above 1.
 *
 * Unless `cached` is set, the page cache drops the file before the pass, as
 * far as it has been synced.  Errors of reads are raised, and a cancel is
 * served between reads.
 */
extern double skx_blkio_measure(const SkxBlkMeasure *what);

/* Settings and their bounds. */
#define SKX_BLK_METHOD_AUTO		(-1)	/* else a SkxBlkMethodNumber */
#define SKX_BLK_MAX_AHEAD	64	/* most units read ahead: of io_depth */
#define SKX_BLK_DEPTH_MAX	10000	/* of io_depth_total */

extern int	skx_blkio_io_method;
extern int	skx_blkio_io_depth;
extern int	skx_blkio_io_depth_total;
extern int	skx_blkio_cache_size;	/* kB */

/* blkio_anchor.c : where processes find the cache */

/*
 * Called from _PG_init.  If the library is preloaded, it has the server put
 * the cache into main shared memory; else it does nothing.
 */
extern void skx_blkio_anchor_init(void);

#endif							/* SKX_BLKIO_H */
