/*
 * blkio_internal.h
 *	  Declarations that the files of blkio/ share; README.md has their order.
 */
#ifndef SKX_BLKIO_INTERNAL_H
#define SKX_BLKIO_INTERNAL_H

#include <sys/uio.h>

#include "port/atomics.h"
#include "storage/blkio/blkio.h"
#include "storage/buf.h"
#include "support/compat/compat.h"

/* Pages in a frame of the block class; a frame of the page class holds 1. */
#define SKX_BLK_FRAME_PAGES		4

/*
 * Most pages of a load, 1 MB, and most frames of a load.  A unit that is
 * larger is read in parts.  Pages of a unit smaller than a block frame go to
 * frames of the page class.
 */
#define SKX_BLK_GROUP_PAGES		128
#define SKX_BLK_GROUP_FRAMES	32

/* Classes of frames, in the cache and in a backend's memory. */
typedef enum SkxBlkClass
{
	SKX_BLK_CLASS_BLOCK,		/* SKX_BLK_FRAME_PAGES pages */
	SKX_BLK_CLASS_PAGE			/* one page */
} SkxBlkClass;
#define SKX_BLK_NCLASSES		2

/* Returns the class of the frames for pages of a plane. */
static inline SkxBlkClass
skx_blkio_class(const SkxBlkPlane *plane)
{
	return plane->unit >= SKX_BLK_FRAME_PAGES ? SKX_BLK_CLASS_BLOCK :
		SKX_BLK_CLASS_PAGE;
}

/* Returns the number of pages in a frame of a class. */
static inline uint32
skx_blkio_frame_pages(SkxBlkClass class)
{
	return class == SKX_BLK_CLASS_BLOCK ? SKX_BLK_FRAME_PAGES : 1;
}

/*
 * A read of consecutive blocks of one segment file into pieces of memory, or
 * a write of such blocks from them.  Its result is in `done` and `error`.
 * Only reads go to the ring; `ended` is called when one ends there.
 */
typedef struct SkxBlkTransfer
{
	struct SkxBlkLoad *load;	/* NULL for a write */
	BlockNumber block;
	int			npages;
	struct iovec *iov;
	int			niov;
	size_t		done;			/* bytes transferred */
	int			error;			/* errno or 0 */
	int			handle;			/* for skx_blkio_fd_put, while under way */
	void		(*in_ring_result) (struct SkxBlkTransfer *transfer);	/* in the ring */
} SkxBlkTransfer;

/*
 * A transfer method.  Either it pins pages by its own means (`pin` is set),
 * or it reads into frames of the cache or of the backend (`read` is set).
 * For methods of the second kind everything else is common code.
 *
 * `read` does all of the transfers, one after the other or at once, and
 * returns when none of them is under way.  `start` queues them for the ring;
 * it is NULL if reads cannot go on while the backend does something else.
 * Both leave the result, also a failure, in the transfer.  `prefetch` may be
 * NULL.
 */
typedef struct SkxBlkMethod
{
	SkxBlkMethodNumber number;	/* of its name and its counters */
	bool		direct;			/* reads with O_DIRECT */
	void		(*pin) (SkxBlkFile *file, const SkxBlkPlane *plane,
						uint32 ordinal, SkxBlkRef *ref);
	void		(*prefetch) (SkxBlkFile *file, const SkxBlkPlane *plane,
							 const uint32 *ordinals, int n);
	void		(*read) (SkxBlkFile *file, SkxBlkTransfer *transfers, int n);
	void		(*start) (SkxBlkFile *file, SkxBlkTransfer *transfers, int n);
} SkxBlkMethod;

/* The methods; blkio_choose.c selects one of them. */
extern const SkxBlkMethod skx_blkio_method_bufmgr;
extern const SkxBlkMethod skx_blkio_method_buffered;
extern const SkxBlkMethod skx_blkio_method_direct;
extern const SkxBlkMethod skx_blkio_method_uring;
extern const SkxBlkMethod skx_blkio_method_uring_direct;

/* blkio_pread.c : reads with preadv */

/*
 * Does n transfers, one after the other, from the start of each.  A transfer
 * that meets the end of the file is tried once more with a new descriptor.
 * The results, also failures, are in the transfers.
 */
