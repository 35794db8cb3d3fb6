/*
 * blkio_cache.h
 *	  The cache in shared memory: layout, and the life of a frame.
 */
#ifndef SKX_BLKIO_CACHE_H
#define SKX_BLKIO_CACHE_H

#include "storage/blkio/blkio_glance.h"
#include "storage/blkio/blkio_internal.h"
#include "storage/blkio/blkio_path.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"

/* Partition locks of the hash table. */
#define SKX_BLK_PARTITIONS		128

/*
 * Words in the table of answers of skx_blkio_path_is_readable: of the table in
 * shared memory, and of the one that a process without a cache has for itself.
 */
#define SKX_BLK_PATHS_SHARED			4096
#define SKX_BLK_PATHS_LOCAL		64

/*
 * State of a frame in one word: the number of pins, the use count of the
 * clock sweep, flags, and in the high half the version.  A backend has a few
 * pins of a frame at most.  The version changes before the pages of a frame
 * that was VALID may change (blkio_glance.c).
 */
#define SKX_BLK_PIN_ONE				UINT64CONST(1)
#define SKX_BLK_PIN_MASK		UINT64CONST(0xFFFFFF)
#define SKX_BLK_USE_ONE				(UINT64CONST(1) << 24)
#define SKX_BLK_USE_MASK		(UINT64CONST(7) << 24)
#define SKX_BLK_USE_MAX			(SKX_BLK_USE_COUNT_MAX * SKX_BLK_USE_ONE)
#define SKX_BLK_HAS_KEY			(UINT64CONST(1) << 27)	/* has a key */
#define SKX_BLK_VALID			(UINT64CONST(1) << 28)	/* pages verified */
#define SKX_BLK_LOADING			(UINT64CONST(1) << 29)	/* being read */
#define SKX_BLK_PREFETCHED			(UINT64CONST(1) << 30)	/* ahead of its pin */
#define SKX_BLK_TIMED_OUT			(UINT64CONST(1) << 31)	/* a wait timed out */
#define SKX_BLK_VERSION			(UINT64CONST(1) << SKX_BLK_VERSION_SHIFT)
#define SKX_BLK_VERSION_MASK	(~(SKX_BLK_VERSION - 1))

/*
 * Descriptor of a frame.  key and hash change only while the frame is not in
 * the hash table and has exactly one pin, of the backend that changes them.
 * next changes only under the exclusive partition lock of the hash.
 */
typedef struct SkxBlkFrame
{
	pg_atomic_uint64 state;
	SkxBlkKey	key;
	uint32		hash;			/* skx_blkio_cache_hash of the key */
	int32		next;			/* next frame of the bucket, -1 at the end */
	ConditionVariable load_cv;	/* signals that BUSY has been cleared */
} SkxBlkFrame;

/* Bytes of a cache line of the processor. */
#define SKX_BLK_FRAME_SIZE		64

/* A frame descriptor, padded to a cache line. */
typedef union SkxBlkFramePadded
{
	SkxBlkFrame frame;
	char		pad[SKX_BLK_FRAME_SIZE];
} SkxBlkFramePadded;

StaticAssertDecl(sizeof(SkxBlkFramePadded) == SKX_BLK_FRAME_SIZE,
				 "a frame descriptor must fill one cache line");

/*
 * The cache is made in pieces, each when those before it are full.  The
 * reason is that the server writes zeros to all of a dynamic segment when it
 * makes it, .25 ms a MB.  SKX_BLK_PIECE_MB is the size of the pages of the
 * first piece.  The other pieces have the same size, or a larger one if more
 * than SKX_BLK_PIECES pieces would be needed.
 */
#define SKX_BLK_PIECE_MB		16
#define SKX_BLK_PIECES			64

/* How a cache is divided into pieces; arrays are by class of frame. */
typedef struct SkxBlkDivision
{
	uint32		first_frames[SKX_BLK_NCLASSES]; /* frames of the first piece */
	uint32		piece_frames[SKX_BLK_NCLASSES]; /* frames of each other piece */
	uint32		npieces;
} SkxBlkDivision;

