/*
 * blkio.h
 *	  Pages of immutable segments, in and out: transfer methods, the shared
 *	  cache, the residency protocol.  Knows blocks, not postings.
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
	BlockNumber block;			/* where page `first` lies in the main fork */
} SkxBlkRun;

/*
 * One plane of one segment: how its page ordinals map to the file, and how
 * many pages are worth transferring together (`unit`, a power of two: the
 * index's block for posting lists, 1 for what is read page by page).
 * Pages of one unit (ordinals unit * i .. unit * i + unit - 1) are contiguous
 * in the file; the last may be short.  `unit` is a property of the segment.
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
 * wrong with it, also for zeros.  Called once per load into the cache, for each
 * page of the frames; at every pin where it is not known when the page was
 * loaded.  key->ordinal is that of the page.
 * The server's own checks (header, pg_checksums) have been made, but their
 * verdict is reported only when this function finds nothing to say.  Without
 * `report` it returns false instead.
 */
typedef bool (*SkxBlkVerify) (Relation rel, const SkxBlkKey *key,
							  BlockNumber block, const char *page,
							  bool report);

/* An index opened for reading by one scan. */
typedef struct SkxBlkFile SkxBlkFile;

/*
 * A pinned page.  Zero-initialised means "nothing pinned"; pinning through a
 * ref that holds another page releases that first, and costs a comparison
 * when the page lies in the frame already pinned (`base`, `first`, `npages`).
 *
 * The pin ends with the resource owner current when it was taken, at the
 * latest; unpinning afterwards does nothing.  A plane must stay where it is in
 * memory as long as refs into it are pinned.
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

/* The methods, as counters know them; never renumbered. */
typedef enum SkxBlkMethodNumber
{
	SKX_BLK_SHARED_BUFFERS,
	SKX_BLK_BUFFERED,
	SKX_BLK_DIRECT,
	SKX_BLK_URING,
	SKX_BLK_URING_DIRECT
} SkxBlkMethodNumber;
#define SKX_BLK_NMETHODS		5

/* Their names, as in skipidx.io_method. */
extern const char *const skx_blkio_method_names[SKX_BLK_NMETHODS];

/*
 * What has been read by one method; counts, never reset, all of them uint64.
 * A page found through a ref that already holds its frame is counted nowhere.
 */
typedef struct SkxBlkCounters
{
	uint64		pins;			/* frames pinned (a frame holds 1 or 4 pages) */
	uint64		hits;			/* of these, found in cache or shared buffers */
	uint64		loads;			/* frames read */
	uint64		requests;		/* transfers issued to the kernel */
	uint64		pages_read;		/* pages in them */
	uint64		resident;		/* pages taken from shared buffers by the
								 * residency protocol */
	uint64		batches;		/* calls that handed requests to the kernel */
	uint64		depth_sum;		/* over requests: how many of the backend's
								 * were under way then, it included */
	uint64		waits;			/* for a read under way, of any backend */
	uint64		queue_waits;	/* for others' reads to end: io_depth_total */
	uint64		ahead;			/* units read before they were pinned */
	uint64		ahead_used;		/* of these, pinned later */
	uint64		rounds;			/* times that reads were wanted which had been
								 * asked for since the last such time */
} SkxBlkCounters;

/*
 * blkio_file.c : an index opened by a scan
 *
 * open chooses the method by skipidx.io_method and by whether the file holds
 * pages as they are, for which it may read the metapage; the file is palloc'd,
 * and `rel` must stay open as long as it is used.  pin
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

/*
 * From now on this file is read in passing: what the cache has is used, and
 * nothing is put there.  A page is then in memory only while it is pinned.
 */
extern void skx_blkio_once(SkxBlkFile *file);

/*
 * Of such a file: how often the pages of a plane (by its number in keys) that
 * were pinned since the last call of this, and the last one before, were used
 * while the cache had them: the most of them, SKX_BLK_USES at most; 0: it had
 * none.
 */
#define SKX_BLK_USES			4

extern int	skx_blkio_met(SkxBlkFile *file, uint8 plane);

/*
 * And past the page cache, too, where `auto` reads through it and there is
 * io_uring to read ahead.  Before the first pin.
 */
