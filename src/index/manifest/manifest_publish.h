/*
 * manifest_publish.h
 *	  Changing which segments make up an index: operations, extents, publish.
 *
 * An operation (flush or merge) reserves a segment id and extents, works
 * without locks, and publishes.  At most one of each kind is under way for an
 * index; a heavyweight lock that its backend holds from begin to end says so.
 * What is left of one whose backend has gone is taken back by the next.
 *
 * Reserving and publishing exclude each other, and VACUUM's marking, by the
 * heavyweight lock on the metapage (LockPage), which is taken after that of
 * the operation and before any buffer.
 */
#ifndef SKX_MANIFEST_PUBLISH_H
#define SKX_MANIFEST_PUBLISH_H

#include "access/generic_xlog.h"
#include "index/manifest/manifest.h"

/* What begin waits for. */
typedef enum SkxManifestWait
{
	SKX_WAIT_NEVER,				/* nothing: give up instead */
	SKX_WAIT_PAGE,				/* the metapage's lock, but not for another
								 * operation of the kind to end */
	SKX_WAIT_ALL
} SkxManifestWait;

typedef struct SkxOperation
{
	Relation	rel;
	uint32		kind;			/* SKX_OPERATION_* */
	uint32		segment;		/* id of the segment to make */
	uint64		salt;			/* ditto */
	uint64		incarnation;
	uint32		block_pages;
	bool		wait;			/* for the metapage's lock */
	bool		joined;			/* another process's */
	bool		published;
	uint32		nreserved;		/* blocks so far */

	/* reserved and not given out, nor returned; in the context of begin */
	SkxDiskExtent *pool;
	int			npool;
	int			pool_size;
} SkxOperation;

/*
 * manifest_operation.c
 *
 * begin takes the operation's lock, consumes a segment id and reserves
 * `nblocks` blocks at first, one `run` of them if that is asked for, all logged
 * before it returns.  NULL, with nothing changed: it would have to wait for
 * longer than `wait` allows, or is called from within an operation of the kind;
 * or there is no space for the blocks, and *error is errno then, else 0.  With
 * `error` it leaves the last megabyte of the disk free; without, it takes what
 * there is, and want of space is raised.
 *
 * begin_free, where there was none, reserves what is free in the file already,
 * `most` blocks at most, and leaves pages for roots; op->nreserved says how many.
 * NULL: fewer than `least`, or as for begin.
 *
 * allocate gives consecutive, aligned blocks and reserves more when it must;
 * give_back returns pages that stayed unused.  end releases the operation's
 * lock; if nothing was published it first tries to return the reservation,
 * which otherwise is left to the next operation of its kind.  After an error
 * nothing need be called.
 */
extern SkxOperation *skx_manifest_begin(Relation rel, uint32 kind,
										uint32 nblocks, bool run,
										SkxManifestWait wait, int *error);
extern SkxOperation *skx_manifest_begin_free(Relation rel, uint32 kind,
											 uint32 least, uint32 most,
											 SkxManifestWait wait);
extern BlockNumber skx_manifest_allocate(SkxOperation *op, uint32 nblocks);
extern void skx_manifest_give_back(SkxOperation *op, BlockNumber block,
								   uint32 npages);
extern void skx_manifest_end(SkxOperation *op);

/*
 * An operation by several processes.  share takes up to `npages` pages, whole
 * blocks in at most `most` extents, out of what one has reserved; returns how
 * many extents.  join makes the same operation of another process, with these;
 * NULL: it may not begin.  It allocates, gives back and reserves more as the
 * first does, which publishes, and must be given what is left.  As long as a
 * process has joined none may begin an operation of the kind, even if the first
 * has gone; leave ends that.
 */
extern int	skx_manifest_share(SkxOperation *op, uint64 npages,
							   SkxDiskExtent *extents, int most);
extern SkxOperation *skx_manifest_join(Relation rel, const SkxOperation *first,
									   const SkxDiskExtent *extents, int n);
extern void skx_manifest_leave(SkxOperation *op);

/* The lock on the metapage; false: not free, and the caller did not wait. */
extern bool skx_manifest_lock(Relation rel, bool wait);
extern void skx_manifest_unlock(Relation rel);

