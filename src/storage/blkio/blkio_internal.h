/*
 * blkio_internal.h
 *	  What the files of blkio/ share; README.md has their order.
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
 * Most pages transferred for one miss: the largest unit, 1 MB; and most frames
 * those take: a unit below a block frame goes to pages.
 */
#define SKX_BLK_GROUP_PAGES		128
#define SKX_BLK_GROUP_FRAMES	32

typedef enum SkxBlkClass
{
	SKX_BLK_CLASS_BLOCK,
	SKX_BLK_CLASS_PAGE
} SkxBlkClass;
#define SKX_BLK_NCLASSES		2

static inline SkxBlkClass
skx_blkio_class(const SkxBlkPlane *plane)
{
	return plane->unit >= SKX_BLK_FRAME_PAGES ? SKX_BLK_CLASS_BLOCK :
		SKX_BLK_CLASS_PAGE;
}

static inline uint32
skx_blkio_frame_pages(SkxBlkClass class)
{
	return class == SKX_BLK_CLASS_BLOCK ? SKX_BLK_FRAME_PAGES : 1;
}

/*
 * A read of consecutive blocks of one segment file into pieces of memory, or a
 * write of them.  `done` bytes; an errno or 0.
 */
typedef struct SkxBlkTransfer
{
	struct SkxBlkLoad *load;	/* NULL: a write */
	bool		writing;		/* a write under way in the ring */
	BlockNumber block;
	int			npages;
	struct iovec *iov;
	int			niov;
	size_t		done;
	int			error;
	int			handle;			/* of the descriptor, while under way */
	void		(*ended) (struct SkxBlkTransfer *transfer); /* in the ring */
	uint64		undo;			/* number of the fault layer, for a write */
} SkxBlkTransfer;

/*
 * A method.  Either it pins pages by its own means (pin set), or it reads into
 * frames of the cache (read set), and all else is common to that kind.
 *
 * read does all of the transfers, one after the other or at once, and returns
 * when none of them is under way.  start queues them for the ring; it is NULL
 * where reads cannot go on while the backend does something else.  Either
 * leaves the result, failure too, in the transfer.  prefetch may be NULL.
 */
typedef struct SkxBlkMethod
{
	SkxBlkMethodNumber number;	/* of its counters; the name goes with it */
	bool		direct;			/* descriptors with O_DIRECT */
	void		(*pin) (SkxBlkFile *file, const SkxBlkPlane *plane,
						uint32 ordinal, SkxBlkRef *ref);
	void		(*prefetch) (SkxBlkFile *file, const SkxBlkPlane *plane,
							 const uint32 *ordinals, int n);
	void		(*read) (SkxBlkFile *file, SkxBlkTransfer *transfers, int n);
	void		(*start) (SkxBlkFile *file, SkxBlkTransfer *transfers, int n);
} SkxBlkMethod;

extern const SkxBlkMethod skx_blkio_method_bufmgr;
extern const SkxBlkMethod skx_blkio_method_buffered;
extern const SkxBlkMethod skx_blkio_method_direct;
extern const SkxBlkMethod skx_blkio_method_uring;
extern const SkxBlkMethod skx_blkio_method_uring_direct;

/* blkio_pread.c: one transfer after the other, with preadv */
extern void skx_blkio_pread(SkxBlkFile *file, SkxBlkTransfer *transfers,
							int n);

/* Numbers of planes in keys are below this. */
#define SKX_BLK_PLANES			32

struct SkxBlkFile
{
	Relation	rel;
	const SkxBlkMethod *method;
	SkxBlkVerify verify;
	uint64		incarnation;
	int			pin_budget;		/* skx_blkio_crowded from here on */
	int			ahead;			/* units that may be under way ahead of pins */
	bool		once;			/* what is not cached is read past the cache */
	BufferAccessStrategy strategy;	/* in shared buffers; NULL: as usual */

	/*
	 * read in passing, of each plane: the most uses that a frame found in the
	 * cache has had, and those of the last one pinned; 0: it was not found
	 */
	uint8		met[SKX_BLK_PLANES];
	uint8		met_last[SKX_BLK_PLANES];
};

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

/* blkio_counters.c */
extern SkxBlkCounters skx_blkio_mine[SKX_BLK_NMETHODS];
extern void skx_blkio_counters_publish(void);

/* Where reads of this file are counted. */
static inline SkxBlkCounters *
skx_blkio_count(const SkxBlkFile *file)
{
	return &skx_blkio_mine[file->method->number];
}

/*
 * blkio_pins.c : what this backend has pinned, by resource owner
 *
 * take reserves a slot for the current resource owner and is the only one of
 * these that can fail; drop gives up whatever the slot holds.
 */