extern void skx_blkio_pread(SkxBlkFile *file, SkxBlkTransfer *transfers,
							int n);

/* Upper limit of the numbers of planes in keys, exclusive. */
#define SKX_BLK_PLANES			32

/* An index opened by a scan: see skx_blkio_open. */
struct SkxBlkFile
{
	Relation	rel;
	const SkxBlkMethod *method;
	SkxBlkVerify verify;
	uint64		incarnation;
	int			pin_budget;		/* pins that make it crowded */
	int			prefetch_depth; /* prefetch depth in units, or 0 */
	bool		read_once;		/* read in passing: skx_blkio_set_read_once */
	bool		evict_nothing;	/* pages read take frames that were never
								 * taken, or none */

	/*
	 * By block, the runs whose pages alone are read beside those that are
	 * pinned; NULL: all pages of their units are.
	 */
	const SkxBlkRun *only;
	int			nonly;
	BufferAccessStrategy strategy;	/* NULL: the server's default */

	/*
	 * For skx_blkio_hit_use_count, by plane: the highest use count of frames
	 * found in the cache, and that of the last frame pinned; 0 if it was not
	 * found.
	 */
	uint8		hit_use_counts[SKX_BLK_PLANES];
	uint8		last_hit_plane[SKX_BLK_PLANES];
};

/* Sets `key` to the key of a page. */
static inline void
skx_blkio_key(const SkxBlkFile *file, const SkxBlkPlane *plane,
			  uint32 ordinal, SkxBlkKey *key)
{
	key->incarnation = file->incarnation;
	key->salt = plane->salt;
	key->segment = plane->segment;
	key->ordinal = ordinal;
	key->plane = plane->plane;
}

/* blkio_counters.c : what has been read, by method */

/* Counters of this backend by method number. */
extern SkxBlkCounters skx_blkio_mine[SKX_BLK_NMETHODS];

/*
 * Adds to the totals in shared memory what this backend has counted since
 * the last call; does nothing if this process has no anchor.
 */
extern void skx_blkio_counters_publish(void);

/* Returns the counters for reads of this file. */
static inline SkxBlkCounters *
skx_blkio_count(const SkxBlkFile *file)
{
	return &skx_blkio_mine[file->method->number];
}

/* blkio_pins.c : what this backend has pinned, by resource owner */

/* What a slot of the table of pins holds. */
typedef enum SkxBlkPinKind
{
	SKX_BLK_PIN_FREE,			/* slot not in use */
	SKX_BLK_PIN_NOTHING,		/* reserved */
	SKX_BLK_PIN_BUFFER,			/* a buffer of the server */
	SKX_BLK_PIN_FRAME,			/* a frame of the cache */
	SKX_BLK_PIN_PRIVATE			/* a frame in this backend's memory */
} SkxBlkPinKind;

/* A slot of the table of pins. */
typedef struct SkxBlkPin
{
	struct ResourceOwnerData *owner;
	char	   *memory;			/* first page of the frame */
	uint32		serial;			/* differs for each use of the slot */
	int32		number;			/* buffer or frame; if free, next free slot */
	uint8		kind;			/* SkxBlkPinKind */
	uint8		class;			/* SkxBlkClass of a frame */
	bool		loading;		/* this backend must fill the frame */
	bool		filled;			/* the frame has its pages */
	SkxBlkKey	key;			/* of a private frame */
} SkxBlkPin;

/*
 * Reserves a slot for the current resource owner and returns its number.
 * Raises an error if memory is short, so that the pin that follows can be
 * noted without fail.
 */
extern int32 skx_blkio_pins_take(void);

/* Returns the slot of a number; valid until the next skx_blkio_pins_take. */
extern SkxBlkPin *skx_blkio_pins_slot(int32 slot);

/*
 * Releases what the slot holds, and the slot.  If this backend was loading
 * the frame, the load counts as failed.
 */
extern void skx_blkio_pins_drop(int32 slot);

/*
 * Gives a reserved slot a private frame for the key.  Returns true if the
 * frame already has its pages, from a spare frame or as a copy of another
 * pin.  Raises an error if memory is short.
 */