/* Layout of a piece, as offsets in bytes from its start. */
typedef struct SkxBlkLayout
{
	Size		frames;			/* descriptors, block class first */
	Size		pages[SKX_BLK_NCLASSES];	/* pages of each class */
	Size		end;			/* end of the piece */
} SkxBlkLayout;

/*
 * Identifies the format of the cache.  A library that was replaced while the
 * server runs may find a cache that the replaced library made.  Sessions
 * with that library continue to use it; a process does not use a cache of
 * another kind.
 */
#define SKX_BLK_CACHE_MAGIC		UINT64CONST(0x534B584361636865)
#define SKX_BLK_CACHE_VERSION	2
#define SKX_BLK_CACHE_KIND \
	(SKX_BLK_CACHE_MAGIC ^ ((uint64) SKX_BLK_CACHE_VERSION << 48 | \
							(uint64) sizeof(SkxBlkFrame) << 32 | \
							sizeof(SkxBlkCacheHeader)))

/*
 * Head of the cache, at the start of the first piece.  `buckets` and
 * `depths` are offsets from there.
 */
typedef struct SkxBlkCacheHeader
{
	uint64		kind;			/* SKX_BLK_CACHE_KIND */
	SkxBlkDivision division;	/* as made; `max_pieces` limits the pieces */
	SkxBlkLayout layout;		/* of the first piece */
	uint32		nbuckets;		/* a power of two, at least the partitions */
	Size		buckets;		/* int32 each: first frame, or -1 if empty */
	pg_atomic_uint32 max_pieces;	/* most pieces the cache may get */
	pg_atomic_uint32 npieces;	/* number of pieces that exist */
	dsm_handle	handles[SKX_BLK_PIECES];	/* of pieces from 1 on */
	pg_atomic_uint64 evictions; /* frames evicted so far */
	pg_atomic_uint32 clock_hands[SKX_BLK_NCLASSES]; /* clock hands */
	uint32		ndepths;		/* words of processes, see blkio_depth.c */
	Size		depths;			/* pg_atomic_uint64 each */
	pg_atomic_uint32 depth_in_use;	/* reads under way */
	pg_atomic_uint32 depth_waiters; /* backends that wait to read */
	ConditionVariable depth_cv; /* signals that a read has ended */
	pg_atomic_uint64 warmer;	/* see blkio_warmer.c */
	pg_atomic_uint64 claims_saved;	/* claims when the cache was noted last */
	pg_atomic_uint64 prewarmed; /* pages read back since the start */
	pg_atomic_uint32 warmed;	/* 1 when that has ended */
	SkxBlkPathEntry paths[SKX_BLK_PATHS_SHARED];
	LWLockPadded locks[SKX_BLK_PARTITIONS];
} SkxBlkCacheHeader;

/* A piece as addresses in this process. */
typedef struct SkxBlkPiece
{
	SkxBlkFramePadded *frames;
	char	   *pages[SKX_BLK_NCLASSES];
	uint32		nframes[SKX_BLK_NCLASSES];
} SkxBlkPiece;

/*
 * The cache as mapped in this process; header is NULL without a cache.  The
 * number of a frame has the number of its piece in the high bits, and in the
 * `frame_shift` low bits the index of its descriptor in that piece.
 */
typedef struct SkxBlkCache
{
	SkxBlkCacheHeader *header;
	int32	   *buckets;
	uint32		bucket_mask;
	int			frame_shift;	/* low bits of a frame's number */
	uint32		npieces;		/* pieces mapped */
	bool		map_failed;		/* mapping further pieces has failed */
	SkxBlkPiece pieces[SKX_BLK_PIECES];
	uint32		nframes[SKX_BLK_NCLASSES];	/* with all pieces to come */
	uint32		mapped_frames[SKX_BLK_NCLASSES];	/* frames of the pieces
													 * mapped */
	pg_atomic_uint64 *depths;	/* words of processes, see blkio_depth.c */
} SkxBlkCache;

/* The cache of this process. */
extern SkxBlkCache skx_blkio_cache;

