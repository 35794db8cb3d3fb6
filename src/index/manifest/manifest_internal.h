/*
 * manifest_internal.h
 *	  What the files of manifest/ share: a root in the making.
 */
#ifndef SKX_MANIFEST_INTERNAL_H
#define SKX_MANIFEST_INTERNAL_H

#include "access/generic_xlog.h"
#include "index/manifest/manifest.h"
#include "index/manifest/manifest_publish.h"

#define SKX_ROOT_CAPACITY	(SKX_PAGE_CAPACITY - sizeof(SkxDiskRootPage))

/* Most pages of a root whose arrays take `size` bytes (manifest_view.c). */
extern uint32 skx_manifest_root_most(Size size);

/*
 * Pins and locks exclusively a page that nothing refers to, whatever it holds;
 * it is not read (manifest_extent.c).
 */
extern Buffer skx_manifest_fresh(Relation rel, BlockNumber block);

/*
 * Makes it an empty page of SKX_PLANE_PENDING, in full in the record: the
 * first of an extent, with its length and the extent before, or 0 and Invalid.
 */
extern void skx_manifest_empty(GenericXLogState *xlog, Buffer buffer,
							   uint64 incarnation, uint32 npages,
							   BlockNumber previous);

/*
 * Moves reusable extents of `least` pages or more to the pool, unless that
 * would need a wait; false: there are none.  Stripe pages may be locked, the
 * metapage not (manifest_operation.c).
 */
extern bool skx_manifest_refill(Relation rel, uint32 least);

/*
 * Free pages that inserts leave to flushes and merges, so that a full disk can
 * be left again: enough for a flush of 512 kB, but no more than a 16th of the file
 * (manifest_free.c).
 */
#define SKX_KEPT_PAGES		80
#define SKX_KEPT_PART		16

/* Errors out if the file cannot get so many pages more. */
extern void skx_manifest_check_growth(Relation rel, BlockNumber nblocks,
									  uint64 npages);

/*
 * manifest_open.c : the views that processes have open
 *
 * lock: a process that cannot enter views says so, until its transaction ends.
 * make prepares to hold a view that lies in the current memory context, and
 * open enters it, under the lock of the metapage that names its root; as a view
 * that is bound to `ends`, if those are given.  bind: it reads no pending
 * document of a stripe from that number on.  close: it is read no more; which
 * happens by itself when the context is reset, or the transaction ends.  views
 * are those of an index; as for skx_manifest_early.
 */
#define SKX_OPEN_PARTS		8
#define SKX_OPEN_VIEWS		15

/* Views of one generation, of the processes of one part. */
typedef struct SkxOpenView
{
	uint64		incarnation;	/* with the database's */
	uint64		generation;		/* 0: of any index */
	uint64		ends[SKX_STRIPES];	/* pending documents before these */
	uint32		next_segment;	/* none of that id or above */
	uint32		count;			/* 0: the place is free */
	uint32		unbound;		/* of them: all pending documents */
	int			leader;			/* pid of the process that frees the place, or
								 * 0 */
} SkxOpenView;

typedef struct SkxOpenViews
{
	bool		known;			/* all of them, and they count */
	int			n;
	uint64		horizon;		/* of transaction ids: a standby may need what
								 * was freed from there on */
	SkxOpenView views[SKX_OPEN_PARTS * SKX_OPEN_VIEWS];
} SkxOpenViews;

extern void skx_manifest_hold_lock(Relation rel);
extern SkxHold *skx_manifest_hold_make(Relation rel);
extern void skx_manifest_hold_open(SkxHold *hold, const SkxDiskMeta *meta,
								   const uint64 *ends);
extern void skx_manifest_hold_bind(SkxHold *hold, const uint64 *ends);
extern void skx_manifest_hold_close(SkxHold *hold);
extern SkxOpenViews *skx_manifest_open_views(Relation rel, Relation heap,
											 uint64 incarnation);

/*
 * manifest_early.c
 *
 * early: the views that are open, and what standbys may need; views are never
 * `known` of a table that logical decoding reads, which has no snapshot of this
 * kind.  The caller holds the heavyweight lock on the metapage, or takes the
 * answer for a guess.  no_view: is it known that no open view has the extent?
 * wait: what keeps what is free in the view, the present one, from being
 * overwritten, as far as this process knows (SKX_WAIT_..., or a transaction id).
 * safexid: of an extent, or one that is not before it.
 */
extern SkxOpenViews *skx_manifest_early(Relation rel, Relation heap,
										const SkxView *view);
extern bool skx_manifest_no_view(const SkxDiskExtent *extent,
								 const SkxOpenViews *open);
extern uint64 skx_manifest_wait(Relation heap, const SkxView *view,
								const SkxDiskExtent *extent,
								const SkxOpenViews *open);