extern bool skx_blkio_pins_private(int32 slot, SkxBlkClass class,
								   const SkxBlkKey *key);

/*
 * If this backend was loading the slot's frame of the cache, makes the frame
 * valid and wakes backends that wait for it; else does nothing.
 */
extern void skx_blkio_pins_loaded(int32 slot);

/* Returns the number of pins of this backend, without those of loads ahead. */
extern int	skx_blkio_pins_count(void);

/* Slots that belong to loads ahead of pins. */
extern int	skx_blkio_pins_ahead;

/*
 * Releases all pins of a resource owner that ends; the server releases the
 * buffers.  With `commit` it warns of each frame that is still pinned.
 */
extern void skx_blkio_pins_end(struct ResourceOwnerData *owner, bool commit);

/* Releases all frames of the cache when the process ends. */
extern void skx_blkio_pins_end_process(void);

/* blkio_resident.c : which pages are in shared buffers */

/*
 * Copies the block from shared buffers into `page` if it is there; else
 * returns false.  Takes the buffer's content lock shared, in the call only.
 */
extern bool skx_blkio_resident_copy(Relation rel, BlockNumber block,
									char *page);

/*
 * Does the same, and otherwise has the storage manager read the block into
 * `page`, which is aligned for direct I/O.  Returns true if the page comes from
 * shared buffers; else its checksum counts.
 */
extern bool skx_blkio_served_copy(Relation rel, BlockNumber block,
								  char *page);

/*
 * Makes `page` the contents of the block's buffer, which the server will
 * write.  Takes the buffer's content lock exclusively, in the call only; logs
 * nothing.  `strategy` says which buffers to take if it has none; NULL: any.
 */
extern void skx_blkio_install(Relation rel, BlockNumber block,
							  const char *page,
							  BufferAccessStrategy strategy);

/*
 * The frames that a load fills: frames of the cache that this backend must
 * load, or private frames.
 */
typedef struct SkxBlkGroup
{
	const SkxBlkPlane *plane;
	int			nframes;
	int32		slots[SKX_BLK_GROUP_FRAMES];	/* pins; -1: taken over */
	uint32		firsts[SKX_BLK_GROUP_FRAMES];	/* ascending */
} SkxBlkGroup;

/*
 * blkio_load.c : fills frames, from shared buffers or from the file
 *
 * An error at any time leaves a load to its resource owner.
 */

/*
 * A load: frames and the reads that fill them.  A load ahead of pins has its
 * own pins of its frames, and a token of skx_blkio_depth_acquire before it
 * starts.
 */
typedef struct SkxBlkLoad
{
	bool		is_used;		/* false: free for the next load */
	bool		is_prefetch;	/* ahead of pins */
	bool		is_started;		/* all of its reads have begun */
	bool		is_complete;	/* its pages are there and verified */
	bool		has_permit;		/* has one of skx_blkio_depth_acquire */
	int			transfers_in_flight;	/* transfers under way in the ring */
	uint32		wanted_clock;	/* clock in loads when made or wanted */
	uint32		round;			/* round of reads that it belongs to */
	struct ResourceOwnerData *owner;
	SkxBlkFile *file;
	SkxBlkKey	key;			/* of its plane; ordinal unused */
	SkxBlkGroup group;
	int			npages;			/* entries in the next four arrays */
	bool		resident[SKX_BLK_GROUP_PAGES];	/* from shared buffers */
	uint32		ordinals[SKX_BLK_GROUP_PAGES];
	BlockNumber blocks[SKX_BLK_GROUP_PAGES];
	char	   *pages[SKX_BLK_GROUP_PAGES]; /* memory in the frames */
	int			ntransfers;
	SkxBlkTransfer transfers[SKX_BLK_GROUP_PAGES];
	struct iovec iov[SKX_BLK_GROUP_PAGES];
} SkxBlkLoad;

/* Number of loads ahead of pins that exist. */
extern int	skx_blkio_loads_ahead;

/*
 * Returns a new load without frames, of the current resource owner.  The
 * memory is reused after the load ends.
 */
