/*
 * manifest.h
 *	  The manifest: which segments and pending lists make up an index, and
 *	  which pages of its file are free.
 */
#ifndef SKX_MANIFEST_H
#define SKX_MANIFEST_H

#include "format/disk/disk_meta.h"
#include "format/disk/disk_page.h"
#include "storage/buf.h"
#include "utils/relcache.h"

#define SKX_META_BLOCK		0	/* block number of the metapage */

/* manifest_early.c : free pages that no process needs */

/* Values of the setting skipidx.reuse_early. */
typedef enum SkxReuseEarlySetting
{
	SKX_REUSE_AUTO,
	SKX_REUSE_ON,
	SKX_REUSE_OFF
} SkxReuseEarlySetting;

extern int	skx_manifest_reuse_early;

/*
 * Returns true if a standby may replay the WAL of this server: wal_level
 * allows it, and WAL is archived, or a WAL sender or physical slot exists.
 */
extern bool skx_manifest_has_standby(void);

/*
 * manifest_open.c : registers the callback that closes the views of a
 * transaction when it ends.  Called once, from _PG_init.
 */
extern void skx_manifest_open_init(void);

/*
 * Number of pending stripes of a new index.  Backends insert into different
 * stripes, so that they do not contend for one page.
 */
#define SKX_STRIPES_DEFAULT			4

/*
 * The entry of an open view in shared memory.  While a view is open, its
 * pages stay as they are.
 */
typedef struct SkxViewEntry SkxViewEntry;

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
	int			nroot;			/* number of pages of the root */
	SkxDiskSegmentRef *segments;
	SkxDiskStripeRef *stripes;
	SkxDiskExtent *extents;
	SkxDiskOperation *operations;
	BlockNumber *root;			/* the nroot pages of the root, in order */
	SkxViewEntry *entry;		/* entry of the open view; NULL if it is not
								 * entered */
	bool		is_bound;		/* true if `pending_ends` is set */
	uint64		pending_ends[SKX_STRIPES_DEFAULT];	/* if bound: the view has
													 * the documents of stripe
													 * i with numbers below
													 * ends[i] */
} SkxView;

/*
 * Pages that a flip gives up: views of older roots may have them, views of
 * later roots do not.
 */
typedef struct SkxFreedExtent
{
	BlockNumber block;
	uint32		npages;
	uint32		segment;		/* segment that had them; 0: it was a stripe */
	int			stripe;			/* if segment is 0: that stripe */
	uint64		first_sequence; /* if segment is 0: documents with smaller
								 * numbers have none of these pages */
} SkxFreedExtent;

/* manifest_view.c : reads the metapage and the root */

/*
 * Reads the view of the present root, in one allocation of the current memory
 * context, and enters it as open.  Its pages stay as they are while the
 * context lives, until the transaction ends, also after a pfree.  The caller's
 * snapshot must be older than the view, since pages may wait for snapshots
 * alone.
 */
extern SkxView *skx_manifest_view(Relation rel);

/* Closes the view at once, and frees it. */
extern void skx_manifest_view_free(SkxView *view);

/*
 * Binds the view: of stripe i it has pending documents with numbers below
 * ends[i] only.  Later documents are not kept for it, so it can stay open for
 * long.  Does nothing if the index has more than SKX_STRIPES_DEFAULT stripes.
 */
extern void skx_manifest_view_bind(SkxView *view, const uint64 *ends);

/* Like skx_manifest_view(), and binds it to the present pending documents. */
extern SkxView *skx_manifest_view_bound(Relation rel);

/*
 * Reads the view of the present root without entering it; freed with pfree.
 * The caller holds the heavyweight lock on the metapage.  Pages of the view
 * are read only under that lock, or that of an operation which keeps them.
 * Stripe pages may be read at any time.
 */
extern SkxView *skx_manifest_view_unlisted(Relation rel);

/*
 * Reads the view that another process of a parallel scan has open, and enters
 * it for this process.  Only meta, bound and ends of `own` are used.
 */
extern SkxView *skx_manifest_view_shared(Relation rel, const SkxView *own);

/*
 * Opens again a view that an earlier transaction has read.  Returns false,
 * and leaves it closed, if the index has another root by then.
 */
extern bool skx_manifest_view_reopen(Relation rel, SkxView *view);

/*
 * Values of skx_manifest_extent_waits() that are not transaction ids: the
 * extent may be overwritten; or it waits for open views.
 */
#define SKX_WAIT_NONE		0
#define SKX_WAIT_VIEWS		PG_UINT64_MAX

/*
 * Returns a palloc'd array that says what each extent of the view waits for
 * before it may be overwritten (manifest_early.c).  A value is SKX_WAIT_NONE,
 * SKX_WAIT_VIEWS, or the transaction id from which on the extent is not
 * needed.  Reserved extents have SKX_WAIT_NONE.
 */
extern uint64 *skx_manifest_extent_waits(Relation rel, const SkxView *view);

/* manifest_format.c : what releases can read and write */

/*
 * Raises an error unless this release can read a file or segment of *format,
 * which begins in `block`: ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, naming
 * the release that it needs; ERRCODE_INDEX_CORRUPTED for damage, and for a
 * format of before release 1.0.
 */
extern void skx_manifest_check_format(Relation rel, BlockNumber block,
									  const SkxDiskFormat *format);

