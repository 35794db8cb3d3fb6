/*
 * pending_internal.h
 *	  Shared by the files of pending/: pages, walks, images of documents.
 */
#ifndef SKX_PENDING_INTERNAL_H
#define SKX_PENDING_INTERNAL_H

#include "format/disk/disk_page.h"
#include "format/disk/disk_pending.h"
#include "index/pending/pending.h"
#include "storage/blkio/blkio_marks.h"

/* Most bytes of a value in its record; larger values are stored in chains. */
#define SKX_PENDING_INLINE_MAX \
	(SKX_PAGE_CAPACITY - sizeof(SkxDiskPendingPage) - \
	 sizeof(SkxDiskPendingDoc))

/* Bytes on a page of a record with a value of nbytes bytes. */
#define SKX_PENDING_RECORD_SIZE(nbytes) \
	(sizeof(SkxDiskPendingDoc) + INTALIGN(nbytes))

/* A stripe into which a document is inserted. */
typedef struct SkxPendingStripe
{
	Relation	rel;
	SkxDiskMeta meta;			/* as read when the insert began, or later */
	BlockNumber block;			/* the stripe page */
	Buffer		buffer;			/* that page, locked exclusively for the
								 * insert */
	BlockNumber new_extent;		/* start of the newest extent, once a page of
								 * it is about to be used */
} SkxPendingStripe;

/* pending_page.c : pages of a stripe */

/*
 * Returns a page of a list, pinned, checked, and locked in `mode`
 * (BUFFER_LOCK_*).  Raises an error for damage.  If `block` lies past the
 * allocated file by *meta, reads the metapage into *meta again; if it does
 * still, that is damage.
 */
extern Buffer skx_pending_lock_page(Relation rel, SkxDiskMeta *meta,
									BlockNumber block, SkxPlane plane,
									int mode);

/*
 * Returns an unused page of the stripe's newest extent, pinned and locked
 * exclusively.  The stripe page is locked.
 */
extern Buffer skx_pending_unused_page(SkxPendingStripe *s, BlockNumber block);

/*
 * Makes `copy`, the copy of a page in a WAL record, an empty page of `plane`.
 * `buffer` is the page that skx_pending_unused_page() returned.  The first
 * page of an extent keeps the length of the extent and the start of the one
 * before.
 */
extern void skx_pending_init_page(char *copy, Buffer buffer,
								  const SkxPendingStripe *s, SkxPlane plane);

/*
 * Makes sure that the stripe, locked exclusively, has an unused page.  Takes
 * an extent if it has none; `wanted` is the number of pages that are about to
 * be used.
 */
extern void skx_pending_extend(SkxPendingStripe *s, uint32 wanted);

/*
 * Reads the length of the extent of a stripe that starts at `block`, and the
 * start of the extent before it (InvalidBlockNumber: none).  Raises an error
 * for damage if no extent starts there.
 */
extern void skx_pending_extent(Relation rel, const SkxDiskMeta *meta,
							   BlockNumber block, uint32 *npages,
							   BlockNumber *previous);

/*
 * Returns the number of the first document on the first page of the extent
 * that starts at `block`.  Returns 0 if that page belongs to a chain.
 */
extern uint64 skx_pending_extent_first_doc(Relation rel,
										   const SkxDiskMeta *meta,
										   BlockNumber block);

#ifdef USE_ASSERT_CHECKING

/*
 * For assertions, before `copy` replaces a locked stripe page: returns true if
 * the copy is as sound as the page, and none of its counts is smaller.
 */
extern bool skx_pending_stripe_is_successor(Buffer buffer, const char *copy);
#endif

/* pending_chain.c : documents that do not fit on one page */

/*
 * Writes nbytes bytes to a chain of new pages, and returns the first of them.
 * Nothing refers to the chain yet.  The stripe page is locked exclusively.
 */
extern BlockNumber skx_pending_chain_write(SkxPendingStripe *s,
										   const char *bytes, uint32 nbytes);

/*
 * Reads a chain of chain->nbytes bytes into `bytes`.  Raises an error for
 * damage if it has another length.  `block` is the page that links it, for
 * error messages.
 */
extern void skx_pending_chain_read(Relation rel, SkxDiskMeta *meta,
								   const SkxDiskPendingChain *chain,
								   BlockNumber block, char *bytes);

/*
 * pending_walk.c : walks through the pages of one stripe
 *
 * Each page is copied under share lock.  A walk ends before documents that
 * were added after it began: they belong to transactions that the caller's
 * snapshot does not see.
 */

/* A walk through the pending documents of one stripe. */
typedef struct SkxPendingWalk
{
	Relation	rel;
	SkxDiskMeta meta;
	BlockNumber stripe;			/* the stripe page */
	uint64		flushed_through;	/* documents up to this number are left
									 * out */
	uint64		limit;			/* the walk ends before this document */
	uint64		ndead;			/* documents of the stripe ever flagged as
								 * dead, when the walk began */
	uint64		sequence;		/* number of the next document; 0: no page is
								 * read yet */
	BlockNumber block;			/* block number of `page` */
	BlockNumber next;			/* page after it */
	uint32		nleft;			/* records on the page not given yet */
	uint32		offset;			/* of the next record, from page start */
	bool		verified_is_known;	/* `is_verified` is known */
	bool		is_verified;	/* documents on the page need no check */
	PGAlignedBlock page;		/* copy of the page */
} SkxPendingWalk;