extern void skx_blkio_past(SkxBlkFile *file);
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
 * Is a page in shared buffers, or being read into them?  It may be newer than
 * the file: to be asked before the file is read by other means.
 */
extern bool skx_blkio_resident(Relation rel, BlockNumber block);

/*
 * Tells the method which pages will be wanted soon, best in the order of pins.
 * A hint: no error is raised, and a method may ignore it.  What exceeds the
 * depth waits and is started as pages are pinned; adjacent pages become one
 * read.  The plane must stay where it is until the file is closed.
 */
extern void skx_blkio_prefetch(SkxBlkFile *file, const SkxBlkPlane *plane,
							   const uint32 *ordinals, int n);

/* Units that prefetch can have under way; 0: it would do nothing. */
extern int	skx_blkio_ahead(const SkxBlkFile *file);

/* Does this backend hold so many pins that a cursor should drop its page? */
extern bool skx_blkio_crowded(SkxBlkFile *file);

/*
 * blkio_prewarm.c : reads the pages of all these planes, in the order of the
 * file, until the cache would begin to drop what it has just read; returns how
 * many pages that were, those already in the cache not counted.
 */
extern uint64 skx_blkio_prewarm(SkxBlkFile *file,
								const SkxBlkPlane *const *planes,
								int nplanes);

/*
 * Counts by method number of this backend, exact; and of all since the server
 * started, to which each adds at skx_blkio_close, here, and at its end.
 * SKX_BLK_NMETHODS structs each; sum adds them up.
 */
extern const SkxBlkCounters *skx_blkio_counters(void);
extern void skx_blkio_totals(SkxBlkCounters *totals);
extern void skx_blkio_sum(const SkxBlkCounters *counters,
						  SkxBlkCounters *sum);
extern uint64 skx_blkio_rounds(void);	/* of this backend */

/* State of the shared cache; but for `configured`, zeros without one. */
typedef struct SkxBlkCacheState
{
	uint64		configured;		/* skipidx.cache_size, bytes */
	uint64		bytes;			/* of pages, without bookkeeping, at most */
	uint64		taken;			/* of these, so far */
	uint64		frames;			/* at most */
	uint64		frames_used;
	uint64		pinned;			/* frames with at least one pin */
	uint64		evictions;
	uint64		reads;			/* under way in all backends, as counted for
								 * skipidx.io_depth_total */
	uint64		queue;			/* backends that wait for one of these to end */
} SkxBlkCacheState;

extern void skx_blkio_cache_state(SkxBlkCacheState *state);

/* blkio_settings.c : the settings in force; false: there is no such number */
typedef struct SkxBlkSetting
{
	const char *name;
	char	   *configured;
	char	   *in_force;		/* NULL: nothing of it is */
	char	   *reason;			/* NULL: it is as configured */
} SkxBlkSetting;

extern bool skx_blkio_setting(int number, SkxBlkSetting *setting);

/* What the cache holds, or is being read, of an index and its copies. */
typedef struct SkxBlkCached
{
	uint64		incarnation;
	uint64		block_frames;
	uint64		page_frames;
	uint64		bytes;			/* of these frames */
} SkxBlkCached;

/* All of them, in no order; palloc'd.  Approximate while others read. */
extern SkxBlkCached *skx_blkio_cache_indexes(int *n);

/* Drops all unpinned frames of it (0: of all); returns how many there were. */
extern uint64 skx_blkio_cache_forget(uint64 incarnation);

/*
 * Has the clock take those of an index's segments next, unless they are used
 * again: of each segment some plane is given.
 */
extern void skx_blkio_cache_retire(uint64 incarnation,
								   const SkxBlkPlane *const *planes, int n);

/*
 * blkio_write_new.c : pages of a relation file that no other backend can read
 * yet
 *
 * For a new index only.  extend makes the main fork `nblocks` long, if it is
 * not; replay only as long as its last logged page: write the last block too.
 * write takes copies of the pages for consecutive blocks from `block` on, all
 * below the file's end; up to 1 MB of them wait or are on their way.  Each
 * is logged if the relation needs it, and written with LSN and checksum; the
 * pd_lower..pd_upper hole is not kept.  finish sees all of that done, and must
 * be called, by each process that wrote, before the file is read.  agree: how
 * this process would write, for all that write the file together, each of which
 * is told (agreed_on) before it writes; it holds until sync.  sync does
 * so, gives all blocks space, makes the file durable, and must precede commit.
 * failed: where the error that ends a build has been caught, whose context this
 * was: no page of the file stays torn, which CREATE INDEX CONCURRENTLY leaves;
 * throws the error again.
 */
