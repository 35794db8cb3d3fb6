/*
 * manifest_internal.h
 *	  Shared by the files of manifest/: open views, and the draft of a new
 *	  root.
 */
#ifndef SKX_MANIFEST_INTERNAL_H
#define SKX_MANIFEST_INTERNAL_H

#include "access/generic_xlog.h"
#include "index/manifest/manifest.h"
#include "index/manifest/manifest_publish.h"
#include "storage/lock.h"

/* Bytes of the root's stream that fit on one of its pages. */
#define SKX_ROOT_CAPACITY	(SKX_PAGE_CAPACITY - sizeof(SkxDiskRootPage))

/*
 * Returns the most pages that a root may have whose arrays take `size` bytes
 * (manifest_view.c).
 */
extern uint32 skx_manifest_root_max_pages(Size size);

/*
 * Returns a page that nothing refers to, pinned and locked exclusively.  Its
 * content is not read from disk and is undefined (manifest_grow.c).
 */
extern Buffer skx_manifest_unused_page(Relation rel, BlockNumber block);

/*
 * Registers the buffer, locked exclusively, with a full image for the record,
 * and makes it an empty page of SKX_PLANE_PENDING (manifest_grow.c).  For
 * the first page of an extent, npages is the length of the extent, and
 * `previous` is where the owner's extent before it starts.  For other pages
 * they are 0 and InvalidBlockNumber.
 */
extern void skx_manifest_init_page(GenericXLogState *xlog, Buffer buffer,
								   uint64 incarnation, uint32 npages,
								   BlockNumber previous);

/*
 * Moves reusable extents of `least` pages or more to the pool, by a flip
 * (manifest_operation.c).  Returns false if nothing was moved.  Then the lock
 * on the metapage is not free, parallel mode forbids it, there is no space
 * for a root, or inserts may have none of the extents.  In the last case the
 * file grows if it lacks free pages for flushes.  The caller may have stripe
 * pages locked, but not the metapage.
 */
extern bool skx_manifest_refill_pool(Relation rel, uint32 least);

/*
 * Free pages that inserts leave to flushes and merges, so that an index can
 * leave a full disk again (manifest_free.c).  They suffice for a flush of 512
 * kB, but are no more than one in SKX_RESERVED_FREE_FRACTION pages of the
 * file.
 */
#define SKX_RESERVED_FREE_PAGES		80
#define SKX_RESERVED_FREE_FRACTION		16

/*
 * Raises ERRCODE_PROGRAM_LIMIT_EXCEEDED if a file of nblocks pages with npages
 * more would have more blocks than a relation can have (manifest_grow.c).
 */
extern void skx_manifest_check_growth(Relation rel, BlockNumber nblocks,
									  uint64 npages);

/*
 * manifest_open.c : the views that processes have open
 *
 * They are entered in shared memory, in SKX_OPEN_PARTITIONS parts of
 * SKX_OPEN_VIEWS entries each.  A process uses the part that its pid chooses.
 */
#define SKX_OPEN_PARTITIONS		8
#define SKX_OPEN_VIEWS		15

/* One entry: open views of one root, of the processes of one part. */
typedef struct SkxOpenView
{
	uint64		incarnation;	/* of the index, hashed with the database */
	uint64		generation;		/* of the root; 0: any root of any index */
	uint64		pending_ends[SKX_STRIPES_DEFAULT];	/* bound views have
													 * pending documents with
													 * numbers below these
													 * only */
	uint32		next_segment;	/* the views have no segment with this id or a
								 * larger one */
	uint32		count;			/* number of views; 0: the entry is free */
	uint32		nunbound;		/* how many of them are not bound */
	int			leader_pid;		/* views of parallel workers: pid of their
								 * leader, which frees the entry; else 0 */
} SkxOpenView;

/* The open views of one index. */
typedef struct SkxOpenViews
{
	bool		is_complete;	/* the list is complete, and decides which
								 * pages are needed */
	int			n;
	uint64		standby_horizon;	/* a standby may need pages that were
									 * freed at this transaction id or later;
									 * 0: all, PG_UINT64_MAX: none */
	SkxOpenView views[SKX_OPEN_PARTITIONS * SKX_OPEN_VIEWS];
} SkxOpenViews;

/*
 * Takes a lock that tells others that this process has views which it cannot
 * enter.  It is held until the transaction ends.  Does nothing if the process
 * has mapped the shared memory of open views.
 */
extern void skx_manifest_entry_lock(Relation rel);

/*
 * Returns a hold for a view that lies in the current memory context.  It is
 * closed when the context is reset or the transaction ends.  Calls
 * skx_manifest_entry_lock().
 */
extern SkxViewEntry *skx_manifest_entry_create(Relation rel);