/* For assertions: are these locks held, the metapage's in that mode or more? */
#ifdef USE_ASSERT_CHECKING
extern bool skx_manifest_locked(Relation rel, LOCKMODE mode);
extern bool skx_manifest_operating(Relation rel, uint32 kind);
#endif

/*
 * manifest_publish.c
 *
 * One flip of the root: afterwards every new view has the added segment and
 * none of the removed ones, and stripes are as given.  Their pages are free
 * from then on, once no snapshot needs them; what the operation reserved and
 * did not use is free at once.  The caller holds the metapage's lock and has
 * flushed nothing else: the flip is one WAL record.  A view of that moment is
 * skx_manifest_view() under the same lock.
 */
typedef struct SkxPublish
{
	const SkxDiskSegmentRef *add;	/* or NULL */
	const uint32 *remove;		/* ids */
	int			nremove;
	const SkxDiskStripeRef *stripes;	/* all of them, or NULL: unchanged */
	const SkxFreed *freed;		/* what the removed segments, or the stripes,
								 * occupied */
	int			nfreed;
} SkxPublish;

extern void skx_manifest_publish(SkxOperation *op, const SkxPublish *change);

/*
 * Takes back what operations left that are under way no more; also makes free
 * extents that no snapshot needs any more usable by inserts.  Takes the
 * metapage's lock itself.  False: nothing was to do, or it would have to wait
 * and must not, or there is no space for a root.
 */
extern bool skx_manifest_tidy(Relation rel, bool wait);

/*
 * manifest_shrink.c : with the index locked AccessExclusive, and the metapage
 *
 * used: where the file would end without its free pages there, if `also` were
 * free, too.  move: one flip that gives a stripe another extent, of `npages`
 * pages that lie below a block; `apply` adds the stripe page and the first page
 * of the extent to the record.  False: there are none.  shrink: makes the file
 * as short as it can be; false: no shorter.  release: no more than what each of
 * these does, too: all that is free may be overwritten, whatever transactions
 * there are, since none of them reads the index; false: no space for a root.
 */
typedef struct SkxManifestMove
{
	int			which;			/* stripe */
	uint32		npages;
	BlockNumber below;
	uint32		given_up;		/* pages that it has used and given up */
	const SkxDiskExtent *freed; /* all that it had */
	int			nfreed;
	void		(*apply) (GenericXLogState *xlog, void *move);
	BlockNumber block;			/* out: where the extent starts */
} SkxManifestMove;

/*
 * Pages that the pool of a file of so many should have: an extent for each
 * stripe at least (manifest_draft.c).
 */
extern uint32 skx_manifest_pool_pages(const SkxView *view,
									  BlockNumber nblocks);

extern BlockNumber skx_manifest_used(const SkxView *view,
									 const SkxDiskExtent *also, int nalso);

/*
 * Reusable pages below a block, in runs of whole blocks, with those reserved
 * for an operation (0: none); reach: where the lowest `room` of them end, or
 * `below` where they are fewer.  Pages of the file that are free, reserved or
 * not, beyond what inserts leave.  Without a lock of the caller's.
 */
extern uint64 skx_manifest_reusable(Relation rel, const SkxView *view,
									BlockNumber below, uint32 operation,
									uint64 room, BlockNumber *reach);
extern uint64 skx_manifest_free(const SkxView *view);

/* Pages that wait for transactions, not for views (manifest_early.c). */
extern uint64 skx_manifest_waiting(Relation rel, const SkxView *view);

/*
 * Free pages that were not to be overwritten as far as this process knew, and
 * those that are not after a new look at all processes; `newest` is the last
 * transaction id that they wait for.
 */
typedef struct SkxManifestAwaited
{
	uint64		npages;
	uint64		left;
	uint64		newest;
} SkxManifestAwaited;

extern void skx_manifest_awaited(Relation rel, const SkxView *view,
								 SkxManifestAwaited *awaited);
extern bool skx_manifest_move(Relation rel, SkxManifestMove *move);
extern bool skx_manifest_shrink(Relation rel);
extern bool skx_manifest_release(Relation rel);

#endif							/* SKX_MANIFEST_PUBLISH_H */