/* Returns the piece of a frame. */
static inline const SkxBlkPiece *
skx_blkio_cache_piece(int32 frame)
{
	return &skx_blkio_cache.pieces[frame >> skx_blkio_cache.frame_shift];
}

/* Returns the index of a frame's descriptor in its piece. */
static inline uint32
skx_blkio_cache_index_in_piece(int32 frame)
{
	return frame & (((uint32) 1 << skx_blkio_cache.frame_shift) - 1);
}

/* Returns the descriptor of a frame. */
static inline SkxBlkFrame *
skx_blkio_cache_frame(int32 frame)
{
	const SkxBlkPiece *piece = skx_blkio_cache_piece(frame);

	return &piece->frames[skx_blkio_cache_index_in_piece(frame)].frame;
}

/* Returns the class of a frame. */
static inline SkxBlkClass
skx_blkio_cache_class(int32 frame)
{
	const SkxBlkPiece *piece = skx_blkio_cache_piece(frame);

	return skx_blkio_cache_index_in_piece(frame) <
		piece->nframes[SKX_BLK_CLASS_BLOCK] ?
		SKX_BLK_CLASS_BLOCK : SKX_BLK_CLASS_PAGE;
}

/* Returns the address of the first page of a frame. */
static inline char *
skx_blkio_cache_pages(int32 frame)
{
	const SkxBlkPiece *piece = skx_blkio_cache_piece(frame);
	uint32		place = skx_blkio_cache_index_in_piece(frame);
	uint32		nblock = piece->nframes[SKX_BLK_CLASS_BLOCK];

	if (place < nblock)
		return piece->pages[SKX_BLK_CLASS_BLOCK] +
			(Size) place * SKX_BLK_FRAME_PAGES * BLCKSZ;
	return piece->pages[SKX_BLK_CLASS_PAGE] +
		(Size) (place - nblock) * BLCKSZ;
}

/*
 * Returns the next frame of the mapped pieces, or -1 after the last one.
 * The first frame follows -1.
 */
static inline int32
skx_blkio_cache_next(int32 frame)
{
	const SkxBlkPiece *piece;
	uint32		behind;

	if (frame < 0)
		return skx_blkio_cache.npieces > 0 ? 0 : -1;
	piece = skx_blkio_cache_piece(frame);
	if (skx_blkio_cache_index_in_piece(frame) + 1 <
		piece->nframes[SKX_BLK_CLASS_BLOCK] +
		piece->nframes[SKX_BLK_CLASS_PAGE])
		return frame + 1;
	behind = (frame >> skx_blkio_cache.frame_shift) + 1;
	return behind < skx_blkio_cache.npieces ?
		(int32) (behind << skx_blkio_cache.frame_shift) : -1;
}

/* Returns true if two keys are equal. */
static inline bool
skx_blkio_same_key(const SkxBlkKey *a, const SkxBlkKey *b)
{
	return a->incarnation == b->incarnation && a->ordinal == b->ordinal &&
		a->segment == b->segment && a->plane == b->plane &&
		a->salt == b->salt;
}

/* Returns the bytes of pages in frames; `nframes` is an array by class. */
static inline Size
skx_blkio_frames_bytes(const uint32 *nframes)
{
	return BLCKSZ *
		((Size) nframes[SKX_BLK_CLASS_BLOCK] * SKX_BLK_FRAME_PAGES +
		 nframes[SKX_BLK_CLASS_PAGE]);
}

/* Returns the most bytes of pages the cache may get; 0 without a cache. */
static inline Size
skx_blkio_cache_bytes(void)
{
	return skx_blkio_frames_bytes(skx_blkio_cache.nframes);
}

/* blkio_cache.c : the life of a frame */

/* Result of a wait for a frame. */
typedef enum SkxBlkWaitResult
{
	SKX_BLK_WAIT_VALID,			/* the frame has its pages */
	SKX_BLK_WAIT_MUST_LOAD,		/* this backend must load it */
	SKX_BLK_WAIT_TIMED_OUT		/* read ahead by a backend that may sleep */
} SkxBlkWaitResult;

/* Returns the hash of a key, as the functions below take it. */
extern uint32 skx_blkio_cache_hash(const SkxBlkKey *key);

