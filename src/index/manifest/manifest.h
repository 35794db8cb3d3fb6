/*
 * manifest.h
 *	  Which segments and pending lists make up an index, and where the file
 *	  has room.
 */
#ifndef SKX_MANIFEST_H
#define SKX_MANIFEST_H

#include "format/disk/disk_meta.h"
#include "format/disk/disk_page.h"
#include "storage/buf.h"
#include "utils/relcache.h"

#define SKX_META_BLOCK		0	/* of the metapage */

/* manifest_early.c : the setting; may a standby read what is logged here? */
typedef enum SkxReuseEarly
{
	SKX_REUSE_AUTO,
	SKX_REUSE_ON,
	SKX_REUSE_OFF
} SkxReuseEarly;

extern int	skx_manifest_reuse_early;
extern bool skx_manifest_has_standby(void);

/* manifest_open.c : main shared memory, if preloaded; from _PG_init */
extern void skx_manifest_open_init(void);

/* Pending stripes of a new index: inserts of so many backends do not meet. */
#define SKX_STRIPES			4

/* That a process has a view open, which keeps its pages as they are. */
typedef struct SkxHold SkxHold;

/*
 * One consistent reading of the metapage and the root under it.  A scan takes
 * its view after its snapshot exists and uses nothing else.
 */
typedef struct SkxView
{
	SkxDiskMeta meta;
	int			nsegments;
	int			nstripes;
	int			nextents;
	int			noperations;
	int			nroot;			/* pages of the root */
	SkxDiskSegmentRef *segments;
	SkxDiskStripeRef *stripes;
	SkxDiskExtent *extents;
	SkxDiskOperation *operations;
	BlockNumber *root;			/* they, in order */
	SkxHold    *hold;			/* that it is open; or NULL */
	bool		bound;			/* the ends are known: of stripes it has only
								 * the documents before these numbers */
	uint64		ends[SKX_STRIPES];
} SkxView;

/* Pages that a view has, and those after it have not. */
typedef struct SkxFreed
{
	BlockNumber block;
	uint32		npages;
	uint32		segment;		/* whose they were; 0: of a stripe */
	int			stripe;
	uint64		first;			/* no document before that has any of them */
} SkxFreed;

/* manifest_view.c */

/*
 * One allocation in the current memory context.  As long as that lives, within
 * the transaction, the pages of the view stay as they are, where the snapshot
 * sees to it, too; also after a pfree.  free gives them up at once.
 */
extern SkxView *skx_manifest_view(Relation rel);
extern void skx_manifest_view_free(SkxView *view);

/*
 * The view has pending documents before these numbers of the stripes, no
 * others.  What is pending later is not kept for it, so that it can be held for
 * long.  bound: a view with the documents that are pending now.
 */
extern void skx_manifest_view_bind(SkxView *view, const uint64 *ends);
extern SkxView *skx_manifest_view_bound(Relation rel);

/*
 * The same as a view, read under the lock on the metapage; no page of it is read
 * but under that or the lock of an operation, and those of stripes.
 */
extern SkxView *skx_manifest_view_brief(Relation rel);

/*
 * The same as the view `own` of another process of a parallel scan, of which
 * meta, bound and ends are given.
 */
extern SkxView *skx_manifest_view_of(Relation rel, const SkxView *own);

/*
 * To be said by a transaction that uses a view which an earlier one has read;
 * false: the root is another one by now.
 */
extern bool skx_manifest_view_kept(Relation rel, SkxView *view);

/*
 * manifest_early.c : what each extent that is free in the view waits for: NONE if
 * it may be overwritten, VIEWS that are open, or else the transaction id from
 * which on it is not needed.
 */
#define SKX_WAIT_NONE		0
#define SKX_WAIT_VIEWS		PG_UINT64_MAX

extern uint64 *skx_manifest_waits(Relation rel, const SkxView *view);