/*
 * Begins a walk through stripe `which` of the view.  Reads the stripe page,
 * but no page of the list.
 */
extern void skx_pending_walk_begin(SkxPendingWalk *walk, Relation rel,
								   const SkxView *view, int which);

/*
 * Before the first page: lets the walk begin with the page `block`, whose
 * first document has number `sequence`.  Does nothing if documents of that
 * page have left the list, or `sequence` is 0: the walk begins with the
 * list's first page.
 */
extern void skx_pending_walk_resume(SkxPendingWalk *walk, uint64 sequence,
									BlockNumber block);

/*
 * Copies the next page into walk->page.  Returns false at the end.  Raises an
 * error for a page that does not continue the list.
 */
extern bool skx_pending_walk_page(SkxPendingWalk *walk);

/*
 * Checks a record that has at most `room` bytes to the end of its page.
 * Returns NULL if it is sound, or a message that tells the damage.
 */
extern const char *skx_pending_record_check(const SkxDiskPendingDoc *doc,
											uint32 room);

/*
 * Returns the next pending record of the page, in walk->page, or NULL at the
 * end of the page or of the walk.  Raises an error for damage.
 */
extern SkxDiskPendingDoc *skx_pending_walk_record(SkxPendingWalk *walk);

/*
 * Returns true if the documents on the page that the walk has copied are
 * sound, except those in chains, which are not checked (pending_sound.c).  The
 * session remembers the answer by a CRC of the page.
 */
extern bool skx_pending_page_is_verified(const SkxPendingWalk *walk);

/*
 * pending_dead.c : documents that are known to be dead before VACUUM has
 * flagged them
 */

/* The documents of one stripe that are known to be dead. */
typedef struct SkxPendingDead
{
	SkxBlkBitsKey bits;
	uint64		groups;			/* groups of pages of bits that may have one
								 * set; 0: no document is known to be dead */
	uint64		page;			/* 1 + page of bits in `words`; 0: none was
								 * read */
	bool		page_has_bits;	/* that page has bits set */
	uint64	   *words;			/* bits, palloc'd; NULL: not needed yet */
} SkxPendingDead;

/*
 * Begins to look up documents of stripe `which`.  *dead is zero before the
 * first call.  Documents that are noted later may be missed.
 */
extern void skx_pending_dead_begin(SkxPendingDead *dead, Relation rel,
								   const SkxView *view, int which);

/* Does the work of skx_pending_is_dead(); called through that only. */
extern bool skx_pending_dead_lookup(SkxPendingDead *dead, uint64 sequence);

/* Returns true if the document of the stripe is known to be dead. */
static inline bool
skx_pending_is_dead(SkxPendingDead *dead, uint64 sequence)
{
	return dead->groups != 0 && skx_pending_dead_lookup(dead, sequence);
}

/* pending_value.c : values of documents */

/* Memory for documents that are read from chains; zero but for context. */
typedef struct SkxPendingValue
{
	MemoryContext context;		/* context of `chain` */
	char	   *chain;			/* the document that was read last, or NULL;
								 * the caller frees it */
	Size		chain_size;		/* capacity of `chain` in bytes */
} SkxPendingValue;

/*
 * Returns the tsvector of the record that the walk has given last, checked.
 * It lies in walk->page or in memory->chain, and is valid until the next call
 * or page.  Raises an error for damage.
 */
extern TSVector skx_pending_value(SkxPendingValue *memory,
								  SkxPendingWalk *walk,
								  SkxDiskPendingDoc *doc);

/*
 * pending_image.c : copies of documents that the session has read several
 * times
 */

/* The copies of one index. */
typedef struct SkxPendingImage SkxPendingImage;

/*
 * Is increased whenever copies of any image are dropped.  Calls of
 * skx_pending_image() and skx_pending_image_next() may do that, also those of
 * other scans.  Copies may be used only until then.
 */
extern uint64 skx_pending_image_changes;

/* Returns the image of the index, and makes an empty one if there is none. */
extern SkxPendingImage *skx_pending_image(Relation rel, const SkxView *view);

/*
 * Brings the image up to date for a walk of stripe `which` that has just
 * begun, if the session has read the missing documents several times.  Returns
 * the number at which the image's documents end: those after
 * walk->flushed_through and before the result are in the image, be they within
 * the walk's limit or not.  `dead`: their dead flags are up to date, too.
 */
extern uint64 skx_pending_image_next(SkxPendingImage *image,
									 const SkxPendingWalk *walk, int which,
									 bool dead);

/*
 * Sets *doc to a document that the image has.  Its value lies in the image's
 * memory.
 */
extern void skx_pending_image_get(const SkxPendingImage *image, int which,
								  uint64 sequence, SkxPendingDoc *doc);

/*
 * Returns the norms of the lengths of the image's documents of stripe `which`,
 * from number `sequence` on.
 */
extern const uint8 *skx_pending_image_norms(const SkxPendingImage *image,
											int which, uint64 sequence);

/*
 * Before the first page of the walk: lets it begin after the last document of
 * stripe `which` that the image has.
 */
extern void skx_pending_image_skip(const SkxPendingImage *image,
								   SkxPendingWalk *walk, int which);

#endif							/* SKX_PENDING_INTERNAL_H */
