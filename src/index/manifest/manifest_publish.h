/*
 * manifest_publish.h
 *	  Changing which segments make up an index: operations, extents, publish.
 *
 * An operation (flush or merge) reserves a segment id and extents, works
 * without locks on pages, and publishes.  At most one operation of each kind
 * is under way for an index: its backend holds a heavyweight lock, that of the
 * operation, from begin to end.  If the backend ends before, the next
 * operation of the kind takes back what was reserved.
 *
 * Reserving and publishing exclude each other, and VACUUM that sets deleted
 * bits, by the heavyweight lock on the metapage (LockPage).  It is taken after
 * that of the operation and before any buffer lock.
 */
#ifndef SKX_MANIFEST_PUBLISH_H
#define SKX_MANIFEST_PUBLISH_H

#include "access/generic_xlog.h"
#include "index/manifest/manifest.h"

/* Locks that an operation waits for. */
typedef enum SkxManifestWait
{
	SKX_WAIT_NEVER,				/* none: it is given up instead */
	SKX_WAIT_PAGE,				/* that of the metapage, but not the end of
								 * another operation of the kind */
	SKX_WAIT_ALL				/* both */
} SkxManifestWait;

/* A flush or merge that is under way. */
typedef struct SkxOperation
{
	Relation	rel;
	uint32		kind;			/* SKX_OPERATION_* */
	uint32		segment;		/* id of the segment to make */
	uint64		salt;			/* of that segment */
	uint64		incarnation;
	SkxDiskFormat format;		/* of that segment */
	uint32		block_pages;
	bool		waits_for_lock; /* true if it waits for the metapage's lock */
	bool		is_joined;		/* another process has begun it */
	bool		is_published;
	uint32		reserved_blocks;	/* blocks reserved so far */

	/*
	 * Extents that are reserved and not allocated; in the memory context of
	 * begin.
	 */
	SkxDiskExtent *reserved;
	int			nreserved_extents;
	int			reserved_size;
} SkxOperation;

/*
 * manifest_operation.c : operations from begin to end
 *
 * After an error no function need be called.
 */

/*
 * Begins an operation: takes its lock, consumes a segment id and reserves
 * nblocks blocks, all logged before it returns.  With `run` the blocks are
 * consecutive.
 *
 * Returns NULL, with nothing changed, if it would have to wait for longer than
 * `wait` allows, or if this backend is in an operation of the kind.  *error is
 * 0 then.  `error` not NULL: it leaves the last megabyte of the disk free, and
 * returns NULL with errno in *error if space is lacking.  `error` NULL: it
 * takes what space there is, and raises an error if that is too little.
 */
extern SkxOperation *skx_manifest_begin(Relation rel, uint32 kind,
										uint32 nblocks, bool run,
										SkxManifestWait wait, int *error);

/*
 * Begins an operation where skx_manifest_begin() found no space.  Reserves
 * blocks that are free in the file, `most` at most, and leaves some for roots;
 * op->reserved_blocks is their number.  Returns NULL if fewer than `least` are
 * free, or as skx_manifest_begin() does.
 */
extern SkxOperation *skx_manifest_begin_reusing(Relation rel, uint32 kind,
												uint32 least, uint32 most,
												SkxManifestWait wait);

/*
 * Allocates nblocks consecutive, aligned blocks of the reservation, and
 * returns their first page.  Reserves more if it must, and waits for the lock
 * on the metapage then.
 */
extern BlockNumber skx_manifest_allocate(SkxOperation *op, uint32 nblocks);

/* Returns allocated pages that stayed unused to the reservation. */
extern void skx_manifest_give_back(SkxOperation *op, BlockNumber block,
								   uint32 npages);

/*
 * Ends the operation: releases its lock and frees it.  If nothing was
 * published, it first tries to make the reserved pages free.  If that fails,
 * the next operation of the kind does it.
 */
extern void skx_manifest_end(SkxOperation *op);

/*
 * For an operation by several processes: takes up to npages pages out of what
 * this process has reserved, in whole blocks and at most `most` extents.
 * Returns how many extents it wrote to `extents`.
 */
extern int	skx_manifest_share_extents(SkxOperation *op, uint64 npages,
									   SkxDiskExtent *extents, int most);

/*
 * Joins the operation `first` of another process, with n extents that it has
 * shared.  Returns NULL if that is not possible without waiting.  The process
 * allocates, gives back and reserves more as the first does.  The first one
 * publishes, and must be given the extents that are left.  While a process has
 * joined, no operation of the kind can begin, even if the first has ended.
 */
extern SkxOperation *skx_manifest_join(Relation rel, const SkxOperation *first,
									   const SkxDiskExtent *extents, int n);

/* Ends what skx_manifest_join() began, and frees op. */
extern void skx_manifest_leave_operation(SkxOperation *op);

/* manifest_lock.c : the heavyweight lock on the metapage */

/*
 * Takes the heavyweight lock on the metapage.  All that writes to the index
 * takes it, but for inserts.  Returns false if it is not free and `wait` is
 * false.  Raises an error if this release must not write to the index.
 */
extern bool skx_manifest_lock(Relation rel, bool wait);

/* Releases the heavyweight lock on the metapage. */
extern void skx_manifest_unlock(Relation rel);

#ifdef USE_ASSERT_CHECKING