/*
 * Returns the frame of a key, pinned, or -1 if it is not in the cache.  The
 * frame need not be valid yet.  With `use` its use count goes up, which
 * delays its eviction.  Takes the partition lock shared, in the call only.
 */
extern int32 skx_blkio_cache_find(const SkxBlkKey *key, uint32 hash,
								  bool use);

/* Returns true if a frame of this key is valid or being read; pins nothing. */
extern bool skx_blkio_cache_present(const SkxBlkKey *key, uint32 hash);

/*
 * Takes a frame of `class` for a key that was not found, evicting another
 * page if necessary, and returns it pinned.  *mine is true if this backend
 * must load it (`ahead`: ahead of a pin, which may take long).  *mine is
 * false if another backend has put the key into the cache meanwhile; the
 * result is its frame.  Returns -1 if every frame of the class is pinned or
 * a piece of the cache cannot be mapped; with `spare`, which evicts nothing,
 * also if no frame is left that was never taken.
 */
extern int32 skx_blkio_cache_claim(const SkxBlkKey *key, uint32 hash,
								   SkxBlkClass class, bool ahead, bool spare,
								   bool *mine);

/*
 * Returns true if the cache has frames of a class, or may get some, that were
 * never taken and that this process can take.
 */
extern bool skx_blkio_cache_has_spare(SkxBlkClass class);

/* Makes the use count of a pinned frame at least `uses`. */
extern void skx_blkio_cache_raise_uses(int32 frame, int uses);

/*
 * Gives the cache one more piece if all its frames of `class` are taken and
 * it may grow.  Called before skx_blkio_cache_claim; does nothing in a
 * critical section or while interrupts are held off, as they are under any
 * LWLock.
 */
extern void skx_blkio_cache_grow(SkxBlkClass class);

/*
 * Returns true if this backend must load a frame that it has pinned, because
 * the backend that was to load it failed; the frame is then busy.  With
 * `ahead` other backends know that the load may take long.
 */
extern bool skx_blkio_cache_reclaim(int32 frame, bool ahead);

/*
 * Waits until a pinned frame is valid, or this backend must load it, or the
 * wait is not worthwhile; the result says which.  Adds 1 to *waits if it had
 * to sleep.  The wait can be cancelled, which raises an error.
 */
extern SkxBlkWaitResult skx_blkio_cache_wait_valid(int32 frame, uint64 *waits);

/*
 * Ends the load of a frame by this backend and wakes waiting backends.  With
 * `valid` the frame has its pages, else the load has failed.  The pin
 * remains.  Never fails, so it can be called while cleaning up.
 */
extern void skx_blkio_cache_end_load(int32 frame, bool valid);

/* Releases a pin of a frame.  Never fails. */
extern void skx_blkio_cache_unpin(int32 frame);

/* Returns true if a pinned frame has its pages. */
static inline bool
skx_blkio_cache_valid(int32 frame)
{
	uint64		state =
		pg_atomic_read_u64(&skx_blkio_cache_frame(frame)->state);

	pg_read_barrier();
	return (state & SKX_BLK_VALID) != 0;
}

/* Returns the use count of a frame, 0 to SKX_BLK_USE_COUNT_MAX. */
static inline int
skx_blkio_cache_uses(int32 frame)
{
	return (int) ((pg_atomic_read_u64(&skx_blkio_cache_frame(frame)->state) &
				   SKX_BLK_USE_MASK) / SKX_BLK_USE_ONE);
}

/* Returns the ordinal of the first page of the frame that holds a page. */
static inline uint32
skx_blkio_frame_first_page(const SkxBlkPlane *plane, uint32 ordinal)
{
	return ordinal & ~(skx_blkio_frame_pages(skx_blkio_class(plane)) - 1);
}

/* blkio_claim.c : frames for a read */

/*
 * Adds a frame for the pages from ordinal `first` on to the load, pinned, if
 * they are neither cached nor being read and a frame is free; else does
 * nothing.  For a file read in passing the frame is private, and pages in
 * another private frame are left out as well.
 */