extern uint64 skx_manifest_safexid(const SkxView *view,
								   const SkxDiskExtent *extent);

/*
 * A new root: the present one, edited, until flip makes it the present one.
 * The caller holds the heavyweight lock on the metapage all the time.
 */

/*
 * Pages that the pool should have, in a file with so many times more at least,
 * and the most it is asked to; extents that are shorter than the least stay in
 * the root, unless the disk is full.
 */
#define SKX_POOL_PAGES		640
#define SKX_POOL_PART		16
#define SKX_POOL_MOST		(1024 * 1024)
#define SKX_POOL_LEAST		16

typedef struct SkxDraftExtent
{
	SkxDiskExtent e;
	bool		reusable;		/* free, and no snapshot needs it */
} SkxDraftExtent;

typedef struct SkxDraft
{
	Relation	rel;
	Relation	heap;			/* its horizon says what is reusable */
	SkxView    *view;			/* the present root */
	SkxOpenViews *open;
	uint32		block_pages;
	uint32		next_segment;
	int			nsegments;
	SkxDiskSegmentRef *segments;	/* room for one more */
	const SkxDiskStripeRef *stripes;
	int			noperations;
	SkxDiskOperation operations[SKX_OPERATION_MERGE + 1];
	int			nextents;
	int			extents_size;
	SkxDraftExtent *extents;
	uint32		grow;			/* pages, whole blocks, to add to the file */
	uint32		grow_operation; /* whose they will be */
	uint32		pool_target;	/* pages that the pool should have */
	uint32		pool_least;		/* pages of an extent for it */
	bool		spare;			/* can be done without: no error of a full
								 * disk */
	uint64		reuse;			/* largest safexid among pages taken again, or
								 * a later one */

	bool		unpool;			/* the pool goes back to the free extents and
								 * is filled anew, with the lowest */

	/* with the index locked exclusively: */
	bool		low;			/* the extents have those of the pool, too;
								 * pool and root get the lowest */
	bool		shorten;		/* free ones at the end leave the file */
	void		(*also) (GenericXLogState *xlog, void *arg);	/* registers up to three
																 * pages for the record
																 * that flips */
	void	   *also_arg;
} SkxDraft;

/* manifest_draft.c */
extern SkxDraft *skx_manifest_draft(Relation rel);

/* manifest_early.c : makes pages free from the flip on */
extern void skx_manifest_early_free(SkxDraft *draft, const SkxFreed *freed);

/* Frees all that is reserved for an operation, and removes it. */
extern void skx_manifest_draft_drop(SkxDraft *draft, uint32 operation);

/*
 * manifest_free.c
 *
 * add makes pages free: now (safexid 0), or from the flip on
 * (SKX_SAFEXID_FLIP).  reserve is for at least `nblocks` blocks for an
 * operation, in runs of at least `least`; what is not free is added to the file
 * by the flip.  reusable is pages of reusable extents of so many pages at
 * least; blocks is whole blocks in them, in runs of so many at least.  kept is
 * pages that inserts leave at most; wanted is how many of them a file should
 * have, of which `extents` pages are free or reserved; lacks is pages, in whole
 * blocks, that it has too few; for_pool is pages that inserts may have.  join
 * sorts extents by block and joins neighbours that have become free at one
 * time, or both are reusable.  to_pool moves reusable extents into the pool
 * until it has what it should; `keep` pages are left for the root.
 */
extern void skx_manifest_free_add(SkxDraft *draft, BlockNumber block,
								  uint32 npages, uint64 safexid);
extern void skx_manifest_free_reserve(SkxDraft *draft, uint32 operation,
									  uint32 nblocks, uint32 least);
extern uint64 skx_manifest_free_reusable(const SkxDraft *draft,
										 uint32 least);
extern uint32 skx_manifest_free_blocks(const SkxDraft *draft, uint32 least);
extern uint32 skx_manifest_free_kept(const SkxView *view);
extern uint64 skx_manifest_free_wanted(const SkxView *view, uint64 extents);
extern uint64 skx_manifest_free_for_pool(const SkxDraft *draft);
extern uint32 skx_manifest_free_lacks(const SkxDraft *draft);
extern void skx_manifest_free_join(SkxDraft *draft);
extern void skx_manifest_free_join_many(SkxDraft *draft);
extern void skx_manifest_free_to_pool(SkxDraft *draft, SkxDiskMeta *meta,
									  uint32 keep);

/*
 * manifest_flip.c: makes the draft the root; 0, or errno of a file that could
 * not grow, with nothing changed, which only a spare one returns
 */
extern int	skx_manifest_draft_flip(SkxDraft *draft);
extern void skx_manifest_draft_free(SkxDraft *draft);

#endif							/* SKX_MANIFEST_INTERNAL_H */
