/*
 * blkio_cache.h
 *	  The cache in shared memory: layout, and the life of a frame.
 */
#ifndef SKX_BLKIO_CACHE_H
#define SKX_BLKIO_CACHE_H

#include "storage/blkio/blkio_glance.h"
#include "storage/blkio/blkio_internal.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"

#define SKX_BLK_PARTITIONS		128

/* Files whose path is known: by all processes, and by one without a cache. */
#define SKX_BLK_PATHS			4096
#define SKX_BLK_PATHS_MINE		64

/*
 * State of a frame in one word: pins (of a backend, a few at most), the usage
 * count of the clock sweep, flags, and in the high half the version, which
 * changes before the pages of a frame that was VALID may (blkio_glance.c).
 */
#define SKX_BLK_PIN				UINT64CONST(1)
#define SKX_BLK_PIN_MASK		UINT64CONST(0xFFFFFF)
#define SKX_BLK_USE				(UINT64CONST(1) << 24)
#define SKX_BLK_USE_MASK		(UINT64CONST(7) << 24)
#define SKX_BLK_USE_MAX			(SKX_BLK_USES * SKX_BLK_USE)
#define SKX_BLK_TAGGED			(UINT64CONST(1) << 27)	/* key set, in hash */
#define SKX_BLK_VALID			(UINT64CONST(1) << 28)	/* pages verified */
#define SKX_BLK_BUSY			(UINT64CONST(1) << 29)	/* being read */
#define SKX_BLK_AHEAD			(UINT64CONST(1) << 30)	/* ahead of its pin */
#define SKX_BLK_SLOW			(UINT64CONST(1) << 31)	/* a wait was in vain */
#define SKX_BLK_VERSION			(UINT64CONST(1) << SKX_BLK_VERSION_SHIFT)
#define SKX_BLK_VERSION_MASK	(~(SKX_BLK_VERSION - 1))

/*
 * key, hash and next change only while the frame has exactly one pin, of the
 * backend that changes them, and under the partition lock of the hash when
 * TAGGED.
 */
typedef struct SkxBlkFrame
{
	pg_atomic_uint64 state;
	SkxBlkKey	key;
	uint32		hash;
	int32		next;			/* in its bucket, -1 at the end */
	ConditionVariable loaded;	/* BUSY has gone */
} SkxBlkFrame;

/* Padded to what the processor fetches at once. */
#define SKX_BLK_FRAME_SIZE		64

typedef union SkxBlkFramePadded
{
	SkxBlkFrame frame;
	char		pad[SKX_BLK_FRAME_SIZE];
} SkxBlkFramePadded;

StaticAssertDecl(sizeof(SkxBlkFramePadded) == SKX_BLK_FRAME_SIZE,
				 "a frame descriptor must fill one cache line");

/*
 * The cache is made in pieces, each when those before it are full: the server
 * writes zeros to all of a dynamic segment when it makes it, .25 ms a MB.  The
 * first has so many MB of pages, and each other one as many, or as many more as
 * it takes to have no more pieces than this.
 */
#define SKX_BLK_PIECE_MB		16
#define SKX_BLK_PIECES			64

/* How a cache is divided: frames of the first piece, and of each other one. */
typedef struct SkxBlkDivision
{
	uint32		first[SKX_BLK_NCLASSES];
	uint32		more[SKX_BLK_NCLASSES];
	uint32		npieces;
} SkxBlkDivision;

/* Offsets in a piece: of descriptors, block class first, and of pages. */
typedef struct SkxBlkLayout
{
	Size		frames;
	Size		pages[SKX_BLK_NCLASSES];
	Size		end;
} SkxBlkLayout;

/*
 * A library that was replaced while the server runs may find the cache of the one
 * before, whose sessions go on: it is left to these if it is another kind.
 */
#define SKX_BLK_CACHE_MAGIC		UINT64CONST(0x534B584361636865)
#define SKX_BLK_CACHE_VERSION	1
#define SKX_BLK_CACHE_KIND \
	(SKX_BLK_CACHE_MAGIC ^ ((uint64) SKX_BLK_CACHE_VERSION << 48 | \
							(uint64) sizeof(SkxBlkFrame) << 32 | \
							sizeof(SkxBlkCacheHeader)))