extern void skx_blkio_claim(SkxBlkLoad *load, uint32 first);

/*
 * Notes in a reserved slot that this backend has pinned a frame of the
 * cache; with `loading` it must also load it.
 */
extern void skx_blkio_claim_set_slot(int32 slot, SkxBlkClass class,
									 int32 frame, bool loading);

/*
 * Returns true if the page is in the cache or being read into it; false
 * without a cache.
 */
extern bool skx_blkio_claim_present(SkxBlkFile *file,
									const SkxBlkPlane *plane,
									uint32 ordinal);

/* blkio_cached.c : a pin through the cache */

/*
 * Pins a page for a method that reads by itself, and sets the frame in the
 * ref (base, first, npages, slot, serial).  A page that is not in memory is
 * read, with the rest of its unit if the cache takes it.  Raises errors as
 * skx_blkio_pin; waits can be cancelled.
 */
extern void skx_blkio_cached_pin(SkxBlkFile *file, const SkxBlkPlane *plane,
								 uint32 ordinal, SkxBlkRef *ref);

/* blkio_cache_shmem.c : the cache as pieces of memory */

/*
 * Computes how a cache with about `bytes` bytes of pages is divided: into
 * one piece if `whole` is true, else into as many as needed.  Less than 1 MB
 * counts as 1 MB.
 */
extern void skx_blkio_cache_divide(Size bytes, bool whole,
								   SkxBlkDivision *division);

/* Returns the bytes of memory of the first piece, with the cache's header. */
extern Size skx_blkio_cache_first_size(const SkxBlkDivision *division);

/* Returns the bytes of memory of each piece after the first. */
extern Size skx_blkio_cache_more_size(const SkxBlkDivision *division);

/* Returns the bytes of memory of all pieces together. */
extern Size skx_blkio_cache_total_size(const SkxBlkDivision *division);

/*
 * Makes an empty cache, of one piece so far, in skx_blkio_cache_first_size
 * bytes of memory.  Its locks belong to the LWLock tranche `tranche`.
 */
extern void skx_blkio_cache_format(SkxBlkCacheHeader *header,
								   const SkxBlkDivision *division,
								   int tranche);

/* Makes a further empty piece in skx_blkio_cache_more_size bytes. */
extern void skx_blkio_cache_format_piece(void *memory,
										 const SkxBlkDivision *division);

/*
 * Sets the addresses of the cache and its first piece in this process; with
 * NULL this process has no cache.
 */
extern void skx_blkio_cache_map(SkxBlkCacheHeader *header);

/* Sets the addresses of the next piece in this process. */
extern void skx_blkio_cache_map_piece(void *memory);

/* Notes in this process how many frames the cache may get. */
extern void skx_blkio_cache_limit(void);

/* blkio_choose.c : which method reads a file */

/*
 * Returns the method of skipidx.io_method for permanent indexes, as cache
 * and io_uring of this process allow it.  Makes both if they are wanted.
 */
extern const SkxBlkMethod *skx_blkio_method_in_force(void);

/*
 * Returns the method for one index: that of skx_blkio_method_in_force, or
 * the server's buffers if the index is temporary or only the server can read
 * its file.  May read the metapage, so the caller holds no buffer lock.
 */
extern const SkxBlkMethod *skx_blkio_choose(Relation rel, uint64 incarnation);

/*
 * Returns true if the file may be written past the storage manager, as far as
 * is known: skx_blkio_choose would return a method that reads it so.  Compares
 * nothing, so the caller may hold buffer locks.
 */
extern bool skx_blkio_may_pass(Relation rel, uint64 incarnation);

/*
 * Returns how many units may be under way before they are pinned.  Returns 0
 * if the method reads nothing ahead, or if it needs the cache for that and
 * there is none.
 */
extern int	skx_blkio_depth_in_force(const SkxBlkMethod *method);

/*
 * blkio_private.c : frames in this backend's memory
 *
 * Frames that are given back are kept as spare frames, with their pages.
 */

/* Returns true if a spare frame has the pages of the key. */
extern bool skx_blkio_private_has(SkxBlkClass class, const SkxBlkKey *key);