/*
 * Enters the view of the root that *meta names.  The caller has locked the
 * metapage that names this root, or knows that another process has the view
 * open.  The view is bound to `ends`, unless that is NULL.  Does nothing if
 * the hold is open, or the process cannot enter views.
 */
extern void skx_manifest_entry_open(SkxViewEntry *hold,
									const SkxDiskMeta *meta,
									const uint64 *ends);

/*
 * Notes that the view reads no pending document of stripe i with number
 * ends[i] or a larger one.
 */
extern void skx_manifest_entry_bind(SkxViewEntry *hold, const uint64 *ends);

/*
 * Notes that the view is not read again.  The entry of a parallel worker's
 * view stays until the transaction of its leader ends.
 */
extern void skx_manifest_entry_close(SkxViewEntry *hold);

/*
 * Returns the open views of an index, palloc'd.  Sets all fields but horizon,
 * which skx_manifest_reuse_limits() sets.
 */
extern SkxOpenViews *skx_manifest_open_views(Relation rel, Relation heap,
											 uint64 incarnation);

/* manifest_early.c : which free pages may be overwritten */

/*
 * Returns the open views of the index, and what standbys may need, palloc'd.
 * Views are never `is_complete` of a table that logical decoding reads, since
 * it uses another kind of snapshot.  The answer is exact only while the caller
 * holds the heavyweight lock on the metapage; without it, it is a guess.
 */
extern SkxOpenViews *skx_manifest_reuse_limits(Relation rel, Relation heap,
											   const SkxView *view);

/*
 * Returns true if it is known that no open view has the extent.  For an extent
 * with SKX_WAITS_VIEWS the caller must have found before, by
 * skx_manifest_extent_wait(), that it does not wait for views.
 */
extern bool skx_manifest_has_no_view(const SkxDiskExtent *extent,
									 const SkxOpenViews *open);

/*
 * Returns what an extent that is free in the present view waits for before it
 * may be overwritten, as far as this process knows.  The result is
 * SKX_WAIT_NONE, SKX_WAIT_VIEWS, or a transaction id.
 */
extern uint64 skx_manifest_extent_wait(Relation heap, const SkxView *view,
									   const SkxDiskExtent *extent,
									   const SkxOpenViews *open);

/*
 * Returns the transaction id from which on an extent of the present view is
 * not needed.  If it is not stored (SKX_WAITS_VIEWS), returns one that is not
 * before it.
 */
extern uint64 skx_manifest_safexid(const SkxView *view,
								   const SkxDiskExtent *extent);

/* manifest_lock.c : the locks of operations */

/* Sub-object of the lock of processes that have joined an operation. */
#define SKX_OPERATION_JOINED(kind)	((kind) + SKX_OPERATION_MERGE)

/* Sets *tag to that of the lock of operations of the kind. */
extern void skx_manifest_operation_tag(LOCKTAG *tag, Relation rel,
									   uint32 kind);

/*
 * Takes the lock of operations of the kind, once no process has joined one.
 * Returns false if this backend has the lock already.  With `wait` false it
 * also returns false where it would have to wait.
 */
extern bool skx_manifest_operation_lock(Relation rel, uint32 kind, bool wait);

/* Releases the lock of operations of the kind. */
extern void skx_manifest_operation_unlock(Relation rel, uint32 kind);

/*
 * The draft of a new root: a copy of the present one that is edited until a
 * flip makes it the present one.  The caller holds the heavyweight lock on the
 * metapage from the copy to the flip.
 */

/*
 * The pool should have one in SKX_POOL_FILE_FRACTION pages of the file, but
 * SKX_POOL_PAGES_MAX at most.  After a flush it should have as many pages as
 * that gave up, but SKX_POOL_REFILL_MAX at most.  Extents shorter than
 * SKX_POOL_EXTENT_MIN pages stay in the root, unless the disk is full.
 */
#define SKX_POOL_PAGES_MAX		640
#define SKX_POOL_FILE_FRACTION		16
#define SKX_POOL_REFILL_MAX		(1024 * 1024)
#define SKX_POOL_EXTENT_MIN		16

/* An extent of a draft. */
typedef struct SkxDraftExtent
{
	SkxDiskExtent extent;
	bool		is_reusable;	/* free, and may be overwritten */
} SkxDraftExtent;

