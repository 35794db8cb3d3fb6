/*
 * blkio_internal.h
 *	  What the files of blkio/ share: the ops table, pins, cache, descriptors.
 */
#ifndef SKX_BLKIO_INTERNAL_H
#define SKX_BLKIO_INTERNAL_H

#include <sys/uio.h>

#include "blkio/blkio.h"
#include "compat/compat.h"
#include "port/atomics.h"
#include "storage/buf.h"

/* Pages in a frame of the block class; a frame of the page class holds 1. */
#define SKX_BLK_FRAME_PAGES		16

/* Most pages transferred for one miss: the largest unit, 1 MB. */
#define SKX_BLK_GROUP_PAGES		128

/* Most frames those pages take: a unit below a block frame goes to pages. */
#define SKX_BLK_GROUP_FRAMES	8

/* Buffers for direct I/O must be aligned to this. */
#define SKX_BLK_ALIGN			4096

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
 * A read of consecutive blocks that lie in one segment file, into one or more
 * pieces of memory.  `done` counts the bytes read, `error` is an errno or 0.
 */
typedef struct SkxBlkTransfer
{
	BlockNumber block;
	int			npages;
	struct iovec *iov;
	int			niov;
	size_t		done;
	int			error;
} SkxBlkTransfer;

/*
 * A method.  Either it pins pages by its own means (pin and unpin set), or it
 * reads into frames of the cache (submit and complete set) and shares all else
 * with the other methods of that kind.
 *
 * submit may start the reads or do them; complete returns when none of them is
 * under way any more.  Neither raises an error for a failed read: that is in
 * the transfer.  prefetch may be NULL.
 */
typedef struct SkxBlkMethod
{
	const char *name;
	bool		direct;			/* descriptors opened with O_DIRECT */
	void		(*pin) (SkxBlkFile *file, const SkxBlkPlane *plane,
						uint32 ordinal, SkxBlkRef *ref);
	void		(*prefetch) (SkxBlkFile *file, const SkxBlkPlane *plane,
							 const uint32 *ordinals, int n);
	void		(*submit) (SkxBlkFile *file, SkxBlkTransfer *transfers, int n);
	void		(*complete) (SkxBlkFile *file, SkxBlkTransfer *transfers,
							 int n);
} SkxBlkMethod;

extern const SkxBlkMethod skx_blkio_method_bufmgr;
extern const SkxBlkMethod skx_blkio_method_buffered;

struct SkxBlkFile
{
	Relation	rel;
	const SkxBlkMethod *method;
	SkxBlkVerify verify;
	uint64		incarnation;
	int			pin_budget;		/* skx_blkio_crowded from here on */
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

/* blkio_file.c */
extern SkxBlkCounters skx_blkio_mine;
extern void skx_blkio_counters_publish(void);

/* blkio_gucs.c */
typedef enum SkxBlkMethodChoice
{
	SKX_BLK_METHOD_AUTO,
	SKX_BLK_METHOD_SHARED_BUFFERS,
	SKX_BLK_METHOD_BUFFERED
} SkxBlkMethodChoice;

extern int	skx_blkio_io_method;
extern int	skx_blkio_cache_size;	/* kB */

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
} SkxBlkPin;

extern int32 skx_blkio_pins_take(void);
extern SkxBlkPin *skx_blkio_pins_at(int32 slot);
extern void skx_blkio_pins_drop(int32 slot);
extern void skx_blkio_pins_private(int32 slot, SkxBlkClass class);
extern void skx_blkio_pins_loaded(int32 slot);
extern int	skx_blkio_pins_count(void);

/*
 * blkio_load.c : fills frames through the residency protocol
 *
 * The group is the frames of one unit that must be read: slots whose pins are
 * loading or private.  On success all hold verified pages.
 */
typedef struct SkxBlkGroup
{
	const SkxBlkPlane *plane;
	int			nframes;
	int32		slots[SKX_BLK_GROUP_FRAMES];
	uint32		firsts[SKX_BLK_GROUP_FRAMES];	/* ordinals, ascending */
} SkxBlkGroup;

extern void skx_blkio_load(SkxBlkFile *file, const SkxBlkGroup *group);

/* blkio_cached.c : pinning through the cache, for every such method */
extern void skx_blkio_cached_pin(SkxBlkFile *file, const SkxBlkPlane *plane,
								 uint32 ordinal, SkxBlkRef *ref);
extern bool skx_blkio_cached_present(SkxBlkFile *file,
									 const SkxBlkPlane *plane,
									 uint32 ordinal);

/*
 * blkio_fd.c : descriptors of our own
 *
 * get returns an open descriptor of the segment file that holds `block`, and
 * in *handle what put wants back; nothing that can raise an error may come in
 * between.  With `fresh`, a descriptor kept from before is not used.  A
 * negative result is failure, errno says why.
 */
extern int	skx_blkio_fd_get(Relation rel, BlockNumber block, bool direct,
							 bool fresh, int *handle);
extern void skx_blkio_fd_put(int handle);
extern void skx_blkio_fd_recheck(void);

#endif							/* SKX_BLKIO_INTERNAL_H */