extern SkxBlkLoad *skx_blkio_load_new(SkxBlkFile *file,
									  const SkxBlkPlane *plane, bool ahead);

/*
 * Adds a frame to a load: that of `slot`, for the pages from ordinal `first`
 * on.  Frames are added in ascending order.
 */
extern void skx_blkio_load_add(SkxBlkLoad *load, int32 slot, uint32 first);

/*
 * Copies the pages that are in shared buffers, and begins to read the others
 * from the file, or reads them.  May wait for its turn among all backends if
 * the load is not ahead of pins; that wait can be cancelled.
 */
extern void skx_blkio_load_start(SkxBlkLoad *load);

/*
 * Waits for the reads of a load and verifies all pages; then its frames are
 * valid.  Raises the errors of reads and of the file's `verify` function.  A
 * load that is not ahead of pins ends here, and its slots are the caller's.
 */
extern void skx_blkio_load_finish(SkxBlkLoad *load);

/*
 * Returns the load ahead of pins that has a frame with this key, or NULL;
 * *which is the index of the frame in its group.  Looks only at private
 * frames, or, without `private`, only at frames of the cache.
 */
extern SkxBlkLoad *skx_blkio_load_find(const SkxBlkKey *key, bool private,
									   int *which);

/*
 * Ends a load.  Waits for its reads under way, and drops the slots of a load
 * ahead of pins that have not been taken over.
 */
extern void skx_blkio_load_drop(SkxBlkLoad *load);

/*
 * Drops the loads ahead of pins that were not wanted while more than
 * `patience` other loads were.  Sound pages stay in the cache; a load with
 * reads under way is kept.
 */
extern void skx_blkio_loads_drop_stale(uint32 patience);

/*
 * Drops all loads of a resource owner (NULL: of any), or, if `file` is not
 * NULL, those of them that are ahead of pins in this file.  In the second
 * case, sound pages stay in the cache.
 */
extern void skx_blkio_loads_end(struct ResourceOwnerData *owner,
								SkxBlkFile *file);

/* blkio_ahead.c : reading ahead of pins */

/* True while plans wait for reads of other backends to end. */
extern bool skx_blkio_ahead_starved;

/*
 * Plans to read these pages of a plane and starts what may be started; the
 * `prefetch` of methods that have `start`.  Pages past the end of the plane,
 * in the cache, or beyond the capacity of the queue are ignored.
 */
extern void skx_blkio_prefetch_plan(SkxBlkFile *file, const SkxBlkPlane *plane,
									const uint32 *ordinals, int n);

/* Starts as many of the planned reads as the depth allows. */
extern void skx_blkio_prefetch_continue(void);

/*
 * If this backend reads the frame of the key ahead into the cache, waits for
 * it and ends its load.  Raises errors as skx_blkio_load_finish.
 */
extern void skx_blkio_prefetch_finish(SkxBlkFile *file, const SkxBlkKey *key);

/*
 * If this backend reads the frame of the key ahead into its own memory,
 * waits for it and returns its slot; else returns -1.  The slot belongs to
 * the caller and the current resource owner.  Raises errors as
 * skx_blkio_load_finish.
 */
extern int32 skx_blkio_prefetch_take(SkxBlkFile *file, const SkxBlkKey *key);

/*
 * Drops the plans and loads of a resource owner (NULL: of any) or, of these,
 * only those of a file (NULL: of any), as skx_blkio_loads_end.
 */
extern void skx_blkio_prefetch_forget(struct ResourceOwnerData *owner,
									  SkxBlkFile *file);

/* blkio_release.c : what ends with a resource owner or the process */

/*
 * Registers the callbacks that release plans, loads and pins when a resource
 * owner or the process ends.  Called before the first pin.
 */
extern void skx_blkio_release_register(void);

/* blkio_ring.c : this process's io_uring */

/*
 * Returns true if this process has a ring, which it makes at first use.  If
 * the kernel refuses one, a message goes to the log once.  If there is no
 * descriptor for one, the next call tries again.
 */
extern bool skx_blkio_ring_ready(void);

/*
 * Queues a transfer on descriptor `fd` for the kernel.  Waits if too many
 * are under way.
 */