/* Only the metapage; checks magic and version (REINDEX hint). */
extern void skx_manifest_meta(Relation rel, SkxDiskMeta *meta);

/*
 * The stripe page that insertion number `choice` (any number; spread them)
 * goes to.  Fills `meta`.  Reads the metapage only, unless the root changed
 * since this backend looked last.
 */
extern BlockNumber skx_manifest_stripe(Relation rel, uint32 choice,
									   SkxDiskMeta *meta);

/*
 * A mutable page, pinned, locked in `mode` (BUFFER_LOCK_*) and checked to be
 * what it should.  Of pages in extents of stripes (pending, chain) segment
 * and ordinal are not compared: see skx_manifest_take_extent.
 */
extern Buffer skx_manifest_buffer(Relation rel, uint64 incarnation,
								  BlockNumber block, SkxPlane plane,
								  uint32 ordinal, int mode);

/* Content of a page, for reading. */
#define skx_manifest_content(buffer) \
	((char *) BufferGetPage(buffer) + SKX_PAGE_START)

/*
 * manifest_create.c : a new index
 *
 * The head of the file, whole blocks from page 0 on, holds metapage, root
 * pages as many as needed, and the stripe pages; what is left of the head is
 * the first stripe's first extent, so that a small index is one block.
 */
typedef struct SkxManifestNew
{
	uint64		incarnation;
	uint32		block_size;		/* bytes */
	uint32		next_segment;
	BlockNumber nblocks;		/* pages allocated so far, the head's too;
								 * whole blocks */
	int			nsegments;
	int			nextents;
	int			npool;			/* at most SKX_META_POOL */
	const SkxDiskSegmentRef *segments;	/* largest first */
	const SkxDiskExtent *extents;	/* free, by block */
	const SkxDiskPoolExtent *pool;	/* free, too */
} SkxManifestNew;

/*
 * Pages at the start of the file that create will use for that many segments
 * and extents; rounded up to whole blocks they are the head, which must not be
 * used for anything else.
 */
extern uint32 skx_manifest_new_pages(const SkxManifestNew *m);

/*
 * Writes the head past shared buffers, logged as needed, and makes sure that
 * replay makes the file as long as nblocks says; the caller syncs.
 */
extern void skx_manifest_create(Relation rel, const SkxManifestNew *m);

/* Order of a root's segments and extents, for qsort. */
extern int	skx_manifest_compare_segments(const void *a, const void *b);
extern int	skx_manifest_compare_extents(const void *a, const void *b);

/* An empty index in the init fork, logged and synced. */
extern void skx_manifest_create_init(Relation rel, uint64 incarnation,
									 uint32 block_size);

/*
 * manifest_extent.c : takes an extent of about `npages` (a whole number of
 * blocks)
 *
 * From the pool in the metapage, then it may be shorter or longer; or else the
 * file grows, and meta.nblocks with it.  The WAL record also carries the
 * caller's change of `owner` (a page locked exclusively, where `apply` notes
 * the extent), so that a crash loses neither.  The first page of the extent
 * becomes an empty page of SKX_PLANE_PENDING in the same record, with the
 * extent's length as its segment and `previous` as its ordinal, which chains
 * the extents of one owner (other pages of extents have 0 and
 * InvalidBlockNumber); and so does the last one where the file grew, so that
 * replay makes it long enough.  The content of the other pages is whatever
 * they were used for last.  Locks the metapage: see README.md for the order.
 * Errors out, with nothing changed, when the disk is full.
 */
typedef void (*SkxExtentApply) (char *page, BlockNumber block, uint32 npages,
								void *arg);
extern BlockNumber skx_manifest_take_extent(Relation rel, uint32 npages,
											BlockNumber previous,
											Buffer owner,
											SkxExtentApply apply, void *arg);

/* A random number, for an incarnation or the salt of a segment. */
extern uint64 skx_manifest_random(void);

#endif							/* SKX_MANIFEST_H */