/* A new root in the making. */
typedef struct SkxDraft
{
	Relation	rel;
	Relation	heap;			/* the table, whose horizon decides what is
								 * reusable */
	SkxView    *view;			/* the present root */
	SkxOpenViews *open_views;
	uint32		block_pages;
	uint32		next_segment;
	int			nsegments;
	SkxDiskSegmentRef *segments;	/* one more than at first fits */
	const SkxDiskStripeRef *stripes;
	int			noperations;
	SkxDiskOperation operations[SKX_OPERATION_MERGE + 1];
	int			nextents;
	int			extents_size;
	SkxDraftExtent *extents;
	uint32		grow_pages;		/* pages to add to the file, whole blocks */
	uint32		grow_operation; /* operation that gets them */
	uint32		pool_target;	/* pages that the pool should have */
	uint32		pool_least;		/* pages of an extent for it, at least */
	const SkxDiskFormat *format;	/* that the index has from the flip on; or
									 * NULL */
	bool		is_optional;	/* the flip is optional: a full disk is no
								 * error */
	uint64		reuse_safexid;	/* largest safexid of pages taken again, or a
								 * larger one */

	bool		empties_pool;	/* pages of the pool become free extents, and
								 * the pool gets the lowest ones */

	/* for an index that is locked AccessExclusive: */
	bool		prefers_low;	/* `extents` has those of the pool, too; pool
								 * and root get the lowest */
	bool		cuts_file;		/* free pages at the end leave the file */
	/* NULL, or adds up to three pages to the record that flips */
	void		(*extra_record) (GenericXLogState *xlog, void *arg);
	void	   *extra_record_arg;
} SkxDraft;

/*
 * Returns a draft of the present root (manifest_draft.c), to be freed by
 * skx_manifest_draft_free().
 */
extern SkxDraft *skx_manifest_draft(Relation rel);

/*
 * Makes pages free from the flip on (manifest_early.c).  They wait for open
 * views where these are known, and for snapshots otherwise.
 */
extern void skx_manifest_free_from_flip(SkxDraft *draft,
										const SkxFreedExtent *freed);

/*
 * Makes all pages reusable that are reserved for an operation, and removes the
 * operation (manifest_draft.c).  `operation` is the id of its segment.
 */
extern void skx_manifest_draft_drop(SkxDraft *draft, uint32 operation);

/* manifest_free.c : free pages of a draft */

/*
 * Adds free pages.  safexid 0: they are reusable at once.  SKX_SAFEXID_FLIP:
 * they are free from the flip on.  Other values: as in SkxDiskExtent.
 */
extern void skx_manifest_free_add(SkxDraft *draft, BlockNumber block,
								  uint32 npages, uint64 safexid);

/*
 * Reserves at least nblocks blocks for an operation, in runs of at least
 * `least` blocks.  The flip adds to the file what is not free in it.
 */
extern void skx_manifest_free_reserve(SkxDraft *draft, uint32 operation,
									  uint32 nblocks, uint32 least);

/* Returns the pages of reusable extents of `least` pages or more. */
extern uint64 skx_manifest_free_reusable(const SkxDraft *draft,
										 uint32 least);

/*
 * Returns the whole blocks in reusable extents, in runs of `least` blocks or
 * more.
 */
extern uint32 skx_manifest_free_blocks(const SkxDraft *draft, uint32 least);

/*
 * Returns the most free pages, in whole blocks, that inserts leave to flushes
 * and merges (SKX_RESERVED_FREE_PAGES, SKX_RESERVED_FREE_FRACTION).
 */
extern uint32 skx_manifest_free_reserve_pages(const SkxView *view);

/*
 * Returns how many free pages a file should have for flushes and merges: half
 * of what pending lists have, but skx_manifest_free_reserve_pages() at most.
 * `extents` is the number of pages in it that are free or reserved, besides
 * the pool.
 */
extern uint64 skx_manifest_free_target(const SkxView *view, uint64 extents);

/*
 * Returns the pages of reusable extents that inserts may have, in extents of
 * pool_least pages or more.
 */
extern uint64 skx_manifest_free_for_pool(const SkxDraft *draft);

/*
 * Returns by how many pages, in whole blocks, the file should grow to have
 * skx_manifest_free_target() pages.
 */
extern uint32 skx_manifest_free_shortage(const SkxDraft *draft);

/*
 * Sorts extents by block, and joins neighbours that both are reusable or wait
 * for the same.
 */
extern void skx_manifest_free_join(SkxDraft *draft);

/*
 * The same; where extents are very many, it also joins neighbours that wait
 * for different times.  They wait for the later one then.
 */
extern void skx_manifest_free_join_many(SkxDraft *draft);

/*
 * Moves reusable extents from the draft into the pool of *meta until that has
 * pool_target pages or is full.  Leaves at least `keep` reusable pages in the
 * draft, and the whole blocks that inserts leave to flushes and merges.
 */
extern void skx_manifest_free_to_pool(SkxDraft *draft, SkxDiskMeta *meta,
									  uint32 keep);

/*
 * Makes the draft the present root (manifest_flip.c).  Returns 0.  If the file
 * cannot grow, a draft with `is_optional` returns errno, with nothing changed
 * on disk; others raise an error.
 */
extern int	skx_manifest_draft_flip(SkxDraft *draft);

/* Frees the draft and its view, and closes the table (manifest_draft.c). */
extern void skx_manifest_draft_free(SkxDraft *draft);

#endif							/* SKX_MANIFEST_INTERNAL_H */
