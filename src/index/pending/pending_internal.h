/*
 * pending_internal.h
 *	  What the files of pending/ share.
 */
#ifndef SKX_PENDING_INTERNAL_H
#define SKX_PENDING_INTERNAL_H

#include "format/disk/disk_page.h"
#include "format/disk/disk_pending.h"
#include "index/pending/pending.h"
#include "storage/blkio/blkio_marks.h"

/* Room of a record that takes a whole page. */
#define SKX_PENDING_INLINE_MAX \
	(SKX_PAGE_CAPACITY - sizeof(SkxDiskPendingPage) - \
	 sizeof(SkxDiskPendingDoc))
#define SKX_PENDING_RECORD_SIZE(nbytes) \
	(sizeof(SkxDiskPendingDoc) + INTALIGN(nbytes))

/* A stripe as an insert sees it. */
typedef struct SkxPendingStripe
{
	Relation	rel;
	SkxDiskMeta meta;			/* nblocks: at least what it was at the start */
	BlockNumber block;			/* the stripe page */
	Buffer		buffer;			/* it, locked exclusively for the insert */
	BlockNumber extent;			/* start of the newest extent, once a page of
								 * it is about to be used */
} SkxPendingStripe;

/*
 * pending_page.c
 *
 * Pins, locks and checks a page of the list.  A block number from disk that
 * lies past the allocated file is damage; `meta` is read again before saying
 * so.
 */
extern Buffer skx_pending_buffer(Relation rel, SkxDiskMeta *meta,
								 BlockNumber block, SkxPlane plane,
								 int mode);
extern Buffer skx_pending_fresh(SkxPendingStripe *s, BlockNumber block);
extern void skx_pending_init_page(char *copy, Buffer buffer,
								  const SkxPendingStripe *s, SkxPlane plane);
extern void skx_pending_extend(SkxPendingStripe *s, uint32 wanted);

/* The extent of a stripe that starts at `block`: its length, the one before. */
extern void skx_pending_extent(Relation rel, const SkxDiskMeta *meta,
							   BlockNumber block, uint32 *npages,
							   BlockNumber *previous);

/* The first document of it; 0: it is not known, as it begins with a chain. */
extern uint64 skx_pending_extent_first(Relation rel, const SkxDiskMeta *meta,
									   BlockNumber block);

/*
 * For assertions: is the copy of a locked stripe page, about to be written, as
 * sound as the page was, and does it count no less?
 */
#ifdef USE_ASSERT_CHECKING
extern bool skx_pending_stripe_grows(Buffer buffer, const char *copy);
#endif

/* pending_chain.c */
extern BlockNumber skx_pending_chain_write(SkxPendingStripe *s,
										   const char *bytes, uint32 nbytes);
extern void skx_pending_chain_read(Relation rel, SkxDiskMeta *meta,
								   const SkxDiskPendingChain *chain,
								   BlockNumber block, char *bytes);

/*
 * pending_walk.c : the pages of one stripe, each copied under share lock
 *
 * Ends before the document that was next when the walk began: later ones
 * belong to transactions that the caller's snapshot does not see.
 */
typedef struct SkxPendingWalk
{
	Relation	rel;
	SkxDiskMeta meta;
	BlockNumber stripe;
	uint64		flushed_through;
	uint64		limit;			/* first sequence number not to see */
	uint64		ndead;			/* of all documents ever, when it began */
	uint64		sequence;		/* of the next record; 0: no page read yet */
	BlockNumber block;			/* page in `page` */
	BlockNumber next;			/* page after it */
	uint32		left;			/* records of it not seen yet */
	uint32		offset;			/* of the next one, from page start */
	bool		asked;			/* `sound` is known */
	bool		sound;			/* documents on the page need no check */
	PGAlignedBlock page;
} SkxPendingWalk;

extern void skx_pending_walk_begin(SkxPendingWalk *walk, Relation rel,
								   const SkxView *view, int which);

/*
 * Goes on with the page that has document number `sequence` first, if none of
 * its documents has left the list; else from the list's beginning.
 */
extern void skx_pending_walk_resume(SkxPendingWalk *walk, uint64 sequence,
									BlockNumber block);
extern bool skx_pending_walk_page(SkxPendingWalk *walk);

/* Is the record, which starts inside the page, what a record can be? */
extern const char *skx_pending_record_check(const SkxDiskPendingDoc *doc,
											uint32 room);

/* Next record of the page, NULL at its end. */
extern SkxDiskPendingDoc *skx_pending_walk_record(SkxPendingWalk *walk);

/*
 * pending_sound.c : are the documents on the page that the walk has copied, but
 * for those in chains, known to be sound?
 */
extern bool skx_pending_sound(const SkxPendingWalk *walk);

/*
 * pending_dead.c : documents of a stripe that are known to be dead, before
 * VACUUM has marked them
 *
 * What is noted after begin may not be seen.
 */
typedef struct SkxPendingDead
{
	SkxBlkMarks marks;
	uint64		groups;			/* 0: none is */
	uint64		page;			/* 1 + that of `words`; 0: none was read */
	bool		any;			/* it has some */
	uint32	   *words;			/* NULL: not needed yet; palloc'd */
} SkxPendingDead;

extern void skx_pending_dead_begin(SkxPendingDead *dead, Relation rel,
								   const SkxView *view, int which);
extern bool skx_pending_dead_slow(SkxPendingDead *dead, uint64 sequence);

static inline bool
skx_pending_is_dead(SkxPendingDead *dead, uint64 sequence)
{
	return dead->groups != 0 && skx_pending_dead_slow(dead, sequence);
}

/*
 * pending_scan.c : the tsvector of the record that the walk has just passed,
 * checked; NULL for NULL; valid until the next call
 */
typedef struct SkxPendingValue
{
	MemoryContext context;		/* where it may stay */
	char	   *chain;			/* a document read from a chain */
	Size		chain_size;		/* room there */
} SkxPendingValue;

extern TSVector skx_pending_value(SkxPendingValue *memory,
								  SkxPendingWalk *walk,
								  SkxDiskPendingDoc *doc);

/*
 * pending_image.c : documents that the session has read before
 *
 * image: that of an index.  next: brings it up to date for a walk of a stripe
 * that has just begun, if it is worth it; documents after flushed_through, up
 * to the one before the result, are there, be they within the walk's limit or
 * not; `dead`: and it is known of each whether it is dead.  get: one of them.
 * pass: has the walk go on after the last of them.
 *
 * An image is valid until `changes` moves, which calls of this module may
 * bring about, and get and pass no later than that.
 */
typedef struct SkxPendingImage SkxPendingImage;

extern uint64 skx_pending_image_changes;

extern SkxPendingImage *skx_pending_image(Relation rel, const SkxView *view);
extern uint64 skx_pending_image_next(SkxPendingImage *image,
									 const SkxPendingWalk *walk, int which,
									 bool dead);
extern void skx_pending_image_get(const SkxPendingImage *image, int which,
								  uint64 sequence, SkxPendingDoc *doc);
extern const uint8 *skx_pending_image_norms(const SkxPendingImage *image,
											int which, uint64 sequence);
extern void skx_pending_image_pass(const SkxPendingImage *image,
								   SkxPendingWalk *walk, int which);

#endif							/* SKX_PENDING_INTERNAL_H */