/* At the start of the first piece; places are offsets from there. */
typedef struct SkxBlkCacheHeader
{
	uint64		kind;			/* SKX_BLK_CACHE_KIND */
	SkxBlkDivision division;	/* npieces: see `most` */
	SkxBlkLayout layout;		/* of the first piece */
	uint32		nbuckets;		/* a power of two, at least the partitions */
	Size		buckets;		/* int32 each: first frame, or -1 */
	pg_atomic_uint32 most;		/* pieces there may be */
	pg_atomic_uint32 ready;		/* pieces there are */
	dsm_handle	handles[SKX_BLK_PIECES];	/* but of the first */
	pg_atomic_uint64 evictions;
	pg_atomic_uint32 hand[SKX_BLK_NCLASSES];	/* clock hands */
	uint32		ndepths;		/* words of backends, see blkio_depth.c */
	Size		depths;			/* pg_atomic_uint64 each */
	pg_atomic_uint32 depth;		/* reads under way */
	pg_atomic_uint32 depth_waiters;
	ConditionVariable depth_free;
	pg_atomic_uint64 paths[SKX_BLK_PATHS];	/* see blkio_path.c */
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
 * The cache in this process; header NULL when there is none.  The number of a
 * frame is that of its piece, and in the low bits its place there.
 */
typedef struct SkxBlkCache
{
	SkxBlkCacheHeader *header;
	int32	   *buckets;
	uint32		bucket_mask;
	int			shift;			/* bits of a place in a piece */
	uint32		npieces;		/* mapped */
	bool		partial;		/* there are others, which cannot be mapped */
	SkxBlkPiece pieces[SKX_BLK_PIECES];
	uint32		nframes[SKX_BLK_NCLASSES];	/* in as many pieces as may be */
	uint32		mapped[SKX_BLK_NCLASSES];	/* in those mapped */
	pg_atomic_uint64 *depths;
} SkxBlkCache;

extern SkxBlkCache skx_blkio_cache;

static inline const SkxBlkPiece *
skx_blkio_cache_piece(int32 frame)
{
	return &skx_blkio_cache.pieces[frame >> skx_blkio_cache.shift];
}

static inline uint32
skx_blkio_cache_place(int32 frame)
{
	return frame & (((uint32) 1 << skx_blkio_cache.shift) - 1);
}

static inline SkxBlkFrame *
skx_blkio_cache_frame(int32 frame)
{
	const SkxBlkPiece *piece = skx_blkio_cache_piece(frame);

	return &piece->frames[skx_blkio_cache_place(frame)].frame;
}

static inline SkxBlkClass
skx_blkio_cache_class(int32 frame)
{
	const SkxBlkPiece *piece = skx_blkio_cache_piece(frame);

	return skx_blkio_cache_place(frame) < piece->nframes[SKX_BLK_CLASS_BLOCK] ?
		SKX_BLK_CLASS_BLOCK : SKX_BLK_CLASS_PAGE;
}

static inline char *
skx_blkio_cache_pages(int32 frame)
{
	const SkxBlkPiece *piece = skx_blkio_cache_piece(frame);
	uint32		place = skx_blkio_cache_place(frame);
	uint32		nblock = piece->nframes[SKX_BLK_CLASS_BLOCK];

	if (place < nblock)
		return piece->pages[SKX_BLK_CLASS_BLOCK] +
			(Size) place * SKX_BLK_FRAME_PAGES * BLCKSZ;
	return piece->pages[SKX_BLK_CLASS_PAGE] +
		(Size) (place - nblock) * BLCKSZ;
}

/* The frame with the next number, from -1 on; -1 behind the last. */
static inline int32
skx_blkio_cache_next(int32 frame)
{
	const SkxBlkPiece *piece;
	uint32		behind;

	if (frame < 0)
		return skx_blkio_cache.npieces > 0 ? 0 : -1;
	piece = skx_blkio_cache_piece(frame);
	if (skx_blkio_cache_place(frame) + 1 <
		piece->nframes[SKX_BLK_CLASS_BLOCK] +
		piece->nframes[SKX_BLK_CLASS_PAGE])
		return frame + 1;
	behind = (frame >> skx_blkio_cache.shift) + 1;
	return behind < skx_blkio_cache.npieces ?
		(int32) (behind << skx_blkio_cache.shift) : -1;
}

static inline bool
skx_blkio_same_key(const SkxBlkKey *a, const SkxBlkKey *b)
{
	return a->incarnation == b->incarnation && a->ordinal == b->ordinal &&
		a->segment == b->segment && a->plane == b->plane &&
		a->salt == b->salt;
}

static inline Size
skx_blkio_frames_bytes(const uint32 *nframes)
{
	return BLCKSZ *
		((Size) nframes[SKX_BLK_CLASS_BLOCK] * SKX_BLK_FRAME_PAGES +
		 nframes[SKX_BLK_CLASS_PAGE]);
}

/* Bytes of pages that it may have; 0 when there is none. */
static inline Size
skx_blkio_cache_bytes(void)
{
	return skx_blkio_frames_bytes(skx_blkio_cache.nframes);
}

/*
 * blkio_cache.c
 *
 * find pins the frame of a key, -1 when there is none; without `use` the clock
 * does not count it.  claim takes a frame for a key that was not found; it
 * returns it pinned, and *mine says whether this backend must load it (else
 * another was quicker), or -1 when every frame of the class is pinned.  grow
 * gives the cache one more piece, where all that it has is taken and there may
 * be one; it is called before a claim where nothing is locked.  reclaim
 * is true when this backend must load a frame it has pinned, because the
 * backend that was to load it failed.  With `ahead` others know that it may
 * take its time. await returns when the frame is valid or must be loaded by
 * this backend, or when it is not worth the wait; it counts a wait, which may
 * be cancelled.  The others never fail: they are called while cleaning up.
 */
typedef enum SkxBlkAwaited
{
	SKX_BLK_AWAITED_VALID,
	SKX_BLK_AWAITED_MINE,		/* this backend must load it */
	SKX_BLK_AWAITED_SLOW		/* read ahead by a backend that may sleep */
} SkxBlkAwaited;

extern uint32 skx_blkio_cache_hash(const SkxBlkKey *key);
extern int32 skx_blkio_cache_find(const SkxBlkKey *key, uint32 hash,
								  bool use);
extern bool skx_blkio_cache_present(const SkxBlkKey *key, uint32 hash);
extern int32 skx_blkio_cache_claim(const SkxBlkKey *key, uint32 hash,
								   SkxBlkClass class, bool ahead, bool *mine);
extern void skx_blkio_cache_grow(SkxBlkClass class);
extern bool skx_blkio_cache_reclaim(int32 frame, bool ahead);
extern SkxBlkAwaited skx_blkio_cache_await(int32 frame, uint64 *waits);
extern void skx_blkio_cache_loaded(int32 frame, bool valid);
extern void skx_blkio_cache_unpin(int32 frame);

/* Has a pinned frame its pages? */
static inline bool
skx_blkio_cache_valid(int32 frame)
{
	uint64		state =
		pg_atomic_read_u64(&skx_blkio_cache_frame(frame)->state);

	pg_read_barrier();
	return (state & SKX_BLK_VALID) != 0;
}

/* Uses that the clock has not taken away yet, up to SKX_BLK_USES. */
static inline int
skx_blkio_cache_uses(int32 frame)
{
	return (int) ((pg_atomic_read_u64(&skx_blkio_cache_frame(frame)->state) &
				   SKX_BLK_USE_MASK) / SKX_BLK_USE);
}

/* First page of the frame that holds a page. */
static inline uint32
skx_blkio_frame_first(const SkxBlkPlane *plane, uint32 ordinal)
{
	return ordinal & ~(skx_blkio_frame_pages(skx_blkio_class(plane)) - 1);
}

/*
 * blkio_claim.c
 *
 * claim takes the frame at ordinal `first` into the load, pinned, if it is
 * neither cached nor being read, and a frame is free.  note says in a reserved
 * slot that this backend has pinned the frame.  present: in the cache, or on
 * its way there.
 */
extern void skx_blkio_claim(SkxBlkLoad *load, uint32 first);
extern void skx_blkio_claim_note(int32 slot, SkxBlkClass class, int32 frame,
								 bool loading);
extern bool skx_blkio_claim_present(SkxBlkFile *file,
									const SkxBlkPlane *plane,
									uint32 ordinal);

/* blkio_cached.c : for every method that reads by itself */
extern void skx_blkio_cached_pin(SkxBlkFile *file, const SkxBlkPlane *plane,
								 uint32 ordinal, SkxBlkRef *ref);

/*
 * blkio_cache_shmem.c
 *
 * divide says how a cache of about `bytes` bytes of pages is made: of pieces,
 * or whole.  first_size and more_size are the memory of the first piece and of
 * each other one, total_size that of all.  format makes an empty cache of the
 * first piece, format_piece adds an empty piece.  map and map_piece turn offsets
 * into addresses of this process, piece by piece; header NULL: there is no
 * cache.  limit notes in this process how many frames there may be.
 */
extern void skx_blkio_cache_divide(Size bytes, bool whole,
								   SkxBlkDivision *division);
extern Size skx_blkio_cache_first_size(const SkxBlkDivision *division);
extern Size skx_blkio_cache_more_size(const SkxBlkDivision *division);
extern Size skx_blkio_cache_total_size(const SkxBlkDivision *division);
extern void skx_blkio_cache_format(SkxBlkCacheHeader *header,
								   const SkxBlkDivision *division,
								   int tranche);
extern void skx_blkio_cache_format_piece(void *memory,
										 const SkxBlkDivision *division);
extern void skx_blkio_cache_map(SkxBlkCacheHeader *header);
extern void skx_blkio_cache_map_piece(void *memory);
extern void skx_blkio_cache_limit(void);

/*
 * blkio_choose.c
 *
 * method_in_force is for permanent indexes that are opened now, choose for one
 * index: the same, unless only the server can read its file.  depth_in_force is
 * how many units may be under way before they are pinned; a method that puts
 * them into the cache needs one.
 */
extern const SkxBlkMethod *skx_blkio_method_in_force(void);
extern const SkxBlkMethod *skx_blkio_choose(Relation rel, uint64 incarnation);
extern int	skx_blkio_depth_in_force(const SkxBlkMethod *method);

/*
 * blkio_private.c : frames in this backend's memory
 *
 * find and take return one, with the pages of the key (NULL when there is
 * none), or with any; give takes it back, with the key of what is in it, or
 * NULL.  trim returns most of the memory.  Only take can fail.
 */
extern bool skx_blkio_private_has(SkxBlkClass class, const SkxBlkKey *key);
extern char *skx_blkio_private_find(SkxBlkClass class, const SkxBlkKey *key);
extern char *skx_blkio_private_take(SkxBlkClass class);
extern void skx_blkio_private_give(SkxBlkClass class, char *memory,
								   const SkxBlkKey *key);
extern void skx_blkio_private_trim(void);

/* blkio_pins.c: the private pin of a frame (with its pages), or NULL */
extern const SkxBlkPin *skx_blkio_pins_other(SkxBlkClass class,
											 const SkxBlkKey *key,
											 bool filled);

/*
 * blkio_depth.c : reads under way in all backends, skipidx.io_depth_total
 *
 * take asks for n reads and returns how many of them may be started: with
 * `wait` at least one, after a wait that can be cancelled.  A backend must not
 * wait while reads of its own have ended that it has not given back yet.  give
 * returns n of them, and never fails.  The end of the process gives back all.
 */

extern int	skx_blkio_depth_take(int n, bool wait);
extern void skx_blkio_depth_give(int n);

/*
 * blkio_path.c : may a file be read and written past the storage manager?
 *
 * path says so of an index in use: its file holds pages as they are.  The
 * caller holds no lock of a buffer.  path_new does of a new one, and leaves a
 * page of random bytes in the block, which must be written soon.  Whatever is
 * not proven goes through the server.
 */
typedef enum SkxBlkPath
{
	SKX_BLK_PATH_UNKNOWN,		/* it could not be found out now */
	SKX_BLK_PATH_PROVEN,
	SKX_BLK_PATH_REFUSED
} SkxBlkPath;

extern SkxBlkPath skx_blkio_path(Relation rel, uint64 incarnation);
extern SkxBlkPath skx_blkio_path_new(Relation rel, BlockNumber block);

/*
 * blkio_anchor.c
 *
 * attach makes the cache usable in this process, creating it where it does
 * not exist yet, and returns whether there is one.  follow maps the pieces that
 * other processes have made; false: not all are mapped.  grow makes one more, if
 * there may be one.  None of them fails; the caller of follow and grow holds
 * no lock of the cache.  why says
 * after it what keeps the cache smaller than it was to be, "" if nothing, and
 * whether the setting has changed since the cache was made; refused, whether any
 * process has met with this limit of the machine; first, whether this one is
 * the first, which may log it.
 */
typedef enum SkxBlkRefusal
{
	SKX_BLK_REFUSAL_RING,		/* no io_uring */
	SKX_BLK_REFUSAL_DIRECT,		/* a file system without O_DIRECT */
	SKX_BLK_REFUSAL_PATH,		/* files that only the server can read */
	SKX_BLK_REFUSAL_LOOK		/* files that could not be compared */
} SkxBlkRefusal;

extern bool skx_blkio_first_refusal(SkxBlkRefusal what);
extern bool skx_blkio_anchor_attach(void);
extern bool skx_blkio_anchor_follow(void);
extern void skx_blkio_anchor_grow(void);
extern const char *skx_blkio_anchor_why(bool *stale);
extern bool skx_blkio_refused(SkxBlkRefusal what);

/* Adds to the totals, reads them; false, or zeros: there is no anchor. */
extern bool skx_blkio_anchor_add(const SkxBlkCounters *delta);
extern void skx_blkio_anchor_sums(SkxBlkCounters *sums);

#endif							/* SKX_BLKIO_CACHE_H */