extern void skx_blkio_ring_add(SkxBlkTransfer *transfer, int fd);

/* Hands all queued transfers to the kernel. */
extern void skx_blkio_ring_submit(void);

/*
 * Takes the results of transfers that have ended into the transfers and
 * returns how many.  With `wait` it first submits what is queued, and sleeps
 * until a transfer has ended or a signal comes.  0 if none is under way.
 */
extern int	skx_blkio_ring_reap(bool wait);

/* Returns how many transfers are queued or under way. */
extern int	skx_blkio_ring_depth(void);

/* Returns the reason after skx_blkio_ring_ready has returned false. */
extern const char *skx_blkio_ring_refusal(void);

/* True if this errno of a write means lack of space, on disk or by a limit. */
#define SKX_BLK_NO_SPACE(error) \
	((error) == ENOSPC || (error) == EDQUOT || (error) == EFBIG)

/* blkio_write.c : one write past the storage manager and the page cache */

/*
 * Writes what is left of a transfer, from `done` bytes on, past the page cache,
 * and waits for it.  The result, also a failure, is in the transfer; without a
 * descriptor it is EINVAL.
 */
extern void skx_blkio_write(Relation rel, SkxBlkTransfer *transfer);

/* Raises the error of a transfer that skx_blkio_write has not completed. */
extern void skx_blkio_write_failed(Relation rel,
								   const SkxBlkTransfer *transfer);

/*
 * blkio_repair.c : repairs pages after an error that has ended writes
 *
 * The functions are called in a PG_CATCH block.  They raise no other error,
 * except for lack of memory.
 */

/*
 * Returns the error that was caught, with a hint if the disk is full, and holds
 * off interrupts.  `context` is the memory context that was current before the
 * error; it becomes current.
 */
extern ErrorData *skx_blkio_repair_begin(MemoryContext context);

/*
 * Repairs consecutive pages that may have been written in part, so that none
 * of them stays torn in the file.  A page that cannot be written is left to
 * the buffer manager if the index is in use, and else becomes one of zeros.
 * Returns false, and stops, at a page for which the device reports an I/O
 * error, or with which that cannot be done either.
 */
extern bool skx_blkio_repair_pages(Relation rel, BlockNumber block,
								   char **pages, int npages, bool direct,
								   bool in_use);

/* Lets interrupts go on, and throws the error of skx_blkio_repair_begin. */
extern void skx_blkio_repair_end(ErrorData *error);

/* blkio_fd.c : descriptors of this module */

/* Flags for `how`. */
#define SKX_BLK_FD_DIRECT	1
#define SKX_BLK_FD_WRITE	2
#define SKX_BLK_FD_FRESH	4	/* a descriptor opened in this call */

/*
 * Returns an open descriptor of the segment file that holds `block`, and
 * sets *handle for skx_blkio_fd_put; no error may be raised in between.
 * Returns a negative number and sets errno if it fails.  EBUSY: transfers
 * are under way on all descriptors.  EINVAL: a descriptor for direct writes
 * cannot be opened, since the file system has no direct I/O.  For reads such
 * a file is opened without O_DIRECT.  Other values are those of open().
 */
extern int	skx_blkio_fd_get(Relation rel, BlockNumber block, int how,
							 int *handle);

/*
 * Does the same, but waits while transfers are under way on all descriptors;
 * it never fails with EBUSY.  In blkio_fd_wait.c.
 */
extern int	skx_blkio_fd_wait(Relation rel, BlockNumber block, int how,
							  int *handle);

/*
 * Reads a page through the page cache with a new descriptor.  Returns the
 * bytes read, fewer than BLCKSZ at the end of the file, or -errno.
 */
extern ssize_t skx_blkio_fd_read_page(Relation rel, BlockNumber block,
									  char *page);

/* Gives back a descriptor of skx_blkio_fd_get or skx_blkio_fd_wait. */
extern void skx_blkio_fd_put(int handle);

/*
 * Makes the next use of each open descriptor check whether its file has been
 * unlinked.  If so, the descriptor is closed and the file opened anew.
 */
extern void skx_blkio_fd_recheck(void);

#endif							/* SKX_BLKIO_INTERNAL_H */