typedef enum SkxBlkPinKind
{
	SKX_BLK_PIN_FREE,			/* slot not in use */
	SKX_BLK_PIN_NOTHING,		/* reserved */
	SKX_BLK_PIN_BUFFER,			/* a buffer of the server */
	SKX_BLK_PIN_FRAME,			/* a frame of the cache */
	SKX_BLK_PIN_PRIVATE			/* a frame in this backend's memory */
} SkxBlkPinKind;

typedef struct SkxBlkPin
{
	struct ResourceOwnerData *owner;
	char	   *memory;			/* first page of the frame */
	uint32		serial;			/* differs for each use of the slot */
	int32		number;			/* buffer or frame; next free slot */
	uint8		kind;
	uint8		class;			/* SkxBlkClass of a frame */
	bool		loading;		/* this backend must fill the frame */
	bool		filled;			/* has its pages */
	SkxBlkKey	key;			/* private: of the frame */
} SkxBlkPin;

extern int32 skx_blkio_pins_take(void);
extern SkxBlkPin *skx_blkio_pins_at(int32 slot);
extern void skx_blkio_pins_drop(int32 slot);

/* Gives a reserved slot a private frame; true when its pages are in it. */
extern bool skx_blkio_pins_private(int32 slot, SkxBlkClass class,
								   const SkxBlkKey *key);
extern void skx_blkio_pins_loaded(int32 slot);
extern int	skx_blkio_pins_count(void);

extern int	skx_blkio_pins_ahead;	/* slots of loads read ahead */

/* Gives up those of an owner that ends; frames, when the process does. */
extern void skx_blkio_pins_end(struct ResourceOwnerData *owner, bool commit);
extern void skx_blkio_pins_end_process(void);

/*
 * blkio_resident.c
 *
 * copy: copies a page from shared buffers if it is there.  install: makes a
 * page what the buffer manager has of the block, to be written unless the file
 * has the same.
 */
extern bool skx_blkio_resident_copy(Relation rel, BlockNumber block,
									char *page);
extern void skx_blkio_install(Relation rel, BlockNumber block,
							  const char *page, bool dirty);

/* The frames that a load reads: slots loading or private. */
typedef struct SkxBlkGroup
{
	const SkxBlkPlane *plane;
	int			nframes;
	int32		slots[SKX_BLK_GROUP_FRAMES];
	uint32		firsts[SKX_BLK_GROUP_FRAMES];	/* ordinals, ascending */
} SkxBlkGroup;

/*
 * blkio_load.c : fills frames, from shared buffers or from the file
 *
 * new makes a load of the current resource owner, and add puts a frame into
 * it.  start looks up what is resident and begins to read the rest, or reads
 * it; finish waits for that and verifies: after it the frames are there.  An
 * error at any time leaves the load to its resource owner.
 *
 * A load read ahead has its own pins of its frames, and a token before it
 * starts.  find returns it, and which of its frames, private or of the cache,
 * has the key, or NULL.  drop waits for what is under way and gives up the
 * slots that are left (those taken over are -1); end drops all of an owner
 * (NULL: of any) or, ahead, of a file (NULL: of any).  weed drops those ahead
 * that were not wanted while more than `patience` others were.
 */
typedef struct SkxBlkLoad
{
	bool		used;			/* or to be had for the next load */
	bool		ahead;
	bool		started;		/* reads of all that has to be read */
	bool		done;			/* verified */
	bool		token;			/* of skx_blkio_depth_take */
	int			under_way;		/* transfers */
	uint32		wanted;			/* clock in loads: when it was wanted last */
	uint32		round;			/* of reads: which it was asked for in */
	struct ResourceOwnerData *owner;
	SkxBlkFile *file;
	SkxBlkKey	key;			/* of its plane; ordinal unused */
	SkxBlkGroup group;
	int			npages;
	bool		resident[SKX_BLK_GROUP_PAGES];
	uint32		ordinals[SKX_BLK_GROUP_PAGES];
	BlockNumber blocks[SKX_BLK_GROUP_PAGES];
	char	   *pages[SKX_BLK_GROUP_PAGES];
	int			ntransfers;
	SkxBlkTransfer transfers[SKX_BLK_GROUP_PAGES];
	struct iovec iov[SKX_BLK_GROUP_PAGES];
} SkxBlkLoad;

extern int	skx_blkio_loads_ahead;	/* loads read ahead that exist */

extern SkxBlkLoad *skx_blkio_load_new(SkxBlkFile *file,
									  const SkxBlkPlane *plane, bool ahead);