/*
 * For assertions: returns true if this process holds the heavyweight lock on
 * the metapage in `mode` or a stronger one.
 */
extern bool skx_manifest_holds_lock(Relation rel, LOCKMODE mode);

/*
 * For assertions: returns true if this process holds the lock of operations of
 * the kind.
 */
extern bool skx_manifest_holds_operation(Relation rel, uint32 kind);
#endif

/* manifest_publish.c : the end of an operation */

/* What a publish changes. */
typedef struct SkxPublish
{
	const SkxDiskSegmentRef *add;	/* or NULL */
	const uint32 *remove;		/* ids of segments */
	int			nremove;
	const SkxDiskStripeRef *stripes;	/* all of them; NULL: unchanged */
	const SkxFreedExtent *freed;	/* pages that the removed segments or the
									 * stripes give up */
	int			nfreed;
} SkxPublish;

/*
 * Changes the index by one flip of the root, which is one WAL record.
 * Afterwards every new view has the added segment and none of the removed
 * ones, and stripes are as given.  The pages in `freed` are free from then on,
 * and are overwritten once no view or snapshot needs them.  Pages that the
 * operation reserved and did not use are free at once.
 *
 * The caller holds the lock on the metapage.  A skx_manifest_view() under the
 * same lock is the view right after the flip.
 */
extern void skx_manifest_publish(SkxOperation *op, const SkxPublish *change);

/*
 * Takes back what operations have reserved that have ended without doing so.
 * Also moves pages that may be overwritten to the pool if that has too few,
 * and from it if it has far too many (manifest_operation.c).  Takes the lock
 * on the metapage itself.  Returns false if there was nothing to do, the lock
 * is not free and `wait` is false, or there is no space for a root.
 */
extern bool skx_manifest_free_orphaned(Relation rel, bool wait);

/* manifest_shrink.c : gives back the end of the file */

/* A stripe that gets another extent. */
typedef struct SkxManifestMove
{
	int			stripe;			/* the stripe */
	uint32		npages;			/* length of the new extent */
	BlockNumber below_block;	/* the extent starts before this block */
	uint32		given_up_pages; /* number of pages that the stripe has ever
								 * used, all of which it gives up */
	const SkxDiskExtent *freed; /* all extents that it had */
	int			nfreed;
	/* adds the stripe page and the extent's first page to the record */
	void		(*apply_extent) (GenericXLogState *xlog, void *move);
	BlockNumber block;			/* out: first page of the extent */
} SkxManifestMove;

/*
 * Returns how many pages the pool of a file of nblocks pages should have: an
 * extent for each stripe, or more, up to SKX_POOL_PAGES_MAX
 * (manifest_draft.c).
 */
extern uint32 skx_manifest_pool_pages(const SkxView *view,
									  BlockNumber nblocks);

/*
 * Returns where the file would end without the free pages at its end.  Pages
 * of the pool and of the root count as free, as do the nalso extents in
 * `also`.
 */
extern BlockNumber skx_manifest_used_end(const SkxView *view,
										 const SkxDiskExtent *also, int nalso);

/*
 * Returns how many pages before the block `below` may be overwritten, in whole
 * blocks.  Pages that are reserved for `operation` count, too (0: none do).
 * *reach is where the lowest `room` of them end, or `below` if they are fewer.
 * The caller needs no lock.
 */
extern uint64 skx_manifest_reusable_below(Relation rel, const SkxView *view,
										  BlockNumber below, uint32 operation,
										  uint64 room, BlockNumber *reach);

/*
 * Returns how many pages of the file are free or reserved, with those of the
 * pool, beyond those that it should have for flushes and merges.
 */
extern uint64 skx_manifest_excess_free(const SkxView *view);

/*
 * Returns how many free pages wait for transactions, not for open views
 * (manifest_early.c).
 */
extern uint64 skx_manifest_waiting_pages(Relation rel, const SkxView *view);

/* Free pages that may not be overwritten yet. */
typedef struct SkxManifestWaiting
{
	uint64		npages;			/* by the horizon that this process knew */
	uint64		by_horizon;		/* by a horizon that was computed anew */
	uint64		newest_xid;		/* largest transaction id that these wait for;
								 * 0: they wait for none */
} SkxManifestWaiting;

/* Counts the free pages of the view that may not be overwritten yet. */
extern void skx_manifest_waiting_free(Relation rel, const SkxView *view,
									  SkxManifestWaiting *awaited);

/*
 * Gives a stripe another extent, by one flip.  All pages that were free
 * before may be overwritten from then on.  Returns false, with nothing
 * changed, if there are too few free pages in a row before move->below_block,
 * or no space for a root.  The index is locked AccessExclusive, and the caller
 * holds the lock on the metapage.
 */
extern bool skx_manifest_move_stripe(Relation rel, SkxManifestMove *move);

/*
 * Makes the file as short as it can be without moving anything.  All pages
 * that were free before may be overwritten from then on.  Returns false if the
 * file is no shorter.  Locks as for skx_manifest_move_stripe().
 */
extern bool skx_manifest_shrink(Relation rel);

/*
 * Allows all pages that are free to be overwritten, whatever transactions are
 * under way, since none of them reads the index.  Returns false if there is
 * no space for a root.  Locks as for skx_manifest_move_stripe().
 */
extern bool skx_manifest_release_free(Relation rel);

#endif							/* SKX_MANIFEST_PUBLISH_H */