/*
 * The same for a release that is going to write the index, of which *meta is
 * the metapage.
 */
extern void skx_manifest_check_writable(Relation rel, const SkxDiskMeta *meta);

/*
 * Sets *format to that of a new index: what the installed SQL objects' release
 * wrote, so that the library of that release can read it.
 */
extern void skx_manifest_new_format(Relation rel, SkxDiskFormat *format);

/*
 * manifest_installed.c : returns the release of the SQL objects that belong to
 * the access method, or 0 if that is not known.  With `committed` a release
 * that this transaction has installed is not known.
 */
extern uint32 skx_manifest_installed_release(Oid am, bool committed);

/*
 * Copies the metapage into *meta, under its share lock.  Raises errors as
 * skx_manifest_check_format() does, and ERRCODE_INDEX_CORRUPTED for damage.
 */
extern void skx_manifest_meta(Relation rel, SkxDiskMeta *meta);

/*
 * Returns the stripe page for an insert, and copies the metapage to *meta.
 * `choice` is any number; different ones spread inserts over the stripes.
 * Reads the metapage only, unless the relation cache has no list of stripes.
 */
extern BlockNumber skx_manifest_stripe(Relation rel, uint32 choice,
									   SkxDiskMeta *meta);

/*
 * Returns a mutable page, pinned and locked in `mode` (BUFFER_LOCK_*).  Raises
 * an error if it is not the page that the arguments describe.  Segment and
 * ordinal of pending and chain pages are not compared: see
 * skx_manifest_take_extent().
 */
extern Buffer skx_manifest_lock_page(Relation rel, uint64 incarnation,
									 BlockNumber block, SkxPlane plane,
									 uint32 ordinal, int mode);

/* The content of a page behind its header, for reading. */
#define skx_manifest_page_content(buffer) \
	((char *) BufferGetPage(buffer) + SKX_PAGE_START)

/*
 * manifest_create.c : a new index
 *
 * The head of the file is the whole blocks from page 0 on that hold metapage,
 * root pages and stripe pages.  What is left of these blocks is the first
 * extent of the first stripe, so that a small index is one block.
 */

/* The content of a new index. */
typedef struct SkxManifestNew
{
	SkxDiskFormat format;
	uint64		incarnation;
	uint32		block_size;		/* bytes */
	uint32		next_segment;
	BlockNumber nblocks;		/* pages of the file, with the head; whole
								 * blocks */
	int			nsegments;
	int			nextents;
	int			npool;			/* at most SKX_META_POOL_EXTENTS */
	const SkxDiskSegmentRef *segments;	/* largest first */
	const SkxDiskExtent *extents;	/* free ones, by block */
	const SkxDiskPoolExtent *pool;	/* free extents for the pool */
} SkxManifestNew;

/*
 * Returns how many pages at the start of the file skx_manifest_create() will
 * use for that many segments and extents.  Rounded up to whole blocks they
 * are the head, which must not be used for anything else.
 */
extern uint32 skx_manifest_new_pages(const SkxManifestNew *m);

/*
 * Writes the head past shared buffers, and logs it where needed.  Makes sure
 * that the file has nblocks pages, also after replay.  The caller syncs.
 */
extern void skx_manifest_create(Relation rel, const SkxManifestNew *m);

/* Compares segments of a root for qsort: most documents first, then by id. */
extern int	skx_manifest_compare_segments(const void *a, const void *b);

/* Compares extents of a root for qsort: by block. */
extern int	skx_manifest_compare_extents(const void *a, const void *b);

/* Makes an empty index in the init fork, logged and synced. */
extern void skx_manifest_create_init(Relation rel, uint64 incarnation,
									 uint32 block_size);

/* manifest_extent.c : extents of stripes */

/*
 * Notes in a copy of the owner's page that it has the extent of npages pages
 * at `block`.
 */
typedef void (*SkxExtentApply) (char *page, BlockNumber block, uint32 npages,
								void *arg);

/*
 * Takes an extent of about npages pages, a whole number of blocks, and returns
 * its first page.  It comes from the pool, and may be shorter or longer then;
 * or else the file grows.  Raises an error, with nothing changed, if the disk
 * is full.
 *
 * `owner` is a page that the caller has locked exclusively.  One WAL record
 * has the change of the metapage and that of `owner`, which `apply` makes.  A
 * crash loses neither.  Locks the metapage: see README.md for the order.
 *
 * The first page of the extent becomes an empty page of SKX_PLANE_PENDING in
 * the same record.  Its segment is the length of the extent.  Its ordinal is
 * `previous`, which chains the extents of one owner.  Where the file grew, the
 * last page is logged as an empty page, too, so that replay makes the file
 * long enough.  Its segment is 0 and its ordinal InvalidBlockNumber, as in
 * other pages of extents.  The content of the other pages is undefined.
 */
extern BlockNumber skx_manifest_take_extent(Relation rel, uint32 npages,
											BlockNumber previous,
											Buffer owner,
											SkxExtentApply apply, void *arg);

/*
 * Returns a random number, for an incarnation or the salt of a segment
 * (manifest_create.c).  Raises an error if the server has none.
 */
extern uint64 skx_manifest_random(void);

#endif							/* SKX_MANIFEST_H */