extern void skx_blkio_load_add(SkxBlkLoad *load, int32 slot, uint32 first);
extern void skx_blkio_load_start(SkxBlkLoad *load);
extern void skx_blkio_load_finish(SkxBlkLoad *load);
extern SkxBlkLoad *skx_blkio_load_find(const SkxBlkKey *key, bool private,
									   int *which);
extern void skx_blkio_load_drop(SkxBlkLoad *load);
extern void skx_blkio_loads_weed(uint32 patience);
extern void skx_blkio_loads_end(struct ResourceOwnerData *owner,
								SkxBlkFile *file);

/*
 * blkio_ahead.c : reading ahead of pins
 *
 * plan is the prefetch of methods that have start.  go starts what may be
 * started now; while starved, plans wait for reads of other backends to end.
 * finish waits for the frame of the key if this backend reads it ahead into
 * the cache; take does so if into its own memory, and returns its slot, the
 * caller's then, else -1.  forget drops the plans of an owner that ends or of
 * a file, as skx_blkio_loads_end.
 */
extern bool skx_blkio_ahead_starved;

extern void skx_blkio_ahead_plan(SkxBlkFile *file, const SkxBlkPlane *plane,
								 const uint32 *ordinals, int n);
extern void skx_blkio_ahead_go(void);
extern void skx_blkio_ahead_finish(SkxBlkFile *file, const SkxBlkKey *key);
extern int32 skx_blkio_ahead_take(SkxBlkFile *file, const SkxBlkKey *key);
extern void skx_blkio_ahead_forget(struct ResourceOwnerData *owner,
								   SkxBlkFile *file);

/* blkio_release.c : what owners and the process give up; before a first pin */
extern void skx_blkio_release_register(void);

/*
 * blkio_ring.c : this process's io_uring
 *
 * ready says whether there is one, and makes it at first use; where the kernel
 * refuses, the log says so once.  add queues a transfer, submit hands all that
 * is queued to the kernel.  reap notes the results of transfers that have ended
 * and returns how many; with `wait` it sleeps first until there is one or a
 * signal comes.  depth is how many are under way.  why: there is no ring.
 */
extern bool skx_blkio_ring_ready(void);
extern void skx_blkio_ring_add(SkxBlkTransfer *transfer, int fd);
extern void skx_blkio_ring_submit(void);
extern int	skx_blkio_ring_reap(bool wait);
extern int	skx_blkio_ring_depth(void);
extern const char *skx_blkio_ring_why(void);

/* Is this errno of a write want of space, by the disk or by a limit? */
#define SKX_BLK_NO_SPACE(error) \
	((error) == ENOSPC || (error) == EDQUOT || (error) == EFBIG)

/*
 * blkio_write.c : one write past the storage manager
 *
 * Writes what is left of a transfer, and waits; the result is in it.  No
 * descriptor to be had is EINVAL.  failed raises the transfer's error.
 */
extern void skx_blkio_write(Relation rel, SkxBlkTransfer *transfer,
							bool direct);
extern void skx_blkio_write_failed(Relation rel,
								   const SkxBlkTransfer *transfer);

/*
 * blkio_mend.c : where an error has been caught that has ended writes
 *
 * begin takes the error; `context` is what was current before it.  mend, of
 * consecutive pages that may have been written in part: none of them stays torn
 * in the file; false: the device does not allow it.  end throws the error again.
 * None of them raises another, but for want of memory.
 */
extern ErrorData *skx_blkio_mend_begin(MemoryContext context);
extern bool skx_blkio_mend(Relation rel, BlockNumber block, char **pages,
						   int npages, bool direct);
extern void skx_blkio_mend_end(ErrorData *error);

/*
 * blkio_fd.c : descriptors of our own
 *
 * get returns an open descriptor of the segment file that holds `block`, and
 * in *handle what put wants back; no error may be raised in between.  A negative
 * result is failure, errno says why: EBUSY, all are in use; EINVAL, to write
 * only, no direct I/O.  look reads a page by a new descriptor; bytes, or
 * -errno.  wait (blkio_fd_wait.c) is get that is never EBUSY.
 */
#define SKX_BLK_FD_DIRECT	1
#define SKX_BLK_FD_WRITE	2
#define SKX_BLK_FD_FRESH	4	/* not a descriptor kept from before */

extern int	skx_blkio_fd_get(Relation rel, BlockNumber block, int how,
							 int *handle);
extern int	skx_blkio_fd_wait(Relation rel, BlockNumber block, int how,
							  int *handle);
extern ssize_t skx_blkio_fd_look(Relation rel, BlockNumber block, char *page);
extern void skx_blkio_fd_put(int handle);
extern void skx_blkio_fd_recheck(void);

#endif							/* SKX_BLKIO_INTERNAL_H */