/* Takes the spare frame with the pages of the key; NULL if there is none. */
extern char *skx_blkio_private_find(SkxBlkClass class, const SkxBlkKey *key);

/*
 * Returns memory for a frame, aligned for direct I/O and with any contents.
 * Raises an error if memory is short.
 */
extern char *skx_blkio_private_take(SkxBlkClass class);

/*
 * Gives the memory of a frame back.  `key` is the key of the pages in it, or
 * NULL if they are not worth keeping.  Never fails.
 */
extern void skx_blkio_private_give(SkxBlkClass class, char *memory,
								   const SkxBlkKey *key);

/* Frees all but a few spare frames.  Never fails. */
extern void skx_blkio_private_trim(void);

/*
 * Returns a pin of this backend on a private frame of the key, or NULL.
 * With `filled` only a frame that already has its pages counts.  In
 * blkio_pins.c.
 */
extern const SkxBlkPin *skx_blkio_pins_find_other(SkxBlkClass class,
												  const SkxBlkKey *key,
												  bool filled);

/*
 * blkio_depth.c : reads under way in all backends, skipidx.io_depth_total
 *
 * The end of the process gives back all reads that it has taken.
 */

/*
 * Asks for n reads and returns how many of them may be started: 0 to n, or
 * with `wait` 1 to n; n without a cache.  The wait can be cancelled, which
 * raises an error.  A backend must give back its reads that have ended
 * before it waits.
 */
extern int	skx_blkio_depth_acquire(int n, bool wait);

/* Gives back n reads, or as many as this backend has.  Never fails. */
extern void skx_blkio_depth_release(int n);

/* blkio_anchor.c : where processes find the cache, and what they share */

/* A limit of the machine that a process has met with. */
typedef enum SkxBlkRefusal
{
	SKX_BLK_REFUSAL_RING,		/* no io_uring */
	SKX_BLK_REFUSAL_DIRECT,		/* a file system without O_DIRECT */
	SKX_BLK_REFUSAL_PATH,		/* files that only the server can read */
	SKX_BLK_REFUSAL_COMPARE,	/* files that could not be compared */
	SKX_BLK_REFUSAL_PAGE		/* pages that only the server reads rightly */
} SkxBlkRefusal;

/*
 * Notes that this process has met with a limit.  Returns true if it is the
 * first call for this limit, by any process, so that the caller can log it.
 * Without shared memory for the note, each process has a first call.
 */
extern bool skx_blkio_note_limit(SkxBlkRefusal what);

/*
 * Makes the cache usable in this process, and creates it if it does not
 * exist yet.  Returns true if there is a cache.  Never fails.
 */
extern bool skx_blkio_anchor_attach(void);

/*
 * Maps the pieces of the cache that other processes have made.  Returns
 * false if not all pieces are mapped.  Never fails; the caller holds no lock
 * of the cache.
 */
extern bool skx_blkio_anchor_map_new_pieces(void);

/*
 * Makes one more piece of the cache if there may be one.  If the memory is
 * refused, the cache keeps its size.  Never fails; the caller holds no lock
 * of the cache.
 */
extern void skx_blkio_anchor_grow(void);

/*
 * Returns why the cache is smaller than configured or missing, "" without
 * such a reason.  *stale is true if the setting has changed since the cache
 * was made.  Called after skx_blkio_anchor_attach.
 */
extern const char *skx_blkio_anchor_size_reason(bool *stale);

/*
 * Returns true if any process has met with the limit; false without shared
 * memory for the note.
 */
extern bool skx_blkio_limit_was_met(SkxBlkRefusal what);

/*
 * Adds SKX_BLK_NMETHODS structs of counters to the totals in shared memory.
 * Returns false, and adds nothing, if this process has no anchor.
 */
extern bool skx_blkio_anchor_add_counters(const SkxBlkCounters *delta);

/* Reads the totals into SKX_BLK_NMETHODS structs; zeros without an anchor. */
extern void skx_blkio_anchor_read_totals(SkxBlkCounters *sums);

#endif							/* SKX_BLKIO_CACHE_H */