extern void skx_blkio_new_extend(Relation rel, BlockNumber nblocks);
extern void skx_blkio_new_write(Relation rel, BlockNumber block,
								char **pages, int npages);
extern int	skx_blkio_new_agree(Relation rel);
extern void skx_blkio_new_agreed_on(Relation rel, int way);
extern void skx_blkio_new_finish(Relation rel);
extern void skx_blkio_new_sync(Relation rel);
extern void skx_blkio_new_failed(Relation rel, MemoryContext context);

/*
 * blkio_write_live.c : pages of a segment that is made while the index is in use
 *
 * They belong to extents that are not read before they are published, but that
 * may have been used before.  put copies a finished page; pages are logged and
 * written in batches, with interrupts served in between.  After end everything
 * put is safe as soon as a WAL record that follows is.  Must run inside a
 * transaction, not during recovery.  At an error nothing need be called.
 * `bytes` is what is expected to be put: much of it is written past the page
 * cache by `auto` too.  begin may read the metapage.
 */
typedef struct SkxBlkLive SkxBlkLive;

extern SkxBlkLive *skx_blkio_live_begin(Relation rel, uint64 incarnation,
										uint64 bytes);
extern void skx_blkio_live_put(SkxBlkLive *live, BlockNumber block,
							   const char *page);
extern void skx_blkio_live_end(SkxBlkLive *live);

/*
 * Makes the main fork at least `nblocks` long, new pages zero and with space on
 * disk, or errors out; `spare`: or returns errno, and leaves 1 MB of the disk.
 */
extern int	skx_blkio_live_extend(Relation rel, BlockNumber nblocks,
								  bool spare);
extern void skx_blkio_no_space(Relation rel, int error, int elevel);

/*
 * blkio_hint.c : the server will read these blocks of a relation of any kind
 *
 * A hint: no error is raised, and blocks past the end of the file are none.
 * What a run is that is worth one: so many blocks.
 */
#define SKX_BLK_RUN				16

extern void skx_blkio_hint(Relation rel, BlockNumber first, uint32 nblocks);

/*
 * blkio_measure.c : reads of single pages of a file, as scans read them
 *
 * Seconds a read, of a pass that ends with the file or after so many seconds;
 * 0: this is not to be had here (no O_DIRECT, no io_uring for a depth).  The
 * page cache has nothing of the file when the pass begins, if all of it has
 * been synced, but where `cached` says otherwise.  Errors of reads are raised,
 * and a cancel is served between them.
 */
typedef enum SkxBlkPattern
{
	SKX_MEASURE_FORWARD,
	SKX_MEASURE_BACKWARD,
	SKX_MEASURE_RANDOM,			/* each page once */
	SKX_MEASURE_SKIPPING		/* forward, one of 8 pages */
} SkxBlkPattern;

typedef struct SkxBlkMeasure
{
	const char *path;
	uint32		nblocks;		/* a power of two */
	SkxBlkPattern pattern;
	bool		direct;
	bool		cached;			/* leave the page cache what it has */
	int			depth;			/* at least 1 */
	double		seconds;
} SkxBlkMeasure;

extern double skx_blkio_measure(const SkxBlkMeasure *what);

/* Settings, and their bounds. */
#define SKX_BLK_AUTO		(-1)	/* else a SkxBlkMethodNumber */
#define SKX_BLK_MAX_AHEAD	64		/* units read ahead: of io_depth */
#define SKX_BLK_DEPTH_MOST	10000	/* of io_depth_total */

extern int	skx_blkio_io_method;
extern int	skx_blkio_io_depth;
extern int	skx_blkio_io_depth_total;
extern int	skx_blkio_cache_size;	/* kB */

/* blkio_anchor.c : main shared memory, if preloaded; from _PG_init */
extern void skx_blkio_anchor_init(void);

#endif							/* SKX_BLKIO_H */
